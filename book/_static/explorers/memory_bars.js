// What fills the memory of a device, and how far it goes beyond what may be used.
import { EXACT } from './costs.js';
import { make, withUnits } from './dom.js';
import { quantity } from './numbers.js';

/**
 * What fills the memory of a device: a bar with a part for each, and what is left; and a second one
 * of what an engine charges for the same.
 */
export class MemoryBars {
  constructor() {
    const bar = () => ({
      bar: make('div', { class: 'calculator-bar', 'aria-hidden': 'true' }),
      key: make('ul', { class: 'explorer-legend' }),
    });
    this.exact = bar();
    this.engine = bar();
    this.box = make(
      'div',
      { class: 'calculator-memory' },
      ...[this.exact, this.engine].flatMap(({ bar: drawn, key }) => [drawn, key]),
    );
  }

  update(choice, { by, held, charged }) {
    this.box.hidden = !by;
    if (!by) return;
    const { weights, kv, activations, capacity, usable } = held(choice.batch);
    const caches = keptOf(by, choice.batch);
    const parts = [
      ['memory-weights', 'weights', weights],
      ['memory-caches', caches, kv],
      ['memory-activations', 'activations', activations],
    ];
    const asked = choice.engine !== EXACT;
    fill(this.exact, `${asked ? 'exact, ' : ''}each device`, parts, capacity, usable, 'reserved');
    for (const each of Object.values(this.engine)) each.hidden = !asked;
    if (!asked) return;
    const engine = charged();
    const taken = [
      ['memory-weights', 'weights as loaded', engine.weights],
      ['memory-caches', `${caches} as charged`, engine.kv],
    ];
    const given = capacity - engine.buffers;
    fill(this.engine, `as ${choice.engine} charges`, taken, capacity, given, 'kept by the engine');
  }
}

/** What a model keeps of sequences: a cache that grows with them, states that do not, or both. */
function keptOf(by, batch) {
  const [cache, state] = batch > 1 ? ['KV caches', 'states'] : ['KV cache', 'state'];
  const [grows, stays] = [by.has('kv_bytes_per_token'), by.has('state_bytes')];
  return [grows || !stays ? cache : null, stays ? state : null].filter(Boolean).join(' and ');
}

/**
 * One bar: its parts, what is free of what may be used, and what is kept, or how far it goes beyond
 * the line; and each in words.
 */
function fill({ bar, key }, whose, parts, capacity, usable, kept) {
  const taken = parts.reduce((sum, [, , bytes]) => sum + bytes, 0);
  const isOver = taken > usable;
  const beyond = [
    ['memory-free', 'free', usable - taken],
    ['memory-reserve', kept, capacity - usable],
  ];
  const all = [...parts, ...(isOver ? [] : beyond)].filter(([, , bytes]) => bytes > 0);
  const whole = all.reduce((sum, [, , bytes]) => sum + bytes, 0);
  const share = (bytes) => `${(100 * bytes) / whole}%`;
  bar.classList.toggle('calculator-over', isOver);
  bar.replaceChildren(
    ...all.map(([kind, , bytes]) => make('span', { class: kind, style: `width: ${share(bytes)}` })),
    make('span', { class: 'explorer-capacity', style: `left: ${share(usable)}` }),
  );
  const over = isOver
    ? `, ${quantity(usable, 'B', 3)} usable (the line): ` +
      `${quantity(taken - usable, 'B', 3)} too much`
    : '';
  key.replaceChildren(
    make('li', {}, `${whose}: ${quantity(capacity, 'B', 3)}${over}`),
    ...all.map(([kind, name, bytes]) =>
      make(
        'li',
        {},
        make('span', { class: `explorer-key ${kind}` }),
        ...withUnits(`${name} ${quantity(bytes, 'B', 3)}`),
      ),
    ),
  );
}
