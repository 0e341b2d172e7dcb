// Sections of the book, found by their words: in the page by search.js, in node by the tests.
import MiniSearch from './vendor/minisearch.min.js';

const SEPARATORS = /[^\p{L}\p{N}.+²³]+/u;

/** Words of a text; of all-reduce also allreduce, of B/s also bs. */
export function words(text) {
  const found = [];
  for (const run of text.split(/[\s,;:()[\]“”"|]+/)) {
    const parts = run
      .split(SEPARATORS)
      .map((part) => part.replace(/^\.+|\.+$/g, ''))
      .filter(Boolean);
    found.push(...parts);
    if (parts.length > 1 && parts.length < 4) found.push(parts.join(''));
  }
  return found;
}

/** One spelling of a word: no capitals, accents or plural, and z for s in -ise. */
export function plain(word) {
  const low = word
    .toLowerCase()
    .normalize('NFD')
    .replace(/[\u0300-\u036f’']/g, '');
  if (/\d/.test(low) || low.length < 4) return low;
  return low.replace(/is(e|ed|es|ing|ation|ations)$/, 'iz$1').replace(/([^su])s$/, '$1');
}

const COMMON = new Set(
  (
    'a an and are as at be by can do does for from has have how i if in into is it its much many ' +
    ('my not of on one or so that the their them then there this to was what when where which ' +
      'why with you your')
  ).split(' '),
);

/** A text as one line of plain words, to look for a phrase in. */
const phrase = (text) => ` ${words(text).map(plain).join(' ')} `;

/** An engine over what the site wrote: pages and their sections. */
export async function engine({ pages, sections }) {
  const search = new MiniSearch({
    fields: ['also', 'title', 'page', 'text'],
    tokenize: words,
    processTerm: (word) => (COMMON.has(word.toLowerCase()) ? null : plain(word)),
  });
  const rows = sections.map(([page, anchor, title, text, also, weight], id) => ({
    id,
    href: `${pages[page][0]}.html${anchor ? `#${anchor}` : ''}`,
    page: pages[page][1],
    title,
    text,
    also,
    called: phrase(`${title} ${also}`),
    weight,
  }));
  await search.addAllAsync(rows, { chunkSize: 40 }); // the page goes on meanwhile
  return { search, rows };
}

/**
 * The sections for a question, best first: those that are called so, word for word, then those that
 * have all its words, then those with some.
 */
export function find({ search, rows }, question, most = 30) {
  const asked = words(question)
    .map(plain)
    .filter((word) => !COMMON.has(word));
  const options = {
    boost: { also: 8, title: 4, page: 2 },
    prefix: (term) => term.length > 2,
    fuzzy: (term) =>
      term.length > 3 && !/\d/.test(term) ? Math.min(2, Math.floor(term.length / 4)) : false,
    weights: { fuzzy: 0.25, prefix: 0.4 },
    boostDocument: (id) => rows[id].weight,
  };
  const every = search.search(question, { ...options, combineWith: 'AND' });
  const some = every.length < most && asked.length > 1 ? search.search(question, options) : [];
  const seen = new Set(every.map((one) => one.id));
  const found = [...every, ...some.filter((one) => !seen.has(one.id))];
  const whole = phrase(question);
  const isCalled = ({ id }) => whole.trim().includes(' ') && rows[id].called.includes(whole);
  found.sort((one, other) => Number(isCalled(other)) - Number(isCalled(one)));
  return found.slice(0, most).map((one) => ({
    ...rows[one.id],
    matched: new Set(one.terms),
    all: seen.has(one.id),
  }));
}

/** Some of a section's text around what matched, as [text, is it a match] pieces. */
export function snippet({ text, matched }, length = 170) {
  const tokens = [...text.matchAll(/\S+/g)];
  const hits = tokens.map(([token]) => words(token).some((word) => matched.has(plain(word))));
  let best = 0;
  let most = 0;
  for (let from = 0; from < tokens.length; from += 1) {
    // the stretch with the most matches
    if (!hits[from]) continue;
    const end = tokens[from].index + length;
    let count = 0;
    for (let at = from; at < tokens.length && tokens[at].index < end; at += 1)
      count += Number(hits[at]);
    if (count > most) [best, most] = [from, count];
  }
  let from = best;
  while (from > 0 && best - from < 6 && !/[.?!]$/.test(tokens[from - 1][0])) from -= 1;
  const pieces = from > 0 ? [['… ', false]] : [];
  let at = from;
  for (; at < tokens.length && tokens[at].index - tokens[from].index < length; at += 1)
    pieces.push([`${tokens[at][0]} `, hits[at]]);
  if (at < tokens.length) pieces.push(['…', false]);
  return pieces;
}
