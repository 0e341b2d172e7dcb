// Made from costlib by `make sync`: never edit this.
import { start } from '../../live.js';
export function block(room) {
  return Math.floor((1/261)*room - 128/261);
}
export function moved(room) {
  return 4194304*Math.ceil(16384/Math.floor((1/261)*room - 128/261)) + 4194304;
}
export function other(room) {
  return 6356992*Math.ceil(16384/Math.floor((1/257)*room - 262/257)) + 6324224;
}
export const $moved = {"room":["entries of fast memory",[4096,8192,16384,32768,65536,131072,262144,524288,1048576,2097152]]};
export const $shown = {block: [block, ['room'], []], moved: [moved, ['room'], []], other: [other, ['room'], []]};
start($moved, $shown);
