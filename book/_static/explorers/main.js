// Starts the explorer of a page: what a cell left in its place gives way to what can be moved.
import { start } from './frame.js';

for (const root of document.querySelectorAll('[data-explorer]')) {
  const name = root.dataset.explorer;
  if (!/^[a-z_]+$/.test(name)) continue;
  const page = await import(`./${name}.js`);
  const stand = root.closest('.cell_output') ?? root;
  for (const figure of stand.querySelectorAll('svg.costlib-figure')) figure.remove();
  start(root, page);
}
