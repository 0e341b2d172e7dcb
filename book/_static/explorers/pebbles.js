// The red-blue pebble game on small graphs: play it, then see the solver's own best.
import { calm, make } from './dom.js';
import { boards } from './generated/boards.js';
import { counted } from './numbers.js';
import { after, broken, opening, parse, play } from './rules.js';

/** A name that fits in a pebble: C[0,1,0] is C010, and v3 is 3. */
const short = (name) => name.replace(/[[\],]|^v/g, '');
const WORDS = { R: 'read', W: 'write', C: 'compute', D: 'delete', E: 'erase' };
const COSTS = { R: 'costs 1', W: 'costs 1', C: 'free', D: 'free' };

/** @type {Control[]} */
export const controls = [
  {
    id: 'graph',
    label: 'Graph',
    type: 'choice',
    options: Object.entries(boards).map(([id, { title }]) => [id, title]),
    value: 'tree',
  },
  {
    id: 'red',
    label: 'Red pebbles',
    type: 'choice',
    value: '3',
    options: ({ graph }) => Object.keys(boards[graph].best).map((red) => [red, red]),
  },
  { id: 'moves', type: 'hidden', plays: true, pattern: /^([RWCDE]\d{1,2})*$/, value: '' },
];

/** @type {Suggestion[]} */
export const tries = [
  {
    label: 'The sum',
    state: { graph: 'tree', red: '3' },
    say:
      'Three red pebbles are too few to keep partial sums: some must be written, and read ' +
      'again. How few?',
  },
  {
    label: 'One pebble more',
    state: { graph: 'tree', red: '4' },
    say:
      'One partial sum still has to go out and come back, and no more than one. With five ' +
      'pebbles none has to.',
  },
  {
    label: 'Compute twice',
    state: { graph: 'diamond', red: '3' },
    say:
      'The best schedule reads the corner twice and computes three values twice: one read in ' +
      'place of a write and a read. Find it, or let the solver show you.',
  },
  {
    label: 'A matrix product',
    state: { graph: 'matmul', red: '4' },
    say:
      'C000 is A00 times B00; C001 adds A01 times B10, and is an output: there are four such ' +
      'pairs. To read each input and write each output once takes 12. With four red pebbles, ' +
      'how many inputs must be read a second time?',
  },
];

export function compute(state) {
  const graph = boards[state.graph];
  const game = { parents: graph.parents, most: Number(state.red) };
  const board = play(game, state.moves);
  const best = graph.best[state.red];
  const follows = best.moves.replaceAll(' ', '').startsWith(board.moves.join(''))
    ? board.moves.length
    : 0;
  return {
    graph,
    game,
    board,
    best,
    follows,
    complete: graph.outputs.every((output) => board.blue.has(output)),
  };
}

/** What a tap may mean at a vertex: its legal moves. Erasing what slow memory keeps never helps. */
export function legal({ game, board }, vertex) {
  return ['W', 'R', 'C', 'D'].filter((kind) => !broken(game, board, kind, vertex));
}

/** What a tap that has no legal move was meant to do. */
function meant({ board }, vertex) {
  if (board.red.has(vertex)) return 'D';
  return board.blue.has(vertex) ? 'R' : 'C';
}

/** A rule with the names that stand on the board. */
export const named = (rule, names) =>
  rule.replace(/and (\d+) is not/, (_, vertex) => `and ${short(names[vertex])} is not`);

/**
 * Where a vertex stands: its row by the longest way to an input, spread evenly; shares of 1. A
 * chain lies down.
 */
export function places(parents) {
  const level = [];
  parents.forEach((of, vertex) => {
    level[vertex] = of.length ? 1 + Math.max(...of.map((parent) => level[parent])) : 0;
  });
  const rows = Math.max(...level) + 1;
  if (rows === parents.length)
    return parents.map((_, vertex) => ({ x: (vertex + 0.5) / rows, y: 0.5, rows: 2 }));
  return parents.map((_, vertex) => {
    const mates = level.flatMap((each, other) => (each === level[vertex] ? [other] : []));
    return {
      x: (mates.indexOf(vertex) + 0.5) / mates.length,
      y: (level[vertex] + 0.5) / rows,
      rows,
    };
  });
}

export function summary(_state, { board, best, complete, graph }) {
  const left = graph.outputs.filter((output) => !board.blue.has(output)).length;
  const done = complete
    ? board.cost === best.cost
      ? 'done, and nothing is cheaper'
      : `done; the best is ${best.cost}`
    : `${left} ${left > 1 ? 'outputs' : 'output'} to go`;
  return [
    ['I/O so far', `${board.cost} (${done})`],
    ['Moves', board.moves.join(' ') || 'none yet'],
  ];
}

const button = (text, action, kind) =>
  make('button', { type: 'button', class: kind, '.onclick': action }, text);

export function build(explorer) {
  const stop = () => {
    clearTimeout(explorer.timer);
    explorer.timer = null;
  };
  const put = (moves) => {
    explorer.closed?.();
    explorer.set({ ...explorer.state, moves });
  };
  explorer.tell = (text, kind = '') => {
    explorer.defer('told', () => {});
    explorer.message.textContent = text;
    explorer.message.className = `pebble-message ${kind}`;
  };
  explorer.move = (kind, vertex) => {
    stop();
    explorer.closed?.();
    const { game, board, graph } = explorer.result;
    const rule = broken(game, board, kind, vertex);
    if (rule) {
      refuse(explorer, kind, vertex, rule);
      return;
    }
    const next = after(board, kind, vertex);
    explorer.tell(`${WORDS[kind]} ${short(graph.names[vertex])}: ${said(explorer.result, next)}`);
    put(next.moves.join(''));
  };
  explorer.replay = (at, playing) => {
    stop();
    explorer.asked = key(explorer.state); // what is shown is nobody’s score
    const { best, graph } = explorer.result;
    const moves = best.moves.split(' ');
    const place = Math.min(moves.length, Math.max(0, at));
    const [, kind, vertex] = /(.)(\d+)/.exec(moves[place - 1] ?? 'R0');
    put(moves.slice(0, place).join(''));
    explorer.tell(
      place
        ? `Best play, move ${place} of ${moves.length}: ${WORDS[kind]} ` +
            `${short(graph.names[vertex])}`
        : 'Best play, from the start',
    );
    if (playing && place < moves.length)
      explorer.timer = setTimeout(() => explorer.replay(place + 1, true), calm ? 1500 : 500);
  };
  const follow = (by) => explorer.replay(explorer.result.follows + by, false);
  explorer.proof = make(
    'div',
    { class: 'pebble-proof', hidden: true },
    make('p', {}),
    make(
      'div',
      { class: 'explorer-buttons', role: 'group', 'aria-label': 'Best play' },
      button('Play it', () => explorer.replay(0, true)),
      button('Back', () => follow(-1)),
      button('Step', () => follow(1)),
      button('Stop', stop),
    ),
  );
  explorer.stage.after(
    make(
      'div',
      { class: 'explorer-buttons', role: 'group', 'aria-label': 'Game' },
      button('Undo', () => {
        stop();
        undo(explorer);
        put(explorer.result.board.moves.slice(0, -1).join(''));
      }),
      button('Clear the board', () => {
        stop();
        explorer.asked = null;
        put('');
        explorer.tell('The board is as at the start.');
      }),
      button('Show the best play and its proof', () => explorer.replay(0, true)),
    ),
    explorer.proof,
  );
  for (const id of ['graph', 'red'])
    explorer.inputs.get(id)?.select.addEventListener('change', () => {
      stop();
      put('');
    });
  explorer.best = new Map(); // of the reader, by board
}

/** Says which move is taken back, and what is left of the cost. */
function undo({ tell, result: { board, game, graph } }) {
  const moves = parse(board.moves.join(''));
  if (!moves.length) {
    tell('There is no move to take back.');
    return;
  }
  const [kind, vertex] = moves.pop();
  const before = moves.reduce((now, move) => after(now, ...move), opening(game.parents));
  tell(`Taken back: ${WORDS[kind]} ${short(graph.names[vertex])}. I/O ${before.cost}`);
}

const key = ({ graph, red }) => `${graph} ${red}`;

/** What a move leads to, in words. */
function said({ graph, best }, { cost, blue }) {
  if (!graph.outputs.every((output) => blue.has(output))) return `I/O ${cost}`;
  return (
    `every output is written, with an I/O of ${cost}. ` +
    (cost === best.cost
      ? 'No play is better: you have reached it!'
      : `It can be done with ${best.cost}.`)
  );
}

function refuse(explorer, kind, vertex, rule) {
  const { graph, board } = explorer.result;
  explorer.tell(
    `${WORDS[kind]} ${short(graph.names[vertex])}? Not allowed: ${named(rule, graph.names)}.`,
    'pebble-refused',
  );
  explorer.vertices.forEach((each, at) =>
    each.classList.toggle(
      'pebble-wanted',
      kind === 'C' && graph.parents[vertex].includes(at) && !board.red.has(at),
    ),
  );
  const wrong = explorer.vertices[vertex];
  wrong.classList.remove('pebble-wrong');
  wrong.getBoundingClientRect(); // so that it shakes again
  wrong.classList.add('pebble-wrong');
}

// ---------------------------------------------------------------- the board

const SVG = 'http://www.w3.org/2000/svg';

/** A tap does the one legal move there is; where there are two, it asks which. */
function tapped(explorer, vertex) {
  const moves = legal(explorer.result, vertex);
  if (explorer.menu?.vertex === vertex) {
    explorer.closed();
    return;
  }
  if (!moves.length) explorer.move(meant(explorer.result, vertex), vertex);
  else if (moves.length === 1) explorer.move(moves[0], vertex);
  else ask(explorer, vertex, moves);
}

function ask(explorer, vertex, moves) {
  explorer.closed?.();
  const { x, y } = places(explorer.result.graph.parents)[vertex];
  const menu = make(
    'div',
    {
      class: y > 0.6 ? 'pebble-menu pebble-menu-above' : 'pebble-menu',
      role: 'group',
      'aria-label': `Moves at ${short(explorer.result.graph.names[vertex])}`,
      style: `left:clamp(0px, calc(${100 * x}% - 6.5rem), calc(100% - 13rem));top:${100 * y}%`,
    },
    ...moves.map((kind) =>
      button(`${WORDS[kind]}: ${COSTS[kind]}`, () => {
        explorer.move(kind, vertex);
        explorer.vertices[vertex].focus();
      }),
    ),
  );
  explorer.tell(
    `${short(explorer.result.graph.names[vertex])}: ` +
      `${moves.map((kind) => WORDS[kind]).join(' or ')}?`,
  );
  explorer.menu = { vertex, menu };
  explorer.closed = () => {
    menu.remove();
    explorer.menu = null;
  };
  menu.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape') return;
    explorer.closed();
    explorer.vertices[vertex].focus();
  });
  explorer.vertices[vertex].after(menu);
  if (explorer.byKeys) menu.querySelector('button').focus();
}

/** A new board: edges behind, a button for each vertex. */
function lay(explorer, { graph }) {
  const at = places(graph.parents);
  const box = make('div', {
    class: 'pebble-board',
    role: 'group',
    'aria-label': `Graph: ${graph.title}`,
    style: `height:${at[0].rows * 3.5}rem`,
  });
  const edges = document.createElementNS(SVG, 'svg');
  edges.setAttribute('viewBox', '0 0 100 100');
  edges.setAttribute('preserveAspectRatio', 'none');
  edges.setAttribute('aria-hidden', 'true');
  graph.parents.forEach((of, vertex) =>
    of.forEach((parent) => {
      const line = document.createElementNS(SVG, 'line');
      for (const [name, value] of [
        ['x1', at[parent].x],
        ['y1', at[parent].y],
        ['x2', at[vertex].x],
        ['y2', at[vertex].y],
      ])
        line.setAttribute(name, String(100 * value));
      edges.append(line);
    }),
  );
  box.append(edges);
  box.addEventListener('click', (event) => {
    if (!(/** @type {Element} */ (event.target).closest('button'))) explorer.closed?.();
  });
  explorer.vertices = graph.names.map((name, vertex) =>
    make(
      'button',
      {
        type: 'button',
        class: 'pebble',
        style: `left:${100 * at[vertex].x}%;top:${100 * at[vertex].y}%`,
        '.onclick': (event) => {
          explorer.byKeys = event.detail === 0;
          tapped(explorer, vertex);
        },
        '.onkeydown': (event) => keyed(explorer, event, vertex),
      },
      make('span', { class: 'pebble-name' }, short(name)),
    ),
  );
  box.append(...explorer.vertices);
  explorer.score = make('dl', { class: 'pebble-score' });
  explorer.message = make('p', { class: 'pebble-message', role: 'status' });
  const keys = [
    ['pebble-key-red', 'in fast memory'],
    ['pebble-key-blue', 'in slow memory'],
    ['pebble-key-output', 'output'],
  ];
  const legend = make(
    'ul',
    { class: 'explorer-legend' },
    ...keys.map(([kind, text]) =>
      make('li', {}, make('span', { class: `pebble-key ${kind}`, 'aria-hidden': 'true' }), text),
    ),
  );
  explorer.stage.replaceChildren(
    make('div', { class: 'explorer-panel' }, explorer.score, explorer.message, box, legend),
  );
  explorer.message.textContent =
    'Goal: a blue pebble on every ring, with few reads and writes. Tap a value.';
}

function keyed(explorer, event, vertex) {
  const kind = event.key.toUpperCase();
  const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (kind in WORDS) explorer.move(kind, vertex);
  else if (step)
    explorer.vertices[
      (vertex + step + explorer.vertices.length) % explorer.vertices.length
    ].focus();
  else return;
  event.preventDefault();
}

/** The reader's I/O against the best there is. */
function scored(explorer, state, { board, best, game, graph, complete }) {
  const mine = explorer.best.get(key(state));
  if (complete && !explorer.timer && explorer.asked !== key(state) && !(mine <= board.cost))
    explorer.best.set(key(state), board.cost);
  const known = explorer.best.get(key(state));
  const rows = [
    ['your I/O', String(board.cost)],
    ['best possible', String(best.cost)],
    ['your best', known === undefined ? '–' : known === best.cost ? `${known} ★` : String(known)],
    ['red pebbles', `${board.red.size} of ${game.most}`],
  ];
  explorer.score.replaceChildren(
    ...rows.map(([term, value]) => make('div', {}, make('dt', {}, term), make('dd', {}, value))),
  );
  explorer.proof.hidden = !(complete || explorer.asked === key(state));
  const more = best.cost - graph.compulsory;
  explorer.proof.firstElementChild.textContent =
    `Why nothing is cheaper than ${best.cost}: reading every input and writing every output ` +
    `takes ${graph.compulsory}` +
    `${more ? `, and ${game.most} red pebbles force ${more} more` : ', and this is all'}. The ` +
    'solver takes positions in the order of the least I/O that each can still lead to, a bound ' +
    `that is never too high. After ${counted(best.states, 'positions')} it had found a play that ` +
    `costs ${best.cost}, and no position that was left could lead to a cheaper one.`;
}

export function draw(explorer, state, result) {
  const { graph, board } = result;
  if (explorer.laid !== state.graph) {
    explorer.closed?.();
    lay(explorer, result);
    explorer.moved = null;
  }
  explorer.laid = state.graph;
  explorer.vertices.forEach((each, vertex) => {
    const [red, blue, output] = [
      board.red.has(vertex),
      board.blue.has(vertex),
      graph.outputs.includes(vertex),
    ];
    if (explorer.moved !== state.moves)
      each.className = [
        'pebble',
        ...(red ? ['pebble-red'] : []),
        ...(blue ? ['pebble-blue'] : []),
        ...(output ? ['pebble-output'] : []),
      ].join(' ');
    const needs = graph.parents[vertex].length
      ? `, needs ${graph.parents[vertex].map((parent) => short(graph.names[parent])).join(' and ')}`
      : ', an input';
    const held = [red && 'red', blue && 'blue'].filter(Boolean).join(' and ') || 'no pebble';
    const name = short(graph.names[vertex]);
    each.setAttribute('aria-label', `${name}: ${held}${output ? ', an output' : ''}${needs}`);
  });
  explorer.moved = state.moves;
  scored(explorer, state, result);
}

export const note = () =>
  'A tap makes the one move that is legal at a value; where there are two, it asks. With a ' +
  'keyboard: R reads, C computes, W writes, D deletes the red pebble and E erases the blue ' +
  'one; arrow keys go from value to value. Reading and writing cost 1 each, everything else ' +
  'is free.';

export function table(_state, { game, board }) {
  let now = opening(game.parents);
  const rows = parse(board.moves.join('')).map(([kind, vertex], at) => {
    now = after(now, kind, vertex);
    return [
      at + 1,
      WORDS[kind],
      vertex,
      now.cost,
      [...now.red].sort((a, b) => a - b).join(' '),
      [...now.blue].sort((a, b) => a - b).join(' '),
    ];
  });
  return { columns: ['move', 'kind', 'vertex', 'I/O', 'red', 'blue'], rows };
}
