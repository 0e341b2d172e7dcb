// Made from costlib by `make sync`: never edit this.
import { start } from '../../live.js';
export function times(keys) {
  return (517/15684104)*keys + 1832694/1960513;
}
export const $moved = {"keys":["keys",[1,2,4,8,16,32,64,128,256,512,1024,2048,4096,8192,16384,32768,65536,131072]]};
export const $shown = {times: [times, ['keys'], []]};
start($moved, $shown);
