// The rules of the red-blue pebble game, in the words of costlib.iomodel.pebbles. A test plays
// both.

/** The board at the start: a blue pebble on each input. */
export function opening(parents) {
  return {
    red: new Set(),
    blue: new Set(parents.flatMap((of, vertex) => (of.length ? [] : [vertex]))),
    cost: 0,
    moves: [],
  };
}

/** What forbids a move, or an empty text. */
export function broken({ parents, most }, board, kind, vertex) {
  const { red, blue } = board;
  if (!(vertex >= 0 && vertex < parents.length))
    return `the graph has vertices 0 to ${parents.length - 1}`;
  if ('RC'.includes(kind) && red.has(vertex)) return 'the vertex is red already';
  if ('WD'.includes(kind) && !red.has(vertex)) return 'the vertex has no red pebble';
  if ('RE'.includes(kind) && !blue.has(vertex)) return 'the vertex has no blue pebble';
  if (kind === 'W' && blue.has(vertex)) return 'the vertex is blue already';
  if (kind === 'C') {
    if (!parents[vertex].length) return 'an input cannot be computed, only read';
    const missing = parents[vertex].find((parent) => !red.has(parent));
    if (missing !== undefined)
      return `a vertex is computed when all its parents are red, and ${missing} is not`;
  }
  if ('RC'.includes(kind) && red.size === most)
    return `all ${most} red pebbles are on the board: delete one first`;
  return '';
}

/** The board after a legal move. */
export function after(board, kind, vertex) {
  const [red, blue] = [new Set(board.red), new Set(board.blue)];
  if ('RC'.includes(kind)) red.add(vertex);
  else if (kind === 'D') red.delete(vertex);
  else if (kind === 'W') blue.add(vertex);
  else blue.delete(vertex);
  return {
    red,
    blue,
    cost: board.cost + ('RW'.includes(kind) ? 1 : 0),
    moves: [...board.moves, `${kind}${vertex}`],
  };
}

/** The moves in a text, R0C1W1, spaces or not. */
export function parse(text) {
  return [...text.matchAll(/([RWCDE])(\d+)/g)].map(([, kind, vertex]) => [kind, Number(vertex)]);
}

/** The board after the moves of a text; the first illegal one ends it, with its rule. */
export function play(game, text) {
  let board = opening(game.parents);
  for (const [kind, vertex] of parse(text)) {
    const rule = broken(game, board, kind, vertex);
    if (rule) return { ...board, rule, refused: `${kind}${vertex}` };
    board = after(board, kind, vertex);
  }
  return board;
}
