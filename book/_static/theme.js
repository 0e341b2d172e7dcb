// What the buttons around a page do: colours, side bars, search, menus, and copies of code. The
// theme's own scripts for this bring all of Bootstrap and a library for the clipboard, 117 kB on
// every page. The names and classes are the theme's, of 0.17 and of the older one for Python 3.10.
export {}; // a module, and so are its names

const root = document.documentElement;
/** @type {(selector: string, within?: ParentNode) => HTMLElement[]} */
const all = (selector, within = document) => [
  .../** @type {NodeListOf<HTMLElement>} */ (within.querySelectorAll(selector)),
];
const on = (selector, what) => {
  for (const each of all(selector)) each.addEventListener('click', what);
};

// Colours: those of the reader's machine, or always light, or always dark.
const dark = matchMedia('(prefers-color-scheme: dark)');
function colour(mode) {
  root.dataset.mode = mode;
  root.dataset.theme = mode === 'auto' ? (dark.matches ? 'dark' : 'light') : mode;
  localStorage.setItem('mode', mode);
  localStorage.setItem('theme', root.dataset.theme);
}
dark.addEventListener('change', () => root.dataset.mode === 'auto' && colour('auto'));
on('.theme-switch-button', () => {
  const order = dark.matches ? ['auto', 'light', 'dark'] : ['auto', 'dark', 'light'];
  colour(order[(order.indexOf(root.dataset.mode) + 1) % order.length]);
});

on('.theme-change-button', ({ currentTarget }) => colour(currentTarget.dataset.mode)); // a menu

/** A dialog closes where one points beside it. */
function closeBeside(dialog) {
  dialog?.addEventListener('click', ({ clientX, clientY }) => {
    const { left, right, top, bottom } = dialog.getBoundingClientRect();
    const inside = left <= clientX && clientX <= right && top <= clientY && clientY <= bottom;
    // A press of Enter in a form inside is a click at no place.
    if (!inside && (clientX || clientY)) dialog.close();
  });
}

// Side bars: on a wide screen the first one goes away, and on a narrow one each is a dialog.
const wide = matchMedia('(min-width: 992px)');
function move(from, to) {
  to.append(...from.childNodes);
  to.classList.add(...from.classList);
  from.removeAttribute('class');
}
for (const name of ['primary', 'secondary']) {
  const bar = document.getElementById(`pst-${name}-sidebar`);
  const dialog = /** @type {HTMLDialogElement} */ (
    document.getElementById(`pst-${name}-sidebar-modal`)
  );
  const box = /** @type {HTMLInputElement} */ (
    document.getElementById(`pst-${name}-sidebar-checkbox`)
  );
  on(`.${name}-toggle`, () => {
    if (box) box.checked = !box.checked;
    else if (bar && name === 'primary' && wide.matches) bar.classList.toggle('pst-sidebar-hidden');
    else if (bar) {
      move(bar, dialog);
      dialog.showModal();
      place();
    }
  });
  closeBeside(dialog);
  dialog?.addEventListener('close', () => move(dialog, bar));
}

// The list of pages stays where it was scrolled to, or begins at the page that one reads. Where it
// is a dialog, it is laid out when that opens and not asked before.
const list = document.querySelector('.sidebar-primary-item:has(> .bd-docs-nav)');
const shown = () => list && list.checkVisibility?.({ visibilityProperty: true }) !== false;
function place() {
  if (!shown()) return;
  const before = sessionStorage.getItem('list-of-pages');
  const here = all('.active', list).pop();
  if (before !== null) list.scrollTop = Number(before);
  else if (here) {
    const below = here.getBoundingClientRect().top - list.getBoundingClientRect().top;
    if (below > list.clientHeight / 2) list.scrollTop = below - list.clientHeight / 4;
  }
}
requestAnimationFrame(place); // when the page is laid out anyway
addEventListener('pagehide', () => {
  if (shown()) sessionStorage.setItem('list-of-pages', `${list.scrollTop}`);
});

// Search: a dialog, or on the page of its own the field.
const mac = /^(Mac|iPhone)/.test(navigator.platform);
const dialog = /** @type {HTMLDialogElement} */ (document.getElementById('pst-search-dialog'));
const older = document.querySelector('.search-button__wrapper');
const field = /** @type {HTMLInputElement} */ (
  document.querySelector(
    ':not(#pst-search-dialog, .search-button__search-container) > form.bd-search input',
  ) ?? (dialog ?? older)?.querySelector('form.bd-search input')
);
function search() {
  if (dialog?.contains(field)) {
    if (dialog.open) dialog.close();
    else dialog.showModal();
  } else if (older?.contains(field)) {
    if (older.classList.toggle('show')) field.focus();
  } else if (document.activeElement === field) field.blur();
  else field?.select();
}
on('.search-button__button', search);
on('.search-button__overlay', () => older.classList.remove('show'));
closeBeside(dialog);
addEventListener('keydown', (event) => {
  const { key, metaKey, ctrlKey, shiftKey, altKey } = event;
  const asks = (mac ? metaKey && !ctrlKey : ctrlKey && !metaKey) && !shiftKey && !altKey;
  if (asks && key.toLowerCase() === 'k') {
    event.preventDefault();
    search();
  } else if (key === 'Escape') older?.classList.remove('show');
});
if (mac)
  for (const key of all('kbd.kbd-shortcut__modifier'))
    if (key.textContent === 'Ctrl') key.textContent = '⌘';

// Menus: by a click and by keys; a pointer over the button also shows one, by the style sheet.
const menus = all('[data-bs-toggle="dropdown"]');
function show(button, open) {
  for (const each of menus) {
    const is = open && each === button;
    for (const part of [each, each.nextElementSibling]) part.classList.toggle('show', is);
    each.setAttribute('aria-expanded', `${is}`);
  }
}
for (const button of menus) {
  const items = all('a, button', button.nextElementSibling);
  button.addEventListener('click', () => show(button, !button.classList.contains('show')));
  button.parentElement.addEventListener('keydown', (event) => {
    const at = items.indexOf(/** @type {HTMLElement} */ (document.activeElement));
    const to = { ArrowDown: at + 1, ArrowUp: at - 1 }[event.key];
    if (event.key === 'Escape' && button.classList.contains('show')) {
      show(button, false);
      button.focus();
    } else if (to !== undefined) {
      event.preventDefault();
      show(button, true);
      items.at(to % items.length).focus();
    }
  });
}
addEventListener('click', ({ target }) => {
  if (!(/** @type {Element} */ (target).closest('.dropdown'))) show(null, false);
});

// Code: a button in each box copies what it holds.
const COPY =
  '<rect x="8" y="8" width="12" height="12" rx="2"/><path d="M16 8V6a2 2 0 0 0-2-2H6a2 2 0 0 0-2 ' +
  '2v8a2 2 0 0 0 2 2h2"/>';
const DONE = '<path d="M5 12l5 5L20 7"/>';
const pattern = document.createElement('template');
pattern.innerHTML =
  '<button class="copybtn o-tooltip--left" aria-label="Copy" data-tooltip="Copy"><svg width="44" ' +
  'height="44" viewBox="0 0 24 24" stroke-width="1.5" stroke="currentColor" fill="none" ' +
  `stroke-linecap="round" stroke-linejoin="round" aria-hidden="true">${COPY}</svg></button>`;
for (const code of all('div.highlight > pre')) code.after(pattern.content.cloneNode(true));
async function copied(button) {
  let said = 'Copied!';
  try {
    const text = button.previousElementSibling.textContent;
    await navigator.clipboard.writeText(text.replace(/\n$/, ''));
  } catch {
    said = 'Failed to copy';
  }
  const icon = button.firstElementChild;
  if (said === 'Copied!')
    [icon.innerHTML, button.className] = [DONE, `${button.className} success`];
  button.dataset.tooltip = said;
  setTimeout(() => {
    icon.innerHTML = COPY;
    button.classList.remove('success');
    button.dataset.tooltip = 'Copy';
  }, 2000);
}
on('.copybtn', (event) => copied(event.currentTarget));

// What is left: the whole screen, the way back to the top, and a line below the bar of buttons.
on('.btn-fullscreen-button', () => {
  if (document.fullscreenElement) document.exitFullscreen();
  else root.requestFullscreen();
});
const up = document.getElementById('pst-back-to-top');
let last = 0;
addEventListener(
  'scroll',
  () => {
    if (up) up.style.display = scrollY < last && scrollY > 0 ? 'block' : 'none';
    last = scrollY;
  },
  { passive: true },
);
up?.addEventListener('click', () => scrollTo(0, 0));
const start = document.querySelector('.sbt-scroll-pixel-helper');
if (start)
  new IntersectionObserver(([{ boundingClientRect }]) => {
    document.body.classList.toggle('scrolled', boundingClientRect.y < 0);
  }).observe(start);
