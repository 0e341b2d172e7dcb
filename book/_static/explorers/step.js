// One step of a model on a device: every op under the roofline, and where the time goes.
import { make } from './dom.js';
import { attainable, op_time, ridge, sent } from './generated/formulas.js';
import {
  beyond,
  deviceChoices,
  deviceNamed,
  ledger,
  modelChoices,
  modelNamed,
  moved,
  runs,
} from './models.js';
import { percent, plain, quantity } from './numbers.js';
import { wrapped } from './picture.js';

const BYTES = [
  ['4', '4 bytes'],
  ['2', '2 bytes'],
  ['1', '1 byte'],
  ['0.5', 'half a byte'],
];

/** @type {Control[]} */
export const controls = [
  {
    id: 'batch',
    label: 'Batch',
    unit: 'sequences',
    type: 'number',
    min: 1,
    max: 4096,
    value: 64,
    powers: true,
  },
  {
    id: 'context',
    label: 'Context',
    unit: 'tokens',
    type: 'number',
    min: 1,
    max: 1048576,
    value: 4096,
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
    options: deviceChoices,
    value: 'A100-80GB',
    more: true,
  },
  {
    id: 'dtype',
    label: 'Arithmetic',
    type: 'choice',
    value: 'bf16',
    options: ({ device }) =>
      Object.keys(deviceNamed(device).flops_per_s).map((name) => [name, name]),
    more: true,
  },
  {
    id: 'phase',
    label: 'Phase',
    type: 'choice',
    options: [
      ['decode', 'decode'],
      ['prefill', 'prefill'],
    ],
    value: 'decode',
    more: true,
  },
  { id: 'weights', label: 'Weights', type: 'choice', options: BYTES, value: '2', more: true },
  { id: 'kv', label: 'KV cache', type: 'choice', options: BYTES, value: '2', more: true },
  {
    id: 'shared',
    label: 'Devices that share it',
    type: 'choice',
    value: '1',
    options: ({ model }) => Object.keys(modelNamed(model).shares).map((n) => [n, n]),
    more: true,
  },
];

/** @type {Suggestion[]} */
export const tries = [
  {
    label: 'A batch of 256',
    state: { batch: 256 },
    say:
      'The GEMMs with the weights have crossed the ridge. Attention stays where it was: each ' +
      'sequence brings a cache of its own, and memory still binds.',
  },
  {
    label: 'Weights in 1 byte',
    state: { batch: 1, weights: '1' },
    say:
      'One user waits 3.95 ms for a token and not 7.63, as weights are nearly all that is ' +
      'read. Now lengthen the context until halving the cache would help more.',
  },
  {
    label: 'The cache in 1 byte',
    state: { batch: 1, context: 131072, kv: '1' },
    say:
      'With 131,072 tokens a cache weighs more than these weights: halving it saves more than ' +
      'halving them would.',
  },
  {
    label: 'Eight devices',
    state: { batch: 64, shared: '8' },
    say:
      'The time falls by seven, not by eight: messages between devices come on top, and norms ' +
      'and residuals are done by each of them.',
  },
  {
    label: 'A prompt of 256',
    state: { batch: 1, phase: 'prefill', context: 256 },
    say:
      'All tokens share one read of the weights: the products are over the ridge already, and ' +
      'arithmetic binds.',
  },
];

const ATTENTION = ['q_absorb', 'v_absorb', 'kv_b_proj', 'scores', 'softmax', 'values'];
const PARTS = ['attention compute', 'attention memory', 'model compute', 'model memory'];

export function compute(state) {
  const [model, device] = [modelNamed(state.model), deviceNamed(state.device)];
  const [rate, bandwidth, shared] = [
    device.flops_per_s[state.dtype],
    device.bytes_per_s,
    Number(state.shared),
  ];
  const precision = { weights: Number(state.weights), kv: Number(state.kv) };
  const pass =
    state.phase === 'prefill'
      ? { cached: 0, fresh: state.context, latent: 'naive' }
      : { cached: state.context, fresh: 1, latent: 'absorbed' };
  const ops = ledger(model, { batch: state.batch, shared, ...pass }).map((op) => {
    const bytes = moved(op, precision);
    const [compute, memory] = [op.flops / rate, bytes / bandwidth];
    return {
      name: op.name,
      flops: op.flops,
      bytes,
      compute,
      memory,
      time: op_time(op.flops, bytes, rate, bandwidth),
      intensity: bytes ? op.flops / bytes : 0,
    };
  });
  const sum = (of, which = (_op) => true) =>
    ops.filter(which).reduce((total, op) => total + op[of], 0);
  const isAttention = (op) => ATTENTION.includes(op.name);
  const parts = [
    sum('compute', isAttention),
    sum('memory', isAttention),
    sum('compute', (op) => !isAttention(op)),
    sum('memory', (op) => !isAttention(op)),
  ];
  const message =
    2 * sent(state.batch, pass.fresh, model.d_model, model.layers, model.reduces, shared);
  const link = message && device.interconnect ? message / device.interconnect : 0;
  const time = sum('time') + link;
  const tokens = state.batch * (state.phase === 'prefill' ? state.context : 1);
  return {
    ops,
    parts,
    time,
    link,
    message,
    tokens,
    rate,
    bandwidth,
    ridge: ridge(rate, bandwidth),
    flops: sum('flops'),
    bytes: sum('bytes'),
    unknown: Boolean(message) && !device.interconnect,
  };
}

/** What most of the time goes to. */
export function binding({ ops, link, time }) {
  const memory = ops
    .filter((op) => op.memory > op.compute)
    .reduce((total, op) => total + op.time, 0);
  /** @type {[name: string, share: number][]} */
  const shares = [
    ['memory', memory / time],
    ['compute', (time - link - memory) / time],
    ['the link between devices', link / time],
  ];
  return shares.sort((a, b) => b[1] - a[1])[0];
}

/** Ops that have the same intensity stand on one dot: their names, and their time together. */
export function together(ops) {
  const found = new Map();
  for (const op of ops.filter((each) => each.flops && each.bytes)) {
    const key = op.intensity.toPrecision(6);
    const dot = found.get(key) ?? {
      intensity: op.intensity,
      memory: op.memory > op.compute,
      time: 0,
      ops: [],
    };
    dot.time += op.time;
    dot.ops.push(op);
    found.set(key, dot);
  }
  return [...found.values()].map((dot) => ({
    ...dot,
    name: [...dot.ops]
      .sort((a, b) => b.time - a.time)
      .map(({ name }) => name)
      .join(', '),
  }));
}

/** A name that fits beside a dot: what names share is said once; of many, the two slowest. */
function brief({ name, ops }) {
  const names = name.split(', ');
  const [group] = names[0].split('.');
  const short = names.map((each, at) =>
    at && each.startsWith(`${group}.`) ? each.slice(group.length + 1) : each,
  );
  return ops.length > 3
    ? `${short.slice(0, 2).join(', ')} and ${ops.length - 2} more`
    : short.join(', ');
}

/** What a drag changes: the batch, or of a prompt its length. */
/** @returns {any} a setting that is a number */
const dragged = ({ phase }) =>
  controls.find(({ id }) => id === (phase === 'prefill' ? 'context' : 'batch'));

/** The dots whose intensity that changes. */
function movable(state, dots) {
  const { id, max } = dragged(state);
  const [least, most] = [1, max].map(
    (value) => new Map(compute({ ...state, [id]: value }).ops.map((op) => [op.name, op.intensity])),
  );
  return dots.filter(({ ops: [{ name }] }) => most.get(name) >= 1.05 * least.get(name));
}

/**
 * The batch (of a prompt: its length) with which an op reaches an intensity, or nothing if none
 * moves it.
 */
export function along(state, name, intensity) {
  const { id, max } = dragged(state);
  const at = (value) =>
    compute({ ...state, [id]: value }).ops.find((op) => name.split(', ')[0] === op.name)
      ?.intensity ?? 0;
  if (at(max) < 1.05 * at(1)) return {};
  let [low, high] = [1, max];
  if (at(high) <= intensity) return { [id]: high };
  while (high - low > Math.max(1, low / 50)) {
    const middle =
      Math.round(Math.sqrt(low * high)) > low ? Math.round(Math.sqrt(low * high)) : low + 1;
    if (middle >= high) break;
    if (at(middle) > intensity) high = middle;
    else low = middle;
  }
  return { [id]: intensity / at(low) < at(high) / intensity ? low : high };
}

export function charts(state, { ops, rate, bandwidth, ridge: bend, time }) {
  const dots = together(ops).sort((a, b) => a.intensity - b.intensity);
  const reached = ({ intensity }) => attainable(intensity, rate, bandwidth);
  const [from, to] = [
    10 ** Math.floor(Math.log10(Math.min(0.5, ...dots.map((dot) => dot.intensity)))),
    10 ** Math.ceil(Math.log10(Math.max(bend * 10, ...dots.map((dot) => dot.intensity * 1.2)))),
  ];
  const places = [{ intensity: from }, ...dots, { intensity: bend }, { intensity: to }].sort(
    (a, b) => a.intensity - b.intensity,
  );
  const only = (memory) =>
    places.map((dot) => (dot.ops && dot.memory === memory ? reached(dot) : null));
  const slowest = dots.reduce((a, b) => (b.time > a.time ? b : a));
  const sizes = places.map((dot) => (dot.ops ? 3 + 15 * Math.sqrt(dot.time / time) : 0));
  const mobile = movable(state, dots);
  const held = mobile.reduce((a, b) => (!a || b.time > a.time ? b : a), null);
  return [
    {
      title:
        `${runs(state)}: a ${state.phase === 'prefill' ? 'prefill' : 'step'} takes ` +
        `${quantity(time, 's', 3)}, ${percent(slowest.time / time)} of it for ${brief(slowest)}`,
      alt:
        `${dots.length} groups of ops under the roofline of ${state.device}, the larger the ` +
        `slower; the ridge is at ${plain(bend)} FLOPs per byte.`,
      x: { label: 'FLOPs per byte', range: [from, to] },
      y: { label: 'FLOP/s' },
      xs: places.map((dot) => dot.intensity),
      names: places.map((dot) => (dot.ops ? brief(dot) : undefined)),
      details: places.map(
        (dot) =>
          dot.ops && [
            ...wrapped(dot.name, 200),
            `${quantity(dot.time, 's', 3)}, ${percent(dot.time / time)} of the step`,
            `${plain(dot.intensity, 3)} FLOPs per byte`,
            dot.memory ? 'memory binds' : 'arithmetic binds',
            ...(mobile.includes(dot)
              ? []
              : [`here at any ${state.phase === 'prefill' ? 'length' : 'batch'}`]),
          ],
      ),
      series: [
        { label: 'roof', unnamed: true, ink: true, dash: 0, ys: places.map(reached) },
        { label: 'memory bound', scatter: true, colour: 0, sizes, ys: only(true) },
        { label: 'compute bound', scatter: true, colour: 1, sizes, ys: only(false) },
      ],
      marks: [{ x: bend, label: `ridge ${plain(bend, 3)}` }],
      words: [
        { x: Math.sqrt(from * bend), label: 'memory binds' },
        { x: Math.sqrt(bend * to), label: 'arithmetic binds', low: true },
      ],
      at: held
        ? {
            x: held.intensity,
            name: held.name,
            label:
              state.phase === 'prefill'
                ? `${plain(state.context, 9)} tokens`
                : `batch ${plain(state.batch, 9)}`,
            unwritten: true,
          }
        : undefined,
      drag: held
        ? (x, _, name) =>
            along(state, dots.find((dot) => brief(dot) === name)?.name ?? held.name, x)
        : undefined,
      press: (way, far) => {
        const { id } = dragged(state);
        return {
          [id]: Math.max(
            1,
            way > 0 ? state[id] * (far ? 8 : 2) : Math.floor(state[id] / (far ? 8 : 2)),
          ),
        };
      },
    },
  ];
}

export function summary(state, result) {
  const [what, share] = binding(result);
  const { time, tokens, flops, bytes, link, message, unknown } = result;
  const words = [
    ['Time', `${quantity(time, 's')} a ${state.phase === 'prefill' ? 'prefill' : 'step'}`],
    [
      'Tokens',
      `${plain(tokens / time)} a second in total, ` +
        `${plain(tokens / time / state.batch)} for each sequence`,
    ],
    ['Limited by', `${what}, for ${percent(share)} of the time`],
    [
      'Work',
      `${quantity(flops, 'FLOP')} and ${quantity(bytes, 'B')} a device: ` +
        `${plain(flops / bytes)} FLOPs per byte`,
    ],
  ];
  if (message)
    words.push([
      'Between devices',
      unknown
        ? `${quantity(message, 'B')} sent by each; the catalogue has no rate for it, so it is ` +
          'not in the time'
        : `${quantity(message, 'B')} sent by each: ${quantity(link, 's')}`,
    ]);
  return words;
}

export function draw(explorer, _state, { ops, parts, link }) {
  explorer.extra ??= explorer.rest.appendChild(make('div', { class: 'explorer-panel' }));
  const slow = [...ops].sort((a, b) => b.time - a.time).slice(0, 8);
  const bar = (name, value, most) =>
    make(
      'div',
      { class: 'explorer-bar' },
      make('span', {}, name),
      make(
        'span',
        { class: 'explorer-bar-track', 'aria-hidden': 'true' },
        make('span', { class: 'explorer-bar-fill', style: `width:${(100 * value) / most}%` }),
      ),
      make('span', {}, quantity(value, 's', 3)),
    );
  const added = parts.reduce((total, part) => total + part, 0);
  explorer.extra.replaceChildren(
    make('p', { class: 'explorer-title' }, 'The slowest ops'),
    ...slow.map((op) => bar(op.name, op.time, slow[0].time)),
    ...(link ? [bar('between devices', link, Math.max(slow[0].time, link))] : []),
    make('p', { class: 'explorer-title' }, 'Four parts, added as if nothing overlapped'),
    ...parts.map((part, at) => bar(`${PARTS[at]}, ${percent(part / added)}`, part, added)),
  );
}

export const warning = (state) =>
  beyond(state.model, state.context, state.phase === 'decode' ? 1 : 0);

export const note = () =>
  'Each op takes as long as its computing or its moving, whichever is longer, at the peak rates ' +
  'of the datasheet, and messages are added. Scores stay on the chip, and only the last position ' +
  'is unembedded. A latent cache (MLA) is decoded in its absorbed form. Experts: the expected ' +
  'number whose weights are read.';

export function table(_state, { ops }) {
  return {
    columns: [
      'op',
      'work (FLOP)',
      'traffic (B)',
      'FLOPs per byte',
      'computing (s)',
      'moving (s)',
      'time (s)',
    ],
    rows: ops.map((op) => [
      op.name,
      op.flops,
      op.bytes,
      op.intensity,
      op.compute,
      op.memory,
      op.time,
    ]),
  };
}
