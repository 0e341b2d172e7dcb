// Made from costlib by `make sync`: never edit this.
import { start } from '../../live.js';
export function rate(format) {
  return format;
}
export function meets(format) {
  return (1/2039000000000)*format;
}
export function top(keys) {
  return (529408000000000*keys + 13218029568000000000)/(524288000000000*keys + 11409933214687232);
}
export const $moved = {"format":["number format",[["fp32",19500000000000],["tf32",156000000000000],["bf16",312000000000000]]],"keys":["keys of each sequence",[16,32,64,128,256,512,1024,2048,4096,8192,16384,32768,65536,131072]]};
export const $shown = {rate: [rate, ['format'], []], meets: [meets, ['format'], []], top: [top, ['keys'], []]};
start($moved, $shown);
