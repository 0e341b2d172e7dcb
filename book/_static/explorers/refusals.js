// What the library refuses, in the words of the calculator: which field it is about, and what near
// by would do.
import { answered } from './costs.js';
import { otherThings } from './dom.js';
import { counted, plain } from './numbers.js';

/** What a model has of something that is divided: 8 KV heads, or a width. */
function divided(name, count) {
  const words = name.replace('kv_heads', 'KV heads').replaceAll('_', ' ');
  const [part, field] = words.includes('.') ? words.split('.') : ['', words];
  return field.endsWith('heads')
    ? `it has ${plain(Number(count), 9)} ${field}`
    : `its ${part ? `${field} of ${part}` : field} is ${plain(Number(count), 9)}`;
}

/** The devices that divide a model among them. */
const sharing = (count, { device, many }) =>
  Number(count) === many ? `${plain(many, 9)} × ${device}` : `${counted(Number(count), 'devices')}`;

const isOne = (count) => Number(count) === 1;

/**
 * What an error looks like, the setting that it is about, and what is said instead.
 * @type {[error: RegExp, id: string, said: (found: string[], choice: any) => string][]}
 */
const REFUSED = [
  [
    /^tensor=(\d+) does not divide the model: devices must divide (.+)=(\d+)\b/,
    'many',
    ([, count, name, whole], choice) =>
      `${sharing(count, choice)} cannot share this model evenly: ${divided(name, whole)}.`,
  ],
  [
    /^expert=\d+ needs a mixture of experts/,
    'expert',
    () => 'This model has no experts that copies could share.',
  ],
  [
    /^expert=(\d+) must divide the (\d+) experts/,
    'expert',
    ([, count, experts]) => `${count} copies cannot share ${experts} experts evenly.`,
  ],
  [
    /^expert=(\d+) must divide data=(\d+)/,
    'expert',
    ([, count, copies]) =>
      `${count} copies cannot share the experts, as there ` +
      `${isOne(copies) ? 'is a single copy' : `are ${copies} copies`} (Data).`,
  ],
  [
    /^dcp=(\d+) must divide .* with tensor=(\d+) and (?:kv_heads=)?(.+?) there (?:is|are) (\d+)/,
    'dcp',
    ([, count, , , copies]) =>
      `${count} devices cannot share one cache, because each KV head or latent is on ` +
      `${isOne(copies) ? 'one device' : `${copies} devices`}.`,
  ],
  [
    /^dcp=\d+: no layer of this model keeps a whole context/,
    'dcp',
    () => 'No layer of this model keeps a whole context, so there is no cache to share.',
  ],
  [
    /^pipeline=(\d+) is more stages than the model's (\d+) layers/,
    'pipeline',
    ([, stages, layers]) => `The model has ${layers} layers, too few for ${stages} stages.`,
  ],
  [
    /^data=(\d+) .*makes a plan for \d+ devices, and there are (\d+)/,
    'data',
    ([, copies, there]) =>
      `${counted(Number(there), 'devices')} cannot be divided into ` +
      `${counted(Number(copies), 'copies')}.`,
  ],
  [
    /^pipeline=(\d+) .*makes a plan for \d+ devices, and there are (\d+)/,
    'pipeline',
    ([, stages, there]) =>
      `${counted(Number(there), 'devices')} cannot be divided into ` +
      `${counted(Number(stages), 'stages')}.`,
  ],
  [
    /^(.+) has no interconnect/,
    'many',
    ([, device]) =>
      `${device} has no interconnect: copies alone (Data, under More settings) need none`,
  ],
  [/^(.+ has no peak rate for .+)$/, 'precision', ([, said]) => `${said}.`],
  [
    /^context must be at most ([\d,]+) tokens, because the model has no more learned positions/,
    'prompt',
    ([, most], { prompt, answer }) =>
      `The model has learned ${most} positions: ${plain(prompt)} input and ` +
      `${plain(answer)} output tokens are too many.`,
  ],
];

/** What is wrong with a choice: the setting that it is about, if that is known, and words. */
export function refusal(error, choice) {
  for (const [pattern, id, words] of REFUSED) {
    const found = pattern.exec(error);
    if (found) return { id, said: words(found, choice) };
  }
  return { id: null, said: error };
}

const CLOSE = 16; // numbers on either side, each of which is tried
const MOST = { many: 65536, data: 65536, pipeline: 1024, expert: 4096, dcp: 1024 };

/** Numbers to try instead of one: those close by, what divides the devices, powers of two. */
function others(value, many, most) {
  const near = Array.from({ length: 2 * CLOSE + 1 }, (_, at) => value - CLOSE + at);
  const parts = Array.from({ length: CLOSE }, (_, at) => many / (at + 1)).filter(Number.isInteger);
  const powers = Array.from({ length: 17 }, (_, at) => 2 ** at);
  const all = [...new Set([...near, ...parts, ...powers])].sort((one, other) => one - other);
  const allowed = all.filter((each) => each >= 1 && each <= most);
  return [allowed.filter((each) => each < value).reverse(), allowed.filter((each) => each > value)];
}

/** Inputs with which the whole context is a power of two, the token after it included. */
const shorter = ({ prompt, answer }) =>
  Array.from({ length: 20 }, (_, at) => 2 ** (20 - at) - answer - 1).filter(
    (each) => each >= 1 && each < prompt,
  );

const SAID = {
  many: (value) => counted(value, 'devices'),
  data: (value) => counted(value, 'copies'),
  pipeline: (value) => counted(value, 'stages'),
  expert: (value) => `Expert ${plain(value)}`,
  dcp: (value) => `Cache by tokens ${plain(value)}`,
  prompt: (value) => counted(value, 'input tokens'),
};

/** What would do near by, below and above, or as copies: changes with their words. */
export async function offers(choice, id, isWanted) {
  /** The first of some numbers that is not refused. */
  const first = async (key, values) => {
    for (const value of values) {
      await otherThings();
      if (!isWanted()) return [];
      if (!answered({ ...choice, [key]: value }).error)
        return [[{ [key]: value }, SAID[key](value)]];
    }
    return [];
  };
  if (id === 'prompt') return first(id, shorter(choice));
  if (!(id in MOST)) return [];
  const [below, above] = others(choice[id], choice.many, MOST[id]);
  const found = [...(await first(id, below)), ...(await first(id, above))];
  if (found.length || id !== 'many') return found;
  return first('data', others(choice.data, choice.many, MOST.data)[1]);
}
