// What is said beside the field of a setting: that a number was out of range, or what is refused.
import { make } from './dom.js';
import { plain } from './numbers.js';

/**
 * A line below the field of a setting; an empty text takes it away.
 * @param {any} explorer
 * @param {string} id
 * @param {string} text
 */
export function hint(explorer, id, text, kind = 'calculator-range') {
  const { number, select } = explorer.inputs.get(id) ?? {};
  const field = (number ?? select)?.closest('.explorer-field');
  if (!field) return; // which is folded, and was never opened
  const line = field.querySelector(`.${kind}`);
  if (line) line.textContent = text;
  else if (text)
    field.append(make('p', { class: `calculator-hint ${kind}`, role: 'status' }, text));
}

/**
 * Says between what a number may be, once one was typed that is changed to the nearest of these.
 * @param {any} explorer
 */
export function sayRanges(explorer) {
  const of = (/** @type {EventTarget} */ input) =>
    [...explorer.inputs].find(([, { number, slider }]) => input === number || input === slider);
  explorer.root.addEventListener('input', ({ target }) => {
    const [id, { slider }] = of(target) ?? ['', {}];
    if (id && target === slider) hint(explorer, id, ''); // it stays within them
  });
  const say = ({ target }) => {
    const [id, { number, control }] = of(target) ?? ['', {}];
    if (!id || target !== number) return;
    const typed = Number(number.value); // which the explorer shows no more a moment later
    const { label, min, max } = control;
    const isOut = number.value !== '' && (typed < min || typed > max);
    hint(explorer, id, isOut ? `${label}: ${plain(min, 9)} to ${plain(max, 9)}` : '');
  };
  explorer.root.addEventListener('change', say, true); // before the explorer hears of it
}
