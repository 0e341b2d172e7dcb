// The film of a server: each request a bar in time, memory beneath; whole prompts against pieces.
import { calm, hold, make } from './dom.js';
import { arrivals } from './generated/arrivals.js';
import { Clock, simulate } from './loop.js';
import { percent, plain, quantity } from './numbers.js';
import { beyond, modelChoices, runs } from './models.js';
import { precisionChoices, prefill, serverOf, servingDevices, sharedChoices } from './server.js';

const POSITIONS = 1000;

/** @type {Control[]} */
export const controls = [
  {
    id: 'rate',
    label: 'Arrivals',
    unit: 'requests/s',
    type: 'number',
    min: 0.1,
    max: 100,
    value: 2.5,
    digits: 1,
  },
  {
    id: 'moment',
    type: 'number',
    min: 0,
    max: POSITIONS,
    value: 450, // some decode, some wait
    linear: true,
    elsewhere: true,
    plays: true,
  },
  {
    id: 'piece',
    label: 'Chunk',
    unit: 'tokens',
    type: 'number',
    min: 16,
    max: 8192,
    value: 256,
    powers: true,
    more: true,
  },
  {
    id: 'prompt',
    label: 'Input, on average',
    unit: 'tokens',
    type: 'number',
    min: 1,
    max: 16384,
    value: 2000,
    powers: true,
    more: true,
  },
  {
    id: 'answer',
    label: 'Output, on average',
    unit: 'tokens',
    type: 'number',
    min: 1,
    max: 400,
    value: 100,
    powers: true,
    more: true,
  },
  {
    id: 'count',
    label: 'Requests',
    type: 'number',
    min: 2,
    max: 48,
    value: 20,
    linear: true,
    more: true,
  },
  {
    id: 'most',
    label: 'Batch slots',
    type: 'number',
    min: 1,
    max: 64,
    value: 32,
    linear: true,
    more: true,
  },
  {
    id: 'reserve',
    label: 'Memory is reserved',
    type: 'choice',
    options: [
      ['answer', 'for the whole output'],
      ['blocks', 'block by block'],
    ],
    value: 'answer',
    more: true,
  },
  {
    id: 'model',
    label: 'Model',
    type: 'choice',
    options: modelChoices,
    value: 'llama-3.1-8b',
    more: true,
  },
  {
    id: 'device',
    label: 'Device',
    type: 'choice',
    options: servingDevices,
    value: 'RTX-4090',
    more: true,
  },
  {
    id: 'shared',
    label: 'Devices that share a copy',
    type: 'choice',
    value: '1',
    options: sharedChoices,
    more: true,
  },
  {
    id: 'precision',
    label: 'Precision',
    type: 'choice',
    value: '16-bit',
    options: precisionChoices,
    more: true,
  },
  {
    id: 'seed',
    label: 'Random arrivals',
    type: 'choice',
    options: Object.keys(arrivals).map((seed) => [seed, `seed ${seed}`]),
    value: '1',
    more: true,
  },
];

/** @type {Suggestion[]} */
export const tries = [
  {
    label: 'A quiet hour',
    state: { moment: POSITIONS, rate: 0.5 },
    say:
      'Few requests overlap. Where they do, decoding pauses for a prefill above and hardly ' +
      'below. With chunks, however, TTFT is a little longer.',
  },
  {
    label: 'All at once',
    state: { moment: POSITIONS, rate: 100 },
    say:
      'Above, the first requests pause until all twenty prompts are prefilled. Below, they go ' +
      'on decoding, one token for each chunk.',
  },
  {
    label: 'Memory is short',
    state: { moment: POSITIONS, rate: 100, prompt: 4000 },
    say:
      'Above, requests wait in the queue (hollow), because the memory for KV caches is full, and ' +
      'one is admitted when another ends. Below, prompts are prefilled one after another, and ' +
      'the first requests end before the memory is full.',
  },
  {
    label: 'Block by block',
    state: { moment: POSITIONS, rate: 100, count: 30, answer: 300, reserve: 'blocks' },
    say:
      'More requests are admitted, because no memory is reserved. When no block is free, the ' +
      'newest request is preempted, and all its tokens are prefilled again.',
  },
  {
    label: 'Tiny chunks',
    state: { moment: POSITIONS, piece: 32 },
    say: 'Each chunk reads all weights, and a prompt takes dozens of steps, so TTFT is long.',
  },
];

/** The requests of a setting: lengths between half and one and a half of the average. */
export function requestsOf({ rate, count, prompt, answer, seed }) {
  const [gaps, one, other] = arrivals[seed];
  const length = (mean) => (share) => Math.max(1, Math.round(mean * (0.5 + share)));
  return {
    arrival: gaps.slice(0, count).map((at) => at / rate),
    prompt: one.slice(0, count).map(length(prompt)),
    answer: other.slice(0, count).map(length(answer)),
  };
}

let last = { key: '' };
let timed = { key: '' };

/** The clock of a server, kept as long as only requests and rules change. */
function clockOf(server, { model, device, shared, precision, most }, longest) {
  const key = [model, device, shared, precision, most, longest].join();
  if (timed.key !== key) timed = { key, clock: new Clock(server, most, longest) };
  return timed.clock;
}

/** Both films of a setting; while only the moment moves, they stay as they are. */
function films(state) {
  const { moment, ...rest } = state;
  const key = JSON.stringify(rest);
  if (last.key === key) return last;
  const [server, requests] = [serverOf(state), requestsOf(state)];
  const policy = { most: state.most, reserve: state.reserve };
  const clock = clockOf(
    server,
    state,
    Math.max(...requests.prompt.map((tokens, at) => tokens + requests.answer[at])),
  );
  const both = [0, state.piece].map((chunk) =>
    simulate(requests, server, { ...policy, chunk }, clock),
  );
  last = {
    key,
    server,
    requests,
    both,
    seconds: Math.max(...both.map((run) => run.seconds)),
    felt: both[0].tooLong ? null : both.map((run) => felt(run, requests)),
    alone: prefill(server, Math.max(...requests.prompt)),
  };
  return last;
}

const quantile = (values, share) => {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)];
};
const median = (values) => quantile(values, 0.5);

/** What users of a run notice: TTFT, and the longest time between two tokens. */
export function felt(run, requests) {
  const first = run.runs.map((each, at) => each.first - requests.arrival[at]);
  const gaps = new Float64Array(
    run.runs.reduce((sum, { tokens }) => sum + Math.max(0, tokens.length - 1), 0),
  );
  let count = 0;
  for (const { tokens } of run.runs)
    for (let at = 1; at < tokens.length; at += 1) gaps[count++] = tokens[at] - tokens[at - 1];
  gaps.sort();
  return {
    first: median(first),
    slowest: Math.max(...first),
    gap: count ? gaps[Math.ceil(count / 2) - 1] : 0,
    pause: count ? gaps[count - 1] : 0,
    done: run.seconds,
  };
}

export function compute(state) {
  const { server, requests, both, seconds, felt: all, alone } = films(state);
  const now = (seconds * state.moment) / POSITIONS;
  const at = both.map(({ rows }) => {
    let found = [0, 0, 0, 0, 0, 0];
    for (const row of rows) {
      if (row[0] > now) break;
      found = row;
    }
    return found;
  });
  return { server, requests, both, seconds, now, at, tooLong: both[0].tooLong, felt: all, alone };
}

const NAMES = ({ piece }) => ['Whole prompts prefilled', `Chunked prefill, ${plain(piece)} tokens`];

export function summary(state, { felt: both, tooLong, both: [one], now, at }) {
  if (tooLong)
    return [
      [
        'Does not fit',
        `a request of ${plain(tooLong)} tokens needs more than the ${plain(one.blocks * 16)} ` +
          'that memory has room for; a larger device, more devices, fewer bits or shorter ' +
          'prompts would help',
      ],
    ];
  const words = ({ first, slowest, gap, pause }) =>
    `TTFT ${quantity(first, 's', 3)} in the median, ` +
    `${quantity(slowest, 's', 3)} at worst; TPOT ${quantity(gap, 's', 3)}, the ` +
    `longest pause ${quantity(pause, 's', 3)}`;
  const standing = ([, writing, waiting, used]) =>
    `${writing} decode, ${waiting} wait, memory ${percent(used / one.blocks)} full`;
  return [
    ...NAMES(state).map((name, which) => [name, words(both[which])]),
    [
      'This moment',
      `After ${quantity(now, 's', 3)}, with whole prompts: ${at.map(standing).join('. Chunked: ')}`,
    ],
  ];
}

const SVG = 'http://www.w3.org/2000/svg';

function shape(tag, attributes) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}

const AXIS = 14; // pixels

/** Round moments of a film, four to eight of them. */
function moments(seconds) {
  const ten = 10 ** Math.floor(Math.log10(seconds));
  const each = [0.2, 0.5, 1, 2].map((part) => part * ten).find((part) => seconds / part < 8);
  return Array.from({ length: Math.ceil(seconds / each) }, (_, at) =>
    Number((at * each).toPrecision(6)),
  ).filter((at) => at < 0.95 * seconds);
}

/** A line a pixel wide for each moment; those on one pixel are one, and neighbours one box. */
function lines(moments, scale, top, height) {
  let [d, from, before] = ['', 0, -1];
  const put = () => {
    if (before >= from) d += `M${from} ${top}H${before + 1}v${height}H${from}z`;
  };
  for (const moment of moments) {
    const x = Math.floor(moment * scale);
    if (x === before) continue;
    if (x > before + 1) {
      put();
      from = x;
    }
    before = x;
  }
  put();
  return d;
}

const KINDS = [
  'server-writes',
  'server-ticks',
  'server-waits',
  'server-reads',
  'server-memory',
  'server-full',
];

/** A film with nothing in it yet: a path of each kind, the words of its axis, and the moment. */
function blank() {
  const paths = Object.fromEntries(KINDS.map((kind) => [kind, shape('path', { class: kind })]));
  const [times, later, now] = [
    shape('g', {}),
    shape('rect', { y: 0, class: 'server-later' }),
    shape('path', { class: 'server-now' }),
  ];
  const svg = shape('svg', { 'aria-hidden': 'true', class: 'server-lines' });
  svg.append(...Object.values(paths), times, later, now);
  return { svg, paths, times, later, now };
}

/** One run: a row for each request, then the memory; `place` puts seconds on the page. */
function fill({ svg, paths, times, later, now }, run, requests, { width, seconds, row, memory }) {
  const place = (time) => Math.round((10 * width * time) / seconds) / 10; // to a tenth of a pixel
  const rows = requests.arrival.length * row;
  const [top, low] = [rows + 4, rows + 4 + memory];
  const box = (from, to, at) =>
    `M${place(from)} ${at * row + 1}H${place(to)}v${row - 2}H${place(from)}Z`;
  let [waits, reads, writes, ticks] = ['', '', '', ''];
  run.runs.forEach(({ started, first, finish, tokens, reads: passes, back }, at) => {
    waits += box(requests.arrival[at], started, at);
    for (const moment of back)
      waits += box(moment, passes.find(([from]) => from >= moment)?.[0] ?? moment, at);
    for (const [from, to] of passes) reads += box(from, to, at);
    writes += box(first, finish, at);
    ticks += lines(tokens, width / seconds, at * row + 1, row - 2);
  });
  const high = (used) => Math.round(10 * (top + memory * (1 - used / run.blocks))) / 10;
  let [taken, used] = [`M0 ${low}`, 0];
  for (const [time, , , blocks] of run.rows)
    if (blocks !== used) {
      used = blocks;
      taken += `H${place(time)}V${high(used)}`;
    }
  taken += `H${place(run.seconds)}V${low}Z`;
  const marked = moments(seconds);
  const full =
    `M0 ${top}H${width}M0 ${low}H${width}` +
    `${marked.map((moment) => `M${place(moment)} ${low}v5`).join('')}`;
  [writes, ticks, waits, reads, taken, full].forEach((d, at) =>
    paths[KINDS[at]].setAttribute('d', d),
  );
  times.innerHTML = marked
    .map(
      (moment) =>
        `<text x="${place(moment) + 2}" y="${low + 1 + AXIS}" ` +
        `class="server-time">${plain(moment)} s</text>`,
    )
    .join('');
  svg.setAttribute('width', width);
  svg.setAttribute('height', low + 2 + AXIS);
  later.setAttribute('height', low + 2);
  now.setAttribute('d', `M0 0V${low + 2}`);
}

/** Rows as high as two of these films fit beside their settings on a screen. */
const rowOf = (count) => Math.max(4, Math.min(10, Math.floor((isLarge() ? 200 : 100) / count)));
const isLarge = () => innerWidth > 960 && innerHeight > 900;

/** What stays while the films change: their titles, and what the colours are. */
function lay(explorer) {
  const words = ['in the queue', 'prefill', 'decode, a line a token', 'memory of KV caches, below'];
  // in full: unused styles are left out of the site
  const marks = ['server-key-waits', 'server-key-reads', 'server-key-writes', 'server-key-memory'];
  const legend = make(
    'ul',
    { class: 'explorer-legend' },
    ...words.map((text, at) =>
      make(
        'li',
        {},
        make('span', { class: `explorer-swatch ${marks[at]}`, 'aria-hidden': 'true' }),
        text,
      ),
    ),
  );
  const films = [0, 1].map(() => ({ title: make('p', { class: 'explorer-title' }), ...blank() }));
  explorer.stage.replaceChildren(
    ...films.map(({ title, svg }) =>
      make('div', { class: 'explorer-panel server-film' }, title, svg),
    ),
    legend,
  );
  return films;
}

function redraw(explorer, state, { both, requests, seconds }) {
  // asked once, then told: to ask while it changes is slow
  explorer.wide ??= Math.max(200, explorer.stage.clientWidth);
  const width = explorer.wide;
  const key = `${last.key} ${width}`;
  if (explorer.drawn === key) return;
  explorer.drawn = key;
  const size = { width, seconds, row: rowOf(state.count), memory: width < 480 ? 20 : 28 };
  explorer.films ??= lay(explorer);
  explorer.films.forEach((film, at) => {
    film.title.textContent = at
      ? NAMES(state)[at]
      : `${runs(state)}: ${NAMES(state)[at].toLowerCase()}`;
    fill(film, both[at], requests, size);
  });
}

export function draw(explorer, state, result) {
  explorer.stage.hidden = Boolean(result.tooLong);
  if (result.tooLong) return;
  redraw(explorer, state, result);
  explorer.moment.value = state.moment;
  explorer.moment.setAttribute('aria-valuetext', quantity(result.now, 's', 3));
  const { wide: width } = explorer;
  const at = (width * result.now) / result.seconds;
  for (const { later, now } of explorer.films) {
    later.setAttribute('x', at);
    later.setAttribute('width', Math.max(0, width - at));
    now.setAttribute('transform', `translate(${Math.min(at, width - 1)} 0)`);
  }
}

export function build(explorer) {
  let timer = null;
  const put = (moment) => explorer.set({ ...explorer.state, moment });
  const stop = () => {
    clearInterval(timer);
    timer = null;
    button.textContent = 'Play';
  };
  explorer.stop = stop;
  const play = () => {
    if (timer) {
      stop();
      return;
    }
    let moment = explorer.state.moment >= POSITIONS ? 0 : explorer.state.moment;
    button.textContent = 'Pause';
    timer = setInterval(
      () => {
        moment = Math.min(POSITIONS, moment + (calm ? 50 : 4));
        put(moment);
        if (moment === POSITIONS) stop();
      },
      calm ? 1000 : 1000 / 30,
    );
  };
  const button = make('button', { type: 'button', '.onclick': play }, 'Play');
  explorer.moment = make('input', {
    type: 'range',
    min: 0,
    max: POSITIONS,
    'aria-label': 'Moment',
    '.oninput': () => {
      if (timer) stop();
      put(explorer.moment.value);
    },
  });
  explorer.stage.before(
    make(
      'div',
      { class: 'explorer-buttons explorer-player', role: 'group', 'aria-label': 'Player' },
      button,
      explorer.moment,
    ),
  );
  const drag = (event) => {
    if (timer) stop();
    const { left, width } = explorer.films[0].svg.getBoundingClientRect();
    put(Math.max(0, Math.min(POSITIONS, (POSITIONS * (event.clientX - left)) / width)));
  };
  hold(explorer.stage, (event) =>
    event.target.closest('.server-lines') ? { move: drag, atOnce: true } : null,
  );
  new ResizeObserver(
    ([
      {
        contentRect: { width },
      },
    ]) => {
      if (!explorer.result || !width) return;
      explorer.wide = Math.max(200, width);
      draw(explorer, explorer.state, explorer.result);
    },
  ).observe(explorer.stage);
}

export const warning = (state, { requests: { prompt, answer } }) =>
  beyond(state.model, Math.max(...prompt.map((tokens, at) => tokens + answer[at])));

export const note = (_state, { server }) =>
  (
    'Each row is a request, from its arrival to its last token. Both films have the same ' +
    `requests and the same server, which has room for ${plain(last.both[0].blocks * 16)} ` +
    'tokens of cache. Every step takes as long as its ledger says. ' +
    `${server.shared > 1 ? 'Messages between devices are in the times.' : ''}`
  ).trim();

export function table(_state, { both, requests, tooLong }) {
  const columns = [
    'request',
    'prompts',
    'arrives (s)',
    'prompt',
    'answer',
    'prefill starts (s)',
    'first token (s)',
    'last token (s)',
    'preempted',
  ];
  if (tooLong) return { columns, rows: [] };
  return {
    columns,
    rows: both.flatMap((run, which) =>
      run.runs.map((each, at) => [
        at + 1,
        which ? 'chunked' : 'whole',
        requests.arrival[at],
        requests.prompt[at],
        requests.answer[at],
        each.started,
        each.first,
        each.finish,
        each.back.length,
      ]),
    ),
  };
}
