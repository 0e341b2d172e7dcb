// Numbers in sentences that can be moved, and those that answer. What they are, and costlib's own
// formulas, come from the page's generated script (see tools/pages/live.py).

import { singular } from './explorers/numbers.js';

const PREFIXES = {
  n: 1e-9,
  µ: 1e-6,
  m: 1e-3,
  '': 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
  Z: 1e21,
  Y: 1e24,
};
const TIMES = { n: 1e-9, µ: 1e-6, m: 1e-3, '': 1 };
const BINARY = { '': 1, Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40, Pi: 2 ** 50 };
const WORDS = { '': 1, million: 1e6, billion: 1e9, trillion: 1e12 };
const UNITS = /^([ \u00a0])(?:([nµmkMGTPEZY]?)|([KMGTP]i))(FLOPs?\b|FLOP\/s|B\b|B\/s|s\b|J\b|W\b)/;

/** The number that a text begins with, and what follows it. */
export function parsed(text) {
  const [, digits, rest] = /^([\d,]*\.?\d+)(.*)$/s.exec(text.trim()) ?? [];
  return digits === undefined ? null : { number: Number(digits.replaceAll(',', '')), digits, rest };
}

/** What is counted, with its number before it: one user, two users, one guess. */
const counted = (text) => (/^1[ \u00a0]/.test(text) ? singular(text) : text);

/** How a text writes a value: a function that writes other values in the same way. */
export function like(text, value, words = []) {
  if (words.length) return (now) => words[now < 1 ? 0 : 1];
  const { number, digits, rest } = parsed(text);
  const unit = UNITS.exec(rest);
  const word = /^ (million|billion|trillion)\b/.exec(rest);
  const share = /^ ?(%|per cent)/.test(rest) ? 0.01 : 1;
  const scales = unit
    ? unit[3]
      ? BINARY
      : unit[4] === 's'
        ? TIMES
        : PREFIXES
    : word
      ? WORDS
      : null;
  const after = unit
    ? rest.slice(unit[0].length - unit[4].length)
    : word
      ? rest.slice(word[0].length)
      : rest;
  const written = (x, options) => new Intl.NumberFormat('en', options).format(x);
  const put = (x, options) => {
    if (!Number.isFinite(x)) return x > 0 ? `no limit${rest}` : `–${rest}`;
    if (!scales) return counted(written(x / share, options) + rest);
    const size = Math.abs(x) * 1.00001;
    const all = Object.entries(scales);
    const [name, scale] = all.findLast(([, each]) => size >= each) ?? (x ? all[0] : ['', 1]);
    const named = word ? name && ` ${name}` : `${unit[1]}${name}`;
    return `${written(x / scale, options)}${named}${after}`;
  };
  const isWhole = !scales && share === 1 && Number.isInteger(value) && value === number;
  const most = digits.replace(/^[0.,]+/, '').replace(/\D/g, '').length || 1;
  const round = (count) => ({
    minimumSignificantDigits: digits.includes('.') ? count : 1,
    maximumSignificantDigits: count,
  });
  let count = digits.includes('.')
    ? most
    : Math.max(1, digits.replace(/[,]/g, '').replace(/0+$/, '').length);
  while (count < most && put(value, round(count)) !== text) count += 1;
  // 3,579 tokens: never 894.7
  const hasParts = digits.includes('.') || most < 3 || scales || share !== 1;
  return (now) => {
    if (isWhole && Number.isInteger(now)) return put(now, { maximumFractionDigits: 0 });
    if (!hasParts && count === most && Math.abs(now) >= 10)
      return put(Math.round(now), { maximumFractionDigits: 0 });
    return put(hasParts || Math.abs(now) < 10 ? now : Math.round(now), round(count));
  };
}

/** How a number that can be moved is written, as in the text. */
export const moves = (text) => {
  const format = new Intl.NumberFormat('en', { maximumFractionDigits: 6 });
  return (value) => counted(format.format(value) + parsed(text).rest);
};

const REACH = 320; // pixels of a drag from one end to the other, where there are many stops
const KEYS = {
  ArrowRight: 1,
  ArrowUp: 1,
  ArrowLeft: -1,
  ArrowDown: -1,
  PageUp: 10,
  PageDown: -10,
  Home: -Infinity,
  End: Infinity,
};

class Page {
  constructor(moved, shown) {
    this.state = {}; // name: which stop
    this.moved = moved;
    this.shown = shown;
    /** @type {NodeListOf<HTMLElement>} */
    const spans = document.querySelectorAll('[data-live]');
    this.spans = [...spans].map((span) => ({
      span,
      name: span.dataset.live,
      text: span.textContent.replace(/\s+/g, ' '),
      /** @type {((now: any) => string) | null} */
      write: null, // how what is there now is written, known when something is moved
      touched: false,
    }));
    for (const { name, text } of this.spans) {
      if (!(name in moved)) continue;
      const stops = moved[name][1];
      this.state[name] = Array.isArray(stops[0])
        ? stops.findIndex(([each]) => each === text)
        : stops.indexOf(parsed(text).number);
    }
    this.begun = { ...this.state };
    for (const each of this.spans) if (each.name in moved) this.slider(each);
    this.said = document.createElement('p');
    this.said.className = 'live-said';
    this.said.setAttribute('role', 'status');
    document.querySelector('article').append(this.said);
    this.paragraphs = new Set(this.spans.map(({ span }) => span.closest('p, li')));
  }

  stop(name) {
    const each = this.moved[name][1][this.state[name]];
    return Array.isArray(each) ? each : [null, each];
  }

  value(name) {
    const [formula, sizes] = this.shown[name];
    return formula(...sizes.map((size) => this.stop(size)[1]));
  }

  isNamed(name) {
    return Array.isArray(this.moved[name][1][0]);
  }

  /** How the numbers of the page are written, read from what it says before anything is moved. */
  learn() {
    for (const each of this.spans) {
      const { name, text } = each;
      if (!(name in this.moved)) each.write = like(text, this.value(name), this.shown[name][2]);
      else each.write = this.isNamed(name) ? () => this.stop(name)[0] : moves(text);
    }
  }

  slider(each) {
    const { span, name, text } = each;
    const [label, stops] = this.moved[name];
    const range = this.isNamed(name) ? [0, stops.length - 1] : [stops[0], stops.at(-1)];
    for (const [key, value] of Object.entries({
      role: 'slider',
      tabindex: 0,
      'aria-label': label,
      'aria-valuemin': range[0],
      'aria-valuemax': range[1],
      'aria-valuenow': this.now(name),
      'aria-valuetext': text,
      title: `${label}: drag, or use the arrow keys`,
    }))
      span.setAttribute(key, value);
    span.classList.add('live-moved');
    span.addEventListener('keydown', (event) => this.press(event, name));
    span.addEventListener('pointerdown', (event) => this.drag(event, each));
  }

  now(name) {
    return this.isNamed(name) ? this.state[name] : this.stop(name)[1];
  }

  press(event, name) {
    const by = KEYS[event.key];
    if (event.key !== 'Escape' && by === undefined) return;
    event.preventDefault();
    if (by === undefined) this.reset();
    else this.move(name, this.state[name] + by);
  }

  // Sideways alone: `touch-action: pan-y` leaves the other direction to the page.
  drag(event, { span, name }) {
    if (event.button) return;
    if (event.pointerType === 'mouse') event.preventDefault(); // selects no text
    span.focus();
    span.setPointerCapture(event.pointerId);
    const [from, at] = [event.clientX, this.state[name]];
    const steps = this.moved[name][1].length;
    const pixels = Math.min(REACH, 100 + 14 * steps) / steps;
    const go = (move) => this.move(name, at + Math.round((move.clientX - from) / pixels));
    const end = () => {
      span.removeEventListener('pointermove', go);
      for (const kind of ['pointerup', 'pointercancel']) span.removeEventListener(kind, end);
    };
    span.addEventListener('pointermove', go);
    for (const kind of ['pointerup', 'pointercancel']) span.addEventListener(kind, end);
  }

  move(name, stop) {
    const next = Math.min(this.moved[name][1].length - 1, Math.max(0, stop));
    if (next === this.state[name]) return;
    if (!this.spans[0].write) this.learn();
    this.state[name] = next;
    this.draw();
    clearTimeout(this.later);
    this.later = setTimeout(() => this.say(name), 700); // once it rests
  }

  reset() {
    if (!this.spans[0].write) return; // nothing was moved
    this.state = { ...this.begun };
    this.draw();
  }

  draw() {
    for (const each of this.spans) {
      const { span, name, text, write } = each;
      const isMoved = name in this.moved;
      const now = isMoved ? write(this.stop(name)[1]) : write(this.value(name));
      if (span.textContent !== now && (now !== text || each.touched)) {
        span.textContent = now;
        each.touched = true;
      }
      if (!isMoved) span.classList.toggle('live-changed', now !== text);
      else {
        span.setAttribute('aria-valuenow', String(this.now(name)));
        span.setAttribute('aria-valuetext', now);
      }
    }
    for (const paragraph of this.paragraphs) this.offer(paragraph);
  }

  // Where something was moved, a way back to what is printed.
  offer(paragraph) {
    const names = this.spans.filter(({ span }) => paragraph.contains(span)).map(({ name }) => name);
    const uses = names.flatMap((name) => (name in this.moved ? [name] : this.shown[name][1]));
    const isMoved = uses.some((name) => this.state[name] !== this.begun[name]);
    let button = paragraph.querySelector('.live-back');
    if (isMoved && !button) {
      button = document.createElement('button');
      Object.assign(button, {
        type: 'button',
        className: 'live-back',
        textContent: '↺',
        title: 'As printed',
        onclick: () => this.reset(),
      });
      button.setAttribute('aria-label', 'Back to the numbers as printed');
      paragraph.append(' ', button);
    }
    if (button) button.hidden = !isMoved;
  }

  // The sentences that answer, for those who hear the page.
  say(name) {
    const changed = this.spans.filter((each) => this.shown[each.name]?.[1].includes(name));
    const words = new Set(
      changed.map(({ span }) => {
        const copy = /** @type {Element} */ (span.closest('p, li').cloneNode(true));
        copy.querySelectorAll('[aria-hidden], .live-back').forEach((part) => part.remove());
        const sentences = copy.textContent.split(/(?<=[.?!:])\s+/);
        return (
          sentences.find((sentence) => sentence.includes(span.textContent)) ?? span.textContent
        );
      }),
    );
    this.said.textContent = [...words].join(' ');
  }
}

/** Begin, on a page; a test without one only imports. */
export function start(moved, shown) {
  if (typeof document !== 'undefined') new Page(moved, shown);
}
