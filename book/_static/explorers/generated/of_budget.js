// Made from costlib by `make sync`: never edit this.
export function fewest(held, usable) {
  return Math.ceil(held/usable);
}
export function failing(hours, devices, between, write, mean, work, restart) {
  const t1 = (work + write)/mean;
  return [
    devices*hours/between, Math.sqrt(2)*Math.sqrt(mean)*Math.sqrt(write), Math.pow(2.71828182845905, -t1 - restart/mean)*work/(mean*(1 - Math.pow(2.71828182845905, -t1)))];
}
export function loss_besiroglu(params, tokens) {
  return 482.01*Math.pow(params, -0.3478) + 2085.43*Math.pow(tokens, -0.3658) + 1.8172;
}
export function loss_hoffmann(params, tokens) {
  return 406.4*Math.pow(params, -0.3392) + 410.7*Math.pow(tokens, -0.2849) + 1.6934;
}
export function best_besiroglu(flops) {
  return [
    0.047747408467483*Math.pow(flops, 0.512612107623318), 3.49059084076092*Math.pow(flops, 0.487387892376682)];
}
export function best_hoffmann(flops) {
  return [
    0.573915693494416*Math.pow(flops, 0.456497356192918), 0.290402699483401*Math.pow(flops, 0.543502643807082)];
}
