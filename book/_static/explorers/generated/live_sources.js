// Made from costlib by `make sync`: never edit this.
import { start } from '../../live.js';
export function ratio(cached) {
  return (262144*cached + 14001048576)/(532480*cached + 13226629632);
}
export function factor(tokens, width) {
  const t0 = (tokens*tokens);
  return (4*t0 + 4*tokens*width)/t0;
}
export const $moved = {"cached":["cached tokens",[128,256,512,1024,2048,4096,8192,16384,32768,65536,131072,262144,524288,1048576]],"tokens":["tokens",[128,256,512,1024,2048,4096,8192,16384,32768,65536,131072,262144,524288,1048576]],"width":["width of a head",[16,32,64,128,256,512]]};
export const $shown = {ratio: [ratio, ['cached'], []], factor: [factor, ['tokens', 'width'], []]};
start($moved, $shown);
