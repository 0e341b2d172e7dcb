// A training run's bill: days, money, energy, memory, failures, and the size that the FLOPs were
// best spent on.
import { fits, models, recipes, run, sixteen, states, trained } from './generated/budget.js';
import {
  best_besiroglu,
  best_hoffmann,
  failing,
  fewest,
  loss_besiroglu,
  loss_hoffmann,
} from './generated/of_budget.js';
import { deviceChoices, deviceNamed } from './models.js';
import { amount, counted, percent, plain, quantity, sweep } from './numbers.js';

// What costlib says of memory, of failures, and of what a budget buys: printed by SymPy.
// costlib: fewest(held, usable) = costlib.units.numbers.ceil_div(held, usable)
// costlib: failing(hours, devices, between, write, mean, work, restart) = [
//   costlib.training.likely_failures(hours, devices, between),
//   costlib.training.young(write, mean), costlib.training.goodput(work, write, mean, restart)]
// costlib: loss_besiroglu(params, tokens) = costlib.training.FITS["besiroglu"].loss(params, tokens)
// costlib: loss_hoffmann(params, tokens) = costlib.training.FITS["hoffmann"].loss(params, tokens)
// costlib: best_besiroglu(flops) = list(costlib.training.FITS["besiroglu"].best(flops))
// costlib: best_hoffmann(flops) = list(costlib.training.FITS["hoffmann"].best(flops))

const modelNamed = (name) => models.find((model) => model.name === name);
const LOSS = { besiroglu: loss_besiroglu, hoffmann: loss_hoffmann };
const BEST = { besiroglu: best_besiroglu, hoffmann: best_hoffmann };

/**
 * The format in which a recipe's products are computed on a device: 16 bits unless the recipe says
 * otherwise.
 */
export const format = (recipe, device) => recipes[recipe].compute ?? sixteen[device];
/** @param {State} state */
const offered = ({ device }) =>
  Object.keys(recipes).filter((name) => deviceNamed(device).flops_per_s[format(name, device)]);

/** @type {Control[]} */
export const controls = [
  {
    id: 'model',
    label: 'Model',
    type: 'choice',
    options: models.map(({ name }) => [name, name]),
    value: 'llama-3.1-8b',
  },
  {
    id: 'tokens',
    label: 'Tokens',
    unit: 'billions',
    type: 'number',
    min: 1,
    max: 1000000,
    value: 15000,
    powers: true,
  },
  {
    id: 'devices',
    label: 'Devices',
    type: 'number',
    min: 1,
    max: 1048576,
    value: 1024,
    powers: true,
    more: true,
  },
  {
    id: 'device',
    label: 'Device',
    type: 'choice',
    options: deviceChoices.filter(([name]) => deviceNamed(name).capacity),
    value: 'H100-SXM',
    more: true,
  },
  {
    id: 'mfu',
    label: 'Model FLOPs utilisation',
    unit: '%',
    type: 'number',
    min: 1,
    max: 100,
    value: 40,
    linear: true,
    more: true,
  },
  {
    id: 'recipe',
    label: 'Recipe',
    type: 'choice',
    options: (state) =>
      offered(state).map((name) => [
        name,
        recipes[name].note ? `${name}: ${recipes[name].note.replace("'", '’')}` : name,
      ]),
    value: 'bf16',
    more: true,
  },
  {
    id: 'seq',
    label: 'Sequence',
    unit: 'tokens',
    type: 'number',
    min: 1,
    max: 1048576,
    value: 8192,
    powers: true,
    more: true,
  },
  {
    id: 'price',
    label: 'Price of a device-hour',
    unit: 'dollars',
    type: 'number',
    min: 0,
    max: 100,
    digits: 2,
    value: 2,
    more: true,
  },
  {
    id: 'watts',
    label: 'Power of a device',
    unit: 'watts, the building’s share included',
    type: 'number',
    min: 1,
    max: 10000,
    value: 770,
    powers: true,
    more: true,
  },
  {
    id: 'between',
    label: 'A device fails once in',
    unit: 'hours',
    type: 'number',
    min: 100,
    max: 10000000,
    value: 50000,
    powers: true,
    more: true,
  },
  {
    id: 'storage',
    label: 'Checkpoints are written at',
    unit: 'GB/s',
    type: 'number',
    min: 1,
    max: 100000,
    value: 20,
    powers: true,
    more: true,
  },
  {
    id: 'restart',
    label: 'A restart takes',
    unit: 'minutes',
    type: 'number',
    min: 0,
    max: 1440,
    value: 10,
    more: true,
  },
  {
    id: 'fit',
    label: 'Fit of the loss',
    type: 'choice',
    options: Object.entries(fits),
    value: 'besiroglu',
    more: true,
  },
];

/** @type {Suggestion[]} */
export const tries = [
  {
    label: 'Best size, same FLOPs',
    state: { model: 'llama-3.1-70b', tokens: 1708 },
    say:
      'Llama 3.1 70B with the FLOPs that 8B had: near the bottom of the valley the loss is ' +
      'lower, for the same days. State takes nine times the memory.',
  },
  {
    label: 'Llama 2 7B as its card has it',
    state: {
      model: 'llama-2-7b',
      tokens: 2000,
      device: 'A100-80GB',
      mfu: 41,
      seq: 4096,
      watts: 400,
    },
    say: 'The card lists 184,320 hours of A100s. At 41% the count comes within a per cent or two.',
  },
  {
    label: 'Sixteen times the devices',
    state: { devices: 16384 },
    say:
      'A sixteenth of the days, if all went well, for the same device-hours. But something now ' +
      'fails every three hours: look at the second chart.',
  },
];

const DAY = 86400;
const inBytes = (value) => quantity(value, 'B', 3);
const DENSE = models.filter(({ active, params }) => active === params);

/** A model, with the tokens that a budget buys for it. */
const bought = (budget, { name, params }) => ({
  model: name,
  tokens: String(Math.round(budget / 6 / params / 1e9)),
});

/** The dense model nearest in size, with the tokens that the same budget buys for it. */
export function along(budget, size) {
  const off = ({ params }) => Math.abs(Math.log(params / size));
  return bought(
    budget,
    DENSE.reduce((best, each) => (off(each) < off(best) ? each : best)),
  );
}

/** The next larger dense model, or the next smaller one. */
function beside(budget, size, way) {
  const found = DENSE.filter(({ params }) => (params - size) * way > 0).sort(
    (a, b) => way * (a.params - b.params),
  )[0];
  return found ? bought(budget, found) : {};
}

/**
 * What a run of so many devices meets: failures, Young's interval, the share that is work, and days
 * with both.
 */
export function interrupted({ between, storage, restart }, days, devices, checkpoint) {
  const [write, mean] = [checkpoint / (storage * 1e9), (3600 * between) / devices];
  const work = failing(24 * days, devices, between, write, mean, 1, 0)[1];
  const [failures, , share] = failing(24 * days, devices, between, write, mean, work, 60 * restart);
  return { failures, write, mean, work, share, days: days / share };
}

export function compute(state) {
  const [model, device, tokens] = [
    modelNamed(state.model),
    deviceNamed(state.device),
    state.tokens * 1e9,
  ];
  const peak = device.flops_per_s[format(state.recipe, state.device)];
  const each = /** @type {Formula} */ (trained)(state.seq, model.step);
  /** @param {number} devices */
  const cost = (devices) =>
    run(each, tokens, peak, devices, state.mfu / 100, state.watts, state.price);
  const [flops, seconds, days, hours, energy, dollars, speed] = cost(state.devices);
  /** @type {Formula} */
  const kept = states[state.recipe];
  const [weights, gradients, optimizer, total, checkpoint] = kept(
    model.matrices,
    model.others,
    model.factors,
  );
  const [loss, budget] = [LOSS[state.fit], 6 * model.active * tokens];
  const [size, count] = BEST[state.fit](budget);
  const lost = interrupted(state, days, state.devices, checkpoint);
  const numbers = sweep(1, 1048576, 40, [state.devices]);
  const clean = numbers.map((many) => cost(many)[2]);
  const [low, high] = [
    Math.min(size / 20, model.active / 2),
    Math.max(size * 20, model.active * 2),
  ];
  const sizes = [
    ...new Set([
      ...Array.from({ length: 61 }, (_, at) => low * (high / low) ** (at / 60)),
      size,
      model.active,
    ]),
  ].sort((a, b) => a - b);
  return {
    each,
    flops,
    seconds,
    days,
    hours,
    energy,
    dollars,
    speed,
    peak,
    state: { weights, gradients, optimizer, total, checkpoint },
    usable: device.capacity,
    fewest: fewest(total, device.capacity),
    lost,
    budget,
    best: { size, count, loss: loss(size, count) },
    chosen: { size: model.active, count: tokens, loss: loss(model.active, tokens) },
    mixture: model.active !== model.params,
    sizes,
    valley: sizes.map((of) => loss(of, budget / 6 / of)),
    numbers,
    clean,
    failed: clean.map((spent, at) =>
      finite(interrupted(state, spent, numbers[at], checkpoint).days),
    ),
  };
}

const finite = (value) => (Number.isFinite(value) && value < 1e7 ? value : null);
const only = (values, at, value) => values.map((each) => (each === at ? value : null));
const money = (dollars) =>
  dollars >= 999500 ? `$${amount(dollars, 4)}` : `$${plain(Math.round(dollars))}`;
/** A span of seconds in the unit that suits it. */
export function span(seconds) {
  /** @type {[seconds: number, unit: string][]} */
  const units = [
    [DAY, 'days'],
    [3600, 'hours'],
    [60, 'minutes'],
  ];
  const [scale, unit] = units.find(([each]) => seconds >= each) ?? [1, 'seconds'];
  return `${plain(seconds / scale, seconds / scale < 1000 ? 3 : 4)} ${unit}`;
}

export function charts(state, r) {
  const { sizes, chosen, best, valley, numbers, clean, failed } = r;
  const most = Math.max(chosen.loss, Math.min(valley[0], valley.at(-1)));
  const room = 0.15 * (most - best.loss);
  const lasts = finite(r.lost.days) ? span(DAY * r.lost.days) : 'No end';
  return [
    {
      title: `Loss by size of the model, for a budget of ${plain(r.budget, 3)} FLOPs`,
      alt:
        `A valley: ${amount(chosen.size)} parameters reach ${plain(chosen.loss)}, the best ` +
        `size, ${amount(best.size)}, ${plain(best.loss)}.`,
      x: { label: 'parameters' },
      y: { label: 'loss', linear: true, digits: 4, range: [best.loss - room, most + room] },
      xs: sizes,
      series: [
        {
          label: 'valley',
          ys: valley.map((loss) => (loss < most + 0.8 * room ? loss : null)), // below the words
          colour: 0,
          dash: 0,
        },
        { label: state.model, scatter: true, colour: 1, ys: only(sizes, chosen.size, chosen.loss) },
        { label: 'best size', scatter: true, colour: 2, ys: only(sizes, best.size, best.loss) },
      ],
      marks: [{ x: best.size, label: `best: ${amount(best.size)}` }],
      at: { x: chosen.size, label: state.model },
      drag: (size) => along(r.budget, size),
      press: (way) => beside(r.budget, chosen.size, way),
    },
    {
      title: `${lasts} on ${counted(state.devices, 'devices')}`,
      beside: true,
      alt:
        `${counted(state.devices, 'devices')} take ${span(r.seconds)}, and ` +
        `${finite(r.lost.days) ? span(DAY * r.lost.days) : 'no end'} with failures.`,
      x: { label: 'devices' },
      y: { label: 'days' },
      xs: numbers,
      series: [
        { label: 'nothing fails', ys: clean, colour: 0, dash: 1 },
        { label: 'failures, checkpoints, restarts', ys: failed, colour: 1, dash: 0 },
      ],
      drag: (devices) => ({ devices: String(Math.round(devices)) }),
      at: { x: state.devices, label: counted(state.devices, 'devices') },
      marks: [
        ...(r.fewest > 1 ? [{ x: r.fewest, label: `${plain(r.fewest)} hold the state` }] : []),
      ],
    },
  ];
}

export function summary(state, r) {
  const { lost, best, chosen } = r;
  const held = inBytes(r.state.total);
  const divided =
    `${inBytes(r.state.total / state.devices)} of ${inBytes(r.usable)} on each if divided ` +
    'among all';
  const fits =
    state.devices < r.fewest
      ? `${held}: it takes ${counted(r.fewest, 'devices')} to hold it, more than there are`
      : `${held}: ${counted(r.fewest, 'devices')} could hold it; ${divided}`;
  return [
    [
      'Time',
      `${span(r.seconds)} if nothing fails, ` +
        `${finite(lost.days) ? span(DAY * lost.days) : 'never finished'} with failures; ` +
        `each device does ${plain(r.speed / state.devices)} tokens a second`,
    ],
    ['Cost', `${plain(Math.round(r.hours))} device-hours: ${money(r.dollars)}`],
    ['Energy', `${quantity(r.energy * 1000, 'Wh')}`],
    ['State', fits],
    [
      'Failures',
      `${plain(lost.failures, 3)} to expect, one in ${span(lost.mean)}; a checkpoint of ` +
        `${inBytes(r.state.checkpoint)} after each ${span(lost.work)} of work: ` +
        `${percent(lost.share)} of the time is work`,
    ],
    [
      'Best size for this budget',
      `${amount(best.size)} parameters and ${amount(best.count)} tokens, loss ` +
        `${plain(best.loss)}. This run has ${amount(chosen.size)} and ` +
        `${amount(chosen.count)}, and reaches ${plain(chosen.loss)}`,
    ],
  ];
}

export function note(state, r) {
  const mixture = r.mixture
    ? ' The fit knows no mixtures of experts: this one stands where its active parameters put ' +
      'it, which is too far up.'
    : '';
  return (
    `Days count ${quantity(r.each, 'FLOP')} a token, the ledger of a step without masked ` +
    `pairs, against ${quantity(r.peak, 'FLOP/s')}, the dense ` +
    `${format(state.recipe, state.device)} peak. The budget of the valley is 6PT, six FLOPs ` +
    'for each parameter and token, as in its fit. State is weights, gradients, master copy and ' +
    `moments: activations come on top.${mixture}`
  );
}

export function table(state, r) {
  const { lost, best, chosen } = r;
  const rows = [
    ['work of a token', 'FLOP', r.each],
    ['work of the run', 'FLOP', r.flops],
    ['if nothing fails', 'days', r.days],
    ['with failures', 'days', lost.days],
    ['device-hours', '', r.hours],
    ['energy', 'Wh', 1000 * r.energy],
    ['cost', '$', r.dollars],
    ['speed', 'tokens/s', r.speed],
    ...Object.entries(r.state).map(([name, value]) => [STATE[name] ?? name, 'B', value]),
    ['devices that can hold the state', '', r.fewest],
    ['state on each, divided among all', 'B', r.state.total / state.devices],
    ['failures to expect', '', lost.failures],
    ['writing a checkpoint', 's', lost.write],
    ['between failures', 'hours', lost.mean / 3600],
    ['between checkpoints', 'minutes', lost.work / 60],
    ['time that is work', 'share', lost.share],
    ['6 × parameters × tokens', 'FLOP', r.budget],
    ['parameters', '', chosen.size],
    ['loss', '', chosen.loss],
    ['best parameters', '', best.size],
    ['best tokens', '', best.count],
    ['best loss', '', best.loss],
  ];
  return { columns: ['quantity', 'unit', 'value'], rows };
}

const STATE = { total: 'state', checkpoint: 'a checkpoint' };
