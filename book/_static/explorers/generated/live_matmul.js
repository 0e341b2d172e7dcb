// Made from costlib by `make sync`: never edit this.
import { start } from '../../live.js';
export function longer(vectors) {
  return 60737.2784742557*Math.max((1024/9521484375)*vectors, (32/3982421875)*vectors + 65536/3982421875);
}
export function bound(vectors) {
  return 219286.816820513*vectors/(16384*vectors + 33554432);
}
export const $moved = {"vectors":["vectors",[2,4,8,16,32,64,128,256,512,1024,2048,4096]]};
export const $shown = {longer: [longer, ['vectors'], []], bound: [bound, ['vectors'], ['memory', 'arithmetic']]};
start($moved, $shown);
