// The red-blue pebble game on small graphs: play it, then see the solver's own best.
import { make } from './dom.js';
import { boards } from './generated/boards.js';
import { after, broken, opening, parse, play } from './rules.js';

/** A name that fits in a pebble: C[0,1,0] is C010, and v3 is 3. */
const short = (name) => name.replace(/[[\],]|^v/g, '');
const WORDS = { R: 'read', W: 'write', C: 'compute', D: 'delete', E: 'erase' };
const calm = globalThis.matchMedia?.('(prefers-reduced-motion: reduce)').matches;

export const controls = [
  { id: 'graph', label: 'Graph', type: 'choice', options: Object.entries(boards).map(([id, { title }]) => [id, title]), value: 'tree' },
  { id: 'red', label: 'Red pebbles', type: 'choice', value: '3', options: ({ graph }) => Object.keys(boards[graph].best).map((red) => [red, red]) },
  { id: 'tool', label: 'A click', type: 'choice', value: 'auto', options: [['auto', 'does what fits'], ['R', 'reads'], ['C', 'computes'], ['W', 'writes'], ['D', 'deletes red'], ['E', 'erases blue']], more: true },
  { id: 'moves', type: 'hidden', pattern: /^([RWCDE]\d{1,2})*$/, value: '' },
];

export const tries = [
  { label: 'The sum', state: { graph: 'tree', red: '3' }, say: 'Three red pebbles are too few to keep partial sums: some must be written, and read again. How few?' },
  { label: 'One pebble more', state: { graph: 'tree', red: '4' }, say: 'One partial sum still has to go out and come back, and no more than one. With five pebbles none has to.' },
  { label: 'Compute twice', state: { graph: 'diamond', red: '3' }, say: 'The best schedule computes a value twice, in place of writing and reading it. Find it, or let the solver show you.' },
  { label: 'A matrix product', state: { graph: 'matmul', red: '4' }, say: 'Go row by row, then by whole columns of A: which needs fewer pebbles at once?' },
];

export function compute(state) {
  const graph = boards[state.graph];
  const game = { parents: graph.parents, most: Number(state.red) };
  const board = play(game, state.moves);
  const best = graph.best[state.red];
  return { graph, game, board, best, complete: graph.outputs.every((output) => board.blue.has(output)) };
}

/** What a click means on its own: read or compute, then write what must stay, then delete. */
export function fitting({ graph, board }, vertex) {
  if (!board.red.has(vertex)) return board.blue.has(vertex) ? 'R' : 'C';
  return graph.outputs.includes(vertex) && !board.blue.has(vertex) ? 'W' : 'D';
}

/** Where a vertex stands: its row by the longest way to an input, spread evenly; shares of 1. */
export function places(parents) {
  const level = [];
  parents.forEach((of, vertex) => { level[vertex] = of.length ? 1 + Math.max(...of.map((parent) => level[parent])) : 0; });
  const rows = Math.max(...level) + 1;
  return parents.map((_, vertex) => {
    const mates = level.flatMap((each, other) => (each === level[vertex] ? [other] : []));
    return { x: (mates.indexOf(vertex) + 0.5) / mates.length, y: (level[vertex] + 0.5) / rows, rows };
  });
}

export function summary(state, { board, best, complete, graph, game }) {
  const left = graph.outputs.filter((output) => !board.blue.has(output)).length;
  const done = complete ? (board.cost === best.cost ? 'done, and nothing is cheaper' : `done; the best is ${best.cost}`) : `${left} ${left > 1 ? 'outputs' : 'output'} to go`;
  return [['I/O so far', `${board.cost} (${done})`], ['Red pebbles', `${board.red.size} of ${game.most} on the board`], ['The solver’s optimum', `${best.cost}; reading every input and writing every output alone is ${graph.compulsory}`], ['Moves', board.moves.join(' ') || 'none yet']];
}

export function build(explorer) {
  const stop = () => { clearTimeout(explorer.timer); explorer.timer = null; };
  const put = (moves) => explorer.set({ ...explorer.state, moves });
  explorer.move = (kind, vertex) => {
    stop();
    const { game, board, best, graph } = explorer.result;
    const rule = broken(game, board, kind, vertex);
    if (rule) { explorer.say(`Refused: ${WORDS[kind]} ${short(graph.names[vertex])} (vertex ${vertex}): ${rule}.`); return; }
    const next = after(board, kind, vertex);
    const complete = graph.outputs.every((output) => next.blue.has(output));
    explorer.say(`${WORDS[kind]} ${short(graph.names[vertex])}: I/O ${next.cost}.${complete ? ` Every output is written. The optimum is ${best.cost}${next.cost === best.cost ? ': you have reached it!' : '.'}` : ''}`);
    put(next.moves.join(''));
  };
  const replay = (at) => {
    const moves = explorer.result.best.moves.split(' ');
    put(moves.slice(0, at).join(''));
    explorer.say(at ? `${moves[at - 1]}, move ${at} of ${moves.length}` : 'the start');
    explorer.timer = at < moves.length ? setTimeout(() => replay(at + 1), calm ? 1500 : 600) : null;
  };
  const button = (text, action) => make('button', { type: 'button', '.onclick': action }, text);
  explorer.summary.before(make('div', { class: 'explorer-buttons', role: 'group', 'aria-label': 'Game' },
    button('Undo', () => { stop(); put(explorer.result.board.moves.slice(0, -1).join('')); }),
    button('Clear the board', () => { stop(); put(''); explorer.say('The board is as at the start.'); }),
    button('Show the optimum', () => { stop(); replay(0); }),
    button('Stop', stop)));
  for (const id of ['graph', 'red']) explorer.inputs.get(id).select.addEventListener('change', () => { stop(); put(''); });
}

const SVG = 'http://www.w3.org/2000/svg';

/** A new board: edges behind, a button for each vertex. */
function lay(explorer, { graph }) {
  const at = places(graph.parents);
  const box = make('div', { class: 'pebble-board', role: 'group', 'aria-label': `Graph: ${graph.title}`, style: `height:${at[0].rows * 5}rem` });
  const edges = document.createElementNS(SVG, 'svg');
  edges.setAttribute('viewBox', '0 0 100 100');
  edges.setAttribute('preserveAspectRatio', 'none');
  edges.setAttribute('aria-hidden', 'true');
  graph.parents.forEach((of, vertex) => of.forEach((parent) => {
    const line = document.createElementNS(SVG, 'line');
    for (const [name, value] of [['x1', at[parent].x], ['y1', at[parent].y], ['x2', at[vertex].x], ['y2', at[vertex].y]]) line.setAttribute(name, 100 * value);
    edges.append(line);
  }));
  box.append(edges);
  explorer.vertices = graph.names.map((name, vertex) => {
    const button = make('button', { type: 'button', class: 'pebble', style: `left:${100 * at[vertex].x}%;top:${100 * at[vertex].y}%`,
      '.onclick': () => explorer.move(explorer.state.tool === 'auto' ? fitting(explorer.result, vertex) : explorer.state.tool, vertex),
      '.onkeydown': (event) => keyed(explorer, event, vertex) }, make('span', { class: 'pebble-name' }, short(name)));
    box.append(button);
    return button;
  });
  explorer.stage.replaceChildren(box, make('ul', { class: 'explorer-legend' }, ...[['pebble-key-red', 'red: in fast memory'], ['pebble-key-blue', 'blue: in slow memory'], ['pebble-key-output', 'double ring: output']].map(([kind, text]) => make('li', {}, make('span', { class: `pebble-key ${kind}`, 'aria-hidden': 'true' }), text))));
}

function keyed(explorer, event, vertex) {
  const kind = event.key.toUpperCase();
  const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (kind in WORDS) explorer.move(kind, vertex);
  else if (step) explorer.vertices[(vertex + step + explorer.vertices.length) % explorer.vertices.length].focus();
  else return;
  event.preventDefault();
}

export function draw(explorer, state, result) {
  const { graph, board } = result;
  if (explorer.laid !== state.graph) lay(explorer, result);
  explorer.laid = state.graph;
  explorer.vertices.forEach((button, vertex) => {
    const [red, blue, output] = [board.red.has(vertex), board.blue.has(vertex), graph.outputs.includes(vertex)];
    button.className = `pebble${red ? ' pebble-red' : ''}${blue ? ' pebble-blue' : ''}${output ? ' pebble-output' : ''}`;
    const needs = graph.parents[vertex].length ? `, needs ${graph.parents[vertex].map((parent) => short(graph.names[parent])).join(' and ')}` : ', an input';
    button.setAttribute('aria-label', `${short(graph.names[vertex])}: ${[red && 'red', blue && 'blue'].filter(Boolean).join(' and ') || 'no pebble'}${output ? ', an output' : ''}${needs}`);
  });
}

export const note = () => 'On a vertex, R reads, C computes, W writes, D deletes the red pebble and E erases the blue one; arrow keys go from vertex to vertex. Reading and writing cost 1 each, everything else is free.';

export function table(state, { game, board }) {
  let now = opening(game.parents);
  const rows = parse(board.moves.join('')).map(([kind, vertex], at) => { now = after(now, kind, vertex); return [at + 1, WORDS[kind], vertex, now.cost, [...now.red].sort((a, b) => a - b).join(' '), [...now.blue].sort((a, b) => a - b).join(' ')]; });
  return { columns: ['move', 'kind', 'vertex', 'I/O', 'red', 'blue'], rows };
}
