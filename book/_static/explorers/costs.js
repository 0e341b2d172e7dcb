// A choice, asked of costlib: its answers and the seconds of a step for a curve, or what is wrong
// with it.
import {
  answer,
  changed,
  engines,
  families,
  fleets,
  formats,
  hosts,
  journey,
  listed,
  modelIn,
  modelOf,
  models,
  nodes,
  precisionOf,
  recipes,
  served,
  sizeOf,
} from './costlib.js';
import { plain } from './numbers.js';
import { codes, isOwn, saidIn, textOf } from './own_models.js';

export { engines, families, formats, hosts, modelIn, models, recipes, sizeOf };

/** Parameters in short: 8.03B. */
export const billions = (size) => `${plain(size / 1e9, 3)}B`;

/** The first letters of a name: llama, qwen, deepseek. */
const familyOf = (name) => name.match(/^[A-Za-z]+/)[0];
/** Models of the catalogue in families, small ones first, each with its parameters. */
const sized = models
  .map((name) => [name, `${name} · ${billions(sizeOf(name))}`, '', familyOf(name)])
  .sort(([one], [other]) =>
    familyOf(one) === familyOf(other)
      ? sizeOf(one) - sizeOf(other)
      : familyOf(one) < familyOf(other)
        ? -1
        : 1,
  );
/**
 * Models to choose from: those of the catalogue, and before them whatever was brought.
 * @returns {Choice[]}
 */
export function modelChoices() {
  const own = codes();
  if (own.length + models.length !== offered.length)
    offered = [
      ...own.map((code) => [code, `${nameOf(code)} (yours)`, wholeNameOf(code), 'yours']),
      ...sized,
    ];
  return offered;
}
let offered = sized; // made again when a model is brought

/** What a server can stand on: devices, and nodes of them. */
export const places = [...hosts, ...nodes];

/**
 * Names as the options of a list.
 * @param {string[]} names
 * @returns {[string, string][]}
 */
export const same = (names) => names.map((name) => [name, name]);

/**
 * The latency of a round of messages, and in what a step is computed.
 * @type {Control[]}
 */
export const rounds = [
  {
    id: 'wait',
    label: 'Message latency',
    unit: 'µs per round',
    type: 'number',
    min: 0,
    max: 1000,
    value: 0,
    digits: 1,
    more: true,
  },
  {
    id: 'precision',
    label: 'Precision',
    type: 'choice',
    value: 'own',
    options: [['own', 'as the model ships'], ...same(recipes)],
    more: true,
  },
];

export const KINDS = ['weights', 'activations', 'kv'];

/** The devices of a choice as costlib calls them: H100-SXMx8. */
export const deviceOf = ({ device, many }) => (many > 1 ? `${device}x${many}` : device);

/** The formats that a choice has of its own, of kinds of tensors. */
export const kindsOf = (choice) =>
  Object.fromEntries(
    KINDS.filter((kind) => choice[kind] !== 'own').map((kind) => [kind, choice[kind]]),
  );

/** The degrees of a plan that are not 1, which the devices leave to the tensors. */
export const cutOf = ({ pipeline, expert, data, dcp }) =>
  Object.fromEntries(
    Object.entries({ pipeline, expert, data, dcp }).filter(([, degree]) => degree > 1),
  );

const DAMAGED =
  'The config.json in this link is cut off or damaged: ask for the whole link, or bring the file.';
const read = new Map(); // models, by name or code

function modelOfChoice({ model }) {
  if (!read.has(model)) {
    if (isOwn(model) && !textOf(model)) throw new Error(DAMAGED);
    read.set(model, isOwn(model) ? modelIn(textOf(model)) : modelOf(model));
  }
  return read.get(model);
}

/**
 * What a model is called in full: one that was brought as its config says, or by its kind and size.
 */
export function wholeNameOf(model) {
  if (!isOwn(model)) return model;
  const { name, kind } = saidIn(model);
  try {
    return name || `${kind} ${billions(modelOfChoice({ model }).params())}`;
  } catch {
    return 'config.json';
  }
}

const LONGEST = 60; // letters of a name that has a place on a page

/**
 * What it is called where there is little room; of several that are called the same, the second on
 * has a number.
 */
export function nameOf(model) {
  const name = wholeNameOf(model);
  const brief = name.length > LONGEST ? `${name.slice(0, LONGEST - 1)}…` : name;
  const before =
    codes().indexOf(model) < 1
      ? []
      : codes()
          .slice(0, codes().indexOf(model))
          .filter((each) => wholeNameOf(each) === name);
  return before.length ? `${brief} (${before.length + 1})` : brief;
}

function precisionIn(choice) {
  const kinds = kindsOf(choice);
  const recipe = choice.precision === 'own' ? null : choice.precision;
  if (!Object.keys(kinds).length) return recipe;
  return changed(recipe ? precisionOf(recipe) : modelOfChoice(choice).precision, kinds);
}

/**
 * What a device of a choice costs an hour and draws: as chosen, or, where that is 0, as listed;
 * undefined where nobody lists it.
 */
export const priceOf = ({ device, price }) => price || (listed(device)?.price ?? undefined);
export const wattsOf = ({ device, watts }) => watts || (listed(device)?.watts ?? undefined);
/** Whose price of which day that is; nothing for one's own. */
export const pricedBy = ({ device, price }) => (price ? '' : (listed(device)?.source ?? ''));

/** The arguments of costlib.answer beside model, device and precision, by their names in Python. */
export function asked(choice) {
  const { wait, batch, prompt, answer: written, engine } = choice;
  const [price, watts] = [priceOf(choice), wattsOf(choice)];
  return {
    ...cutOf(choice),
    ...(wait ? { latency: wait / 1e6 } : {}),
    batch,
    context: prompt + written,
    prompt,
    ...(price === undefined ? {} : { price_per_hour: price }),
    ...(watts === undefined ? {} : { watts }),
    ...(engine === EXACT ? {} : { engine }),
  };
}

/** In place of an engine: the exact bytes. */
export const EXACT = 'exact';

/** What is asked for when the question is turned round, by the names in Python. */
export function load({ batch, prompt, answer: written, wait, engine }, { speed, first }) {
  return {
    users: batch,
    prompt,
    answer: written,
    tpot: 1 / speed,
    ...(first ? { ttft: first / 1000 } : {}),
    ...(wait ? { latency: wait / 1e6 } : {}),
    ...(engine === EXACT ? {} : { engine }),
  };
}

/** The fewest of a device so far, after each plan that is tried: see costlib.serving.fleets. */
export function* fewest(choice, device, targets) {
  const precision = precisionIn(choice);
  yield* fleets(modelOfChoice(choice), device, { ...load(choice, targets), precision });
}

/**
 * What is answered, or what is wrong in costlib's words.
 * @returns {any}
 */
export function answered(choice) {
  try {
    const given = { ...asked(choice), precision: precisionIn(choice) };
    const { rows, ...found } = answer(modelOfChoice(choice), deviceOf(choice), given);
    const by = new Map(rows.map((row) => [row.key, row]));
    return { rows, by, ...found };
  } catch (error) {
    return { error: error.message };
  }
}

/** The model of a choice read beforehand, if it can be. */
export function prepared(choice) {
  try {
    return modelOfChoice(choice);
  } catch {
    return null; // which is said when it is asked
  }
}

/** The parts of an answer, one by one: code takes longest the first time that it runs. */
export function* begun(choice) {
  try {
    const model = modelOfChoice(choice);
    yield;
    const { batch, context, latency, engine } = asked(choice);
    const options = { ...cutOf(choice), latency, engine, precision: precisionIn(choice) };
    yield* served(model, deviceOf(choice), batch, context, options);
  } catch {
    // which is said when it is asked
  }
}

/** The catalogue read, a model a task. */
export function* readAll() {
  for (const model of models) {
    if (!read.has(model)) yield prepared({ model });
  }
}

/** A step's way through the layers: see costlib.js; what is wrong in costlib's words is thrown. */
export function* journeyOf(choice) {
  const model = modelOfChoice(choice);
  yield;
  return yield* journey(model, deviceOf(choice), choice.batch, choice.context, {
    precision: precisionIn(choice),
    latency: choice.wait ? choice.wait / 1e6 : undefined,
  });
}
