// The tile film: two counted runs side by side, event by event, on one clock of entries moved.
import { make } from './dom.js';
import { runs, sizes } from './generated/film.js';
import { plain } from './numbers.js';

const [LOAD, STORE, ALLOC, DROP] = [0, 1, 2, 3];
const NAMES = { flash2: 'FlashAttention-2', flash: 'FlashAttention', small_cache: 'small cache', naive: 'standard' };
const choices = Object.entries(NAMES);
const SPEEDS = [['1', 'one step a second'], ['4', '4 a second'], ['15', '15 a second'], ['60', '60 a second']];
const calm = globalThis.matchMedia?.('(prefers-reduced-motion: reduce)').matches;

export const controls = [
  { id: 'left', label: 'First', type: 'choice', options: choices, value: 'flash2', more: true },
  { id: 'right', label: 'Second', type: 'choice', options: choices, value: 'naive', more: true },
  { id: 'capacity', label: 'Fast memory (entries)', type: 'choice', options: sizes.capacities.map((M) => [String(M), String(M)]), value: '96' },
  { id: 'speed', label: 'Speed', type: 'choice', options: SPEEDS, value: calm ? '1' : '4', more: true },
  { id: 'frame', label: 'Step', type: 'number', min: 0, max: 100000, value: 0, linear: true },
];

export const tries = [
  { label: 'Both at the end', state: { frame: 100000 }, say: 'Compare the counts: 512 entries here, 1,728 there, for the same result. The difference is scores that go out and come back.' },
  { label: 'Half the memory', state: { capacity: '48', frame: 100000 }, say: 'FlashAttention-2 has smaller blocks now, so keys and values come in more often.' },
  { label: 'Rows against columns', state: { left: 'flash2', right: 'flash', frame: 100000 }, say: 'As many entries are read. But on the right unfinished outputs go out and come back with every block of keys: 288 written in place of 64.' },
];

export const runOf = (algorithm, capacity) => runs[`${algorithm} ${capacity}`];
const entries = ([, , top, bottom, left, right]) => (bottom - top) * (right - left);

const known = new Map();

/** Entries moved after each event, from 0 before the first. */
export function moments(run) {
  if (!known.has(run)) {
    let moved = 0;
    known.set(run, [0, ...run.events.map((event) => (moved += event[0] <= STORE ? entries(event) : 0))]);
  }
  return known.get(run);
}

const ticks = new Map();

/** Every number of entries moved at which one of two runs moves some. */
function clocksOf(one, other, key) {
  if (!ticks.has(key)) ticks.set(key, [...new Set([...moments(one), ...moments(other)])].sort((a, b) => a - b));
  return ticks.get(key);
}

/** Where a run stands after so many of its events. */
export function standing(run, events) {
  const resident = new Map();
  let [reads, writes] = [0, 0];
  for (let at = 0; at < events; at += 1) {
    const event = run.events[at];
    const [kind, array, , , , , block] = event;
    if (kind === LOAD) reads += entries(event);
    if (kind === STORE) writes += entries(event);
    if (kind === LOAD || kind === ALLOC) resident.set(block, { array: run.arrays[array], loaded: kind === LOAD, region: event.slice(2, 6), entries: entries(event) });
    if (kind === DROP) resident.delete(block);
  }
  const held = [...resident.values()].reduce((sum, block) => sum + block.entries, 0);
  return { reads, writes, held, resident: [...resident.values()], last: run.events[events - 1] };
}

/** How many events are over when so many entries have moved: up to and with the last transfer. */
export function eventsBy(run, clock) {
  const moved = moments(run);
  let at = moved.length - 1;
  while (at > 0 && (moved[at] > clock || (run.events[at - 1][0] > STORE && moved[at] <= clock && at < moved.length - 1))) at -= 1;
  return at;
}

export function compute(state) {
  const both = ['left', 'right'].map((side) => runOf(state[side], state.capacity));
  const clocks = clocksOf(...both, `${state.left} ${state.right} ${state.capacity}`);
  const frame = Math.min(state.frame, clocks.length - 1);
  return { both, clocks, frame, clock: clocks[frame], standings: both.map((run) => standing(run, frame === clocks.length - 1 ? run.events.length : eventsBy(run, clocks[frame]))) };
}

export function summary(state, { both, standings, clock, clocks, frame }) {
  const words = ['left', 'right'].map((side, at) => {
    const [{ reads, writes }, run] = [standings[at], both[at]];
    const over = reads + writes === run.reads + run.writes;
    return [`${at ? 'Second' : 'First'}: ${NAMES[state[side]]}`, `${plain(reads)} read, ${plain(writes)} written of ${plain(run.reads + run.writes)}${over ? ': done' : ''}`];
  });
  return [...words, ['Clock', `${plain(clock)} entries moved; step ${plain(frame)} of ${plain(clocks.length - 1)}`]];
}

const CELL = 8;
const ORDER = ['l', 'm', 'O', 'P', 'A', 'S', 'V', 'K', 'Q'].reverse();
const SVG = 'http://www.w3.org/2000/svg';

function shape(tag, attributes) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}

function drawArray(name, [rows, cols], { resident, last }, run) {
  const svg = shape('svg', { width: cols * CELL + 2, height: rows * CELL + 2, 'aria-hidden': 'true' });
  svg.append(shape('rect', { x: 1, y: 1, width: cols * CELL, height: rows * CELL, class: 'film-array' }));
  const box = ([top, bottom, left, right], kind) => svg.append(shape('rect', { x: 1 + left * CELL, y: 1 + top * CELL, width: (right - left) * CELL, height: (bottom - top) * CELL, class: kind }));
  for (const block of resident) if (block.array === name && block.loaded) box(block.region, 'film-held');
  if (last && last[0] <= STORE && run.arrays[last[1]] === name) box(last.slice(2, 6), last[0] === LOAD ? 'film-read' : 'film-written');
  return make('div', { class: 'film-slow' }, make('span', {}, name), svg);
}

function panel(title, run, standing, capacity) {
  const { resident, held, reads, writes, last } = standing;
  const doing = last ? `${['reads', 'writes', 'makes room for', 'drops'][last[0]]} ${run.arrays[last[1]]}, rows ${last[2]} to ${last[3] - 1}, columns ${last[4]} to ${last[5] - 1}` : 'nothing yet';
  const fast = make('div', { class: 'film-fast', 'aria-hidden': 'true' }, ...resident.map((block) => make('span', { class: block.loaded ? 'film-block' : 'film-block film-temporary', style: `width:${(100 * block.entries) / capacity}%` }, block.entries * 100 > 8 * capacity ? block.array : '')));
  const most = run.reads + run.writes;
  const bars = make('div', { class: 'film-count', 'aria-hidden': 'true' }, make('span', { class: 'explorer-part-0', style: `width:${(100 * reads) / most}%` }), make('span', { class: 'explorer-part-1', style: `width:${(100 * writes) / most}%` }));
  return make('div', { class: 'explorer-panel film' }, make('p', { class: 'explorer-title' }, title), make('p', { class: 'film-doing' }, doing),
    make('div', { class: 'film-arrays' }, ...Object.entries(run.shapes).sort(([one], [other]) => ORDER.indexOf(one) - ORDER.indexOf(other)).map(([name, size]) => drawArray(name, size, standing, run))),
    make('p', { class: 'film-label' }, `fast memory: ${plain(held)} of ${plain(capacity)} entries held`), fast, make('p', { class: 'film-label' }, `${plain(reads)} entries read, ${plain(writes)} written`), bars);
}

export function build(explorer) {
  let timer = null;
  const stop = () => { clearInterval(timer); timer = null; button.textContent = 'Play'; };
  const put = (frame) => explorer.set({ ...explorer.state, frame });
  const move = (by) => {
    const last = explorer.result.clocks.length - 1;
    const frame = Math.min(last, Math.max(0, explorer.result.frame + by));
    put(frame);
    return frame < last;
  };
  const play = () => {
    if (timer) { stop(); return; }
    if (explorer.result.frame === explorer.result.clocks.length - 1) put(0);
    button.textContent = 'Pause';
    const tick = () => { if (!move(Math.max(1, Math.round(Number(explorer.state.speed) / 30)))) stop(); };
    timer = setInterval(tick, Math.max(1000 / 30, 1000 / Number(explorer.state.speed)));
  };
  const make1 = (text, action) => make('button', { type: 'button', '.onclick': action }, text);
  const button = make1('Play', play);
  const player = make('div', { class: 'explorer-buttons', role: 'group', 'aria-label': 'Player' }, button, make1('Back', () => { stop(); move(-1); }), make1('Step', () => { stop(); move(1); }), make1('To the start', () => { stop(); put(0); }), make1('To the end', () => { stop(); put(explorer.result.clocks.length - 1); }));
  explorer.inputs.get('speed').select.addEventListener('change', stop);
  explorer.summary.before(player);
}

export function draw(explorer, state, { both, standings, clocks }) {
  const control = controls.find(({ id }) => id === 'frame');
  const input = explorer.inputs.get('frame');
  control.max = clocks.length - 1;
  input.number.max = control.max;
  input.slider.value = Math.round((1000 * Math.min(state.frame, control.max)) / control.max);
  explorer.stage.replaceChildren(...['left', 'right'].map((side, at) => panel(NAMES[state[side]], both[at], standings[at], Number(state.capacity))));
}

export const note = () => `Attention of ${sizes.N} queries and keys, head dimension ${sizes.d}. Every frame is an event of the counted simulator’s own trace, with the blocks that move the least in the fast memory you chose. In the arrays, filled: held in fast memory; framed: moving now. In fast memory, grey: temporaries that were never read.`;

export function table(state) {
  const kinds = ['read', 'write', 'make room', 'drop'];
  return { columns: ['run', 'event', 'kind', 'array', 'first row', 'after row', 'first column', 'after column', 'entries'],
    rows: ['left', 'right'].flatMap((side) => { const run = runOf(state[side], state.capacity); return run.events.map((event, at) => [NAMES[state[side]], at + 1, kinds[event[0]], run.arrays[event[1]], ...event.slice(2, 6), entries(event)]); }) };
}
