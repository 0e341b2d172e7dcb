// The film of a token: one decode step on its way through a model's layers, op by op. What each op
// reads, computes and sends is costlib's own ledger, and its seconds are costlib's roofline.
import { hosts, journeyOf, modelChoices, readAll, rounds, same } from './costs.js';
import { calm, hold, make, withUnits } from './dom.js';
import { finder } from './finder.js';
import { counted, percent, plain, quantity } from './numbers.js';
import { decoded, isOwn, PATTERN, textOf } from './own_models.js';
import { panel } from './own_panel.js';
import { Player } from './player.js';

const SECONDS = 20; // that a film takes
const TICKS = 30; // a second

/** @type {Control[]} */
export const controls = [
  {
    id: 'model',
    label: 'Model',
    type: 'choice',
    options: modelChoices,
    value: 'llama-3.1-8b',
    pattern: PATTERN,
  },
  {
    id: 'batch',
    label: 'Concurrent users',
    type: 'number',
    min: 1,
    max: 4096,
    value: 1,
    powers: true,
  },
  {
    id: 'context',
    label: 'Cached',
    unit: 'tokens each',
    type: 'number',
    min: 0,
    max: 1048576,
    value: 8192,
    powers: true,
  },
  {
    id: 'device',
    label: 'Device',
    type: 'choice',
    options: same(hosts),
    value: 'H100-SXM',
    more: true,
  },
  {
    id: 'many',
    label: 'Devices that share each layer',
    type: 'choice',
    options: same(['1', '2', '4', '8', '16']),
    value: '1',
    more: true,
  },
  ...rounds,
  {
    id: 'frame',
    label: 'Op',
    type: 'number',
    min: 0,
    max: 100000,
    value: 270,
    linear: true,
    elsewhere: true,
    plays: true,
  },
];

/** @type {Suggestion[]} */
export const tries = [
  {
    label: 'A book in the cache',
    state: { context: 131072 },
    say:
      'Now the cache is larger than the weights. In each layer the token spends more time on ' +
      '“scores” and “values”, which read the cache, than on all matrices together.',
  },
  {
    label: '512 users',
    state: { batch: 512, context: 128 },
    say:
      'All users share each read of the weights, so the arithmetic of 512 tokens takes longer ' +
      'than the reading, and the step is compute bound in its matrices.',
  },
  {
    label: 'A mixture of experts',
    state: { model: 'qwen3-30b-a3b' },
    say:
      'Each layer has 128 experts, and a token reads 8 of them. So the step reads about a tenth ' +
      'of the weights, and the unembedding takes almost as long as five layers.',
  },
  {
    label: 'Windows',
    state: { model: 'gemma-3-27b', context: 131072, frame: 297 },
    say:
      'Five layers of six keep only 1,024 tokens. Each sixth layer reads the whole cache, and ' +
      'takes more than twice as long as its neighbours.',
  },
  {
    label: 'Eight devices',
    state: { model: 'llama-3.1-70b', many: '8', wait: 3, frame: 713 },
    say:
      'Each device has an eighth of every matrix. Two sums in each layer cross the links, after ' +
      '“o_proj” and after “ffn.down”, and they mostly wait: a round takes 3 µs here.',
  },
];

// ---------------------------------------------------------------- what is computed

const kept = new Map(); // the last films, by their settings
const MOST_KEPT = 60;

/** The film of a setting, which stays while only the frame changes: returned after some steps. */
function* filming({ frame, ...state }) {
  if (isOwn(state.model) && textOf(state.model) === undefined)
    return { reading: true, error: 'its config is being read' };
  const key = JSON.stringify(state);
  if (kept.size > MOST_KEPT) kept.clear();
  if (!kept.has(key)) kept.set(key, yield* made(state));
  return kept.get(key);
}

function filmOf(state) {
  const steps = filming(state);
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}

/** What a state needs, a step a task. */
export const ahead = filming;

const NEAREST = 8; // states that come before all models are read

/** What a change of a setting to one of these states will need, the likeliest first. */
export function* foreseen(states, { id }) {
  for (const state of states.slice(0, NEAREST)) yield* ahead(state);
  if (id === 'model') yield* readAll();
  for (const state of states.slice(NEAREST, MOST_KEPT / 2)) yield* ahead(state);
}

const KINDS = ['weights', 'cache', 'others', 'flops', 'sent'];

/** Every op in order with its layer and the time it ends; what has been moved by then. */
function* made(state) {
  try {
    const { parts, ...device } = yield* journeyOf({ ...state, many: Number(state.many), ...OWN });
    yield;
    const steps = [];
    let time = 0;
    const total = Object.fromEntries(KINDS.map((kind) => [kind, 0]));
    const layers = parts.map(({ names, ops }, layer) => {
      const [first, begin] = [steps.length, time];
      for (const op of ops) {
        time += op.time;
        for (const kind of KINDS) total[kind] += op[kind];
        steps.push({ op, layer, end: time, so: { ...total } });
      }
      return { names, ops, first, begin, end: time };
    });
    return { layers, steps, time, total, state, ...device };
  } catch (error) {
    return { error: error.message };
  }
}
const OWN = { weights: 'own', activations: 'own', kv: 'own' };

export function compute(state) {
  const film = filmOf(state);
  if (film.error) return { film, frame: 0 };
  const frame = Math.min(state.frame, film.steps.length);
  return { film, frame, now: film.steps[frame - 1] };
}

/** The frame at a time: the op that is running then. */
export function frameAt({ steps, time: all }, time) {
  if (time >= all) return steps.length;
  let [low, high] = [0, steps.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (steps[middle].end <= time) low = middle + 1;
    else high = middle;
  }
  return time <= 0 ? 0 : low + 1;
}

// ---------------------------------------------------------------- what is said

const called = ({ layers }, at) =>
  at === 0
    ? 'Embedding'
    : at === layers.length - 1
      ? 'Unembedding'
      : `Layer ${at} of ${layers.length - 2}: ${layers[at].names.join(', ')}`;

/** What an op does, in a sentence. */
export function doing({ op }) {
  const time = quantity(op.time, 's', 3);
  if (op.isMessage) return `${op.name} sends ${quantity(op.sent, 'B', 3)} in ${time}`;
  const reads = [
    [op.weights, 'of weights'],
    [op.cache, 'of cache'],
  ].flatMap(([bytes, of]) => (bytes ? [`${quantity(bytes, 'B', 3)} ${of}`] : []));
  const moved = reads.length
    ? reads.join(' and ')
    : `${quantity(op.others, 'B', 3)} of activations`;
  return (
    `${op.name} moves ${moved} and does ${quantity(op.flops, 'FLOP', 3)} in ${time}: ` +
    `${op.bound === 'compute' ? 'compute' : 'memory'} bound`
  );
}

export function summary(state, { film }) {
  if (film.error) return [['Not possible', film.error]];
  const { time, total, machine, held, usable, steps } = film;
  const computing = steps.reduce((sum, { op }) => sum + op.computing, 0);
  const moved = total.weights + total.cache + total.others;
  return [
    [
      'One step',
      `${quantity(time, 's', 4)} on ${machine}: ` +
        `${plain(1 / time, 3)} tokens a second for ` +
        `${state.batch > 1 ? `each of ${counted(state.batch, 'users')}` : 'one user'}`,
    ],
    [
      'What it moves',
      `${quantity(moved, 'B')}: ${percent(total.weights / moved)} weights, ` +
        `${percent(total.cache / moved)} cache of ${counted(state.context, 'tokens')} each`,
    ],
    [
      'What it computes',
      `${quantity(total.flops, 'FLOP')}. At the rate of the datasheet that takes ` +
        `${percent(computing / time)} of the step’s time`,
    ],
    [
      'Memory',
      held <= usable
        ? `${quantity(held, 'B', 3)} of ${quantity(usable, 'B', 3)} on each device`
        : `does not fit: ${quantity(held, 'B', 3)} for ${quantity(usable, 'B', 3)} on each device`,
    ],
  ];
}

export const note = () =>
  'Each op is one of the ledger, in the order in which a token meets it, and takes the time of ' +
  'costlib’s roofline: the longer of moving and computing at the rates of a datasheet. Where ' +
  'devices share each layer, all numbers are those of one device. Left out are the launches of ' +
  'kernels, and whatever a kernel does at once with the next.';

export function table(_state, { film }) {
  return {
    columns: [
      'layer',
      'op',
      'weights (B)',
      'cache (B)',
      'other (B)',
      'work (FLOP)',
      'sent (B)',
      'time (s)',
      'bound',
    ],
    rows: (film.steps ?? []).map(({ op, layer }) => [
      layer === 0 ? 'embedding' : layer === film.layers.length - 1 ? 'unembedding' : layer,
      op.name,
      op.weights,
      op.cache,
      op.others,
      op.flops,
      op.sent,
      op.time,
      op.bound,
    ]),
  };
}

// ---------------------------------------------------------------- the picture

const f = (value) => value.toFixed(1);
const LANES = ['memory', 'arithmetic', 'links'];

/** Where the lanes of a strip are, from the top down; links only where something is sent. */
function lanesOf({ total }, top, heights) {
  let y = top;
  return Object.fromEntries(
    LANES.slice(0, total.sent ? 3 : 2).map((name, at) => {
      const place = { top: y, high: heights[at] };
      y += heights[at] + 3;
      return [name, place];
    }),
  );
}

/**
 * The boxes of some ops in their lanes: as wide as they take, and as high as what they use of the
 * memory's, the arithmetic's or the links' rate.
 */
function boxes(ops, scale, lanes, from = 0) {
  const drawn = { weights: '', cache: '', others: '', flops: '', sent: '' };
  let x = from;
  const put = (kind, { top, high }, wide, low, share) => {
    if (share * high < 0.05) return;
    drawn[kind] +=
      `M${f(x)} ${f(top + high * (1 - low - share))}h${f(wide)}v${f(high * share)}h${f(-wide)}z`;
  };
  for (const op of ops) {
    const wide = op.time * scale;
    if (op.isMessage) put('sent', lanes.links, wide, 0, 1);
    else if (op.time) {
      const moved = op.weights + op.cache + op.others || 1; // softmax stays on chip
      let low = 0;
      for (const kind of ['weights', 'cache', 'others']) {
        const share = ((op.moving / op.time) * op[kind]) / moved;
        put(kind, lanes.memory, wide, low, share);
        low += share;
      }
      put('flops', lanes.arithmetic, wide, 0, op.computing / op.time);
    }
    x += wide;
  }
  return drawn;
}

// in full: unused styles are left out of the site
const STYLES = {
  weights: 'token-weights',
  cache: 'token-cache',
  others: 'token-others',
  flops: 'token-flops',
  sent: 'token-sent',
};
const paths = (drawn) =>
  Object.entries(drawn)
    .map(([kind, d]) => (d ? `<path d="${d}" class="${STYLES[kind]}"/>` : ''))
    .join('');
const box = (x, y, wide, high, kind) =>
  `<rect x="${f(x)}" y="${f(y)}" width="${f(Math.max(0, wide))}" ` +
  `height="${f(high)}" class="${kind}"/>`;
const word = (x, y, text, anchor = 'start', kind = 'film-name') =>
  `<text x="${f(x)}" y="${f(y)}" text-anchor="${anchor}" class="${kind}">${text}</text>`;
const frames = (lanes, wide) =>
  Object.values(lanes)
    .map(({ top, high }) => box(0, top, wide, high, 'film-array'))
    .join('');
const bottomOf = (lanes) => Math.max(...Object.values(lanes).map(({ top, high }) => top + high));

/** The whole step: all layers on one axis of time. */
function overview(film, width) {
  const { layers, time } = film;
  const scale = width / time;
  const lanes = lanesOf(film, 16, [30, 14, 10]);
  const low = bottomOf(lanes);
  const all = { weights: '', cache: '', others: '', flops: '', sent: '' };
  for (const { ops, begin } of layers)
    for (const [kind, d] of Object.entries(boxes(ops, scale, lanes, begin * scale))) all[kind] += d;
  const [first, end] = [layers[1].begin * scale, layers.at(-1).begin * scale];
  const edges = layers
    .slice(1)
    .map(({ begin }) => `M${f(begin * scale)} ${lanes.memory.top}V${low}`)
    .join('');
  return {
    high: low + 18,
    lanes,
    svg:
      paths(all) +
      `<path d="${(end - first) / layers.length > 4 ? edges : ''}" class="token-edge"/>` +
      frames(lanes, width) +
      word((first + end) / 2, 11, counted(layers.length - 2, 'layers'), 'middle') +
      (width - end > 76 ? word((width + end) / 2, 11, 'unembedding', 'middle') : '') +
      ticks(time, width, low),
  };
}

/** Round times under the axis. */
function ticks(time, width, low) {
  const ten = 10 ** Math.floor(Math.log10(time));
  const each = [0.1, 0.2, 0.5, 1, 2, 5].find((part) => time / (part * ten) < width / 80) * ten;
  return Array.from({ length: Math.floor(time / each) + 1 }, (_, at) => at * each)
    .filter((at) => at < 0.96 * time)
    .map(
      (at) =>
        `<path d="M${f((at / time) * width)} ${f(low)}v4" class="film-tick"/>` +
        word(
          (at / time) * width + (at ? 0 : 1),
          low + 15,
          at ? quantity(at, 's', 2) : '0',
          at ? 'middle' : 'start',
        ),
    )
    .join('');
}

const LETTER = 6.4; // pixels, about

/** One layer, as wide as the picture: every op that has room has its name. */
function detail(film, at, width, top) {
  const { ops, begin, end } = film.layers[at];
  const scale = width / (end - begin || 1);
  const lanes = lanesOf(film, top + 16, [46, 24, 14]);
  let [x, names] = [0, ''];
  for (const { name, time } of ops) {
    const wide = time * scale;
    const brief = name.replace(/^(ffn|experts|shared)\./, '');
    const said = [name, brief].find((each) => each.length * LETTER < wide);
    if (said) names += word(x + wide / 2, top + 11, said, 'middle');
    x += wide;
  }
  const computing = ops.reduce((sum, op) => sum + op.computing, 0);
  const busy = `arithmetic busy ${percent(computing / (end - begin || 1))} of this layer’s time`;
  const low = bottomOf(lanes);
  return {
    lanes,
    low,
    foot: low + 14,
    svg: paths(boxes(ops, scale, lanes)) + frames(lanes, width) + names + word(0, low + 12, busy),
  };
}

/** What has been moved so far, of all that will be: a bar each, with its numbers. */
function tallies(film, now, width, top) {
  const { total } = film;
  const most = total.weights + total.cache + total.others;
  const rows = [
    ['weights', 'weights', 'B', most],
    ['cache', 'cache', 'B', most],
    ['flops', 'FLOPs', 'FLOP', total.flops],
    ...(total.sent ? [['sent', 'sent', 'B', total.sent]] : []),
  ];
  const [left, right] = [60, width - 138];
  return {
    high: rows.length * 20,
    svg: rows
      .map(([kind, name, unit, all], row) => {
        const y = top + row * 20;
        const so = now ? now.so[kind] : 0;
        const wide = (value) => ((right - left) * value) / (all || 1);
        return (
          word(0, y + 12, name) +
          box(left, y + 3, wide(total[kind]), 11, 'film-array') +
          box(left, y + 3, wide(so), 11, STYLES[kind]) +
          word(
            width,
            y + 12,
            `${quantity(so, unit, 3)} of ${quantity(total[kind], unit, 3)}`,
            'end',
          )
        );
      })
      .join(''),
  };
}

function lay(explorer) {
  explorer.title = make('p', { class: 'explorer-title token-title' });
  explorer.line = make('div', {
    class: 'film-line',
    tabindex: '0',
    role: 'slider',
    'aria-label': 'Op',
    'aria-valuemin': 0,
  });
  explorer.doing = make('p', { class: 'token-doing' });
  const words = ['memory: weights', 'cache', 'activations', 'arithmetic', 'links'];
  const keys = Object.values(STYLES).map((kind, at) =>
    make(
      'li',
      {},
      make('span', { class: `explorer-swatch ${kind}`, 'aria-hidden': 'true' }),
      words[at],
    ),
  );
  explorer.stage.replaceChildren(
    make('div', { class: 'explorer-panel film' }, explorer.title, explorer.line, explorer.doing),
    make('ul', { class: 'explorer-legend' }, ...keys),
  );
}

export function draw(explorer, state, { film, frame, now }) {
  if (film.reading)
    explorer.defer(
      'config',
      () => explorer.redraw(),
      (run) => decoded(state.model).then(run),
    );
  explorer.stage.hidden = Boolean(film.error);
  if (film.error) return;
  if (!explorer.line) lay(explorer);
  explorer.wide ||= Math.max(200, explorer.stage.clientWidth);
  const { wide: width, line } = explorer;
  const { over } = explorer;
  if (over?.film !== film || over.width !== width)
    explorer.over = { film, width, ...overview(film, width) };
  explorer.title.textContent = now ? called(film, now.layer) : 'Before the step';
  explorer.doing.replaceChildren(...withUnits(now ? doing(now) : 'nothing has been read yet'));
  const { svg, high } = drawing(film, now, explorer.over, width);
  line.innerHTML =
    `<svg viewBox="0 0 ${width} ${f(high)}" width="${width}" height="${f(high)}" ` +
    `aria-hidden="true" class="token-lines">${svg}</svg>`;
  for (const [name, value] of [
    ['aria-valuemax', film.steps.length],
    ['aria-valuenow', frame],
    ['aria-valuetext', `${explorer.title.textContent}. ${explorer.doing.textContent}`],
  ])
    line.setAttribute(name, value);
}

/** All layers, the one of the moment beneath, and what has been moved so far. */
function drawing(film, now, over, width) {
  const layer = film.layers[now?.layer ?? 0];
  const scale = width / film.time;
  const top = over.high + 10;
  const one = detail(film, now?.layer ?? 0, width, top);
  const { memory } = over.lanes;
  const low = bottomOf(over.lanes);
  const [from, to] = [layer.begin * scale, Math.max(layer.end * scale, layer.begin * scale + 1)];
  const at = now ? now.end * scale : 0;
  const zoom = width / (layer.end - layer.begin || 1);
  const end = now ? (now.end - layer.begin) * zoom : 0;
  const begin = now ? end - now.op.time * zoom : 0;
  const under = one.lanes.memory.top;
  const inside = one.low - under;
  const sums = tallies(film, now, width, one.foot + 4);
  return {
    high: one.foot + 4 + sums.high,
    svg:
      `<path d="M${f(from)} ${f(low)}L0 ${f(top)}V${f(under)}M${f(to)} ${f(low)}L${f(width)} ` +
      `${f(top)}V${f(under)}" class="token-zoom"/>` +
      over.svg +
      box(at, memory.top, width - at, low - memory.top, 'token-later') +
      box(from, memory.top, to - from, low - memory.top, 'token-layer') +
      one.svg +
      box(end, under, width - end, inside, 'token-later') +
      box(begin, under, end - begin, inside, 'token-layer') +
      sums.svg,
  };
}

// ---------------------------------------------------------------- playing

export function build(explorer) {
  const film = () => explorer.result.film;
  let clock = 0;
  const player = new Player(explorer, {
    last: () => film().steps?.length ?? 0,
    next: (frame) => {
      const { steps, layers, time } = film();
      if (calm)
        return frame < 1 ? 1 : (layers[steps[frame - 1].layer + 1]?.first ?? steps.length) + 1;
      const here = frame ? steps[frame - 1] : { end: 0, op: { time: 0 } };
      clock = Math.max(clock, here.end - here.op.time); // somebody may have gone on
      if (clock > here.end) clock = here.end;
      clock += time / (SECONDS * TICKS);
      return Math.max(frame, frameAt(film(), clock));
    },
    wait: () => (calm ? 1000 : 1000 / TICKS),
    leap: (frame, way) => leap(film(), frame, way),
  });
  finder(explorer, 'model', '70b…');
  explorer.others.append(panel(explorer));
  scrubbed(explorer, player);
  new ResizeObserver(() => {
    const wide = Math.max(200, explorer.stage.clientWidth);
    if (wide === explorer.wide) return;
    explorer.wide = wide;
    if (explorer.result) draw(explorer, explorer.state, explorer.result);
  }).observe(explorer.stage);
}

/** The same op a layer further, or where that layer begins. */
function leap({ steps, layers }, frame, way) {
  const { layer } = steps[Math.max(0, frame - 1)];
  const next = layers[Math.min(layers.length - 1, Math.max(0, layer + way))];
  const within = Math.max(1, frame) - layers[layer].first;
  return next.first + Math.min(within, next.ops.length);
}

/** Above, a pointer is where the whole step is; on the layer beneath, within that. */
function scrubbed(explorer, player) {
  hold(explorer.stage, (first) => {
    if (!first.target.closest('.token-lines')) return null;
    const { film, now } = explorer.result;
    const { left, top, width } = explorer.line.getBoundingClientRect();
    const layer = film.layers[now?.layer ?? 0];
    const [begin, end] =
      first.clientY - top < explorer.over.high ? [0, film.time] : [layer.begin, layer.end];
    const move = ({ clientX }) => {
      const share = Math.min(1, Math.max(0, (clientX - left) / width));
      player.go(frameAt(film, begin + share * (end - begin)));
    };
    return { move, atOnce: true };
  });
}
