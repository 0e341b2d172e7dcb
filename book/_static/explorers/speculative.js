// Speculative decoding: what several new tokens a step bring, and what they do to the intensity.
import {
  attainable,
  decode_corrected,
  decode_published,
  op_time,
  ridge,
} from './generated/formulas.js';
import { faster, tokens } from './generated/of_speculative.js';
import {
  beyond,
  deviceChoices,
  deviceNamed,
  ledger,
  modelChoices,
  modelNamed,
  moved,
  runs,
  sixteenBit,
  totals,
} from './models.js';
import { counted, percent, plain, quantity, sweep } from './numbers.js';

// What a check yields, and what that gains: printed by SymPy.
// costlib: tokens(accepted, drafts) = costlib.serving.expected_tokens(accepted, drafts)
// costlib: faster(accepted, drafts, draft, check) =
//   costlib.serving.speed_up(accepted, drafts, draft, check)

/** @type {Control[]} */
export const controls = [
  {
    id: 'accepted',
    label: 'Drafts accepted',
    unit: '%',
    type: 'number',
    min: 0,
    max: 99,
    value: 80,
    linear: true,
  },
  {
    id: 'batch',
    label: 'Batch',
    unit: 'sequences',
    type: 'number',
    min: 1,
    max: 4096,
    value: 16,
    powers: true,
  },
  {
    id: 'fresh',
    label: 'New tokens a step',
    unit: 'tokens',
    type: 'number',
    min: 1,
    max: 4096,
    value: 8,
    powers: true,
    more: true,
  },
  {
    id: 'draft',
    label: 'A draft takes',
    unit: '% of a step',
    type: 'number',
    min: 0,
    max: 100,
    value: 5,
    linear: true,
    more: true,
  },
  {
    id: 'cached',
    label: 'Cached',
    unit: 'tokens',
    type: 'number',
    min: 1,
    max: 1048576,
    value: 4096,
    powers: true,
    more: true,
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
];

/** @type {Suggestion[]} */
export const tries = [
  {
    label: 'Half accepted',
    state: { accepted: 50 },
    say:
      'Four new tokens are now the best, for 1.6 times the speed: a draft counts only if all ' +
      'before it were right. With 80% it was nine, and three times.',
  },
  {
    label: 'Short caches, a batch of 32',
    state: { batch: 32, cached: 1024 },
    say:
      'The check is no longer for nothing: arithmetic binds from 13 new tokens on, and five ' +
      'are the best.',
  },
  {
    label: 'A slow draft',
    state: { draft: 40 },
    say:
      'A draft that takes two fifths of a step leaves little to gain: three new tokens, 1.35 ' +
      'times.',
  },
  {
    label: 'One user',
    state: { batch: 1, cached: 1024 },
    say:
      'Weights are nearly all that is read, and each new token shares them. Below, three lines ' +
      'are one; the ridge is 180 tokens away.',
  },
  {
    label: 'A long cache',
    state: { batch: 1, cached: 131072 },
    say:
      'The cache is most of the traffic now. Below, the published line counts only keys or ' +
      'values, so it reaches the ridge at 90 tokens. Every op counted, it takes 156.',
  },
  {
    label: 'Shared heads',
    state: { model: 'llama-3-8b', batch: 1, cached: 131072 },
    say:
      'Four query heads read each KV head: below, the counted line now lies above both ' +
      'formulas, which know nothing of shared heads, and reaches the ridge at 61 tokens.',
  },
];

const NAMES = ['as published', 'published, corrected', 'every op counted'];
const MOST = 2 ** 20;

/** FLOPs and bytes, three ways, with so many new tokens. */
export function at(state, fresh) {
  const model = modelNamed(state.model);
  const sizes = [state.batch, fresh, state.cached, model.d_model, model.layers, model.params / 1e9];
  const counted = totals(
    ledger(model, { batch: state.batch, cached: state.cached, fresh, latent: 'absorbed' }),
  );
  const costs = [decode_published(...sizes), decode_corrected(...sizes), counted];
  return { fresh, costs, intensity: costs.map(([flops, bytes]) => flops / bytes) };
}

/** The fewest new tokens that reach the ridge, by halving; null where a million do not. */
export function crossing(state, which, bend) {
  if (at(state, MOST).intensity[which] < bend) return null;
  let [low, high] = [0, MOST];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (at(state, middle).intensity[which] >= bend) high = middle;
    else low = middle;
  }
  return high;
}

/** Seconds of a step with so many new tokens: op by op the larger of computing and moving. */
export function seconds(state, fresh) {
  const device = deviceNamed(state.device);
  return ledger(modelNamed(state.model), {
    batch: state.batch,
    cached: state.cached,
    fresh,
    latent: 'absorbed',
  }).reduce(
    (sum, op) => sum + op_time(op.flops, moved(op), sixteenBit(device), device.bytes_per_s),
    0,
  );
}

/** How many times faster than a token a step, where all but one of the new tokens are drafts. */
export function gain(state, fresh, alone = seconds(state, 1)) {
  const check = seconds(state, fresh) / alone;
  return {
    fresh,
    check,
    yields: tokens(state.accepted / 100, fresh - 1),
    faster: faster(state.accepted / 100, fresh - 1, state.draft / 100, check),
  };
}

export function compute(state) {
  const device = deviceNamed(state.device);
  const bend = ridge(sixteenBit(device), device.bytes_per_s);
  const points = sweep(1, 4096, 48, [state.fresh]).map((fresh) => at(state, fresh));
  const alone = seconds(state, 1);
  const gains = sweep(1, LONG, 40, [
    state.fresh,
    ...Array.from({ length: 16 }, (_, few) => few + 1),
  ]).map((fresh) => gain(state, fresh, alone));
  return {
    points,
    gains,
    here: at(state, state.fresh),
    gained: gain(state, state.fresh, alone),
    best: gains.reduce((a, b) => (b.faster > a.faster ? b : a)),
    ridge: bend,
    crossings: NAMES.map((_, which) => crossing(state, which, bend)),
    rate: sixteenBit(device),
    bandwidth: device.bytes_per_s,
  };
}

const LONG = 128; // new tokens that the speed-up is drawn up to

const times = (value) => `${plain(value, 3)} times`;
const most = ({ fresh, faster: gained }) =>
  fresh > 1
    ? `The best is ${counted(fresh, 'new tokens')} a step, ${times(gained)} as fast`
    : 'A draft gains nothing';
const yielded = ({ yields }) =>
  `A check yields ${counted(Number(yields.toPrecision(3)), 'tokens')} on average`;
const move = (fresh) => ({ fresh: String(Math.round(fresh)) });

export function charts(state, { points, gains, ridge: bend, crossings, gained, best }) {
  const top = Math.max(2, Math.ceil(1.15 * Math.max(...gains.map((each) => each.faster))));
  const within = crossings[2] && crossings[2] <= 4096;
  const reached = within
    ? [{ x: crossings[2], y: bend, label: `arithmetic binds from ${plain(crossings[2])} on` }]
    : [];
  const found =
    best.fresh > 1
      ? [
          {
            x: best.fresh,
            y: best.faster,
            label: `best: ${counted(best.fresh, 'new tokens')}, ${times(best.faster)}`,
          },
        ]
      : [];
  const chosen = { x: state.fresh, label: `${plain(state.fresh)} new` };
  return [
    {
      title:
        gained.faster >= 1
          ? `${runs(state)}: ${times(gained.faster).replace(/^1 times/, 'just')} as fast with ` +
            `${counted(state.fresh, 'new tokens')} a step`
          : `${runs(state)}: slower with ${counted(state.fresh, 'new tokens')} a step, ` +
            `${times(gained.faster)} the speed`,
      alt: `${state.accepted}% accepted. ${yielded(gained)}. ${most(best)}.`,
      x: { label: 'new tokens a step' },
      y: { label: 'times as fast as one token a step', linear: true, range: [0, top] },
      xs: gains.map(({ fresh }) => fresh),
      series: [{ label: 'speed-up', dash: 0, ys: gains.map((each) => each.faster) }],
      marks: [
        ...found,
        ...(within && crossings[2] <= LONG ? [{ x: crossings[2], label: 'arithmetic binds' }] : []),
        { y: 1, label: 'no gain' },
      ],
      at: state.fresh <= LONG ? chosen : { x: LONG, label: `${chosen.label}, beyond` },
      drag: move,
    },
    {
      title: 'Arithmetic intensity of one step',
      alt:
        `Counted ${plain(at(state, state.fresh).intensity[2])} FLOPs per byte at ` +
        `${counted(state.fresh, 'new tokens')}; the ridge is at ${plain(bend)}.`,
      x: { label: 'new tokens a step' },
      y: { label: 'FLOPs per byte' },
      xs: points.map(({ fresh }) => fresh),
      series: NAMES.map((label, which) => ({
        label,
        ys: points.map(({ intensity }) => intensity[which]),
      })),
      marks: [{ y: bend, label: `ridge ${plain(bend, 3)}`, under: 'memory binds' }, ...reached],
      at: chosen,
      drag: move,
    },
  ];
}

export function summary(_state, { here, crossings, rate, bandwidth, ridge: bend, gained, best }) {
  return [
    [
      'Speed-up',
      `${times(gained.faster)} as fast. ${yielded(gained)} and takes ` +
        `${times(gained.check).replace(/^1 times/, 'just')} as long as a plain step. ` +
        `${most(best)}.`,
    ],
    [
      'Attainable rate',
      `${quantity(attainable(here.intensity[2], rate, bandwidth), 'FLOP/s')}, ` +
        `${percent(attainable(here.intensity[2], rate, bandwidth) / rate)} of the peak (` +
        `limited by ${here.intensity[2] >= bend ? 'arithmetic' : 'memory'})`,
    ],
    ...NAMES.map((name, which) => [
      name[0].toUpperCase() + name.slice(1),
      `${plain(here.intensity[which])} FLOPs per byte; ridge reached ` +
        `${crossings[which] ? `from ${counted(crossings[which], 'new tokens')} on` : 'never'}`,
    ]),
  ];
}

export const warning = (state) => beyond(state.model, state.cached, state.fresh);

export const note = () =>
  'Published, corrected: both K and V are read, and the new tokens attend to one another. ' +
  'Every op counted: the model’s own sizes, KV heads, norms and logits; scores stay on the ' +
  'chip. A draft is accepted with the same chance at every place. The first draft that is ' +
  'rejected ends the step, and the model adds one token of its own to those that were accepted. ' +
  'Each op takes as long as its computing or its moving, whichever is longer.';

export function table(state, { points }) {
  return {
    columns: [
      'new tokens',
      'tokens a check',
      'check, in plain steps',
      'times as fast',
      'formula',
      'work (FLOP)',
      'traffic (B)',
      'FLOPs per byte',
    ],
    rows: points.flatMap(({ fresh, costs, intensity }) => {
      const { yields, check, faster: more } = gain(state, fresh);
      return NAMES.map((name, which) => [
        fresh,
        yields,
        check,
        more,
        name,
        ...costs[which],
        intensity[which],
      ]);
    }),
  };
}
