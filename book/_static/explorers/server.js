// A server as costlib.serving has it: seconds of its passes, and what fits beside its weights.
import { precisions } from './generated/catalogue.js';
import { fits, fits_window, op_time, sent } from './generated/formulas.js';
import { deviceChoices, deviceNamed, flat, ledger, modelNamed, moved } from './models.js';

const FAR = 2 ** 24; // sequences: so many that whatever can be computed faster than read, is
const MILLION = 1e6;
const HOUR = 3600;

/** Devices that say how much memory they have. */
export const servingDevices = deviceChoices.filter(([name]) => deviceNamed(name).capacity);

const WORDS = {
  '16-bit': '16 bits',
  fp8: 'fp8',
  int8: 'int8',
  int4: 'int4 weights',
  mxfp4: 'mxfp4 weights',
  nvfp4: 'nvfp4',
};

/** Precisions whose arithmetic a device has. */
export const precisionChoices = ({ device }) =>
  Object.entries(precisions)
    .filter(([, { compute }]) => !compute || deviceNamed(device).flops_per_s[compute])
    .map(([name]) => [name, WORDS[name]]);

/** How many devices can share a model: one, where nothing links them. */
export const sharedChoices = ({ model, device }) =>
  (deviceNamed(device).interconnect ? Object.keys(modelNamed(model).shares) : ['1']).map((n) => [
    n,
    n,
  ]);

export function serverOf({
  model: name,
  device: on,
  precision: recipe = '16-bit',
  kv = 'own',
  shared: among = '1',
}) {
  const [model, device, shared] = [modelNamed(name), deviceNamed(on), Number(among)];
  const { compute, ...own } = precisions[recipe];
  const bytes = kv === 'own' ? own : { ...own, kv: Number(kv) };
  return {
    model,
    device,
    shared,
    bytes,
    rate: device.flops_per_s[compute ?? device.sixteen_bits],
    bandwidth: device.bytes_per_s,
  };
}

/**
 * Every op of a pass with its seconds; experts' weights as another one reads them, if it is given.
 */
export function timed(server, pass, all = null) {
  const { model, shared, bytes, rate, bandwidth } = server;
  const ops = ledger(model, { shared, ...pass }).map((op, at) => {
    const read = all && op.name.startsWith('experts.') ? { ...op, weights: all[at].weights } : op;
    const total = moved(read, bytes);
    return {
      ...read,
      bytes: total,
      compute: read.flops / rate,
      memory: total / bandwidth,
      time: op_time(read.flops, total, rate, bandwidth),
    };
  });
  return { ops, link: linked(server, pass) };
}

/** Seconds of the messages of a pass. */
export function linked({ model, device, shared, bytes }, { batch, fresh }) {
  const message =
    bytes.activations * sent(batch, fresh, model.d_model, model.layers, model.reduces, shared);
  return message ? message / device.interconnect : 0;
}

/**
 * Seconds of those ops of a pass that are asked for, one after another, and nothing else about
 * them.
 */
export function spent({ model, shared, bytes, rate, bandwidth }, pass, which = (_name) => true) {
  const [names, values] = flat(model, { shared, ...pass });
  let seconds = 0;
  for (let at = 0; at < names.length; at += 1) {
    if (!which(names[at])) continue;
    const [of, each] = [5 * at, bytes];
    const moves =
      values[of + 1] * each.weights +
      values[of + 2] * each.activations +
      values[of + 3] * each.kv +
      values[of + 4] * each.scores;
    seconds += op_time(values[of], moves, rate, bandwidth);
  }
  return seconds;
}

const total = ({ ops, link }) => ops.reduce((sum, op) => sum + op.time, 0) + link;
const decode = (batch, cached) => ({ batch, cached, fresh: 1, latent: 'absorbed' });

/** Seconds of a decode step of so many sequences, each with so many tokens cached. */
export const step = (server, batch, context) =>
  spent(server, decode(batch, context)) + linked(server, decode(batch, context));
/** Seconds until a prompt is read and its first token written. */
export const prefill = (server, prompt) => total(timed(server, { batch: 1, fresh: prompt }));

/** Where the time of a step goes, in parts that add up to it. */
export function partsOf(server, batch, context) {
  const { ops, link } = timed(server, decode(batch, context));
  const found = { weights: 0, caches: 0, activations: 0, arithmetic: 0, messages: link };
  for (const op of ops) {
    if (op.compute >= op.memory) {
      found.arithmetic += op.compute;
      continue;
    }
    found.weights += (op.weights * server.bytes.weights) / server.bandwidth;
    found.caches += (op.kv * server.bytes.kv) / server.bandwidth;
    found.activations +=
      (op.activations * server.bytes.activations + op.scores * server.bytes.scores) /
      server.bandwidth;
  }
  return found;
}

/** What one device holds: bytes of weights, of a sequence's cache, and of its activations. */
export function held({ model, shared, bytes }, context) {
  const [params, each, widest] = model.held[shared];
  const local = model.window ? model.local_layers * Math.min(context, model.window) : 0;
  return {
    weights: bytes.weights * params,
    cache: bytes.kv * each * (model.global_layers * context + local),
    activations: bytes.activations * (model.d_model + widest),
  };
}

/** Sequences of so many tokens that fit beside the weights. */
export function room({ model, device, shared, bytes }, context) {
  const [params, each, widest] = model.held[shared];
  const given = [bytes.weights, bytes.activations, bytes.kv];
  const { window, global_layers: wide, local_layers: local, d_model: width } = model;
  /** @type {Formula} */
  const fit = window && local ? fits_window : fits;
  const layers = window && local ? [wide, local, window] : [wide];
  return fit(1, context, device.capacity, [params, each, ...layers, width, widest], given)[0];
}

/** The step's two straight lines in the batch, and the batches at which they bend. */
export function regimes(server, context) {
  const all = ledger(server.model, { shared: server.shared, ...decode(FAR, context) });
  const few = [1, 2].map((batch) => total(timed(server, decode(batch, context), all)));
  const many = [FAR, 2 * FAR].map((batch) => step(server, batch, context));
  const [reading, computing] = [few[1] - few[0], (many[1] - many[0]) / FAR];
  const left = Math.max(0, many[0] - FAR * computing);
  const [weights, rest] = [few[0] - reading, left < 1e-9 * many[0] ? 0 : left];
  return {
    weights,
    reading,
    rest,
    computing,
    capacity: room(server, context + 1),
    even: weights / reading,
    bend:
      computing > reading && rest < weights / 2
        ? (weights - rest) / (computing - reading)
        : Infinity,
    most: 1 / Math.max(reading, computing),
  };
}

/** The largest batch whose step takes at most so many seconds, or none. */
export function bestBatch(server, context, perToken) {
  const most = room(server, context + 1);
  let [low, high] = [0, most + 1];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (step(server, middle, context) <= perToken) low = middle;
    else high = middle;
  }
  if (!low) return null;
  const seconds = step(server, low, context);
  return {
    batch: low,
    perToken: seconds,
    throughput: low / seconds,
    limit: low === most ? 'memory' : 'latency',
  };
}

/** Dollars for a million tokens that take so many seconds each. */
export const perMillion = (seconds, perHour, used = 1) =>
  (seconds * MILLION * perHour) / HOUR / used;
