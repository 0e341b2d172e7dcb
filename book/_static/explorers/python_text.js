// What Python writes of a value, and how it reads JSON: to the letter, as errors quote both.

import {
  Dict,
  FIELDS,
  Float,
  FrozenItems,
  Items,
  List,
  RecursionError,
  ValueError,
  str,
  type,
} from './python_values.js';

// ---------------------------------------------------------------- numbers

/** The first digits of a number, rounded half to even, and its power of ten. */
function digitsOf(value, count) {
  const shortened = value.toExponential(count - 1);
  const [, whole, rest = '', power] = shortened.match(/^(\d)(?:\.(\d+))?e(.+)$/);
  const digits = whole + rest;
  const all = value.toExponential().replace(/e.*|\./g, '');
  if (count < 15 && !(all.length === count + 1 && all.endsWith('5')))
    return [digits, Number(power)]; // no tie
  const exact = value.toExponential(Math.min(100, count + 60)).replace(/e.*|\./g, '');
  const isTie = /^50*$/.test(exact.slice(count)) && '02468'.includes(exact[count - 1]);
  return [isTie ? exact.slice(0, count) : digits, Number(power)];
}

const withPower = (digits, power) => {
  const rest = digits.slice(1).replace(/0+$/, '');
  const shown = String(Math.abs(power)).padStart(2, '0');
  return `${digits[0]}${rest ? `.${rest}` : ''}e${power < 0 ? '-' : '+'}${shown}`;
};

/** Digits and a power of ten as a decimal number, zeros at its end left out. */
function plain(digits, power) {
  if (power < 0) return `0.${'0'.repeat(-power - 1)}${digits}`.replace(/\.?0+$/, '');
  const padded = digits.padEnd(power + 1, '0');
  const rest = padded.slice(power + 1).replace(/0+$/, '');
  return padded.slice(0, power + 1) + (rest ? `.${rest}` : '');
}

function general(value, precision) {
  const count = precision || 1;
  if (value === 0) return '0';
  const [digits, power] = digitsOf(value, count);
  return power < -4 || power >= count ? withPower(digits, power) : plain(digits, power);
}

/** So many decimals, rounded half to even. */
export function fixed(value, decimals) {
  if (value >= 1e21) return wholeText(value) + (decimals ? `.${'0'.repeat(decimals)}` : '');
  const text = value.toFixed(decimals);
  const exact = value.toFixed(Math.min(100, decimals + 60));
  const point = exact.indexOf('.');
  const cut = exact.slice(0, decimals ? point + decimals + 1 : point);
  const isTie = /^50*$/.test(exact.slice(point + decimals + 1));
  return isTie && '02468'.includes(cut.at(-1)) ? cut : text;
}

const wholeText = (value) =>
  typeof value === 'bigint' || Math.abs(value) < 1e21 ? String(value) : String(BigInt(value));

function floatText(value) {
  if (Number.isNaN(value)) return 'nan';
  if (!Number.isFinite(value)) return value > 0 ? 'inf' : '-inf';
  if (value === 0) return '0.0';
  const [, sign, digits, power] = value.toExponential().match(/^(-?)([\d.]+)e(.+)$/);
  const bare = digits.replace('.', '');
  if (power < -4 || power >= 16) return sign + withPower(bare, Number(power));
  const shown = plain(bare, Number(power));
  return sign + (shown.includes('.') ? shown : `${shown}.0`);
}

const thousands = (text) => text.replace(/^\d+/, (whole) => whole.replace(/\B(?=(\d{3})+$)/g, ','));

/** A value as a format asks for it. */
export function format(value, spec) {
  const [, comma, precision, kind] = spec.match(/^(,?)(?:\.(\d+))?([a-z%]?)$/);
  if (typeof value === 'string') return precision === undefined ? value : cut(value, precision);
  if (kind === '' && precision === undefined) {
    const text = str(value);
    return comma ? text.replace(/\d+/, thousands) : text;
  }
  const number = Number(value);
  if (!Number.isFinite(number)) return floatText(number);
  const size = Math.abs(number);
  const text = SPELLED[kind](size, precision === undefined ? 6 : Number(precision));
  return (number < 0 ? '-' : '') + (comma ? thousands(text) : text);
}

const SPELLED = {
  g: general,
  f: fixed,
  '%': (value, decimals) => `${fixed(100 * value, decimals)}%`,
};
const cut = (text, count) => [...text].slice(0, count).join('');

// ---------------------------------------------------------------- values

const ESCAPES = { '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' };

function quoted(text) {
  if (/^[\w ,.:()-]*$/.test(text)) return `'${text}'`;
  const mark = text.includes("'") && !text.includes('"') ? '"' : "'";
  const shown = [...text].map((letter) => {
    if (letter === mark) return `\\${letter}`;
    if (ESCAPES[letter]) return ESCAPES[letter];
    return letter === ' ' || !/[\p{C}\p{Z}]/u.test(letter) ? letter : escaped(letter);
  });
  return mark + shown.join('') + mark;
}

function escaped(letter) {
  const code = letter.codePointAt(0);
  const [sign, width] = code < 0x100 ? ['x', 2] : code < 0x10000 ? ['u', 4] : ['U', 8];
  return `\\${sign}${code.toString(16).padStart(width, '0')}`;
}

export function repr(value) {
  switch (typeof value) {
    case 'string':
      return quoted(value);
    case 'number':
      return Number.isInteger(value) ? wholeText(value) : floatText(value);
    case 'bigint':
      if (value.toString().replace('-', '').length > 4300) tooLong();
      return wholeText(value);
    case 'boolean':
      return value ? 'True' : 'False';
    case 'function':
      return value.__name__ ? `<class '${value.__name__}'>` : `<function ${value.name}>`;
  }
  if (value === null) return 'None';
  const inner = (values) => [...values].map(repr).join(', ');
  if (value instanceof List) return `[${inner(value)}]`;
  if (Array.isArray(value)) return value.length === 1 ? `(${inner(value)},)` : `(${inner(value)})`;
  if (value instanceof Float) return floatText(Number(value));
  if (value instanceof Dict) {
    return `{${[...value.items()].map(([k, v]) => `${repr(k)}: ${repr(v)}`).join(', ')}}`;
  }
  if (value instanceof FrozenItems) return `frozenset(${value.size ? `{${inner(value)}}` : ''})`;
  if (value instanceof Items) return value.size ? `{${inner(value)}}` : 'set()';
  return record(value);
}

function record(value) {
  if (value.__repr__) return value.__repr__();
  const shown = (value.constructor[FIELDS] ?? []).filter((field) => field.shown);
  const inner = shown.map(({ name }) => `${name}=${repr(value[name])}`).join(', ');
  return `${type(value).__name__}(${inner})`;
}

str.quoted = repr;
str.of = (value) => {
  if (value instanceof Error) return value.message;
  return value?.__str__ ? value.__str__() : repr(value);
};

function tooLong() {
  const text = 'Exceeds the limit (4300 digits) for integer string conversion';
  const how = 'use sys.set_int_max_str_digits() to increase the limit';
  throw new ValueError().__init__([`${text}; ${how}`]);
}

// ---------------------------------------------------------------- JSON

export class json_JSONDecodeError extends ValueError {}
json_JSONDecodeError.__name__ = 'JSONDecodeError';

const DEEPEST = 990;
const SPACE = /[ \t\n\r]*/y;
const NUMBER = /-?(?:0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?/y;
const CONSTANTS = {
  null: null,
  true: true,
  false: false,
  NaN: NaN,
  Infinity: Infinity,
  '-Infinity': -Infinity,
};
const LETTERS = { '"': '"', '\\': '\\', '/': '/', b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' };

class Reader {
  constructor(text, hook, whole) {
    this.text = text;
    this.hook = hook;
    this.whole = whole;
    this.at = 0;
    this.depth = 0;
  }

  wrong(what, at) {
    const error = new json_JSONDecodeError().__init__([what]);
    throw Object.assign(error, { pos: [...this.text.slice(0, at)].length });
  }

  skip() {
    SPACE.lastIndex = this.at;
    SPACE.exec(this.text);
    this.at = SPACE.lastIndex;
    return this.text[this.at];
  }

  value() {
    const { text, at } = this;
    const first = text[at];
    if (first === '"') return this.string();
    if (first === '{' || first === '[') return this.nested(first);
    for (const [name, value] of Object.entries(CONSTANTS)) {
      if (text.startsWith(name, at)) {
        this.at += name.length;
        return value;
      }
    }
    return this.number();
  }

  nested(first) {
    this.depth += 1;
    if (this.depth > DEEPEST) {
      throw new RecursionError().__init__(['maximum recursion depth exceeded']);
    }
    this.at += 1;
    const value = first === '{' ? this.object() : this.array();
    this.depth -= 1;
    return value;
  }

  object() {
    const entries = new List();
    if (this.skip() === '}') this.at += 1;
    else {
      do {
        if (this.skip() !== '"') {
          this.wrong('Expecting property name enclosed in double quotes', this.at);
        }
        const name = this.string();
        if (this.skip() !== ':') this.wrong("Expecting ':' delimiter", this.at);
        this.at += 1;
        this.skip();
        entries.push([name, this.value()]);
      } while (this.goesOn('}'));
    }
    return this.hook === null ? new Dict(entries) : this.hook(entries);
  }

  array() {
    const values = new List();
    if (this.skip() === ']') this.at += 1;
    else {
      do {
        this.skip();
        values.push(this.value());
      } while (this.goesOn(']'));
    }
    return values;
  }

  goesOn(end) {
    const next = this.skip();
    if (next !== end && next !== ',') this.wrong("Expecting ',' delimiter", this.at);
    this.at += 1;
    return next === ',';
  }

  number() {
    NUMBER.lastIndex = this.at;
    const found = NUMBER.exec(this.text);
    if (found === null) this.wrong('Expecting value', this.at);
    this.at = NUMBER.lastIndex;
    const value = Number(found[0]);
    if (found[1] || found[2]) return Number.isInteger(value) ? new Float(value) : value;
    if (this.whole !== null) return this.whole(found[0]);
    return Number.isSafeInteger(value) ? value : BigInt(found[0]);
  }

  string() {
    const { text } = this;
    const begin = this.at;
    let made = '';
    for (let at = begin + 1; ; at += 1) {
      const letter = text[at];
      if (letter === undefined) this.wrong('Unterminated string starting at', begin);
      if (letter === '"') {
        this.at = at + 1;
        return made;
      }
      if (letter < ' ') this.wrong('Invalid control character at', at);
      if (letter !== '\\') made += letter;
      else {
        at += 1;
        if (text[at] === undefined) this.wrong('Unterminated string starting at', begin);
        made += this.escape(at);
        if (text[at] === 'u') at += 4;
      }
    }
  }

  escape(at) {
    const letter = this.text[at];
    if (letter === 'u') {
      const code = this.text.slice(at + 1, at + 5);
      if (!/^[\da-fA-F]{4}$/.test(code)) this.wrong('Invalid \\uXXXX escape', at);
      return String.fromCharCode(parseInt(code, 16));
    }
    if (LETTERS[letter] === undefined) this.wrong('Invalid \\escape', at - 1);
    return LETTERS[letter];
  }
}

export function json_loads(text, hook = null, whole = null) {
  const reader = new Reader(text, hook, whole);
  reader.skip();
  const value = reader.value();
  reader.skip();
  if (reader.at < text.length) reader.wrong('Extra data', reader.at);
  return value;
}
