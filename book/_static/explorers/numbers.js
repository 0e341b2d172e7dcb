// Numbers as people read them. The tables hold them in full.

/** @type {[scale: number, prefix: string][]} */
const PREFIXES = [
  [1e24, 'Y'],
  [1e21, 'Z'],
  [1e18, 'E'],
  [1e15, 'P'],
  [1e12, 'T'],
  [1e9, 'G'],
  [1e6, 'M'],
  [1e3, 'k'],
  [1, ''],
  [1e-3, 'm'],
  [1e-6, 'µ'],
  [1e-9, 'n'],
];

/** With separators. (Intl.NumberFormat takes longer to make than a page to compute.) */
function formatted(value, digits) {
  const [whole, part] = String(digits ? Number(value.toPrecision(digits)) : value).split('.');
  return whole.replace(/\B(?=(\d{3})+$)/g, ',') + (part ? `.${part}` : '');
}

/** A power of ten as people write it: 7.23 × 10²³. */
function scientific(value, digits) {
  const [number, power] = value.toExponential(digits - 1).split('e');
  const raised = (digit) => '⁻⁰¹²³⁴⁵⁶⁷⁸⁹'['-0123456789'.indexOf(digit)];
  return `${Number(number)} × 10${[...power.replace('+', '')].map(raised).join('')}`;
}

/** Digits that matter, with separators: 1,234 or 0.00123 or 7.23 × 10²³. */
export function plain(value, digits = 4) {
  if (value === null || value === undefined || Number.isNaN(value)) return '–';
  if (!Number.isFinite(value)) return 'no limit';
  if (value === 0) return '0';
  if (Number.isInteger(value) && Math.abs(value) < (digits > 4 ? 1e15 : 1e9))
    return formatted(value, 0); // as it was typed
  const size = Math.abs(value);
  if (size >= 1e9 || size < 1e-4) return scientific(value, digits);
  return formatted(value, digits);
}

/** One of what words name many of: token, new token, entry, guess. */
export const singular = (words) =>
  words.replace(/(\w{2,}?)(?:(?<=ss|ch)es|(ies)|s)\b/, (_, stem, y) => stem + (y ? 'y' : ''));

/** So many of something: 1 token, 2 tokens. */
export const counted = (count, what) => `${plain(count, 9)} ${count === 1 ? singular(what) : what}`;

/** A value with its unit and the prefix that suits it: 13.7 TFLOP. */
export function quantity(value, unit, digits = 4) {
  if (!Number.isFinite(value)) return plain(value);
  if (value === 0) return `0 ${unit}`;
  const [scale, prefix] =
    PREFIXES.find(([each]) => Math.abs(value) >= each * 0.99999) ?? PREFIXES.at(-1);
  return `${formatted(value / scale, digits)} ${prefix}${unit}`;
}

/** @type {[scale: number, word: string][]} */
const WORDS = [
  [1e12, 'trillion'],
  [1e9, 'billion'],
  [1e6, 'million'],
];

/** A large number in words, where no letter could be taken for a unit: 59.8 million. */
export function amount(value, digits = 3) {
  if (!Number.isFinite(value)) return plain(value);
  const [scale, word] = WORDS.find(([each]) => value >= each * 0.99999) ?? [];
  return word ? `${formatted(value / scale, digits)} ${word}` : plain(value);
}

/** A sum of money: in cents, of thousands in dollars; two digits of what is less than ten cents. */
export function dollars(value) {
  if (value >= 0.0995 && value < 1000) return `$${value.toFixed(2)}`;
  if (value >= 1e-4 && value < 1) return `$${value.toPrecision(2)}`; // as many digits in a column
  return `$${value < 1 ? plain(value, 2) : plain(Math.round(value))}`;
}

/**
 * What no line may break: so many of a device, a number with its power of ten, its word and its
 * unit, and a name with hyphens and a number, such as H100-SXM.
 */
export const WHOLE = new RegExp(
  '(\\d[\\d,]* × [A-Z][\\w.]*(?:-[\\w.]+)*|' +
    '\\$?\\d[\\d.,]*(?: × 10[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)?(?: (?:m|b|tr)illion\\b)?' +
    '(?: (?:[nµmkMGTPEZY]?(?:FLOPs?|Wh?|[BsJ])(?:/s)?(?![\\w/])|' +
    '(?:tokens?(?:/s)?|entries|times|days|hours|minutes)\\b))?|' +
    '(?=[\\w.-]*\\d)[A-Za-z][\\w.]*(?:-[\\w.]+)+)',
  'g',
);

/** Bytes, decimal. */
export const bytes = (value) => quantity(value, 'B');
/** A share in per cent. */
export const percent = (value) => `${plain(value * 100, 3)}%`;

/** Whole numbers from one to another, evenly spaced on a logarithmic axis, without repeats. */
export function sweep(first, last, steps, also = []) {
  const found = new Set(also.filter((x) => x >= first && x <= last));
  for (let i = 0; i <= steps; i += 1) found.add(Math.round(first * (last / first) ** (i / steps)));
  return [...found].sort((a, b) => a - b);
}
