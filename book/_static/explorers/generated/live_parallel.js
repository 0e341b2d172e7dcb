// Made from costlib by `make sync`: never edit this.
import { start } from '../../live.js';
export function idle(stages, micro) {
  const t0 = stages - 1;
  return 100*t0/(micro + t0);
}
export function dealt(stages, micro) {
  const t0 = stages - 1;
  return 100*t0/(4*micro + t0);
}
export const $moved = {"stages":["stages",[2,4,8,16,32]],"micro":["microbatches",[1,2,4,8,16,32,64,128,256,512]]};
export const $shown = {idle: [idle, ['stages', 'micro'], []], dealt: [dealt, ['stages', 'micro'], []]};
start($moved, $shown);
