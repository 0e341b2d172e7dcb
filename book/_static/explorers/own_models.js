// Models that a reader brings: any config.json, as a short text that an address can hold.
const OWN = 'config.';
export const MOST = 200_000; // characters of a config; publishers' have a few thousand
export const PATTERN = /^config\.[\w-]+$/;

const texts = new Map(); // by code, what was brought or read since the page was opened

async function through(bytes, stream) {
  const [found, reader] = [[], new Blob([bytes]).stream().pipeThrough(stream).getReader()];
  for (let size = 0, part = await reader.read(); !part.done; part = await reader.read()) {
    found.push(part.value);
    size += part.value.length;
    if (size > 4 * MOST)
      throw new RangeError(`a config has at most ${MOST.toLocaleString('en')} characters`);
  }
  return new Uint8Array(await new Blob(found).arrayBuffer());
}

/** A config as an address says it: deflated, and in letters. */
export async function coded(text) {
  if (text.length > MOST)
    throw new RangeError(
      `a config has at most ${MOST.toLocaleString('en')} characters, this has ` +
        `${text.length.toLocaleString('en')}`,
    );
  const bytes = await through(new TextEncoder().encode(text), new CompressionStream('deflate-raw'));
  const code =
    OWN +
    btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''))
      .replaceAll('+', '-')
      .replaceAll('/', '_')
      .replaceAll('=', '');
  texts.set(code, text);
  return code;
}

/** The config that a code holds, read once; of a code that is cut off or damaged, nothing. */
export async function decoded(code) {
  if (!texts.has(code)) texts.set(code, await unpacked(code));
  return texts.get(code);
}

async function unpacked(code) {
  try {
    const letters = atob(code.slice(OWN.length).replaceAll('-', '+').replaceAll('_', '/'));
    return new TextDecoder().decode(
      await through(
        Uint8Array.from(letters, (letter) => letter.charCodeAt(0)),
        new DecompressionStream('deflate-raw'),
      ),
    );
  } catch {
    return '';
  }
}

export const isOwn = (model) => model.startsWith(OWN);
export const textOf = (code) => texts.get(code);
export const codes = () => [...texts.keys()];

const isText = (value) => typeof value === 'string';

const said = new Map();

/** What a config says of its model's name, and of its kind. */
export function saidIn(code) {
  if (!texts.has(code)) return {};
  if (!said.has(code)) said.set(code, namesIn(texts.get(code)));
  return said.get(code);
}

function namesIn(text) {
  try {
    const { _name_or_path: name, model_type: kind } = JSON.parse(text);
    return {
      name: isText(name) ? name.split('/').filter(Boolean).at(-1) : '',
      kind: isText(kind) ? kind : 'model',
    };
  } catch {
    return {};
  }
}
