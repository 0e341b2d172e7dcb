// What tests ask the script of an explorer's page, its `page`, at a `state`.

/** The state with which a page opens, with other values.
    @type {(page: any, more?: object) => any} */
export const opened = (page, more = {}) => ({
  ...Object.fromEntries(page.controls.map((control) => [control.id, control.value])),
  ...more,
});
/** What a page computes, from how it opens but for other values. */
export const computed = (page, more) => page.compute(opened(page, more));

// ---------------------------------------------------------------- what all have

/** What is not allowed, of each state that is suggested: by a setting, or as none at all. */
export const tries = (page) =>
  page.tries.map(({ label, state, say }) => {
    const whole = opened(page, state);
    const choices = (c) => (typeof c.options === 'function' ? c.options(whole) : c.options);
    const allowed = (c, value) => {
      if (c.type === 'number') return value >= c.min && (value <= c.max || c.elsewhere);
      if (c.type === 'hidden') return c.pattern.test(value);
      return choices(c)
        .map(([each]) => each)
        .includes(value);
    };
    const refused = page.controls.filter((c) => !allowed(c, whole[c.id])).map((c) => c.id);
    const unknown = Object.keys(state).filter((id) => !page.controls.some((c) => c.id === id));
    return [label, say.length, refused, unknown];
  });

/** All words about 1,048,577 of something. */
export const words = (page) =>
  page.controls
    .filter((c) => c.type === 'number' && c.max >= 1e6)
    .map((control) => {
      const given = opened(page, { [control.id]: 1048577 });
      const result = page.compute(given);
      const charts = page.charts?.(given, result) ?? [];
      const marks = charts.flatMap((chart) => (chart.marks ?? []).map((mark) => mark.label));
      const said = [...charts.flatMap((c) => [c.title, c.alt]), ...marks];
      said.push(...page.summary(given, result).flat(), page.note(given, result));
      return said.join(' | ');
    });

export const warning = (page, more) =>
  page.warning(opened(page, more), page.compute(opened(page, more)));

/** Each chart as SVG for a page and a phone: as it opens and, if asked, as it suggests. */
export const pictures = (page, suggested, picture) =>
  [{}, ...(suggested ? page.tries.map(({ state }) => state) : [])]
    .map((more) => opened(page, more))
    .flatMap((s) => page.charts(s, page.compute(s)))
    .map((chart) => [700, 343].map((width) => picture.picture(chart, width).svg));

/** The title of the first chart as it opens, and whose numbers it has. */
export function headline(page) {
  const s = opened(page);
  return [page.charts(s, page.compute(s))[0].title, s.model, s.device];
}

/** Of each chart, whether it has a point to hold, and how much changes as it is dragged. */
export function held(page) {
  const s = opened(page);
  return page
    .charts(s, page.compute(s))
    .map((c) => [Boolean(c.at), Object.keys(c.drag?.(c.xs[3], 5, c.at?.name) ?? {}).length]);
}

// ---------------------------------------------------------------- what suggestions say

/** For each explorer what its suggestions say, as numbers of the states that they set: `at(label)`
    is what is computed there, and of an empty one as it opens. */
const SAID = {
  frontier: ({ at, top }) => [
    at('Ask for 6 ms').best.throughput / at('').best.throughput,
    at('').best.perToken / at('Ask for 6 ms').best.perToken,
    at('Weights in 4 bits').best.batch / at('Ask for 6 ms').best.batch,
    top('Weights in 4 bits') / top(''),
    at('Out of reach').best,
    at('Out of reach').instead.shared,
    ...['A long context', 'A mixture'].map((one) => at(one).lines.bend > at(one).most),
  ],
  io: ({ at, over, moved }) => [
    ...['M = d²', '', 'Tiny M', 'Huge M'].map((one) => Math.min(...over(at(one)))),
    Math.max(
      ...at('')
        .points.filter(({ M }) => M >= 4096)
        .map((each) => over({ here: each })[2]),
    ),
    over(at('M = d²'))[2],
    over(at('Tiny M'))[0],
    ...[0, 3, 4].map((which) => over(at('Huge M'))[which]),
    at('Twice the width').overtaken / at('').overtaken,
    moved(at('Twice the width').here.runs[2]) / moved(at('').here.runs[2]),
    ...[4, 2].map((which) => over(at('Backward, M = d²'))[which]),
    Math.min(...over(at('Backward, M = d²'))),
    ...[Math.min, (...all) => all[2]].map((one) =>
      one(...over(at('Backward, M = d²', { M: 16384 }))),
    ),
  ],
  memory: ({ at, parts, most }) => [
    parts('')[1] / parts('')[0],
    parts('Four times the context')[1] / parts('')[1],
    most('As it is published'),
    most('As it is published', { weights: '2' }),
    most('A small device'),
    parts('A small device', { weights: '2' })[0] > 15.46e9,
    most('A cache in 1 byte') / most(''),
    at('A long context')
      .rows.map((row) => row.parts[1])
      .sort((a, b) => a - b)[0] /
      2 ** 29,
  ],
  prefill: ({ at, counted, bytes }) => [
    counted('A batch of short prompts') / counted(''),
    bytes('Scores in memory') / bytes('A long prompt'),
    counted('Scores in memory') < at('').ridge,
    counted('A mixture') > at('A mixture').here.intensity[0],
  ],
  speculative: ({ at }) => [
    ...['', 'Half accepted', 'Short caches, a batch of 32', 'A slow draft'].flatMap((one) => [
      at(one).best.fresh,
      at(one).best.faster,
    ]),
    at('').here.intensity[0] > 1.5 * Math.max(...at('').here.intensity.slice(1)),
    at('Short caches, a batch of 32').crossings[2],
    at('One user').crossings[2],
    ...[0, 2].map((which) => at('A long cache').crossings[which]),
    at('Shared heads').crossings[2],
  ],
  step: ({ at }) => [
    ...['2', '1'].map((weights) => 1e3 * at('Weights in 1 byte', { weights }).time),
    at('Eight devices', { shared: '1' }).time / at('Eight devices').time,
    at('The cache in 1 byte').time < at('The cache in 1 byte', { weights: '1', kv: '2' }).time,
  ],
  film: ({ at }) => [
    ...at('Both at the end').standings.map(({ reads, writes }) => reads + writes),
    at('Half the memory').standings[0].reads > at('Both at the end').standings[0].reads,
    ...at('Rows against columns').standings.flatMap(({ reads, writes }) => [reads, writes]),
  ],
  serving_film: ({ at }) => [
    ...at('Block by block').both.map(({ runs }) => runs.some(({ back }) => back.length > 0)),
    at('All at once').felt[0].pause / at('All at once').felt[0].slowest,
    at('Tiny chunks').felt[1].first > 10 * at('').felt[1].first,
    at('A quiet hour').felt[0].pause > 10 * at('A quiet hour').felt[1].pause,
  ],
};

export function said(page, name) {
  const state = (label) => page.tries.find((one) => one.label === label)?.state;
  const at = (label, more) => computed(page, { ...state(label), ...more });
  const moved = (run) => (run ? run[0] + run[1] : Infinity);
  const rows = (label, more) => at(label, more).rows[0];
  return SAID[name]({
    at,
    moved,
    top: (label) => Math.max(...at(label).frontier.map((each) => each.throughput)),
    over: ({ here }) => here.runs.map((run) => moved(run) / here.bound),
    parts: (label, more) => rows(label, more).parts,
    most: (label, more) => rows(label, more).largestBatch,
    counted: (label) => at(label).here.intensity[1],
    bytes: (label) => at(label).here.counted[1],
  });
}

/** Each suggestion of the mesh, and what would be next to it. */
export const folds = (page) =>
  page.tries.map(({ state }) => {
    const at = (changes) => computed(page, { ...state, ...changes });
    return {
      it: at({}),
      zero: at({ zero: '3' }),
      batch: at({ batch: '128' }),
      whole: at({ chunks: '1' }),
      folded: at({ tensor: '8', pipeline: '4' }),
      near: opened(page, state).expert === '64' ? at({ expert: '8' }) : null,
    };
  });

/** A budget as it opens and as its buttons set it. */
export const budgets = (page) =>
  [{}, ...page.tries.map((each) => each.state)].map((more) => {
    const r = computed(page, more);
    const cost = [r.days, r.hours, r.dollars, r.energy / 1e3, r.state.total / 1e9, r.fewest];
    const best = [r.best.size / 1e9, r.best.count / 1e9];
    return [...cost, r.lost.failures, r.lost.work / 3600, ...best];
  });

/** What the first page shows, and the seconds of each part. */
export function users(page, more) {
  const { users: many, here, keeps } = computed(page, more);
  const parts = ['weights', 'caches'].map((kind) => 1e3 * here.parts[kind]);
  const memory = (keeps.weights + many * keeps.cache) / 1e9;
  const speed = [1 / here.seconds, many / here.seconds, 1e3 * here.seconds];
  return [many, ...speed, ...parts, 1e3 * here.busy, memory, here.parts];
}

// ---------------------------------------------------------------- films, and the game

export function frames(page, [algorithm, capacity]) {
  const run = page.runOf(algorithm, capacity);
  return run.events.map((_, at) => page.standing(run, at + 1));
}

export function traces(page, [algorithm, capacity]) {
  const run = page.runOf(algorithm, capacity);
  const { moved, done, tile } = page.traces(run, run.events.length);
  const often = Object.entries(moved).map(([name, { counts }]) => [name, [...counts]]);
  return [Object.fromEntries(often), [...done], tile];
}

export function tokenFilm(page, more) {
  const { film } = computed(page, more);
  const rows = page.table({}, { film }).rows.map((row) => row.slice(1, 8));
  return [film.time, film.held, film.layers.length, rows];
}

/** How many lists of ops a film has: layers that are alike share one. */
export const tokenLists = (page, more) =>
  new Set(computed(page, more).film.layers.map(({ ops }) => ops)).size;

/** The frame in the middle of each op, and how long the op takes. */
export function tokenFrames(page, more) {
  const { film } = computed(page, more);
  return film.steps.map(({ end, op }) => [page.frameAt(film, end - op.time / 2), op.time]);
}

export const tokenTries = (page) =>
  Object.fromEntries(
    page.tries.map(({ label, state }) => {
      const { now, film } = computed(page, state);
      return [label, [now, film.layers, film.time, film.total]];
    }),
  );

/** What is said to each move that is tried, and the I/O of those that are legal. */
export function played(page, game) {
  let board = page.opening(game.parents);
  const told = game.tried.map((text) => {
    const [[kind, vertex]] = page.parse(text);
    const rule = page.broken(game, board, kind, vertex);
    if (!rule) board = page.after(board, kind, vertex);
    return rule;
  });
  return [told, board.cost];
}

export function legal(page, state) {
  const result = page.compute(state);
  return result.graph.parents.map((_, vertex) => page.legal(result, vertex));
}

export function replayed(page, state) {
  const { best } = page.compute(state);
  const { board, complete } = page.compute({ ...state, moves: best.moves.replaceAll(' ', '') });
  return [board.rule ?? '', board.cost, complete, best.cost, board.moves.at(-1)[0]];
}

// ---------------------------------------------------------------- numbers of the library

export function prefill(page, state) {
  const { published, counted, intensity, attainable } = page.at(state, state.seq);
  return [published[0], published[1], ...counted, ...intensity, ...attainable];
}

export function gain(page, state) {
  const { check, yields, faster } = page.gain(state, state.fresh);
  return [check, yields, faster];
}

export function step(page, state) {
  const { ops, time, message } = page.compute(state);
  const kinds = ['flops', 'bytes', 'intensity', 'compute', 'memory', 'time'];
  return [ops.flatMap((op) => kinds.map((kind) => op[kind])), time, message];
}

/** What is written of a step and stands in no table; its four parts, and what binds. */
export function stepSaid(page, state) {
  const result = page.compute(state);
  const lines = page.summary(state, result).filter((line) => line[0] !== 'Limited by');
  return [lines.map((line) => line[1]).join(' | '), result.parts, page.binding(result)];
}

/** What a dragged op changes, and the intensity that it reaches. */
export function dragged(page, [state, name, wanted]) {
  const change = page.along(state, name, wanted);
  const { ops } = page.compute({ ...state, ...change });
  return [change, ops.find((op) => op.name === name).intensity];
}

export function holds(page, state) {
  const { parts, largestBatch, largestContext } = page.holds(state.model, state);
  return [...parts, largestBatch, largestContext];
}

export function server(page, state) {
  const made = page.serverOf(state);
  const parts = Object.values(page.partsOf(made, state.batch, state.context));
  const whole = parts.reduce((a, b) => a + b);
  const first = [page.step(made, state.batch, state.context), page.prefill(made, state.context)];
  const held = Object.values(page.held(made, state.context));
  return [...first, page.room(made, state.context), whole, held];
}

export function bestBatch(page, state) {
  const { best, dollars, frontier } = page.compute(state);
  return [best, dollars, frontier.map((p) => [p.batch, p.perToken])];
}

/** What is best at the end of the way along which a target is dragged. */
export function bestAtTheEnd(page, more) {
  const state = opened(page, more);
  const [chart] = page.charts(state, page.compute(state));
  return page.compute({ ...state, ...chart.drag(chart.xs.at(-1)) }).best;
}

export function joined(page, state) {
  const { most, users: many, marks, here } = page.compute(state);
  if (!here) return [most, many, marks, null];
  const kinds = ['weights', 'caches', 'arithmetic'].map((kind) => here.parts[kind]);
  return [most, many, marks, [here.seconds, here.busy, here.weights, here.caches, ...kinds]];
}

export function budget(page, given) {
  const r = page.compute(given);
  const bill = [r.flops, r.seconds, r.days, r.hours, r.speed, r.energy, r.dollars];
  const best = [r.best.size, r.best.count, r.chosen.loss, r.best.loss, r.fewest];
  return [...bill, ...Object.values(r.state), ...best];
}

export function failures(page, given) {
  const { failures: many, mean, write, work, share } = page.compute(given).lost;
  return [many, mean, write, work, share];
}

/** A plan that is drawn from the lists of what is legal, and what it takes. */
export function plan(page, given) {
  const drawn = (values, share) => values[Math.floor(share * values.length)];
  const all = page.folds(given);
  if (!all.length) return null;
  const one = { ...given, ...drawn(all, given.drawn[0]) };
  one.expert = drawn(page.expertDegrees(one), given.drawn[1]);
  one.microbatch = drawn(page.microbatchesOf(one), given.drawn[2]);
  one.chunks = drawn(page.chunkDegrees(one), given.drawn[3]);
  return [one, page.planned(one)];
}

/** The plans that presses of buttons lead to, each with its line of Python. */
export function pressed(page, presses) {
  let state = opened(page, { model: presses.model });
  const seen = [];
  for (const [axis, gives] of presses.all) {
    const next = page.step(state, axis, gives);
    if (next) state = next;
    if (next) seen.push([page.planOf(state), page.python(state)]);
  }
  return seen;
}
