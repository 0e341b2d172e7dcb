// The catalogues' files, as costlib.catalog reads them: entries by name, without their sources.

import { configs, devices, models, nodes } from './generated/entries.js';
import { Dict, list } from './python_values.js';

const asPython = (value) => {
  if (Array.isArray(value)) return list(value.map(asPython));
  if (value === null || typeof value !== 'object') return value;
  return new Dict(Object.entries(value).map(([name, inner]) => [name, asPython(inner)]));
};

// as this module is evaluated, which is a task of its own: families ask for it as they are
const written = asPython({ configs });
const FILES = {
  device: () => ({ devices, sources: {} }),
  node: () => ({ nodes, sources: {} }),
  model: () => ({ models: Object.fromEntries(Object.entries(models).map(entryOf)), sources: {} }),
};
const entryOf = ([name, { aliases, config }]) => [name, { aliases, config: { value: config } }];

export const catalogue = (kind) => (kind === 'config' ? written : asPython(FILES[kind]()));
