// What a device's memory holds, how far batch and context can go, and what kind of cache it takes.
import { make, withUnits } from './dom.js';
import { fits, fits_window, memory, memory_window } from './generated/formulas.js';
import { beyond, deviceChoices, deviceNamed, modelChoices, modelNamed, runs } from './models.js';
import { bytes as inBytes, counted, percent, plain, quantity, sweep } from './numbers.js';

const BYTES = [
  ['4', '4 bytes'],
  ['2', '2 bytes'],
  ['1', '1 byte'],
  ['0.5', 'half a byte'],
];

/** Bytes a weight: a model that is published packed can be taken as it is published. */
const weightChoices = ({ model }) =>
  modelNamed(model).ships
    ? [['ships', `as published: ${modelNamed(model).ships.toPrecision(3)} bytes`], ...BYTES]
    : BYTES;
export const perWeight = (state) =>
  state.weights === 'ships' ? modelNamed(state.model).ships : Number(state.weights);

/** @type {Control[]} */
export const controls = [
  {
    id: 'context',
    label: 'Context',
    unit: 'tokens',
    type: 'number',
    min: 1,
    max: 16777216,
    value: 8192,
    powers: true,
  },
  {
    id: 'batch',
    label: 'Batch',
    unit: 'sequences',
    type: 'number',
    min: 1,
    max: 65536,
    value: 16,
    powers: true,
  },
  {
    id: 'model',
    label: 'Model',
    type: 'choice',
    options: modelChoices,
    value: 'llama-3-8b',
    more: true,
  },
  {
    id: 'device',
    label: 'Device',
    type: 'choice',
    options: deviceChoices.filter(([name]) => deviceNamed(name).capacity),
    value: 'A100-80GB',
    more: true,
  },
  {
    id: 'weights',
    label: 'Weights',
    type: 'choice',
    options: weightChoices,
    value: '2',
    more: true,
  },
  { id: 'kv', label: 'KV cache', type: 'choice', options: BYTES, value: '2', more: true },
  {
    id: 'window',
    label: 'Window to compare',
    unit: 'tokens',
    type: 'number',
    min: 1,
    max: 1048576,
    value: 4096,
    powers: true,
    more: true,
  },
];

/** @type {Suggestion[]} */
export const tries = [
  {
    label: 'Four times the context',
    state: { context: 32768 },
    say:
      'At 8,192 tokens weights and cache weighed about the same. Now the cache is four times ' +
      'as large and the point is past the ring “full”: it does not fit. In the first of the ' +
      'bars below it crosses the line.',
  },
  {
    label: 'As it is published',
    state: { model: 'gpt-oss-20b', weights: 'ships' },
    say:
      'Its experts ship in 4 bits. With weights in 2 bytes there is room for 173 of these ' +
      'sequences in place of 310.',
  },
  {
    label: 'A small device',
    state: { device: 'T4', batch: 1, context: 8192, weights: '0.5' },
    say:
      'In 2 bytes the weights alone are larger than the usable memory of a T4. In half a ' +
      'byte they leave room for ten sequences.',
  },
  {
    label: 'A cache in 1 byte',
    state: { kv: '1' },
    say:
      'Weights do not change, so all that is saved goes to sequences: exactly twice as many ' +
      'fit.',
  },
  {
    label: 'A long context',
    state: { batch: 1, context: 1048576 },
    say:
      'The line with a window is the lowest by far, because it stopped growing at 4,096 tokens. ' +
      'All others keep growing.',
  },
];

/** The latents of the model that made them known: 512 and a rotary key of 64. */
export const LATENT = 512 + 64;

/** Sizes as the formulas take them, with a window or without. */
function sizes({
  params,
  per_layer: each,
  global_layers: wide,
  local_layers: local,
  window,
  d_model: width,
  widest,
}) {
  return window && local
    ? [params, each, wide, local, window, width, widest]
    : [params, each, wide, width, widest];
}

/** Bytes of weights, cache and activations. */
export function held(model, batch, context, precision) {
  /** @type {Formula} */
  const bytes = model.window && model.local_layers ? memory_window : memory;
  return bytes(batch, context, sizes(model), precision);
}

/** Bytes of weights, cache and activations, and what fits: of a model with a given cache. */
export function holds(model, { batch, context, capacity, precision }) {
  /** @type {Formula} */
  const fit = model.window && model.local_layers ? fits_window : fits;
  const [largestBatch, largestContext] = fit(batch, context, capacity, sizes(model), precision);
  return { parts: held(model, batch, context, precision), largestBatch, largestContext };
}

/** What kind of cache a model has. */
const kindOf = ({ latent, heads, kv_heads: few }) =>
  latent
    ? 'latents (MLA)'
    : few === heads
      ? 'a KV head for each query head (MHA)'
      : few === 1
        ? `one KV head for ${heads} query heads (MQA)`
        : `${few} KV heads for ${heads} query heads (GQA)`;

const OWN = 'its own cache';

/** The same model with other ways to keep keys and values: those that differ from what it has. */
export function variants(model, window) {
  const per = (heads) => 2 * heads * model.head_dim;
  const plainCache = { ...model, global_layers: model.layers, local_layers: 0, window: 0 };
  const found = [
    ['a KV head for each query head (MHA)', { ...plainCache, per_layer: per(model.heads) }],
    [
      'a KV head for four query heads (GQA)',
      model.heads % 4 ? null : { ...plainCache, per_layer: per(model.heads / 4) },
    ],
    ['one KV head for all query heads (MQA)', { ...plainCache, per_layer: per(1) }],
    [`latents of ${LATENT} (MLA)`, { ...plainCache, per_layer: LATENT }],
    [
      `its own cache, with a window of ${counted(window, 'tokens')}`,
      { ...model, global_layers: 0, local_layers: model.layers, window },
    ],
  ];
  const wide = !(model.window && model.local_layers);
  const same = (variant) => wide && !variant.window && variant.per_layer === model.per_layer;
  return [[OWN, model], ...found.filter(([, variant]) => variant && !same(variant))];
}

const SHOWN = [128, 2097152]; // contexts that the chart shows, and further where the state is

export function compute(state) {
  const [model, device] = [modelNamed(state.model), deviceNamed(state.device)];
  const settings = {
    batch: state.batch,
    context: state.context,
    capacity: device.capacity,
    precision: [perWeight(state), 2, Number(state.kv)],
  };
  const rows = variants(model, state.window).map(([name, variant]) => ({
    name,
    ...holds(variant, settings),
  }));
  const contexts = sweep(1, 16777216, 48, [state.context, ...SHOWN]);
  return {
    rows,
    capacity: device.capacity,
    contexts,
    curves: variants(model, state.window).map(([name, variant]) => ({
      name,
      ys: contexts.map((context) => held(variant, state.batch, context, settings.precision)[1]),
    })),
  };
}

// in full: unused styles are left out of the site
const PARTS = ['explorer-part-0', 'explorer-part-1', 'explorer-part-2'];
const ANY = 'any context fits';
const longest = (context) => (context === Infinity ? ANY : `context up to ${plain(context)}`);
/** What a largest batch leaves room for, in words. */
const largest = (batch) =>
  batch < 1 ? 'not even one sequence fits' : `batch up to ${plain(batch)}`;
/** A share of memory: beyond a few per cent too many, how many times it is taken. */
const shareOf = (share) => (share < 10 ? percent(share) : `${plain(share, 3)} times the`);
const total = (parts) => parts.reduce((sum, part) => sum + part, 0);

/** The first context at which a growing cache takes so many bytes, or no end. */
function reaching(cacheOf, bytes, most) {
  if (cacheOf(most) < bytes) return Infinity;
  let [low, high] = [0, most];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (cacheOf(middle) >= bytes) high = middle;
    else low = middle;
  }
  return high;
}

export function charts(state, { contexts, curves, capacity, rows }) {
  const [{ parts, largestBatch, largestContext: longest }] = rows;
  const sequences = `sequences of ${counted(state.context, 'tokens')}`;
  const room = capacity - parts[0] - parts[2];
  const cacheOf = (context) =>
    held(modelNamed(state.model), state.batch, context, [perWeight(state), 2, Number(state.kv)])[1];
  const within = (context) =>
    Number.isFinite(context) && context >= 1 && context <= contexts.at(-1);
  const even = reaching(cacheOf, parts[0], contexts.at(-1));
  const rings = [
    [longest, `full at ${counted(longest, 'tokens')}`],
    [even, `as large as the weights: ${counted(even, 'tokens')}`],
  ]
    .filter(([context]) => within(context))
    .map(([x, label]) => ({ x, y: cacheOf(x), label }));
  return [
    {
      title:
        room <= 0
          ? `${runs(state)}: the weights alone do not fit`
          : largestBatch < 1
            ? `${runs(state)}: not even one sequence of ${counted(state.context, 'tokens')} fits`
            : state.batch > largestBatch
              ? `${runs(state)}: no room for ${plain(state.batch)}, only for ` +
                `${counted(largestBatch, sequences)}`
              : `${runs(state)}: room for ${counted(largestBatch, sequences)}`,
      alt:
        `With its own cache, at ${counted(state.context, 'tokens')} and batch ` +
        `${plain(state.batch)}.`,
      x: {
        label: 'tokens in the context',
        range: [Math.min(SHOWN[0], state.context), Math.max(SHOWN[1], state.context)],
      },
      y: { label: 'KV caches', unit: 'B' },
      xs: contexts,
      series: curves.map(({ name, ys }, at) => ({
        label: SHORT[name] ?? (at ? 'with a window' : name),
        quiet: at > 0,
        ys,
      })),
      marks: [...rings, ...(room > 0 ? [{ y: room, label: 'room for caches' }] : [])],
      at: { x: state.context, label: counted(state.context, 'tokens') },
      drag: (context) => ({ context: String(Math.round(context)) }),
    },
  ];
}

const SHORT = {
  'a KV head for each query head (MHA)': 'MHA',
  'a KV head for four query heads (GQA)': 'GQA, a quarter',
  'one KV head for all query heads (MQA)': 'MQA',
  [`latents of ${LATENT} (MLA)`]: 'latents (MLA)',
};

export function summary(state, { rows, capacity }) {
  const [{ parts, largestBatch, largestContext }] = rows;
  return [
    ['Weights, cache, activations', parts.map((part) => inBytes(part)).join(', ')],
    [
      'Share of usable memory',
      `${shareOf(total(parts) / capacity)}${total(parts) < 10 * capacity ? ' of' : ''} ` +
        `${inBytes(capacity)}` +
        `${total(parts) > capacity ? ': it does not fit' : ''}`,
    ],
    [
      'Largest batch',
      largestBatch < 1
        ? `none: not even one sequence of ${counted(state.context, 'tokens')} fits`
        : `${counted(largestBatch, 'sequences')} of ${counted(state.context, 'tokens')}`,
    ],
    [
      'Longest context',
      largestContext === Infinity
        ? 'any: the cache stops growing'
        : largestContext < 1
          ? `none for a batch of ${plain(state.batch)}`
          : `${counted(largestContext, 'tokens')} for a batch of ${plain(state.batch)}`,
    ],
  ];
}

const barOf = (parts, capacity, most) =>
  make(
    'span',
    { class: 'explorer-stack', 'aria-hidden': 'true' },
    ...parts.map((part, at) =>
      make('span', { class: PARTS[at], style: `width:${(100 * part) / most}%` }),
    ),
    make('span', { class: 'explorer-capacity', style: `left:${(100 * capacity) / most}%` }),
  );
const legend = (words) =>
  make(
    'ul',
    { class: 'explorer-legend' },
    ...words.map((text, at) =>
      make(
        'li',
        {},
        make('span', { class: `explorer-swatch ${PARTS[at]}`, 'aria-hidden': 'true' }),
        ...withUnits(text),
      ),
    ),
  );
const NAMES = ['weights', 'cache', 'activations'];

/** What fits, above the lines: the memory of the device, and who takes how much of it. */
function drawDevice(explorer, { parts }, capacity) {
  explorer.device ??= make('div', { class: 'memory-device' });
  if (!explorer.device.isConnected) explorer.charts[0].box.before(explorer.device);
  explorer.device.replaceChildren(
    barOf(parts, capacity, Math.max(capacity, total(parts))),
    legend(NAMES.map((name, at) => `${name} ${quantity(parts[at], 'B', 3)}`)),
  );
}

export function draw(explorer, state, { rows, capacity }) {
  drawDevice(explorer, rows[0], capacity);
  explorer.extra ??= explorer.rest.appendChild(make('div', { class: 'explorer-panel' }));
  const most = Math.max(capacity, ...rows.map(({ parts }) => total(parts)));
  const within = (name, [, cache]) =>
    name !== OWN && cache === rows[0].parts[1]
      ? ', as without a window, because the context is shorter'
      : '';
  const bars = rows.map(({ name, parts, largestBatch, largestContext }) =>
    make(
      'div',
      { class: 'explorer-held' },
      make('span', {}, name === OWN ? `${OWN}: ${kindOf(modelNamed(state.model))}` : name),
      barOf(parts, capacity, most),
      make(
        'span',
        {},
        ...withUnits(
          `${inBytes(parts[1])} of cache${within(name, parts)}; ` +
            (parts[0] > capacity
              ? 'the weights alone do not fit'
              : `${largest(largestBatch)}; ${longest(largestContext)}`),
        ),
      ),
    ),
  );
  explorer.extra.replaceChildren(
    make(
      'p',
      { class: 'explorer-title' },
      ...withUnits(`Memory, against the usable ${inBytes(capacity)} of ${state.device} (the line)`),
    ),
    legend(NAMES),
    ...bars,
  );
}

export const warning = (state) => beyond(state.model, state.context);

export const note = () =>
  'Only the cache differs between the bars, and the weights are the model’s own. A tenth ' +
  'of the device is reserved for the driver, workspaces and gaps. Left out: other programs ' +
  'on it.';

export function table(_state, { rows }) {
  return {
    columns: [
      'kind of cache',
      'weights (B)',
      'cache (B)',
      'activations (B)',
      'largest batch',
      'longest context (tokens)',
    ],
    rows: rows.map(({ name, parts, largestBatch, largestContext }) => [
      name,
      ...parts,
      largestBatch,
      largestContext,
    ]),
    words: { Infinity: ANY },
  };
}
