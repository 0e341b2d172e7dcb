// Speculative decoding: what several new tokens a step do to the intensity.
import { attainable, decode_corrected, decode_published, ridge } from './generated/formulas.js';
import { deviceChoices, deviceNamed, ledger, modelChoices, modelNamed, sixteenBit, totals } from './models.js';
import { plain, quantity, sweep } from './numbers.js';

export const controls = [
  { id: 'fresh', label: 'New tokens a step', unit: 'tokens', type: 'number', min: 1, max: 4096, value: 8, powers: true },
  { id: 'cached', label: 'Cached', unit: 'tokens', type: 'number', min: 1, max: 1048576, value: 1024, powers: true },
  { id: 'model', label: 'Model', type: 'choice', options: modelChoices, value: 'llama-2-7b', more: true },
  { id: 'device', label: 'Device', type: 'choice', options: deviceChoices, value: 'A100-80GB', more: true },
  { id: 'batch', label: 'Batch', unit: 'sequences', type: 'number', min: 1, max: 4096, value: 1, powers: true, more: true },
];

export const tries = [
  { label: 'A short cache', state: { model: 'llama-2-7b', batch: 1, cached: 1024, fresh: 8 }, say: 'Three lines in one: weights are nearly all that is read, and each new token shares them. The ridge is some 180 tokens away.' },
  { label: 'A long cache', state: { model: 'llama-2-7b', batch: 1, cached: 131072, fresh: 8 }, say: 'The cache is most of the traffic now. The published line counts only one of keys and values, so it promises the ridge at 90 tokens; counted, it takes 156.' },
  { label: 'A batch instead', state: { model: 'llama-2-7b', batch: 32, cached: 1024, fresh: 8 }, say: 'Thirty-two sequences share the weights too: thirteen new tokens each reach the ridge, where one sequence needs 180.' },
  { label: 'Shared heads', state: { model: 'llama-3-8b', batch: 1, cached: 131072, fresh: 8 }, say: 'Four query heads read each KV head: the counted line now lies above both formulas, which know nothing of shared heads, and reaches the ridge at 61 tokens.' },
];

const NAMES = ['as published', 'its slips corrected', 'every op counted'];
const MOST = 2 ** 20;

/** FLOPs and bytes, three ways, with so many new tokens. */
export function at(state, fresh) {
  const model = modelNamed(state.model);
  const sizes = [state.batch, fresh, state.cached, model.d_model, model.layers, model.params / 1e9];
  const counted = totals(ledger(model, { batch: state.batch, cached: state.cached, fresh, latent: 'absorbed' }));
  const costs = [decode_published(...sizes), decode_corrected(...sizes), counted];
  return { fresh, costs, intensity: costs.map(([flops, bytes]) => flops / bytes) };
}

/** The fewest new tokens that reach the ridge, by halving; null where a million do not. */
export function crossing(state, which, bend) {
  if (at(state, MOST).intensity[which] < bend) return null;
  let [low, high] = [0, MOST];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (at(state, middle).intensity[which] >= bend) high = middle; else low = middle;
  }
  return high;
}

export function compute(state) {
  const device = deviceNamed(state.device);
  const bend = ridge(sixteenBit(device), device.bytes_per_s);
  const points = sweep(1, 4096, 48, [state.fresh]).map((fresh) => at(state, fresh));
  return { points, here: at(state, state.fresh), ridge: bend, crossings: NAMES.map((_, which) => crossing(state, which, bend)),
    rate: sixteenBit(device), bandwidth: device.bytes_per_s };
}

export function charts(state, { points, ridge: bend, crossings, here }) {
  const marks = [{ x: state.fresh, label: `${plain(state.fresh)} new` }, { y: bend, label: `ridge ${plain(bend)}` }];
  if (crossings[2] && crossings[2] <= 4096) marks.push({ x: crossings[2], label: `reached at ${plain(crossings[2])}` });
  return [{ title: 'Arithmetic intensity of one step', alt: `Counted ${plain(here.intensity[2])} FLOPs per byte at ${plain(state.fresh)} new tokens; the ridge is at ${plain(bend)}.`,
    x: { label: 'new tokens a step' }, y: { label: 'FLOPs per byte' }, xs: points.map(({ fresh }) => fresh),
    series: NAMES.map((label, which) => ({ label, ys: points.map(({ intensity }) => intensity[which]) })), marks }];
}

export function summary(state, { here, crossings, rate, bandwidth, ridge: bend }) {
  return [
    ...NAMES.map((name, which) => [name[0].toUpperCase() + name.slice(1), `${plain(here.intensity[which])} FLOPs per byte; ridge reached ${crossings[which] ? `from ${plain(crossings[which])} new tokens on` : 'never'}`]),
    ['Attainable', `${quantity(attainable(here.intensity[2], rate, bandwidth), 'FLOP/s')} (${here.intensity[2] >= bend ? 'compute' : 'memory'} binds)`],
  ];
}

export const note = () => 'The slips corrected: both K and V are read, and the new tokens attend to one another. Every op counted: the model’s own sizes, KV heads, norms and logits; scores stay on the chip. How many of the new tokens are accepted is another question.';

export function table(state, { points }) {
  return { columns: ['new tokens', ...NAMES.flatMap((name) => [`FLOPs ${name}`, `bytes ${name}`, `FLOPs per byte ${name}`])],
    rows: points.map((p) => [p.fresh, ...p.costs.flatMap((cost, which) => [...cost, p.intensity[which]])]) };
}
