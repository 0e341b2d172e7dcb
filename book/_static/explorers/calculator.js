// What everybody asks who serves a model: costlib.answer in the page, up to four choices side by
// side, each number with its sum.
import { Answers } from './answers_table.js';
import {
  answered,
  begun,
  cutOf,
  EXACT,
  engines,
  formats,
  kindsOf,
  modelChoices,
  nameOf,
  places,
  prepared,
  pricedBy,
  priceOf,
  readAll,
  rounds,
  same,
  wattsOf,
  wholeNameOf,
} from './costs.js';
import { folded, inWords, make, otherThings, withUnits } from './dom.js';
import { finder } from './finder.js';
import { Fleets } from './fleet.js';
import { hint, sayRanges } from './hints.js';
import { MemoryBars } from './memory_bars.js';
import { counted, dollars, plain, quantity, sweep } from './numbers.js';
import { decoded, isOwn, PATTERN, textOf } from './own_models.js';
import { panel } from './own_panel.js';
import { offers, refusal } from './refusals.js';
import {
  filesOf,
  frameFor,
  json,
  jsonOfFleets,
  markdown,
  python,
  pythonOfFleet,
  rowsOf,
  shell,
  shellOfFleet,
} from './share.js';
import { choicesOf, MOST, placeOf, stateOf, told, withOthers } from './side_by_side.js';
import { said } from './table.js';

const whole = (id, label, unit, value, max) => ({
  id,
  label,
  unit,
  type: 'number',
  min: 1,
  max,
  value,
  powers: true,
});
const MOST_USERS = 65536;
const more = (control) => ({ ...control, more: true });
const kind = (id, label) => ({
  id,
  label,
  type: 'choice',
  value: 'own',
  more: true,
  options: [
    ['own', 'as under Precision'],
    ...Object.entries(formats).map(([name, bytes]) => [
      name,
      `${name}: ${bytes} ${bytes === 1 ? 'byte' : 'bytes'}`,
    ]),
  ],
});
const settings = [
  {
    id: 'model',
    label: 'Model',
    type: 'choice',
    options: modelChoices,
    value: 'llama-3.1-8b',
    pattern: PATTERN,
  },
  { id: 'device', label: 'Device', type: 'choice', options: same(places), value: 'H100-SXM' },
  whole('many', 'How many devices', '', 1, 65536),
  whole('batch', 'Users', '', 8, MOST_USERS),
  whole('prompt', 'Input', 'tokens', 7000, 1048576),
  whole('answer', 'Output', 'tokens', 1000, 1048576),
  more(whole('pipeline', 'Pipeline', 'stages of layers', 1, 1024)),
  more(whole('expert', 'Expert', 'copies that share one set of experts', 1, 4096)),
  more(whole('data', 'Data', 'copies of the model', 1, 65536)),
  more(whole('dcp', 'Cache by tokens, DCP', 'devices that share one cache', 1, 1024)),
  ...rounds,
  {
    id: 'engine',
    label: 'Memory',
    type: 'choice',
    value: EXACT,
    options: [
      [EXACT, 'exact bytes, a tenth reserved'],
      ...engines.map((name) => [name, `as ${name} counts`]),
    ],
    more: true,
  },
  kind('weights', 'Weights'),
  kind('kv', 'Cache'),
  kind('activations', 'Activations'),
  {
    id: 'price',
    label: 'Price',
    unit: '$ per device-hour',
    type: 'number',
    min: 0,
    max: 1000,
    value: 0,
    digits: 2,
    blank: (state) => pricedNow(priceOf(state)),
    more: true,
  },
  {
    id: 'watts',
    label: 'Power',
    unit: 'watts per device',
    type: 'number',
    min: 0,
    max: 100000,
    value: 0,
    linear: true,
    blank: (state) => pricedNow(wattsOf(state)),
    more: true,
  },
];
/** What stands in an empty field: what is listed of the device. */
const pricedNow = (listed) => (listed === undefined ? 'none listed' : `${listed} (listed)`);
/** The question, and what is asked where it is turned round. */
const turned = [
  {
    id: 'ask',
    label: 'Question',
    type: 'choice',
    value: 'fit',
    options: [
      ['fit', 'Does it fit?'],
      ['fewest', 'How many devices do I need?'],
    ],
    elsewhere: true,
  },
  { ...whole('speed', 'Each user at least', 'tokens/s', 30, 1000), min: 1 },
  { ...whole('first', 'TTFT', 'ms at most', 0, 60000), min: 0, blank: () => 'any' },
];
/** @type {Control[]} */
export const controls = [...withOthers(settings), ...turned];
const isTurned = (state) => state.ask === 'fewest';
/** The state in which the settings show one of some choices, and the question stays. */
const showing = ({ ask, speed, first }, choices, at) => ({
  ...stateOf(settings, choices, at),
  ask,
  speed,
  first,
});
export { filesOf, python, shell, shellOfFleet };

const TURNED =
  'The question turned round: the fewest devices of each kind that serve them, with the plan ' +
  'and the price.';
const CHARGED =
  'An engine allocates the KV cache in pages and keeps some memory for itself. The last ' +
  'column counts as vLLM does.';

/** One user of what is chosen. */
function alone(state) {
  const choice = choicesOf(settings, state)[placeOf(state)];
  const [many, one] = [choice, { ...choice, batch: 1 }].map(
    (each) => answersOf(each).by?.get('tpot_s').value,
  );
  const ratio = (one * choice.batch) / many;
  return {
    state: { ...state, ask: 'fit', batch: 1 },
    say:
      'A step reads all weights for a single token' +
      (ratio > 1
        ? `, so this one token costs ${plain(ratio, 2)} times as much as it does in a batch of ` +
          `${plain(choice.batch)}.`
        : '.'),
  };
}

/** As many users of what is chosen as there is room for. */
function asManyAsFit(state) {
  const choice = choicesOf(settings, state)[placeOf(state)];
  const before = answersOf(choice);
  const most = before.by?.get('largest_batch').value;
  if (!most) return { state, say: 'Not even one user fits here.' };
  const batch = Math.min(most, MOST_USERS);
  const after = answersOf({ ...choice, batch }).by;
  const ratio = (key) => after.get(key).value / before.by.get(key).value;
  return {
    state: { ...state, ask: 'fit', batch },
    say:
      before.fits && batch > choice.batch
        ? `With ${plain(batch / choice.batch, 2)} times as many users, a step reads the weights ` +
          `once for all of them, and the KV cache of each. So total throughput is ` +
          `${plain(ratio('output_tokens_per_s'), 2)} times as high, and TPOT is ` +
          `${plain(ratio('tpot_s'), 2)} times as long.`
        : `${counted(batch, 'users')} fit, and one more would not.`,
  };
}

/** What is chosen, and beside it the same with a change. */
function withBeside(state, change, say) {
  const [choices, place] = [choicesOf(settings, state), placeOf(state)];
  const choice = choices[place];
  const kept = choices.length < MOST ? choices : [choice];
  const all = [...kept, { ...choice, ...change(choice) }];
  return { state: { ...showing(state, all, kept.indexOf(choice)), ask: 'fit' }, say };
}

const OTHER = 'A100-80GB'; // whose rent is listed

/** @type {Suggestion[]} */
export const tries = [
  {
    label: 'One user',
    state: { batch: 1 },
    here: alone,
    say:
      'A step reads all weights for a single token, so this one token costs five times as much ' +
      'as it does in a batch of eight.',
  },
  {
    label: 'As many as fit',
    state: { batch: 58 },
    here: asManyAsFit,
    say:
      'Seven times as many users share each read of the weights, but each of them has a KV ' +
      'cache to be read. So total throughput doubles, and TPOT is three times as long.',
  },
  {
    label: 'Llama 8B on a T4: too small',
    state: { device: 'T4' },
    say:
      'The weights alone take more than what is usable of the memory. With int4 weights, under ' +
      'Precision, they fit.',
  },
  {
    label: 'Llama 70B on four H100s',
    state: { model: 'llama-3.1-70b', many: 4 },
    say:
      'Each device holds a quarter of the weights and of the KV cache, and takes part in two ' +
      'all-reduces in each layer.',
  },
  {
    label: 'An A100 beside it',
    state: { beside: 'model=llama-3.1-8b&device=A100-80GB' },
    here: (state) =>
      withBeside(
        state,
        ({ device }) => ({ device: device === OTHER ? 'H100-SXM' : OTHER, price: 0, watts: 0 }),
        'The table shows on which of the two it fits, which one is faster, and which one costs ' +
          'less per million output tokens.',
      ),
    say:
      'The older device costs less than half as much an hour. The table shows which one costs ' +
      'less per million output tokens.',
  },
  {
    label: '200 users at 30 tokens/s',
    state: { ask: 'fewest', batch: 200 },
    say: TURNED,
    here: (state) => ({
      state: { ...state, ask: 'fewest', batch: 200, speed: 30, first: 0 },
      say: TURNED,
    }),
  },
  {
    label: 'What vLLM takes on',
    state: { beside: 'model=llama-3.1-8b&engine=vllm' },
    say: CHARGED,
    here: (state) => withBeside(state, () => ({ engine: 'vllm' }), CHARGED),
  },
];

const FIRST = [
  'fits',
  'largest_batch',
  'ttft_s',
  'tpot_s',
  'decode_bound',
  'output_tokens_per_s_per_user',
  'output_tokens_per_s',
  'usd_per_million_output_tokens',
];
// times, at most, until as many devices, in as many stages, hold a model
const [DOUBLED, STAGED] = [9, 5];
const SHOWN = 24; // batches of a curve

// ---------------------------------------------------------------- what is computed

const kept = new Map(); // what a choice gave, or a curve: the last ones
const MOST_KEPT = 1000;

function remembered(key, make) {
  if (!kept.has(key)) {
    if (kept.size > MOST_KEPT) kept.clear();
    kept.set(key, make());
  }
  return kept.get(key);
}

/** The answers of a choice by key; or what is wrong with it; or that its config is being read. */
function answersOf(choice) {
  if (isOwn(choice.model) && textOf(choice.model) === undefined) return { reading: true };
  return remembered(JSON.stringify(choice), () => answered(choice));
}

/** The largest batch that a curve goes to; 0 where none has an end. */
function mostOf({ by }) {
  const most = by?.get('largest_batch').value;
  return Number.isFinite(most) ? most : 0;
}

/** Every batch that fits, with the seconds of its step. */
function curve(choice, found) {
  const most = mostOf(found);
  if (!most) return null;
  const { batch, price, watts, prompt, answer, ...rest } = choice;
  const whole = remembered(`curve ${prompt + answer} ${JSON.stringify(rest)}`, () =>
    sweep(1, most, SHOWN).map((each) => ({ batch: each, seconds: found.step(each) })),
  );
  const chosen = Math.min(batch, most);
  const points = whole.some((point) => point.batch === chosen)
    ? whole
    : [...whole, { batch: chosen, seconds: found.step(chosen) }].sort((a, b) => a.batch - b.batch);
  const all = (point) => (point.batch * choice.data) / point.seconds; // of every copy
  return { most, chosen, points, all, here: points.find((point) => point.batch === chosen) };
}

const SAID = {
  engine: (value) => (value === EXACT ? 'exact bytes' : `as ${value} counts`),
  many: (value) => (value > 1 ? `${plain(value)} devices` : 'one device'),
  price: (value) => (value ? `$${value} an hour each` : 'the listed price'),
  watts: (value) => (value ? `${value} W` : 'the power of its datasheet'),
  wait: (value) => (value ? `latency of ${value} µs` : 'no latency'),
  precision: (value) => (value === 'own' ? 'as it ships' : value),
};
/** The formats that somebody chose, in words. */
const formatsOf = (choice) =>
  (choice.precision === 'own' ? '' : ` in ${choice.precision}`) +
  Object.entries(kindsOf(choice))
    .map(([kind, format]) => `, ${kind} in ${format}`)
    .join('');
const devicesOf = ({ device, many }) => (many > 1 ? `${plain(many)} × ${device}` : device);
function wordsOf(id, choice) {
  const value = choice[id];
  if (id === 'model') return nameOf(value);
  if (id === 'device') return devicesOf(choice);
  return SAID[id]?.(value) ?? `${id} ${typeof value === 'number' ? plain(value) : value}`;
}

/** The settings that may tell choices apart: a device is named with how many of it there are. */
const tellingOf = (choices) =>
  choices.some(({ device }) => device !== choices[0].device)
    ? settings.filter(({ id }) => id !== 'many')
    : settings;

/** What the first picture needs, in tasks short enough that the page answers in between. */
export function* ahead(state) {
  if (isTurned(state)) return;
  for (const choice of choicesOf(settings, state)) {
    yield* begun(choice);
    yield answersOf(choice);
    yield curve(choice, answersOf(choice));
  }
}

const NEAREST = 8; // states that come before all models are read

/** What a change of a setting to one of these states will need, the likeliest first. */
export function* foreseen(states, { id }) {
  yield* withCurves(states.slice(0, NEAREST));
  if (id === 'model') yield* readAll();
  yield* withCurves(states.slice(NEAREST));
}

function* withCurves(states) {
  for (const state of states) {
    for (const choice of choicesOf(settings, state)) {
      yield prepared(choice);
      yield answersOf(choice);
      yield curve(choice, answersOf(choice));
    }
  }
}

/** The curve comes after the answers. */
export const chartsLater = true;

export function compute(state) {
  if (isTurned(state)) return atRest(state);
  const [choices, place] = [choicesOf(settings, state), placeOf(state)];
  const found = choices.map(answersOf);
  const longest = [...found].sort((a, b) => (b.rows?.length ?? 0) - (a.rows?.length ?? 0));
  const keys = [...new Set(longest.flatMap(({ rows = [] }) => rows.map(({ key }) => key)))];
  const inFull = (id, choice) => (id === 'model' ? wholeNameOf(choice.model) : wordsOf(id, choice));
  return {
    choices,
    place,
    found,
    keys,
    names: told(tellingOf(choices), choices, wordsOf),
    whole: told(tellingOf(choices), choices, inFull),
  };
}

/** Where the question is turned round: the choices, of which none is answered. */
function atRest(state) {
  const choices = choicesOf(settings, state);
  const none = choices.map(() => ({}));
  const names = told(tellingOf(choices), choices, wordsOf);
  return { choices, place: placeOf(state), found: none, keys: [], names, whole: names };
}

// ---------------------------------------------------------------- what is shown

const inGB = (bytes) => `${plain(bytes / 1e9)} GB`;

/** Why not even one user fits: bytes of a device, or of what an engine gives its caches. */
function tooSmall({ engine }, by) {
  const of = (key) => by.get(key).value;
  if (engine === EXACT)
    return (
      `each device would need ${inGB(of('memory_bytes'))} and has ` +
      `${inGB(of('usable_bytes'))} usable`
    );
  const [given, each] = ['kv_cache_capacity_bytes', 'charged_kv_bytes_per_sequence'].map(of);
  return given
    ? `${engine} has ${inGB(given)} for KV caches, and that of one user takes ${inGB(each)}`
    : `with the weights loaded, ${engine} has no memory left for KV caches`;
}

/** A choice in a sentence: whether it fits, for how many, how fast, at what price. */
export function sentence(choice, { by, fits, error, reading, devices, warnings = [] }) {
  const cut = Object.entries(cutOf(choice))
    .map(([axis, degree]) => `, ${axis} ${degree}`)
    .join('');
  const counts = choice.engine === EXACT ? '' : `, as ${choice.engine} counts`;
  const what = wordsOf('model', choice) + formatsOf(choice);
  const who = `${what} on ${devicesOf(choice)}${cut}${counts}`;
  if (reading) return `${who}: loading its config`;
  if (error) return `${who}: ${refusal(error, choice).said}`;
  const most = by.get('largest_batch').value;
  const copies = choice.data > 1 ? ' in each copy' : '';
  const users = (count) =>
    Number.isFinite(count) ? `${counted(count, 'users')}${copies}` : 'any number of users';
  const each = `${plain(choice.prompt + choice.answer)} tokens each`;
  if (!fits)
    return most
      ? `${who}: no, not for ${users(choice.batch)} at ${each}. There is room for ${plain(most)}` +
          `${priceOf(choice) ? `, at ${dollars(priceOf(choice) * devices)} an hour` : ''}.`
      : `${who}: no: ${tooSmall(choice, by)}.`;
  const price = priceOf(choice);
  const million = by.get('usd_per_million_output_tokens');
  const paid = price
    ? ` ${dollars(price * devices)} an hour, ${dollars(million.value)} per million output tokens.`
    : ' No price of this device is listed, so type yours under Price.';
  return (
    `${who}: yes, for up to ${users(most)} at ${each}. ` +
    `With ${users(choice.batch)}, ${choice.batch * choice.data > 1 ? 'each' : 'this user'} gets ` +
    `${by.get('output_tokens_per_s_per_user').shown}.${paid}` +
    warnings.map((text) => ` But ${text}.`).join('')
  );
}

const MONTH = 730; // hours

/** What all devices of a choice cost, and who says so; nothing where nobody does. */
function rent(choice, devices) {
  const price = priceOf(choice);
  return (
    price && [
      `${dollars(price * devices)} an hour, ${dollars(price * devices * MONTH)} a month`,
      pricedBy(choice) || 'as you typed',
    ]
  );
}

/** What they draw. */
function power(choice, devices) {
  const watts = wattsOf(choice);
  return (
    watts && [
      `at most ${quantity(watts * devices, 'W', 3)}`,
      choice.watts ? 'as you typed' : 'its datasheet',
    ]
  );
}

/** Of several choices one text, with their numbers, in which no source is repeated. */
function listedFor(choices, found, said) {
  const each = choices.map((choice, at) => found[at].by && said(choice, found[at].devices));
  const sources = new Set(each.filter(Boolean).map(([, source]) => source));
  if (!sources.size) return '';
  const one = (text, at) => (choices.length > 1 ? `${at + 1}: ${text}` : text);
  const whose = ([text, source]) => (sources.size > 1 ? `${text} (${source})` : text);
  const texts = each.map((known, at) => one(known ? whose(known) : 'none listed', at)).join('; ');
  return sources.size > 1 ? texts : `${texts} (${[...sources][0]})`;
}

/** What all devices of each choice cost and draw. */
export function summary(state, { choices, found }) {
  if (isTurned(state)) return [];
  const [paid, drawn] = [rent, power].map((said) => listedFor(choices, found, said));
  return [
    ['Rent', paid],
    ['Power', drawn],
  ].filter(([, text]) => text);
}

export const note = (state) => (isTurned(state) ? NOTE_OF_FLEETS : NOTE);
const NOTE_OF_FLEETS =
  'Plans of up to 64 devices that share a copy are tried, at a datasheet’s rates: published ' +
  'servers reach about half. Prompts that arrive together and wait for one another are left out.';
const NOTE =
  'Rates are a datasheet’s and overlap perfectly: published servers reach about half. Where ' +
  'bytes are exact, a tenth of the memory is reserved. What each user gets is for decode alone. ' +
  'It is less while the prompts of others are prefilled, which the other question counts. A ' +
  'decode step is the last of a request, when all its tokens are cached.';

export function table(state, { keys, found, names }, explorer) {
  if (isTurned(state)) return explorer.parts.fleets.table();
  return {
    columns: ['answer', 'unit', ...names],
    rows: keys.map((key) => [
      key,
      found.find(({ by }) => by?.has(key)).by.get(key).unit,
      ...found.map(({ by }) => by?.get(key)?.value ?? ''),
    ]),
    words: Object.fromEntries(
      keys.map((key) => [key, found.find(({ by }) => by?.has(key)).by.get(key).name]),
    ),
  };
}

/**
 * Every batch that fits, of every choice: what one gets against what all get; the chosen one can be
 * dragged.
 */
export function charts(state, { choices, place, found, names }) {
  if (isTurned(state)) return [];
  const curves = choices.map((choice, at) => curve(choice, found[at]));
  const points = curves
    .flatMap((each, at) => (each ? each.points.map((point) => ({ ...point, at })) : []))
    .sort((a, b) => b.seconds - a.seconds);
  if (!points.length) return [];
  const held = curves[place];
  const label = (at) =>
    choices.length > 1 ? `${at + 1}: ${names[at]}` : `batch 1 to ${plain(curves[at].most)}`;
  const ends = ({ points: every, all, most }) =>
    `from ${plain(1 / every[0].seconds)} tokens/s for one user alone to ` +
    `${plain(all(every.at(-1)))} for ${plain(most)} together`;
  return [
    {
      below: true,
      title: held ? titleOf(held, choices[place].batch) : 'All batches that fit',
      alt: curves
        .flatMap((each, at) =>
          each ? [`${choices.length > 1 ? `${label(at)}, ` : ''}${ends(each)}.`] : [],
        )
        .join(' '),
      x: { label: 'tokens/s per user' },
      y: { label: 'tokens/s in total' },
      xs: points.map(({ seconds }) => 1 / seconds),
      names: points.map(
        ({ batch, at }) => `${choices.length > 1 ? `${at + 1}: ` : ''}batch ${plain(batch)}`,
      ),
      series: curves.flatMap((each, at) =>
        each
          ? [
              {
                label: label(at),
                colour: at,
                dash: at,
                ys: points.map((point) => (point.at === at ? each.all(point) : null)),
              },
            ]
          : [],
      ),
      ...(held
        ? {
            at: { x: 1 / held.here.seconds, label: `batch ${plain(held.chosen)}` },
            drag: (x) => ({ batch: nearest(held.points, x) }),
          }
        : {}),
    },
  ];
}

/** A batch that does not fit is shown as the largest that does. */
const titleOf = ({ chosen, most }, batch) =>
  batch > most
    ? `Batch ${plain(most)}: ${plain(batch)} do not fit`
    : `Batch ${plain(chosen)}, of ${plain(most)} that fit`;

const nearest = (points, x) =>
  points.reduce((best, point) =>
    Math.abs(Math.log(x * point.seconds)) < Math.abs(Math.log(x * best.seconds)) ? point : best,
  ).batch;

// ---------------------------------------------------------------- the page

export function build(explorer) {
  const home = explorer.root.dataset.home ?? '';
  const add = make(
    'button',
    { type: 'button', '.onclick': () => beside(explorer) },
    'Add a choice',
  );
  const form = explorer.root.querySelector('.explorer-controls');
  form.append(make('div', { class: 'calculator-more' }, panel(explorer), add));
  form.prepend(question(explorer));
  const choose = (at) => explorer.set(showing(explorer.state, explorer.result.choices, at));
  const remove = (at) => takeAway(explorer, at);
  const [first, others] = [
    new Answers('Main answers', home, choose, remove),
    new Answers('All other answers', home, choose),
  ];
  const refused = make('p', { class: 'own-wrong' });
  const instead = make('div', { class: 'calculator-instead', role: 'group', 'aria-label': 'Try' });
  const verdict = make('p', { class: 'calculator-verdict' });
  const [memory, fleets] = [new MemoryBars(), new Fleets(explorer)];
  const enough = make(
    'button',
    { type: 'button', class: 'calculator-enough', '.onclick': () => hold(explorer) },
    'Use as many devices as it needs',
  );
  const unpriced = make(
    'button',
    { type: 'button', class: 'calculator-unpriced', '.onclick': () => askPrice(explorer) },
    'Type a price',
  );
  explorer.stage.append(refused, instead, verdict, memory.box, enough, unpriced);
  explorer.stage.after(first.box, fleets.part);
  finder(explorer, 'model', '70b…');
  finder(explorer, 'device', '2 H100…', 'many');
  sayRanges(explorer);
  explorer.heard = explorer.root.appendChild(
    make('p', { class: 'explorer-offscreen', role: 'status' }),
  );
  const taken = takenAlong(explorer);
  explorer.rest.after(others.box, taken.box); // below the chart
  explorer.parts = {
    add,
    enough,
    first,
    fleets,
    instead,
    memory,
    others,
    refused,
    taken,
    unpriced,
    verdict,
  };
}

/** The field of the price, which stands among other settings. */
function askPrice({ inputs, more }) {
  more.open = true;
  more.dispatchEvent(new Event('toggle')); // now, and not in a moment
  inputs.get('price').number.focus();
}

/** Which question is asked: two buttons, of which one is pressed. */
function question(explorer) {
  const { options } = turned[0];
  const buttons = options.map(([ask, text]) =>
    make(
      'button',
      {
        type: 'button',
        value: ask,
        '.onclick': () => explorer.set({ ...explorer.state, ask }),
      },
      text,
    ),
  );
  return make(
    'div',
    { class: 'calculator-question', role: 'group', 'aria-label': 'Question' },
    ...buttons,
  );
}

/** What belongs to the other question is out of sight. */
function turn(explorer, state) {
  const { root, inputs, parts } = explorer;
  root.classList.toggle('calculator-turned', isTurned(state));
  for (const button of root.querySelectorAll('.calculator-question button'))
    button.setAttribute('aria-pressed', String(button.value === state.ask));
  const shown = (id, is) => {
    const field = inputs.get(id)?.number.closest('.explorer-field');
    if (field) field.hidden = !is; // there is none before its fold is opened
  };
  for (const id of ['many', 'pipeline', 'expert', 'data', 'dcp']) shown(id, !isTurned(state));
  for (const id of ['speed', 'first']) shown(id, isTurned(state));
  parts.first.box.hidden = isTurned(state);
  parts.others.box.hidden = isTurned(state);
  parts.fleets.part.hidden = !isTurned(state);
}

/** A copy of the choice that the settings show, which they show from now on. */
function beside(explorer) {
  const { choices, place } = explorer.result;
  explorer.set(showing(explorer.state, [...choices, choices[place]], choices.length));
  explorer.say(
    `Choice ${choices.length + 1} is a copy of ${place + 1}, and the settings now change it.`,
  );
  if (choices.length + 1 === MOST)
    // the button goes
    explorer.defer(
      'focus',
      () => explorer.parts.first.focus(choices.length, { preventScroll: true }),
      requestAnimationFrame,
    );
}

/**
 * So many of the device that the choice fits, by doubling, in as few stages as that allows; or a
 * sentence that says that none do.
 */
async function hold(explorer) {
  const {
    state,
    result: { choices, place },
  } = explorer;
  const powers = (most) => Array.from({ length: most + 1 }, (_, at) => 2 ** at);
  const plans = powers(DOUBLED).flatMap((more) =>
    powers(STAGED).map((pipeline) => ({ many: choices[place].many * more, pipeline })),
  );
  for (const plan of plans.filter(({ many, pipeline }) => many >= pipeline)) {
    const { fits } = answered({ ...choices[place], ...plan });
    if (fits) {
      explorer.undoable();
      explorer.set({ ...state, ...plan });
      explorer.say(
        `${counted(plan.many, 'devices')}` +
          `${plan.pipeline > 1 ? ` in ${counted(plan.pipeline, 'stages')}` : ''} ` +
          `${plan.many > 1 ? 'hold' : 'holds'} it.`,
      );
      return;
    }
    await otherThings();
    if (explorer.state !== state) return; // another was chosen meanwhile
  }
  explorer.say(
    'It does not fit on any number of these devices. Fewer bits, fewer users or another ' +
      'device would help.',
  );
}

function takeAway(explorer, at) {
  const { choices, place } = explorer.result;
  explorer.set(
    showing(
      explorer.state,
      choices.filter((_, other) => other !== at),
      Math.max(0, place - (place >= at && place > 0 ? 1 : 0)),
    ),
  );
  explorer.parts.add.focus();
}

/** What can be taken along. */
function takenAlong(explorer) {
  const lines = [
    ['Python', 'after import costlib'],
    ['Terminal', ''],
    ['Another page', 'one line of HTML'],
  ].map(([name, more]) => {
    const [text, code] = [make('pre', { tabindex: '0', 'aria-label': name }), make('code')];
    text.append(code);
    const button = make(
      'button',
      {
        type: 'button',
        '.onclick': () => explorer.copied(code.textContent, 'The line is copied.'),
      },
      'Copy',
    );
    return {
      code,
      button,
      box: make(
        'div',
        { class: 'calculator-line' },
        make('p', { class: 'explorer-title' }, `${name}${more ? `, ${more}` : ''}`),
        text,
        button,
      ),
    };
  });
  const shown = ({ result, state }) =>
    markdown(isTurned(state) ? said(explorer.table()) : rowsOf(result));
  const every = ({ result: { choices, found, place }, state }) =>
    isTurned(state) ? jsonOfFleets(choices[place], state, explorer.table()) : json(choices, found);
  const buttons = [
    ['Copy the table', () => explorer.copied(shown(explorer), 'The table is copied.')],
    [
      'Copy as JSON',
      () => explorer.copied(every(explorer), 'All numbers and settings are copied.'),
    ],
  ].map(([text, action]) => make('button', { type: 'button', '.onclick': action }, String(text)));
  const box = folded(
    { class: 'explorer-more', '.ontoggle': () => fillTaken(explorer) },
    'Export: Python, terminal, table, JSON, another page',
    make('div', { class: 'explorer-buttons' }, ...buttons),
    ...lines.map((line) => line.box),
  );
  return { box, lines };
}

const ONE_PRECISION = '# the command has one precision for all kinds: Python has each';

/** The lines to take along, which nobody sees while they are folded. */
function fillTaken({ parts: { taken }, result: { choices, place }, root, state }) {
  const [inPython, inShell, elsewhere] = taken.lines;
  const files = filesOf(choices);
  const put = ({ code }, text) => code.replaceChildren(...inWords(text));
  put(elsewhere, frameFor(embedded(root.dataset.home, state)));
  if (isTurned(state)) {
    put(inPython, pythonOfFleet(choices[place], files[place], state));
    put(inShell, shellOfFleet(choices[place], files[place], state) ?? ONE_PRECISION);
    return;
  }
  put(inPython, choices.map((choice, at) => python(choice, files[at])).join('\n'));
  put(inShell, choices.map((choice, at) => shell(choice, files[at]) ?? ONE_PRECISION).join('\n'));
}

export function draw(explorer, state) {
  const { choices, place, found } = explorer.result;
  turn(explorer, state);
  if (isTurned(state)) {
    drawTurned(explorer, state);
    return;
  }
  explorer.parts.fleets.stop();
  // what was answered stays, without its numbers
  if (explorer.result.keys.length) explorer.answered = explorer.result.keys;
  const keys = explorer.answered ?? [];
  for (const [at, { reading }] of found.entries())
    if (reading)
      explorer.defer(
        `config ${at}`,
        () => explorer.redraw(),
        (run) => decoded(choices[at].model).then(run),
      );
  const { add, enough, first, memory, others, refused, taken, unpriced, verdict } = explorer.parts;
  add.hidden = choices.length >= MOST;
  const said = found
    .flatMap((each, at) => (each.error ? [] : [sentence(choices[at], each)]))
    .filter((_, at) => found.length === 1 || at === place);
  verdict.replaceChildren(...withUnits(said.join(' ')));
  memory.update(choices[place], found[place]);
  const wasOn = document.activeElement === enough;
  enough.hidden = found[place].fits !== false;
  unpriced.hidden = !found[place].fits || Boolean(priceOf(choices[place]));
  refused.textContent = found
    .flatMap(({ error }, at) => {
      if (!error) return [];
      const { said: why } = refusal(error, choices[at]);
      return [choices.length > 1 ? `${at + 1}: ${why}` : why];
    })
    .join(' ');
  refuse(explorer, choices[place], found[place].error);
  const some = keys
    .filter((key) => FIRST.includes(key))
    .sort((a, b) => FIRST.indexOf(a) - FIRST.indexOf(b));
  first.update(some, explorer.result);
  const more = keys.filter((key) => !FIRST.includes(key));
  explorer.deferPart('others', others.box, () => others.update(more, explorer.result));
  if (wasOn && enough.hidden) first.rows.get('fits')?.button.focus();
  explorer.rest.classList.toggle('calculator-no-room', !found.some(mostOf));
  if (taken.box.open) fillTaken(explorer);
  hear(explorer, choices[place], found[place]);
}

/** Buttons that mend an error; and what it says beside its field, if that is further below. */
function refuse(explorer, choice, error) {
  const { instead } = explorer.parts;
  const { id, said } = error ? refusal(error, choice) : { id: null, said: '' };
  const isFar = settings.find((each) => each.id === id)?.more;
  const [before, now] = [explorer.refusedAt, isFar ? id : null];
  if (before && before !== now) hint(explorer, before, '', 'calculator-refused');
  if (now) hint(explorer, now, said, 'calculator-refused');
  explorer.refusedAt = now;
  instead.replaceChildren();
  if (!id) return;
  const { state } = explorer;
  const isWanted = () => explorer.state === state;
  const show = (found) => {
    if (!isWanted() || !found.length) return;
    const buttons = found.map(([change, text]) =>
      make(
        'button',
        { type: 'button', '.onclick': () => explorer.set({ ...state, ...change }) },
        text,
      ),
    );
    instead.append(make('span', {}, 'Try'), ...buttons);
  };
  explorer.defer(
    'instead',
    () => {},
    (run) => offers(choice, id, isWanted).then(show).then(run),
  );
}

function drawTurned(explorer, state) {
  const { choices, place } = explorer.result;
  const { add, enough, fleets, memory, refused, taken, unpriced } = explorer.parts;
  for (const each of [add, enough, memory.box, unpriced]) each.hidden = true;
  refused.textContent = '';
  refuse(explorer, choices[place], '');
  explorer.rest.classList.add('calculator-no-room');
  fleets.update(choices[place], state);
  if (taken.box.open) fillTaken(explorer);
}

/** The address of the page that has the calculator alone, in this state. */
function embedded(home, state) {
  const changed = controls
    .filter(({ id, value }) => state[id] !== value)
    .map(({ id }) => [id, state[id]]);
  const [page] = new URL('../embed/calculator.html', home || location.href).href.split('#');
  return `${page}#${new URLSearchParams(changed)}`;
}

const REST = 500; // milliseconds without a change, and a screen reader is told

function hear(explorer, choice, found) {
  const said = sentence(choice, found);
  if (explorer.told !== undefined && explorer.told !== said) {
    clearTimeout(explorer.telling);
    explorer.telling = setTimeout(() => {
      explorer.heard.textContent = said;
    }, REST);
  }
  explorer.told = said;
}
