// Entries that attention moves, against the fast memory it has.
import { devices } from './generated/catalogue.js';
import {
  attentions,
  io_backward_bound,
  io_backward_compulsory,
  io_bound,
  io_compulsory,
} from './generated/io.js';
import { plain, quantity, sweep } from './numbers.js';

/** @type {Control[]} */
export const controls = [
  {
    id: 'M',
    label: 'Fast memory M',
    unit: 'entries',
    type: 'number',
    min: 4,
    max: 268435456,
    value: 16384,
    powers: true,
  },
  {
    id: 'd',
    label: 'Head dimension d',
    type: 'number',
    min: 1,
    max: 1024,
    value: 64,
    powers: true,
  },
  {
    id: 'N',
    label: 'Queries and keys N',
    type: 'number',
    min: 1,
    max: 1048576,
    value: 4096,
    powers: true,
    more: true,
  },
  {
    id: 'pass',
    label: 'Pass',
    type: 'choice',
    options: [
      ['forward', 'Forward'],
      ['backward', 'Backward'],
    ],
    value: 'forward',
    more: true,
  },
];

/** @type {Suggestion[]} */
export const tries = [
  {
    label: 'M = d²',
    state: { M: 4096 },
    say:
      'FlashAttention-2 moves 1.44 times the bound here, and 1.09 times with four times the ' +
      'memory. Further right the gap opens again, to 2, until all queries fit at once. Storing ' +
      'the scores moves a little less here, 1.41 times the bound. Well to the left the ' +
      'small-cache algorithm moves the least.',
  },
  {
    label: 'Tiny M',
    state: { M: 100 },
    say:
      'Neither FlashAttention fits, nor do stored scores: all three need whole rows in fast ' +
      'memory. The tiled ones still fit, and are a third above the bound.',
  },
  {
    label: 'Huge M',
    state: { M: 268435456 },
    say:
      'FlashAttention-2 moves what must be moved in any case: three inputs and one output. The ' +
      'two that write their scores once move 33 times as much, and the standard one 81 times.',
  },
  {
    label: 'Backward, M = d²',
    state: { pass: 'backward', M: 4096 },
    say:
      'The backward pass makes three gradients. Four passes that write the weights and the score ' +
      'gradients move the least here, 1.83 times the bound. Two passes, which keep all scores on ' +
      'the chip, move 2.69 times the bound. With four times the memory two passes move the ' +
      'least, 2.21 times the bound.',
  },
  {
    label: 'Twice the width',
    state: { d: 128 },
    say:
      'The crossing moves with d², nearly four times as far. The same M is now d² itself, and ' +
      'FlashAttention-2 moves nearly four times as many entries.',
  },
];

// Of each pass: its algorithms, by costlib's names and a reader's. The third keeps all scores on
// the chip and moves the least in a large memory, the last two write scores.
const PASSES = {
  forward: {
    algorithms: ['naive', 'flash', 'flash2', 'small_cache', 'stored_scores'],
    names: ['standard', 'FlashAttention-1', 'FlashAttention-2', 'small cache', 'stored scores'],
    said: [
      'the standard algorithm',
      'FlashAttention-1',
      'FlashAttention-2',
      'the small-cache algorithm',
      'the algorithm that stores scores',
    ],
    hues: [3, 1, 0, 2, 5], // as the chapter's figures have them
    bound: io_bound,
    compulsory: io_compulsory,
  },
  backward: {
    algorithms: ['flash', 'flash2', 'two_pass', 'stored', 'four_pass'].map(
      (one) => `${one}_backward`,
    ),
    names: [
      'FlashAttention-1',
      'FlashAttention-2',
      'two passes',
      'stored score gradients',
      'four passes',
    ],
    said: [
      'FlashAttention-1',
      'FlashAttention-2',
      'the algorithm in two passes',
      'the one that stores score gradients',
      'the algorithm in four passes',
    ],
    hues: [1, 0, 4, 5, 2],
    bound: io_backward_bound,
    compulsory: io_backward_compulsory,
  },
};
const of = (state) => PASSES[state.pass ?? 'forward'];
const MOST = 268435456;

/**
 * What each algorithm reads, writes and holds with the largest blocks that fit; null where none do.
 */
export function at(state, M) {
  const { N, d } = state;
  const { algorithms, bound, compulsory } = of(state);
  const most = Math.max(N, d);
  const blocks = algorithms.map((name) =>
    attentions[name][0](d, M).map((block) => Math.min(block, most)),
  );
  return {
    M,
    blocks,
    runs: algorithms.map((name, which) =>
      Math.min(...blocks[which]) >= 1 ? attentions[name][1](N, d, blocks[which]) : null,
    ),
    bound: Math.max(bound(N, d, M), compulsory(N, d)),
  };
}

const total = (run) => (run ? run[0] + run[1] : null);

/**
 * From where on the third algorithm moves no more than the two that write scores: after the last
 * point at which it does, as steps of block sizes let them cross more than once. Null if never.
 */
export function overtakes(state, points) {
  const ahead = ({ runs }) =>
    runs[2] !== null && [3, 4].every((other) => total(runs[2]) <= (total(runs[other]) ?? Infinity));
  const last = points.findLastIndex((point) => !ahead(point));
  if (last < 0 || last === points.length - 1) return null;
  let [low, high] = [points[last].M, points[last + 1].M];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (ahead(at(state, middle))) high = middle;
    else low = middle;
  }
  return high;
}

const MARKED = ['T4', 'H100-SXM', 'Trainium'];
const SHOWN = [16, 16777216]; // memories that the chart shows, and further where the state is

export function compute(state) {
  const special = [state.M, state.d ** 2, 4 * state.d ** 2, ...SHOWN].filter(
    (M) => M >= 4 && M <= MOST,
  );
  const points = sweep(4, MOST, 72, special).map((M) => at(state, M));
  return { points, here: at(state, state.M), overtaken: overtakes(state, points) };
}

/**
 * Where no more fast memory helps the third algorithm: it moves inputs and outputs alone.
 */
const flat = (state, points) =>
  points.find(({ runs }) => runs[2] && total(runs[2]) <= of(state).compulsory(state.N, state.d))?.M;

/** What moves the fewest entries of all that fit: how many, and what it is called in a sentence. */
const leastOf = (state, { runs }) =>
  of(state)
    .said.flatMap((name, which) => (runs[which] ? [[total(runs[which]), name]] : []))
    .sort((a, b) => a[0] - b[0])[0];

export function charts(state, { points, here, overtaken }) {
  const { names, hues } = of(state);
  const shown = devices.filter(({ name }) => MARKED.includes(name));
  const rings = [
    [overtaken, `${names[2]} overtake${/s$/.test(names[2]) ? '' : 's'}`],
    [flat(state, points), 'inputs and outputs alone', true],
  ]
    .filter(([M]) => M)
    .map(([M, label, minor]) => ({ x: M, y: total(at(state, M).runs[2]), label, minor }));
  const best = leastOf(state, here);
  const times =
    best && best[0] > 1.005 * here.bound
      ? `${plain(best[0] / here.bound, 3)} times the lower bound`
      : 'as little as any schedule can';
  return [
    {
      title: best
        ? `At M = ${plain(state.M)}, ${best[1]} moves the least: ${times}`
        : 'No algorithm fits in so little',
      alt:
        `At M = ${plain(state.M)}: ` +
        `${names.map((name, which) => `${name} ${plain(total(here.runs[which]))}`).join(', ')}; ` +
        `no schedule below ${plain(Math.ceil(here.bound))}.`,
      x: {
        label: 'fast memory M, entries',
        range: [Math.min(SHOWN[0], state.M), Math.max(SHOWN[1], state.M)],
      },
      y: { label: 'entries moved' },
      xs: points.map(({ M }) => M),
      series: [
        ...names.map((label, which) => ({
          label,
          colour: hues[which],
          ys: points.map(({ runs }) => total(runs[which])),
        })),
        { label: 'lower bound', ink: true, dash: 4, ys: points.map(({ bound }) => bound) },
      ],
      marks: [
        ...rings,
        { x: state.d ** 2, label: 'M = d²' },
        ...shown.map(({ name, on_chip: size }) => ({ x: size / 2, label: name, minor: true })),
      ],
      at: { x: state.M, label: `M = ${plain(state.M)}` },
      drag: (M) => ({ M: String(Math.round(M)) }),
    },
  ];
}

/** The block sizes of an algorithm, in costlib's order. */
const sizes = (blocks) => blocks.map((size) => plain(size)).join(', ');

/** What the picture says, for who has not met its words yet. */
function inWords(state, here) {
  const least = leastOf(state, here);
  const room = `${plain(state.M)} entries (${quantity(2 * state.M, 'B', 3)} in 16 bits)`;
  if (!least) return `None of these algorithms fits into a fast memory of ${room}.`;
  const times = state.pass !== 'backward' && here.runs[0] ? total(here.runs[0]) / least[0] : 1;
  const standard =
    times > 1 ? ` The standard algorithm moves ${plain(times, 3)} times as many.` : '';
  return (
    `With a fast memory of ${room}, ${least[1]} moves the least from and to slow memory: ` +
    `${plain(least[0], 9)} entries.${standard} No order of computing moves fewer than ` +
    `${plain(Math.ceil(here.bound), 9)}.`
  );
}

/** How many times the bound something moves, in words. */
function against(moved, bound) {
  const times = plain(moved / bound, 3);
  if (times !== '1') return `${times} times the bound`;
  return moved <= Math.ceil(bound) ? 'equal to the bound' : 'hardly more than the bound';
}

export function summary(state, { here, overtaken }) {
  const { names } = of(state);
  const words = names.map((name, which) => [
    name[0].toUpperCase() + name.slice(1),
    here.runs[which]
      ? `${plain(total(here.runs[which]), 9)} entries, ` +
        against(total(here.runs[which]), here.bound)
      : 'does not fit',
  ]);
  return [
    ['In words', inWords(state, here)],
    ...words,
    ['Lower bound', `${plain(Math.ceil(here.bound), 9)} entries`],
    [
      'Crossover',
      overtaken
        ? `from about M = ${plain(overtaken)}, ${plain(overtaken / state.d ** 2, 3)} times d², ` +
          'storing scores no longer pays'
        : 'none',
    ],
  ];
}

export const note = () =>
  'Blocks are the largest of their shape that fit with everything else that must be held, in the ' +
  'order in which best_blocks names them: square tiles, or whole rows beside a single row of ' +
  'what streams past. M of a device is the on-chip memory of one core in entries of two bytes.';

export function table(state, { points }) {
  const { names } = of(state);
  return {
    columns: ['M', 'algorithm', 'blocks', 'reads', 'writes', 'held at most', 'lower bound'],
    rows: points.flatMap(({ M, runs, blocks, bound }) =>
      names.flatMap((name, which) =>
        runs[which] ? [[M, name, sizes(blocks[which]), ...runs[which], bound]] : [],
      ),
    ),
  };
}
