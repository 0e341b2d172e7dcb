// What Python's values are in JavaScript, for modules that tools/pages/translate prints.
//
// None is null, a tuple is an array, a text is a string. An int is a number: beyond 2**53 it is
// the nearest one, so that sums of such counts agree to some 16 digits. A float is a number too;
// one that is whole looks like an int, but for those of a JSON text, which are a `Float`. Dicts and
// sets compare their keys by value. Dicts, lists and sets have the methods that Python's have.

/** A whole float of a JSON text: 1.0 is no int. */
export class Float extends Number {}

export class List extends Array {
  append(value) {
    this.push(value);
    return null;
  }

  extend(values) {
    for (const value of values === this ? [...this] : values) this.push(value);
    return null;
  }

  count(value) {
    return this.filter((each) => each === value).length;
  }

  insert(at, value) {
    this.splice(at, 0, value);
    return null;
  }
}

export class Dict extends Map {
  get(name, otherwise = null) {
    const found = super.get(key(name));
    return found === undefined ? otherwise : found;
  }

  set(name, value) {
    return super.set(key(name), value);
  }

  has(name) {
    return super.has(key(name));
  }

  items() {
    return super.entries();
  }

  pop(name, otherwise) {
    const found = super.get(key(name));
    if (found === undefined && otherwise === undefined) throw new KeyError().__init__([name]);
    super.delete(key(name));
    return found === undefined ? otherwise : found;
  }

  setdefault(name, value = null) {
    if (!this.has(name)) this.set(name, value);
    return this.get(name);
  }

  update(other) {
    for (const [name, value] of other.items()) this.set(name, value);
    return null;
  }

  [Symbol.iterator]() {
    return super.keys();
  }
}

export class Items extends Set {
  /** @type {any} it makes another of its kind */
  get kind() {
    return this.constructor;
  }

  add(value) {
    return super.add(key(value));
  }

  has(value) {
    return super.has(key(value));
  }

  pop() {
    const [first] = this;
    super.delete(first);
    return first;
  }

  isdisjoint(others) {
    for (const other of others) if (this.has(other)) return false;
    return true;
  }
}

export class FrozenItems extends Items {}

// ---------------------------------------------------------------- values as keys

const canonical = new Map();
const known = new WeakMap();

/** What stands for a value in a Map: the value itself, or of equal tuples and records one. */
export function key(value) {
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof Float) return Number(value);
  return canonical.get(spelled(value)).value;
}

/** A short text that equal values have, and no others. */
function spelled(value) {
  if (typeof value === 'string') return JSON.stringify(value);
  if (value === null || !['object', 'function'].includes(typeof value)) return String(value);
  let name = known.get(value);
  if (name === undefined) {
    const text = described(value);
    if (!canonical.has(text)) {
      canonical.set(text, `@${canonical.size}`);
      canonical.set(canonical.get(text), { value });
    }
    name = canonical.get(text);
    known.set(value, name);
  }
  return name;
}

let others = 0;

function described(value) {
  if (value instanceof Float) return String(Number(value));
  if (value instanceof List || value instanceof Dict) {
    throw new TypeError_().__init__([`unhashable type: '${type(value).__name__}'`]);
  }
  if (Array.isArray(value)) return `(${value.map(spelled).join()})`;
  if (value instanceof FrozenItems) return `{${[...value].map(spelled).sort().join()}}`;
  const fields = value.constructor[FIELDS];
  if (typeof value === 'function' || !fields?.length) {
    others += 1;
    return `#${others}`;
  }
  const shown = fields.filter((field) => field.compared).map(({ name }) => spelled(value[name]));
  return `${spelled(value.constructor)}(${shown.join()})`;
}

// ---------------------------------------------------------------- classes and calls

export const FIELDS = Symbol('fields');
const SIGNATURE = Symbol('signature');
const APPLY = Symbol('apply');

/** What every class comes from. */
export class PlainObject {
  __init__() {
    return this;
  }
}

/** What is written of a class or a function is read when it is first asked for. */
const later = (thing, name, read) =>
  Object.defineProperty(thing, name, {
    configurable: true,
    get: () => {
      const value = read();
      Object.defineProperty(thing, name, { value });
      return value;
    },
  });

/** Say of a class what it is called, its fields, and how it is called. */
function declare(kind, name, fields, signature) {
  kind.__name__ = name;
  later(kind, FIELDS, () => fieldsIn(fields));
  signed(kind, signature);
  if (Object.hasOwn(kind.prototype, '__iter__')) {
    kind.prototype[Symbol.iterator] = function () {
      return this.__iter__();
    };
  }
}
export { declare as class };

const fieldsIn = (text) =>
  text
    .split(' ')
    .filter(Boolean)
    .map((mark) => ({
      name: mark.replace(/[!^~]/g, ''),
      made: !mark.includes('!'),
      shown: !mark.includes('^'),
      compared: !mark.includes('~'),
    }));

/** Say how a function is called. */
export const signed = (f, text) => later(f, SIGNATURE, () => signatureIn(text));

function signatureIn(text) {
  const marks = text.split(' ').filter((mark) => mark && mark !== '/');
  const many = marks.findIndex((mark) => /^\*[^*]/.test(mark));
  const bare = text.split(' ').indexOf('/');
  return {
    names: marks.map((mark) => mark.replace(/[*=]/g, '')),
    needed: marks.map((mark) => !/[*=]/.test(mark)),
    places: many >= 0 ? many : bare >= 0 ? bare : marks.filter((m) => !m.startsWith('*')).length,
    many,
    more: marks.findIndex((mark) => mark.startsWith('**')),
  };
}

/** Call what is only known here, with arguments by place and by name. */
export function call(f, given, named = null) {
  if (f[APPLY]) return f[APPLY](given, named);
  const signature = f[SIGNATURE];
  const placed = signature === undefined ? given : bound(f, signature, given, named);
  if (signature === undefined && named !== null && named.size) {
    throw new TypeError(`nothing says how ${f.name} is called by name`);
  }
  return f.prototype instanceof PlainObject || f.prototype instanceof Error
    ? new f().__init__(...placed)
    : f(...placed);
}

function bound(f, { names, needed, places, many, more }, given, named) {
  const placed = given.slice(0, places);
  placed.length = names.length;
  if (many >= 0) placed[many] = given.slice(places);
  else if (given.length > places) wrong(f, 'is given too many arguments');
  if (more >= 0) placed[more] = new Dict();
  if (named !== null)
    for (const [name, value] of named.entries()) {
      const at = names.indexOf(name);
      if (at >= 0 && at !== many && at !== more) {
        if (placed[at] !== undefined) wrong(f, `got multiple values for argument '${name}'`);
        placed[at] = value;
      } else if (more >= 0) placed[more].set(name, value);
      else wrong(f, `got an unexpected keyword argument '${name}'`);
    }
  for (let at = 0; at < names.length; at += 1) {
    if (needed[at] && placed[at] === undefined) wrong(f, `misses the argument '${names[at]}'`);
  }
  return placed;
}

/** The name of a class or a function, without that of its module. */
export const called = (f) => f.__name__ ?? f.name.replace(/.*\$/, '');

function wrong(f, text) {
  throw new TypeError_().__init__([`${called(f)}() ${text}`]);
}

export function partial(f, args, more) {
  const made = (...rest) => made[APPLY](rest, null);
  made[APPLY] = (rest, named) =>
    call(f, [...args, ...rest], new Dict([...more.items(), ...(named?.items() ?? [])]));
  return made;
}

/** The same record with some of its fields changed. */
export function replace(record, changes) {
  const kind = record.constructor;
  const { names } = kind[SIGNATURE];
  for (const name of changes.keys()) {
    if (!names.includes(name)) wrong(kind, `got an unexpected keyword argument '${name}'`);
  }
  return new kind().__init__(
    ...names.map((name) => (changes.has(name) ? changes.get(name) : record[name])),
  );
}

export function getattr(thing, name, otherwise) {
  const found = thing === null ? undefined : thing[name];
  if (found === undefined) {
    if (otherwise !== undefined) return otherwise;
    const text = `'${type(thing).__name__}' object has no attribute '${name}'`;
    throw new TypeError_().__init__([text]);
  }
  if (typeof found !== 'function' || Object.hasOwn(thing, name)) return found;
  const method = found.bind(thing);
  method[SIGNATURE] = found[SIGNATURE];
  return method;
}

export const hasattr = (thing, name) => thing !== null && thing[name] !== undefined;
export const fields = (kind) => (kind[FIELDS] ?? kind.constructor[FIELDS]).slice();
export const is_dataclass = (thing) =>
  thing !== null && ((thing[FIELDS] ?? thing.constructor?.[FIELDS])?.length ?? 0) > 0;

/** Compute a property when it is first asked for. */
export function once(thing, name, compute) {
  const value = compute.call(thing);
  Object.defineProperty(thing, name, { value });
  return value;
}

export function cache(f) {
  const made = new Map();
  const asking = (...args) => {
    const asked = args.length === 1 ? key(args[0]) : `(${args.map(spelled).join()})`;
    let found = made.get(asked);
    if (found === undefined) {
      found = f(...args);
      made.set(asked, found);
    }
    return found;
  };
  asking.__wrapped__ = f;
  return asking;
}

export function hash(value) {
  key(value);
  return 0; // only whether there is one is asked
}
export const lru_cache = () => cache;

/** What no page comes to. */
export function absent(path) {
  return () => {
    throw new Error(`${path} is not in the page`);
  };
}

// ---------------------------------------------------------------- types

const typed = (name, make, is) => Object.assign(make, { __name__: name, is });

export const int = typed('int', toInt, (x) => typeof x === 'boolean' || isInt(x));
export const float = typed(
  'float',
  (x) => Number(x),
  (x) => (typeof x === 'number' && !Number.isInteger(x)) || x instanceof Float,
);
export const bool = typed('bool', truth, (x) => typeof x === 'boolean');
export const list = typed('list', toList, (x) => x instanceof List);
export const tuple = typed('tuple', toTuple, (x) => Array.isArray(x) && !(x instanceof List));
export const dict = typed('dict', toDict, (x) => x instanceof Dict);
export const set = typed(
  'set',
  (xs = []) => new Items(xs),
  (x) => x instanceof Items,
);
export const frozenset = typed(
  'frozenset',
  (xs = []) => new FrozenItems(xs),
  (x) => x instanceof FrozenItems,
);
export const abc_Mapping = typed(
  'Mapping',
  (xs) => toDict(xs),
  (x) => x instanceof Dict,
);
export const slice = typed('slice', absent('slice'), () => false);
const none = typed(
  'NoneType',
  () => null,
  (x) => x === null,
);
const callable = typed(
  'function',
  (f) => f,
  (x) => typeof x === 'function',
);
export const str = typed(
  'str',
  (x) => (typeof x === 'string' ? x : str.of(x)), // which python_text.js knows
  (x) => typeof x === 'string',
);

function isInt(x) {
  return (typeof x === 'number' && Number.isInteger(x)) || typeof x === 'bigint';
}

function toInt(x) {
  if (typeof x === 'string' && !/^\s*[-+]?\d+\s*$/.test(x)) {
    throw new ValueError().__init__([`invalid literal for int() with base 10: '${x}'`]);
  }
  const value = Number(x);
  if (typeof x === 'string') return Number.isSafeInteger(value) ? value : BigInt(x);
  if (Math.abs(value) === Infinity) {
    throw new OverflowError().__init__(['cannot convert float infinity to integer']);
  }
  return Math.trunc(value);
}

function toList(xs = []) {
  const made = new List();
  for (const x of xs) made.push(x);
  return made;
}

function toTuple(xs = []) {
  return Array.isArray(xs) && !(xs instanceof List) ? xs : [...xs];
}

function toDict(xs = [], more = null) {
  const made = new Dict(xs instanceof Dict ? xs.items() : xs);
  for (const [name, value] of more?.items() ?? []) made.set(name, value);
  return made;
}

export function type(x) {
  switch (typeof x) {
    case 'number':
      return Number.isInteger(x) ? int : float;
    case 'string':
      return str;
    case 'boolean':
      return bool;
    case 'bigint':
      return int;
    case 'function':
      return callable;
  }
  if (x === null) return none;
  if (Array.isArray(x)) return x instanceof List ? list : tuple;
  if (x instanceof Float) return float;
  if (x instanceof Dict) return dict;
  if (x instanceof Items) return x instanceof FrozenItems ? frozenset : set;
  return x.constructor;
}

export function isinstance(x, kinds) {
  return kinds.some((kind) => (kind.is === undefined ? x instanceof kind : kind.is(x)));
}

export function truth(x) {
  if (typeof x === 'boolean') return x;
  if (typeof x === 'number') return x !== 0;
  if (typeof x === 'object') {
    if (x === null) return false;
    if (Array.isArray(x)) return x.length > 0;
    if (x instanceof Map || x instanceof Set) return x.size > 0;
    if (x instanceof Float) return Number(x) !== 0;
    return x.__len__ === undefined || x.__len__() > 0;
  }
  return typeof x === 'function' || Boolean(x);
}

// ---------------------------------------------------------------- errors

export class Exception extends Error {
  __init__(args = []) {
    this.args = args;
    /** @type {any} a class printed from Python */
    const kind = this.constructor;
    this.name = kind.__name__;
    this.message = this.__str__();
    return this;
  }

  __str__() {
    return this.args.map(str).join(', ');
  }
}

export class KeyError extends Exception {
  __str__() {
    return this.args.map(str.quoted).join(', ');
  }
}

export class ValueError extends Exception {}
export class TypeError_ extends Exception {}
export class OverflowError extends Exception {}
export class UserWarning extends Exception {}
export class RecursionError extends Exception {}
export class ZeroDivisionError extends Exception {}
export class IndexError extends Exception {}

for (const [name, kind] of Object.entries({
  Exception,
  KeyError,
  ValueError,
  TypeError: TypeError_,
  OverflowError,
  UserWarning,
  RecursionError,
  ZeroDivisionError,
  IndexError,
})) {
  declare(kind, name, '', '*args');
}

/** Whether a handler of these errors catches one. */
export function caught(problem, kinds) {
  const met = problem instanceof RangeError ? new RecursionError() : problem;
  return kinds.some((kind) => met instanceof kind);
}
