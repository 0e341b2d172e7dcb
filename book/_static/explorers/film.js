// The tile film: two counted runs side by side, event by event, on one clock of entries moved.
import { calm, hold, make } from './dom.js';
import { runs, sizes } from './generated/film.js';
import { percent, plain } from './numbers.js';
import { Player } from './player.js';

const [LOAD, STORE, ALLOC, DROP] = [0, 1, 2, 3];
const NAMES = {
  flash2: 'FlashAttention-2',
  flash: 'FlashAttention-1',
  small_cache: 'small cache',
  naive: 'standard',
};
const choices = Object.entries(NAMES);
const SPEEDS = [
  ['1', 'one step a second'],
  ['4', '4 a second'],
  ['15', '15 a second'],
  ['60', '60 a second'],
];

/** @type {Control[]} */
export const controls = [
  { id: 'left', label: 'First', type: 'choice', options: choices, value: 'flash2', more: true },
  { id: 'right', label: 'Second', type: 'choice', options: choices, value: 'naive', more: true },
  {
    id: 'capacity',
    label: 'Fast memory (entries)',
    type: 'choice',
    options: sizes.capacities.map((M) => [String(M), String(M)]),
    value: '96',
  },
  {
    id: 'speed',
    label: 'Speed',
    type: 'choice',
    options: SPEEDS,
    value: calm ? '1' : '4',
    more: true,
    plays: true,
  },
  {
    id: 'frame',
    label: 'Step',
    type: 'number',
    min: 0,
    max: 100000,
    value: 33,
    linear: true,
    elsewhere: true,
  },
];

/** @type {Suggestion[]} */
export const tries = [
  {
    label: 'Both at the end',
    state: { frame: 100000 },
    say:
      'Compare the counts: 512 entries here, 1,728 there, for the same result. The difference ' +
      'is scores that go out and come back.',
  },
  {
    label: 'Half the memory',
    state: { capacity: '48', frame: 100000 },
    say: 'FlashAttention-2 has smaller blocks now, so keys and values come in more often.',
  },
  {
    label: 'Rows against columns',
    state: { left: 'flash2', right: 'flash', frame: 100000 },
    say:
      'As many entries are read. But on the right unfinished outputs go out and come back with ' +
      'every block of keys: 288 written in place of 64.',
  },
];

export const runOf = (algorithm, capacity) => runs[`${algorithm} ${capacity}`];
const entries = ([, , top, bottom, left, right]) => (bottom - top) * (right - left);

const known = new Map();

/** Entries moved after each event, from 0 before the first. */
export function moments(run) {
  if (!known.has(run)) {
    let moved = 0;
    known.set(run, [
      0,
      ...run.events.map((event) => (moved += event[0] <= STORE ? entries(event) : 0)),
    ]);
  }
  return known.get(run);
}

const ticks = new Map();

/** Every number of entries moved at which one of two runs moves some. */
function clocksOf(one, other, key) {
  if (!ticks.has(key))
    ticks.set(
      key,
      [...new Set([...moments(one), ...moments(other)])].sort((a, b) => a - b),
    );
  return ticks.get(key);
}

/** Where a run stands after so many of its events. */
export function standing(run, events) {
  const resident = new Map();
  let [reads, writes] = [0, 0];
  for (let at = 0; at < events; at += 1) {
    const event = run.events[at];
    const [kind, array, , , , , block] = event;
    if (kind === LOAD) reads += entries(event);
    if (kind === STORE) writes += entries(event);
    if (kind === LOAD || kind === ALLOC)
      resident.set(block, {
        array: run.arrays[array],
        loaded: kind === LOAD,
        region: event.slice(2, 6),
        entries: entries(event),
      });
    if (kind === DROP) resident.delete(block);
  }
  const held = [...resident.values()].reduce((sum, block) => sum + block.entries, 0);
  return { reads, writes, held, resident: [...resident.values()], last: run.events[events - 1] };
}

/** How many events are over when so many entries have moved: up to and with the last transfer. */
export function eventsBy(run, clock) {
  const moved = moments(run);
  let at = moved.length - 1;
  while (
    at > 0 &&
    (moved[at] > clock ||
      (run.events[at - 1][0] > STORE && moved[at] <= clock && at < moved.length - 1))
  )
    at -= 1;
  return at;
}

export function compute(state) {
  const both = ['left', 'right'].map((side) => runOf(state[side], state.capacity));
  const clocks = clocksOf(...both, `${state.left} ${state.right} ${state.capacity}`);
  const frame = Math.min(state.frame, clocks.length - 1);
  return {
    both,
    clocks,
    frame,
    clock: clocks[frame],
    standings: both.map((run) =>
      standing(run, frame === clocks.length - 1 ? run.events.length : eventsBy(run, clocks[frame])),
    ),
  };
}

/**
 * Where the tile that is computed now stands among the scores, and how often each entry has moved.
 */
export function traces(run, events) {
  const moved = Object.fromEntries(
    Object.entries(run.shapes).map(([name, [rows, cols]]) => [
      name,
      { cols, counts: new Uint8Array(rows * cols) },
    ]),
  );
  const done = new Uint8Array(sizes.N * sizes.N);
  let [queries, keys, tile] = [null, null, null];
  const held = new Map();
  for (let at = 0; at < events; at += 1) {
    const [kind, array, top, bottom, left, right, block] = run.events[at];
    const name = run.arrays[array];
    if (kind === DROP) {
      held.delete(block);
      if (![...held.values()].includes(name)) {
        if (name === 'Q') queries = null;
        if (name === 'K') keys = null;
      }
    }
    if (kind === LOAD) held.set(block, name);
    if (kind > STORE) continue;
    const { cols, counts } = moved[name];
    for (let row = top; row < bottom; row += 1)
      for (let col = left; col < right; col += 1) counts[row * cols + col] += 1;
    if (name === 'Q') queries = [top, bottom];
    if (name === 'K') keys = [top, bottom];
    if (SCORES.includes(name)) tile = [top, bottom, left, right];
    else if ((name === 'Q' || name === 'K') && queries && keys) tile = [...queries, ...keys];
    if ((name === 'Q' || name === 'K') && queries && keys)
      for (let row = queries[0]; row < queries[1]; row += 1)
        done.fill(1, row * sizes.N + keys[0], row * sizes.N + keys[1]);
  }
  return { moved, done, tile };
}

const share = (run, { reads, writes }) => (reads + writes) / (run.reads + run.writes);

export function summary(state, { both, standings, clock, clocks, frame }) {
  const words = ['left', 'right'].map((side, at) => {
    const [{ reads, writes }, run] = [standings[at], both[at]];
    const over = reads + writes === run.reads + run.writes;
    return [
      `${at ? 'Second' : 'First'}: ${NAMES[state[side]]}`,
      `${plain(reads)} read, ${plain(writes)} written of ` +
        `${plain(run.reads + run.writes)}${over ? ': done' : ''}`,
    ];
  });
  return [
    ...words,
    ['Clock', `${plain(clock)} entries moved; step ${plain(frame)} of ${plain(clocks.length - 1)}`],
  ];
}

const SCORES = ['S', 'P'];
const WHAT = {
  Q: 'queries',
  K: 'keys',
  V: 'values',
  S: 'scores',
  P: 'weights',
  O: 'output',
  l: 'sums',
  m: 'maxima',
};

/** What an event does, in words. */
export function doing(run, event) {
  if (!event) return 'nothing yet';
  const [kind, array, top, bottom, left, right] = event;
  const name = run.arrays[array];
  const what = `${WHAT[name] ?? name} ${bottom - top > 1 ? `${top + 1}–${bottom}` : bottom}`;
  if (SCORES.includes(name))
    return (
      `${kind === STORE ? `writes the ${WHAT[name]}` : `reads the ${WHAT[name]} back`}, ` +
      `${(bottom - top) * (right - left)} of them`
    );
  return kind === STORE ? `writes ${what}` : `reads ${what}`;
}

// ---------------------------------------------------------------- the picture

const SHADES = [0, 0.22, 0.38, 0.52, 0.64, 0.74, 0.82, 0.88];
const f = (value) => value.toFixed(2);
// Pixels of an entry, at most: on a low screen the line below is to be seen as well.
const largest = () => Math.max(8, Math.min(12, (innerHeight - 500) / 26));
const rect = (x, y, width, height, kind) =>
  `<rect x="${f(x)}" y="${f(y)}" width="${f(width)}" height="${f(height)}" class="${kind}"/>`;

/**
 * Where arrays stand: queries left of the scores, keys above, values below, the output to the
 * right.
 */
function places(run, cell) {
  const { N, d } = sizes;
  const [gap, head] = [0.6 * cell, 15];
  const left = d * cell + gap;
  const top = head + d * cell + gap;
  /** @type {Record<string, [x: number, y: number, turned: boolean]>} */
  const all = {
    K: [left, head, true],
    Q: [0, top, false],
    S: [left, top, false],
    O: [left + N * cell + gap, top, false],
    V: [left, top + N * cell + gap, true],
    m: [left + (N + d) * cell + 1.6 * gap, top, false],
    l: [left + (N + d + 1) * cell + 2 * gap, top, false],
  };
  return {
    all: Object.fromEntries(
      Object.entries(all).filter(([name]) => name === 'S' || run.shapes[name]),
    ),
    width: left + (N + d + 2) * cell + 2 * gap + 2,
    height: top + N * cell + gap + d * cell + head,
  };
}

/** Cells of an array, each as strong as often as it has moved: runs of equal ones are one box. */
function cells({ counts, cols }, [x, y, turned], cell, kind, shade) {
  const boxes = new Map();
  for (let row = 0; row < counts.length / cols; row += 1) {
    for (let from = 0; from < cols; ) {
      const level = counts[row * cols + from];
      let to = from + 1;
      while (to < cols && counts[row * cols + to] === level) to += 1;
      const [px, py, wide, high] = turned ? [row, from, 1, to - from] : [from, row, to - from, 1];
      if (level)
        boxes.set(
          level,
          `${boxes.get(level) ?? ''}M${f(x + px * cell)} ` +
            `${f(y + py * cell)}h${f(wide * cell)}v${f(high * cell)}h${f(-wide * cell)}z`,
        );
      from = to;
    }
  }
  return [...boxes]
    .map(([level, d]) => `<path d="${d}" class="${kind}" opacity="${shade(level)}"/>`)
    .join('');
}

const region = ([top, bottom, left, right], [x, y, turned], cell, kind) =>
  turned
    ? rect(x + top * cell, y + left * cell, (bottom - top) * cell, (right - left) * cell, kind)
    : rect(x + left * cell, y + top * cell, (right - left) * cell, (bottom - top) * cell, kind);

/** One run at a moment: what has moved, what is held, what moves, and which scores are computed. */
function drawing(run, standing, { moved, done, tile }, cell) {
  const { all, width, height } = places(run, cell);
  const { N } = sizes;
  const stored = SCORES.filter((name) => run.shapes[name]);
  let [drawn, names] = ['', ''];
  for (const [name, place] of Object.entries(all)) {
    const [rows, cols] = name === 'S' ? [N, N] : run.shapes[name];
    const [wide, high] = place[2] ? [rows, cols] : [cols, rows];
    if (name === 'S')
      drawn += cells({ counts: done, cols: N }, place, cell, 'film-computed', () => 0.3);
    const counts =
      name !== 'S'
        ? moved[name].counts
        : done.map((_, at) => stored.reduce((sum, each) => sum + moved[each].counts[at], 0));
    drawn += cells(
      { counts, cols },
      place,
      cell,
      'film-moved',
      (level) => SHADES[Math.min(level, SHADES.length - 1)],
    );
    drawn += rect(
      place[0],
      place[1],
      wide * cell,
      high * cell,
      name === 'S' && !stored.length ? 'film-array film-nowhere' : 'film-array',
    );
    const title = name === 'S' ? stored.join(' and ') || 'scores' : place[2] ? `${name}ᵀ` : name;
    const inside = name === 'S'; // in its corner
    const [left, top] = [place[0] + (inside ? wide * cell - 4 : (wide * cell) / 2), place[1] - 4];
    const below = place[1] + high * cell + (inside ? -5 : 12);
    names +=
      `<text x="${f(left)}" y="${f(inside || name === 'V' ? below : top)}" ` +
      `class="film-name" text-anchor="${inside ? 'end' : 'middle'}">${title}</text>`;
  }
  if (tile && standing.resident.length) drawn += region(tile, all.S, cell, 'film-tile');
  for (const block of standing.resident) {
    const at = SCORES.includes(block.array) ? 'S' : block.array;
    if (block.loaded && all[at]) drawn += region(block.region, all[at], cell, 'film-held');
  }
  const { last } = standing;
  if (last && last[0] <= STORE) {
    const name = run.arrays[last[1]];
    drawn += region(
      last.slice(2, 6),
      all[SCORES.includes(name) ? 'S' : name],
      cell,
      last[0] === LOAD ? 'film-read' : 'film-written',
    );
  }
  return (
    `<svg viewBox="0 0 ${f(width)} ${f(height)}" width="${f(width)}" height="${f(height)}" ` +
    `aria-hidden="true">${drawn}${names}</svg>`
  );
}

/** The fast memory: a bar as long as it has room for, each block with its name. */
function fast({ resident, held }, capacity) {
  const blocks = resident.map(({ entries: size, loaded, array }) =>
    make(
      'span',
      {
        class: loaded ? 'film-block' : 'film-block film-temporary',
        style: `width:${(100 * size) / capacity}%`,
      },
      size * 100 > 9 * capacity ? array : '',
    ),
  );
  return [
    make('p', { class: 'film-label' }, `fast memory: ${plain(held)} of ${plain(capacity)}`),
    make('div', { class: 'film-fast', 'aria-hidden': 'true' }, ...blocks),
  ];
}

/** Both runs on one axis of entries moved: a lane each, as long as all that it moves. */
function lanes({ both, clocks }, names, width) {
  const most = clocks.at(-1);
  const place = (moved) => (width * moved) / most;
  const [lane, apart, words] = [12, 27, 13]; // pixels
  const drawn = both.map((run, which) => {
    const [paths, top] = [['', ''], which * apart + words];
    let [moved, from, kind] = [0, 0, 0];
    const put = () => {
      if (moved > from)
        paths[kind] += `M${f(place(from))} ${top}H${f(place(moved))}v${lane}H${f(place(from))}z`;
    };
    for (const event of run.events) {
      if (event[0] > STORE) continue;
      if (event[0] !== kind) {
        put();
        [from, kind] = [moved, event[0]];
      }
      moved += entries(event);
    }
    put();
    const total = run.reads + run.writes;
    const label =
      `<text x="0" y="${which * apart + 10}" class="film-name">${names[which]}: done at ` +
      `${plain(total)}</text>`;
    return [
      `<path d="${paths[0]}" class="film-reads"/><path d="${paths[1]}" class="film-writes"/>`,
      label,
    ];
  });
  const high = 2 * apart + 20;
  const step = [50, 100, 200, 500, 1000].find((each) => most / each <= (width < 480 ? 4 : 9));
  const ticks = Array.from({ length: Math.floor(most / step) + 1 }, (_, at) => at * step);
  const axis = ticks
    .map(
      (at) =>
        `<path d="M${f(place(at))} ${2 * apart}v4" class="film-tick"/><text x="` +
        `${f(Math.min(width - 2, Math.max(2, place(at))))}" y="${2 * apart + 16}" ` +
        'class="film-name" text-anchor="' +
        `${at === 0 ? 'start' : place(at) > width - 20 ? 'end' : 'middle'}">${plain(at)}</text>`,
    )
    .join('');
  return (
    `<svg viewBox="0 0 ${width} ${high}" width="${width}" height="${high}" aria-hidden="true" ` +
    `class="film-lanes">${drawn.map(([lines]) => lines).join('')}<rect class="film-later" ` +
    `y="0" height="${2 * apart}" width="0"/>` +
    // through the lanes, and not through the words above them
    `${axis}<path d="${[words, apart + words].map((y) => `M0 ${y - 1}v${lane + 2}`).join('')}" ` +
    'class="film-now"/>' +
    `${drawn.map(([, label]) => label).join('')}</svg>`
  );
}

function lay(explorer) {
  explorer.title = make('p', { class: 'explorer-title film-title' });
  explorer.panels = [0, 1].map(() => ({
    title: make('p', { class: 'film-who' }),
    doing: make('p', { class: 'film-doing' }),
    picture: make('div', { class: 'film-picture' }),
    fast: make('div', {}),
  }));
  const keys = [
    ['film-key-computed', 'computed'],
    ['film-key-moved', 'moved, a stronger blue each time'],
    ['film-key-held', 'in fast memory'],
    ['film-key-read', 'being read'],
    ['film-key-written', 'being written'],
  ];
  explorer.line = make('div', {
    class: 'film-line',
    tabindex: '0',
    role: 'slider',
    'aria-label': 'Step',
    'aria-valuemin': 0,
  });
  explorer.stage.replaceChildren(
    make(
      'div',
      { class: 'explorer-panel film' },
      explorer.title,
      make(
        'div',
        { class: 'film-pair' },
        ...explorer.panels.map(({ title, doing: words, picture, fast: memory }) =>
          make('div', { class: 'film-side' }, title, words, picture, memory),
        ),
      ),
      make(
        'p',
        { class: 'film-label film-axis' },
        'Entries ',
        make('span', { class: 'film-said-read' }, 'read'),
        ' and ',
        make('span', { class: 'film-said-written' }, 'written'),
        ', on one axis',
      ),
      explorer.line,
    ),
    make(
      'ul',
      { class: 'explorer-legend film-legend' },
      ...keys.map(([kind, words]) =>
        make('li', {}, make('span', { class: `film-key ${kind}`, 'aria-hidden': 'true' }), words),
      ),
    ),
  );
}

export function draw(explorer, state, result) {
  const { both, standings, clocks, clock, frame } = result;
  if (!explorer.panels) lay(explorer);
  explorer.wide ||= Math.max(200, explorer.stage.clientWidth);
  const width = explorer.wide;
  const names = ['left', 'right'].map((side) => NAMES[state[side]]);
  const shares = both.map((run, at) => share(run, standings[at]));
  explorer.title.textContent = `After ${plain(clock)} entries moved`;
  const cell = Math.min(largest(), ((width - (width < 480 ? 12 : 32)) / 2 - 4) / 27.4);
  explorer.panels.forEach((panel, at) => {
    const events = frame === clocks.length - 1 ? both[at].events.length : eventsBy(both[at], clock);
    panel.title.textContent =
      `${names[at]}: ` +
      `${shares[at] === 1 ? 'done' : percent(Math.min(0.99, Math.round(100 * shares[at]) / 100))}`;
    panel.doing.textContent =
      shares[at] === 1
        ? `all ${plain(both[at].reads + both[at].writes)} entries`
        : doing(both[at], standings[at].last);
    panel.picture.innerHTML = drawing(both[at], standings[at], traces(both[at], events), cell);
    panel.fast.replaceChildren(...fast(standings[at], Number(state.capacity)));
  });
  const key = `${state.left} ${state.right} ${state.capacity} ${width}`;
  if (explorer.laid !== key) explorer.line.innerHTML = lanes(result, names, width);
  explorer.laid = key;
  const now = (width * clock) / clocks.at(-1);
  const [later, mark] = [
    explorer.line.querySelector('.film-later'),
    explorer.line.querySelector('.film-now'),
  ];
  later.setAttribute('x', f(now));
  later.setAttribute('width', f(width - now));
  mark.setAttribute('transform', `translate(${f(Math.min(width - 1, Math.max(1, now)))} 0)`);
  const each = explorer.panels.map(({ title, doing }) => [title.textContent, doing.textContent]);
  const said = each.map((words) => words.join(', ')).join('; ');
  for (const [name, value] of [
    ['aria-valuemax', clocks.length - 1],
    ['aria-valuenow', frame],
    ['aria-valuetext', `${explorer.title.textContent}. ${said}`],
  ])
    explorer.line.setAttribute(name, value);
}

// ---------------------------------------------------------------- playing

/** The step at which so many entries have moved, or the last before. */
export function stepAt(clocks, clock) {
  const after = clocks.findIndex((each) => each > clock);
  return after < 0 ? clocks.length - 1 : Math.max(0, after - 1);
}

export function build(explorer) {
  const player = new Player(explorer, {
    last: () => explorer.result.clocks.length - 1,
    next: (frame) => frame + Math.max(1, Math.round(Number(explorer.state.speed) / 30)),
    wait: () => Math.max(1000 / 30, 1000 / Number(explorer.state.speed)),
    leap: (frame, way) => frame + 20 * way,
  });
  explorer.others.addEventListener('change', ({ target }) => {
    if (target === explorer.inputs.get('speed')?.select) player.stop();
  });
  scrubbed(explorer, player);
  new ResizeObserver(() => {
    const wide = Math.max(200, explorer.stage.clientWidth);
    if (wide === explorer.wide) return;
    explorer.wide = wide;
    if (explorer.result) draw(explorer, explorer.state, explorer.result);
  }).observe(explorer.stage);
}

// On the line a pointer is where the clock is; on the pictures a drag turns the film on and back.
function scrubbed(explorer, player) {
  hold(explorer.stage, (first) => {
    const onLine = Boolean(first.target.closest('.film-line'));
    if (!onLine && !first.target.closest('.film-picture')) return null;
    const { clock, clocks } = explorer.result;
    const { left, width } = explorer.line.getBoundingClientRect();
    const from = onLine ? left : first.clientX - (width * clock) / clocks.at(-1);
    const move = (event) =>
      player.go(stepAt(clocks, (clocks.at(-1) * (event.clientX - from)) / width));
    return { move, tap: onLine ? move : () => {}, atOnce: onLine };
  });
}

export const note = () =>
  `Attention of ${sizes.N} queries and keys, head dimension ${sizes.d}. Every frame is an ` +
  'event of the counted simulator’s own trace, with the blocks that move the least in the ' +
  'fast memory you chose. Scores that are drawn dashed exist in fast memory alone.';

export function table(state) {
  const kinds = ['read', 'write', 'make room', 'drop'];
  return {
    columns: [
      'run',
      'event',
      'kind',
      'array',
      'first row',
      'after row',
      'first column',
      'after column',
      'entries',
    ],
    rows: ['left', 'right'].flatMap((side) => {
      const run = runOf(state[side], state.capacity);
      return run.events.map((event, at) => [
        NAMES[state[side]],
        at + 1,
        kinds[event[0]],
        run.arrays[event[1]],
        ...event.slice(2, 6),
        entries(event),
      ]);
    }),
  };
}
