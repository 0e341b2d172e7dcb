// A model's ledger and a device's roof, from the generated formulas and nothing else.
import { devices, models } from './generated/catalogue.js';
import { ledgers, ops } from './generated/ledgers.js';
import { plain } from './numbers.js';

export const modelNamed = (name) => models.find((model) => model.name === name);
export const deviceNamed = (name) => devices.find((device) => device.name === name);
export const modelChoices = models.map(({ name }) => [name, name]);
export const deviceChoices = devices.map(({ name }) => [name, name]);

/**
 * Whose numbers these are: a model on a device, or on several that share it.
 * @param {State} state
 */
export const runs = ({ model, device, shared = '1' }) =>
  `${model} on ${shared === '1' ? '' : `${shared} × `}${device}`;

/**
 * What is to be said of so many tokens in a cache, and others that join them: that the model has
 * learned fewer positions, or was trained for a shorter context.
 * @param {string} name
 * @param {number} cached
 */
export function beyond(name, cached, fresh = 0) {
  const { trained, learned } = modelNamed(name);
  if (!trained || cached + (learned ? fresh : 0) <= trained) return '';
  return learned
    ? `${name} has learned ${plain(trained, 9)} positions: no pass can have more, and what is ` +
        'drawn here is arithmetic alone.'
    : `${name} was trained for ${plain(trained, 9)} tokens: costs beyond that are ` +
        'counted as usual, but its answers may be poor.';
}

/** The device's rate for 16-bit products: bf16, or else fp16; fp32 where it has neither. */
export function sixteenBit(device) {
  return device.flops_per_s.bf16 ?? device.flops_per_s.fp16 ?? device.flops_per_s.fp32;
}

/** The names of all ops, and five numbers of each in turn: FLOPs, and elements by kind. */
export function flat(
  model,
  { batch, cached = 0, fresh, scores = 'onchip', latent = 'naive', shared = 1 },
) {
  const form = `${model.family}_${scores}_${model.latent ? latent : 'naive'}`;
  return [ops[form], ledgers[form](batch, cached, fresh, model.shares[shared])];
}

/** Every op: its FLOPs and its elements by kind, on one of so many devices. */
export function ledger(model, pass) {
  const [names, values] = flat(model, pass);
  return names.map((name, at) => {
    const [flops, weights, activations, kv, written] = values.slice(5 * at, 5 * at + 5);
    return { name, flops, weights, activations, kv, scores: written };
  });
}

/** Bytes that an op moves, at so many bytes for each kind of element. */
export function moved(op, { weights = 2, activations = 2, kv = 2, scores = 2 } = {}) {
  return op.weights * weights + op.activations * activations + op.kv * kv + op.scores * scores;
}

/** FLOPs and bytes of all ops. */
export function totals(all, precision) {
  return [
    all.reduce((sum, op) => sum + op.flops, 0),
    all.reduce((sum, op) => sum + moved(op, precision), 0),
  ];
}
