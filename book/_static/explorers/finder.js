// A box beside a long list: the list keeps what has all words that are typed, and the first of
// these stand below as buttons. Enter takes the first, and what is the only one left is taken at
// once.
import { nameOf } from './costs.js';
import { make } from './dom.js';
import { choices, entriesOf } from './frame.js';

/** What is compared: letters and digits in small words, so that "Llama 3.1 70B" finds its model. */
const wordsIn = (text) =>
  text
    .toLowerCase()
    .split(/[^a-z0-9.]+/)
    .filter(Boolean);

/** Whether a text has a word, and not the end of another number: 70B is no part of 1,570B. */
const holds = (said, word) =>
  /^\d/.test(word)
    ? new RegExp(`(?<![\\d.,])${word.replaceAll('.', '\\.')}`).test(said)
    : said.includes(word);

/**
 * Those of some entries that have all words of a text, in their name, size or family. Those that
 * begin with it come first, then those of which it is whole words.
 * @param {Choice[]} entries
 * @param {string} text
 */
export function matching(entries, text) {
  const words = wordsIn(text);
  const found = entries.filter((entry) => {
    const said = entry.join(' ').toLowerCase();
    return words.every((word) => holds(said, word));
  });
  const begins = (/** @type {Choice} */ entry) =>
    Number(!wordsIn(entry[0]).join('-').startsWith(words.join('-')));
  const partly = (/** @type {Choice} */ entry) => {
    const said = new Set(wordsIn(entry.join(' ')));
    return words.filter((word) => !said.has(word)).length;
  };
  return found.sort((one, other) => begins(one) - begins(other) || partly(one) - partly(other));
}

const SHOWN = 8; // matches that have a button

/**
 * How many of something, and of what: "2 H100", "8×H200", "H200 x8", or only what.
 * @param {string} text
 */
export function countIn(text) {
  const first = /^\s*(\d{1,3})(?:\s+|\s*[x×]\s*)(\S.*)$/i.exec(text);
  if (first) return { many: Number(first[1]), what: first[2] };
  const last = /^(.*[\s\d])[x×]\s*(\d{1,3})\s*$/i.exec(text);
  return last ? { many: Number(last[2]), what: last[1] } : { what: text };
}

/**
 * Puts the box before the list of a setting.
 * @param {any} explorer
 * @param {string} id
 * @param {string} example
 * @param {string} [count] the setting of how many there are, if that may be typed too
 */
export function finder(explorer, id, example, count) {
  const { select } = explorer.inputs.get(id);
  const control = explorer.page.controls.find((each) => each.id === id);
  const all = () => choices(control, explorer.state);
  const typed = () => (count ? countIn(box.value) : { what: box.value });
  const take = (value, { many } = typed()) => {
    const change = { [id]: value, ...(many ? { [count]: many } : {}) };
    if (Object.entries(change).some(([each, now]) => explorer.state[each] !== now))
      explorer.set({ ...explorer.state, ...change });
  };
  const narrow = () => {
    const found = matching(all(), typed().what);
    const now = found.length === 1 ? found[0][0] : explorer.state[id];
    const kept = new Set([...found, ...all().filter(([value]) => value === now)]);
    select.replaceChildren(...entriesOf(box.value.trim() ? [...kept] : all()));
    select.value = now;
    if (found.length === 1) take(now);
    tell(found);
    return found;
  };
  const tell = (found) => {
    matches.replaceChildren();
    if (!box.value.trim() || found.length === 1) return;
    const left = found.length - SHOWN;
    matches.append(
      make('span', { role: 'status' }, found.length ? `${found.length} match:` : 'Nothing matches'),
      ...found.slice(0, SHOWN).map(([value]) =>
        make(
          'button',
          {
            type: 'button',
            '.onclick': () => {
              const said = typed();
              box.value = '';
              narrow();
              take(value, said);
              select.focus();
            },
          },
          nameOf(value),
        ),
      ),
      ...(left > 0 ? [`and ${left} more in the list`] : []),
    );
  };
  const box = make('input', {
    type: 'search',
    class: 'calculator-find',
    placeholder: example,
    autocomplete: 'off',
    enterkeyhint: 'done',
    'aria-label': `Find a ${control.label.toLowerCase()}`,
    '.oninput': narrow,
    '.onkeydown': (event) => {
      if (event.key !== 'Enter' || !box.value.trim()) return;
      const [first] = narrow();
      if (first) {
        take(first[0]);
        matches.replaceChildren();
      } else explorer.say(`No ${control.label.toLowerCase()} here is called “${box.value}”.`);
    },
  });
  select.addEventListener('change', () => {
    box.value = '';
    narrow();
  });
  select.addEventListener('filled', () => {
    box.value = '';
    matches.replaceChildren();
  });
  const matches = make('div', { class: 'calculator-matches' });
  select.before(box);
  select.after(matches);
}
