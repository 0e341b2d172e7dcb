// The event loop of costlib.serving.simulate, one step at a time: who waits, is read, writes,
// leaves.
import { ledger } from './models.js';
import { held, linked, serverOf, spent, step } from './server.js';

export { serverOf };

const CLOSE = 1e-6; // as costlib.serving.clock: how straight a line must be, or it is divided
const PIECES = 32;
const FAR = 2 ** 26; // tokens: two counts below it are one number, quicker to look up than a text
const MIXING = ['kv_b_proj', 'q_absorb', 'scores', 'softmax', 'values', 'v_absorb'];

const mixes = (name) => MIXING.includes(name);
const treatsAlike = (name) => !mixes(name);

/**
 * How a piece of a prompt reads latents: in the form with fewer FLOPs; one token after others is
 * absorbed.
 */
function formOf({ model, shared }, fresh, cached) {
  if (!model.latent || (fresh === 1 && cached)) return 'absorbed';
  const flops = (latent) =>
    ledger(model, { shared, batch: 1, cached, fresh, latent }).reduce(
      (sum, op) => sum + (mixes(op.name) ? op.flops : 0),
      0,
    );
  return flops('absorbed') <= flops('naive') ? 'absorbed' : 'naive';
}

/** Seconds of any pass: tables of what treats tokens alike, and of what mixes them. */
export class Clock {
  constructor(server, sequences, longest) {
    this.server = server;
    this.known = { mixing: new Map(), reading: new Map(), alike: new Map(), written: new Map() };
    this.contexts = this.knots(sequences, Math.max(2, longest));
  }

  remember(kind, which, make) {
    const known = this.known[kind];
    let seconds = known.get(which);
    if (seconds === undefined) {
      seconds = make();
      known.set(which, seconds);
    }
    return seconds;
  }

  mixing(sequences, context) {
    return this.remember('mixing', FAR * sequences + context, () =>
      spent(
        this.server,
        { batch: sequences, cached: context, fresh: 1, latent: 'absorbed' },
        mixes,
      ),
    );
  }

  reading(fresh, cached) {
    return this.remember('reading', FAR * fresh + cached, () =>
      spent(
        this.server,
        { batch: 1, cached, fresh, latent: formOf(this.server, fresh, cached) },
        mixes,
      ),
    );
  }

  alike(tokens) {
    return this.remember(
      'alike',
      tokens,
      () =>
        spent(this.server, { batch: 1, fresh: tokens }, treatsAlike) +
        linked(this.server, { batch: 1, fresh: tokens }),
    );
  }

  /** What further tokens take to be written, beyond the one of a prompt. */
  written(tokens) {
    return this.remember(
      'written',
      tokens,
      () => step(this.server, tokens, 1) - this.mixing(tokens, 1) - this.alike(tokens),
    );
  }

  decoding(sequences, mean) {
    const { contexts } = this;
    const piece =
      Math.min(Math.max(contexts.filter((each) => each <= mean).length, 1), contexts.length - 1) -
      1;
    const [low, high] = [
      this.mixing(sequences, contexts[piece]),
      this.mixing(sequences, contexts[piece + 1]),
    ];
    return (
      low + ((high - low) / (contexts[piece + 1] - contexts[piece])) * (mean - contexts[piece])
    );
  }

  /** A step of those that decode, and beside it a piece of a prompt, if there is one. */
  pass(sequences, cached, fresh = 0, before = 0, isLast = false) {
    const first = sequences ? this.decoding(sequences, cached / sequences) : 0;
    const alike =
      this.alike(sequences + fresh) + this.written(Math.max(1, sequences + (isLast ? 1 : 0)));
    return alike + first + (fresh ? this.reading(fresh, before) : 0);
  }

  /** Contexts between which seconds are straight lines, for one sequence and for many. */
  knots(sequences, longest) {
    const few = [1, 1 + Math.floor(sequences / 2), sequences];
    const { window } = this.server.model;
    const inside = (window ? [window - 1, window] : []).filter(
      (each) => each > 1 && each < longest,
    );
    let found = [1, ...inside, longest];
    const waiting = found.slice(1).map((high, at) => [found[at], high]);
    while (waiting.length && found.length < PIECES) {
      const [low, high] = waiting.shift();
      const middle = Math.floor((low + high) / 2);
      if (!(low < middle && middle < high)) continue;
      const share = (middle - low) / (high - low);
      const off = few.map((batch) => {
        const [a, b, c] = [low, middle, high].map((context) => this.mixing(batch, context));
        return Math.abs((a + share * (c - a)) / b - 1);
      });
      if (Math.max(...off) > CLOSE) {
        found = [...new Set([...found, middle])].sort((a, b) => a - b);
        waiting.push([low, middle], [middle, high]);
      }
    }
    return found;
  }
}

/** Blocks of the cache: how many there are, and what so many tokens take. */
export function pagesOf(server, { most, block }) {
  const { model } = server;
  const one = held(server, 0);
  const local = model.window ? model.local_layers : 0;
  const each = server.bytes.kv * model.held[server.shared][1];
  const grows = each * model.global_layers > 0;
  const fixedBytes = (tokens) => each * local * Math.min(tokens, model.window);
  const whole = grows ? block * each * model.global_layers : Math.max(1, fixedBytes(2 ** 40));
  return {
    whole,
    blocks: Math.max(
      0,
      Math.floor((server.device.capacity - one.weights - most * one.activations) / whole),
    ),
    of: (tokens) => (grows ? Math.ceil(tokens / block) : 0),
    fixed: (tokens) => (local ? Math.ceil(fixedBytes(tokens) / whole) : 0),
    grows,
  };
}

/** What happens to every request: arrivals in seconds, prompts and answers in tokens. */
export function simulate(requests, server, policy, clock = null) {
  return new Loop(
    requests,
    server,
    { most: 256, block: 16, chunk: 0, reserve: 'answer', ...policy },
    clock,
  ).run();
}

class Loop {
  constructor({ arrival, prompt, answer }, server, policy, clock) {
    this.policy = policy;
    this.prompt = prompt;
    this.answer = answer;
    this.arrival = [...arrival, Infinity];
    this.pages = pagesOf(server, policy);
    this.clock =
      clock ??
      new Clock(server, policy.most, Math.max(...prompt.map((tokens, at) => tokens + answer[at])));
    this.runs = prompt.map(() => ({
      started: null,
      first: null,
      finish: null,
      tokens: [],
      reads: [],
      back: [],
    }));
    this.now = 0;
    this.step = 0;
    this.next = 0;
    this.gone = 0;
    this.cached = 0;
    this.free = this.pages.blocks;
    this.line = [];
    this.reading = null; // who, tokens cached, tokens wanted
    this.left = [...answer]; // tokens still to write
    this.began = new Map(); // who writes: since which step, tokens then
    this.rows = [];
  }

  /** The longest request that could never be served, or nothing. */
  get tooLong() {
    const last = Math.max(...this.prompt.map((tokens, at) => tokens + this.answer[at] - 1));
    return this.pages.of(last) + this.pages.fixed(last) > this.pages.blocks ? last : 0;
  }

  run() {
    const tooLong = this.tooLong;
    while (!tooLong && this.gone < this.prompt.length) {
      while (this.arrival[this.next] <= this.now) this.line.push(this.next++);
      while (this.line.length && !this.reading && this.admit(this.line[0])) this.line.shift();
      if (this.reading) this.read();
      else if (this.began.size) this.write();
      else if (this.gone < this.prompt.length) this.now = this.arrival[this.next];
      this.rows.push([
        this.now,
        this.began.size,
        this.line.length,
        this.pages.blocks - this.free,
        this.cached,
        this.step,
      ]);
    }
    return {
      runs: this.runs,
      rows: this.rows,
      seconds: this.now,
      blocks: this.pages.blocks,
      tooLong,
    };
  }

  admit(who) {
    if (this.began.size >= this.policy.most) return false;
    const total = this.prompt[who] + this.answer[who];
    const [tokens, last] = [total - this.left[who], total - 1];
    const own = this.blocksOf(who, tokens);
    if (this.free < own + this.pages.of(Math.min(tokens + 1, last)) - this.pages.of(tokens))
      return false;
    this.free -= own;
    this.runs[who].started ??= this.now;
    this.reading = [who, 0, tokens];
    return true;
  }

  /** Blocks that a request holds with so many tokens in the cache. */
  blocksOf(who, tokens) {
    const last = this.prompt[who] + this.answer[who] - 1;
    return this.pages.of(this.policy.reserve === 'answer' ? last : tokens) + this.pages.fixed(last);
  }

  read() {
    const [who, start, end] = this.reading;
    const fresh = Math.min(this.policy.chunk || end, end - start);
    const together = this.policy.chunk && this.grow();
    const isLast = start + fresh === end;
    const from = this.now;
    this.now += this.clock.pass(together ? this.began.size : 0, this.cached, fresh, start, isLast);
    this.runs[who].reads.push([from, this.now]);
    if (together) this.advance(1);
    this.reading = isLast ? null : [who, start + fresh, end];
    if (isLast) this.begin(who, end);
  }

  begin(who, tokens) {
    this.left[who] -= 1;
    this.runs[who].first ??= this.now;
    this.runs[who].tokens.push(this.now);
    this.began.set(who, [this.step, tokens]);
    this.cached += tokens;
    if (!this.left[who]) this.advance(0);
  }

  write() {
    if (!this.grow()) return;
    this.now += this.clock.pass(this.began.size, this.cached);
    this.advance(1);
  }

  advance(steps) {
    this.step += steps;
    this.cached += steps * this.began.size;
    const done = [];
    for (const [who, [start]] of this.began) {
      if (steps) this.runs[who].tokens.push(this.now);
      if (start + this.left[who] <= this.step) done.push(who);
    }
    for (const who of done) {
      this.remove(who);
      this.left[who] = 0;
      this.runs[who].finish = this.now;
      this.gone += 1;
    }
  }

  /** Take a sequence out, with its blocks; the steps that it took. */
  remove(who) {
    const [start, tokens] = this.began.get(who);
    this.began.delete(who);
    const steps = this.step - start;
    this.cached -= tokens + steps;
    this.free += this.blocksOf(who, tokens + steps);
    return steps;
  }

  /**
   * Take the blocks of a step; if there is no room, the newest go back to the front of the line.
   */
  grow() {
    if (this.policy.reserve === 'answer' || !this.pages.grows) return this.began.size > 0;
    const needed = () =>
      [...this.began.values()].filter(
        ([start, tokens]) => (tokens + this.step - start) % this.policy.block === 0,
      ).length;
    while (this.began.size && needed() > this.free) {
      const newest = [...this.began.keys()].at(-1);
      this.left[newest] -= this.remove(newest);
      this.line.unshift(newest);
      this.runs[newest].back.push(this.now);
    }
    this.free -= needed();
    return this.began.size > 0;
  }
}
