// One step of a model on a device: every op under the roofline, and where the time goes.
import { make } from './dom.js';
import { attainable, op_time, ridge, sent } from './generated/formulas.js';
import { deviceChoices, deviceNamed, ledger, modelChoices, modelNamed, moved } from './models.js';
import { percent, plain, quantity } from './numbers.js';

const BYTES = [['4', '4 bytes'], ['2', '2 bytes'], ['1', '1 byte'], ['0.5', 'half a byte']];

export const controls = [
  { id: 'batch', label: 'Batch', unit: 'sequences', type: 'number', min: 1, max: 4096, value: 1, powers: true },
  { id: 'context', label: 'Context', unit: 'tokens', type: 'number', min: 1, max: 1048576, value: 4096, powers: true },
  { id: 'model', label: 'Model', type: 'choice', options: modelChoices, value: 'llama-3-8b', more: true },
  { id: 'device', label: 'Device', type: 'choice', options: deviceChoices, value: 'A100-80GB', more: true },
  { id: 'dtype', label: 'Arithmetic', type: 'choice', value: 'bf16', options: ({ device }) => Object.keys(deviceNamed(device).flops_per_s).map((name) => [name, name]), more: true },
  { id: 'phase', label: 'Phase', type: 'choice', options: [['decode', 'decode'], ['prefill', 'prefill']], value: 'decode', more: true },
  { id: 'weights', label: 'Weights', type: 'choice', options: BYTES, value: '2', more: true },
  { id: 'kv', label: 'KV cache', type: 'choice', options: BYTES, value: '2', more: true },
  { id: 'shared', label: 'Devices that share it', type: 'choice', value: '1', options: ({ model }) => Object.keys(modelNamed(model).shares).map((n) => [n, n]), more: true },
];

export const tries = [
  { label: 'A batch of 256', state: { batch: 256 }, say: 'The products with weights have crossed the ridge. Attention stays where it was: each sequence brings a cache of its own, and memory still binds.' },
  { label: 'Weights in 1 byte', state: { weights: '1' }, say: 'Nearly half the time is gone, as weights are nearly all that is read. Now lengthen the context until halving the cache would help more.' },
  { label: 'The cache in 1 byte', state: { context: 131072, kv: '1' }, say: 'With 131,072 tokens a cache weighs more than these weights: halving it saves more than halving them would.' },
  { label: 'Eight devices', state: { batch: 64, shared: '8' }, say: 'The time falls by seven, not by eight: messages between devices come on top, and norms and residuals are done by each of them.' },
  { label: 'A prompt of 256', state: { phase: 'prefill', context: 256 }, say: 'All tokens share one read of the weights: the products are over the ridge already, and arithmetic binds.' },
];

const ATTENTION = ['q_absorb', 'v_absorb', 'kv_b_proj', 'scores', 'softmax', 'values'];
const PARTS = ['attention compute', 'attention memory', 'model compute', 'model memory'];

export function compute(state) {
  const [model, device] = [modelNamed(state.model), deviceNamed(state.device)];
  const [rate, bandwidth, shared] = [device.flops_per_s[state.dtype], device.bytes_per_s, Number(state.shared)];
  const precision = { weights: Number(state.weights), kv: Number(state.kv) };
  const pass = state.phase === 'prefill' ? { cached: 0, fresh: state.context, latent: 'naive' } : { cached: state.context, fresh: 1, latent: 'absorbed' };
  const ops = ledger(model, { batch: state.batch, shared, ...pass }).map((op) => {
    const bytes = moved(op, precision);
    const [compute, memory] = [op.flops / rate, bytes / bandwidth];
    return { name: op.name, flops: op.flops, bytes, compute, memory, time: op_time(op.flops, bytes, rate, bandwidth), intensity: bytes ? op.flops / bytes : 0 };
  });
  const sum = (of, which = () => true) => ops.filter(which).reduce((total, op) => total + op[of], 0);
  const isAttention = (op) => ATTENTION.includes(op.name);
  const parts = [sum('compute', isAttention), sum('memory', isAttention), sum('compute', (op) => !isAttention(op)), sum('memory', (op) => !isAttention(op))];
  const message = 2 * sent(state.batch, pass.fresh, model.d_model, model.layers, model.reduces, shared);
  const link = message && device.interconnect ? message / device.interconnect : 0;
  const time = sum('time') + link;
  const tokens = state.batch * (state.phase === 'prefill' ? state.context : 1);
  return { ops, parts, time, link, message, tokens, rate, bandwidth, ridge: ridge(rate, bandwidth), flops: sum('flops'), bytes: sum('bytes'),
    unknown: Boolean(message) && !device.interconnect };
}

/** What most of the time goes to. */
export function binding({ ops, link, time }) {
  const memory = ops.filter((op) => op.memory > op.compute).reduce((total, op) => total + op.time, 0);
  const shares = [['memory', memory / time], ['compute', (time - link - memory) / time], ['the link between devices', link / time]];
  return shares.sort((a, b) => b[1] - a[1])[0];
}

export function charts(state, { ops, rate, bandwidth, ridge: bend }) {
  const drawn = ops.filter((op) => op.flops && op.bytes).sort((a, b) => a.intensity - b.intensity);
  const reached = (op) => attainable(op.intensity, rate, bandwidth);
  const from = Math.min(0.5, ...drawn.map((op) => op.intensity)) / 2;
  const places = [{ intensity: from }, ...drawn, { intensity: bend, ridge: true }, { intensity: Math.max(bend * 10, ...drawn.map((op) => op.intensity)) }].sort((a, b) => a.intensity - b.intensity);
  const only = (test) => places.map((op) => (op.name && test(op) ? reached(op) : null));
  return [{ title: `Every op under the roofline of ${state.device}`, alt: `${drawn.length} ops; the ridge is at ${plain(bend)} FLOPs per byte.`,
    x: { label: 'FLOPs per byte' }, y: { label: 'FLOP/s' }, xs: places.map((op) => op.intensity), names: places.map((op) => op.name),
    series: [{ label: 'roof', ink: true, dash: 0, ys: places.map(reached) },
      { label: 'memory bound', scatter: true, colour: 0, ys: only((op) => op.memory > op.compute) },
      { label: 'compute bound', scatter: true, colour: 1, ys: only((op) => op.memory <= op.compute) }],
    marks: [{ x: bend, label: `ridge ${plain(bend)}` }] }];
}

export function summary(state, result) {
  const [what, share] = binding(result);
  const { time, tokens, flops, bytes, link, message, unknown } = result;
  const words = [
    ['Time', `${quantity(time, 's')} a ${state.phase === 'prefill' ? 'prompt pass' : 'step'}`],
    ['Tokens', `${plain(tokens / time)} a second; ${quantity(time / state.batch, 's')} for each sequence’s share`],
    ['Binds', `${what}, ${percent(share)} of the time`],
    ['Work', `${quantity(flops, 'FLOP')} and ${quantity(bytes, 'B')} a device: ${plain(flops / bytes)} FLOPs per byte`],
  ];
  if (message) words.push(['Between devices', unknown ? `${quantity(message, 'B')} sent by each; the catalogue has no rate for it, so it is not in the time` : `${quantity(message, 'B')} sent by each: ${quantity(link, 's')}`]);
  return words;
}

export function draw(explorer, state, { ops, parts, link }) {
  explorer.extra ??= explorer.rest.appendChild(make('div', { class: 'explorer-panel' }));
  const slow = [...ops].sort((a, b) => b.time - a.time).slice(0, 8);
  const bar = (name, value, most) => make('div', { class: 'explorer-bar' }, make('span', {}, name), make('span', { class: 'explorer-bar-track', 'aria-hidden': 'true' }, make('span', { class: 'explorer-bar-fill', style: `width:${(100 * value) / most}%` })), make('span', {}, quantity(value, 's', 3)));
  const added = parts.reduce((total, part) => total + part, 0);
  explorer.extra.replaceChildren(
    make('p', { class: 'explorer-title' }, 'Slowest ops: the larger of computing and moving'),
    ...slow.map((op) => bar(op.name, op.time, slow[0].time)),
    ...(link ? [bar('between devices', link, Math.max(slow[0].time, link))] : []),
    make('p', { class: 'explorer-title' }, 'Four parts, added as if nothing overlapped'),
    ...parts.map((part, at) => bar(`${PARTS[at]}, ${percent(part / added)}`, part, Math.max(...parts))));
}

export const note = () => 'Time is op by op the larger of computing and moving, at the peak rates of the datasheet; messages are added. Scores stay on the chip, and only the last position is unembedded. A latent cache (MLA) is decoded in its absorbed form. Experts: the expected number whose weights are read.';

export function table(state, { ops }) {
  return { columns: ['op', 'FLOPs', 'bytes', 'FLOPs per byte', 'compute s', 'memory s', 'time s'],
    rows: ops.map((op) => [op.name, op.flops, op.bytes, op.intensity, op.compute, op.memory, op.time]) };
}
