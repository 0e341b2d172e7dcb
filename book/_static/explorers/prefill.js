// Prefill intensity: as the notes publish it, and with every op of the model counted.
import { attainable, prefill_published, ridge } from './generated/formulas.js';
import { deviceChoices, deviceNamed, ledger, modelChoices, modelNamed, sixteenBit, totals } from './models.js';
import { percent, plain, quantity, sweep } from './numbers.js';

export const controls = [
  { id: 'seq', label: 'Sequence', unit: 'tokens', type: 'number', min: 1, max: 1048576, value: 1024, powers: true },
  { id: 'batch', label: 'Batch', unit: 'sequences', type: 'number', min: 1, max: 4096, value: 1, powers: true },
  { id: 'model', label: 'Model', type: 'choice', options: modelChoices, value: 'llama-2-7b', more: true },
  { id: 'device', label: 'Device', type: 'choice', options: deviceChoices, value: 'A100-80GB', more: true },
  { id: 'scores', label: 'Scores', type: 'choice', options: [['onchip', 'stay on the chip'], ['materialised', 'written to memory']], value: 'onchip', more: true },
];

export const tries = [
  { label: 'A long prompt', state: { seq: 131072 }, say: 'The published curve climbs on and on; the counted one bends. Norms, residuals and activations move bytes for every token, so weights are soon not all that is read.' },
  { label: 'Scores in memory', state: { seq: 131072, scores: 'materialised' }, say: 'At this length reading and writing scores is nearly all the traffic, and memory binds again. To keep them on the chip is what FlashAttention is for.' },
  { label: 'A batch of short prompts', state: { seq: 32, batch: 32 }, say: 'As many tokens as in one prompt of 1,024, and nearly the same intensity: a pass does not ask whose tokens share its weights.' },
  { label: 'A mixture', state: { model: 'mixtral-8x7b' }, say: 'Now the published point lies below the counted one. It reads every expert, as the count does at this length, but multiplies as if the model had one dense feed-forward layer of its own width.' },
];

/** Both intensities and both rates at one sequence length. */
export function at(state, seq) {
  const model = modelNamed(state.model);
  const device = deviceNamed(state.device);
  const [rate, bandwidth] = [sixteenBit(device), device.bytes_per_s];
  const published = prefill_published(state.batch, seq, model.d_model, model.layers, model.params / 1e9);
  const counted = totals(ledger(model, { batch: state.batch, fresh: seq, scores: state.scores }));
  const [one, other] = [published[0] / published[1], counted[0] / counted[1]];
  return { seq, published, counted, intensity: [one, other],
    attainable: [attainable(one, rate, bandwidth), attainable(other, rate, bandwidth)] };
}

/** The first sequence that reaches the ridge, between the two points where the curve passes it. */
export function crossing(state, points, bend) {
  const after = points.findIndex(({ intensity }) => intensity[1] >= bend);
  if (after < 1) return after ? null : 1;
  let [low, high] = [points[after - 1].seq, points[after].seq];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (at(state, middle).intensity[1] >= bend) high = middle; else low = middle;
  }
  return high;
}

export function compute(state) {
  const device = deviceNamed(state.device);
  const points = sweep(1, 1048576, 60, [state.seq]).map((seq) => at(state, seq));
  const bend = ridge(sixteenBit(device), device.bytes_per_s);
  return { points, here: at(state, state.seq), rate: sixteenBit(device), bandwidth: device.bytes_per_s, ridge: bend,
    crossing: crossing(state, points, bend) };
}

export function charts(state, { points, here, rate, bandwidth, ridge: bend }) {
  const xs = points.map(({ seq }) => seq);
  const sequence = { label: 'tokens in the sequence' };
  const both = (of) => [0, 1].map((which) => ({ label: ['as published', 'every op counted'][which], ys: points.map((point) => point[of][which]) }));
  const chosen = { x: state.seq, label: `${plain(state.seq)} tokens` };
  const ends = [Math.min(0.5, ...here.intensity), bend, Math.max(bend * 10, ...here.intensity)];
  const roof = [...new Set([...ends, ...here.intensity])].sort((a, b) => a - b);
  return [
    { title: 'Arithmetic intensity', alt: `As published ${plain(here.intensity[0])}, counted ${plain(here.intensity[1])} FLOPs per byte at ${plain(state.seq)} tokens; the ridge is at ${plain(bend)}.`,
      x: sequence, y: { label: 'FLOPs per byte' }, xs, series: both('intensity'), marks: [chosen, { y: bend, label: `ridge ${plain(bend)}` }] },
    { title: 'Attainable rate', alt: `At most ${quantity(here.attainable[1], 'FLOP/s')} at ${plain(state.seq)} tokens.`,
      x: sequence, y: { label: 'FLOP/s' }, xs, series: both('attainable'), marks: [chosen, { y: rate, label: `peak ${quantity(rate, 'FLOP/s')}` }] },
    { title: `On the roofline of ${state.device}`, alt: `Both points at ${plain(state.seq)} tokens.`,
      x: { label: 'FLOPs per byte' }, y: { label: 'FLOP/s' }, xs: roof,
      series: [{ label: 'roof', ink: true, dash: 0, ys: roof.map((x) => attainable(x, rate, bandwidth)) },
        ...[0, 1].map((which) => ({ label: ['as published', 'every op counted'][which], scatter: true, colour: which, ys: roof.map((x) => (x === here.intensity[which] ? here.attainable[which] : null)) }))],
      marks: [{ x: bend, label: `ridge ${plain(bend)}` }] },
  ];
}

export function summary(state, { here, ridge: bend, crossing: first, rate }) {
  return [
    ['Counted', `${quantity(here.counted[0], 'FLOP')} over ${quantity(here.counted[1], 'B')}: ${plain(here.intensity[1])} FLOPs per byte`],
    ['Published', `${quantity(here.published[0], 'FLOP')} over ${quantity(here.published[1], 'B')}: ${plain(here.intensity[0])} FLOPs per byte`],
    ['Binds', here.intensity[1] >= bend ? 'compute' : `memory: ${percent(here.attainable[1] / rate)} of the peak at most`],
    ['Ridge', `${plain(bend)} FLOPs per byte, ${first ? `reached from ${plain(first)} tokens on` : 'never reached'}`],
  ];
}

export const note = () => 'As published: one factor for every layer, scores that move nothing, all pairs counted. Every op counted: the model’s own sizes, pairs that the mask leaves, norms, softmax, embedding, and logits of the last position.';

export function table(state, { points }) {
  return { columns: ['tokens', 'FLOPs published', 'bytes published', 'FLOPs per byte published', 'FLOP/s published', 'FLOPs counted', 'bytes counted', 'FLOPs per byte counted', 'FLOP/s counted'],
    rows: points.map((p) => [p.seq, ...p.published, p.intensity[0], p.attainable[0], ...p.counted, p.intensity[1], p.attainable[1]]) };
}
