// A choice, asked of costlib: its answers, or what is wrong with it, and the seconds of a step for a curve.
import { answer, changed, formats, hosts, modelOf, models, nodes, precisionOf, recipes, stepSeconds } from './costlib.js';
import { quantity } from './numbers.js';
import { isOwn, saidIn, textOf } from './own_models.js';

export { formats, modelOf, models, recipes };

/** What a server can stand on: devices, and nodes of them. */
export const places = [...hosts, ...nodes];

export const KINDS = ['weights', 'activations', 'kv'];

/** The devices of a choice as costlib calls them: H100-SXMx8. */
export const deviceOf = ({ device, many }) => (many > 1 ? `${device}x${many}` : device);

/** The formats that a choice has of its own, of kinds of tensors. */
export const kindsOf = (choice) => Object.fromEntries(KINDS.filter((kind) => choice[kind] !== 'own').map((kind) => [kind, choice[kind]]));

/** The degrees of a plan that are not 1, which the devices leave to the tensors. */
export const cutOf = ({ pipeline, expert, data }) => Object.fromEntries(Object.entries({ pipeline, expert, data }).filter(([, degree]) => degree > 1));

const read = new Map(); // models, by name or code

function modelIn({ model }) {
  if (!read.has(model)) read.set(model, modelOf(isOwn(model) ? textOf(model) : model));
  return read.get(model);
}

/** What a model is called: one that was brought as its config says, or by its kind and size. */
export function nameOf(model) {
  if (!isOwn(model)) return model;
  const { name, kind } = saidIn(model);
  try {
    return name || `${kind} ${quantity(modelIn({ model }).params(), '', 3)}`;
  } catch {
    return 'your config.json';
  }
}

function precisionIn(choice) {
  const kinds = kindsOf(choice);
  const recipe = choice.precision === 'own' ? null : choice.precision;
  if (!Object.keys(kinds).length) return recipe;
  return changed(recipe ? precisionOf(recipe) : modelIn(choice).precision, kinds);
}

/** The arguments of costlib.answer beside model, device and precision, by their names in Python. */
export function asked(choice) {
  const { batch, prompt, answer: written, price, watts } = choice;
  return { ...cutOf(choice), batch, context: prompt + written, prompt, price_per_hour: price, watts };
}

/** What is answered, or what is wrong in costlib's words. */
export function answered(choice) {
  try {
    const { rows, fits } = answer(modelIn(choice), deviceOf(choice), { ...asked(choice), precision: precisionIn(choice) });
    return { rows, fits, by: new Map(rows.map((row) => [row.key, row])) };
  } catch (error) {
    return { error: error.message };
  }
}

/** Seconds of a step at any batch. */
export const stepOf = (choice) => stepSeconds(modelIn(choice), deviceOf(choice), { ...cutOf(choice), precision: precisionIn(choice), context: choice.prompt + choice.answer });
