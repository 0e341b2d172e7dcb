// The part of a page's address that each explorer has: `#key=value` where there is one of them, and
// `#name.key=value` where there are several, of which the first also answers to plain keys.

/**
 * The pairs of an address, or none where it names a heading.
 * @param {string} hash
 */
export function named(hash) {
  const text = hash.slice(1);
  return text.includes('=') ? [...new URLSearchParams(text)] : [];
}

/**
 * What an address says to one explorer of a page that has these, by its own names; null if nothing.
 * @param {string[][]} pairs
 * @param {string} key
 * @param {string[]} keys
 * @returns {State | null}
 */
export function keysOf(pairs, key, keys) {
  const prefix = `${key}.`;
  const mine = pairs.filter(
    ([name]) => name.startsWith(prefix) || (key === keys[0] && !name.includes('.')),
  );
  return mine.length
    ? Object.fromEntries(
        mine.map(([name, value]) => [
          name.startsWith(prefix) ? name.slice(prefix.length) : name,
          value,
        ]),
      )
    : null;
}

/**
 * The address with an explorer's state in it, beside what it says to the others of the page.
 * @param {string} hash
 * @param {State} state
 * @param {string} key
 * @param {string[]} keys
 */
export function withState(hash, state, key, keys) {
  const others = named(hash).filter(([name]) =>
    keys.some(
      (each) =>
        each !== key && (name.startsWith(`${each}.`) || (each === keys[0] && !name.includes('.'))),
    ),
  );
  const mine = Object.entries(state).map(([name, value]) => [
    keys.length > 1 ? `${key}.${name}` : name,
    value,
  ]);
  return `#${new URLSearchParams([...others, ...mine])}`;
}
