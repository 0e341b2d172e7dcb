// Made from costlib by `make sync`: never edit this.
export function codellama_34b_onchip_naive(B, C, S, [layers, d_model, heads, kv_heads, head_dim, d_ff, vocab, rotary_dim]) {
  const t0 = B*d_model;
  const t1 = S*t0;
  const t2 = layers*t1;
  const t3 = d_model*layers;
  const t4 = 2*t2;
  const t5 = head_dim*t4;
  const t6 = heads*t5;
  const t7 = head_dim*t3;
  const t8 = heads*t7;
  const t9 = B*layers;
  const t10 = S*t9;
  const t11 = head_dim*t10;
  const t12 = heads*t11;
  const t13 = t12 + t2;
  const t14 = kv_heads*t5;
  const t15 = kv_heads*t7;
  const t16 = kv_heads*t11;
  const t17 = rotary_dim*t10*(heads + kv_heads);
  const t18 = head_dim*t9;
  const t19 = heads*(C*S + (1/2)*S*(S + 1));
  const t20 = 2*t18*t19;
  const t21 = kv_heads*t18*(C + S);
  const t22 = d_ff*t4;
  const t23 = d_ff*t3;
  const t24 = d_ff*t10;
  const t25 = t2 + t24;
  const t26 = d_model*vocab;
  return [
    0, t1, t1, 0, 0,
    8*t2, 2*t3, 4*t2, 0, 0,
    t6, t8, t13, 0, 0,
    t14, t15, t2, t16, 0,
    t14, t15, t2, t16, 0,
    3*t17, 0, 2*t17, 0, 0,
    t20, 0, t12, t21, 0,
    5*t19*t9, 0, 0, 0, 0,
    t20, 0, t12, t21, 0,
    t6, t8, t13, 0, 0,
    t22, t23, t25, 0, 0,
    t22, t23, t25, 0, 0,
    5*t24, 0, 3*t24, 0, 0,
    t22, t23, t25, 0, 0,
    t4, 0, 6*t2, 0, 0,
    4*t1, d_model, 2*t1, 0, 0,
    2*B*t26, t26, B*vocab + t0, 0, 0];
}
export function codellama_34b_materialised_naive(B, C, S, [layers, d_model, heads, kv_heads, head_dim, d_ff, vocab, rotary_dim]) {
  const t0 = B*d_model;
  const t1 = S*t0;
  const t2 = layers*t1;
  const t3 = d_model*layers;
  const t4 = 2*t2;
  const t5 = head_dim*heads*t4;
  const t6 = head_dim*t3;
  const t7 = heads*t6;
  const t8 = B*layers;
  const t9 = heads*t8;
  const t10 = S*head_dim*t9;
  const t11 = t10 + t2;
  const t12 = head_dim*kv_heads;
  const t13 = t12*t4;
  const t14 = kv_heads*t6;
  const t15 = S*t8;
  const t16 = t12*t15;
  const t17 = rotary_dim*t15*(heads + kv_heads);
  const t18 = t9*(C*S + (1/2)*S*(S + 1));
  const t19 = 2*t18;
  const t20 = head_dim*t19;
  const t21 = t12*t8*(C + S);
  const t22 = d_ff*t4;
  const t23 = d_ff*t3;
  const t24 = d_ff*t15;
  const t25 = t2 + t24;
  const t26 = d_model*vocab;
  return [
    0, t1, t1, 0, 0,
    8*t2, 2*t3, 4*t2, 0, 0,
    t5, t7, t11, 0, 0,
    t13, t14, t2, t16, 0,
    t13, t14, t2, t16, 0,
    3*t17, 0, 2*t17, 0, 0,
    t20, 0, t10, t21, t18,
    5*t18, 0, 0, 0, t19,
    t20, 0, t10, t21, t18,
    t5, t7, t11, 0, 0,
    t22, t23, t25, 0, 0,
    t22, t23, t25, 0, 0,
    5*t24, 0, 3*t24, 0, 0,
    t22, t23, t25, 0, 0,
    t4, 0, 6*t2, 0, 0,
    4*t1, d_model, 2*t1, 0, 0,
    2*B*t26, t26, B*vocab + t0, 0, 0];
}
export function deepseek_r1_onchip_naive(B, C, S, [layers, d_model, heads, kv_heads, head_dim, d_ff, vocab, rotary_dim, experts, per_token, width, shared_width, dense_layers, q_rank, kv_rank, nope_dim, rope_dim, value_dim]) {
  const t0 = B*S;
  const t1 = d_model*t0;
  const t2 = layers*t1;
  const t3 = d_model*layers;
  const t4 = layers*q_rank;
  const t5 = 2*t1;
  const t6 = t0*t4;
  const t7 = 2*t6;
  const t8 = nope_dim + rope_dim;
  const t9 = heads*t8;
  const t10 = layers*t9;
  const t11 = t0*t10;
  const t12 = kv_rank + rope_dim;
  const t13 = 2*t2;
  const t14 = layers*t12;
  const t15 = kv_rank*layers;
  const t16 = t0*t15;
  const t17 = layers*t0*(heads + 1);
  const t18 = 2*rope_dim;
  const t19 = heads*t15*(nope_dim + value_dim);
  const t20 = B*(C + S);
  const t21 = heads*layers;
  const t22 = C*S + (1/2)*S*(S + 1);
  const t23 = B*t21*t22;
  const t24 = 2*B;
  const t25 = heads*value_dim;
  const t26 = layers*t25;
  const t27 = t0*t26;
  const t28 = d_ff*dense_layers;
  const t29 = t28*t5;
  const t30 = d_model*t28;
  const t31 = t0*t28;
  const t32 = dense_layers*t1 + t31;
  const t33 = -dense_layers + layers;
  const t34 = t1*t33;
  const t35 = 2*t34;
  const t36 = d_model*t33;
  const t37 = experts*t36;
  const t38 = t0*t33;
  const t39 = experts*t38;
  const t40 = per_token*t34;
  const t41 = 2*t40;
  const t42 = t41*width;
  const t43 = t37*width*(1 - Math.pow(1 - per_token/experts, t0));
  const t44 = per_token*t38*width;
  const t45 = t40 + t44;
  const t46 = shared_width*t35;
  const t47 = shared_width*t36;
  const t48 = shared_width*t38;
  const t49 = t34 + t48;
  const t50 = d_model*vocab;
  return [
    0, t1, t1, 0, 0,
    8*t2, 2*t3, 4*t2, 0, 0,
    t4*t5, d_model*t4, t2 + t6, 0, 0,
    4*t6, t4, t7, 0, 0,
    t7*t9, t4*t9, t11 + t6, 0, 0,
    t12*t13, t12*t3, t2, t0*t14, 0,
    4*t16, t15, 2*t16, 0, 0,
    3*rope_dim*t17, 0, t17*t18, 0, 0,
    2*t19*t20, t19, t20*t21*(t8 + value_dim), t14*t20, 0,
    t23*(2*nope_dim + t18), 0, t10*t20 + t11, 0, 0,
    5*t23, 0, 0, 0, 0,
    t22*t24*t26, 0, t20*t26 + t27, 0, 0,
    t13*t25, t25*t3, t2 + t27, 0, 0,
    t29, t30, t32, 0, 0,
    t29, t30, t32, 0, 0,
    5*t31, 0, 3*t31, 0, 0,
    t29, t30, t32, 0, 0,
    experts*t35, t37, t34 + t39, 0, 0,
    5*t39, 0, 2*t39, 0, 0,
    t42, t43, t45, 0, 0,
    t42, t43, t45, 0, 0,
    5*t44, 0, 3*t44, 0, 0,
    t42, t43, t45, 0, 0,
    t41, 0, t34 + t40, 0, 0,
    t46, t47, t49, 0, 0,
    t46, t47, t49, 0, 0,
    5*t48, 0, 3*t48, 0, 0,
    t46, t47, t49, 0, 0,
    t13, 0, 6*t2, 0, 0,
    4*t1, d_model, t5, 0, 0,
    t24*t50, t50, B*d_model + B*vocab, 0, 0];
}
export function deepseek_r1_onchip_absorbed(B, C, S, [layers, d_model, heads, kv_heads, head_dim, d_ff, vocab, rotary_dim, experts, per_token, width, shared_width, dense_layers, q_rank, kv_rank, nope_dim, rope_dim, value_dim]) {
  const t0 = B*S;
  const t1 = d_model*t0;
  const t2 = layers*t1;
  const t3 = d_model*layers;
  const t4 = layers*q_rank;
  const t5 = 2*t1;
  const t6 = t0*t4;
  const t7 = 2*t6;
  const t8 = heads*(nope_dim + rope_dim);
  const t9 = layers*t0;
  const t10 = kv_rank + rope_dim;
  const t11 = 2*t2;
  const t12 = layers*t10;
  const t13 = t0*t12;
  const t14 = kv_rank*layers;
  const t15 = t0*t14;
  const t16 = t9*(heads + 1);
  const t17 = 2*rope_dim;
  const t18 = heads*t14;
  const t19 = nope_dim*t18;
  const t20 = 2*t0;
  const t21 = t0*t18;
  const t22 = C*S + (1/2)*S*(S + 1);
  const t23 = B*heads*layers*t22;
  const t24 = 2*B;
  const t25 = t18*value_dim;
  const t26 = heads*value_dim;
  const t27 = t26*t9;
  const t28 = d_ff*dense_layers;
  const t29 = t28*t5;
  const t30 = d_model*t28;
  const t31 = t0*t28;
  const t32 = dense_layers*t1 + t31;
  const t33 = -dense_layers + layers;
  const t34 = t1*t33;
  const t35 = 2*t34;
  const t36 = d_model*t33;
  const t37 = experts*t36;
  const t38 = t0*t33;
  const t39 = experts*t38;
  const t40 = per_token*t34;
  const t41 = 2*t40;
  const t42 = t41*width;
  const t43 = t37*width*(1 - Math.pow(1 - per_token/experts, t0));
  const t44 = per_token*t38*width;
  const t45 = t40 + t44;
  const t46 = shared_width*t35;
  const t47 = shared_width*t36;
  const t48 = shared_width*t38;
  const t49 = t34 + t48;
  const t50 = d_model*vocab;
  return [
    0, t1, t1, 0, 0,
    8*t2, 2*t3, 4*t2, 0, 0,
    t4*t5, d_model*t4, t2 + t6, 0, 0,
    4*t6, t4, t7, 0, 0,
    t7*t8, t4*t8, t6 + t8*t9, 0, 0,
    t10*t11, t10*t3, t2, t13, 0,
    4*t15, t14, 2*t15, 0, 0,
    3*rope_dim*t16, 0, t16*t17, 0, 0,
    t19*t20, t19, heads*nope_dim*t9 + t21, 0, 0,
    t23*(2*kv_rank + t17), 0, heads*t13, B*t12*(C + S), 0,
    5*t23, 0, 0, 0, 0,
    t18*t22*t24, 0, t21, 0, 0,
    t20*t25, t25, t21 + t27, 0, 0,
    t11*t26, t26*t3, t2 + t27, 0, 0,
    t29, t30, t32, 0, 0,
    t29, t30, t32, 0, 0,
    5*t31, 0, 3*t31, 0, 0,
    t29, t30, t32, 0, 0,
    experts*t35, t37, t34 + t39, 0, 0,
    5*t39, 0, 2*t39, 0, 0,
    t42, t43, t45, 0, 0,
    t42, t43, t45, 0, 0,
    5*t44, 0, 3*t44, 0, 0,
    t42, t43, t45, 0, 0,
    t41, 0, t34 + t40, 0, 0,
    t46, t47, t49, 0, 0,
    t46, t47, t49, 0, 0,
    5*t48, 0, 3*t48, 0, 0,
    t46, t47, t49, 0, 0,
    t11, 0, 6*t2, 0, 0,
    4*t1, d_model, t5, 0, 0,
    t24*t50, t50, B*d_model + B*vocab, 0, 0];
}
export function deepseek_r1_materialised_naive(B, C, S, [layers, d_model, heads, kv_heads, head_dim, d_ff, vocab, rotary_dim, experts, per_token, width, shared_width, dense_layers, q_rank, kv_rank, nope_dim, rope_dim, value_dim]) {
  const t0 = B*S;
  const t1 = d_model*t0;
  const t2 = layers*t1;
  const t3 = d_model*layers;
  const t4 = layers*q_rank;
  const t5 = 2*t1;
  const t6 = t0*t4;
  const t7 = 2*t6;
  const t8 = nope_dim + rope_dim;
  const t9 = heads*t8;
  const t10 = layers*t9;
  const t11 = t0*t10;
  const t12 = kv_rank + rope_dim;
  const t13 = 2*t2;
  const t14 = layers*t12;
  const t15 = kv_rank*layers;
  const t16 = t0*t15;
  const t17 = layers*t0*(heads + 1);
  const t18 = 2*rope_dim;
  const t19 = heads*t15*(nope_dim + value_dim);
  const t20 = B*(C + S);
  const t21 = heads*layers;
  const t22 = t20*t21;
  const t23 = B*t21*(C*S + (1/2)*S*(S + 1));
  const t24 = 2*t23;
  const t25 = t0*t21*value_dim;
  const t26 = heads*value_dim;
  const t27 = d_ff*dense_layers;
  const t28 = t27*t5;
  const t29 = d_model*t27;
  const t30 = t0*t27;
  const t31 = dense_layers*t1 + t30;
  const t32 = -dense_layers + layers;
  const t33 = t1*t32;
  const t34 = 2*t33;
  const t35 = d_model*t32;
  const t36 = experts*t35;
  const t37 = t0*t32;
  const t38 = experts*t37;
  const t39 = per_token*t33;
  const t40 = 2*t39;
  const t41 = t40*width;
  const t42 = t36*width*(1 - Math.pow(1 - per_token/experts, t0));
  const t43 = per_token*t37*width;
  const t44 = t39 + t43;
  const t45 = shared_width*t34;
  const t46 = shared_width*t35;
  const t47 = shared_width*t37;
  const t48 = t33 + t47;
  const t49 = d_model*vocab;
  return [
    0, t1, t1, 0, 0,
    8*t2, 2*t3, 4*t2, 0, 0,
    t4*t5, d_model*t4, t2 + t6, 0, 0,
    4*t6, t4, t7, 0, 0,
    t7*t9, t4*t9, t11 + t6, 0, 0,
    t12*t13, t12*t3, t2, t0*t14, 0,
    4*t16, t15, 2*t16, 0, 0,
    3*rope_dim*t17, 0, t17*t18, 0, 0,
    2*t19*t20, t19, t22*(t8 + value_dim), t14*t20, 0,
    t23*(2*nope_dim + t18), 0, t10*t20 + t11, 0, t23,
    5*t23, 0, 0, 0, t24,
    t24*value_dim, 0, t22*value_dim + t25, 0, t23,
    t13*t26, t26*t3, t2 + t25, 0, 0,
    t28, t29, t31, 0, 0,
    t28, t29, t31, 0, 0,
    5*t30, 0, 3*t30, 0, 0,
    t28, t29, t31, 0, 0,
    experts*t34, t36, t33 + t38, 0, 0,
    5*t38, 0, 2*t38, 0, 0,
    t41, t42, t44, 0, 0,
    t41, t42, t44, 0, 0,
    5*t43, 0, 3*t43, 0, 0,
    t41, t42, t44, 0, 0,
    t40, 0, t33 + t39, 0, 0,
    t45, t46, t48, 0, 0,
    t45, t46, t48, 0, 0,
    5*t47, 0, 3*t47, 0, 0,
    t45, t46, t48, 0, 0,
    t13, 0, 6*t2, 0, 0,
    4*t1, d_model, t5, 0, 0,
    2*B*t49, t49, B*d_model + B*vocab, 0, 0];
}
export function deepseek_r1_materialised_absorbed(B, C, S, [layers, d_model, heads, kv_heads, head_dim, d_ff, vocab, rotary_dim, experts, per_token, width, shared_width, dense_layers, q_rank, kv_rank, nope_dim, rope_dim, value_dim]) {
  const t0 = B*S;
  const t1 = d_model*t0;
  const t2 = layers*t1;
  const t3 = d_model*layers;
  const t4 = layers*q_rank;
  const t5 = 2*t1;
  const t6 = t0*t4;
  const t7 = 2*t6;
  const t8 = heads*(nope_dim + rope_dim);
  const t9 = layers*t0;
  const t10 = kv_rank + rope_dim;
  const t11 = 2*t2;
  const t12 = layers*t10;
  const t13 = t0*t12;
  const t14 = kv_rank*layers;
  const t15 = t0*t14;
  const t16 = t9*(heads + 1);
  const t17 = 2*rope_dim;
  const t18 = heads*t14;
  const t19 = nope_dim*t18;
  const t20 = 2*t0;
  const t21 = t0*t18;
  const t22 = heads*layers;
  const t23 = t0*t22;
  const t24 = B*(C*S + (1/2)*S*(S + 1));
  const t25 = t22*t24;
  const t26 = B*(C + S);
  const t27 = t18*value_dim;
  const t28 = t23*value_dim;
  const t29 = heads*value_dim;
  const t30 = d_ff*dense_layers;
  const t31 = t30*t5;
  const t32 = d_model*t30;
  const t33 = t0*t30;
  const t34 = dense_layers*t1 + t33;
  const t35 = -dense_layers + layers;
  const t36 = t1*t35;
  const t37 = 2*t36;
  const t38 = d_model*t35;
  const t39 = experts*t38;
  const t40 = t0*t35;
  const t41 = experts*t40;
  const t42 = per_token*t36;
  const t43 = 2*t42;
  const t44 = t43*width;
  const t45 = t39*width*(1 - Math.pow(1 - per_token/experts, t0));
  const t46 = per_token*t40*width;
  const t47 = t42 + t46;
  const t48 = shared_width*t37;
  const t49 = shared_width*t38;
  const t50 = shared_width*t40;
  const t51 = t36 + t50;
  const t52 = d_model*vocab;
  return [
    0, t1, t1, 0, 0,
    8*t2, 2*t3, 4*t2, 0, 0,
    t4*t5, d_model*t4, t2 + t6, 0, 0,
    4*t6, t4, t7, 0, 0,
    t7*t8, t4*t8, t6 + t8*t9, 0, 0,
    t10*t11, t10*t3, t2, t13, 0,
    4*t15, t14, 2*t15, 0, 0,
    3*rope_dim*t16, 0, t16*t17, 0, 0,
    t19*t20, t19, nope_dim*t23 + t21, 0, 0,
    t25*(2*kv_rank + t17), 0, heads*t13, t12*t26, t25,
    5*t25, 0, 0, 0, 2*t25,
    2*t18*t24, 0, t21, t14*t26, t25,
    t20*t27, t27, t21 + t28, 0, 0,
    t11*t29, t29*t3, t2 + t28, 0, 0,
    t31, t32, t34, 0, 0,
    t31, t32, t34, 0, 0,
    5*t33, 0, 3*t33, 0, 0,
    t31, t32, t34, 0, 0,
    experts*t37, t39, t36 + t41, 0, 0,
    5*t41, 0, 2*t41, 0, 0,
    t44, t45, t47, 0, 0,
    t44, t45, t47, 0, 0,
    5*t46, 0, 3*t46, 0, 0,
    t44, t45, t47, 0, 0,
    t43, 0, t36 + t42, 0, 0,
    t48, t49, t51, 0, 0,
    t48, t49, t51, 0, 0,
    5*t50, 0, 3*t50, 0, 0,
    t48, t49, t51, 0, 0,
    t11, 0, 6*t2, 0, 0,
    4*t1, d_model, t5, 0, 0,
    2*B*t52, t52, B*d_model + B*vocab, 0, 0];
}
export function deepseek_v2_lite_onchip_naive(B, C, S, [layers, d_model, heads, kv_heads, head_dim, d_ff, vocab, rotary_dim, experts, per_token, width, shared_width, dense_layers, kv_rank, nope_dim, rope_dim, value_dim]) {
  const t0 = B*S;
  const t1 = d_model*t0;
  const t2 = layers*t1;
  const t3 = d_model*layers;
  const t4 = nope_dim + rope_dim;
  const t5 = 2*t2;
  const t6 = heads*t5;
  const t7 = heads*t3;
  const t8 = heads*layers;
  const t9 = t4*t8;
  const t10 = t0*t9;
  const t11 = kv_rank + rope_dim;
  const t12 = layers*t11;
  const t13 = kv_rank*layers;
  const t14 = t0*t13;
  const t15 = layers*t0*(heads + 1);
  const t16 = 2*rope_dim;
  const t17 = heads*t13*(nope_dim + value_dim);
  const t18 = B*(C + S);
  const t19 = t18*t8;
  const t20 = t8*(C*S + (1/2)*S*(S + 1));
  const t21 = B*t20;
  const t22 = 2*B;
  const t23 = t0*t8*value_dim;
  const t24 = d_ff*dense_layers;
  const t25 = 2*t1;
  const t26 = t24*t25;
  const t27 = d_model*t24;
  const t28 = t0*t24;
  const t29 = dense_layers*t1 + t28;
  const t30 = -dense_layers + layers;
  const t31 = t1*t30;
  const t32 = 2*t31;
  const t33 = d_model*t30;
  const t34 = experts*t33;
  const t35 = t0*t30;
  const t36 = experts*t35;
  const t37 = per_token*t31;
  const t38 = 2*t37;
  const t39 = t38*width;
  const t40 = t34*width*(1 - Math.pow(1 - per_token/experts, t0));
  const t41 = per_token*t35*width;
  const t42 = t37 + t41;
  const t43 = shared_width*t32;
  const t44 = shared_width*t33;
  const t45 = shared_width*t35;
  const t46 = t31 + t45;
  const t47 = d_model*vocab;
  return [
    0, t1, t1, 0, 0,
    8*t2, 2*t3, 4*t2, 0, 0,
    t4*t6, t4*t7, t10 + t2, 0, 0,
    t11*t5, t11*t3, t2, t0*t12, 0,
    4*t14, t13, 2*t14, 0, 0,
    3*rope_dim*t15, 0, t15*t16, 0, 0,
    2*t17*t18, t17, t19*(t4 + value_dim), t12*t18, 0,
    t21*(2*nope_dim + t16), 0, t10 + t18*t9, 0, 0,
    5*t21, 0, 0, 0, 0,
    t20*t22*value_dim, 0, t19*value_dim + t23, 0, 0,
    t6*value_dim, t7*value_dim, t2 + t23, 0, 0,
    t26, t27, t29, 0, 0,
    t26, t27, t29, 0, 0,
    5*t28, 0, 3*t28, 0, 0,
    t26, t27, t29, 0, 0,
    experts*t32, t34, t31 + t36, 0, 0,
    5*t36, 0, 2*t36, 0, 0,
    t39, t40, t42, 0, 0,
    t39, t40, t42, 0, 0,
    5*t41, 0, 3*t41, 0, 0,
    t39, t40, t42, 0, 0,
    t38, 0, t31 + t37, 0, 0,
    t43, t44, t46, 0, 0,
    t43, t44, t46, 0, 0,
    5*t45, 0, 3*t45, 0, 0,
    t43, t44, t46, 0, 0,
    t5, 0, 6*t2, 0, 0,
    4*t1, d_model, t25, 0, 0,
    t22*t47, t47, B*d_model + B*vocab, 0, 0];
}
export function deepseek_v2_lite_onchip_absorbed(B, C, S, [layers, d_model, heads, kv_heads, head_dim, d_ff, vocab, rotary_dim, experts, per_token, width, shared_width, dense_layers, kv_rank, nope_dim, rope_dim, value_dim]) {
  const t0 = B*S;
  const t1 = d_model*t0;
  const t2 = layers*t1;
  const t3 = d_model*layers;
  const t4 = nope_dim + rope_dim;
  const t5 = 2*t2;
  const t6 = heads*t5;
  const t7 = heads*t3;
  const t8 = heads*layers;
  const t9 = t0*t8;
  const t10 = kv_rank + rope_dim;
  const t11 = layers*t10;
  const t12 = t0*t11;
  const t13 = kv_rank*layers;
  const t14 = t0*t13;
  const t15 = layers*t0*(heads + 1);
  const t16 = 2*rope_dim;
  const t17 = heads*t13;
  const t18 = nope_dim*t17;
  const t19 = 2*t0;
  const t20 = t0*t17;
  const t21 = C*S + (1/2)*S*(S + 1);
  const t22 = B*t21*t8;
  const t23 = 2*B;
  const t24 = t17*value_dim;
  const t25 = t9*value_dim;
  const t26 = d_ff*dense_layers;
  const t27 = 2*t1;
  const t28 = t26*t27;
  const t29 = d_model*t26;
  const t30 = t0*t26;
  const t31 = dense_layers*t1 + t30;
  const t32 = -dense_layers + layers;
  const t33 = t1*t32;
  const t34 = 2*t33;
  const t35 = d_model*t32;
  const t36 = experts*t35;
  const t37 = t0*t32;
  const t38 = experts*t37;
  const t39 = per_token*t33;
  const t40 = 2*t39;
  const t41 = t40*width;
  const t42 = t36*width*(1 - Math.pow(1 - per_token/experts, t0));
  const t43 = per_token*t37*width;
  const t44 = t39 + t43;
  const t45 = shared_width*t34;
  const t46 = shared_width*t35;
  const t47 = shared_width*t37;
  const t48 = t33 + t47;
  const t49 = d_model*vocab;
  return [
    0, t1, t1, 0, 0,
    8*t2, 2*t3, 4*t2, 0, 0,
    t4*t6, t4*t7, t2 + t4*t9, 0, 0,
    t10*t5, t10*t3, t2, t12, 0,
    4*t14, t13, 2*t14, 0, 0,
    3*rope_dim*t15, 0, t15*t16, 0, 0,
    t18*t19, t18, nope_dim*t9 + t20, 0, 0,
    t22*(2*kv_rank + t16), 0, heads*t12, B*t11*(C + S), 0,
    5*t22, 0, 0, 0, 0,
    t17*t21*t23, 0, t20, 0, 0,
    t19*t24, t24, t20 + t25, 0, 0,
    t6*value_dim, t7*value_dim, t2 + t25, 0, 0,
    t28, t29, t31, 0, 0,
    t28, t29, t31, 0, 0,
    5*t30, 0, 3*t30, 0, 0,
    t28, t29, t31, 0, 0,
    experts*t34, t36, t33 + t38, 0, 0,
    5*t38, 0, 2*t38, 0, 0,
    t41, t42, t44, 0, 0,
    t41, t42, t44, 0, 0,
    5*t43, 0, 3*t43, 0, 0,
    t41, t42, t44, 0, 0,
    t40, 0, t33 + t39, 0, 0,
    t45, t46, t48, 0, 0,
    t45, t46, t48, 0, 0,
    5*t47, 0, 3*t47, 0, 0,
    t45, t46, t48, 0, 0,
    t5, 0, 6*t2, 0, 0,
    4*t1, d_model, t27, 0, 0,
    t23*t49, t49, B*d_model + B*vocab, 0, 0];
}
export function deepseek_v2_lite_materialised_naive(B, C, S, [layers, d_model, heads, kv_heads, head_dim, d_ff, vocab, rotary_dim, experts, per_token, width, shared_width, dense_layers, kv_rank, nope_dim, rope_dim, value_dim]) {
  const t0 = B*S;
  const t1 = d_model*t0;
  const t2 = layers*t1;
  const t3 = d_model*layers;
  const t4 = nope_dim + rope_dim;
  const t5 = 2*t2;
  const t6 = heads*t5;
  const t7 = heads*t3;
  const t8 = heads*layers;
  const t9 = t4*t8;
  const t10 = t0*t9;
  const t11 = kv_rank + rope_dim;
  const t12 = layers*t11;
  const t13 = kv_rank*layers;
  const t14 = t0*t13;
  const t15 = layers*t0*(heads + 1);
  const t16 = 2*rope_dim;
  const t17 = heads*t13*(nope_dim + value_dim);
  const t18 = B*(C + S);
  const t19 = t18*t8;
  const t20 = B*t8*(C*S + (1/2)*S*(S + 1));
  const t21 = 2*t20;
  const t22 = t0*t8*value_dim;
  const t23 = d_ff*dense_layers;
  const t24 = 2*t1;
  const t25 = t23*t24;
  const t26 = d_model*t23;
  const t27 = t0*t23;
  const t28 = dense_layers*t1 + t27;
  const t29 = -dense_layers + layers;
  const t30 = t1*t29;
  const t31 = 2*t30;
  const t32 = d_model*t29;
  const t33 = experts*t32;
  const t34 = t0*t29;
  const t35 = experts*t34;
  const t36 = per_token*t30;
  const t37 = 2*t36;
  const t38 = t37*width;
  const t39 = t33*width*(1 - Math.pow(1 - per_token/experts, t0));
  const t40 = per_token*t34*width;
  const t41 = t36 + t40;
  const t42 = shared_width*t31;
  const t43 = shared_width*t32;
  const t44 = shared_width*t34;
  const t45 = t30 + t44;
  const t46 = d_model*vocab;
  return [
    0, t1, t1, 0, 0,
    8*t2, 2*t3, 4*t2, 0, 0,
    t4*t6, t4*t7, t10 + t2, 0, 0,
    t11*t5, t11*t3, t2, t0*t12, 0,
    4*t14, t13, 2*t14, 0, 0,
    3*rope_dim*t15, 0, t15*t16, 0, 0,
    2*t17*t18, t17, t19*(t4 + value_dim), t12*t18, 0,
    t20*(2*nope_dim + t16), 0, t10 + t18*t9, 0, t20,
    5*t20, 0, 0, 0, t21,
    t21*value_dim, 0, t19*value_dim + t22, 0, t20,
    t6*value_dim, t7*value_dim, t2 + t22, 0, 0,
    t25, t26, t28, 0, 0,
    t25, t26, t28, 0, 0,
    5*t27, 0, 3*t27, 0, 0,
    t25, t26, t28, 0, 0,
    experts*t31, t33, t30 + t35, 0, 0,
    5*t35, 0, 2*t35, 0, 0,
    t38, t39, t41, 0, 0,
    t38, t39, t41, 0, 0,
    5*t40, 0, 3*t40, 0, 0,
    t38, t39, t41, 0, 0,
    t37, 0, t30 + t36, 0, 0,
    t42, t43, t45, 0, 0,
    t42, t43, t45, 0, 0,
    5*t44, 0, 3*t44, 0, 0,
    t42, t43, t45, 0, 0,
    t5, 0, 6*t2, 0, 0,
    4*t1, d_model, t24, 0, 0,
    2*B*t46, t46, B*d_model + B*vocab, 0, 0];
}
export function deepseek_v2_lite_materialised_absorbed(B, C, S, [layers, d_model, heads, kv_heads, head_dim, d_ff, vocab, rotary_dim, experts, per_token, width, shared_width, dense_layers, kv_rank, nope_dim, rope_dim, value_dim]) {
  const t0 = B*S;
  const t1 = d_model*t0;
  const t2 = layers*t1;
  const t3 = d_model*layers;
  const t4 = nope_dim + rope_dim;
  const t5 = 2*t2;
  const t6 = heads*t5;
  const t7 = heads*t3;
  const t8 = heads*layers;
  const t9 = t0*t8;
  const t10 = kv_rank + rope_dim;
  const t11 = layers*t10;
  const t12 = t0*t11;
  const t13 = kv_rank*layers;
  const t14 = t0*t13;
  const t15 = layers*t0*(heads + 1);
  const t16 = 2*rope_dim;
  const t17 = heads*t13;
  const t18 = nope_dim*t17;
  const t19 = 2*t0;
  const t20 = t0*t17;
  const t21 = B*(C*S + (1/2)*S*(S + 1));
  const t22 = t21*t8;
  const t23 = B*(C + S);
  const t24 = t17*value_dim;
  const t25 = t9*value_dim;
  const t26 = d_ff*dense_layers;
  const t27 = 2*t1;
  const t28 = t26*t27;
  const t29 = d_model*t26;
  const t30 = t0*t26;
  const t31 = dense_layers*t1 + t30;
  const t32 = -dense_layers + layers;
  const t33 = t1*t32;
  const t34 = 2*t33;
  const t35 = d_model*t32;
  const t36 = experts*t35;
  const t37 = t0*t32;
  const t38 = experts*t37;
  const t39 = per_token*t33;
  const t40 = 2*t39;
  const t41 = t40*width;
  const t42 = t36*width*(1 - Math.pow(1 - per_token/experts, t0));
  const t43 = per_token*t37*width;
  const t44 = t39 + t43;
  const t45 = shared_width*t34;
  const t46 = shared_width*t35;
  const t47 = shared_width*t37;
  const t48 = t33 + t47;
  const t49 = d_model*vocab;
  return [
    0, t1, t1, 0, 0,
    8*t2, 2*t3, 4*t2, 0, 0,
    t4*t6, t4*t7, t2 + t4*t9, 0, 0,
    t10*t5, t10*t3, t2, t12, 0,
    4*t14, t13, 2*t14, 0, 0,
    3*rope_dim*t15, 0, t15*t16, 0, 0,
    t18*t19, t18, nope_dim*t9 + t20, 0, 0,
    t22*(2*kv_rank + t16), 0, heads*t12, t11*t23, t22,
    5*t22, 0, 0, 0, 2*t22,
    2*t17*t21, 0, t20, t13*t23, t22,
    t19*t24, t24, t20 + t25, 0, 0,
    t6*value_dim, t7*value_dim, t2 + t25, 0, 0,
    t28, t29, t31, 0, 0,
    t28, t29, t31, 0, 0,
    5*t30, 0, 3*t30, 0, 0,
    t28, t29, t31, 0, 0,
    experts*t34, t36, t33 + t38, 0, 0,
    5*t38, 0, 2*t38, 0, 0,
    t41, t42, t44, 0, 0,
    t41, t42, t44, 0, 0,
    5*t43, 0, 3*t43, 0, 0,
    t41, t42, t44, 0, 0,
    t40, 0, t33 + t39, 0, 0,
    t45, t46, t48, 0, 0,
    t45, t46, t48, 0, 0,
    5*t47, 0, 3*t47, 0, 0,
    t45, t46, t48, 0, 0,
    t5, 0, 6*t2, 0, 0,
    4*t1, d_model, t27, 0, 0,
    2*B*t49, t49, B*d_model + B*vocab, 0, 0];
}
export function gemma_2_2b_onchip_naive(B, C, S, [layers, d_model, heads, kv_heads, head_dim, d_ff, vocab, rotary_dim, window, local_layers]) {
  const t0 = B*d_model;
  const t1 = S*t0;
  const t2 = layers*t1;
  const t3 = d_model*layers;
  const t4 = 2*t2;
  const t5 = head_dim*t4;
  const t6 = heads*t5;
  const t7 = head_dim*t3;
  const t8 = heads*t7;
  const t9 = B*S;
  const t10 = layers*t9;
  const t11 = head_dim*t10;
  const t12 = heads*t11 + t2;
  const t13 = kv_heads*t5;
  const t14 = kv_heads*t7;
  const t15 = kv_heads*t11;
  const t16 = rotary_dim*t10*(heads + kv_heads);
  const t17 = 2*B;
  const t18 = layers - local_layers;
  const t19 = head_dim*t18;
  const t20 = heads*(C*S + (1/2)*S*(S + 1));
  const t21 = t17*t19*t20;
  const t22 = heads*t9;
  const t23 = t19*t22;
  const t24 = C + S;
  const t25 = B*kv_heads;
  const t26 = t19*t24*t25;
  const t27 = 5*B;
  const t28 = head_dim*local_layers;
  const t29 = Math.max(0, Math.min(S, -C + window));
  const t30 = heads*(C*t29 + (1/2)*t29*(t29 + 1) + window*(S - t29));
  const t31 = t17*t28*t30;
  const t32 = t22*t28;
  const t33 = t25*t28*Math.min(t24, S + window - 1);
  const t34 = d_ff*t4;
  const t35 = d_ff*t3;
  const t36 = d_ff*t10;
  const t37 = t2 + t36;
  const t38 = d_model*vocab;
  return [
    0, t1, t1, 0, 0,
    16*t2, 4*t3, 8*t2, 0, 0,
    t6, t8, t12, 0, 0,
    t13, t14, t2, t15, 0,
    t13, t14, t2, t15, 0,
    3*t16, 0, 2*t16, 0, 0,
    t21, 0, t23, t26, 0,
    t18*t20*t27, 0, 0, 0, 0,
    t21, 0, t23, t26, 0,
    t31, 0, t32, t33, 0,
    local_layers*t27*t30, 0, 0, 0, 0,
    t31, 0, t32, t33, 0,
    t6, t8, t12, 0, 0,
    t34, t35, t37, 0, 0,
    t34, t35, t37, 0, 0,
    10*t36, 0, 3*t36, 0, 0,
    t34, t35, t37, 0, 0,
    t4, 0, 6*t2, 0, 0,
    4*t1, d_model, 2*t1, 0, 0,
    t17*t38, t38, B*vocab + t0, 0, 0];
}
export function gemma_2_2b_materialised_naive(B, C, S, [layers, d_model, heads, kv_heads, head_dim, d_ff, vocab, rotary_dim, window, local_layers]) {
  const t0 = B*d_model;
  const t1 = S*t0;
  const t2 = layers*t1;
  const t3 = d_model*layers;
  const t4 = 2*t2;
  const t5 = head_dim*heads*t4;
  const t6 = head_dim*t3;
  const t7 = heads*t6;
  const t8 = B*heads;
  const t9 = S*layers;
  const t10 = head_dim*t8*t9 + t2;
  const t11 = head_dim*kv_heads;
  const t12 = t11*t4;
  const t13 = kv_heads*t6;
  const t14 = B*t9;
  const t15 = t11*t14;
  const t16 = rotary_dim*t14*(heads + kv_heads);
  const t17 = layers - local_layers;
  const t18 = t17*t8;
  const t19 = t18*(C*S + (1/2)*S*(S + 1));
  const t20 = 2*t19;
  const t21 = head_dim*t20;
  const t22 = S*head_dim;
  const t23 = t18*t22;
  const t24 = C + S;
  const t25 = B*t11;
  const t26 = t17*t24*t25;
  const t27 = Math.max(0, Math.min(S, -C + window));
  const t28 = local_layers*t8;
  const t29 = t28*(C*t27 + (1/2)*t27*(t27 + 1) + window*(S - t27));
  const t30 = 2*t29;
  const t31 = head_dim*t30;
  const t32 = t22*t28;
  const t33 = local_layers*t25*Math.min(t24, S + window - 1);
  const t34 = d_ff*t4;
  const t35 = d_ff*t3;
  const t36 = d_ff*t14;
  const t37 = t2 + t36;
  const t38 = d_model*vocab;
  return [
    0, t1, t1, 0, 0,
    16*t2, 4*t3, 8*t2, 0, 0,
    t5, t7, t10, 0, 0,
    t12, t13, t2, t15, 0,
    t12, t13, t2, t15, 0,
    3*t16, 0, 2*t16, 0, 0,
    t21, 0, t23, t26, t19,
    5*t19, 0, 0, 0, t20,
    t21, 0, t23, t26, t19,
    t31, 0, t32, t33, t29,
    5*t29, 0, 0, 0, t30,
    t31, 0, t32, t33, t29,
    t5, t7, t10, 0, 0,
    t34, t35, t37, 0, 0,
    t34, t35, t37, 0, 0,
    10*t36, 0, 3*t36, 0, 0,
    t34, t35, t37, 0, 0,
    t4, 0, 6*t2, 0, 0,
    4*t1, d_model, 2*t1, 0, 0,
    2*B*t38, t38, B*vocab + t0, 0, 0];
}
export function gemma_2b_onchip_naive(B, C, S, [layers, d_model, heads, kv_heads, head_dim, d_ff, vocab, rotary_dim]) {
  const t0 = B*d_model;
  const t1 = S*t0;
  const t2 = layers*t1;
  const t3 = d_model*layers;
  const t4 = 2*t2;
  const t5 = head_dim*t4;
  const t6 = heads*t5;
  const t7 = head_dim*t3;
  const t8 = heads*t7;
  const t9 = B*layers;
  const t10 = S*t9;
  const t11 = head_dim*t10;
  const t12 = heads*t11;
  const t13 = t12 + t2;
  const t14 = kv_heads*t5;
  const t15 = kv_heads*t7;
  const t16 = kv_heads*t11;
  const t17 = rotary_dim*t10*(heads + kv_heads);
  const t18 = head_dim*t9;
  const t19 = heads*(C*S + (1/2)*S*(S + 1));
  const t20 = 2*t18*t19;
  const t21 = kv_heads*t18*(C + S);
  const t22 = d_ff*t4;
  const t23 = d_ff*t3;
  const t24 = d_ff*t10;
  const t25 = t2 + t24;
  const t26 = d_model*vocab;
  return [
    0, t1, t1, 0, 0,
    8*t2, 2*t3, 4*t2, 0, 0,
    t6, t8, t13, 0, 0,
    t14, t15, t2, t16, 0,
    t14, t15, t2, t16, 0,
    3*t17, 0, 2*t17, 0, 0,
    t20, 0, t12, t21, 0,
    5*t19*t9, 0, 0, 0, 0,
    t20, 0, t12, t21, 0,
    t6, t8, t13, 0, 0,
    t22, t23, t25, 0, 0,
    t22, t23, t25, 0, 0,
    10*t24, 0, 3*t24, 0, 0,
    t22, t23, t25, 0, 0,
    t4, 0, 6*t2, 0, 0,
    4*t1, d_model, 2*t1, 0, 0,
    2*B*t26, t26, B*vocab + t0, 0, 0];
}
export function gemma_2b_materialised_naive(B, C, S, [layers, d_model, heads, kv_heads, head_dim, d_ff, vocab, rotary_dim]) {
  const t0 = B*d_model;
  const t1 = S*t0;
  const t2 = layers*t1;
  const t3 = d_model*layers;
  const t4 = 2*t2;
  const t5 = head_dim*heads*t4;
  const t6 = head_dim*t3;
  const t7 = heads*t6;
  const t8 = B*layers;
  const t9 = heads*t8;
  const t10 = S*head_dim*t9;
  const t11 = t10 + t2;
  const t12 = head_dim*kv_heads;
  const t13 = t12*t4;
  const t14 = kv_heads*t6;
  const t15 = S*t8;
  const t16 = t12*t15;
  const t17 = rotary_dim*t15*(heads + kv_heads);
  const t18 = t9*(C*S + (1/2)*S*(S + 1));
  const t19 = 2*t18;
  const t20 = head_dim*t19;
  const t21 = t12*t8*(C + S);
  const t22 = d_ff*t4;
  const t23 = d_ff*t3;
  const t24 = d_ff*t15;
  const t25 = t2 + t24;
  const t26 = d_model*vocab;
  return [
    0, t1, t1, 0, 0,
    8*t2, 2*t3, 4*t2, 0, 0,
    t5, t7, t11, 0, 0,
    t13, t14, t2, t16, 0,
    t13, t14, t2, t16, 0,
    3*t17, 0, 2*t17, 0, 0,
    t20, 0, t10, t21, t18,
    5*t18, 0, 0, 0, t19,
    t20, 0, t10, t21, t18,
    t5, t7, t11, 0, 0,
    t22, t23, t25, 0, 0,
    t22, t23, t25, 0, 0,
    10*t24, 0, 3*t24, 0, 0,
    t22, t23, t25, 0, 0,
    t4, 0, 6*t2, 0, 0,
    4*t1, d_model, 2*t1, 0, 0,
    2*B*t26, t26, B*vocab + t0, 0, 0];
}
export function gemma_3_1b_onchip_naive(B, C, S, [layers, d_model, heads, kv_heads, head_dim, d_ff, vocab, rotary_dim, window, local_layers]) {
  const t0 = B*d_model;
  const t1 = S*t0;
  const t2 = layers*t1;
  const t3 = d_model*layers;
  const t4 = head_dim*heads;
  const t5 = 2*layers;
  const t6 = t1*t5;
  const t7 = t4*t6;
  const t8 = t3*t4;
  const t9 = B*S;
  const t10 = layers*t9;
  const t11 = t10*t4 + t2;
  const t12 = head_dim*kv_heads;
  const t13 = t12*t6;
  const t14 = t12*t3;
  const t15 = t10*t12;
  const t16 = t5*t9;
  const t17 = rotary_dim*(heads + kv_heads);
  const t18 = layers - local_layers;
  const t19 = C*S + (1/2)*S*(S + 1);
  const t20 = 2*B;
  const t21 = t20*t4;
  const t22 = t18*t19*t21;
  const t23 = t4*t9;
  const t24 = t18*t23;
  const t25 = C + S;
  const t26 = B*t18;
  const t27 = t12*t25*t26;
  const t28 = 5*heads;
  const t29 = Math.max(0, Math.min(S, -C + window));
  const t30 = C*t29 + (1/2)*t29*(t29 + 1) + window*(S - t29);
  const t31 = local_layers*t21*t30;
  const t32 = local_layers*t23;
  const t33 = B*local_layers;
  const t34 = t12*t33*Math.min(t25, S + window - 1);
  const t35 = d_ff*t6;
  const t36 = d_ff*t3;
  const t37 = d_ff*t10;
  const t38 = t2 + t37;
  const t39 = d_model*vocab;
  return [
    0, t1, t1, 0, 0,
    16*t2, 4*t3, 8*t2, 0, 0,
    t7, t8, t11, 0, 0,
    t13, t14, t2, t15, 0,
    t13, t14, t2, t15, 0,
    t10*(4*t12 + 4*t4), head_dim*t5, t16*(t12 + t4), 0, 0,
    3*t10*t17, 0, t16*t17, 0, 0,
    t22, 0, t24, t27, 0,
    t19*t26*t28, 0, 0, 0, 0,
    t22, 0, t24, t27, 0,
    t31, 0, t32, t34, 0,
    t28*t30*t33, 0, 0, 0, 0,
    t31, 0, t32, t34, 0,
    t7, t8, t11, 0, 0,
    t35, t36, t38, 0, 0,
    t35, t36, t38, 0, 0,
    10*t37, 0, 3*t37, 0, 0,
    t35, t36, t38, 0, 0,
    t6, 0, 6*t2, 0, 0,
    4*t1, d_model, 2*t1, 0, 0,
    t20*t39, t39, B*vocab + t0, 0, 0];
}
export function gemma_3_1b_materialised_naive(B, C, S, [layers, d_model, heads, kv_heads, head_dim, d_ff, vocab, rotary_dim, window, local_layers]) {
  const t0 = B*d_model;
  const t1 = S*t0;
  const t2 = layers*t1;
  const t3 = d_model*layers;
  const t4 = head_dim*heads;
  const t5 = 2*layers;
  const t6 = t1*t5;
  const t7 = t4*t6;
  const t8 = t3*t4;
  const t9 = B*S;
  const t10 = layers*t9;
  const t11 = t10*t4 + t2;
  const t12 = head_dim*kv_heads;
  const t13 = t12*t6;
  const t14 = t12*t3;
  const t15 = t10*t12;
  const t16 = t5*t9;
  const t17 = rotary_dim*(heads + kv_heads);
  const t18 = layers - local_layers;
  const t19 = t18*(C*S + (1/2)*S*(S + 1));
  const t20 = 2*B;
  const t21 = t20*t4;
  const t22 = t19*t21;
  const t23 = t4*t9;
  const t24 = t18*t23;
  const t25 = C + S;
  const t26 = B*t12;
  const t27 = t18*t25*t26;
  const t28 = B*heads;
  const t29 = t19*t28;
  const t30 = Math.max(0, Math.min(S, -C + window));
  const t31 = local_layers*(C*t30 + (1/2)*t30*(t30 + 1) + window*(S - t30));
  const t32 = t21*t31;
  const t33 = local_layers*t23;
  const t34 = local_layers*t26*Math.min(t25, S + window - 1);
  const t35 = t28*t31;
  const t36 = d_ff*t6;
  const t37 = d_ff*t3;
  const t38 = d_ff*t10;
  const t39 = t2 + t38;
  const t40 = d_model*vocab;
  return [
    0, t1, t1, 0, 0,
    16*t2, 4*t3, 8*t2, 0, 0,
    t7, t8, t11, 0, 0,
    t13, t14, t2, t15, 0,
    t13, t14, t2, t15, 0,
    t10*(4*t12 + 4*t4), head_dim*t5, t16*(t12 + t4), 0, 0,
    3*t10*t17, 0, t16*t17, 0, 0,
    t22, 0, t24, t27, t29,
    5*t29, 0, 0, 0, 2*t29,
    t22, 0, t24, t27, t29,
    t32, 0, t33, t34, t35,
    5*t35, 0, 0, 0, 2*t35,
    t32, 0, t33, t34, t35,
    t7, t8, t11, 0, 0,
    t36, t37, t39, 0, 0,
    t36, t37, t39, 0, 0,
    10*t38, 0, 3*t38, 0, 0,
    t36, t37, t39, 0, 0,
    t6, 0, 6*t2, 0, 0,
    4*t1, d_model, 2*t1, 0, 0,
    t20*t40, t40, B*vocab + t0, 0, 0];
}
export function gemma_3_4b_onchip_naive(B, C, S, [layers, d_model, heads, kv_heads, head_dim, d_ff, vocab, rotary_dim, window, local_layers]) {
  const t0 = B*d_model;
  const t1 = S*t0;
  const t2 = layers*t1;
  const t3 = d_model*layers;
  const t4 = head_dim*heads;
  const t5 = 2*layers;
  const t6 = t1*t5;
  const t7 = t4*t6;
  const t8 = t3*t4;
  const t9 = B*S;
  const t10 = layers*t9;
  const t11 = t10*t4 + t2;
  const t12 = head_dim*kv_heads;
  const t13 = t12*t6;
  const t14 = t12*t3;
  const t15 = t10*t12;
  const t16 = t5*t9;
  const t17 = rotary_dim*(heads + kv_heads);
  const t18 = layers - local_layers;
  const t19 = C*S + (1/2)*S*(S + 1);
  const t20 = 2*B;
  const t21 = t20*t4;
  const t22 = t18*t19*t21;
  const t23 = t4*t9;
  const t24 = t18*t23;
  const t25 = C + S;
  const t26 = B*t18;
  const t27 = t12*t25*t26;
  const t28 = 5*heads;
  const t29 = Math.max(0, Math.min(S, -C + window));
  const t30 = C*t29 + (1/2)*t29*(t29 + 1) + window*(S - t29);
  const t31 = local_layers*t21*t30;
  const t32 = local_layers*t23;
  const t33 = B*local_layers;
  const t34 = t12*t33*Math.min(t25, S + window - 1);
  const t35 = d_ff*t6;
  const t36 = d_ff*t3;
  const t37 = d_ff*t10;
  const t38 = t2 + t37;
  const t39 = d_model*vocab;
  return [
    0, t1, t1, 0, 0,
    16*t2, 4*t3, 8*t2, 0, 0,
    t7, t8, t11, 0, 0,
    t13, t14, t2, t15, 0,
    t13, t14, t2, t15, 0,
    t10*(4*t12 + 4*t4), head_dim*t5, t16*(t12 + t4), 0, 0,
    3*t10*t17, 0, t16*t17, 0, 0,
    t22, 0, t24, t27, 0,
    t19*t26*t28, 0, 0, 0, 0,
    t22, 0, t24, t27, 0,
    t31, 0, t32, t34, 0,
    t28*t30*t33, 0, 0, 0, 0,
    t31, 0, t32, t34, 0,
    t7, t8, t11, 0, 0,
    t35, t36, t38, 0, 0,
    t35, t36, t38, 0, 0,
    6*t37, 0, 3*t37, 0, 0,
    t35, t36, t38, 0, 0,
    t6, 0, 6*t2, 0, 0,
    4*t1, d_model, 2*t1, 0, 0,
    t20*t39, t39, B*vocab + t0, 0, 0];
}
export function gemma_3_4b_materialised_naive(B, C, S, [layers, d_model, heads, kv_heads, head_dim, d_ff, vocab, rotary_dim, window, local_layers]) {
  const t0 = B*d_model;
  const t1 = S*t0;
  const t2 = layers*t1;
  const t3 = d_model*layers;
  const t4 = head_dim*heads;
  const t5 = 2*layers;
  const t6 = t1*t5;
  const t7 = t4*t6;
  const t8 = t3*t4;
  const t9 = B*S;
  const t10 = layers*t9;
  const t11 = t10*t4 + t2;
  const t12 = head_dim*kv_heads;
  const t13 = t12*t6;
  const t14 = t12*t3;
  const t15 = t10*t12;
  const t16 = t5*t9;
  const t17 = rotary_dim*(heads + kv_heads);
  const t18 = layers - local_layers;
  const t19 = t18*(C*S + (1/2)*S*(S + 1));
  const t20 = 2*B;
  const t21 = t20*t4;
  const t22 = t19*t21;
  const t23 = t4*t9;
  const t24 = t18*t23;
  const t25 = C + S;
  const t26 = B*t12;
  const t27 = t18*t25*t26;
  const t28 = B*heads;
  const t29 = t19*t28;
  const t30 = Math.max(0, Math.min(S, -C + window));
  const t31 = local_layers*(C*t30 + (1/2)*t30*(t30 + 1) + window*(S - t30));
  const t32 = t21*t31;
  const t33 = local_layers*t23;
  const t34 = local_layers*t26*Math.min(t25, S + window - 1);
  const t35 = t28*t31;
  const t36 = d_ff*t6;
  const t37 = d_ff*t3;
  const t38 = d_ff*t10;
  const t39 = t2 + t38;
  const t40 = d_model*vocab;
  return [
    0, t1, t1, 0, 0,
    16*t2, 4*t3, 8*t2, 0, 0,
    t7, t8, t11, 0, 0,
    t13, t14, t2, t15, 0,
    t13, t14, t2, t15, 0,
    t10*(4*t12 + 4*t4), head_dim*t5, t16*(t12 + t4), 0, 0,
    3*t10*t17, 0, t16*t17, 0, 0,
    t22, 0, t24, t27, t29,
    5*t29, 0, 0, 0, 2*t29,
    t22, 0, t24, t27, t29,
    t32, 0, t33, t34, t35,
    5*t35, 0, 0, 0, 2*t35,
    t32, 0, t33, t34, t35,
    t7, t8, t11, 0, 0,
    t36, t37, t39, 0, 0,
    t36, t37, t39, 0, 0,
    6*t38, 0, 3*t38, 0, 0,
    t36, t37, t39, 0, 0,
    t6, 0, 6*t2, 0, 0,
    4*t1, d_model, 2*t1, 0, 0,
    t20*t40, t40, B*vocab + t0, 0, 0];
}
export function glm_4_9b_0414_onchip_naive(B, C, S, [layers, d_model, heads, kv_heads, head_dim, d_ff, vocab, rotary_dim]) {
  const t0 = B*d_model;
  const t1 = S*t0;
  const t2 = layers*t1;
  const t3 = d_model*layers;
  const t4 = head_dim*layers;
  const t5 = heads*t4;
  const t6 = 2*t1;
  const t7 = t5*t6;
  const t8 = head_dim*t3;
  const t9 = heads*t8;
  const t10 = B*S;
  const t11 = t10*t5;
  const t12 = t11 + t2;
  const t13 = kv_heads*t4;
  const t14 = t13*t6;
  const t15 = kv_heads*t8;
  const t16 = t10*t13;
  const t17 = layers*t10;
  const t18 = rotary_dim*t17*(heads + kv_heads);
  const t19 = C*S + (1/2)*S*(S + 1);
  const t20 = 2*B;
  const t21 = t19*t20*t5;
  const t22 = B*t13*(C + S);
  const t23 = 2*t2;
  const t24 = d_ff*t23;
  const t25 = d_ff*t3;
  const t26 = d_ff*t17;
  const t27 = t2 + t26;
  const t28 = d_model*vocab;
  return [
    0, t1, t1, 0, 0,
    16*t2, 4*t3, 8*t2, 0, 0,
    t7, t9, t12, 0, 0,
    t11, t5, 0, 0, 0,
    t14, t15, t2, t16, 0,
    t16, t13, 0, 0, 0,
    t14, t15, t2, t16, 0,
    t16, t13, 0, 0, 0,
    3*t18, 0, 2*t18, 0, 0,
    t21, 0, t11, t22, 0,
    5*B*heads*layers*t19, 0, 0, 0, 0,
    t21, 0, t11, t22, 0,
    t7, t9, t12, 0, 0,
    t24, t25, t27, 0, 0,
    t24, t25, t27, 0, 0,
    5*t26, 0, 3*t26, 0, 0,
    t24, t25, t27, 0, 0,
    t23, 0, 6*t2, 0, 0,
    4*t1, d_model, t6, 0, 0,
    t20*t28, t28, B*vocab + t0, 0, 0];
}
export function glm_4_9b_0414_materialised_naive(B, C, S, [layers, d_model, heads, kv_heads, head_dim, d_ff, vocab, rotary_dim]) {
  const t0 = B*d_model;
  const t1 = S*t0;
  const t2 = layers*t1;
  const t3 = d_model*layers;
  const t4 = head_dim*layers;
  const t5 = heads*t4;
  const t6 = 2*t1;
  const t7 = t5*t6;
  const t8 = head_dim*t3;
  const t9 = heads*t8;
  const t10 = B*S;
  const t11 = t10*t5;
  const t12 = t11 + t2;
  const t13 = kv_heads*t4;
  const t14 = t13*t6;
  const t15 = kv_heads*t8;
  const t16 = t10*t13;
  const t17 = B*layers;
  const t18 = S*t17;
  const t19 = rotary_dim*t18*(heads + kv_heads);
  const t20 = C*S + (1/2)*S*(S + 1);
  const t21 = 2*B;
  const t22 = t20*t21*t5;
  const t23 = B*t13*(C + S);
  const t24 = heads*t17*t20;
  const t25 = 2*t2;
  const t26 = d_ff*t25;
  const t27 = d_ff*t3;
  const t28 = d_ff*t18;
  const t29 = t2 + t28;
  const t30 = d_model*vocab;
  return [
    0, t1, t1, 0, 0,
    16*t2, 4*t3, 8*t2, 0, 0,
    t7, t9, t12, 0, 0,
    t11, t5, 0, 0, 0,
    t14, t15, t2, t16, 0,
    t16, t13, 0, 0, 0,
    t14, t15, t2, t16, 0,
    t16, t13, 0, 0, 0,
    3*t19, 0, 2*t19, 0, 0,
    t22, 0, t11, t23, t24,
    5*t24, 0, 0, 0, 2*t24,
    t22, 0, t11, t23, t24,
    t7, t9, t12, 0, 0,
    t26, t27, t29, 0, 0,
    t26, t27, t29, 0, 0,
    5*t28, 0, 3*t28, 0, 0,
    t26, t27, t29, 0, 0,
    t25, 0, 6*t2, 0, 0,
    4*t1, d_model, t6, 0, 0,
    t21*t30, t30, B*vocab + t0, 0, 0];
}
export function glm_4_5_onchip_naive(B, C, S, [layers, d_model, heads, kv_heads, head_dim, d_ff, vocab, rotary_dim, experts, per_token, width, shared_width, dense_layers]) {
  const t0 = B*S;
  const t1 = d_model*t0;
  const t2 = layers*t1;
  const t3 = 2*layers;
  const t4 = head_dim*heads;
  const t5 = t1*t3;
  const t6 = t4*t5;
  const t7 = layers*t4;
  const t8 = d_model*t7;
  const t9 = t0*t7;
  const t10 = t2 + t9;
  const t11 = head_dim*kv_heads;
  const t12 = t11*t5;
  const t13 = layers*t11;
  const t14 = d_model*t13;
  const t15 = t0*t13;
  const t16 = layers*t0;
  const t17 = t0*t3;
  const t18 = rotary_dim*(heads + kv_heads);
  const t19 = B*(C*S + (1/2)*S*(S + 1));
  const t20 = t19*t3*t4;
  const t21 = B*t13*(C + S);
  const t22 = d_ff*dense_layers;
  const t23 = 2*t1;
  const t24 = t22*t23;
  const t25 = d_model*t22;
  const t26 = t0*t22;
  const t27 = dense_layers*t1 + t26;
  const t28 = -dense_layers + layers;
  const t29 = t1*t28;
  const t30 = 2*t29;
  const t31 = d_model*t28;
  const t32 = experts*t31;
  const t33 = t0*t28;
  const t34 = experts*t33;
  const t35 = per_token*t29;
  const t36 = 2*t35;
  const t37 = t36*width;
  const t38 = t32*width*(1 - Math.pow(1 - per_token/experts, t0));
  const t39 = per_token*t33*width;
  const t40 = t35 + t39;
  const t41 = shared_width*t30;
  const t42 = shared_width*t31;
  const t43 = shared_width*t33;
  const t44 = t29 + t43;
  const t45 = d_model*vocab;
  return [
    0, t1, t1, 0, 0,
    8*t2, d_model*t3, 4*t2, 0, 0,
    t6, t8, t10, 0, 0,
    t9, t7, 0, 0, 0,
    t12, t14, t2, t15, 0,
    t15, t13, 0, 0, 0,
    t12, t14, t2, t15, 0,
    t15, t13, 0, 0, 0,
    t16*(4*t11 + 4*t4), head_dim*t3, t17*(t11 + t4), 0, 0,
    3*t16*t18, 0, t17*t18, 0, 0,
    t20, 0, t9, t21, 0,
    5*heads*layers*t19, 0, 0, 0, 0,
    t20, 0, t9, t21, 0,
    t6, t8, t10, 0, 0,
    t24, t25, t27, 0, 0,
    t24, t25, t27, 0, 0,
    5*t26, 0, 3*t26, 0, 0,
    t24, t25, t27, 0, 0,
    experts*t30, t32, t29 + t34, 0, 0,
    5*t34, 0, 2*t34, 0, 0,
    t37, t38, t40, 0, 0,
    t37, t38, t40, 0, 0,
    5*t39, 0, 3*t39, 0, 0,
    t37, t38, t40, 0, 0,
    t36, 0, t29 + t35, 0, 0,
    t41, t42, t44, 0, 0,
    t41, t42, t44, 0, 0,
    5*t43, 0, 3*t43, 0, 0,
    t41, t42, t44, 0, 0,
    t5, 0, 6*t2, 0, 0,
    4*t1, d_model, t23, 0, 0,
    2*B*t45, t45, B*d_model + B*vocab, 0, 0];
}
export function glm_4_5_materialised_naive(B, C, S, [layers, d_model, heads, kv_heads, head_dim, d_ff, vocab, rotary_dim, experts, per_token, width, shared_width, dense_layers]) {
  const t0 = B*S;
  const t1 = d_model*t0;
  const t2 = layers*t1;
  const t3 = 2*layers;
  const t4 = head_dim*heads;
  const t5 = t1*t3;
  const t6 = t4*t5;
  const t7 = layers*t4;
  const t8 = d_model*t7;
  const t9 = t0*t7;
  const t10 = t2 + t9;
  const t11 = head_dim*kv_heads;
  const t12 = t11*t5;
  const t13 = layers*t11;
  const t14 = d_model*t13;
  const t15 = t0*t13;
  const t16 = layers*t0;
  const t17 = t0*t3;
  const t18 = rotary_dim*(heads + kv_heads);
  const t19 = B*(C*S + (1/2)*S*(S + 1));
  const t20 = t19*t3*t4;
  const t21 = B*t13*(C + S);
  const t22 = heads*t19;
  const t23 = layers*t22;
  const t24 = d_ff*dense_layers;
  const t25 = 2*t1;
  const t26 = t24*t25;
  const t27 = d_model*t24;
  const t28 = t0*t24;
  const t29 = dense_layers*t1 + t28;
  const t30 = -dense_layers + layers;
  const t31 = t1*t30;
  const t32 = 2*t31;
  const t33 = d_model*t30;
  const t34 = experts*t33;
  const t35 = t0*t30;
  const t36 = experts*t35;
  const t37 = per_token*t31;
  const t38 = 2*t37;
  const t39 = t38*width;
  const t40 = t34*width*(1 - Math.pow(1 - per_token/experts, t0));
  const t41 = per_token*t35*width;
  const t42 = t37 + t41;
  const t43 = shared_width*t32;
  const t44 = shared_width*t33;
  const t45 = shared_width*t35;
  const t46 = t31 + t45;
  const t47 = d_model*vocab;
  return [
    0, t1, t1, 0, 0,
    8*t2, d_model*t3, 4*t2, 0, 0,
    t6, t8, t10, 0, 0,
    t9, t7, 0, 0, 0,
    t12, t14, t2, t15, 0,
    t15, t13, 0, 0, 0,
    t12, t14, t2, t15, 0,
    t15, t13, 0, 0, 0,
    t16*(4*t11 + 4*t4), head_dim*t3, t17*(t11 + t4), 0, 0,
    3*t16*t18, 0, t17*t18, 0, 0,
    t20, 0, t9, t21, t23,
    5*t23, 0, 0, 0, t22*t3,
    t20, 0, t9, t21, t23,
    t6, t8, t10, 0, 0,
    t26, t27, t29, 0, 0,
    t26, t27, t29, 0, 0,
    5*t28, 0, 3*t28, 0, 0,
    t26, t27, t29, 0, 0,
    experts*t32, t34, t31 + t36, 0, 0,
    5*t36, 0, 2*t36, 0, 0,
    t39, t40, t42, 0, 0,
    t39, t40, t42, 0, 0,
    5*t41, 0, 3*t41, 0, 0,
    t39, t40, t42, 0, 0,
    t38, 0, t31 + t37, 0, 0,
    t43, t44, t46, 0, 0,
    t43, t44, t46, 0, 0,
    5*t45, 0, 3*t45, 0, 0,
    t43, t44, t46, 0, 0,
    t5, 0, 6*t2, 0, 0,
    4*t1, d_model, t25, 0, 0,
    2*B*t47, t47, B*d_model + B*vocab, 0, 0];
}
export function glm_4_5_air_onchip_naive(B, C, S, [layers, d_model, heads, kv_heads, head_dim, d_ff, vocab, rotary_dim, experts, per_token, width, shared_width, dense_layers]) {
  const t0 = B*S;
  const t1 = d_model*t0;
  const t2 = layers*t1;
  const t3 = d_model*layers;
  const t4 = head_dim*layers;
  const t5 = heads*t4;
  const t6 = 2*t1;
  const t7 = t5*t6;
  const t8 = head_dim*t3;
  const t9 = heads*t8;
  const t10 = t0*t5;
  const t11 = t10 + t2;
  const t12 = kv_heads*t4;
  const t13 = t12*t6;
  const t14 = kv_heads*t8;
  const t15 = t0*t12;
  const t16 = layers*rotary_dim*t0*(heads + kv_heads);
  const t17 = C*S + (1/2)*S*(S + 1);
  const t18 = 2*B;
  const t19 = t17*t18*t5;
  const t20 = B*t12*(C + S);
  const t21 = d_ff*dense_layers;
  const t22 = t21*t6;
  const t23 = d_model*t21;
  const t24 = t0*t21;
  const t25 = dense_layers*t1 + t24;
  const t26 = -dense_layers + layers;
  const t27 = t1*t26;
  const t28 = 2*t27;
  const t29 = d_model*t26;
  const t30 = experts*t29;
  const t31 = t0*t26;
  const t32 = experts*t31;
  const t33 = per_token*t27;
  const t34 = 2*t33;
  const t35 = t34*width;
  const t36 = t30*width*(1 - Math.pow(1 - per_token/experts, t0));
  const t37 = per_token*t31*width;
  const t38 = t33 + t37;
  const t39 = shared_width*t28;
  const t40 = shared_width*t29;
  const t41 = shared_width*t31;
  const t42 = t27 + t41;
  const t43 = d_model*vocab;
  return [
    0, t1, t1, 0, 0,
    8*t2, 2*t3, 4*t2, 0, 0,
    t7, t9, t11, 0, 0,
    t10, t5, 0, 0, 0,
    t13, t14, t2, t15, 0,
    t15, t12, 0, 0, 0,
    t13, t14, t2, t15, 0,
    t15, t12, 0, 0, 0,
    3*t16, 0, 2*t16, 0, 0,
    t19, 0, t10, t20, 0,
    5*B*heads*layers*t17, 0, 0, 0, 0,
    t19, 0, t10, t20, 0,
    t7, t9, t11, 0, 0,
    t22, t23, t25, 0, 0,
    t22, t23, t25, 0, 0,
    5*t24, 0, 3*t24, 0, 0,
    t22, t23, t25, 0, 0,
    experts*t28, t30, t27 + t32, 0, 0,
    5*t32, 0, 2*t32, 0, 0,
    t35, t36, t38, 0, 0,
    t35, t36, t38, 0, 0,
    5*t37, 0, 3*t37, 0, 0,
    t35, t36, t38, 0, 0,
    t34, 0, t27 + t33, 0, 0,
    t39, t40, t42, 0, 0,
    t39, t40, t42, 0, 0,
    5*t41, 0, 3*t41, 0, 0,
    t39, t40, t42, 0, 0,
    2*t2, 0, 6*t2, 0, 0,
    4*t1, d_model, t6, 0, 0,
    t18*t43, t43, B*d_model + B*vocab, 0, 0];
}
export function glm_4_5_air_materialised_naive(B, C, S, [layers, d_model, heads, kv_heads, head_dim, d_ff, vocab, rotary_dim, experts, per_token, width, shared_width, dense_layers]) {
  const t0 = B*S;
  const t1 = d_model*t0;
  const t2 = layers*t1;
  const t3 = d_model*layers;
  const t4 = head_dim*layers;
  const t5 = heads*t4;
  const t6 = 2*t1;
  const t7 = t5*t6;
  const t8 = head_dim*t3;
  const t9 = heads*t8;
  const t10 = t0*t5;
  const t11 = t10 + t2;
  const t12 = kv_heads*t4;
  const t13 = t12*t6;
  const t14 = kv_heads*t8;
  const t15 = t0*t12;
  const t16 = layers*rotary_dim*t0*(heads + kv_heads);
  const t17 = B*(C*S + (1/2)*S*(S + 1));
  const t18 = 2*t17*t5;
  const t19 = B*t12*(C + S);
  const t20 = heads*layers*t17;
  const t21 = d_ff*dense_layers;
  const t22 = t21*t6;
  const t23 = d_model*t21;
  const t24 = t0*t21;
  const t25 = dense_layers*t1 + t24;
  const t26 = -dense_layers + layers;
  const t27 = t1*t26;
  const t28 = 2*t27;
  const t29 = d_model*t26;
  const t30 = experts*t29;
  const t31 = t0*t26;
  const t32 = experts*t31;
  const t33 = per_token*t27;
  const t34 = 2*t33;
  const t35 = t34*width;
  const t36 = t30*width*(1 - Math.pow(1 - per_token/experts, t0));
  const t37 = per_token*t31*width;
  const t38 = t33 + t37;
  const t39 = shared_width*t28;
  const t40 = shared_width*t29;
  const t41 = shared_width*t31;
  const t42 = t27 + t41;
  const t43 = d_model*vocab;
  return [
    0, t1, t1, 0, 0,
    8*t2, 2*t3, 4*t2, 0, 0,
    t7, t9, t11, 0, 0,
    t10, t5, 0, 0, 0,
    t13, t14, t2, t15, 0,
    t15, t12, 0, 0, 0,
    t13, t14, t2, t15, 0,
    t15, t12, 0, 0, 0,
    3*t16, 0, 2*t16, 0, 0,
    t18, 0, t10, t19, t20,
    5*t20, 0, 0, 0, 2*t20,
    t18, 0, t10, t19, t20,
    t7, t9, t11, 0, 0,
    t22, t23, t25, 0, 0,
    t22, t23, t25, 0, 0,
    5*t24, 0, 3*t24, 0, 0,
    t22, t23, t25, 0, 0,
    experts*t28, t30, t27 + t32, 0, 0,
    5*t32, 0, 2*t32, 0, 0,
    t35, t36, t38, 0, 0,
    t35, t36, t38, 0, 0,
    5*t37, 0, 3*t37, 0, 0,
    t35, t36, t38, 0, 0,
    t34, 0, t27 + t33, 0, 0,
    t39, t40, t42, 0, 0,
    t39, t40, t42, 0, 0,
    5*t41, 0, 3*t41, 0, 0,
    t39, t40, t42, 0, 0,
    2*t2, 0, 6*t2, 0, 0,
    4*t1, d_model, t6, 0, 0,
    2*B*t43, t43, B*d_model + B*vocab, 0, 0];
}
export function gpt2_onchip_naive(B, C, S, [layers, d_model, heads, kv_heads, head_dim, d_ff, vocab, positions]) {
  const t0 = B*d_model;
  const t1 = S*t0;
  const t2 = 2*d_model;
  const t3 = B*S;
  const t4 = t2*t3;
  const t5 = d_model*layers;
  const t6 = t3*t5;
  const t7 = 4*t5;
  const t8 = head_dim*t5;
  const t9 = heads*t8;
  const t10 = 2*t3;
  const t11 = t10*t9;
  const t12 = head_dim*layers;
  const t13 = heads*t12;
  const t14 = t13*t3;
  const t15 = t14 + t6;
  const t16 = kv_heads*t8;
  const t17 = t10*t16;
  const t18 = kv_heads*t12;
  const t19 = t18*t3;
  const t20 = B*(C*S + (1/2)*S*(S + 1));
  const t21 = 2*t13*t20;
  const t22 = B*t18*(C + S);
  const t23 = d_ff*t5;
  const t24 = t10*t23;
  const t25 = d_ff*layers;
  const t26 = t25*t3;
  const t27 = t26 + t6;
  const t28 = B*vocab;
  return [
    0, t1, t1, 0, 0,
    t1, t1, t4, 0, 0,
    14*t6, t7, t3*t7, 0, 0,
    t11, t9, t15, 0, 0,
    t14, t13, 0, 0, 0,
    t17, t16, t6, t19, 0,
    t19, t18, 0, 0, 0,
    t17, t16, t6, t19, 0,
    t19, t18, 0, 0, 0,
    t21, 0, t14, t22, 0,
    5*heads*layers*t20, 0, 0, 0, 0,
    t21, 0, t14, t22, 0,
    t11, t9, t15, 0, 0,
    t6, t5, 0, 0, 0,
    t24, t23, t27, 0, 0,
    t26, t25, 0, 0, 0,
    9*t26, 0, 2*t26, 0, 0,
    t24, t23, t27, 0, 0,
    t6, t5, 0, 0, 0,
    2*t6, 0, 6*t6, 0, 0,
    7*t1, t2, t4, 0, 0,
    t2*t28, d_model*vocab, t0 + t28, 0, 0];
}
export function gpt2_materialised_naive(B, C, S, [layers, d_model, heads, kv_heads, head_dim, d_ff, vocab, positions]) {
  const t0 = B*d_model;
  const t1 = S*t0;
  const t2 = 2*d_model;
  const t3 = B*S;
  const t4 = t2*t3;
  const t5 = d_model*layers;
  const t6 = t3*t5;
  const t7 = 4*t5;
  const t8 = head_dim*t5;
  const t9 = heads*t8;
  const t10 = 2*t3;
  const t11 = t10*t9;
  const t12 = head_dim*layers;
  const t13 = heads*t12;
  const t14 = t13*t3;
  const t15 = t14 + t6;
  const t16 = kv_heads*t8;
  const t17 = t10*t16;
  const t18 = kv_heads*t12;
  const t19 = t18*t3;
  const t20 = B*(C*S + (1/2)*S*(S + 1));
  const t21 = 2*t13*t20;
  const t22 = B*t18*(C + S);
  const t23 = heads*layers*t20;
  const t24 = d_ff*t5;
  const t25 = t10*t24;
  const t26 = d_ff*layers;
  const t27 = t26*t3;
  const t28 = t27 + t6;
  const t29 = B*vocab;
  return [
    0, t1, t1, 0, 0,
    t1, t1, t4, 0, 0,
    14*t6, t7, t3*t7, 0, 0,
    t11, t9, t15, 0, 0,
    t14, t13, 0, 0, 0,
    t17, t16, t6, t19, 0,
    t19, t18, 0, 0, 0,
    t17, t16, t6, t19, 0,
    t19, t18, 0, 0, 0,
    t21, 0, t14, t22, t23,
    5*t23, 0, 0, 0, 2*t23,
    t21, 0, t14, t22, t23,
    t11, t9, t15, 0, 0,
    t6, t5, 0, 0, 0,
    t25, t24, t28, 0, 0,
    t27, t26, 0, 0, 0,
    9*t27, 0, 2*t27, 0, 0,
    t25, t24, t28, 0, 0,
    t6, t5, 0, 0, 0,
    2*t6, 0, 6*t6, 0, 0,
    7*t1, t2, t4, 0, 0,
    t2*t29, d_model*vocab, t0 + t29, 0, 0];
}
export function gpt_oss_20b_onchip_naive(B, C, S, [layers, d_model, heads, kv_heads, head_dim, d_ff, vocab, rotary_dim, window, local_layers, experts, per_token, width]) {
  const t0 = B*S;
  const t1 = d_model*t0;
  const t2 = d_model*layers;
  const t3 = t0*t2;
  const t4 = 2*t2;
  const t5 = heads*layers;
  const t6 = head_dim*t5;
  const t7 = 2*t1;
  const t8 = t6*t7;
  const t9 = d_model*t6;
  const t10 = t0*t6;
  const t11 = t10 + t3;
  const t12 = head_dim*kv_heads;
  const t13 = t0*t4;
  const t14 = t12*t13;
  const t15 = t12*t2;
  const t16 = layers*t12;
  const t17 = t0*t16;
  const t18 = layers*t0;
  const t19 = rotary_dim*(heads + kv_heads);
  const t20 = 2*t0;
  const t21 = layers - local_layers;
  const t22 = heads*t21;
  const t23 = t22*(C*S + (1/2)*S*(S + 1));
  const t24 = 2*B;
  const t25 = head_dim*t24;
  const t26 = t23*t25;
  const t27 = head_dim*t0;
  const t28 = t22*t27;
  const t29 = C + S;
  const t30 = B*t12;
  const t31 = t21*t29*t30;
  const t32 = 5*B;
  const t33 = Math.max(0, Math.min(S, -C + window));
  const t34 = heads*local_layers;
  const t35 = t34*(C*t33 + (1/2)*t33*(t33 + 1) + window*(S - t33));
  const t36 = t25*t35;
  const t37 = t27*t34;
  const t38 = local_layers*t30*Math.min(t29, S + window - 1);
  const t39 = experts*t2;
  const t40 = experts*layers;
  const t41 = t0*t40;
  const t42 = per_token*width;
  const t43 = t13*t42;
  const t44 = 1 - Math.pow(1 - per_token/experts, t0);
  const t45 = t44*width;
  const t46 = t39*t45;
  const t47 = per_token*t3;
  const t48 = t18*t42;
  const t49 = t47 + t48;
  const t50 = t40*t45;
  const t51 = d_model*vocab;
  return [
    0, t1, t1, 0, 0,
    8*t3, t4, 4*t3, 0, 0,
    t8, t9, t11, 0, 0,
    t10, t6, 0, 0, 0,
    t14, t15, t3, t17, 0,
    t17, t16, 0, 0, 0,
    t14, t15, t3, t17, 0,
    t17, t16, 0, 0, 0,
    3*t18*t19, 0, layers*t19*t20, 0, 0,
    t20*t5, t5, 0, 0, 0,
    t26, 0, t28, t31, 0,
    t23*t32, 0, 0, 0, 0,
    t26, 0, t28, t31, 0,
    t36, 0, t37, t38, 0,
    t32*t35, 0, 0, 0, 0,
    t36, 0, t37, t38, 0,
    t8, t9, t11, 0, 0,
    t3, t2, 0, 0, 0,
    experts*t13, t39, t3 + t41, 0, 0,
    t41, t40, 0, 0, 0,
    5*t41, 0, 2*t41, 0, 0,
    t43, t46, t49, 0, 0,
    t48, t50, 0, 0, 0,
    t43, t46, t49, 0, 0,
    t48, t50, 0, 0, 0,
    5*t48, 0, 3*t48, 0, 0,
    t43, t46, t49, 0, 0,
    t47, t39*t44, 0, 0, 0,
    per_token*t13, 0, t3 + t47, 0, 0,
    t13, 0, 6*t3, 0, 0,
    4*t1, d_model, t7, 0, 0,
    t24*t51, t51, B*d_model + B*vocab, 0, 0];
}
export function gpt_oss_20b_materialised_naive(B, C, S, [layers, d_model, heads, kv_heads, head_dim, d_ff, vocab, rotary_dim, window, local_layers, experts, per_token, width]) {
  const t0 = B*S;
  const t1 = d_model*t0;
  const t2 = d_model*layers;
  const t3 = t0*t2;
  const t4 = 2*t2;
  const t5 = heads*layers;
  const t6 = head_dim*t5;
  const t7 = 2*t1;
  const t8 = t6*t7;
  const t9 = d_model*t6;
  const t10 = t0*t6;
  const t11 = t10 + t3;
  const t12 = head_dim*kv_heads;
  const t13 = t0*t4;
  const t14 = t12*t13;
  const t15 = t12*t2;
  const t16 = layers*t12;
  const t17 = t0*t16;
  const t18 = layers*t0;
  const t19 = rotary_dim*(heads + kv_heads);
  const t20 = 2*t0;
  const t21 = layers - local_layers;
  const t22 = B*heads;
  const t23 = t21*t22*(C*S + (1/2)*S*(S + 1));
  const t24 = 2*t23;
  const t25 = head_dim*t24;
  const t26 = head_dim*heads*t0;
  const t27 = t21*t26;
  const t28 = C + S;
  const t29 = B*t12;
  const t30 = t21*t28*t29;
  const t31 = Math.max(0, Math.min(S, -C + window));
  const t32 = local_layers*t22*(C*t31 + (1/2)*t31*(t31 + 1) + window*(S - t31));
  const t33 = 2*t32;
  const t34 = head_dim*t33;
  const t35 = local_layers*t26;
  const t36 = local_layers*t29*Math.min(t28, S + window - 1);
  const t37 = experts*t2;
  const t38 = experts*layers;
  const t39 = t0*t38;
  const t40 = per_token*width;
  const t41 = t13*t40;
  const t42 = 1 - Math.pow(1 - per_token/experts, t0);
  const t43 = t42*width;
  const t44 = t37*t43;
  const t45 = per_token*t3;
  const t46 = t18*t40;
  const t47 = t45 + t46;
  const t48 = t38*t43;
  const t49 = d_model*vocab;
  return [
    0, t1, t1, 0, 0,
    8*t3, t4, 4*t3, 0, 0,
    t8, t9, t11, 0, 0,
    t10, t6, 0, 0, 0,
    t14, t15, t3, t17, 0,
    t17, t16, 0, 0, 0,
    t14, t15, t3, t17, 0,
    t17, t16, 0, 0, 0,
    3*t18*t19, 0, layers*t19*t20, 0, 0,
    t20*t5, t5, 0, 0, 0,
    t25, 0, t27, t30, t23,
    5*t23, 0, 0, 0, t24,
    t25, 0, t27, t30, t23,
    t34, 0, t35, t36, t32,
    5*t32, 0, 0, 0, t33,
    t34, 0, t35, t36, t32,
    t8, t9, t11, 0, 0,
    t3, t2, 0, 0, 0,
    experts*t13, t37, t3 + t39, 0, 0,
    t39, t38, 0, 0, 0,
    5*t39, 0, 2*t39, 0, 0,
    t41, t44, t47, 0, 0,
    t46, t48, 0, 0, 0,
    t41, t44, t47, 0, 0,
    t46, t48, 0, 0, 0,
    5*t46, 0, 3*t46, 0, 0,
    t41, t44, t47, 0, 0,
    t45, t37*t42, 0, 0, 0,
    per_token*t13, 0, t3 + t45, 0, 0,
    t13, 0, 6*t3, 0, 0,
    4*t1, d_model, t7, 0, 0,
    2*B*t49, t49, B*d_model + B*vocab, 0, 0];
}
export function hunyuan_4b_onchip_naive(B, C, S, [layers, d_model, heads, kv_heads, head_dim, d_ff, vocab, rotary_dim]) {
  const t0 = B*d_model;
  const t1 = S*t0;
  const t2 = layers*t1;
  const t3 = 2*layers;
  const t4 = head_dim*heads;
  const t5 = t1*t3;
  const t6 = t4*t5;
  const t7 = d_model*layers;
  const t8 = t4*t7;
  const t9 = B*S;
  const t10 = layers*t9;
  const t11 = t10*t4;
  const t12 = t11 + t2;
  const t13 = head_dim*kv_heads;
  const t14 = t13*t5;
  const t15 = t13*t7;
  const t16 = t10*t13;
  const t17 = t3*t9;
  const t18 = rotary_dim*(heads + kv_heads);
  const t19 = C*S + (1/2)*S*(S + 1);
  const t20 = B*t19*t3*t4;
  const t21 = B*layers;
  const t22 = t13*t21*(C + S);
  const t23 = d_ff*t5;
  const t24 = d_ff*t7;
  const t25 = d_ff*t10;
  const t26 = t2 + t25;
  const t27 = d_model*vocab;
  return [
    0, t1, t1, 0, 0,
    8*t2, d_model*t3, 4*t2, 0, 0,
    t6, t8, t12, 0, 0,
    t14, t15, t2, t16, 0,
    t14, t15, t2, t16, 0,
    t10*(4*t13 + 4*t4), head_dim*t3, t17*(t13 + t4), 0, 0,
    3*t10*t18, 0, t17*t18, 0, 0,
    t20, 0, t11, t22, 0,
    5*heads*t19*t21, 0, 0, 0, 0,
    t20, 0, t11, t22, 0,
    t6, t8, t12, 0, 0,
    t23, t24, t26, 0, 0,
    t23, t24, t26, 0, 0,
    5*t25, 0, 3*t25, 0, 0,
    t23, t24, t26, 0, 0,
    t5, 0, 6*t2, 0, 0,
    4*t1, d_model, 2*t1, 0, 0,
    2*B*t27, t27, B*vocab + t0, 0, 0];
}
export function hunyuan_4b_materialised_naive(B, C, S, [layers, d_model, heads, kv_heads, head_dim, d_ff, vocab, rotary_dim]) {
  const t0 = B*d_model;
  const t1 = S*t0;
  const t2 = layers*t1;
  const t3 = 2*layers;
  const t4 = head_dim*heads;
  const t5 = t1*t3;
  const t6 = t4*t5;
  const t7 = d_model*layers;
  const t8 = t4*t7;
  const t9 = B*layers;
  const t10 = S*t9;
  const t11 = t10*t4;
  const t12 = t11 + t2;
  const t13 = head_dim*kv_heads;
  const t14 = t13*t5;
  const t15 = t13*t7;
  const t16 = t10*t13;
  const t17 = B*t3;
  const t18 = S*t17;
  const t19 = rotary_dim*(heads + kv_heads);
  const t20 = C*S + (1/2)*S*(S + 1);
  const t21 = t17*t20*t4;
  const t22 = t13*t9*(C + S);
  const t23 = heads*t20;
  const t24 = t23*t9;
  const t25 = d_ff*t5;
  const t26 = d_ff*t7;
  const t27 = d_ff*t10;
  const t28 = t2 + t27;
  const t29 = d_model*vocab;
  return [
    0, t1, t1, 0, 0,
    8*t2, d_model*t3, 4*t2, 0, 0,
    t6, t8, t12, 0, 0,
    t14, t15, t2, t16, 0,
    t14, t15, t2, t16, 0,
    t10*(4*t13 + 4*t4), head_dim*t3, t18*(t13 + t4), 0, 0,
    3*t10*t19, 0, t18*t19, 0, 0,
    t21, 0, t11, t22, t24,
    5*t24, 0, 0, 0, t17*t23,
    t21, 0, t11, t22, t24,
    t6, t8, t12, 0, 0,
    t25, t26, t28, 0, 0,
    t25, t26, t28, 0, 0,
    5*t27, 0, 3*t27, 0, 0,
    t25, t26, t28, 0, 0,
    t5, 0, 6*t2, 0, 0,
    4*t1, d_model, 2*t1, 0, 0,
    2*B*t29, t29, B*vocab + t0, 0, 0];
}
export function mimo_7b_base_onchip_naive(B, C, S, [layers, d_model, heads, kv_heads, head_dim, d_ff, vocab, rotary_dim]) {
  const t0 = B*d_model;
  const t1 = S*t0;
  const t2 = layers*t1;
  const t3 = d_model*layers;
  const t4 = head_dim*layers;
  const t5 = heads*t4;
  const t6 = 2*t1;
  const t7 = t5*t6;
  const t8 = head_dim*t3;
  const t9 = heads*t8;
  const t10 = B*S;
  const t11 = t10*t5;
  const t12 = t11 + t2;
  const t13 = kv_heads*t4;
  const t14 = t13*t6;
  const t15 = kv_heads*t8;
  const t16 = t10*t13;
  const t17 = layers*t10;
  const t18 = rotary_dim*t17*(heads + kv_heads);
  const t19 = C*S + (1/2)*S*(S + 1);
  const t20 = 2*B;
  const t21 = t19*t20*t5;
  const t22 = B*t13*(C + S);
  const t23 = 2*t2;
  const t24 = d_ff*t23;
  const t25 = d_ff*t3;
  const t26 = d_ff*t17;
  const t27 = t2 + t26;
  const t28 = d_model*vocab;
  return [
    0, t1, t1, 0, 0,
    8*t2, 2*t3, 4*t2, 0, 0,
    t7, t9, t12, 0, 0,
    t11, t5, 0, 0, 0,
    t14, t15, t2, t16, 0,
    t16, t13, 0, 0, 0,
    t14, t15, t2, t16, 0,
    t16, t13, 0, 0, 0,
    3*t18, 0, 2*t18, 0, 0,
    t21, 0, t11, t22, 0,
    5*B*heads*layers*t19, 0, 0, 0, 0,
    t21, 0, t11, t22, 0,
    t7, t9, t12, 0, 0,
    t24, t25, t27, 0, 0,
    t24, t25, t27, 0, 0,
    5*t26, 0, 3*t26, 0, 0,
    t24, t25, t27, 0, 0,
    t23, 0, 6*t2, 0, 0,
    4*t1, d_model, t6, 0, 0,
    t20*t28, t28, B*vocab + t0, 0, 0];
}
export function mimo_7b_base_materialised_naive(B, C, S, [layers, d_model, heads, kv_heads, head_dim, d_ff, vocab, rotary_dim]) {
  const t0 = B*d_model;
  const t1 = S*t0;
  const t2 = layers*t1;
  const t3 = d_model*layers;
  const t4 = head_dim*layers;
  const t5 = heads*t4;
  const t6 = 2*t1;
  const t7 = t5*t6;
  const t8 = head_dim*t3;
  const t9 = heads*t8;
  const t10 = B*S;
  const t11 = t10*t5;
  const t12 = t11 + t2;
  const t13 = kv_heads*t4;
  const t14 = t13*t6;
  const t15 = kv_heads*t8;
  const t16 = t10*t13;
  const t17 = B*layers;
  const t18 = S*t17;
  const t19 = rotary_dim*t18*(heads + kv_heads);
  const t20 = C*S + (1/2)*S*(S + 1);
  const t21 = 2*B;
  const t22 = t20*t21*t5;
  const t23 = B*t13*(C + S);
  const t24 = heads*t17*t20;
  const t25 = 2*t2;
  const t26 = d_ff*t25;
  const t27 = d_ff*t3;
  const t28 = d_ff*t18;
  const t29 = t2 + t28;
  const t30 = d_model*vocab;
  return [
    0, t1, t1, 0, 0,
    8*t2, 2*t3, 4*t2, 0, 0,
    t7, t9, t12, 0, 0,
    t11, t5, 0, 0, 0,
    t14, t15, t2, t16, 0,
    t16, t13, 0, 0, 0,
    t14, t15, t2, t16, 0,
    t16, t13, 0, 0, 0,
    3*t19, 0, 2*t19, 0, 0,
    t22, 0, t11, t23, t24,
    5*t24, 0, 0, 0, 2*t24,
    t22, 0, t11, t23, t24,
    t7, t9, t12, 0, 0,
    t26, t27, t29, 0, 0,
    t26, t27, t29, 0, 0,
    5*t28, 0, 3*t28, 0, 0,
    t26, t27, t29, 0, 0,
    t25, 0, 6*t2, 0, 0,
    4*t1, d_model, t6, 0, 0,
    t21*t30, t30, B*vocab + t0, 0, 0];
}
export function minicpm3_4b_onchip_naive(B, C, S, [layers, d_model, heads, kv_heads, head_dim, d_ff, vocab, rotary_dim, q_rank, kv_rank, nope_dim, rope_dim, value_dim]) {
  const t0 = B*d_model;
  const t1 = S*t0;
  const t2 = layers*t1;
  const t3 = d_model*layers;
  const t4 = layers*q_rank;
  const t5 = 2*t1;
  const t6 = B*S;
  const t7 = t4*t6;
  const t8 = 2*t7;
  const t9 = nope_dim + rope_dim;
  const t10 = heads*t9;
  const t11 = layers*t6;
  const t12 = t10*t11;
  const t13 = kv_rank + rope_dim;
  const t14 = 2*t2;
  const t15 = layers*t13;
  const t16 = kv_rank*layers;
  const t17 = t16*t6;
  const t18 = t11*(heads + 1);
  const t19 = 2*rope_dim;
  const t20 = heads*t16*(nope_dim + value_dim);
  const t21 = B*(C + S);
  const t22 = heads*layers;
  const t23 = C*S + (1/2)*S*(S + 1);
  const t24 = B*t22*t23;
  const t25 = layers*t21;
  const t26 = heads*value_dim;
  const t27 = 2*B;
  const t28 = t11*t26;
  const t29 = d_ff*t14;
  const t30 = d_ff*t3;
  const t31 = d_ff*t11;
  const t32 = t2 + t31;
  const t33 = d_model*vocab;
  return [
    0, t1, t1, 0, 0,
    8*t2, 2*t3, 4*t2, 0, 0,
    t4*t5, d_model*t4, t2 + t7, 0, 0,
    4*t7, t4, t8, 0, 0,
    t10*t8, t10*t4, t12 + t7, 0, 0,
    t13*t14, t13*t3, t2, t15*t6, 0,
    4*t17, t16, 2*t17, 0, 0,
    3*rope_dim*t18, 0, t18*t19, 0, 0,
    2*t20*t21, t20, t21*t22*(t9 + value_dim), t15*t21, 0,
    t24*(2*nope_dim + t19), 0, t10*t25 + t12, 0, 0,
    5*t24, 0, 0, 0, 0,
    layers*t23*t26*t27, 0, t25*t26 + t28, 0, 0,
    t14*t26, t26*t3, t2 + t28, 0, 0,
    t29, t30, t32, 0, 0,
    t29, t30, t32, 0, 0,
    5*t31, 0, 3*t31, 0, 0,
    t29, t30, t32, 0, 0,
    t14, 0, 6*t2, 0, 0,
    4*t1, d_model, t5, 0, 0,
    t27*t33, t33, B*vocab + t0, 0, 0];
}
export function minicpm3_4b_onchip_absorbed(B, C, S, [layers, d_model, heads, kv_heads, head_dim, d_ff, vocab, rotary_dim, q_rank, kv_rank, nope_dim, rope_dim, value_dim]) {
  const t0 = B*d_model;
  const t1 = S*t0;
  const t2 = layers*t1;
  const t3 = d_model*layers;
  const t4 = layers*q_rank;
  const t5 = 2*t1;
  const t6 = B*S;
  const t7 = t4*t6;
  const t8 = 2*t7;
  const t9 = heads*(nope_dim + rope_dim);
  const t10 = layers*t6;
  const t11 = kv_rank + rope_dim;
  const t12 = 2*t2;
  const t13 = layers*t11;
  const t14 = t13*t6;
  const t15 = kv_rank*layers;
  const t16 = t15*t6;
  const t17 = t10*(heads + 1);
  const t18 = 2*rope_dim;
  const t19 = heads*t15;
  const t20 = nope_dim*t19;
  const t21 = 2*t6;
  const t22 = t19*t6;
  const t23 = C*S + (1/2)*S*(S + 1);
  const t24 = B*heads*layers*t23;
  const t25 = 2*B;
  const t26 = t19*value_dim;
  const t27 = heads*value_dim;
  const t28 = t10*t27;
  const t29 = d_ff*t12;
  const t30 = d_ff*t3;
  const t31 = d_ff*t10;
  const t32 = t2 + t31;
  const t33 = d_model*vocab;
  return [
    0, t1, t1, 0, 0,
    8*t2, 2*t3, 4*t2, 0, 0,
    t4*t5, d_model*t4, t2 + t7, 0, 0,
    4*t7, t4, t8, 0, 0,
    t8*t9, t4*t9, t10*t9 + t7, 0, 0,
    t11*t12, t11*t3, t2, t14, 0,
    4*t16, t15, 2*t16, 0, 0,
    3*rope_dim*t17, 0, t17*t18, 0, 0,
    t20*t21, t20, heads*nope_dim*t10 + t22, 0, 0,
    t24*(2*kv_rank + t18), 0, heads*t14, B*t13*(C + S), 0,
    5*t24, 0, 0, 0, 0,
    t19*t23*t25, 0, t22, 0, 0,
    t21*t26, t26, t22 + t28, 0, 0,
    t12*t27, t27*t3, t2 + t28, 0, 0,
    t29, t30, t32, 0, 0,
    t29, t30, t32, 0, 0,
    5*t31, 0, 3*t31, 0, 0,
    t29, t30, t32, 0, 0,
    t12, 0, 6*t2, 0, 0,
    4*t1, d_model, t5, 0, 0,
    t25*t33, t33, B*vocab + t0, 0, 0];
}
export function minicpm3_4b_materialised_naive(B, C, S, [layers, d_model, heads, kv_heads, head_dim, d_ff, vocab, rotary_dim, q_rank, kv_rank, nope_dim, rope_dim, value_dim]) {
  const t0 = B*d_model;
  const t1 = S*t0;
  const t2 = layers*t1;
  const t3 = d_model*layers;
  const t4 = layers*q_rank;
  const t5 = 2*t1;
  const t6 = B*S;
  const t7 = t4*t6;
  const t8 = 2*t7;
  const t9 = nope_dim + rope_dim;
  const t10 = heads*t9;
  const t11 = layers*t6;
  const t12 = t10*t11;
  const t13 = kv_rank + rope_dim;
  const t14 = 2*t2;
  const t15 = layers*t13;
  const t16 = kv_rank*layers;
  const t17 = t16*t6;
  const t18 = t11*(heads + 1);
  const t19 = 2*rope_dim;
  const t20 = heads*t16*(nope_dim + value_dim);
  const t21 = B*(C + S);
  const t22 = heads*layers;
  const t23 = t21*t22;
  const t24 = B*t22*(C*S + (1/2)*S*(S + 1));
  const t25 = 2*t24;
  const t26 = t22*t6*value_dim;
  const t27 = heads*value_dim;
  const t28 = d_ff*t14;
  const t29 = d_ff*t3;
  const t30 = d_ff*t11;
  const t31 = t2 + t30;
  const t32 = d_model*vocab;
  return [
    0, t1, t1, 0, 0,
    8*t2, 2*t3, 4*t2, 0, 0,
    t4*t5, d_model*t4, t2 + t7, 0, 0,
    4*t7, t4, t8, 0, 0,
    t10*t8, t10*t4, t12 + t7, 0, 0,
    t13*t14, t13*t3, t2, t15*t6, 0,
    4*t17, t16, 2*t17, 0, 0,
    3*rope_dim*t18, 0, t18*t19, 0, 0,
    2*t20*t21, t20, t23*(t9 + value_dim), t15*t21, 0,
    t24*(2*nope_dim + t19), 0, layers*t10*t21 + t12, 0, t24,
    5*t24, 0, 0, 0, t25,
    t25*value_dim, 0, t23*value_dim + t26, 0, t24,
    t14*t27, t27*t3, t2 + t26, 0, 0,
    t28, t29, t31, 0, 0,
    t28, t29, t31, 0, 0,
    5*t30, 0, 3*t30, 0, 0,
    t28, t29, t31, 0, 0,
    t14, 0, 6*t2, 0, 0,
    4*t1, d_model, t5, 0, 0,
    2*B*t32, t32, B*vocab + t0, 0, 0];
}
export function minicpm3_4b_materialised_absorbed(B, C, S, [layers, d_model, heads, kv_heads, head_dim, d_ff, vocab, rotary_dim, q_rank, kv_rank, nope_dim, rope_dim, value_dim]) {
  const t0 = B*d_model;
  const t1 = S*t0;
  const t2 = layers*t1;
  const t3 = d_model*layers;
  const t4 = layers*q_rank;
  const t5 = 2*t1;
  const t6 = B*S;
  const t7 = t4*t6;
  const t8 = 2*t7;
  const t9 = heads*(nope_dim + rope_dim);
  const t10 = layers*t6;
  const t11 = kv_rank + rope_dim;
  const t12 = 2*t2;
  const t13 = layers*t11;
  const t14 = t13*t6;
  const t15 = kv_rank*layers;
  const t16 = t15*t6;
  const t17 = t10*(heads + 1);
  const t18 = 2*rope_dim;
  const t19 = heads*t15;
  const t20 = nope_dim*t19;
  const t21 = 2*t6;
  const t22 = t19*t6;
  const t23 = heads*layers;
  const t24 = t23*t6;
  const t25 = B*(C*S + (1/2)*S*(S + 1));
  const t26 = t23*t25;
  const t27 = B*(C + S);
  const t28 = t19*value_dim;
  const t29 = t24*value_dim;
  const t30 = heads*value_dim;
  const t31 = d_ff*t12;
  const t32 = d_ff*t3;
  const t33 = d_ff*t10;
  const t34 = t2 + t33;
  const t35 = d_model*vocab;
  return [
    0, t1, t1, 0, 0,
    8*t2, 2*t3, 4*t2, 0, 0,
    t4*t5, d_model*t4, t2 + t7, 0, 0,
    4*t7, t4, t8, 0, 0,
    t8*t9, t4*t9, t10*t9 + t7, 0, 0,
    t11*t12, t11*t3, t2, t14, 0,
    4*t16, t15, 2*t16, 0, 0,
    3*rope_dim*t17, 0, t17*t18, 0, 0,
    t20*t21, t20, nope_dim*t24 + t22, 0, 0,
    t26*(2*kv_rank + t18), 0, heads*t14, t13*t27, t26,
    5*t26, 0, 0, 0, 2*t26,
    2*t19*t25, 0, t22, t15*t27, t26,
    t21*t28, t28, t22 + t29, 0, 0,
    t12*t30, t3*t30, t2 + t29, 0, 0,
    t31, t32, t34, 0, 0,
    t31, t32, t34, 0, 0,
    5*t33, 0, 3*t33, 0, 0,
    t31, t32, t34, 0, 0,
    t12, 0, 6*t2, 0, 0,
    4*t1, d_model, t5, 0, 0,
    2*B*t35, t35, B*vocab + t0, 0, 0];
}
export function minimax_m2_5_onchip_naive(B, C, S, [layers, d_model, heads, kv_heads, head_dim, d_ff, vocab, rotary_dim, experts, per_token, width]) {
  const t0 = B*S;
  const t1 = d_model*t0;
  const t2 = layers*t1;
  const t3 = d_model*layers;
  const t4 = head_dim*heads;
  const t5 = 2*t2;
  const t6 = t4*t5;
  const t7 = t3*t4;
  const t8 = layers*t0;
  const t9 = t4*t8;
  const t10 = t2 + t9;
  const t11 = head_dim*kv_heads;
  const t12 = t11*t5;
  const t13 = t11*t3;
  const t14 = t11*t8;
  const t15 = layers*(t11 + t4);
  const t16 = rotary_dim*t8*(heads + kv_heads);
  const t17 = C*S + (1/2)*S*(S + 1);
  const t18 = 2*B;
  const t19 = layers*t17*t18*t4;
  const t20 = B*layers;
  const t21 = t11*t20*(C + S);
  const t22 = experts*t3;
  const t23 = experts*t8;
  const t24 = per_token*t2;
  const t25 = 2*t24;
  const t26 = t25*width;
  const t27 = t22*width*(1 - Math.pow(1 - per_token/experts, t0));
  const t28 = per_token*t8*width;
  const t29 = t24 + t28;
  const t30 = d_model*vocab;
  return [
    0, t1, t1, 0, 0,
    8*t2, 2*t3, 4*t2, 0, 0,
    t6, t7, t10, 0, 0,
    t12, t13, t2, t14, 0,
    t12, t13, t2, t14, 0,
    t8*(4*t11 + 4*t4), t15, 2*t0*t15, 0, 0,
    3*t16, 0, 2*t16, 0, 0,
    t19, 0, t9, t21, 0,
    5*heads*t17*t20, 0, 0, 0, 0,
    t19, 0, t9, t21, 0,
    t6, t7, t10, 0, 0,
    experts*t5, t22, t2 + t23, 0, 0,
    5*t23, 0, 2*t23, 0, 0,
    t26, t27, t29, 0, 0,
    t26, t27, t29, 0, 0,
    5*t28, 0, 3*t28, 0, 0,
    t26, t27, t29, 0, 0,
    t25, 0, t2 + t24, 0, 0,
    t5, 0, 6*t2, 0, 0,
    4*t1, d_model, 2*t1, 0, 0,
    t18*t30, t30, B*d_model + B*vocab, 0, 0];
}
export function minimax_m2_5_materialised_naive(B, C, S, [layers, d_model, heads, kv_heads, head_dim, d_ff, vocab, rotary_dim, experts, per_token, width]) {
  const t0 = B*S;
  const t1 = d_model*t0;
  const t2 = layers*t1;
  const t3 = d_model*layers;
  const t4 = head_dim*heads;
  const t5 = 2*t2;
  const t6 = t4*t5;
  const t7 = t3*t4;
  const t8 = layers*t0;
  const t9 = t4*t8;
  const t10 = t2 + t9;
  const t11 = head_dim*kv_heads;
  const t12 = t11*t5;
  const t13 = t11*t3;
  const t14 = t11*t8;
  const t15 = layers*(t11 + t4);
  const t16 = rotary_dim*t8*(heads + kv_heads);
  const t17 = B*layers;
  const t18 = t17*(C*S + (1/2)*S*(S + 1));
  const t19 = 2*t18*t4;
  const t20 = t11*t17*(C + S);
  const t21 = heads*t18;
  const t22 = experts*t3;
  const t23 = experts*t8;
  const t24 = per_token*t2;
  const t25 = 2*t24;
  const t26 = t25*width;
  const t27 = t22*width*(1 - Math.pow(1 - per_token/experts, t0));
  const t28 = per_token*t8*width;
  const t29 = t24 + t28;
  const t30 = d_model*vocab;
  return [
    0, t1, t1, 0, 0,
    8*t2, 2*t3, 4*t2, 0, 0,
    t6, t7, t10, 0, 0,
    t12, t13, t2, t14, 0,
    t12, t13, t2, t14, 0,
    t8*(4*t11 + 4*t4), t15, 2*t0*t15, 0, 0,
    3*t16, 0, 2*t16, 0, 0,
    t19, 0, t9, t20, t21,
    5*t21, 0, 0, 0, 2*t21,
    t19, 0, t9, t20, t21,
    t6, t7, t10, 0, 0,
    experts*t5, t22, t2 + t23, 0, 0,
    5*t23, 0, 2*t23, 0, 0,
    t26, t27, t29, 0, 0,
    t26, t27, t29, 0, 0,
    5*t28, 0, 3*t28, 0, 0,
    t26, t27, t29, 0, 0,
    t25, 0, t2 + t24, 0, 0,
    t5, 0, 6*t2, 0, 0,
    4*t1, d_model, 2*t1, 0, 0,
    2*B*t30, t30, B*d_model + B*vocab, 0, 0];
}
export function ministral_8b_onchip_naive(B, C, S, [layers, d_model, heads, kv_heads, head_dim, d_ff, vocab, rotary_dim, window]) {
  const t0 = B*d_model;
  const t1 = S*t0;
  const t2 = layers*t1;
  const t3 = d_model*layers;
  const t4 = 2*t2;
  const t5 = head_dim*t4;
  const t6 = heads*t5;
  const t7 = head_dim*t3;
  const t8 = heads*t7;
  const t9 = B*layers;
  const t10 = S*t9;
  const t11 = head_dim*t10;
  const t12 = heads*t11;
  const t13 = t12 + t2;
  const t14 = kv_heads*t5;
  const t15 = kv_heads*t7;
  const t16 = kv_heads*t11;
  const t17 = rotary_dim*t10*(heads + kv_heads);
  const t18 = head_dim*t9;
  const t19 = Math.max(0, Math.min(S, -C + window));
  const t20 = heads*(C*t19 + (1/2)*t19*(t19 + 1) + window*(S - t19));
  const t21 = 2*t18*t20;
  const t22 = kv_heads*t18*Math.min(C + S, S + window - 1);
  const t23 = d_ff*t4;
  const t24 = d_ff*t3;
  const t25 = d_ff*t10;
  const t26 = t2 + t25;
  const t27 = d_model*vocab;
  return [
    0, t1, t1, 0, 0,
    8*t2, 2*t3, 4*t2, 0, 0,
    t6, t8, t13, 0, 0,
    t14, t15, t2, t16, 0,
    t14, t15, t2, t16, 0,
    3*t17, 0, 2*t17, 0, 0,
    t21, 0, t12, t22, 0,
    5*t20*t9, 0, 0, 0, 0,
    t21, 0, t12, t22, 0,
    t6, t8, t13, 0, 0,
    t23, t24, t26, 0, 0,
    t23, t24, t26, 0, 0,
    5*t25, 0, 3*t25, 0, 0,
    t23, t24, t26, 0, 0,
    t4, 0, 6*t2, 0, 0,
    4*t1, d_model, 2*t1, 0, 0,
    2*B*t27, t27, B*vocab + t0, 0, 0];
}
export function ministral_8b_materialised_naive(B, C, S, [layers, d_model, heads, kv_heads, head_dim, d_ff, vocab, rotary_dim, window]) {
  const t0 = B*d_model;
  const t1 = S*t0;
  const t2 = layers*t1;
  const t3 = d_model*layers;
  const t4 = 2*t2;
  const t5 = head_dim*heads*t4;
  const t6 = head_dim*t3;
  const t7 = heads*t6;
  const t8 = B*layers;
  const t9 = heads*t8;
  const t10 = S*head_dim*t9;
  const t11 = t10 + t2;
  const t12 = head_dim*kv_heads;
  const t13 = t12*t4;
  const t14 = kv_heads*t6;
  const t15 = S*t8;
  const t16 = t12*t15;
  const t17 = rotary_dim*t15*(heads + kv_heads);
  const t18 = Math.max(0, Math.min(S, -C + window));
  const t19 = t9*(C*t18 + (1/2)*t18*(t18 + 1) + window*(S - t18));
  const t20 = 2*t19;
  const t21 = head_dim*t20;
  const t22 = t12*t8*Math.min(C + S, S + window - 1);
  const t23 = d_ff*t4;
  const t24 = d_ff*t3;
  const t25 = d_ff*t15;
  const t26 = t2 + t25;
  const t27 = d_model*vocab;
  return [
    0, t1, t1, 0, 0,
    8*t2, 2*t3, 4*t2, 0, 0,
    t5, t7, t11, 0, 0,
    t13, t14, t2, t16, 0,
    t13, t14, t2, t16, 0,
    3*t17, 0, 2*t17, 0, 0,
    t21, 0, t10, t22, t19,
    5*t19, 0, 0, 0, t20,
    t21, 0, t10, t22, t19,
    t5, t7, t11, 0, 0,
    t23, t24, t26, 0, 0,
    t23, t24, t26, 0, 0,
    5*t25, 0, 3*t25, 0, 0,
    t23, t24, t26, 0, 0,
    t4, 0, 6*t2, 0, 0,
    4*t1, d_model, 2*t1, 0, 0,
    2*B*t27, t27, B*vocab + t0, 0, 0];
}
export function mixtral_8x7b_onchip_naive(B, C, S, [layers, d_model, heads, kv_heads, head_dim, d_ff, vocab, rotary_dim, experts, per_token, width]) {
  const t0 = B*S;
  const t1 = d_model*t0;
  const t2 = layers*t1;
  const t3 = d_model*layers;
  const t4 = 2*t2;
  const t5 = head_dim*heads*t4;
  const t6 = head_dim*t3;
  const t7 = heads*t6;
  const t8 = layers*t0;
  const t9 = head_dim*t8;
  const t10 = heads*t9;
  const t11 = t10 + t2;
  const t12 = head_dim*kv_heads;
  const t13 = t12*t4;
  const t14 = kv_heads*t6;
  const t15 = kv_heads*t9;
  const t16 = rotary_dim*t8*(heads + kv_heads);
  const t17 = 2*B;
  const t18 = heads*(C*S + (1/2)*S*(S + 1));
  const t19 = head_dim*layers*t17*t18;
  const t20 = B*layers;
  const t21 = t12*t20*(C + S);
  const t22 = experts*t3;
  const t23 = experts*t8;
  const t24 = per_token*t2;
  const t25 = 2*t24;
  const t26 = t25*width;
  const t27 = t22*width*(1 - Math.pow(1 - per_token/experts, t0));
  const t28 = per_token*t8*width;
  const t29 = t24 + t28;
  const t30 = d_model*vocab;
  return [
    0, t1, t1, 0, 0,
    8*t2, 2*t3, 4*t2, 0, 0,
    t5, t7, t11, 0, 0,
    t13, t14, t2, t15, 0,
    t13, t14, t2, t15, 0,
    3*t16, 0, 2*t16, 0, 0,
    t19, 0, t10, t21, 0,
    5*t18*t20, 0, 0, 0, 0,
    t19, 0, t10, t21, 0,
    t5, t7, t11, 0, 0,
    experts*t4, t22, t2 + t23, 0, 0,
    5*t23, 0, 2*t23, 0, 0,
    t26, t27, t29, 0, 0,
    t26, t27, t29, 0, 0,
    5*t28, 0, 3*t28, 0, 0,
    t26, t27, t29, 0, 0,
    t25, 0, t2 + t24, 0, 0,
    t4, 0, 6*t2, 0, 0,
    4*t1, d_model, 2*t1, 0, 0,
    t17*t30, t30, B*d_model + B*vocab, 0, 0];
}
export function mixtral_8x7b_materialised_naive(B, C, S, [layers, d_model, heads, kv_heads, head_dim, d_ff, vocab, rotary_dim, experts, per_token, width]) {
  const t0 = B*S;
  const t1 = d_model*t0;
  const t2 = layers*t1;
  const t3 = d_model*layers;
  const t4 = 2*t2;
  const t5 = head_dim*heads*t4;
  const t6 = head_dim*t3;
  const t7 = heads*t6;
  const t8 = heads*layers;
  const t9 = head_dim*t0*t8;
  const t10 = t2 + t9;
  const t11 = head_dim*kv_heads;
  const t12 = t11*t4;
  const t13 = kv_heads*t6;
  const t14 = layers*t0;
  const t15 = t11*t14;
  const t16 = rotary_dim*t14*(heads + kv_heads);
  const t17 = B*t8*(C*S + (1/2)*S*(S + 1));
  const t18 = 2*t17;
  const t19 = head_dim*t18;
  const t20 = B*layers*t11*(C + S);
  const t21 = experts*t3;
  const t22 = experts*t14;
  const t23 = per_token*t2;
  const t24 = 2*t23;
  const t25 = t24*width;
  const t26 = t21*width*(1 - Math.pow(1 - per_token/experts, t0));
  const t27 = per_token*t14*width;
  const t28 = t23 + t27;
  const t29 = d_model*vocab;
  return [
    0, t1, t1, 0, 0,
    8*t2, 2*t3, 4*t2, 0, 0,
    t5, t7, t10, 0, 0,
    t12, t13, t2, t15, 0,
    t12, t13, t2, t15, 0,
    3*t16, 0, 2*t16, 0, 0,
    t19, 0, t9, t20, t17,
    5*t17, 0, 0, 0, t18,
    t19, 0, t9, t20, t17,
    t5, t7, t10, 0, 0,
    experts*t4, t21, t2 + t22, 0, 0,
    5*t22, 0, 2*t22, 0, 0,
    t25, t26, t28, 0, 0,
    t25, t26, t28, 0, 0,
    5*t27, 0, 3*t27, 0, 0,
    t25, t26, t28, 0, 0,
    t24, 0, t2 + t23, 0, 0,
    t4, 0, 6*t2, 0, 0,
    4*t1, d_model, 2*t1, 0, 0,
    2*B*t29, t29, B*d_model + B*vocab, 0, 0];
}
export function olmo_3_7b_onchip_naive(B, C, S, [layers, d_model, heads, kv_heads, head_dim, d_ff, vocab, rotary_dim, window, local_layers]) {
  const t0 = B*d_model;
  const t1 = S*t0;
  const t2 = layers*t1;
  const t3 = d_model*layers;
  const t4 = head_dim*heads;
  const t5 = 2*t2;
  const t6 = t4*t5;
  const t7 = t3*t4;
  const t8 = B*S;
  const t9 = layers*t8;
  const t10 = t2 + t4*t9;
  const t11 = head_dim*kv_heads;
  const t12 = t11*t5;
  const t13 = t11*t3;
  const t14 = t11*t9;
  const t15 = layers*(t11 + t4);
  const t16 = rotary_dim*t9*(heads + kv_heads);
  const t17 = layers - local_layers;
  const t18 = C*S + (1/2)*S*(S + 1);
  const t19 = 2*B;
  const t20 = t19*t4;
  const t21 = t17*t18*t20;
  const t22 = t4*t8;
  const t23 = t17*t22;
  const t24 = C + S;
  const t25 = B*t17;
  const t26 = t11*t24*t25;
  const t27 = 5*heads;
  const t28 = Math.max(0, Math.min(S, -C + window));
  const t29 = C*t28 + (1/2)*t28*(t28 + 1) + window*(S - t28);
  const t30 = local_layers*t20*t29;
  const t31 = local_layers*t22;
  const t32 = B*local_layers;
  const t33 = t11*t32*Math.min(t24, S + window - 1);
  const t34 = d_ff*t5;
  const t35 = d_ff*t3;
  const t36 = d_ff*t9;
  const t37 = t2 + t36;
  const t38 = d_model*vocab;
  return [
    0, t1, t1, 0, 0,
    8*t2, 2*t3, 4*t2, 0, 0,
    t6, t7, t10, 0, 0,
    t12, t13, t2, t14, 0,
    t12, t13, t2, t14, 0,
    t9*(4*t11 + 4*t4), t15, 2*t15*t8, 0, 0,
    3*t16, 0, 2*t16, 0, 0,
    t21, 0, t23, t26, 0,
    t18*t25*t27, 0, 0, 0, 0,
    t21, 0, t23, t26, 0,
    t30, 0, t31, t33, 0,
    t27*t29*t32, 0, 0, 0, 0,
    t30, 0, t31, t33, 0,
    t6, t7, t10, 0, 0,
    t34, t35, t37, 0, 0,
    t34, t35, t37, 0, 0,
    5*t36, 0, 3*t36, 0, 0,
    t34, t35, t37, 0, 0,
    t5, 0, 6*t2, 0, 0,
    4*t1, d_model, 2*t1, 0, 0,
    t19*t38, t38, B*vocab + t0, 0, 0];
}
export function olmo_3_7b_materialised_naive(B, C, S, [layers, d_model, heads, kv_heads, head_dim, d_ff, vocab, rotary_dim, window, local_layers]) {
  const t0 = B*d_model;
  const t1 = S*t0;
  const t2 = layers*t1;
  const t3 = d_model*layers;
  const t4 = head_dim*heads;
  const t5 = 2*t2;
  const t6 = t4*t5;
  const t7 = t3*t4;
  const t8 = B*S;
  const t9 = layers*t8;
  const t10 = t2 + t4*t9;
  const t11 = head_dim*kv_heads;
  const t12 = t11*t5;
  const t13 = t11*t3;
  const t14 = t11*t9;
  const t15 = layers*(t11 + t4);
  const t16 = rotary_dim*t9*(heads + kv_heads);
  const t17 = layers - local_layers;
  const t18 = t17*(C*S + (1/2)*S*(S + 1));
  const t19 = 2*B;
  const t20 = t19*t4;
  const t21 = t18*t20;
  const t22 = t4*t8;
  const t23 = t17*t22;
  const t24 = C + S;
  const t25 = B*t11;
  const t26 = t17*t24*t25;
  const t27 = B*heads;
  const t28 = t18*t27;
  const t29 = Math.max(0, Math.min(S, -C + window));
  const t30 = local_layers*(C*t29 + (1/2)*t29*(t29 + 1) + window*(S - t29));
  const t31 = t20*t30;
  const t32 = local_layers*t22;
  const t33 = local_layers*t25*Math.min(t24, S + window - 1);
  const t34 = t27*t30;
  const t35 = d_ff*t5;
  const t36 = d_ff*t3;
  const t37 = d_ff*t9;
  const t38 = t2 + t37;
  const t39 = d_model*vocab;
  return [
    0, t1, t1, 0, 0,
    8*t2, 2*t3, 4*t2, 0, 0,
    t6, t7, t10, 0, 0,
    t12, t13, t2, t14, 0,
    t12, t13, t2, t14, 0,
    t9*(4*t11 + 4*t4), t15, 2*t15*t8, 0, 0,
    3*t16, 0, 2*t16, 0, 0,
    t21, 0, t23, t26, t28,
    5*t28, 0, 0, 0, 2*t28,
    t21, 0, t23, t26, t28,
    t31, 0, t32, t33, t34,
    5*t34, 0, 0, 0, 2*t34,
    t31, 0, t32, t33, t34,
    t6, t7, t10, 0, 0,
    t35, t36, t38, 0, 0,
    t35, t36, t38, 0, 0,
    5*t37, 0, 3*t37, 0, 0,
    t35, t36, t38, 0, 0,
    t5, 0, 6*t2, 0, 0,
    4*t1, d_model, 2*t1, 0, 0,
    t19*t39, t39, B*vocab + t0, 0, 0];
}
export function opt_6_7b_onchip_naive(B, C, S, [layers, d_model, heads, kv_heads, head_dim, d_ff, vocab, positions]) {
  const t0 = B*d_model;
  const t1 = S*t0;
  const t2 = 2*d_model;
  const t3 = B*S;
  const t4 = t2*t3;
  const t5 = d_model*layers;
  const t6 = t3*t5;
  const t7 = 4*t5;
  const t8 = head_dim*t5;
  const t9 = heads*t8;
  const t10 = 2*t3;
  const t11 = t10*t9;
  const t12 = head_dim*layers;
  const t13 = heads*t12;
  const t14 = t13*t3;
  const t15 = t14 + t6;
  const t16 = kv_heads*t8;
  const t17 = t10*t16;
  const t18 = kv_heads*t12;
  const t19 = t18*t3;
  const t20 = B*(C*S + (1/2)*S*(S + 1));
  const t21 = 2*t13*t20;
  const t22 = B*t18*(C + S);
  const t23 = d_ff*t5;
  const t24 = t10*t23;
  const t25 = d_ff*layers;
  const t26 = t25*t3;
  const t27 = t26 + t6;
  const t28 = B*vocab;
  return [
    0, t1, t1, 0, 0,
    t1, t1, t4, 0, 0,
    14*t6, t7, t3*t7, 0, 0,
    t11, t9, t15, 0, 0,
    t14, t13, 0, 0, 0,
    t17, t16, t6, t19, 0,
    t19, t18, 0, 0, 0,
    t17, t16, t6, t19, 0,
    t19, t18, 0, 0, 0,
    t21, 0, t14, t22, 0,
    5*heads*layers*t20, 0, 0, 0, 0,
    t21, 0, t14, t22, 0,
    t11, t9, t15, 0, 0,
    t6, t5, 0, 0, 0,
    t24, t23, t27, 0, 0,
    t26, t25, 0, 0, 0,
    t26, 0, 2*t26, 0, 0,
    t24, t23, t27, 0, 0,
    t6, t5, 0, 0, 0,
    2*t6, 0, 6*t6, 0, 0,
    7*t1, t2, t4, 0, 0,
    t2*t28, d_model*vocab, t0 + t28, 0, 0];
}
export function opt_6_7b_materialised_naive(B, C, S, [layers, d_model, heads, kv_heads, head_dim, d_ff, vocab, positions]) {
  const t0 = B*d_model;
  const t1 = S*t0;
  const t2 = 2*d_model;
  const t3 = B*S;
  const t4 = t2*t3;
  const t5 = d_model*layers;
  const t6 = t3*t5;
  const t7 = 4*t5;
  const t8 = head_dim*t5;
  const t9 = heads*t8;
  const t10 = 2*t3;
  const t11 = t10*t9;
  const t12 = head_dim*layers;
  const t13 = heads*t12;
  const t14 = t13*t3;
  const t15 = t14 + t6;
  const t16 = kv_heads*t8;
  const t17 = t10*t16;
  const t18 = kv_heads*t12;
  const t19 = t18*t3;
  const t20 = B*(C*S + (1/2)*S*(S + 1));
  const t21 = 2*t13*t20;
  const t22 = B*t18*(C + S);
  const t23 = heads*layers*t20;
  const t24 = d_ff*t5;
  const t25 = t10*t24;
  const t26 = d_ff*layers;
  const t27 = t26*t3;
  const t28 = t27 + t6;
  const t29 = B*vocab;
  return [
    0, t1, t1, 0, 0,
    t1, t1, t4, 0, 0,
    14*t6, t7, t3*t7, 0, 0,
    t11, t9, t15, 0, 0,
    t14, t13, 0, 0, 0,
    t17, t16, t6, t19, 0,
    t19, t18, 0, 0, 0,
    t17, t16, t6, t19, 0,
    t19, t18, 0, 0, 0,
    t21, 0, t14, t22, t23,
    5*t23, 0, 0, 0, 2*t23,
    t21, 0, t14, t22, t23,
    t11, t9, t15, 0, 0,
    t6, t5, 0, 0, 0,
    t25, t24, t28, 0, 0,
    t27, t26, 0, 0, 0,
    t27, 0, 2*t27, 0, 0,
    t25, t24, t28, 0, 0,
    t6, t5, 0, 0, 0,
    2*t6, 0, 6*t6, 0, 0,
    7*t1, t2, t4, 0, 0,
    t2*t29, d_model*vocab, t0 + t29, 0, 0];
}
export function phi_1_onchip_naive(B, C, S, [layers, d_model, heads, kv_heads, head_dim, d_ff, vocab, rotary_dim]) {
  const t0 = B*d_model;
  const t1 = S*t0;
  const t2 = d_model*layers;
  const t3 = B*S;
  const t4 = t2*t3;
  const t5 = 2*t2;
  const t6 = t3*t5;
  const t7 = head_dim*t6;
  const t8 = heads*t7;
  const t9 = head_dim*t2;
  const t10 = heads*t9;
  const t11 = head_dim*layers;
  const t12 = heads*t11;
  const t13 = t12*t3;
  const t14 = t13 + t4;
  const t15 = kv_heads*t7;
  const t16 = kv_heads*t9;
  const t17 = kv_heads*t11;
  const t18 = t17*t3;
  const t19 = layers*rotary_dim*t3*(heads + kv_heads);
  const t20 = B*(C*S + (1/2)*S*(S + 1));
  const t21 = 2*t12*t20;
  const t22 = B*t17*(C + S);
  const t23 = d_ff*t6;
  const t24 = d_ff*t2;
  const t25 = d_ff*layers;
  const t26 = t25*t3;
  const t27 = t26 + t4;
  const t28 = 2*d_model;
  const t29 = B*vocab;
  return [
    0, t1, t1, 0, 0,
    7*t4, t5, t6, 0, 0,
    t8, t10, t14, 0, 0,
    t13, t12, 0, 0, 0,
    t15, t16, t4, t18, 0,
    t18, t17, 0, 0, 0,
    t15, t16, t4, t18, 0,
    t18, t17, 0, 0, 0,
    3*t19, 0, 2*t19, 0, 0,
    t21, 0, t13, t22, 0,
    5*heads*layers*t20, 0, 0, 0, 0,
    t21, 0, t13, t22, 0,
    t8, t10, t14, 0, 0,
    t4, t2, 0, 0, 0,
    t23, t24, t27, 0, 0,
    t26, t25, 0, 0, 0,
    9*t26, 0, 2*t26, 0, 0,
    t23, t24, t27, 0, 0,
    t4, t2, 0, 0, 0,
    t6, 0, 6*t4, 0, 0,
    7*t1, t28, t28*t3, 0, 0,
    t28*t29, d_model*vocab, t0 + t29, 0, 0,
    t29, vocab, 0, 0, 0];
}
export function phi_1_materialised_naive(B, C, S, [layers, d_model, heads, kv_heads, head_dim, d_ff, vocab, rotary_dim]) {
  const t0 = B*d_model;
  const t1 = S*t0;
  const t2 = d_model*layers;
  const t3 = B*S;
  const t4 = t2*t3;
  const t5 = 2*t2;
  const t6 = t3*t5;
  const t7 = head_dim*t6;
  const t8 = heads*t7;
  const t9 = head_dim*t2;
  const t10 = heads*t9;
  const t11 = head_dim*layers;
  const t12 = heads*t11;
  const t13 = t12*t3;
  const t14 = t13 + t4;
  const t15 = kv_heads*t7;
  const t16 = kv_heads*t9;
  const t17 = kv_heads*t11;
  const t18 = t17*t3;
  const t19 = layers*rotary_dim*t3*(heads + kv_heads);
  const t20 = B*(C*S + (1/2)*S*(S + 1));
  const t21 = 2*t12*t20;
  const t22 = B*t17*(C + S);
  const t23 = heads*layers*t20;
  const t24 = d_ff*t6;
  const t25 = d_ff*t2;
  const t26 = d_ff*layers;
  const t27 = t26*t3;
  const t28 = t27 + t4;
  const t29 = 2*d_model;
  const t30 = B*vocab;
  return [
    0, t1, t1, 0, 0,
    7*t4, t5, t6, 0, 0,
    t8, t10, t14, 0, 0,
    t13, t12, 0, 0, 0,
    t15, t16, t4, t18, 0,
    t18, t17, 0, 0, 0,
    t15, t16, t4, t18, 0,
    t18, t17, 0, 0, 0,
    3*t19, 0, 2*t19, 0, 0,
    t21, 0, t13, t22, t23,
    5*t23, 0, 0, 0, 2*t23,
    t21, 0, t13, t22, t23,
    t8, t10, t14, 0, 0,
    t4, t2, 0, 0, 0,
    t24, t25, t28, 0, 0,
    t27, t26, 0, 0, 0,
    9*t27, 0, 2*t27, 0, 0,
    t24, t25, t28, 0, 0,
    t4, t2, 0, 0, 0,
    t6, 0, 6*t4, 0, 0,
    7*t1, t29, t29*t3, 0, 0,
    t29*t30, d_model*vocab, t0 + t30, 0, 0,
    t30, vocab, 0, 0, 0];
}
export function pythia_6_9b_onchip_naive(B, C, S, [layers, d_model, heads, kv_heads, head_dim, d_ff, vocab, rotary_dim]) {
  const t0 = B*d_model;
  const t1 = S*t0;
  const t2 = d_model*layers;
  const t3 = B*S;
  const t4 = t2*t3;
  const t5 = 4*t2;
  const t6 = head_dim*t2;
  const t7 = heads*t6;
  const t8 = 2*t3;
  const t9 = t7*t8;
  const t10 = head_dim*layers;
  const t11 = heads*t10;
  const t12 = t11*t3;
  const t13 = t12 + t4;
  const t14 = kv_heads*t6;
  const t15 = t14*t8;
  const t16 = kv_heads*t10;
  const t17 = t16*t3;
  const t18 = layers*rotary_dim*t3*(heads + kv_heads);
  const t19 = B*(C*S + (1/2)*S*(S + 1));
  const t20 = 2*t11*t19;
  const t21 = B*t16*(C + S);
  const t22 = d_ff*t2;
  const t23 = t22*t8;
  const t24 = d_ff*layers;
  const t25 = t24*t3;
  const t26 = t25 + t4;
  const t27 = 2*d_model;
  const t28 = B*vocab;
  return [
    0, t1, t1, 0, 0,
    14*t4, t5, t3*t5, 0, 0,
    t9, t7, t13, 0, 0,
    t12, t11, 0, 0, 0,
    t15, t14, t4, t17, 0,
    t17, t16, 0, 0, 0,
    t15, t14, t4, t17, 0,
    t17, t16, 0, 0, 0,
    3*t18, 0, 2*t18, 0, 0,
    t20, 0, t12, t21, 0,
    5*heads*layers*t19, 0, 0, 0, 0,
    t20, 0, t12, t21, 0,
    t9, t7, t13, 0, 0,
    t4, t2, 0, 0, 0,
    t23, t22, t26, 0, 0,
    t25, t24, 0, 0, 0,
    5*t25, 0, 2*t25, 0, 0,
    t23, t22, t26, 0, 0,
    t4, t2, 0, 0, 0,
    2*t4, 0, 6*t4, 0, 0,
    7*t1, t27, t27*t3, 0, 0,
    t27*t28, d_model*vocab, t0 + t28, 0, 0];
}
export function pythia_6_9b_materialised_naive(B, C, S, [layers, d_model, heads, kv_heads, head_dim, d_ff, vocab, rotary_dim]) {
  const t0 = B*d_model;
  const t1 = S*t0;
  const t2 = d_model*layers;
  const t3 = B*S;
  const t4 = t2*t3;
  const t5 = 4*t2;
  const t6 = head_dim*t2;
  const t7 = heads*t6;
  const t8 = 2*t3;
  const t9 = t7*t8;
  const t10 = head_dim*layers;
  const t11 = heads*t10;
  const t12 = t11*t3;
  const t13 = t12 + t4;
  const t14 = kv_heads*t6;
  const t15 = t14*t8;
  const t16 = kv_heads*t10;
  const t17 = t16*t3;
  const t18 = layers*rotary_dim*t3*(heads + kv_heads);
  const t19 = B*(C*S + (1/2)*S*(S + 1));
  const t20 = 2*t11*t19;
  const t21 = B*t16*(C + S);
  const t22 = heads*layers*t19;
  const t23 = d_ff*t2;
  const t24 = t23*t8;
  const t25 = d_ff*layers;
  const t26 = t25*t3;
  const t27 = t26 + t4;
  const t28 = 2*d_model;
  const t29 = B*vocab;
  return [
    0, t1, t1, 0, 0,
    14*t4, t5, t3*t5, 0, 0,
    t9, t7, t13, 0, 0,
    t12, t11, 0, 0, 0,
    t15, t14, t4, t17, 0,
    t17, t16, 0, 0, 0,
    t15, t14, t4, t17, 0,
    t17, t16, 0, 0, 0,
    3*t18, 0, 2*t18, 0, 0,
    t20, 0, t12, t21, t22,
    5*t22, 0, 0, 0, 2*t22,
    t20, 0, t12, t21, t22,
    t9, t7, t13, 0, 0,
    t4, t2, 0, 0, 0,
    t24, t23, t27, 0, 0,
    t26, t25, 0, 0, 0,
    5*t26, 0, 2*t26, 0, 0,
    t24, t23, t27, 0, 0,
    t4, t2, 0, 0, 0,
    2*t4, 0, 6*t4, 0, 0,
    7*t1, t28, t28*t3, 0, 0,
    t28*t29, d_model*vocab, t0 + t29, 0, 0];
}
export function qwen3_30b_a3b_onchip_naive(B, C, S, [layers, d_model, heads, kv_heads, head_dim, d_ff, vocab, rotary_dim, experts, per_token, width]) {
  const t0 = B*S;
  const t1 = d_model*t0;
  const t2 = layers*t1;
  const t3 = 2*layers;
  const t4 = head_dim*heads;
  const t5 = t1*t3;
  const t6 = t4*t5;
  const t7 = d_model*layers;
  const t8 = t4*t7;
  const t9 = layers*t0;
  const t10 = t4*t9;
  const t11 = t10 + t2;
  const t12 = head_dim*kv_heads;
  const t13 = t12*t5;
  const t14 = t12*t7;
  const t15 = t12*t9;
  const t16 = t0*t3;
  const t17 = rotary_dim*(heads + kv_heads);
  const t18 = C*S + (1/2)*S*(S + 1);
  const t19 = B*t18*t3*t4;
  const t20 = B*layers;
  const t21 = t12*t20*(C + S);
  const t22 = experts*t7;
  const t23 = experts*t9;
  const t24 = per_token*width;
  const t25 = t24*t5;
  const t26 = t22*width*(1 - Math.pow(1 - per_token/experts, t0));
  const t27 = per_token*t2;
  const t28 = t24*t9;
  const t29 = t27 + t28;
  const t30 = d_model*vocab;
  return [
    0, t1, t1, 0, 0,
    8*t2, d_model*t3, 4*t2, 0, 0,
    t6, t8, t11, 0, 0,
    t13, t14, t2, t15, 0,
    t13, t14, t2, t15, 0,
    t9*(4*t12 + 4*t4), head_dim*t3, t16*(t12 + t4), 0, 0,
    3*t17*t9, 0, t16*t17, 0, 0,
    t19, 0, t10, t21, 0,
    5*heads*t18*t20, 0, 0, 0, 0,
    t19, 0, t10, t21, 0,
    t6, t8, t11, 0, 0,
    experts*t5, t22, t2 + t23, 0, 0,
    5*t23, 0, experts*t16, 0, 0,
    t25, t26, t29, 0, 0,
    t25, t26, t29, 0, 0,
    5*t28, 0, 3*t28, 0, 0,
    t25, t26, t29, 0, 0,
    per_token*t5, 0, t2 + t27, 0, 0,
    t5, 0, 6*t2, 0, 0,
    4*t1, d_model, 2*t1, 0, 0,
    2*B*t30, t30, B*d_model + B*vocab, 0, 0];
}
export function qwen3_30b_a3b_materialised_naive(B, C, S, [layers, d_model, heads, kv_heads, head_dim, d_ff, vocab, rotary_dim, experts, per_token, width]) {
  const t0 = B*S;
  const t1 = d_model*t0;
  const t2 = layers*t1;
  const t3 = 2*layers;
  const t4 = head_dim*heads;
  const t5 = t1*t3;
  const t6 = t4*t5;
  const t7 = d_model*layers;
  const t8 = t4*t7;
  const t9 = layers*t0;
  const t10 = t4*t9;
  const t11 = t10 + t2;
  const t12 = head_dim*kv_heads;
  const t13 = t12*t5;
  const t14 = t12*t7;
  const t15 = t12*t9;
  const t16 = t0*t3;
  const t17 = rotary_dim*(heads + kv_heads);
  const t18 = C*S + (1/2)*S*(S + 1);
  const t19 = B*t3;
  const t20 = t18*t19*t4;
  const t21 = B*layers;
  const t22 = t12*t21*(C + S);
  const t23 = heads*t18;
  const t24 = t21*t23;
  const t25 = experts*t7;
  const t26 = experts*t9;
  const t27 = per_token*width;
  const t28 = t27*t5;
  const t29 = t25*width*(1 - Math.pow(1 - per_token/experts, t0));
  const t30 = per_token*t2;
  const t31 = t27*t9;
  const t32 = t30 + t31;
  const t33 = d_model*vocab;
  return [
    0, t1, t1, 0, 0,
    8*t2, d_model*t3, 4*t2, 0, 0,
    t6, t8, t11, 0, 0,
    t13, t14, t2, t15, 0,
    t13, t14, t2, t15, 0,
    t9*(4*t12 + 4*t4), head_dim*t3, t16*(t12 + t4), 0, 0,
    3*t17*t9, 0, t16*t17, 0, 0,
    t20, 0, t10, t22, t24,
    5*t24, 0, 0, 0, t19*t23,
    t20, 0, t10, t22, t24,
    t6, t8, t11, 0, 0,
    experts*t5, t25, t2 + t26, 0, 0,
    5*t26, 0, experts*t16, 0, 0,
    t28, t29, t32, 0, 0,
    t28, t29, t32, 0, 0,
    5*t31, 0, 3*t31, 0, 0,
    t28, t29, t32, 0, 0,
    per_token*t5, 0, t2 + t30, 0, 0,
    t5, 0, 6*t2, 0, 0,
    4*t1, d_model, 2*t1, 0, 0,
    2*B*t33, t33, B*d_model + B*vocab, 0, 0];
}
export const ledgers = {codellama_34b_onchip_naive, codellama_34b_materialised_naive, deepseek_r1_onchip_naive, deepseek_r1_onchip_absorbed, deepseek_r1_materialised_naive, deepseek_r1_materialised_absorbed, deepseek_v2_lite_onchip_naive, deepseek_v2_lite_onchip_absorbed, deepseek_v2_lite_materialised_naive, deepseek_v2_lite_materialised_absorbed, gemma_2_2b_onchip_naive, gemma_2_2b_materialised_naive, gemma_2b_onchip_naive, gemma_2b_materialised_naive, gemma_3_1b_onchip_naive, gemma_3_1b_materialised_naive, gemma_3_4b_onchip_naive, gemma_3_4b_materialised_naive, glm_4_9b_0414_onchip_naive, glm_4_9b_0414_materialised_naive, glm_4_5_onchip_naive, glm_4_5_materialised_naive, glm_4_5_air_onchip_naive, glm_4_5_air_materialised_naive, gpt2_onchip_naive, gpt2_materialised_naive, gpt_oss_20b_onchip_naive, gpt_oss_20b_materialised_naive, hunyuan_4b_onchip_naive, hunyuan_4b_materialised_naive, mimo_7b_base_onchip_naive, mimo_7b_base_materialised_naive, minicpm3_4b_onchip_naive, minicpm3_4b_onchip_absorbed, minicpm3_4b_materialised_naive, minicpm3_4b_materialised_absorbed, minimax_m2_5_onchip_naive, minimax_m2_5_materialised_naive, ministral_8b_onchip_naive, ministral_8b_materialised_naive, mixtral_8x7b_onchip_naive, mixtral_8x7b_materialised_naive, olmo_3_7b_onchip_naive, olmo_3_7b_materialised_naive, opt_6_7b_onchip_naive, opt_6_7b_materialised_naive, phi_1_onchip_naive, phi_1_materialised_naive, pythia_6_9b_onchip_naive, pythia_6_9b_materialised_naive, qwen3_30b_a3b_onchip_naive, qwen3_30b_a3b_materialised_naive};
export const ops = {"codellama_34b_onchip_naive":["embedding","norms","q_proj","k_proj","v_proj","rotary","scores","softmax","values","o_proj","ffn.gate","ffn.up","ffn.activation","ffn.down","residual","final_norm","unembedding"],"codellama_34b_materialised_naive":["embedding","norms","q_proj","k_proj","v_proj","rotary","scores","softmax","values","o_proj","ffn.gate","ffn.up","ffn.activation","ffn.down","residual","final_norm","unembedding"],"deepseek_r1_onchip_naive":["embedding","norms","q_a_proj","q_norm","q_b_proj","kv_a_proj","kv_norm","rotary","kv_b_proj","scores","softmax","values","o_proj","ffn.gate","ffn.up","ffn.activation","ffn.down","router","router.softmax","experts.gate","experts.up","experts.activation","experts.down","experts.combine","shared.gate","shared.up","shared.activation","shared.down","residual","final_norm","unembedding"],"deepseek_r1_onchip_absorbed":["embedding","norms","q_a_proj","q_norm","q_b_proj","kv_a_proj","kv_norm","rotary","q_absorb","scores","softmax","values","v_absorb","o_proj","ffn.gate","ffn.up","ffn.activation","ffn.down","router","router.softmax","experts.gate","experts.up","experts.activation","experts.down","experts.combine","shared.gate","shared.up","shared.activation","shared.down","residual","final_norm","unembedding"],"deepseek_r1_materialised_naive":["embedding","norms","q_a_proj","q_norm","q_b_proj","kv_a_proj","kv_norm","rotary","kv_b_proj","scores","softmax","values","o_proj","ffn.gate","ffn.up","ffn.activation","ffn.down","router","router.softmax","experts.gate","experts.up","experts.activation","experts.down","experts.combine","shared.gate","shared.up","shared.activation","shared.down","residual","final_norm","unembedding"],"deepseek_r1_materialised_absorbed":["embedding","norms","q_a_proj","q_norm","q_b_proj","kv_a_proj","kv_norm","rotary","q_absorb","scores","softmax","values","v_absorb","o_proj","ffn.gate","ffn.up","ffn.activation","ffn.down","router","router.softmax","experts.gate","experts.up","experts.activation","experts.down","experts.combine","shared.gate","shared.up","shared.activation","shared.down","residual","final_norm","unembedding"],"deepseek_v2_lite_onchip_naive":["embedding","norms","q_proj","kv_a_proj","kv_norm","rotary","kv_b_proj","scores","softmax","values","o_proj","ffn.gate","ffn.up","ffn.activation","ffn.down","router","router.softmax","experts.gate","experts.up","experts.activation","experts.down","experts.combine","shared.gate","shared.up","shared.activation","shared.down","residual","final_norm","unembedding"],"deepseek_v2_lite_onchip_absorbed":["embedding","norms","q_proj","kv_a_proj","kv_norm","rotary","q_absorb","scores","softmax","values","v_absorb","o_proj","ffn.gate","ffn.up","ffn.activation","ffn.down","router","router.softmax","experts.gate","experts.up","experts.activation","experts.down","experts.combine","shared.gate","shared.up","shared.activation","shared.down","residual","final_norm","unembedding"],"deepseek_v2_lite_materialised_naive":["embedding","norms","q_proj","kv_a_proj","kv_norm","rotary","kv_b_proj","scores","softmax","values","o_proj","ffn.gate","ffn.up","ffn.activation","ffn.down","router","router.softmax","experts.gate","experts.up","experts.activation","experts.down","experts.combine","shared.gate","shared.up","shared.activation","shared.down","residual","final_norm","unembedding"],"deepseek_v2_lite_materialised_absorbed":["embedding","norms","q_proj","kv_a_proj","kv_norm","rotary","q_absorb","scores","softmax","values","v_absorb","o_proj","ffn.gate","ffn.up","ffn.activation","ffn.down","router","router.softmax","experts.gate","experts.up","experts.activation","experts.down","experts.combine","shared.gate","shared.up","shared.activation","shared.down","residual","final_norm","unembedding"],"gemma_2_2b_onchip_naive":["embedding","norms","q_proj","k_proj","v_proj","rotary","scores","softmax","values","scores","softmax","values","o_proj","ffn.gate","ffn.up","ffn.activation","ffn.down","residual","final_norm","unembedding"],"gemma_2_2b_materialised_naive":["embedding","norms","q_proj","k_proj","v_proj","rotary","scores","softmax","values","scores","softmax","values","o_proj","ffn.gate","ffn.up","ffn.activation","ffn.down","residual","final_norm","unembedding"],"gemma_2b_onchip_naive":["embedding","norms","q_proj","k_proj","v_proj","rotary","scores","softmax","values","o_proj","ffn.gate","ffn.up","ffn.activation","ffn.down","residual","final_norm","unembedding"],"gemma_2b_materialised_naive":["embedding","norms","q_proj","k_proj","v_proj","rotary","scores","softmax","values","o_proj","ffn.gate","ffn.up","ffn.activation","ffn.down","residual","final_norm","unembedding"],"gemma_3_1b_onchip_naive":["embedding","norms","q_proj","k_proj","v_proj","qk_norm","rotary","scores","softmax","values","scores","softmax","values","o_proj","ffn.gate","ffn.up","ffn.activation","ffn.down","residual","final_norm","unembedding"],"gemma_3_1b_materialised_naive":["embedding","norms","q_proj","k_proj","v_proj","qk_norm","rotary","scores","softmax","values","scores","softmax","values","o_proj","ffn.gate","ffn.up","ffn.activation","ffn.down","residual","final_norm","unembedding"],"gemma_3_4b_onchip_naive":["embedding","norms","q_proj","k_proj","v_proj","qk_norm","rotary","scores","softmax","values","scores","softmax","values","o_proj","ffn.gate","ffn.up","ffn.activation","ffn.down","residual","final_norm","unembedding"],"gemma_3_4b_materialised_naive":["embedding","norms","q_proj","k_proj","v_proj","qk_norm","rotary","scores","softmax","values","scores","softmax","values","o_proj","ffn.gate","ffn.up","ffn.activation","ffn.down","residual","final_norm","unembedding"],"glm_4_9b_0414_onchip_naive":["embedding","norms","q_proj","q_proj.bias","k_proj","k_proj.bias","v_proj","v_proj.bias","rotary","scores","softmax","values","o_proj","ffn.gate","ffn.up","ffn.activation","ffn.down","residual","final_norm","unembedding"],"glm_4_9b_0414_materialised_naive":["embedding","norms","q_proj","q_proj.bias","k_proj","k_proj.bias","v_proj","v_proj.bias","rotary","scores","softmax","values","o_proj","ffn.gate","ffn.up","ffn.activation","ffn.down","residual","final_norm","unembedding"],"glm_4_5_onchip_naive":["embedding","norms","q_proj","q_proj.bias","k_proj","k_proj.bias","v_proj","v_proj.bias","qk_norm","rotary","scores","softmax","values","o_proj","ffn.gate","ffn.up","ffn.activation","ffn.down","router","router.softmax","experts.gate","experts.up","experts.activation","experts.down","experts.combine","shared.gate","shared.up","shared.activation","shared.down","residual","final_norm","unembedding"],"glm_4_5_materialised_naive":["embedding","norms","q_proj","q_proj.bias","k_proj","k_proj.bias","v_proj","v_proj.bias","qk_norm","rotary","scores","softmax","values","o_proj","ffn.gate","ffn.up","ffn.activation","ffn.down","router","router.softmax","experts.gate","experts.up","experts.activation","experts.down","experts.combine","shared.gate","shared.up","shared.activation","shared.down","residual","final_norm","unembedding"],"glm_4_5_air_onchip_naive":["embedding","norms","q_proj","q_proj.bias","k_proj","k_proj.bias","v_proj","v_proj.bias","rotary","scores","softmax","values","o_proj","ffn.gate","ffn.up","ffn.activation","ffn.down","router","router.softmax","experts.gate","experts.up","experts.activation","experts.down","experts.combine","shared.gate","shared.up","shared.activation","shared.down","residual","final_norm","unembedding"],"glm_4_5_air_materialised_naive":["embedding","norms","q_proj","q_proj.bias","k_proj","k_proj.bias","v_proj","v_proj.bias","rotary","scores","softmax","values","o_proj","ffn.gate","ffn.up","ffn.activation","ffn.down","router","router.softmax","experts.gate","experts.up","experts.activation","experts.down","experts.combine","shared.gate","shared.up","shared.activation","shared.down","residual","final_norm","unembedding"],"gpt2_onchip_naive":["embedding","positions","norms","q_proj","q_proj.bias","k_proj","k_proj.bias","v_proj","v_proj.bias","scores","softmax","values","o_proj","o_proj.bias","ffn.up","ffn.up.bias","ffn.activation","ffn.down","ffn.down.bias","residual","final_norm","unembedding"],"gpt2_materialised_naive":["embedding","positions","norms","q_proj","q_proj.bias","k_proj","k_proj.bias","v_proj","v_proj.bias","scores","softmax","values","o_proj","o_proj.bias","ffn.up","ffn.up.bias","ffn.activation","ffn.down","ffn.down.bias","residual","final_norm","unembedding"],"gpt_oss_20b_onchip_naive":["embedding","norms","q_proj","q_proj.bias","k_proj","k_proj.bias","v_proj","v_proj.bias","rotary","sinks","scores","softmax","values","scores","softmax","values","o_proj","o_proj.bias","router","router.bias","router.softmax","experts.gate","experts.gate.bias","experts.up","experts.up.bias","experts.activation","experts.down","experts.down.bias","experts.combine","residual","final_norm","unembedding"],"gpt_oss_20b_materialised_naive":["embedding","norms","q_proj","q_proj.bias","k_proj","k_proj.bias","v_proj","v_proj.bias","rotary","sinks","scores","softmax","values","scores","softmax","values","o_proj","o_proj.bias","router","router.bias","router.softmax","experts.gate","experts.gate.bias","experts.up","experts.up.bias","experts.activation","experts.down","experts.down.bias","experts.combine","residual","final_norm","unembedding"],"hunyuan_4b_onchip_naive":["embedding","norms","q_proj","k_proj","v_proj","qk_norm","rotary","scores","softmax","values","o_proj","ffn.gate","ffn.up","ffn.activation","ffn.down","residual","final_norm","unembedding"],"hunyuan_4b_materialised_naive":["embedding","norms","q_proj","k_proj","v_proj","qk_norm","rotary","scores","softmax","values","o_proj","ffn.gate","ffn.up","ffn.activation","ffn.down","residual","final_norm","unembedding"],"mimo_7b_base_onchip_naive":["embedding","norms","q_proj","q_proj.bias","k_proj","k_proj.bias","v_proj","v_proj.bias","rotary","scores","softmax","values","o_proj","ffn.gate","ffn.up","ffn.activation","ffn.down","residual","final_norm","unembedding"],"mimo_7b_base_materialised_naive":["embedding","norms","q_proj","q_proj.bias","k_proj","k_proj.bias","v_proj","v_proj.bias","rotary","scores","softmax","values","o_proj","ffn.gate","ffn.up","ffn.activation","ffn.down","residual","final_norm","unembedding"],"minicpm3_4b_onchip_naive":["embedding","norms","q_a_proj","q_norm","q_b_proj","kv_a_proj","kv_norm","rotary","kv_b_proj","scores","softmax","values","o_proj","ffn.gate","ffn.up","ffn.activation","ffn.down","residual","final_norm","unembedding"],"minicpm3_4b_onchip_absorbed":["embedding","norms","q_a_proj","q_norm","q_b_proj","kv_a_proj","kv_norm","rotary","q_absorb","scores","softmax","values","v_absorb","o_proj","ffn.gate","ffn.up","ffn.activation","ffn.down","residual","final_norm","unembedding"],"minicpm3_4b_materialised_naive":["embedding","norms","q_a_proj","q_norm","q_b_proj","kv_a_proj","kv_norm","rotary","kv_b_proj","scores","softmax","values","o_proj","ffn.gate","ffn.up","ffn.activation","ffn.down","residual","final_norm","unembedding"],"minicpm3_4b_materialised_absorbed":["embedding","norms","q_a_proj","q_norm","q_b_proj","kv_a_proj","kv_norm","rotary","q_absorb","scores","softmax","values","v_absorb","o_proj","ffn.gate","ffn.up","ffn.activation","ffn.down","residual","final_norm","unembedding"],"minimax_m2_5_onchip_naive":["embedding","norms","q_proj","k_proj","v_proj","qk_norm","rotary","scores","softmax","values","o_proj","router","router.softmax","experts.gate","experts.up","experts.activation","experts.down","experts.combine","residual","final_norm","unembedding"],"minimax_m2_5_materialised_naive":["embedding","norms","q_proj","k_proj","v_proj","qk_norm","rotary","scores","softmax","values","o_proj","router","router.softmax","experts.gate","experts.up","experts.activation","experts.down","experts.combine","residual","final_norm","unembedding"],"ministral_8b_onchip_naive":["embedding","norms","q_proj","k_proj","v_proj","rotary","scores","softmax","values","o_proj","ffn.gate","ffn.up","ffn.activation","ffn.down","residual","final_norm","unembedding"],"ministral_8b_materialised_naive":["embedding","norms","q_proj","k_proj","v_proj","rotary","scores","softmax","values","o_proj","ffn.gate","ffn.up","ffn.activation","ffn.down","residual","final_norm","unembedding"],"mixtral_8x7b_onchip_naive":["embedding","norms","q_proj","k_proj","v_proj","rotary","scores","softmax","values","o_proj","router","router.softmax","experts.gate","experts.up","experts.activation","experts.down","experts.combine","residual","final_norm","unembedding"],"mixtral_8x7b_materialised_naive":["embedding","norms","q_proj","k_proj","v_proj","rotary","scores","softmax","values","o_proj","router","router.softmax","experts.gate","experts.up","experts.activation","experts.down","experts.combine","residual","final_norm","unembedding"],"olmo_3_7b_onchip_naive":["embedding","norms","q_proj","k_proj","v_proj","qk_norm","rotary","scores","softmax","values","scores","softmax","values","o_proj","ffn.gate","ffn.up","ffn.activation","ffn.down","residual","final_norm","unembedding"],"olmo_3_7b_materialised_naive":["embedding","norms","q_proj","k_proj","v_proj","qk_norm","rotary","scores","softmax","values","scores","softmax","values","o_proj","ffn.gate","ffn.up","ffn.activation","ffn.down","residual","final_norm","unembedding"],"opt_6_7b_onchip_naive":["embedding","positions","norms","q_proj","q_proj.bias","k_proj","k_proj.bias","v_proj","v_proj.bias","scores","softmax","values","o_proj","o_proj.bias","ffn.up","ffn.up.bias","ffn.activation","ffn.down","ffn.down.bias","residual","final_norm","unembedding"],"opt_6_7b_materialised_naive":["embedding","positions","norms","q_proj","q_proj.bias","k_proj","k_proj.bias","v_proj","v_proj.bias","scores","softmax","values","o_proj","o_proj.bias","ffn.up","ffn.up.bias","ffn.activation","ffn.down","ffn.down.bias","residual","final_norm","unembedding"],"phi_1_onchip_naive":["embedding","norms","q_proj","q_proj.bias","k_proj","k_proj.bias","v_proj","v_proj.bias","rotary","scores","softmax","values","o_proj","o_proj.bias","ffn.up","ffn.up.bias","ffn.activation","ffn.down","ffn.down.bias","residual","final_norm","unembedding","unembedding.bias"],"phi_1_materialised_naive":["embedding","norms","q_proj","q_proj.bias","k_proj","k_proj.bias","v_proj","v_proj.bias","rotary","scores","softmax","values","o_proj","o_proj.bias","ffn.up","ffn.up.bias","ffn.activation","ffn.down","ffn.down.bias","residual","final_norm","unembedding","unembedding.bias"],"pythia_6_9b_onchip_naive":["embedding","norms","q_proj","q_proj.bias","k_proj","k_proj.bias","v_proj","v_proj.bias","rotary","scores","softmax","values","o_proj","o_proj.bias","ffn.up","ffn.up.bias","ffn.activation","ffn.down","ffn.down.bias","residual","final_norm","unembedding"],"pythia_6_9b_materialised_naive":["embedding","norms","q_proj","q_proj.bias","k_proj","k_proj.bias","v_proj","v_proj.bias","rotary","scores","softmax","values","o_proj","o_proj.bias","ffn.up","ffn.up.bias","ffn.activation","ffn.down","ffn.down.bias","residual","final_norm","unembedding"],"qwen3_30b_a3b_onchip_naive":["embedding","norms","q_proj","k_proj","v_proj","qk_norm","rotary","scores","softmax","values","o_proj","router","router.softmax","experts.gate","experts.up","experts.activation","experts.down","experts.combine","residual","final_norm","unembedding"],"qwen3_30b_a3b_materialised_naive":["embedding","norms","q_proj","k_proj","v_proj","qk_norm","rotary","scores","softmax","values","o_proj","router","router.softmax","experts.gate","experts.up","experts.activation","experts.down","experts.combine","residual","final_norm","unembedding"]};
