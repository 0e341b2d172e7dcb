// Prefill intensity: as the notes publish it, and with every op of the model counted.
import { attainable, prefill_published, ridge } from './generated/formulas.js';
import {
  beyond,
  deviceChoices,
  deviceNamed,
  ledger,
  modelChoices,
  modelNamed,
  runs,
  sixteenBit,
  totals,
} from './models.js';
import { counted, percent, plain, quantity, sweep } from './numbers.js';

/** @type {Control[]} */
export const controls = [
  {
    id: 'seq',
    label: 'Sequence',
    unit: 'tokens',
    type: 'number',
    min: 1,
    max: 1048576,
    value: 1024,
    powers: true,
  },
  {
    id: 'batch',
    label: 'Batch',
    unit: 'sequences',
    type: 'number',
    min: 1,
    max: 4096,
    value: 1,
    powers: true,
  },
  {
    id: 'model',
    label: 'Model',
    type: 'choice',
    options: modelChoices,
    value: 'llama-2-7b',
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
    id: 'scores',
    label: 'Scores',
    type: 'choice',
    options: [
      ['onchip', 'stay on the chip'],
      ['materialised', 'written to memory'],
    ],
    value: 'onchip',
    more: true,
  },
];

/** @type {Suggestion[]} */
export const tries = [
  {
    label: 'A long prompt',
    state: { seq: 131072 },
    say:
      'The published curve climbs on and on; the counted one bends. Norms, residuals and ' +
      'activations move bytes for every token, so weights are soon not all that is read.',
  },
  {
    label: 'Scores in memory',
    state: { seq: 131072, scores: 'materialised' },
    say:
      'At this length reading and writing scores is nearly all the traffic, and memory binds ' +
      'again. To keep them on the chip is what FlashAttention is for.',
  },
  {
    label: 'A batch of short prompts',
    state: { seq: 32, batch: 32 },
    say:
      'As many tokens as in one prompt of 1,024, and nearly the same intensity: a pass does ' +
      'not ask whose tokens share its weights.',
  },
  {
    label: 'A mixture',
    state: { model: 'mixtral-8x7b' },
    say:
      'Now the published point lies below the counted one. It reads every expert, as the count ' +
      'does at this length, but multiplies as if the model had one dense feed-forward layer of ' +
      'its own width.',
  },
];

/** Both intensities and both rates at one sequence length. */
export function at(state, seq) {
  const model = modelNamed(state.model);
  const device = deviceNamed(state.device);
  const [rate, bandwidth] = [sixteenBit(device), device.bytes_per_s];
  const published = prefill_published(
    state.batch,
    seq,
    model.d_model,
    model.layers,
    model.params / 1e9,
  );
  const counted = totals(ledger(model, { batch: state.batch, fresh: seq, scores: state.scores }));
  const [one, other] = [published[0] / published[1], counted[0] / counted[1]];
  return {
    seq,
    published,
    counted,
    intensity: [one, other],
    attainable: [attainable(one, rate, bandwidth), attainable(other, rate, bandwidth)],
  };
}

/** The first sequence that reaches the ridge, between the two points where the curve passes it. */
export function crossing(state, points, bend) {
  const after = points.findIndex(({ intensity }) => intensity[1] >= bend);
  if (after < 1) return after ? null : 1;
  let [low, high] = [points[after - 1].seq, points[after].seq];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (at(state, middle).intensity[1] >= bend) high = middle;
    else low = middle;
  }
  return high;
}

export function compute(state) {
  const device = deviceNamed(state.device);
  const points = sweep(1, 1048576, 60, [state.seq]).map((seq) => at(state, seq));
  const bend = ridge(sixteenBit(device), device.bytes_per_s);
  return {
    points,
    here: at(state, state.seq),
    rate: sixteenBit(device),
    bandwidth: device.bytes_per_s,
    ridge: bend,
    crossing: crossing(state, points, bend),
  };
}

const move = (seq) => ({ seq: String(Math.max(1, Math.round(seq))) });

/** The prompt whose counted intensity is nearest to one: the curve rises up to its top. */
export function along(points, intensity) {
  const top = points.reduce(
    (best, point, at) => (point.intensity[1] > points[best].intensity[1] ? at : best),
    0,
  );
  const rising = points.slice(0, top + 1);
  const after = rising.findIndex((point) => point.intensity[1] >= intensity);
  if (after < 1) return (after ? rising.at(-1) : rising[0]).seq;
  const [low, high] = [rising[after - 1], rising[after]];
  const share =
    Math.log(intensity / low.intensity[1]) / Math.log(high.intensity[1] / low.intensity[1]);
  return low.seq * (high.seq / low.seq) ** share;
}

const NAMES = ['as published', 'every op counted'];

export function charts(state, { points, here, rate, bandwidth, ridge: bend, crossing: first }) {
  const top = points.reduce((best, point) =>
    point.intensity[1] > best.intensity[1] ? point : best,
  );
  const rings = [
    ...(first > 1
      ? [{ x: first, y: bend, label: `arithmetic binds from ${plain(first)} on` }]
      : []),
    ...(top.seq < points.at(-1).seq
      ? [{ x: top.seq, y: top.intensity[1], label: 'from here on it falls' }]
      : []),
  ];
  const [low, high] = [
    10 ** Math.floor(Math.log10(Math.min(0.9, here.intensity[1]))),
    10 **
      Math.ceil(
        Math.log10(
          Math.max(bend * 4, ...points.map(({ intensity }) => intensity[1]), here.intensity[0]),
        ),
      ),
  ];
  const roof = [...new Set([low, bend, high, ...here.intensity])].sort((a, b) => a - b);
  const dot = (which) => ({
    label: NAMES[which],
    scatter: true,
    colour: which,
    sizes: roof.map(() => 6),
    ys: roof.map((x) => (x === here.intensity[which] ? here.attainable[which] : null)),
  });
  const label = counted(state.seq, 'tokens');
  return [
    {
      title:
        here.intensity[1] >= bend
          ? `${runs(state)}: arithmetic limits a prefill of ${label}`
          : `${runs(state)}: memory limits a prefill of ${label}`,
      alt:
        `As published ${plain(here.intensity[0])}, counted ${plain(here.intensity[1])} FLOPs ` +
        `per byte; the ridge is at ${plain(bend)}.`,
      x: { label: 'tokens in the sequence' },
      y: { label: 'FLOPs per byte' },
      xs: points.map(({ seq }) => seq),
      series: NAMES.map((name, which) => ({
        label: name,
        ys: points.map(({ intensity }) => intensity[which]),
      })),
      marks: [...rings, { y: bend, label: `ridge ${plain(bend, 3)}`, under: 'memory binds' }],
      at: { x: state.seq, label },
      drag: move,
    },
    {
      title: `At most ${quantity(here.attainable[1], 'FLOP/s', 3)} on ${state.device}`,
      alt: `Both points at ${label}, under the roof.`,
      x: { label: 'FLOPs per byte', range: [low, high] },
      y: { label: 'FLOP/s' },
      xs: roof,
      series: [
        {
          label: 'roof',
          unnamed: true,
          ink: true,
          dash: 0,
          ys: roof.map((x) => attainable(x, rate, bandwidth)),
        },
        dot(0),
        dot(1),
      ],
      marks: [{ x: bend, label: `ridge ${plain(bend, 3)}` }],
      words: [
        { x: Math.sqrt(low * bend), label: 'memory binds' },
        { x: Math.sqrt(bend * high), label: 'arithmetic binds', low: true },
      ],
      at: { x: here.intensity[1], label, unwritten: true },
      drag: (x) => move(along(points, x)),
      press: (way, far) => move(state.seq * (far ? 4 : 1.25) ** way + (way > 0 ? 0.5 : -0.5)),
    },
  ];
}

export function summary(_state, { here, ridge: bend, crossing: first, rate }) {
  return [
    [
      'Counted',
      `${quantity(here.counted[0], 'FLOP')} over ${quantity(here.counted[1], 'B')}: ` +
        `${plain(here.intensity[1])} FLOPs per byte`,
    ],
    [
      'Published',
      `${quantity(here.published[0], 'FLOP')} over ${quantity(here.published[1], 'B')}: ` +
        `${plain(here.intensity[0])} FLOPs per byte`,
    ],
    [
      'Limited by',
      here.intensity[1] >= bend
        ? 'arithmetic'
        : `memory, which allows ${percent(here.attainable[1] / rate)} of the peak at most`,
    ],
    [
      'Ridge',
      `${plain(bend)} FLOPs per byte, ` +
        `${first ? `reached from ${counted(first, 'tokens')} on` : 'never reached'}`,
    ],
  ];
}

export const warning = (state) => beyond(state.model, state.seq);

export const note = () =>
  'As published: one factor for every layer, scores that move nothing, all pairs counted. ' +
  'Every op counted: the model’s own sizes, pairs that the mask leaves, norms, softmax, ' +
  'embedding, and logits of the last position.';

export function table(_state, { points }) {
  return {
    columns: ['tokens', 'way', 'work (FLOP)', 'traffic (B)', 'FLOPs per byte', 'rate (FLOP/s)'],
    rows: points.flatMap(({ seq, published, counted: all, intensity, attainable: rates }) =>
      [published, all].map((costs, which) => [
        seq,
        NAMES[which],
        ...costs,
        intensity[which],
        rates[which],
      ]),
    ),
  };
}
