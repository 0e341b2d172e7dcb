// Up to four choices in one state: the one that the settings show, and those beside it as text.
import { stateFrom } from './frame.js';

export const MOST = 4;

/** Settings, and what the state keeps of the other choices. */
export function withOthers(settings) {
  return [
    ...settings,
    { id: 'beside', type: 'hidden', value: '', pattern: /^[^*]*(\*[^*]*){0,2}$/ },
    { id: 'place', type: 'hidden', value: '0', pattern: /^[0-3]$/ },
  ];
}

const own = (settings, state) => Object.fromEntries(settings.map(({ id }) => [id, state[id]]));
const BETWEEN = '*';

/**
 * What differs from the settings as the page opens; the first is always said, so that no text is
 * empty.
 */
function written(settings, choice) {
  const said = settings
    .filter(({ id, value }, at) => !at || choice[id] !== value)
    .map(({ id }) => [id, choice[id]]);
  return new URLSearchParams(said).toString();
}

/** Every choice of a state, in the order in which they stand. */
export function choicesOf(settings, state) {
  const others = state.beside
    ? state.beside
        .split(BETWEEN)
        .map((text) => stateFrom(settings, Object.fromEntries(new URLSearchParams(text))))
    : [];
  others.splice(placeOf(state), 0, own(settings, state));
  return others;
}

/** Where the choice stands that the settings show. */
export const placeOf = ({ beside, place }) =>
  Math.min(Number(place), beside ? beside.split(BETWEEN).length : 0);

/** The state in which the settings show one of some choices. */
export function stateOf(settings, choices, place) {
  const others = choices.filter((_, at) => at !== place).map((choice) => written(settings, choice));
  return { ...choices[place], beside: others.join(BETWEEN), place: String(place) };
}

/** For each choice what tells it from the others, in words. */
export function told(settings, choices, wordsOf) {
  const differing = settings.filter(({ id }, at) =>
    choices.length > 1 ? choices.some((choice) => choice[id] !== choices[0][id]) : at < 2,
  );
  return choices.map(
    (choice) => differing.map(({ id }) => wordsOf(id, choice)).join(', ') || 'the same',
  );
}
