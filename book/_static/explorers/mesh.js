// A mesh: devices as tensor · context · pipeline · data, what each holds, where a step
// goes.
import { copy, make, withUnits } from './dom.js';
import {
  PARTS,
  chunkDegrees,
  expertDegrees,
  folds,
  keeping,
  microbatchesOf,
  modelNamed,
  models,
  nodeNamed,
  nodes,
  planned,
  recipes,
  tried,
} from './mesh_plan.js';
import { counted, percent, plain, quantity } from './numbers.js';

const AXES = ['tensor', 'context', 'pipeline', 'data'];
const MOST = 16384;
const MEMORY = [
  ['weights', 'mesh-weights'],
  ['gradients', 'mesh-gradients'],
  ['optimizer', 'mesh-optimizer'],
  ['activations', 'mesh-activations'],
  ['buffers', 'mesh-buffers'],
];
const STEP = {
  products: 'mesh-products',
  attention: 'mesh-attention',
  logits: 'mesh-logits',
  elementwise: 'mesh-elementwise',
  tensor: 'mesh-tensor',
  sequence: 'mesh-sequence',
  context: 'mesh-context',
  expert: 'mesh-expert',
  pipeline: 'mesh-pipeline',
  bubble: 'mesh-bubble',
  data: 'mesh-data',
  optimizer: 'mesh-optimizer',
}; // in full: unused styles are left out of the site
const WORDS = { none: 'nothing', full: 'every layer' };

// ---------------------------------------------------------------- state

const doubled = (first, last) =>
  Array.from({ length: Math.log2(last / first) + 1 }, (_, at) => first * 2 ** at);
const options = (values, text = plain) => values.map((value) => [String(value), text(value)]);
const unique = (values) => [...new Set(values)];

/** The folds that there are for the rest of a state. */
export const foldsOf = ({ model, devices, batch, seq }) =>
  known([model, devices, batch, seq].join(), model, devices, batch, seq);
const known = keeping(256, (model, devices, batch, seq) =>
  folds({ model, devices: Number(devices), batch: Number(batch), seq: Number(seq) }),
);

/** Values of one axis, where those before it are as they are. */
function along(state, axis) {
  const before = AXES.slice(0, AXES.indexOf(axis));
  return unique(
    foldsOf(state)
      .filter((fold) => before.every((each) => fold[each] === Number(state[each])))
      .map((fold) => fold[axis]),
  ).sort((a, b) => a - b);
}

const deviceCounts = (state) =>
  doubled(nodeNamed(state.node).devices, MOST).filter(
    (devices) => foldsOf({ ...state, devices }).length,
  );
const recipesOf = (state) =>
  Object.keys(recipes).filter((name) => nodeNamed(state.node).rates[recipes[name].compute]);

/** @type {Control[]} */
export const controls = [
  {
    id: 'model',
    label: 'Model',
    type: 'choice',
    options: models.map(({ name }) => [name, name]),
    value: 'llama-3.1-70b',
    more: true,
  },
  {
    id: 'node',
    label: 'Node',
    type: 'choice',
    options: nodes.map(({ name, devices, all }) => [
      name,
      devices < all ? `${name} (${devices} of ${all})` : name,
    ]),
    value: 'DGX-H100',
    more: true,
  },
  {
    id: 'seq',
    label: 'Sequence',
    type: 'choice',
    more: true,
    options: options(doubled(512, 1048576), (tokens) => counted(tokens, 'tokens')),
    value: '8192',
  },
  {
    id: 'batch',
    label: 'Batch of a step',
    type: 'choice',
    more: true,
    options: options(doubled(1, 16384), (count) => counted(count, 'sequences')),
    value: '128',
  },
  {
    id: 'devices',
    label: 'Devices',
    type: 'choice',
    options: (state) => options(deviceCounts(state)),
    value: '128',
    more: true,
  },
  {
    id: 'tensor',
    type: 'choice',
    elsewhere: true,
    options: (state) => options(along(state, 'tensor')),
    value: '8',
  },
  {
    id: 'context',
    type: 'choice',
    elsewhere: true,
    options: (state) => options(along(state, 'context')),
    value: '1',
  },
  {
    id: 'pipeline',
    type: 'choice',
    elsewhere: true,
    options: (state) => options(along(state, 'pipeline')),
    value: '4',
  },
  {
    id: 'expert',
    type: 'choice',
    elsewhere: true,
    options: (state) => options(expertDegrees(planOf(state))),
    value: '1',
  },
  {
    id: 'zero',
    label: 'ZeRO divides',
    type: 'choice',
    options: [
      ['0', '0: nothing'],
      ['1', '1: the optimizer'],
      ['2', '2: gradients too'],
      ['3', '3: weights too (FSDP)'],
    ],
    value: '1',
    more: true,
  },
  {
    id: 'microbatch',
    label: 'Microbatch',
    type: 'choice',
    options: (state) =>
      options(microbatchesOf(planOf(state)), (count) => counted(count, 'sequences')),
    value: '1',
    more: true,
  },
  {
    id: 'recompute',
    label: 'Recomputed',
    type: 'choice',
    options: Object.entries(WORDS),
    value: 'none',
    more: true,
  },
  {
    id: 'chunks',
    label: 'Chunks of a stage',
    type: 'choice',
    more: true,
    options: (state) => options(chunkDegrees(planOf(state))),
    value: '1',
  },
  {
    id: 'recipe',
    label: 'Recipe',
    type: 'choice',
    more: true,
    options: (state) => recipesOf(state).map((name) => [name, name]),
    value: 'bf16',
  },
];

const NUMBERS = [
  'devices',
  'seq',
  'batch',
  'tensor',
  'context',
  'pipeline',
  'expert',
  'zero',
  'microbatch',
  'chunks',
];

/** The plan of a state: numbers, and the data that the other axes leave. */
export function planOf(state) {
  const plan = { ...state };
  for (const name of NUMBERS) plan[name] = Number(state[name] ?? 1);
  plan.data = plan.devices / (plan.tensor * plan.context * plan.pipeline);
  return plan;
}

const compatible = (values, value) =>
  Math.max(...values.filter((each) => each <= value), values[0]);

/** A state folded otherwise: what no longer divides is made as large as it can be. */
export function folded(state, fold) {
  const next = { ...state, tensor: fold.tensor, context: fold.context, pipeline: fold.pipeline };
  const plan = planOf(next);
  plan.expert = compatible(expertDegrees(plan), plan.expert);
  plan.microbatch = compatible(microbatchesOf(plan), plan.microbatch);
  plan.chunks = compatible(chunkDegrees(plan), plan.chunks);
  for (const name of ['tensor', 'context', 'pipeline', 'expert', 'microbatch', 'chunks'])
    next[name] = String(plan[name]);
  return next;
}

/** The state with a factor of two moved from one axis to another: null where that is not legal. */
export function moved(state, from, to) {
  const plan = planOf(state);
  const wanted = { ...plan, [from]: plan[from] / 2, [to]: plan[to] * 2 };
  const fold = foldsOf(state).find((each) => AXES.every((axis) => each[axis] === wanted[axis]));
  return from !== to && fold ? folded(state, fold) : null;
}

/** Where an axis takes a factor from, or leaves it: the first of the others that can. */
export function partner(state, axis, gives) {
  const others = ['data', 'pipeline', 'tensor', 'context'].filter((each) => each !== axis);
  return others.find((each) => (gives ? moved(state, axis, each) : moved(state, each, axis)));
}

/** The line of Python that gives the same. */
export function python(state) {
  const plan = planOf(state);
  const given = ['tensor', 'context', 'expert', 'pipeline', 'data']
    .filter((name) => plan[name] > 1)
    .map((name) => `${name}=${plan[name]}`);
  if (plan.tensor > 1) given.push('sequence=True');
  if (plan.zero) given.push(`zero=${plan.zero}`);
  if (plan.microbatch > 1) given.push(`microbatch=${plan.microbatch}`);
  if (plan.chunks > 1) given.push(`chunks=${plan.chunks}`);
  if (plan.recompute !== 'none') given.push(`recompute="${plan.recompute}"`);
  if (plan.recipe !== 'bf16') given.push(`recipe="${plan.recipe}"`);
  const node = nodeNamed(plan.node);
  const cluster = [
    `"${plan.node}"`,
    `nodes=${plan.devices / node.devices}`,
    ...(node.devices < node.all ? [`per_node=${node.devices}`] : []),
  ];
  return (
    `Plan(${given.join(', ')}).on(\n    "${plan.model}", Cluster(${cluster.join(', ')}), ` +
    `batch=${plan.batch}, seq=${plan.seq}\n)`
  );
}

export const compute = (state) => planned(planOf(state));

// ---------------------------------------------------------------- what is suggested

const on = (changes) => ({
  chunks: '1',
  expert: '1',
  context: '1',
  pipeline: '1',
  tensor: '1',
  zero: '0',
  microbatch: '1',
  recompute: 'none',
  recipe: 'bf16',
  ...changes,
});

/** @type {Suggestion[]} */
export const tries = [
  {
    label: 'Copies alone',
    state: on({ model: 'llama-3.1-8b', devices: '64', batch: '64' }),
    say:
      'Every device has the whole model, and it does not fit. Raise ZeRO step by step and see ' +
      'which part of the bar is divided, and that gathering weights still hides.',
  },
  {
    label: 'Tensor over four nodes',
    state: on({ tensor: '32', pipeline: '1', zero: '1' }),
    say:
      'Two tiles of tensor are dashed: their messages cross the network in every layer, and ' +
      'tensor binds. Move those tiles to the pipeline.',
  },
  {
    label: 'Hardly any microbatches',
    state: on({ tensor: '8', pipeline: '16', batch: '8', zero: '1' }),
    say:
      'Sixteen stages and eight microbatches: most of a step is bubble. Double the batch of a ' +
      'step (under More settings) until it is not.',
  },
  {
    label: '405B on 16,384',
    state: on({
      model: 'llama-3.1-405b',
      devices: '16384',
      batch: '2048',
      tensor: '8',
      pipeline: '16',
      chunks: '8',
      zero: '2',
    }),
    say:
      'The degrees that Meta printed for Llama 3.1: tensor 8, pipeline 16, data 128. Each ' +
      'stage’s layers come in 8 chunks. Choose one chunk (under More settings), and the bubble ' +
      'takes nearly half of a step.',
  },
  {
    label: 'Sequences of 131,072',
    state: on({
      model: 'llama-3.1-405b',
      devices: '16384',
      batch: '128',
      seq: '131072',
      tensor: '8',
      context: '16',
      pipeline: '16',
      chunks: '8',
      zero: '2',
    }),
    say:
      'Sixteen devices share each sequence, and keys and values go round them over the ' +
      'network. Attention takes longer than that, so all of this sending is hidden.',
  },
  {
    label: '256 experts',
    state: on({
      model: 'deepseek-v3',
      devices: '2048',
      batch: '8192',
      seq: '4096',
      pipeline: '16',
      expert: '64',
      zero: '1',
      recompute: 'full',
      recipe: 'fp8',
    }),
    say:
      'Each token goes to eight of 256 experts, most of them in other nodes: experts bind. Let ' +
      'fewer devices share the experts, until they are those of one node.',
  },
];

// ---------------------------------------------------------------- what is shown

const swatch = (name, text) =>
  make(
    'li',
    {},
    make('span', { class: `explorer-swatch ${name}`, 'aria-hidden': 'true' }),
    ...withUnits(text),
  );
const stack = (parts, whole, line) =>
  make(
    'span',
    { class: 'explorer-stack', 'aria-hidden': 'true' },
    ...parts.map(([name, value]) =>
      make('span', { class: name, style: `width:${(100 * value) / whole}%` }),
    ),
    ...(line
      ? [make('span', { class: 'explorer-capacity', style: `left:${(100 * line) / whole}%` })]
      : []),
  );

function box(explorer, axis) {
  const count = make('b', {});
  const tiles = make('div', { class: 'mesh-tiles', 'aria-hidden': 'true' });
  const press = (gives) => (event) => {
    const state = step(explorer.state, axis, gives);
    if (state) explorer.set(state);
    else
      explorer.say(
        `${axis} cannot be ${gives ? 'halved' : 'doubled'}: ${why(explorer.state, axis, gives)}.`,
      );
    event.preventDefault();
  };
  const [less, more] = [
    ['−', 'half', true],
    ['+', 'twice', false],
  ].map(([sign, word, gives]) =>
    make(
      'button',
      { type: 'button', 'aria-label': `${axis}: ${word} as many`, '.onclick': press(gives) },
      String(sign),
    ),
  );
  const element = make(
    'div',
    { class: 'mesh-axis', 'data-axis': axis },
    make('p', {}, axis, count),
    make('div', { class: 'explorer-pair' }, less, more),
    tiles,
  );
  return { axis, element, count, tiles, less, more };
}

/** The state with twice or half as many devices along an axis, or null. */
export function step(state, axis, gives) {
  if (axis === 'expert') {
    const wanted = planOf(state).expert * (gives ? 0.5 : 2);
    return expertDegrees(planOf(state)).includes(wanted)
      ? { ...state, expert: String(wanted) }
      : null;
  }
  const other = partner(state, axis, gives);
  return other ? (gives ? moved(state, axis, other) : moved(state, other, axis)) : null;
}

function why(state, axis, gives) {
  const plan = planOf(state);
  if (gives) return plan[axis] === 1 ? 'it is one' : 'no other axis can take the factor';
  if (axis === 'expert')
    return (
      `${plan.context * plan.data} devices have the same weights, and there are ` +
      `${modelNamed(plan.model).experts} experts`
    );
  if (axis === 'tensor' && !modelNamed(plan.model).shares[2 * plan.tensor])
    return 'the heads do not divide';
  if (axis === 'data' && 2 * plan.data > plan.batch)
    return `a step has no more than ${counted(plan.batch, 'sequences')}`;
  if (axis === 'pipeline') return 'there are no more layers, or no other axis has a factor left';
  return 'no other axis has a factor left';
}

/** The box of an axis that a pointer is over. */
const boxUnder = (explorer, { clientX, clientY }) =>
  explorer.boxes.find(({ element }) => {
    const { left, right, top, bottom } = element.getBoundingClientRect();
    return clientX >= left && clientX <= right && clientY >= top && clientY <= bottom;
  });

/** The bars of a state that a tile would give if it were let go now; without one, of what is. */
function preview(explorer, next) {
  explorer.bars.classList.toggle('mesh-preview', Boolean(next));
  if (next) drawBars(explorer, compute(next), explorer.result);
  else drawBars(explorer, explorer.result);
}

function draggable(explorer, tile, axis) {
  tile.addEventListener('pointerdown', (event) => {
    event.preventDefault();
    const from = [event.clientX, event.clientY];
    const open = explorer.boxes.filter(
      (each) => AXES.includes(each.axis) && moved(explorer.state, axis, each.axis),
    );
    open.forEach(({ element }) => element.classList.add('mesh-axis-open'));
    tile.classList.add('mesh-tile-held');
    tile.setPointerCapture(event.pointerId);
    let seen = null; // the box that the tile is over, of which a preview is shown
    tile.onpointermove = (each) => {
      const { clientX, clientY } = each;
      tile.style.transform = `translate(${clientX - from[0]}px, ${clientY - from[1]}px)`;
      const over = boxUnder(explorer, each);
      if (over === seen) return;
      seen = over;
      preview(explorer, open.includes(over) ? moved(explorer.state, axis, over.axis) : null);
    };
    const end = (event) => {
      tile.onpointermove = tile.onpointerup = tile.onpointercancel = null;
      tile.style.transform = '';
      tile.classList.remove('mesh-tile-held');
      explorer.boxes.forEach(({ element }) => element.classList.remove('mesh-axis-open'));
      if (seen) preview(explorer, null);
      const target = event.type === 'pointerup' && boxUnder(explorer, event);
      if (!target || target.axis === axis) return;
      const next = AXES.includes(target.axis) ? moved(explorer.state, axis, target.axis) : null;
      if (next) explorer.set(next);
      else
        explorer.say(`${target.axis} cannot take it: ${why(explorer.state, target.axis, false)}.`);
    };
    tile.onpointerup = tile.onpointercancel = end;
  });
  return tile;
}

export function build(explorer) {
  explorer.boxes = [...AXES.slice(0, 3), 'data', 'expert'].map((axis) => box(explorer, axis));
  explorer.axes = make(
    'div',
    { class: 'mesh-axes', role: 'group', 'aria-label': 'The mesh' },
    ...explorer.boxes.map(({ element }) => element),
  );
  explorer.name = make('p', { class: 'explorer-title' });
  explorer.links = make('ul', { class: 'explorer-legend mesh-links' });
  explorer.bars = make('div', {});
  explorer.code = make('pre', {
    class: 'mesh-code',
    tabindex: '0',
    role: 'region',
    'aria-label': 'The same in Python',
  });
  const button = (text, action) => make('button', { type: 'button', '.onclick': action }, text);
  const buttons = make(
    'div',
    { class: 'explorer-buttons' },
    button('Find the fastest plan that fits', () => foldBest(explorer)),
    button('Copy the Python', () =>
      copy(explorer.code.textContent).then(() => explorer.say('The line is copied.')),
    ),
    explorer.live,
  );
  explorer.stage.append(
    make(
      'div',
      { class: 'explorer-panel' },
      explorer.name,
      explorer.axes,
      make('p', { class: 'explorer-note mesh-hint' }, 'Drag a factor to another axis.'),
      explorer.links,
      explorer.bars,
    ),
  );
  explorer.stage.after(buttons);
  explorer.rest.append(explorer.code);
}

// Every fold is tried in slices of a few milliseconds, so that the page goes on.
function foldBest(explorer) {
  const [begun, folds] = [JSON.stringify(explorer.state), tried(planOf(explorer.state))];
  explorer.say('Trying every plan …');
  const slice = () => {
    if (JSON.stringify(explorer.state) !== begun) return explorer.say('');
    for (const until = performance.now() + 10; performance.now() < until; ) {
      const { done, value } = folds.next();
      if (done) return foldTo(explorer, value);
    }
    return explorer.defer('search', slice);
  };
  slice();
}

function foldTo(explorer, best) {
  if (!best)
    return explorer.say(
      'No plan on these devices has room for it: take more of them, or shorter sequences.',
    );
  const next = {
    ...explorer.state,
    zero: String(best.zero),
    recompute: best.recompute,
    chunks: String(best.chunks),
    microbatch: String(best.microbatch),
    expert: String(best.expert),
  };
  explorer.set(folded(next, best));
  return explorer.say(
    `The fastest plan that fits, with context ${best.context}: tensor ${best.tensor}, ` +
      `pipeline ${best.pipeline}, data ${best.data}` +
      `${best.expert > 1 ? `, of which ${best.expert} share the experts` : ''}, ZeRO ` +
      `${best.zero}, stages in ${counted(best.chunks, 'chunks')}, microbatch ` +
      `${best.microbatch}, ${best.recompute === 'full' ? 'every layer' : 'nothing'} computed ` +
      'again.',
  );
}

/** For each factor of two of an axis: whether its two halves share a node. */
export function nearness(plan, at) {
  const node = nodeNamed(plan.node);
  const strides = {
    tensor: 1,
    context: plan.tensor,
    pipeline: plan.tensor * plan.context * at.ofData,
    data: 0,
  };
  const near = {};
  for (const axis of AXES) {
    near[axis] = Array.from({ length: Math.log2(plan[axis]) }, (_, which) => {
      // of data those whose experts are shared come before the pipeline
      const early = 2 ** which < at.ofData;
      const stride =
        axis !== 'data' ? strides[axis] : plan.tensor * plan.context * (early ? 1 : plan.pipeline);
      return stride * 2 ** which < node.devices;
    });
  }
  return near;
}

function drawAxes(explorer, state, plan, at) {
  const near = nearness(plan, at);
  const mixes = modelNamed(plan.model).experts > 0;
  for (const each of explorer.boxes) {
    const { axis, element, count, tiles, less, more } = each;
    element.hidden = axis === 'expert' && !mixes;
    count.textContent = plain(plan[axis]);
    less.setAttribute('aria-disabled', !step(state, axis, true));
    more.setAttribute('aria-disabled', !step(state, axis, false));
    const key = (near[axis] ?? []).join();
    if (axis === 'expert')
      tiles.textContent = `of the ${plain(plan.context * plan.data)} along context and data`;
    else if (each.key !== key)
      tiles.replaceChildren(
        ...near[axis].map((isNear) =>
          draggable(
            explorer,
            make('span', { class: isNear ? 'mesh-tile' : 'mesh-tile mesh-tile-far' }, '×2'),
            axis,
          ),
        ),
      );
    each.key = key;
  }
  const { links, devices } = nodeNamed(plan.node);
  explorer.links.replaceChildren(
    ...[
      ['mesh-tile mesh-key', `in a node of ${devices}: ${quantity(links.node[0], 'B/s')}`],
      ['mesh-tile mesh-tile-far mesh-key', `across nodes: ${quantity(links.network[0], 'B/s')}`],
    ].map(([name, text]) =>
      make('li', {}, make('span', { class: name, 'aria-hidden': 'true' }), ...withUnits(text)),
    ),
  );
  explorer.name.replaceChildren(
    ...withUnits(
      `${plan.model} on ${counted(plan.devices, 'devices')}, ` +
        `${counted(plan.devices / devices, 'nodes')} of ${plan.node}`,
    ),
  );
}

export function draw(explorer, state, result) {
  const plan = planOf(state);
  drawAxes(explorer, state, plan, result.at);
  drawBars(explorer, result);
  explorer.code.textContent = python(state);
}

/** Where memory and time go; while a tile is held, beside what they were. */
function drawBars(explorer, result, was) {
  const { memory, total, usable, parts, step: spent, fits } = result;
  const held = MEMORY.filter(([name]) => memory[name]).map(([name, style]) => [
    style,
    memory[name],
    `${name} ${inBytes3(memory[name])}`,
  ]);
  const spentIn = PARTS.filter((name) => parts[name] > 0.005 * spent).map((name) => [
    STEP[name],
    parts[name],
    `${name} ${plain((100 * parts[name]) / spent, 2)}%`,
  ]);
  const legend = (rows) =>
    make('ul', { class: 'explorer-legend' }, ...rows.map(([style, , text]) => swatch(style, text)));
  explorer.bars.replaceChildren(
    make(
      'div',
      { class: fits ? 'mesh-bar' : 'mesh-bar mesh-over' },
      make(
        'span',
        {},
        make('b', {}, `${inBytes3(total)} a device`),
        fits
          ? ` of ${inBytes3(usable)} usable`
          : `, but only ${inBytes3(usable)} (the line) are usable, so this does not fit`,
        was ? `, not ${inBytes3(was.total)} as now` : '',
      ),
      stack(held, Math.max(total, usable), usable),
      legend(held),
    ),
    make(
      'div',
      { class: 'mesh-bar' },
      make(
        'span',
        {},
        make('b', {}, `${quantity(spent, 's', 3)} a step`),
        `: ${percent(result.mfu)} of the arithmetic is used (MFU)`,
        was ? `, not ${quantity(was.step, 's', 3)} as now` : '',
      ),
      stack(spentIn, spent),
      legend(spentIn),
    ),
  );
}

const inBytes3 = (value) => quantity(value, 'B', 3);
const total = (table) => Object.values(table).reduce((sum, value) => sum + value, 0);

export function summary(
  _state,
  { parts, sending, step: spent, tokens, mfu, hfu, binds, microbatches },
) {
  const exposed = ['tensor', 'sequence', 'context', 'expert', 'pipeline', 'data'].reduce(
    (sum, name) => sum + parts[name],
    0,
  );
  return [
    ['Takes longest', `${binds}: ${percent(parts[binds] / spent)} of a step`],
    ['Tokens', `${plain(tokens)} a second, all devices together`],
    [
      'Messages',
      total(sending)
        ? `sending takes ${quantity(total(sending), 's', 3)} a step, of which ` +
          `${quantity(exposed, 's', 3)} are not hidden behind computing`
        : 'none',
    ],
    ['Utilisation', `MFU ${percent(mfu)}, HFU ${percent(hfu)}`],
    ['Microbatches', `${plain(microbatches)} through each pipeline`],
  ];
}

export const note = (state) =>
  'Seconds are those of the datasheet, op by op, and measured steps take longer. Tensor ' +
  'parallelism divides the sequence between the products too. Gradients, gathered weights ' +
  'and a ring’s keys and values hide as far as there is something to hide behind; other ' +
  'messages are exposed. A tenth of the memory is reserved.' +
  (modelNamed(state.model).experts
    ? ' Each expert is assumed to get the same number of tokens.'
    : '');

export function table(_state, { parts, sending, memory, total: held, step: spent }) {
  const rows = [
    ...Object.entries(parts).map(([name, value]) => ['a step', name, 's', value]),
    ['a step', 'all', 's', spent],
    ...Object.entries(sending).map(([name, value]) => [
      'messages, hidden or not',
      name,
      's',
      value,
    ]),
    ...Object.entries(memory).map(([name, value]) => ['the fullest device', name, 'B', value]),
    ['the fullest device', 'all', 'B', held],
  ];
  return { columns: ['of', 'what', 'unit', 'value'], rows };
}
