// A chart on the page: its picture, what a pointer and the arrow keys do with it, and its values in
// words.
import { hold, make, withUnits } from './dom.js';
import { plain } from './numbers.js';
import { brief, picture } from './picture.js';

/**
 * A value as it is said: three digits are enough to hear, but whole numbers on an axis may have
 * been typed.
 */
const heard = (value) => plain(Number(value.toPrecision(3)));
const along = (value) => (Number.isInteger(value) ? plain(value, 9) : heard(value));
const REACH = 26; // pixels from a dot within which it is meant

export class Chart {
  /**
   * @param {HTMLElement} stage
   * @param {(text: string) => void} say
   * @param {(changes: State) => void} change
   */
  constructor(stage, say, change) {
    this.say = say;
    this.change = change;
    /** @type {ChartSpec | undefined} */
    this.spec = undefined;
    /** @type {Frame | undefined} */
    this.frame = undefined; // there is none before it is drawn
    /** @type {Dot[]} */
    this.dots = [];
    this.width = 0; // pixels; 0 while it is not seen
    this.told = false; // by a key: what comes of it is said
    /** @type {number | undefined} */
    this.place = undefined; // of what was read last, in the order of reading
    /** @type {number | undefined} */
    this.at = undefined; // ... and among the values
    this.heading = make('p', { class: 'explorer-title' });
    this.drawing = make('div', {});
    this.tip = make('div', { class: 'explorer-tip', 'aria-hidden': 'true', hidden: true });
    this.box = make('div', { class: 'explorer-chart', tabindex: '0' }, this.drawing, this.tip);
    stage.append(make('div', { class: 'explorer-panel' }, this.heading, this.box));
    this.box.addEventListener('keydown', (event) => this.key(event));
    hold(this.box, (event) => this.grasped(event));
    this.box.addEventListener('pointermove', (event) => this.hover(event));
    this.box.addEventListener('pointerleave', ({ pointerType }) => {
      if (pointerType !== 'touch') this.tip.hidden = true; // a finger leaves when it is lifted
    });
    new ResizeObserver(() => this.resize()).observe(this.box);
  }

  /** @param {ChartSpec} spec */
  update(spec) {
    this.spec = spec;
    this.tip.hidden = true; // what it said may be so no more
    this.heading.replaceChildren(...withUnits(spec.title));
    this.box.classList.toggle('explorer-drag', Boolean(spec.drag));
    this.width ||= this.box.clientWidth;
    this.describe();
    if (this.width) this.draw();
    if (!this.told) return;
    this.told = false;
    const { at, xs, title } = spec;
    // between two values there are none to read
    this.say(at?.label && !xs.includes(at.x) ? `${at.label}: ${title}` : this.words(this.index()));
  }

  draw() {
    const { frame, dots, svg } = picture(this.spec, Math.max(this.width, 200));
    [this.frame, this.dots] = [frame, dots];
    this.drawing.innerHTML = svg;
  }

  /** What a screen reader is told: a slider where the chart can be dragged, or else a picture. */
  describe() {
    const { title, alt, at, drag } = this.spec;
    const says = {
      'aria-label':
        `${title}. ${alt} ` +
        `${at && drag ? 'Arrow keys move the marked point.' : 'Arrow keys read the values.'}`,
      role: at && drag ? 'slider' : 'img',
    };
    if (at && drag) {
      const all =
        at.x === undefined
          ? this.spec.series.flatMap(({ ys }) => ys).filter((value) => value !== null)
          : this.spec.xs;
      Object.assign(says, {
        'aria-valuemin': Math.min(...all, at.x ?? at.y),
        'aria-valuemax': Math.max(...all, at.x ?? at.y),
        'aria-valuenow': at.x ?? at.y,
        'aria-valuetext': at.label ?? along(at.x ?? at.y),
      });
    }
    for (const name of ['aria-valuemin', 'aria-valuemax', 'aria-valuenow', 'aria-valuetext'])
      if (!(name in says)) this.box.removeAttribute(name);
    for (const [name, value] of Object.entries(says))
      if (this.box.getAttribute(name) !== String(value)) this.box.setAttribute(name, value);
  }

  /** The place among its values at which the chart is marked, or was last read. */
  index() {
    const { at, xs } = this.spec;
    const found = at?.x === undefined ? -1 : xs.indexOf(at.x);
    return found < 0 ? (this.at ?? 0) : found;
  }

  /** @param {number} at */
  words(at) {
    const { x, xs, series, y, names, details, at: marked } = this.spec;
    if (details?.[at]) return details[at].join(', ');
    const values = series
      .filter(({ ys, quiet }) => !quiet && ys[at] !== null && ys[at] !== undefined)
      .map(({ label, ys }) => `${label} ${heard(ys[at])}`);
    const place =
      marked?.x === xs[at] && marked.label ? marked.label : `${x.label} ${along(xs[at])}`;
    return `${names?.[at] ? `${names[at]}: ` : ''}${place}: ${values.join('; ')} (${y.label})`;
  }

  // Arrow keys move the marked point to its neighbour, page keys double and halve; where nothing is
  // marked they read.
  key(event) {
    const { at, drag, press, xs } = this.spec;
    const way = {
      ArrowRight: 1,
      ArrowUp: 1,
      PageUp: 1,
      ArrowLeft: -1,
      ArrowDown: -1,
      PageDown: -1,
      Home: 0,
      End: 0,
    }[event.key];
    if (way === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    if (at && press && way) {
      this.told = true;
      this.change(press(way, event.key.startsWith('Page')));
      return;
    }
    if (at && drag) {
      const [now, far] = [at.x ?? at.y, event.key.startsWith('Page') ? 2 : 1.1];
      const { low, high } = at.x === undefined ? this.frame.y : this.frame.x;
      const ends = at.x === undefined ? { Home: low, End: high } : { Home: xs[0], End: xs.at(-1) };
      const near =
        at.x === undefined || far === 2
          ? null
          : way > 0
            ? xs.find((x) => x > now)
            : xs.findLast((x) => x < now);
      const next =
        ends[event.key] ?? (at.x === undefined || far === 2 ? now * far ** way : (near ?? now));
      this.told = true;
      this.change(drag(at.x === undefined ? xs[0] : next, at.x === undefined ? next : 0, at.name));
      return;
    }
    const order = this.readable();
    const last = order.length - 1;
    const place =
      { Home: 0, End: last }[event.key] ?? Math.min(last, Math.max(0, (this.place ?? -1) + way));
    [this.place, this.at] = [place, order[place]];
    this.show(this.at);
    this.say(this.words(this.at));
  }

  /** What arrow keys read in turn: dots, the largest first, or else every value. */
  readable() {
    const named = this.spec.names ? this.dots.map(({ index }) => index) : [];
    return named.length > 1 ? named : this.spec.xs.map((_, at) => at);
  }

  /**
   * @param {number} x
   * @param {number} y
   */
  near(x, y) {
    /** @param {Dot} dot */
    const apart = (dot) => Math.max(0, Math.hypot(dot.x - x, dot.y - y) - dot.r);
    return this.dots.filter((dot) => apart(dot) < REACH).sort((a, b) => apart(a) - apart(b))[0];
  }

  /**
   * @param {PointerEvent} event
   * @returns {[number, number]}
   */
  pointed(event) {
    const { left, top } = this.drawing.getBoundingClientRect();
    return [event.clientX - left, event.clientY - top];
  }

  /** @param {PointerEvent} event */
  hover(event) {
    if (!this.frame || event.buttons || event.pointerType === 'touch') return;
    const [x, y] = this.pointed(event);
    const { left, right, top, bottom } = this.frame;
    const dot = this.near(x, y);
    const { names } = this.spec;
    if (
      !dot &&
      ((names && !names.every(Boolean)) || // it has nothing to say but at its dots
        x < left ||
        x > right ||
        y < top ||
        y > bottom)
    ) {
      this.tip.hidden = true;
      return;
    }
    const value = this.frame.x.value(x);
    const { xs } = this.spec;
    this.show(
      dot
        ? dot.index
        : xs.reduce(
            (best, each, at) =>
              Math.abs(Math.log(each / value)) < Math.abs(Math.log(xs[best] / value)) ? at : best,
            0,
          ),
    );
  }

  /**
   * A note beside a place, with the values there.
   * @param {number} at
   */
  show(at) {
    const { x, y, xs, series, names, details } = this.spec;
    const values = series.flatMap(({ label, ys, quiet }) =>
      quiet || ys[at] === null || ys[at] === undefined ? [] : [`${label}: ${brief(ys[at], y)}`],
    );
    const lines = details?.[at] ?? [
      names?.[at] ?? `${x.label}: ${along(xs[at])}`,
      ...values,
      ...(y.unit ? [] : [`(${y.label})`]),
    ];
    this.tip.replaceChildren(...lines.map((line) => make('span', {}, ...withUnits(line))));
    const place = this.frame.x.place(xs[at]);
    const beyond = place > this.frame.width / 2;
    this.tip.style.cssText =
      `${beyond ? 'right' : 'left'}:` +
      `${(beyond ? this.frame.width - place : place) + 14}px;top:${this.frame.top}px`;
    this.tip.hidden = false;
  }

  /**
   * A pointer holds the point nearest to it, or the marked one, until it is let go.
   * @param {import('./dom.js').Press} event
   */
  grasped(event) {
    const { drag, names } = this.spec;
    if (!this.frame) return null;
    const dot = names ? this.near(...this.pointed(event)) : undefined;
    const show = () => dot && this.show(dot.index);
    if (!drag) return { move: () => {}, tap: show };
    const within = (along, place) =>
      along.value(
        Math.min(Math.max(along.from, along.to), Math.max(Math.min(along.from, along.to), place)),
      );
    const move = (each) => {
      const [x, y] = this.pointed(each);
      const changes = drag(within(this.frame.x, x), within(this.frame.y, y), dot?.name);
      if (dot && !Object.keys(changes).length) {
        show();
        return;
      } // it cannot be moved, and says so
      this.tip.hidden = true;
      this.change(changes);
    };
    return { move, tap: dot ? show : move, free: Boolean(event.target.closest('.chart-grip')) };
  }

  resize() {
    const width = this.box.clientWidth;
    if (!width || width === this.width) return;
    this.width = width;
    if (this.spec) this.draw();
  }
}
