// Serving: a target for the wait, the largest batch that meets it, and what that gives and costs.
import { make, withUnits } from './dom.js';
import { beyond, modelChoices, runs } from './models.js';
import { bytes as inBytes, counted, percent, plain, quantity, sweep } from './numbers.js';
import {
  bestBatch,
  held,
  partsOf,
  perMillion,
  precisionChoices,
  prefill,
  regimes,
  room,
  serverOf,
  servingDevices,
  sharedChoices,
  step,
} from './server.js';

/** @type {Control[]} */
export const controls = [
  {
    id: 'target',
    label: 'TPOT at most',
    unit: 'ms',
    type: 'number',
    min: 0.1,
    max: 1000,
    value: 25,
    digits: 1,
    powers: true,
  },
  { id: 'model', label: 'Model', type: 'choice', options: modelChoices, value: 'llama-3.1-8b' },
  {
    id: 'device',
    label: 'Device',
    type: 'choice',
    options: servingDevices,
    value: 'H100-SXM',
    more: true,
  },
  {
    id: 'context',
    label: 'Context',
    unit: 'tokens',
    type: 'number',
    min: 1,
    max: 1048576,
    value: 1000,
    powers: true,
    more: true,
  },
  {
    id: 'shared',
    label: 'Devices that share a copy',
    type: 'choice',
    value: '1',
    options: sharedChoices,
    more: true,
  },
  {
    id: 'precision',
    label: 'Precision',
    type: 'choice',
    value: '16-bit',
    options: precisionChoices,
    more: true,
  },
  {
    id: 'kv',
    label: 'Cache',
    type: 'choice',
    value: 'own',
    options: [
      ['own', 'the same precision'],
      ['2', '2 bytes'],
      ['1', '1 byte'],
      ['0.5', 'half a byte'],
    ],
    more: true,
  },
  {
    id: 'price',
    label: 'Price',
    unit: '$ per device-hour',
    type: 'number',
    min: 0,
    max: 1000,
    value: 3.99,
    digits: 2,
    more: true,
  },
  {
    id: 'used',
    label: 'In use',
    unit: '% of the time',
    type: 'number',
    min: 1,
    max: 100,
    value: 100,
    linear: true,
    more: true,
  },
];

/** @type {Suggestion[]} */
export const tries = [
  {
    label: 'Ask for 6 ms',
    state: { target: 6 },
    say:
      'Most of the step now goes into reading weights. Each user gets four times as many tokens ' +
      'a second, and the total throughput falls to a third.',
  },
  {
    label: 'Weights in 4 bits',
    state: { target: 6, precision: 'int4' },
    say:
      'Within the same 6 ms three times as many users are served, because weights are read in a ' +
      'quarter of the time. The top of the curve stays where it was, because arithmetic limits ' +
      'it and is still done in 16 bits. With 16,000 tokens memory limits it, so fewer bits help.',
  },
  {
    label: 'A long context',
    state: { context: 32000 },
    say:
      'A KV cache of 32,000 tokens takes long to read and much room, so memory is full before ' +
      'arithmetic limits the step.',
  },
  {
    label: 'A mixture',
    state: { model: 'qwen3-30b-a3b', target: 10 },
    say:
      'A few sequences already use most experts, and little is computed with each. Therefore ' +
      'memory is full long before arithmetic would limit the step.',
  },
  {
    label: 'Out of reach',
    state: { target: 3 },
    say:
      'No batch is that fast, because even one sequence has to read all weights. The line below ' +
      'says how many devices would be fast enough.',
  },
];

// to the tenth that a target has: the batch that takes so long stays within it
const upwards = (ms) => Math.ceil(10 * ms - 1e-9) / 10;
const SHOWN = 96; // batches of a curve
const SEEN = 0.005; // of a step: less would be no bar

let last = { key: '' };

/** What a target does not change: the lines, and the curve. */
function curve(state) {
  const key = [
    state.model,
    state.device,
    state.context,
    state.shared,
    state.precision,
    state.kv,
  ].join();
  if (last.key === key) return last;
  const server = serverOf(state);
  const most = room(server, state.context + 1);
  const point = (batch) => {
    const perToken = step(server, batch, state.context);
    return { batch, perToken, perUser: 1 / perToken, throughput: batch / perToken };
  };
  last = {
    key,
    server,
    most,
    point,
    points: most ? sweep(1, most, SHOWN).map(point) : [],
    lines: regimes(server, state.context),
    one: step(server, 1, state.context),
    first: prefill(server, state.context),
    keeps: held(server, state.context + 1),
  };
  return last;
}

export function compute(state) {
  const { server, most, point, points, lines, one, first, keeps } = curve(state);
  const best = most ? bestBatch(server, state.context, state.target / 1000) : null;
  const isNew = best && !points.some(({ batch }) => batch === best.batch);
  const frontier = isNew
    ? [...points, point(best.batch)].sort((a, b) => a.batch - b.batch)
    : points;
  const price = (perSecond) =>
    perMillion(1 / perSecond, state.price * server.shared, state.used / 100);
  return {
    server,
    most,
    lines,
    best,
    frontier,
    one,
    first,
    keeps,
    parts: best ? partsOf(server, best.batch, state.context) : null,
    dollars: best ? price(best.throughput) : null,
    read: price(state.context / first),
    instead: best ? null : instead(state, most && one),
  };
}

/**
 * The fewest devices that would meet the target, or the fastest; none where none is faster than so
 * many seconds.
 */
export function instead(state, alone) {
  const found = sharedChoices(state)
    .map(([shared]) => ({ shared, server: serverOf({ ...state, shared }) }))
    .filter(
      ({ shared, server }) =>
        Number(shared) > Number(state.shared) && room(server, state.context + 1),
    )
    .map(({ shared, server }) => ({ shared, seconds: step(server, 1, state.context) }))
    .filter(({ seconds }) => !alone || seconds < alone);
  return (
    found.find(({ seconds }) => seconds <= state.target / 1000) ??
    found.sort((a, b) => a.seconds - b.seconds)[0] ??
    null
  );
}

const money = (dollars) => `$${plain(dollars, 3)}`;
const together = (rate) => plain(rate < 1000 ? rate : Math.round(rate)); // as the chapter prints it

export function charts(state, { frontier, best, lines, most, one }) {
  if (!most) return [];
  const on = runs(state);
  const chosen = (of) =>
    frontier.map((point) => (best && point.batch === best.batch ? of(point) : null));
  const slow = [...frontier].reverse(); // a chart's values rise
  const limits = [
    [lines.even, 'caches'],
    [lines.bend, 'arithmetic'],
    [most, 'memory full'],
  ].filter(([batch]) => batch >= 1 && batch <= most);
  return [
    {
      title: best
        ? `${on}: ${together(best.throughput)} tokens/s for ${counted(best.batch, 'users')}`
        : `${on}: no batch has a TPOT of ${plain(state.target)} ms`,
      alt:
        `${on}: one sequence alone gets ${plain(1 / one)} tokens a second; ${plain(most)}, the ` +
        `most that fit, get ${plain(slow[0].perUser)} each and ${together(slow[0].throughput)} ` +
        'together.',
      x: { label: 'tokens/s per user', fives: true },
      y: { label: 'tokens/s in total' },
      xs: slow.map((point) => point.perUser),
      names: slow.map(({ batch }) => `batch ${plain(batch)}`),
      series: [
        { label: 'every batch that fits', dash: 0, ys: slow.map((point) => point.throughput) },
        {
          label: 'the largest within the target',
          scatter: true,
          colour: 1,
          ys: chosen((point) => point.throughput).reverse(),
        },
      ],
      at: { x: 1000 / state.target, label: `${plain(state.target)} ms` },
      drag: (x) => ({ target: upwards(1000 / x) }),
      press: (way, far) => ({
        target:
          way > 0
            ? Math.min(state.target - 0.1, state.target / (far ? 2 : 1.05))
            : Math.max(state.target + 0.1, state.target * (far ? 2 : 1.05)),
      }),
    }, // a tenth of a millisecond at least
    {
      title: `A step of ${on}`,
      alt:
        `Milliseconds from ${plain(1000 * one)} for one to ${plain(1000 * slow[0].perToken)} ` +
        `for ${plain(most)}.`,
      x: { label: 'batch', fives: true },
      y: { label: 'TPOT in ms', fives: true },
      xs: frontier.map(({ batch }) => batch),
      series: [
        { label: 'a step', dash: 0, ys: frontier.map((point) => 1000 * point.perToken) },
        {
          label: 'reading weights and caches',
          colour: 2,
          dash: 1,
          quiet: true,
          ys: frontier.map(({ batch }) => 1000 * (lines.weights + batch * lines.reading)),
        },
        {
          label: 'caches, and arithmetic',
          colour: 3,
          dash: 2,
          quiet: true,
          ys: frontier.map(({ batch }) =>
            lines.rest + batch * lines.computing > one / 4
              ? 1000 * (lines.rest + batch * lines.computing)
              : null,
          ),
        },
        {
          label: 'the largest within the target',
          unnamed: true,
          scatter: true,
          colour: 1,
          ys: chosen((point) => 1000 * point.perToken),
        },
      ],
      at: { y: state.target, label: `target ${plain(state.target)} ms` },
      marks: [
        ...limits.map(([batch, name]) => ({
          x: batch,
          label: `${name} ${plain(Math.round(batch))}`,
        })),
      ],
      drag: (_, y) => ({ target: y }),
    },
  ];
}

/** What more devices could do. */
function helped({ target, shared }, { instead: other, server }) {
  if (other)
    return (
      `${counted(Number(other.shared), 'devices')} ` +
      `${other.seconds * 1000 <= target ? 'would do' : 'would be the fastest'}: ` +
      `${quantity(other.seconds, 's')} for one`
    );
  if (!server.device.interconnect)
    return 'no link between two of these devices is known here, so one must do it alone';
  const most = Math.max(...Object.keys(server.model.shares).map(Number));
  return Number(shared) === most
    ? `more than ${counted(most, 'devices')} cannot share it here`
    : `not even ${counted(most, 'devices')} would help, the most that can share it here`;
}

const LONG = {
  weights: 'reading weights',
  caches: 'reading caches',
  activations: 'moving activations',
  arithmetic: 'arithmetic',
  messages: 'messages',
};

/** What takes most of a step, and its share. */
export function binding(parts) {
  const all = Object.values(parts).reduce((sum, part) => sum + part, 0);
  const [name, part] = Object.entries(parts).sort((a, b) => b[1] - a[1])[0];
  return [LONG[name], part / all];
}

function limitsInWords({ even, bend }, most) {
  const from = (batch, what) =>
    batch <= most
      ? `, ${what} from a batch of ${plain(Math.max(1, Math.round(batch)))} on`
      : `, ${what} at no batch that fits`;
  return (
    `reading weights at first${from(even, 'reading caches')}${from(bend, 'arithmetic')}; ` +
    `memory is full at ${plain(most)}${bend > most ? ', and fewer bits would make room' : ''}`
  );
}

export function summary(state, result) {
  const { best, most, lines, one, first, dollars, read, parts, keeps, server } = result;
  const helps = helped(state, result);
  if (!most)
    return [
      [
        'Does not fit',
        `weights of ${inBytes(keeps.weights)} and one cache of ${inBytes(keeps.cache)} on ` +
          `each device, of which ${inBytes(server.device.capacity)} are usable; ${helps}`,
      ],
    ];
  if (!best)
    return [
      ['Out of reach', `one sequence alone takes ${quantity(one, 's')}; ${helps}`],
      ['What limits a step', limitsInWords(lines, most)],
    ];
  const [what, share] = binding(parts);
  return [
    [
      'Each user',
      `${plain(1 / best.perToken)} tokens a second: TPOT ${quantity(best.perToken, 's')}, ` +
        `TTFT ${quantity(first, 's')}`,
    ],
    [
      'All users',
      `${together(best.throughput)} tokens a second, with a batch of ${plain(best.batch)}: a ` +
        `larger one would ${best.limit === 'memory' ? 'not fit' : 'miss the target'}`,
    ],
    ['Per million tokens', `output ${money(dollars)}, input ${money(read)}`],
    ['Takes longest', `${what}, ${percent(share)} of a step`],
    ['What limits a step', limitsInWords(lines, most)],
  ];
}

const PARTS = [
  'explorer-part-0',
  'explorer-part-1',
  'explorer-part-2',
  'explorer-part-3',
  'explorer-part-4',
]; // in full: unused styles are left out of the site

function stack(title, words, values, whole, classes) {
  const key = words.map((name, at) =>
    make(
      'li',
      {},
      make('span', { class: `explorer-swatch ${classes[at]}`, 'aria-hidden': 'true' }),
      ...withUnits(name),
    ),
  );
  const track = make(
    'span',
    { class: 'explorer-stack', 'aria-hidden': 'true' },
    ...values.map((value, at) =>
      make('span', { class: classes[at], style: `width:${(100 * value) / whole}%` }),
    ),
  );
  return [
    make('p', { class: 'explorer-title' }, ...withUnits(title)),
    make('ul', { class: 'explorer-legend' }, ...key),
    track,
  ];
}

export function draw(explorer, _state, { parts, best, keeps, server }) {
  explorer.extra ??= explorer.rest.appendChild(make('div', { class: 'explorer-panel' }));
  for (const part of [explorer.stage, explorer.rest]) part.hidden = !explorer.result.most;
  if (!best) {
    explorer.extra.replaceChildren();
    return;
  }
  const memory = [keeps.weights, best.batch * keeps.cache, best.batch * keeps.activations];
  const names = Object.keys(parts).filter((name) => parts[name] > SEEN * best.perToken);
  explorer.extra.replaceChildren(
    ...stack(
      `Where the ${quantity(best.perToken, 's', 3)} go, counting for each op the longer of ` +
        'reading and computing',
      names.map((name) => `${LONG[name]} ${quantity(parts[name], 's', 3)}`),
      names.map((name) => parts[name]),
      best.perToken,
      names.map((name) => PARTS[Object.keys(parts).indexOf(name)]),
    ),
    ...stack(
      `What each device keeps in its usable ${inBytes(server.device.capacity)}`,
      ['weights', 'caches', 'activations'].map(
        (name, at) => `${name} ${quantity(memory[at], 'B', 3)}`,
      ),
      memory,
      server.device.capacity,
      PARTS,
    ),
  );
}

export const warning = (state) => beyond(state.model, state.context, 1);

export const note = () =>
  'Each op takes as long as its computing or its moving, whichever is longer, at the peak rates ' +
  'of the datasheet. With many users, computing with the weights takes longer than reading them, ' +
  'so the bar has little or no reading of weights. Messages are added. A tenth of the memory is ' +
  'reserved. The prefill of prompts in between is left out here, and the film of a server ' +
  'shows it.';

export function table(state, { frontier, server }) {
  return {
    columns: [
      'batch',
      'TPOT (s)',
      'tokens/s per user',
      'tokens/s in total',
      '$ per million output tokens',
    ],
    rows: frontier.map(({ batch, perToken, perUser, throughput }) => [
      batch,
      perToken,
      perUser,
      throughput,
      perMillion(1 / throughput, state.price * server.shared, state.used / 100),
    ]),
  };
}
