// The first page: one device, one model, and users who join: what fills, what is read, what
// computes.
import { hold, make } from './dom.js';
import { beyond, modelChoices } from './models.js';
import { counted, percent, plain, quantity, sweep } from './numbers.js';
import {
  held,
  partsOf,
  precisionChoices,
  room,
  serverOf,
  servingDevices,
  step,
  timed,
} from './server.js';

/** @type {Control[]} */
export const controls = [
  { id: 'device', label: 'Device', type: 'choice', options: servingDevices, value: 'A100-80GB' },
  {
    id: 'precision',
    label: 'Precision',
    type: 'choice',
    value: '16-bit',
    options: precisionChoices,
  },
  { id: 'users', label: 'Users', type: 'number', min: 1, max: 1000000, value: 1, elsewhere: true },
  {
    id: 'model',
    label: 'Model',
    type: 'choice',
    options: modelChoices,
    value: 'llama-3-8b',
    more: true,
  },
  {
    id: 'context',
    label: 'Context of each',
    unit: 'tokens',
    type: 'number',
    min: 1,
    max: 1048576,
    value: 4096,
    powers: true,
    more: true,
  },
];

/** @type {Suggestion[]} */
export const tries = [
  {
    label: 'Thirty users',
    state: { users: 30 },
    say:
      'Everyone waits twice as long as one user alone, and together they get fifteen times the ' +
      'tokens.',
  },
  {
    label: 'Fill the memory',
    state: { users: 1000000 },
    say:
      'Most of what is read now are KV caches. Little is computed, so the arithmetic units are ' +
      'still idle most of the time.',
  },
  {
    label: 'Weights in 4 bits',
    state: { precision: 'int4' },
    say:
      'A quarter of the weights to read, and one user gets more than three times the tokens. ' +
      'More users fit, and caches outweigh weights much sooner.',
  },
  {
    label: 'Short conversations',
    state: { context: 512, users: 161 },
    say:
      'Small caches leave room for hundreds of users. From here on arithmetic takes longer than ' +
      'reading weights, so each further user adds computing time.',
  },
  {
    label: 'A mixture of experts',
    state: { model: 'qwen3-30b-a3b' },
    say:
      'Three billion of its thirty billion parameters work for one token, so one user is fast. ' +
      'Let more in and more experts are read: the weights are no longer free to share.',
  },
];

/**
 * The first count of users, of all that fit, for which something holds that then stays so; or none.
 */
function first(holds, most) {
  if (!most || !holds(most)) return null;
  let [low, high] = [0, most];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (holds(middle)) high = middle;
    else low = middle;
  }
  return high;
}

const total = (parts) => Object.values(parts).reduce((sum, part) => sum + part, 0);

/** Where a step's time goes, what it reads and how long it computes. */
export function at(server, users, context) {
  const { ops } = timed(server, { batch: users, cached: context, fresh: 1, latent: 'absorbed' });
  const sum = (of) => ops.reduce((whole, op) => whole + of(op), 0);
  const parts = partsOf(server, users, context);
  return {
    users,
    parts,
    seconds: total(parts),
    busy: sum((op) => op.compute),
    weights: sum((op) => op.weights) * server.bytes.weights,
    caches: sum((op) => op.kv) * server.bytes.kv,
  };
}

let last = { key: '' };

/** What the number of users does not change. */
function scene(state) {
  const key = [state.model, state.device, state.precision, state.context].join();
  if (last.key === key) return last;
  const server = serverOf(state);
  const keeps = held(server, state.context + 1);
  const most = room(server, state.context + 1);
  const now = (users) => at(server, users, state.context);
  const marks = [
    ['caches', first((users) => now(users).caches >= now(users).weights, most)],
    ['arithmetic', first((users) => now(users).parts.arithmetic > now(users).parts.weights, most)],
    ['memory', most || null],
  ]
    .filter(([, users]) => users)
    .sort((a, b) => a[1] - b[1]);
  const capacity = server.device.capacity;
  const seconds = Math.max(
    most ? step(server, most, state.context) : 0,
    Math.max(capacity, keeps.weights) / server.bandwidth,
  );
  last = { key, server, keeps, most, marks, capacity, seconds, alone: now(1), now };
  return last;
}

export function compute(state) {
  const found = scene(state);
  const users = Math.min(state.users, found.most);
  const fits = found.most
    ? []
    : precisionChoices(state)
        .filter(([precision]) => room(serverOf({ ...state, precision }), state.context + 1))
        .map(([, words]) => words.replace(' weights', ''));
  return { ...found, users, here: users ? found.now(users) : null, fits };
}

const people = (count) => counted(count, 'users');
const rate = (value) =>
  plain(
    value < 10
      ? Number(value.toPrecision(2))
      : value < 10000
        ? Math.round(value)
        : Number(value.toPrecision(3)),
    9,
  );

export function summary(_state, { users, here }) {
  if (!here)
    return [
      ['Users', '0'],
      ['Tokens/s', 'none'],
    ];
  return [
    ['Users', plain(users, 9)],
    [`Tokens/s ${users === 1 ? 'for one user' : 'per user'}`, rate(1 / here.seconds)],
    ['Tokens/s in total', rate(users / here.seconds)],
  ];
}

const WORDS = {
  caches: 'caches outweigh weights',
  arithmetic: 'arithmetic overtakes weights',
  memory: 'memory is full',
};

/** What is to be seen at this number of users. */
export function story(state, { users, here, most, alone, server, keeps, capacity, fits }) {
  if (!here) {
    const either = new Intl.ListFormat('en-GB', { type: 'disjunction' }).format(fits);
    return (
      `${quantity(keeps.weights, 'B', 3)} of weights and a cache do not fit into the ` +
      `usable ${quantity(capacity, 'B', 3)} of ${state.device}. ` +
      (fits.length ? `They would in ${either}.` : 'Choose a larger device.')
    );
  }
  const [longest] = Object.entries(here.parts).sort((a, b) => b[1] - a[1])[0];
  const more = () => quantity(step(server, users + 1, state.context) - here.seconds, 's', 2);
  if (users === most)
    return (
      `Memory is full: ${people(most)} and no more. Arithmetic units are busy ` +
      `${percent(here.busy / here.seconds)} of the time.`
    );
  if (longest === 'arithmetic')
    return `Arithmetic now takes longest. One more user costs everyone ${more()}.`;
  if (longest === 'caches')
    return `Caches now take longest to read. One more user costs everyone ${more()}.`;
  const kept = quantity(keeps.weights, 'B', 3);
  const read = quantity(here.weights, 'B', 3);
  if (users === 1)
    return (
      `${read === kept ? read : `${read} of the ${kept}`} of weights are read to write one ` +
      `token. The arithmetic units wait ${percent(1 - here.busy / here.seconds)} of the time.`
    );
  if (here.weights > 1.05 * alone.weights)
    return (
      `More users reach more experts: ${plain(here.weights / alone.weights, 3)} times the ` +
      'weights to read.'
    );
  return (
    `The weights are read once for all: ${plain(users)} times the tokens in ` +
    `${plain(here.seconds / alone.seconds, 3)} times the time.`
  );
}

const PARTS = [
  ['weights', 'users-weights', 'weights'],
  ['caches', 'users-caches', 'caches'],
  ['arithmetic', 'users-arithmetic', 'arithmetic'],
  ['activations', 'users-rest', 'the rest'],
]; // classes in full: unused styles are left out of the site

/** Round places on an axis that ends here, with room for their words: two to seven of them. */
function places(end) {
  const ten = 10 ** Math.floor(Math.log10(end));
  const each = [0.2, 0.5, 1, 2, 5].map((part) => part * ten).find((part) => end / part < 7);
  return Array.from({ length: Math.floor(end / each) + 1 }, (_, count) =>
    Number((count * each).toPrecision(6)),
  ).filter((at) => at < 0.93 * end);
}

/** A list whose items stay and say something else; those without words are left out. */
function list(element, items) {
  items.forEach(([part, words], number) => {
    const item =
      element.children[number] ??
      element.appendChild(
        make(
          'li',
          {},
          ...(part ? [make('span', { class: `users-swatch ${part}`, 'aria-hidden': 'true' })] : []),
          '',
        ),
      );
    item.hidden = !words;
    if (item.lastChild.data !== words) item.lastChild.data = words;
  });
}

/** The picture's own elements, made once. */
function picture(explorer) {
  const box = (name, ...inside) => make('div', { class: name }, ...inside);
  const bar = (name, ...parts) => box(name, ...parts.map((part) => make('span', { class: part })));
  const slider = make('input', {
    type: 'range',
    class: 'users-handle',
    min: 1,
    step: 1,
    'aria-label': 'Users',
    '.oninput': () => explorer.set({ ...explorer.state, users: Number(slider.value) }),
  });
  const p = {
    slider,
    story: make('p', { class: 'users-story' }),
    hint: make('span', { class: 'users-hint', 'aria-hidden': 'true' }, 'drag: let users in'),
    held: make('ul', { class: 'users-key' }),
    took: make('p', { class: 'users-label' }),
    tank: bar('users-tank', 'users-weights', 'users-caches'),
    bar: bar('users-bar', ...PARTS.map(([, part]) => part)),
    busy: bar('users-busy', 'users-arithmetic'),
    marks: box('users-marks'),
    axis: box('users-axis'),
    key: make('ul', { class: 'users-key' }),
  };
  for (const each of [p.tank, p.bar, p.busy, p.marks, p.axis])
    each.setAttribute('aria-hidden', 'true');
  p.stack = box(
    'users-stack',
    p.held,
    box('users-drag', p.tank, slider, p.hint),
    p.marks,
    p.took,
    p.bar,
    p.busy,
    p.axis,
  );
  explorer.stage.prepend(box('explorer-panel', p.stack, p.key, p.story));
  return p;
}

/** Where a user stands: at the end of the cache that came with them, on the axis of all bars. */
const share = ({ keeps, server, seconds }, users) =>
  (keeps.weights + users * (keeps.cache + keeps.activations)) / server.bandwidth / seconds;

/** Every order of so many rows. */
const orders = (count) =>
  count
    ? orders(count - 1).flatMap((order) =>
        Array.from({ length: count }, (_, at) => [
          ...order.slice(0, at),
          count - 1,
          ...order.slice(at),
        ]).reverse(),
      )
    : [[]];

/**
 * A row for the words of each mark, so that the line of no other goes through them: a line is as
 * long as its row is low.
 */
export function rowsOf(marks) {
  const crossed = (rows) =>
    marks.filter(({ from, to }, words) =>
      marks.some(({ place }, line) => rows[line] > rows[words] && place > from && place < to),
    ).length;
  return orders(marks.length).reduce((best, rows) => (crossed(rows) < crossed(best) ? rows : best));
}

/** The words of a mark, on the side where there is room. */
function worded([name, users], place, width) {
  const long = (words) => (7 * (words.length + 2)) / width; // about
  const all = [`${people(users)}: ${WORDS[name]}`, `${plain(users, 9)}: ${WORDS[name]}`];
  const words = all.find((each) => long(each) <= Math.max(place, 1 - place)) ?? all[1];
  const isLeft = long(words) <= place && long(words) > 1 - place;
  return {
    users,
    words,
    place,
    isLeft,
    from: isLeft ? place - long(words) : place,
    to: isLeft ? place : place + long(words),
  };
}

function redrawScene(p, result) {
  const { server, marks, most, seconds, capacity, key } = result;
  // asked once, then told: to ask while it changes is slow
  p.width ??= p.stack.clientWidth;
  const { width } = p;
  if (p.drawn === `${key} ${width}`) return;
  p.drawn = `${key} ${width}`;
  const wide = (amount) => `${(100 * amount) / server.bandwidth / seconds}%`;
  p.tank.style.width = wide(capacity);
  p.tank.classList.toggle('users-over', !most);
  p.slider.hidden = most < 2;
  if (most > 1) {
    p.slider.max = most;
    p.slider.style.setProperty('--from', share(result, 1));
    p.slider.style.setProperty('--to', share(result, most));
  }
  const named = marks.map((mark) => worded(mark, share(result, mark[1]), width));
  const rows = rowsOf(named);
  p.marks.replaceChildren(
    ...named.map(({ users, words, place, isLeft }, at) => {
      const side = isLeft ? `right:${100 - 100 * place}` : `left:${100 * place}`;
      return make(
        'span',
        {
          class: isLeft ? 'users-mark users-left' : 'users-mark',
          'data-from': users,
          style: `${side}%;--row:${rows[at]}`,
        },
        words,
      );
    }),
  );
  p.marks.style.setProperty('--rows', marks.length);
  p.axis.replaceChildren(
    ...places(seconds * 1000).map((ms) =>
      make('span', { style: `left:${ms / seconds / 10}%` }, ms === 0 ? '0 ms' : plain(ms)),
    ),
  );
}

export function draw(explorer, state, result) {
  explorer.users ??= picture(explorer);
  const p = explorer.users;
  redrawScene(p, result);
  const { server, keeps, users, here, seconds, capacity } = result;
  const wide = (p.width * (keeps.cache + keeps.activations)) / server.bandwidth / seconds;
  p.tank.style.setProperty('--stripe', `${Math.max(3, wide)}px`); // one for each user, or a pattern
  p.stack.style.setProperty('--at', share(result, users));
  const [inWeights, inCaches] = p.tank.children;
  inWeights.style.width = `${(100 * Math.min(keeps.weights, capacity)) / capacity}%`;
  inCaches.style.width = `${(100 * users * (keeps.cache + keeps.activations)) / capacity}%`;
  list(p.held, [
    [null, `Memory: ${quantity(capacity, 'B', 3)}`],
    ['users-weights', `${state.model} ${plain(keeps.weights / 1e9, 3)}`],
    [
      'users-caches',
      `caches ${plain((users * keeps.cache) / 1e9, 2)}, ${counted(state.context, 'tokens')} each`,
    ],
  ]);
  p.story.textContent = story(state, result);
  p.bar.hidden = p.busy.hidden = !here;
  p.took.hidden = p.key.hidden = !here;
  if (!here) return;
  PARTS.forEach(([name], number) => {
    p.bar.children[number].style.width = `${(100 * here.parts[name]) / seconds}%`;
  });
  p.busy.firstChild.style.width = `${(100 * here.busy) / seconds}%`;
  p.took.replaceChildren(
    make('b', {}, `A step: ${quantity(here.seconds, 's', 3)}`),
    ', one token for each user',
  );
  list(p.key, [
    ...PARTS.map(([name, part, words]) => [
      part,
      here.parts[name] > 0.02 * here.seconds
        ? `${words} ${quantity(here.parts[name], 's', 2)}`
        : '',
    ]),
    ['users-units', `arithmetic units busy ${quantity(here.busy, 's', 2)}`],
  ]);
  p.slider.value = users;
  // or else it would break into a column
  p.hint.hidden = users > 1 || (1 - share(result, users)) * p.width < 150;
  p.slider.setAttribute(
    'aria-valuetext',
    `${people(users)}: ${rate(1 / here.seconds)} tokens a second each, ` +
      `${rate(users / here.seconds)} together`,
  );
  for (const mark of p.marks.children)
    mark.classList.toggle('users-passed', users >= Number(mark.dataset.from));
}

const ACTS = [{ context: 4096 }, { context: 512 }]; // long conversations, then short ones
const [JOIN, STAY, BEFORE] = [8000, 2000, 1500]; // milliseconds: users join; all are in; it begins

/** Users join one by one until memory is full, with long conversations and with short ones. */
function film(explorer) {
  let frame = 0;
  const button = make('button', { type: 'button', class: 'users-play' }, 'Play');
  const stop = () => {
    cancelAnimationFrame(frame);
    frame = 0;
    button.textContent = 'Play';
  };
  const play = (after = 0) => {
    const still = { ...explorer.state };
    let begun = 0;
    const show = (now) => {
      begun ||= now + after;
      const act = ACTS[Math.floor(Math.max(0, now - begun) / (JOIN + STAY))];
      if (!act) {
        explorer.set(still, false);
        stop();
        return;
      }
      const joined = Math.min(1, (Math.max(0, now - begun) % (JOIN + STAY)) / JOIN);
      const users = Math.max(1, Math.round(joined * scene({ ...still, ...act }).most));
      if (users !== explorer.state.users) explorer.set({ ...still, ...act, users }, false);
      frame = requestAnimationFrame(show);
    };
    button.textContent = 'Stop';
    frame = requestAnimationFrame(show);
  };
  button.onclick = () => (frame ? stop() : play());
  explorer.stop = stop;
  explorer.stage.append(make('div', { class: 'explorer-buttons' }, button));
  for (const touch of ['pointerdown', 'keydown'])
    explorer.root.addEventListener(touch, (event) => event.target !== button && stop());
  return play;
}

/** Whether it may play by itself: on the front page, as it opens, where motion is welcome. */
const isWelcome = (explorer) =>
  explorer.own &&
  !explorer.root.dataset.home &&
  !explorer.said() &&
  matchMedia('(prefers-reduced-motion: no-preference)').matches;

/** All bars share one axis, so a place on any of them is a number of users. */
export function build(explorer) {
  const play = film(explorer);
  if (isWelcome(explorer)) play(BEFORE);
  const drag = (event) => {
    const p = explorer.users;
    p.slider.focus({ preventScroll: true, focusVisible: false });
    const { left, width } = p.stack.getBoundingClientRect();
    const [one, two] = [share(explorer.result, 1), share(explorer.result, 2)];
    const users = Math.round(1 + ((event.clientX - left) / width - one) / (two - one));
    explorer.set({ ...explorer.state, users: Math.max(1, Math.min(explorer.result.most, users)) });
  };
  hold(explorer.stage, (event) =>
    explorer.result.most > 1 && event.target.closest('.users-stack')
      ? { move: drag, atOnce: true }
      : null,
  );
  explorer.stage.addEventListener('mousedown', (event) => {
    if (event.target.closest('.users-stack')) event.preventDefault();
  }); // or else the handle loses its focus
  let room = null;
  new ResizeObserver(([{ contentRect }]) => {
    if (!explorer.users || room === contentRect.width) return;
    room = contentRect.width;
    explorer.users.width = explorer.users.stack.clientWidth;
    draw(explorer, explorer.state, explorer.result);
  }).observe(explorer.stage);
}

export const warning = (state) => beyond(state.model, state.context, 1);

export const note = ({ context }) =>
  `The KV cache of each user has the keys and values of ${plain(context, 9)} tokens. ` +
  'Each op takes as long as its reading or its computing, whichever is longer, and the bar of a ' +
  'step shows only that one. Rates are the peaks of the datasheet, so no machine is faster. A ' +
  'tenth of the memory is reserved for the driver, workspaces and gaps.';

export function table(_state, { most, now }) {
  const columns = [
    'users',
    'tokens/s per user',
    'tokens/s in total',
    'step (s)',
    'weights (s)',
    'caches (s)',
    'arithmetic (s)',
    'the rest (s)',
    'units busy (s)',
  ];
  return {
    columns,
    rows: (most ? sweep(1, most, 24) : []).map((users) => {
      const { seconds, parts, busy } = now(users);
      return [
        users,
        1 / seconds,
        users / seconds,
        seconds,
        parts.weights,
        parts.caches,
        parts.arithmetic,
        parts.activations,
        busy,
      ];
    }),
  };
}
