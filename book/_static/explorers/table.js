// The numbers behind an explorer: on its page as people read them, and as CSV with every digit.
import { make } from './dom.js';
import { amount, dollars, percent, plain, quantity } from './numbers.js';

/**
 * A table as CSV, with every digit.
 * @param {Table} table
 */
export function csv(table) {
  /** @param {unknown} value */
  const cell = (value) =>
    /[",\n]/.test(String(value)) ? `"${String(value).replaceAll('"', '""')}"` : String(value ?? '');
  return [table.columns, ...table.rows].map((row) => row.map(cell).join(',')).join('\n');
}

const SCALED = /^(s|B|J|Wh|W|FLOP)(\/s)?$/; // units that take a prefix
const NAMED = / \(([^)]+)\)$/; // the unit of a column, at the end of its name

/**
 * A value as people read it: four digits and its unit, and whole numbers in full while they are
 * short.
 * @param {Table['rows'][0][0]} value
 * @param {string} unit
 */
export function shown(value, unit = '') {
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (typeof value !== 'number') return value ?? '';
  if (unit === '$') return dollars(value);
  if (unit === 'share') return percent(value);
  if (SCALED.test(unit)) return quantity(value, unit);
  return `${value < 1e6 ? plain(value) : amount(value, 4)} ${unit}`.trim();
}

/**
 * The same table for people. The unit of a value is said with it: in brackets it ends the name of a
 * column, or a column called "unit" has that of each row.
 * @param {Table} table
 * @returns {string[][]}
 */
export function said({ columns, rows, words = {} }) {
  const apart = columns.indexOf('unit');
  const units = columns.map((name) => NAMED.exec(name)?.[1] ?? '');
  const isSeen = (_, at) => at !== apart;
  return [
    columns.map((name) => name.replace(NAMED, '')).filter(isSeen),
    ...rows.map((row) =>
      row
        .map((value, at) =>
          at
            ? shown(value, apart < 0 ? units[at] : String(row[apart]))
            : typeof value === 'number'
              ? plain(value, 9)
              : (words[String(value)] ?? String(value)),
        )
        .filter(isSeen),
    ),
  ];
}

/** @param {Table} table */
export function tableOf(table) {
  const [columns, ...rows] = said(table);
  const [first = []] = table.rows;
  const kinds = first // words begin at the left, numbers end at the right
    .filter((_, at) => table.columns[at] !== 'unit')
    .map((value) => (typeof value === 'string' ? 'explorer-word' : null));
  /** @param {string[]} row */
  const row = ([head, ...others]) =>
    make(
      'tr',
      {},
      make('th', { scope: 'row' }, head),
      ...others.map((text, at) => make('td', { class: kinds[at + 1] }, text)),
    );
  const heads = columns.map((name, at) => make('th', { scope: 'col', class: kinds[at] }, name));
  return make(
    'table',
    {},
    make('thead', {}, make('tr', {}, ...heads)),
    make('tbody', {}, ...rows.map(row)),
  );
}
