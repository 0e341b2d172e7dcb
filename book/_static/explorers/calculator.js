// What everybody asks who serves a model: costlib.answer in the page, each number with its sum.
import { copy, make } from './dom.js';
import { deviceNamed, modelChoices } from './models.js';
import { bytes as inBytes, plain, quantity, sweep } from './numbers.js';
import { held, longest, perMillion, precisionChoices, room, serverOf, servingDevices, sharedChoices, step, timed } from './server.js';

const whole = (id, label, unit, value, max) => ({ id, label, unit, type: 'number', min: 1, max, value, powers: true, more: true });

export const controls = [
  { id: 'model', label: 'Model', type: 'choice', options: modelChoices, value: 'llama-3.1-8b' },
  { id: 'device', label: 'Device', type: 'choice', options: servingDevices, value: 'H100-SXM' },
  { id: 'shared', label: 'Devices that share it', type: 'choice', value: '1', options: sharedChoices, more: true },
  { id: 'precision', label: 'Precision', type: 'choice', value: '16-bit', options: precisionChoices, more: true },
  { id: 'kv', label: 'Cache', type: 'choice', value: 'own', options: [['own', 'as usual with that'], ['2', '2 bytes'], ['1', '1 byte'], ['0.5', 'half a byte']], more: true },
  whole('batch', 'Batch', 'sequences', 8, 65536),
  whole('context', 'Context', 'tokens cached of each', 8192, 1048576),
  whole('prompt', 'Prompt', 'tokens', 2000, 1048576),
  { id: 'price', label: 'Price', unit: 'dollars a device hour', type: 'number', min: 0, max: 1000, value: 3.99, digits: 2, more: true },
  { id: 'watts', label: 'Power', unit: 'watts a device', type: 'number', min: 0, max: 100000, value: 700, linear: true, more: true },
];

export const tries = [
  { label: 'One reader', state: { batch: 1 }, say: 'A step reads all weights for a single token, and that token pays for it alone: five times what it costs among eight.' },
  { label: 'As many as fit', state: { batch: 57 }, say: 'Seven times as many readers share each read of the weights, but every one brings a cache: all get twice as much together, and each waits three times as long.' },
  { label: 'A device too small', state: { device: 'T4' }, say: 'The weights alone are larger than the memory given out. With int4 weights, under Precision, they fit.' },
  { label: '70 billion on four', state: { model: 'llama-3.1-70b', shared: '4' }, say: 'Each device holds a quarter of the weights and of the cache, and sends its share of every sum to the others.' },
];

const SHOWN = 64; // batches of the curve

/** What binds most of a pass, and its seconds in all. */
function spent({ ops, link }) {
  const found = { compute: 0, memory: 0, sending: link };
  for (const op of ops) found[op.compute >= op.memory ? 'compute' : 'memory'] += op.time;
  const [binds] = Object.entries(found).sort((a, b) => b[1] - a[1])[0];
  const sum = (of) => ops.reduce((all, op) => all + op[of], 0);
  return { binds, seconds: found.compute + found.memory + link, flops: sum('flops'), bytes: sum('bytes'), computing: sum('compute'), moving: sum('memory'), link };
}

export function compute(state) {
  const server = serverOf(state);
  const { model, shared, bytes } = server;
  const { batch, context, prompt } = state;
  const writes = spent(timed(server, { batch, cached: context, fresh: 1, latent: 'absorbed' }));
  const reads = spent(timed(server, { batch: 1, fresh: prompt }));
  const keeps = held(server, context + 1);
  const cache = batch * keeps.cache;
  const takes = keeps.weights + cache + batch * keeps.activations;
  const token = bytes.kv * model.per_layer * (model.global_layers + model.local_layers);
  const values = {
    params: model.params, weight_bytes: model.params * bytes.weights, token_cache_bytes: token,
    held_bytes: takes, given_bytes: server.device.capacity, fits: takes <= server.device.capacity,
    largest_batch: room(server, context + 1), largest_context: longest(server, batch),
    first_token_s: reads.seconds, first_token_bound: reads.binds, per_token_s: writes.seconds, per_token_bound: writes.binds,
    one_tokens_per_s: 1 / writes.seconds, all_tokens_per_s: batch / writes.seconds,
    dollars_per_million_read: perMillion(reads.seconds / prompt, state.price * shared), dollars_per_million_written: perMillion(writes.seconds / batch, state.price * shared),
    joules_per_million_read: (1e6 * reads.seconds * state.watts * shared) / prompt, joules_per_million_written: (1e6 * writes.seconds * state.watts * shared) / batch,
  };
  return { server, values, writes, reads, keeps, cache };
}

const money = (dollars) => `$${plain(dollars, 3)}`;
const gigabytes = (value) => plain(value / 1e9);

/** The sum of a pass, in words. */
function sum({ flops, bytes, computing, moving, link }) {
  const messages = link ? `, messages ${quantity(link, 's')}` : '';
  return `${quantity(flops, 'FLOP')} take ${quantity(computing, 's')}, ${inBytes(bytes)} take ${quantity(moving, 's')}${messages}; the longer of the two, op by op`;
}

/** Each line: what it says, the sum that made it, and the section that derives it. */
export function answers(state, { server, values, writes, reads, keeps, cache }) {
  const { batch, context, prompt } = state;
  const { model, shared, bytes, device } = server;
  const on = shared > 1 ? `, on each of ${shared} devices` : '';
  const layers = model.global_layers + model.local_layers;
  const fitsOrNot = values.fits ? 'Yes' : 'No';
  return [
    ['Does it fit?', `${fitsOrNot}: ${inBytes(values.held_bytes)} of ${inBytes(values.given_bytes)}`, `weights ${gigabytes(keeps.weights)} + cache ${gigabytes(cache)} + activations ${gigabytes(batch * keeps.activations)} GB${on}, of the memory less a tenth`, 'kvcache.html#what-fits'],
    ['How far?', `batch ${plain(values.largest_batch)}, or ${plain(values.largest_context)} tokens`, `(${gigabytes(device.capacity)} − ${gigabytes(keeps.weights)} GB) / ${gigabytes(keeps.cache + keeps.activations)} GB a sequence; or as many tokens of ${plain(batch)} as there is room for`, 'kvcache.html#what-fits'],
    ['First token', `after ${quantity(values.first_token_s, 's')}, ${values.first_token_bound} bound`, `${plain(prompt)} tokens of one prompt: ${sum(reads)}`, 'serving.html#one-step-four-limits'],
    ['Each token', `${quantity(values.per_token_s, 's')}, ${values.per_token_bound} bound`, `${plain(batch)} × ${plain(context)} tokens: ${sum(writes)}`, 'serving.html#one-step-four-limits'],
    ['Tokens a second', `${plain(values.one_tokens_per_s)} for one, ${plain(values.all_tokens_per_s)} for all`, `1 and ${plain(batch)} / ${quantity(values.per_token_s, 's')}`, 'serving.html#what-one-gives-up-all-get'],
    ['A million tokens', `${money(values.dollars_per_million_written)} to write, ${money(values.dollars_per_million_read)} to read`, `10⁶ × ${quantity(values.per_token_s / batch, 's')} written, × ${quantity(values.first_token_s / prompt, 's')} read, × $${plain(state.price)} an hour × ${shared}`, 'serving.html#what-a-million-tokens-cost'],
    ['Energy of these', `${quantity(values.joules_per_million_written, 'J', 3)} to write, ${quantity(values.joules_per_million_read, 'J', 3)} to read`, `the same seconds × ${plain(state.watts)} W × ${shared}`, 'serving.html#what-a-million-tokens-cost'],
    ['Weights', `${quantity(values.params, '', 4)} parameters, ${inBytes(values.weight_bytes)}`, `${plain(values.params, 16)} × ${plain(bytes.weights)} bytes`, 'transformer.html#to-the-last-parameter'],
    ['Cache of a token', inBytes(values.token_cache_bytes), `${plain(layers)} layers × ${plain(model.per_layer)} elements × ${plain(bytes.kv)} bytes${model.local_layers ? `; ${model.local_layers} of the layers keep ${plain(model.window)} tokens at most` : ''}`, 'kvcache.html#what-a-token-leaves-behind'],
  ];
}

/** What gives the same answers in a terminal. */
export function shell({ model, device, shared, precision, batch, context, prompt, price, watts }) {
  const on = Number(shared) > 1 ? `${device}x${shared}` : device;
  const recipe = precision === '16-bit' ? 'bf16' : precision;
  return `costlib ${model} --on ${on} --precision ${recipe} --batch ${batch} --context ${context} --prompt ${prompt} --price ${price} --watts ${watts}`;
}

/** Whether the command can say it: a cache in bytes of its own it cannot. */
const canBeTyped = ({ kv, device, precision }) => kv === 'own' && (precision !== '16-bit' || 'bf16' in deviceNamed(device).flops_per_s);

export function build(explorer) {
  explorer.lines = explorer.stage.appendChild(make('div', { class: 'calculator' }));
  explorer.typed = make('code');
  const button = make('button', { type: 'button', '.onclick': () => copy(explorer.typed.textContent).then(() => explorer.say('The line is copied.')) }, 'Copy the line');
  explorer.terminal = make('div', { class: 'explorer-panel' }, make('p', { class: 'explorer-title' }, 'The same in a terminal'), make('pre', { tabindex: '0' }, explorer.typed), make('div', { class: 'explorer-buttons' }, button));
  explorer.rest.append(explorer.terminal);
}

/** Lines are made once: what is open stays open while a setting moves. */
function fill(explorer, state) {
  const lines = answers(state, explorer.result);
  explorer.rows ??= lines.map(([name]) => {
    const [value, why, link] = [make('span', { class: 'calculator-value' }), make('span'), make('a', {}, 'where this is derived')];
    explorer.lines.append(make('details', {}, make('summary', {}, make('span', { class: 'calculator-name' }, name), value), make('p', {}, why, ' · ', link)));
    return { value, why, link };
  });
  lines.forEach(([, text, sums, where], at) => {
    const row = explorer.rows[at];
    row.value.textContent = text;
    row.why.textContent = `= ${sums}`;
    row.link.href = where;
  });
}

export function draw(explorer, state) {
  fill(explorer, state);
  const { values } = explorer.result;
  explorer.lines.classList.toggle('calculator-too-large', !values.fits);
  explorer.rest.classList.toggle('calculator-no-room', !values.largest_batch);
  explorer.terminal.hidden = !canBeTyped(state);
  const words = shell(state).split(' ');
  explorer.typed.replaceChildren(...words.flatMap((word, at) => [at ? ' ' : '', make('span', { class: 'calculator-word' }, word)]));
}

/** Every batch that fits: what one gets against what all get, and the one that is chosen. */
export function charts(state, { server, values: { largest_batch: most } }) {
  if (!most) return [];
  const chosen = Math.min(state.batch, most);
  const points = sweep(1, most, SHOWN, [chosen]).map((batch) => ({ batch, seconds: step(server, batch, state.context) })).reverse();
  const all = points.map(({ batch, seconds }) => batch / seconds);
  return [{
    below: true,
    title: `Batch ${plain(chosen)}, of ${plain(most)} that fit`,
    alt: `From ${plain(1 / points.at(-1).seconds)} tokens a second for one alone to ${plain(all[0])} for ${plain(most)} together.`,
    x: { label: 'tokens a second for one', fives: true }, y: { label: 'tokens a second for all', fives: true },
    xs: points.map(({ seconds }) => 1 / seconds), names: points.map(({ batch }) => `batch ${plain(batch)}`),
    series: [{ label: 'every batch that fits', dash: 0, ys: all }],
    at: { x: 1 / points.find(({ batch }) => batch === chosen).seconds, label: `batch ${plain(chosen)}` },
    drag: (x) => ({ batch: points.reduce((best, point) => (Math.abs(Math.log(x * point.seconds)) < Math.abs(Math.log(x * best.seconds)) ? point : best)).batch }),
  }];
}

export function summary({ model, device, shared, batch, context }, { values }) {
  const on = Number(shared) > 1 ? `${shared} × ${device}` : device;
  const of = `of ${plain(context)} ${context > 1 ? 'tokens' : 'token'}`;
  const asked = batch > 1 ? `${plain(batch)} sequences ${of}` : `one sequence ${of}`;
  return [['In a word', values.fits ? `${model} on ${on} writes ${plain(values.one_tokens_per_s)} tokens a second for ${batch > 1 ? 'each of ' : ''}${asked}; ${values.per_token_bound} binds a step` : `${model} with ${asked} does not fit ${on}`]];
}

export const note = () => 'Rates are a datasheet’s and overlap perfectly: published servers reach about half. A tenth of the memory is kept back. Prompts that are read in between are left out.';

export function table(state, { values }) {
  return { columns: ['answer', 'value'], rows: Object.entries(values).map(([name, value]) => [name, typeof value === 'boolean' ? String(value) : value]) };
}
