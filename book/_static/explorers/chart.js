// A chart with axes by uPlot: colours of the page, values under the pointer or by arrow keys.
import uPlot from './vendor/uplot.min.js';
import { make } from './dom.js';
import { plain } from './numbers.js';

/** The hues of the book's figures, in its order. */
export const COLOURS = ['#2f7fc1', '#d0640c', '#14916a', '#b5559b', '#808080', '#7a74c9', '#a8801a'];
const DASHES = [[], [8, 4], [2, 3], [10, 3, 2, 3], [1, 4], [6, 2], [4, 4]];

document.head.append(make('link', { rel: 'stylesheet', href: new URL('./vendor/uplot.min.css', import.meta.url).href }));

// The page's colours, looked up once for each theme.
const colours = {};
function lookUp() {
  colours.ink = getComputedStyle(document.documentElement).getPropertyValue('--pst-color-text-base').trim() || '#222';
  colours.grid = document.documentElement.dataset.theme === 'dark' ? '#ffffff26' : '#00000020';
}
const ink = () => colours.ink;
const grid = () => colours.grid;
const SUPERSCRIPTS = { '-': '⁻', 0: '⁰', 1: '¹', 2: '²', 3: '³', 4: '⁴', 5: '⁵', 6: '⁶', 7: '⁷', 8: '⁸', 9: '⁹' };

const ticks = new Map();

/** A tick of a logarithmic axis: powers of ten, and on an axis with fives 2 and 5 times those. */
function tick(value, fives) {
  const known = `${value} ${Boolean(fives)}`;
  if (!ticks.has(known)) ticks.set(known, tickText(value, fives));
  return ticks.get(known);
}

function tickText(value, fives) {
  if (value === null || value === undefined) return '';
  const power = Math.round(Math.log10(value));
  if (Math.abs(Math.log10(value) - power) > 1e-9) return fives ? plain(value) : '';
  if (power >= 0 && power <= (fives ? 5 : 3)) return value.toLocaleString('en');
  return `10${[...String(power)].map((c) => SUPERSCRIPTS[c]).join('')}`;
}

export class Chart {
  constructor(stage, say, change) {
    this.say = say;
    this.change = change;
    this.heading = make('p', { class: 'explorer-title' });
    this.box = make('div', { class: 'explorer-chart', tabindex: '0', role: 'img' });
    this.tip = make('p', { class: 'explorer-tip', 'aria-hidden': 'true' });
    this.legend = make('ul', { class: 'explorer-legend' });
    stage.append(make('div', { class: 'explorer-panel' }, this.heading, this.legend, this.box, this.tip));
    this.box.addEventListener('keydown', (event) => this.key(event));
    this.box.addEventListener('pointerdown', (event) => this.drag(event));
    new ResizeObserver(() => this.resize()).observe(this.box);
  }

  update(spec) {
    const shape = JSON.stringify([spec.x, spec.y, spec.series.map(({ label, scatter }) => [label, scatter])]);
    this.spec = spec;
    this.heading.textContent = spec.title;
    this.box.classList.toggle('explorer-drag', Boolean(spec.drag));
    this.box.setAttribute('aria-label', `${spec.title}. ${spec.alt} Arrow keys read the values.`);
    const data = [spec.xs, ...spec.series.map((series) => series.ys)];
    if (this.plot && shape === this.shape) {
      this.plot.setData(data);
    } else {
      this.plot?.destroy();
      this.plot = new uPlot(this.options(spec), data, this.box);
      this.legend.replaceChildren(...spec.series.map((series, at) => make('li', {}, key(series, at), series.label)));
    }
    this.shape = shape;
    if (!this.tip.textContent) this.tip.textContent = ' ';
  }

  options(spec) {
    lookUp(); // the theme can be settled after this file has loaded
    this.box.dataset.ink = ink(); // what a canvas is drawn in, for a test
    const width = Math.max(this.box.clientWidth, 200);
    const font = '12px system-ui, sans-serif';
    const axis = (of, size) => {
      const filter = (_, splits) => splits.map((value) => (tick(value, of.fives) ? value : null));
      return { label: of.label, labelSize: 22, size, stroke: ink, font, labelFont: font, filter, splits: (_, __, low, high) => powers(low, high, of.fives),
        grid: { stroke: grid, width: 1, filter }, ticks: { stroke: grid, filter }, values: (_, splits) => splits.map((value) => tick(value, of.fives)) };
    };
    const scale = (range) => ({ time: false, distr: 3, range });
    const straight = { time: false, distr: 1, range: () => this.spec.y.range };
    const down = axis(spec.y, 52);
    const plainly = { filter: null, splits: null, values: (_, splits) => splits.map((value) => plain(value)), grid: { stroke: grid, width: 1 }, ticks: { stroke: grid } };
    return { width, height: width < 480 ? 260 : 320, padding: [14, 12, 0, 0], legend: { show: false },
      cursor: { drag: { x: false, y: false }, points: { size: 8 }, y: false },
      scales: { x: scale((_, low, high) => [low / 1.06, 1.06 * (high > low ? high : low * 10)]), y: spec.y.linear ? straight : scale((_, low, high) => logRange(low, high)) },
      axes: [axis(spec.x, 34), spec.y.linear ? { ...down, ...plainly } : down],
      series: [{}, ...spec.series.map(line)],
      hooks: { setCursor: [(plot) => this.point(plot.cursor.idx)], draw: [(plot) => this.marks(plot)] } };
  }

  marks(plot) {
    const { ctx, bbox } = plot;
    ctx.save();
    ctx.font = `${12 * devicePixelRatio}px system-ui, sans-serif`;
    ctx.fillStyle = ctx.strokeStyle = ink();
    ctx.textAlign = 'left';
    ctx.textBaseline = 'alphabetic';
    ctx.lineWidth = devicePixelRatio;
    (this.spec.marks ?? []).forEach(({ x, y, label }, at) => {
      const place = x === undefined ? plot.valToPos(y, 'y', true) : plot.valToPos(x, 'x', true);
      const within = x === undefined ? place >= bbox.top && place <= bbox.top + bbox.height : place >= bbox.left && place <= bbox.left + bbox.width;
      if (!Number.isFinite(place) || !within) return;
      ctx.setLineDash([4 * devicePixelRatio, 4 * devicePixelRatio]);
      ctx.beginPath();
      if (x === undefined) { ctx.moveTo(bbox.left, place); ctx.lineTo(bbox.left + bbox.width, place); } else { ctx.moveTo(place, bbox.top); ctx.lineTo(place, bbox.top + bbox.height); }
      ctx.stroke();
      ctx.setLineDash([]);
      const size = ctx.measureText(label).width;
      const gap = 5 * devicePixelRatio; // to the right of its line, or to the left where there is no room
      const left = x === undefined ? bbox.left + 6 * devicePixelRatio : place + gap + size > bbox.left + bbox.width ? place - gap - size : place + gap;
      const top = x === undefined ? place - 5 * devicePixelRatio : bbox.top + (14 + 16 * (at % 5)) * devicePixelRatio;
      ctx.fillText(label, left, top);
    });
    ctx.restore();
  }

  point(at) {
    this.at = at;
    if (at === null || at === undefined) return;
    this.tip.textContent = this.words(at);
  }

  words(at) {
    const { x, xs, series, y, names } = this.spec;
    const values = series.filter(({ ys, quiet }) => !quiet && ys[at] !== null && ys[at] !== undefined)
      .map(({ label, ys }) => `${label} ${plain(ys[at], 9)}`);
    return `${names?.[at] ? `${names[at]}: ` : ''}${x.label} ${plain(xs[at], 9)}: ${values.join('; ')} (${y.label})`;
  }

  key(event) {
    const last = this.spec.xs.length - 1;
    const now = this.at ?? -1;
    const next = { ArrowRight: now + 1, ArrowLeft: now - 1, Home: 0, End: last }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    const at = Math.min(last, Math.max(0, next));
    this.plot.setCursor({ left: this.plot.valToPos(this.spec.xs[at], 'x'), top: 20 });
    this.point(at);
    this.say(this.words(at));
  }

  // Where a chart says what a place on its axis stands for, it can be dragged: from the state in which the drag began.
  drag(event) {
    const stands = this.spec.drag;
    if (!stands || !this.plot) return;
    const move = ({ clientX, clientY }) => {
      const { left, top } = this.plot.over.getBoundingClientRect();
      this.change(stands(this.plot.posToVal(clientX - left, 'x'), this.plot.posToVal(clientY - top, 'y')));
    };
    const until = new AbortController();
    const listen = (name, action) => this.box.addEventListener(name, action, { signal: until.signal });
    this.box.setPointerCapture(event.pointerId);
    listen('pointermove', move);
    listen('pointerup', (last) => { move(last); until.abort(); });
    listen('pointercancel', () => until.abort());
  }

  resize() {
    const width = this.box.clientWidth;
    if (this.plot && width && width !== this.plot.width) this.plot.setSize({ width, height: width < 480 ? 260 : 320 });
  }

  recolour() {
    lookUp();
    this.box.dataset.ink = ink();
    this.plot?.redraw(false, true);
  }
}

// Powers of ten within a range, or 1, 2 and 5 times those: all that a logarithmic axis shows, wherever it begins.
function powers(low, high, fives) {
  const first = Math.floor(Math.log10(low));
  const every = Array.from({ length: Math.max(0, Math.floor(Math.log10(high) + 1e-9) - first + 1) }, (_, at) => first + at);
  return every.flatMap((power) => (fives ? [1, 2, 5] : [1]).map((digit) => Number(`${digit}e${power}`))).filter((value) => value >= low * (1 - 1e-9) && value <= high * (1 + 1e-9));
}

function logRange(low, high) {
  if (!(low > 0) || !(high > 0)) return [1, 10];
  const from = 10 ** Math.floor(Math.log10(low) + 1e-9);
  const to = 10 ** Math.ceil(Math.log10(high) - 1e-9);
  return [from, to > from ? to : from * 10];
}

function line(series, at) {
  const colour = COLOURS[(series.colour ?? at) % COLOURS.length];
  const shared = { label: series.label, stroke: series.ink ? ink : colour, spanGaps: true, pxAlign: 0 };
  if (series.scatter) return { ...shared, paths: () => null, points: { show: true, size: 9, fill: colour, stroke: colour } };
  return { ...shared, width: 2, dash: DASHES[(series.dash ?? at) % DASHES.length], points: { show: false } };
}

function key(series, at) {
  const colour = series.ink ? 'currentColor' : COLOURS[(series.colour ?? at) % COLOURS.length];
  const dash = DASHES[(series.dash ?? at) % DASHES.length].join(' ');
  const box = make('span', { class: 'explorer-key', 'aria-hidden': 'true' });
  box.innerHTML = series.scatter
    ? `<svg width="26" height="10"><circle cx="13" cy="5" r="4.5" fill="${colour}"/></svg>`
    : `<svg width="26" height="10"><path d="M0 5H26" stroke="${colour}" stroke-width="2.5" stroke-dasharray="${dash}"/></svg>`;
  return box;
}
