// What a browser is asked about a page of the site, by test_site.py.

/** @type {(selector: string, keep?: (each: any) => any) => any[]} */
const all = (selector, keep = () => true) => [...document.querySelectorAll(selector)].filter(keep);

/** All faces, now; those that stand in meanwhile are the machine's own, which has one of them. */
export const seeFaces = () =>
  Promise.all(
    [...document.fonts].map((face) => /^"?Stand-in/.test(face.family) || face.load()),
  ).then(() => null);

/** Whether a line of code begins below its place. */
function beginsBelow(line) {
  const words = document.createTreeWalker(line, NodeFilter.SHOW_TEXT);
  /** @type {any} */
  let text = words.nextNode();
  while (text && !text.data.trim()) text = words.nextNode();
  const first = document.createRange();
  first.setStart(text, text.data.search(/\S/));
  first.setEnd(text, text.data.search(/\S/) + 1);
  const start = first.getBoundingClientRect();
  return start.height && start.top > line.getBoundingClientRect().top + 10;
}

/** Of cells with code, how many are wider than the page, and how many there are; lines that begin
    below their place; boxes that scroll sideways; the first broken cell, as shown and as it is. */
export function onAPhone() {
  const boxes = '.bd-article :is(.pst-scrollable-table-container, .output, div.math)';
  const cells = all('.highlight pre');
  return [
    cells.filter((cell) => cell.scrollWidth > cell.clientWidth).length,
    cells.length,
    all('pre .long', beginsBelow).map((line) => line.textContent),
    all(boxes, (box) => box.scrollWidth > box.clientWidth + 1).map((box) =>
      box.textContent.trim().slice(0, 60),
    ),
    all('.cell:not(.tag_hide-input) .highlight pre:has(.long)')
      .slice(0, 1)
      .map((cell) => [cell.innerText, cell.textContent]),
  ];
}

/** How many formulas a comma or the like follows, and those whose comma begins a line. */
export function commas() {
  const ends = all('.math', (formula) => /^[,.;:]/.test(formula.nextSibling?.data));
  const isApart = (formula) => {
    const comma = document.createRange();
    comma.selectNodeContents(formula.nextSibling);
    const last = [...formula.querySelectorAll('.base')].at(-1) ?? formula;
    return comma.getBoundingClientRect().left < last.getBoundingClientRect().left;
  };
  return [ends.length, ends.filter(isApart).map((formula) => formula.textContent)];
}

/** Where the widest table ends, and whether tables are kept whole on a sheet. */
export function tables() {
  const rows = all('table.rows');
  return [
    Math.max(...rows.map((table) => table.getBoundingClientRect().right)),
    rows.map((table) => getComputedStyle(table).breakInside),
  ];
}

/** WCAG's contrast of two colours. */
function contrast(one, other) {
  const context = document.createElement('canvas').getContext('2d');
  const light = (colour) => {
    context.fillStyle = colour;
    context.fillRect(0, 0, 1, 1);
    const parts = [...context.getImageData(0, 0, 1, 1).data]
      .slice(0, 3)
      .map((each) =>
        each / 255 <= 0.04045 ? each / 255 / 12.92 : ((each / 255 + 0.055) / 1.055) ** 2.4,
      );
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
  };
  const [low, high] = [light(one), light(other)].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
}

/** How far the words of figures that have the hue of a line stand out from the page. */
export function ink() {
  const paper = getComputedStyle(document.body).backgroundColor;
  const words = all('.costlib-figure text[fill^="#"]');
  return words.map((each) => contrast(getComputedStyle(each).fill, paper));
}

/** The smallest and the largest words of a figure, in pixels as they are shown. */
function sizes(svg) {
  const scale = svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
  const words = [...svg.querySelectorAll('text')];
  const found = words.map((each) => scale * parseFloat(getComputedStyle(each).fontSize));
  return [Math.min(...found), Math.max(...found)];
}

/** What sticks out, is left raw, or is hard to see. */
export const look = () =>
  document.fonts.load('16px KaTeX_Main').then(() => {
    const paper = getComputedStyle(document.body).backgroundColor;
    const isRaw = (m) =>
      (!m.matches('.katex') && !m.querySelector('.katex-html')) || m.querySelector('.katex-error');
    return {
      scrollWidth: document.documentElement.scrollWidth,
      theme: document.documentElement.dataset.theme,
      math: all('.math .katex, .math.katex').length,
      mathFont: document.fonts.check('16px KaTeX_Main'),
      unrenderedMath: all('.math', isRaw).map((m) => m.textContent),
      figures: all('svg.costlib-figure', (svg) => svg.checkVisibility()).map((svg) => [
        ...sizes(svg),
        contrast(getComputedStyle(svg).color, paper),
      ]),
    };
  });

export function unfold() {
  for (const fold of all('details')) fold.open = true;
  for (const option of all('.predict button')) option.click();
}

/** Mark what axe-core's slow look at contrast needs: of all texts alike in colour, size and what
    lies behind them the first alone. A page has thousands of coloured words and letters, of some 70
    kinds. For links the words around them count as well. */
export function markTexts() {
  const behind = new Map(); // what an element and those around it paint
  const painted = (element) => {
    if (!element) return '';
    if (!behind.has(element)) {
      const { backgroundColor, backgroundImage, opacity, position, visibility, display } =
        getComputedStyle(element);
      const hidden = display === 'none';
      const own = [backgroundColor, backgroundImage, opacity, position, visibility, hidden].join();
      const around = painted(element.parentElement);
      behind.set(element, around.includes(own) ? around : `${around};${own}`);
    }
    return behind.get(element);
  };
  const seen = new Set();
  for (const element of all('body *')) {
    if (![...element.childNodes].some((/** @type {any} */ n) => n.nodeType === 3 && n.data.trim()))
      continue;
    const { color, fill, fontSize, fontWeight } = getComputedStyle(element);
    const link = element.closest('a');
    const around = link && getComputedStyle(link.parentElement).color;
    const lines = link && getComputedStyle(link).textDecorationLine;
    const kind = [color, fill, fontSize, fontWeight, around, lines, painted(element)].join('|');
    if (!seen.has(kind)) element.dataset.looked = '';
    if (!seen.has(kind) && link) link.dataset.looked = '';
    seen.add(kind);
  }
}

/** Of formulas, code and figures, which hold most of the page's elements, and no control, name or
    role, such first texts alone stay what they are. */
export function emptyWhatIsAlike() {
  const plain = (box) => {
    for (const part of [...box.children]) {
      if (part.matches('title, desc, [data-looked]')) continue;
      if (part.querySelector('[data-looked]')) plain(part);
      else if (box.closest('svg')) part.remove();
      else part.replaceWith(part.textContent);
    }
  };
  all('.highlight pre, .katex, svg.costlib-figure').forEach(plain);
}

/** Whether what scrolls can be scrolled by keyboard. */
export const isScrollableByKeyboard = () =>
  all('pre, div.math, .cell_output > .output, .pst-scrollable-table-container').every(
    (box) =>
      box.tabIndex === 0 ||
      (box.scrollWidth <= box.clientWidth && box.scrollHeight <= box.clientHeight),
  );

/** Whether each cell with code is a solution, and whether it shows. */
export const shownCode = () =>
  all('.bd-article .cell_input').map((cell) => [
    cell.closest('.cell').matches('.tag_hide-cell'),
    getComputedStyle(cell.closest('details.above-input') ?? cell).display !== 'none',
  ]);

/** The class of each icon, and how long its path is. */
export const icons = () =>
  all('i[class*=fa-], span[class*=fa-]').map((icon) => [
    icon.className,
    icon.querySelector('svg path')?.getAttribute('d').length ?? 0,
  ]);

/** Whether the list of headings says that one is at this one, once it has been scrolled to. */
export function isAt(heading) {
  document.querySelector(heading).scrollIntoView({ behavior: 'instant' });
  const [said] = all('.bd-sidebar-secondary a[aria-current]');
  return said?.hash === heading;
}

/** Where an aside and the paragraph before it are. */
export function besideAside() {
  const aside = document.querySelector('.aside');
  aside.scrollIntoView({ block: 'center' });
  return [aside.previousElementSibling, aside].map((each) => {
    const { left, right, top, bottom } = each.getBoundingClientRect();
    return { left, right, top, bottom };
  });
}
