// What the library answers, in the page: any model of its catalogue or any config.json, on any
// device. All of it is costlib itself, printed as JavaScript by `make sync`.

import {
  answer as asked,
  devices as devicesByName,
  ENGINES,
  FAMILIES,
  fleets as fleetsOf,
  FORMATS,
  layer_by_layer,
  limits,
  models as modelsByName,
  nodes as nodesByName,
  parsed,
  precision_of,
  RECIPES,
  Server,
  Transformer,
} from './generated/costlib.js';
import { devices as figures, models as entries, prices } from './generated/entries.js';
import { warned } from './python.js';
import { call, Dict } from './python_values.js';

/** Parameters of a model of the catalogue. */
export const sizeOf = (name) => entries[name].params;
/** Engines that say what they take on, by the names that they are asked by. */
export const engines = [...ENGINES];

/** Names of families, as a config's model_type has them. */
export const families = [...FAMILIES.keys()];

/** Names of the catalogue. */
export const models = [...modelsByName];
export const devices = [...devicesByName];
export const nodes = [...nodesByName];
/** Devices whose memory is known: a server can stand on them. */
export const hosts = devices.filter((name) => figures[name].capacity);
/** What a device rents for and may draw, by its name or its node's; null where nobody lists it. */
export const listed = (name) => prices[name];
/** Formats of elements, with their bytes, and recipes: a format for each kind of tensor. */
export const formats = Object.fromEntries(FORMATS.items());
export const recipes = [...RECIPES];

/** A model of the catalogue. Errors are the library's. */
export const modelOf = (name) => modelsByName.__getitem__(name);

/** The model that a config.json's text describes. */
export const modelIn = (text) => Transformer.from_hf(parsed(text));

/** What is said by name, as Python has it. */
const named = (options) =>
  new Dict(Object.entries(options).filter(([, value]) => value !== undefined));

/** A precision: of a recipe's name, or for null 16 bits; a model's own is `model.precision`. */
export const precisionOf = (name = null) => precision_of(name);

/** Another one of it: bytes or formats of weights, activations, kv, scores; and compute. */
export const changed = (precision, options) => precision.with_(named(options));

/**
 * `costlib.answer`: its rows in order, the seconds of a step for any batch, what lies in the
 * memory of the fullest device and what an engine charges for it, and how many devices there are;
 * options have the names that they have in Python.
 */
export function answer(model, device, options = {}) {
  warned(); // whatever was computed before
  const found = call(asked, [model, device], named(options));
  const { rows, server, context } = found;
  const shown = rows.map(({ key, name, value, unit, why, where }, at) => ({
    key,
    name,
    value,
    unit,
    why,
    where,
    shown: rows[at].shown,
  }));
  return {
    rows: shown,
    fits: shown.find(({ key }) => key === 'fits').value,
    warnings: warned(),
    step: (batch) => server.step(batch, context, 1, 'ignore'), // its batches fit
    devices: server.devices,
    held: (batch) => {
      const [, { weights, kv, activations }] = server.fullest(batch, context);
      const { capacity, usable } = server.device;
      return { weights, kv, activations, capacity, usable };
    },
    charged: () => found.charged,
  };
}

/** A server, its step and what its fullest device holds, one by one. */
export function* served(model, device, batch, context, options = {}) {
  const server = call(Server, [model, device], named(options));
  yield;
  yield server.step(batch, context, 1, 'ignore');
  yield server.fullest(batch, context);
}

/**
 * `costlib.serving.fleets`: the fewest devices so far that serve so many users, after each plan
 * that is tried; the last is the answer, null where none is known yet.
 */
export function* fleets(model, device, options = {}) {
  for (const fleet of call(fleetsOf, [model, device], named(options)))
    yield fleet && {
      devices: fleet.devices,
      plan: Object.fromEntries(fleet.server.plan.items()),
      node: fleet.server.place.node?.name ?? null,
      nodes: fleet.server.place.nodes ?? null,
      batch: fleet.batch,
      perToken: fleet.tpot,
      firstToken: fleet.ttft,
      inputSeconds: fleet.input_seconds,
      outputSeconds: fleet.output_seconds,
      limit: fleet.limit,
    };
}

/**
 * One step's way through a model: its parts in order, from the embedding to the unembedding, each
 * with the ops of its ledger; and what a device holds meanwhile. Options are those of
 * costlib.serving.Server. It is returned, after some steps.
 */
export function* journey(model, device, batch, context, options = {}) {
  const server = call(Server, [model, device], named(options));
  yield;
  const layers = [...call(layer_by_layer, [server.share, batch, context])];
  const known = new Map(); // layers that are alike have the same ops, unless each is packed its way
  const alike = ({ work }) => (work.own === null ? work.ops : work);
  for (const layer of layers) {
    if (known.has(alike(layer))) continue;
    yield;
    known.set(alike(layer), opsOf(layer.work, server));
  }
  const parts = layers.map((layer) => ({
    names: [...layer.parts],
    ops: known.get(alike(layer)),
  }));
  const { kv, total } = server.fullest(batch, context)[1];
  return { parts, machine: server.machine, held: total, kv, usable: server.device.usable };
}

/** Each op with its bytes by kind and its seconds: of computing, moving, sending, and in all. */
function opsOf(work, { device, precision }) {
  const each = work.at(precision);
  const places = limits(work, device, precision);
  return [...work.ops].map((op, at) => {
    const { compute_time, memory_time, bound, time } = places[at];
    const [read, written] = [op.elements_read, op.elements_written].map((moved) =>
      moved.in_bytes(each, op.name),
    );
    const weights = read.weights + written.weights;
    const cache = read.kv + written.kv;
    return {
      name: op.name,
      flops: op.flops,
      weights,
      cache,
      others: op.bytes(each) - weights - cache,
      sent: op.bytes_sent(each),
      computing: compute_time,
      moving: memory_time,
      bound,
      time,
      isMessage: Boolean(op.axis),
    };
  });
}
