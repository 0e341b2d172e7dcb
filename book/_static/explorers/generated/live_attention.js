// Made from costlib by `make sync`: never edit this.
import { start } from '../../live.js';
export function share(tokens, width) {
  const t0 = 2*tokens*width*(tokens + 1);
  return t0/(t0 + 24*tokens*(width*width));
}
export const $moved = {"tokens":["tokens of the prompt",[128,256,512,1024,2048,4096,8192,16384,32768,65536,131072,262144,524288,1048576]],"width":["width of the model",[512,1024,2048,4096,8192,16384]]};
export const $shown = {share: [share, ['tokens', 'width'], []]};
start($moved, $shown);
