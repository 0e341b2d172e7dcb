// The calculator alone: whoever shows it in a frame is told how high it is.
import * as page from './calculator.js';
import { start } from './frame.js';

/** @type {HTMLElement} */
const root = document.querySelector('[data-explorer]');
root.dataset.key = root.dataset.explorer;
start(root, page, [root.dataset.key]);

const tell = () =>
  parent.postMessage(
    { height: Math.ceil(document.documentElement.getBoundingClientRect().height) },
    '*',
  );
new ResizeObserver(tell).observe(document.documentElement);
addEventListener('load', () => setTimeout(tell)); // by then the other page listens
