// Made from costlib by `make sync`: never edit this.
import { start } from '../../live.js';
export function step(reached, launch) {
  const t1 = (12288/159296875)/reached;
  return (103/200000)*launch + Math.max(5.25128205128205e-11, (192/159296875)/reached) + Math.max(8.40205128205128e-10, t1) + Math.max(1.57538461538462e-9, (1024/31859375)/reached) + Math.max(3.36082051282051e-9, t1) + Math.max(7.35179487179487e-9, (21504/159296875)/reached) + 2*Math.max(8.90617435897436e-8, (11264/31859375)/reached) + 2*Math.max(8.60370051282051e-7, (2099712/159296875)/reached) + Math.max(3.36754215384615e-6, (8210452/159296875)/reached) + 2*Math.max(3.44148020512821e-6, (8392704/159296875)/reached) + 3*Math.max(1.20451807179487e-5, (29369344/159296875)/reached) + 1.73948717948718e-9 + (128/159296875)/reached;
}
export const $moved = {"reached":["per cent of the bandwidth",[50,55,60,65,70,75,80,85,90,95,100]],"launch":["microseconds for an op",[0,0.5,1,1.5,2,2.5,3,3.5,4,4.5,5,5.5,6,6.5,7,7.5,8,8.5,9,9.5,10,10.5,11,11.5,12]]};
export const $shown = {step: [step, ['reached', 'launch'], []]};
start($moved, $shown);
