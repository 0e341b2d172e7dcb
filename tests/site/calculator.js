// What test_calculator.py asks the script of the calculator, its `page`, and modules beside it.

const opened = (page, more) => ({
  ...Object.fromEntries(page.controls.map((control) => [control.id, control.value])),
  ...more,
});

/** For a state its answers, or what is wrong; and its lines for Python and a terminal. */
export function said({ page }, state) {
  const { choices, found } = page.compute(opened(page, state));
  const parts = ['key', 'value', 'name', 'shown', 'why', 'where'];
  const rows = found[0].rows?.map((row) => parts.map((part) => row[part]));
  return [rows ?? found[0].error, page.python(choices[0]), page.shell(choices[0])];
}

export function fewest({ costlib }, [model, device, asked]) {
  try {
    const { devices, plan, batch, perToken, limit, inputSeconds, outputSeconds } = [
      ...costlib.fleets(costlib.modelOf(model), device, asked),
    ].at(-1);
    return [devices, Object.values(plan), batch, perToken, limit, inputSeconds, outputSeconds];
  } catch (error) {
    return error.message;
  }
}

export function shellOfFleet({ page }, state) {
  const whole = opened(page, state);
  return page.shellOfFleet(whole, 'config.json', whole);
}

/** The first line, and the memory that is held. */
export function sentence({ page }, state) {
  const { choices, found } = page.compute(opened(page, state));
  return [page.sentence(choices[0], found[0]), found[0].held?.(choices[0].batch)];
}

/** Of which setting an error is, its words, the changes offered, and what is wrong with each. */
export async function instead({ page, refusals }, state) {
  const choice = opened(page, state);
  const { id, said: words } = refusals.refusal(page.compute(choice).found[0].error, choice);
  const offered = await refusals.offers(choice, id, () => true);
  const others = offered.map(([change]) => page.compute({ ...choice, ...change }).found[0]);
  return [id, words, offered.map(([, text]) => text), others.map(({ error }) => error ?? '')];
}

export function summary({ page }, state) {
  const whole = opened(page, state);
  return page.summary(whole, page.compute(whole));
}

export const dollars = ({ numbers }, sum) => numbers.dollars(sum);

/** The numbers of each choice, as it opens and as is suggested. */
export const suggested = ({ page }) =>
  [{}, ...page.tries.map(({ state }) => state)]
    .filter(({ ask }) => ask !== 'fewest')
    .map((state) =>
      page
        .compute(opened(page, state))
        .found.map(({ by }) => Object.fromEntries([...by].map(([key, row]) => [key, row.value]))),
    );

export const fits = ({ page }, state) => page.compute(opened(page, state)).found[0].fits;

const SETTINGS = [
  {
    id: 'model',
    type: 'choice',
    options: [
      ['a', ''],
      ['b &=+', ''],
    ],
    value: 'a',
  },
  { id: 'n', type: 'number', min: 1, max: 9, value: 3 },
];

/** Choices and the place of one, after an address has held them. */
export function sideBySide({ beside }, { choices, place }) {
  const whole = beside.stateOf(SETTINGS, choices, place);
  const read = Object.fromEntries(new URLSearchParams(String(new URLSearchParams(whole))));
  return [beside.choicesOf(SETTINGS, { ...read, n: Number(read.n) }), beside.placeOf(read)];
}

export const mended = ({ beside }, text) =>
  beside.choicesOf(SETTINGS, { model: 'a', n: 4, beside: text, place: '3' });

/** Which of some answers is marked as the best; each fits or not, and has a value or none. */
export const best = ({ table }, [key, answers]) =>
  table.best(
    key,
    answers.map(([isIn, value]) => ({
      fits: isIn,
      by: new Map(value === null ? [] : [[key, { value }]]),
    })),
    answers.map(() => ({ device: 'L4', price: 1, watts: 72 })),
  );

export const bestOfTwo = ({ table }, [key, choices]) => [
  table.best(
    key,
    [1, 2].map((value) => ({ fits: true, by: new Map([[key, { value }]]) })),
    choices,
  ),
  table.alikeOnly(key, choices),
];

/** The length of a long name where it is cut, and where it is whole. */
export async function longName({ page, own }, name) {
  const model = await own.coded(JSON.stringify({ _name_or_path: name }));
  const { names, whole } = page.compute(opened(page, { model }));
  return [names[0].length, whole[0]];
}

export async function files({ own, share }, places) {
  const [one, other] = [await own.coded('{"a": 1}'), await own.coded('{"a": 2}')];
  return share.filesOf(places.map((at) => ({ model: ['gpt2', one, other][at] })));
}

export async function coded({ own }, text) {
  const code = await own.coded(text);
  return [code, own.saidIn(code), own.PATTERN.test(code)];
}

export async function named({ own, costs }, config) {
  const code = await own.coded(JSON.stringify(config));
  return [costs.nameOf(code).length, costs.wholeNameOf(code)];
}

export const tooLong = ({ own }, length) =>
  own.coded('x'.repeat(length)).then(
    () => '',
    (error) => error.message,
  );

export function refused({ costlib }, text) {
  try {
    return costlib.modelIn(text);
  } catch (error) {
    return error.message;
  }
}

export async function lost({ page, own }, model) {
  await own.decoded(model);
  return page.compute(opened(page, { model })).found[0].error;
}

/** How much is unfolded of the longest config that there may be, and what of one without end. */
export async function unfolded({ own }) {
  const code = await own.coded('0'.repeat(2e5));
  const zeros = new Blob(Array(9).fill('0'.repeat(1e6))).stream();
  const bytes = zeros.pipeThrough(new CompressionStream('deflate-raw'));
  const all = new Uint8Array(await new Response(bytes).arrayBuffer());
  const text = btoa(String.fromCharCode(...all));
  const letters = text.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
  return [(await own.decoded(code)).length, await own.decoded(`config.${letters}`)];
}
