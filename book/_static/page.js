// Small helps on every page: places that stay put, stops for the keyboard, and print in light
// colours.
const root = document.documentElement;

/** Sections that were not laid out yet get their height on the way to a place: go there again. */
function settle(turns = 6) {
  const target = document.getElementById(named(location.hash.slice(1)));
  if (!target || turns === 0) return;
  const before = target.getBoundingClientRect().top;
  requestAnimationFrame(() => {
    if (Math.abs(target.getBoundingClientRect().top - before) > 2) target.scrollIntoView();
    settle(turns - 1);
  });
}
addEventListener('hashchange', () => settle());
settle();

// What fits needs no stop on the way through the page by keyboard; what scrolls does.
/** @type {NodeListOf<HTMLElement>} */
const boxes = document.querySelectorAll('.bd-article div[tabindex="0"]');
const near = new IntersectionObserver(
  (seen) => {
    // A width asked of what is far lays out the section that it waits in.
    for (const { target } of seen.filter((each) => each.isIntersecting)) {
      const fits = target.scrollWidth <= target.clientWidth;
      /** @type {HTMLElement} */ (target).tabIndex = fits ? -1 : 0;
    }
  },
  { rootMargin: '50% 0px' },
);
function look() {
  near.disconnect();
  for (const box of boxes) {
    box.tabIndex = 0;
    near.observe(box);
  }
}
look();
addEventListener('resize', look);

// Code can be hidden on all pages; a script in the head does it before the page is seen.
const buttons = document.querySelector('.article-header-buttons');
if (buttons && document.querySelector('.bd-article .cell:not(.tag_hide-cell) .cell_input')) {
  const button = document.createElement('button');
  button.className = 'code-switch';
  const tell = () => {
    button.textContent = root.classList.contains('code-hidden') ? 'Show code' : 'Hide code';
  };
  button.addEventListener('click', () => {
    if (root.classList.toggle('code-hidden')) localStorage.setItem('code', 'hidden');
    else localStorage.removeItem('code');
    tell();
  });
  tell();
  buttons.prepend(button);
}

let theme = null;
addEventListener('beforeprint', () => {
  theme = root.dataset.theme;
  root.dataset.theme = 'light';
});
addEventListener('afterprint', () => {
  root.dataset.theme = theme ?? root.dataset.theme;
});

/** A heading's name as an address spells it; what nobody could have spelt stays as it is. */
function named(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

// The list of the page's headings says where one is. Only what is near is asked where it stands:
// a section that waits, and then the headings inside the one that is read.
/** @type {NodeListOf<HTMLAnchorElement>} */
const links = document.querySelectorAll('.bd-sidebar-secondary a.nav-link[href^="#"]');
const entries = [...links]
  .map((link) => [document.getElementById(decodeURIComponent(link.hash.slice(1))), link])
  .filter(([place]) => place);
const places = [...new Set(entries.map(([place]) => place))];
const [outer, inner] = [false, true].map((nested) =>
  places.filter((place) => (place.parentElement.closest('section.later') !== null) === nested),
);
const passed = (some) => some.filter((place) => place.getBoundingClientRect().top < 200).pop();
let asked = false;
function mark() {
  asked = false;
  const section = passed(outer);
  const here = passed(inner.filter((place) => section?.contains(place))) ?? section;
  for (const [place, link] of entries) {
    link.classList.toggle('active', place === here);
    if (place === here) link.setAttribute('aria-current', 'true');
    else link.removeAttribute('aria-current');
  }
}
addEventListener(
  'scroll',
  () => {
    if (!asked) requestAnimationFrame(mark);
    asked = true;
  },
  { passive: true },
);
requestAnimationFrame(mark); // when the page is laid out anyway

// It gives way to what stands in the margin, where there is one.
const wide = matchMedia('(min-width: 1200px)');
function makeWay() {
  if (!wide.matches) return;
  wide.removeEventListener('change', makeWay);
  const taken = new Set();
  const list = document.querySelector('.sidebar-secondary-items')?.getBoundingClientRect();
  const margin = new IntersectionObserver(
    (seen) => {
      for (const { target, isIntersecting } of seen)
        taken[isIntersecting ? 'add' : 'delete'](target);
      root.classList.toggle('margin-taken', taken.size > 0);
    },
    { rootMargin: `0px 0px ${Math.min(0, Math.round((list?.bottom ?? 0) - innerHeight))}px` },
  ); // as far down as the list goes
  for (const each of document.querySelectorAll(
    '.aside, :is(.pst-scrollable-table-container, .output):has(table.rows)',
  ))
    margin.observe(each);
}
wide.addEventListener('change', makeWay);
requestAnimationFrame(makeWay);
