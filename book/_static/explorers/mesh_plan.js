// A plan on a cluster: what a device holds, and where the seconds of a step go. A layer's ops,
// messages and bytes are costlib's; here they are added up over layers, stages and microbatches.
import {
  all_gather,
  all_reduce,
  flops,
  hides,
  layouts,
  models,
  nodes,
  pieces,
  recipes,
  reduce_scatter,
} from './generated/mesh.js';

export { models, nodes, recipes };
export const modelNamed = (name) => models.find((model) => model.name === name);
export const nodeNamed = (name) => nodes.find((node) => node.name === name);
export const layersOf = (model) => model.layers.reduce((sum, count) => sum + count, 0);

const COMPUTING = ['products', 'attention', 'logits', 'elementwise'];
const SENDING = ['tensor', 'sequence', 'context', 'expert'];
export const PARTS = [...COMPUTING, ...SENDING, 'pipeline', 'bubble', 'data', 'optimizer'];
const sum = (values) => values.reduce((total, value) => total + value, 0);
const powers = (most) =>
  Array.from({ length: Math.floor(Math.log2(most)) + 1 }, (_, at) => 2 ** at);

// ---------------------------------------------------------------- where the axes lie

/**
 * How an axis of so many devices lies: how many inside a node, and across how many nodes.
 * @returns {[inside: number, across: number]}
 */
const lies = (devices, stride, node) => {
  const inside = Math.min(devices, Math.max(Math.floor(node.devices / stride), 1));
  return [inside, Math.ceil(devices / inside)];
};
/**
 * @param {number[]} one
 * @param {number[]} other
 * @returns {[inside: number, across: number]}
 */
const times = ([a, b], [c, d]) => [a * c, b * d];
const devicesOf = ([inside, across]) => inside * across;

/**
 * The devices of every axis inside a node, and across nodes: tensor is innermost, data outermost.
 */
export function mesh({ tensor, context, expert, pipeline, data }, node) {
  const ofData = Math.max(1, Math.floor(expert / context));
  const sizes = {
    tensor,
    context,
    expert: ofData,
    pipeline,
    data: Math.max(1, Math.floor(data / ofData)),
  };
  const axes = {};
  let stride = 1;
  for (const [axis, devices] of Object.entries(sizes)) {
    axes[axis] = lies(devices, stride, node);
    stride *= devices;
  }
  const near = Math.min(expert, context);
  return {
    axes,
    expert: times(lies(near, tensor, node), axes.expert),
    ofData,
    replicas: times(times(axes.context, axes.expert), axes.data),
    expertReplicas: times(lies(context / near, near * tensor, node), axes.data),
    neighbour: axes.pipeline[1] > 1 ? 'network' : 'node',
  };
}

// ---------------------------------------------------------------- one layer, or an end

/**
 * @param {number} bytes
 * @param {number} rounds
 * @param {number[]} link
 */
const seconds = (bytes, rounds, [rate, wait]) => bytes / rate + rounds * wait;
const tierOf = (axis) => (axis.endsWith('.network') ? 'network' : 'node');

/** The answers of a function, kept by a key; all are forgotten when there are too many. */
export function keeping(most, compute) {
  const kept = new Map();
  return (key, ...given) => {
    if (!kept.has(key)) {
      if (kept.size >= most) kept.clear();
      kept.set(key, compute(...given));
    }
    return kept.get(key);
  };
}

/**
 * Seconds by part, forward and back; parameters, and bytes kept: of one kind of layer, or an end.
 */
function priced(name, plan, at) {
  const [model, node, recipe] = [
    modelNamed(plan.model),
    nodeNamed(plan.node),
    recipes[plan.recipe],
  ];
  // ends are the same whether layers are run again
  const key = `${model.family}_${Number.isInteger(name) ? `${plan.recompute}_` : ''}${name}`;
  const values = pieces[key](
    plan.microbatch,
    plan.seq,
    plan.tensor,
    plan.context,
    plan.expert,
    at.axes.tensor,
    at.axes.context,
    at.expert,
    model.shares[plan.tensor],
    model.whole,
  );
  let next = 0;
  const take = (count) => {
    next += count;
    return values.slice(next - count, next);
  };
  const [matrices, others, experts] = take(3);
  const [kept, again] = [take(3), take(3)].map((elements) =>
    sum(elements.map((count, which) => count * recipe.kept[which])),
  );
  const perWeight = Math.min(recipe.matrices.weights, 2);
  const passes = layouts[key].map((groups) => {
    const pass = { computing: {}, sending: {}, exposed: {} };
    for (const [group, wires] of groups) {
      const sends = wires[0] !== '';
      let [spent, before] = [0, 0];
      for (const wire of wires) {
        if (wire) {
          const [elements, rounds] = take(2);
          const link = node.links[tierOf(wire)];
          const own = seconds(2 * elements, rounds, link);
          pass.sending[wire] = (pass.sending[wire] ?? 0) + own;
          // pieces are inside a node while others are across
          spent +=
            own - (tierOf(wire) === 'network' ? Math.min(before, (2 * elements) / link[0]) : 0);
          before = (2 * elements) / link[0];
        } else {
          const [work, weights, rest] = take(3);
          const rate = node.rates[group === 'products' ? recipe.compute : 'sixteen'];
          spent += Math.max(work / rate, (perWeight * weights + 2 * rest) / node.memory);
        }
      }
      (sends ? pass.exposed : pass.computing)[group] = spent;
    }
    for (const axis of SENDING) {
      const behind = pass.computing[axis === 'context' ? 'attention' : 'products'] ?? 0;
      pass.exposed[axis] = Math.max(0, (pass.exposed[axis] ?? 0) - hides[axis] * behind);
    }
    return pass;
  });
  return { passes, kept, again, params: { matrices, others, experts } };
}

const kindsOf = keeping(1024, (plan, at) => {
  const names = [...modelNamed(plan.model).layers.keys(), 'first', 'last'];
  return Object.fromEntries(names.map((name) => [name, priced(name, plan, at)]));
});

// ---------------------------------------------------------------- stages

/** How many layers each piece of a pipeline has: where they do not divide, the ends have fewer. */
export function dealt(layers, count) {
  const most = Math.ceil(layers / count);
  const found = Array(count).fill(most);
  for (let which = 0; which < most * count - layers; which += 1)
    found[which % 2 ? (which - 1) / 2 : count - 1 - which / 2] -= 1;
  return found;
}

/**
 * Stages of a pipeline, those alike as one: the first of them, how many, and their layers by kind.
 */
const stagesOf = keeping(256, (model, pipeline, chunks) => {
  const held = Array.from({ length: pipeline }, () => model.layers.map(() => 0));
  const order = model.layers.flatMap((count, kind) => Array(count).fill(kind));
  let start = 0;
  dealt(order.length, pipeline * chunks).forEach((count, piece) => {
    for (const kind of order.slice(start, start + count)) held[piece % pipeline][kind] += 1;
    start += count;
  });
  const found = new Map();
  held.forEach((layers, device) => {
    const [first, last] = [device === 0, device === pipeline - 1];
    const key = [layers, first, last].join();
    if (found.has(key)) found.get(key).alike += 1;
    else found.set(key, { layers, device, first, last, alike: 1 });
  });
  return [...found.values()];
});

const add = (into, from, count = 1) => {
  for (const [name, value] of Object.entries(from)) into[name] = (into[name] ?? 0) + count * value;
};

function workOf(stage, kinds, plan, at) {
  const rows = stage.layers.flatMap((count, kind) => (count ? [[kinds[kind], count]] : []));
  const all = [
    ...rows,
    ...(stage.first ? [[kinds.first, 1]] : []),
    ...(stage.last ? [[kinds.last, 1]] : []),
  ];
  const passes = [0, 1].map((which) => {
    const pass = { computing: {}, sending: {}, exposed: {} };
    for (const [kind, count] of all)
      for (const table of Object.keys(pass)) add(pass[table], kind.passes[which][table], count);
    pass.busy = sum(Object.values(pass.computing));
    return pass;
  });
  const params = { matrices: 0, others: 0, experts: 0 };
  for (const [kind, count] of all) add(params, kind.params, count);
  if (plan.pipeline > 1) {
    const wire = at.neighbour === 'network' ? 'pipeline.network' : 'pipeline';
    const stream =
      (plan.microbatch * plan.seq * modelNamed(plan.model).d_model) / plan.context / plan.tensor;
    const one = seconds(2 * stream, 1, nodeNamed(plan.node).links[at.neighbour]);
    passes.forEach((pass, which) => {
      pass.sending[wire] = (plan.chunks - (which ? stage.first : stage.last)) * one;
      pass.exposed.pipeline = Math.max(0, pass.sending[wire] - hides.pipeline * pass.busy);
    });
  }
  const spent = sum(passes.map((pass) => pass.busy + sum(Object.values(pass.exposed))));
  return { ...stage, rows, passes, params, seconds: spent };
}

const worksOf = keeping(1024, (kinds, plan, at) => {
  const { model, pipeline, chunks } = plan;
  return stagesOf([model, pipeline, chunks].join(), modelNamed(model), pipeline, chunks).map(
    (stage) => workOf(stage, kinds, plan, at),
  );
});

// ---------------------------------------------------------------- weights, gradients, optimizer

const bytesOf = ({ matrices, others, experts }, which, recipe, among = 1, amongExperts = 1) =>
  Math.ceil(matrices / among) * recipe.matrices[which] +
  Math.ceil(others / among) * recipe.others[which] +
  Math.ceil(experts / amongExperts) * recipe.matrices[which];

function wireOf({ matrices, others, experts }, which, recipe) {
  const [each, rest] = [recipe.matrices, recipe.others].map((bytes) =>
    Math.min(bytes[which], which === 'gradients' ? 4 : 2),
  );
  return [matrices * each + others * rest, experts * each];
}

/** Devices that share a state from a stage of ZeRO on: all that have it, or one alone. */
const among = (plan, at, stage) =>
  plan.zero >= stage ? [devicesOf(at.replicas), devicesOf(at.expertReplicas)] : [1, 1];

function collective(does, work, recipe, node, at) {
  const wires = wireOf(work.params, does === all_gather ? 'weights' : 'gradients', recipe);
  const found = { data: 0, 'data.network': 0, taken: 0 };
  const { node: link, network } = node.links;
  wires.forEach((bytes, which) => {
    const [near, turns, far, rounds] = does(bytes, ...(which ? at.expertReplicas : at.replicas));
    const [inside, across] = [seconds(near, turns, link), seconds(far, rounds, network)];
    found.data += inside;
    found['data.network'] += across;
    found.taken += inside + across - Math.min(near / link[0], far / network[0]);
  });
  return found;
}

/** Seconds of gradients and weights between replicas: what does not hide, and all by tier. */
function dataOf(work, plan, recipe, node, at, microbatches) {
  const [forward, backward] = work.passes.map(({ busy }) => hides.data * busy);
  const tables = [all_reduce, all_gather, reduce_scatter].map((does) =>
    collective(does, work, recipe, node, at),
  );
  const [whole, gathers, scatters] = tables.map(({ taken }) => taken);
  const [gather, scatter] = [Math.max(0, gathers - forward), Math.max(0, scatters - backward)];
  const both = Math.max(0, gathers + scatters - backward);
  const exposed = [
    Math.max(0, whole - backward),
    scatter + gather,
    microbatches * scatter + gather,
    microbatches * (gather + both),
  ][plan.zero];
  const counts = [
    [1, 0, 0],
    [0, 1, 1],
    [0, 1, microbatches],
    [0, 2 * microbatches, microbatches],
  ][plan.zero];
  const sent = Object.fromEntries(
    ['data', 'data.network'].map((axis) => [
      axis,
      sum(tables.map((table, which) => counts[which] * table[axis])),
    ]),
  );
  return { exposed, sent };
}

function memoryOf(work, kinds, plan, recipe, at, microbatches) {
  const { pipeline, chunks } = plan;
  const ahead = pipeline - work.device;
  const begun =
    chunks > 1
      ? Math.min(microbatches * chunks, 2 * (ahead - 1) + (chunks - 1) * pipeline + 1)
      : Math.min(microbatches, ahead);
  const kept =
    (sum(work.rows.map(([kind, count]) => count * kind.kept)) * begun) / chunks +
    (work.last ? kinds.last.kept : 0);
  const layers = work.rows.length ? work.rows.map(([kind]) => kind.params) : [work.params];
  const [weights, gradients] = ['weights', 'gradients'].map((which) =>
    Math.max(...layers.map((params) => sum(wireOf(params, which, recipe)))),
  );
  const divided = devicesOf(at.replicas) > 1 ? 1 : 0;
  return {
    weights: bytesOf(work.params, 'weights', recipe, ...among(plan, at, 3)),
    gradients: bytesOf(work.params, 'gradients', recipe, ...among(plan, at, 2)),
    optimizer: bytesOf(work.params, 'optimizer', recipe, ...among(plan, at, 1)),
    activations: kept + Math.max(0, ...work.rows.map(([kind]) => kind.again)),
    buffers: divided * [0, 0, gradients, 2 * weights + gradients][plan.zero],
  };
}

function optimizerOf(work, plan, recipe, node, at) {
  const shared = among(plan, at, 1);
  const moved =
    bytesOf(work.params, 'gradients', recipe, ...shared) +
    bytesOf(work.params, 'weights', recipe, ...shared);
  return (moved + 2 * bytesOf(work.params, 'optimizer', recipe, ...shared)) / node.memory;
}

// ---------------------------------------------------------------- a step

/**
 * Bytes of the fullest device, seconds of a step by part, of all messages by axis, and what
 * follows.
 */
export function planned(plan) {
  const [model, node, recipe] = [
    modelNamed(plan.model),
    nodeNamed(plan.node),
    recipes[plan.recipe],
  ];
  const at = mesh(plan, node);
  const microbatches = plan.batch / (plan.data * plan.microbatch);
  const layer = [
    plan.model,
    plan.node,
    plan.recipe,
    plan.recompute,
    plan.microbatch,
    plan.seq,
    plan.tensor,
    plan.context,
    plan.expert,
    at.expert,
  ].join();
  const kinds = kindsOf(layer, plan, at);
  const works = worksOf([layer, plan.pipeline, plan.chunks].join(), kinds, plan, at);
  const slowest = works.reduce((most, work) => (work.seconds > most.seconds ? work : most));
  /** @type {Record<string, number>[]} */
  const [parts, sending] = [{}, {}];
  for (const pass of slowest.passes) {
    for (const table of [pass.computing, pass.exposed]) add(parts, table, microbatches);
    add(sending, pass.sending, microbatches);
  }
  parts.bubble =
    (sum(works.map((work) => work.alike * work.seconds)) - slowest.seconds) / plan.chunks;
  const data = works.map((work) => dataOf(work, plan, recipe, node, at, microbatches));
  parts.data = Math.max(...data.map(({ exposed }) => exposed));
  for (const axis of ['data', 'data.network'])
    sending[axis] = Math.max(...data.map(({ sent }) => sent[axis]));
  parts.optimizer = Math.max(...works.map((work) => optimizerOf(work, plan, recipe, node, at)));
  const held = works.map((work) => memoryOf(work, kinds, plan, recipe, at, microbatches));
  const memory = held.reduce((most, each) =>
    sum(Object.values(each)) > sum(Object.values(most)) ? each : most,
  );
  const step = sum(PARTS.map((part) => parts[part] ?? 0));
  const devices = plan.tensor * plan.context * plan.pipeline * plan.data;
  const [each, none, full] = flops[model.flops](plan.seq);
  const mfu = (each * plan.batch * plan.seq) / step / (devices * node.rates[recipe.compute]);
  const total = sum(Object.values(memory));
  return {
    at,
    microbatches,
    parts: Object.fromEntries(PARTS.map((part) => [part, parts[part] ?? 0])),
    sending,
    memory,
    total,
    step,
    mfu,
    hfu: mfu * (plan.recompute === 'full' ? full : none),
    tokens: (plan.batch * plan.seq) / step,
    usable: node.usable,
    fits: total <= node.usable,
    binds: PARTS.reduce((most, part) => ((parts[part] ?? 0) > (parts[most] ?? 0) ? part : most)),
  };
}

// ---------------------------------------------------------------- what is legal

/** Every way to write the devices as tensor · context · pipeline · data, and the batch divides. */
export function folds({ model: name, devices, batch, seq }) {
  const model = modelNamed(name);
  const found = [];
  for (const tensor of Object.keys(model.shares).map(Number)) {
    for (const context of powers(Math.min(devices, seq))) {
      if (tensor * context > Math.min(devices, seq)) continue;
      for (const pipeline of powers(Math.min(devices, layersOf(model)))) {
        const data = devices / (tensor * context * pipeline);
        if (data >= 1 && data <= batch) found.push({ tensor, context, pipeline, data });
      }
    }
  }
  return found;
}

/** Devices that may share the experts: of those that have the same sequences' weights. */
export function expertDegrees({ model: name, context, data }) {
  return powers(Math.max(1, Math.min(modelNamed(name).experts, context * data))).filter(
    (each) => modelNamed(name).experts % each === 0 || each === 1,
  );
}

/** Sequences at a time. */
export const microbatchesOf = ({ batch, data }) => powers(batch / data);

/** Pieces of each stage. */
export function chunkDegrees({ model: name, pipeline, batch, data, microbatch }) {
  const rounds = batch / (data * microbatch);
  return [1, 2, 4, 8].filter(
    (chunks) =>
      chunks === 1 ||
      (pipeline > 1 &&
        rounds % pipeline === 0 &&
        pipeline * chunks <= layersOf(modelNamed(name)) + 2),
  );
}

/**
 * Tries all folds with a plan’s context, a few at a time; at the end the fastest that fits, or
 * null.
 */
export function* tried(plan) {
  let best = null;
  for (const fold of folds(plan).filter(({ context }) => context === plan.context)) {
    for (const expert of expertDegrees({ ...plan, ...fold })) {
      for (const microbatch of microbatchesOf({ ...plan, ...fold })) {
        for (const recompute of ['none', 'full']) {
          for (const zero of fold.data * fold.context > 1 ? [0, 1, 2, 3] : [0]) {
            const one = { ...plan, ...fold, expert, microbatch, recompute, zero };
            for (const chunks of chunkDegrees(one)) {
              const { fits, step } = planned({ ...one, chunks });
              if (fits && (!best || step < best.step)) best = { ...one, chunks, step };
            }
          }
        }
        yield;
      }
    }
  }
  return best;
}

/** The same at once. */
export function fastest(plan) {
  const all = tried(plan);
  for (let next = all.next(); ; next = all.next()) if (next.done) return next.value;
}
