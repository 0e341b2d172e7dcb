// The numbers behind an explorer: on its page as people read them, and as CSV with every digit.
import { make, withUnits } from './dom.js';
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
const SHORT = 18; // letters that stay on one line

/**
 * A value as people read it: four digits and its unit, and whole numbers in full while they are
 * short.
 * @param {Table['rows'][0][0]} value
 * @param {string} unit
 */
export function shown(value, unit = '') {
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (typeof value !== 'number') return value ?? '';
  if (!Number.isFinite(value)) return plain(value);
  if (unit === '$') return dollars(value);
  if (unit === 'share') return percent(value);
  if (SCALED.test(unit)) return quantity(value, unit);
  return `${value < 1e6 ? plain(value) : amount(value, 4)} ${unit}`.trim();
}

/**
 * The same table for people. The unit of a value is said with it: in brackets it ends the name of a
 * column, or a column called "unit" has that of each row. Some values have words of their own.
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
        .map((value, at) => {
          if (words[String(value)]) return words[String(value)];
          if (at) return shown(value, apart < 0 ? units[at] : String(row[apart]));
          return typeof value === 'number' ? plain(value, 9) : String(value);
        })
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
  /**
   * @param {'th' | 'td'} tag
   * @param {string} text
   * @param {number} at
   */
  const cell = (tag, text, at) => {
    const line = text.length > SHORT ? null : 'whole';
    const kind = [kinds[at], line].filter(Boolean).join(' ');
    return make(
      tag,
      { scope: tag === 'th' ? 'row' : null, class: kind || null },
      ...withUnits(text),
    );
  };
  /** @param {string[]} cells */
  const row = (cells) =>
    make('tr', {}, ...cells.map((text, at) => cell(at ? 'td' : 'th', String(text), at)));
  const heads = columns.map((name, at) =>
    make('th', { scope: 'col', class: kinds[at] }, ...withUnits(name)),
  );
  return make(
    'table',
    {},
    make('thead', {}, make('tr', {}, ...heads)),
    make('tbody', {}, ...rows.map(row)),
  );
}
