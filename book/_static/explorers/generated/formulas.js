// Made from costlib by `make sync`: never edit this.
export function prefill_published(B, S, H, N, Z) {
  const t0 = B*N;
  const t1 = 4*H*t0;
  return [
    24*(H*H)*S*t0 + (S*S)*t1, S*t1 + 2000000000*Z];
}
export function decode_published(B, S_i, S_c, H, N, Z) {
  const t0 = B*N;
  const t1 = S_i*t0;
  const t2 = H*S_c;
  return [
    24*(H*H)*t1 + 4*t1*t2, 8*H*t1 + 2000000000*Z + 2*t0*t2];
}
export function decode_corrected(B, S_i, S_c, H, N, Z) {
  const t0 = B*N;
  const t1 = H*t0;
  const t2 = 4*t1;
  return [
    24*(H*H)*S_i*t0 + t2*(S_c*S_i + (1/2)*S_i*(S_i + 1)), S_c*t2 + 8*S_i*t1 + 2000000000*Z];
}
export function memory(batch, context, [params, per_layer, global_layers, d_model, widest], [e_w, e_a, e_kv]) {
  return [
    e_w*params, batch*context*e_kv*global_layers*per_layer, batch*e_a*(d_model + widest)];
}
export function fits(batch, context, capacity, [params, per_layer, global_layers, d_model, widest], [e_w, e_a, e_kv]) {
  const t0 = e_a*(d_model + widest);
  const t1 = e_w*params;
  return [
    Math.max(0, Math.floor((capacity - t1)/(context*e_kv*global_layers*per_layer + t0))), Math.max(0, Math.floor((-batch*t0 + capacity - t1)/(batch*e_kv*global_layers*per_layer)))];
}
export function memory_window(batch, context, [params, per_layer, global_layers, local_layers, window, d_model, widest], [e_w, e_a, e_kv]) {
  return [
    e_w*params, batch*e_kv*(context*global_layers*per_layer + local_layers*per_layer*Math.min(context, window)), batch*e_a*(d_model + widest)];
}
export function fits_window(batch, context, capacity, [params, per_layer, global_layers, local_layers, window, d_model, widest], [e_w, e_a, e_kv]) {
  const t0 = e_a*(d_model + widest);
  const t1 = global_layers*per_layer;
  const t2 = local_layers*per_layer;
  const t3 = e_w*params;
  const t4 = batch*e_kv;
  const t5 = t2*t4;
  const t6 = batch*t0 - capacity + t3;
  return [
    Math.max(0, Math.floor((capacity - t3)/(e_kv*(context*t1 + t2*Math.min(context, window)) + t0))), Math.max(0, Math.floor(-t6/(t1*t4 + t5)), Math.floor((-t5*window - t6)/(batch*e_kv*global_layers*per_layer)))];
}
export function ridge(rate, bandwidth) {
  return rate/bandwidth;
}
export function attainable(intensity, rate, bandwidth) {
  return Math.min(rate, bandwidth*intensity);
}
export function op_time(flops, bytes, rate, bandwidth) {
  return Math.max(bytes/bandwidth, flops/rate);
}
export function sent(B, S, d_model, layers, reduces, devices) {
  return layers*reduces*(2*devices - 2)*Math.ceil(B*S*d_model/devices);
}
