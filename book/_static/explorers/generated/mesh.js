// Made from costlib by `make sync`: never edit this.
export function llama_3_1_8b_none_0(microbatch, seq, tensor, context, expert, [tensor_inside, tensor_across], [context_inside, context_across], [expert_inside, expert_across], [layers, d_model, heads, kv_heads, head_dim, d_ff, vocab, rotary_dim], [whole_layers, whole_d_model, whole_heads, whole_kv_heads, whole_head_dim, whole_d_ff, whole_vocab, whole_rotary_dim]) {
  const t0 = d_ff*d_model;
  const t1 = 2*d_model;
  const t2 = head_dim*t1;
  const t3 = heads*t2;
  const t4 = kv_heads*t2;
  const t6 = microbatch*seq;
  const t7 = t6/context;
  const t8 = t7/tensor;
  const t9 = t8*whole_d_ff;
  const t10 = t8*whole_heads;
  const t11 = t10*whole_head_dim + 2*t8*whole_d_model;
  const t12 = d_model*t7;
  const t13 = t12/tensor;
  const t14 = 4*d_model;
  const t15 = rotary_dim*t7*(heads + kv_heads);
  const t16 = 3*t15;
  const t17 = d_ff*t7;
  const t18 = 5*t17;
  const t19 = t1*t8;
  const t20 = 6*t13;
  const t21 = t3*t7;
  const t22 = d_model*head_dim;
  const t23 = heads*t22;
  const t24 = heads*t7;
  const t25 = head_dim*t24;
  const t26 = t12 + t25;
  const t27 = t4*t7;
  const t28 = kv_heads*t22;
  const t29 = head_dim*kv_heads;
  const t30 = t12 + t29*t7;
  const t31 = t1*t17;
  const t32 = t12 + t17;
  const t33 = seq + 1;
  const t34 = t25*t33;
  const t35 = t29*t6;
  const t36 = t25 + t35;
  const t37 = t24*t33;
  const t38 = Math.ceil(t12/tensor_inside);
  const t39 = 2*t38*(tensor_inside - 1);
  const t40 = 2*tensor_inside - 2;
  const t41 = 2*(tensor_across - 1)*Math.ceil(t38/tensor_across);
  const t42 = 2*tensor_across - 2;
  const t43 = context_inside - 1;
  const t44 = Math.ceil(2*t35/context_inside);
  const t45 = t43*t44;
  const t46 = context_across - 1;
  const t47 = t46*Math.ceil(t44/context_across);
  return [
    3*t0 + t3 + t4, t1, 0, t11 + t9, t11 + 2*t7*whole_head_dim*whole_kv_heads/Math.min(tensor, whole_kv_heads) + 2*t9,
    t10, 0, 0, 0, 8*t13,
    t1, t14*t8, t16, 0, 2*t15,
    t18, 0, 3*t17, t19, 0,
    t20, t21, t23, t26, t27,
    t28, t30, t27, t28, t30,
    t21, t23, t26, t31, t0,
    t32, t31, t0, t32, t31,
    t0, t32, t34, 0, t36,
    (5/2)*t37, 0, 0, t34, 0,
    t36, t39, t40, t39, t40,
    t41, t42, t41, t42, t45,
    t43, t47, t46, t19, 0,
    10*t13, 10*t17, 0, t18, t16,
    0, t16, 16*t13, t14, t20,
    t31, t0, t32, t31, t0,
    t32, t31, t0, t32, t31,
    t0, t32, t31, t0, t32,
    t31, t0, t32, t21, t23,
    t26, t21, t23, t26, t27,
    t28, t30, t27, t28, t30,
    t27, t28, t30, t27, t28,
    t30, t21, t23, t26, t21,
    t23, t26, t34, 0, t36,
    t34, 0, t36, t34, 0,
    t36, 2*t37, 0, 0, t34,
    0, t36, t34, 0, t36,
    t39, t40, t39, t40, t41,
    t42, t41, t42, t39, t40,
    t41, t42, t45, t43, t45,
    t43, t47, t46, t47, t46];
}
export function llama_3_1_8b_full_0(microbatch, seq, tensor, context, expert, [tensor_inside, tensor_across], [context_inside, context_across], [expert_inside, expert_across], [layers, d_model, heads, kv_heads, head_dim, d_ff, vocab, rotary_dim], [whole_layers, whole_d_model, whole_heads, whole_kv_heads, whole_head_dim, whole_d_ff, whole_vocab, whole_rotary_dim]) {
  const t0 = d_ff*d_model;
  const t1 = 2*d_model;
  const t2 = head_dim*t1;
  const t3 = heads*t2;
  const t4 = kv_heads*t2;
  const t6 = microbatch*seq;
  const t7 = t6/context;
  const t8 = t7/tensor;
  const t9 = t8*whole_d_model;
  const t10 = t8*whole_d_ff;
  const t11 = t8*whole_heads;
  const t12 = t11*whole_head_dim + 2*t9;
  const t13 = d_model*t7;
  const t14 = t13/tensor;
  const t15 = 8*t14;
  const t16 = 4*d_model;
  const t17 = t16*t8;
  const t18 = rotary_dim*t7*(heads + kv_heads);
  const t19 = 3*t18;
  const t20 = 2*t18;
  const t21 = d_ff*t7;
  const t22 = 5*t21;
  const t23 = 3*t21;
  const t24 = t1*t8;
  const t25 = 6*t14;
  const t26 = t3*t7;
  const t27 = d_model*head_dim;
  const t28 = heads*t27;
  const t29 = heads*t7;
  const t30 = head_dim*t29;
  const t31 = t13 + t30;
  const t32 = t4*t7;
  const t33 = kv_heads*t27;
  const t34 = head_dim*kv_heads;
  const t35 = t13 + t34*t7;
  const t36 = t1*t21;
  const t37 = t13 + t21;
  const t38 = seq + 1;
  const t39 = t30*t38;
  const t40 = t34*t6;
  const t41 = t30 + t40;
  const t42 = t29*t38;
  const t43 = (5/2)*t42;
  const t44 = Math.ceil(t13/tensor_inside);
  const t45 = 2*t44*(tensor_inside - 1);
  const t46 = 2*tensor_inside - 2;
  const t47 = 2*(tensor_across - 1)*Math.ceil(t44/tensor_across);
  const t48 = 2*tensor_across - 2;
  const t49 = context_inside - 1;
  const t50 = Math.ceil(2*t40/context_inside);
  const t51 = t49*t50;
  const t52 = context_across - 1;
  const t53 = t52*Math.ceil(t50/context_across);
  return [
    3*t0 + t3 + t4, t1, 0, 0, t9,
    0, t10 + t12, 2*t10 + t12 + 2*t7*whole_head_dim*whole_kv_heads/Math.min(tensor, whole_kv_heads), t11, t15,
    t1, t17, t19, 0, t20,
    t22, 0, t23, t24, 0,
    t25, t26, t28, t31, t32,
    t33, t35, t32, t33, t35,
    t26, t28, t31, t36, t0,
    t37, t36, t0, t37, t36,
    t0, t37, t39, 0, t41,
    t43, 0, 0, t39, 0,
    t41, t45, t46, t45, t46,
    t47, t48, t47, t48, t51,
    t49, t53, t52, t15, t1,
    t17, t19, 0, t20, t22,
    0, t23, t24, 0, t25,
    t24, 0, 10*t14, 10*t21, 0,
    t22, t19, 0, t19, 16*t14,
    t16, t25, t26, t28, t31,
    t32, t33, t35, t32, t33,
    t35, t26, t28, t31, t36,
    t0, t37, t36, t0, t37,
    t36, t0, t37, t36, t0,
    t37, t36, t0, t37, t36,
    t0, t37, t36, t0, t37,
    t36, t0, t37, t36, t0,
    t37, t26, t28, t31, t26,
    t28, t31, t32, t33, t35,
    t32, t33, t35, t32, t33,
    t35, t32, t33, t35, t26,
    t28, t31, t26, t28, t31,
    t39, 0, t41, t43, 0,
    0, t39, 0, t41, t39,
    0, t41, t39, 0, t41,
    t39, 0, t41, 2*t42, 0,
    0, t39, 0, t41, t39,
    0, t41, t45, t46, t45,
    t46, t45, t46, t45, t46,
    t47, t48, t47, t48, t47,
    t48, t47, t48, t51, t49,
    t51, t49, t51, t49, t53,
    t52, t53, t52, t53, t52,
    t45, t46, t47, t48];
}
export function llama_3_1_8b_first(microbatch, seq, tensor, context, expert, [tensor_inside, tensor_across], [context_inside, context_across], [expert_inside, expert_across], [layers, d_model, heads, kv_heads, head_dim, d_ff, vocab, rotary_dim], [whole_layers, whole_d_model, whole_heads, whole_kv_heads, whole_head_dim, whole_d_ff, whole_vocab, whole_rotary_dim]) {
  const t0 = d_model*microbatch*seq/context;
  const t1 = tensor_inside - 1;
  const t2 = Math.ceil(t0/tensor_inside);
  const t3 = t1*t2;
  const t4 = tensor_across - 1;
  const t5 = t4*Math.ceil(t2/tensor_across);
  return [
    0, d_model*vocab, 0, 0, 0,
    0, 0, 0, 0, 0,
    t0, t0, t3, t1, t3,
    t1, t5, t4, t5, t4,
    0, 2*t0, t0];
}
export function llama_3_1_8b_last(microbatch, seq, tensor, context, expert, [tensor_inside, tensor_across], [context_inside, context_across], [expert_inside, expert_across], [layers, d_model, heads, kv_heads, head_dim, d_ff, vocab, rotary_dim], [whole_layers, whole_d_model, whole_heads, whole_kv_heads, whole_head_dim, whole_d_ff, whole_vocab, whole_rotary_dim]) {
  const t0 = d_model*vocab;
  const t1 = microbatch*seq/context;
  const t2 = t1/tensor;
  const t3 = t2*whole_d_model;
  const t4 = d_model*t1;
  const t5 = 2*d_model;
  const t6 = 2*t0*t1;
  const t7 = t1*vocab + t4;
  const t8 = tensor_inside - 1;
  const t9 = Math.ceil(t4/tensor_inside);
  const t10 = t8*t9;
  const t11 = tensor_across - 1;
  const t12 = t11*Math.ceil(t9/tensor_across);
  return [
    0, d_model + t0, 0, t3, t3,
    t2*whole_vocab, 0, 0, 0, 4*t4,
    d_model, t1*t5, t6, t0, t7,
    t6, t0, t7, t6, t0,
    t7, 8*t4, t5, 3*t4, t10,
    t8, t10, t8, t12, t11,
    t12, t11];
}
export function mixtral_8x7b_none_0(microbatch, seq, tensor, context, expert, [tensor_inside, tensor_across], [context_inside, context_across], [expert_inside, expert_across], [layers, d_model, heads, kv_heads, head_dim, d_ff, vocab, rotary_dim, experts, per_token, width], [whole_layers, whole_d_model, whole_heads, whole_kv_heads, whole_head_dim, whole_d_ff, whole_vocab, whole_rotary_dim, whole_experts, whole_per_token, whole_width]) {
  const t0 = d_model*experts;
  const t1 = 2*d_model;
  const t2 = head_dim*t1;
  const t3 = heads*t2;
  const t4 = kv_heads*t2;
  const t5 = 3*width;
  const t6 = t0/expert;
  const t8 = microbatch*seq;
  const t9 = t8/context;
  const t10 = t9/tensor;
  const t11 = t10*whole_per_token*whole_width;
  const t12 = t10*whole_d_model;
  const t13 = t10*whole_heads;
  const t14 = t12*whole_per_token + 2*t12 + t13*whole_head_dim;
  const t15 = d_model*t9;
  const t16 = t15/tensor;
  const t17 = 4*d_model;
  const t18 = rotary_dim*t9*(heads + kv_heads);
  const t19 = 3*t18;
  const t20 = experts*t10;
  const t21 = per_token*t9;
  const t22 = t21*width;
  const t23 = 5*t22;
  const t24 = t1*t21;
  const t25 = per_token*t15;
  const t26 = t1*t10;
  const t27 = 6*t16;
  const t28 = t3*t9;
  const t29 = d_model*head_dim;
  const t30 = heads*t29;
  const t31 = heads*t9;
  const t32 = head_dim*t31;
  const t33 = t15 + t32;
  const t34 = t4*t9;
  const t35 = kv_heads*t29;
  const t36 = head_dim*kv_heads;
  const t37 = t15 + t36*t9;
  const t38 = 2*t0*t10;
  const t39 = t16 + t20;
  const t40 = t1*t22;
  const t41 = t6*width*(1 - Math.pow(1 - per_token/experts, t9));
  const t42 = t22 + t25;
  const t43 = seq + 1;
  const t44 = t32*t43;
  const t45 = t36*t8;
  const t46 = t32 + t45;
  const t47 = t31*t43;
  const t48 = tensor_inside - 1;
  const t50 = Math.ceil(t15/tensor_inside);
  const t51 = t48*t50;
  const t52 = Math.ceil(t25/tensor_inside);
  const t53 = t48*t52;
  const t54 = tensor_across - 1;
  const t56 = t54*Math.ceil(t50/tensor_across);
  const t57 = t54*Math.ceil(t52/tensor_across);
  const t58 = Math.ceil(t25/(expert_across*expert_inside*tensor));
  const t59 = 2*t58*(expert_inside - 1);
  const t60 = 2*expert_inside;
  const t61 = t60 - 2;
  const t62 = t60*(expert_across - 1);
  const t63 = t58*t62;
  const t64 = context_inside - 1;
  const t65 = Math.ceil(2*t45/context_inside);
  const t66 = t64*t65;
  const t67 = context_across - 1;
  const t68 = t67*Math.ceil(t65/context_across);
  return [
    t0 + t3 + t4, t1, Math.ceil(t5*t6), t11 + t14, 2*t11 + t14 + 2*t9*whole_head_dim*whole_kv_heads/Math.min(tensor, whole_kv_heads),
    t13, 0, 0, 0, 8*t16,
    t1, t10*t17, t19, 0, 2*t18,
    5*t20, 0, 2*t20, t23, 0,
    t21*t5, t24, 0, t15 + t25, t26,
    0, t27, t28, t30, t33,
    t34, t35, t37, t34, t35,
    t37, t28, t30, t33, t38,
    t0, t39, t40, t41, t42,
    t40, t41, t42, t40, t41,
    t42, t44, 0, t46, (5/2)*t47,
    0, 0, t44, 0, t46,
    t51, t48, t51, t48, t53,
    t48, t53, t48, t56, t54,
    t56, t54, t57, t54, t57,
    t54, t59, t61, t63, t62,
    t66, t64, t68, t67, t26,
    0, 10*t16, t17*t21, 0, t15 + t24,
    10*t22, 0, t23, 10*t20, 0,
    3*t20, t19, 0, t19, 16*t16,
    t17, t27, t40, t41, t42,
    t40, t41, t42, t40, t41,
    t42, t40, t41, t42, t40,
    t41, t42, t40, t41, t42,
    t38, t0, t39, t38, t0,
    t39, t28, t30, t33, t28,
    t30, t33, t34, t35, t37,
    t34, t35, t37, t34, t35,
    t37, t34, t35, t37, t28,
    t30, t33, t28, t30, t33,
    t44, 0, t46, t44, 0,
    t46, t44, 0, t46, 2*t47,
    0, 0, t44, 0, t46,
    t44, 0, t46, t51, t48,
    t51, t48, t53, t48, t53,
    t48, t56, t54, t56, t54,
    t57, t54, t57, t54, t51,
    t48, t56, t54, t59, t61,
    t63, t62, t66, t64, t66,
    t64, t68, t67, t68, t67];
}
export function mixtral_8x7b_full_0(microbatch, seq, tensor, context, expert, [tensor_inside, tensor_across], [context_inside, context_across], [expert_inside, expert_across], [layers, d_model, heads, kv_heads, head_dim, d_ff, vocab, rotary_dim, experts, per_token, width], [whole_layers, whole_d_model, whole_heads, whole_kv_heads, whole_head_dim, whole_d_ff, whole_vocab, whole_rotary_dim, whole_experts, whole_per_token, whole_width]) {
  const t0 = d_model*experts;
  const t1 = 2*d_model;
  const t2 = head_dim*t1;
  const t3 = heads*t2;
  const t4 = kv_heads*t2;
  const t5 = 3*width;
  const t6 = t0/expert;
  const t8 = microbatch*seq;
  const t9 = t8/context;
  const t10 = t9/tensor;
  const t11 = t10*whole_d_model;
  const t12 = t10*whole_per_token*whole_width;
  const t13 = t10*whole_heads;
  const t14 = t11*whole_per_token + 2*t11 + t13*whole_head_dim;
  const t15 = d_model*t9;
  const t16 = t15/tensor;
  const t17 = 8*t16;
  const t18 = 4*d_model;
  const t19 = t10*t18;
  const t20 = rotary_dim*t9*(heads + kv_heads);
  const t21 = 3*t20;
  const t22 = 2*t20;
  const t23 = experts*t10;
  const t24 = 5*t23;
  const t25 = 2*t23;
  const t26 = per_token*t9;
  const t27 = t26*width;
  const t28 = 5*t27;
  const t29 = t26*t5;
  const t30 = t1*t26;
  const t31 = per_token*t15;
  const t32 = t15 + t31;
  const t33 = t1*t10;
  const t34 = 6*t16;
  const t35 = t3*t9;
  const t36 = d_model*head_dim;
  const t37 = heads*t36;
  const t38 = heads*t9;
  const t39 = head_dim*t38;
  const t40 = t15 + t39;
  const t41 = t4*t9;
  const t42 = kv_heads*t36;
  const t43 = head_dim*kv_heads;
  const t44 = t15 + t43*t9;
  const t45 = 2*t0*t10;
  const t46 = t16 + t23;
  const t47 = t1*t27;
  const t48 = t6*width*(1 - Math.pow(1 - per_token/experts, t9));
  const t49 = t27 + t31;
  const t50 = seq + 1;
  const t51 = t39*t50;
  const t52 = t43*t8;
  const t53 = t39 + t52;
  const t54 = t38*t50;
  const t55 = (5/2)*t54;
  const t56 = tensor_inside - 1;
  const t58 = Math.ceil(t15/tensor_inside);
  const t59 = t56*t58;
  const t60 = Math.ceil(t31/tensor_inside);
  const t61 = t56*t60;
  const t62 = tensor_across - 1;
  const t64 = t62*Math.ceil(t58/tensor_across);
  const t65 = t62*Math.ceil(t60/tensor_across);
  const t66 = Math.ceil(t31/(expert_across*expert_inside*tensor));
  const t67 = 2*t66*(expert_inside - 1);
  const t68 = 2*expert_inside;
  const t69 = t68 - 2;
  const t70 = t68*(expert_across - 1);
  const t71 = t66*t70;
  const t72 = context_inside - 1;
  const t73 = Math.ceil(2*t52/context_inside);
  const t74 = t72*t73;
  const t75 = context_across - 1;
  const t76 = t75*Math.ceil(t73/context_across);
  return [
    t0 + t3 + t4, t1, Math.ceil(t5*t6), 0, t11,
    0, t12 + t14, 2*t12 + t14 + 2*t9*whole_head_dim*whole_kv_heads/Math.min(tensor, whole_kv_heads), t13, t17,
    t1, t19, t21, 0, t22,
    t24, 0, t25, t28, 0,
    t29, t30, 0, t32, t33,
    0, t34, t35, t37, t40,
    t41, t42, t44, t41, t42,
    t44, t35, t37, t40, t45,
    t0, t46, t47, t48, t49,
    t47, t48, t49, t47, t48,
    t49, t51, 0, t53, t55,
    0, 0, t51, 0, t53,
    t59, t56, t59, t56, t61,
    t56, t61, t56, t64, t62,
    t64, t62, t65, t62, t65,
    t62, t67, t69, t71, t70,
    t74, t72, t76, t75, t17,
    t1, t19, t21, 0, t22,
    t24, 0, t25, t28, 0,
    t29, t30, 0, t32, t33,
    0, t34, t33, 0, 10*t16,
    t18*t26, 0, t15 + t30, 10*t27, 0,
    t28, 10*t23, 0, 3*t23, t21,
    0, t21, 16*t16, t18, t34,
    t35, t37, t40, t41, t42,
    t44, t41, t42, t44, t35,
    t37, t40, t45, t0, t46,
    t47, t48, t49, t47, t48,
    t49, t47, t48, t49, t47,
    t48, t49, t47, t48, t49,
    t47, t48, t49, t47, t48,
    t49, t47, t48, t49, t47,
    t48, t49, t45, t0, t46,
    t45, t0, t46, t35, t37,
    t40, t35, t37, t40, t41,
    t42, t44, t41, t42, t44,
    t41, t42, t44, t41, t42,
    t44, t35, t37, t40, t35,
    t37, t40, t51, 0, t53,
    t55, 0, 0, t51, 0,
    t53, t51, 0, t53, t51,
    0, t53, t51, 0, t53,
    2*t54, 0, 0, t51, 0,
    t53, t51, 0, t53, t59,
    t56, t59, t56, t61, t56,
    t61, t56, t59, t56, t59,
    t56, t61, t56, t61, t56,
    t64, t62, t64, t62, t65,
    t62, t65, t62, t64, t62,
    t64, t62, t65, t62, t65,
    t62, t67, t69, t67, t69,
    t71, t70, t71, t70, t74,
    t72, t74, t72, t74, t72,
    t76, t75, t76, t75, t76,
    t75, t59, t56, t64, t62];
}
export function mixtral_8x7b_first(microbatch, seq, tensor, context, expert, [tensor_inside, tensor_across], [context_inside, context_across], [expert_inside, expert_across], [layers, d_model, heads, kv_heads, head_dim, d_ff, vocab, rotary_dim, experts, per_token, width], [whole_layers, whole_d_model, whole_heads, whole_kv_heads, whole_head_dim, whole_d_ff, whole_vocab, whole_rotary_dim, whole_experts, whole_per_token, whole_width]) {
  const t0 = d_model*microbatch*seq/context;
  const t1 = tensor_inside - 1;
  const t2 = Math.ceil(t0/tensor_inside);
  const t3 = t1*t2;
  const t4 = tensor_across - 1;
  const t5 = t4*Math.ceil(t2/tensor_across);
  return [
    0, d_model*vocab, 0, 0, 0,
    0, 0, 0, 0, 0,
    t0, t0, t3, t1, t3,
    t1, t5, t4, t5, t4,
    0, 2*t0, t0];
}
export function mixtral_8x7b_last(microbatch, seq, tensor, context, expert, [tensor_inside, tensor_across], [context_inside, context_across], [expert_inside, expert_across], [layers, d_model, heads, kv_heads, head_dim, d_ff, vocab, rotary_dim, experts, per_token, width], [whole_layers, whole_d_model, whole_heads, whole_kv_heads, whole_head_dim, whole_d_ff, whole_vocab, whole_rotary_dim, whole_experts, whole_per_token, whole_width]) {
  const t0 = d_model*vocab;
  const t1 = microbatch*seq/context;
  const t2 = t1/tensor;
  const t3 = t2*whole_d_model;
  const t4 = d_model*t1;
  const t5 = 2*d_model;
  const t6 = 2*t0*t1;
  const t7 = t1*vocab + t4;
  const t8 = tensor_inside - 1;
  const t9 = Math.ceil(t4/tensor_inside);
  const t10 = t8*t9;
  const t11 = tensor_across - 1;
  const t12 = t11*Math.ceil(t9/tensor_across);
  return [
    0, d_model + t0, 0, t3, t3,
    t2*whole_vocab, 0, 0, 0, 4*t4,
    d_model, t1*t5, t6, t0, t7,
    t6, t0, t7, t6, t0,
    t7, 8*t4, t5, 3*t4, t10,
    t8, t10, t8, t12, t11,
    t12, t11];
}
export function qwen3_30b_a3b_none_0(microbatch, seq, tensor, context, expert, [tensor_inside, tensor_across], [context_inside, context_across], [expert_inside, expert_across], [layers, d_model, heads, kv_heads, head_dim, d_ff, vocab, rotary_dim, experts, per_token, width], [whole_layers, whole_d_model, whole_heads, whole_kv_heads, whole_head_dim, whole_d_ff, whole_vocab, whole_rotary_dim, whole_experts, whole_per_token, whole_width]) {
  const t0 = d_model*experts;
  const t1 = 2*d_model;
  const t2 = head_dim*heads;
  const t3 = t1*t2;
  const t4 = head_dim*kv_heads;
  const t5 = t1*t4;
  const t6 = 2*head_dim;
  const t7 = 3*width;
  const t8 = t0/expert;
  const t10 = microbatch*seq;
  const t11 = t10/context;
  const t12 = t11/tensor;
  const t13 = t12*whole_heads;
  const t14 = t13*whole_head_dim;
  const t15 = t12*whole_per_token*whole_width;
  const t16 = t12*whole_d_model;
  const t17 = t16*whole_per_token + 2*t16;
  const t18 = 3*t11;
  const t19 = d_model*t11;
  const t20 = t19/tensor;
  const t21 = 4*d_model;
  const t22 = t11*(4*t2 + 4*t4);
  const t23 = t11*(t2 + t4);
  const t24 = rotary_dim*(heads + kv_heads);
  const t25 = t18*t24;
  const t26 = 2*t11;
  const t27 = experts*t12;
  const t28 = per_token*t11;
  const t29 = t28*width;
  const t30 = 5*t29;
  const t31 = t1*t28;
  const t32 = per_token*t19;
  const t33 = t1*t12;
  const t34 = 6*t20;
  const t35 = t11*t3;
  const t36 = d_model*t2;
  const t37 = t11*t2;
  const t38 = t19 + t37;
  const t39 = t11*t5;
  const t40 = d_model*t4;
  const t41 = t11*t4 + t19;
  const t42 = 2*t0*t12;
  const t43 = t20 + t27;
  const t44 = t1*t29;
  const t45 = t8*width*(1 - Math.pow(1 - per_token/experts, t11));
  const t46 = t29 + t32;
  const t47 = seq + 1;
  const t48 = t37*t47;
  const t49 = t10*t4 + t37;
  const t50 = heads*t47;
  const t51 = tensor_inside - 1;
  const t53 = Math.ceil(t19/tensor_inside);
  const t54 = t51*t53;
  const t55 = Math.ceil(t32/tensor_inside);
  const t56 = t51*t55;
  const t57 = tensor_across - 1;
  const t59 = t57*Math.ceil(t53/tensor_across);
  const t60 = t57*Math.ceil(t55/tensor_across);
  const t61 = Math.ceil(t32/(expert_across*expert_inside*tensor));
  const t62 = 2*t61*(expert_inside - 1);
  const t63 = 2*expert_inside;
  const t64 = t63 - 2;
  const t65 = t63*(expert_across - 1);
  const t66 = t61*t65;
  const t67 = context_inside - 1;
  const t68 = Math.ceil(kv_heads*t10*t6/context_inside);
  const t69 = t67*t68;
  const t70 = context_across - 1;
  const t71 = t70*Math.ceil(t68/context_across);
  return [
    t0 + t3 + t5, t1 + t6, Math.ceil(t7*t8), t14 + t15 + t17, 2*t14 + 2*t15 + t17 + t18*whole_head_dim*whole_kv_heads/Math.min(tensor, whole_kv_heads),
    t13, 0, 0, 0, 8*t20,
    t1, t12*t21, t22, t6, 2*t23,
    t25, 0, t24*t26, 5*t27, 0,
    2*t27, t30, 0, t28*t7, t31,
    0, t19 + t32, t33, 0, t34,
    t35, t36, t38, t39, t40,
    t41, t39, t40, t41, t35,
    t36, t38, t42, t0, t43,
    t44, t45, t46, t44, t45,
    t46, t44, t45, t46, t48,
    0, t49, (5/2)*t11*t50, 0, 0,
    t48, 0, t49, t54, t51,
    t54, t51, t56, t51, t56,
    t51, t59, t57, t59, t57,
    t60, t57, t60, t57, t62,
    t64, t66, t65, t69, t67,
    t71, t70, t33, 0, 10*t20,
    t21*t28, 0, t19 + t31, 10*t29, 0,
    t30, 10*t27, 0, 3*t27, t25,
    0, t25, 2*t22, 4*head_dim, 3*t23,
    16*t20, t21, t34, t44, t45,
    t46, t44, t45, t46, t44,
    t45, t46, t44, t45, t46,
    t44, t45, t46, t44, t45,
    t46, t42, t0, t43, t42,
    t0, t43, t35, t36, t38,
    t35, t36, t38, t39, t40,
    t41, t39, t40, t41, t39,
    t40, t41, t39, t40, t41,
    t35, t36, t38, t35, t36,
    t38, t48, 0, t49, t48,
    0, t49, t48, 0, t49,
    t26*t50, 0, 0, t48, 0,
    t49, t48, 0, t49, t54,
    t51, t54, t51, t56, t51,
    t56, t51, t59, t57, t59,
    t57, t60, t57, t60, t57,
    t54, t51, t59, t57, t62,
    t64, t66, t65, t69, t67,
    t69, t67, t71, t70, t71,
    t70];
}
export function qwen3_30b_a3b_full_0(microbatch, seq, tensor, context, expert, [tensor_inside, tensor_across], [context_inside, context_across], [expert_inside, expert_across], [layers, d_model, heads, kv_heads, head_dim, d_ff, vocab, rotary_dim, experts, per_token, width], [whole_layers, whole_d_model, whole_heads, whole_kv_heads, whole_head_dim, whole_d_ff, whole_vocab, whole_rotary_dim, whole_experts, whole_per_token, whole_width]) {
  const t0 = d_model*experts;
  const t1 = 2*d_model;
  const t2 = head_dim*heads;
  const t3 = t1*t2;
  const t4 = head_dim*kv_heads;
  const t5 = t1*t4;
  const t6 = 2*head_dim;
  const t7 = 3*width;
  const t8 = t0/expert;
  const t10 = microbatch*seq;
  const t11 = t10/context;
  const t12 = t11/tensor;
  const t13 = t12*whole_d_model;
  const t14 = t12*whole_heads;
  const t15 = t14*whole_head_dim;
  const t16 = t12*whole_per_token*whole_width;
  const t17 = t13*whole_per_token + 2*t13;
  const t18 = 3*t11;
  const t19 = d_model*t11;
  const t20 = t19/tensor;
  const t21 = 8*t20;
  const t22 = 4*d_model;
  const t23 = t12*t22;
  const t24 = t11*(4*t2 + 4*t4);
  const t25 = t11*(t2 + t4);
  const t26 = 2*t25;
  const t27 = rotary_dim*(heads + kv_heads);
  const t28 = t18*t27;
  const t29 = 2*t11;
  const t30 = t27*t29;
  const t31 = experts*t12;
  const t32 = 5*t31;
  const t33 = 2*t31;
  const t34 = per_token*t11;
  const t35 = t34*width;
  const t36 = 5*t35;
  const t37 = t34*t7;
  const t38 = t1*t34;
  const t39 = per_token*t19;
  const t40 = t19 + t39;
  const t41 = t1*t12;
  const t42 = 6*t20;
  const t43 = t11*t3;
  const t44 = d_model*t2;
  const t45 = t11*t2;
  const t46 = t19 + t45;
  const t47 = t11*t5;
  const t48 = d_model*t4;
  const t49 = t11*t4 + t19;
  const t50 = 2*t0*t12;
  const t51 = t20 + t31;
  const t52 = t1*t35;
  const t53 = t8*width*(1 - Math.pow(1 - per_token/experts, t11));
  const t54 = t35 + t39;
  const t55 = seq + 1;
  const t56 = t45*t55;
  const t57 = t10*t4 + t45;
  const t58 = heads*t55;
  const t59 = (5/2)*t11*t58;
  const t60 = tensor_inside - 1;
  const t62 = Math.ceil(t19/tensor_inside);
  const t63 = t60*t62;
  const t64 = Math.ceil(t39/tensor_inside);
  const t65 = t60*t64;
  const t66 = tensor_across - 1;
  const t68 = t66*Math.ceil(t62/tensor_across);
  const t69 = t66*Math.ceil(t64/tensor_across);
  const t70 = Math.ceil(t39/(expert_across*expert_inside*tensor));
  const t71 = 2*t70*(expert_inside - 1);
  const t72 = 2*expert_inside;
  const t73 = t72 - 2;
  const t74 = t72*(expert_across - 1);
  const t75 = t70*t74;
  const t76 = context_inside - 1;
  const t77 = Math.ceil(kv_heads*t10*t6/context_inside);
  const t78 = t76*t77;
  const t79 = context_across - 1;
  const t80 = t79*Math.ceil(t77/context_across);
  return [
    t0 + t3 + t5, t1 + t6, Math.ceil(t7*t8), 0, t13,
    0, t15 + t16 + t17, 2*t15 + 2*t16 + t17 + t18*whole_head_dim*whole_kv_heads/Math.min(tensor, whole_kv_heads), t14, t21,
    t1, t23, t24, t6, t26,
    t28, 0, t30, t32, 0,
    t33, t36, 0, t37, t38,
    0, t40, t41, 0, t42,
    t43, t44, t46, t47, t48,
    t49, t47, t48, t49, t43,
    t44, t46, t50, t0, t51,
    t52, t53, t54, t52, t53,
    t54, t52, t53, t54, t56,
    0, t57, t59, 0, 0,
    t56, 0, t57, t63, t60,
    t63, t60, t65, t60, t65,
    t60, t68, t66, t68, t66,
    t69, t66, t69, t66, t71,
    t73, t75, t74, t78, t76,
    t80, t79, t21, t1, t23,
    t24, t6, t26, t28, 0,
    t30, t32, 0, t33, t36,
    0, t37, t38, 0, t40,
    t41, 0, t42, t41, 0,
    10*t20, t22*t34, 0, t19 + t38, 10*t35,
    0, t36, 10*t31, 0, 3*t31,
    t28, 0, t28, 2*t24, 4*head_dim,
    3*t25, 16*t20, t22, t42, t43,
    t44, t46, t47, t48, t49,
    t47, t48, t49, t43, t44,
    t46, t50, t0, t51, t52,
    t53, t54, t52, t53, t54,
    t52, t53, t54, t52, t53,
    t54, t52, t53, t54, t52,
    t53, t54, t52, t53, t54,
    t52, t53, t54, t52, t53,
    t54, t50, t0, t51, t50,
    t0, t51, t43, t44, t46,
    t43, t44, t46, t47, t48,
    t49, t47, t48, t49, t47,
    t48, t49, t47, t48, t49,
    t43, t44, t46, t43, t44,
    t46, t56, 0, t57, t59,
    0, 0, t56, 0, t57,
    t56, 0, t57, t56, 0,
    t57, t56, 0, t57, t29*t58,
    0, 0, t56, 0, t57,
    t56, 0, t57, t63, t60,
    t63, t60, t65, t60, t65,
    t60, t63, t60, t63, t60,
    t65, t60, t65, t60, t68,
    t66, t68, t66, t69, t66,
    t69, t66, t68, t66, t68,
    t66, t69, t66, t69, t66,
    t71, t73, t71, t73, t75,
    t74, t75, t74, t78, t76,
    t78, t76, t78, t76, t80,
    t79, t80, t79, t80, t79,
    t63, t60, t68, t66];
}
export function qwen3_30b_a3b_first(microbatch, seq, tensor, context, expert, [tensor_inside, tensor_across], [context_inside, context_across], [expert_inside, expert_across], [layers, d_model, heads, kv_heads, head_dim, d_ff, vocab, rotary_dim, experts, per_token, width], [whole_layers, whole_d_model, whole_heads, whole_kv_heads, whole_head_dim, whole_d_ff, whole_vocab, whole_rotary_dim, whole_experts, whole_per_token, whole_width]) {
  const t0 = d_model*microbatch*seq/context;
  const t1 = tensor_inside - 1;
  const t2 = Math.ceil(t0/tensor_inside);
  const t3 = t1*t2;
  const t4 = tensor_across - 1;
  const t5 = t4*Math.ceil(t2/tensor_across);
  return [
    0, d_model*vocab, 0, 0, 0,
    0, 0, 0, 0, 0,
    t0, t0, t3, t1, t3,
    t1, t5, t4, t5, t4,
    0, 2*t0, t0];
}
export function qwen3_30b_a3b_last(microbatch, seq, tensor, context, expert, [tensor_inside, tensor_across], [context_inside, context_across], [expert_inside, expert_across], [layers, d_model, heads, kv_heads, head_dim, d_ff, vocab, rotary_dim, experts, per_token, width], [whole_layers, whole_d_model, whole_heads, whole_kv_heads, whole_head_dim, whole_d_ff, whole_vocab, whole_rotary_dim, whole_experts, whole_per_token, whole_width]) {
  const t0 = d_model*vocab;
  const t1 = microbatch*seq/context;
  const t2 = t1/tensor;
  const t3 = t2*whole_d_model;
  const t4 = d_model*t1;
  const t5 = 2*d_model;
  const t6 = 2*t0*t1;
  const t7 = t1*vocab + t4;
  const t8 = tensor_inside - 1;
  const t9 = Math.ceil(t4/tensor_inside);
  const t10 = t8*t9;
  const t11 = tensor_across - 1;
  const t12 = t11*Math.ceil(t9/tensor_across);
  return [
    0, d_model + t0, 0, t3, t3,
    t2*whole_vocab, 0, 0, 0, 4*t4,
    d_model, t1*t5, t6, t0, t7,
    t6, t0, t7, t6, t0,
    t7, 8*t4, t5, 3*t4, t10,
    t8, t10, t8, t12, t11,
    t12, t11];
}
export function deepseek_v3_none_0(microbatch, seq, tensor, context, expert, [tensor_inside, tensor_across], [context_inside, context_across], [expert_inside, expert_across], [layers, d_model, heads, kv_heads, head_dim, d_ff, vocab, rotary_dim, experts, per_token, width, shared_width, dense_layers, q_rank, kv_rank, nope_dim, rope_dim, value_dim], [whole_layers, whole_d_model, whole_heads, whole_kv_heads, whole_head_dim, whole_d_ff, whole_vocab, whole_rotary_dim, whole_experts, whole_per_token, whole_width, whole_shared_width, whole_dense_layers, whole_q_rank, whole_kv_rank, whole_nope_dim, whole_rope_dim, whole_value_dim]) {
  const t0 = d_model*q_rank;
  const t1 = kv_rank + rope_dim;
  const t2 = d_model*t1;
  const t3 = d_ff*d_model;
  const t4 = heads*value_dim;
  const t5 = d_model*t4;
  const t6 = nope_dim + value_dim;
  const t7 = heads*t6;
  const t8 = kv_rank*t7;
  const t9 = heads*(nope_dim + rope_dim);
  const t10 = q_rank*t9;
  const t11 = 2*d_model;
  const t14 = microbatch*seq;
  const t15 = t14/context;
  const t16 = t15/tensor;
  const t17 = t16*whole_d_ff;
  const t18 = whole_kv_rank + whole_q_rank;
  const t19 = t16*whole_heads;
  const t20 = 2*t16*whole_d_model + t19*whole_value_dim;
  const t21 = d_model*t15;
  const t22 = t21/tensor;
  const t23 = 4*d_model;
  const t24 = q_rank*t15;
  const t25 = 2*q_rank;
  const t26 = t15*t25;
  const t27 = kv_rank*t14;
  const t28 = t27/context;
  const t29 = 2*kv_rank;
  const t30 = t15*t29;
  const t31 = t15*(heads + 1);
  const t32 = 3*rope_dim*t31;
  const t33 = 2*rope_dim;
  const t34 = d_ff*t15;
  const t35 = 5*t34;
  const t36 = t11*t16;
  const t37 = 6*t22;
  const t38 = 2*t15;
  const t39 = t0*t38;
  const t40 = t21 + t24;
  const t41 = t26*t9;
  const t42 = t15*t9;
  const t43 = t24 + t42;
  const t44 = t2*t38;
  const t45 = t1*t14;
  const t46 = t21 + t45/context;
  const t47 = t15*t4;
  const t48 = t11*t47;
  const t49 = t21 + t47;
  const t50 = t11*t34;
  const t51 = t21 + t34;
  const t52 = t30*t7;
  const t53 = heads*(rope_dim + t6);
  const t54 = seq + 1;
  const t55 = heads*t54;
  const t56 = t15*t55;
  const t57 = (1/2)*t56*(2*nope_dim + t33);
  const t58 = t47*t54;
  const t59 = Math.ceil(t21/tensor_inside);
  const t60 = 2*t59*(tensor_inside - 1);
  const t61 = 2*tensor_inside - 2;
  const t62 = 2*(tensor_across - 1)*Math.ceil(t59/tensor_across);
  const t63 = 2*tensor_across - 2;
  const t64 = context_inside - 1;
  const t65 = Math.ceil(t14*t53/context_inside);
  const t66 = t64*t65;
  const t67 = context_across - 1;
  const t68 = t67*Math.ceil(t65/context_across);
  const t69 = t14*t9 + t42;
  const t70 = t14*t4 + t47;
  return [
    t0 + t10 + t2 + 3*t3 + t5 + t8, kv_rank + q_rank + t11, 0, t16*t18 + t17 + t20, t16*(t18 + whole_rope_dim) + 2*t17 + 2*t19*(whole_nope_dim + whole_rope_dim) + t20,
    t19, 0, 0, 0, 8*t22,
    t11, t16*t23, 4*t24, q_rank, t26,
    4*t28, kv_rank, t30, t32, 0,
    t31*t33, t35, 0, 3*t34, t36,
    0, t37, t39, t0, t40,
    t41, t10, t43, t44, t2,
    t46, t48, t5, t49, t50,
    t3, t51, t50, t3, t51,
    t50, t3, t51, t52, t8,
    t15*t53 + t45, t57, 0, 2*t42, (5/2)*t56,
    0, 0, t58, 0, 2*t47,
    t60, t61, t60, t61, t62,
    t63, t62, t63, t66, t64,
    t68, t67, t36, 0, 10*t22,
    10*t34, 0, t35, t32, 0,
    t32, 8*t28, t29, 3*t28, 8*t24,
    t25, 3*t24, 16*t22, t23, t37,
    t50, t3, t51, t50, t3,
    t51, t50, t3, t51, t50,
    t3, t51, t50, t3, t51,
    t50, t3, t51, t48, t5,
    t49, t48, t5, t49, t44,
    t2, t46, t44, t2, t46,
    t41, t10, t43, t41, t10,
    t43, t39, t0, t40, t39,
    t0, t40, t57, 0, t69,
    t58, 0, t70, t58, 0,
    t70, t38*t55, 0, 0, t57,
    0, t69, t57, 0, t69,
    t52, t8, t15*t7 + t28, t52, t8,
    (t14*t7 + t27)/context, t60, t61, t60, t61,
    t62, t63, t62, t63, t60,
    t61, t62, t63, t66, t64,
    t66, t64, t68, t67, t68,
    t67];
}
export function deepseek_v3_none_1(microbatch, seq, tensor, context, expert, [tensor_inside, tensor_across], [context_inside, context_across], [expert_inside, expert_across], [layers, d_model, heads, kv_heads, head_dim, d_ff, vocab, rotary_dim, experts, per_token, width, shared_width, dense_layers, q_rank, kv_rank, nope_dim, rope_dim, value_dim], [whole_layers, whole_d_model, whole_heads, whole_kv_heads, whole_head_dim, whole_d_ff, whole_vocab, whole_rotary_dim, whole_experts, whole_per_token, whole_width, whole_shared_width, whole_dense_layers, whole_q_rank, whole_kv_rank, whole_nope_dim, whole_rope_dim, whole_value_dim]) {
  const t0 = d_model*experts;
  const t1 = d_model*q_rank;
  const t2 = kv_rank + rope_dim;
  const t3 = d_model*t2;
  const t4 = d_model*shared_width;
  const t5 = heads*value_dim;
  const t6 = d_model*t5;
  const t7 = nope_dim + value_dim;
  const t8 = heads*t7;
  const t9 = kv_rank*t8;
  const t10 = heads*(nope_dim + rope_dim);
  const t11 = q_rank*t10;
  const t12 = 2*d_model;
  const t13 = 3*width;
  const t14 = t0/expert;
  const t17 = microbatch*seq;
  const t18 = t17/context;
  const t19 = t18/tensor;
  const t20 = t19*whole_shared_width;
  const t21 = whole_kv_rank + whole_q_rank;
  const t22 = t19*whole_per_token*whole_width;
  const t23 = t19*whole_d_model;
  const t24 = t19*whole_heads;
  const t25 = t23*whole_per_token + 2*t23 + t24*whole_value_dim;
  const t26 = d_model*t18;
  const t27 = t26/tensor;
  const t28 = 4*d_model;
  const t29 = q_rank*t18;
  const t30 = 2*q_rank;
  const t31 = t18*t30;
  const t32 = kv_rank*t18;
  const t33 = 2*kv_rank;
  const t34 = t18*t33;
  const t35 = t18*(heads + 1);
  const t36 = 3*rope_dim*t35;
  const t37 = 2*rope_dim;
  const t38 = experts*t19;
  const t39 = per_token*t18;
  const t40 = t39*width;
  const t41 = 5*t40;
  const t42 = t12*t39;
  const t43 = per_token*t26;
  const t44 = shared_width*t18;
  const t45 = 5*t44;
  const t46 = t12*t19;
  const t47 = 6*t27;
  const t48 = 2*t18;
  const t49 = t1*t48;
  const t50 = t26 + t29;
  const t51 = t10*t31;
  const t52 = t10*t18;
  const t53 = t29 + t52;
  const t54 = t3*t48;
  const t55 = t18*t2 + t26;
  const t56 = t18*t5;
  const t57 = t12*t56;
  const t58 = t26 + t56;
  const t59 = 2*t0*t19;
  const t60 = t27 + t38;
  const t61 = t12*t40;
  const t62 = t14*width*(1 - Math.pow(1 - per_token/experts, t18));
  const t63 = t40 + t43;
  const t64 = t12*t44;
  const t65 = t26 + t44;
  const t66 = t34*t8;
  const t67 = heads*(rope_dim + t7);
  const t68 = seq + 1;
  const t69 = heads*t68;
  const t70 = t18*t69;
  const t71 = (1/2)*t70*(2*nope_dim + t37);
  const t72 = t56*t68;
  const t73 = tensor_inside - 1;
  const t75 = Math.ceil(t26/tensor_inside);
  const t76 = t73*t75;
  const t77 = Math.ceil(t43/tensor_inside);
  const t78 = t73*t77;
  const t79 = tensor_across - 1;
  const t81 = t79*Math.ceil(t75/tensor_across);
  const t82 = t79*Math.ceil(t77/tensor_across);
  const t83 = Math.ceil(t43/(expert_across*expert_inside*tensor));
  const t84 = 2*t83*(expert_inside - 1);
  const t85 = 2*expert_inside;
  const t86 = t85 - 2;
  const t87 = t85*(expert_across - 1);
  const t88 = t83*t87;
  const t89 = context_inside - 1;
  const t90 = Math.ceil(t17*t67/context_inside);
  const t91 = t89*t90;
  const t92 = context_across - 1;
  const t93 = t92*Math.ceil(t90/context_across);
  const t94 = t10*t17 + t52;
  const t95 = t17*t5 + t56;
  return [
    t0 + t1 + t11 + t3 + 3*t4 + t6 + t9, kv_rank + q_rank + t12, Math.ceil(t13*t14), t19*t21 + t20 + t22 + t25, t19*(t21 + whole_rope_dim) + 2*t20 + 2*t22 + 2*t24*(whole_nope_dim + whole_rope_dim) + t25,
    t24, 0, 0, 0, 8*t27,
    t12, t19*t28, 4*t29, q_rank, t31,
    4*t32, kv_rank, t34, t36, 0,
    t35*t37, 5*t38, 0, 2*t38, t41,
    0, t13*t39, t42, 0, t26 + t43,
    t45, 0, 3*t44, t46, 0,
    t47, t49, t1, t50, t51,
    t11, t53, t54, t3, t55,
    t57, t6, t58, t59, t0,
    t60, t61, t62, t63, t61,
    t62, t63, t61, t62, t63,
    t64, t4, t65, t64, t4,
    t65, t64, t4, t65, t66,
    t9, t17*t2 + t18*t67, t71, 0, 2*t52,
    (5/2)*t70, 0, 0, t72, 0,
    2*t56, t76, t73, t76, t73,
    t78, t73, t78, t73, t81,
    t79, t81, t79, t82, t79,
    t82, t79, t84, t86, t88,
    t87, t91, t89, t93, t92,
    t46, 0, 10*t27, 10*t44, 0,
    t45, t28*t39, 0, t26 + t42, 10*t40,
    0, t41, 10*t38, 0, 3*t38,
    t36, 0, t36, 8*t32, t33,
    3*t32, 8*t29, t30, 3*t29, 16*t27,
    t28, t47, t64, t4, t65,
    t64, t4, t65, t64, t4,
    t65, t64, t4, t65, t64,
    t4, t65, t64, t4, t65,
    t61, t62, t63, t61, t62,
    t63, t61, t62, t63, t61,
    t62, t63, t61, t62, t63,
    t61, t62, t63, t59, t0,
    t60, t59, t0, t60, t57,
    t6, t58, t57, t6, t58,
    t54, t3, t55, t54, t3,
    t55, t51, t11, t53, t51,
    t11, t53, t49, t1, t50,
    t49, t1, t50, t71, 0,
    t94, t72, 0, t95, t72,
    0, t95, t48*t69, 0, 0,
    t71, 0, t94, t71, 0,
    t94, t66, t9, t18*t8 + t32, t66,
    t9, (kv_rank*t17 + t17*t8)/context, t76, t73, t76,
    t73, t78, t73, t78, t73,
    t81, t79, t81, t79, t82,
    t79, t82, t79, t76, t73,
    t81, t79, t84, t86, t88,
    t87, t91, t89, t91, t89,
    t93, t92, t93, t92];
}
export function deepseek_v3_full_0(microbatch, seq, tensor, context, expert, [tensor_inside, tensor_across], [context_inside, context_across], [expert_inside, expert_across], [layers, d_model, heads, kv_heads, head_dim, d_ff, vocab, rotary_dim, experts, per_token, width, shared_width, dense_layers, q_rank, kv_rank, nope_dim, rope_dim, value_dim], [whole_layers, whole_d_model, whole_heads, whole_kv_heads, whole_head_dim, whole_d_ff, whole_vocab, whole_rotary_dim, whole_experts, whole_per_token, whole_width, whole_shared_width, whole_dense_layers, whole_q_rank, whole_kv_rank, whole_nope_dim, whole_rope_dim, whole_value_dim]) {
  const t0 = d_model*q_rank;
  const t1 = kv_rank + rope_dim;
  const t2 = d_model*t1;
  const t3 = d_ff*d_model;
  const t4 = heads*value_dim;
  const t5 = d_model*t4;
  const t6 = nope_dim + value_dim;
  const t7 = heads*t6;
  const t8 = kv_rank*t7;
  const t9 = heads*(nope_dim + rope_dim);
  const t10 = q_rank*t9;
  const t11 = 2*d_model;
  const t14 = microbatch*seq;
  const t15 = t14/context;
  const t16 = t15/tensor;
  const t17 = t16*whole_d_model;
  const t18 = t16*whole_d_ff;
  const t19 = whole_kv_rank + whole_q_rank;
  const t20 = t16*whole_heads;
  const t21 = 2*t17 + t20*whole_value_dim;
  const t22 = d_model*t15;
  const t23 = t22/tensor;
  const t24 = 8*t23;
  const t25 = 4*d_model;
  const t26 = t16*t25;
  const t27 = q_rank*t15;
  const t28 = 4*t27;
  const t29 = 2*q_rank;
  const t30 = t15*t29;
  const t31 = kv_rank*t14;
  const t32 = t31/context;
  const t33 = 4*t32;
  const t34 = 2*kv_rank;
  const t35 = t15*t34;
  const t36 = t15*(heads + 1);
  const t37 = 3*rope_dim*t36;
  const t38 = 2*rope_dim;
  const t39 = t36*t38;
  const t40 = d_ff*t15;
  const t41 = 5*t40;
  const t42 = 3*t40;
  const t43 = t11*t16;
  const t44 = 6*t23;
  const t45 = 2*t15;
  const t46 = t0*t45;
  const t47 = t22 + t27;
  const t48 = t30*t9;
  const t49 = t15*t9;
  const t50 = t27 + t49;
  const t51 = t2*t45;
  const t52 = t1*t14;
  const t53 = t22 + t52/context;
  const t54 = t15*t4;
  const t55 = t11*t54;
  const t56 = t22 + t54;
  const t57 = t11*t40;
  const t58 = t22 + t40;
  const t59 = t35*t7;
  const t60 = heads*(rope_dim + t6);
  const t61 = t15*t60 + t52;
  const t62 = seq + 1;
  const t63 = heads*t62;
  const t64 = t15*t63;
  const t65 = (1/2)*t64*(2*nope_dim + t38);
  const t66 = 2*t49;
  const t67 = (5/2)*t64;
  const t68 = t54*t62;
  const t69 = 2*t54;
  const t70 = Math.ceil(t22/tensor_inside);
  const t71 = 2*t70*(tensor_inside - 1);
  const t72 = 2*tensor_inside - 2;
  const t73 = 2*(tensor_across - 1)*Math.ceil(t70/tensor_across);
  const t74 = 2*tensor_across - 2;
  const t75 = context_inside - 1;
  const t76 = Math.ceil(t14*t60/context_inside);
  const t77 = t75*t76;
  const t78 = context_across - 1;
  const t79 = t78*Math.ceil(t76/context_across);
  const t80 = t14*t9 + t49;
  const t81 = t14*t4 + t54;
  return [
    t0 + t10 + t2 + 3*t3 + t5 + t8, kv_rank + q_rank + t11, 0, 0, t17,
    0, t16*t19 + t18 + t21, t16*(t19 + whole_rope_dim) + 2*t18 + 2*t20*(whole_nope_dim + whole_rope_dim) + t21, t20, t24,
    t11, t26, t28, q_rank, t30,
    t33, kv_rank, t35, t37, 0,
    t39, t41, 0, t42, t43,
    0, t44, t46, t0, t47,
    t48, t10, t50, t51, t2,
    t53, t55, t5, t56, t57,
    t3, t58, t57, t3, t58,
    t57, t3, t58, t59, t8,
    t61, t65, 0, t66, t67,
    0, 0, t68, 0, t69,
    t71, t72, t71, t72, t73,
    t74, t73, t74, t77, t75,
    t79, t78, t24, t11, t26,
    t28, q_rank, t30, t33, kv_rank,
    t35, t37, 0, t39, t41,
    0, t42, t43, 0, t44,
    t43, 0, 10*t23, 10*t40, 0,
    t41, t37, 0, t37, 8*t32,
    t34, 3*t32, 8*t27, t29, 3*t27,
    16*t23, t25, t44, t46, t0,
    t47, t48, t10, t50, t51,
    t2, t53, t55, t5, t56,
    t57, t3, t58, t57, t3,
    t58, t57, t3, t58, t57,
    t3, t58, t57, t3, t58,
    t57, t3, t58, t57, t3,
    t58, t57, t3, t58, t57,
    t3, t58, t55, t5, t56,
    t55, t5, t56, t51, t2,
    t53, t51, t2, t53, t48,
    t10, t50, t48, t10, t50,
    t46, t0, t47, t46, t0,
    t47, t59, t8, t61, t65,
    0, t66, t67, 0, 0,
    t68, 0, t69, t65, 0,
    t80, t68, 0, t81, t68,
    0, t81, t45*t63, 0, 0,
    t65, 0, t80, t65, 0,
    t80, t59, t8, t15*t7 + t32, t59,
    t8, (t14*t7 + t31)/context, t71, t72, t71,
    t72, t71, t72, t71, t72,
    t73, t74, t73, t74, t73,
    t74, t73, t74, t77, t75,
    t77, t75, t77, t75, t79,
    t78, t79, t78, t79, t78,
    t71, t72, t73, t74];
}
export function deepseek_v3_full_1(microbatch, seq, tensor, context, expert, [tensor_inside, tensor_across], [context_inside, context_across], [expert_inside, expert_across], [layers, d_model, heads, kv_heads, head_dim, d_ff, vocab, rotary_dim, experts, per_token, width, shared_width, dense_layers, q_rank, kv_rank, nope_dim, rope_dim, value_dim], [whole_layers, whole_d_model, whole_heads, whole_kv_heads, whole_head_dim, whole_d_ff, whole_vocab, whole_rotary_dim, whole_experts, whole_per_token, whole_width, whole_shared_width, whole_dense_layers, whole_q_rank, whole_kv_rank, whole_nope_dim, whole_rope_dim, whole_value_dim]) {
  const t0 = d_model*experts;
  const t1 = d_model*q_rank;
  const t2 = kv_rank + rope_dim;
  const t3 = d_model*t2;
  const t4 = d_model*shared_width;
  const t5 = heads*value_dim;
  const t6 = d_model*t5;
  const t7 = nope_dim + value_dim;
  const t8 = heads*t7;
  const t9 = kv_rank*t8;
  const t10 = heads*(nope_dim + rope_dim);
  const t11 = q_rank*t10;
  const t12 = 2*d_model;
  const t13 = 3*width;
  const t14 = t0/expert;
  const t17 = microbatch*seq;
  const t18 = t17/context;
  const t19 = t18/tensor;
  const t20 = t19*whole_d_model;
  const t21 = t19*whole_shared_width;
  const t22 = whole_kv_rank + whole_q_rank;
  const t23 = t19*whole_per_token*whole_width;
  const t24 = t19*whole_heads;
  const t25 = t20*whole_per_token + 2*t20 + t24*whole_value_dim;
  const t26 = d_model*t18;
  const t27 = t26/tensor;
  const t28 = 8*t27;
  const t29 = 4*d_model;
  const t30 = t19*t29;
  const t31 = q_rank*t18;
  const t32 = 4*t31;
  const t33 = 2*q_rank;
  const t34 = t18*t33;
  const t35 = kv_rank*t18;
  const t36 = 4*t35;
  const t37 = 2*kv_rank;
  const t38 = t18*t37;
  const t39 = t18*(heads + 1);
  const t40 = 3*rope_dim*t39;
  const t41 = 2*rope_dim;
  const t42 = t39*t41;
  const t43 = experts*t19;
  const t44 = 5*t43;
  const t45 = 2*t43;
  const t46 = per_token*t18;
  const t47 = t46*width;
  const t48 = 5*t47;
  const t49 = t13*t46;
  const t50 = t12*t46;
  const t51 = per_token*t26;
  const t52 = t26 + t51;
  const t53 = shared_width*t18;
  const t54 = 5*t53;
  const t55 = 3*t53;
  const t56 = t12*t19;
  const t57 = 6*t27;
  const t58 = 2*t18;
  const t59 = t1*t58;
  const t60 = t26 + t31;
  const t61 = t10*t34;
  const t62 = t10*t18;
  const t63 = t31 + t62;
  const t64 = t3*t58;
  const t65 = t18*t2 + t26;
  const t66 = t18*t5;
  const t67 = t12*t66;
  const t68 = t26 + t66;
  const t69 = 2*t0*t19;
  const t70 = t27 + t43;
  const t71 = t12*t47;
  const t72 = t14*width*(1 - Math.pow(1 - per_token/experts, t18));
  const t73 = t47 + t51;
  const t74 = t12*t53;
  const t75 = t26 + t53;
  const t76 = t38*t8;
  const t77 = heads*(rope_dim + t7);
  const t78 = t17*t2 + t18*t77;
  const t79 = seq + 1;
  const t80 = heads*t79;
  const t81 = t18*t80;
  const t82 = (1/2)*t81*(2*nope_dim + t41);
  const t83 = 2*t62;
  const t84 = (5/2)*t81;
  const t85 = t66*t79;
  const t86 = 2*t66;
  const t87 = tensor_inside - 1;
  const t89 = Math.ceil(t26/tensor_inside);
  const t90 = t87*t89;
  const t91 = Math.ceil(t51/tensor_inside);
  const t92 = t87*t91;
  const t93 = tensor_across - 1;
  const t95 = t93*Math.ceil(t89/tensor_across);
  const t96 = t93*Math.ceil(t91/tensor_across);
  const t97 = Math.ceil(t51/(expert_across*expert_inside*tensor));
  const t98 = 2*t97*(expert_inside - 1);
  const t99 = 2*expert_inside;
  const t100 = t99 - 2;
  const t101 = t99*(expert_across - 1);
  const t102 = t101*t97;
  const t103 = context_inside - 1;
  const t104 = Math.ceil(t17*t77/context_inside);
  const t105 = t103*t104;
  const t106 = context_across - 1;
  const t107 = t106*Math.ceil(t104/context_across);
  const t108 = t10*t17 + t62;
  const t109 = t17*t5 + t66;
  return [
    t0 + t1 + t11 + t3 + 3*t4 + t6 + t9, kv_rank + q_rank + t12, Math.ceil(t13*t14), 0, t20,
    0, t19*t22 + t21 + t23 + t25, t19*(t22 + whole_rope_dim) + 2*t21 + 2*t23 + 2*t24*(whole_nope_dim + whole_rope_dim) + t25, t24, t28,
    t12, t30, t32, q_rank, t34,
    t36, kv_rank, t38, t40, 0,
    t42, t44, 0, t45, t48,
    0, t49, t50, 0, t52,
    t54, 0, t55, t56, 0,
    t57, t59, t1, t60, t61,
    t11, t63, t64, t3, t65,
    t67, t6, t68, t69, t0,
    t70, t71, t72, t73, t71,
    t72, t73, t71, t72, t73,
    t74, t4, t75, t74, t4,
    t75, t74, t4, t75, t76,
    t9, t78, t82, 0, t83,
    t84, 0, 0, t85, 0,
    t86, t90, t87, t90, t87,
    t92, t87, t92, t87, t95,
    t93, t95, t93, t96, t93,
    t96, t93, t98, t100, t102,
    t101, t105, t103, t107, t106,
    t28, t12, t30, t32, q_rank,
    t34, t36, kv_rank, t38, t40,
    0, t42, t44, 0, t45,
    t48, 0, t49, t50, 0,
    t52, t54, 0, t55, t56,
    0, t57, t56, 0, 10*t27,
    10*t53, 0, t54, t29*t46, 0,
    t26 + t50, 10*t47, 0, t48, 10*t43,
    0, 3*t43, t40, 0, t40,
    8*t35, t37, 3*t35, 8*t31, t33,
    3*t31, 16*t27, t29, t57, t59,
    t1, t60, t61, t11, t63,
    t64, t3, t65, t67, t6,
    t68, t69, t0, t70, t71,
    t72, t73, t71, t72, t73,
    t71, t72, t73, t74, t4,
    t75, t74, t4, t75, t74,
    t4, t75, t74, t4, t75,
    t74, t4, t75, t74, t4,
    t75, t74, t4, t75, t74,
    t4, t75, t74, t4, t75,
    t71, t72, t73, t71, t72,
    t73, t71, t72, t73, t71,
    t72, t73, t71, t72, t73,
    t71, t72, t73, t69, t0,
    t70, t69, t0, t70, t67,
    t6, t68, t67, t6, t68,
    t64, t3, t65, t64, t3,
    t65, t61, t11, t63, t61,
    t11, t63, t59, t1, t60,
    t59, t1, t60, t76, t9,
    t78, t82, 0, t83, t84,
    0, 0, t85, 0, t86,
    t82, 0, t108, t85, 0,
    t109, t85, 0, t109, t58*t80,
    0, 0, t82, 0, t108,
    t82, 0, t108, t76, t9,
    t18*t8 + t35, t76, t9, (kv_rank*t17 + t17*t8)/context, t90,
    t87, t90, t87, t92, t87,
    t92, t87, t90, t87, t90,
    t87, t92, t87, t92, t87,
    t95, t93, t95, t93, t96,
    t93, t96, t93, t95, t93,
    t95, t93, t96, t93, t96,
    t93, t98, t100, t98, t100,
    t102, t101, t102, t101, t105,
    t103, t105, t103, t105, t103,
    t107, t106, t107, t106, t107,
    t106, t90, t87, t95, t93];
}
export function deepseek_v3_first(microbatch, seq, tensor, context, expert, [tensor_inside, tensor_across], [context_inside, context_across], [expert_inside, expert_across], [layers, d_model, heads, kv_heads, head_dim, d_ff, vocab, rotary_dim, experts, per_token, width, shared_width, dense_layers, q_rank, kv_rank, nope_dim, rope_dim, value_dim], [whole_layers, whole_d_model, whole_heads, whole_kv_heads, whole_head_dim, whole_d_ff, whole_vocab, whole_rotary_dim, whole_experts, whole_per_token, whole_width, whole_shared_width, whole_dense_layers, whole_q_rank, whole_kv_rank, whole_nope_dim, whole_rope_dim, whole_value_dim]) {
  const t0 = d_model*microbatch*seq/context;
  const t1 = tensor_inside - 1;
  const t2 = Math.ceil(t0/tensor_inside);
  const t3 = t1*t2;
  const t4 = tensor_across - 1;
  const t5 = t4*Math.ceil(t2/tensor_across);
  return [
    0, d_model*vocab, 0, 0, 0,
    0, 0, 0, 0, 0,
    t0, t0, t3, t1, t3,
    t1, t5, t4, t5, t4,
    0, 2*t0, t0];
}
export function deepseek_v3_last(microbatch, seq, tensor, context, expert, [tensor_inside, tensor_across], [context_inside, context_across], [expert_inside, expert_across], [layers, d_model, heads, kv_heads, head_dim, d_ff, vocab, rotary_dim, experts, per_token, width, shared_width, dense_layers, q_rank, kv_rank, nope_dim, rope_dim, value_dim], [whole_layers, whole_d_model, whole_heads, whole_kv_heads, whole_head_dim, whole_d_ff, whole_vocab, whole_rotary_dim, whole_experts, whole_per_token, whole_width, whole_shared_width, whole_dense_layers, whole_q_rank, whole_kv_rank, whole_nope_dim, whole_rope_dim, whole_value_dim]) {
  const t0 = d_model*vocab;
  const t1 = microbatch*seq/context;
  const t2 = t1/tensor;
  const t3 = t2*whole_d_model;
  const t4 = d_model*t1;
  const t5 = 2*d_model;
  const t6 = 2*t0*t1;
  const t7 = t1*vocab + t4;
  const t8 = tensor_inside - 1;
  const t9 = Math.ceil(t4/tensor_inside);
  const t10 = t8*t9;
  const t11 = tensor_across - 1;
  const t12 = t11*Math.ceil(t9/tensor_across);
  return [
    0, d_model + t0, 0, t3, t3,
    t2*whole_vocab, 0, 0, 0, 4*t4,
    d_model, t1*t5, t6, t0, t7,
    t6, t0, t7, t6, t0,
    t7, 8*t4, t5, 3*t4, t10,
    t8, t10, t8, t12, t11,
    t12, t11];
}
export const layouts = {"llama_3_1_8b_none_0":[[["elementwise",4],["products",7],["attention",3],["tensor:tensor",2],["tensor:tensor.network",2],["context:context",1],["context:context.network",1]],[["elementwise",4],["products",14],["attention",6],["tensor:tensor",2],["tensor:tensor.network",2],["sequence:tensor",1],["sequence:tensor.network",1],["context:context",2],["context:context.network",2]]],"llama_3_1_8b_full_0":[[["elementwise",4],["products",7],["attention",3],["tensor:tensor",2],["tensor:tensor.network",2],["context:context",1],["context:context.network",1]],[["elementwise",8],["products",21],["attention",9],["tensor:tensor",4],["tensor:tensor.network",4],["context:context",3],["context:context.network",3],["sequence:tensor",1],["sequence:tensor.network",1]]],"llama_3_1_8b_first":[[["elementwise",1],["tensor:tensor",2],["tensor:tensor.network",2]],[["elementwise",1]]],"llama_3_1_8b_last":[[["elementwise",1],["logits",1]],[["logits",2],["elementwise",1],["tensor:tensor",2],["tensor:tensor.network",2]]],"mixtral_8x7b_none_0":[[["elementwise",6],["products",8],["attention",3],["tensor:tensor",4],["tensor:tensor.network",4],["expert:expert",1],["expert:expert.network",1],["context:context",1],["context:context.network",1]],[["elementwise",6],["products",16],["attention",6],["tensor:tensor",4],["tensor:tensor.network",4],["sequence:tensor",1],["sequence:tensor.network",1],["expert:expert",1],["expert:expert.network",1],["context:context",2],["context:context.network",2]]],"mixtral_8x7b_full_0":[[["elementwise",6],["products",8],["attention",3],["tensor:tensor",4],["tensor:tensor.network",4],["expert:expert",1],["expert:expert.network",1],["context:context",1],["context:context.network",1]],[["elementwise",12],["products",24],["attention",9],["tensor:tensor",8],["tensor:tensor.network",8],["expert:expert",2],["expert:expert.network",2],["context:context",3],["context:context.network",3],["sequence:tensor",1],["sequence:tensor.network",1]]],"mixtral_8x7b_first":[[["elementwise",1],["tensor:tensor",2],["tensor:tensor.network",2]],[["elementwise",1]]],"mixtral_8x7b_last":[[["elementwise",1],["logits",1]],[["logits",2],["elementwise",1],["tensor:tensor",2],["tensor:tensor.network",2]]],"qwen3_30b_a3b_none_0":[[["elementwise",7],["products",8],["attention",3],["tensor:tensor",4],["tensor:tensor.network",4],["expert:expert",1],["expert:expert.network",1],["context:context",1],["context:context.network",1]],[["elementwise",7],["products",16],["attention",6],["tensor:tensor",4],["tensor:tensor.network",4],["sequence:tensor",1],["sequence:tensor.network",1],["expert:expert",1],["expert:expert.network",1],["context:context",2],["context:context.network",2]]],"qwen3_30b_a3b_full_0":[[["elementwise",7],["products",8],["attention",3],["tensor:tensor",4],["tensor:tensor.network",4],["expert:expert",1],["expert:expert.network",1],["context:context",1],["context:context.network",1]],[["elementwise",14],["products",24],["attention",9],["tensor:tensor",8],["tensor:tensor.network",8],["expert:expert",2],["expert:expert.network",2],["context:context",3],["context:context.network",3],["sequence:tensor",1],["sequence:tensor.network",1]]],"qwen3_30b_a3b_first":[[["elementwise",1],["tensor:tensor",2],["tensor:tensor.network",2]],[["elementwise",1]]],"qwen3_30b_a3b_last":[[["elementwise",1],["logits",1]],[["logits",2],["elementwise",1],["tensor:tensor",2],["tensor:tensor.network",2]]],"deepseek_v3_none_0":[[["elementwise",6],["products",7],["attention",4],["tensor:tensor",2],["tensor:tensor.network",2],["context:context",1],["context:context.network",1]],[["elementwise",6],["products",14],["attention",8],["tensor:tensor",2],["tensor:tensor.network",2],["sequence:tensor",1],["sequence:tensor.network",1],["context:context",2],["context:context.network",2]]],"deepseek_v3_none_1":[[["elementwise",9],["products",11],["attention",4],["tensor:tensor",4],["tensor:tensor.network",4],["expert:expert",1],["expert:expert.network",1],["context:context",1],["context:context.network",1]],[["elementwise",9],["products",22],["attention",8],["tensor:tensor",4],["tensor:tensor.network",4],["sequence:tensor",1],["sequence:tensor.network",1],["expert:expert",1],["expert:expert.network",1],["context:context",2],["context:context.network",2]]],"deepseek_v3_full_0":[[["elementwise",6],["products",7],["attention",4],["tensor:tensor",2],["tensor:tensor.network",2],["context:context",1],["context:context.network",1]],[["elementwise",12],["products",21],["attention",12],["tensor:tensor",4],["tensor:tensor.network",4],["context:context",3],["context:context.network",3],["sequence:tensor",1],["sequence:tensor.network",1]]],"deepseek_v3_full_1":[[["elementwise",9],["products",11],["attention",4],["tensor:tensor",4],["tensor:tensor.network",4],["expert:expert",1],["expert:expert.network",1],["context:context",1],["context:context.network",1]],[["elementwise",18],["products",33],["attention",12],["tensor:tensor",8],["tensor:tensor.network",8],["expert:expert",2],["expert:expert.network",2],["context:context",3],["context:context.network",3],["sequence:tensor",1],["sequence:tensor.network",1]]],"deepseek_v3_first":[[["elementwise",1],["tensor:tensor",2],["tensor:tensor.network",2]],[["elementwise",1]]],"deepseek_v3_last":[[["elementwise",1],["logits",1]],[["logits",2],["elementwise",1],["tensor:tensor",2],["tensor:tensor.network",2]]]};
export const pieces = {llama_3_1_8b_none_0, llama_3_1_8b_full_0, llama_3_1_8b_first, llama_3_1_8b_last, mixtral_8x7b_none_0, mixtral_8x7b_full_0, mixtral_8x7b_first, mixtral_8x7b_last, qwen3_30b_a3b_none_0, qwen3_30b_a3b_full_0, qwen3_30b_a3b_first, qwen3_30b_a3b_last, deepseek_v3_none_0, deepseek_v3_none_1, deepseek_v3_full_0, deepseek_v3_full_1, deepseek_v3_first, deepseek_v3_last};
export function all_reduce(size, inside, across) {
  const t0 = 2*inside - 2;
  const t1 = Math.ceil(size/inside);
  const t2 = 2*across - 2;
  return [
    t0*t1, t0, t2*Math.ceil(t1/across), t2];
}
export function reduce_scatter(size, inside, across) {
  const t0 = inside - 1;
  const t1 = Math.ceil(size/inside);
  const t2 = across - 1;
  return [
    t0*t1, t0, t2*Math.ceil(t1/across), t2];
}
export function all_gather(size, inside, across) {
  const t0 = inside - 1;
  const t1 = Math.ceil(size/inside);
  const t2 = across - 1;
  return [
    t0*t1, t0, t2*Math.ceil(t1/across), t2];
}
export function flops_llama_3_1_8b(seq) {
  const t0 = seq + 57257;
  return [
    786432*t0, 1, (4/3)*(seq + 56255)/t0];
}
export function flops_llama_3_1_70b(seq) {
  const t0 = 5*seq;
  const t1 = t0 + 530261;
  return [
    786432*t1, 1, (4/3)*(t0 + 528257)/t1];
}
export function flops_llama_3_1_405b(seq) {
  const t0 = 21*seq + 4107157;
  return [
    589824*t0, 1, 4*(7*seq + 1367271)/t0];
}
export function flops_llama_2_7b(seq) {
  const t0 = seq + 50409;
  return [
    786432*t0, 1, (4/3)*(seq + 50159)/t0];
}
export function flops_mixtral_8x7b(seq) {
  const t0 = seq + 97265;
  return [
    786432*t0, 1, (4/3)*(seq + 97015)/t0];
}
export function flops_mixtral_8x22b(seq) {
  const t0 = 7*seq;
  const t1 = t0 + 792543;
  return [
    294912*t1, 1, (4/3)*(t0 + 791543)/t1];
}
export function flops_qwen3_30b_a3b(seq) {
  const t0 = 3*seq + 46415;
  return [
    393216*t0, 1, 4*(seq + 15076)/t0];
}
export function flops_qwen3_235b_a22b(seq) {
  const t0 = 47*seq;
  const t1 = t0 + 1316431;
  return [
    98304*t1, 1, (4/3)*(t0 + 1306935)/t1];
}
export function flops_deepseek_v3(seq) {
  const t0 = 305*seq;
  const t1 = t0 + 8941857;
  return [
    24576*t1, 1, (4/3)*(t0 + 8885297)/t1];
}
export const flops = {flops_llama_3_1_8b, flops_llama_3_1_70b, flops_llama_3_1_405b, flops_llama_2_7b, flops_mixtral_8x7b, flops_mixtral_8x22b, flops_qwen3_30b_a3b, flops_qwen3_235b_a22b, flops_deepseek_v3};
export const models = [{"name":"llama-3.1-8b","family":"llama_3_1_8b","params":8030261248,"d_model":4096,"layers":[32],"experts":0,"whole":[32,4096,32,8,128,14336,128256,128],"shares":{"1":[32,4096,32,8,128,14336,128256,128],"2":[32,4096,16,4,128,7168,64128,128],"4":[32,4096,8,2,128,3584,32064,128],"8":[32,4096,4,1,128,1792,16032,128],"16":[32,4096,2,1,128,896,8016,128],"32":[32,4096,1,1,128,448,4008,128]},"flops":"flops_llama_3_1_8b"},{"name":"llama-3.1-70b","family":"llama_3_1_8b","params":70553706496,"d_model":8192,"layers":[80],"experts":0,"whole":[80,8192,64,8,128,28672,128256,128],"shares":{"1":[80,8192,64,8,128,28672,128256,128],"2":[80,8192,32,4,128,14336,64128,128],"4":[80,8192,16,2,128,7168,32064,128],"8":[80,8192,8,1,128,3584,16032,128],"16":[80,8192,4,1,128,1792,8016,128],"32":[80,8192,2,1,128,896,4008,128],"64":[80,8192,1,1,128,448,2004,128]},"flops":"flops_llama_3_1_70b"},{"name":"llama-3.1-405b","family":"llama_3_1_8b","params":405853388800,"d_model":16384,"layers":[126],"experts":0,"whole":[126,16384,128,8,128,53248,128256,128],"shares":{"1":[126,16384,128,8,128,53248,128256,128],"2":[126,16384,64,4,128,26624,64128,128],"4":[126,16384,32,2,128,13312,32064,128],"8":[126,16384,16,1,128,6656,16032,128],"16":[126,16384,8,1,128,3328,8016,128],"32":[126,16384,4,1,128,1664,4008,128],"64":[126,16384,2,1,128,832,2004,128]},"flops":"flops_llama_3_1_405b"},{"name":"llama-2-7b","family":"llama_3_1_8b","params":6738415616,"d_model":4096,"layers":[32],"experts":0,"whole":[32,4096,32,32,128,11008,32000,128],"shares":{"1":[32,4096,32,32,128,11008,32000,128],"2":[32,4096,16,16,128,5504,16000,128],"4":[32,4096,8,8,128,2752,8000,128],"8":[32,4096,4,4,128,1376,4000,128],"16":[32,4096,2,2,128,688,2000,128],"32":[32,4096,1,1,128,344,1000,128]},"flops":"flops_llama_2_7b"},{"name":"mixtral-8x7b","family":"mixtral_8x7b","params":46702792704,"d_model":4096,"layers":[32],"experts":8,"whole":[32,4096,32,8,128,14336,32000,128,8,2,14336],"shares":{"1":[32,4096,32,8,128,14336,32000,128,8,2,14336],"2":[32,4096,16,4,128,7168,16000,128,8,2,7168],"4":[32,4096,8,2,128,3584,8000,128,8,2,3584],"8":[32,4096,4,1,128,1792,4000,128,8,2,1792],"16":[32,4096,2,1,128,896,2000,128,8,2,896],"32":[32,4096,1,1,128,448,1000,128,8,2,448]},"flops":"flops_mixtral_8x7b"},{"name":"mixtral-8x22b","family":"mixtral_8x7b","params":140620634112,"d_model":6144,"layers":[56],"experts":8,"whole":[56,6144,48,8,128,16384,32000,128,8,2,16384],"shares":{"1":[56,6144,48,8,128,16384,32000,128,8,2,16384],"2":[56,6144,24,4,128,8192,16000,128,8,2,8192],"4":[56,6144,12,2,128,4096,8000,128,8,2,4096],"8":[56,6144,6,1,128,2048,4000,128,8,2,2048],"16":[56,6144,3,1,128,1024,2000,128,8,2,1024]},"flops":"flops_mixtral_8x22b"},{"name":"qwen3-30b-a3b","family":"qwen3_30b_a3b","params":30532122624,"d_model":2048,"layers":[48],"experts":128,"whole":[48,2048,32,4,128,768,151936,128,128,8,768],"shares":{"1":[48,2048,32,4,128,768,151936,128,128,8,768],"2":[48,2048,16,2,128,384,75968,128,128,8,384],"4":[48,2048,8,1,128,192,37984,128,128,8,192],"8":[48,2048,4,1,128,96,18992,128,128,8,96],"16":[48,2048,2,1,128,48,9496,128,128,8,48],"32":[48,2048,1,1,128,24,4748,128,128,8,24]},"flops":"flops_qwen3_30b_a3b"},{"name":"qwen3-235b-a22b","family":"qwen3_30b_a3b","params":235093634560,"d_model":4096,"layers":[94],"experts":128,"whole":[94,4096,64,4,128,1536,151936,128,128,8,1536],"shares":{"1":[94,4096,64,4,128,1536,151936,128,128,8,1536],"2":[94,4096,32,2,128,768,75968,128,128,8,768],"4":[94,4096,16,1,128,384,37984,128,128,8,384],"8":[94,4096,8,1,128,192,18992,128,128,8,192],"16":[94,4096,4,1,128,96,9496,128,128,8,96],"32":[94,4096,2,1,128,48,4748,128,128,8,48],"64":[94,4096,1,1,128,24,2374,128,128,8,24]},"flops":"flops_qwen3_235b_a22b"},{"name":"deepseek-v3","family":"deepseek_v3","params":671026404352,"d_model":7168,"layers":[3,58],"experts":256,"whole":[61,7168,128,128,192,18432,129280,64,256,8,2048,2048,3,1536,512,128,64,128],"shares":{"1":[61,7168,128,128,192,18432,129280,64,256,8,2048,2048,3,1536,512,128,64,128],"2":[61,7168,64,64,192,9216,64640,64,256,8,1024,1024,3,1536,512,128,64,128],"4":[61,7168,32,32,192,4608,32320,64,256,8,512,512,3,1536,512,128,64,128],"8":[61,7168,16,16,192,2304,16160,64,256,8,256,256,3,1536,512,128,64,128],"16":[61,7168,8,8,192,1152,8080,64,256,8,128,128,3,1536,512,128,64,128],"32":[61,7168,4,4,192,576,4040,64,256,8,64,64,3,1536,512,128,64,128],"64":[61,7168,2,2,192,288,2020,64,256,8,32,32,3,1536,512,128,64,128]},"flops":"flops_deepseek_v3"}];
export const nodes = [{"name":"DGX-A100","device":"A100-80GB","devices":8,"all":8,"rates":{"sixteen":312000000000000},"memory":2039000000000,"usable":77309411328,"links":{"node":[300000000000,3.1e-06],"network":[25000000000,3.1e-06]}},{"name":"DGX-H100","device":"H100-SXM","devices":8,"all":8,"rates":{"sixteen":989400000000000,"fp8":1978900000000000},"memory":3350000000000,"usable":77309411328,"links":{"node":[450000000000,3.1e-06],"network":[50000000000,3.1e-06]}},{"name":"DGX-H200","device":"H200","devices":8,"all":8,"rates":{"sixteen":989500000000000,"fp8":1979000000000000},"memory":4800000000000,"usable":136257837466,"links":{"node":[450000000000,3.1e-06],"network":[50000000000,3.1e-06]}},{"name":"DGX-B200","device":"B200","devices":8,"all":8,"rates":{"sixteen":2250000000000000,"fp8":4500000000000000},"memory":8000000000000,"usable":173946175488,"links":{"node":[900000000000,3.1e-06],"network":[50000000000,3.1e-06]}},{"name":"DGX-B300","device":"B300","devices":8,"all":8,"rates":{"sixteen":2250000000000000,"fp8":4500000000000000},"memory":7750000000000,"usable":259560308736,"links":{"node":[900000000000,3.1e-06],"network":[100000000000,3.1e-06]}},{"name":"GB200-NVL72","device":"GB200","devices":64,"all":72,"rates":{"sixteen":2500000000000000,"fp8":5000000000000000},"memory":8000000000000,"usable":178807268967,"links":{"node":[900000000000,3.1e-06],"network":[50000000000,3.1e-06]}},{"name":"GB300-NVL72","device":"GB300","devices":64,"all":72,"rates":{"sixteen":2500000000000000,"fp8":5000000000000000},"memory":8000000000000,"usable":268212319028,"links":{"node":[900000000000,3.1e-06],"network":[100000000000,3.1e-06]}}];
export const recipes = {"bf16":{"matrices":{"weights":2,"gradients":2,"optimizer":12},"others":{"weights":2,"gradients":2,"optimizer":12},"kept":[2.0,2.0,4.0],"compute":"sixteen"},"bf16-fp32-grads":{"matrices":{"weights":2,"gradients":4,"optimizer":12},"others":{"weights":2,"gradients":4,"optimizer":12},"kept":[2.0,2.0,4.0],"compute":"sixteen"},"fp8":{"matrices":{"weights":1.000244140625,"gradients":4,"optimizer":8},"others":{"weights":2,"gradients":4,"optimizer":8},"kept":[1.03125,2.0,4.0],"compute":"fp8"},"adam-8bit":{"matrices":{"weights":2,"gradients":2,"optimizer":6.03125},"others":{"weights":2,"gradients":2,"optimizer":6.03125},"kept":[2.0,2.0,4.0],"compute":"sixteen"}};
export const hides = {"tensor":0.0,"sequence":1.0,"context":1.0,"expert":0.0,"pipeline":0.0,"data":1.0};
