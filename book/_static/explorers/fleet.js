// The question turned round: so many users, each so fast, and how few devices of each kind do it.
// The search is costlib's own, a plan at a time, so that the page answers in between.
import { EXACT, fewest, hosts, nameOf, places, priceOf } from './costs.js';
import { make, otherThings, withUnits } from './dom.js';
import { counted, dollars, plain, quantity } from './numbers.js';
import { refusal } from './refusals.js';

const HOUR = 3600;
const MONTH = 730; // hours
const kept = new Map(); // what was found, by what was asked and the device
const MOST_KEPT = 400;

/** The kinds of device that are looked at: the chosen one, and all that somebody rents out. */
const kindsFor = (choice) => [
  choice.device,
  ...hosts.filter((device) => device !== choice.device && priceOf({ device, price: 0 })),
];

/** Some that nobody we know of rents out. */
const UNTRIED = hosts.filter((device) => !priceOf({ device, price: 0 })).slice(0, 3);

/** What is asked, as a text; a choice's own devices and cuts are what is looked for. */
export const keyOf = (choice, targets) =>
  JSON.stringify(
    [
      ...['model', 'device', 'batch', 'prompt', 'answer', 'wait', 'engine', 'price'],
      ...['precision', 'weights', 'kv', 'activations'],
    ].map((id) => choice[id]),
  ) + JSON.stringify([targets.speed, targets.first]);

/** What one kind of device takes: a plan with its price, or what is out of reach. */
async function searched(choice, device, targets, isWanted) {
  const price = priceOf({ device, price: device === choice.device ? choice.price : 0 });
  try {
    let fleet = null;
    for (const found of fewest(choice, device, targets)) {
      fleet = found;
      await otherThings();
      if (!isWanted()) return null;
    }
    if (price === undefined) return { device, fleet };
    const [input, output] = [fleet.inputSeconds, fleet.outputSeconds].map(
      (seconds) => (seconds * 1e6 * price) / HOUR,
    );
    return { device, fleet, perHour: price * fleet.devices, input, output };
  } catch (error) {
    return { device, error: error.message };
  }
}

const AXES = ['tensor', 'pipeline', 'expert', 'data', 'dcp'];
/** How a model is divided, in words. */
export const planOf = ({ plan }) =>
  AXES.filter((axis) => plan[axis] > 1)
    .map((axis) => `${axis} ${plan[axis]}`)
    .join(', ') || 'whole';

/** What an axis of a plan divides, so many times. */
const DIVIDES = {
  tensor: (n) => `each matrix is divided over ${n} devices`,
  pipeline: (n) => `the layers are divided into ${n} stages`,
  expert: (n) => `the experts are divided over ${n} copies`,
  data: (n) => `there are ${n} copies of the model`,
  dcp: (n) => `${n} devices share one KV cache, divided by tokens (decode context parallel)`,
};
const WHOLE = 'whole: the model is on one device';

/** The words of some plans: each axis, once, with a number that occurs. */
function explained(rows) {
  const said = AXES.flatMap((axis) => {
    const n = rows.map(({ fleet }) => fleet.plan[axis]).find((degree) => degree > 1);
    return n ? [`${axis} ${n}: ${DIVIDES[axis](n)}`] : [];
  });
  const isWhole = rows.some(({ fleet }) => planOf(fleet) === 'whole');
  const all = [...said, ...(isWhole ? [WHOLE] : [])];
  return all.length ? `${all.join('; ')}. ` : '';
}

/** The kind of a plan's machines: devices, or the nodes that it lies on. */
const standing = ({ device, fleet }) =>
  fleet.node && fleet.node !== device ? `${device}, in ${fleet.node}` : device;

/** The settings that show a plan as a choice of its own. */
export const stateFor = ({ device, fleet }) => ({
  ask: 'fit',
  device: fleet.node ?? device,
  many: fleet.node ? fleet.nodes : fleet.devices,
  pipeline: fleet.plan.pipeline,
  expert: fleet.plan.expert,
  data: fleet.plan.data,
  dcp: fleet.plan.dcp,
  batch: fleet.batch,
});

/** The answer for the chosen device in a sentence. */
export function sentence(choice, { speed, first }, row) {
  const within = first ? `, TTFT of at most ${plain(first)} ms` : '';
  const asked =
    `${counted(choice.batch, 'users')} of ${nameOf(choice.model)} with ` +
    `${plain(choice.prompt)} input and ${counted(choice.answer, 'output tokens')}, ` +
    `each at ${plain(speed)} tokens/s or more${within}`;
  if (!row) return `${asked}: looking for the fewest ${choice.device} …`;
  if (row.error) {
    const { said } = refusal(row.error, { ...choice, many: 1 });
    return `${asked}: ${said.replace(/\.$/, '')}.`;
  }
  const { fleet, perHour, input, output } = row;
  const paid = perHour
    ? ` ${dollars(perHour)} an hour, ${dollars(perHour * MONTH)} a month, ` +
      `${dollars(input)} per million input tokens, ${dollars(output)} per million output tokens.`
    : ' No price of this device is listed, so type yours under Price.';
  return (
    `${asked}: ${plain(fleet.devices)} × ${standing(row)} (${planOf(fleet)}). ` +
    `Each gets ${plain(1 / fleet.perToken, 3)} tokens/s, the prefills of the others in between ` +
    `included, with a TTFT of ${quantity(fleet.firstToken, 's', 3)}.${paid}`
  );
}

/** The cheapest of all devices, where it is not the chosen one. */
function cheapest(best, { device }) {
  if (!best?.perHour || best.device === device) return '';
  const count = plain(best.fleet.devices);
  return ` Cheapest: ${count} × ${standing(best)}, ${dollars(best.perHour)} an hour.`;
}

/** What stands in a row beside the device. */
const HEADS = ['count', 'an hour', 'per M input', 'per M output', 'each user gets', 'TTFT', 'plan'];

/** The same with units, where every digit is given. */
const NUMBERS = [
  'devices',
  'an hour ($)',
  'a million input tokens ($)',
  'a million output tokens ($)',
  'each user gets (tokens/s)',
  'TTFT (s)',
  'plan',
];

/** The table of kinds of device, which fills while they are searched. */
export class Fleets {
  /**
   * @param {any} explorer
   */
  constructor(explorer) {
    this.explorer = explorer;
    this.key = '';
    this.rows = [];
    this.body = make('tbody');
    this.note = make('p', { class: 'explorer-note' });
    this.box = make(
      'div',
      { class: 'answers calculator-fleets', tabindex: '0', role: 'region' },
      make(
        'table',
        {},
        make('caption', { class: 'answers-caption' }, 'The fewest of each device'),
        make(
          'thead',
          {},
          make('tr', {}, ...['device', ...HEADS].map((head) => make('th', { scope: 'col' }, head))),
        ),
        this.body,
      ),
    );
    this.box.setAttribute('aria-label', 'The fewest of each device');
    this.part = make('div', {}, this.box, this.note);
  }

  /** What the chosen device takes, once that is known. */
  get first() {
    return this.rows[0];
  }

  /** Nothing is asked any more. */
  stop() {
    this.key = '';
    if (this.explorer.deferred.has('fleets'))
      this.explorer.defer(
        'fleets',
        () => {},
        (run) => run(),
      );
  }

  /** Shows what is known of a question, and has the rest searched. */
  update(choice, targets) {
    const key = keyOf(choice, targets);
    if (key === this.key) return;
    this.key = key;
    this.rows = [];
    this.draw(choice, targets);
    this.explorer.defer(
      'fleets',
      () => this.draw(choice, targets),
      (run) => this.search(choice, targets, key).then(run),
    );
  }

  async search(choice, targets, key) {
    const isWanted = () => this.key === key;
    for (const device of kindsFor(choice)) {
      const which = `${key} ${device}`;
      await otherThings();
      if (!isWanted()) return;
      const row = kept.get(which) ?? (await searched(choice, device, targets, isWanted));
      if (!isWanted()) return;
      if (kept.size > MOST_KEPT) kept.clear();
      kept.set(which, row);
      this.rows.push(row);
      this.draw(choice, targets);
    }
  }

  /** What is known so far, with every digit. */
  table() {
    const known = this.rows.filter(({ fleet }) => fleet);
    return {
      columns: ['device', ...NUMBERS],
      rows: known.map(({ perHour, input, output, fleet, ...row }) => [
        standing({ fleet, ...row }),
        fleet.devices,
        ...[perHour, input, output].map((value) => value ?? ''),
        1 / fleet.perToken,
        fleet.firstToken,
        planOf(fleet),
      ]),
    };
  }

  draw(choice, targets) {
    const kinds = kindsFor(choice);
    const known = this.rows.filter(({ fleet }) => fleet);
    const cost = ({ perHour }) => perHour ?? Infinity;
    known.sort((one, other) => cost(one) - cost(other));
    const best = this.rows.length === kinds.length ? cheapest(known[0], choice) : '';
    const said = sentence(choice, targets, this.first) + best;
    this.explorer.parts.verdict.replaceChildren(...withUnits(said));
    this.body.replaceChildren(...known.map((row) => this.row(row, choice)));
    const out = this.rows.filter(({ error }) => error).map(({ device }) => device);
    const left = kinds.length - this.rows.length;
    if (this.explorer.details.open) this.explorer.fillTable();
    this.note.textContent =
      explained(known) +
      (left ? `${counted(left, 'kinds of device')} left to search. ` : '') +
      (out.length ? `Out of reach: ${out.join(', ')}. ` : '') +
      `Tried: ${choice.device} and what we know a rent of, ` +
      `${counted(kinds.length, 'kinds of device')} in all. ` +
      `Not tried: the other ${plain(places.length - kinds.length)}, such as ` +
      `${UNTRIED.filter((each) => !kinds.includes(each)).join(', ')}. ` +
      'Choose one under Device to have it tried. ' +
      'Press a device to see its plan. Every user always has a request running. Prompts are ' +
      'prefilled between the decode steps of the others, and this time is counted' +
      (choice.engine === EXACT ? '.' : `. Memory is counted as ${choice.engine} does.`);
  }

  row(row, choice) {
    const { device, fleet, perHour, input, output } = row;
    const show = make(
      'button',
      {
        type: 'button',
        title: 'Show this plan',
        '.onclick': () => {
          this.explorer.undoable();
          this.explorer.set({ ...this.explorer.state, ...stateFor(row) });
        },
      },
      standing(row),
    );
    const paid = (value) => (value === undefined ? '–' : dollars(value));
    const cells = [
      plain(fleet.devices),
      paid(perHour),
      paid(input),
      paid(output),
      `${plain(1 / fleet.perToken, 3)} tokens/s`,
      quantity(fleet.firstToken, 's', 3),
      planOf(fleet),
    ];
    return make(
      'tr',
      { class: device === choice.device ? 'answers-chosen' : null },
      make('th', { scope: 'row' }, show),
      ...cells.map((cell, at) => make('td', { 'data-name': HEADS[at] }, cell)),
    );
  }
}
