// Answers in rows, choices in columns: each row opens the sums that made its numbers.
import { billions } from './costs.js';
import { make } from './dom.js';
import { dollars } from './numbers.js';

const LOWER = new Set([
  'ttft_s',
  'tpot_s',
  'usd_per_million_input_tokens',
  'usd_per_million_output_tokens',
  'joules_per_million_input_tokens',
  'joules_per_million_output_tokens',
]);
const HIGHER = new Set([
  'largest_batch',
  'largest_context',
  'output_tokens_per_s_per_user',
  'output_tokens_per_s',
]);

/** What would be so if it did fit; and what nobody can buy then. */
const IF_IT_RUNS = /_s(_per_user)?$|_bound$/;
const PAID = /_million_/;
/** @type {[keys: RegExp, figure: string, said: (value: number) => string][]} */
const OF_THE_DEVICE = [
  [/^usd_/, 'price', (value) => `at $${value} an hour`],
  [/^joules_/, 'watts', (value) => `at ${value} W`],
];

/**
 * What is said beside the numbers that two devices got from one price, or one power, that was typed
 * for both: 0 stands for each device's own.
 */
export function alikeOnly(key, choices) {
  const [, figure, said] = OF_THE_DEVICE.find(([keys]) => keys.test(key)) ?? [];
  const left = (one) =>
    one[figure] &&
    choices.some((other) => other.device !== one.device && other[figure] === one[figure]);
  return figure && choices.some(left) ? choices.map((choice) => said(choice[figure])) : null;
}

/** Which of some choices are best in an answer: none where that means nothing, or all are alike. */
export function best(key, found, choices) {
  if (alikeOnly(key, choices)) return found.map(() => false);
  const values = found.map(({ fits, by }) => (fits ? by?.get(key)?.value : undefined));
  const known = values.filter((value) => value !== undefined);
  if (known.length < 2 || !(LOWER.has(key) || HIGHER.has(key))) return values.map(() => false);
  const top = LOWER.has(key) ? Math.min(...known) : Math.max(...known);
  return values.map((value) => value === top && known.some((other) => other !== top));
}

/** An answer as the table shows it: money and parameters as they are written everywhere here. */
export function displayed({ key, value, shown }) {
  if (/^usd_/.test(key) && Number.isFinite(value)) return dollars(value);
  return /params$/.test(key) ? billions(value) : shown;
}

/** One table: some keys' rows, with a head where choices are to be told apart. */
export class Answers {
  constructor(caption, home, choose, remove) {
    this.home = home;
    this.choose = choose;
    this.remove = remove;
    this.rows = new Map();
    this.count = 0;
    this.open = new Set();
    this.head = make('thead');
    this.body = make('tbody');
    this.box = make(
      'div',
      { class: 'answers' },
      make(
        'table',
        {},
        make('caption', { class: 'answers-caption' }, caption),
        this.head,
        this.body,
      ),
    );
  }

  /** Where the keyboard goes when what it was on has gone. */
  focus(at, options = {}) {
    this.heads[at].name.focus(options);
  }

  update(keys, { choices, found, names, whole, place }) {
    if (this.count !== found.length) this.columns(found.length);
    this.heads.forEach((head, at) => this.named(head, names[at], whole[at], at, at === place));
    const rows = keys.map((key) => this.row(key));
    if (
      rows.some(({ parts }, at) => this.body.children[2 * at] !== parts[0]) ||
      this.body.children.length !== 2 * rows.length
    )
      this.body.replaceChildren(...rows.flatMap(({ parts }) => parts));
    keys.forEach((key, at) => this.fill(key, rows[at], { choices, found, names, place }));
  }

  columns(count) {
    this.count = count;
    this.rows.clear();
    this.heads = Array.from({ length: count }, (_, at) => ({
      cell: make('th', { scope: 'col' }),
      name: make('button', { type: 'button', '.onclick': () => this.choose(at) }),
      away: make(
        'button',
        { type: 'button', class: 'answers-away', '.onclick': () => this.remove(at) },
        '×',
      ),
    }));
    for (const { cell, name, away } of this.heads)
      cell.append(make('div', {}, name, this.remove ? away : null));
    this.head.replaceChildren(
      ...(count > 1 ? [make('tr', {}, make('td'), ...this.heads.map(({ cell }) => cell))] : []),
    );
    this.box.classList.toggle('answers-several', count > 1);
  }

  named({ cell, name, away }, text, whole, at, chosen) {
    name.textContent = `${at + 1}: ${text}`;
    name.title = whole === text ? '' : whole;
    name.setAttribute('aria-pressed', chosen);
    away.setAttribute('aria-label', `Take away ${at + 1}: ${text}`);
    cell.classList.toggle('answers-chosen', chosen);
  }

  row(key) {
    if (!this.rows.has(key)) {
      const button = make('button', {
        type: 'button',
        'aria-expanded': String(this.open.has(key)),
        '.onclick': () => this.toggle(key),
      });
      const cells = Array.from({ length: this.count }, () => make('td'));
      const whole = make('td', { colspan: this.count + 1 });
      const why = make('tr', { class: 'answers-why', '.hidden': !this.open.has(key) }, whole);
      this.rows.set(key, {
        button,
        cells,
        why,
        whole,
        parts: [
          make('tr', { 'data-key': key }, make('th', { scope: 'row' }, button), ...cells),
          why,
        ],
      });
    }
    return this.rows.get(key);
  }

  toggle(key) {
    const { button, why, unfold } = this.rows.get(key);
    const opens = !this.open.delete(key);
    if (opens) {
      this.open.add(key);
      unfold();
    }
    button.setAttribute('aria-expanded', String(opens));
    why.hidden = !opens;
  }

  fill(key, row, { choices, found, names, place }) {
    const answers = found.map(({ by }) => by?.get(key));
    const beside = alikeOnly(key, choices);
    const said = [
      place,
      ...names,
      ...(beside ?? []),
      ...found.map(({ fits }) => fits),
      ...answers.flatMap((answer) => [answer?.shown, answer?.why, answer?.where]),
    ].join('|');
    if (row.said === said) return;
    row.said = said;
    const { button, cells, whole } = row;
    const first = answers[place] ?? answers.find(Boolean);
    const winners = best(key, found, choices);
    if (first) button.textContent = first.name; // or what it was, where nothing is answered
    cells.forEach((cell, at) => {
      const isShown = answers[at] && (found[at].fits || !PAID.test(key));
      const idle = isShown && !found[at].fits && IF_IT_RUNS.test(key);
      const notes = [
        ...(beside && isShown ? [['answers-note', beside[at]]] : []),
        ...(winners[at] ? [['answers-best', 'best']] : []),
        ...(idle ? [['explorer-offscreen', 'if it did fit']] : []),
        ...(key === 'fits' && found[at].fits === false
          ? [['answers-note answers-if', 'numbers in grey: if it did fit']]
          : []),
      ];
      cell.replaceChildren(
        isShown ? displayed(answers[at]) : '–',
        ...notes.flatMap(([kind, text]) => [' ', make('span', { class: kind }, text)]),
      );
      cell.classList.toggle('answers-chosen', at === place && this.count > 1);
      cell.classList.toggle('answers-idle', Boolean(idle));
    });
    row.unfold = () =>
      whole.replaceChildren(
        ...answers.flatMap((answer, at) => (answer ? [this.sum(answer, names[at], at)] : [])),
      ); // most are never looked at
    if (this.open.has(key)) row.unfold();
  }

  /** What made a number, and where that is derived. */
  sum({ why, where }, name, at) {
    const link = make(
      'a',
      { href: this.home + where, target: this.home ? '_blank' : null },
      'where this is derived',
    );
    return make(
      'p',
      {},
      this.count > 1 ? make('b', {}, `${at + 1}: ${name} `) : null,
      `= ${why} · `,
      link,
    );
  }
}
