// Starts the explorers of a page, each when it comes near the screen: what a cell left in its place
// gives way to what can be moved.
import { keysOf, named } from './address.js';

const NEAR = '100% 0px'; // a screen above and below
/** @type {NodeListOf<HTMLElement>} */
const all = document.querySelectorAll('[data-explorer]');
const roots = [...all].filter((root) => /^[a-z_]+$/.test(root.dataset.explorer));

// Two of one kind on a page are told apart by a number.
const seen = new Map();
for (const root of roots) {
  const name = root.dataset.explorer;
  seen.set(name, (seen.get(name) ?? 0) + 1);
  root.dataset.key = seen.get(name) > 1 ? `${name}${seen.get(name)}` : name;
}
const keys = roots.map((root) => root.dataset.key);

/** Each module is a task of its own, after those that it imports: a touch need not wait for all. */
async function evaluate() {
  const { otherThings } = await import('./dom.js');
  for (const link of document.querySelectorAll('link[rel=modulepreload]')) {
    await import(/** @type {HTMLLinkElement} */ (link).href);
    await otherThings();
  }
}

async function begin(root) {
  try {
    await evaluate();
    const [{ start }, page] = await Promise.all([
      import('./frame.js'),
      import(`./${root.dataset.explorer}.js`),
    ]);
    await start(root, page, keys);
  } catch (error) {
    root.classList.add('explorer-failed'); // the figure and the table stay
    throw error;
  }
}

const watch = new IntersectionObserver(
  (entries) => {
    for (const { target, isIntersecting } of entries) {
      target.classList.toggle('explorer-later', !isIntersecting);
      if (!isIntersecting) continue;
      watch.unobserve(target);
      begin(target);
    }
  },
  { rootMargin: NEAR },
);

/** Who follows a link to a state comes to the explorer that has it. */
function goTo() {
  const wanted = roots.find(
    (root) => keysOf(named(location.hash), root.dataset.key, keys) !== null,
  );
  if (wanted && wanted.getBoundingClientRect().top > innerHeight) wanted.scrollIntoView();
}

for (const root of roots) watch.observe(root);
addEventListener('hashchange', goTo);
const [arrival] = performance.getEntriesByType('navigation');
if (/** @type {PerformanceNavigationTiming} */ (arrival)?.type === 'navigate') goTo();
