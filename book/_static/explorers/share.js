// What a reader takes along: lines for Python and a terminal that give the same answers, a table,
// JSON, a frame for another page.
import { displayed } from './answers_table.js';
import { asked, cutOf, deviceOf, EXACT, kindsOf, load, nameOf, priceOf, wattsOf } from './costs.js';
import { isOwn, textOf } from './own_models.js';

/**
 * For each choice the file that its own model is in; of several models each has the number of its
 * first choice.
 */
export function filesOf(choices) {
  const own = [...new Set(choices.map(({ model }) => model).filter(isOwn))];
  const first = (model) => choices.findIndex((choice) => choice.model === model) + 1;
  return choices.map(({ model }) =>
    own.length > 1 ? `config-${first(model)}.json` : 'config.json',
  );
}

const modelIn = (model, file) =>
  isOwn(model) ? `costlib.Transformer.from_hf("${file}")` : `"${model}"`;

function precisionIn({ model, precision, ...rest }, file) {
  const kinds = Object.entries(kindsOf(rest))
    .map(([kind, format]) => `${kind}="${format}"`)
    .join(', ');
  if (!kinds) return precision === 'own' ? [] : [`precision="${precision}"`];
  const base =
    precision !== 'own'
      ? `costlib.precision.precision_of("${precision}")`
      : isOwn(model)
        ? `${modelIn(model, file)}.precision`
        : `costlib.models["${model}"].precision`;
  return [`precision=${base}.with_(${kinds})`];
}

const named = ([name, value]) => `${name}=${typeof value === 'string' ? `"${value}"` : value}`;

/** A line of Python that finds the fewest devices. */
export function pythonOfFleet(choice, file, { speed, first }) {
  const given = Object.entries({ ...load(choice, { speed, first }), tpot: `1 / ${speed}` });
  const said = given.map(([name, value]) =>
    name === 'tpot' ? `${name}=${value}` : named([name, value]),
  );
  const all = [modelIn(choice.model, file), `"${choice.device}"`, ...said];
  return `costlib.serving.fewest_devices(${[...all, ...precisionIn(choice, file)].join(', ')})`;
}

/** A line for a terminal that finds them; null where the command has no words for a choice. */
export function shellOfFleet(choice, file, { speed, first }) {
  if (Object.keys(kindsOf(choice)).length) return null;
  const { model, device, precision, wait, batch, prompt, answer, engine, price } = choice;
  const recipe = precision === 'own' ? '' : ` --precision ${precision}`;
  return (
    `costlib serve ${isOwn(model) ? file : model} --on ${device} --users ${batch} ` +
    `--tpot ${1000 / speed}${first ? ` --ttft ${first}` : ''} ` +
    `--input-tokens ${prompt} --output-tokens ${answer}${wait ? ` --wait ${wait}` : ''}${recipe}` +
    `${engine === EXACT ? '' : ` --engine ${engine}`}${price ? ` --price ${price}` : ''}`
  );
}

/** A line of Python. */
export function python(choice, file) {
  const given = Object.entries(asked(choice)).map(named);
  const [model, device] = [modelIn(choice.model, file), `"${deviceOf(choice)}"`];
  return `costlib.answer(${[model, device, ...given, ...precisionIn(choice, file)].join(', ')})`;
}

/** A line for a terminal; null where the command has no words for a choice. */
export function shell(choice, file) {
  if (Object.keys(kindsOf(choice)).length) return null;
  const { model, precision, wait, batch, prompt, answer, engine } = choice;
  const flag = (name, value) => (value === undefined ? '' : ` --${name} ${value}`);
  const recipe = precision === 'own' ? '' : ` --precision ${precision}`;
  const cut = Object.entries(cutOf(choice))
    .map(([axis, degree]) => `${axis}=${degree}`)
    .join();
  return (
    `costlib ${isOwn(model) ? file : model} --on ` +
    `${deviceOf(choice)}${cut ? ` --plan ${cut}` : ''}${wait ? ` --wait ${wait}` : ''}${recipe} ` +
    `--batch ${batch} --context ${prompt + answer} --input-tokens ${prompt}` +
    `${engine === EXACT ? '' : flag('engine', engine)}` +
    `${flag('price', priceOf(choice))}${flag('watts', wattsOf(choice))}`
  );
}

/** What was asked of a model, by the names that the library and its files have. */
const askedOf = (choice, given) => ({
  model: nameOf(choice.model),
  ...(isOwn(choice.model) ? { config: textOf(choice.model) } : {}),
  ...given,
  precision: choice.precision,
  ...kindsOf(choice),
});

/** Every choice with what was asked and all values by key, as the command's --json has them. */
export function json(choices, found) {
  const each = choices.map((choice, at) => ({
    asked: askedOf(choice, { on: deviceOf(choice), ...asked(choice) }),
    ...(found[at].rows
      ? {
          answers: Object.fromEntries(
            found[at].rows.map(({ key, value }) => [
              key,
              Number.isFinite(value) || typeof value !== 'number' ? value : null,
            ]),
          ),
        }
      : { refused: found[at].error }),
  }));
  return JSON.stringify(each.length > 1 ? each : each[0], null, 2);
}

/** The question turned round, with every plan that is known by now. */
export function jsonOfFleets(choice, targets, { columns, rows }) {
  const plans = rows.map((row) =>
    Object.fromEntries(columns.map((name, at) => [name, row[at] === '' ? null : row[at]])),
  );
  return JSON.stringify({ asked: askedOf(choice, load(choice, targets)), rows: plans }, null, 2);
}

/**
 * A table as people paste it: Markdown. Its first row are the names of its columns.
 * @param {string[][]} table
 */
export function markdown([names, ...rows]) {
  const line = (cells) =>
    `| ${cells.map((cell) => String(cell).replaceAll('|', '\\|')).join(' | ')} |`;
  const rule = names.map((_, at) => (at ? '--:' : '---'));
  return [names, rule, ...rows].map(line).join('\n');
}

/** The answers of some choices, as `markdown` takes them. */
export function rowsOf({ keys, found, names }) {
  const name = (key) => found.find(({ by }) => by?.has(key)).by.get(key).name;
  return [
    ['', ...names],
    ...keys.map((key) => [
      name(key),
      ...found.map(({ by }) => (by?.has(key) ? displayed(by.get(key)) : '–')),
    ]),
  ];
}

/** One line that shows this calculator on another page, as high as it needs to be. */
export function frameFor(address) {
  const grows =
    "self.addEventListener('message',(e)=>{if(e.source===this.contentWindow" +
    "&amp;&amp;e.data.height>0)this.style.height=e.data.height+'px'})";
  return (
    `<iframe src="${address}" title="What a model costs to serve" loading="lazy" ` +
    'allow="clipboard-write" style="width:100%;height:44rem;border:0" ' +
    `onload="${grows}"></iframe>`
  );
}
