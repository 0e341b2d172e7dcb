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
  const { number, select } = explorer.inputs.get(id);
  const field = (number ?? select).closest('.explorer-field');
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
  for (const [id, { number, slider, control }] of explorer.inputs) {
    slider?.addEventListener('input', () => hint(explorer, id, '')); // it stays within them
    number?.addEventListener('change', () => {
      const typed = Number(number.value); // which the explorer shows no more a moment later
      const { label, min, max } = control;
      const isOut = number.value !== '' && (typed < min || typed > max);
      hint(explorer, id, isOut ? `${label}: ${plain(min, 9)} to ${plain(max, 9)}` : '');
    });
  }
}
