// Python's operators and functions, for modules that tools/pages/translate prints: each is called
// by the name that it has there, with its arguments by place and those of a star as one array.

import {
  Dict,
  Exception,
  Float,
  FrozenItems,
  IndexError,
  Items,
  KeyError,
  List,
  PlainObject,
  TypeError_,
  ValueError,
  ZeroDivisionError,
  call,
  fields,
  list,
  signed,
  truth,
  type,
} from './python_values.js';
import { fixed } from './python_text.js';

export * from './python_values.js';
export { format, json_JSONDecodeError, json_loads, repr } from './python_text.js';
export { PlainObject as object, TypeError_ as TypeError };

export const Ellipsis = Symbol('Ellipsis');
export const NotImplemented = Symbol('NotImplemented');
export const math_inf = Infinity;

const isNumber = (x) => typeof x === 'number';
const isSequence = (x) => Array.isArray(x) || typeof x === 'string';

// ---------------------------------------------------------------- operators

/** A number, a truth value or a whole float as a number; anything else is undefined. */
function numeric(x) {
  if (isNumber(x)) return x;
  const isOne = typeof x === 'boolean' || typeof x === 'bigint' || x instanceof Float;
  return isOne ? Number(x) : undefined;
}

function clash(sign, a, b) {
  const kinds = `'${type(a).__name__}' and '${type(b).__name__}'`;
  throw new TypeError_().__init__([`unsupported operand type(s) for ${sign}: ${kinds}`]);
}

/** What the values' own methods make of it, else of them as numbers. */
function slowly(sign, mine, theirs, a, b, plain) {
  const made = a?.[mine]?.(b) ?? NotImplemented;
  if (made !== NotImplemented) return made;
  const turned = b?.[theirs]?.(a) ?? NotImplemented;
  if (turned !== NotImplemented) return turned;
  const one = numeric(a);
  const other = numeric(b);
  return one === undefined || other === undefined ? clash(sign, a, b) : plain(one, other);
}

export function add(a, b) {
  if (isNumber(a) && isNumber(b)) return a + b;
  if (typeof a === 'string' && typeof b === 'string') return a + b;
  if (Array.isArray(a) && Array.isArray(b) && a instanceof List === b instanceof List) {
    return a instanceof List ? list([...a, ...b]) : [...a, ...b];
  }
  return slowly('+', '__add__', '__radd__', a, b, (x, y) => x + y);
}

export function sub(a, b) {
  if (isNumber(a) && isNumber(b)) return a - b;
  if (a instanceof Items) return new a.kind([...a].filter((x) => !b.has(x)));
  return slowly('-', '__sub__', '__rsub__', a, b, (x, y) => x - y);
}

export function mul(a, b) {
  if (isNumber(a) && isNumber(b)) return a * b;
  if (isSequence(a) && numeric(b) !== undefined) return repeated(a, numeric(b));
  if (isSequence(b) && numeric(a) !== undefined) return repeated(b, numeric(a));
  return slowly('*', '__mul__', '__rmul__', a, b, (x, y) => x * y);
}

function repeated(values, times) {
  if (typeof values === 'string') return values.repeat(Math.max(0, times));
  const made = Array.from({ length: Math.max(0, times) }, () => [...values]).flat();
  return values instanceof List ? list(made) : made;
}

export function div(a, b) {
  if (isNumber(a) && isNumber(b) && b !== 0) return a / b;
  const divided = (x, y) => (y === 0 ? noDivision('division by zero') : x / y);
  return slowly('/', '__truediv__', '__rtruediv__', a, b, divided);
}

function noDivision(text) {
  throw new ZeroDivisionError().__init__([text]);
}

/** Rounded down as Python does it: from what is left over, so that no rounding of a / b is seen. */
export function floordiv(a, b) {
  if (!isNumber(a) || !isNumber(b)) {
    return slowly('//', '__floordiv__', '__rfloordiv__', a, b, floordiv);
  }
  if (b === 0) noDivision('integer division or modulo by zero');
  if (!Number.isFinite(a) || !Number.isFinite(b)) return Math.floor(a / b);
  const quotient = (a - mod(a, b)) / b;
  const low = Math.floor(quotient);
  return quotient - low > 0.5 ? low + 1 : low;
}

export function mod(a, b) {
  if (!isNumber(a) || !isNumber(b)) return slowly('%', '__mod__', '__rmod__', a, b, mod);
  if (b === 0) noDivision('integer division or modulo by zero');
  const rest = a % b;
  return rest !== 0 && rest < 0 !== b < 0 ? rest + b : rest;
}

export const divmod = (a, b) => [floordiv(a, b), mod(a, b)];

export function pow(a, b) {
  if (isNumber(a) && isNumber(b)) return a ** b;
  return slowly('** or pow()', '__pow__', '__rpow__', a, b, (x, y) => x ** y);
}

export function or(a, b) {
  if (a instanceof Dict && b instanceof Dict) return new Dict([...a.items(), ...b.items()]);
  if (a instanceof Items && b instanceof Items) return new a.kind([...a, ...b]);
  return typeof a === 'boolean' && typeof b === 'boolean' ? a || b : clash('|', a, b);
}

export function and(a, b) {
  if (a instanceof Items && b instanceof Items) {
    return new a.kind([...a].filter((x) => b.has(x)));
  }
  return typeof a === 'boolean' && typeof b === 'boolean' ? a && b : clash('&', a, b);
}

export function iadd(a, b) {
  if (!(a instanceof List)) return add(a, b);
  a.extend(b);
  return a;
}

export function ior(a, b) {
  if (a instanceof Dict) {
    a.update(b);
    return a;
  }
  if (a instanceof Items && !(a instanceof FrozenItems)) {
    for (const x of b) a.add(x);
    return a;
  }
  return or(a, b);
}

// ---------------------------------------------------------------- comparisons

export function eq(a, b) {
  if (a === b) return true;
  if (isNumber(a) && isNumber(b)) return false;
  const one = numeric(a);
  const other = numeric(b);
  if (one !== undefined && other !== undefined) {
    return typeof a === 'bigint' && typeof b === 'bigint' ? a === b : one === other;
  }
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (a.constructor !== b.constructor) return false;
  if (Array.isArray(a)) return a.length === b.length && a.every((x, at) => eq(x, b[at]));
  if (a instanceof Dict) {
    const isThere = ([name, x]) => b.has(name) && eq(x, b.get(name));
    return a.size === b.size && [...a.items()].every(isThere);
  }
  if (a instanceof Items) return a.size === b.size && [...a].every((x) => b.has(x));
  const compared = (fields(a) ?? []).filter((field) => field.compared);
  return compared.length > 0 && compared.every(({ name }) => eq(a[name], b[name]));
}

function ordered(sign, a, b) {
  if (typeof a === 'string' && typeof b === 'string') return a < b ? -1 : a > b ? 1 : 0;
  if (Array.isArray(a) && Array.isArray(b)) {
    const at = a.findIndex((x, index) => index >= b.length || !eq(x, b[index]));
    return at < 0 ? a.length - b.length : at >= b.length ? 1 : ordered(sign, a[at], b[at]);
  }
  const one = typeof a === 'bigint' ? a : numeric(a);
  const other = typeof b === 'bigint' ? b : numeric(b);
  if (one !== undefined && other !== undefined) {
    // biome-ignore lint/suspicious/noDoubleEquals: an int beyond 2⁵³ is a bigint, and 1n == 1
    return one < other ? -1 : one > other ? 1 : one == other ? 0 : NaN;
  }
  const kinds = `'${type(a).__name__}' and '${type(b).__name__}'`;
  throw new TypeError_().__init__([`'${sign}' not supported between instances of ${kinds}`]);
}

const within = (some, others) => [...some].every((x) => others.has(x));

export const lt = (a, b) => (isNumber(a) && isNumber(b) ? a < b : ordered('<', a, b) < 0);
export const gt = (a, b) => (isNumber(a) && isNumber(b) ? a > b : ordered('>', a, b) > 0);
export function le(a, b) {
  if (isNumber(a) && isNumber(b)) return a <= b;
  return a instanceof Items ? within(a, b) : ordered('<=', a, b) <= 0;
}
export function ge(a, b) {
  if (isNumber(a) && isNumber(b)) return a >= b;
  return a instanceof Items ? within(b, a) : ordered('>=', a, b) >= 0;
}

export const both = (a, other) => (truth(a) ? other() : a);
export const either = (a, other) => (truth(a) ? a : other());

// ---------------------------------------------------------------- entries

export function at(values, which) {
  if (isSequence(values)) {
    if (typeof values === 'string') return at([...values], which);
    const index = numeric(which) < 0 ? values.length + which : which;
    if (values[index] === undefined) {
      throw new IndexError().__init__([`${type(values).__name__} index out of range`]);
    }
    return values[index];
  }
  if (!(values instanceof Dict)) return values.__getitem__(which);
  if (!values.has(which)) throw new KeyError().__init__([which]);
  return values.get(which);
}

export function put(values, which, value) {
  if (values instanceof Dict) values.set(which, value);
  else values[which < 0 ? values.length + which : which] = value;
}

export function part(values, from, to, step) {
  const all = typeof values === 'string' ? [...values] : values;
  const count = all.length;
  const inside = (x) => Math.min(count, x < 0 ? Math.max(0, count + x) : x);
  const place = (x, usual) => (x === null ? usual : inside(x));
  if (step !== null && step !== -1) throw new Error('a slice has a step of 1 or -1');
  const taken = step === -1 ? [...all].reverse() : [...all].slice(place(from, 0), place(to, count));
  if (typeof values === 'string') return taken.join('');
  return values instanceof List ? list(taken) : taken;
}

export function has(values, x) {
  if (values instanceof Items || values instanceof Dict) return values.has(x);
  if (typeof values === 'string') return values.includes(x);
  if (typeof x === 'string' && Array.isArray(values)) return values.includes(x);
  if (values.__contains__) return values.__contains__(x);
  for (const value of values) if (eq(value, x)) return true;
  return false;
}

/** The first and the last ones by themselves, and those between as a list. */
export function spread(values, before, after) {
  const all = [...values];
  const end = all.length - after;
  return [...all.slice(0, before), list(all.slice(before, end)), ...all.slice(end)];
}

// ---------------------------------------------------------------- functions

export function len(x) {
  if (typeof x === 'string') return [...x].length;
  return Array.isArray(x) ? x.length : x.size === undefined ? x.__len__() : x.size;
}

export const abs = (x) => Math.abs(x);
export const iter = (xs) => xs[Symbol.iterator]();

export function next(xs, otherwise) {
  const { done, value } = xs.next();
  if (done && otherwise === undefined) throw new Error('nothing comes next');
  return done ? otherwise : value;
}

export function all(xs) {
  for (const x of xs) if (!truth(x)) return false;
  return true;
}

export function any(xs) {
  for (const x of xs) if (truth(x)) return true;
  return false;
}

export function sum(xs, start = 0) {
  let total = start;
  for (const x of xs) total = add(total, x);
  return total;
}

export const reduce = (f, xs) => [...xs].reduce((total, x) => call(f, [total, x]));
// What was warned of, until somebody asks: a page says it beside what it shows.
const warnings = new Set();
export const warnings_warn = (text) => {
  warnings.add(text);
  return null;
};
export function warned() {
  const found = [...warnings];
  warnings.clear();
  return found;
}
export const math_ceil = (x) => Math.ceil(x);
export const math_log2 = (x) => Math.log2(x);
export const math_isqrt = (n) => Math.floor(Math.sqrt(n));

function best(isBetter, xs, by, otherwise) {
  const among = xs.length === 1 ? xs[0] : xs;
  let found;
  let worth;
  for (const x of among) {
    const value = by === undefined || by === null ? x : by(x);
    if (found === undefined || isBetter(value, worth)) [found, worth] = [x, value];
  }
  if (found !== undefined) return found;
  if (otherwise !== undefined) return otherwise;
  throw new ValueError().__init__(['an empty sequence has no largest and no smallest']);
}

const CALLED = '*xs key= default=';
export const max = signed((xs, by, otherwise) => best(gt, xs, by, otherwise), CALLED);
export const min = signed((xs, by, otherwise) => best(lt, xs, by, otherwise), CALLED);

export function sorted(xs, by = null, reverse = false) {
  const rows = [...xs].map((x) => [by === null ? x : by(x), x]);
  const way = reverse ? -1 : 1;
  rows.sort(([a], [b]) => (lt(a, b) ? -way : lt(b, a) ? way : 0));
  return list(rows.map(([, x]) => x));
}

export function* enumerate(xs, start = 0) {
  let at = start;
  for (const x of xs) yield [at++, x];
}

export function* zip(many, strict = false) {
  if (many.length === 1) return yield* singly(many[0]);
  const all = many.map((xs) => [...xs]);
  const lengths = all.map((xs) => xs.length);
  if (strict && Math.min(...lengths) !== Math.max(...lengths)) {
    throw new ValueError().__init__(['zip() argument 2 is not as long as argument 1']);
  }
  for (let at = 0; at < Math.min(...lengths); at += 1) yield all.map((xs) => xs[at]);
}

function* singly(xs) {
  for (const x of xs) yield [x];
}

export function* map(f, many) {
  for (const row of zip(many)) yield call(f, row);
}

export function* filter(f, xs) {
  for (const x of xs) if (truth(f === null ? x : call(f, [x]))) yield x;
}

export function* range(start, stop = null, step = 1) {
  const [from, to] = stop === null ? [0, start] : [start, stop];
  for (let at = from; step > 0 ? at < to : at > to; at += step) yield at;
}

export function* itertools_product(many, repeat = 1) {
  const all = Array.from({ length: repeat }, () => many.map((xs) => [...xs])).flat();
  yield* all.reduce((rows, xs) => rows.flatMap((row) => xs.map((x) => [...row, x])), [[]]);
}

export function round(x, digits = 0) {
  const value = Number(fixed(Math.abs(x), digits));
  return x < 0 ? -value : value;
}

export function object___setattr__(x, name, value) {
  x[name] = value;
}

export function dict_fromkeys(names, value = null) {
  return new Dict([...names].map((name) => [name, value]));
}

export const types_MappingProxyType = (xs) => xs;
export const numpy_all = (x) => truth(x);
export const numpy_asarray = (x) => (isNumber(x) ? x : { dtype: { kind: 'O' } });
export const numpy_isin = (x, among) => has(among, x);
export const numpy_isfinite = (x) => Number.isFinite(numeric(x));

// ---------------------------------------------------------------- texts

const starts = (x) => (Array.isArray(x) ? x : [x]);
export const str_startswith = (x, start) => starts(start).some((each) => x.startsWith(each));
export const str_endswith = (x, end) => starts(end).some((each) => x.endsWith(each));
export const str_join = (x, parts) => [...parts].join(x);
export const str_replace = (x, old, fresh) => x.replaceAll(old, fresh);
export const str_lower = (x) => x.toLowerCase();
export const str_casefold = (x) => x.toLowerCase().replaceAll('ß', 'ss');
export const str_isdecimal = (x) => /^\p{Nd}+$/u.test(x);
export const str_is_integer = (x) => Number.isInteger(numeric(x));

export function str_lstrip(x, chars = null) {
  const letters = [...x];
  const first = letters.findIndex((c) => !(chars === null ? /\s/.test(c) : chars.includes(c)));
  return first < 0 ? '' : letters.slice(first).join('');
}

const backwards = (x) => [...x].reverse().join('');
export const str_strip = (x, chars = null) =>
  backwards(str_lstrip(backwards(str_lstrip(x, chars)), chars));

export function str_split(x, mark = null) {
  if (mark === null) return list(x.split(/\s+/).filter(Boolean));
  return list(x.split(mark));
}

export function str_partition(x, mark) {
  const found = x.indexOf(mark);
  return found < 0 ? [x, '', ''] : [x.slice(0, found), mark, x.slice(found + mark.length)];
}

export function str_rpartition(x, mark) {
  const found = x.lastIndexOf(mark);
  return found < 0 ? ['', '', x] : [x.slice(0, found), mark, x.slice(found + mark.length)];
}

// ---------------------------------------------------------------- patterns, and words alike

export const re_escape = (x) => x.replace(/[^\w]/g, '\\$&');

export class re_error extends Exception {}

function expressionOf(pattern) {
  try {
    return new RegExp(pattern);
  } catch (problem) {
    throw new re_error().__init__([problem.message]);
  }
}

export function re_compile(pattern) {
  const expression = pattern.replaceAll('(?P<', '(?<');
  const first = expressionOf(`^(?:${expression})`);
  const whole = expressionOf(`^(?:${expression})$`);
  return {
    match: (x) => first.test(x),
    fullmatch: (x) => groups(whole.exec(x)),
  };
}

/** What a pattern's names stand for; None where it does not match. */
function groups(found) {
  const named = Object.entries(found?.groups ?? {});
  return found && new Dict(named.map(([name, text]) => [name, text ?? null]));
}

export function re_findall(pattern, x) {
  const letters = pattern.replaceAll('[^\\W\\d_]', '[\\p{L}\\p{Nl}\\p{No}]');
  return list(x.match(new RegExp(letters.replaceAll('\\d', '\\p{Nd}'), 'gu')) ?? []);
}

/** How alike two words are: twice what they share in the same order, by their lengths. */
function alike(a, b) {
  let length = 0;
  let first = 0;
  let second = 0;
  let before = [];
  for (let i = 0; i < a.length; i += 1) {
    const row = [];
    for (let j = 0; j < b.length; j += 1) {
      if (a[i] !== b[j]) continue;
      row[j] = ((j && before[j - 1]) || 0) + 1;
      if (row[j] > length) [length, first, second] = [row[j], i - row[j] + 1, j - row[j] + 1];
    }
    before = row;
  }
  if (!length) return 0;
  const left = alike(a.slice(0, first), b.slice(0, second));
  return length + left + alike(a.slice(first + length), b.slice(second + length));
}

export function difflib_get_close_matches(word, among, n = 3, cutoff = 0.6) {
  const rows = [...among].map((other) => {
    const total = other.length + word.length;
    return [total ? (2 * alike(other, word)) / total : 1, other];
  });
  const near = rows.filter(([share]) => share >= cutoff);
  return list(
    near
      .sort((a, b) => (lt(a, b) ? 1 : -1))
      .slice(0, n)
      .map(([, other]) => other),
  );
}
