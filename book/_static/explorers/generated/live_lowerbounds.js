// Made from costlib by `make sync`: never edit this.
import { start } from '../../live.js';
export function above(times) {
  const t0 = 16384*times;
  return (4194304*Math.ceil(16384/Math.floor((16384/261)*times - 128/261)) + 4194304)/Math.max(8388608, -t0 + Math.min(134217728.0, 268435456/times) + 2097152, ((times >= 4) ? (
   -t0 + 1073741824/times
)
: (
   -32768*times - 268435456 + 1073741824/Math.sqrt(times)
))) - 1;
}
export function saved(times) {
  const t0 = 16384*times;
  return 1 - Math.max(8388608, -t0 + Math.min(134217728.0, 268435456/times) + 2097152, ((times >= 4) ? (
   -t0 + 1073741824/times
)
: (
   -32768*times - 268435456 + 1073741824/Math.sqrt(times)
)))/(4194304*Math.ceil(16384/Math.floor((16384/261)*times - 128/261)) + 4194304);
}
export const $moved = {"times":["fast memory over d²",[4,8,16,32,64]]};
export const $shown = {above: [above, ['times'], []], saved: [saved, ['times'], []]};
start($moved, $shown);
