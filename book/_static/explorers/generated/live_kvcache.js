// Made from costlib by `make sync`: never edit this.
import { start } from '../../live.js';
export function held(users, context) {
  return 131072*context*users;
}
export function against(users, context) {
  return (16/1960513)*context*users;
}
export function crossing(readers) {
  return (916129/8)/readers;
}
export function quicker(crowd, guesses, accepted) {
  const t0 = (1/100)*accepted;
  const t1 = guesses + 1;
  const t2 = (8192/9521484375)*crowd;
  const t3 = (128/796484375)*crowd;
  const t4 = (32768/9521484375)*crowd;
  const t5 = (1024/3982421875)*crowd;
  const t6 = crowd*t1;
  const t7 = crowd*(2048*guesses + (1/2)*t1*(guesses + 2) + 2048);
  const t8 = (114688/9521484375)*crowd;
  const t9 = (2304/3982421875)*crowd;
  const t10 = (10688/3173828125)*crowd;
  const t11 = (517/3982421875)*crowd;
  return (1 - Math.pow(t0, t1))*((5590435837/41417187500000)*crowd + Math.max(t10, t11 + 2052096/3982421875) + 2*Math.max(t2, t3 + 524288/3982421875) + 2*Math.max(t4, t5 + 2097152/3982421875) + 3*Math.max(t8, t9 + 7340032/3982421875) + 208/796484375)/((1 - t0)*(guesses*((2800240637/82834375000000)*crowd + 2*Math.max((1024/9521484375)*crowd, (32/796484375)*crowd + 65536/3982421875) + 2*Math.max((4096/9521484375)*crowd, (256/3982421875)*crowd + 262144/3982421875) + Math.max((5344/3173828125)*crowd, (509/3982421875)*crowd + 1026048/3982421875) + 3*Math.max((16384/9521484375)*crowd, t3 + 1048576/3982421875) + 264/3982421875) + (2368/796484375)*t6 + (1/60937500000)*t7 + 2*Math.max((8/9521484375)*t7, (128/3982421875)*crowd*(guesses + 2049) + (512/3982421875)*t6) + Math.max(t1*t10, t1*t11 + 2052096/3982421875) + 2*Math.max(t1*t2, t1*t3 + 524288/3982421875) + 2*Math.max(t1*t4, t1*t5 + 2097152/3982421875) + 3*Math.max(t1*t8, t1*t9 + 7340032/3982421875) + 208/796484375));
}
export const $moved = {"users":["users",[1,2,4,8,16,32,64,128,256,512,1024]],"context":["tokens of each",[128,256,512,1024,2048,4096,8192,16384,32768,65536,131072]],"readers":["users at once",[1,2,4,8,16,32,64,128,256,512,1024]],"crowd":["users",[1,2,4,8,16,32,64,128]],"guesses":["guesses a step",[1,2,3,4,5,6,7,8,9,10,11,12]],"accepted":["probability in per cent",[5,10,15,20,25,30,35,40,45,50,55,60,65,70,75,80,85,90,95]]};
export const $shown = {held: [held, ['users', 'context'], []], against: [against, ['users', 'context'], []], crossing: [crossing, ['readers'], []], quicker: [quicker, ['crowd', 'guesses', 'accepted'], []]};
start($moved, $shown);
