// Made from costlib by `make sync`: never edit this.
import { start } from '../../live.js';
export function users(context) {
  return Math.floor(63832580096/(524288*context + 80384));
}
export function wait(context) {
  const t0 = Math.floor(63832580096/(524288*context + 80384));
  return (31950839/124251562500000)*t0*(context + 1) + (12384/3982421875)*t0 + Math.max((64/76171875)*t0, (141/3982421875)*t0 + 4096/31859375) + 4*Math.max((32768/9521484375)*t0, (1024/3982421875)*t0 + 2097152/3982421875) + 3*Math.max((88064/9521484375)*t0, (1888/3982421875)*t0 + 5636096/3982421875) + 208/796484375;
}
export const $moved = {"context":["tokens of cache for each user",[128,256,512,1024,2048,4096,8192,16384,32768,65536]]};
export const $shown = {users: [users, ['context'], []], wait: [wait, ['context'], []]};
start($moved, $shown);
