// The one way an element is made, a text is copied, and a pointer holds something.
import { WHOLE } from './numbers.js';

/**
 * An element with attributes, properties that begin with a dot, and children.
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Record<string, any>} attributes
 * @param {...(Node | string | null)} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith('.')) element[name.slice(1)] = value;
    else if (value !== false && value !== null && value !== undefined)
      element.setAttribute(name, value === true ? '' : value);
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

/**
 * What is folded comes into the page when it is first opened, of which an event `fill` tells:
 * before, nobody lays it out.
 * @param {Record<string, any>} attributes
 * @param {string} title
 * @param {...Node} content
 */
export function folded(attributes, title, ...content) {
  const fold = make('details', attributes, make('summary', {}, title));
  const inside = new DocumentFragment();
  inside.append(...content);
  const fill = () => {
    if (!inside.firstChild) return;
    fold.append(inside);
    fold.dispatchEvent(new Event('fill'));
  };
  fold.firstElementChild.addEventListener('click', fill); // in the same frame
  fold.addEventListener('toggle', fill);
  return fold;
}

const RAISED = /([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)/;

/** A part of a text that stays on one line; the digits of a power are of one face. */
const whole = (part) =>
  make(
    'span',
    { class: 'whole' },
    ...part
      .split(RAISED)
      .map((piece, at) => (at % 2 ? make('span', { class: 'power' }, piece) : piece)),
  );

/**
 * A text in which no line breaks a quantity, or a name that has a number.
 * @param {string} text
 */
export const withUnits = (text) =>
  text.split(WHOLE).map((part, at) => (at % 2 && /[ -]/.test(part) ? whole(part) : part));

/**
 * Code in which no line breaks a word, such as an option, unless it is longer than a line, and
 * which may break after a bracket.
 * @param {string} code
 */
export const inWords = (code) =>
  code
    .split(/(\s+)/)
    .flatMap((part) => part.split(/(?<=\()/))
    .map((part) => (part.trim() ? make('span', { class: 'code-word' }, part) : part));

/**
 * Put a text on the clipboard, also where the page was not served securely; whether it is there
 * now.
 * @param {string} text
 */
export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = make('textarea', {
      '.value': text,
      class: 'explorer-offscreen',
      'aria-label': 'text to copy',
    });
    document.body.append(area);
    area.select();
    const done = document.execCommand('copy');
    area.remove();
    return done;
  }
}

/** Whether a reader asks for little motion. */
export const calm = globalThis.matchMedia?.('(prefers-reduced-motion: reduce)').matches;

const STILL = 5; // pixels

/**
 * Lets a pointer hold what `begin` says of where it came down: `move`, each place; `tap`, where it
 * was let go at once;
 * `atOnce`, if a mouse need not move first. A finger's way up and down is the page's, unless the
 * grip is `free`.
 * @typedef {PointerEvent & { target: Element }} Press
 * @typedef {(event: PointerEvent) => void} Follow
 * @typedef {{ move: Follow, tap?: Follow, atOnce?: boolean, free?: boolean }} Grip
 * @param {HTMLElement} element
 * @param {(first: Press) => Grip | null} begin
 */
export function hold(element, begin) {
  let isFree = false;
  // touch-action inside an SVG is ignored, and a page that scrolls takes the pointer away.
  element.addEventListener(
    'touchstart',
    (event) => {
      if (isFree) event.preventDefault();
    },
    { passive: false },
  );
  element.addEventListener('pointerdown', (first) => {
    const found = first.button ? null : begin(/** @type {Press} */ (first));
    isFree = Boolean(found?.free);
    if (!found) return;
    const { move, tap = move, atOnce = false, free = false } = found;
    const isFinger = first.pointerType === 'touch';
    let moving = atOnce && !isFinger;
    const until = new AbortController();
    const listen = (name, action) =>
      element.addEventListener(name, action, { signal: until.signal });
    element.setPointerCapture(first.pointerId);
    if (moving) move(first);
    listen('pointermove', (event) => {
      const [across, down] = [
        Math.abs(event.clientX - first.clientX),
        Math.abs(event.clientY - first.clientY),
      ];
      if (!moving && Math.max(across, down) < STILL) return;
      if (!moving && isFinger && !free && down > across) {
        until.abort();
        return;
      }
      moving = true;
      move(event);
    });
    listen('pointerup', (event) => {
      until.abort();
      (moving ? move : tap)(event);
    });
    listen('pointercancel', () => until.abort());
  });
}

/** Lets the page do what else there is, before what comes next. */
export const otherThings = () =>
  new Promise((done) => {
    setTimeout(done);
  });

// Safari has none.
const whenIdle = globalThis.requestIdleCallback ?? ((run) => setTimeout(run, 20));

/** Waits until the page has nothing else to do. */
export const idle = () =>
  new Promise((resume) => {
    whenIdle(resume);
  });

/** Does something at the first sign of a reader: a pointer, a touch, a key, a page that scrolls. */
export function whenSomebodyIsThere(action) {
  const until = new AbortController();
  const begin = () => {
    until.abort();
    action();
  };
  for (const sign of ['pointermove', 'pointerdown', 'keydown', 'scroll'])
    addEventListener(sign, begin, { passive: true, signal: until.signal });
}
