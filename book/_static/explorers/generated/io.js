// Made from costlib by `make sync`: never edit this.
export function io_blocks(d, M) {
  const t0 = 2*d;
  return [
    Math.floor(Math.sqrt(M + 1)) - 1, Math.floor((M - t0 - 6)/(t0 + 1)), Math.floor((M - d)/(t0 + 5)), Math.floor((1/2)*Math.sqrt(4*M + 9) - 3/2)];
}
export function io_naive(N, d, block) {
  const t0 = (N*N);
  const t2 = N*d;
  const t3 = Math.min(N, block);
  const t4 = Math.min(block, d);
  return [
    t0*(Math.ceil(d/block) + 2) + 3*t2*Math.ceil(N/block), 2*t0 + t2, Math.max(t3*t4 + t3 + t4, (t3*t3) + 2*t3, t3*(Math.max(1, t3 - 1) + 3))];
}
export function io_flash(N, d, block) {
  const t0 = N*Math.ceil(N/block);
  const t1 = d + 2;
  const t2 = Math.min(N, block);
  return [
    2*N*d + d*t0 + t0*t1, t1*(N + t0), d*(2*t2 + 2) + t2 + 6];
}
export function io_flash2(N, d, block) {
  const t0 = N*d;
  const t1 = Math.min(N, block);
  return [
    2*t0*Math.ceil(N/block) + t0, t0, 2*d*t1 + d + 5*t1];
}
export function io_small_cache(N, d, block) {
  const t0 = (N*N);
  const t2 = N*d;
  const t3 = Math.min(N, block);
  const t4 = Math.min(block, d);
  return [
    N + t0*Math.ceil(d/block) + 3*t2*Math.ceil(N/block), N + t0 + t2, Math.max((t3*t3) + 3*t3, t3*t4 + 2*t3 + t4)];
}
export function io_bound(N, d, M) {
  const t0 = N*d;
  const t1 = (N*N);
  const t2 = (d*d);
  return Math.max(4*t0, -M + t0 + Math.min((1/2)*t1, t1*t2/M), ((M >= 4*t2) ? (
   -M + 4*t1*t2/M
)
: (
   -2*M - t1 + 4*d*t1/Math.sqrt(M)
)));
}
export function io_compulsory(N, d) {
  return 4*N*d;
}
