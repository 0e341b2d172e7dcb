// Made from costlib by `make sync`: never edit this.
import { Ellipsis as $Ellipsis, KeyError as $KeyError, NotImplemented as $NotImplemented, OverflowError as $OverflowError, RecursionError as $RecursionError, TypeError as $TypeError, ValueError as $ValueError, abc_Mapping as $abc_Mapping, abs as $abs, absent as $absent, add as $add, all as $all, and as $and, any as $any, at as $at, bool as $bool, both as $both, cache as $cache, call as $call, called as $called, caught as $caught, class as $class, dict as $dict, dict_fromkeys as $dict_fromkeys, difflib_get_close_matches as $difflib_get_close_matches, div as $div, divmod as $divmod, either as $either, enumerate as $enumerate, eq as $eq, fields as $fields, filter as $filter, float as $float, floordiv as $floordiv, format as $format, frozenset as $frozenset, ge as $ge, getattr as $getattr, gt as $gt, has as $has, hasattr as $hasattr, hash as $hash, iadd as $iadd, int as $int, ior as $ior, is_dataclass as $is_dataclass, isinstance as $isinstance, iter as $iter, itertools_product as $itertools_product, json_JSONDecodeError as $json_JSONDecodeError, json_loads as $json_loads, le as $le, len as $len, list as $list, lru_cache as $lru_cache, lt as $lt, map as $map, math_inf as $math_inf, math_isqrt as $math_isqrt, max as $max, min as $min, mod as $mod, mul as $mul, next as $next, numpy_all as $numpy_all, numpy_asarray as $numpy_asarray, numpy_isfinite as $numpy_isfinite, numpy_isin as $numpy_isin, object as $object, object___setattr__ as $object___setattr__, once as $once, or as $or, part as $part, partial as $partial, pow as $pow, put as $put, range as $range, re_compile as $re_compile, re_error as $re_error, re_escape as $re_escape, re_findall as $re_findall, reduce as $reduce, replace as $replace, repr as $repr, round as $round, set as $set, signed as $signed, slice as $slice, sorted as $sorted, spread as $spread, str as $str, str_casefold as $str_casefold, str_endswith as $str_endswith, str_is_integer as $str_is_integer, str_isdecimal as $str_isdecimal, str_join as $str_join, str_lower as $str_lower, str_lstrip as $str_lstrip, str_partition as $str_partition, str_replace as $str_replace, str_rpartition as $str_rpartition, str_split as $str_split, str_startswith as $str_startswith, str_strip as $str_strip, sub as $sub, sum as $sum, truth as $truth, tuple as $tuple, type as $type, types_MappingProxyType as $types_MappingProxyType, zip as $zip } from "../python.js";
import { catalogue as $catalogue } from "../catalogues.js";
$signed(layers_feed$mlp_steps, "name d_in width d_out / gated activation bias=");
$signed(model_families_config$parsed, "text where=");
$signed(model_families_family$family, "model_type architecture / wrapped_by= **facts");
$signed(model_families_readers$experts, "c name / width= chosen= shared= default= **more");
$signed(model_families_readers$grouped, "c / one_each= or_one_each= needs_head_dim= **more");
$signed(serving_answers$answer, "model device / tensor= pipeline= expert= data= latency= batch= context= prompt= precision= price_per_hour= watts=");
$signed(units_messages$collective, "does elements / inside= across= axis count= name= kind=");
$signed(units_precision$precision_of, "value");
let units_numbers$MOST;
units_numbers$MOST = $pow(10, 30);
let units_numbers$_WANTED;
units_numbers$_WANTED = "a whole number, an array of whole numbers or a SymPy symbol";
function units_numbers$size(name, value, least = 1) {
if (($type(value) === $int)) {
if (!($le(least, value) && $le(value, units_numbers$MOST))) {
throw new $ValueError().__init__([units_numbers$_beyond(name, value, least)]);
}
return value;
}
if ($isinstance(value, [$bool])) {
throw new $TypeError().__init__([`${$str(name)} must be ${$str(units_numbers$_WANTED)}, got the truth value ${$str(value)}`]);
}
if ($isinstance(value, [$int])) {
return units_numbers$size(name, $int(value), least);
}
if ($isinstance(value, [$float])) {
return units_numbers$size(name, units_numbers$whole(name, $float(value)), least);
}
if ($hasattr(value, "dtype") && $hasattr(value, "astype")) {
return $absent("costlib.units.numbers._array_size")(name, value, least);
}
throw new $TypeError().__init__([`${$str(name)} must be ${$str(units_numbers$_WANTED)}, got ${$str(units_numbers$_shown(value))}${$str(units_numbers$_hint(value))}`]);
}
function units_numbers$_beyond(name, value, least) {
if ($lt(value, least)) {
return `${$str(name)} must be at least ${$str(least)}, got ${$str(value)}`;
}
return `${$str(name)} must be at most 1e30, got a larger whole number`;
}
function units_numbers$amount(name, value, least = null) {
let is_plain, entries, fits, wanted;
is_plain = $has([$int, $float], $type(value));
if (($type(value) === $int) && $gt(value, units_numbers$MOST)) {
throw new $ValueError().__init__([units_numbers$_beyond(name, value, 0)]);
}
entries = ($truth(is_plain) ? $float(value) : units_numbers$_entries(name, value));
fits = ((least === null) ? $gt(entries, 0) : $ge(entries, least));
if (!$bool($numpy_all($and(fits, $numpy_isfinite(entries))))) {
wanted = ((least === null) ? "more than 0" : `at least ${$str(least)}`);
throw new $ValueError().__init__([`${$str(name)} must be ${$str(wanted)} and finite, got ${$str(value)}`]);
}
return value;
}
function units_numbers$whole(name, value) {
let low;
if (!$truth($numpy_isfinite(value))) {
throw new $ValueError().__init__([`${$str(name)} must be a finite whole number, got ${$str(value)}`]);
}
if (!$eq(value, $int(value))) {
low = $int($floordiv(value, 1));
throw new $ValueError().__init__([`${$str(name)} must be a whole number, got ${$str(value)}: did you mean ${$str(low)} or ${$str($add(low, 1))}?`]);
}
return $int(value);
}
function units_numbers$choose(name, value, among) {
if (!$has(among, value)) {
throw new $ValueError().__init__([`${$str(name)} must be ${$str($str_join(" or ", $map($repr, [among])))}, got ${$format($repr(value), `.200`)}`]);
}
}
function units_numbers$is_zero(value) {
return ($has([$int, $float], $type(value)) && $bool($eq(value, 0)));
}
function units_numbers$minimum(a, b) {
return units_numbers$_pick(a, b, "minimum", $min, "Min");
}
function units_numbers$unwrappable(value) {
let kind, is_narrow;
kind = $getattr($getattr(value, "dtype", null), "kind", "");
is_narrow = ($has(["i", "u"], kind) || ((kind === "f") && $lt(value.dtype.itemsize, 8)));
return ($truth(is_narrow) ? value.astype($float) : value);
}
function units_numbers$maximum(a, b) {
return units_numbers$_pick(a, b, "maximum", $max, "Max");
}
function units_numbers$ceil_div(a, b) {
return (-$floordiv((-a), b));
}
function units_numbers$exact_div(a, b) {
let quotient, rest, holds_ints;
if ($isinstance(a, [$int]) && $isinstance(b, [$int])) {
[quotient, rest] = $divmod(a, b);
if ($truth(rest)) {
throw new $ValueError().__init__([`${$str(a)} is not a multiple of ${$str(b)}`]);
}
return quotient;
}
holds_ints = ($getattr($getattr(a, "dtype", null), "kind", "") === "O");
return ($truth(holds_ints) ? $floordiv(a, b) : $div(a, b));
}
function units_numbers$triangle(n) {
return units_numbers$exact_div($mul(n, $add(n, 1)), 2);
}
function units_numbers$square_root(value) {
return $pow(value, 0.5);
}
function units_numbers$where(condition, yes, no) {
if ($isinstance(condition, [$bool])) {
return ($truth(condition) ? yes : no);
}
return $absent("costlib.units.numbers._namespace")([condition, yes, no]).where(condition, yes, no);
}
function units_numbers$certain(condition) {
let entries;
if ($isinstance(condition, [$bool])) {
return $bool(condition);
}
entries = $numpy_asarray(condition);
return ($truth(entries.all()) ? true : ($truth(entries.any()) ? null : false));
}
function units_numbers$divides(divisor, value) {
return $bool($numpy_all($eq($mod(value, divisor), 0)));
}
function units_numbers$_pick(a, b, array_name, plain, symbolic_name) {
if ($isinstance(a, [$int, $float]) && $isinstance(b, [$int, $float])) {
return $call(plain, [a, b], null);
}
return $call($getattr($absent("costlib.units.numbers._namespace")([a, b]), array_name), [a, b], null);
}
function units_numbers$_entries(name, value) {
let entries;
entries = $numpy_asarray(value);
if (!$has("iuf", entries.dtype.kind)) {
throw new $TypeError().__init__([`${$str(name)} must be a number, got ${$str(units_numbers$_shown(value))}${$str(units_numbers$_hint(value))}`]);
}
return entries;
}
function units_numbers$_shown(value) {
let text;
text = $repr(value);
return `${$str(($le($len(text), 40) ? text : $add($part(text, null, 37, null), "...")))} (${$str($called($type(value)))})`;
}
function units_numbers$_hint(value) {
return ($isinstance(value, [$list, $tuple, $range]) ? ": pass np.array(...)" : "");
}
let units_display$_SI;
units_display$_SI = ["", "k", "M", "G", "T", "P", "E", "Z", "Y"];
let units_display$_SMALL;
units_display$_SMALL = ["", "m", "µ", "n", "p"];
function units_display$quantity(value, unit = "", digits = 4) {
let power;
value = $float(value);
if (($lt(0, $abs(value)) && $lt($abs(value), 1))) {
power = $next((function* () { for (const p of $range(1, 4)) if ($ge($mul($abs(value), $pow(1000, p)), 1)) yield p; })(), 4);
return `${$format($mul(value, $pow(1000, power)), `.${$str(digits)}g`)} ${$str($at(units_display$_SMALL, power))}${$str(unit)}`;
}
power = 0;
while ($ge($abs($float(`${$format(value, `.${$str(digits)}g`)}`)), 1000) && $lt(power, $sub($len(units_display$_SI), 1))) {
[value, power] = [$div(value, 1000), $add(power, 1)];
}
return $str_strip(`${$format(value, `.${$str(digits)}g`)} ${$str($at(units_display$_SI, power))}${$str(unit)}`);
}
function units_precision$grouped(bits, group, scale_bits, zero_bits = 0) {
return $div($add(bits, $div($add(scale_bits, zero_bits), group)), 8);
}
let units_precision$FORMATS = $dict([["fp64", 8], ["fp32", 4], ["tf32", 4], ["bf16", 2], ["fp16", 2], ["fp8", 1], ["int8", 1], ["fp6", 0.75], ["fp4", 0.5], ["int4", units_precision$grouped(4, 128, 16)], ["nf4", units_precision$grouped(4, 64, $add(8, $div(32, 256)))], ["mxfp8", units_precision$grouped(8, 32, 8)], ["mxfp6", units_precision$grouped(6, 32, 8)], ["mxfp4", units_precision$grouped(4, 32, 8)], ["nvfp4", units_precision$grouped(4, 16, 8)]]);
let units_precision$SIXTEEN_BITS;
units_precision$SIXTEEN_BITS = ["bf16", "fp16", "tf32", "fp32"];
let units_precision$KINDS;
units_precision$KINDS = ["weights", "activations", "kv", "scores"];
class units_precision$Precision extends $object {
__post_init__() {
const self = this;
let kind, text;
for (kind of units_precision$KINDS) {
self[kind] = units_precision$_bytes(kind, $getattr(self, kind));
}
if (!($isinstance(self.by_step, [$tuple]) && $all((function* () { for (const each of self.by_step) yield ($isinstance(each, [$tuple]) && $eq($len(each), 2)); })()))) {
text = `by_step must be pairs of a step's name and bytes, got ${$format($repr(self.by_step), `.200`)}`;
throw new $TypeError().__init__([text]);
}
self._weights_in = $dict([["", self.weights], ...$dict(self.by_step, $dict([])).items()]);
if (!((self.compute === null) || $isinstance(self.compute, [$str]))) {
text = `compute must be a number format such as 'fp8', got ${$repr(self.compute)}`;
throw new $TypeError().__init__([text]);
}
}
static uniform(bytes_per_element, compute = null) {
const cls = this;
let each;
each = $dict_fromkeys(units_precision$KINDS, bytes_per_element);
return $call(cls, [], $dict([...each.items(), ["compute", compute]]));
}
with_(changes) {
const self = this;
changes = ($has(changes, "weights") ? $dict([["by_step", []], ...changes.items()]) : changes);
return $replace(self, $dict([...changes.items()]));
}
__init__(weights = 2, activations = 2, kv = 2, scores = 2, compute = null, by_step = []) {
this.weights = weights;
this.activations = activations;
this.kv = kv;
this.scores = scores;
this.compute = compute;
this.by_step = by_step;
this.__post_init__();
return this;
}
weights_in(step) {
const self = this;
return ($truth(self.by_step) ? self._weights_in.get(step, $at(self._weights_in, "")) : self.weights);
}
}
$class(units_precision$Precision, "Precision", "weights activations kv scores compute by_step^ _weights_in!^~", "/ weights= activations= kv= scores= compute= by_step=");
$signed(units_precision$Precision.prototype.with_, "/ **changes");
function units_precision$_bytes(kind, value) {
let known, is_array;
if ($isinstance(value, [$str])) {
if (!$has(units_precision$FORMATS, value)) {
known = $str_join(", ", units_precision$FORMATS);
throw new $ValueError().__init__([`${$str(kind)} must be bytes per element or one of ${$str(known)}, got ${$format($repr(value), `.200`)}`]);
}
return $at(units_precision$FORMATS, value);
}
is_array = false;
if ($isinstance(value, [$bool]) || !($truth(is_array) || $isinstance(value, [$int, $float]))) {
throw new $TypeError().__init__([`${$str(kind)} must be a number of bytes per element, got ${$repr(value)}`]);
}
if (!$truth($numpy_all($and($gt($numpy_asarray(value), 0), $numpy_isfinite(value))))) {
throw new $ValueError().__init__([`${$str(kind)} must be a positive number of bytes per element, got ${$str(value)}`]);
}
return ($has([$int, $float], $type(value)) ? value : $mul(value, 1.0));
}
function units_precision$_both(name, compute) {
return new units_precision$Precision().__init__(name, name, name, void 0, compute);
}
let units_precision$RECIPES = $dict([["fp32", units_precision$Precision.uniform(4, "fp32")], ["tf32", units_precision$Precision.uniform(4, "tf32")], ["bf16", new units_precision$Precision().__init__(void 0, void 0, void 0, void 0, "bf16")], ["fp16", new units_precision$Precision().__init__(void 0, void 0, void 0, void 0, "fp16")], ["fp8", units_precision$_both("fp8", "fp8")], ["int8", units_precision$_both("int8", "int8")], ["mxfp8", units_precision$_both("mxfp8", "fp8")], ["mxfp6", units_precision$_both("mxfp6", "fp6")], ["nvfp4", new units_precision$Precision().__init__("nvfp4", "nvfp4", "fp8", void 0, "fp4")], ["int4", new units_precision$Precision().__init__("int4")], ["nf4", new units_precision$Precision().__init__("nf4")], ["mxfp4", new units_precision$Precision().__init__("mxfp4")]]);
let units_precision$DEFAULT;
units_precision$DEFAULT = new units_precision$Precision().__init__();
function units_precision$precision_of(value) {
let kind, known;
if (($type(value) === units_precision$Precision)) {
return value;
}
if ((value === null)) {
return units_precision$DEFAULT;
}
if ($isinstance(value, [$str]) && $has(units_precision$RECIPES, value)) {
return $at(units_precision$RECIPES, value);
}
kind = ($isinstance(value, [$str]) ? $ValueError : $TypeError);
known = $str_join(", ", units_precision$RECIPES);
throw $call(kind, [`precision must be a Precision or one of ${$str(known)}, got ${$format($repr(value), `.200`)}`], null);
}
let units_ledger$_PLAIN;
units_ledger$_PLAIN = $frozenset($set([$int, $float]));
let units_ledger$_ZERO;
units_ledger$_ZERO = 0;
class units_ledger$Elements extends $object {
__init__(weights = 0, activations = 0, kv = 0, scores = 0) {
const self = this;
units_ledger$_put_weights(self, ($has(units_ledger$_PLAIN, $type(weights)) ? weights : units_numbers$unwrappable(weights)));
units_ledger$_put_activations(self, ($has(units_ledger$_PLAIN, $type(activations)) ? activations : units_numbers$unwrappable(activations)));
units_ledger$_put_kv(self, ($has(units_ledger$_PLAIN, $type(kv)) ? kv : units_numbers$unwrappable(kv)));
units_ledger$_put_scores(self, ($has(units_ledger$_PLAIN, $type(scores)) ? scores : units_numbers$unwrappable(scores)));
return this;
}
get total() {
const self = this;
return units_ledger$_sum([self.weights, self.activations, self.kv, self.scores]);
}
bytes(precision = null, weights = null) {
const self = this;
let each, total, moved;
each = (($type(precision) === units_precision$Precision) ? precision : units_precision$precision_of(precision));
total = 0;
if ((self.weights !== units_ledger$_ZERO)) {
total = $mul(self.weights, ((weights === null) ? each.weights : weights));
}
if ((self.activations !== units_ledger$_ZERO)) {
moved = $mul(self.activations, each.activations);
total = ((total === units_ledger$_ZERO) ? moved : $add(total, moved));
}
if ((self.kv !== units_ledger$_ZERO)) {
moved = $mul(self.kv, each.kv);
total = ((total === units_ledger$_ZERO) ? moved : $add(total, moved));
}
if ((self.scores !== units_ledger$_ZERO)) {
moved = $mul(self.scores, each.scores);
total = ((total === units_ledger$_ZERO) ? moved : $add(total, moved));
}
return total;
}
__add__(other) {
const self = this;
return new units_ledger$Elements().__init__(units_ledger$_plus(self.weights, other.weights), units_ledger$_plus(self.activations, other.activations), units_ledger$_plus(self.kv, other.kv), units_ledger$_plus(self.scores, other.scores));
}
__mul__(times) {
const self = this;
return new units_ledger$Elements().__init__(units_ledger$_times(self.weights, times), units_ledger$_times(self.activations, times), units_ledger$_times(self.kv, times), units_ledger$_times(self.scores, times));
}
}
$class(units_ledger$Elements, "Elements", "weights activations kv scores", "weights= activations= kv= scores=");
units_ledger$Elements.prototype.__rmul__ = units_ledger$Elements.prototype.__mul__;
let units_ledger$_put_weights;
units_ledger$_put_weights = (x, value) => { x.weights = value; };
let units_ledger$_put_activations;
units_ledger$_put_activations = (x, value) => { x.activations = value; };
let units_ledger$_put_kv;
units_ledger$_put_kv = (x, value) => { x.kv = value; };
let units_ledger$_put_scores;
units_ledger$_put_scores = (x, value) => { x.scores = value; };
let units_ledger$NOTHING;
units_ledger$NOTHING = new units_ledger$Elements().__init__();
class units_ledger$_Cost extends $object {
get reads() {
const self = this;
return self.elements_read.total;
}
get writes() {
const self = this;
return self.elements_written.total;
}
get elements() {
const self = this;
return units_ledger$_plus(self.reads, self.writes);
}
bytes(precision = null) {
const self = this;
let read, written;
[read, written] = [self.elements_read.bytes(precision), self.elements_written.bytes(precision)];
return ((written === units_ledger$_ZERO) ? read : units_ledger$_plus(read, written));
}
bytes_sent(precision = null) {
const self = this;
return self.elements_sent.bytes(precision);
}
get sends() {
const self = this;
return self.elements_sent.total;
}
}
$class(units_ledger$_Cost, "_Cost", "", "/");
class units_ledger$Op extends units_ledger$_Cost {
__init__(name, flops, elements_read = units_ledger$NOTHING, elements_written = units_ledger$NOTHING, is_matmul = false, count = 1, elements_sent = units_ledger$NOTHING, axis = "", rounds = 0) {
const self = this;
units_ledger$_put_name(self, name);
units_ledger$_put_flops(self, ($has(units_ledger$_PLAIN, $type(flops)) ? flops : units_numbers$unwrappable(flops)));
units_ledger$_put_read(self, elements_read);
units_ledger$_put_written(self, elements_written);
units_ledger$_put_is_matmul(self, is_matmul);
units_ledger$_put_count(self, ($has(units_ledger$_PLAIN, $type(count)) ? count : units_numbers$unwrappable(count)));
units_ledger$_put_sent(self, elements_sent);
units_ledger$_put_axis(self, axis);
units_ledger$_put_rounds(self, ($has(units_ledger$_PLAIN, $type(rounds)) ? rounds : units_numbers$unwrappable(rounds)));
if ((elements_sent !== units_ledger$NOTHING) && !$truth(axis)) {
throw new $ValueError().__init__([`op ${$repr(name)} sends elements: name the axis that it sends over`]);
}
return this;
}
bytes(precision = null) {
const self = this;
let each, weights, read, written;
each = (($type(precision) === units_precision$Precision) ? precision : units_precision$precision_of(precision));
weights = ($truth(each.by_step) ? each.weights_in(self.name) : each.weights);
read = self.elements_read.bytes(each, weights);
written = self.elements_written.bytes(each, weights);
return ((written === units_ledger$_ZERO) ? read : units_ledger$_plus(read, written));
}
bytes_sent(precision = null) {
const self = this;
let each;
each = (($type(precision) === units_precision$Precision) ? precision : units_precision$precision_of(precision));
return self.elements_sent.bytes(each, ($truth(each.by_step) ? each.weights_in(self.name) : null));
}
__add__(other) {
const self = this;
return $add(new units_ledger$Ledger().__init__([self]), other);
}
__mul__(times) {
const self = this;
times = units_numbers$size("times", times, 0);
return new units_ledger$Op().__init__(self.name, $mul(self.flops, times), $mul(self.elements_read, times), $mul(self.elements_written, times), self.is_matmul, $mul(self.count, times), ((self.elements_sent === units_ledger$NOTHING) ? units_ledger$NOTHING : $mul(self.elements_sent, times)), self.axis, $mul(self.rounds, times));
}
__repr__() {
const self = this;
let sent;
sent = ($truth(self.axis) ? `, sends ${$str(units_ledger$_shown(self.sends))} over ${$str(self.axis)}` : "");
return `<Op ${$str(self.name)}: ${$str(units_ledger$_shown(self.flops))} FLOPs, reads ${$str(units_ledger$_shown(self.reads))}, writes ${$str(units_ledger$_shown(self.writes))}${$str(sent)}>`;
}
named(name) {
const self = this;
return $replace(self, $dict([["name", name]]));
}
}
$class(units_ledger$Op, "Op", "name flops elements_read elements_written is_matmul count elements_sent axis rounds", "name flops elements_read= elements_written= is_matmul= count= / elements_sent= axis= rounds=");
units_ledger$Op.prototype.__rmul__ = units_ledger$Op.prototype.__mul__;
let units_ledger$_put_name;
units_ledger$_put_name = (x, value) => { x.name = value; };
let units_ledger$_put_flops;
units_ledger$_put_flops = (x, value) => { x.flops = value; };
let units_ledger$_put_read;
units_ledger$_put_read = (x, value) => { x.elements_read = value; };
let units_ledger$_put_written;
units_ledger$_put_written = (x, value) => { x.elements_written = value; };
let units_ledger$_put_is_matmul;
units_ledger$_put_is_matmul = (x, value) => { x.is_matmul = value; };
let units_ledger$_put_count;
units_ledger$_put_count = (x, value) => { x.count = value; };
let units_ledger$_put_sent;
units_ledger$_put_sent = (x, value) => { x.elements_sent = value; };
let units_ledger$_put_axis;
units_ledger$_put_axis = (x, value) => { x.axis = value; };
let units_ledger$_put_rounds;
units_ledger$_put_rounds = (x, value) => { x.rounds = value; };
class units_ledger$Holding extends $object {
__init__(model, batch, context, encoded = 0) {
this.model = model;
this.batch = batch;
this.context = context;
this.encoded = encoded;
return this;
}
}
$class(units_ledger$Holding, "Holding", "model batch context encoded", "model batch context encoded=");
class units_ledger$Ledger extends units_ledger$_Cost {
get flops() {
const self = this;
return units_ledger$_sum((function* () { for (const op of self.ops) yield op.flops; })());
}
get elements_read() {
const self = this;
return units_ledger$_all((function* () { for (const op of self.ops) yield op.elements_read; })());
}
get elements_written() {
const self = this;
return units_ledger$_all((function* () { for (const op of self.ops) yield op.elements_written; })());
}
at(precision = null) {
const self = this;
return units_precision$precision_of(((precision === null) ? self.own : precision));
}
bytes(precision = null) {
const self = this;
let each;
each = self.at(precision);
if ($truth(each.by_step)) {
return units_ledger$_sum((function* () { for (const op of self.ops) yield op.bytes(each); })());
}
return units_ledger$_plus(self.elements_read.bytes(each), self.elements_written.bytes(each));
}
bytes_sent(precision = null) {
const self = this;
let each;
each = self.at(precision);
if ($truth(each.by_step)) {
return units_ledger$_sum((function* () { for (const op of self.ops) yield op.bytes_sent(each); })());
}
return self.elements_sent.bytes(each);
}
get count() {
const self = this;
return units_ledger$_sum((function* () { for (const op of self.ops) yield op.count; })());
}
where(keep) {
const self = this;
return new units_ledger$Ledger().__init__($tuple((() => { const $ = []; for (const op of self.ops) if ($truth($call(keep, [op], null))) $.push(op); return $; })()), void 0, self.own);
}
__getitem__(which) {
const self = this;
if ($isinstance(which, [$str])) {
return self.only([which]);
}
return ($isinstance(which, [$slice]) ? new units_ledger$Ledger().__init__($at(self.ops, which), void 0, self.own) : $at(self.ops, which));
}
__iter__() {
const self = this;
return $iter(self.ops);
}
__len__() {
const self = this;
return $len(self.ops);
}
__add__(other) {
const self = this;
let more, later, own;
more = ((other instanceof units_ledger$Op) ? [other] : $tuple(other));
if (!(other instanceof units_ledger$Ledger)) {
return new units_ledger$Ledger().__init__($add(self.ops, more), self.holds, self.own);
}
[later, own] = [$either(other.holds, () => self.holds), $either(other.own, () => self.own)];
return new units_ledger$Ledger().__init__($add(self.ops, more), later, own);
}
__radd__(other) {
const self = this;
return (units_numbers$is_zero(other) ? self : $NotImplemented);
}
__mul__(times) {
const self = this;
return new units_ledger$Ledger().__init__($tuple((() => { const $ = []; for (const op of self.ops) $.push($mul(op, times)); return $; })()), self.holds, self.own);
}
__repr__() {
const self = this;
return `<Ledger: ${$str($len(self))} op${$str($mul("s", !$eq($len(self), 1)))}, ${$str(units_ledger$_shown(self.flops))} FLOPs, ${$str(units_ledger$_shown(self.elements))} elements moved>`;
}
__init__(ops = [], holds = null, own = null) {
this.ops = ops;
this.holds = holds;
this.own = own;
return this;
}
get elements_sent() {
const self = this;
return units_ledger$_all((function* () { for (const op of self.ops) yield op.elements_sent; })());
}
get names() {
const self = this;
return $tuple((() => { const $ = []; for (const op of self.ops) $.push(op.name); return $; })());
}
only(names) {
const self = this;
let name;
for (name of names) {
if (!$has(self.names, name)) {
throw new $KeyError().__init__([`no op named ${$repr(name)}; the ops are ${$str($str_join(", ", self.names))}`]);
}
}
return self.where(((op) => $has(names, op.name)));
}
table(precision = null) {
const self = this;
let rows, columns;
$absent("pandas")();
}
}
$class(units_ledger$Ledger, "Ledger", "ops holds~ own~", "ops= / holds= own=");
units_ledger$Ledger.prototype.__rmul__ = units_ledger$Ledger.prototype.__mul__;
function units_ledger$_plus(a, b) {
if (($type(a) === $int) && $eq(a, 0)) {
return b;
}
return (($type(b) === $int) && $eq(b, 0) ? a : $add(a, b));
}
function units_ledger$_times(count, times) {
return (($type(count) === $int) && $eq(count, 0) ? 0 : $mul(count, times));
}
function units_ledger$_sum(values) {
let total, value;
total = 0;
for (value of values) {
total = units_ledger$_plus(total, value);
}
return total;
}
function units_ledger$_all(parts) {
let total, part;
total = units_ledger$NOTHING;
for (part of parts) {
if ((part !== units_ledger$NOTHING)) {
total = ((total === units_ledger$NOTHING) ? part : $add(total, part));
}
}
return total;
}
function units_ledger$_shown(value) {
return ($isinstance(value, [$int, $float]) ? `${$format(value, `,`)}` : `array${$str(value.shape)}`);
}
let layers_matmul$FLOPS_PER_MULTIPLY_ADD;
layers_matmul$FLOPS_PER_MULTIPLY_ADD = 2;
function layers_matmul$product_flops(m, k, n) {
return $mul($mul($mul(layers_matmul$FLOPS_PER_MULTIPLY_ADD, m), k), n);
}
let layers_attention$FLOPS_PER_ELEMENT;
layers_attention$FLOPS_PER_ELEMENT = $dict([["softmax", 5], ["softmax.backward", 4], ["rms_norm", 4], ["layer_norm", 7], ["layer_norm_no_bias", 6], ["plain_norm", 5], ["silu", 4], ["gelu", 5], ["gelu_tanh", 9], ["relu", 1], ["relu2", 2], ["xielu", 6], ["gate", 1], ["sigmoid_gate", 4], ["silu_gate", 5], ["gelu_gate", 10], ["rotary", 3], ["residual", 1], ["bias", 1], ["combine", 2]]);
let layers_attention$SCORES;
layers_attention$SCORES = ["on-chip", "materialised"];
let layers_attention$MASKED;
layers_attention$MASKED = ["skipped", "computed"];
let layers_attention$FORMS;
layers_attention$FORMS = ["cheaper", "naive", "absorbed"];
class layers_attention$MLA extends $object {
__post_init__() {
const self = this;
layers_attention$check_sizes(self, ["kv_rank", "nope_dim", "value_dim"]);
layers_attention$check_sizes(self, ["rope_dim"], 0);
if ((self.q_rank !== null)) {
layers_attention$check_sizes(self, ["q_rank"]);
}
}
get head_dim() {
const self = this;
return $add(self.nope_dim, self.rope_dim);
}
__init__(kv_rank, nope_dim, rope_dim, value_dim, q_rank = null) {
this.kv_rank = kv_rank;
this.nope_dim = nope_dim;
this.rope_dim = rope_dim;
this.value_dim = value_dim;
this.q_rank = q_rank;
this.__post_init__();
return this;
}
}
$class(layers_attention$MLA, "MLA", "kv_rank nope_dim rope_dim value_dim q_rank", "/ kv_rank nope_dim rope_dim value_dim q_rank=");
function layers_attention$pairs_unchecked(seq, context, causal, window, masked) {
let cached, ramp;
if ((masked === "computed")) {
return $mul(seq, layers_attention$keys_unchecked(seq, context, window));
}
if ((window === null)) {
return ($truth(causal) ? $add($mul(seq, $sub(context, seq)), units_numbers$triangle(seq)) : $mul(seq, context));
}
cached = $sub(context, seq);
ramp = units_numbers$maximum(0, units_numbers$minimum(seq, $sub(window, cached)));
return $add($add($mul(ramp, cached), units_numbers$triangle(ramp)), $mul($sub(seq, ramp), window));
}
function layers_attention$keys_unchecked(seq, context, window) {
return ((window === null) ? context : units_numbers$minimum(context, $add($sub(window, 1), seq)));
}
class layers_attention$Core extends $object {
forward(keys_are = "kv", shared = false) {
const self = this;
let matrix, keys, values_are_here, values, queries, outputs, softmax;
[matrix, keys] = [self._matrix(), self._keys(self.head_dim, keys_are)];
values_are_here = ($truth(shared) ? (self.scores === "on-chip") : shared);
values = ($truth(values_are_here) ? new units_ledger$Elements().__init__() : self._keys(self.value_dim, keys_are));
[queries, outputs] = [self._queries(self.head_dim), self._queries(self.value_dim)];
softmax = self._flops($at(layers_attention$FLOPS_PER_ELEMENT, "softmax"));
return [self.op("scores", self._product(self.head_dim), $add(queries, keys), matrix), $call($getattr(self, "op"), ["softmax", softmax, matrix, matrix], $dict([["is_matmul", false]])), self.op("values", self._product(self.value_dim), $add(matrix, values), outputs)];
}
absorb(name, d_in, d_out) {
const self = this;
let tokens, width, into, flops;
[tokens, width] = [$mul(self.batch, self.seq), $mul(self.times, self.heads)];
into = $add(new units_ledger$Elements().__init__($mul($mul($mul(self.steps, width), d_in), d_out)), self._queries(d_in));
flops = $mul(tokens, layers_matmul$product_flops(1, d_in, $mul(width, d_out)));
return self.op(name, flops, into, self._queries(d_out));
}
_flops(per_pair) {
const self = this;
return $mul($mul(self.batch, $mul($mul(self.times, self.heads), per_pair)), self.met);
}
_product(width) {
const self = this;
return self._flops(layers_matmul$product_flops(1, width, 1));
}
_matrix() {
const self = this;
if ((self.scores === "on-chip")) {
return new units_ledger$Elements().__init__();
}
return new units_ledger$Elements().__init__(void 0, void 0, void 0, $mul($mul(self.batch, $mul(self.times, self.heads)), self.met));
}
_queries(width) {
const self = this;
let each, one;
each = $mul(self.batch, $mul($mul(self.times, self.heads), width));
one = (($type(self.seq) === $int) && $eq(self.seq, 1));
return new units_ledger$Elements().__init__(void 0, ($truth(one) ? each : $mul(each, self.seq)));
}
_keys(width, kind = "kv") {
const self = this;
return $call(units_ledger$Elements, [], $dict([...$dict([[kind, $mul($mul(self.batch, $mul($mul(self.times, self.kv_heads), width)), self.read)]]).items()]));
}
op(name, flops, reads, writes, is_matmul = true) {
const self = this;
return new units_ledger$Op().__init__(name, flops, reads, writes, is_matmul, $mul(self.times, self.steps));
}
__init__(batch, seq, met, read, heads, kv_heads, head_dim, value_dim, scores, times = 1, steps = 1) {
this.batch = batch;
this.seq = seq;
this.met = met;
this.read = read;
this.heads = heads;
this.kv_heads = kv_heads;
this.head_dim = head_dim;
this.value_dim = value_dim;
this.scores = scores;
this.times = times;
this.steps = steps;
return this;
}
}
$class(layers_attention$Core, "Core", "batch seq met read heads kv_heads head_dim value_dim scores times steps", "batch seq met read heads kv_heads head_dim value_dim scores times= steps=");
$signed(layers_attention$Core.prototype.op, "name flops reads writes is_matmul=");
function layers_attention$latent_stages(core, mla, form) {
let width, rank, moved, batch, times, read, weights, latents, expanded, flops, into, expand;
if ((form === "cheaper")) {
return layers_attention$_cheaper_stages(core, mla);
}
if ((form === "absorbed")) {
[width, rank] = [$add(mla.kv_rank, mla.rope_dim), mla.kv_rank];
moved = $replace(core, $dict([["kv_heads", 1], ["head_dim", width], ["value_dim", rank]]));
return [core.absorb("q_absorb", mla.nope_dim, rank), ...moved.forward(void 0, true), core.absorb("v_absorb", rank, mla.value_dim)];
}
[batch, times, read] = [core.batch, core.times, core.read];
weights = $mul($mul($mul(times, core.heads), $add(mla.nope_dim, mla.value_dim)), mla.kv_rank);
latents = $mul($mul(batch, $mul(times, $add(mla.kv_rank, mla.rope_dim))), read);
width = $add(mla.head_dim, mla.value_dim);
expanded = new units_ledger$Elements().__init__(void 0, $mul($mul(batch, $mul($mul(times, core.heads), width)), read));
flops = $mul($mul(batch, layers_matmul$product_flops(1, 1, weights)), read);
into = new units_ledger$Elements().__init__($mul(core.steps, weights), void 0, latents);
expand = core.op("kv_b_proj", flops, into, expanded);
return [expand, ...core.forward("activations")];
}
function layers_attention$_cheaper_stages(core, mla) {
let cached, expansion, wider, nothing, is_step, is_absorbed, known, ops, names;
if (!layers_attention$_is_one(core.steps)) {
return layers_attention$latent_stages(core, mla, "absorbed");
}
[cached, expansion] = [$sub(core.read, core.seq), $mul(mla.kv_rank, $add(mla.nope_dim, mla.value_dim))];
wider = $sub($sub($mul(2, mla.kv_rank), mla.nope_dim), mla.value_dim);
if ((core.read === core.seq) && $truth(units_numbers$certain($gt(wider, 0)))) {
return layers_attention$latent_stages(core, mla, "naive");
}
is_step = $and($eq(core.seq, 1), $gt(cached, 0));
is_absorbed = $or(is_step, $ge($mul(expansion, cached), $mul(core.met, wider)));
known = units_numbers$certain(is_absorbed);
if ((known !== null)) {
return layers_attention$latent_stages(core, mla, ($truth(known) ? "absorbed" : "naive"));
}
ops = $dict((() => { const $ = []; for (const form of $part(layers_attention$FORMS, 1, null, null)) $.push([form, $dict((() => { const $ = []; for (const op of layers_attention$latent_stages(core, mla, form)) $.push([op.name, op]); return $; })())]); return $; })());
names = ["kv_b_proj", "q_absorb", "scores", "softmax", "values", "v_absorb"];
return $tuple((() => { const $ = []; for (const name of names) $.push(layers_attention$_either(is_absorbed, $at(ops, "absorbed").get(name), $at(ops, "naive").get(name))); return $; })());
}
function layers_attention$_is_one(value) {
return (($type(value) === $int) && $eq(value, 1));
}
function layers_attention$_either(condition, yes, no) {
let nothing, some, others, known, moved;
nothing = new units_ledger$Op().__init__("", 0, void 0, void 0, void 0, 0);
[some, others] = [($truth(yes) ? yes : nothing), ($truth(no) ? no : nothing)];
known = ((yes !== null) ? some : others);
moved = function moved(a, b) {
return new units_ledger$Elements().__init__(...(function* () { for (const k of units_precision$KINDS) yield units_numbers$where(condition, $getattr(a, k), $getattr(b, k)); })());
};
return new units_ledger$Op().__init__(known.name, units_numbers$where(condition, some.flops, others.flops), $call(moved, [some.elements_read, others.elements_read], null), $call(moved, [some.elements_written, others.elements_written], null), known.is_matmul, units_numbers$where(condition, some.count, others.count));
}
function layers_attention$check_groups(heads, kv_heads) {
if (!units_numbers$divides(kv_heads, heads)) {
throw new $ValueError().__init__([`kv_heads must divide heads, got kv_heads=${$str(kv_heads)}, heads=${$str(heads)}`]);
}
}
function layers_attention$check_sizes(instance, names, least = 1) {
let name;
for (name of names) {
instance[name] = units_numbers$size(name, $getattr(instance, name), least);
}
}
let layers_parts$NORM_WEIGHTS;
layers_parts$NORM_WEIGHTS = $dict([["rms_norm", 1], ["layer_norm", 2], ["layer_norm_no_bias", 1], ["plain_norm", 0]]);
let layers_parts$OPTIONS;
layers_parts$OPTIONS = $dict([["logits", ["all", "last"]], ["scores", layers_attention$SCORES], ["masked", layers_attention$MASKED], ["mla", layers_attention$FORMS], ["experts", ["expected", "bound", "all"]]]);
function layers_parts$experts_expected(experts, per_token, tokens) {
return $mul(experts, $sub(1, $pow($sub(1, $div(per_token, experts)), tokens)));
}
function layers_parts$experts_bound(experts, per_token, tokens) {
return units_numbers$minimum(experts, $mul(tokens, per_token));
}
class layers_parts$PerToken extends $object {
get is_expert() {
const self = this;
return !units_numbers$is_zero(self.experts);
}
__mul__(times) {
const self = this;
return self._scaled(times, [...layers_parts$_PER_TOKEN, "weights", "table", "times"]);
}
routed(experts, chosen, dealt = 1, runs_all = false) {
const self = this;
let scaled;
if (units_numbers$is_zero(self.weights)) {
return $replace(self._scaled(chosen, layers_parts$_PER_TOKEN), $dict([["runs_all", runs_all]]));
}
scaled = self._scaled(chosen, layers_parts$_PER_TOKEN);
return $replace(scaled, $dict([["experts", experts], ["chosen", chosen], ["dealt", dealt], ["runs_all", runs_all]]));
}
_scaled(by, names) {
const self = this;
let values;
values = $dict((() => { const $ = []; for (const name of names) $.push([name, $getattr(self, name)]); return $; })());
return $replace(self, $dict([...$dict((() => { const $ = []; for (const [k, v] of values.items()) if (!units_numbers$is_zero(v)) $.push([k, $mul(v, by)]); return $; })()).items()]));
}
parameters(experts = null) {
const self = this;
let count;
if ($truth(self.borrowed)) {
return 0;
}
if (!$truth(self.is_expert)) {
return layers_parts$plus(self.weights, self.table);
}
count = ((experts === null) ? units_numbers$exact_div(self.experts, self.dealt) : experts);
return $mul(self.weights, count);
}
__init__(name, flops = 0, reads = 0, writes = 0, kv_writes = 0, rows = 0, weights = 0, table = 0, experts = 0, chosen = 0, dealt = 1, is_matmul = false, gradient = 2, times = 1, runs_all = false, borrowed = false) {
this.name = name;
this.flops = flops;
this.reads = reads;
this.writes = writes;
this.kv_writes = kv_writes;
this.rows = rows;
this.weights = weights;
this.table = table;
this.experts = experts;
this.chosen = chosen;
this.dealt = dealt;
this.is_matmul = is_matmul;
this.gradient = gradient;
this.times = times;
this.runs_all = runs_all;
this.borrowed = borrowed;
return this;
}
op(tokens, experts = "expected", masked = "skipped") {
const self = this;
let weights, flops, reads, writes;
weights = ((self.experts === layers_parts$_ZERO) ? self.weights : self.read_weights(tokens, experts));
flops = self._flops(tokens, masked);
if ((self.rows !== layers_parts$_ZERO)) {
weights = $add(weights, $mul(self.rows, tokens));
}
reads = new units_ledger$Elements().__init__(weights, ((self.reads === layers_parts$_ZERO) ? 0 : $mul(self.reads, tokens)));
writes = new units_ledger$Elements().__init__(0, ((self.writes === layers_parts$_ZERO) ? 0 : $mul(self.writes, tokens)), ((self.kv_writes === layers_parts$_ZERO) ? 0 : $mul(self.kv_writes, tokens)));
return new units_ledger$Op().__init__(self.name, flops, reads, writes, self.is_matmul, self.times);
}
_flops(tokens, masked) {
const self = this;
let flops;
flops = $mul(self.flops, tokens);
if ($truth(self.runs_all) && (masked === "computed") && $truth(self.is_matmul)) {
return $floordiv($mul(flops, self.experts), self.chosen);
}
return flops;
}
read_weights(tokens, experts) {
const self = this;
let count, met;
if (!$truth(self.is_expert)) {
return self.weights;
}
if ((experts === "all")) {
return self.parameters();
}
count = ((experts === "expected") ? layers_parts$experts_expected : layers_parts$experts_bound);
if (layers_parts$is_one(self.dealt)) {
return $mul(self.weights, $call(count, [self.experts, self.chosen, tokens], null));
}
met = $call(count, [self.experts, self.chosen, $mul(tokens, self.dealt)], null);
return $div($mul(self.weights, met), self.dealt);
}
}
$class(layers_parts$PerToken, "PerToken", "name flops reads writes kv_writes rows weights table experts chosen dealt is_matmul gradient times runs_all borrowed", "name flops= reads= writes= kv_writes= rows= weights= table= experts= chosen= dealt= is_matmul= gradient= times= runs_all= borrowed=");
$signed(layers_parts$PerToken.prototype.routed, "experts chosen / dealt= runs_all=");
$signed(layers_parts$PerToken.prototype.op, "tokens experts= masked=");
let layers_parts$_ZERO;
layers_parts$_ZERO = 0;
let layers_parts$_PER_TOKEN;
layers_parts$_PER_TOKEN = ["flops", "reads", "writes", "kv_writes", "rows"];
class layers_parts$Pass extends $object {
__post_init__() {
const self = this;
let name, among;
for ([name, among] of layers_parts$OPTIONS.items()) {
units_numbers$choose(name, $getattr(self, name), among);
}
if ((self.encoded !== layers_parts$_ZERO)) {
layers_parts$set_field(self, "encoded", units_numbers$size("encoded", self.encoded, 0));
}
}
get tokens() {
const self = this;
return ($truth(self.one_by_one) ? self.batch : $mul(self.batch, self.seq));
}
get steps() {
const self = this;
return ($truth(self.one_by_one) ? self.seq : 1);
}
get cached() {
const self = this;
return $sub(self.context, self.seq);
}
get is_first() {
const self = this;
let cached;
cached = self.cached;
return (units_numbers$is_zero(cached) || false);
}
get is_step() {
const self = this;
return $either(self.one_by_one, () => (($type(self.seq) === $int) && ($eq(self.seq, 1) && !$truth(self.is_first))));
}
of(step, layers) {
const self = this;
let op, once;
op = $mul(step, layers).op(self.tokens, self.experts, self.masked);
once = ($truth(self.one_by_one) ? $mul(op, self.steps) : op);
return once;
}
__init__(batch, seq, context, logits = "all", scores = "on-chip", masked = "skipped", mla = "cheaper", experts = "expected", one_by_one = false, encoded = 0) {
this.batch = batch;
this.seq = seq;
this.context = context;
this.logits = logits;
this.scores = scores;
this.masked = masked;
this.mla = mla;
this.experts = experts;
this.one_by_one = one_by_one;
this.encoded = encoded;
this.__post_init__();
return this;
}
}
$class(layers_parts$Pass, "Pass", "batch seq context logits scores masked mla experts one_by_one encoded", "batch seq context / logits= scores= masked= mla= experts= one_by_one= encoded=");
$signed(layers_parts$Pass.prototype.of, "step layers");
class layers_parts$Cache extends $object {
elements(context) {
const self = this;
let kept;
if (units_numbers$is_zero(self.per_token)) {
return self.state;
}
kept = ((self.window === null) ? context : units_numbers$minimum(context, self.window));
return $add($mul(self.per_token, (layers_parts$is_one(self.every) ? kept : $floordiv(kept, self.every))), self.state);
}
__init__(per_token = 0, window = null, every = 1, state = 0) {
this.per_token = per_token;
this.window = window;
this.every = every;
this.state = state;
return this;
}
}
$class(layers_parts$Cache, "Cache", "per_token window every state", "/ per_token= window= every= state=");
class layers_parts$Part extends $object {
before(d) {
const self = this;
return [];
}
after(d) {
const self = this;
return [];
}
mixing(run, layers) {
const self = this;
return [];
}
messages(run, layers, d) {
const self = this;
return new units_ledger$Ledger().__init__();
}
get mixed() {
const self = this;
return [];
}
get mixing_weights() {
const self = this;
let total, step;
total = 0;
for (step of self.mixed) {
total = layers_parts$plus(total, step.parameters());
}
return total;
}
get caches() {
const self = this;
return [];
}
get score_heads() {
const self = this;
return 0;
}
scores(seq, encoded) {
const self = this;
return $mul($mul(self.score_heads, seq), seq);
}
without_reach() {
const self = this;
return self;
}
}
$class(layers_parts$Part, "Part", "", "/");
class layers_parts$Block extends $object {
__post_init__() {
const self = this;
let part;
layers_attention$check_sizes(self, ["layers", "norms"], 0);
units_numbers$choose("norm", self.norm, $tuple(layers_parts$NORM_WEIGHTS));
for (part of self.parts) {
if (!(part instanceof layers_parts$Part)) {
throw new $TypeError().__init__([`parts must be kinds of layer, such as Attention, got ${$repr(part)}`]);
}
}
}
get added() {
const self = this;
return ((self.residuals === null) ? $len(self.parts) : self.residuals);
}
parameters(d, active = false) {
const self = this;
let total, part, step;
total = $mul(self.norms, self.norm_step(d).weights);
for (part of self.parts) {
for (step of [...part.before(d), ...part.after(d)]) {
total = layers_parts$plus(total, step.parameters(($truth(active) ? step.chosen : null)));
}
total = layers_parts$plus(total, part.mixing_weights);
}
for (step of self.extra) {
total = layers_parts$plus(total, step.parameters(($truth(active) ? step.chosen : null)));
}
return total;
}
get caches() {
const self = this;
return $tuple((() => { const $ = []; for (const part of self.parts) for (const cache of part.caches) $.push(cache); return $; })());
}
__init__(layers, parts, norms = 2, norm = "rms_norm", parallel = false, borrowed = 0, residuals = null, extra = []) {
this.layers = layers;
this.parts = parts;
this.norms = norms;
this.norm = norm;
this.parallel = parallel;
this.borrowed = borrowed;
this.residuals = residuals;
this.extra = extra;
this.__post_init__();
return this;
}
norm_step(d) {
const self = this;
return layers_parts$normalisation("norms", d, self.norm);
}
}
$class(layers_parts$Block, "Block", "layers parts norms norm parallel borrowed residuals extra", "/ layers parts norms= norm= parallel= borrowed= residuals= extra=");
function layers_parts$linear_step(name, d_in, d_out, bias = false, cached = false) {
let made, flops, weights, product;
made = $dict([[($truth(cached) ? "kv_writes" : "writes"), d_out]]);
[flops, weights] = [layers_matmul$product_flops(1, d_in, d_out), $mul(d_in, d_out)];
product = $call(layers_parts$PerToken, [name, flops, d_in], $dict([["weights", weights], ["is_matmul", true], ...made.items()]));
if (!$truth(bias)) {
return [product];
}
flops = $mul($at(layers_attention$FLOPS_PER_ELEMENT, "bias"), d_out);
return [product, new layers_parts$PerToken().__init__(`${$str(name)}.bias`, flops, void 0, void 0, void 0, void 0, d_out, void 0, void 0, void 0, void 0, void 0, 1)];
}
function layers_parts$normalisation(name, width, norm, stored = null) {
stored = ((stored === null) ? width : stored);
return layers_parts$elementwise(name, width, norm, $dict([["weights", $mul($at(layers_parts$NORM_WEIGHTS, norm), stored)]]));
}
function layers_parts$elementwise(name, width, kind, others) {
let moved;
moved = $dict([["reads", width], ["writes", width], ...others.items()]);
return $call(layers_parts$PerToken, [name, $mul($at(layers_attention$FLOPS_PER_ELEMENT, kind), width)], $dict([...moved.items()]));
}
function layers_parts$same(a, b) {
let name, one, other, index;
if ((a === b)) {
return true;
}
if (($type(a) !== $type(b))) {
return false;
}
if (($type(a) === $int) || ($type(a) === $str)) {
return $bool($eq(a, b));
}
if ($truth($is_dataclass(a))) {
for (name of layers_parts$_names($type(a))) {
[one, other] = [$getattr(a, name), $getattr(b, name)];
if ((one !== other) && !layers_parts$same(one, other)) {
return false;
}
}
return true;
}
if ($isinstance(a, [$tuple])) {
if (!$eq($len(a), $len(b))) {
return false;
}
for ([index, one] of $enumerate(a)) {
if ((one !== $at(b, index)) && !layers_parts$same(one, $at(b, index))) {
return false;
}
}
return true;
}
return $bool((($isinstance(a, [$int, $float, $str]) || false) && $eq(a, b)));
}
let layers_parts$_names = $call($cache, [(function _names(kind) {
return $tuple((() => { const $ = []; for (const field of $fields(kind)) $.push(field.name); return $; })());
})]);
function layers_parts$is_one(value) {
return (($type(value) === $int) && $eq(value, 1));
}
function layers_parts$plus(a, b) {
return (units_numbers$is_zero(a) ? b : (units_numbers$is_zero(b) ? a : $add(a, b)));
}
function layers_parts$times(steps, count) {
return (units_numbers$is_zero(count) ? [] : $tuple((() => { const $ = []; for (const step of steps) $.push($mul(step, count)); return $; })()));
}
function layers_parts$set_field(instance, name, value) {
instance[name] = value;
}
let units_device$RESERVE;
units_device$RESERVE = 0.1;
let units_device$_RATES;
units_device$_RATES = [1, 1e+30];
let units_device$_SHARES;
units_device$_SHARES = [1e-09, 1];
let units_device$_SECONDS;
units_device$_SECONDS = [0, 1000000000.0];
let units_device$_ZERO;
units_device$_ZERO = 0;
class units_device$Link extends $object {
__post_init__() {
const self = this;
let rate;
rate = units_device$_figure("bytes_per_s of a link", self.bytes_per_s, ...units_device$_RATES);
self.bytes_per_s = rate;
self.latency = units_device$_figure("latency", self.latency, ...units_device$_SECONDS);
}
__init__(bytes_per_s, latency = 0) {
this.bytes_per_s = bytes_per_s;
this.latency = latency;
this.__post_init__();
return this;
}
}
$class(units_device$Link, "Link", "bytes_per_s latency", "bytes_per_s latency=");
class units_device$Device extends $object {
__post_init__() {
const self = this;
let rates, links, text, name, least, most, value;
if (!$isinstance(self.flops_per_s, [$abc_Mapping])) {
throw new $TypeError().__init__([`flops_per_s must name a rate for each number format, such as {'bf16': 1e+14}, got ${$repr(self.flops_per_s)}`]);
}
if (!$truth(self.flops_per_s)) {
throw new $ValueError().__init__([`${$str(self.name)} needs a peak rate for at least one number format`]);
}
rates = $dict((() => { const $ = []; for (const [dtype, rate] of self.flops_per_s.items()) $.push([dtype, units_device$_figure(`flops_per_s[${$repr(dtype)}]`, rate, ...units_device$_RATES)]); return $; })());
self.flops_per_s = $types_MappingProxyType(rates);
links = ($isinstance(self.links, [$abc_Mapping]) ? self.links.values() : $list([null]));
if (!$all((function* () { for (const link of links) yield (link instanceof units_device$Link); })())) {
text = "links must name a Link for each axis, such as {'network': Link(5e9)}";
throw new $TypeError().__init__([`${$str(text)}, got ${$format($repr(self.links), `.200`)}`]);
}
self.links = $types_MappingProxyType($dict(self.links, $dict([])));
self.sixteen_bits = units_device$_sixteen_bits(rates);
for ([name, [least, most]] of units_device$_LIMITS.items()) {
value = $getattr(self, name);
if ((value !== null) || !$has(units_device$_OPTIONAL, name)) {
self[name] = units_device$_figure(name, value, least, most);
}
}
}
with_(changes) {
const self = this;
return $replace(self, $dict([...changes.items()]));
}
compute_rate(compute = null) {
const self = this;
compute = ((compute === null) ? self.sixteen_bits : compute);
if (!$has(self.flops_per_s, compute)) {
throw new $ValueError().__init__([`${$str(self.name)} has no peak rate for ${$repr(compute)}; it has ${$str($str_join(", ", self.flops_per_s))}`]);
}
return $mul($at(self.flops_per_s, compute), self.compute_efficiency);
}
get memory_rate() {
const self = this;
return $mul(self.bytes_per_s, self.bandwidth_efficiency);
}
link(axis) {
const self = this;
let found;
found = $either(self.links.get(axis), () => self.links.get($either($at($str_partition(axis, "."), 2), () => "node")));
if ((found === null)) {
return [self.link_rate, units_device$_ZERO];
}
return [$mul(found.bytes_per_s, self.interconnect_efficiency), found.latency];
}
get usable() {
const self = this;
if ((self.capacity === null)) {
throw new $ValueError().__init__([`${$str(self.name)} has no capacity: give it one with with_()`]);
}
if ($isinstance(self.capacity, [$int])) {
return $sub(self.capacity, $int($mul(units_device$RESERVE, self.capacity)));
}
return $mul(self.capacity, $sub(1, units_device$RESERVE));
}
__init__(name, flops_per_s, bytes_per_s, capacity = null, on_chip = null, cache = null, cores = null, interconnect = null, compute_efficiency = 1, bandwidth_efficiency = 1, interconnect_efficiency = 1, overhead_per_op = 0, overhead_per_message = 0, overhead_per_step = 0, blend = $math_inf, edge = 0, floor_per_head = 0, links = $call($dict, []), provenance = $call($dict, [])) {
this.name = name;
this.flops_per_s = flops_per_s;
this.bytes_per_s = bytes_per_s;
this.capacity = capacity;
this.on_chip = on_chip;
this.cache = cache;
this.cores = cores;
this.interconnect = interconnect;
this.compute_efficiency = compute_efficiency;
this.bandwidth_efficiency = bandwidth_efficiency;
this.interconnect_efficiency = interconnect_efficiency;
this.overhead_per_op = overhead_per_op;
this.overhead_per_message = overhead_per_message;
this.overhead_per_step = overhead_per_step;
this.blend = blend;
this.edge = edge;
this.floor_per_head = floor_per_head;
this.links = links;
this.provenance = provenance;
this.__post_init__();
return this;
}
get link_rate() {
const self = this;
if ((self.interconnect === null)) {
throw new $ValueError().__init__([`${$str(self.name)} has no interconnect: give it one with with_()`]);
}
return $mul(self.interconnect, self.interconnect_efficiency);
}
}
$class(units_device$Device, "Device", "name flops_per_s bytes_per_s capacity on_chip cache cores interconnect compute_efficiency bandwidth_efficiency interconnect_efficiency overhead_per_op overhead_per_message overhead_per_step blend edge floor_per_head links^ provenance^~ sixteen_bits!^~", "name flops_per_s bytes_per_s capacity= on_chip= cache= cores= interconnect= compute_efficiency= bandwidth_efficiency= interconnect_efficiency= overhead_per_op= overhead_per_message= overhead_per_step= blend= edge= floor_per_head= links= provenance=");
$signed(units_device$Device.prototype.with_, "/ **changes");
let units_device$_LIMITS;
units_device$_LIMITS = $dict([["bytes_per_s", units_device$_RATES], ["capacity", units_device$_RATES], ["on_chip", units_device$_RATES], ["cache", units_device$_RATES], ["interconnect", units_device$_RATES], ["compute_efficiency", units_device$_SHARES], ["bandwidth_efficiency", units_device$_SHARES], ["interconnect_efficiency", units_device$_SHARES], ["overhead_per_op", units_device$_SECONDS], ["overhead_per_message", units_device$_SECONDS], ["overhead_per_step", units_device$_SECONDS], ["blend", [1, $math_inf]], ["edge", [0, 1000000000.0]], ["floor_per_head", units_device$_SECONDS]]);
let units_device$_OPTIONAL;
units_device$_OPTIONAL = ["capacity", "on_chip", "cache", "interconnect"];
function units_device$_sixteen_bits(rates) {
let known;
known = $either((() => { const $ = $list(); for (const each of units_precision$SIXTEEN_BITS) if ($has(rates, each)) $.push(each); return $; })(), () => $list([...rates]));
if ($eq($part(known, null, 2, null), $list(["bf16", "fp16"])) && $truth($numpy_all($gt($at(rates, "fp16"), $at(rates, "bf16"))))) {
return "fp16";
}
return $at(known, 0);
}
function units_device$_figure(name, value, least, most) {
let is_array;
is_array = $has(["i", "u", "f"], $getattr($getattr(value, "dtype", null), "kind", ""));
if ($isinstance(value, [$bool, $str]) || !($truth(is_array) || $isinstance(value, [$int, $float]))) {
throw new $TypeError().__init__([`${$str(name)} must be a number, got ${$format($repr(value), `.200`)}`]);
}
if (!$truth($numpy_all($and($ge($numpy_asarray(value), least), $le($numpy_asarray(value), most))))) {
throw new $ValueError().__init__([`${$str(name)} must be between ${$format(least, `g`)} and ${$format(most, `g`)}, got ${$str(value)}`]);
}
if ($isinstance(value, [$float]) && $eq(value, $math_inf)) {
return $math_inf;
}
return ($isinstance(value, [$int, $float]) ? value : $mul(value, 1.0));
}
class model_kvcache$Memory extends $object {
get total() {
const self = this;
let state;
state = $add($add(self.weights, self.gradients), self.optimizer);
return $add($add($add(state, self.kv), self.activations), self.buffers);
}
__init__(weights, kv = 0, activations = 0, gradients = 0, optimizer = 0, buffers = 0) {
this.weights = weights;
this.kv = kv;
this.activations = activations;
this.gradients = gradients;
this.optimizer = optimizer;
this.buffers = buffers;
return this;
}
}
$class(model_kvcache$Memory, "Memory", "weights kv activations gradients optimizer buffers", "weights kv= activations= gradients= optimizer= buffers=");
class model_kvcache$Fit extends $object {
__init__(largest, inequality) {
this.largest = largest;
this.inequality = inequality;
return this;
}
}
$class(model_kvcache$Fit, "Fit", "largest inequality", "largest inequality");
function model_kvcache$kv_elements(model, batch, context, encoded = 0) {
let total, cache, layers;
[batch, context] = [units_numbers$size("batch", batch), units_numbers$size("context", context, 0)];
total = 0;
for ([cache, layers] of model.caches()) {
total = layers_parts$plus(total, $mul(layers, cache.elements(context)));
}
if (!units_numbers$is_zero(encoded)) {
total = layers_parts$plus(total, $mul(units_numbers$size("encoded", encoded), model_kvcache$_of_all_parts(model, "cached_of_encoded")));
}
return $mul(batch, total);
}
function model_kvcache$_of_all_parts(model, name) {
let total, block, part;
total = 0;
for (block of model.blocks) {
for (part of block.parts) {
total = layers_parts$plus(total, $mul(block.layers, $getattr(part, name)));
}
}
return total;
}
function model_kvcache$held_bytes(holds, precision = null) {
let each, cache;
each = model_kvcache$_own(holds.model, precision);
cache = $mul(model_kvcache$kv_elements(holds.model, holds.batch, holds.context, holds.encoded), each.kv);
return $add(holds.model.weight_bytes(precision), cache);
}
function model_kvcache$memory(model, batch, context, precision = null, new$ = 1, scores = "on-chip", encoded = 0) {
let each, keys, matrix;
each = model_kvcache$_own(model, precision);
units_numbers$choose("scores", scores, layers_attention$SCORES);
[batch, new$] = [units_numbers$size("batch", batch), units_numbers$size("new", new$)];
keys = $add(units_numbers$size("context", context, 0), new$);
matrix = ((scores === "materialised") ? $mul($mul($mul(batch, model_kvcache$_score_heads(model)), new$), keys) : 0);
return new model_kvcache$Memory().__init__(model.weight_bytes(precision), $mul(model_kvcache$kv_elements(model, batch, keys, encoded), each.kv), $add($mul($mul($mul(batch, new$), $add(model.d_model, model_kvcache$_widest_step(model))), each.activations), $mul($mul(2, matrix), each.scores)));
}
function model_kvcache$_whole(count) {
return ($isinstance(count, [$float]) && $truth($str_is_integer(count)) ? $int(count) : count);
}
function model_kvcache$largest_batch(model, room, context, precision = null) {
let given, one, each, largest;
given = model_kvcache$_bytes(room);
one = model_kvcache$memory(model, 1, $sub(units_numbers$size("context", context), 1), precision);
each = $add(one.kv, one.activations);
largest = units_numbers$maximum(0, $floordiv($sub(given, one.weights), each));
return new model_kvcache$Fit().__init__(model_kvcache$_whole(largest), `${$str(model_kvcache$_tex(one.weights))} + B \\cdot ${$str(model_kvcache$_tex(each))} \\le ${$str(model_kvcache$_tex(given))}`);
}
function model_kvcache$largest_context(model, room, batch, precision = null) {
let given, one, each, grows, fixed, cache, layers, growing, bounded, rate, largest, text, window;
[given, batch] = [model_kvcache$_bytes(room), units_numbers$size("batch", batch)];
one = model_kvcache$memory(model, batch, 0, precision);
each = $mul(batch, model_kvcache$_own(model, precision).kv);
grows = (() => { const $ = $list(); for (const [c, layers] of model.caches()) if (!units_numbers$is_zero(c.per_token)) $.push([c, layers]); return $; })();
fixed = one.activations;
for ([cache, layers] of model.caches()) {
fixed = layers_parts$plus(fixed, (units_numbers$is_zero(cache.state) ? 0 : $mul($mul(each, layers), cache.state)));
}
growing = 0;
bounded = $list([]);
for ([cache, layers] of grows) {
rate = $mul($mul(each, layers), cache.per_token);
rate = (layers_parts$is_one(cache.every) ? rate : $div(rate, cache.every));
if ((cache.window === null)) {
growing = layers_parts$plus(growing, rate);
} else {
bounded.append([cache.window, rate]);
}
}
largest = model_kvcache$_longest($sub($sub(given, one.weights), fixed), growing, bounded);
text = `${$str(model_kvcache$_tex(one.weights))} + ${$str(model_kvcache$_tex(fixed))} + T \\cdot ${$str(model_kvcache$_tex(growing))}`;
for ([window, rate] of bounded) {
text = $iadd(text, ` + \\min(T, ${$str(model_kvcache$_tex(window))}) \\cdot ${$str(model_kvcache$_tex(rate))}`);
}
return new model_kvcache$Fit().__init__(model_kvcache$_whole(largest), `${$str(text)} \\le ${$str(model_kvcache$_tex(given))}`);
}
function model_kvcache$_longest(free, growing, bounded) {
let longest, sides, rate, room, is_full, window, each;
longest = 0;
for (sides of $itertools_product([[true, false]], $len(bounded))) {
[rate, room] = [growing, free];
for ([is_full, [window, each]] of $zip([sides, bounded], true)) {
[rate, room] = ($truth(is_full) ? [rate, $sub(room, $mul(each, window))] : [layers_parts$plus(rate, each), room]);
}
if (units_numbers$is_zero(rate)) {
longest = units_numbers$maximum(longest, ($ge(room, 0) ? $math_inf : 0));
} else {
longest = units_numbers$maximum(longest, $floordiv(room, rate));
}
}
return longest;
}
function model_kvcache$_bytes(room) {
if ((room instanceof units_device$Device)) {
return room.usable;
}
if ($isinstance(room, [$str])) {
throw new $TypeError().__init__([`room must be bytes or a Device, such as costlib.devices[${$repr(room)}]`]);
}
return room;
}
function model_kvcache$_own(model, precision) {
if ($isinstance(model, [$str])) {
throw new $TypeError().__init__([`model must be a Transformer, such as costlib.models[${$format($repr(model), `.200`)}]`]);
}
return ((precision === null) ? model.precision : units_precision$precision_of(precision));
}
function model_kvcache$_score_heads(model) {
let most, block, part;
most = 0;
for (block of model.blocks) {
for (part of block.parts) {
most = units_numbers$maximum(most, part.score_heads);
}
}
return most;
}
function model_kvcache$_widest_step(model) {
let widest, step;
widest = 0;
for (step of model.steps()) {
widest = units_numbers$maximum(widest, $floordiv($add($add(step.reads, step.writes), step.kv_writes), step.times));
}
return widest;
}
function model_kvcache$_tex(value) {
return ($isinstance(value, [$int, $float]) ? $str($int(value)) : "(\\ldots)");
}
class layers_attention_kinds$Indexer extends $object {
get cached() {
const self = this;
return ($truth(self.gated) ? $add($mul(2, self.head_dim), 1) : self.head_dim);
}
steps(d) {
const self = this;
let width, queries, dim, found, rotated;
width = ((self.query_width === null) ? d : self.query_width);
[queries, dim] = [$mul(self.heads, self.head_dim), self.head_dim];
found = $list([...layers_parts$linear_step("indexer.q_proj", width, queries), ...layers_parts$linear_step("indexer.k_proj", d, dim, void 0, true)]);
if ($truth(self.key_norm)) {
found.append(layers_parts$normalisation("indexer.k_norm", dim, self.key_norm));
}
if ($truth(self.query_norm)) {
found.append(layers_parts$normalisation("indexer.q_norm", queries, self.query_norm, dim));
}
if (!units_numbers$is_zero(self.rotary_dim)) {
rotated = $mul($add(self.heads, 1), self.rotary_dim);
found.append(layers_parts$elementwise("indexer.rotary", rotated, "rotary", $dict([["gradient", 1]])));
}
if ($truth(self.weighted)) {
found = $iadd(found, layers_parts$linear_step("indexer.weights", d, self.heads));
}
if ($truth(self.gated) && (self.pool !== null)) {
found = $iadd(found, layers_parts$linear_step("indexer.gate", d, dim, void 0, true));
found.append(new layers_parts$PerToken().__init__("indexer.pool", $mul(8, dim), $mul(2, dim), void 0, void 0, void 0, $mul(self.pool, dim)));
}
return $tuple(found);
}
_met(run) {
const self = this;
let masked;
masked = ($truth(self.one_by_one) ? "skipped" : layers_attention_kinds$_masked(run));
if ((self.pool === null)) {
return layers_attention$pairs_unchecked(run.seq, run.context, true, null, masked);
}
if ((masked === "computed")) {
return $mul(run.seq, $floordiv(run.context, self.pool));
}
return $sub(layers_attention_kinds$pooled(run.context, self.pool), layers_attention_kinds$pooled(run.cached, self.pool));
}
mixing(run, layers) {
const self = this;
let met, read, per_pair, flops, queries, keys, moved, chosen;
met = self._met(run);
read = ($truth(run.one_by_one) ? met : run.context);
per_pair = $mul(self.heads, $add(self.head_dim, ($truth(self.weighted) ? 1 : 0)));
flops = $mul($mul(run.batch, layers_matmul$product_flops(1, $mul(layers, per_pair), 1)), met);
queries = $mul($mul(run.batch, $mul($mul(layers, self.heads), self.head_dim)), run.seq);
keys = $mul($mul(run.batch, $mul(layers, self.head_dim)), read);
moved = new units_ledger$Elements().__init__(void 0, queries, keys);
chosen = new units_ledger$Elements().__init__(void 0, $mul($mul($mul(run.batch, layers), units_numbers$minimum(self.top, run.context)), run.seq));
return new units_ledger$Op().__init__("indexer.scores", flops, moved, chosen, true, $mul(layers, run.steps));
}
__init__(heads, head_dim, top, query_width = null, rotary_dim = 0, key_norm = "layer_norm", query_norm = null, weighted = true, block = null, pool = null, gated = false, one_by_one = false) {
this.heads = heads;
this.head_dim = head_dim;
this.top = top;
this.query_width = query_width;
this.rotary_dim = rotary_dim;
this.key_norm = key_norm;
this.query_norm = query_norm;
this.weighted = weighted;
this.block = block;
this.pool = pool;
this.gated = gated;
this.one_by_one = one_by_one;
return this;
}
}
$class(layers_attention_kinds$Indexer, "Indexer", "heads head_dim top query_width rotary_dim key_norm query_norm weighted block pool gated one_by_one", "/ heads head_dim top query_width= rotary_dim= key_norm= query_norm= weighted= block= pool= gated= one_by_one=");
class layers_attention_kinds$Attention extends layers_parts$Part {
__post_init__() {
const self = this;
let name, otherwise;
for ([name, otherwise] of [["kv_heads", "heads"], ["value_dim", "head_dim"]]) {
if (($getattr(self, name) === null)) {
layers_parts$set_field(self, name, $getattr(self, otherwise));
}
}
if ((self.rotary_dim === null)) {
layers_parts$set_field(self, "rotary_dim", self.head_dim);
}
layers_attention$check_sizes(self, ["heads", "kv_heads", "head_dim", "value_dim"]);
layers_attention$check_sizes(self, ["rotary_dim"], 0);
layers_attention$check_groups(self.heads, self.kv_heads);
units_numbers$choose("qk_norm", self.qk_norm, [null, "head", "each", "full"]);
units_numbers$choose("gate", self.gate, [null, "element", "head"]);
if ($truth(self.cross) && (self.d_in === null)) {
throw new $ValueError().__init__(["cross attention needs d_in, the width of what the encoder made"]);
}
}
get reach() {
const self = this;
return ((self.chunk === null) ? self.window : self.chunk);
}
before(d) {
const self = this;
let queries, keys, values, steps, more, gates;
d = ((self.d_in === null) ? d : self.d_in);
[queries, keys] = [$mul(self.heads, self.head_dim), $mul(self.kv_heads, self.head_dim)];
values = $mul(self.kv_heads, self.value_dim);
steps = $list([...self._linear("q_proj", d, queries)]);
if (!($truth(self.shares_kv) || $truth(self.cross))) {
steps = $iadd(steps, self._linear("k_proj", d, keys, true));
if ($truth(self.keys_are_values)) {
steps.append(new layers_parts$PerToken().__init__("v_proj", void 0, void 0, void 0, values, void 0, void 0, void 0, void 0, void 0, void 0, void 0, 1));
} else {
steps = $iadd(steps, self._linear("v_proj", d, values, true));
}
}
if ($truth(self.repeats_kv)) {
more = $sub(self.kept_heads, self.kv_heads);
steps.append(new layers_parts$PerToken().__init__("kv.repeat", void 0, void 0, void 0, $mul(more, $add(self.head_dim, self.value_dim))));
}
steps = $iadd(steps, self._normed(queries, ($truth(self.shares_kv) || $truth(self.cross) ? 0 : keys), values));
if ($truth(self.gate)) {
gates = $mul(self.heads, ((self.gate === "element") ? self.value_dim : 1));
steps = $iadd(steps, self._linear("gate_proj", d, gates));
}
if ($truth(self.sinks)) {
steps.append(new layers_parts$PerToken().__init__("sinks", $mul(2, self.heads), void 0, void 0, void 0, void 0, self.heads));
}
return [...steps, ...self.extra, ...($truth(self.indexer) ? self.indexer.steps(d) : [])];
}
_normed(queries, keys, values) {
const self = this;
let steps, has_keys, width, heads, stored, rotated;
[steps, has_keys] = [$list([]), !units_numbers$is_zero(keys)];
if ($truth(self.qk_norm)) {
width = $add(queries, keys);
heads = ($truth(has_keys) ? 2 : 1);
stored = $dict([["head", $mul(heads, self.head_dim)]]).get(self.qk_norm, width);
steps.append(layers_parts$normalisation("qk_norm", width, self.norm, stored));
}
if ($truth(self.value_norm) && $truth(has_keys)) {
steps.append(layers_parts$normalisation("v_norm", values, "plain_norm"));
}
if (!units_numbers$is_zero(self.rotary_dim)) {
rotated = $mul($add(self.heads, ($truth(has_keys) ? self.kv_heads : 0)), self.rotary_dim);
steps.append(layers_parts$elementwise("rotary", rotated, "rotary", $dict([["gradient", 1]])));
}
return steps;
}
after(d) {
const self = this;
let width, gate;
width = $mul(self.heads, self.value_dim);
gate = ($truth(self.gate) ? [layers_parts$elementwise("attention.gate", width, "sigmoid_gate", $dict([]))] : []);
return [...gate, ...self._linear("o_proj", width, d)];
}
_linear(name, d_in, d_out, cached = false) {
const self = this;
return layers_parts$linear_step(name, d_in, d_out, $has(self.biases, name), cached);
}
_core(run, layers) {
const self = this;
let masked, seq, context, causal, window, met, read, widths;
masked = layers_attention_kinds$_masked(run);
if ($truth(self.cross)) {
if (units_numbers$is_zero(run.encoded)) {
throw new $ValueError().__init__(["give encoded=, the number of tokens that the encoder reads"]);
}
[seq, context, causal, window] = [run.seq, run.encoded, false, null];
} else {
[seq, context, causal, window] = [run.seq, run.context, self.causal, self.reach];
}
if (!($truth(causal) || $truth(self.cross) || $truth(run.is_first))) {
throw new $ValueError().__init__(["an encoder reads a text at once: it has a prefill and no decode"]);
}
if ((self.indexer !== null) && (masked === "skipped")) {
window = self.indexer.top;
}
if ((self.chunk !== null) && (masked === "skipped")) {
met = $sub(layers_attention_kinds$_in_chunks(context, self.chunk), layers_attention_kinds$_in_chunks(run.cached, self.chunk));
read = $sub(context, $mul($floordiv(run.cached, self.chunk), self.chunk));
} else {
if ((window !== null) && !$truth(causal) && (masked === "skipped")) {
[met, read] = [layers_attention_kinds$_on_both_sides(seq, window), context];
} else {
met = layers_attention$pairs_unchecked(seq, context, causal, window, masked);
read = layers_attention$keys_unchecked(seq, context, window);
}
}
read = ($truth(run.one_by_one) ? met : read);
widths = [self.heads, self.kept_heads, self.head_dim, self.value_dim];
return new layers_attention$Core().__init__(run.batch, run.seq, met, read, ...widths, run.scores, layers, run.steps);
}
get kept_heads() {
const self = this;
return ($truth(self.repeats_kv) ? self.heads : self.kv_heads);
}
mixing(run, layers) {
const self = this;
let first, seen;
first = ($truth(self.indexer) ? [self.indexer.mixing(run, layers)] : []);
seen = ($truth(self.cross) ? self._seen(run, layers) : []);
return [...first, ...seen, ...self._core(run, layers).forward()];
}
_seen(run, layers) {
const self = this;
let inner;
inner = $replace(run, $dict([["seq", run.encoded], ["context", run.encoded]]));
return ($truth(run.is_first) ? $tuple((() => { const $ = []; for (const step of self.mixed) $.push(inner.of(step, layers)); return $; })()) : []);
}
get mixed() {
const self = this;
let keys, values, stored, normed;
if (!$truth(self.cross)) {
return [];
}
[keys, values] = [$mul(self.kv_heads, self.head_dim), $mul(self.kv_heads, self.value_dim)];
stored = ((self.qk_norm === "head") ? self.head_dim : keys);
normed = ($truth(self.qk_norm) ? [layers_parts$normalisation("k_norm", keys, self.norm, stored)] : []);
return [...self._linear("k_proj", self.d_in, keys, true), ...normed, ...self._linear("v_proj", self.d_in, values, true)];
}
get caches() {
const self = this;
let width, own;
if ($truth(self.shares_kv) || $truth(self.cross) || !$truth(self.causal)) {
return [];
}
width = $mul(self.kept_heads, $add(self.head_dim, self.value_dim));
own = new layers_parts$Cache().__init__(width, self.reach);
return ($truth(self.indexer) ? [own, new layers_parts$Cache().__init__(self.indexer.cached)] : [own]);
}
get score_heads() {
const self = this;
return self.heads;
}
scores(seq, encoded) {
const self = this;
return $mul($mul(self.heads, seq), ($truth(self.cross) ? encoded : seq));
}
__init__(heads, head_dim, kv_heads = null, value_dim = null, window = null, chunk = null, causal = true, rotary_dim = null, biases = [], norm = "rms_norm", qk_norm = null, value_norm = false, sinks = false, gate = null, keys_are_values = false, shares_kv = false, repeats_kv = false, cross = false, indexer = null, d_in = null, extra = []) {
this.heads = heads;
this.head_dim = head_dim;
this.kv_heads = kv_heads;
this.value_dim = value_dim;
this.window = window;
this.chunk = chunk;
this.causal = causal;
this.rotary_dim = rotary_dim;
this.biases = biases;
this.norm = norm;
this.qk_norm = qk_norm;
this.value_norm = value_norm;
this.sinks = sinks;
this.gate = gate;
this.keys_are_values = keys_are_values;
this.shares_kv = shares_kv;
this.repeats_kv = repeats_kv;
this.cross = cross;
this.indexer = indexer;
this.d_in = d_in;
this.extra = extra;
this.__post_init__();
return this;
}
without_reach() {
const self = this;
return $replace(self, $dict([["window", null], ["chunk", null], ["causal", true]]));
}
}
$class(layers_attention_kinds$Attention, "Attention", "heads head_dim kv_heads value_dim window chunk causal rotary_dim biases norm qk_norm value_norm sinks gate keys_are_values shares_kv repeats_kv cross indexer d_in extra", "/ heads head_dim kv_heads= value_dim= window= chunk= causal= rotary_dim= biases= norm= qk_norm= value_norm= sinks= gate= keys_are_values= shares_kv= repeats_kv= cross= indexer= d_in= extra=");
class layers_attention_kinds$RoutedAttention extends layers_attention_kinds$Attention {
before(d) {
const self = this;
let scored, router;
scored = layers_parts$elementwise("attention.router.softmax", self.experts, "softmax", $dict([]));
router = layers_parts$linear_step("attention.router", d, self.experts);
return [...router, scored, ...layers_attention_kinds$Attention.prototype.before.call(self, d)];
}
after(d) {
const self = this;
return [...layers_attention_kinds$Attention.prototype.after.call(self, d), new layers_parts$PerToken().__init__("o_proj.bias", d, void 0, void 0, void 0, void 0, d, void 0, void 0, void 0, void 0, void 0, 1)];
}
_linear(name, d_in, d_out, cached = false) {
const self = this;
if ((name === "q_proj")) {
d_out = units_numbers$exact_div(d_out, self.per_token);
} else {
if ((name === "o_proj")) {
d_in = units_numbers$exact_div(d_in, self.per_token);
} else {
return layers_attention_kinds$Attention.prototype._linear.call(self, name, d_in, d_out, cached);
}
}
return (() => { const $ = $list(); for (const s of layers_parts$linear_step(name, d_in, d_out)) $.push(s.routed(self.experts, self.per_token)); return $; })();
}
__init__(heads, head_dim, kv_heads = null, value_dim = null, window = null, chunk = null, causal = true, rotary_dim = null, biases = [], norm = "rms_norm", qk_norm = null, value_norm = false, sinks = false, gate = null, keys_are_values = false, shares_kv = false, repeats_kv = false, cross = false, indexer = null, d_in = null, extra = [], experts, per_token) {
this.heads = heads;
this.head_dim = head_dim;
this.kv_heads = kv_heads;
this.value_dim = value_dim;
this.window = window;
this.chunk = chunk;
this.causal = causal;
this.rotary_dim = rotary_dim;
this.biases = biases;
this.norm = norm;
this.qk_norm = qk_norm;
this.value_norm = value_norm;
this.sinks = sinks;
this.gate = gate;
this.keys_are_values = keys_are_values;
this.shares_kv = shares_kv;
this.repeats_kv = repeats_kv;
this.cross = cross;
this.indexer = indexer;
this.d_in = d_in;
this.extra = extra;
this.experts = experts;
this.per_token = per_token;
this.__post_init__();
return this;
}
}
$class(layers_attention_kinds$RoutedAttention, "RoutedAttention", "heads head_dim kv_heads value_dim window chunk causal rotary_dim biases norm qk_norm value_norm sinks gate keys_are_values shares_kv repeats_kv cross indexer d_in extra experts per_token", "/ heads head_dim kv_heads= value_dim= window= chunk= causal= rotary_dim= biases= norm= qk_norm= value_norm= sinks= gate= keys_are_values= shares_kv= repeats_kv= cross= indexer= d_in= extra= experts per_token");
class layers_attention_kinds$DifferentialAttention extends layers_attention_kinds$Attention {
before(d) {
const self = this;
let factor;
factor = new layers_parts$PerToken().__init__("lambda", void 0, void 0, void 0, void 0, void 0, $mul(4, self.head_dim));
return [...layers_attention_kinds$Attention.prototype.before.call(self, d), factor];
}
after(d) {
const self = this;
let width, taken, norm;
width = $mul(self.heads, self.value_dim);
taken = layers_parts$elementwise("difference", width, "residual", $dict([["reads", $mul(2, width)]]));
norm = layers_parts$normalisation("head_norm", width, "plain_norm");
return [taken, norm, ...layers_attention_kinds$Attention.prototype.after.call(self, d)];
}
mixing(run, layers) {
const self = this;
return $tuple((() => { const $ = []; for (const op of layers_attention_kinds$Attention.prototype.mixing.call(self, run, layers)) $.push($mul(op, 2)); return $; })());
}
__init__(heads, head_dim, kv_heads = null, value_dim = null, window = null, chunk = null, causal = true, rotary_dim = null, biases = [], norm = "rms_norm", qk_norm = null, value_norm = false, sinks = false, gate = null, keys_are_values = false, shares_kv = false, repeats_kv = false, cross = false, indexer = null, d_in = null, extra = []) {
this.heads = heads;
this.head_dim = head_dim;
this.kv_heads = kv_heads;
this.value_dim = value_dim;
this.window = window;
this.chunk = chunk;
this.causal = causal;
this.rotary_dim = rotary_dim;
this.biases = biases;
this.norm = norm;
this.qk_norm = qk_norm;
this.value_norm = value_norm;
this.sinks = sinks;
this.gate = gate;
this.keys_are_values = keys_are_values;
this.shares_kv = shares_kv;
this.repeats_kv = repeats_kv;
this.cross = cross;
this.indexer = indexer;
this.d_in = d_in;
this.extra = extra;
this.__post_init__();
return this;
}
}
$class(layers_attention_kinds$DifferentialAttention, "DifferentialAttention", "heads head_dim kv_heads value_dim window chunk causal rotary_dim biases norm qk_norm value_norm sinks gate keys_are_values shares_kv repeats_kv cross indexer d_in extra", "/ heads head_dim kv_heads= value_dim= window= chunk= causal= rotary_dim= biases= norm= qk_norm= value_norm= sinks= gate= keys_are_values= shares_kv= repeats_kv= cross= indexer= d_in= extra=");
class layers_attention_kinds$ValueMaskedAttention extends layers_attention_kinds$Attention {
get mixed() {
const self = this;
let product, scaled;
product = self._linear("dt_proj", $mul(self.kv_heads, self.value_dim), self.kv_heads);
scaled = new layers_parts$PerToken().__init__("dt", $mul(6, self.kv_heads), self.kv_heads, self.kv_heads);
return [...product, $replace(scaled, $dict([["weights", self.kv_heads]]))];
}
mixing(run, layers) {
const self = this;
return [...self._masks(run, layers), ...layers_attention_kinds$Attention.prototype.mixing.call(self, run, layers)];
}
_masks(run, layers) {
const self = this;
let read, found, step, op, into, weights, reads;
read = run.context;
if ($truth(run.one_by_one)) {
read = layers_attention$pairs_unchecked(run.seq, run.context, true, null, "skipped");
}
found = $list([]);
for (step of self.mixed) {
op = $mul(step, layers).op($mul(run.batch, read));
[into, weights] = [op.elements_read.activations, $mul(op.elements_read.weights, run.steps)];
reads = new units_ledger$Elements().__init__(weights, void 0, ($truth(op.is_matmul) ? into : 0));
found.append($replace(op, $dict([["elements_read", reads], ["count", $mul(op.count, run.steps)]])));
}
return $tuple(found);
}
__init__(heads, head_dim, kv_heads = null, value_dim = null, window = null, chunk = null, causal = true, rotary_dim = null, biases = [], norm = "rms_norm", qk_norm = null, value_norm = false, sinks = false, gate = null, keys_are_values = false, shares_kv = false, repeats_kv = false, cross = false, indexer = null, d_in = null, extra = []) {
this.heads = heads;
this.head_dim = head_dim;
this.kv_heads = kv_heads;
this.value_dim = value_dim;
this.window = window;
this.chunk = chunk;
this.causal = causal;
this.rotary_dim = rotary_dim;
this.biases = biases;
this.norm = norm;
this.qk_norm = qk_norm;
this.value_norm = value_norm;
this.sinks = sinks;
this.gate = gate;
this.keys_are_values = keys_are_values;
this.shares_kv = shares_kv;
this.repeats_kv = repeats_kv;
this.cross = cross;
this.indexer = indexer;
this.d_in = d_in;
this.extra = extra;
this.__post_init__();
return this;
}
}
$class(layers_attention_kinds$ValueMaskedAttention, "ValueMaskedAttention", "heads head_dim kv_heads value_dim window chunk causal rotary_dim biases norm qk_norm value_norm sinks gate keys_are_values shares_kv repeats_kv cross indexer d_in extra", "/ heads head_dim kv_heads= value_dim= window= chunk= causal= rotary_dim= biases= norm= qk_norm= value_norm= sinks= gate= keys_are_values= shares_kv= repeats_kv= cross= indexer= d_in= extra=");
class layers_attention_kinds$ConvolvedAttention extends layers_attention_kinds$Attention {
__post_init__() {
const self = this;
layers_attention_kinds$Attention.prototype.__post_init__.call(self);
layers_attention$check_sizes(self, ["d_in"]);
}
before(d) {
const self = this;
let scale;
scale = new layers_parts$PerToken().__init__("k_scale", $mul(self.kv_heads, self.head_dim), void 0, void 0, void 0, void 0, self.kv_heads);
return [...layers_attention_kinds$Attention.prototype.before.call(self, d), scale];
}
mixing(run, layers) {
const self = this;
let first, second, each, padded, moved, count, weights, ops, halves, width, flops;
[first, second] = self.kernels;
each = $mul(run.batch, layers_matmul$product_flops(1, 1, $mul(layers, self.channels)));
padded = $add(run.seq, ((run.masked === "computed") ? $sub(second, 1) : 0));
moved = new units_ledger$Elements().__init__(void 0, $mul($mul(run.batch, run.seq), $mul(layers, self.channels)));
count = $mul(layers, run.steps);
weights = new units_ledger$Elements().__init__($mul($mul(layers, self.mixing_weights), run.steps));
ops = $list([new units_ledger$Op().__init__("conv", $mul($mul(each, first), padded), $add(moved, weights), moved, true, count), new units_ledger$Op().__init__("conv.heads", $mul($mul($mul(each, self.head_dim), second), run.seq), moved, moved, true, count)]);
if ((run.masked === "computed") && $truth(run.is_first)) {
[halves, width] = [$mul($mul(layers, self.kv_heads), $floordiv(self.value_dim, 2)), $either(self.d_in, () => 0)];
flops = $mul(run.batch, layers_matmul$product_flops(1, width, halves));
ops.append(new units_ledger$Op().__init__("v_proj.zeros", flops, void 0, void 0, true, layers));
}
return [...ops, ...layers_attention_kinds$Attention.prototype.mixing.call(self, run, layers)];
}
get mixing_weights() {
const self = this;
let first, second;
[first, second] = self.kernels;
return $mul(self.channels, $add($add(first, $mul(self.head_dim, second)), 2));
}
get caches() {
const self = this;
let width, inputs, state;
width = $mul(self.kv_heads, $add(self.head_dim, self.value_dim));
inputs = $mul(self.channels, $sub($sum(self.kernels), 2));
state = $add(inputs, $mul(self.kv_heads, $floordiv(self.value_dim, 2)));
return [new layers_parts$Cache().__init__(width, self.reach), new layers_parts$Cache().__init__(void 0, void 0, void 0, state)];
}
__init__(heads, head_dim, kv_heads = null, value_dim = null, window = null, chunk = null, causal = true, rotary_dim = null, biases = [], norm = "rms_norm", qk_norm = null, value_norm = false, sinks = false, gate = null, keys_are_values = false, shares_kv = false, repeats_kv = false, cross = false, indexer = null, d_in = null, extra = [], kernels = [2, 2]) {
this.heads = heads;
this.head_dim = head_dim;
this.kv_heads = kv_heads;
this.value_dim = value_dim;
this.window = window;
this.chunk = chunk;
this.causal = causal;
this.rotary_dim = rotary_dim;
this.biases = biases;
this.norm = norm;
this.qk_norm = qk_norm;
this.value_norm = value_norm;
this.sinks = sinks;
this.gate = gate;
this.keys_are_values = keys_are_values;
this.shares_kv = shares_kv;
this.repeats_kv = repeats_kv;
this.cross = cross;
this.indexer = indexer;
this.d_in = d_in;
this.extra = extra;
this.kernels = kernels;
this.__post_init__();
return this;
}
get channels() {
const self = this;
return $mul($add(self.heads, self.kv_heads), self.head_dim);
}
}
$class(layers_attention_kinds$ConvolvedAttention, "ConvolvedAttention", "heads head_dim kv_heads value_dim window chunk causal rotary_dim biases norm qk_norm value_norm sinks gate keys_are_values shares_kv repeats_kv cross indexer d_in extra kernels", "/ heads head_dim kv_heads= value_dim= window= chunk= causal= rotary_dim= biases= norm= qk_norm= value_norm= sinks= gate= keys_are_values= shares_kv= repeats_kv= cross= indexer= d_in= extra= kernels=");
class layers_attention_kinds$Latent extends layers_parts$Part {
__post_init__() {
const self = this;
layers_attention$check_sizes(self, ["heads"]);
units_numbers$choose("gate", self.gate, [null, "element", "head", "fused"]);
}
get reach() {
const self = this;
return self.window;
}
before(d) {
const self = this;
let m, queries, steps, normed, both, rotated, gates;
[m, queries] = [self.mla, $mul(self.heads, self.mla.head_dim)];
if ((m.q_rank === null)) {
steps = $list([...self._linear("q_proj", d, queries)]);
} else {
normed = ($truth(self.q_normed) ? [layers_parts$normalisation("q_norm", m.q_rank, self.norm)] : []);
steps = $list([...self._linear("q_a_proj", d, m.q_rank), ...normed]);
if ((self.gate === "fused")) {
both = $add(queries, $mul(self.heads, m.value_dim));
steps = $iadd(steps, layers_parts$linear_step("q_gate_proj", $mul(2, m.q_rank), both));
} else {
steps = $iadd(steps, self._linear("q_b_proj", m.q_rank, queries));
}
}
rotated = $mul($add(self.heads, ($truth(self.shares_kv) ? 0 : 1)), m.rope_dim);
if (!$truth(self.shares_kv)) {
steps = $iadd(steps, self._linear("kv_a_proj", d, $add(m.kv_rank, m.rope_dim), true));
steps.append(layers_parts$normalisation("kv_norm", m.kv_rank, self.norm));
}
if ($truth(self.sinks)) {
steps.append(new layers_parts$PerToken().__init__("sinks", $mul(2, self.heads), void 0, void 0, void 0, void 0, self.heads));
}
if (!units_numbers$is_zero(m.rope_dim)) {
steps.append(layers_parts$elementwise("rotary", rotated, "rotary", $dict([["gradient", 1]])));
}
if ($has(["element", "head"], self.gate)) {
gates = $mul(self.heads, ((self.gate === "element") ? m.value_dim : 1));
steps = $iadd(steps, self._linear("gate_proj", d, gates));
}
return [...steps, ...self.extra, ...($truth(self.indexer) ? self.indexer.steps(d) : [])];
}
after(d) {
const self = this;
let width, gate;
width = $mul(self.heads, self.mla.value_dim);
gate = ($truth(self.gate) ? [layers_parts$elementwise("attention.gate", width, "sigmoid_gate", $dict([]))] : []);
return [...gate, ...self._linear("o_proj", width, d)];
}
_linear(name, d_in, d_out, cached = false) {
const self = this;
return layers_parts$linear_step(name, d_in, d_out, $has(self.biases, name), cached);
}
_core(run, layers) {
const self = this;
let masked, top, seen, met, read, widths;
masked = layers_attention_kinds$_masked(run);
top = ((self.indexer === null) ? self.top : self.indexer.top);
top = ((masked === "skipped") ? top : null);
seen = ((top === null) ? self.window : top);
met = layers_attention$pairs_unchecked(run.seq, run.context, true, seen, masked);
read = ($truth(run.one_by_one) ? met : layers_attention$keys_unchecked(run.seq, run.context, seen));
widths = [self.heads, self.heads, self.mla.head_dim, self.mla.value_dim];
return new layers_attention$Core().__init__(run.batch, run.seq, met, read, ...widths, run.scores, layers, run.steps);
}
mixing(run, layers) {
const self = this;
let first;
first = ($truth(self.indexer) ? [self.indexer.mixing(run, layers)] : []);
return [...first, ...layers_attention$latent_stages(self._core(run, layers), self.mla, run.mla)];
}
get mixed() {
const self = this;
return [self.expand()];
}
get caches() {
const self = this;
let own;
if ($truth(self.shares_kv)) {
return ($truth(self.indexer) ? [new layers_parts$Cache().__init__(self.indexer.cached)] : []);
}
own = new layers_parts$Cache().__init__($add(self.mla.kv_rank, self.mla.rope_dim), self.window);
return ($truth(self.indexer) ? [own, new layers_parts$Cache().__init__(self.indexer.cached)] : [own]);
}
get score_heads() {
const self = this;
return self.heads;
}
__init__(heads, mla, norm = "rms_norm", biases = [], q_normed = true, gate = null, sinks = false, shares_kv = false, indexer = null, top = null, window = null, extra = []) {
this.heads = heads;
this.mla = mla;
this.norm = norm;
this.biases = biases;
this.q_normed = q_normed;
this.gate = gate;
this.sinks = sinks;
this.shares_kv = shares_kv;
this.indexer = indexer;
this.top = top;
this.window = window;
this.extra = extra;
this.__post_init__();
return this;
}
expand() {
const self = this;
let width;
width = $mul(self.heads, $add(self.mla.nope_dim, self.mla.value_dim));
return $at(layers_parts$linear_step("kv_b_proj", self.mla.kv_rank, width), 0);
}
without_reach() {
const self = this;
return $replace(self, $dict([["window", null]]));
}
}
$class(layers_attention_kinds$Latent, "Latent", "heads mla norm biases q_normed gate sinks shares_kv indexer top window extra", "/ heads mla norm= biases= q_normed= gate= sinks= shares_kv= indexer= top= window= extra=");
function layers_attention_kinds$_masked(run) {
return ($truth(run.one_by_one) ? "skipped" : run.masked);
}
function layers_attention_kinds$_on_both_sides(tokens, window) {
let far;
far = $sub(units_numbers$minimum(window, tokens), 1);
return $sub($add(tokens, $mul($mul(2, far), tokens)), $mul(far, $add(far, 1)));
}
function layers_attention_kinds$_in_chunks(tokens, chunk) {
let full, rest;
[full, rest] = [$floordiv(tokens, chunk), $mod(tokens, chunk)];
return $add($mul(full, units_numbers$triangle(chunk)), units_numbers$triangle(rest));
}
function layers_attention_kinds$pooled(tokens, pool) {
let full, rest;
[full, rest] = [$floordiv(tokens, pool), $mod(tokens, pool)];
return $sub($mul(pool, units_numbers$triangle(full)), $mul(full, $sub($sub(pool, 1), rest)));
}
let units_messages$COLLECTIVES;
units_messages$COLLECTIVES = ["all_reduce", "reduce_scatter", "all_gather", "all_to_all", "send"];
function units_messages$message(name, count, elements, axis, rounds = 1, kind = "activations") {
let sent;
sent = $call(units_ledger$Elements, [], $dict([...$dict([[kind, $mul(count, elements)]]).items()]));
return new units_ledger$Op().__init__(name, 0, void 0, void 0, void 0, count, sent, axis, $mul(count, rounds));
}
function units_messages$collective(does, elements, inside = 1, across = 1, axis, count = 1, name = null, kind = "activations") {
let rows, axis_name, sent, rounds;
units_numbers$choose("does", does, units_messages$COLLECTIVES);
[inside, across] = [units_numbers$size("inside", inside), units_numbers$size("across", across)];
rows = $list([]);
for ([axis_name, sent, rounds] of $zip([[axis, `${$str(axis)}.network`], units_messages$_sent(does, elements, inside, across), units_messages$_rounds(does, inside, across)], true)) {
if (!units_numbers$is_zero(rounds)) {
rows.append(units_messages$message(($truth(name) ? name : does), count, sent, axis_name, rounds, kind));
}
}
return new units_ledger$Ledger().__init__($tuple(rows));
}
function units_messages$_sent(does, elements, inside, across) {
let part, times;
if ((does === "send")) {
return [$mul($sub(inside, 1), elements), $mul($sub(across, 1), elements)];
}
if ((does === "all_to_all")) {
part = units_numbers$ceil_div(elements, $mul(inside, across));
return [$mul($sub(inside, 1), part), $mul($mul(inside, $sub(across, 1)), part)];
}
part = units_numbers$ceil_div(elements, inside);
times = ((does === "all_reduce") ? 2 : 1);
return [$mul($mul(times, $sub(inside, 1)), part), $mul($mul(times, $sub(across, 1)), units_numbers$ceil_div(part, across))];
}
function units_messages$_rounds(does, inside, across) {
let times;
if ((does === "all_to_all")) {
return [$sub(inside, 1), $mul(inside, $sub(across, 1))];
}
times = ((does === "all_reduce") ? 2 : 1);
return [$mul(times, $sub(inside, 1)), $mul(times, $sub(across, 1))];
}
let layers_feed$ACTIVATIONS;
layers_feed$ACTIVATIONS = ["silu", "gelu", "gelu_tanh", "relu", "relu2", "xielu"];
class layers_feed$Mlp extends layers_parts$Part {
__post_init__() {
const self = this;
layers_attention$check_sizes(self, ["width"]);
units_numbers$choose("activation", self.activation, layers_feed$ACTIVATIONS);
}
after(d) {
const self = this;
let into, steps;
into = ((self.d_in === null) ? d : self.d_in);
steps = layers_feed$mlp_steps(self.name, into, self.width, d, self.gated, self.activation, self.bias);
return [...steps, ...self.extra];
}
__init__(width, gated = true, activation = "silu", bias = false, name = "ffn", d_in = null, extra = []) {
this.width = width;
this.gated = gated;
this.activation = activation;
this.bias = bias;
this.name = name;
this.d_in = d_in;
this.extra = extra;
this.__post_init__();
return this;
}
}
$class(layers_feed$Mlp, "Mlp", "width gated activation bias name d_in extra", "/ width gated= activation= bias= name= d_in= extra=");
class layers_feed$Mixture extends layers_parts$Part {
__post_init__() {
const self = this;
layers_attention$check_sizes(self, ["experts", "per_token", "width"]);
layers_attention$check_sizes(self, ["shared_width"], 0);
units_numbers$size("experts - per_token", $sub(self.experts, self.per_token), 0);
units_numbers$choose("activation", self.activation, layers_feed$ACTIVATIONS);
}
after(d) {
const self = this;
let kind, into, experts, how, steps;
kind = $dict([["gated", self.gated], ["activation", self.activation]]);
into = ((self.latent === null) ? d : self.latent);
experts = $call(layers_feed$mlp_steps, ["experts", into, self.width, into], $dict([["bias", self.bias], ...kind.items()]));
how = $dict([["dealt", self.dealt], ["runs_all", self.runs_all]]);
steps = $list([...self._router(d), ...((self.latent === null) ? [] : layers_parts$linear_step("latent_down", d, self.latent)), ...(function* () { for (const step of experts) yield $call($getattr(step, "routed"), [self.experts, self.per_token], $dict([...how.items()])); })(), layers_parts$elementwise("experts.combine", $mul(self.per_token, into), "combine", $dict([["writes", into]])), ...((self.latent === null) ? [] : layers_parts$linear_step("latent_up", self.latent, d))]);
if (!units_numbers$is_zero(self.shared_width)) {
steps = $iadd(steps, $call(layers_feed$mlp_steps, ["shared", d, self.shared_width, d], $dict([["bias", self.shared_bias], ...kind.items()])));
}
if ($truth(self.shared_gate)) {
steps = $iadd(steps, layers_parts$linear_step("shared_gate", d, 1));
}
return [...steps, ...self.extra];
}
_router(d) {
const self = this;
let scored, looked_up, linear;
scored = layers_parts$elementwise("router.softmax", self.experts, "softmax", $dict([]));
looked_up = new layers_parts$PerToken().__init__("router.lookup", void 0, void 0, void 0, void 0, self.per_token, void 0, self.hash_table);
linear = layers_parts$linear_step("router", d, self.experts, self.router_bias);
linear = ((self.router === null) ? linear : self.router);
return [...linear, ...($truth(self.routed_by_hash) ? [looked_up] : []), scored];
}
messages(run, layers, d) {
const self = this;
let copies, how;
if (layers_parts$is_one(self.dealt)) {
return new units_ledger$Ledger().__init__();
}
copies = $mul($mul(run.tokens, self.per_token), ((self.latent === null) ? d : self.latent));
how = $dict([["inside", units_numbers$exact_div(self.dealt, self.nodes)], ["across", self.nodes]]);
$put(how, "count", $mul($mul(2, layers), run.steps));
return $call(units_messages$collective, ["all_to_all", copies], $dict([["axis", "expert"], ...how.items()]));
}
__init__(experts, per_token, width, shared_width = 0, shared_gate = false, gated = true, activation = "silu", router_bias = false, bias = false, shared_bias = false, latent = null, routed_by_hash = false, hash_table = 0, runs_all = false, router = null, dealt = 1, nodes = 1, extra = []) {
this.experts = experts;
this.per_token = per_token;
this.width = width;
this.shared_width = shared_width;
this.shared_gate = shared_gate;
this.gated = gated;
this.activation = activation;
this.router_bias = router_bias;
this.bias = bias;
this.shared_bias = shared_bias;
this.latent = latent;
this.routed_by_hash = routed_by_hash;
this.hash_table = hash_table;
this.runs_all = runs_all;
this.router = router;
this.dealt = dealt;
this.nodes = nodes;
this.extra = extra;
this.__post_init__();
return this;
}
}
$class(layers_feed$Mixture, "Mixture", "experts per_token width shared_width shared_gate gated activation router_bias bias shared_bias latent routed_by_hash hash_table runs_all router dealt nodes extra", "/ experts per_token width shared_width= shared_gate= gated= activation= router_bias= bias= shared_bias= latent= routed_by_hash= hash_table= runs_all= router= dealt= nodes= extra=");
function layers_feed$mlp_steps(name, d_in, width, d_out, gated, activation, bias = false) {
let flops, read, gate;
[flops, read] = [$at(layers_attention$FLOPS_PER_ELEMENT, activation), 1];
gate = [];
if ($truth(gated)) {
[flops, read] = [$add(flops, $at(layers_attention$FLOPS_PER_ELEMENT, "gate")), 2];
gate = layers_parts$linear_step(`${$str(name)}.gate`, d_in, width, bias);
}
return [...gate, ...layers_parts$linear_step(`${$str(name)}.up`, d_in, width, bias), new layers_parts$PerToken().__init__(`${$str(name)}.activation`, $mul(flops, width), $mul(read, width), width), ...layers_parts$linear_step(`${$str(name)}.down`, width, d_out, bias)];
}
class layers_table$Table extends $object {
__init__(model) {
const self = this;
let d, norm, shapes, mixers, caches, norms, extra, added, block, part, cache, step, residual, final, is_last, bias, width, unembedding, again, ending;
self.params = null;
self.packed = null;
self.own = null;
[d, norm] = [model.d_model, model.norm];
shapes = $list([]);
mixers = $list([]);
caches = $list([]);
norms = $list([]);
extra = $list([]);
added = 0;
for (block of model.blocks) {
layers_table$count_rows(norms, block.norm_step(d), $mul(block.norms, block.layers));
added = layers_parts$plus(added, $mul(block.added, block.layers));
for (part of block.parts) {
layers_table$count_rows(mixers, part, block.layers);
layers_table$count_rows(shapes, part.without_reach(), block.layers);
}
for (cache of block.caches) {
layers_table$count_rows(caches, cache, block.layers);
}
for (step of block.extra) {
layers_table$count_rows(extra, step, block.layers);
}
}
residual = layers_parts$elementwise("residual", d, "residual", $dict([["reads", $mul(2, d)], ["gradient", 1]]));
final = ($truth(model.final_norm) ? $list([layers_parts$normalisation("final_norm", d, norm)]) : $list([]));
is_last = !$truth(model.hands_on);
bias = $has(model.biases, "unembedding");
self.before = [...layers_table$_first(model), ...layers_table$_all(norms), ...layers_table$_rows(shapes, "before", d)];
self.after = [...layers_table$_rows(shapes, "after", d), ...layers_table$_all(extra), ...layers_parts$times($list([residual]), added), ...($truth(is_last) ? [...final, ...model.last] : [])];
width = ((model.embedding_width === null) ? d : model.embedding_width);
unembedding = layers_parts$linear_step("unembedding", width, model.vocab, bias);
again = $replace($at(unembedding, 0), $dict([["name", "ahead.unembedding"], ["borrowed", !$truth(model.copied)]]));
ending = [...$either(model.head, () => unembedding), ...layers_parts$times($list([again]), model.predicted)];
self.last = ($truth(is_last) ? ending : []);
self.mixers = $tuple($sorted(mixers, ((row) => layers_table$_is_local($at(row, 0)))));
self.caches = $tuple(caches);
return this;
}
}
$class(layers_table$Table, "Table", "", "model");
function layers_table$_is_local(part) {
return ((part instanceof layers_attention_kinds$Attention) && (part.reach !== null));
}
function layers_table$count_rows(rows, thing, layers) {
let index, other, count;
if (units_numbers$is_zero(layers)) {
return null;
}
for ([index, [other, count]] of $enumerate(rows)) {
if (layers_parts$same(thing, other)) {
$put(rows, index, [other, $add(count, layers)]);
return null;
}
}
rows.append([thing, layers]);
}
function layers_table$_all(rows) {
return (() => { const $ = $list(); for (const [step, count] of rows) $.push($mul(step, count)); return $; })();
}
function layers_table$_rows(shapes, side, d) {
let rows, part, layers, step;
rows = $list([]);
for ([part, layers] of shapes) {
for (step of $call($getattr(part, side), [d], null)) {
layers_table$count_rows(rows, step, layers);
}
}
return layers_table$_all(rows);
}
function layers_table$_first(model) {
let first, d, is_own, table;
first = ($truth(model.is_first) ? layers_table$_embedding(model) : $list([]));
if (!units_numbers$is_zero(model.predicted) && !$truth(model.hands_on)) {
[d, is_own] = [model.d_model, $either(model.copied, () => !$truth(model.is_first))];
table = ($truth(is_own) ? $mul(model.vocab, d) : 0);
first.append($mul(new layers_parts$PerToken().__init__("ahead.embedding", void 0, void 0, d, void 0, d, void 0, table), model.predicted));
}
return $list([...first, ...($truth(model.is_first) ? model.first : [])]);
}
function layers_table$_embedding(model) {
let d, width, first, rows;
d = model.d_model;
width = ((model.embedding_width === null) ? d : model.embedding_width);
first = $list([new layers_parts$PerToken().__init__("embedding", void 0, void 0, width, void 0, width, void 0, $mul(model.vocab, width))]);
if (!units_numbers$is_zero(model.positions)) {
rows = $dict([["rows", d], ["table", $mul(model.positions, d)]]);
first.append(layers_parts$elementwise("positions", d, "residual", $dict([...rows.items()])));
}
if ($truth(model.embedding_norm)) {
first.append(layers_parts$normalisation("embedding_norm", d, model.norm));
}
return first;
}
class layers_encoder$Encoder extends layers_parts$Part {
__post_init__() {
const self = this;
layers_attention$check_sizes(self, ["d_model"]);
}
get mixing_weights() {
const self = this;
let total, step;
total = 0;
for (step of [...self.first, ...self.last]) {
total = layers_parts$plus(total, step.parameters());
}
return layers_parts$plus(total, layers_encoder$_parameters(self.blocks, self.d_model));
}
scores(seq, encoded) {
const self = this;
return layers_encoder$_scores(self.blocks, encoded, encoded);
}
mixing(run, layers) {
const self = this;
let inner, ops, block;
if (!$truth(run.is_first)) {
return [];
}
inner = self._pass(run);
ops = (() => { const $ = $list(); for (const step of self.first) $.push(inner.of(step, layers)); return $; })();
for (block of self.blocks) {
ops = $iadd(ops, layers_encoder$_forward(block, self.d_model, inner, layers));
}
ops = $iadd(ops, (() => { const $ = $list(); for (const step of self.last) $.push(inner.of(step, layers)); return $; })());
return $tuple((() => { const $ = []; for (const op of ops) $.push(op.named(`encoder.${$str(op.name)}`)); return $; })());
}
_pass(run) {
const self = this;
if (units_numbers$is_zero(run.encoded)) {
throw new $ValueError().__init__(["give encoded=, the number of tokens that the encoder reads"]);
}
return $replace(run, $dict([["seq", run.encoded], ["context", run.encoded], ["encoded", 0]]));
}
__init__(d_model, blocks, first = [], last = []) {
this.d_model = d_model;
this.blocks = blocks;
this.first = first;
this.last = last;
this.__post_init__();
return this;
}
}
$class(layers_encoder$Encoder, "Encoder", "d_model blocks first last", "/ d_model blocks first= last=");
class layers_encoder$WhereSeen extends layers_parts$Part {
get mixing_weights() {
const self = this;
return layers_encoder$_parameters(self.blocks, self.d_model);
}
scores(seq, encoded) {
const self = this;
return layers_encoder$_scores(self.blocks, seq, encoded);
}
mixing(run, layers) {
const self = this;
if (units_numbers$is_zero(run.encoded)) {
return [];
}
return $tuple((() => { const $ = []; for (const b of self.blocks) for (const op of layers_encoder$_forward(b, self.d_model, run, layers)) $.push(op); return $; })());
}
__init__(d_model, blocks) {
this.d_model = d_model;
this.blocks = blocks;
return this;
}
}
$class(layers_encoder$WhereSeen, "WhereSeen", "d_model blocks", "/ d_model blocks");
function layers_encoder$_parameters(blocks, d) {
let total, block;
total = 0;
for (block of blocks) {
total = layers_parts$plus(total, $mul(block.layers, block.parameters(d)));
}
return total;
}
function layers_encoder$_scores(blocks, seq, encoded) {
let total, block, part;
total = 0;
for (block of blocks) {
for (part of block.parts) {
total = layers_parts$plus(total, $mul(block.layers, part.scores(seq, encoded)));
}
}
return total;
}
function layers_encoder$_residual(d) {
return layers_parts$elementwise("residual", d, "residual", $dict([["reads", $mul(2, d)], ["gradient", 1]]));
}
function layers_encoder$_forward(block, d, run, layers) {
let count, ops, part;
count = $mul(layers, block.layers);
ops = $list([run.of(block.norm_step(d), $mul(count, block.norms))]);
for (part of block.parts) {
ops = $iadd(ops, (() => { const $ = $list(); for (const step of part.before(d)) $.push(run.of(step, count)); return $; })());
ops = $iadd(ops, part.mixing(run, count));
ops = $iadd(ops, (() => { const $ = $list(); for (const step of part.after(d)) $.push(run.of(step, count)); return $; })());
}
ops = $iadd(ops, (() => { const $ = $list(); for (const step of block.extra) $.push(run.of(step, count)); return $; })());
return $list([...ops, run.of(layers_encoder$_residual(d), $mul(count, block.added))]);
}
class model_checkpoint$Packing extends $object {
bytes(weights, inputs) {
const self = this;
let each;
each = $add($add($div(self.bits, 8), self.beside), $div(self.per_row, inputs));
return $add($mul(weights, each), $mul(self.per_column, inputs));
}
__init__(bits, beside = 0, per_row = 0, per_column = 0) {
this.bits = bits;
this.beside = beside;
this.per_row = per_row;
this.per_column = per_column;
return this;
}
}
$class(model_checkpoint$Packing, "Packing", "bits beside per_row per_column", "/ bits beside= per_row= per_column=");
class model_checkpoint$Storage extends $object {
__post_init__() {
const self = this;
let groups, pattern, packing, found;
groups = $dict([]);
for ([pattern, packing] of self.special) {
groups.setdefault(packing, $list([])).append(pattern);
}
found = $tuple((() => { const $ = []; for (const [packing, patterns] of groups.items()) $.push([packing, $tuple(patterns)]); return $; })());
self._special = found;
}
of(step, layer, beside = false) {
const self = this;
let packing, where, special, patterns;
if ($has(model_checkpoint$_NEVER_PACKED, step)) {
return null;
}
packing = ($truth($str_startswith(step, "experts.")) && $truth(self.experts) ? self.experts : self.packing);
if (!$truth(self.kept) && !$truth(self.special)) {
return packing;
}
where = [step, layer, beside];
for ([special, patterns] of self._special) {
if (model_checkpoint$_names(patterns, ...where)) {
return special;
}
}
return ((packing === null) || model_checkpoint$_names(self.kept, ...where) ? null : packing);
}
__init__(name, packing = null, experts = null, kept = [], special = [], plain = 2, kv = null, compute = null, unread = "", first_layer = 0) {
this.name = name;
this.packing = packing;
this.experts = experts;
this.kept = kept;
this.special = special;
this.plain = plain;
this.kv = kv;
this.compute = compute;
this.unread = unread;
this.first_layer = first_layer;
this.__post_init__();
return this;
}
}
$class(model_checkpoint$Storage, "Storage", "name packing experts kept special plain kv compute unread first_layer _special!^~", "/ name packing= experts= kept= special= plain= kv= compute= unread= first_layer=");
$signed(model_checkpoint$Storage.prototype.of, "step layer / beside=");
function model_checkpoint$weight_bytes(blocks, d_model, params, storage) {
let saved, matrix;
if ($truth(storage.unread)) {
throw new $ValueError().__init__([storage.unread]);
}
saved = 0;
for (matrix of model_checkpoint$_matrices(blocks, d_model, storage)) {
saved = $sub($add(saved, $mul(matrix.weights, storage.plain)), matrix.bytes);
}
return $sub($mul(params, storage.plain), saved);
}
function model_checkpoint$step_bytes(blocks, d_model, storage) {
let weights, held, matrix, name;
weights = $dict([]);
held = $dict([]);
for (matrix of model_checkpoint$_matrices(blocks, d_model, storage)) {
for (name of [matrix.name, ...model_checkpoint$_HALVES.get(matrix.name, [])]) {
$put(weights, name, $add(weights.get(name, 0), matrix.weights));
$put(held, name, $add(held.get(name, 0), matrix.bytes));
}
}
return $tuple((() => { const $ = []; for (const name of weights) $.push([name, $div($at(held, name), $at(weights, name))]); return $; })());
}
class model_checkpoint$_Matrices extends $object {
times(layers, prefix) {
const self = this;
return new model_checkpoint$_Matrices().__init__(`${$str(prefix)}${$str(self.name)}`, $mul(self.weights, layers), $mul(self.bytes, layers));
}
__init__(name, weights, bytes) {
this.name = name;
this.weights = weights;
this.bytes = bytes;
return this;
}
}
$class(model_checkpoint$_Matrices, "_Matrices", "name weights bytes", "name weights bytes");
function* model_checkpoint$_matrices(blocks, d_model, storage) {
let first, seen, block, layers, alike, steps, beside, step, packings, part, prefix, matrix;
first = storage.first_layer;
seen = $list([]);
for (block of blocks) {
layers = $int(block.layers);
if (!units_numbers$is_zero(block.borrowed)) {
throw new $ValueError().__init__(["layers share weights: what packing saves of them is not counted"]);
}
alike = (function* () { for (const [other, known] of $part(seen, -8, null, null)) if (model_checkpoint$_alike(other, block)) yield known; })();
steps = $next(alike, null);
if ((steps === null)) {
steps = $list([...model_checkpoint$_products(block, d_model)]);
seen.append([block, steps]);
}
beside = $any((function* () { for (const step of steps) yield $str_startswith(step.name, "ffn."); })());
for (step of steps) {
packings = model_checkpoint$_packings(storage, step.name, first, layers, beside);
yield model_checkpoint$_packed(step, packings, storage.plain);
}
for (part of block.parts) {
if ($isinstance(part, [layers_encoder$Encoder, layers_encoder$WhereSeen])) {
prefix = ((part instanceof layers_encoder$Encoder) ? "encoder." : "");
for (matrix of model_checkpoint$_matrices(part.blocks, part.d_model, storage)) {
yield matrix.times(block.layers, prefix);
}
}
}
first = $iadd(first, layers);
}
}
let model_checkpoint$_packings = $call($lru_cache(4096), [(function _packings(storage, step, first, layers, beside) {
let found, layer, packing;
found = $dict([]);
for (layer of $range(first, $add(first, layers))) {
packing = $call($getattr(storage, "of"), [step, layer], $dict([["beside", beside]]));
$put(found, packing, $add(found.get(packing, 0), 1));
}
return $tuple(found.items());
})]);
function model_checkpoint$_packed(step, packings, plain) {
let matrices, inputs, held, layers, packing, count, one;
matrices = $div(step.parameters(), step.weights);
inputs = $div(step.reads, ($truth(step.is_expert) ? step.chosen : 1));
held = 0;
layers = 0;
for ([packing, count] of packings) {
one = ((packing === null) ? $mul(step.weights, plain) : packing.bytes(step.weights, inputs));
[held, layers] = [$add(held, $mul($mul(count, matrices), one)), $add(layers, count)];
}
return new model_checkpoint$_Matrices().__init__(step.name, $mul($mul(matrices, step.weights), layers), held);
}
function model_checkpoint$_alike(one, other) {
return (layers_parts$same(one.parts, other.parts) && layers_parts$same(one.extra, other.extra));
}
function* model_checkpoint$_products(block, d) {
let part;
for (part of block.parts) {
yield* $filter(model_checkpoint$_is_product, [...part.before(d), ...part.after(d), ...part.mixed]);
}
yield* $filter(model_checkpoint$_is_product, block.extra);
}
function model_checkpoint$_is_product(step) {
return $both(step.is_matmul, () => !units_numbers$is_zero(step.weights));
}
let model_checkpoint$_HALVES;
model_checkpoint$_HALVES = $dict([["kv_b_proj", ["q_absorb", "v_absorb"]]]);
let model_checkpoint$_NEVER_PACKED;
model_checkpoint$_NEVER_PACKED = ["router", "shared_gate", "ahead.proj"];
let model_checkpoint$_PREFIXES;
model_checkpoint$_PREFIXES = ["model.layers.{i}", "model.language_model.layers.{i}", "language_model.model.layers.{i}", "backbone.layers.{i}", "layers.{i}"];
let model_checkpoint$_ATTENTION;
model_checkpoint$_ATTENTION = ["self_attn", "mixer", "attn", "attention", "linear_attn", "mamba", "block_sparse_moe"];
let model_checkpoint$_FEEDS;
model_checkpoint$_FEEDS = ["mlp", "mixer", "ffn", "feed_forward", "block_sparse_moe"];
let model_checkpoint$_SPELLED;
model_checkpoint$_SPELLED = $dict([["kv_a_proj", ["kv_a_proj_with_mqa"]], ["beta_proj", ["in_proj_b", "b_proj", "in_proj_ba"]], ["decay_proj", ["in_proj_a", "in_proj_ba"]], ["gate", ["gate_proj", "w1"]], ["up", ["up_proj", "w3"]], ["down", ["down_proj", "w2"]]]);
let model_checkpoint$_LINEAR;
model_checkpoint$_LINEAR = $dict([["q_proj", "in_proj_qkv"], ["k_proj", "in_proj_qkv"], ["v_proj", "in_proj_qkv"], ["gate_proj", "in_proj_z"], ["o_proj", "out_proj"]]);
let model_checkpoint$_paths = $call($lru_cache(512), [(function _paths(step, beside) {
let group, _, last, names, inside, groups, kinds;
[group, _, last] = $str_rpartition(step, ".");
names = model_checkpoint$_SPELLED.get(last, [last]);
if ((group === "ffn")) {
inside = (() => { const $ = $list(); for (const feed of model_checkpoint$_FEEDS) for (const name of names) $.push(`${$str(feed)}.${$str(name)}`); return $; })();
} else {
if ((group === "experts")) {
groups = ($truth(beside) ? ["experts.0"] : $tuple((() => { const $ = []; for (const feed of model_checkpoint$_FEEDS) $.push(`${$str(feed)}.experts.0`); return $; })()));
inside = (() => { const $ = $list(); for (const inner of groups) for (const name of names) $.push(`${$str(inner)}.${$str(name)}`); return $; })();
} else {
if ((group === "shared")) {
kinds = ["shared_experts", "shared_expert", "shared_mlp"];
inside = (() => { const $ = $list(); for (const feed of model_checkpoint$_FEEDS) for (const kind of kinds) for (const name of names) $.push(`${$str(feed)}.${$str(kind)}.${$str(name)}`); return $; })();
} else {
if ((group === "indexer")) {
inside = (() => { const $ = $list(); for (const kind of model_checkpoint$_ATTENTION) for (const name of names) $.push(`${$str(kind)}.indexer.${$str(name)}`); return $; })();
} else {
inside = (() => { const $ = $list(); for (const kind of model_checkpoint$_ATTENTION) for (const name of names) $.push(`${$str(kind)}.${$str(name)}`); return $; })();
inside = $iadd(inside, ($has(model_checkpoint$_LINEAR, last) ? $list([`linear_attn.${$str($at(model_checkpoint$_LINEAR, last))}`]) : $list([])));
}
}
}
}
return $tuple((() => { const $ = []; for (const prefix of model_checkpoint$_PREFIXES) for (const path of inside) $.push(`${$str(prefix)}.${$str(path)}`); return $; })());
})]);
function model_checkpoint$_names(patterns, step, layer, beside) {
let _, digits, is_told;
if (!$truth(model_checkpoint$_plainly(patterns, step, beside).isdisjoint(["", $str(layer)]))) {
return true;
}
[_, _, digits] = model_checkpoint$_compiled(patterns);
is_told = $any((function* () { for (const digit of digits) yield $has($str(layer), digit); })());
return model_checkpoint$_fits(patterns, step, ($truth(is_told) ? $str(layer) : "{i}"), beside);
}
let model_checkpoint$_fits = $call($lru_cache(4096), [(function _fits(patterns, step, layer, beside) {
let _, pattern, paths;
[_, pattern, _] = model_checkpoint$_compiled(patterns);
paths = (function* () { for (const path of model_checkpoint$_paths(step, beside)) yield $str_replace(path, "{i}", layer); })();
return ((pattern !== null) && $any((function* () { for (const path of paths) yield pattern.match(path); })()));
})]);
let model_checkpoint$_plainly = $call($lru_cache(4096), [(function _plainly(patterns, step, beside) {
let named, _, paths, begun, known;
[named, _, _] = model_checkpoint$_compiled(patterns);
paths = model_checkpoint$_paths(step, beside);
begun = (function* () { for (const name of named) if ($truth($str_endswith(name, "*"))) yield name; })();
known = $set((() => { const $ = []; for (const name of begun) if ($any((function* () { for (const path of paths) yield $str_startswith(path, $part(name, null, -1, null)); })())) $.push(name); return $; })());
return $frozenset((() => { const $ = []; for (const name of $or(known, model_checkpoint$_nested(paths))) for (const layer of named.get(name, [])) $.push(layer); return $; })());
})]);
let model_checkpoint$_nested = $call($lru_cache(512), [(function _nested(paths) {
let split;
split = (() => { const $ = $list(); for (const path of paths) $.push($str_split(path, ".")); return $; })();
return $frozenset((() => { const $ = []; for (const parts of split) for (const end of $range(1, $add($len(parts), 1))) for (const some of [$part(parts, null, end, null), $part(parts, $sub(end, 1), null, null)]) $.push($str_join(".", some)); return $; })());
})]);
let model_checkpoint$_compiled = $call($lru_cache(4096), [(function _compiled(patterns) {
let named, others, ways, name, expression, listed, path, whole, places, layer, shown, digits, one, problem;
named = $dict([]);
[others, ways] = [$list([]), 0.0];
for (name of patterns) {
expression = ($truth($str_startswith(name, "re:")) ? $part(name, 3, null, null) : model_checkpoint$_wildcard(name));
listed = model_checkpoint$_LISTED.fullmatch(expression);
if ($truth(listed)) {
path = $str_replace(`${$str($at(listed, "front"))}{i}${$str($at(listed, "rest"))}`, "\\.", ".");
path = ($truth($at(listed, "star")) ? $add(path, "*") : path);
named.setdefault(path, $list([])).extend($str_split($at(listed, "layers"), "|"));
} else {
if ($truth($re_findall(model_checkpoint$_BEGUN, name))) {
[whole, places] = $spread(model_checkpoint$_in_each_place($part(name, null, -1, null)), 1, 0);
for ([path, layer] of ($truth(places) ? places : $list([whole]))) {
named.setdefault(`${$str(path)}*`, $list([])).append(layer);
}
} else {
if ($eq(expression, name)) {
for ([path, layer] of model_checkpoint$_in_each_place(name)) {
named.setdefault(path, $list([])).append(layer);
}
} else {
others.append(expression);
ways = $iadd(ways, model_checkpoint$_ways(expression));
}
}
}
if ($gt(ways, model_checkpoint$_MOST_WAYS)) {
shown = ($le($len(name), 60) ? name : `${$str($part(name, null, 59, null))}…`);
throw new $ValueError().__init__([`modules are named by ${$repr(shown)}: ${$str(model_checkpoint$_TOO_MANY_WAYS)}`]);
}
}
digits = $set((() => { const $ = []; for (const other of others) for (const number of model_checkpoint$_telling(other)) $.push(number); return $; })());
try {
one = ($truth(others) ? $re_compile($str_join("|", (() => { const $ = []; for (const other of others) $.push(`(?:${$str(other)})`); return $; })())) : null);
} catch ($problem0) {
if ($caught($problem0, [$re_error])) {
problem = $problem0;
throw new $ValueError().__init__(["a name of modules after 're:' is no regular expression"]);
} else throw $problem0;
}
return [named, one, $tuple(digits)];
})]);
function model_checkpoint$_telling(expression) {
if ($truth($re_findall(model_checkpoint$_ANY_NUMBER, expression))) {
return $list([""]);
}
return $re_findall(($truth($re_findall("[0-9][?*{]", expression)) ? "[0-9]" : "[0-9]+"), expression);
}
function* model_checkpoint$_in_each_place(name) {
let parts, at, part;
yield [name, ""];
parts = $str_split(name, ".");
for ([at, part] of $enumerate(parts)) {
if ($truth($str_isdecimal(part))) {
yield [$str_join(".", [...$part(parts, null, at, null), "{i}", ...$part(parts, $add(at, 1), null, null)]), part];
}
}
}
function model_checkpoint$_wildcard(pattern) {
let inside;
if (!$has(pattern, "*")) {
return pattern;
}
inside = ($truth($str_endswith(pattern, "*")) ? "" : "(?:\\..*)?$");
return $add($str_join(".*", $map($re_escape, [$str_split(pattern, "*")])), inside);
}
let model_checkpoint$_LISTED;
model_checkpoint$_LISTED = $re_compile("(?P<front>(?:\\w|\\\\\\.)+\\\\\\.)\\(\\?:(?P<layers>[0-9|]+)\\)(?P<rest>(?:\\w|\\\\\\.)+)(?:(?P<star>\\.\\*)|\\(\\?:\\\\\\.\\.\\*\\)\\?\\$)");
let model_checkpoint$_BEGUN;
model_checkpoint$_BEGUN = "^(?!re:)[^*]*[^*0-9]\\*$";
let model_checkpoint$_ANY_NUMBER;
model_checkpoint$_ANY_NUMBER = "\\\\\\w|(?<!\\\\)\\[|(?<!\\\\)\\.(?![*+])";
let model_checkpoint$_MOST_WAYS;
model_checkpoint$_MOST_WAYS = 20000;
let model_checkpoint$_TOO_MANY_WAYS;
model_checkpoint$_TOO_MANY_WAYS = "a repeated group, many stars or rare signs, which could take hours to look for";
let model_checkpoint$_MOST_LETTERS;
model_checkpoint$_MOST_LETTERS = 1000;
let model_checkpoint$_SIGNS;
model_checkpoint$_SIGNS = "\\\\[\\s\\S]|\\[\\^?(?:\\\\.|[^\\[\\]\\\\])+\\]|[\\s\\S]";
let model_checkpoint$_REFUSED;
model_checkpoint$_REFUSED = "\\)[*+{]|[*+?}][*+{]|\\(\\?[^:=!]|[\\[\\]]";
let model_checkpoint$_REPEATED;
model_checkpoint$_REPEATED = "[^.][*+{]|\\.[*+{](?=.*[^.*+?()|$:])";
function model_checkpoint$_ways(expression) {
let signs, text, repeats, options, bars, groups, alternatives;
signs = $re_findall(model_checkpoint$_SIGNS, expression);
text = $str_join("", (() => { const $ = []; for (const sign of signs) $.push(($gt($len(sign), 1) ? "x" : sign)); return $; })());
if ($gt($len(expression), model_checkpoint$_MOST_LETTERS) || $truth($re_findall(model_checkpoint$_REFUSED, text))) {
return $math_inf;
}
repeats = $min([$len($re_findall(model_checkpoint$_REPEATED, text)), 9]);
options = $min([$len($re_findall("[^(]\\?", text)), 99]);
bars = $len($re_findall("[^0-9|]\\|", text));
groups = $add(1, $len($re_findall("\\(", text)));
alternatives = $pow($div($add(bars, groups), groups), groups);
return $mul($mul(alternatives, $float($pow(50, repeats))), $float($pow(2, options)));
}
class layers_compressed$CompressedIndexer extends $object {
__init__(heads, head_dim, top) {
this.heads = heads;
this.head_dim = head_dim;
this.top = top;
return this;
}
}
$class(layers_compressed$CompressedIndexer, "CompressedIndexer", "heads head_dim top", "/ heads head_dim top");
class layers_compressed$CompressedAttention extends layers_parts$Part {
__post_init__() {
const self = this;
layers_attention$check_sizes(self, ["heads", "head_dim", "window", "q_rank", "output_groups", "output_rank"]);
layers_attention$check_groups(self.heads, self.output_groups);
if ((self.every !== null)) {
layers_attention$check_sizes(self, ["every"]);
}
}
get reach() {
const self = this;
return self.window;
}
before(d) {
const self = this;
let queries, dim, steps, rotated, width;
[queries, dim] = [$mul(self.heads, self.head_dim), self.head_dim];
steps = $list([...layers_parts$linear_step("q_a_proj", d, self.q_rank), layers_parts$normalisation("q_norm", self.q_rank, self.norm), ...layers_parts$linear_step("q_b_proj", self.q_rank, queries), layers_parts$normalisation("qk_norm", queries, "plain_norm"), ...layers_parts$linear_step("kv_proj", d, dim, void 0, true), layers_parts$normalisation("kv_norm", dim, self.norm), new layers_parts$PerToken().__init__("sinks", $mul(2, self.heads), void 0, void 0, void 0, void 0, self.heads)]);
if (!units_numbers$is_zero(self.rotary_dim)) {
rotated = $mul($add($mul(2, self.heads), 1), self.rotary_dim);
steps.append(layers_parts$elementwise("rotary", rotated, "rotary", $dict([["gradient", 1]])));
}
if ((self.every !== null)) {
steps = $iadd(steps, self._compressor("compressor", d, dim, self.every));
if ($truth(self.indexer)) {
steps = $iadd(steps, self._compressor("indexer", d, self.indexer.head_dim, self.every));
width = $mul(self.indexer.heads, self.indexer.head_dim);
steps = $iadd(steps, layers_parts$linear_step("indexer.q_proj", self.q_rank, width));
steps = $iadd(steps, layers_parts$linear_step("indexer.weights", d, self.indexer.heads));
}
}
return $tuple(steps);
}
_compressor(name, d, dim, every) {
const self = this;
let width, entry;
width = ($truth(self.indexer) ? $mul(2, dim) : dim);
entry = ($eq($mod(dim, every), 0) ? units_numbers$exact_div(dim, every) : $div(dim, every));
return $list([...layers_parts$linear_step(`${$str(name)}.kv_proj`, d, width), ...layers_parts$linear_step(`${$str(name)}.gate_proj`, d, width), new layers_parts$PerToken().__init__(`${$str(name)}.add_up`, $mul(8, width), $mul(2, width), void 0, entry, void 0, $mul(every, width)), new layers_parts$PerToken().__init__(`${$str(name)}.norm`, $mul(4, entry), void 0, void 0, void 0, void 0, dim)]);
}
after(d) {
const self = this;
let into, middle, each, grouped;
[into, middle] = [$mul(self.heads, self.head_dim), $mul(self.output_groups, self.output_rank)];
each = units_numbers$exact_div(into, self.output_groups);
grouped = new layers_parts$PerToken().__init__("o_a_proj", layers_matmul$product_flops(1, each, middle), into, middle, void 0, void 0, $mul(each, middle), void 0, void 0, void 0, void 0, true);
return [grouped, ...layers_parts$linear_step("o_b_proj", middle, d)];
}
mixing(run, layers) {
const self = this;
let first;
first = ($truth(self.indexer) && (self.every !== null) ? [self._indexed(run, layers)] : []);
return [...first, ...self._core(run, layers).forward(void 0, true)];
}
_core(run, layers) {
const self = this;
let masked, met, read, top, entries, widths;
masked = ($truth(run.one_by_one) ? "skipped" : run.masked);
met = layers_attention$pairs_unchecked(run.seq, run.context, true, self.window, masked);
read = layers_attention$keys_unchecked(run.seq, run.context, self.window);
if ((self.every !== null)) {
top = ($truth(self.indexer) ? self.indexer.top : null);
entries = $floordiv(run.context, self.every);
met = $add(met, self._met(run, top, masked));
read = $add(read, ((top === null) ? entries : units_numbers$minimum(entries, $sub($add(top, run.seq), 1))));
}
read = ($truth(run.one_by_one) ? met : read);
widths = [self.heads, 1, self.head_dim, self.head_dim];
return new layers_attention$Core().__init__(run.batch, run.seq, met, read, ...widths, run.scores, layers, run.steps);
}
_met(run, top, masked) {
const self = this;
let every;
if ((masked === "computed")) {
return $mul(run.seq, $floordiv(run.context, self.every));
}
every = self.every;
return $sub(layers_compressed$_entries(run.context, every, top), layers_compressed$_entries(run.cached, every, top));
}
_indexed(run, layers) {
const self = this;
let indexer, every, masked, met, width, read, moved, flops;
[indexer, every] = [self.indexer, self.every];
if ((indexer === null) || (every === null)) {
throw new $ValueError().__init__(["this layer has no indexer"]);
}
masked = ($truth(run.one_by_one) ? "skipped" : run.masked);
[met, width] = [self._met(run, null, masked), $mul(indexer.heads, indexer.head_dim)];
read = ($truth(run.one_by_one) ? met : $floordiv(run.context, every));
moved = new units_ledger$Elements().__init__(void 0, $mul($mul(run.batch, $mul(layers, width)), run.seq), $mul($mul(run.batch, $mul(layers, indexer.head_dim)), read));
flops = $mul($mul(run.batch, layers_matmul$product_flops(1, $mul(layers, width), 1)), met);
return new units_ledger$Op().__init__("indexer.scores", flops, moved, new units_ledger$Elements().__init__(), true, $mul(layers, run.steps));
}
get caches() {
const self = this;
let near, far, overlap, index;
near = new layers_parts$Cache().__init__(self.head_dim, self.window);
if ((self.every === null)) {
return [near];
}
far = new layers_parts$Cache().__init__(self.head_dim, void 0, self.every);
if ((self.indexer === null)) {
return [near, far];
}
overlap = $mul($mul(2, self.every), $add(self.head_dim, self.indexer.head_dim));
index = new layers_parts$Cache().__init__(self.indexer.head_dim, void 0, self.every, overlap);
return [near, far, index];
}
get score_heads() {
const self = this;
return self.heads;
}
__init__(heads, head_dim, window, q_rank, output_groups, output_rank, every = null, indexer = null, rotary_dim = 0, norm = "rms_norm") {
this.heads = heads;
this.head_dim = head_dim;
this.window = window;
this.q_rank = q_rank;
this.output_groups = output_groups;
this.output_rank = output_rank;
this.every = every;
this.indexer = indexer;
this.rotary_dim = rotary_dim;
this.norm = norm;
this.__post_init__();
return this;
}
}
$class(layers_compressed$CompressedAttention, "CompressedAttention", "heads head_dim window q_rank output_groups output_rank every indexer rotary_dim norm", "/ heads head_dim window q_rank output_groups output_rank every= indexer= rotary_dim= norm=");
function layers_compressed$_entries(tokens, every, top) {
let near, seen;
near = ((top === null) ? tokens : units_numbers$minimum(tokens, $mul(every, top)));
seen = layers_attention_kinds$pooled(near, every);
return ((top === null) ? seen : $add(seen, $mul($sub(tokens, near), top)));
}
class layers_scans$Scan extends layers_parts$Part {
get state() {
const self = this;
return 0;
}
get mixing_weights() {
const self = this;
return self.convolution_weights;
}
get caches() {
const self = this;
let channels, kernel, _;
[channels, kernel, _] = self.convolved;
return [new layers_parts$Cache().__init__(void 0, void 0, void 0, self.state), new layers_parts$Cache().__init__(void 0, void 0, void 0, $mul(channels, kernel))];
}
mixing(run, layers) {
const self = this;
let channels, _, conv;
[channels, _, _] = self.convolved;
conv = (units_numbers$is_zero(channels) ? [] : layers_scans$convolution(run, layers, ...self.convolved));
return [...conv, ...self.scan(run, layers)];
}
get convolved() {
const self = this;
return [0, 0, false];
}
scan(run, layers) {
const self = this;
return [];
}
get convolution_weights() {
const self = this;
let channels, kernel, has_bias;
[channels, kernel, has_bias] = self.convolved;
return $mul(channels, $add(kernel, ($truth(has_bias) ? 1 : 0)));
}
_scanned(run, layers, name, flops, inputs, outputs, is_matmul = true) {
const self = this;
let tokens, state, before, reads, writes;
tokens = $mul(run.batch, run.seq);
state = $mul($mul(run.batch, $mul(layers, self.state)), run.steps);
before = ($truth(run.is_first) ? 0 : state);
reads = new units_ledger$Elements().__init__(void 0, $mul(tokens, $mul(layers, inputs)), before);
writes = new units_ledger$Elements().__init__(void 0, $mul(tokens, $mul(layers, outputs)), state);
return new units_ledger$Op().__init__(name, flops, reads, writes, is_matmul, $mul(layers, run.steps));
}
}
$class(layers_scans$Scan, "Scan", "", "/");
class layers_scans$DeltaRule extends layers_scans$Scan {
__post_init__() {
const self = this;
layers_attention$check_sizes(self, ["key_heads", "value_heads", "key_dim", "value_dim", "kernel", "chunk"]);
layers_attention$check_groups(self.value_heads, self.key_heads);
units_numbers$choose("decay", self.decay, ["head", "element"]);
}
get values() {
const self = this;
return $mul(self.value_heads, self.value_dim);
}
get state() {
const self = this;
return $mul($mul(self.value_heads, self.key_dim), self.value_dim);
}
before(d) {
const self = this;
let heads, steps, decays, stored, rank, bias;
heads = self.value_heads;
steps = $list([...layers_parts$linear_step("q_proj", d, self.keys), ...layers_parts$linear_step("k_proj", d, self.keys), ...layers_parts$linear_step("v_proj", d, self.values), ...layers_parts$linear_step("beta_proj", d, heads)]);
decays = ((self.decay === "head") ? heads : $mul(heads, self.key_dim));
steps = $iadd(steps, layers_scans$_low_rank("decay", d, self.decay_rank, decays));
stored = $add(heads, decays);
steps.append(new layers_parts$PerToken().__init__("decay", $mul(6, decays), decays, decays, void 0, void 0, stored));
if ($truth(self.output_gate)) {
[rank, bias] = [self.output_rank, self.output_bias];
steps = $iadd(steps, layers_scans$_low_rank("gate", d, rank, self.values, bias));
}
return [...steps, ...self.extra];
}
after(d) {
const self = this;
let norm, gate, gated;
norm = layers_parts$normalisation("head_norm", self.values, self.norm, self.value_dim);
gate = layers_parts$elementwise("attention.gate", self.values, "sigmoid_gate", $dict([]));
gated = ($truth(self.output_gate) ? [gate] : []);
return [norm, ...gated, ...layers_parts$linear_step("o_proj", self.values, d)];
}
__init__(key_heads, value_heads, key_dim, value_dim, kernel = 4, chunk = 64, decay = "head", decay_rank = null, output_rank = null, output_bias = false, output_gate = true, norm = "rms_norm", extra = []) {
this.key_heads = key_heads;
this.value_heads = value_heads;
this.key_dim = key_dim;
this.value_dim = value_dim;
this.kernel = kernel;
this.chunk = chunk;
this.decay = decay;
this.decay_rank = decay_rank;
this.output_rank = output_rank;
this.output_bias = output_bias;
this.output_gate = output_gate;
this.norm = norm;
this.extra = extra;
this.__post_init__();
return this;
}
get keys() {
const self = this;
return $mul(self.key_heads, self.key_dim);
}
get convolved() {
const self = this;
return [$add($mul(2, self.keys), self.values), self.kernel, false];
}
scan(run, layers) {
const self = this;
let k, v, heads, inputs, outputs, flops, tokens, squares, inside, solved, solve;
[k, v, heads] = [self.key_dim, self.value_dim, $mul(layers, self.value_heads)];
[inputs, outputs] = [$add($mul(2, self.keys), self.values), self.values];
if ($truth(run.is_step)) {
flops = $mul($mul(run.batch, run.seq), $mul($mul($mul(heads, 7), k), v));
return [self._scanned(run, layers, "scan", flops, inputs, outputs, false)];
}
[tokens, squares] = layers_scans$_chunks(run, self.chunk);
inside = $add(layers_matmul$product_flops(squares, 1, $add($mul(2, k), v)), $mul(3, layers_matmul$product_flops(tokens, k, v)));
solved = $mul($sub(squares, tokens), $add(k, v));
solve = new units_ledger$Op().__init__("scan.solve", $mul($mul(run.batch, heads), solved), void 0, void 0, void 0, $mul(layers, run.steps));
flops = $mul(run.batch, $mul(heads, inside));
return [self._scanned(run, layers, "scan", flops, inputs, outputs), solve];
}
}
$class(layers_scans$DeltaRule, "DeltaRule", "key_heads value_heads key_dim value_dim kernel chunk decay decay_rank output_rank output_bias output_gate norm extra", "/ key_heads value_heads key_dim value_dim kernel= chunk= decay= decay_rank= output_rank= output_bias= output_gate= norm= extra=");
class layers_scans$LightningAttention extends layers_scans$Scan {
__post_init__() {
const self = this;
layers_attention$check_sizes(self, ["heads", "head_dim", "block"]);
}
get width() {
const self = this;
return $mul(self.heads, self.head_dim);
}
get state() {
const self = this;
return $mul($mul(self.heads, self.head_dim), self.head_dim);
}
before(d) {
const self = this;
let steps, name, stored, rotated;
steps = $list([]);
for (name of ["q_proj", "k_proj", "v_proj"]) {
steps = $iadd(steps, layers_parts$linear_step(name, d, self.width, $has(self.biases, name)));
}
if ($truth(self.qk_norm)) {
stored = $mul(2, ((self.qk_norm === "head") ? self.head_dim : self.width));
steps.append(layers_parts$normalisation("qk_norm", $mul(2, self.width), self.norm, stored));
}
if (!units_numbers$is_zero(self.rotary_dim)) {
rotated = $mul($mul(2, self.heads), self.rotary_dim);
steps.append(layers_parts$elementwise("rotary", rotated, "rotary", $dict([["gradient", 1]])));
}
if ($truth(self.gate)) {
steps = $iadd(steps, layers_parts$linear_step("gate_proj", d, self.width, $has(self.biases, "gate_proj")));
}
return [...steps, ...self.extra];
}
after(d) {
const self = this;
let stored, norm, gate, gated, bias;
stored = ((self.output_norm === null) ? self.width : self.output_norm);
norm = layers_parts$normalisation("head_norm", self.width, self.norm, stored);
gate = layers_parts$elementwise("attention.gate", self.width, "sigmoid_gate", $dict([]));
gated = ($truth(self.gate) ? [gate] : []);
bias = $has(self.biases, "o_proj");
return [norm, ...gated, ...layers_parts$linear_step("o_proj", self.width, d, bias)];
}
scan(run, layers) {
const self = this;
let dim, heads, inputs, outputs, flops, full, rest, squares;
[dim, heads] = [self.head_dim, $mul(layers, self.heads)];
[inputs, outputs] = [$mul(3, self.width), self.width];
if ($truth(run.is_step) || ((run.masked === "computed") && !$truth(run.is_first))) {
flops = $mul($mul(run.batch, run.seq), $mul($mul(heads, 2), layers_matmul$product_flops(1, dim, dim)));
} else {
[full, rest] = [$floordiv(run.seq, self.block), $mod(run.seq, self.block)];
squares = $add($mul($mul(full, self.block), self.block), $mul(rest, rest));
flops = $mul(run.batch, $mul($mul(heads, 2), layers_matmul$product_flops(1, dim, $add(squares, $mul(run.seq, dim)))));
}
return [self._scanned(run, layers, "scan", flops, inputs, outputs)];
}
__init__(heads, head_dim, block = 256, gate = true, norm = "rms_norm", output_norm = null, qk_norm = null, rotary_dim = 0, biases = [], extra = []) {
this.heads = heads;
this.head_dim = head_dim;
this.block = block;
this.gate = gate;
this.norm = norm;
this.output_norm = output_norm;
this.qk_norm = qk_norm;
this.rotary_dim = rotary_dim;
this.biases = biases;
this.extra = extra;
this.__post_init__();
return this;
}
}
$class(layers_scans$LightningAttention, "LightningAttention", "heads head_dim block gate norm output_norm qk_norm rotary_dim biases extra", "/ heads head_dim block= gate= norm= output_norm= qk_norm= rotary_dim= biases= extra=");
class layers_scans$Mamba extends layers_scans$Scan {
__post_init__() {
const self = this;
layers_attention$check_sizes(self, ["width", "state_dim", "step_rank", "kernel"]);
}
get state() {
const self = this;
return $mul(self.width, self.state_dim);
}
get convolved() {
const self = this;
return [self.width, self.kernel, self.conv_bias];
}
before(d) {
const self = this;
let small, steps, kind;
small = $add(self.step_rank, $mul(2, self.state_dim));
steps = $list([...layers_parts$linear_step("in_proj", d, $mul(2, self.width), self.bias), ...layers_parts$linear_step("x_proj", self.width, small), ...layers_parts$linear_step("dt_proj", self.step_rank, self.width, true)]);
if (!units_numbers$is_zero(self.inner_norms)) {
kind = ($truth(self.weightless_norms) ? "plain_norm" : "rms_norm");
steps.append(layers_parts$normalisation("inner_norms", small, kind));
}
return $tuple(steps);
}
after(d) {
const self = this;
let gate;
gate = layers_parts$elementwise("scan.gate", self.width, "silu_gate", $dict([]));
return [gate, ...layers_parts$linear_step("out_proj", self.width, d, self.bias)];
}
get mixing_weights() {
const self = this;
return $add(self.convolution_weights, $mul(self.width, $add(self.state_dim, 1)));
}
scan(run, layers) {
const self = this;
let entries, held, update, flops, inputs;
entries = $mul($mul(run.batch, run.seq), $mul($mul(layers, self.width), self.state_dim));
held = new units_ledger$Elements().__init__($mul($mul($mul(layers, self.width), $add(self.state_dim, 1)), run.steps));
update = new units_ledger$Op().__init__("scan.update", $mul(6, entries), held, void 0, void 0, $mul(layers, run.steps));
flops = layers_matmul$product_flops(1, 1, entries);
inputs = $add($mul(2, self.width), $mul(2, self.state_dim));
return [update, self._scanned(run, layers, "scan", flops, inputs, self.width)];
}
__init__(width, state_dim, step_rank, kernel = 4, bias = false, conv_bias = true, inner_norms = 0, weightless_norms = false) {
this.width = width;
this.state_dim = state_dim;
this.step_rank = step_rank;
this.kernel = kernel;
this.bias = bias;
this.conv_bias = conv_bias;
this.inner_norms = inner_norms;
this.weightless_norms = weightless_norms;
this.__post_init__();
return this;
}
}
$class(layers_scans$Mamba, "Mamba", "width state_dim step_rank kernel bias conv_bias inner_norms weightless_norms", "/ width state_dim step_rank kernel= bias= conv_bias= inner_norms= weightless_norms=");
class layers_scans$Mamba2 extends layers_scans$Scan {
__post_init__() {
const self = this;
layers_attention$check_sizes(self, ["heads", "head_dim", "state_dim", "groups", "kernel", "chunk"]);
layers_attention$check_groups(self.heads, self.groups);
}
get width() {
const self = this;
return $mul(self.heads, self.head_dim);
}
get state() {
const self = this;
return $mul(self.width, self.state_dim);
}
get convolved() {
const self = this;
return [$add(self.width, $mul($mul(2, self.groups), self.state_dim)), self.kernel, self.conv_bias];
}
before(d) {
const self = this;
let made, into;
made = $add($add($mul(2, self.width), $mul($mul(2, self.groups), self.state_dim)), self.heads);
into = ((self.in_width === null) ? d : self.in_width);
return [...layers_parts$linear_step("in_proj", into, made, self.bias), ...self.extra];
}
after(d) {
const self = this;
let gate, norm, bias;
gate = layers_parts$elementwise("scan.gate", self.width, "silu_gate", $dict([]));
norm = ($truth(self.gate_norm) ? [layers_parts$normalisation("scan.norm", self.width, "rms_norm")] : []);
bias = ((self.out_bias === null) ? self.bias : self.out_bias);
return [gate, ...norm, ...layers_parts$linear_step("out_proj", self.width, d, bias)];
}
get mixing_weights() {
const self = this;
return $add(self.convolution_weights, $mul(3, self.heads));
}
scan(run, layers) {
const self = this;
let n, p, heads, held, inputs, entries, update, flops, read, tokens, squares, inside, states, steps;
[n, p, heads] = [self.state_dim, self.head_dim, $mul(layers, self.heads)];
held = new units_ledger$Elements().__init__($mul($mul(3, heads), run.steps));
inputs = $add($add(self.width, $mul($mul(2, self.groups), n)), self.heads);
if ($truth(run.is_step)) {
entries = $mul($mul(run.batch, run.seq), $mul($mul(heads, n), p));
update = new units_ledger$Op().__init__("scan.update", $mul(5, entries), held, void 0, void 0, $mul(layers, run.steps));
flops = layers_matmul$product_flops(1, 1, entries);
read = self._scanned(run, layers, "scan", flops, inputs, self.width);
return [update, read];
}
[tokens, squares] = layers_scans$_chunks(run, self.chunk);
inside = $add(layers_matmul$product_flops(squares, 1, $add(n, p)), $mul(2, layers_matmul$product_flops(tokens, n, p)));
if ((run.masked === "computed")) {
states = $add(units_numbers$ceil_div(run.seq, self.chunk), 1);
inside = $add(inside, layers_matmul$product_flops(states, states, $mul(p, n)));
}
steps = new units_ledger$Op().__init__("scan.steps", $mul($mul($mul(6, run.batch), run.seq), heads), held, void 0, void 0, $mul(layers, run.steps));
flops = $mul(run.batch, $mul(heads, inside));
return [steps, self._scanned(run, layers, "scan", flops, inputs, self.width)];
}
__init__(heads, head_dim, state_dim, groups = 1, kernel = 4, chunk = 256, bias = false, out_bias = null, conv_bias = true, gate_norm = true, in_width = null, extra = []) {
this.heads = heads;
this.head_dim = head_dim;
this.state_dim = state_dim;
this.groups = groups;
this.kernel = kernel;
this.chunk = chunk;
this.bias = bias;
this.out_bias = out_bias;
this.conv_bias = conv_bias;
this.gate_norm = gate_norm;
this.in_width = in_width;
this.extra = extra;
this.__post_init__();
return this;
}
}
$class(layers_scans$Mamba2, "Mamba2", "heads head_dim state_dim groups kernel chunk bias out_bias conv_bias gate_norm in_width extra", "/ heads head_dim state_dim groups= kernel= chunk= bias= out_bias= conv_bias= gate_norm= in_width= extra=");
class layers_scans$ShortConvolution extends layers_scans$Scan {
__post_init__() {
const self = this;
layers_attention$check_sizes(self, ["width", "kernel"]);
}
get convolved() {
const self = this;
return [self.width, self.kernel, self.bias];
}
before(d) {
const self = this;
let gate;
gate = layers_parts$elementwise("conv.gate_in", self.width, "gate", $dict([["reads", $mul(2, self.width)]]));
return [...layers_parts$linear_step("in_proj", d, $mul(3, self.width), self.bias), gate];
}
after(d) {
const self = this;
let gate;
gate = layers_parts$elementwise("conv.gate_out", self.width, "gate", $dict([["reads", $mul(2, self.width)]]));
return [gate, ...layers_parts$linear_step("out_proj", self.width, d, self.bias)];
}
get caches() {
const self = this;
return [new layers_parts$Cache().__init__(void 0, void 0, void 0, $mul(self.width, self.kernel))];
}
mixing(run, layers) {
const self = this;
return $part(layers_scans$convolution(run, layers, ...self.convolved), null, 1, null);
}
__init__(width, kernel = 3, bias = false) {
this.width = width;
this.kernel = kernel;
this.bias = bias;
this.__post_init__();
return this;
}
}
$class(layers_scans$ShortConvolution, "ShortConvolution", "width kernel bias", "/ width kernel= bias=");
class layers_scans$ChannelConvolution extends layers_scans$Scan {
__post_init__() {
const self = this;
layers_attention$check_sizes(self, ["channels", "kernel"]);
}
get convolved() {
const self = this;
return [self.channels, self.kernel, false];
}
get caches() {
const self = this;
return [new layers_parts$Cache().__init__(void 0, void 0, void 0, $mul(self.channels, self.kernel))];
}
before(d) {
const self = this;
let made;
made = $mul(self.groups, self.kernel);
return (units_numbers$is_zero(self.groups) ? [] : layers_parts$linear_step("conv.kernels", d, made));
}
mixing(run, layers) {
const self = this;
let conv, _;
[conv, _] = layers_scans$convolution(run, layers, ...self.convolved);
return [$replace(conv, $dict([["is_matmul", units_numbers$is_zero(self.groups)]]))];
}
__init__(channels, kernel, groups = 0) {
this.channels = channels;
this.kernel = kernel;
this.groups = groups;
this.__post_init__();
return this;
}
}
$class(layers_scans$ChannelConvolution, "ChannelConvolution", "channels kernel groups", "/ channels kernel groups=");
class layers_scans$RGLRU extends layers_scans$Scan {
__post_init__() {
const self = this;
layers_attention$check_sizes(self, ["width", "heads", "kernel"]);
}
get state() {
const self = this;
return self.width;
}
get convolved() {
const self = this;
return [self.width, self.kernel, true];
}
before(d) {
const self = this;
let each, gates, weights;
each = units_numbers$exact_div(self.width, self.heads);
gates = $mul(2, self.width);
weights = $mul($mul(2, self.width), each);
return [...layers_parts$linear_step("y_proj", d, self.width, true), ...layers_parts$linear_step("x_proj", d, self.width, true), $call(layers_parts$PerToken, [...["gates", layers_matmul$product_flops(1, each, gates), self.width, gates]], $dict([["weights", weights], ["is_matmul", true]])), new layers_parts$PerToken().__init__("gates.bias", gates, void 0, void 0, void 0, void 0, gates, void 0, void 0, void 0, void 0, void 0, 1)];
}
after(d) {
const self = this;
let gate;
gate = layers_parts$elementwise("scan.gate", self.width, "gelu_gate", $dict([]));
return [gate, ...layers_parts$linear_step("out_proj", self.width, d, true)];
}
get caches() {
const self = this;
return [new layers_parts$Cache().__init__(void 0, void 0, void 0, $mul(self.width, self.kernel))];
}
get mixing_weights() {
const self = this;
return $add(self.convolution_weights, self.width);
}
mixing(run, layers) {
const self = this;
let anew, conv, _;
anew = ((run.masked === "computed") ? $replace(run, $dict([["context", run.seq]])) : run);
[conv, _] = layers_scans$convolution(($truth(run.is_step) ? run : anew), layers, ...self.convolved);
conv = $replace(conv, $dict([["is_matmul", !$truth(run.is_step)]]));
return [conv, ...self.scan(run, layers)];
}
scan(run, layers) {
const self = this;
let flops, inputs, held, scan;
flops = $mul($mul($mul(12, run.batch), run.seq), $mul(layers, self.width));
inputs = $mul(3, self.width);
held = new units_ledger$Op().__init__("decay", 0, new units_ledger$Elements().__init__($mul($mul(layers, self.width), run.steps)), void 0, void 0, layers);
scan = self._scanned(run, layers, "scan", flops, inputs, self.width, false);
return [held, scan];
}
__init__(width, heads, kernel = 4) {
this.width = width;
this.heads = heads;
this.kernel = kernel;
this.__post_init__();
return this;
}
}
$class(layers_scans$RGLRU, "RGLRU", "width heads kernel", "/ width heads kernel=");
class layers_scans$TimeMix extends layers_scans$Scan {
__post_init__() {
const self = this;
layers_attention$check_sizes(self, ["width", "d_in"]);
}
get state() {
const self = this;
return $add($mul(3, self.width), $mul(2, self.d_in));
}
get mixing_weights() {
const self = this;
return $mul(2, self.width);
}
get caches() {
const self = this;
return [new layers_parts$Cache().__init__(void 0, void 0, void 0, self.state)];
}
before(d) {
const self = this;
let mix, names;
mix = layers_parts$elementwise("shift", $mul(3, d), "residual", $dict([["reads", $mul(2, d)], ["weights", $mul(3, d)]]));
names = ["k_proj", "v_proj", "receptance"];
return [mix, ...(function* () { for (const name of names) for (const step of layers_parts$linear_step(name, d, self.width)) yield step; })()];
}
after(d) {
const self = this;
let gate;
gate = layers_parts$elementwise("scan.gate", self.width, "sigmoid_gate", $dict([]));
return [gate, ...layers_parts$linear_step("o_proj", self.width, d)];
}
scan(run, layers) {
const self = this;
let flops, held, inputs;
flops = $mul($mul($mul(24, run.batch), run.seq), $mul(layers, self.width));
held = new units_ledger$Op().__init__("decay", 0, new units_ledger$Elements().__init__($mul($mul($mul(2, layers), self.width), run.steps)), void 0, void 0, layers);
inputs = $mul(2, self.width);
return [held, self._scanned(run, layers, "scan", flops, inputs, self.width, false)];
}
__init__(width, d_in) {
this.width = width;
this.d_in = d_in;
this.__post_init__();
return this;
}
}
$class(layers_scans$TimeMix, "TimeMix", "width d_in", "/ width d_in");
function layers_scans$convolution(run, layers, channels, kernel, has_bias) {
let outputs, flops, moved, state, weights, past, reads, writes, conv;
outputs = run.seq;
if ((run.masked === "computed") && !$truth(run.one_by_one)) {
if ($truth(run.is_step)) {
outputs = $add(run.seq, 1);
} else {
outputs = $add(run.seq, ($truth(run.is_first) ? $sub(kernel, 1) : $sub($mul(2, kernel), 1)));
}
}
flops = $mul($mul(run.batch, layers_matmul$product_flops(1, kernel, $mul(layers, channels))), outputs);
moved = $mul($mul(run.batch, run.seq), $mul(layers, channels));
state = $mul($mul(run.batch, $mul($mul(layers, channels), kernel)), run.steps);
weights = $mul($mul($mul(layers, channels), $add(kernel, ($truth(has_bias) ? 1 : 0))), run.steps);
past = ($truth(run.is_first) ? 0 : state);
reads = new units_ledger$Elements().__init__(weights, moved, past);
writes = new units_ledger$Elements().__init__(void 0, moved, state);
conv = new units_ledger$Op().__init__("conv", flops, reads, writes, true, $mul(layers, run.steps));
return [conv, run.of(layers_parts$elementwise("conv.activation", channels, "silu", $dict([])), layers)];
}
function layers_scans$_low_rank(name, d_in, rank, d_out, bias = false) {
let up;
if ((rank === null)) {
return layers_parts$linear_step(`${$str(name)}_proj`, d_in, d_out, bias);
}
up = layers_parts$linear_step(`${$str(name)}_up_proj`, rank, d_out, bias);
return [...layers_parts$linear_step(`${$str(name)}_down_proj`, d_in, rank), ...up];
}
function layers_scans$_chunks(run, chunk) {
let tokens, full, rest;
tokens = ((run.masked === "computed") ? $mul(units_numbers$ceil_div(run.seq, chunk), chunk) : run.seq);
[full, rest] = [$floordiv(tokens, chunk), $mod(tokens, chunk)];
return [tokens, $add($mul($mul(full, chunk), chunk), $mul(rest, rest))];
}
let model_families_config$MOST_BYTES;
model_families_config$MOST_BYTES = 5000000;
let model_families_config$DEEPEST, model_families_config$MOST_DIGITS;
[model_families_config$DEEPEST, model_families_config$MOST_DIGITS] = [500, 4000];
let model_families_config$OLD_KINDS;
model_families_config$OLD_KINDS = $dict([["attention", "full_attention"], ["mamba", "linear_attention"], ["deepseek_sparse_attention", "indexed_attention"]]);
let model_families_config$MOST_OF_A_SIZE;
model_families_config$MOST_OF_A_SIZE = $pow(10, 12);
let model_families_config$MOST_LAYERS;
model_families_config$MOST_LAYERS = 1000;
let model_families_config$_OF_THE_MODEL;
model_families_config$_OF_THE_MODEL = $set(["hidden_size", "vocab_size", "num_hidden_layers", "layer_types", "skip"]);
let model_families_config$_KINDS;
model_families_config$_KINDS = $dict([[$int, "a whole number"], [$bool, "true or false"], [$str, "a string"], [$list, "a list"]]);
model_families_config$_KINDS = $ior(model_families_config$_KINDS, $dict([[$dict, "an object"], [$float, "a number"]]));
class model_families_config$Config extends $object {
__init__(fields, family, names = null, usual = null) {
const self = this;
[self.fields, self.family, self.names] = [fields, family, ($truth(names) ? names : $dict([]))];
self.usual = ($truth(usual) ? usual : $dict([]));
self._right = $set();
return this;
}
error(text, kind = $ValueError) {
const self = this;
return $call(kind, [`${$str(self.family)} config: ${$str(text)}`], null);
}
require(is_right, text) {
const self = this;
if (!$truth(is_right)) {
throw self.error(text);
}
}
spelled(name) {
const self = this;
let spellings, stated, other, first, second, text;
spellings = self.names.get(name, name);
if ($isinstance(spellings, [$str])) {
return spellings;
}
stated = (() => { const $ = $list(); for (const s of spellings) if ((self.fields.get(s) !== null)) $.push(s); return $; })();
for (other of $part(stated, 1, null, null)) {
[first, second] = [$at(self.fields, $at(stated, 0)), $at(self.fields, other)];
text = `${$repr($at(stated, 0))} is ${$repr(first)}, but ${$repr(other)}, which says the same, is ${$repr(second)}`;
self.require(($eq(first, second) && ($type(first) === $type(second))), text);
}
return $at(($truth(stated) ? stated : $list([$at(spellings, 0)])), 0);
}
has(name) {
const self = this;
return (self.get(name) !== null);
}
get(name) {
const self = this;
return self.fields.get(self.spelled(name), self.usual.get(name));
}
stated(name) {
const self = this;
return self.fields.get(self.spelled(name));
}
read(name, kind, default$ = null) {
const self = this;
let value;
value = self.get(name);
value = ((value === null) ? default$ : value);
if ((value === null)) {
throw self.error(`${$repr(self.spelled(name))} is missing`);
}
if (($type(value) !== kind)) {
throw self._wrong(name, $at(model_families_config$_KINDS, kind), value);
}
return value;
}
count(name, default$ = null, least = 1) {
const self = this;
let value, shown, most;
value = self.read(name, $int, default$);
if ($lt(value, least)) {
shown = ($gt(value, (-model_families_config$MOST_OF_A_SIZE)) ? value : "far less");
throw self.error(`${$repr(self.spelled(name))} must be at least ${$str(least)}, got ${$str(shown)}`);
}
most = ((name === "num_hidden_layers") ? model_families_config$MOST_LAYERS : model_families_config$MOST_OF_A_SIZE);
if ($gt(value, most)) {
throw self.error(`${$repr(self.spelled(name))} must be at most ${$format(most, `,`)}`);
}
return value;
}
optional(name, least = 1) {
const self = this;
return ($truth(self.has(name)) ? self.count(name, void 0, least) : null);
}
flag(name, default$ = null) {
const self = this;
let value;
value = self.read(name, $bool, default$);
return value;
}
share(name, default$ = null) {
const self = this;
let value, is_share;
value = ((self.get(name) === null) ? default$ : self.get(name));
is_share = ($has([$int, $float], $type(value)) && ($lt(0, value) && $le(value, 1)));
self.require(is_share, `${$repr(name)} must be a fraction of 1, got ${$repr(value)}`);
return $float(value);
}
number(name) {
const self = this;
let value, is_number;
value = self.get(name);
is_number = ($has([$int, $float], $type(value)) && ($lt(0, value) && $lt(value, model_families_config$MOST_OF_A_SIZE)));
self.require(is_number, `${$repr(self.spelled(name))} must be a number above 0, got ${$repr(value)}`);
return $float(value);
}
entries(name, kind) {
const self = this;
let values, looked_for;
values = self.read(name, $list, $list([]));
looked_for = `${$str(name)} ${$str($at(model_families_config$_KINDS, kind))}`;
if (!$has(self._right, looked_for)) {
if (!$le($set($map($type, [values])), $set([kind]))) {
throw self._wrong(name, `a list, each entry ${$str($at(model_families_config$_KINDS, kind))}`, values);
}
self._right.add(looked_for);
}
return values;
}
each_layer(name, kind) {
const self = this;
let values, layers, text;
[values, layers] = [self.entries(name, kind), self.layers];
if ($truth(values) && !$eq($len(values), layers)) {
text = `${$repr(name)} has ${$str($len(values))} entries, but 'num_hidden_layers' is ${$str(layers)}`;
throw self.error(text);
}
return values;
}
of_layer(i, names) {
const self = this;
let found, name, values, text;
found = $dict([]);
for (name of names) {
values = self.get(name);
if ($isinstance(values, [$list])) {
text = `${$repr(name)} has ${$str($len(values))} entries, but 'num_hidden_layers' is`;
self.require($eq($len(values), self.layers), `${$str(text)} ${$str(self.layers)}`);
$put(found, self.spelled(name), $at(values, i));
}
}
return ($truth(found) ? self.but(found) : self);
}
at(i) {
const self = this;
let everywhere, numbered, key, changes, is_layer, text, fixed;
everywhere = self.fields.get("per_layer_config");
if ((everywhere === null)) {
return self;
}
self.read("per_layer_config", $dict);
numbered = $dict([]);
for ([key, changes] of everywhere.items()) {
is_layer = $both($str_isdecimal($str(key)), () => $lt($int(key), self.layers));
text = `'per_layer_config' has ${$repr(key)}, which is not the number of a layer`;
self.require(($truth(is_layer) ? $isinstance(changes, [$abc_Mapping]) : is_layer), text);
fixed = $sorted($and(model_families_config$_OF_THE_MODEL, $set(changes)));
text = `'per_layer_config' changes ${$str($str_join(", ", fixed))}, which is not counted here`;
self.require(!$truth(fixed), text);
$put(numbered, $int(key), changes);
}
return ($has(numbered, i) ? self.but($at(numbered, i)) : self);
}
but(changes) {
const self = this;
return new model_families_config$Config().__init__($dict([...self.fields.items(), ...changes.items()]), self.family, self.names, self.usual);
}
inside(name) {
const self = this;
return new model_families_config$Config().__init__(self.read(name, $dict, $dict([])), `${$str(self.family)} ${$str(name)}`);
}
same(name, value, why) {
const self = this;
let stated, text;
stated = self.stated(name);
text = `${$repr(self.spelled(name))} is ${$repr(stated)}, but ${$str(why)} makes it ${$repr(value)}`;
self.require(((stated === null) || $eq(stated, value)), text);
}
get layers() {
const self = this;
return self.count("num_hidden_layers");
}
get d_model() {
const self = this;
return self.count("hidden_size");
}
kind(i, rule = null, among, name = "layer_types") {
const self = this;
let kinds, looked_for, unknown, text;
kinds = self.each_layer(name, $str);
looked_for = $str_join(" ", [name, ...among]);
if (!$has(self._right, looked_for)) {
unknown = $sorted($sub($set((() => { const $ = []; for (const kind of $set(kinds)) $.push(model_families_config$OLD_KINDS.get(kind, kind)); return $; })()), $set(among)));
text = `${$repr(self.spelled(name))} has ${$str(unknown)}, which is not counted here`;
self.require((!$truth(unknown) || !$truth(among)), text);
self._right.add(looked_for);
}
if ($truth(kinds)) {
return $str(model_families_config$OLD_KINDS.get($at(kinds, i), $at(kinds, i)));
}
if ((rule === null)) {
throw self.error(`${$repr(self.spelled(name))} is missing`);
}
return $call(rule, [i], null);
}
_wrong(name, wanted, value) {
const self = this;
let shown, text;
try {
shown = $repr(value);
} catch ($problem0) {
if ($caught($problem0, [$ValueError])) {
shown = "a very long number";
} else throw $problem0;
}
shown = ($le($len(shown), 40) ? shown : $add($part(shown, null, 37, null), "..."));
text = `${$repr(self.spelled(name))} must be ${$str(wanted)}, got ${$str(shown)} (${$str($called($type(value)))})`;
return self.error(text, $TypeError);
}
}
$class(model_families_config$Config, "Config", "", "fields family names= usual=");
function model_families_config$fields_of(source) {
if ($isinstance(source, [$abc_Mapping])) {
return source;
}
if ($isinstance(source, [$str]) && $has(["{", "["], $part($str_lstrip(source, "﻿ \t\r\n"), null, 1, null))) {
return model_families_config$parsed(source);
}
if (!$isinstance(source, [$str])) {
throw new $TypeError().__init__([`a config is a dict, a path or JSON text, got ${$str($called($type(source)))}`]);
}
return $absent("costlib.model.families.config._of_path")($absent("pathlib.Path")());
}
function model_families_config$parsed(text, where = "the JSON text") {
let begun, fields, depth, problem, read, said;
text = $str_lstrip(text, "﻿");
if ($gt($len(text), model_families_config$MOST_BYTES)) {
throw new $ValueError().__init__([`${$str(where)} is ${$format($len(text), `,`)} characters: that is not a config.json`]);
}
begun = $part($str_lstrip(text, " \t\r\n"), null, 20, null);
if (!$has(["{", "["], $part(begun, null, 1, null))) {
begun = ($truth(begun) ? `begins with ${$repr(begun)}` : "is empty");
throw new $ValueError().__init__([`${$str(where)} must hold an object, {...}, but ${$str(begun)}`]);
}
try {
fields = $json_loads(text, model_families_config$_without_repeats, model_families_config$_whole);
depth = model_families_config$_depth(fields);
} catch ($problem0) {
if ($caught($problem0, [$json_JSONDecodeError])) {
problem = $problem0;
read = $str_strip($part(text, null, problem.pos, null), " \t\r\n,");
depth = $sum((() => { const $ = []; for (const mark of "{[") $.push($len($str_split(read, mark))); return $; })());
depth = $sub(depth, $sum((() => { const $ = []; for (const mark of "}]") $.push($len($str_split(read, mark))); return $; })()));
if ($le(depth, model_families_config$DEEPEST)) {
said = `${$str(where)} is not valid JSON (cut off?) after ${$repr($part(read, -30, null, null))}`;
throw new $ValueError().__init__([said]);
}
} else if ($caught($problem0, [$RecursionError])) {
depth = $add(model_families_config$DEEPEST, 1);
} else throw $problem0;
}
if ($gt(depth, model_families_config$DEEPEST)) {
throw new $ValueError().__init__([`${$str(where)} is nested too deeply to be a config`]);
}
if (!$isinstance(fields, [$dict])) {
throw new $TypeError().__init__([`${$str(where)} must hold an object, {...}, got a ${$str($called($type(fields)))}`]);
}
return fields;
}
function model_families_config$_depth(fields) {
let depth, level, inside;
[depth, level] = [0, $list([fields])];
while ($truth(level)) {
depth = $iadd(depth, 1);
inside = (() => { const $ = $list(); for (const each of level) $.push(($isinstance(each, [$dict]) ? each.values() : each)); return $; })();
level = (() => { const $ = $list(); for (const values of inside) for (const each of values) if ($isinstance(each, [$dict, $list])) $.push(each); return $; })();
}
return depth;
}
function model_families_config$_whole(digits) {
if ($gt($len(digits), model_families_config$MOST_DIGITS)) {
throw new $ValueError().__init__([`a whole number of ${$format($len(digits), `,`)} digits is in no config`]);
}
return $int(digits);
}
function model_families_config$_without_repeats(entries) {
let fields, name, value;
fields = $dict([]);
for ([name, value] of entries) {
if ($has(fields, name) && !$eq($at(fields, name), value)) {
throw new $ValueError().__init__([`${$repr(name)} is there twice: ${$repr($at(fields, name))} and ${$repr(value)}`]);
}
$put(fields, name, value);
}
return fields;
}
class model_families_family$Family extends $object {
__init__(architecture, also = [], layer, tied = null, always_tied = null, norm = "rms_norm", final_norm = true, embedding_norm = false, positions = null, unembedding_bias = false, names = $call($dict, []), usual = $call($dict, []), inside = $call($dict, []), rewrite = null, agree = $call($dict, []), refuse = $call($dict, []), first = null, last = null, ahead = null, ahead_layer = null, heads = $call($dict, []), size = null) {
this.architecture = architecture;
this.also = also;
this.layer = layer;
this.tied = tied;
this.always_tied = always_tied;
this.norm = norm;
this.final_norm = final_norm;
this.embedding_norm = embedding_norm;
this.positions = positions;
this.unembedding_bias = unembedding_bias;
this.names = names;
this.usual = usual;
this.inside = inside;
this.rewrite = rewrite;
this.agree = agree;
this.refuse = refuse;
this.first = first;
this.last = last;
this.ahead = ahead;
this.ahead_layer = ahead_layer;
this.heads = heads;
this.size = size;
return this;
}
}
$class(model_families_family$Family, "Family", "architecture also layer tied always_tied norm final_norm embedding_norm positions unembedding_bias names usual inside rewrite agree refuse first last ahead ahead_layer heads size", "/ architecture also= layer tied= always_tied= norm= final_norm= embedding_norm= positions= unembedding_bias= names= usual= inside= rewrite= agree= refuse= first= last= ahead= ahead_layer= heads= size=");
let model_families_family$FAMILIES = $dict([]);
class model_families_family$Wrapper extends $object {
__init__(text = null, tied = null) {
this.text = text;
this.tied = tied;
return this;
}
}
$class(model_families_family$Wrapper, "Wrapper", "text tied", "text= tied=");
let model_families_family$WRAPPERS = $dict([]);
function model_families_family$family(model_type, architecture, wrapped_by = null, facts) {
let enter;
enter = function enter(layer) {
let name, tied;
$put(model_families_family$FAMILIES, model_type, $call(model_families_family$Family, [], $dict([["architecture", architecture], ["layer", layer], ...facts.items()])));
for ([name, tied] of ($truth(wrapped_by) ? wrapped_by : $dict([])).items()) {
$put(model_families_family$WRAPPERS, name, new model_families_family$Wrapper().__init__(model_type, tied));
}
return layer;
};
return enter;
}
let model_families_readers$FULL, model_families_readers$SLIDING, model_families_readers$LINEAR;
[model_families_readers$FULL, model_families_readers$SLIDING, model_families_readers$LINEAR] = ["full_attention", "sliding_attention", "linear_attention"];
let model_families_readers$QKV;
model_families_readers$QKV = ["q_proj", "k_proj", "v_proj"];
let model_families_readers$QKVO;
model_families_readers$QKVO = [...model_families_readers$QKV, "o_proj"];
let model_families_readers$ACTIVATIONS;
model_families_readers$ACTIVATIONS = $dict([["silu", "silu"], ["swish", "silu"], ["gelu", "gelu"], ["gelu_new", "gelu_tanh"], ["gelu_fast", "gelu_tanh"], ["gelu_pytorch_tanh", "gelu_tanh"], ["relu", "relu"], ["relu2", "relu2"], ["swigluoai", "silu"], ["situ", "silu"], ["xielu", "xielu"]]);
let model_families_readers$_SPELLINGS;
model_families_readers$_SPELLINGS = ["hidden_activation", "hidden_act", "activation_function", "ffn_act"];
function model_families_readers$layer(parts, norms = 2, more) {
return $call(layers_parts$Block, [], $dict([["layers", 1], ["parts", parts], ["norms", norms], ...more.items()]));
}
function model_families_readers$activation(c, default$ = "silu", names) {
let one, other, text, name, value;
[one, other] = (function* () { for (const name of ["hidden_act", "activation_function"]) yield c.stated(name); })();
text = `'hidden_act' is ${$repr(one)}, but 'activation_function' is ${$repr(other)}: leave one of them out`;
c.require(($has([one, other], null) || $eq(one, other)), text);
for (name of ($truth(names) ? names : model_families_readers$_SPELLINGS)) {
if ($truth(c.has(name))) {
value = c.read(name, $str);
text = `${$repr(name)} must be one of ${$str($str_join(", ", model_families_readers$ACTIVATIONS))}, got ${$repr(value)}`;
c.require($has(model_families_readers$ACTIVATIONS, value), text);
return $at(model_families_readers$ACTIVATIONS, value);
}
}
return default$;
}
function model_families_readers$biases(c, name, default$, which) {
return ($truth(c.flag(name, default$)) ? which : []);
}
function model_families_readers$grouped(c, one_each = false, or_one_each = false, needs_head_dim = false, more) {
let heads, by, kv_heads, text, width;
[heads, by] = [more.pop("heads", null), c.spelled("num_attention_heads")];
heads = ((heads === null) ? c.count("num_attention_heads") : heads);
kv_heads = more.pop("kv_heads", null);
if ((kv_heads === null)) {
kv_heads = model_families_readers$_kv_heads(c, heads, one_each, or_one_each);
}
text = `'num_key_value_heads' must divide ${$repr(by)} (${$str(heads)}), got ${$str(kv_heads)}`;
c.require($eq($mod(heads, kv_heads), 0), text);
width = more.pop("head_dim", null);
if ((width === null)) {
width = model_families_readers$head_dim(c, !$truth(one_each), needs_head_dim);
}
return $call(layers_attention_kinds$Attention, [], $dict([["heads", heads], ["kv_heads", kv_heads], ["head_dim", width], ...more.items()]));
}
function model_families_readers$_kv_heads(c, heads, one_each, or_one_each) {
let text;
if ($truth(one_each)) {
c.same("num_key_value_heads", heads, $repr(c.spelled("num_attention_heads")));
return heads;
}
if ($truth(or_one_each) && (model_families_readers$said_null(c) || !$truth(c.has("num_key_value_heads")))) {
return heads;
}
text = "'num_key_value_heads' is missing; if every query head has a KV head of its own, ";
c.require(c.has("num_key_value_heads"), `${$str(text)}add it with the value ${$str(heads)}`);
return c.count("num_key_value_heads");
}
function model_families_readers$said_null(c) {
return (c.fields.get("num_key_value_heads", $Ellipsis) === null);
}
function model_families_readers$head_dim(c, stated = true, needed = false) {
let heads, by, text;
if ($truth(needed) || ($truth(stated) && $truth(c.has("head_dim")))) {
return c.count("head_dim");
}
[heads, by] = [c.count("num_attention_heads"), c.spelled("num_attention_heads")];
text = `${$repr(c.spelled("hidden_size"))} is ${$str(c.d_model)}, which is not a multiple of ${$repr(by)} (${$str(heads)})`;
c.require($eq($mod(c.d_model, heads), 0), text);
return $floordiv(c.d_model, heads);
}
function model_families_readers$latent(c, rank = null, more) {
let heads, nope, rope, widths, q_rank, mla;
heads = c.count("num_attention_heads");
[nope, rope] = [c.count("qk_nope_head_dim"), c.count("qk_rope_head_dim", void 0, 0)];
c.same("qk_head_dim", $add(nope, rope), "qk_nope_head_dim + qk_rope_head_dim");
c.same("num_key_value_heads", heads, "'num_attention_heads'");
widths = $dict([["nope_dim", nope], ["rope_dim", rope], ["value_dim", c.count("v_head_dim")]]);
q_rank = ($has(c.fields, "q_lora_rank") ? c.optional("q_lora_rank") : rank);
mla = $call(layers_attention$MLA, [], $dict([["kv_rank", c.count("kv_lora_rank")], ["q_rank", q_rank], ...widths.items()]));
return $call(layers_attention_kinds$Latent, [], $dict([["heads", heads], ["mla", mla], ...more.items()]));
}
function model_families_readers$agreed(c, i, rule) {
let ruled, kind, text;
ruled = $call(rule, [i], null);
kind = c.kind(i, rule, []);
text = `${$repr(c.spelled("layer_types"))} has ${$repr(kind)} for layer ${$str(i)}, but other fields say ${$repr(ruled)}`;
c.require($eq(kind, ruled), text);
return kind;
}
function model_families_readers$sliding(c, i, rule, name = "sliding_window") {
return ($eq(c.kind(i, rule, [model_families_readers$FULL, model_families_readers$SLIDING]), model_families_readers$SLIDING) ? c.count(name) : null);
}
function model_families_readers$window(c, i, usual = null) {
if (!$truth(c.has("sliding_window"))) {
c.kind(i, ((_) => model_families_readers$FULL), [model_families_readers$FULL]);
return ($has(c.fields, "sliding_window") ? null : usual);
}
return model_families_readers$sliding(c, i, ((_) => model_families_readers$SLIDING));
}
function model_families_readers$optional_window(c, i) {
let text, first;
if (!$truth(c.flag("use_sliding_window", false)) || !$truth(c.has("sliding_window"))) {
text = "'layer_types' has sliding layers, but 'use_sliding_window' is off";
c.require(!$has(c.entries("layer_types", $str), model_families_readers$SLIDING), text);
c.kind(i, ((_) => model_families_readers$FULL), [model_families_readers$FULL, model_families_readers$SLIDING]);
return null;
}
first = c.count("max_window_layers", void 0, 0);
return model_families_readers$sliding(c, i, ((i) => ($ge(i, first) ? model_families_readers$SLIDING : model_families_readers$FULL)));
}
function model_families_readers$patterned(c, i, names) {
let stated, is_known, every;
names = ($truth(names) ? names : ["sliding_window_pattern", "_sliding_window_pattern"]);
stated = (() => { const $ = $list(); for (const name of names) if ($truth(c.has(name))) $.push(name); return $; })();
is_known = $bool(($truth(stated) ? stated : c.entries("layer_types", $str)));
c.require(is_known, `'layer_types' is missing, and so is ${$repr($at(names, 0))}`);
if (!$truth(stated)) {
return model_families_readers$sliding(c, i, ((_) => model_families_readers$FULL));
}
every = c.count($at(stated, 0));
return model_families_readers$sliding(c, i, ((i) => ($truth($mod($add(i, 1), every)) ? model_families_readers$SLIDING : model_families_readers$FULL)));
}
function model_families_readers$rotary(c, width, default$ = 1, name = "partial_rotary_factor", among = null) {
let rope, stated, share, otherwise, is_share;
rope = c.get("rope_parameters");
if ((among !== null) && $isinstance(rope, [$abc_Mapping])) {
rope = rope.get(among);
}
stated = ($isinstance(rope, [$abc_Mapping]) ? rope.get("partial_rotary_factor") : null);
share = stated;
for (otherwise of [c.get(name), default$]) {
share = ((share === null) ? otherwise : share);
}
is_share = ($has([$int, $float], $type(share)) && ($lt(0, share) && $le(share, 1)));
c.require(is_share, `${$repr(name)} must be a fraction of 1, got ${$repr(share)}`);
return $int($mul(share, width));
}
function model_families_readers$mlp(c, width = "intermediate_size", usual = null, times = 1, more) {
more = $dict([["activation", model_families_readers$activation(c, more.pop("default", "silu"), [])], ...more.items()]);
return $call(layers_feed$Mlp, [], $dict([["width", $mul(times, c.count(width, usual))], ...more.items()]));
}
function model_families_readers$sparse(c, i, rule) {
let kind;
kind = c.kind(i, ((i) => ($truth($call(rule, [i], null)) ? "sparse" : "dense")), ["dense", "sparse"], "mlp_layer_types");
return (kind === "sparse");
}
function model_families_readers$experts(c, name, width = "moe_intermediate_size", chosen = "num_experts_per_tok", shared = null, default$ = "silu", more) {
let count, per_token, text;
[count, per_token] = [c.count(name), c.count(chosen)];
text = `${$repr(c.spelled(chosen))} is ${$str(per_token)}, but ${$repr(c.spelled(name))} is ${$str(count)}`;
c.require($le(per_token, count), text);
more = $dict([["activation", model_families_readers$activation(c, default$, [])], ...more.items()]);
if ((shared !== null)) {
$put(more, "shared_width", $mul(c.count(shared, void 0, 0), c.count(width)));
}
return $call(layers_feed$Mixture, [], $dict([["experts", count], ["per_token", per_token], ["width", c.count(width)], ...more.items()]));
}
function model_families_readers$dense_first(c, i, dense, name, more) {
return (model_families_readers$sparse(c, i, ((i) => $ge(i, dense))) ? $call(model_families_readers$experts, [c, name], $dict([...more.items()])) : model_families_readers$mlp(c, void 0, void 0, void 0, $dict([])));
}
function model_families_readers$added(count) {
return new layers_parts$PerToken().__init__("router.added", count, void 0, void 0, void 0, void 0, count);
}
function model_families_streams$streams(c, combined = true) {
let count, d, rounds, mixes, wide, scales, small, once;
[count, d, rounds] = [c.count("hc_mult", 4), c.d_model, c.count("hc_sinkhorn_iters", 20)];
[mixes, wide] = [($truth(combined) ? $mul(count, $add(2, count)) : $mul(2, count)), $mul(count, d)];
scales = ($truth(combined) ? 3 : 2);
small = ($truth(combined) ? $mul($add($mul(4, rounds), 4), $pow(count, 2)) : $mul(4, mixes));
once = [layers_parts$normalisation("hc.norm", wide, "plain_norm"), ...layers_parts$linear_step("hc.mix", wide, mixes), new layers_parts$PerToken().__init__("hc.sinkhorn", small, mixes, mixes, void 0, void 0, $add(mixes, scales)), layers_parts$elementwise("hc.collapse", $mul(2, wide), "residual", $dict([["reads", wide], ["writes", d]])), ...($truth(combined) ? [model_families_streams$_combined(count, wide)] : []), layers_parts$elementwise("hc.expand", $mul(2, wide), "residual", $dict([["reads", $add(wide, d)], ["writes", wide]]))];
return $tuple((() => { const $ = []; for (const step of once) $.push($mul(step, 2)); return $; })());
}
function model_families_streams$_combined(count, wide) {
return new layers_parts$PerToken().__init__("hc.combine", layers_matmul$product_flops(1, count, wide), wide, wide, void 0, void 0, void 0, void 0, void 0, void 0, void 0, true);
}
function model_families_streams$streams_head(c) {
let count, d;
[count, d] = [c.count("hc_mult", 4), c.d_model];
return [layers_parts$normalisation("hc_head.norm", $mul(count, d), "plain_norm"), ...layers_parts$linear_step("hc_head.mix", $mul(count, d), count), new layers_parts$PerToken().__init__("hc_head.scale", $mul(2, count), void 0, void 0, void 0, void 0, $add(count, 1)), layers_parts$elementwise("hc_head.collapse", $mul($mul(2, count), d), "residual", $dict([["reads", $mul(count, d)], ["writes", d]]))];
}
function model_families_streams$streams_mean(c) {
let wide;
wide = $mul(c.count("hc_mult", 4), c.d_model);
return [layers_parts$elementwise("hc_head.mean", wide, "residual", $dict([["writes", c.d_model]]))];
}
function model_families_streams$low_rank_streams(c, adds = true) {
let count, d, rank, wide, inject, expand;
[count, d, rank] = [c.count("hc_count", 4), c.d_model, c.count("hc_lowrank", 320)];
wide = $mul(count, d);
inject = ($truth(adds) ? [...layers_parts$linear_step("hc.inject", wide, count)] : []);
expand = layers_parts$elementwise("hc.expand", $mul(2, wide), "residual", $dict([["reads", $add(wide, d)], ["writes", wide]]));
return [layers_parts$normalisation("hc.norm", wide, "rms_norm"), ...layers_parts$linear_step("hc.down", wide, rank), ...layers_parts$linear_step("hc.up", rank, wide), layers_parts$elementwise("hc.collapse", $mul(2, wide), "residual", $dict([["reads", $mul(2, wide)], ["writes", d]])), ...inject, ...($truth(adds) ? [expand] : [])];
}
function model_families_streams$over_blocks(c, name, blocks, queries = 1, norm = "plain_norm") {
let d, sources, weights, met, normed, flops, chosen;
[d, sources] = [c.d_model, ($truth(blocks) ? $add(blocks, 1) : 0)];
[weights, met] = [$mul(queries, d), $mul(queries, sources)];
normed = layers_parts$normalisation(`${$str(name)}.norm`, $mul(sources, d), norm, d);
flops = $mul(2, layers_matmul$product_flops(1, d, met));
chosen = new layers_parts$PerToken().__init__(name, flops, $mul(sources, d), weights, void 0, void 0, weights, void 0, void 0, void 0, void 0, true);
return [normed, chosen, layers_parts$elementwise(`${$str(name)}.softmax`, met, "softmax", $dict([]))];
}
function model_families_streams$begun(i, each) {
return (-$floordiv((-i), each));
}
let model_families_compressed$SPARSE, model_families_compressed$HEAVY;
[model_families_compressed$SPARSE, model_families_compressed$HEAVY] = ["compressed_sparse_attention", "heavily_compressed_attention"];
let model_families_compressed$_BY_RATIO;
model_families_compressed$_BY_RATIO = $dict([[0, model_families_readers$SLIDING], [4, model_families_compressed$SPARSE], [128, model_families_compressed$HEAVY]]);
let model_families_compressed$_RATES;
model_families_compressed$_RATES = $dict([[model_families_compressed$SPARSE, 4], [model_families_compressed$HEAVY, 128]]);
function model_families_compressed$_now(fields) {
let found, ratios, layers, unknown, rates, kind, name;
found = $dict(fields, $dict([]));
[ratios, layers] = [fields.get("compress_ratios"), fields.get("num_hidden_layers")];
if ($isinstance(ratios, [$list]) && (fields.get("layer_types") === null) && $isinstance(layers, [$int])) {
unknown = (() => { const $ = $list(); for (const ratio of ratios) if (!$has(model_families_compressed$_BY_RATIO, ratio)) $.push(ratio); return $; })();
if ($truth(unknown)) {
throw new $ValueError().__init__([`deepseek_v4 config: 'compress_ratios' has ${$repr($at(unknown, 0))}, not 0, 4, 128`]);
}
$put(found, "layer_types", (() => { const $ = $list(); for (const ratio of $part(ratios, null, layers, null)) $.push($at(model_families_compressed$_BY_RATIO, ratio)); return $; })());
}
rates = $dict(model_families_compressed$_RATES, $dict([]));
rates = $ior(rates, ($isinstance(fields.get("compress_rates"), [$abc_Mapping]) ? $at(fields, "compress_rates") : $dict([])));
for ([kind, name] of [[model_families_compressed$SPARSE, "compress_rate_csa"], [model_families_compressed$HEAVY, "compress_rate_hca"]]) {
$put(rates, kind, ((fields.get(name) === null) ? $at(rates, kind) : $at(fields, name)));
}
return $dict([...found.items(), ["compress_rates", rates]]);
}
let model_families_compressed$deepseek_v4 = $call(model_families_family$family("deepseek_v4", "DeepseekV4ForCausalLM", void 0, $dict([["tied", false], ["rewrite", model_families_compressed$_now], ["last", model_families_streams$streams_head], ["refuse", $dict([["attention_bias", false], ["mlp_bias", false], ["num_key_value_heads", 1], ["n_shared_experts", 1]])], ["usual", $dict([["n_shared_experts", 1], ["q_lora_rank", 1024], ["o_groups", 8], ["o_lora_rank", 1024], ["index_topk", 512], ["index_n_heads", 64], ["index_head_dim", 128], ["sliding_window", 128]])]])), [(function deepseek_v4(c, i) {
let kind, rates, sizes, width, heads, groups, text, attention, hashed, is_hashed, feed;
kind = c.kind(i, model_families_compressed$_usual_kind, [model_families_readers$SLIDING, model_families_compressed$SPARSE, model_families_compressed$HEAVY]);
rates = c.inside("compress_rates");
sizes = $dict([["heads", c.count("index_n_heads")], ["head_dim", c.count("index_head_dim")], ["top", c.count("index_topk")]]);
[width, heads] = [c.count("head_dim", 512), c.count("num_attention_heads")];
groups = c.count("o_groups");
text = `'o_groups' must divide 'num_attention_heads' (${$str(heads)}), got ${$str(groups)}`;
c.require($eq($mod(heads, groups), 0), text);
attention = new layers_compressed$CompressedAttention().__init__(heads, width, c.count("sliding_window"), c.count("q_lora_rank"), groups, c.count("o_lora_rank"), ($eq(kind, model_families_readers$SLIDING) ? null : rates.count(kind)), ($eq(kind, model_families_compressed$SPARSE) ? $call(layers_compressed$CompressedIndexer, [], $dict([...sizes.items()])) : null), model_families_compressed$_rotated(c, width));
hashed = c.each_layer("mlp_layer_types", $str);
is_hashed = ($truth(hashed) ? ($at(hashed, i) === "hash_moe") : $lt(i, c.count("num_hash_layers", 3, 0)));
feed = model_families_readers$experts(c, "n_routed_experts", void 0, void 0, "n_shared_experts", void 0, $dict([["routed_by_hash", is_hashed]]));
return model_families_readers$layer([attention, feed], void 0, $dict([["residuals", 0], ["extra", model_families_streams$streams(c)]]));
})]);
function model_families_compressed$_usual_kind(i) {
return ($truth($mod(i, 2)) && $ge(i, 2) ? model_families_compressed$SPARSE : model_families_compressed$HEAVY);
}
function model_families_compressed$_rotated(c, width) {
let share;
share = c.share("partial_rotary_factor", $div(64, 512));
return $either(c.optional("qk_rope_head_dim"), () => $int($mul(share, width)));
}
$put(model_families_family$FAMILIES, "deepseek_ref", $at(model_families_family$FAMILIES, "deepseek_v4"));
let model_families_decoders$GPT2;
model_families_decoders$GPT2 = $dict([["hidden_size", ["n_embd", "hidden_size"]], ["num_hidden_layers", ["n_layer", "num_hidden_layers"]], ["num_attention_heads", ["n_head", "num_attention_heads"]], ["intermediate_size", "n_inner"], ["max_position_embeddings", ["n_positions", "max_position_embeddings"]]]);
let model_families_decoders$GEMMA3;
model_families_decoders$GEMMA3 = $dict([["vocab_size", 262208], ["hidden_size", 2304], ["intermediate_size", 9216], ["num_hidden_layers", 26], ["num_attention_heads", 8], ["num_key_value_heads", 4], ["head_dim", 256], ["sliding_window", 4096], ["_sliding_window_pattern", 6]]);
let model_families_decoders$OVER_LLAMA;
model_families_decoders$OVER_LLAMA = $dict([["llava", null], ["llava_next", false], ["llava_next_video", null], ["vipllava", false], ["video_llava", false], ["idefics3", false], ["smolvlm", false], ["perception_lm", null], ["voxtral", false], ["janus", true], ["deepseek_vl", true], ["glmasr", true]]);
let model_families_decoders$OVER_QWEN2;
model_families_decoders$OVER_QWEN2 = $dict([["internvl", true], ["llava_onevision", null], ["ovis2", true], ["got_ocr2", true], ["fast_vlm", null], ["video_llama_3", null], ["qwen2_audio", false], ["audioflamingo3", null], ["musicflamingo", null]]);
let model_families_decoders$OVER_QWEN3;
model_families_decoders$OVER_QWEN3 = $dict([["qianfan_ocr", false], ["lighton_ocr", true], ["fun_asr_nano", true], ["qwen3_asr", true]]);
let model_families_decoders$llama = $call(model_families_family$family("llama", "LlamaForCausalLM", model_families_decoders$OVER_LLAMA, $dict([["tied", false]])), [$call(model_families_family$family("granite", "GraniteForCausalLM", $dict([["granite_speech", true], ["granite_speech_plus", true]]), $dict([["tied", false]])), [(function llama(c, i) {
let found;
found = model_families_readers$biases(c, "attention_bias", false, model_families_readers$QKVO);
return model_families_readers$layer([model_families_readers$grouped(c, void 0, void 0, void 0, $dict([["biases", found]])), model_families_readers$mlp(c, void 0, void 0, void 0, $dict([["bias", c.flag("mlp_bias", false)]]))], void 0, $dict([]));
})])]);
let model_families_decoders$smollm3 = $call(model_families_family$family("smollm3", "SmolLM3ForCausalLM", void 0, $dict([["tied", true]])), [(function smollm3(c, i) {
let found, rotated, every, is_rotated, attention;
found = model_families_readers$biases(c, "attention_bias", false, model_families_readers$QKVO);
rotated = c.each_layer("no_rope_layers", $int);
every = c.count("no_rope_layer_interval", 4);
is_rotated = ($truth(rotated) ? !$eq($at(rotated, i), 0) : !$eq($mod($add(i, 1), every), 0));
attention = model_families_readers$grouped(c, void 0, void 0, void 0, $dict([["biases", found], ["window", model_families_readers$optional_window(c, i)], ["rotary_dim", ($truth(is_rotated) ? null : 0)]]));
return model_families_readers$layer([attention, model_families_readers$mlp(c, void 0, void 0, void 0, $dict([["bias", c.flag("mlp_bias", false)]]))], void 0, $dict([]));
})]);
let model_families_decoders$mistral = $call(model_families_family$family("mistral", "MistralForCausalLM", $dict([["mistral3", true], ["idefics2", false]]), $dict([["tied", false]])), [(function mistral(c, i) {
return model_families_readers$layer([model_families_readers$grouped(c, void 0, void 0, void 0, $dict([["window", model_families_readers$window(c, i, 4096)]])), model_families_readers$mlp(c, void 0, void 0, void 0, $dict([]))], void 0, $dict([]));
})]);
let model_families_decoders$mixtral = $call(model_families_family$family("mixtral", "MixtralForCausalLM", void 0, $dict([["tied", false]])), [(function mixtral(c, i) {
let feed;
feed = model_families_readers$experts(c, "num_local_experts", "intermediate_size", void 0, void 0, void 0, $dict([]));
return model_families_readers$layer([model_families_readers$grouped(c, void 0, void 0, void 0, $dict([["window", model_families_readers$window(c, i)]])), feed], void 0, $dict([]));
})]);
let model_families_decoders$phi3 = $call(model_families_family$family("phi3", "Phi3ForCausalLM", void 0, $dict([["tied", false], ["refuse", $dict([["attention_bias", false]])]])), [(function phi3(c, i) {
let attention;
attention = model_families_readers$grouped(c, void 0, void 0, void 0, $dict([["window", model_families_readers$window(c, i)], ["rotary_dim", model_families_readers$rotary(c, model_families_readers$head_dim(c))]]));
return model_families_readers$layer([attention, model_families_readers$mlp(c, void 0, void 0, void 0, $dict([]))], void 0, $dict([]));
})]);
let model_families_decoders$qwen2 = $call(model_families_family$family("qwen2", "Qwen2ForCausalLM", model_families_decoders$OVER_QWEN2, $dict([["tied", false]])), [(function qwen2(c, i) {
return model_families_readers$layer([model_families_readers$grouped(c, void 0, void 0, void 0, $dict([["biases", model_families_readers$QKV], ["window", model_families_readers$optional_window(c, i)]])), model_families_readers$mlp(c, void 0, void 0, void 0, $dict([]))], void 0, $dict([]));
})]);
let model_families_decoders$qwen2_moe = $call(model_families_family$family("qwen2_moe", "Qwen2MoeForCausalLM", void 0, $dict([["tied", false]])), [(function qwen2_moe(c, i) {
let found, attention, width;
found = model_families_readers$biases(c, "qkv_bias", true, model_families_readers$QKV);
attention = model_families_readers$grouped(c, void 0, void 0, void 0, $dict([["biases", found], ["window", model_families_readers$optional_window(c, i)]]));
width = c.count("shared_expert_intermediate_size");
if (!model_families_decoders$is_sparse(c, i)) {
return model_families_readers$layer([attention, model_families_readers$mlp(c, void 0, void 0, void 0, $dict([]))], void 0, $dict([]));
}
return model_families_readers$layer([attention, model_families_decoders$_qwen_experts(c, $dict([["shared_width", width], ["shared_gate", true]]))], void 0, $dict([]));
})]);
let model_families_decoders$qwen3 = $call(model_families_family$family("qwen3", "Qwen3ForCausalLM", model_families_decoders$OVER_QWEN3, $dict([["tied", false]])), [(function qwen3(c, i) {
return model_families_readers$layer([model_families_decoders$_qwen3_attention(c, i), model_families_readers$mlp(c, void 0, void 0, void 0, $dict([]))], void 0, $dict([]));
})]);
let model_families_decoders$qwen3_moe = $call(model_families_family$family("qwen3_moe", "Qwen3MoeForCausalLM", void 0, $dict([["tied", false]])), [(function qwen3_moe(c, i) {
let feed;
feed = (model_families_decoders$is_sparse(c, i) ? model_families_decoders$_qwen_experts(c, $dict([])) : model_families_readers$mlp(c, void 0, void 0, void 0, $dict([])));
return model_families_readers$layer([model_families_decoders$_qwen3_attention(c, i, false), feed], void 0, $dict([]));
})]);
function model_families_decoders$_qwen3_attention(c, i, needs_head_dim = true) {
let found, reach;
[found, reach] = [model_families_readers$biases(c, "attention_bias", false, model_families_readers$QKVO), model_families_readers$optional_window(c, i)];
return model_families_readers$grouped(c, void 0, void 0, needs_head_dim, $dict([["qk_norm", "head"], ["biases", found], ["window", reach]]));
}
function model_families_decoders$is_sparse(c, i) {
let step;
step = c.count("decoder_sparse_step", 1);
return ($eq($mod($add(i, 1), step), 0) && !$has(c.entries("mlp_only_layers", $int), i));
}
function model_families_decoders$_qwen_experts(c, shared) {
let name;
name = ($truth(c.has("num_experts")) ? "num_experts" : "num_local_experts");
if ($truth(c.has("num_local_experts"))) {
c.same("num_experts", c.get("num_local_experts"), "'num_local_experts'");
}
return $call(model_families_readers$experts, [c, name], $dict([...shared.items()]));
}
let model_families_decoders$gemma = $call(model_families_family$family("gemma", "GemmaForCausalLM", $dict([["paligemma", true]]), $dict([["tied", true]])), [(function gemma(c, i) {
let found;
found = model_families_readers$biases(c, "attention_bias", false, model_families_readers$QKVO);
return model_families_readers$layer([model_families_readers$grouped(c, void 0, void 0, true, $dict([["biases", found]])), model_families_readers$mlp(c, void 0, void 0, void 0, $dict([["default", "gelu_tanh"]]))], void 0, $dict([]));
})]);
let model_families_decoders$gemma2 = $call(model_families_family$family("gemma2", "Gemma2ForCausalLM", void 0, $dict([["tied", true]])), [(function gemma2(c, i) {
let found, reach, attention;
found = model_families_readers$biases(c, "attention_bias", false, model_families_readers$QKVO);
reach = model_families_readers$sliding(c, i, ((i) => ($truth($mod(i, 2)) ? model_families_readers$FULL : model_families_readers$SLIDING)));
attention = model_families_readers$grouped(c, void 0, void 0, true, $dict([["biases", found], ["window", reach]]));
return model_families_readers$layer([attention, model_families_readers$mlp(c, void 0, void 0, void 0, $dict([["default", "gelu_tanh"]]))], 4, $dict([]));
})]);
let model_families_decoders$gemma3_text = $call(model_families_family$family("gemma3_text", "Gemma3ForCausalLM", $dict([["gemma3", true]]), $dict([["tied", true], ["inside", model_families_decoders$GEMMA3], ["refuse", $dict([["use_bidirectional_attention", false]])]])), [(function gemma3_text(c, i) {
let found, attention;
found = model_families_readers$biases(c, "attention_bias", false, model_families_readers$QKVO);
attention = model_families_readers$grouped(c, void 0, void 0, true, $dict([["qk_norm", "head"], ["biases", found], ["window", model_families_readers$patterned(c, i, [])]]));
return model_families_readers$layer([attention, model_families_readers$mlp(c, void 0, void 0, void 0, $dict([["default", "gelu_tanh"]]))], 4, $dict([]));
})]);
let model_families_decoders$gpt_oss = $call(model_families_family$family("gpt_oss", "GptOssForCausalLM", void 0, $dict([["tied", false]])), [(function gpt_oss(c, i) {
let found, reach, attention, feed;
found = model_families_readers$biases(c, "attention_bias", true, model_families_readers$QKVO);
reach = model_families_readers$sliding(c, i, ((i) => ($truth($mod(i, 2)) ? model_families_readers$FULL : model_families_readers$SLIDING)));
attention = model_families_readers$grouped(c, void 0, void 0, true, $dict([["biases", found], ["window", reach], ["sinks", true]]));
feed = model_families_readers$experts(c, "num_local_experts", "intermediate_size", void 0, void 0, void 0, $dict([["router_bias", true], ["bias", true]]));
return model_families_readers$layer([attention, feed], void 0, $dict([]));
})]);
let model_families_decoders$deepseek_v2 = $call(model_families_family$family("deepseek_v2", "DeepseekV2ForCausalLM", void 0, $dict([["tied", false], ["refuse", $dict([["moe_layer_freq", 1], ["mlp_bias", false]])]])), [(function deepseek_v2(c, i) {
return model_families_decoders$_latent_layer(c, i, ($truth(c.has("qk_head_dim")) ? null : 1536));
})]);
let model_families_decoders$deepseek_v3 = $call(model_families_family$family("deepseek_v3", "DeepseekV3ForCausalLM", void 0, $dict([["tied", false], ["ahead", "num_nextn_predict_layers"], ["refuse", $dict([["moe_layer_freq", 1]])]])), [(function deepseek_v3(c, i) {
return model_families_decoders$_latent_layer(c, i, 1536);
})]);
function model_families_decoders$_latent_layer(c, i, rank) {
let found;
found = model_families_readers$biases(c, "attention_bias", false, ["q_a_proj", "kv_a_proj", "o_proj"]);
return model_families_readers$layer([model_families_readers$latent(c, rank, $dict([["biases", found]])), model_families_decoders$deepseek_feed(c, i)], void 0, $dict([]));
}
function model_families_decoders$deepseek_feed(c, i) {
let dense, text, routed, plain;
dense = c.count("first_k_dense_replace", void 0, 0);
text = `'first_k_dense_replace' is ${$str(dense)}, but 'num_hidden_layers' is ${$str(c.layers)}`;
c.require($le(dense, c.layers), text);
if ($truth(c.has("num_experts")) && $truth(c.has("n_routed_experts"))) {
c.same("num_experts", c.get("n_routed_experts"), "'n_routed_experts'");
}
[routed, plain] = [model_families_readers$experts(c, "n_routed_experts", void 0, void 0, "n_shared_experts", void 0, $dict([])), model_families_readers$mlp(c, void 0, void 0, void 0, $dict([]))];
return ($lt(i, dense) ? plain : routed);
}
let model_families_decoders$olmo = $call(model_families_family$family("olmo", "OlmoForCausalLM", void 0, $dict([["tied", false], ["norm", "plain_norm"]])), [(function olmo(c, i) {
let found;
found = model_families_readers$biases(c, "attention_bias", false, model_families_readers$QKVO);
return model_families_readers$layer([model_families_readers$grouped(c, void 0, void 0, void 0, $dict([["biases", found]])), model_families_readers$mlp(c, void 0, void 0, void 0, $dict([]))], void 0, $dict([["norm", "plain_norm"]]));
})]);
let model_families_decoders$olmo2 = $call(model_families_family$family("olmo2", "Olmo2ForCausalLM", void 0, $dict([["tied", false]])), [(function olmo2(c, i) {
let found;
found = model_families_readers$biases(c, "attention_bias", false, model_families_readers$QKVO);
return model_families_readers$layer([model_families_readers$grouped(c, void 0, void 0, void 0, $dict([["qk_norm", "full"], ["biases", found]])), model_families_readers$mlp(c, void 0, void 0, void 0, $dict([]))], void 0, $dict([]));
})]);
let model_families_decoders$cohere = $call(model_families_family$family("cohere", "CohereForCausalLM", void 0, $dict([["tied", true], ["norm", "layer_norm_no_bias"]])), [(function cohere(c, i) {
let found, norm, normed, attention;
[found, norm] = [model_families_readers$biases(c, "attention_bias", false, model_families_readers$QKVO), "layer_norm_no_bias"];
normed = ($truth(c.flag("use_qk_norm", false)) ? "full" : null);
attention = model_families_readers$grouped(c, void 0, true, void 0, $dict([["qk_norm", normed], ["biases", found], ["norm", norm]]));
return model_families_readers$layer([attention, model_families_readers$mlp(c, void 0, void 0, void 0, $dict([]))], 1, $dict([["parallel", true], ["norm", norm]]));
})]);
let model_families_decoders$cohere2 = $call(model_families_family$family("cohere2", "Cohere2ForCausalLM", $dict([["cohere2_vision", true], ["aya_vision", true]]), $dict([["tied", true], ["norm", "layer_norm_no_bias"], ["usual", $dict([["sliding_window", 4096], ["sliding_window_pattern", 4]])]])), [(function cohere2(c, i) {
let found, norm, reach, rotary_dim, attention;
[found, norm] = [model_families_readers$biases(c, "attention_bias", false, model_families_readers$QKVO), "layer_norm_no_bias"];
reach = model_families_readers$patterned(c, i, []);
rotary_dim = ((reach === null) ? 0 : null);
attention = model_families_readers$grouped(c, void 0, true, void 0, $dict([["biases", found], ["norm", norm], ["window", reach], ["rotary_dim", rotary_dim]]));
return model_families_readers$layer([attention, model_families_readers$mlp(c, void 0, void 0, void 0, $dict([]))], 1, $dict([["parallel", true], ["norm", norm]]));
})]);
let model_families_decoders$starcoder2 = $call(model_families_family$family("starcoder2", "Starcoder2ForCausalLM", void 0, $dict([["tied", true], ["norm", "layer_norm"]])), [(function starcoder2(c, i) {
let found, norm, attention, feed;
[found, norm] = [c.flag("use_bias", true), "layer_norm"];
attention = model_families_readers$grouped(c, void 0, void 0, void 0, $dict([["biases", ($truth(found) ? model_families_readers$QKVO : [])], ["norm", norm], ["window", model_families_readers$window(c, i)]]));
feed = model_families_readers$mlp(c, void 0, void 0, void 0, $dict([["gated", false], ["bias", found], ["default", "gelu_tanh"]]));
return model_families_readers$layer([attention, feed], void 0, $dict([["norm", norm]]));
})]);
let model_families_decoders$nemotron = $call(model_families_family$family("nemotron", "NemotronForCausalLM", void 0, $dict([["tied", false], ["norm", "layer_norm"]])), [(function nemotron(c, i) {
let norm, found, rotated, attention, feed;
[norm, found] = ["layer_norm", model_families_readers$biases(c, "attention_bias", false, model_families_readers$QKVO)];
rotated = model_families_readers$rotary(c, model_families_readers$head_dim(c), 0.5);
attention = model_families_readers$grouped(c, void 0, void 0, void 0, $dict([["norm", norm], ["biases", found], ["rotary_dim", rotated]]));
feed = model_families_readers$mlp(c, void 0, void 0, void 0, $dict([["gated", false], ["bias", c.flag("mlp_bias", false)], ["default", "relu2"]]));
return model_families_readers$layer([attention, feed], void 0, $dict([["norm", norm]]));
})]);
let model_families_decoders$phi = $call(model_families_family$family("phi", "PhiForCausalLM", void 0, $dict([["tied", false], ["norm", "layer_norm"], ["unembedding_bias", true]])), [(function phi(c, i) {
let norm, normed, rotated, attention, feed;
norm = "layer_norm";
normed = ($truth(c.flag("qk_layernorm", false)) ? "head" : null);
rotated = model_families_readers$rotary(c, model_families_readers$head_dim(c), 0.5);
attention = model_families_readers$grouped(c, void 0, void 0, void 0, $dict([["biases", model_families_readers$QKVO], ["qk_norm", normed], ["norm", norm], ["rotary_dim", rotated]]));
feed = model_families_readers$mlp(c, void 0, void 0, void 0, $dict([["gated", false], ["bias", true], ["default", "gelu_tanh"]]));
return model_families_readers$layer([attention, feed], 1, $dict([["parallel", true], ["norm", norm]]));
})]);
let model_families_decoders$gpt_neox = $call(model_families_family$family("gpt_neox", "GPTNeoXForCausalLM", void 0, $dict([["tied", false], ["norm", "layer_norm"]])), [(function gpt_neox(c, i) {
let norm, found, rotated, attention;
[norm, found] = ["layer_norm", model_families_readers$biases(c, "attention_bias", true, model_families_readers$QKVO)];
rotated = model_families_readers$rotary(c, model_families_readers$head_dim(c, false), 0.25, "rotary_pct");
attention = model_families_readers$grouped(c, true, void 0, void 0, $dict([["biases", found], ["norm", norm], ["rotary_dim", rotated]]));
return model_families_readers$layer([attention, model_families_readers$mlp(c, void 0, void 0, void 0, $dict([["gated", false], ["bias", true], ["default", "gelu"]]))], void 0, $dict([["norm", norm]]));
})]);
let model_families_decoders$gptj = $call(model_families_family$family("gptj", "GPTJForCausalLM", void 0, $dict([["tied", false], ["norm", "layer_norm"], ["names", model_families_decoders$GPT2], ["unembedding_bias", true]])), [(function gptj(c, i) {
let norm, width, rotated, attention, feed;
[norm, width] = ["layer_norm", model_families_readers$head_dim(c, false)];
rotated = c.count("rotary_dim", void 0, 0);
c.require($le(rotated, width), `'rotary_dim' is ${$str(rotated)}, but a head is ${$str(width)} wide`);
attention = model_families_readers$grouped(c, true, void 0, void 0, $dict([["norm", norm], ["rotary_dim", rotated]]));
feed = model_families_readers$mlp(c, void 0, $mul(4, c.d_model), void 0, $dict([["gated", false], ["bias", true], ["default", "gelu_tanh"]]));
return model_families_readers$layer([attention, feed], 1, $dict([["parallel", true], ["norm", norm]]));
})]);
let model_families_decoders$gpt2 = $call(model_families_family$family("gpt2", "GPT2LMHeadModel", void 0, $dict([["tied", true], ["norm", "layer_norm"], ["names", model_families_decoders$GPT2], ["positions", 0]])), [(function gpt2(c, i) {
let norm, attention, feed;
norm = "layer_norm";
attention = model_families_readers$grouped(c, true, void 0, void 0, $dict([["biases", model_families_readers$QKVO], ["norm", norm], ["rotary_dim", 0]]));
feed = model_families_readers$mlp(c, void 0, $mul(4, c.d_model), void 0, $dict([["gated", false], ["bias", true], ["default", "gelu_tanh"]]));
return model_families_readers$layer([attention, feed], void 0, $dict([["norm", norm]]));
})]);
let model_families_decoders$opt = $call(model_families_family$family("opt", "OPTForCausalLM", void 0, $dict([["tied", true], ["norm", "layer_norm"], ["positions", 2], ["names", $dict([["intermediate_size", "ffn_dim"]])], ["first", ((c) => model_families_decoders$_opt_projection(c, "into"))], ["last", ((c) => model_families_decoders$_opt_projection(c, "out_of"))], ["size", ((c) => model_families_decoders$_opt_sizes(c))]])), [(function opt(c, i) {
let norm, found, attention;
[norm, found] = [model_families_decoders$_opt_norm(c), c.flag("enable_bias", true)];
attention = model_families_readers$grouped(c, true, void 0, void 0, $dict([["biases", ($truth(found) ? model_families_readers$QKVO : [])], ["norm", norm], ["rotary_dim", 0]]));
return model_families_readers$layer([attention, model_families_readers$mlp(c, void 0, void 0, void 0, $dict([["gated", false], ["bias", found], ["default", "relu"]]))], void 0, $dict([["norm", norm]]));
})]);
function model_families_decoders$_opt_norm(c) {
return ($truth(c.flag("layer_norm_elementwise_affine", true)) ? "layer_norm" : "plain_norm");
}
function model_families_decoders$_opt_sizes(c) {
let at_end, width, narrow;
at_end = $both(c.flag("do_layer_norm_before", true), () => !$truth(c.flag("_remove_final_layer_norm", false)));
width = c.count("word_embed_proj_dim", c.d_model);
narrow = ($eq(width, c.d_model) ? $dict([]) : $dict([["embedding_width", width]]));
return $dict([["norm", model_families_decoders$_opt_norm(c)], ["final_norm", at_end], ...narrow.items()]);
}
function model_families_decoders$_opt_projection(c, way) {
let d, width, sizes;
[d, width] = [c.d_model, c.count("word_embed_proj_dim", c.d_model)];
sizes = $at($dict([["into", [width, d]], ["out_of", [d, width]]]), way);
return ($eq(width, d) ? [] : layers_parts$linear_step(`project_${$str(way)}`, ...sizes));
}
let model_families_decoders$bloom = $call(model_families_family$family("bloom", "BloomForCausalLM", void 0, $dict([["tied", true], ["norm", "layer_norm"], ["embedding_norm", true], ["names", $dict([["hidden_size", ["hidden_size", "n_embed"]], ["num_hidden_layers", ["n_layer", "num_hidden_layers"]], ["num_attention_heads", ["n_head", "num_attention_heads"]]])]])), [(function bloom(c, i) {
let norm, attention, feed;
norm = "layer_norm";
attention = model_families_readers$grouped(c, true, void 0, void 0, $dict([["biases", model_families_readers$QKVO], ["norm", norm], ["rotary_dim", 0]]));
feed = new layers_feed$Mlp().__init__($mul(4, c.d_model), false, "gelu_tanh", true);
return model_families_readers$layer([attention, feed], void 0, $dict([["norm", norm]]));
})]);
let model_families_dense$ministral = $call(model_families_family$family("ministral", "MinistralForCausalLM", void 0, $dict([["tied", false]])), [(function ministral(c, i) {
let reach;
reach = model_families_readers$window(c, i, 4096);
return model_families_readers$layer([model_families_readers$grouped(c, void 0, model_families_readers$said_null(c), void 0, $dict([["window", reach]])), model_families_readers$mlp(c, void 0, void 0, void 0, $dict([]))], void 0, $dict([]));
})]);
let model_families_dense$ministral3 = $call(model_families_family$family("ministral3", "Ministral3ForCausalLM", void 0, $dict([["tied", false], ["inside", $dict([["vocab_size", 131072], ["hidden_size", 4096], ["intermediate_size", 14336], ["num_hidden_layers", 34], ["num_attention_heads", 32], ["num_key_value_heads", 8], ["head_dim", 128]])]])), [(function ministral3(c, i) {
return model_families_readers$layer([model_families_readers$grouped(c, void 0, void 0, void 0, $dict([["window", model_families_readers$window(c, i)]])), model_families_readers$mlp(c, void 0, void 0, void 0, $dict([]))], void 0, $dict([]));
})]);
let model_families_dense$glm = $call(model_families_family$family("glm", "GlmForCausalLM", void 0, $dict([["tied", false], ["usual", $dict([["head_dim", 128]])]])), [(function glm(c, i) {
return model_families_readers$layer([model_families_dense$_glm_attention(c), model_families_readers$mlp(c, void 0, void 0, void 0, $dict([]))], void 0, $dict([]));
})]);
let model_families_dense$glm4 = $call(model_families_family$family("glm4", "Glm4ForCausalLM", void 0, $dict([["tied", false], ["usual", $dict([["head_dim", 128]])]])), [(function glm4(c, i) {
return model_families_readers$layer([model_families_dense$_glm_attention(c), model_families_readers$mlp(c, void 0, void 0, void 0, $dict([]))], 4, $dict([]));
})]);
let model_families_dense$glm4v_text = $call(model_families_family$family("glm4v_text", "Glm4vForConditionalGeneration", $dict([["glm4v", null], ["glm46v", false], ["glmga", false]]), $dict([["tied", false], ["inside", $dict([["vocab_size", 151552], ["hidden_size", 4096], ["intermediate_size", 13696], ["num_hidden_layers", 40], ["num_attention_heads", 32], ["num_key_value_heads", 2]])]])), [(function glm4v_text(c, i) {
let attention;
attention = model_families_readers$grouped(c, void 0, void 0, void 0, $dict([["biases", model_families_readers$QKV], ["rotary_dim", model_families_readers$rotary(c, model_families_readers$head_dim(c), 0.5)]]));
return model_families_readers$layer([attention, model_families_readers$mlp(c, void 0, void 0, void 0, $dict([]))], 4, $dict([]));
})]);
let model_families_dense$glm_ocr_text = $call(model_families_family$family("glm_ocr_text", "GlmOcrForConditionalGeneration", $dict([["glm_ocr", null]]), $dict([["tied", false], ["inside", $dict([["vocab_size", 59392], ["hidden_size", 1024], ["intermediate_size", 4096], ["num_hidden_layers", 16], ["num_attention_heads", 16], ["num_key_value_heads", 8]])]])), [(function glm_ocr_text(c, i) {
return model_families_readers$layer([model_families_readers$grouped(c, void 0, void 0, void 0, $dict([])), model_families_readers$mlp(c, void 0, void 0, void 0, $dict([]))], 4, $dict([]));
})]);
function model_families_dense$_glm_attention(c) {
let found;
found = model_families_readers$biases(c, "attention_bias", true, model_families_readers$QKV);
return model_families_readers$grouped(c, void 0, void 0, void 0, $dict([["biases", found], ["rotary_dim", model_families_readers$rotary(c, model_families_readers$head_dim(c), 0.5)]]));
}
let model_families_dense$olmo3 = $call(model_families_family$family("olmo3", "Olmo3ForCausalLM", void 0, $dict([["tied", false], ["usual", $dict([["sliding_window", 4096]])]])), [(function olmo3(c, i) {
let found, reach, attention;
found = model_families_readers$biases(c, "attention_bias", false, model_families_readers$QKVO);
reach = model_families_readers$sliding(c, i, ((i) => ($truth($mod($add(i, 1), 4)) ? model_families_readers$SLIDING : model_families_readers$FULL)));
attention = model_families_readers$grouped(c, void 0, true, void 0, $dict([["qk_norm", "full"], ["biases", found], ["window", reach]]));
return model_families_readers$layer([attention, model_families_readers$mlp(c, void 0, void 0, void 0, $dict([]))], void 0, $dict([]));
})]);
let model_families_dense$exaone4 = $call(model_families_family$family("exaone4_5_text", "Exaone4ForCausalLM", void 0, $dict([["tied", false]])), [$call(model_families_family$family("exaone4", "Exaone4ForCausalLM", $dict([["exaone4_5", false]]), $dict([["tied", false]])), [(function exaone4(c, i) {
return model_families_readers$layer([model_families_dense$exaone_attention(c, i), model_families_readers$mlp(c, void 0, void 0, void 0, $dict([]))], void 0, $dict([]));
})])]);
function model_families_dense$exaone_attention(c, i) {
let reach, rotates;
reach = model_families_dense$_exaone_window(c, i);
rotates = ((reach !== null) || !$truth(c.has("sliding_window")));
return model_families_readers$grouped(c, void 0, model_families_readers$said_null(c), void 0, $dict([["qk_norm", "head"], ["window", reach], ["rotary_dim", ($truth(rotates) ? null : 0)]]));
}
function model_families_dense$_exaone_window(c, i) {
let pattern, text, is_local;
if ((c.get("sliding_window") === null)) {
c.kind(i, ((_) => model_families_readers$FULL), [model_families_readers$FULL]);
return null;
}
if ($truth(c.entries("layer_types", $str))) {
return model_families_readers$sliding(c, i, ((_) => model_families_readers$FULL));
}
pattern = c.get("sliding_window_pattern");
if ($isinstance(pattern, [$str])) {
text = "'layer_types' is missing, and 'sliding_window_pattern' must be of L and G";
c.require(($bool(pattern) && $le($set(pattern), $set("LG"))), text);
is_local = ($lt(i, $sub(c.layers, 1)) && ($at(pattern, $mod(i, $len(pattern))) === "L"));
} else {
is_local = $bool($mod($add(i, 1), c.count("sliding_window_pattern", 4)));
}
return ($truth(is_local) ? c.count("sliding_window") : null);
}
let model_families_dense$ernie4_5 = $call(model_families_family$family("ernie4_5", "Ernie4_5ForCausalLM", void 0, $dict([["tied", true], ["usual", $dict([["head_dim", 128]])]])), [(function ernie4_5(c, i) {
let found, attention;
found = c.flag("use_bias", false);
attention = model_families_readers$grouped(c, void 0, model_families_readers$said_null(c), void 0, $dict([["biases", ($truth(found) ? model_families_readers$QKVO : [])]]));
return model_families_readers$layer([attention, model_families_readers$mlp(c, void 0, void 0, void 0, $dict([["bias", found]]))], void 0, $dict([]));
})]);
let model_families_dense$seed_oss = $call(model_families_family$family("seed_oss", "SeedOssForCausalLM", void 0, $dict([["tied", false], ["usual", $dict([["head_dim", 128]])]])), [(function seed_oss(c, i) {
let found, attention;
found = model_families_readers$biases(c, "attention_bias", true, model_families_readers$QKV);
found = $iadd(found, model_families_readers$biases(c, "attention_out_bias", false, ["o_proj"]));
attention = model_families_readers$grouped(c, void 0, model_families_readers$said_null(c), void 0, $dict([["biases", found]]));
return model_families_readers$layer([attention, model_families_readers$mlp(c, void 0, void 0, void 0, $dict([["bias", c.flag("mlp_bias", false)]]))], void 0, $dict([]));
})]);
let model_families_dense$hunyuan_v1_dense = $call(model_families_family$family("hunyuan_v1_dense", "HunYuanDenseV1ForCausalLM", void 0, $dict([["tied", false]])), [(function hunyuan_v1_dense(c, i) {
let found;
found = model_families_readers$biases(c, "attention_bias", false, model_families_readers$QKVO);
return model_families_readers$layer([model_families_readers$grouped(c, void 0, true, void 0, $dict([["qk_norm", "head"], ["biases", found]])), model_families_readers$mlp(c, void 0, void 0, void 0, $dict([]))], void 0, $dict([]));
})]);
let model_families_dense$stablelm = $call(model_families_family$family("stablelm", "StableLmForCausalLM", void 0, $dict([["tied", false], ["norm", "layer_norm"]])), [(function stablelm(c, i) {
let norm, is_parallel, attention, norms;
[norm, is_parallel] = ["layer_norm", c.flag("use_parallel_residual", false)];
attention = model_families_readers$grouped(c, void 0, model_families_readers$said_null(c), void 0, $dict([["head_dim", model_families_readers$head_dim(c, false)], ["biases", model_families_readers$biases(c, "use_qkv_bias", false, model_families_readers$QKV)], ["norm", "layer_norm_no_bias"], ["qk_norm", ($truth(c.flag("qk_layernorm", false)) ? "each" : null)], ["rotary_dim", model_families_readers$rotary(c, model_families_readers$head_dim(c, false), 0.25)]]));
norms = ($truth(is_parallel) ? 1 : 2);
return model_families_readers$layer([attention, model_families_readers$mlp(c, void 0, void 0, void 0, $dict([]))], norms, $dict([["norm", norm], ["parallel", is_parallel]]));
})]);
let model_families_dense$apertus = $call(model_families_family$family("apertus", "ApertusForCausalLM", void 0, $dict([["tied", false], ["refuse", $dict([["mlp_bias", false]])]])), [(function apertus(c, i) {
let found, attention, feed, learned;
found = model_families_readers$biases(c, "attention_bias", false, model_families_readers$QKVO);
attention = model_families_readers$grouped(c, void 0, true, void 0, $dict([["qk_norm", "head"], ["biases", found]]));
feed = model_families_readers$mlp(c, void 0, void 0, void 0, $dict([["gated", false], ["default", "xielu"]]));
learned = ((feed.activation === "xielu") ? [new layers_parts$PerToken().__init__("ffn.xielu", void 0, void 0, void 0, void 0, void 0, 2)] : []);
return model_families_readers$layer([attention, feed], void 0, $dict([["extra", learned]]));
})]);
let model_families_dense$arcee = $call(model_families_family$family("arcee", "ArceeForCausalLM", void 0, $dict([["tied", false]])), [(function arcee(c, i) {
let found, feed;
found = model_families_readers$biases(c, "attention_bias", false, model_families_readers$QKVO);
feed = model_families_readers$mlp(c, void 0, void 0, void 0, $dict([["gated", false], ["bias", c.flag("mlp_bias", false)], ["default", "relu2"]]));
return model_families_readers$layer([model_families_readers$grouped(c, void 0, true, void 0, $dict([["biases", found]])), feed], void 0, $dict([]));
})]);
let model_families_dense$nanochat = $call(model_families_family$family("nanochat", "NanoChatForCausalLM", void 0, $dict([["tied", false], ["norm", "plain_norm"], ["embedding_norm", true]])), [(function nanochat(c, i) {
let norm, found, attention;
[norm, found] = ["plain_norm", model_families_readers$biases(c, "attention_bias", false, model_families_readers$QKVO)];
attention = model_families_readers$grouped(c, void 0, true, void 0, $dict([["qk_norm", "head"], ["norm", norm], ["biases", found]]));
return model_families_readers$layer([attention, model_families_readers$mlp(c, void 0, void 0, void 0, $dict([["gated", false], ["default", "relu2"]]))], void 0, $dict([["norm", norm]]));
})]);
let model_families_dense$qwen2_vl_text = $call(model_families_family$family("qwen2_5_vl_text", "Qwen2_5_VLForConditionalGeneration", $dict([["qwen2_5_vl", null]]), $dict([["tied", false]])), [$call(model_families_family$family("qwen2_vl_text", "Qwen2VLForConditionalGeneration", $dict([["qwen2_vl", null]]), $dict([["tied", false]])), [(function qwen2_vl_text(c, i) {
return model_families_readers$layer([model_families_readers$grouped(c, void 0, void 0, void 0, $dict([["biases", model_families_readers$QKV], ["window", model_families_readers$optional_window(c, i)]])), model_families_readers$mlp(c, void 0, void 0, void 0, $dict([]))], void 0, $dict([]));
})])]);
let model_families_dense$qwen3_vl_text = $call(model_families_family$family("qwen3_vl_text", "Qwen3VLForConditionalGeneration", $dict([["qwen3_vl", false]]), $dict([["tied", false], ["inside", $dict([["vocab_size", 151936], ["hidden_size", 4096], ["intermediate_size", 22016], ["num_hidden_layers", 32], ["num_attention_heads", 32], ["num_key_value_heads", 32], ["head_dim", 128]])]])), [(function qwen3_vl_text(c, i) {
let found;
found = model_families_readers$biases(c, "attention_bias", false, model_families_readers$QKVO);
return model_families_readers$layer([model_families_readers$grouped(c, void 0, void 0, true, $dict([["qk_norm", "head"], ["biases", found]])), model_families_readers$mlp(c, void 0, void 0, void 0, $dict([]))], void 0, $dict([]));
})]);
let model_families_dense$mimo = $call(model_families_family$family("mimo", "MiMoForCausalLM", void 0, $dict([["tied", false], ["ahead", "num_nextn_predict_layers"]])), [(function mimo(c, i) {
let found;
found = model_families_readers$biases(c, "attention_bias", true, model_families_readers$QKV);
return model_families_readers$layer([model_families_readers$grouped(c, void 0, void 0, void 0, $dict([["biases", found], ["window", model_families_readers$optional_window(c, i)]])), model_families_readers$mlp(c, void 0, void 0, void 0, $dict([]))], void 0, $dict([]));
})]);
function model_families_encoder_decoders$_t5_fields(fields) {
let found;
found = $dict(fields, $dict([]));
if ((found.get("num_decoder_layers") === null) && (found.get("num_hidden_layers") === null)) {
$put(found, "num_decoder_layers", found.get("num_layers"));
}
return found;
}
let model_families_encoder_decoders$T5 = $dict([["always_tied", true], ["rewrite", model_families_encoder_decoders$_t5_fields], ["refuse", $dict([["is_encoder_decoder", true]])], ["names", $dict([["hidden_size", ["d_model", "hidden_size"]], ["num_hidden_layers", ["num_decoder_layers", "num_hidden_layers"]], ["num_attention_heads", ["num_heads", "num_attention_heads"]], ["head_dim", ["d_kv", "head_dim"]], ["intermediate_size", "d_ff"]])]]);
let model_families_encoder_decoders$t5 = $call($call(model_families_family$family, ["t5", "T5ForConditionalGeneration"], $dict([["usual", $dict([["feed_forward_proj", "relu"]])], ...model_families_encoder_decoders$T5.items()])), [$call($call(model_families_family$family, ["mt5", "MT5ForConditionalGeneration"], $dict([["usual", $dict([["feed_forward_proj", "gated-gelu"]])], ...model_families_encoder_decoders$T5.items()])), [(function t5(c, i) {
return model_families_encoder_decoders$_t5_layer(c, i, $eq(i, 0), model_families_encoder_decoders$_t5_encoder(c, false));
})])]);
let model_families_encoder_decoders$umt5 = $call($call(model_families_family$family, ["umt5", "UMT5ForConditionalGeneration"], $dict([["usual", $dict([["feed_forward_proj", "gated-gelu"]])], ...model_families_encoder_decoders$T5.items()])), [(function umt5(c, i) {
return model_families_encoder_decoders$_t5_layer(c, i, true, model_families_encoder_decoders$_t5_encoder(c, true));
})]);
function model_families_encoder_decoders$_t5_layer(c, i, biased, encoder) {
let own, cross, first, extra;
own = model_families_encoder_decoders$_t5_attention(c, $dict([]));
cross = model_families_encoder_decoders$_t5_attention(c, $dict([["cross", true], ["d_in", c.d_model]]));
first = ($eq(i, 0) ? [encoder] : []);
extra = ($truth(biased) ? model_families_encoder_decoders$_distances(c) : []);
return model_families_readers$layer([...first, own, cross, model_families_encoder_decoders$_t5_feed(c)], 3, $dict([["residuals", 3], ["extra", extra]]));
}
function model_families_encoder_decoders$_t5_attention(c, more) {
let heads, width;
[heads, width] = [c.count("num_attention_heads"), c.count("head_dim")];
return $call(layers_attention_kinds$Attention, [], $dict([["heads", heads], ["head_dim", width], ["rotary_dim", 0], ...more.items()]));
}
function model_families_encoder_decoders$_t5_feed(c) {
let stated, gate, _, kind, is_known;
stated = c.read("feed_forward_proj", $str);
[gate, _, kind] = $str_rpartition(stated, "-");
is_known = ($has(["", "gated"], gate) && $has(model_families_readers$ACTIVATIONS, kind));
c.require(is_known, `'feed_forward_proj' must be like 'gated-gelu' or 'relu', got ${$repr(stated)}`);
c.same("is_gated_act", $bool(gate), "'feed_forward_proj'");
kind = ((stated === "gated-gelu") ? "gelu_new" : kind);
return new layers_feed$Mlp().__init__(c.count("intermediate_size"), $bool(gate), $at(model_families_readers$ACTIVATIONS, kind));
}
function model_families_encoder_decoders$_distances(c) {
let rows;
rows = c.count("relative_attention_num_buckets", 32);
return [new layers_parts$PerToken().__init__("distances", void 0, void 0, void 0, void 0, void 0, $mul(rows, c.count("num_attention_heads")))];
}
function model_families_encoder_decoders$_t5_encoder(c, everywhere) {
let layers, d, plain, first, with_them, rest;
[layers, d] = [c.count("num_layers"), c.d_model];
plain = new layers_parts$Block().__init__(1, [model_families_encoder_decoders$_t5_attention(c, $dict([["causal", false]])), model_families_encoder_decoders$_t5_feed(c)]);
first = new layers_parts$Block().__init__(1, plain.parts, void 0, void 0, void 0, void 0, void 0, model_families_encoder_decoders$_distances(c));
with_them = ($truth(everywhere) ? layers : 1);
rest = $tuple((() => { const $ = []; for (const _ of $range($sub(layers, with_them))) $.push(plain); return $; })());
return new layers_encoder$Encoder().__init__(d, [...(function* () { for (const _ of $range(with_them)) yield first; })(), ...rest], [new layers_parts$PerToken().__init__("embedding", void 0, void 0, d, void 0, d)], [layers_parts$normalisation("final_norm", d, "rms_norm")]);
}
let model_families_encoder_decoders$BART;
model_families_encoder_decoders$BART = $dict([["hidden_size", ["d_model", "hidden_size"]], ["num_hidden_layers", ["decoder_layers", "num_hidden_layers"]], ["num_attention_heads", "decoder_attention_heads"], ["intermediate_size", "decoder_ffn_dim"]]);
let model_families_encoder_decoders$KIN = $dict([["tied", true], ["norm", "layer_norm"], ["names", model_families_encoder_decoders$BART], ["refuse", $dict([["is_encoder_decoder", true], ["tie_word_embeddings", true]])]]);
let model_families_encoder_decoders$bart = $call($call(model_families_family$family, ["bart", "BartForConditionalGeneration"], $dict([["positions", 2], ["embedding_norm", true], ["final_norm", false], ["also", ["BartModel"]], ...model_families_encoder_decoders$KIN.items()])), [(function bart(c, i) {
return model_families_encoder_decoders$_bart_layer(c, i, 2, true);
})]);
let model_families_encoder_decoders$mbart = $call($call(model_families_family$family, ["mbart", "MBartForConditionalGeneration"], $dict([["positions", 2], ["embedding_norm", true], ...model_families_encoder_decoders$KIN.items()])), [(function mbart(c, i) {
return model_families_encoder_decoders$_bart_layer(c, i, 2, true, true);
})]);
let model_families_encoder_decoders$marian = $call($call(model_families_family$family, ["marian", "MarianMTModel"], $dict([["positions", 0], ["final_norm", false], ...$dict([...model_families_encoder_decoders$KIN.items(), ["refuse", $dict([...$at(model_families_encoder_decoders$KIN, "refuse").items(), ["share_encoder_decoder_embeddings", true]])]]).items()])), [(function marian(c, i) {
c.same("decoder_vocab_size", c.count("vocab_size"), "'vocab_size'");
return model_families_encoder_decoders$_bart_layer(c, i, 0);
})]);
let model_families_encoder_decoders$pegasus = $call($call(model_families_family$family, ["pegasus", "PegasusForConditionalGeneration"], $dict([["positions", 0], ...model_families_encoder_decoders$KIN.items()])), [(function pegasus(c, i) {
return model_families_encoder_decoders$_bart_layer(c, i, 0, void 0, true);
})]);
let model_families_encoder_decoders$m2m_100 = $call($call(model_families_family$family, ["m2m_100", "M2M100ForConditionalGeneration"], $dict([...model_families_encoder_decoders$KIN.items()])), [(function m2m_100(c, i) {
return model_families_encoder_decoders$_bart_layer(c, i, null, void 0, true);
})]);
function model_families_encoder_decoders$_bart_layer(c, i, positions, embedding_norm = false, final_norm = false) {
let norm, cross, first, d, steps, rows, blocks, last, feed;
[norm, cross] = ["layer_norm", model_families_encoder_decoders$_bart_attention(c, $dict([["cross", true], ["d_in", c.d_model]]))];
first = [];
if ($eq(i, 0)) {
d = c.d_model;
steps = $list([new layers_parts$PerToken().__init__("embedding", void 0, void 0, d, void 0, d)]);
if ((positions !== null)) {
rows = $add(c.count("max_position_embeddings"), positions);
steps.append(layers_parts$elementwise("positions", d, "residual", $dict([["rows", d], ["table", $mul(rows, d)]])));
}
steps = $iadd(steps, ($truth(embedding_norm) ? $list([layers_parts$normalisation("embedding_norm", d, norm)]) : $list([])));
blocks = [model_families_encoder_decoders$_bart_encoder(c)];
last = ($truth(final_norm) ? [layers_parts$normalisation("final_norm", d, norm)] : []);
first = [new layers_encoder$Encoder().__init__(d, blocks, $tuple(steps), last)];
}
feed = model_families_readers$mlp(c, void 0, void 0, void 0, $dict([["gated", false], ["bias", true], ["default", "gelu"]]));
return model_families_readers$layer([...first, model_families_encoder_decoders$_bart_attention(c, $dict([])), cross, feed], 3, $dict([["residuals", 3], ["norm", norm]]));
}
function model_families_encoder_decoders$_bart_encoder(c) {
let own, sizes, inner, feed, parts;
own = ["decoder_layers", "decoder_attention_heads", "decoder_ffn_dim"];
sizes = $dict((() => { const $ = []; for (const name of own) $.push([name, c.count($str_replace(name, "decoder", "encoder"))]); return $; })());
inner = c.but($dict([...sizes.items(), ["num_hidden_layers", null]]));
feed = model_families_readers$mlp(inner, void 0, void 0, void 0, $dict([["gated", false], ["bias", true], ["default", "gelu"]]));
parts = [model_families_encoder_decoders$_bart_attention(inner, $dict([["causal", false]])), feed];
return new layers_parts$Block().__init__(inner.layers, parts, void 0, "layer_norm");
}
function model_families_encoder_decoders$_bart_attention(c, more) {
let heads, by;
heads = c.count("num_attention_heads");
by = "'decoder_attention_heads' or 'encoder_attention_heads'";
c.require($eq($mod(c.d_model, heads), 0), `'d_model' is ${$str(c.d_model)}, not a multiple of ${$str(by)} (${$str(heads)})`);
more = $dict([["biases", model_families_readers$QKVO], ["norm", "layer_norm"], ["rotary_dim", 0], ...more.items()]);
return $call(layers_attention_kinds$Attention, [], $dict([["heads", heads], ["head_dim", $floordiv(c.d_model, heads)], ...more.items()]));
}
let model_families_encoders$HEADS;
model_families_encoders$HEADS = ["Model", "ForPreTraining"];
function model_families_encoders$_token_types(c) {
let d, kinds;
[d, kinds] = [c.d_model, c.count("type_vocab_size", 2)];
return [layers_parts$elementwise("token_types", d, "residual", $dict([["rows", d], ["table", $mul(kinds, d)]]))];
}
function model_families_encoders$_transform(c) {
let d, kind;
[d, kind] = [c.d_model, model_families_readers$activation(c, "gelu", [])];
return [...layers_parts$linear_step("head", d, d, true), layers_parts$elementwise("head.activation", d, kind, $dict([])), layers_parts$normalisation("head.norm", d, "layer_norm")];
}
function model_families_encoders$_labels(c) {
let named;
named = c.get("id2label");
return ($isinstance(named, [$abc_Mapping]) && $truth(named) ? $len(named) : c.count("num_labels", 2));
}
function model_families_encoders$_classifier(c, before, labels = null) {
let linear;
linear = layers_parts$linear_step("classifier", c.d_model, ($truth(labels) ? labels : model_families_encoders$_labels(c)), true);
return $dict([["last", []], ["head", [...before, ...linear]], ["biases", []]]);
}
function model_families_encoders$_pooler(c) {
let d;
d = c.d_model;
return [...layers_parts$linear_step("pooler", d, d, true), new layers_parts$PerToken().__init__("pooler.tanh", d, d, d)];
}
function model_families_encoders$_classifiers(name) {
return $dict([[`${$str(name)}ForSequenceClassification`, ((c) => $dict([...model_families_encoders$_classifier(c, [...model_families_encoders$_pooler(c)]).items(), ["pooled", true]]))], [`${$str(name)}ForTokenClassification`, model_families_encoders$_classifier], [`${$str(name)}ForQuestionAnswering`, model_families_encoders$_classifier]]);
}
let model_families_encoders$BERT = $dict([["tied", true], ["norm", "layer_norm"], ["final_norm", false], ["embedding_norm", true], ["positions", 0], ["unembedding_bias", true], ["first", model_families_encoders$_token_types], ["last", model_families_encoders$_transform], ["refuse", $dict([["is_decoder", false], ["embedding_size", null], ["tie_word_embeddings", true]])]]);
function model_families_encoders$_bert_kin(model_type, name) {
let also, heads;
[also, heads] = [$tuple((() => { const $ = []; for (const head of model_families_encoders$HEADS) $.push(`${$str(name)}${$str(head)}`); return $; })()), model_families_encoders$_classifiers(name)];
return $call(model_families_family$family, [model_type, `${$str(name)}ForMaskedLM`], $dict([["also", also], ["heads", heads], ...model_families_encoders$BERT.items()]));
}
let model_families_encoders$bert = $call(model_families_encoders$_bert_kin("bert", "Bert"), [$call(model_families_encoders$_bert_kin("roberta", "Roberta"), [$call(model_families_encoders$_bert_kin("xlm-roberta", "XLMRoberta"), [(function bert(c, i) {
let norm, attention;
norm = "layer_norm";
attention = model_families_readers$grouped(c, true, void 0, void 0, $dict([["biases", model_families_readers$QKVO], ["norm", norm], ["rotary_dim", 0], ["causal", false]]));
return model_families_readers$layer([attention, model_families_readers$mlp(c, void 0, void 0, void 0, $dict([["gated", false], ["bias", true], ["default", "gelu"]]))], void 0, $dict([["norm", norm]]));
})])])]);
function model_families_encoders$_narrow_first(c) {
let d, width, rows, kinds;
[d, width] = [c.d_model, c.count("embedding_size", 128)];
[rows, kinds] = [c.count("max_position_embeddings"), c.count("type_vocab_size", 2)];
return [layers_parts$elementwise("positions", width, "residual", $dict([["rows", width], ["table", $mul(rows, width)]])), layers_parts$elementwise("token_types", width, "residual", $dict([["rows", width], ["table", $mul(kinds, width)]])), layers_parts$normalisation("embedding_norm", width, "layer_norm"), ...($eq(width, d) ? [] : layers_parts$linear_step("embedding.projection", width, d, true))];
}
function model_families_encoders$_narrow_last(c) {
let width;
width = c.count("embedding_size", 128);
return [...layers_parts$linear_step("head", c.d_model, width, true), layers_parts$elementwise("head.activation", width, "gelu", $dict([])), layers_parts$normalisation("head.norm", width, "layer_norm")];
}
function model_families_encoders$_detector(c) {
let d, dense, act;
d = c.d_model;
[dense, act] = [layers_parts$linear_step("head", d, d, true), layers_parts$elementwise("head.activation", d, "gelu", $dict([]))];
return model_families_encoders$_classifier(c, [...dense, act], 1);
}
let model_families_encoders$electra = $call(model_families_family$family("electra", "ElectraForMaskedLM", void 0, $dict([["also", ["ElectraModel"]], ["heads", $dict([...model_families_encoders$_classifiers("Electra").items(), ["ElectraForPreTraining", model_families_encoders$_detector]])], ["tied", true], ["norm", "layer_norm"], ["final_norm", false], ["unembedding_bias", true], ["first", model_families_encoders$_narrow_first], ["last", model_families_encoders$_narrow_last], ["size", ((c) => $dict([["embedding_width", c.count("embedding_size", 128)]]))], ["refuse", $dict([["is_decoder", false], ["tie_word_embeddings", true]])]])), [(function electra(c, i) {
return model_families_encoders$bert(c, i);
})]);
function model_families_encoders$_modern_norm(c) {
return ($truth(c.flag("norm_bias", false)) ? "layer_norm" : "layer_norm_no_bias");
}
function model_families_encoders$_modern_head(c) {
let d, kind;
[d, kind] = [c.d_model, model_families_readers$activation(c, "gelu", ["classifier_activation"])];
return [...layers_parts$linear_step("head", d, d, c.flag("classifier_bias", false)), layers_parts$elementwise("head.activation", d, kind, $dict([])), layers_parts$normalisation("head.norm", d, model_families_encoders$_modern_norm(c))];
}
function model_families_encoders$_modern_sizes(c) {
let has_bias;
has_bias = c.flag("decoder_bias", true);
return $dict([["norm", model_families_encoders$_modern_norm(c)], ["biases", ($truth(has_bias) ? ["unembedding"] : [])]]);
}
function model_families_encoders$_modern_text(c) {
return $dict([...model_families_encoders$_classifier(c, [...model_families_encoders$_modern_head(c)]).items(), ["pooled", true]]);
}
function model_families_encoders$_modern_tokens(c) {
return model_families_encoders$_classifier(c, [...model_families_encoders$_modern_head(c)]);
}
let model_families_encoders$modernbert = $call(model_families_family$family("modernbert", "ModernBertForMaskedLM", void 0, $dict([["also", $tuple((() => { const $ = []; for (const head of model_families_encoders$HEADS) $.push(`ModernBert${$str(head)}`); return $; })())], ["heads", $dict([["ModernBertForSequenceClassification", model_families_encoders$_modern_text], ["ModernBertForTokenClassification", model_families_encoders$_modern_tokens], ["ModernBertForQuestionAnswering", model_families_encoders$_modern_tokens]])], ["tied", true], ["norm", "layer_norm_no_bias"], ["embedding_norm", true], ["last", model_families_encoders$_modern_head], ["size", model_families_encoders$_modern_sizes]])), [(function modernbert(c, i) {
return model_families_encoders$_modern_layer(c, i, $add($floordiv(c.count("local_attention", 128), 2), 1), false);
})]);
let model_families_encoders$modernbert_decoder = $call(model_families_family$family("modernbert-decoder", "ModernBertDecoderForCausalLM", void 0, $dict([["tied", true], ["norm", "layer_norm_no_bias"], ["embedding_norm", true], ["last", model_families_encoders$_modern_head], ["size", model_families_encoders$_modern_sizes]])), [(function modernbert_decoder(c, i) {
return model_families_encoders$_modern_layer(c, i, $floordiv(c.count("local_attention", 128, 2), 2));
})]);
function model_families_encoders$_modern_layer(c, i, window, causal = true) {
let every, norm, kind, attention, feed;
[every, norm] = [c.count("global_attn_every_n_layers", 3), model_families_encoders$_modern_norm(c)];
kind = c.kind(i, ((i) => ($truth($mod(i, every)) ? model_families_readers$SLIDING : model_families_readers$FULL)), [model_families_readers$FULL, model_families_readers$SLIDING]);
attention = model_families_readers$grouped(c, true, void 0, void 0, $dict([["head_dim", model_families_readers$head_dim(c, false)], ["biases", model_families_readers$biases(c, "attention_bias", false, model_families_readers$QKVO)], ["norm", norm], ["causal", causal], ["window", ($eq(kind, model_families_readers$SLIDING) ? window : null)]]));
feed = model_families_readers$mlp(c, void 0, void 0, void 0, $dict([["bias", c.flag("mlp_bias", false)], ["default", "gelu"]]));
return model_families_readers$layer([attention, feed], ($truth(i) ? 2 : 1), $dict([["norm", norm]]));
}
let model_families_gemma$GEMMA3N;
model_families_gemma$GEMMA3N = $dict([["vocab_size", 262400], ["hidden_size", 2048], ["intermediate_size", 16384], ["num_hidden_layers", 35], ["num_attention_heads", 8], ["num_key_value_heads", 2], ["head_dim", 256], ["sliding_window", 512], ["vocab_size_per_layer_input", 262144], ["hidden_size_per_layer_input", 256], ["altup_num_inputs", 4], ["num_kv_shared_layers", 15], ["laurel_rank", 64]]);
let model_families_gemma$GEMMA4;
model_families_gemma$GEMMA4 = $dict([["vocab_size", 262144], ["hidden_size", 2304], ["intermediate_size", 9216], ["num_hidden_layers", 30], ["num_attention_heads", 8], ["num_key_value_heads", 4], ["head_dim", 256], ["sliding_window", 512], ["vocab_size_per_layer_input", 262144], ["hidden_size_per_layer_input", 256]]);
function model_families_gemma$_shares_kv(c, i, kinds, usual = null) {
let shared, first, own, text;
shared = c.count("num_kv_shared_layers", usual, 0);
first = $sub(c.layers, shared);
own = $set($part(kinds, null, $max([0, first]), null));
text = `'num_kv_shared_layers' is ${$str(shared)}: no layer before them has a cache for each kind`;
c.require((!$truth(shared) || $eq(own, $set(kinds))), text);
return $ge(i, first);
}
function model_families_gemma$_per_layer_embedding(c) {
let each, width;
each = c.count("hidden_size_per_layer_input", void 0, 0);
if (!$truth(each)) {
return [];
}
width = $mul(c.layers, each);
return [new layers_parts$PerToken().__init__("layer_embedding", void 0, void 0, width, void 0, width, void 0, $mul(c.count("vocab_size_per_layer_input"), width)), ...layers_parts$linear_step("layer_embedding.projection", c.d_model, width), layers_parts$normalisation("layer_embedding.norm", width, "rms_norm", each), layers_parts$elementwise("layer_embedding.sum", width, "residual", $dict([["reads", $mul(2, width)]]))];
}
function model_families_gemma$_per_layer_steps(c) {
let each, d;
[each, d] = [c.count("hidden_size_per_layer_input", void 0, 0), c.d_model];
if (!$truth(each)) {
return [];
}
return [...layers_parts$linear_step("layer_embedding.gate", d, each), layers_parts$elementwise("layer_embedding.gated", each, "gelu_gate", $dict([["reads", $mul(2, each)]])), ...layers_parts$linear_step("layer_embedding.out", each, d), layers_parts$normalisation("layer_embedding.out_norm", d, "rms_norm"), layers_parts$elementwise("layer_embedding.add", d, "residual", $dict([["reads", $mul(2, d)]]))];
}
let model_families_gemma$gemma4_text = $call(model_families_family$family("gemma4_text", "Gemma4ForCausalLM", $dict([["gemma4", true]]), $dict([["tied", true], ["inside", model_families_gemma$GEMMA4], ["first", model_families_gemma$_per_layer_embedding]])), [(function gemma4_text(c, i) {
let text, kinds, shares, attention, wide, feed, extra;
text = "'use_bidirectional_attention' must not be 'all' to be counted here";
c.require((c.get("use_bidirectional_attention") !== "all"), text);
kinds = (() => { const $ = $list(); for (const j of $range(c.layers)) $.push(c.kind(j, ((j) => ($truth($mod($add(j, 1), 6)) ? model_families_readers$SLIDING : model_families_readers$FULL)), [model_families_readers$FULL, model_families_readers$SLIDING])); return $; })();
$put(kinds, -1, model_families_readers$FULL);
shares = model_families_gemma$_shares_kv(c, i, kinds, 0);
attention = model_families_gemma$_gemma4_attention(c, $at(kinds, i), shares);
wide = ($truth(shares) && $truth(c.flag("use_double_wide_mlp", false)) ? 2 : 1);
[feed, extra] = [model_families_readers$mlp(c, void 0, void 0, wide, $dict([["default", "gelu_tanh"]])), model_families_gemma$_per_layer_steps(c)];
if (!$truth(c.flag("enable_moe_block", false))) {
return model_families_readers$layer([attention, feed], 4, $dict([["extra", extra]]));
}
return model_families_readers$layer([attention, feed, model_families_gemma$_gemma4_experts(c)], 7, $dict([["residuals", 2], ["extra", extra]]));
})]);
function model_families_gemma$_gemma4_attention(c, kind, shares) {
let is_global, values_are_keys, width, kv_heads;
is_global = $eq(kind, model_families_readers$FULL);
values_are_keys = ($truth(is_global) ? c.flag("attention_k_eq_v", false) : is_global);
[width, kv_heads] = [c.count("head_dim"), c.count("num_key_value_heads")];
if ($truth(is_global) && !$truth(c.has("per_layer_config"))) {
width = c.count("global_head_dim", 512);
if ($truth(values_are_keys)) {
kv_heads = c.count("num_global_key_value_heads", kv_heads);
}
}
return model_families_readers$grouped(c, void 0, void 0, void 0, $dict([["kv_heads", kv_heads], ["head_dim", width], ["qk_norm", "head"], ["value_norm", true], ["biases", model_families_readers$biases(c, "attention_bias", false, model_families_readers$QKVO)], ["rotary_dim", model_families_readers$rotary(c, width, ($truth(is_global) ? 0.25 : 1), void 0, kind)], ["shares_kv", shares], ["keys_are_values", values_are_keys], ["window", ($truth(is_global) ? null : c.count("sliding_window"))]]));
}
function model_families_gemma$_gemma4_experts(c) {
let d, count, scaled, steps;
[d, count] = [c.d_model, c.count("num_experts")];
scaled = new layers_parts$PerToken().__init__("router.scale", d, d, d, void 0, void 0, $add(d, count));
steps = [layers_parts$normalisation("router.norm", d, "plain_norm"), scaled];
return model_families_readers$experts(c, "num_experts", void 0, "top_k_experts", void 0, "gelu_tanh", $dict([["extra", steps]]));
}
function model_families_gemma$_altup_first(c) {
let d, more, made;
[d, more] = [c.d_model, $sub(c.count("altup_num_inputs"), 1)];
made = ($truth(more) ? $tuple((() => { const $ = []; for (const step of layers_parts$linear_step("altup.projection", d, d)) $.push($mul(step, more)); return $; })()) : []);
return [...made, ...model_families_gemma$_per_layer_embedding(c)];
}
function model_families_gemma$_altup_last(c) {
let d, more, made;
[d, more] = [c.d_model, $sub(c.count("altup_num_inputs"), 1)];
if (!$truth(more)) {
return [];
}
made = $tuple((() => { const $ = []; for (const step of layers_parts$linear_step("altup.unprojection", d, d)) $.push($mul(step, more)); return $; })());
return [...made, layers_parts$elementwise("altup.mean", $mul(more, d), "residual", $dict([["writes", d]]))];
}
let model_families_gemma$gemma3n_text = $call(model_families_family$family("gemma3n_text", "Gemma3nForCausalLM", $dict([["gemma3n", true]]), $dict([["tied", true], ["inside", model_families_gemma$GEMMA3N], ["first", model_families_gemma$_altup_first], ["last", model_families_gemma$_altup_last]])), [(function gemma3n_text(c, i) {
let kinds, attention, d, rank, laurel, feed, extra;
kinds = (() => { const $ = $list(); for (const j of $range(c.layers)) $.push(c.kind(j, ((j) => ($truth($mod($add(j, 1), 5)) ? model_families_readers$SLIDING : model_families_readers$FULL)), [model_families_readers$FULL, model_families_readers$SLIDING])); return $; })();
attention = model_families_readers$grouped(c, void 0, void 0, true, $dict([["qk_norm", "head"], ["value_norm", true], ["biases", model_families_readers$biases(c, "attention_bias", false, model_families_readers$QKVO)], ["shares_kv", model_families_gemma$_shares_kv(c, i, kinds)], ["window", ($eq($at(kinds, i), model_families_readers$SLIDING) ? c.count("sliding_window") : null)]]));
[d, rank] = [c.d_model, c.count("laurel_rank")];
laurel = [...layers_parts$linear_step("laurel.down", d, rank), ...layers_parts$linear_step("laurel.up", rank, d), layers_parts$normalisation("laurel.norm", d, "rms_norm"), layers_parts$elementwise("laurel.add", d, "residual", $dict([["reads", $mul(2, d)]]))];
feed = model_families_readers$mlp(c.of_layer(i, ["intermediate_size"]), void 0, void 0, void 0, $dict([["default", "gelu_tanh"]]));
extra = [...model_families_gemma$_altup(d, c.count("altup_num_inputs")), ...laurel, ...model_families_gemma$_per_layer_steps(c)];
return model_families_readers$layer([attention, feed], 4, $dict([["extra", extra]]));
})]);
function model_families_gemma$_altup(d, n) {
let routed;
routed = layers_matmul$product_flops(2, d, n);
return [layers_parts$normalisation("altup.norm", $mul(2, d), "rms_norm", d), new layers_parts$PerToken().__init__("altup.router", routed, $mul(2, d), $mul(2, n), void 0, void 0, $mul(d, n), void 0, void 0, void 0, void 0, true), ...layers_parts$linear_step("altup.prediction", n, $mul(n, n)), new layers_parts$PerToken().__init__("altup.predict", layers_matmul$product_flops(d, n, n), $add($mul(d, n), $mul(n, n)), $mul(d, n), void 0, void 0, void 0, void 0, void 0, void 0, void 0, true), ...layers_parts$linear_step("altup.correction", n, n), layers_parts$elementwise("altup.correct", $mul(n, d), "residual", $dict([["reads", $mul($mul(2, n), d)]])), new layers_parts$PerToken().__init__("altup.scale", d, d, d, void 0, void 0, d)];
}
let model_families_kin$internlm3 = $call(model_families_family$family("iquestcoder", "IQuestCoderForCausalLM", void 0, $dict([["tied", false], ["usual", $dict([["head_dim", 128]])]])), [$call(model_families_family$family("internlm3", "InternLM3ForCausalLM", void 0, $dict([["tied", false], ["usual", $dict([["head_dim", 128]])]])), [(function internlm3(c, i) {
let found, bias;
found = model_families_readers$biases(c, "attention_bias", c.flag("qkv_bias", false), model_families_readers$QKVO);
bias = c.flag("mlp_bias", c.flag("bias", false));
return model_families_readers$layer([model_families_readers$grouped(c, void 0, void 0, void 0, $dict([["biases", found]])), model_families_readers$mlp(c, void 0, void 0, void 0, $dict([["bias", bias]]))], void 0, $dict([]));
})])]);
let model_families_kin$helium = $call(model_families_family$family("helium", "HeliumForCausalLM", void 0, $dict([["tied", false], ["usual", $dict([["head_dim", 128]])]])), [(function helium(c, i) {
let attention, text;
attention = model_families_readers$grouped(c, void 0, void 0, void 0, $dict([["biases", model_families_readers$biases(c, "attention_bias", false, $part(model_families_readers$QKVO, null, 3, null))]]));
text = `${$str(attention.heads)} heads of ${$str(attention.head_dim)} must make up 'hidden_size'`;
c.require($eq($mul(attention.heads, attention.head_dim), c.d_model), text);
return model_families_readers$layer([attention, model_families_readers$mlp(c, void 0, void 0, void 0, $dict([["bias", c.flag("mlp_bias", false)]]))], void 0, $dict([]));
})]);
let model_families_kin$jais2 = $call(model_families_family$family("jais2", "Jais2ForCausalLM", void 0, $dict([["tied", false], ["norm", "layer_norm"]])), [(function jais2(c, i) {
let attention, feed;
attention = model_families_readers$grouped(c, void 0, void 0, void 0, $dict([["norm", "layer_norm"], ["biases", model_families_readers$biases(c, "attention_bias", true, model_families_readers$QKVO)]]));
feed = model_families_readers$mlp(c, void 0, void 0, void 0, $dict([["gated", false], ["bias", c.flag("mlp_bias", true)], ["default", "relu2"]]));
return model_families_readers$layer([attention, feed], void 0, $dict([["norm", "layer_norm"]]));
})]);
let model_families_kin$hyperclovax = $call(model_families_family$family("hyperclovax", "HyperCLOVAXForCausalLM", void 0, $dict([["tied", false]])), [(function hyperclovax(c, i) {
let attention, norms;
attention = model_families_readers$grouped(c, void 0, void 0, void 0, $dict([["biases", model_families_readers$biases(c, "attention_bias", false, model_families_readers$QKVO)]]));
norms = ($truth(c.flag("use_post_norm", true)) ? 4 : 2);
return model_families_readers$layer([attention, model_families_readers$mlp(c, void 0, void 0, void 0, $dict([["bias", c.flag("mlp_bias", false)]]))], norms, $dict([]));
})]);
let model_families_kin$cwm = $call(model_families_family$family("cwm", "CwmForCausalLM", void 0, $dict([["tied", false], ["usual", $dict([["head_dim", 128], ["sliding_window", 8192]])]])), [(function cwm(c, i) {
let feed;
feed = model_families_readers$mlp(c, void 0, void 0, void 0, $dict([["bias", c.flag("mlp_bias", false)]]));
return model_families_readers$layer([model_families_readers$grouped(c, void 0, void 0, void 0, $dict([["window", model_families_kin$_first_of_four(c, i)]])), feed], void 0, $dict([]));
})]);
function model_families_kin$_first_of_four(c, i) {
return model_families_readers$sliding(c, i, ((i) => ($truth($mod(i, 4)) ? model_families_readers$SLIDING : model_families_readers$FULL)));
}
let model_families_kin$granite_swa = $call(model_families_family$family("granite_swa", "GraniteSWAForCausalLM", void 0, $dict([["tied", true], ["usual", $dict([["sliding_window", 128]])]])), [(function granite_swa(c, i) {
return model_families_readers$layer([model_families_kin$_granite_attention(c, i), model_families_readers$mlp(c, void 0, void 0, void 0, $dict([["bias", c.flag("mlp_bias", false)]]))], void 0, $dict([]));
})]);
let model_families_kin$granitemoe_swa = $call(model_families_family$family("granitemoe_swa", "GraniteMoeSWAForCausalLM", void 0, $dict([["tied", false], ["usual", $dict([["sliding_window", 128], ["num_local_experts", 8], ["num_experts_per_tok", 2]])]])), [(function granitemoe_swa(c, i) {
let shared, feed;
shared = c.count("shared_intermediate_size", 0, 0);
feed = model_families_readers$experts(c, "num_local_experts", "intermediate_size", void 0, void 0, void 0, $dict([["shared_width", shared]]));
return model_families_readers$layer([model_families_kin$_granite_attention(c, i), feed], void 0, $dict([]));
})]);
function model_families_kin$_granite_attention(c, i) {
let found, thetas, is_rotated, rotated;
[found, thetas] = [model_families_readers$biases(c, "attention_bias", false, model_families_readers$QKVO), c.get("layer_rope_theta")];
is_rotated = (!$isinstance(thetas, [$list]) || ($le($len(thetas), i) || $bool($at(thetas, i))));
rotated = ($truth(is_rotated) ? model_families_readers$head_dim(c) : 0);
return model_families_readers$grouped(c, void 0, void 0, void 0, $dict([["biases", found], ["sinks", true], ["window", model_families_kin$_first_of_four(c, i)], ["rotary_dim", rotated]]));
}
let model_families_kin$mellum = $call(model_families_family$family("mellum", "MellumForCausalLM", void 0, $dict([["tied", false], ["names", $dict([["num_experts", ["num_experts", "num_local_experts"]]])], ["usual", $dict([["head_dim", 128]])]])), [(function mellum(c, i) {
let found, attention, kinds, kind;
found = model_families_readers$biases(c, "attention_bias", false, model_families_readers$QKVO);
attention = model_families_readers$grouped(c, void 0, void 0, void 0, $dict([["qk_norm", "head"], ["biases", found], ["window", model_families_readers$sliding(c, i, ((_) => model_families_readers$FULL))]]));
kinds = ["dense", "sparse"];
kind = c.kind(i, ((_) => "sparse"), [...kinds], "mlp_layer_types");
return model_families_readers$layer([attention, ((kind === "dense") ? model_families_readers$mlp(c, void 0, void 0, void 0, $dict([])) : model_families_readers$experts(c, "num_experts", void 0, void 0, void 0, void 0, $dict([])))], void 0, $dict([]));
})]);
let model_families_kin$vaultgemma = $call(model_families_family$family("vaultgemma", "VaultGemmaForCausalLM", void 0, $dict([["tied", true], ["usual", $dict([["head_dim", 256], ["sliding_window", 4096]])]])), [(function vaultgemma(c, i) {
let reach, found;
reach = model_families_readers$sliding(c, i, ((i) => ($truth($mod(i, 2)) ? model_families_readers$FULL : model_families_readers$SLIDING)));
found = model_families_readers$biases(c, "attention_bias", false, model_families_readers$QKVO);
return model_families_readers$layer([model_families_readers$grouped(c, void 0, void 0, void 0, $dict([["biases", found], ["window", reach]])), model_families_readers$mlp(c, void 0, void 0, void 0, $dict([["default", "gelu_tanh"]]))], void 0, $dict([]));
})]);
let model_families_kin$bitnet = $call(model_families_family$family("bitnet", "BitNetForCausalLM", void 0, $dict([["tied", false]])), [(function bitnet(c, i) {
let inner, found, attention, text, normed;
inner = layers_parts$normalisation("attention.norm", c.d_model, "rms_norm");
found = model_families_readers$biases(c, "attention_bias", false, model_families_readers$QKVO);
attention = model_families_readers$grouped(c, void 0, void 0, void 0, $dict([["biases", found], ["extra", [inner]]]));
text = `${$str(attention.heads)} heads of ${$str(attention.head_dim)} must make up 'hidden_size'`;
c.require($eq($mul(attention.heads, attention.head_dim), c.d_model), text);
normed = layers_parts$normalisation("ffn.norm", c.count("intermediate_size"), "rms_norm");
return model_families_readers$layer([attention, model_families_readers$mlp(c, void 0, void 0, void 0, $dict([["default", "relu2"], ["extra", [normed]]]))], void 0, $dict([]));
})]);
let model_families_kin$diffllama = $call(model_families_family$family("diffllama", "DiffLlamaForCausalLM", void 0, $dict([["tied", false]])), [(function diffllama(c, i) {
let plain, text, attention;
plain = model_families_readers$grouped(c, void 0, true, void 0, $dict([["biases", model_families_readers$biases(c, "attention_bias", false, model_families_readers$QKVO)]]));
text = `'num_key_value_heads' must be even, got ${$str(plain.kv_heads)}`;
c.require($eq($mod(plain.kv_heads, 2), 0), text);
attention = new layers_attention_kinds$DifferentialAttention().__init__(plain.heads, plain.head_dim, plain.kv_heads, void 0, void 0, void 0, void 0, void 0, plain.biases);
return model_families_readers$layer([attention, model_families_readers$mlp(c, void 0, void 0, void 0, $dict([]))], void 0, $dict([]));
})]);
let model_families_kin$doge = $call(model_families_family$family("doge", "DogeForCausalLM", void 0, $dict([["tied", false]])), [(function doge(c, i) {
let plain, attention, d, scaled, beside, feed;
plain = model_families_readers$grouped(c, void 0, true, void 0, $dict([["qk_norm", "head"]]));
attention = new layers_attention_kinds$ValueMaskedAttention().__init__(plain.heads, plain.head_dim, plain.kv_heads, void 0, void 0, void 0, void 0, void 0, model_families_readers$biases(c, "attention_bias", false, [...model_families_readers$QKVO, "dt_proj"]), void 0, "head");
d = c.d_model;
scaled = layers_parts$elementwise("residual.scale", $mul(2, d), "gate", $dict([["weights", $mul(2, d)]]));
beside = ($truth(c.flag("is_moe", false)) ? model_families_kin$_retrieved(c) : []);
feed = model_families_readers$mlp(c, void 0, void 0, void 0, $dict([["bias", c.flag("mlp_bias", false)], ["extra", beside]]));
return model_families_readers$layer([attention, feed], void 0, $dict([["extra", [scaled]]]));
})]);
function model_families_kin$_retrieved(c) {
let d, count, chosen, keys, text, unit;
[d, count] = [c.d_model, c.count("num_experts", 16384)];
[chosen, keys] = [c.count("num_experts_per_tok", 64), $math_isqrt(count)];
text = `'num_experts_per_tok' is ${$str(chosen)}, but the router has ${$str(keys)} x ${$str(keys)} experts`;
c.require($le(chosen, $mul(keys, keys)), text);
unit = [...layers_parts$linear_step("experts.down", d, 1), ...layers_parts$linear_step("experts.up", 1, d)];
return [...layers_parts$linear_step("router", d, $mul(2, keys)), layers_parts$elementwise("router.softmax", $mul(keys, keys), "softmax", $dict([])), ...(function* () { for (const step of unit) yield step.routed(count, chosen); })()];
}
function model_families_kin$_picture_rows(c) {
return [new layers_parts$PerToken().__init__("embedding.pictures", void 0, void 0, void 0, void 0, void 0, void 0, $mul(8, c.d_model))];
}
let model_families_kin$mllama_text_model = $call(model_families_family$family("mllama_text_model", "MllamaForConditionalGeneration", $dict([["mllama", null]]), $dict([["also", ["MllamaForCausalLM"]], ["tied", false], ["first", model_families_kin$_picture_rows], ["refuse", $dict([["tie_word_embeddings", false]])], ["inside", $dict([["vocab_size", 128256], ["hidden_size", 4096], ["intermediate_size", 14336], ["num_hidden_layers", 40], ["num_attention_heads", 32], ["num_key_value_heads", 8]])]])), [(function mllama_text_model(c, i) {
let seeing, width, d, cross, gates, seen;
seeing = $either(c.entries("cross_attention_layers", $int), () => $list($range(3, 40, 5)));
if (!$has(seeing, i)) {
return model_families_readers$layer([model_families_readers$grouped(c, void 0, void 0, void 0, $dict([["head_dim", model_families_readers$head_dim(c, false)]])), model_families_readers$mlp(c, void 0, void 0, void 0, $dict([]))], void 0, $dict([]));
}
[width, d] = [model_families_readers$head_dim(c, false), c.d_model];
cross = model_families_readers$grouped(c, void 0, void 0, void 0, $dict([["head_dim", width], ["qk_norm", "head"], ["cross", true], ["d_in", d], ["rotary_dim", 0]]));
gates = [layers_parts$elementwise("gates", $mul(2, d), "gate", $dict([["weights", 2]]))];
seen = new layers_encoder$WhereSeen().__init__(d, [model_families_readers$layer([cross, model_families_readers$mlp(c, void 0, void 0, void 0, $dict([]))], void 0, $dict([["extra", gates]]))]);
return model_families_readers$layer([seen], 0, $dict([["residuals", 0]]));
})]);
let model_families_linear$CONV, model_families_linear$LAYERS, model_families_linear$NARROW;
[model_families_linear$CONV, model_families_linear$LAYERS, model_families_linear$NARROW] = ["conv", "num_hidden_layers", "routed_expert_hidden_size"];
let model_families_linear$QWEN;
model_families_linear$QWEN = $dict([["head_dim", 256], ["full_attention_interval", 4], ["linear_conv_kernel_dim", 4], ["linear_key_head_dim", 128], ["linear_value_head_dim", 128], ["linear_num_key_heads", 16], ["linear_num_value_heads", 32], ["moe_intermediate_size", 512], ["shared_expert_intermediate_size", 512]]);
let model_families_linear$qwen3_next = $call(model_families_family$family("qwen3_next", "Qwen3NextForCausalLM", void 0, $dict([["tied", false], ["ahead", "num_nextn_predict_layers"], ["ahead_layer", ((c) => model_families_readers$layer([model_families_linear$_qwen_attention(c), model_families_linear$_qwen_experts(c)], void 0, $dict([])))], ["usual", $dict([...model_families_linear$QWEN.items(), ["num_nextn_predict_layers", 1], ["num_key_value_heads", 2], ["num_experts", 512], ["num_experts_per_tok", 10]])]])), [(function qwen3_next(c, i) {
if (!model_families_decoders$is_sparse(c, i) || $eq(c.count("num_experts", void 0, 0), 0)) {
return model_families_readers$layer([model_families_linear$_qwen_mixer(c, i), model_families_readers$mlp(c, void 0, 5632, void 0, $dict([]))], void 0, $dict([]));
}
return model_families_readers$layer([model_families_linear$_qwen_mixer(c, i), model_families_linear$_qwen_experts(c)], void 0, $dict([]));
})]);
let model_families_linear$qwen3_5_text = $call(model_families_family$family("qwen3_5_text", "Qwen3_5ForCausalLM", $dict([["qwen3_5", false]]), $dict([["tied", false], ["ahead", "mtp_num_hidden_layers"], ["ahead_layer", ((c) => model_families_readers$layer([model_families_linear$_qwen_attention(c), model_families_readers$mlp(c, void 0, void 0, void 0, $dict([]))], void 0, $dict([])))], ["usual", $dict([...model_families_linear$QWEN.items(), ["num_key_value_heads", 4], ["intermediate_size", 12288]])], ["refuse", $dict([["attn_output_gate", true]])]])), [(function qwen3_5_text(c, i) {
return model_families_readers$layer([model_families_linear$_qwen_mixer(c, i), model_families_readers$mlp(c, void 0, void 0, void 0, $dict([]))], void 0, $dict([]));
})]);
let model_families_linear$qwen3_5_moe_text = $call(model_families_family$family("qwen3_5_moe_text", "Qwen3_5MoeForCausalLM", $dict([["qwen3_5_moe", false]]), $dict([["tied", false], ["ahead", "mtp_num_hidden_layers"], ["ahead_layer", ((c) => model_families_readers$layer([model_families_linear$_qwen_attention(c), model_families_linear$_qwen_experts(c)], void 0, $dict([])))], ["usual", $dict([...model_families_linear$QWEN.items(), ["num_key_value_heads", 2], ["num_experts", 256], ["num_experts_per_tok", 8]])], ["refuse", $dict([["attn_output_gate", true]])]])), [(function qwen3_5_moe_text(c, i) {
return model_families_readers$layer([model_families_linear$_qwen_mixer(c, i), model_families_linear$_qwen_experts(c)], void 0, $dict([]));
})]);
function model_families_linear$_qwen_mixer(c, i) {
let every;
every = c.count("full_attention_interval");
if ($eq(c.kind(i, ((i) => ($truth($mod($add(i, 1), every)) ? model_families_readers$LINEAR : model_families_readers$FULL)), [model_families_readers$FULL, model_families_readers$LINEAR]), model_families_readers$LINEAR)) {
return model_families_linear$delta_rule(c);
}
return model_families_linear$_qwen_attention(c);
}
function model_families_linear$_qwen_attention(c) {
let found, rotated;
found = model_families_readers$biases(c, "attention_bias", false, [...model_families_readers$QKVO, "gate_proj"]);
rotated = model_families_readers$rotary(c, model_families_readers$head_dim(c), 0.25);
return model_families_readers$grouped(c, void 0, void 0, void 0, $dict([["qk_norm", "head"], ["gate", "element"], ["biases", found], ["rotary_dim", rotated]]));
}
function model_families_linear$_qwen_experts(c) {
let shared;
shared = c.count("shared_expert_intermediate_size");
return model_families_readers$experts(c, "num_experts", void 0, void 0, void 0, void 0, $dict([["shared_width", shared], ["shared_gate", true]]));
}
function model_families_linear$delta_rule(c) {
let keys, values, text;
[keys, values] = [c.count("linear_num_key_heads"), c.count("linear_num_value_heads")];
text = `'linear_num_key_heads' must divide 'linear_num_value_heads' (${$str(values)}), got ${$str(keys)}`;
c.require($eq($mod(values, keys), 0), text);
return new layers_scans$DeltaRule().__init__(keys, values, c.count("linear_key_head_dim"), c.count("linear_value_head_dim"), c.count("linear_conv_kernel_dim", 4));
}
function model_families_linear$_olmo_fields(fields) {
let found, heads, d, name, keys, width;
found = $dict((() => { const $ = []; for (const [name, value] of fields.items()) if ((value !== null)) $.push([name, value]); return $; })());
[heads, d] = [found.get("num_attention_heads"), found.get("hidden_size")];
for (name of ["num_key_value_heads", "linear_num_key_heads", "linear_num_value_heads"]) {
found.setdefault(name, heads);
}
keys = $at(found, "linear_num_key_heads");
if (($type(keys) === $int) && $gt(keys, 0) && ($type(d) === $int)) {
found.setdefault("linear_key_head_dim", $floordiv($mul(3, d), $mul(4, keys)));
}
width = found.get("linear_key_head_dim");
found.setdefault("linear_value_head_dim", (($type(width) === $int) ? $mul(2, width) : null));
return found;
}
let model_families_linear$olmo_hybrid = $call(model_families_family$family("olmo_hybrid", "OlmoHybridForCausalLM", void 0, $dict([["tied", false], ["rewrite", model_families_linear$_olmo_fields]])), [(function olmo_hybrid(c, i) {
let last, rule, rope, is_rotated, found, rotated;
last = ($lt(c.layers, 4) ? $sub(c.layers, 1) : null);
rule = $dict([[true, model_families_readers$FULL], [false, model_families_readers$LINEAR]]);
if ($eq(c.kind(i, ((i) => $at(rule, ($eq($mod(i, 4), 3) || $eq(i, last)))), [model_families_readers$FULL, model_families_readers$LINEAR]), model_families_readers$LINEAR)) {
return model_families_readers$layer([model_families_linear$delta_rule(c), model_families_readers$mlp(c, void 0, void 0, void 0, $dict([]))], void 0, $dict([]));
}
rope = c.get("rope_parameters");
is_rotated = ($isinstance(rope, [$abc_Mapping]) && (rope.get("rope_theta") !== null));
found = model_families_readers$biases(c, "attention_bias", false, model_families_readers$QKVO);
rotated = ($truth(is_rotated) ? null : 0);
return model_families_readers$layer([model_families_readers$grouped(c, void 0, void 0, void 0, $dict([["qk_norm", "full"], ["biases", found], ["rotary_dim", rotated]])), model_families_readers$mlp(c, void 0, void 0, void 0, $dict([]))], void 0, $dict([]));
})]);
let model_families_linear$KIMI_NAMES = $dict([["num_experts", ["num_experts", "num_local_experts"]], ["num_experts_per_tok", ["num_experts_per_token", "num_experts_per_tok"]], ["n_shared_experts", ["num_shared_experts", "n_shared_experts"]]]);
function model_families_linear$linear_object(fields) {
let inner, found, new$, old;
[inner, found] = [fields.get("linear_attn_config"), $dict(fields, $dict([]))];
for ([new$, old] of [["linear_head_dim", "head_dim"], ["linear_num_heads", "num_heads"], ["linear_conv_kernel_dim", "short_conv_kernel_size"], ["linear_full_rank_gate", "use_full_rank_gate"]]) {
if ($isinstance(inner, [$abc_Mapping]) && (inner.get(old) !== null)) {
$put(found, new$, $at(inner, old));
}
}
return found;
}
function model_families_linear$_kimi_fields(fields) {
let inner, found, full, kda, count, is_listed, kinds, listed;
[inner, found] = [fields.get("linear_attn_config"), model_families_linear$linear_object(fields)];
if (!$isinstance(inner, [$abc_Mapping])) {
return found;
}
full = inner.get("full_attn_layers");
kda = inner.get("kda_layers");
count = found.get(model_families_linear$LAYERS);
is_listed = ($isinstance(full, [$list]) && ($isinstance(kda, [$list]) && (found.get("layer_types") === null)));
if ($truth(is_listed) && ($type(count) === $int) && $le(count, model_families_config$MOST_LAYERS)) {
kinds = $dict([[[true, false], model_families_readers$FULL], [[false, true], model_families_readers$LINEAR]]);
listed = (() => { const $ = $list(); for (const i of $range(1, $add(count, 1))) $.push([$has(full, i), $has(kda, i)]); return $; })();
$put(found, "layer_types", (() => { const $ = $list(); for (const pair of listed) $.push(kinds.get(pair, "in both lists or in none")); return $; })());
}
return found;
}
function model_families_linear$_kimi_end(c) {
let each;
each = c.optional("attn_res_block_size");
return ((each === null) ? [] : model_families_streams$over_blocks(c, "end", model_families_streams$begun(c.layers, each), void 0, "rms_norm"));
}
let model_families_linear$kimi_linear = $call(model_families_family$family("kimi_linear", "KimiLinearForCausalLM", $dict([["kimi_k3", false]]), $dict([["always_tied", false], ["rewrite", model_families_linear$_kimi_fields], ["last", model_families_linear$_kimi_end], ["names", model_families_linear$KIMI_NAMES], ["usual", $dict([["linear_head_dim", 128], ["linear_num_heads", 32], ["linear_conv_kernel_dim", 4], ["first_k_dense_replace", 1], ["n_shared_experts", 1]])], ["refuse", $dict([["moe_layer_freq", 1]])]])), [(function kimi_linear(c, i) {
let each, around, kind, found, gate, width, rank, mixer;
each = c.optional("attn_res_block_size");
around = [];
if ((each !== null)) {
around = model_families_streams$over_blocks(c, "attention_input", model_families_streams$begun(i, each), void 0, "rms_norm");
around = $iadd(around, model_families_streams$over_blocks(c, "ffn_input", model_families_streams$begun($add(i, 1), each), void 0, "rms_norm"));
}
kind = c.kind(i, ((i) => ($eq(i, 0) || $truth($mod(i, 4)) ? model_families_readers$LINEAR : model_families_readers$FULL)), [model_families_readers$FULL, model_families_readers$LINEAR]);
if ($eq(kind, model_families_readers$FULL)) {
found = model_families_readers$biases(c, "attention_bias", false, ["q_a_proj", "kv_a_proj", "o_proj"]);
gate = ($truth(c.flag("mla_use_output_gate", false)) ? "element" : null);
return model_families_readers$layer([model_families_readers$latent(c, void 0, $dict([["biases", found], ["gate", gate]])), model_families_linear$_kimi_feed(c, i)], void 0, $dict([["extra", around]]));
}
width = c.count("linear_head_dim");
rank = ($truth(c.flag("linear_full_rank_gate", false)) ? null : width);
mixer = model_families_linear$kda(c, $dict([["decay_rank", width], ["output_rank", rank]]));
return model_families_readers$layer([mixer, model_families_linear$_kimi_feed(c, i)], void 0, $dict([["extra", around]]));
})]);
function model_families_linear$_bailing_fields(fields) {
let found, name, same_as, usual;
found = $dict(fields, $dict([]));
for ([name, same_as, usual] of [["linear_head_dim", "head_dim", 128], ["linear_num_heads", "num_attention_heads", null], ["linear_conv_kernel_dim", "short_conv_kernel_size", 4]]) {
if ((found.get(name) === null)) {
$put(found, name, found.get(same_as, usual));
}
}
return found;
}
let model_families_linear$bailing_hybrid = $call(model_families_family$family("bailing_hybrid", "BailingHybridForCausalLM", void 0, $dict([["always_tied", false], ["rewrite", model_families_linear$_bailing_fields], ["names", model_families_linear$KIMI_NAMES], ["usual", $dict([["first_k_dense_replace", 2], ["n_shared_experts", 1], ["layer_group_size", 6]])], ["refuse", $dict([["q_lora_rank", null]])]])), [(function bailing_hybrid(c, i) {
let every, found;
every = c.count("layer_group_size");
if ($eq(c.kind(i, ((i) => ($truth($mod($add(i, 1), every)) ? model_families_readers$LINEAR : model_families_readers$FULL)), [model_families_readers$FULL, model_families_readers$LINEAR]), model_families_readers$LINEAR)) {
return model_families_readers$layer([model_families_linear$kda(c, $dict([])), model_families_linear$_kimi_feed(c, i)], void 0, $dict([]));
}
found = model_families_readers$biases(c, "attention_bias", false, ["kv_a_proj", "o_proj"]);
return model_families_readers$layer([model_families_readers$latent(c, void 0, $dict([["biases", found], ["gate", "head"]])), model_families_linear$_kimi_feed(c, i)], void 0, $dict([]));
})]);
function model_families_linear$kda(c, ranks) {
let heads, width;
[heads, width] = [c.count("linear_num_heads"), c.count("linear_head_dim")];
return $call(layers_scans$DeltaRule, [], $dict([["key_heads", heads], ["value_heads", heads], ["key_dim", width], ["value_dim", width], ["kernel", c.count("linear_conv_kernel_dim")], ["decay", "element"], ...ranks.items()]));
}
function model_families_linear$_kimi_feed(c, i) {
let dense, narrow, more, has_norm, normed;
[dense, narrow] = [c.count("first_k_dense_replace", void 0, 0), c.optional(model_families_linear$NARROW)];
more = $dict([["shared", "n_shared_experts"]]);
if ((narrow !== null)) {
has_norm = c.flag("latent_moe_use_norm", false);
normed = ($truth(has_norm) ? [layers_parts$normalisation("experts.norm", narrow, "rms_norm")] : []);
more = $ior(more, $dict([["latent", narrow], ["extra", normed]]));
}
return model_families_readers$dense_first(c, i, dense, "num_experts", $dict([...more.items()]));
}
let model_families_linear$minimax = $call(model_families_family$family("minimax", "MiniMaxForCausalLM", void 0, $dict([["tied", false], ["refuse", $dict([["sliding_window", null]])]])), [(function minimax(c, i) {
let feed, heads, block;
feed = model_families_readers$experts(c, "num_local_experts", "intermediate_size", void 0, void 0, void 0, $dict([]));
if ($eq(c.kind(i, ((i) => ($truth($mod(i, 2)) ? model_families_readers$LINEAR : model_families_readers$FULL)), [model_families_readers$FULL, model_families_readers$LINEAR]), model_families_readers$FULL)) {
return model_families_readers$layer([model_families_readers$grouped(c, void 0, void 0, void 0, $dict([])), feed], void 0, $dict([]));
}
[heads, block] = [c.count("num_attention_heads"), c.count("block_size", 256)];
return model_families_readers$layer([new layers_scans$LightningAttention().__init__(heads, model_families_readers$head_dim(c), block), feed], void 0, $dict([]));
})]);
let model_families_linear$LFM_NAMES;
model_families_linear$LFM_NAMES = $dict([["tie_word_embeddings", ["tie_word_embeddings", "tie_embedding"]], ["intermediate_size", ["intermediate_size", "block_ff_dim"]]]);
let model_families_linear$lfm2 = $call(model_families_family$family("lfm2", "Lfm2ForCausalLM", $dict([["lfm2_vl", true]]), $dict([["tied", true], ["names", model_families_linear$LFM_NAMES]])), [(function lfm2(c, i) {
let attends, kind, mixer;
attends = ($truth(c.has("full_attn_idxs")) ? c.entries("full_attn_idxs", $int) : $range(c.layers));
kind = c.kind(i, ((i) => ($has(attends, i) ? model_families_readers$FULL : model_families_linear$CONV)), [model_families_readers$FULL, model_families_linear$CONV]);
mixer = ($eq(kind, model_families_linear$CONV) ? model_families_linear$_convolution(c) : model_families_readers$grouped(c, void 0, void 0, void 0, $dict([["qk_norm", "head"]])));
return model_families_readers$layer([mixer, new layers_feed$Mlp().__init__(model_families_linear$_lfm_width(c))], void 0, $dict([]));
})]);
function model_families_linear$_lfm_width(c) {
let width, factor, multiple;
width = c.count("intermediate_size");
if (!$truth(c.flag("block_auto_adjust_ff_dim", true))) {
return width;
}
[width, factor] = [$int($div($mul(2, width), 3)), c.fields.get("block_ffn_dim_multiplier", 1.0)];
if ((factor === null)) {
return width;
}
c.require(($has([$int, $float], $type(factor)) && ($lt(0, factor) && $lt(factor, $pow(10, 6)))), `'block_ffn_dim_multiplier' must be a number above 0, got ${$repr(factor)}`);
multiple = c.count("block_multiple_of", 256);
return $mul((-$floordiv((-$int($mul(factor, width))), multiple)), multiple);
}
let model_families_linear$lfm2_moe = $call(model_families_family$family("lfm2_moe", "Lfm2MoeForCausalLM", void 0, $dict([["tied", true], ["names", model_families_linear$LFM_NAMES]])), [(function lfm2_moe(c, i) {
let mixer;
mixer = model_families_linear$_convolution(c);
if ($eq(c.kind(i, null, [model_families_readers$FULL, model_families_linear$CONV]), model_families_readers$FULL)) {
return model_families_readers$layer([model_families_readers$grouped(c, void 0, void 0, void 0, $dict([["qk_norm", "head"]])), model_families_linear$_lfm_feed(c, i)], void 0, $dict([]));
}
return model_families_readers$layer([mixer, model_families_linear$_lfm_feed(c, i)], void 0, $dict([]));
})]);
function model_families_linear$_lfm_feed(c, i) {
return ($lt(i, c.count("num_dense_layers", 2, 0)) ? model_families_readers$mlp(c, void 0, void 0, void 0, $dict([])) : model_families_readers$experts(c, "num_experts", void 0, void 0, void 0, void 0, $dict([])));
}
let model_families_linear$lfm3 = $call(model_families_family$family("lfm3", "Lfm3ForCausalLM", $dict([["lfm3_vl", true]]), $dict([["tied", true], ["usual", $dict([["head_dim", 128], ["sliding_window", 256], ["conv_L_cache", 7], ["num_key_value_heads", 4]])]])), [(function lfm3(c, i) {
let kinds, kind, norms, attention;
kinds = $dict([[2, model_families_readers$FULL], [0, model_families_readers$SLIDING]]);
kind = c.kind(i, ((i) => ($truth(i) ? kinds.get($mod(i, 4), model_families_linear$CONV) : model_families_linear$CONV)), [model_families_readers$FULL, model_families_readers$SLIDING, model_families_linear$CONV]);
norms = ($truth(c.flag("use_sandwich_norm", true)) ? 4 : 2);
if ($eq(kind, model_families_linear$CONV)) {
return model_families_readers$layer([model_families_linear$_convolution(c), model_families_readers$mlp(c, void 0, void 0, void 0, $dict([]))], norms, $dict([]));
}
attention = model_families_readers$grouped(c, void 0, void 0, void 0, $dict([["qk_norm", "head"], ["gate", ($truth(c.flag("use_attention_gate", true)) ? "head" : null)], ["biases", model_families_readers$biases(c, "attention_bias", false, model_families_readers$QKVO)], ["window", ($eq(kind, model_families_readers$SLIDING) ? c.count("sliding_window") : null)]]));
return model_families_readers$layer([attention, model_families_readers$mlp(c, void 0, void 0, void 0, $dict([]))], norms, $dict([]));
})]);
function model_families_linear$_convolution(c) {
let kernel, bias;
[kernel, bias] = [c.count("conv_L_cache", 3), c.flag("conv_bias", false)];
return new layers_scans$ShortConvolution().__init__(c.d_model, kernel, bias);
}
function model_families_linear$_griffin_fields(fields) {
let kv_heads;
kv_heads = $either(fields.get("num_key_value_heads"), () => fields.get("num_attention_heads"));
return $dict([...fields.items(), ["num_key_value_heads", kv_heads]]);
}
let model_families_linear$recurrent_gemma = $call(model_families_family$family("recurrent_gemma", "RecurrentGemmaForCausalLM", void 0, $dict([["tied", true], ["rewrite", model_families_linear$_griffin_fields], ["usual", $dict([["block_types", $list(["recurrent", "recurrent", "attention"])], ["attention_window_size", 2048], ["conv1d_width", 4]])]])), [(function recurrent_gemma(c, i) {
let kinds, feed, heads, width, found, window, rotated;
kinds = c.entries("block_types", $str);
c.require(($bool(kinds) && $le($set(kinds), $set(["recurrent", "attention"]))), `'block_types' must name 'recurrent' and 'attention' layers, got ${$repr(kinds)}`);
feed = new layers_feed$Mlp().__init__($floordiv(c.count("intermediate_size"), 2), void 0, "gelu_tanh", true);
if (($at(kinds, $mod(i, $len(kinds))) === "recurrent")) {
[heads, width] = [c.count("num_attention_heads"), c.count("lru_width", c.d_model)];
c.require($eq($mod(width, heads), 0), `'num_attention_heads' (${$str(heads)}) must divide the recurrence`);
return model_families_readers$layer([new layers_scans$RGLRU().__init__(width, heads, c.count("conv1d_width")), feed], void 0, $dict([]));
}
found = [...model_families_readers$biases(c, "attention_bias", false, model_families_readers$QKV), "o_proj"];
[window, rotated] = [c.count("attention_window_size"), model_families_readers$rotary(c, model_families_readers$head_dim(c, false), 0.5)];
return model_families_readers$layer([model_families_readers$grouped(c, void 0, void 0, void 0, $dict([["biases", found], ["window", window], ["rotary_dim", rotated]])), feed], void 0, $dict([]));
})]);
let model_families_linear$rwkv = $call(model_families_family$family("rwkv", "RwkvForCausalLM", void 0, $dict([["tied", false], ["norm", "layer_norm"], ["embedding_norm", true]])), [(function rwkv(c, i) {
let d, width, shift, gate, feed;
[d, width] = [c.d_model, c.count("attention_hidden_size", c.d_model)];
shift = layers_parts$elementwise("ffn.shift", $mul(2, d), "residual", $dict([["reads", $mul(2, d)], ["weights", $mul(2, d)]]));
gate = [...layers_parts$linear_step("ffn.receptance", d, d), layers_parts$elementwise("ffn.gated", d, "sigmoid_gate", $dict([]))];
feed = new layers_feed$Mlp().__init__(c.count("intermediate_size", $mul(4, d)), false, "relu2", void 0, void 0, void 0, [shift, ...gate]);
return model_families_readers$layer([new layers_scans$TimeMix().__init__(width, d), feed], void 0, $dict([["norm", "layer_norm"]]));
})]);
let model_families_latents$INDEXED;
model_families_latents$INDEXED = "indexed_attention";
let model_families_latents$LATENT_BIASES;
model_families_latents$LATENT_BIASES = ["q_a_proj", "kv_a_proj", "o_proj"];
function model_families_latents$feed(c, i, dense) {
return model_families_readers$dense_first(c, i, dense, "n_routed_experts", $dict([["shared", "n_shared_experts"]]));
}
function model_families_latents$shared_and_routed(c) {
return model_families_readers$experts(c, "n_routed_experts", void 0, void 0, "n_shared_experts", void 0, $dict([]));
}
function model_families_latents$_latent(c, more) {
let found;
found = model_families_readers$biases(c, "attention_bias", false, model_families_latents$LATENT_BIASES);
return model_families_readers$latent(c, c.usual.get("q_lora_rank"), $dict([["biases", found], ...more.items()]));
}
$call(model_families_family$family("kimi_k2", "DeepseekV3ForCausalLM", $dict([["kimi_k25", true]]), $dict([["tied", false], ["ahead", "num_nextn_predict_layers"], ["refuse", $dict([["moe_layer_freq", 1]])]])), [model_families_decoders$deepseek_v3], null);
let model_families_latents$glm4_moe_lite = $call(model_families_family$family("glm4_moe_lite", "Glm4MoeLiteForCausalLM", void 0, $dict([["tied", false], ["ahead", "num_nextn_predict_layers"], ["usual", $dict([["q_lora_rank", 768]])]])), [(function glm4_moe_lite(c, i) {
c.same("head_dim", c.count("qk_rope_head_dim"), "'qk_rope_head_dim'");
return model_families_readers$layer([model_families_latents$_latent(c, $dict([])), model_families_latents$feed(c, i, c.count("first_k_dense_replace", 1, 0))], void 0, $dict([]));
})]);
let model_families_latents$mistral4 = $call(model_families_family$family("mistral4", "Mistral4ForCausalLM", void 0, $dict([["tied", false], ["usual", $dict([["q_lora_rank", 1024]])]])), [(function mistral4(c, i) {
return model_families_readers$layer([model_families_latents$_latent(c, $dict([])), model_families_latents$feed(c, i, c.count("first_k_dense_replace", 0, 0))], void 0, $dict([]));
})]);
let model_families_latents$youtu = $call(model_families_family$family("youtu", "YoutuForCausalLM", void 0, $dict([["tied", true], ["usual", $dict([["q_lora_rank", 1536]])]])), [(function youtu(c, i) {
return model_families_readers$layer([model_families_latents$_latent(c, $dict([])), model_families_readers$mlp(c, void 0, void 0, void 0, $dict([]))], void 0, $dict([]));
})]);
let model_families_latents$minicpm3 = $call(model_families_family$family("minicpm3", "MiniCPM3ForCausalLM", void 0, $dict([["tied", true], ["usual", $dict([["q_lora_rank", 768]])]])), [(function minicpm3(c, i) {
let heads;
if (!$truth(c.has("v_head_dim"))) {
heads = c.count("num_attention_heads");
c.require($eq($mod(c.d_model, heads), 0), `'v_head_dim' is missing, and ${$str(heads)} heads do not divide 'hidden_size' (${$str(c.d_model)})`);
c = c.but($dict([["v_head_dim", $floordiv(c.d_model, heads)]]));
}
return model_families_readers$layer([model_families_latents$_latent(c, $dict([])), model_families_readers$mlp(c, void 0, void 0, void 0, $dict([["bias", c.flag("mlp_bias", false)]]))], void 0, $dict([]));
})]);
function model_families_latents$_indexer(c, ranked = true) {
return new layers_attention_kinds$Indexer().__init__(c.count("index_n_heads"), c.count("index_head_dim"), c.count("index_topk"), ($truth(ranked) ? c.count("q_lora_rank") : null), c.count("qk_rope_head_dim", void 0, 0));
}
let model_families_latents$deepseek_v32 = $call(model_families_family$family("deepseek_v32", "DeepseekV32ForCausalLM", void 0, $dict([["tied", false], ["ahead", "num_nextn_predict_layers"], ["usual", $dict([["q_lora_rank", 1536], ["index_topk", 2048], ["index_head_dim", 128], ["index_n_heads", 64]])], ["refuse", $dict([["moe_layer_freq", 1], ["mlp_bias", false]])]])), [(function deepseek_v32(c, i) {
let dense;
c.kind(i, ((_) => model_families_latents$INDEXED), [model_families_latents$INDEXED]);
dense = c.count("first_k_dense_replace", 3, 0);
return model_families_readers$layer([model_families_latents$_latent(c, $dict([["indexer", model_families_latents$_indexer(c)]])), model_families_latents$feed(c, i, dense)], void 0, $dict([]));
})]);
let model_families_latents$glm_moe_dsa = $call(model_families_family$family("glm_moe_dsa", "GlmMoeDsaForCausalLM", void 0, $dict([["tied", false], ["ahead", "num_nextn_predict_layers"], ["ahead_layer", ((c) => model_families_readers$layer([model_families_latents$_latent(c, $dict([["indexer", model_families_latents$_indexer(c)]])), model_families_latents$shared_and_routed(c)], void 0, $dict([])))], ["usual", $dict([["q_lora_rank", 2048], ["index_topk", 2048], ["index_head_dim", 128], ["index_n_heads", 32]])], ["refuse", $dict([["moe_layer_freq", 1], ["mlp_bias", false]])]])), [(function glm_moe_dsa(c, i) {
let dense, attention;
c.kind(i, ((_) => model_families_latents$INDEXED), [model_families_latents$INDEXED]);
dense = c.count("first_k_dense_replace", 3, 0);
if (model_families_latents$_has_indexer(c, i)) {
attention = model_families_latents$_latent(c, $dict([["indexer", model_families_latents$_indexer(c)]]));
} else {
attention = model_families_latents$_latent(c, $dict([["top", c.count("index_topk")]]));
}
return model_families_readers$layer([attention, model_families_latents$feed(c, i, dense)], void 0, $dict([]));
})]);
function model_families_latents$_has_indexer(c, i) {
let pattern, names, every, offset;
if (!$truth(c.has("indexer_types")) && $truth(c.has("index_topk_pattern"))) {
[pattern, names] = [c.get("index_topk_pattern"), $dict([["F", "full"], ["S", "shared"]])];
if ($isinstance(pattern, [$str])) {
pattern = (() => { const $ = $list(); for (const one of pattern) $.push(names.get(one, one)); return $; })();
}
c.require($isinstance(pattern, [$list]), "'index_topk_pattern' must be a string or a list");
c = c.but($dict([["indexer_types", pattern]]));
}
[every, offset] = [c.count("index_topk_freq", 1), c.count("index_skip_topk_offset", 2, 0)];
return model_families_latents$_is_full(c, i, ((i) => $eq($mod($max([$add($sub(i, offset), 1), 0]), every), 0)));
}
function model_families_latents$_is_full(c, i, rule) {
let words, kind;
words = $dict([[true, "full"], [false, "shared"]]);
kind = c.kind(i, ((i) => $at(words, $call(rule, [i], null))), [...words.values()], "indexer_types");
return (kind === "full");
}
let model_families_latents$longcat_flash = $call(model_families_family$family("longcat_flash", "LongcatFlashForCausalLM", void 0, $dict([["tied", false], ["names", $dict([["num_hidden_layers", "num_layers"], ["intermediate_size", ["ffn_hidden_size", "intermediate_size"]], ["moe_intermediate_size", ["expert_ffn_hidden_size", "moe_intermediate_size"]], ["num_experts_per_tok", ["moe_topk", "num_experts_per_tok"]]])], ["usual", $dict([["q_lora_rank", 1536]])], ["refuse", $dict([["zero_expert_num", 0]])]])), [(function longcat_flash(c, i) {
let routed;
c.require((c.get("zero_expert_num") !== null), "'zero_expert_num' is missing");
routed = model_families_readers$experts(c, "n_routed_experts", void 0, void 0, void 0, void 0, $dict([["router_bias", c.flag("router_bias", false)]]));
return model_families_readers$layer([model_families_latents$_latent(c, $dict([])), model_families_readers$mlp(c, void 0, void 0, void 0, $dict([])), model_families_latents$_latent(c, $dict([])), model_families_readers$mlp(c, void 0, void 0, void 0, $dict([])), routed], 4, $dict([]));
})]);
let model_families_latents$axk1 = $call(model_families_family$family("axk1", "AXK1ForCausalLM", void 0, $dict([["tied", false], ["usual", $dict([["q_lora_rank", 1536]])], ["refuse", $dict([["moe_layer_freq", 1]])]])), [(function axk1(c, i) {
let found;
found = model_families_latents$feed(c, i, c.count("first_k_dense_replace", 1, 0));
return model_families_readers$layer([model_families_latents$_latent(c, $dict([])), found], ((found instanceof layers_feed$Mixture) ? 3 : 2), $dict([]));
})]);
let model_families_latents$axk2 = $call(model_families_family$family("axk2", "AXK2ForCausalLM", void 0, $dict([["tied", false], ["usual", $dict([["q_lora_rank", 384], ["index_topk", 2048], ["index_head_dim", 128], ["index_n_heads", 16]])], ["refuse", $dict([["moe_layer_freq", 1]])]])), [(function axk2(c, i) {
let d, rank, found, scaled, times, attention;
c.kind(i, ((_) => model_families_latents$INDEXED), [model_families_latents$INDEXED]);
[d, rank] = [c.d_model, c.count("gated_norm_rank", 16)];
found = model_families_latents$feed(c, i, c.count("first_k_dense_replace", 1, 0));
scaled = [...layers_parts$linear_step("norm.down", d, rank), ...layers_parts$linear_step("norm.up", rank, d), layers_parts$elementwise("norm.gate", d, "sigmoid_gate", $dict([]))];
times = ((found instanceof layers_feed$Mixture) ? 2 : 1);
attention = model_families_latents$_latent(c, $dict([["indexer", model_families_latents$_indexer(c)], ["gate", "fused"]]));
return model_families_readers$layer([attention, found], void 0, $dict([["extra", $tuple((() => { const $ = []; for (const step of scaled) $.push($mul(step, times)); return $; })())]]));
})]);
let model_families_latents$hy_v4 = $call(model_families_family$family("hy_v4", "HYV4ForCausalLM", void 0, $dict([["tied", false], ["last", model_families_streams$streams_head], ["usual", $dict([["q_lora_rank", 1536], ["index_topk", 2048], ["index_head_dim", 128], ["index_n_heads", 16]])]])), [(function hy_v4(c, i) {
let own, chosen, attention;
c.kind(i, ((_) => model_families_latents$INDEXED), [model_families_latents$INDEXED]);
own = model_families_latents$_is_full(c, i, ((i) => ($eq(i, 0) || $eq($mod($sub(i, 1), 4), 0))));
chosen = ($truth(own) ? $dict([["indexer", model_families_latents$_indexer(c)]]) : $dict([["top", c.count("index_topk")]]));
attention = model_families_latents$_latent(c, $dict([["sinks", true], ["gate", "element"], ...chosen.items()]));
return model_families_readers$layer([attention, model_families_latents$feed(c, i, 1)], void 0, $dict([["residuals", 0], ["extra", model_families_streams$streams(c, false)]]));
})]);
function model_families_latents$_glm_next_fields(fields) {
let found;
found = model_families_linear$linear_object(fields);
if ($isinstance(found.get("layer_types"), [$list])) {
$put(found, "layer_types", (() => { const $ = $list(); for (const t of $at(found, "layer_types")) $.push(($eq(t, model_families_readers$FULL) ? model_families_latents$INDEXED : t)); return $; })());
}
return found;
}
let model_families_latents$glm5_next_text = $call(model_families_family$family("glm5_next_text", "Glm5NextForConditionalGeneration", $dict([["glm5_next", false]]), $dict([["also", ["Glm5NextForCausalLM"]], ["tied", false], ["rewrite", model_families_latents$_glm_next_fields], ["last", model_families_streams$streams_mean], ["ahead", "num_nextn_predict_layers"], ["ahead_layer", ((c) => model_families_readers$layer([model_families_latents$_pooled_latent(c, true), model_families_latents$shared_and_routed(c)], void 0, $dict([["residuals", 0], ["extra", model_families_streams$streams(c)]])))], ["usual", $dict([["linear_head_dim", 128], ["linear_num_heads", 64], ["linear_conv_kernel_dim", 4], ["index_topk", 2048], ["index_head_dim", 128], ["index_n_heads", 32], ["index_kpool", 16]])], ["inside", $dict([["vocab_size", 154880], ["hidden_size", 4096], ["intermediate_size", 12288], ["moe_intermediate_size", 2048], ["num_hidden_layers", 45], ["num_attention_heads", 64], ["n_shared_experts", 1], ["n_routed_experts", 288], ["num_experts_per_tok", 8], ["kv_lora_rank", 512], ["q_lora_rank", 1536], ["qk_rope_head_dim", 0], ["qk_nope_head_dim", 256], ["v_head_dim", 256]])]])), [(function glm5_next_text(c, i) {
let found, width, mixer, mixed;
c.require($eq(c.count("qk_rope_head_dim", void 0, 0), 0), "'qk_rope_head_dim' must be 0");
found = model_families_latents$feed(c, i, 3);
if ($eq(c.kind(i, ((i) => (!$eq($mod(i, 4), 3) ? model_families_readers$LINEAR : model_families_latents$INDEXED)), [model_families_readers$LINEAR, model_families_latents$INDEXED]), model_families_readers$LINEAR)) {
width = c.count("linear_head_dim");
mixer = model_families_linear$kda(c, $dict([["decay_rank", width], ["output_rank", width]]));
return model_families_readers$layer([mixer, found], void 0, $dict([["residuals", 0], ["extra", model_families_streams$streams(c)]]));
}
mixed = model_families_latents$_pooled_latent(c, model_families_latents$_has_indexer(c, i));
return model_families_readers$layer([mixed, found], void 0, $dict([["residuals", 0], ["extra", model_families_streams$streams(c)]]));
})]);
function model_families_latents$_pooled_latent(c, own) {
let pool, top, indexer;
[pool, top] = [c.count("index_kpool"), c.count("index_topk")];
c.require($eq($mod(top, pool), 0), `'index_topk' is ${$str(top)}, not a multiple of 'index_kpool' (${$str(pool)})`);
if (!$truth(own)) {
return model_families_latents$_latent(c, $dict([["top", top]]));
}
indexer = new layers_attention_kinds$Indexer().__init__(c.count("index_n_heads"), c.count("index_head_dim"), top, c.count("q_lora_rank"), void 0, void 0, void 0, void 0, void 0, pool, true);
return model_families_latents$_latent(c, $dict([["indexer", indexer]]));
}
let model_families_latents$mistral_large4_text = $call(model_families_family$family("mistral_large4_text", "MistralLarge4ForConditionalGeneration", $dict([["mistral_large4", false]]), $dict([["tied", false], ["names", $dict([["n_routed_experts", ["n_routed_experts", "num_local_experts", "num_experts"]]])], ["usual", $dict([["index_topk", 2048], ["index_head_dim", 128], ["index_n_heads", 32]])], ["refuse", $dict([["q_lora_rank", null]])], ["inside", $dict([["vocab_size", 204800], ["hidden_size", 6144], ["intermediate_size", 24576], ["moe_intermediate_size", 6144], ["num_hidden_layers", 72], ["num_attention_heads", 64], ["n_shared_experts", 1], ["n_routed_experts", 128], ["num_experts_per_tok", 4], ["kv_lora_rank", 512], ["qk_rope_head_dim", 64], ["qk_nope_head_dim", 64], ["v_head_dim", 128]])]])), [(function mistral_large4_text(c, i) {
let rotated, rotates, nope, rope, heads, index_heads, scales, chosen, shares, attention;
c.kind(i, ((_) => model_families_latents$INDEXED), [model_families_latents$INDEXED]);
rotated = c.each_layer("no_rope_layers", $int);
rotates = ($truth(rotated) ? !$eq($at(rotated, i), 0) : !$eq($mod($add(i, 1), c.count("no_rope_layer_interval", 4)), 0));
if (!$truth(rotates)) {
[nope, rope] = [c.count("qk_nope_head_dim"), c.count("qk_rope_head_dim", void 0, 0)];
c = c.but($dict([["qk_nope_head_dim", $add(nope, rope)], ["qk_rope_head_dim", 0]]));
}
[heads, index_heads] = [c.count("num_attention_heads"), c.count("index_n_heads")];
scales = $list([new layers_parts$PerToken().__init__("scores.scale", $mul(3, heads), void 0, void 0, void 0, void 0, $mul(2, heads))]);
chosen = $dict([["top", c.count("index_topk")]]);
if (model_families_latents$_has_indexer(c, i)) {
scales.append(new layers_parts$PerToken().__init__("indexer.scale", $mul(3, index_heads), void 0, void 0, void 0, void 0, $mul(2, index_heads)));
scales.append(layers_parts$normalisation("indexer.input_norm", c.d_model, "layer_norm"));
chosen = $dict([["indexer", model_families_latents$_indexer(c, false)]]);
}
shares = !$eq(model_families_latents$_source(c, i), i);
attention = model_families_latents$_latent(c, $dict([["shares_kv", shares], ["extra", $tuple(scales)], ...chosen.items()]));
return model_families_readers$layer([attention, model_families_latents$feed(c, i, c.count("first_k_dense_replace", 1, 0))], void 0, $dict([]));
})]);
function model_families_latents$_source(c, i) {
let sources, is_earlier;
sources = c.each_layer("kv_source_layers", $int);
is_earlier = $all((function* () { for (const [at, j] of $enumerate(sources)) yield (($le(0, j) && $le(j, at)) && $eq($at(sources, j), j)); })());
c.require(is_earlier, "'kv_source_layers' must name earlier layers that use their own");
return ($truth(sources) ? $at(sources, i) : i);
}
function model_families_latents$_dots_fields(fields) {
let found, layers, new$, old, usual, kinds, has_windows, local, own, rope, near;
[found, layers] = [$dict(fields, $dict([])), fields.get("num_hidden_layers")];
for ([new$, old, usual] of [["shared_experts_intermediate_size", "moe_shared_expert_intermediate_size", 1536], ["sliding_window", "sliding_window_size", 512]]) {
if ((found.get(new$) === null)) {
$put(found, new$, ((fields.get(old) === null) ? usual : $at(fields, old)));
}
}
kinds = found.get("layer_types");
if ((kinds === null) && ($type(layers) === $int) && ($lt(0, layers) && $le(layers, model_families_config$MOST_LAYERS))) {
has_windows = (fields.get("use_sliding_window") !== false);
local = (() => { const $ = $list(); for (const i of $range(layers)) $.push(($truth(has_windows) ? ($ge(i, 2) && !$eq($mod(i, 4), 1)) : has_windows)); return $; })();
{
const $value = (() => { const $ = $list(); for (const one of local) $.push(($truth(one) ? model_families_readers$SLIDING : model_families_latents$INDEXED)); return $; })();
$put(found, "layer_types", $value);
kinds = $value;
}
}
if ((found.get("per_layer_config") !== null) || !$isinstance(kinds, [$list])) {
return found;
}
own = $dict((() => { const $ = []; for (const [name, usual] of model_families_latents$_DOTS_NEAR.items()) $.push([name, fields.get(`swa_${$str(name)}`, usual)]); return $; })());
rope = fields.get("swa_qk_rope_head_dim");
if ((rope === null) && $all((function* () { for (const n of ["head_dim", "qk_nope_head_dim"]) yield ($type($at(own, n)) === $int); })())) {
rope = $sub($at(own, "head_dim"), $at(own, "qk_nope_head_dim"));
}
near = $dict([...own.items(), ["qk_rope_head_dim", rope]]);
$put(found, "per_layer_config", $dict((() => { const $ = []; for (const [i, kind] of $enumerate(kinds)) if ($eq(kind, model_families_readers$SLIDING)) $.push([$str(i), near]); return $; })()));
return found;
}
let model_families_latents$_DOTS_NEAR;
model_families_latents$_DOTS_NEAR = $dict([["num_attention_heads", 64], ["num_key_value_heads", 64], ["q_lora_rank", 1024], ["kv_lora_rank", 1024], ["head_dim", 256], ["qk_nope_head_dim", 192], ["v_head_dim", 128]]);
let model_families_latents$dots3_note_text = $call(model_families_family$family("dots3_note_text", "Dots3NoteForConditionalGeneration", $dict([["dots3_note", false]]), $dict([["also", ["Dots3NoteForCausalLM"]], ["tied", false], ["rewrite", model_families_latents$_dots_fields], ["names", $dict([["n_routed_experts", ["n_routed_experts", "num_local_experts"]]])], ["usual", $dict([["q_lora_rank", 1024], ["index_topk", 2048], ["index_head_dim", 128], ["index_n_heads", 64]])], ["refuse", $dict([["moe_layer_freq", 1], ["mlp_bias", false], ["use_dsa", true]])], ["inside", $dict([["vocab_size", 152064], ["hidden_size", 5120], ["intermediate_size", 13824], ["moe_intermediate_size", 1536], ["num_hidden_layers", 46], ["num_attention_heads", 128], ["n_shared_experts", 1], ["n_routed_experts", 256], ["num_experts_per_tok", 8], ["kv_lora_rank", 512], ["qk_rope_head_dim", 64], ["qk_nope_head_dim", 128], ["v_head_dim", 128]])]])), [(function dots3_note_text(c, i) {
let near, reach, rope, attention, dense, shared;
near = $eq(c.kind(i, null, [model_families_latents$INDEXED, model_families_readers$SLIDING]), model_families_readers$SLIDING);
reach = ($truth(near) ? $dict([["window", c.count("sliding_window")]]) : $dict([["indexer", model_families_latents$_indexer(c)]]));
rope = layers_parts$normalisation("k_rope_norm", c.count("qk_rope_head_dim"), "rms_norm");
attention = model_families_latents$_latent(c, $dict([["gate", "head"], ["extra", [rope]], ...reach.items()]));
dense = c.count("first_k_dense_replace", 1, 0);
shared = $mul(c.count("n_shared_experts"), c.count("shared_experts_intermediate_size"));
return model_families_readers$layer([attention, model_families_readers$dense_first(c, i, dense, "n_routed_experts", $dict([["shared_width", shared]]))], void 0, $dict([]));
})]);
let model_families_mixtures$SPARSE;
model_families_mixtures$SPARSE = "minimax_m3_sparse";
let model_families_mixtures$granitemoe = $call(model_families_family$family("granitemoe", "GraniteMoeForCausalLM", void 0, $dict([["tied", false], ["usual", $dict([["num_local_experts", 8], ["num_experts_per_tok", 2]])]])), [(function granitemoe(c, i) {
let attention;
attention = model_families_readers$grouped(c, void 0, void 0, void 0, $dict([["biases", model_families_readers$biases(c, "attention_bias", false, model_families_readers$QKVO)]]));
return model_families_readers$layer([attention, model_families_readers$experts(c, "num_local_experts", "intermediate_size", void 0, void 0, void 0, $dict([]))], void 0, $dict([]));
})]);
let model_families_mixtures$granitemoeshared = $call(model_families_family$family("granitemoeshared", "GraniteMoeSharedForCausalLM", void 0, $dict([["tied", false], ["usual", $dict([["num_local_experts", 8], ["num_experts_per_tok", 2]])]])), [(function granitemoeshared(c, i) {
let attention, shared, feed;
attention = model_families_readers$grouped(c, void 0, void 0, void 0, $dict([["biases", model_families_readers$biases(c, "attention_bias", false, model_families_readers$QKVO)]]));
shared = c.count("shared_intermediate_size", 0, 0);
feed = model_families_readers$experts(c, "num_local_experts", "intermediate_size", void 0, void 0, void 0, $dict([["shared_width", shared]]));
return model_families_readers$layer([attention, feed], void 0, $dict([]));
})]);
let model_families_mixtures$hy_v3 = $call(model_families_family$family("hy_v3", "HYV3ForCausalLM", void 0, $dict([["tied", false], ["names", $dict([["num_experts", ["num_experts", "num_local_experts"]]])], ["usual", $dict([["head_dim", 128], ["num_key_value_heads", 8], ["num_shared_experts", 1]])]])), [(function hy_v3(c, i) {
let found, attention, bias, feed;
found = model_families_readers$biases(c, "attention_bias", false, model_families_readers$QKVO);
[attention, bias] = [model_families_readers$grouped(c, void 0, void 0, void 0, $dict([["qk_norm", "head"], ["biases", found]])), c.flag("mlp_bias", false)];
if (!model_families_readers$sparse(c, i, ((i) => $gt(i, 0)))) {
return model_families_readers$layer([attention, model_families_readers$mlp(c, void 0, void 0, void 0, $dict([["bias", bias]]))], void 0, $dict([]));
}
feed = model_families_readers$experts(c, "num_experts", void 0, void 0, "num_shared_experts", void 0, $dict([["shared_bias", bias]]));
return model_families_readers$layer([attention, feed], void 0, $dict([]));
})]);
let model_families_mixtures$minimax_m2 = $call(model_families_family$family("minimax_m2", "MiniMaxM2ForCausalLM", void 0, $dict([["tied", false], ["names", $dict([["num_local_experts", ["num_local_experts", "num_experts"]]])], ["usual", $dict([["head_dim", 128], ["num_key_value_heads", 8]])], ["refuse", $dict([["use_qk_norm", true], ["shared_intermediate_size", 0]])]])), [(function minimax_m2(c, i) {
let attention;
attention = model_families_readers$grouped(c, void 0, void 0, void 0, $dict([["qk_norm", "full"], ["rotary_dim", model_families_mixtures$_rotated(c)]]));
return model_families_readers$layer([attention, model_families_readers$experts(c, "num_local_experts", "intermediate_size", void 0, void 0, void 0, $dict([]))], void 0, $dict([]));
})]);
function model_families_mixtures$_rotated(c) {
let width, rotated;
width = model_families_readers$head_dim(c);
rotated = c.count("rotary_dim", model_families_readers$rotary(c, width));
c.require($le(rotated, width), `'rotary_dim' is ${$str(rotated)}, but a head is ${$str(width)} wide`);
return rotated;
}
function model_families_mixtures$_m3_fields(fields) {
let inner, found, new$, old, name, marks, no, yes;
[inner, found] = [fields.get("sparse_attention_config"), $dict(fields, $dict([]))];
inner = ($isinstance(inner, [$abc_Mapping]) ? inner : $dict([]));
for ([new$, old] of [["index_n_heads", "sparse_num_index_heads"], ["index_head_dim", "sparse_index_dim"], ["index_block_size", "sparse_block_size"], ["index_topk_blocks", "sparse_topk_blocks"]]) {
$put(found, new$, inner.get(old, found.get(new$)));
}
for ([name, marks, no, yes] of [["layer_types", inner.get("sparse_attention_freq"), model_families_readers$FULL, model_families_mixtures$SPARSE], ["mlp_layer_types", fields.get("moe_layer_freq"), "dense", "sparse"]]) {
if ((found.get(name) === null) && $isinstance(marks, [$list])) {
$put(found, name, (() => { const $ = $list(); for (const mark of marks) $.push(($truth(mark) ? yes : no)); return $; })());
}
}
return $dict((() => { const $ = []; for (const [name, value] of found.items()) if ((value !== null)) $.push([name, value]); return $; })());
}
let model_families_mixtures$M3 = $dict([["also", ["MiniMaxM3SparseForCausalLM"]], ["tied", false], ["rewrite", model_families_mixtures$_m3_fields], ["names", $dict([["num_local_experts", ["num_local_experts", "num_experts"]]])], ["agree", $dict([["moe_intermediate_size", "intermediate_size"]])], ["usual", $dict([["head_dim", 128], ["num_key_value_heads", 4], ["rotary_dim", 64], ["index_n_heads", 4], ["index_head_dim", 128], ["index_block_size", 128], ["index_topk_blocks", 16], ["shared_intermediate_size", 3072], ["dense_intermediate_size", 12288]])], ["refuse", $dict([["use_qk_norm", true], ["attention_output_gate", false], ["n_shared_experts", 1]])]]);
let model_families_mixtures$minimax_m3 = $call($call(model_families_family$family, ["minimax_m3", "MiniMaxM3ForCausalLM"], $dict([...model_families_mixtures$M3.items()])), [$call(model_families_family$family("minimax_m3_vl_text", "MiniMaxM3VLForCausalLM", $dict([["minimax_m3_vl", null]]), $dict([...model_families_mixtures$M3.items()])), [(function minimax_m3(c, i) {
let kind, indexer, attention, shared, feed;
kind = c.kind(i, ((_) => model_families_readers$FULL), [model_families_readers$FULL, model_families_mixtures$SPARSE]);
indexer = ($eq(kind, model_families_mixtures$SPARSE) ? model_families_mixtures$_block_indexer(c) : null);
attention = model_families_readers$grouped(c, void 0, void 0, void 0, $dict([["qk_norm", "head"], ["rotary_dim", model_families_mixtures$_rotated(c)], ["indexer", indexer]]));
if (!model_families_readers$sparse(c, i, ((_) => true))) {
return model_families_readers$layer([attention, new layers_feed$Mlp().__init__(c.count("dense_intermediate_size"))], void 0, $dict([]));
}
shared = c.count("shared_intermediate_size");
feed = model_families_readers$experts(c, "num_local_experts", "intermediate_size", void 0, void 0, void 0, $dict([["shared_width", shared], ["activation", "silu"]]));
return model_families_readers$layer([attention, feed], void 0, $dict([]));
})])]);
function model_families_mixtures$_block_indexer(c) {
let block;
block = c.count("index_block_size");
return new layers_attention_kinds$Indexer().__init__(c.count("index_n_heads"), c.count("index_head_dim"), $mul(c.count("index_topk_blocks"), block), void 0, void 0, "rms_norm", "rms_norm", false, block);
}
let model_families_mixtures$jetmoe = $call(model_families_family$family("jetmoe", "JetMoeForCausalLM", void 0, $dict([["tied", true], ["names", $dict([["head_dim", ["kv_channels", "head_dim"]]])], ["usual", $dict([["head_dim", 128], ["num_key_value_heads", 16], ["num_local_experts", 8], ["num_experts_per_tok", 2]])]])), [(function jetmoe(c, i) {
let each, chosen, bias, feed, attention;
[each, chosen] = [c.count("num_key_value_heads"), c.count("num_experts_per_tok")];
c.same("num_attention_heads", $mul(each, chosen), "num_key_value_heads times num_experts_per_tok");
bias = new layers_parts$PerToken().__init__("experts.bias", c.d_model, void 0, void 0, void 0, void 0, c.d_model, void 0, void 0, void 0, void 0, void 0, 1);
feed = model_families_readers$experts(c, "num_local_experts", "intermediate_size", void 0, void 0, void 0, $dict([["extra", [bias]]]));
attention = new layers_attention_kinds$RoutedAttention().__init__($mul(each, chosen), c.count("head_dim"), each, void 0, void 0, void 0, void 0, void 0, void 0, void 0, void 0, void 0, void 0, void 0, void 0, void 0, void 0, void 0, void 0, void 0, void 0, feed.experts, chosen);
return model_families_readers$layer([attention, feed], void 0, $dict([]));
})]);
function model_families_mixtures$_zaya_scale(c) {
return [layers_parts$elementwise("embedding.scale", c.d_model, "residual", $dict([["weights", $mul(2, c.d_model)]]))];
}
let model_families_mixtures$zaya = $call(model_families_family$family("zaya", "ZayaForCausalLM", void 0, $dict([["tied", true], ["first", model_families_mixtures$_zaya_scale], ["usual", $dict([["head_dim", 128], ["num_key_value_heads", 2], ["router_hidden_size", 256], ["num_experts_per_tok", 1]])], ["refuse", $dict([["lm_head_bias", false], ["num_experts_per_tok", 1]])]])), [(function zaya(c, i) {
let kind, plain, d, attention, feed, scaled;
kind = c.kind(i, ((_) => "hybrid"), ["hybrid", "hybrid_sliding"]);
[plain, d] = [model_families_readers$grouped(c, void 0, void 0, void 0, $dict([["rotary_dim", $floordiv(model_families_readers$head_dim(c), 2)]])), c.d_model];
attention = new layers_attention_kinds$ConvolvedAttention().__init__(plain.heads, plain.head_dim, plain.kv_heads, void 0, ((kind === "hybrid_sliding") ? c.count("sliding_window") : null), void 0, void 0, plain.rotary_dim, model_families_readers$biases(c, "attention_bias", false, model_families_readers$QKVO), void 0, void 0, void 0, void 0, void 0, void 0, void 0, void 0, void 0, void 0, d, void 0, [c.count("cca_time0", 2), c.count("cca_time1", 2)]);
feed = model_families_readers$experts(c, "num_experts", void 0, void 0, void 0, void 0, $dict([["router", model_families_mixtures$_zaya_router(c, i)]]));
scaled = layers_parts$elementwise("residual.scale", $mul(2, d), "residual", $dict([["weights", $mul(4, d)]]));
return model_families_readers$layer([attention, feed], void 0, $dict([["extra", [scaled, scaled]]]));
})]);
function model_families_mixtures$_zaya_router(c, i) {
let width, classes, carried;
[width, classes] = [c.count("router_hidden_size"), $add(c.count("num_experts"), 1)];
carried = layers_parts$elementwise("router.carried", width, "residual", $dict([["weights", width]]));
return [...layers_parts$linear_step("router.down", c.d_model, width, true), ...($truth(i) ? [carried] : []), layers_parts$normalisation("router.norm", width, "rms_norm"), ...layers_parts$linear_step("router.first", width, width, true), ...layers_parts$linear_step("router.second", width, width, true), ...layers_parts$linear_step("router", width, classes)];
}
let model_families_mixtures$flint = $call(model_families_family$family("flint", "FlintForCausalLM", void 0, $dict([["tied", false], ["usual", $dict([["head_dim", 128], ["mlp_only_layers", $list([0, 1])]])]])), [(function flint(c, i) {
let rule, kind, attention, width;
rule = $dict([[true, model_families_readers$FULL], [false, model_families_readers$SLIDING]]);
kind = c.kind(i, ((i) => $at(rule, ($lt(i, 2) || ($eq($mod(i, 4), 1) || $eq(i, $sub(c.layers, 1)))))), [model_families_readers$FULL, model_families_readers$SLIDING]);
attention = model_families_readers$grouped(c, void 0, void 0, void 0, $dict([["qk_norm", "head"], ["sinks", true], ["biases", model_families_readers$biases(c, "attention_bias", false, model_families_readers$QKVO)], ["window", ($eq(kind, model_families_readers$SLIDING) ? c.count("sliding_window", 513) : null)]]));
if (!model_families_decoders$is_sparse(c, i) || $eq(c.count("num_experts", void 0, 0), 0)) {
return model_families_readers$layer([attention, model_families_readers$mlp(c, void 0, void 0, void 0, $dict([]))], void 0, $dict([]));
}
width = c.count("shared_expert_intermediate_size");
return model_families_readers$layer([attention, model_families_readers$experts(c, "num_experts", void 0, void 0, void 0, void 0, $dict([["shared_width", width]]))], void 0, $dict([]));
})]);
let model_families_mixtures$kolibri1 = $call(model_families_family$family("kolibri1", "Kolibri1ForCausalLM", void 0, $dict([["tied", false], ["names", $dict([["num_experts", ["num_local_experts", "num_experts"]]])], ["usual", $dict([["head_dim", 128], ["sliding_window", 513]])]])), [(function kolibri1(c, i) {
let reach, shared, feed;
reach = model_families_readers$sliding(c, i, ((i) => ($truth($mod($add(i, 1), 5)) ? model_families_readers$SLIDING : model_families_readers$FULL)));
shared = c.count("shared_expert_intermediate_size");
feed = model_families_readers$experts(c, "num_experts", void 0, void 0, void 0, void 0, $dict([["shared_width", shared]]));
return model_families_readers$layer([model_families_readers$grouped(c, void 0, void 0, void 0, $dict([["qk_norm", "head"], ["window", reach]])), feed], 4, $dict([]));
})]);
let model_families_mixtures$beam = $call(model_families_family$family("beam", "BeamForCausalLM", void 0, $dict([["tied", false], ["names", $dict([["num_experts", ["num_experts", "num_local_experts"]]])], ["usual", $dict([["head_dim", 128], ["sliding_window", 512]])]])), [(function beam(c, i) {
let last, reach, rope, stated, rotates, plain, gate, attention;
last = $sub(c.layers, 1);
reach = model_families_readers$sliding(c, i, ((i) => ($truth($mod($add(i, 1), 6)) && $lt(i, last) ? model_families_readers$SLIDING : model_families_readers$FULL)));
rope = c.get("rope_parameters");
stated = ($isinstance(rope, [$abc_Mapping]) ? rope : $dict([[model_families_readers$SLIDING, $dict([])]]));
rotates = (stated.get(($truth(reach) ? model_families_readers$SLIDING : model_families_readers$FULL)) !== null);
plain = model_families_readers$grouped(c, void 0, void 0, void 0, $dict([]));
gate = new layers_parts$PerToken().__init__("gate_proj.bias", $mul(plain.heads, plain.head_dim), void 0, void 0, void 0, void 0, plain.heads);
attention = model_families_readers$grouped(c, void 0, void 0, void 0, $dict([["qk_norm", "head"], ["gate", "element"], ["extra", [gate]], ["biases", model_families_readers$biases(c, "attention_bias", false, model_families_readers$QKVO)], ["window", reach], ["rotary_dim", ($truth(rotates) ? null : 0)]]));
if (!model_families_readers$sparse(c, i, ((i) => $ge(i, 3)))) {
return model_families_readers$layer([attention, model_families_readers$mlp(c, void 0, void 0, void 0, $dict([]))], 4, $dict([]));
}
return model_families_readers$layer([attention, model_families_readers$experts(c, "num_experts", void 0, void 0, void 0, void 0, $dict([]))], 4, $dict([]));
})]);
function model_families_mixtures$_text_of_lists(fields) {
let widths, found;
[widths, found] = [fields.get("moe_intermediate_size"), $dict(fields, $dict([]))];
if ($isinstance(widths, [$list]) && $eq($len(widths), 2)) {
{
const $ = [...widths];
$put(found, "moe_intermediate_size", $[0]);
$put(found, "picture_intermediate_size", $[1]);
}
}
return found;
}
let model_families_mixtures$ernie4_5_vl_moe_text = $call(model_families_family$family("ernie4_5_vl_moe_text", "Ernie4_5_VLMoeForConditionalGeneration", $dict([["ernie4_5_vl_moe", true]]), $dict([["tied", true], ["rewrite", model_families_mixtures$_text_of_lists], ["names", $dict([["num_experts", ["moe_num_experts", "num_experts"]], ["num_experts_per_tok", ["moe_k", "num_experts_per_tok"]]])], ["usual", $dict([["moe_intermediate_size", 1536], ["picture_intermediate_size", 512], ["moe_num_shared_experts", 2]])], ["inside", $dict([["vocab_size", 103424], ["hidden_size", 2560], ["intermediate_size", 12288], ["num_hidden_layers", 28], ["num_attention_heads", 20], ["num_key_value_heads", 4], ["num_experts", 64], ["num_experts_per_tok", 6]])]])), [(function ernie4_5_vl_moe_text(c, i) {
let found, attention, extra, shared, feed;
found = c.flag("use_bias", false);
attention = model_families_readers$grouped(c, void 0, void 0, void 0, $dict([["biases", ($truth(found) ? model_families_readers$QKVO : [])]]));
if (!model_families_readers$sparse(c, i, ((i) => $gt(i, 0)))) {
return model_families_readers$layer([attention, model_families_readers$mlp(c, void 0, void 0, void 0, $dict([["bias", found]]))], void 0, $dict([]));
}
extra = [model_families_readers$added(c.count("num_experts")), ...model_families_mixtures$_for_pictures(c)];
shared = "moe_num_shared_experts";
feed = model_families_readers$experts(c, "num_experts", void 0, void 0, shared, void 0, $dict([["shared_bias", found], ["extra", extra]]));
return model_families_readers$layer([attention, feed], void 0, $dict([]));
})]);
function model_families_mixtures$_for_pictures(c) {
let count, d, width, unused;
[count, d, width] = [c.count("num_experts"), c.d_model, c.count("picture_intermediate_size")];
unused = new layers_parts$PerToken().__init__("experts.for_pictures", void 0, void 0, void 0, void 0, void 0, $mul($mul(3, d), width), void 0, count);
return [unused, new layers_parts$PerToken().__init__("router.for_pictures", void 0, void 0, void 0, void 0, void 0, void 0, $mul($add(d, 1), count))];
}
let model_families_newest$INDEXED, model_families_newest$NEAR, model_families_newest$FAR;
[model_families_newest$INDEXED, model_families_newest$NEAR, model_families_newest$FAR] = ["indexed_attention", "hybrid_sliding", "hybrid"];
let model_families_newest$muse_glimmer_text = $call(model_families_family$family("muse_glimmer_text", "MuseGlimmerForConditionalGeneration", $dict([["muse_glimmer", false]]), $dict([["also", ["MuseGlimmerForCausalLM"]], ["tied", false], ["usual", $dict([["head_dim", 128], ["sliding_window", 2048]])], ["inside", $dict([["vocab_size", 202048], ["hidden_size", 6656], ["intermediate_size", 19968], ["num_hidden_layers", 52], ["num_attention_heads", 32], ["num_key_value_heads", 2]])]])), [(function muse_glimmer_text(c, i) {
return model_families_readers$layer([model_families_newest$_muse_attention(c, i), model_families_readers$mlp(c, void 0, void 0, void 0, $dict([]))], 4, $dict([]));
})]);
let model_families_newest$muse_spark_text = $call(model_families_family$family("muse_spark_text", "MuseSparkForConditionalGeneration", $dict([["muse_spark", false]]), $dict([["also", ["MuseSparkForCausalLM"]], ["tied", false], ["usual", $dict([["head_dim", 64], ["sliding_window", 2048]])], ["inside", $dict([["vocab_size", 202048], ["hidden_size", 8192], ["intermediate_size", 16384], ["num_hidden_layers", 62], ["num_attention_heads", 128], ["num_key_value_heads", 16], ["moe_intermediate_size", 4096], ["moe_hidden_size", 4096], ["num_local_experts", 256], ["num_experts_per_tok", 8]])]])), [(function muse_spark_text(c, i) {
let d, plain, narrow, normed, feed;
d = c.d_model;
plain = [layers_parts$normalisation("norms.plain", d, "plain_norm"), layers_parts$normalisation("attention.norm", d, "plain_norm"), layers_parts$elementwise("residual.gate", $mul(2, d), "sigmoid_gate", $dict([["weights", $mul(2, d)]]))];
if (!model_families_readers$sparse(c, i, ((_) => true))) {
return model_families_readers$layer([model_families_newest$_muse_attention(c, i), model_families_readers$mlp(c, void 0, void 0, void 0, $dict([]))], 3, $dict([["extra", plain]]));
}
narrow = c.count("moe_hidden_size");
normed = [layers_parts$normalisation("experts.norm", $mul(2, narrow), "rms_norm")];
feed = model_families_readers$experts(c, "num_local_experts", void 0, void 0, void 0, void 0, $dict([["latent", narrow], ["extra", normed]]));
return model_families_readers$layer([model_families_newest$_muse_attention(c, i), feed], 3, $dict([["extra", plain]]));
})]);
function model_families_newest$_muse_attention(c, i) {
let last, reach, thetas, is_listed, rotates;
last = $sub(c.layers, 1);
reach = model_families_readers$sliding(c, i, ((i) => ($truth($mod($sub(last, i), 4)) ? model_families_readers$SLIDING : model_families_readers$FULL)));
thetas = c.get("layer_rope_theta");
is_listed = ($isinstance(thetas, [$list]) && $eq($len(thetas), c.layers));
rotates = ($truth(is_listed) ? $bool($at(thetas, i)) : $bool($mod($sub(last, i), 4)));
return model_families_readers$grouped(c, void 0, void 0, void 0, $dict([["norm", "plain_norm"], ["qk_norm", "head"], ["gate", "element"], ["biases", model_families_readers$biases(c, "attention_bias", false, model_families_readers$QKVO)], ["window", reach], ["rotary_dim", ($truth(rotates) ? null : 0)]]));
}
function model_families_newest$_hrm_fields(fields) {
let cycles, layers, is_first, run;
cycles = (() => { const $ = $list(); for (const [name, usual] of [["H_cycles", 2], ["L_cycles", 3]]) $.push(fields.get(name, usual)); return $; })();
layers = fields.get("num_hidden_layers");
is_first = (fields.get("num_layers_per_stack") === null);
if (!$truth(is_first) || !$all((function* () { for (const n of [...cycles, layers]) yield (($type(n) === $int) && $gt(n, 0)); })())) {
return fields;
}
run = $mul($mul(layers, $at(cycles, 0)), $add($at(cycles, 1), 1));
return $dict([...fields.items(), ["num_layers_per_stack", layers], ["num_hidden_layers", run]]);
}
function model_families_newest$_hrm_start(c) {
return [layers_parts$elementwise("start", c.d_model, "residual", $dict([["weights", c.d_model]]))];
}
let model_families_newest$hrm_text = $call(model_families_family$family("hrm_text", "HrmTextForCausalLM", void 0, $dict([["tied", false], ["norm", "plain_norm"], ["final_norm", false], ["first", model_families_newest$_hrm_start], ["rewrite", model_families_newest$_hrm_fields], ["usual", $dict([["head_dim", 128], ["H_cycles", 2], ["L_cycles", 3]])]])), [(function hrm_text(c, i) {
let each, times, text, found, attention, feed, block, is_again, borrowed;
[each, times] = [c.count("num_layers_per_stack"), $add(c.count("L_cycles"), 1)];
text = `'num_hidden_layers' must be the layers run, ${$str($mul($mul(each, times), c.count("H_cycles")))}`;
c.require($eq(c.layers, $mul($mul(each, times), c.count("H_cycles"))), text);
found = model_families_readers$biases(c, "attention_bias", false, [...model_families_readers$QKVO, "gate_proj"]);
attention = model_families_readers$grouped(c, true, void 0, void 0, $dict([["head_dim", model_families_readers$head_dim(c)], ["gate", "element"], ["biases", found]]));
feed = model_families_readers$mlp(c, void 0, void 0, void 0, $dict([["bias", c.flag("mlp_bias", false)]]));
block = model_families_readers$layer([attention, feed], void 0, $dict([["norm", "plain_norm"]]));
is_again = !$has([0, $sub(times, 1)], $floordiv(i, each));
borrowed = ($truth(is_again) ? block.parameters(c.d_model) : 0);
return model_families_readers$layer([attention, feed], void 0, $dict([["norm", "plain_norm"], ["borrowed", borrowed]]));
})]);
function model_families_newest$_qwen_fields(fields) {
let kinds;
kinds = fields.get("layer_types");
if (!$isinstance(kinds, [$list])) {
return fields;
}
return $dict([...fields.items(), ["layer_types", (() => { const $ = $list(); for (const kind of kinds) $.push(($eq(kind, model_families_readers$FULL) ? model_families_newest$INDEXED : kind)); return $; })()]]);
}
function model_families_newest$_qwen_end(c) {
return model_families_streams$low_rank_streams(c, false);
}
let model_families_newest$qwen4_exp_text = $call(model_families_family$family("qwen4_exp_text", "Qwen4ExpForCausalLM", $dict([["qwen4_exp", false]]), $dict([["tied", false], ["rewrite", model_families_newest$_qwen_fields], ["last", model_families_newest$_qwen_end], ["final_norm", false], ["usual", $dict([...model_families_linear$QWEN.items(), ["num_key_value_heads", 2], ["num_experts", 512], ["num_experts_per_tok", 10]])], ["refuse", $dict([["ple_layer_ids", $list([])]])]])), [(function qwen4_exp_text(c, i) {
let every, around, extra, shared, feed, kind, rotated, attention;
[every, around] = [c.count("full_attention_interval"), model_families_streams$low_rank_streams(c)];
extra = $tuple((() => { const $ = []; for (const step of around) $.push($mul(step, 2)); return $; })());
shared = c.count("shared_expert_intermediate_size");
feed = model_families_readers$experts(c, "num_experts", void 0, void 0, void 0, void 0, $dict([["shared_width", shared], ["shared_gate", true]]));
kind = c.kind(i, ((i) => ($truth($mod($add(i, 1), every)) ? model_families_readers$LINEAR : model_families_newest$INDEXED)), [model_families_readers$LINEAR, model_families_newest$INDEXED]);
if ($eq(kind, model_families_readers$LINEAR)) {
return model_families_readers$layer([model_families_linear$delta_rule(c), feed], 0, $dict([["residuals", 0], ["extra", extra]]));
}
rotated = model_families_readers$rotary(c, model_families_readers$head_dim(c), 1);
attention = model_families_readers$grouped(c, void 0, void 0, void 0, $dict([["qk_norm", "head"], ["gate", "element"], ["biases", model_families_readers$biases(c, "attention_bias", false, [...model_families_readers$QKVO, "gate_proj"])], ["rotary_dim", rotated], ["indexer", model_families_newest$_qwen_indexer(c, rotated)]]));
return model_families_readers$layer([attention, feed], 0, $dict([["residuals", 0], ["extra", extra]]));
})]);
function model_families_newest$_qwen_indexer(c, rotated) {
let budget, pool, text;
c.require($eq(c.count("indexer_kv_heads"), 1), "'indexer_kv_heads' must be 1 to be counted here");
[budget, pool] = [c.count("indexer_budget"), c.count("indexer_compress_ratio")];
text = `'indexer_budget' is ${$str(budget)}, not a multiple of 'indexer_compress_ratio' (${$str(pool)})`;
c.require($eq($mod(budget, pool), 0), text);
return new layers_attention_kinds$Indexer().__init__(c.count("indexer_n_heads"), c.count("indexer_head_dim"), budget, void 0, rotated, "rms_norm", "rms_norm", false, void 0, pool, void 0, true);
}
let model_families_newest$_NEAR_SIZES;
model_families_newest$_NEAR_SIZES = $dict([["num_attention_heads", "swa_num_attention_heads"], ["num_key_value_heads", "swa_num_key_value_heads"], ["head_dim", "swa_head_dim"]]);
function model_families_newest$_inkling_fields(fields) {
let found, layers, local;
[found, layers] = [$dict(fields, $dict([])), fields.get("num_hidden_layers")];
local = fields.get("local_layer_ids");
if ((found.get("layer_types") === null) && $isinstance(local, [$list]) && ($type(layers) === $int)) {
$put(found, "layer_types", (() => { const $ = $list(); for (const i of $range($min([layers, $pow(10, 4)]))) $.push(($has(local, i) ? model_families_newest$NEAR : model_families_newest$FAR)); return $; })());
}
if ((fields.get("dense_intermediate_size") !== null)) {
$put(found, "moe_intermediate_size", fields.get("intermediate_size"));
$put(found, "intermediate_size", $at(fields, "dense_intermediate_size"));
}
return found;
}
let model_families_newest$inkling_text = $call(model_families_family$family("inkling_text", "InklingForCausalLM", $dict([["inkling", false]]), $dict([["also", ["InklingForConditionalGeneration"]], ["tied", false], ["embedding_norm", true], ["rewrite", model_families_newest$_inkling_fields], ["usual", $dict([["head_dim", 128], ["swa_head_dim", 128], ["sliding_window_size", 512], ["d_rel", 16], ["rel_extent", 1024], ["conv_kernel_size", 4], ["n_shared_experts", 2]])], ["inside", $dict([["vocab_size", 201024], ["hidden_size", 6144], ["num_hidden_layers", 66], ["num_attention_heads", 64], ["num_key_value_heads", 8], ["swa_num_attention_heads", 64], ["swa_num_key_value_heads", 16], ["intermediate_size", 24576], ["moe_intermediate_size", 3072], ["n_routed_experts", 256], ["num_experts_per_tok", 6]])]])), [(function inkling_text(c, i) {
let attention, width, conv, scale, dense, shared, router, joint, feed;
attention = model_families_newest$_inkling_attention(c, i, $dict([]));
width = $add($mul($mul(2, attention.kv_heads), attention.head_dim), $mul(2, c.d_model));
conv = new layers_scans$ChannelConvolution().__init__(width, c.count("conv_kernel_size"));
scale = new layers_parts$PerToken().__init__("ffn.scale", c.d_model, void 0, void 0, void 0, void 0, 1);
dense = c.count("dense_mlp_idx", 0, 0);
if (!model_families_readers$sparse(c, i, ((i) => $ge(i, dense)))) {
return model_families_readers$layer([conv, attention, model_families_readers$mlp(c, void 0, void 0, void 0, $dict([]))], void 0, $dict([["residuals", 2], ["extra", [scale]]]));
}
shared = c.count("n_shared_experts");
router = layers_parts$linear_step("router", c.d_model, $add(c.count("n_routed_experts"), shared));
joint = $mul(shared, c.count("moe_intermediate_size"));
feed = model_families_readers$experts(c, "n_routed_experts", void 0, void 0, void 0, void 0, $dict([["shared_width", joint], ["router", router]]));
return model_families_readers$layer([conv, attention, feed], void 0, $dict([["residuals", 2], ["extra", [scale]]]));
})]);
function model_families_newest$_inkling_attention(c, i, more) {
let is_near, reach, heads, rank, extent, bank, found, normed;
is_near = $eq(c.kind(i, ((i) => ($truth($mod($add(i, 1), 6)) ? model_families_newest$NEAR : model_families_newest$FAR)), [model_families_newest$NEAR, model_families_newest$FAR]), model_families_newest$NEAR);
reach = ($truth(is_near) ? c.count("sliding_window_size") : null);
if ($truth(is_near)) {
c = c.but($dict((() => { const $ = []; for (const [usual, own] of model_families_newest$_NEAR_SIZES.items()) $.push([usual, c.count(own)]); return $; })()));
}
[heads, rank] = [c.count("num_attention_heads"), c.count("d_rel")];
extent = ((reach === null) ? c.count("rel_extent") : reach);
bank = $mul(rank, extent);
found = [...layers_parts$linear_step("r_proj", c.d_model, $mul(heads, rank)), new layers_parts$PerToken().__init__("distances", layers_matmul$product_flops(heads, 1, bank), $mul(heads, rank), $mul(heads, extent), void 0, void 0, bank, void 0, void 0, void 0, void 0, true), ...more.pop("extra", [])];
normed = $dict([["qk_norm", "head"], ...more.items()]);
return $call(model_families_readers$grouped, [c], $dict([["window", reach], ["rotary_dim", 0], ["extra", found], ...normed.items()]));
}
function model_families_newest$_inkling_end(c) {
return model_families_streams$over_blocks(c, "final_input", model_families_streams$begun(c.layers, model_families_newest$_block_size(c)));
}
function model_families_newest$_block_size(c) {
return c.count("n_layers_per_attn_res_block", 6);
}
let model_families_newest$inkling2_text = $call(model_families_family$family("inkling2_text", "Inkling2ForCausalLM", $dict([["inkling2", false]]), $dict([["also", ["Inkling2ForConditionalGeneration"]], ["tied", false], ["embedding_norm", true], ["last", model_families_newest$_inkling_end], ["names", $dict([["n_routed_experts", ["n_routed_experts", "num_local_experts"]]])], ["usual", $dict([["head_dim", 128], ["swa_head_dim", 128], ["sliding_window_size", 1024], ["d_rel", 16], ["rel_extent", 1024], ["conv_kernel_size", 4]])], ["inside", $dict([["vocab_size", 201024], ["hidden_size", 4608], ["num_hidden_layers", 48], ["num_attention_heads", 48], ["num_key_value_heads", 8], ["swa_num_attention_heads", 48], ["swa_num_key_value_heads", 8], ["moe_intermediate_size", 2304], ["n_routed_experts", 384], ["num_experts_per_tok", 8]])]])), [(function inkling2_text(c, i) {
let plain, d, kernel, is_near, clipped, attention, wide, groups, convs, each, queries, inputs, extra, norms, feed;
[plain, d, kernel] = [model_families_newest$_inkling_attention(c, i, $dict([])), c.d_model, c.count("conv_kernel_size")];
is_near = (plain.window !== null);
clipped = new layers_parts$PerToken().__init__("clip", $mul(8, plain.heads), void 0, void 0, void 0, void 0, $mul(plain.heads, $add(plain.head_dim, c.count("d_rel"))));
attention = model_families_newest$_inkling_attention(c, i, $dict([["qk_norm", null], ["value_norm", true], ["gate", "element"], ["extra", [...layers_parts$linear_step("sink_proj", d, plain.heads), clipped]]]));
[wide, groups] = [$mul($mul(2, plain.kv_heads), plain.head_dim), ($truth(is_near) ? 0 : $mul(2, plain.kv_heads))];
convs = [new layers_scans$ChannelConvolution().__init__(wide, kernel, groups), new layers_scans$ChannelConvolution().__init__($mul(2, d), kernel)];
[each, queries] = [model_families_newest$_block_size(c), ($truth(is_near) ? 1 : 3)];
inputs = ($truth(i) ? model_families_streams$over_blocks(c, "attention_input", model_families_streams$begun(i, each), queries) : []);
extra = [...inputs, ...model_families_streams$over_blocks(c, "ffn_input", model_families_streams$begun($add(i, 1), each))];
norms = ($truth(is_near) ? 2 : 4);
feed = model_families_readers$experts(c, "n_routed_experts", void 0, void 0, void 0, void 0, $dict([]));
return model_families_readers$layer([...convs, attention, feed], norms, $dict([["residuals", 2], ["extra", extra]]));
})]);
let model_families_older$FALCON;
model_families_older$FALCON = $dict([["intermediate_size", "ffn_hidden_size"], ["num_key_value_heads", "num_kv_heads"]]);
let model_families_older$falcon = $call(model_families_family$family("falcon", "FalconForCausalLM", void 0, $dict([["tied", true], ["norm", "layer_norm"], ["names", model_families_older$FALCON]])), [(function falcon(c, i) {
let norm, found, is_new, heads, is_parallel, kv_heads, attention, usual, norms, feed;
[norm, found, is_new] = ["layer_norm", c.flag("bias", false), c.flag("new_decoder_architecture", false)];
[heads, is_parallel] = [c.count("num_attention_heads"), c.flag("parallel_attn", true)];
if ($truth(is_new)) {
kv_heads = c.count("num_key_value_heads", heads);
} else {
kv_heads = ($truth(c.flag("multi_query", true)) ? 1 : heads);
}
attention = model_families_readers$grouped(c, void 0, void 0, void 0, $dict([["kv_heads", kv_heads], ["head_dim", model_families_readers$head_dim(c, false)], ["norm", norm], ["biases", ($truth(found) ? model_families_readers$QKVO : [])], ["rotary_dim", ($truth(c.flag("alibi", false)) ? 0 : null)], ["repeats_kv", is_new]]));
usual = ($truth(is_new) ? 2 : 1);
norms = ($truth(is_parallel) ? c.count("num_ln_in_parallel_attn", usual) : 2);
c.require($le(norms, 2), `'num_ln_in_parallel_attn' must be 1 or 2, got ${$str(norms)}`);
feed = model_families_readers$mlp(c, void 0, $mul(4, c.d_model), void 0, $dict([["gated", false], ["bias", found], ["default", "gelu"]]));
return model_families_readers$layer([attention, feed], norms, $dict([["norm", norm], ["parallel", ($truth(is_parallel) ? $eq(norms, 1) : is_parallel)]]));
})]);
let model_families_older$mpt = $call(model_families_family$family("mpt", "MptForCausalLM", void 0, $dict([["tied", true], ["norm", "layer_norm_no_bias"], ["names", $dict([["hidden_size", ["d_model", "hidden_size"]], ["num_hidden_layers", ["n_layers", "num_hidden_layers"]], ["num_attention_heads", ["n_heads", "num_attention_heads"]]])], ["refuse", $dict([["no_bias", true]])]])), [(function mpt(c, i) {
let norm, attention;
norm = "layer_norm_no_bias";
attention = model_families_readers$grouped(c, true, void 0, void 0, $dict([["norm", norm], ["rotary_dim", 0]]));
return model_families_readers$layer([attention, new layers_feed$Mlp().__init__($mul(4, c.d_model), false, "gelu")], void 0, $dict([["norm", norm]]));
})]);
let model_families_older$gpt_bigcode = $call(model_families_family$family("gpt_bigcode", "GPTBigCodeForCausalLM", void 0, $dict([["tied", true], ["norm", "layer_norm"], ["names", model_families_decoders$GPT2], ["positions", 0]])), [(function gpt_bigcode(c, i) {
let norm, heads, kv_heads, attention, feed;
[norm, heads] = ["layer_norm", c.count("num_attention_heads")];
kv_heads = ($truth(c.flag("multi_query", true)) ? 1 : heads);
c.same("num_key_value_heads", kv_heads, "'multi_query'");
attention = model_families_readers$grouped(c, void 0, void 0, void 0, $dict([["kv_heads", kv_heads], ["head_dim", model_families_readers$head_dim(c, false)], ["biases", model_families_readers$QKVO], ["norm", norm], ["rotary_dim", 0]]));
feed = model_families_readers$mlp(c, void 0, $mul(4, c.d_model), void 0, $dict([["gated", false], ["bias", true], ["default", "gelu_tanh"]]));
return model_families_readers$layer([attention, feed], void 0, $dict([["norm", norm]]));
})]);
let model_families_older$codegen = $call(model_families_family$family("codegen", "CodeGenForCausalLM", void 0, $dict([["tied", false], ["norm", "layer_norm"], ["names", model_families_decoders$GPT2], ["unembedding_bias", true]])), [(function codegen(c, i) {
let norm, width, rotated, attention, feed;
[norm, width] = ["layer_norm", model_families_readers$head_dim(c, false)];
rotated = c.count("rotary_dim", 64, 0);
c.require($le(rotated, width), `'rotary_dim' is ${$str(rotated)}, but a head is ${$str(width)} wide`);
attention = model_families_readers$grouped(c, true, void 0, void 0, $dict([["norm", norm], ["rotary_dim", rotated]]));
feed = model_families_readers$mlp(c, void 0, $mul(4, c.d_model), void 0, $dict([["gated", false], ["bias", true], ["default", "gelu_tanh"]]));
return model_families_readers$layer([attention, feed], 1, $dict([["parallel", true], ["norm", norm]]));
})]);
let model_families_older$gpt_neo = $call(model_families_family$family("gpt_neo", "GPTNeoForCausalLM", void 0, $dict([["tied", true], ["norm", "layer_norm"], ["positions", 0], ["names", $dict([["num_hidden_layers", "num_layers"], ["num_attention_heads", "num_heads"]])]])), [(function gpt_neo(c, i) {
let norm, attention, feed;
model_families_older$_check_kinds(c);
norm = "layer_norm";
attention = model_families_readers$grouped(c, true, void 0, void 0, $dict([["head_dim", model_families_readers$head_dim(c, false)], ["biases", ["o_proj"]], ["norm", norm], ["rotary_dim", 0]]));
feed = model_families_readers$mlp(c, void 0, $mul(4, c.d_model), void 0, $dict([["gated", false], ["bias", true], ["default", "gelu_tanh"]]));
return model_families_readers$layer([attention, feed], void 0, $dict([["norm", norm]]));
})]);
function model_families_older$_check_kinds(c) {
let count, group, is_group, text;
count = 0;
for (group of c.entries("attention_types", $list)) {
is_group = ($eq($len(group), 2) && ($isinstance($at(group, 0), [$list]) && ($type($at(group, 1)) === $int)));
is_group = ($truth(is_group) ? $le($set($map($str, [$at(group, 0)])), $set(["global", "local"])) : is_group);
c.require(is_group, "'attention_types' must be groups of 'global' and 'local', and a number");
count = $iadd(count, $mul($len($at(group, 0)), $at(group, 1)));
}
text = `'attention_types' has ${$str(count)} layers, but there are ${$str(c.layers)}`;
c.require($has([0, c.layers], count), text);
}
let model_families_older$persimmon = $call(model_families_family$family("persimmon", "PersimmonForCausalLM", $dict([["fuyu", false]]), $dict([["tied", false], ["norm", "layer_norm"]])), [(function persimmon(c, i) {
let norm, normed, rotated, heads, attention, feed;
norm = "layer_norm";
normed = ($truth(c.flag("qk_layernorm", true)) ? "head" : null);
rotated = model_families_readers$rotary(c, model_families_readers$head_dim(c, false), 0.5);
heads = c.count("num_attention_heads");
attention = model_families_readers$grouped(c, void 0, void 0, void 0, $dict([["kv_heads", heads], ["head_dim", model_families_readers$head_dim(c, false)], ["biases", model_families_readers$QKVO], ["qk_norm", normed], ["norm", norm], ["rotary_dim", rotated]]));
feed = model_families_readers$mlp(c, void 0, void 0, void 0, $dict([["gated", false], ["bias", true], ["default", "relu2"]]));
return model_families_readers$layer([attention, feed], void 0, $dict([["norm", norm]]));
})]);
let model_families_older$xglm = $call(model_families_family$family("xglm", "XGLMForCausalLM", void 0, $dict([["tied", true], ["norm", "layer_norm"], ["names", $dict([["hidden_size", ["d_model", "hidden_size"]], ["num_hidden_layers", ["num_layers", "num_hidden_layers"]], ["intermediate_size", "ffn_dim"], ["num_attention_heads", ["attention_heads", "num_attention_heads"]]])]])), [(function xglm(c, i) {
let norm, attention;
norm = "layer_norm";
attention = model_families_readers$grouped(c, true, void 0, void 0, $dict([["biases", model_families_readers$QKVO], ["norm", norm], ["rotary_dim", 0]]));
return model_families_readers$layer([attention, model_families_readers$mlp(c, void 0, void 0, void 0, $dict([["gated", false], ["bias", true], ["default", "gelu"]]))], void 0, $dict([["norm", norm]]));
})]);
let model_families_older$openai_gpt = $call(model_families_family$family("openai-gpt", "OpenAIGPTLMHeadModel", void 0, $dict([["tied", true], ["norm", "layer_norm"], ["final_norm", false], ["names", model_families_decoders$GPT2], ["positions", 0]])), [(function openai_gpt(c, i) {
let norm, kind, attention, feed;
[norm, kind] = ["layer_norm", model_families_readers$activation(c, "gelu_tanh", ["afn"])];
attention = model_families_readers$grouped(c, true, void 0, void 0, $dict([["biases", model_families_readers$QKVO], ["norm", norm], ["rotary_dim", 0]]));
feed = new layers_feed$Mlp().__init__($mul(4, c.d_model), false, kind, true);
return model_families_readers$layer([attention, feed], void 0, $dict([["norm", norm]]));
})]);
let model_families_older$ctrl = $call(model_families_family$family("ctrl", "CTRLLMHeadModel", void 0, $dict([["tied", true], ["norm", "layer_norm"], ["names", $dict([...model_families_decoders$GPT2.items(), ["intermediate_size", "dff"]])], ["unembedding_bias", true]])), [(function ctrl(c, i) {
let norm, attention;
norm = "layer_norm";
attention = model_families_readers$grouped(c, true, void 0, void 0, $dict([["biases", model_families_readers$QKVO], ["norm", norm], ["rotary_dim", 0]]));
return model_families_readers$layer([attention, model_families_readers$mlp(c, void 0, void 0, void 0, $dict([["gated", false], ["bias", true], ["activation", "relu"]]))], void 0, $dict([["norm", norm]]));
})]);
let model_families_older$biogpt = $call(model_families_family$family("biogpt", "BioGptForCausalLM", void 0, $dict([["tied", true], ["norm", "layer_norm"], ["positions", 2]])), [(function biogpt(c, i) {
let norm, attention;
norm = "layer_norm";
attention = model_families_readers$grouped(c, true, void 0, void 0, $dict([["biases", model_families_readers$QKVO], ["norm", norm], ["rotary_dim", 0]]));
return model_families_readers$layer([attention, model_families_readers$mlp(c, void 0, void 0, void 0, $dict([["gated", false], ["bias", true], ["default", "gelu"]]))], void 0, $dict([["norm", norm]]));
})]);
let model_families_older$gpt_neox_japanese = $call(model_families_family$family("gpt_neox_japanese", "GPTNeoXJapaneseForCausalLM", void 0, $dict([["tied", true], ["norm", "layer_norm"]])), [(function gpt_neox_japanese(c, i) {
let norm, width, found, rotated, attention, times, feed;
[norm, width] = ["layer_norm", model_families_readers$head_dim(c, false)];
found = ($eq(i, $sub(c.layers, 1)) ? ["o_proj"] : []);
rotated = model_families_readers$rotary(c, width, 1, "rotary_pct");
attention = model_families_readers$grouped(c, true, void 0, void 0, $dict([["norm", norm], ["biases", found], ["rotary_dim", rotated]]));
times = c.count("intermediate_multiple_size", 4);
feed = new layers_feed$Mlp().__init__($mul(times, c.d_model), false, model_families_readers$activation(c, "gelu", []));
return model_families_readers$layer([attention, feed], void 0, $dict([["norm", norm]]));
})]);
let model_families_pruned$PLAIN;
model_families_pruned$PLAIN = $dict([["replace_with_linear", false], ["num_sink_tokens", null], ["window_length", null], ["sparsify", null], ["unshifted_sink", false], ["is_mamba", false], ["llama4", null], ["moe", null]]);
let model_families_pruned$nemotron_nas = $call(model_families_family$family("nemotron-nas", "DeciLMForCausalLM", void 0, $dict([["tied", false]])), [(function nemotron_nas(c, i) {
let blocks, name, one, parts;
blocks = c.each_layer("block_configs", $dict);
c.require($bool(blocks), "'block_configs' is missing");
name = `block_configs[${$str(i)}]`;
one = new model_families_config$Config().__init__($at(blocks, i), `${$str(c.family)} ${$str(name)}`);
parts = $list([...model_families_pruned$_attention(c, one.inside("attention")), ...model_families_pruned$_feed(c, one.inside("ffn"))]);
return model_families_readers$layer([...parts], $len(parts), $dict([]));
})]);
function model_families_pruned$_check(one) {
let name, only, text;
for ([name, only] of model_families_pruned$PLAIN.items()) {
text = `${$repr(name)} must be ${$repr(only)} to be counted here, got ${$repr(one.get(name))}`;
one.require($has([only, null], one.get(name)), text);
}
return !$truth(one.flag("no_op", false));
}
function model_families_pruned$_attention(c, one) {
let heads, group, found;
if (!model_families_pruned$_check(one)) {
return $list([]);
}
[heads, group] = [c.count("num_attention_heads"), one.count("n_heads_in_group")];
one.require($eq($mod(heads, group), 0), `'n_heads_in_group' is ${$str(group)}, but there are ${$str(heads)} heads`);
found = model_families_readers$biases(c, "attention_bias", false, model_families_readers$QKVO);
return $list([model_families_readers$grouped(c, void 0, void 0, void 0, $dict([["kv_heads", $floordiv(heads, group)], ["biases", found]]))]);
}
function model_families_pruned$_feed(c, one) {
let width, exact;
if (!model_families_pruned$_check(one)) {
return $list([]);
}
width = one.optional("intermediate_size");
if ((width === null)) {
exact = $int($div($mul($mul(2, one.number("ffn_mult")), c.d_model), 3));
width = $mul((-$floordiv((-exact), 256)), 256);
}
return $list([new layers_feed$Mlp().__init__(width, void 0, model_families_readers$activation(c, void 0, []), c.flag("mlp_bias", false))]);
}
let model_families_routed$CHUNKED;
model_families_routed$CHUNKED = "chunked_attention";
let model_families_routed$llama4_text = $call(model_families_family$family("llama4_text", "Llama4ForCausalLM", $dict([["llama4", false]]), $dict([["tied", false], ["usual", $dict([["num_key_value_heads", 8], ["head_dim", 128], ["intermediate_size_mlp", 16384], ["num_local_experts", 16], ["num_experts_per_tok", 1], ["attention_chunk_size", 8192]])], ["inside", $dict([["vocab_size", 202048], ["hidden_size", 5120], ["intermediate_size", 8192], ["num_hidden_layers", 48], ["num_attention_heads", 40]])]])), [(function llama4_text(c, i) {
let turned, every, rotates, kind, attention, step, among, is_sparse, width, routed;
turned = c.entries("no_rope_layers", $int);
every = c.count("no_rope_layer_interval", 4);
c.require($has([0, c.layers], $len(turned)), "'no_rope_layers' must have an entry for each layer");
rotates = ($truth(turned) ? $bool($at(turned, i)) : !$eq($mod($add(i, 1), every), 0));
kind = c.kind(i, ((_) => ($truth(rotates) ? model_families_routed$CHUNKED : model_families_readers$FULL)), [model_families_readers$FULL, model_families_routed$CHUNKED]);
attention = model_families_readers$grouped(c, void 0, true, void 0, $dict([["biases", model_families_readers$biases(c, "attention_bias", false, model_families_readers$QKVO)], ["norm", "plain_norm"], ["qk_norm", ($truth(rotates) && $truth(c.flag("use_qk_norm", true)) ? "head" : null)], ["rotary_dim", ($truth(rotates) ? null : 0)], ["chunk", ($eq(kind, model_families_routed$CHUNKED) ? c.optional("attention_chunk_size") : null)]]));
[step, among] = [c.count("interleave_moe_layer_step", 1), c.entries("moe_layers", $int)];
is_sparse = ($truth(c.has("moe_layers")) ? $has(among, i) : $eq($mod(i, step), $sub(step, 1)));
if (!$truth(is_sparse)) {
return model_families_readers$layer([attention, model_families_readers$mlp(c, "intermediate_size_mlp", void 0, void 0, $dict([]))], void 0, $dict([]));
}
width = c.count("intermediate_size");
routed = model_families_readers$experts(c, "num_local_experts", "intermediate_size", void 0, void 0, void 0, $dict([["shared_width", width], ["runs_all", true]]));
return model_families_readers$layer([attention, routed], void 0, $dict([]));
})]);
let model_families_routed$glm4_moe = $call(model_families_family$family("glm4_moe", "Glm4MoeForCausalLM", void 0, $dict([["tied", false], ["ahead", "num_nextn_predict_layers"]])), [(function glm4_moe(c, i) {
let normed, dense;
normed = ($truth(c.flag("use_qk_norm", false)) ? "head" : null);
dense = c.count("first_k_dense_replace", 1, 0);
return model_families_readers$layer([model_families_routed$_glm_attention(c, false, $dict([["qk_norm", normed]])), model_families_latents$feed(c, i, dense)], void 0, $dict([]));
})]);
let model_families_routed$glm4v_moe_text = $call(model_families_family$family("glm4v_moe_text", "Glm4vMoeForConditionalGeneration", $dict([["glm4v_moe", null]]), $dict([["tied", false], ["inside", $dict([["vocab_size", 151424], ["hidden_size", 4096], ["intermediate_size", 10944], ["num_hidden_layers", 46], ["num_attention_heads", 96], ["num_key_value_heads", 8], ["moe_intermediate_size", 1408], ["num_experts_per_tok", 8], ["n_shared_experts", 1], ["n_routed_experts", 128]])]])), [(function glm4v_moe_text(c, i) {
return model_families_readers$layer([model_families_routed$_glm_attention(c, true, $dict([])), model_families_latents$feed(c, i, c.count("first_k_dense_replace", 1, 0))], void 0, $dict([]));
})]);
let model_families_routed$solar_open = $call(model_families_family$family("solar_open", "SolarOpenForCausalLM", void 0, $dict([["tied", false], ["usual", $dict([["head_dim", 128]])]])), [(function solar_open(c, i) {
let found;
found = model_families_readers$biases(c, "attention_bias", false, model_families_readers$QKV);
return model_families_readers$layer([model_families_readers$grouped(c, void 0, void 0, void 0, $dict([["biases", found]])), model_families_latents$shared_and_routed(c)], void 0, $dict([]));
})]);
function model_families_routed$_glm_attention(c, has_biases, more) {
let found, width, rotated;
found = model_families_readers$biases(c, "attention_bias", has_biases, model_families_readers$QKV);
width = $either(c.optional("head_dim"), () => $floordiv(c.d_model, c.count("num_attention_heads")));
c.require($gt(width, 0), `'hidden_size' (${$str(c.d_model)}) leaves nothing for each head`);
rotated = model_families_readers$rotary(c, width, 0.5);
return $call(model_families_readers$grouped, [c], $dict([["head_dim", width], ["biases", found], ["rotary_dim", rotated], ...more.items()]));
}
let model_families_routed$dots1 = $call(model_families_family$family("dots1", "Dots1ForCausalLM", void 0, $dict([["tied", false]])), [(function dots1(c, i) {
let found, first, has_window, reach, attention;
found = model_families_readers$biases(c, "attention_bias", false, model_families_readers$QKVO);
first = c.count("max_window_layers", 62, 0);
if (!$truth(c.has("sliding_window")) && !$has(c.fields, "sliding_window")) {
c = c.but($dict([["sliding_window", 4096]]));
}
has_window = c.has("sliding_window");
reach = model_families_readers$sliding(c, i, ((i) => ($truth(has_window) && $ge(i, first) ? model_families_readers$SLIDING : model_families_readers$FULL)));
attention = model_families_readers$grouped(c, void 0, model_families_readers$said_null(c), void 0, $dict([["qk_norm", "head"], ["biases", found], ["window", reach]]));
return model_families_readers$layer([attention, model_families_latents$feed(c, i, c.count("first_k_dense_replace", 0, 0))], void 0, $dict([]));
})]);
let model_families_routed$olmoe = $call(model_families_family$family("olmoe", "OlmoeForCausalLM", void 0, $dict([["tied", false]])), [(function olmoe(c, i) {
let found, routed;
found = model_families_readers$biases(c, "attention_bias", false, model_families_readers$QKVO);
routed = model_families_readers$experts(c, "num_experts", "intermediate_size", void 0, void 0, void 0, $dict([]));
return model_families_readers$layer([model_families_readers$grouped(c, void 0, true, void 0, $dict([["qk_norm", "full"], ["biases", found]])), routed], void 0, $dict([]));
})]);
let model_families_routed$flex_olmo = $call(model_families_family$family("flex_olmo", "FlexOlmoForCausalLM", void 0, $dict([["tied", false]])), [(function flex_olmo(c, i) {
return model_families_routed$olmoe(c, i);
})]);
let model_families_routed$exaone_moe = $call(model_families_family$family("exaone_moe", "ExaoneMoeForCausalLM", void 0, $dict([["tied", false]])), [(function exaone_moe(c, i) {
let dense, feed;
dense = c.count("first_k_dense_replace", 1, 0);
feed = model_families_readers$dense_first(c, i, dense, "num_experts", $dict([["shared", "num_shared_experts"]]));
return model_families_readers$layer([model_families_dense$exaone_attention(c, i), feed], void 0, $dict([]));
})]);
let model_families_routed$ernie4_5_moe = $call(model_families_family$family("ernie4_5_moe", "Ernie4_5_MoeForCausalLM", void 0, $dict([["tied", true], ["names", $dict([["num_experts", ["moe_num_experts", "num_experts"]], ["num_experts_per_tok", ["moe_k", "num_experts_per_tok"]]])], ["usual", $dict([["moe_num_shared_experts", 2]])], ["size", ((c) => $dict([["biases", ($truth(c.flag("use_bias", false)) ? ["unembedding"] : [])]]))]])), [(function ernie4_5_moe(c, i) {
let found, attention, first, last, every, extra, shared, routed;
found = c.flag("use_bias", false);
attention = model_families_readers$grouped(c, void 0, model_families_readers$said_null(c), void 0, $dict([["biases", ($truth(found) ? model_families_readers$QKVO : [])]]));
[first, last] = [c.count("moe_layer_start_index", 1, 0), c.count("moe_layer_end_index", -1, -1)];
[every, last] = [c.count("moe_layer_interval", 1), ($eq(last, -1) ? $sub(c.layers, 1) : last)];
if (!($eq($mod($add(i, 1), every), 0) && ($le(first, i) && $le(i, last)))) {
return model_families_readers$layer([attention, model_families_readers$mlp(c, void 0, void 0, void 0, $dict([["bias", found]]))], void 0, $dict([]));
}
[extra, shared] = [[model_families_readers$added(c.count("num_experts"))], "moe_num_shared_experts"];
routed = model_families_readers$experts(c, "num_experts", void 0, void 0, shared, void 0, $dict([["shared_bias", found], ["extra", extra]]));
return model_families_readers$layer([attention, routed], void 0, $dict([]));
})]);
let model_families_routed$hunyuan_v1_moe = $call(model_families_family$family("hunyuan_v1_moe", "HunYuanMoEV1ForCausalLM", void 0, $dict([["tied", false], ["names", $dict([["num_experts_per_tok", "moe_topk"]])]])), [(function hunyuan_v1_moe(c, i) {
let found, own, routed;
[found, own] = [model_families_readers$biases(c, "attention_bias", false, model_families_readers$QKVO), c.of_layer(i, ["num_experts", "num_experts_per_tok"])];
c.require($isinstance(c.get("num_experts"), [$int]), "'num_experts' must be one number here");
routed = model_families_readers$experts(own, "num_experts", "intermediate_size", void 0, void 0, void 0, $dict([["shared_width", c.count("intermediate_size")]]));
return model_families_readers$layer([model_families_readers$grouped(c, void 0, true, void 0, $dict([["qk_norm", "head"], ["biases", found]])), routed], void 0, $dict([]));
})]);
let model_families_routed$mimo_v2_flash = $call(model_families_family$family("mimo_v2_flash", "MiMoV2FlashForCausalLM", void 0, $dict([["tied", false], ["usual", $dict([["head_dim", 192], ["v_head_dim", 128]])]])), [(function mimo_v2_flash(c, i) {
let kind, is_local, kv_heads, width, attention;
kind = c.kind(i, ((i) => ($eq(i, 0) || $eq($mod($add(i, 1), 6), 0) ? model_families_readers$FULL : model_families_readers$SLIDING)), [model_families_readers$FULL, model_families_readers$SLIDING]);
[is_local, kv_heads] = [$eq(kind, model_families_readers$SLIDING), c.count("num_key_value_heads")];
width = c.count("head_dim");
attention = model_families_readers$grouped(c, void 0, void 0, void 0, $dict([["kv_heads", ($truth(is_local) ? $mul(2, kv_heads) : kv_heads)], ["head_dim", width], ["sinks", is_local], ["value_dim", c.count("v_head_dim")], ["biases", model_families_readers$biases(c, "attention_bias", false, model_families_readers$QKV)], ["window", ($truth(is_local) ? model_families_routed$_mimo_window(c) : null)], ["rotary_dim", model_families_readers$rotary(c, width, 0.334, void 0, kind)]]));
if (!model_families_readers$sparse(c, i, ((i) => $gt(i, 0)))) {
return model_families_readers$layer([attention, model_families_readers$mlp(c, void 0, void 0, void 0, $dict([]))], void 0, $dict([]));
}
return model_families_readers$layer([attention, model_families_readers$experts(c, "n_routed_experts", void 0, void 0, void 0, void 0, $dict([]))], void 0, $dict([]));
})]);
function model_families_routed$_mimo_window(c) {
if ($truth(c.has("sliding_window_size"))) {
return $add(c.count("sliding_window_size"), 1);
}
return c.count("sliding_window", 129);
}
let model_families_routed$phimoe = $call(model_families_family$family("phimoe", "PhimoeForCausalLM", void 0, $dict([["tied", false], ["norm", "layer_norm"], ["size", ((c) => $dict([["biases", ($truth(c.flag("lm_head_bias", false)) ? ["unembedding"] : [])]]))]])), [(function phimoe(c, i) {
let found, norm, attention, two, routed;
[found, norm] = [model_families_readers$biases(c, "attention_bias", false, model_families_readers$QKVO), "layer_norm"];
attention = model_families_readers$grouped(c, void 0, void 0, void 0, $dict([["biases", found], ["window", model_families_readers$window(c, i)], ["norm", norm]]));
two = c.but($dict([["num_experts_per_tok", 2]]));
routed = model_families_readers$experts(two, "num_local_experts", "intermediate_size", void 0, void 0, void 0, $dict([]));
return model_families_readers$layer([attention, routed], void 0, $dict([["norm", norm]]));
})]);
let model_families_routed$afmoe = $call(model_families_family$family("afmoe", "AfmoeForCausalLM", void 0, $dict([["tied", false], ["usual", $dict([["head_dim", 128]])]])), [(function afmoe(c, i) {
let every, reach, attention, extra, routed;
every = c.count("global_attn_every_n_layers", 4);
reach = model_families_readers$sliding(c, i, ((i) => ($truth($mod($add(i, 1), every)) ? model_families_readers$SLIDING : model_families_readers$FULL)));
attention = model_families_readers$grouped(c, void 0, true, void 0, $dict([["biases", model_families_readers$biases(c, "attention_bias", false, model_families_readers$QKVO)], ["qk_norm", "head"], ["gate", "element"], ["window", reach], ["rotary_dim", ($truth(reach) ? null : 0)]]));
if ($lt(i, c.count("num_dense_layers", 1, 0))) {
return model_families_readers$layer([attention, model_families_readers$mlp(c, void 0, void 0, void 0, $dict([]))], 4, $dict([]));
}
extra = [model_families_readers$added(c.count("num_experts"))];
routed = model_families_readers$experts(c, "num_experts", void 0, void 0, "num_shared_experts", void 0, $dict([["extra", extra]]));
return model_families_readers$layer([attention, routed], 4, $dict([]));
})]);
let model_families_routed$laguna = $call(model_families_family$family("laguna", "LagunaForCausalLM", void 0, $dict([["tied", false], ["usual", $dict([["head_dim", 128], ["num_key_value_heads", 8]])]])), [(function laguna(c, i) {
let of_each, kind, attention, width, extra;
of_each = c.each_layer("num_attention_heads_per_layer", $int);
kind = c.kind(i, ((_) => model_families_readers$FULL), [model_families_readers$FULL, model_families_readers$SLIDING]);
attention = model_families_readers$grouped(c, void 0, void 0, void 0, $dict([["heads", ($truth(of_each) ? $at(of_each, i) : null)], ["qk_norm", "head"], ["gate", model_families_routed$output_gate(c)], ["biases", model_families_readers$biases(c, "attention_bias", false, model_families_readers$QKVO)], ["window", ($eq(kind, model_families_readers$SLIDING) ? c.count("sliding_window", 512) : null)], ["rotary_dim", model_families_readers$rotary(c, c.count("head_dim"), ($eq(kind, model_families_readers$FULL) ? 0.5 : 1), void 0, kind)]]));
if (!model_families_readers$sparse(c, i, ((i) => $gt(i, 0)))) {
return model_families_readers$layer([attention, model_families_readers$mlp(c, void 0, void 0, void 0, $dict([]))], void 0, $dict([]));
}
width = c.count("shared_expert_intermediate_size");
extra = [model_families_readers$added(c.count("num_experts"))];
return model_families_readers$layer([attention, model_families_readers$experts(c, "num_experts", void 0, void 0, void 0, void 0, $dict([["shared_width", width], ["extra", extra]]))], void 0, $dict([]));
})]);
function model_families_routed$output_gate(c) {
let stated, is_known;
stated = c.get("gating");
is_known = ((stated === null) || (($type(stated) === $bool) || $has(["per-head", "per-element"], stated)));
c.require(is_known, `'gating' must be true, 'per-head' or 'per-element', got ${$repr(stated)}`);
return ($has([null, true, "per-head"], stated) ? "head" : "element");
}
let model_families_routed$qwen3_vl_moe_text = $call(model_families_family$family("qwen3_vl_moe_text", "Qwen3VLMoeForConditionalGeneration", $dict([["qwen3_vl_moe", false]]), $dict([["tied", true], ["names", $dict([["num_experts", ["num_experts", "num_local_experts"]]])], ["inside", $dict([["vocab_size", 151936], ["hidden_size", 2048], ["intermediate_size", 5632], ["num_hidden_layers", 24], ["num_attention_heads", 16], ["num_key_value_heads", 16], ["moe_intermediate_size", 1408], ["num_experts_per_tok", 4], ["num_experts", 60]])]])), [(function qwen3_vl_moe_text(c, i) {
let attention, step, is_dense;
attention = model_families_readers$grouped(c, void 0, void 0, void 0, $dict([["qk_norm", "head"], ["biases", model_families_readers$biases(c, "attention_bias", false, model_families_readers$QKVO)]]));
step = c.count("decoder_sparse_step", 1);
is_dense = ($has(c.entries("mlp_only_layers", $int), i) || $mod($add(i, 1), step));
return model_families_readers$layer([attention, ($truth(is_dense) ? model_families_readers$mlp(c, void 0, void 0, void 0, $dict([])) : model_families_readers$experts(c, "num_experts", void 0, void 0, void 0, void 0, $dict([])))], void 0, $dict([]));
})]);
function model_families_routed$_step_fields(fields) {
let found, other, layers, more, name;
found = $dict(fields, $dict([]));
other = found.pop("attention_other_setting", null);
if ((found.get("num_sliding_attention_heads") === null) && $isinstance(other, [$abc_Mapping])) {
$put(found, "num_sliding_attention_heads", other.get("num_attention_heads"));
}
[layers, more] = [found.get("num_hidden_layers"), found.get("num_nextn_predict_layers")];
if (($type(layers) === $int) && ($type(more) === $int)) {
for (name of ["layer_types", "mlp_layer_types"]) {
if ($isinstance(found.get(name), [$list]) && $eq($len($at(found, name)), $add(layers, more))) {
$put(found, name, $part($at(found, name), null, layers, null));
}
}
}
return found;
}
let model_families_routed$step3p5 = $call(model_families_family$family("step3p5", "Step3p7ForConditionalGeneration", $dict([["step3p7", false]]), $dict([["also", ["Step3p7FlashForCausalLM", "Step3p5ForCausalLM"]], ["tied", false], ["rewrite", model_families_routed$_step_fields], ["names", $dict([["num_key_value_heads", ["num_key_value_heads", "num_attention_groups"]], ["n_routed_experts", ["n_routed_experts", "moe_num_experts"]], ["num_experts_per_tok", ["num_experts_per_tok", "moe_top_k"]], ["share_expert_dim", ["share_expert_dim", "share_expert_dims"]]])], ["inside", $dict([["vocab_size", 128815], ["hidden_size", 4096], ["intermediate_size", 11264], ["num_hidden_layers", 45], ["num_attention_heads", 64], ["num_key_value_heads", 8], ["head_dim", 128], ["num_experts_per_tok", 8], ["moe_intermediate_size", 1280], ["n_routed_experts", 288], ["share_expert_dim", 1280]])]])), [(function step3p5(c, i) {
let kind, heads, attention, has_bias, width;
kind = c.kind(i, ((_) => model_families_readers$FULL), [model_families_readers$FULL, model_families_readers$SLIDING]);
heads = c.count("num_attention_heads");
if ($eq(kind, model_families_readers$SLIDING) && !$truth(c.has("per_layer_config"))) {
heads = c.count("num_sliding_attention_heads", heads);
}
attention = model_families_readers$grouped(c, void 0, void 0, void 0, $dict([["heads", heads], ["qk_norm", "head"], ["gate", model_families_routed$output_gate(c)], ["biases", model_families_readers$biases(c, "attention_bias", false, model_families_readers$QKVO)], ["window", ($eq(kind, model_families_readers$SLIDING) ? c.count("sliding_window") : null)]]));
has_bias = c.flag("mlp_bias", false);
if (!model_families_readers$sparse(c, i, ((i) => $has(model_families_routed$_step_sparse(c), i)))) {
return model_families_readers$layer([attention, model_families_readers$mlp(c, void 0, void 0, void 0, $dict([["bias", has_bias]]))], void 0, $dict([]));
}
width = c.count("share_expert_dim");
return model_families_readers$layer([attention, model_families_readers$experts(c, "n_routed_experts", void 0, void 0, void 0, void 0, $dict([["shared_width", width], ["shared_bias", has_bias]]))], void 0, $dict([]));
})]);
function model_families_routed$_step_sparse(c) {
let listed, entries, is_list;
listed = c.get("moe_layers_enum");
if ((listed === null)) {
return $set($range(3, c.layers));
}
entries = ($isinstance(listed, [$str]) ? $str_split(listed, ",") : listed);
is_list = ($isinstance(entries, [$list]) && $all((function* () { for (const entry of entries) yield $str_isdecimal($str_strip($str(entry))); })()));
c.require(is_list, `'moe_layers_enum' must list layers, got ${$repr(listed)}`);
return $set((() => { const $ = []; for (const entry of entries) $.push($int(entry)); return $; })());
}
let model_families_routed$dbrx = $call(model_families_family$family("dbrx", "DbrxForCausalLM", void 0, $dict([["tied", false], ["norm", "layer_norm_no_bias"], ["names", $dict([["hidden_size", ["d_model", "hidden_size"]], ["num_hidden_layers", ["n_layers", "num_hidden_layers"]], ["num_attention_heads", ["n_heads", "num_attention_heads"]]])]])), [(function dbrx(c, i) {
let norm, inner, outer, attention, kind, count, chosen, width;
[norm, inner, outer] = ["layer_norm_no_bias", c.inside("ffn_config"), c.inside("attn_config")];
attention = model_families_readers$grouped(c, void 0, void 0, void 0, $dict([["kv_heads", outer.count("kv_n_heads", 1)], ["head_dim", model_families_readers$head_dim(c, false)], ["norm", norm]]));
kind = inner.inside("ffn_act_fn").read("name", $str, "silu");
c.require((kind === "silu"), `'ffn_act_fn' must be 'silu' to be counted here, got ${$repr(kind)}`);
[count, chosen] = [inner.count("moe_num_experts", 4), inner.count("moe_top_k", 1)];
c.require($le(chosen, count), `'moe_top_k' is ${$str(chosen)}, but 'moe_num_experts' is ${$str(count)}`);
width = inner.count("ffn_hidden_size", 3584);
return model_families_readers$layer([attention, new layers_feed$Mixture().__init__(count, chosen, width)], void 0, $dict([["norm", norm]]));
})]);
function model_families_routed$_cohere_norm(c) {
return ((c.get("rms_norm_eps") !== null) ? "rms_norm" : "layer_norm_no_bias");
}
let model_families_routed$cohere2_moe = $call(model_families_family$family("cohere2_moe", "Cohere2MoeForCausalLM", void 0, $dict([["tied", true], ["norm", "layer_norm_no_bias"], ["usual", $dict([["head_dim", 128], ["num_shared_experts", 0]])], ["size", ((c) => $dict([["norm", model_families_routed$_cohere_norm(c)]]))]])), [(function cohere2_moe(c, i) {
let dense, norm, early, late, rule, is_sparse, reach, rotates, attention, width, shared, feed, name, plain;
[dense, norm] = [c.count("first_k_dense_replace", 0, 0), model_families_routed$_cohere_norm(c)];
[early, late] = [c.count("prefix_dense_sliding_window_pattern", 1), c.count("sliding_window_pattern", 4)];
rule = function rule(i) {
let is_local;
is_local = ($lt(i, dense) ? $mod($add(i, 1), early) : $mod($add($sub(i, dense), 1), late));
return ($truth(is_local) ? model_families_readers$SLIDING : model_families_readers$FULL);
};
is_sparse = model_families_readers$sparse(c, i, ((i) => $ge(i, dense)));
reach = ($eq(c.kind(i, rule, [model_families_readers$FULL, model_families_readers$SLIDING]), model_families_readers$SLIDING) ? c.count("sliding_window", 4096) : null);
rotates = ((reach !== null) || (!$truth(is_sparse) && $eq(early, 1)));
attention = model_families_readers$grouped(c, void 0, true, void 0, $dict([["biases", model_families_readers$biases(c, "attention_bias", false, model_families_readers$QKVO)], ["norm", norm], ["window", reach], ["rotary_dim", ($truth(rotates) ? null : 0)]]));
if ($truth(is_sparse)) {
[width, shared] = ["intermediate_size", "num_shared_experts"];
feed = model_families_readers$experts(c, "num_experts", width, void 0, shared, void 0, $dict([]));
return model_families_readers$layer([attention, feed], 1, $dict([["parallel", true], ["norm", norm]]));
}
name = "prefix_dense_intermediate_size";
plain = model_families_readers$mlp(c, ($truth(c.has(name)) ? name : "intermediate_size"), void 0, void 0, $dict([]));
return model_families_readers$layer([attention, plain], 1, $dict([["parallel", true], ["norm", norm]]));
})]);
let model_families_state_spaces$MAMBA2;
model_families_state_spaces$MAMBA2 = $dict([["mamba_n_heads", 128], ["mamba_d_head", "auto"], ["mamba_n_groups", 1], ["mamba_d_state", 256], ["mamba_d_conv", 4], ["mamba_expand", 2], ["mamba_chunk_size", 256], ["mamba_conv_bias", true], ["mamba_proj_bias", false]]);
let model_families_state_spaces$MAMBA1;
model_families_state_spaces$MAMBA1 = $dict([["mamba_d_state", 16], ["mamba_d_conv", 4], ["mamba_expand", 2], ["mamba_dt_rank", "auto"], ["mamba_conv_bias", true], ["mamba_proj_bias", false]]);
let model_families_state_spaces$OWN_NAMES;
model_families_state_spaces$OWN_NAMES = $dict([["mamba_n_heads", "num_heads"], ["mamba_d_head", "head_dim"], ["mamba_n_groups", "n_groups"], ["mamba_d_state", "state_size"], ["mamba_d_conv", "conv_kernel"], ["mamba_expand", "expand"], ["mamba_chunk_size", "chunk_size"], ["mamba_conv_bias", "use_conv_bias"], ["mamba_proj_bias", "use_bias"], ["mamba_dt_rank", "time_step_rank"]]);
let model_families_state_spaces$NEMOTRON_NAMES;
model_families_state_spaces$NEMOTRON_NAMES = $dict([...model_families_state_spaces$OWN_NAMES.items(), ["mamba_n_heads", "mamba_num_heads"], ["mamba_d_head", "mamba_head_dim"], ["mamba_d_state", "ssm_state_size"], ["mamba_n_groups", ["n_groups", "mamba_n_groups"]], ["mamba_d_conv", ["conv_kernel", "mamba_d_conv"]], ["mamba_chunk_size", ["chunk_size", "mamba_chunk_size"]], ["mamba_conv_bias", ["use_conv_bias", "mamba_conv_bias"]], ["layer_types", ["layers_block_type", "layer_types"]]]);
let model_families_state_spaces$mamba = $call(model_families_family$family("mamba", "MambaForCausalLM", void 0, $dict([["tied", true], ["names", model_families_state_spaces$OWN_NAMES], ["usual", model_families_state_spaces$MAMBA1]])), [(function mamba(c, i) {
return model_families_readers$layer([model_families_state_spaces$_mamba(c, c.count("intermediate_size", model_families_state_spaces$_expanded(c)), $dict([]))], 1, $dict([]));
})]);
let model_families_state_spaces$falcon_mamba = $call(model_families_family$family("falcon_mamba", "FalconMambaForCausalLM", void 0, $dict([["tied", true], ["names", model_families_state_spaces$OWN_NAMES], ["usual", model_families_state_spaces$MAMBA1]])), [(function falcon_mamba(c, i) {
let width;
width = c.count("intermediate_size", model_families_state_spaces$_expanded(c));
return model_families_readers$layer([model_families_state_spaces$_mamba(c, width, $dict([["inner_norms", 3], ["weightless_norms", true]]))], 1, $dict([]));
})]);
let model_families_state_spaces$mamba2 = $call(model_families_family$family("mamba2", "Mamba2ForCausalLM", void 0, $dict([["tied", false], ["names", model_families_state_spaces$OWN_NAMES], ["usual", $dict([...model_families_state_spaces$MAMBA2.items(), ["mamba_d_head", 64], ["mamba_n_groups", 8], ["mamba_d_state", 128]])]])), [(function mamba2(c, i) {
return model_families_readers$layer([model_families_state_spaces$_mamba2(c, model_families_state_spaces$_expanded(c), $dict([]))], 1, $dict([]));
})]);
let model_families_state_spaces$jamba = $call(model_families_family$family("jamba", "JambaForCausalLM", void 0, $dict([["tied", false], ["names", $dict([["num_experts", ["num_experts", "num_local_experts"]]])], ["usual", $dict([...model_families_state_spaces$MAMBA1.items(), ["attn_layer_period", 8], ["attn_layer_offset", 4], ["expert_layer_period", 2], ["expert_layer_offset", 1], ["num_experts", 16], ["num_experts_per_tok", 2], ["num_key_value_heads", 8]])]])), [(function jamba(c, i) {
let kind, mixer;
kind = model_families_readers$agreed(c, i, ((i) => (model_families_state_spaces$_is_turn(c, i, "attn_layer") ? model_families_readers$FULL : model_families_readers$LINEAR)));
mixer = ($eq(kind, model_families_readers$FULL) ? model_families_readers$grouped(c, void 0, void 0, void 0, $dict([["rotary_dim", 0]])) : model_families_state_spaces$_mamba(c, void 0, $dict([["inner_norms", 3]])));
if (!model_families_state_spaces$_is_turn(c, i, "expert_layer") || $lt(c.count("num_experts", void 0, 0), 2)) {
return model_families_readers$layer([mixer, model_families_readers$mlp(c, void 0, void 0, void 0, $dict([]))], void 0, $dict([]));
}
return model_families_readers$layer([mixer, model_families_readers$experts(c, "num_experts", "intermediate_size", void 0, void 0, void 0, $dict([]))], void 0, $dict([]));
})]);
function model_families_state_spaces$_is_turn(c, i, name) {
let period, offset, text;
[period, offset] = [c.count(`${$str(name)}_period`), c.count(`${$str(name)}_offset`, void 0, 0)];
text = `'${$str(name)}_offset' must be less than '${$str(name)}_period' (${$str(period)}), got ${$str(offset)}`;
c.require($lt(offset, period), text);
return $eq($mod(i, period), offset);
}
let model_families_state_spaces$bamba = $call(model_families_family$family("bamba", "BambaForCausalLM", void 0, $dict([["tied", false], ["usual", $dict([...model_families_state_spaces$MAMBA2.items(), ["num_key_value_heads", 8]])], ["names", $dict([["layer_types", ["layer_types", "layers_block_type"]]])]])), [(function bamba(c, i) {
let attends, kind, mixer, found;
attends = c.entries("attn_layer_indices", $int);
kind = model_families_readers$agreed(c, i, ((i) => ($has(attends, i) ? model_families_readers$FULL : model_families_readers$LINEAR)));
if ($eq(kind, model_families_readers$LINEAR)) {
mixer = model_families_state_spaces$_mamba2(c, model_families_state_spaces$_expanded(c), $dict([]));
} else {
found = model_families_readers$biases(c, "attention_bias", false, model_families_readers$QKVO);
mixer = model_families_readers$grouped(c, void 0, void 0, void 0, $dict([["biases", found], ["rotary_dim", $floordiv(model_families_readers$head_dim(c), 2)]]));
}
return model_families_readers$layer([mixer, model_families_readers$mlp(c, void 0, void 0, void 0, $dict([["bias", c.flag("mlp_bias", false)]]))], void 0, $dict([]));
})]);
let model_families_state_spaces$granitemoehybrid = $call(model_families_family$family("granitemoehybrid", "GraniteMoeHybridForCausalLM", void 0, $dict([["tied", false], ["names", $dict([["layer_types", ["layer_types", "layers_block_type"]]])], ["usual", $dict([...model_families_state_spaces$MAMBA2.items(), ["num_local_experts", 8], ["num_experts_per_tok", 2], ["shared_intermediate_size", 1024]])]])), [(function granitemoehybrid(c, i) {
let mixer, is_rotated, found, shared, feed;
if ($eq(c.kind(i, ((_) => model_families_readers$LINEAR), [model_families_readers$FULL, model_families_readers$LINEAR]), model_families_readers$LINEAR)) {
mixer = model_families_state_spaces$_mamba2(c, model_families_state_spaces$_expanded(c), $dict([]));
} else {
is_rotated = (c.get("position_embedding_type") === "rope");
found = model_families_readers$biases(c, "attention_bias", false, model_families_readers$QKVO);
mixer = model_families_readers$grouped(c, void 0, void 0, void 0, $dict([["biases", found], ["rotary_dim", ($truth(is_rotated) ? null : 0)]]));
}
if ($eq(c.count("num_local_experts", void 0, 0), 0)) {
return model_families_readers$layer([mixer, model_families_readers$mlp(c, "shared_intermediate_size", void 0, void 0, $dict([["name", "shared"]]))], void 0, $dict([]));
}
shared = c.count("shared_intermediate_size");
feed = model_families_readers$experts(c, "num_local_experts", "intermediate_size", void 0, void 0, void 0, $dict([["shared_width", shared]]));
return model_families_readers$layer([mixer, feed], void 0, $dict([]));
})]);
let model_families_state_spaces$falcon_h1 = $call(model_families_family$family("falcon_h1", "FalconH1ForCausalLM", void 0, $dict([["tied", false], ["usual", $dict([...model_families_state_spaces$MAMBA2.items(), ["mamba_d_ssm", 1024], ["num_key_value_heads", 8]])]])), [(function falcon_h1(c, i) {
let attention, width, scan;
attention = model_families_readers$grouped(c, void 0, void 0, void 0, $dict([["biases", model_families_readers$biases(c, "attention_bias", false, model_families_readers$QKVO)]]));
width = ($truth(c.has("mamba_d_ssm")) ? c.count("mamba_d_ssm") : model_families_state_spaces$_expanded(c));
scan = model_families_state_spaces$_mamba2(c, width, $dict([["gate_norm", c.flag("mamba_rms_norm", false)], ["out_bias", c.flag("projectors_bias", false)]]));
return model_families_readers$layer([attention, scan, model_families_readers$mlp(c, void 0, void 0, void 0, $dict([["bias", c.flag("mlp_bias", false)]]))], void 0, $dict([]));
})]);
function model_families_state_spaces$_nemotron_fields(fields) {
let kinds, letters, found;
[kinds, letters] = [fields.get("layers_block_type"), fields.get("hybrid_override_pattern")];
if ((kinds === null) && $isinstance(letters, [$str]) && $le($set(letters), $set(model_families_state_spaces$_LETTERS))) {
kinds = (() => { const $ = $list(); for (const letter of letters) $.push($at(model_families_state_spaces$_LETTERS, letter)); return $; })();
}
found = ((kinds === null) ? $dict(fields, $dict([])) : $dict([...fields.items(), ["layers_block_type", kinds]]));
if ($isinstance(kinds, [$list]) && (found.get("num_hidden_layers") === null)) {
$put(found, "num_hidden_layers", $len(kinds));
}
return found;
}
let model_families_state_spaces$_LETTERS;
model_families_state_spaces$_LETTERS = $dict([["M", model_families_readers$LINEAR], ["E", "moe"], ["*", model_families_readers$FULL], ["-", "mlp"]]);
let model_families_state_spaces$nemotron_h = $call(model_families_family$family("nemotron_h", "NemotronHForCausalLM", void 0, $dict([["always_tied", false], ["rewrite", model_families_state_spaces$_nemotron_fields], ["names", model_families_state_spaces$NEMOTRON_NAMES], ["usual", $dict([...model_families_state_spaces$MAMBA2.items(), ["mamba_d_head", 64], ["mamba_n_groups", 8], ["mamba_d_state", 128], ["mamba_chunk_size", 128], ["num_key_value_heads", 8], ["head_dim", 128], ["n_routed_experts", 8], ["num_experts_per_tok", 2]])]])), [(function nemotron_h(c, i) {
let kind, width;
kind = c.kind(i, null, [model_families_readers$FULL, model_families_readers$LINEAR, "mlp", "moe"]);
if ($eq(kind, model_families_readers$LINEAR)) {
width = $mul(c.count("mamba_n_heads"), c.count("mamba_d_head"));
return model_families_readers$layer([model_families_state_spaces$_mamba2(c, width, $dict([]))], 1, $dict([]));
}
if ($eq(kind, model_families_readers$FULL)) {
return model_families_readers$layer([model_families_readers$grouped(c, void 0, void 0, void 0, $dict([["rotary_dim", 0]]))], 1, $dict([]));
}
return model_families_readers$layer([model_families_state_spaces$_nemotron_feed(c, kind)], 1, $dict([]));
})]);
function model_families_state_spaces$_nemotron_feed(c, kind) {
let bias, act, text;
[bias, act] = [c.flag("mlp_bias", false), model_families_readers$activation(c, "relu2", ["mlp_hidden_act"])];
if ((kind === "mlp")) {
return model_families_readers$mlp(c, void 0, void 0, void 0, $dict([["gated", false], ["bias", bias], ["activation", act]]));
}
text = "'mlp_bias' with 'moe_latent_size' is not counted here";
c.require(!($truth(bias) && $truth(c.has("moe_latent_size"))), text);
return model_families_readers$experts(c, "n_routed_experts", void 0, void 0, void 0, void 0, $dict([["gated", false], ["activation", act], ["shared_bias", bias], ["shared_width", c.count("moe_shared_expert_intermediate_size")], ["latent", c.optional("moe_latent_size")]]));
}
let model_families_state_spaces$ZAMBA;
model_families_state_spaces$ZAMBA = $dict([["mamba_expand", 2], ["mamba_d_conv", 4], ["num_mem_blocks", 1], ["adapter_rank", 128]]);
let model_families_state_spaces$HYBRID;
model_families_state_spaces$HYBRID = "hybrid";
let model_families_state_spaces$zamba2 = $call(model_families_family$family("zamba2", "Zamba2ForCausalLM", void 0, $dict([["tied", true], ["names", $dict([["mamba_n_heads", "n_mamba_heads"], ["mamba_n_groups", "mamba_ngroups"], ["mamba_chunk_size", "chunk_size"], ["mamba_proj_bias", "add_bias_linear"], ["layer_types", ["layers_block_type", "layer_types"]]])], ["usual", $dict([...model_families_state_spaces$MAMBA2.items(), ...model_families_state_spaces$ZAMBA.items(), ["mamba_d_state", 64], ["mamba_n_heads", 8]])]])), [(function zamba2(c, i) {
let scan, d, rank, bias, width, feed, around, name, rotated;
scan = model_families_state_spaces$_mamba2(c, model_families_state_spaces$_expanded(c), $dict([]));
if ($eq(c.kind(i, null, [model_families_state_spaces$HYBRID, model_families_readers$LINEAR]), model_families_readers$LINEAR)) {
return model_families_readers$layer([scan], 1, $dict([]));
}
[d, rank, bias] = [c.d_model, c.count("adapter_rank"), c.flag("mamba_proj_bias")];
width = c.count("intermediate_size", $mul(4, d));
feed = new layers_feed$Mlp().__init__(width, void 0, model_families_readers$activation(c, "gelu", []), bias);
around = $add(layers_parts$linear_step("adapter.down", d, rank), layers_parts$linear_step("adapter.up", rank, $mul(2, width)));
if ($truth(c.flag("use_shared_attention_adapter", false))) {
for (name of model_families_readers$QKV) {
around = $iadd(around, $add(layers_parts$linear_step(`${$str(name)}.down`, $mul(2, d), rank), layers_parts$linear_step(`${$str(name)}.up`, rank, $mul(2, d))));
}
}
rotated = ($truth(c.flag("use_mem_rope", false)) ? null : 0);
return model_families_state_spaces$_hybrid(c, i, [model_families_state_spaces$_wide_attention(c, $dict([["rotary_dim", rotated]])), feed], scan, around);
})]);
let model_families_state_spaces$zamba = $call(model_families_family$family("zamba", "ZambaForCausalLM", void 0, $dict([["tied", true], ["names", $dict([["layer_types", ["layers_block_type", "layer_types"]]])], ["usual", $dict([...model_families_state_spaces$MAMBA1.items(), ...model_families_state_spaces$ZAMBA.items()])]])), [(function zamba(c, i) {
let scan, shared;
scan = model_families_state_spaces$_mamba(c, void 0, $dict([]));
if ($eq(c.kind(i, null, [model_families_state_spaces$HYBRID, model_families_readers$LINEAR]), model_families_readers$LINEAR)) {
return model_families_readers$layer([scan], 1, $dict([]));
}
c.require($has(c.fields, "num_key_value_heads"), "'num_key_value_heads' is missing");
shared = [model_families_state_spaces$_wide_attention(c, $dict([["rotary_dim", 0]])), model_families_readers$mlp(c, void 0, void 0, void 0, $dict([["default", "gelu"]]))];
return model_families_state_spaces$_hybrid(c, i, shared, scan);
})]);
function model_families_state_spaces$_wide_attention(c, more) {
let heads, d, kv_heads, text;
[heads, d] = [c.count("num_attention_heads"), c.d_model];
kv_heads = c.count("num_key_value_heads", heads);
text = `'num_attention_heads' (${$str(heads)}) must divide twice 'hidden_size' (${$str(d)})`;
c.require($eq($mod($mul(2, d), heads), 0), text);
c.require($eq($mod(heads, kv_heads), 0), `'num_key_value_heads' must divide ${$str(heads)}, got ${$str(kv_heads)}`);
c.same("attention_hidden_size", $mul(2, d), "'hidden_size'");
c.same("attention_head_dim", $floordiv($mul(2, d), heads), "'hidden_size'");
return $call(layers_attention_kinds$Attention, [], $dict([["heads", heads], ["kv_heads", kv_heads], ["head_dim", $floordiv($mul(2, d), heads)], ["d_in", $mul(2, d)], ...more.items()]));
}
function model_families_state_spaces$_hybrid(c, i, shared, scan, around = []) {
let wide, block, before, is_again, text, borrowed, own;
wide = layers_parts$normalisation("shared.norm", $mul(2, c.d_model), "rms_norm");
block = model_families_readers$layer([...shared], 1, $dict([["extra", [wide]]]));
before = (() => { const $ = $list(); for (const j of $range(i)) $.push(c.kind(j, null, [model_families_state_spaces$HYBRID, model_families_readers$LINEAR])); return $; })().count(model_families_state_spaces$HYBRID);
is_again = $ge(before, c.count("num_mem_blocks"));
text = "'tie_word_embeddings' is off, which unties the shared blocks too: not counted here";
c.require($either(c.flag("tie_word_embeddings", true), () => !$truth(is_again)), text);
borrowed = ($truth(is_again) ? block.parameters(c.d_model) : 0);
own = layers_parts$linear_step("shared.proj", c.d_model, c.d_model);
return model_families_readers$layer([...shared, scan], void 0, $dict([["extra", [wide, ...own, ...around]], ["borrowed", borrowed]]));
}
function model_families_state_spaces$_expanded(c) {
return $mul(c.count("mamba_expand"), c.d_model);
}
function model_families_state_spaces$_mamba(c, width = null, more) {
let is_auto, rank;
is_auto = (c.get("mamba_dt_rank") === "auto");
rank = ($truth(is_auto) ? (-$floordiv((-c.d_model), 16)) : c.count("mamba_dt_rank"));
return $call(layers_scans$Mamba, [], $dict([["width", ((width === null) ? model_families_state_spaces$_expanded(c) : width)], ["state_dim", c.count("mamba_d_state")], ["step_rank", rank], ["kernel", c.count("mamba_d_conv")], ["bias", c.flag("mamba_proj_bias")], ["conv_bias", c.flag("mamba_conv_bias")], ...more.items()]));
}
function model_families_state_spaces$_mamba2(c, width, more) {
let heads, by, groups, text;
[heads, by] = [c.count("mamba_n_heads"), c.spelled("mamba_n_heads")];
groups = c.count("mamba_n_groups");
text = `${$repr(c.spelled("mamba_n_groups"))} must divide ${$repr(by)} (${$str(heads)}), got ${$str(groups)}`;
c.require($eq($mod(heads, groups), 0), text);
c.require($eq($mod(width, heads), 0), `${$repr(by)} (${$str(heads)}) must divide the scan's width, ${$str(width)}`);
if ((c.get("mamba_d_head") !== "auto")) {
text = `${$repr(c.spelled("mamba_d_head"))} times ${$repr(by)} must be the scan's width, ${$str(width)}`;
c.require($eq($mul(c.count("mamba_d_head"), heads), width), text);
}
return $call(layers_scans$Mamba2, [], $dict([["heads", heads], ["head_dim", $floordiv(width, heads)], ["state_dim", c.count("mamba_d_state")], ["groups", groups], ["kernel", c.count("mamba_d_conv")], ["chunk", c.count("mamba_chunk_size")], ["bias", c.flag("mamba_proj_bias")], ["conv_bias", c.flag("mamba_conv_bias")], ...more.items()]));
}
let model_families_quantisation$NVFP4;
model_families_quantisation$NVFP4 = new model_checkpoint$Packing().__init__(4, $div(1, 16));
let model_families_quantisation$MXFP4;
model_families_quantisation$MXFP4 = new model_checkpoint$Packing().__init__(4, $div(1, 32));
let model_families_quantisation$MXFP8;
model_families_quantisation$MXFP8 = new model_checkpoint$Packing().__init__(8, $div(1, 32));
let model_families_quantisation$FP8;
model_families_quantisation$FP8 = new model_checkpoint$Packing().__init__(8);
function model_families_quantisation$storage_of(fields, family) {
let stated, problem;
stated = fields.get("quantization_config");
if ((stated === null)) {
return null;
}
try {
return model_families_quantisation$_read(stated, fields, family);
} catch ($problem0) {
if ($caught($problem0, [$TypeError, $ValueError])) {
problem = $problem0;
return new model_checkpoint$Storage().__init__("unread", void 0, void 0, void 0, void 0, void 0, void 0, void 0, $str(problem));
} else throw $problem0;
}
return null;
}
function model_families_quantisation$_read(stated, fields, family) {
let config, method, known;
if (!$isinstance(stated, [$abc_Mapping])) {
throw new $TypeError().__init__([`${$str(family)} config: 'quantization_config' must be an object, got ${$repr(stated)}`]);
}
config = new model_families_config$Config().__init__(stated, `${$str(family)} quantization_config`);
method = model_families_quantisation$_method(config);
if (!$has(model_families_quantisation$_METHODS, method)) {
known = $str_join(", ", $sorted(model_families_quantisation$_METHODS));
throw config.error(`'quant_method' must be one of ${$str(known)}, got ${$repr(method)}`);
}
return $call($at(model_families_quantisation$_METHODS, method), [config, fields], null);
}
function model_families_quantisation$_method(config) {
let method;
method = config.read("quant_method", $str, "");
return ($truth(config.has("quant_algo")) || !$truth(method) ? "modelopt" : method);
}
function model_families_quantisation$_fp8(config, fields) {
let block, beside, experts;
block = config.entries("weight_block_size", $int);
beside = ($eq($len(block), 2) && $gt($min([block]), 0) ? $div(4, $mul($at(block, 0), $at(block, 1))) : 0);
experts = ((fields.get("expert_dtype") === "fp4") ? model_families_quantisation$MXFP4 : null);
return new model_checkpoint$Storage().__init__((!$truth(block) ? "fp8" : `fp8 in blocks of ${$str($at(block, 0))} x ${$str($at(block, 1))}`), new model_checkpoint$Packing().__init__(8, beside), experts, model_families_quantisation$_modules(config, "modules_to_not_convert"), void 0, void 0, void 0, "fp8");
}
function model_families_quantisation$_compressed(config, fields) {
let groups, usual, special, name, group, inner, packing, targets, target, computes;
groups = config.read("config_groups", $dict);
usual = null;
special = $list([]);
for ([name, group] of groups.items()) {
inner = new model_families_config$Config().__init__(group, `${$str(config.family)} ${$str(name)}`);
packing = model_families_quantisation$_group_packing(new model_families_config$Config().__init__(inner.read("weights", $dict), inner.family));
targets = $either(inner.entries("targets", $str), () => $list(["Linear"]));
for (target of targets) {
if ($has(["Linear", "re:.*Linear.*"], target)) {
usual = packing;
} else {
special.append([target, packing]);
}
}
}
computes = model_families_quantisation$_is_wide(config, groups);
return new model_checkpoint$Storage().__init__(config.read("format", $str, "compressed-tensors"), usual, void 0, model_families_quantisation$_modules(config, "ignore"), $tuple(special), void 0, ($truth(config.has("kv_cache_scheme")) ? "fp8" : null), computes);
}
function model_families_quantisation$_is_wide(config, groups) {
let group, inputs, known;
for (group of groups.values()) {
inputs = group.get("input_activations");
if ($isinstance(inputs, [$abc_Mapping])) {
known = $dict([["8 float", "fp8"], ["8 int", "int8"], ["4 float", "fp4"]]);
return known.get(`${$str(inputs.get("num_bits"))} ${$str(inputs.get("type"))}`);
}
}
return null;
}
function model_families_quantisation$_group_packing(weights) {
let bits, kind, group, block, zero, is_row;
[bits, kind] = [weights.count("num_bits"), weights.read("type", $str, "int")];
group = weights.optional("group_size", -1);
block = weights.get("block_structure");
if ((kind === "float") && $eq(bits, 4)) {
return ($eq(group, 32) ? model_families_quantisation$MXFP4 : model_families_quantisation$NVFP4);
}
zero = ($truth(weights.flag("symmetric", true)) ? 0 : $div(bits, 8));
if ((group !== null) && $gt(group, 0)) {
return new model_checkpoint$Packing().__init__(bits, $div($add(2, zero), group));
}
if ($isinstance(block, [$list]) && $eq($len(block), 2)) {
return new model_checkpoint$Packing().__init__(bits, $div(4, $mul($at(block, 0), $at(block, 1))));
}
is_row = (weights.get("strategy") === "channel");
return new model_checkpoint$Packing().__init__(bits, void 0, ($truth(is_row) ? $add(2, zero) : 0));
}
function model_families_quantisation$_modelopt(config, fields) {
let layers, algorithm, kept, kv, cache, packing, compute, special, module, about, inner, method, others;
layers = config.read("quantized_layers", $dict, $dict([]));
algorithm = config.read("quant_algo", $str, "");
if (!$truth(algorithm) && $truth(config.has("config_groups"))) {
return model_families_quantisation$_compressed(config, fields);
}
kept = [...model_families_quantisation$_modules(config, "exclude_modules"), ...model_families_quantisation$_modules(config, "ignore")];
kv = $either(config.get("kv_cache_quant_algo"), () => config.get("kv_cache_scheme"));
cache = ((kv !== null) ? "fp8" : null);
if (!$truth(layers)) {
packing = model_families_quantisation$_algorithm(config, algorithm);
compute = ($has(algorithm, "NVFP4") ? "fp4" : "fp8");
return new model_checkpoint$Storage().__init__(algorithm, packing, void 0, kept, void 0, void 0, cache, compute);
}
special = $list([]);
for ([module, about] of layers.items()) {
inner = new model_families_config$Config().__init__(about, `${$str(config.family)} ${$str(module)}`);
if ($has(module, ".experts.") && !$has(module, ".experts.0.")) {
continue;
}
special.append([module, model_families_quantisation$_algorithm(inner, inner.read("quant_algo", $str))]);
}
method = fields.get("quantization_config", $dict([])).get("quant_method");
others = ((method === "fp8") ? model_families_quantisation$_fp8(config, $dict([])).packing : null);
return new model_checkpoint$Storage().__init__(algorithm, others, void 0, kept, $tuple(special), void 0, cache, "fp8");
}
function model_families_quantisation$_algorithm(config, name) {
let known;
known = $dict([["FP8", model_families_quantisation$FP8], ["NVFP4", model_families_quantisation$NVFP4], ["W4A16_NVFP4", model_families_quantisation$NVFP4], ["MXFP4", model_families_quantisation$MXFP4]]);
known = $ior(known, $dict([["W4A8_NVFP4_FP8", model_families_quantisation$NVFP4], ["MXFP8", model_families_quantisation$MXFP8]]));
known = $ior(known, $dict([["FP8_PB_WO", new model_checkpoint$Packing().__init__(8, $div(4, $pow(128, 2)))]]));
known = $ior(known, $dict([["W4A16_AWQ", model_families_quantisation$_integers(4, config.count("group_size", 128))]]));
known = $ior(known, $dict([["W8A8_SQ_PER_CHANNEL", new model_checkpoint$Packing().__init__(8, void 0, 4)], ["INT8", new model_checkpoint$Packing().__init__(8, void 0, 4)]]));
config.require($has(known, name), `'quant_algo' must be one of ${$str($str_join(", ", known))}, got ${$repr(name)}`);
return $at(known, name);
}
function model_families_quantisation$_integers(bits, group, has_zeros = false) {
let zero;
zero = ($truth(has_zeros) ? $div(bits, 8) : 0);
return new model_checkpoint$Packing().__init__(bits, ($gt(group, 0) ? $div($add(2, zero), group) : 0));
}
function model_families_quantisation$_awq(config, fields) {
let bits, group, packing, kept;
bits = config.count(($truth(config.has("bits")) ? "bits" : "w_bit"));
group = config.count(($truth(config.has("group_size")) ? "group_size" : "q_group_size"), 128);
packing = model_families_quantisation$_integers(bits, group, true);
kept = model_families_quantisation$_modules(config, "modules_to_not_convert");
return new model_checkpoint$Storage().__init__(`AWQ, ${$str(bits)} bits`, packing, void 0, kept);
}
function model_families_quantisation$_gptq(config, fields) {
let bits, group, packing, indexed, kept;
[bits, group] = [config.count("bits"), config.count("group_size", 128, -1)];
packing = model_families_quantisation$_integers(bits, group, true);
indexed = new model_checkpoint$Packing().__init__(bits, packing.beside, void 0, 4);
kept = model_families_quantisation$_modules(config, "modules_in_block_to_not_quantize");
return new model_checkpoint$Storage().__init__(`GPTQ, ${$str(bits)} bits`, indexed, void 0, kept);
}
function model_families_quantisation$_bitsandbytes(config, fields) {
let kept, text, is_double, beside, kind;
kept = model_families_quantisation$_modules(config, "llm_int8_skip_modules");
if ($truth(config.flag("load_in_8bit", false))) {
return new model_checkpoint$Storage().__init__("int8", new model_checkpoint$Packing().__init__(8, void 0, 4), void 0, kept, void 0, void 0, void 0, "int8");
}
text = "'load_in_4bit' or 'load_in_8bit' must be true";
config.require(config.flag("load_in_4bit", false), text);
is_double = config.flag("bnb_4bit_use_double_quant", false);
beside = ($truth(is_double) ? $div($add(1, $div(4, 256)), 64) : $div(4, 64));
kind = config.read("bnb_4bit_quant_type", $str, "fp4");
return new model_checkpoint$Storage().__init__(kind, new model_checkpoint$Packing().__init__(4, beside), void 0, kept);
}
function model_families_quantisation$_mxfp4(config, fields) {
return new model_checkpoint$Storage().__init__("MXFP4", void 0, model_families_quantisation$MXFP4);
}
function model_families_quantisation$_modules(config, name) {
return $tuple(config.entries(name, $str));
}
let model_families_quantisation$_METHODS = $dict([["fp8", model_families_quantisation$_fp8], ["fbgemm_fp8", model_families_quantisation$_fp8], ["compressed-tensors", model_families_quantisation$_compressed], ["modelopt", model_families_quantisation$_modelopt], ["awq", model_families_quantisation$_awq], ["gptq", model_families_quantisation$_gptq], ["bitsandbytes", model_families_quantisation$_bitsandbytes], ["mxfp4", model_families_quantisation$_mxfp4]]);
let model_families$_NEVER_TIED;
model_families$_NEVER_TIED = ["muse_spark", "qwen2_audio", "voxtral"];
let model_families$_USUAL_INSIDE = $dict([["voxtral", $dict([["vocab_size", 131072], ["hidden_size", 3072], ["intermediate_size", 8192], ["num_hidden_layers", 30], ["num_key_value_heads", 8], ["head_dim", 128]])], ["glmasr", $dict([["vocab_size", 59264], ["hidden_size", 2048], ["intermediate_size", 6144], ["num_hidden_layers", 28], ["num_attention_heads", 16], ["num_key_value_heads", 4]])]]);
let model_families$_NEVER;
model_families$_NEVER = $dict([["is_encoder_decoder", false], ["add_cross_attention", false]]);
let model_families$_INSIDE;
model_families$_INSIDE = ["text_config", "llm_config", "language_config"];
let model_families$_TIED;
model_families$_TIED = "tie_word_embeddings";
function model_families$from_hf(source, make) {
let whole, fields, left_out, is_inside, name, entry, usual, beside;
whole = model_families_config$fields_of(source);
[fields, left_out] = model_families$_text_fields(whole);
is_inside = (fields !== whole);
name = new model_families_config$Config().__init__(fields, "the").read("model_type", $str);
if (!$has(model_families_family$FAMILIES, name)) {
throw new $ValueError().__init__([model_families$_unknown(name)]);
}
entry = $at(model_families_family$FAMILIES, name);
fields = ((entry.rewrite === null) ? fields : entry.rewrite(fields));
usual = $dict([...entry.usual.items(), ...($truth(is_inside) ? entry.inside : $dict([])).items()]);
beside = $dict([["left_out", left_out], ["storage", model_families_quantisation$storage_of($dict([...fields.items(), ...whole.items()]), name)]]);
return model_families$_build(new model_families_config$Config().__init__(fields, name, entry.names, usual), entry, $partial(make, [], $dict([...beside.items()])));
}
function model_families$_unknown(name) {
let near, nearest;
near = $difflib_get_close_matches($str_lower(name), model_families_family$FAMILIES, 1, 0.85);
nearest = ($truth(near) ? `the nearest is ${$repr($at(near, 0))}; ` : "");
return `model_type ${$repr(name)} is not one that costlib knows; ${$str(nearest)}it knows ${$str($len(model_families_family$FAMILIES))}, as list(costlib.families.FAMILIES) says. A family is one entry: see help(costlib.families.family)`;
}
function model_families$_text_fields(fields) {
let name, inside, others, inner, wrapper, kind, found, tied, inner_ties, here;
name = new model_families_config$Config().__init__(fields, "the").read("model_type", $str);
inside = $next((function* () { for (const key of model_families$_INSIDE) if ($isinstance(fields.get(key), [$abc_Mapping])) yield key; })(), null);
if ((inside === null) && $has(model_families_family$WRAPPERS, name) && $has(fields, "hidden_size")) {
others = (function* () { for (const key of fields) if ($truth($str_endswith(key, "_config"))) yield key; })();
return [$dict([...fields.items(), ["model_type", $at(model_families_family$WRAPPERS, name).text]]), $tuple(others)];
}
if ((inside === null) && $has(model_families_family$WRAPPERS, name)) {
throw new $ValueError().__init__([`${$str(name)} config: 'text_config' must be an object, the text model's config`]);
}
if ((inside === null) || ($has(model_families_family$FAMILIES, name) && !$has(model_families_family$WRAPPERS, name))) {
return [fields, []];
}
[inner, wrapper] = [$at(fields, inside), model_families_family$WRAPPERS.get(name, new model_families_family$Wrapper().__init__())];
kind = $either(inner.get("model_type"), () => wrapper.text);
if (!$isinstance(kind, [$str])) {
throw new $ValueError().__init__([`${$str(name)} config: the model_type of its ${$repr(inside)} is missing`]);
}
found = $dict([...model_families$_USUAL_INSIDE.get(name, $dict([])).items(), ...inner.items(), ["model_type", kind]]);
if ($has(model_families_family$WRAPPERS, name)) {
found.pop("architectures", null);
}
tied = ($has(model_families$_NEVER_TIED, name) ? false : fields.get(model_families$_TIED, wrapper.tied));
inner_ties = ((wrapper.tied === null) && (inner.get(model_families$_TIED) === true));
if ((tied !== null) && !$truth(inner_ties)) {
$put(found, model_families$_TIED, tied);
}
here = [inside, "quantization_config"];
others = (function* () { for (const key of fields) if ($truth($str_endswith(key, "_config")) && !$has(here, key)) yield key; })();
return [found, $tuple((() => { const $ = []; for (const key of others) if ($isinstance($at(fields, key), [$abc_Mapping])) $.push(key); return $; })())];
}
function model_families$_build(config, entry, make) {
let sizes, name, steps, change, problem, kind;
model_families$_check_variant(config, entry);
sizes = $dict([["d_model", config.d_model], ["vocab", config.count("vocab_size")], ["tied", model_families$_tied(config, entry)], ["norm", entry.norm], ["final_norm", entry.final_norm], ["embedding_norm", entry.embedding_norm], ["biases", ($truth(entry.unembedding_bias) ? ["unembedding"] : [])]]);
if ((entry.positions !== null)) {
$put(sizes, "positions", $add(config.count("max_position_embeddings"), entry.positions));
}
for (name of ["first", "last"]) {
steps = $getattr(entry, name);
$put(sizes, name, ((steps === null) ? [] : $call(steps, [config], null)));
}
try {
$put(sizes, "blocks", model_families$_runs((function* () { for (const i of $range(config.layers)) yield entry.layer(config.at(i), i); })()));
$put(sizes, "ahead", model_families$_ahead(config, entry));
for (change of [entry.size, model_families$_own_head(config, entry)]) {
sizes = $ior(sizes, ((change === null) ? $dict([]) : $call(change, [config], null)));
}
return $call(make, [], $dict([...sizes.items()]));
} catch ($problem0) {
if ($caught($problem0, [$OverflowError, $TypeError, $ValueError])) {
problem = $problem0;
if ($truth($str_startswith($str(problem), config.family))) {
throw $problem0;
}
kind = ($isinstance(problem, [$TypeError]) ? $TypeError : $ValueError);
throw config.error($str(problem), kind);
} else throw $problem0;
}
return null;
}
function model_families$_ahead(config, entry) {
let heads, d, last, one, block, joined, extra;
heads = ($truth(entry.ahead) ? config.count(entry.ahead, 0, 0) : 0);
if (!$truth(heads)) {
return [];
}
[d, last] = [config.d_model, $sub(config.layers, 1)];
one = entry.ahead_layer;
block = ((one === null) ? entry.layer(config.at(last), last) : $call(one, [config], null));
joined = layers_parts$linear_step("ahead.proj", $mul(2, d), d);
extra = [...block.extra, ...joined];
return [$replace(block, $dict([["layers", heads], ["norms", $add(block.norms, 3)], ["extra", extra]]))];
}
function model_families$_own_head(config, entry) {
let stated;
stated = config.entries("architectures", $str);
return $next((function* () { for (const name of stated) if ($has(entry.heads, name)) yield $at(entry.heads, name); })(), null);
}
function model_families$_tied(config, entry) {
let stated;
stated = config.flag("tie_word_embeddings", ((entry.always_tied === null) ? entry.tied : true));
return ((entry.always_tied === null) ? stated : entry.always_tied);
}
function model_families$_runs(layers) {
let kinds, runs, one, kind;
kinds = $list([]);
runs = $list([]);
for (one of layers) {
kind = $next((function* () { for (const known of $part(kinds, -8, null, null)) if (layers_parts$same(known, one)) yield known; })(), null);
if ((kind === null)) {
kinds.append(one);
}
if ((kind !== null) && ($at($at(runs, -1), 0) === kind)) {
$put(runs, -1, [kind, $add($at($at(runs, -1), 1), 1)]);
} else {
runs.append([($truth(kind) ? kind : one), 1]);
}
}
return $tuple((() => { const $ = []; for (const [kind, layers] of runs) $.push($replace(kind, $dict([["layers", layers]]))); return $; })());
}
function model_families$_is_named(entry, name) {
let others;
if ($has(model_families$_classes(entry), name)) {
return true;
}
others = $set((() => { const $ = []; for (const other of model_families_family$FAMILIES.values()) for (const name of model_families$_classes(other)) $.push(name); return $; })());
return $both($str_endswith(name, ["ForCausalLM", "ForConditionalGeneration"]), () => !$has(others, name));
}
function model_families$_classes(entry) {
return $set([entry.architecture, ...entry.also, ...entry.heads]);
}
function model_families$_check_variant(config, entry) {
let stated, text, name, only, value, is_right, other;
stated = config.entries("architectures", $str);
text = `'architectures' is ${$str(stated)}, but ${$str(config.family)} is counted as ${$str(entry.architecture)}`;
config.require((!$truth(stated) || $any((function* () { for (const name of stated) yield model_families$_is_named(entry, name); })())), text);
for ([name, only] of $dict([...model_families$_NEVER.items(), ...entry.refuse.items()]).items()) {
value = config.stated(name);
is_right = ((value === null) || (($type(value) === $type(only)) && $eq(value, only)));
config.require(is_right, `${$repr(name)} must be ${$repr(only)} to be counted here, got ${$repr(value)}`);
}
for ([name, other] of entry.agree.items()) {
config.same(name, config.count(other), $repr(other));
}
}
let model_transformer$BIASES;
model_transformer$BIASES = ["qkv", "o_proj", "ffn", "router", "experts", "unembedding"];
class model_transformer$MoE extends $object {
__post_init__() {
const self = this;
layers_attention$check_sizes(self, ["experts", "per_token", "width"]);
layers_attention$check_sizes(self, ["shared_width", "dense_layers"], 0);
units_numbers$size("experts - per_token", $sub(self.experts, self.per_token), 0);
}
__init__(experts, per_token, width, shared_width = 0, shared_gate = false, dense_layers = 0) {
this.experts = experts;
this.per_token = per_token;
this.width = width;
this.shared_width = shared_width;
this.shared_gate = shared_gate;
this.dense_layers = dense_layers;
this.__post_init__();
return this;
}
}
$class(model_transformer$MoE, "MoE", "experts per_token width shared_width shared_gate dense_layers", "/ experts per_token width shared_width= shared_gate= dense_layers=");
class model_transformer$Transformer extends $object {
__post_init__() {
const self = this;
let bias, name;
layers_attention$check_sizes(self, ["d_model", "vocab", "sharers", "sharer_nodes"]);
units_numbers$choose("norm", self.norm, $tuple(layers_parts$NORM_WEIGHTS));
for (bias of self.biases) {
units_numbers$choose("biases", bias, model_transformer$BIASES);
}
for (name of model_transformer$_FLAGS) {
units_numbers$choose(name, $getattr(self, name), [true, false]);
}
if ($truth(self.blocks)) {
model_transformer$_read_blocks(self);
} else {
layers_attention$check_sizes(self, ["layers", "heads", "d_ff"]);
model_transformer$_complete(self);
layers_parts$set_field(self, "blocks", model_transformer$_blocks(self));
}
layers_attention$check_sizes(self, ["positions"], 0);
layers_attention$check_sizes(self, [...((self.embedding_width === null) ? $list([]) : $list(["embedding_width"]))]);
layers_parts$set_field(self, "_table", new layers_table$Table().__init__(self));
}
static from_hf(config) {
const cls = this;
return model_families$from_hf(config, cls);
}
with_(changes) {
const self = this;
let is_inside, outside, found, names;
is_inside = !$le($set(changes), $set(model_transformer$_OUTSIDE_BLOCKS));
if ($has(self._derived, "blocks") && $truth(is_inside)) {
return $replace(self, $dict([...$dict([...model_transformer$_defaults(self._derived).items(), ...changes.items()]).items()]));
}
if (!$truth(is_inside) || $has(changes, "blocks")) {
outside = $tuple((() => { const $ = []; for (const bias of self.biases) if ((bias === "unembedding")) $.push(bias); return $; })());
return $replace(self, $dict([...$dict([...model_transformer$_defaults(model_transformer$_SIZES).items(), ["biases", outside], ...changes.items()]).items()]));
}
found = model_transformer$_by_sizes(self);
if ((found === null)) {
names = $str_join(", ", $sorted($sub($set(changes), $set(model_transformer$_OUTSIDE_BLOCKS))));
throw new $ValueError().__init__([`the layers of this model differ, so that it has no one ${$str(names)}: change its blocks`]);
}
return $call($getattr(found, "with_"), [], $dict([...changes.items()]));
}
get is_uniform() {
const self = this;
return ($has(self._derived, "blocks") || (model_transformer$_by_sizes(self) !== null));
}
params() {
const self = this;
if ((self._table.params === null)) {
self._table.params = self._parameters();
}
return self._table.params;
}
active_params() {
const self = this;
return self._parameters(true);
}
_parameters(active = false) {
const self = this;
let total, step, part, layers, block;
total = 0;
for (step of self.steps()) {
if (!($truth(self.tied) && (step.name === "unembedding"))) {
total = layers_parts$plus(total, step.parameters(($truth(active) ? step.chosen : null)));
}
}
for ([part, layers] of self._table.mixers) {
total = layers_parts$plus(total, $mul(layers, part.mixing_weights));
}
for (block of self.blocks) {
if (!units_numbers$is_zero(block.borrowed)) {
total = $sub(total, $mul(block.layers, block.borrowed));
}
}
return total;
}
weight_bytes(precision = null) {
const self = this;
let sizes;
if ((precision === null) && (self.storage !== null)) {
if ((self._table.packed === null)) {
sizes = [self.d_model, self.params(), self.storage];
self._table.packed = model_checkpoint$weight_bytes(self.blocks, ...sizes);
}
return self._table.packed;
}
return $mul(self.params(), units_precision$precision_of(precision).weights);
}
get precision() {
const self = this;
let storage, weights, cache, steps, own, found;
storage = self.storage;
if ((storage === null) || $truth(storage.unread)) {
return new units_precision$Precision().__init__();
}
if ((self._table.own === null)) {
weights = $div(self.weight_bytes(), self.params());
cache = ((storage.kv === null) ? storage.plain : storage.kv);
steps = [...model_checkpoint$step_bytes(self.blocks, self.d_model, storage), ["", storage.plain]];
own = new units_precision$Precision().__init__(weights, void 0, cache, void 0, storage.compute, steps);
self._table.own = own;
}
found = self._table.own;
return found;
}
prefill(batch, seq, logits = "all", options) {
const self = this;
[batch, seq] = [units_numbers$size("batch", batch), units_numbers$size("seq", seq)];
return self._forward($call(layers_parts$Pass, [batch, seq, seq], $dict([["logits", logits], ...options.items()])));
}
decode(batch, context, new$ = 1, logits = "all", options) {
const self = this;
[batch, new$] = [units_numbers$size("batch", batch), units_numbers$size("new", new$)];
context = units_numbers$size("context", context, 0);
return self._forward($call(layers_parts$Pass, [batch, new$, $add(context, new$)], $dict([["logits", logits], ...options.items()])));
}
kv_elements_per_token() {
const self = this;
let total, cache, layers, each;
total = 0;
for ([cache, layers] of self._table.caches) {
each = $mul(layers, cache.per_token);
total = layers_parts$plus(total, (layers_parts$is_one(cache.every) ? each : $div(each, cache.every)));
}
return total;
}
state_elements() {
const self = this;
let total, cache, layers;
total = 0;
for ([cache, layers] of self._table.caches) {
total = layers_parts$plus(total, (!units_numbers$is_zero(cache.state) ? $mul(layers, cache.state) : 0));
}
return total;
}
caches() {
const self = this;
return $tuple(self._table.caches);
}
get global_layers() {
const self = this;
return $sub(self.layers, self.local_layers);
}
steps() {
const self = this;
let table;
table = self._table;
return [...table.before, ...table.after, ...table.last];
}
mixing(run) {
const self = this;
return (() => { const $ = $list(); for (const [part, layers] of self._table.mixers) for (const op of part.mixing(run, layers)) $.push(op); return $; })();
}
_forward(run) {
const self = this;
let before, after, ops, own, holds;
[before, after] = self.alike(run);
ops = [...before, ...self.mixing(run), ...after, ...self._messages(run)];
own = ((self.storage === null) ? null : self.precision);
holds = new units_ledger$Holding().__init__(self, run.batch, run.context, run.encoded);
return new units_ledger$Ledger().__init__(ops, holds, own);
}
_messages(run) {
const self = this;
let stream, found, each, tiers, block, part;
[stream, found] = [$mul(run.tokens, self.d_model), new units_ledger$Ledger().__init__()];
if (!layers_parts$is_one(self.sharers)) {
each = $mul(run.steps, $sum((() => { const $ = []; for (const b of self.blocks) $.push($mul(b.layers, ($truth(b.parallel) ? 1 : b.added))); return $; })()));
tiers = $dict([["inside", units_numbers$exact_div(self.sharers, self.sharer_nodes)]]);
$put(tiers, "across", self.sharer_nodes);
found = $call(units_messages$collective, ["all_reduce", stream], $dict([["axis", "tensor"], ["count", each], ...tiers.items()]));
}
for (block of self.blocks) {
for (part of block.parts) {
found = $add(found, part.messages(run, block.layers, self.d_model));
}
}
if ($truth(self.hands_on)) {
found = $add(found, units_messages$message("send", run.steps, stream, self.hands_on));
}
return $list(found);
}
__init__(layers = null, d_model = null, heads = null, d_ff = null, vocab = null, kv_heads = null, head_dim = null, gated = true, activation = "silu", tied = false, norm = "rms_norm", norms = 2, final_norm = true, embedding_norm = false, qk_norm = null, biases = [], positions = 0, rotary_dim = null, parallel = false, window = null, local_layers = null, sinks = false, moe = null, mla = null, first = [], last = [], embedding_width = null, head = [], pooled = false, ahead = [], predicted = 0, copied = false, sharers = 1, sharer_nodes = 1, is_first = true, hands_on = "", blocks = [], left_out = [], storage = null) {
this.layers = layers;
this.d_model = d_model;
this.heads = heads;
this.d_ff = d_ff;
this.vocab = vocab;
this.kv_heads = kv_heads;
this.head_dim = head_dim;
this.gated = gated;
this.activation = activation;
this.tied = tied;
this.norm = norm;
this.norms = norms;
this.final_norm = final_norm;
this.embedding_norm = embedding_norm;
this.qk_norm = qk_norm;
this.biases = biases;
this.positions = positions;
this.rotary_dim = rotary_dim;
this.parallel = parallel;
this.window = window;
this.local_layers = local_layers;
this.sinks = sinks;
this.moe = moe;
this.mla = mla;
this.first = first;
this.last = last;
this.embedding_width = embedding_width;
this.head = head;
this.pooled = pooled;
this.ahead = ahead;
this.predicted = predicted;
this.copied = copied;
this.sharers = sharers;
this.sharer_nodes = sharer_nodes;
this.is_first = is_first;
this.hands_on = hands_on;
this.blocks = blocks;
this.left_out = left_out;
this.storage = storage;
this._derived = [];
this._table = null;
this.__post_init__();
return this;
}
alike(run) {
const self = this;
let table, how, unembedded, before, after;
[table, how] = [self._table, [run.experts, run.masked]];
unembedded = self._unembedded(run);
before = (() => { const $ = $list(); for (const step of table.before) $.push(step.op(run.tokens, ...how)); return $; })();
after = (() => { const $ = $list(); for (const step of table.after) $.push(step.op(run.tokens, ...how)); return $; })();
after = $iadd(after, (() => { const $ = $list(); for (const step of table.last) $.push(step.op(unembedded)); return $; })());
if ($truth(run.one_by_one)) {
return [(() => { const $ = $list(); for (const op of before) $.push($mul(op, run.seq)); return $; })(), (() => { const $ = $list(); for (const op of after) $.push($mul(op, run.seq)); return $; })()];
}
return [before, after];
}
_unembedded(run) {
const self = this;
return ($truth(self.pooled) || (run.logits === "last") ? run.batch : run.tokens);
}
}
$class(model_transformer$Transformer, "Transformer", "layers d_model heads d_ff vocab kv_heads head_dim gated activation tied norm norms final_norm embedding_norm qk_norm biases positions rotary_dim parallel window local_layers sinks moe mla first last embedding_width^ head^ pooled^ ahead^~ predicted^ copied^ sharers sharer_nodes^ is_first^ hands_on^ blocks^ left_out^~ storage^ _derived!^~ _table!^~", "/ layers= d_model= heads= d_ff= vocab= kv_heads= head_dim= gated= activation= tied= norm= norms= final_norm= embedding_norm= qk_norm= biases= positions= rotary_dim= parallel= window= local_layers= sinks= moe= mla= first= last= embedding_width= head= pooled= ahead= predicted= copied= sharers= sharer_nodes= is_first= hands_on= blocks= left_out= storage=");
$signed(model_transformer$Transformer.prototype.with_, "/ **changes");
$signed(model_transformer$Transformer.prototype.decode, "batch context new= / logits= **options");
let model_transformer$_FLAGS;
model_transformer$_FLAGS = [...["gated", "tied", "final_norm", "embedding_norm", "parallel", "sinks"], ...["pooled", "copied", "is_first"]];
let model_transformer$_SIZES;
model_transformer$_SIZES = ["layers", "heads", "d_ff", "kv_heads", "head_dim", "gated", "activation", "norms", "qk_norm", "rotary_dim", "parallel", "window", "local_layers", "sinks", "moe", "mla"];
let model_transformer$_OUTSIDE_BLOCKS;
model_transformer$_OUTSIDE_BLOCKS = ["blocks", "left_out", "storage", "vocab", "tied", "final_norm", "embedding_norm", "positions", "first", "last", "embedding_width", "head", "pooled", "ahead", "predicted", "copied", "sharers", "sharer_nodes", "is_first", "hands_on"];
function model_transformer$_complete(model) {
let heads, mla, optional, derived;
[heads, mla] = [model.heads, model.mla];
optional = ["kv_heads", "head_dim", "rotary_dim", "local_layers"];
derived = $tuple((() => { const $ = []; for (const name of optional) if (($getattr(model, name) === null)) $.push(name); return $; })());
layers_parts$set_field(model, "_derived", [...derived, "blocks"]);
if ((model.kv_heads === null)) {
layers_parts$set_field(model, "kv_heads", heads);
}
if ((model.head_dim === null)) {
if ((mla === null) && !units_numbers$divides(heads, model.d_model)) {
throw new $ValueError().__init__([`d_model=${$str(model.d_model)} is not a multiple of heads=${$str(heads)}: give head_dim`]);
}
layers_parts$set_field(model, "head_dim", ($truth(mla) ? mla.head_dim : units_numbers$exact_div(model.d_model, heads)));
}
layers_attention$check_sizes(model, ["kv_heads", "head_dim", ...((model.window === null) ? $list([]) : $list(["window"]))]);
layers_attention$check_groups(heads, model.kv_heads);
if ((model.rotary_dim === null)) {
layers_parts$set_field(model, "rotary_dim", ($truth(mla) ? mla.rope_dim : model.head_dim));
}
if ((model.window === null) && $truth(model.local_layers)) {
throw new $ValueError().__init__(["local_layers needs a window"]);
}
if ((model.local_layers === null)) {
layers_parts$set_field(model, "local_layers", ((model.window === null) ? 0 : model.layers));
}
layers_attention$check_sizes(model, ["rotary_dim", "local_layers", "norms"], 0);
units_numbers$size("layers - local_layers", model.global_layers, 0);
units_numbers$choose("activation", model.activation, layers_feed$ACTIVATIONS);
units_numbers$choose("qk_norm", model.qk_norm, [null, "head", "full"]);
if ($truth(mla) && ((model.window !== null) || $truth(model.qk_norm) || $truth(model.biases) || $truth(model.sinks))) {
throw new $ValueError().__init__(["mla goes with no window, qk_norm, biases or sinks"]);
}
}
function model_transformer$_blocks(model) {
let mixers, dense, sparse, plain, counts, split, overlap, rest, made, how;
mixers = model_transformer$_mixers(model);
[dense, sparse] = model_transformer$_feeds(model);
plain = ($truth(model.moe) ? model.moe.dense_layers : model.layers);
if (units_numbers$is_zero(model.local_layers) || units_numbers$is_zero(model.global_layers)) {
counts = [plain, 0, $sub(model.layers, plain), 0];
mixers = (units_numbers$is_zero(model.local_layers) ? mixers : $part(mixers, null, null, -1));
} else {
if ((model.moe === null) || units_numbers$is_zero(plain)) {
split = [model.global_layers, model.local_layers];
counts = ((model.moe === null) ? [...split, 0, 0] : [0, 0, ...split]);
} else {
overlap = units_numbers$minimum(plain, model.global_layers);
rest = units_numbers$maximum(0, $sub(plain, model.global_layers));
counts = [overlap, rest, $sub(model.global_layers, overlap), $sub(model.local_layers, rest)];
}
}
made = $zip([counts, [[dense, 0], [dense, 1], [sparse, 0], [sparse, 1]]], true);
how = $dict([["norms", model.norms], ["norm", model.norm], ["parallel", model.parallel]]);
return $tuple((() => { const $ = []; for (const [count, [feed, which]] of made) if (!units_numbers$is_zero(count)) $.push($call(layers_parts$Block, [], $dict([["layers", count], ["parts", [$at(mixers, which), feed]], ...how.items()]))); return $; })());
}
function model_transformer$_mixers(model) {
let latent, named, biases, everywhere;
if ($truth(model.mla)) {
latent = new layers_attention_kinds$Latent().__init__(model.heads, model.mla, model.norm);
return [latent, latent];
}
named = [["qkv", ["q_proj", "k_proj", "v_proj"]], ["o_proj", ["o_proj"]]];
biases = $tuple((() => { const $ = []; for (const [bias, names] of named) if ($has(model.biases, bias)) for (const name of names) $.push(name); return $; })());
everywhere = new layers_attention_kinds$Attention().__init__(model.heads, model.head_dim, model.kv_heads, void 0, void 0, void 0, void 0, model.rotary_dim, biases, model.norm, model.qk_norm, void 0, model.sinks);
return [everywhere, $replace(everywhere, $dict([["window", model.window]]))];
}
function model_transformer$_feeds(model) {
let moe, kind, dense, sparse;
moe = model.moe;
kind = $dict([["gated", model.gated], ["activation", model.activation]]);
dense = $call(layers_feed$Mlp, [], $dict([["width", model.d_ff], ["bias", $has(model.biases, "ffn")], ...kind.items()]));
if ((moe === null)) {
return [dense, dense];
}
sparse = $call(layers_feed$Mixture, [], $dict([["experts", moe.experts], ["per_token", moe.per_token], ["width", moe.width], ["shared_width", moe.shared_width], ["shared_gate", moe.shared_gate], ["router_bias", $has(model.biases, "router")], ["bias", $has(model.biases, "experts")], ...kind.items()]));
return [dense, sparse];
}
function model_transformer$_by_sizes(model) {
let sizes, heads, layers, usual, known, found;
sizes = $dict((() => { const $ = []; for (const name of model_transformer$_SIZES) $.push([name, $getattr(model, name)]); return $; })());
[heads, layers] = [model.heads, model.layers];
usual = $dict([["kv_heads", [heads]], ["rotary_dim", [model.head_dim]], ["local_layers", [0, layers]]]);
known = ((heads !== null) && (model.head_dim !== null));
if ($truth(known) && $eq($mul(heads, model.head_dim), model.d_model)) {
$put(usual, "head_dim", [model.head_dim]);
}
sizes = $ior(sizes, $dict((() => { const $ = []; for (const [name, values] of usual.items()) if ($has(values, $at(sizes, name))) $.push([name, null]); return $; })()));
if ((model.mla !== null)) {
sizes = $ior(sizes, $dict_fromkeys(["kv_heads", "head_dim", "rotary_dim"]));
}
$put(sizes, "d_ff", ((model.d_ff === null) && $truth(model.moe) ? model.moe.width : model.d_ff));
try {
found = $replace(model, $dict([...$dict([...sizes.items(), ["blocks", []]]).items()]));
} catch ($problem0) {
if ($caught($problem0, [$TypeError, $ValueError])) {
return null;
} else throw $problem0;
}
return (model_transformer$_same_layers(found.blocks, model.blocks) ? found : null);
}
function model_transformer$_biases_in(model) {
let found, part, named;
found = $set(model.biases);
for (part of (function* () { for (const block of model.blocks) for (const part of block.parts) yield part; })()) {
if ((part instanceof layers_attention_kinds$Attention)) {
named = [["qkv", "q_proj"], ["o_proj", "o_proj"]];
found = $ior(found, $set((() => { const $ = []; for (const [short, name] of named) if ($has(part.biases, name)) $.push(short); return $; })()));
}
if ((part instanceof layers_feed$Mlp) && $truth(part.bias)) {
found.add("ffn");
}
if ((part instanceof layers_feed$Mixture)) {
found = $ior(found, ($truth(part.router_bias) ? $set(["router"]) : $set()));
found = $ior(found, ($truth(part.bias) ? $set(["experts"]) : $set()));
}
}
return $tuple((() => { const $ = []; for (const bias of model_transformer$BIASES) if ($has(found, bias)) $.push(bias); return $; })());
}
function model_transformer$_same_layers(some, others) {
let counts, blocks, rows, block;
counts = $list([]);
for (blocks of [some, others]) {
rows = $list([]);
for (block of blocks) {
layers_table$count_rows(rows, $replace(block, $dict([["layers", 1]])), block.layers);
}
counts.append(rows);
}
return ($eq($len($at(counts, 0)), $len($at(counts, 1))) && $all((function* () { for (const [one, count] of $at(counts, 0)) yield $any((function* () { for (const [other, number] of $at(counts, 1)) yield (layers_parts$same(one, other) && layers_parts$same(count, number)); })()); })()));
}
function model_transformer$_defaults(names) {
let usual;
usual = $dict([["gated", true], ["activation", "silu"], ["norms", 2], ["parallel", false], ["sinks", false], ["blocks", []]]);
return $dict((() => { const $ = []; for (const name of names) $.push([name, usual.get(name)]); return $; })());
}
function model_transformer$_read_blocks(model) {
let blocks, name, total, block, parts;
blocks = model.blocks;
for (name of model_transformer$_SIZES) {
if (!$has([$at(model_transformer$_defaults($list([name])), name), null], $getattr(model, name))) {
throw new $ValueError().__init__([`a model is given by its sizes or by its blocks, got ${$str(name)} and both`]);
}
}
layers_parts$set_field(model, "_derived", model_transformer$_SIZES);
total = 0;
for (block of blocks) {
total = layers_parts$plus(total, block.layers);
}
layers_parts$set_field(model, "layers", total);
parts = (() => { const $ = $list(); for (const block of blocks) for (const part of block.parts) $.push([part, block]); return $; })();
model_transformer$_read_attention(model, parts);
model_transformer$_read_feeds(model, parts);
layers_parts$set_field(model, "biases", model_transformer$_biases_in(model));
layers_parts$set_field(model, "norms", model_transformer$_common((function* () { for (const block of blocks) yield block.norms; })()));
layers_parts$set_field(model, "parallel", $any((function* () { for (const block of blocks) yield block.parallel; })()));
}
function model_transformer$_read_attention(model, parts) {
let mixers, plain, name, local, count, _, layers;
mixers = (() => { const $ = $list(); for (const [part, block] of parts) if ($isinstance(part, [layers_attention_kinds$Attention, layers_attention_kinds$Latent])) $.push([part, block]); return $; })();
layers_parts$set_field(model, "heads", model_transformer$_common((function* () { for (const [part, _] of mixers) yield part.heads; })()));
layers_parts$set_field(model, "mla", model_transformer$_common((function* () { for (const [part, _] of mixers) yield $getattr(part, "mla", null); })()));
plain = (() => { const $ = $list(); for (const [part, block] of mixers) if ((part instanceof layers_attention_kinds$Attention)) $.push([part, block]); return $; })();
for (name of ["kv_heads", "head_dim", "rotary_dim", "qk_norm"]) {
layers_parts$set_field(model, name, model_transformer$_common((function* () { for (const [part, _] of plain) yield $getattr(part, name); })()));
}
if ($truth(model.mla)) {
layers_parts$set_field(model, "kv_heads", model.heads);
layers_parts$set_field(model, "head_dim", model.mla.head_dim);
layers_parts$set_field(model, "rotary_dim", model.mla.rope_dim);
}
layers_parts$set_field(model, "sinks", $any((function* () { for (const [part, _] of plain) yield part.sinks; })()));
local = (() => { const $ = $list(); for (const [part, block] of plain) if ((part.reach !== null)) $.push([part.reach, block.layers]); return $; })();
layers_parts$set_field(model, "window", model_transformer$_common((function* () { for (const [reach, _] of local) yield reach; })()));
count = 0;
for ([_, layers] of local) {
count = layers_parts$plus(count, layers);
}
layers_parts$set_field(model, "local_layers", count);
}
function model_transformer$_read_feeds(model, parts) {
let dense, mixtures, kinds, mixture, count, _, block, names, sizes;
dense = (() => { const $ = $list(); for (const [part, _] of parts) if ((part instanceof layers_feed$Mlp)) $.push(part); return $; })();
mixtures = (() => { const $ = $list(); for (const [part, block] of parts) if ((part instanceof layers_feed$Mixture)) $.push([part, block]); return $; })();
layers_parts$set_field(model, "d_ff", model_transformer$_common((function* () { for (const part of dense) yield part.width; })()));
kinds = $list([...dense, ...(function* () { for (const [part, _] of mixtures) yield part; })()]);
layers_parts$set_field(model, "gated", $all((function* () { for (const part of kinds) yield part.gated; })()));
layers_parts$set_field(model, "activation", model_transformer$_common((function* () { for (const part of kinds) yield part.activation; })()));
mixture = model_transformer$_common((function* () { for (const [part, _] of mixtures) yield part; })());
if ((mixture === null)) {
return null;
}
count = 0;
for ([_, block] of mixtures) {
count = layers_parts$plus(count, block.layers);
}
names = ["experts", "per_token", "width", "shared_width", "shared_gate"];
sizes = $dict((() => { const $ = []; for (const name of names) $.push([name, $getattr(mixture, name)]); return $; })());
layers_parts$set_field(model, "moe", $call(model_transformer$MoE, [], $dict([["dense_layers", $sub(model.layers, count)], ...sizes.items()])));
if (!$truth(dense)) {
layers_parts$set_field(model, "d_ff", mixture.width);
}
}
function model_transformer$_common(values) {
let found, is_common;
found = $list(values);
is_common = ($bool(found) && $all((function* () { for (const other of $part(found, 1, null, null)) yield layers_parts$same($at(found, 0), other); })()));
return ($truth(is_common) ? $at(found, 0) : null);
}
class model_catalog_lookup$UnknownName extends $KeyError {
__str__() {
const self = this;
return $str($at(self.args, 0));
}
}
$class(model_catalog_lookup$UnknownName, "UnknownName", "", "*args");
class model_catalog_lookup$Catalog extends $object {
__init__(kind, build) {
const self = this;
self._kind = kind;
self._build = build;
self._built = $dict([]);
self._own = $dict([]);
return this;
}
get data() {
return $once(this, "data", function () {
const self = this;
return $catalogue(self._kind);
});
}
provenance(name) {
const self = this;
let entry, sources, figures;
name = self.resolve(name);
if ($has(self._own, name)) {
return $dict([]);
}
[entry, sources] = [$at(self._entries, name), $at(self.data, "sources")];
figures = $dict([...entry.get("flops_per_s", $dict([])).items(), ...entry.items()]);
return $dict((() => { const $ = []; for (const [figure, about] of figures.items()) if ($isinstance(about, [$dict]) && $has(about, "source")) $.push([figure, $dict([...about.items(), ["source", $at(sources, $at(about, "source"))]])]); return $; })());
}
__getitem__(name) {
const self = this;
name = self.resolve(name);
if ($has(self._own, name)) {
return $at(self._own, name);
}
if (!$has(self._built, name)) {
$put(self._built, name, self._build(name, $at(self._entries, name)));
}
return $at(self._built, name);
}
__contains__(name) {
const self = this;
return ($isinstance(name, [$str]) && $has(self._name_of, model_catalog_lookup$plain(name)));
}
*__iter__() {
const self = this;
yield* self._entries;
yield* self._own;
}
__len__() {
const self = this;
return $add($len(self._entries), $len(self._own));
}
__repr__() {
const self = this;
return `<${$str($len(self))} ${$str(self._kind)}s: ${$str($str_join(", ", self))}>`;
}
get _entries() {
return $once(this, "_entries", function () {
const self = this;
let entries;
entries = $at(self.data, `${$str(self._kind)}s`);
return entries;
});
}
get _name_of() {
return $once(this, "_name_of", function () {
const self = this;
return $dict((() => { const $ = []; for (const [name, entry] of self._entries.items()) for (const alias of [name, ...$at(entry, "aliases")]) $.push([model_catalog_lookup$plain(alias), name]); return $; })());
});
}
resolve(name) {
const self = this;
if (!$isinstance(name, [$str])) {
throw new $TypeError().__init__([`a ${$str(self._kind)} is looked up by name, got ${$format($repr(name), `.200`)}`]);
}
if ($has(self._name_of, model_catalog_lookup$plain(name))) {
return $at(self._name_of, model_catalog_lookup$plain(name));
}
throw new model_catalog_lookup$UnknownName().__init__([self._why_not(name)]);
}
_why_not(name) {
const self = this;
let known, sought, longer, most, last, near, nearest, hint;
[known, sought] = [self._name_of, model_catalog_lookup$plain(name)];
longer = $dict((() => { const $ = []; for (const alias of known) if ($truth(sought) && $truth($str_startswith(alias, sought))) $.push([$at(known, alias), null]); return $; })());
if ($gt($len(longer), 1)) {
[most, last] = $spread(longer, 0, 1);
return `${$repr(name)} could be ${$str($str_join(", ", most))} or ${$str(last)}`;
}
near = $difflib_get_close_matches(sought, known, 8, 0.5);
near = $sorted(near, ((alias) => (-model_catalog_lookup$_begin_alike(alias, sought))));
nearest = $either($list([...longer]), () => (() => { const $ = $list(); for (const alias of near) $.push($at(known, alias)); return $; })());
hint = ($truth(nearest) ? `; the nearest is ${$str($at(nearest, 0))}` : "");
return `no ${$str(self._kind)} named ${$format($repr(name), `.200`)}${$str(hint)} (list(costlib.${$str(self._kind)}s) has them all)`;
}
}
$class(model_catalog_lookup$Catalog, "Catalog", "", "kind build");
function model_catalog_lookup$_begin_alike(one, other) {
let pairs;
pairs = $enumerate($zip([one, other], false));
return $next((function* () { for (const [at, [a, b]] of pairs) if (!$eq(a, b)) yield at; })(), $min([$len(one), $len(other)]));
}
function model_catalog_lookup$plain(name) {
return $str_join(" ", $re_findall("\\d+(?:\\.\\d+)*|[^\\W\\d_]+", $str_casefold(name)));
}
class model_catalog_node$Node extends $object {
__post_init__() {
const self = this;
let name, value, text;
for (name of ["devices", "axes"]) {
value = $getattr(self, name);
if (!$isinstance(value, [$int]) || $lt(value, 1)) {
throw new $ValueError().__init__([`${$str(name)} of a node must be a whole number from 1, got ${$repr(value)}`]);
}
}
for (name of ["link", "network", "latency"]) {
value = $getattr(self, name);
if ($isinstance(value, [$str, $bool]) || ((value !== null) && !$gt(value, 0))) {
text = `${$str(name)} of ${$str(self.name)} must be a positive number or None`;
throw new $ValueError().__init__([`${$str(text)}, got ${$repr(value)}`]);
}
}
}
with_(changes) {
const self = this;
return $replace(self, $dict([...changes.items()]));
}
__init__(name, device, devices, link, topology = "switch", axes = 1, latency = null, network = null, provenance = $call($dict, [])) {
this.name = name;
this.device = device;
this.devices = devices;
this.link = link;
this.topology = topology;
this.axes = axes;
this.latency = latency;
this.network = network;
this.provenance = provenance;
this.__post_init__();
return this;
}
link_among(devices) {
const self = this;
let rate, side, axis, filled;
if ((self.topology === "mesh")) {
return $div($mul(self._link, $sub(units_numbers$maximum(devices, 2), 1)), $sub(self.devices, 1));
}
if ((self.topology !== "torus")) {
return self._link;
}
[rate, side] = [self.link_per_axis, $pow(self.devices, $div(1, self.axes))];
for (axis of $range(1, self.axes)) {
filled = units_numbers$where($gt(devices, $mul($pow(side, axis), 1.001)), 1, 0);
rate = $add(rate, $mul(filled, self.link_per_axis));
}
return rate;
}
get link_per_axis() {
const self = this;
return $div(self._link, self.axes);
}
get _link() {
const self = this;
if ((self.link === null)) {
throw new $ValueError().__init__([`${$str(self.name)} has no link: give it one with with_()`]);
}
return self.link;
}
}
$class(model_catalog_node$Node, "Node", "name device devices link topology axes latency network provenance^~", "/ name device devices link topology= axes= latency= network= provenance=");
$signed(model_catalog_node$Node.prototype.with_, "/ **changes");
class model_catalog$Devices extends model_catalog_lookup$Catalog {
}
$class(model_catalog$Devices, "Devices", "", "kind build");
class model_catalog$Nodes extends model_catalog_lookup$Catalog {
}
$class(model_catalog$Nodes, "Nodes", "", "kind build");
class model_catalog$Models extends model_catalog_lookup$Catalog {
}
$class(model_catalog$Models, "Models", "", "kind build");
function model_catalog$device_of(given) {
if ($isinstance(given, [$str])) {
return $at(model_catalog$devices, given);
}
if (!(given instanceof units_device$Device)) {
throw new $TypeError().__init__([`device must be a Device or the name of one, got ${$format($repr(given), `.200`)}`]);
}
return given;
}
function model_catalog$model_of(given) {
if ($isinstance(given, [$str])) {
return $at(model_catalog$models, given);
}
if (!$isinstance(given, [model_catalog$_transformer()])) {
throw new $TypeError().__init__([`model must be a Transformer or the name of one, got ${$format($repr(given), `.200`)}`]);
}
return given;
}
function model_catalog$_transformer() {
return model_transformer$Transformer;
}
function model_catalog$_device(name, entry) {
let rates;
rates = $dict((() => { const $ = []; for (const [dtype, about] of $at(entry, "flops_per_s").items()) $.push([dtype, $at(about, "value")]); return $; })());
return $call(units_device$Device, [name, rates], $dict([...model_catalog$_figures(entry).items(), ["provenance", model_catalog$devices.provenance(name)]]));
}
function model_catalog$_node(name, entry) {
let said, figures, joined;
said = $dict((() => { const $ = []; for (const field of ["topology", "axes"]) if ($has(entry, field)) $.push([field, $at(entry, field)]); return $; })());
figures = model_catalog$_figures(entry);
joined = $at(model_catalog$devices, $at(entry, "device"));
return $call(model_catalog_node$Node, [], $dict([["name", name], ["device", joined], ...said.items(), ...figures.items(), ["provenance", model_catalog$nodes.provenance(name)]]));
}
function model_catalog$_figures(entry) {
return $dict((() => { const $ = []; for (const [figure, about] of entry.items()) if ($isinstance(about, [$dict]) && $has(about, "value")) $.push([figure, $at(about, "value")]); return $; })());
}
function model_catalog$_model(_, entry) {
return model_catalog$_transformer().from_hf($at($at(entry, "config"), "value"));
}
let model_catalog$devices;
model_catalog$devices = new model_catalog$Devices().__init__("device", model_catalog$_device);
let model_catalog$models;
model_catalog$models = new model_catalog$Models().__init__("model", model_catalog$_model);
let model_catalog$nodes;
model_catalog$nodes = new model_catalog$Nodes().__init__("node", model_catalog$_node);
let parallel_cluster$ROUND;
parallel_cluster$ROUND = 3.1e-06;
class parallel_cluster$Tiers extends $object {
__mul__(other) {
const self = this;
let fits;
fits = $and(self.fits, other.fits);
return new parallel_cluster$Tiers().__init__($mul(self.inside, other.inside), $mul(self.across, other.across), fits);
}
get devices() {
const self = this;
return $mul(self.inside, self.across);
}
__init__(inside = 1, across = 1, fits = true) {
this.inside = inside;
this.across = across;
this.fits = fits;
return this;
}
}
$class(parallel_cluster$Tiers, "Tiers", "inside across fits", "inside= across= fits=");
class parallel_cluster$Cluster extends $object {
__post_init__() {
const self = this;
let found, given, text;
found = parallel_cluster$_node_of(self.node);
self.nodes = $int(units_numbers$size("nodes", self.nodes));
if ((self.per_node !== null)) {
given = $int(units_numbers$size("per_node", self.per_node));
if ($gt(given, found.devices)) {
text = `per_node must be at most ${$str(found.devices)}, all devices of a ${$str(found.name)}`;
throw new $ValueError().__init__([`${$str(text)}, got ${$str(given)}`]);
}
found = $call($getattr(found, "with_"), [], $dict([["devices", given]]));
}
self.per_node = found.devices;
self.node = found;
}
with_(nodes = null, changes) {
const self = this;
let found, many;
found = $call($getattr(self.node, "with_"), [], $dict([["device", $call($getattr(self.node.device, "with_"), [], $dict([...changes.items()]))]]));
many = ((nodes === null) ? self.nodes : nodes);
return new parallel_cluster$Cluster().__init__(found, many, void 0, self.latency);
}
get devices() {
const self = this;
return $mul(self.nodes, self.node.devices);
}
get device() {
const self = this;
return self.device_on($dict([]));
}
device_on(axes, wait = null) {
const self = this;
let node, links, axis, tiers;
node = self.node;
wait = ((wait === null) ? self.wait : wait);
links = $dict([]);
if ((node.network !== null)) {
$put(links, "network", new units_device$Link().__init__(node.network, wait));
}
if ((node.link !== null)) {
$put(links, "node", new units_device$Link().__init__(node.link, wait));
if ((node.topology !== "switch")) {
for ([axis, tiers] of axes.items()) {
$put(links, axis, new units_device$Link().__init__(node.link_among(tiers.inside), wait));
}
}
}
return $call($getattr(node.device, "with_"), [], $dict([["links", links]]));
}
__init__(node, nodes = 1, per_node = null, latency = null) {
this.node = node;
this.nodes = nodes;
this.per_node = per_node;
this.latency = latency;
this.__post_init__();
return this;
}
get wait() {
const self = this;
let is_hop;
if ((self.latency !== null)) {
return self.latency;
}
is_hop = ((self.node.topology === "torus") && (self.node.latency !== null));
return ($truth(is_hop) ? self.node.latency : parallel_cluster$ROUND);
}
tiers(devices, stride = 1) {
const self = this;
let each, room, inside, across, is_even, fits;
each = self.node.devices;
room = units_numbers$maximum($floordiv(each, stride), 1);
inside = units_numbers$minimum(devices, room);
across = units_numbers$ceil_div(devices, inside);
is_even = $or($eq($mod(each, stride), 0), $eq($mod(stride, each), 0));
fits = $and($and(is_even, $eq($mod(room, inside), 0)), $eq($mod(devices, inside), 0));
return new parallel_cluster$Tiers().__init__(inside, across, $or(fits, $eq(devices, 1)));
}
}
$class(parallel_cluster$Cluster, "Cluster", "node nodes per_node latency", "node nodes= / per_node= latency=");
$signed(parallel_cluster$Cluster.prototype.with_, "/ nodes= **changes");
function parallel_cluster$placed(cluster, sizes, order) {
let stride, found, axis;
stride = 1;
found = $dict([]);
for (axis of order) {
$put(found, axis, cluster.tiers($at(sizes, axis), stride));
stride = $mul(stride, $at(sizes, axis));
}
return found;
}
let parallel_cluster$_TIMES;
parallel_cluster$_TIMES = $re_compile("(?P<name>.*\\S)\\s*[x×*]\\s*(?P<many>\\d+)|(?P<first>\\d+)\\s*[x×*]\\s*(?P<last>\\S.*)");
function parallel_cluster$times(text) {
let found, name, many;
found = ($has(model_catalog$devices, text) || $has(model_catalog$nodes, text) ? null : parallel_cluster$_TIMES.fullmatch($str_strip(text)));
if (!$truth(found)) {
return [text, null];
}
[name, many] = [$either($at(found, "name"), () => $at(found, "last")), $int($either($at(found, "many"), () => $at(found, "first")))];
if ($lt(many, 1)) {
throw new $ValueError().__init__([`${$repr(text)} names no device: the number must be at least 1`]);
}
return [name, many];
}
function parallel_cluster$machine_of(given) {
let name, many;
if ($isinstance(given, [$str])) {
[name, many] = parallel_cluster$times(given);
if (!$has(model_catalog$nodes, name) || $has(model_catalog$devices, name)) {
return [$at(model_catalog$devices, name), many];
}
return [new parallel_cluster$Cluster().__init__($at(model_catalog$nodes, name), ((many === null) ? 1 : many)), null];
}
if ((given instanceof model_catalog_node$Node)) {
return [new parallel_cluster$Cluster().__init__(given), null];
}
if ((given instanceof parallel_cluster$Cluster)) {
return [given, null];
}
return [model_catalog$device_of(given), null];
}
function parallel_cluster$_node_of(given) {
if ($isinstance(given, [$str])) {
if (!$has(model_catalog$nodes, given) && $has(model_catalog$devices, given)) {
given = $at(model_catalog$devices, given);
} else {
return $at(model_catalog$nodes, given);
}
}
if ((given instanceof units_device$Device)) {
return new model_catalog_node$Node().__init__(given.name, given, 1, given.interconnect);
}
if (!(given instanceof model_catalog_node$Node)) {
throw new $TypeError().__init__([`node must be a Node or the name of one, got ${$repr(given)}`]);
}
return given;
}
let training_recipes$STATE;
training_recipes$STATE = ["weights", "gradients", "master", "moments"];
class training_recipes$Recipe extends $object {
__post_init__() {
const self = this;
let name, value;
for (name of [...training_recipes$STATE, "activations", "inputs", "scores"]) {
value = $getattr(self, name);
if ((value === null) || $isinstance(value, [$str, $bool])) {
throw new $TypeError().__init__([`${$str(name)} must be a number of bytes, got ${$repr(value)}`]);
}
if ($isinstance(value, [$int, $float]) && !$ge(value, 0)) {
throw new $ValueError().__init__([`${$str(name)} must be at least 0 bytes, got ${$str(value)}`]);
}
}
}
get precision() {
const self = this;
let named;
named = $dict([["weights", self.weights], ["activations", self.activations]]);
return $call(units_precision$Precision, [], $dict([...named.items(), ["scores", self.scores], ["compute", self.compute]]));
}
with_(changes) {
const self = this;
return $replace(self, $dict([...changes.items()]));
}
__init__(weights, gradients, master = 0, moments = 0, factored = false, activations = 2, inputs = 2, scores = 2, compute = null, others = null, adapters = null, note = "") {
this.weights = weights;
this.gradients = gradients;
this.master = master;
this.moments = moments;
this.factored = factored;
this.activations = activations;
this.inputs = inputs;
this.scores = scores;
this.compute = compute;
this.others = others;
this.adapters = adapters;
this.note = note;
this.__post_init__();
return this;
}
}
$class(training_recipes$Recipe, "Recipe", "weights gradients master moments factored activations inputs scores compute others adapters note", "/ weights gradients master= moments= factored= activations= inputs= scores= compute= others= adapters= note=");
$signed(training_recipes$Recipe.prototype.with_, "/ **changes");
let training_recipes$_EIGHT_BITS;
training_recipes$_EIGHT_BITS = $mul(2, units_precision$grouped(8, 256, 32));
let training_recipes$_SQUARES;
training_recipes$_SQUARES = units_precision$grouped(8, $mul(128, 128), 32);
let training_recipes$_TILES;
training_recipes$_TILES = units_precision$grouped(8, 128, 32);
let training_recipes$_ADAM;
training_recipes$_ADAM = new training_recipes$Recipe().__init__(2, 2, 4, 8, void 0, void 0, void 0, void 0, void 0, void 0, void 0, "ZeRO's count");
let training_recipes$RECIPES = $dict([["fp32", new training_recipes$Recipe().__init__(4, 4, void 0, 8, void 0, 4, 4, 4, "fp32")], ["bf16", training_recipes$_ADAM], ["bf16-fp32-grads", $call($getattr(training_recipes$_ADAM, "with_"), [], $dict([["gradients", 4], ["note", "Megatron's usual"]]))], ["fp16-megatron", $call($getattr(training_recipes$_ADAM, "with_"), [], $dict([["gradients", 6], ["compute", "fp16"], ["note", "gradients in 16 and 32 bits"]]))], ["bf16-pure", new training_recipes$Recipe().__init__(2, 2, void 0, 4, void 0, void 0, void 0, void 0, void 0, void 0, void 0, "nothing in 32 bits")], ["fp8", new training_recipes$Recipe().__init__(training_recipes$_SQUARES, 4, 4, 4, void 0, void 0, training_recipes$_TILES, void 0, "fp8", new training_recipes$Recipe().__init__(2, 4, 4, 4), void 0, "DeepSeek-V3: moments in bf16, embeddings not in fp8")], ["fp8-te", new training_recipes$Recipe().__init__(4, 4, 4, 8, void 0, void 0, 1, void 0, "fp8", new training_recipes$Recipe().__init__(2, 4, 4, 8), void 0, "Transformer Engine: bf16 weights, and fp8 ones both ways round")], ["adam-8bit", $call($getattr(training_recipes$_ADAM, "with_"), [], $dict([["moments", training_recipes$_EIGHT_BITS], ["note", "bitsandbytes, blocks of 256"]]))], ["muon", $call($getattr(training_recipes$_ADAM, "with_"), [], $dict([["moments", 4], ["others", training_recipes$_ADAM], ["note", "Adam for embeddings, norms and biases"]]))], ["adafactor", $call($getattr(training_recipes$_ADAM, "with_"), [], $dict([["moments", 0], ["factored", true], ["note", "no first moment"]]))], ["sgd-momentum", $call($getattr(training_recipes$_ADAM, "with_"), [], $dict([["moments", 4], ["note", "one moment"]]))], ["sgd", $call($getattr(training_recipes$_ADAM, "with_"), [], $dict([["moments", 0], ["note", "no moment"]]))]]);
function training_recipes$recipe_of(value = null) {
let name, kind;
if ((value instanceof training_recipes$Recipe)) {
return value;
}
name = ((value === null) ? "bf16" : value);
if ($isinstance(name, [$str]) && $has(training_recipes$RECIPES, name)) {
return $at(training_recipes$RECIPES, name);
}
kind = ($isinstance(value, [$str]) ? $ValueError : $TypeError);
throw $call(kind, [`recipe must be a Recipe or one of ${$str($str_join(", ", training_recipes$RECIPES))}, got ${$format($repr(value), `.200`)}`], null);
}
function parallel_shares$remembered(function$, arguments$) {
try {
$hash(arguments$);
} catch ($problem0) {
if ($caught($problem0, [$TypeError])) {
return function$.__wrapped__(...arguments$);
} else throw $problem0;
}
return $call(function$, [...arguments$], null);
}
function parallel_shares$tensor_parallel(model, devices, nodes = 1) {
let share;
devices = units_numbers$size("devices", devices);
if (layers_parts$is_one(devices)) {
return model;
}
share = parallel_shares$remembered(parallel_shares$_tensor_parallel, [model, devices, nodes]);
return share;
}
let parallel_shares$_tensor_parallel = $call($lru_cache(256), [(function _tensor_parallel(model, devices, nodes) {
let vocab, shared, kv_heads, moe;
vocab = units_numbers$ceil_div(model.vocab, devices);
if (!$truth(model.is_uniform)) {
shared = parallel_shares$_share_of_blocks(model, devices);
return $call($getattr(shared, "with_"), [], $dict([["vocab", vocab], ["sharers", devices], ["sharer_nodes", nodes]]));
}
[kv_heads, moe] = [parallel_shares$_shared_part("kv_heads", model.kv_heads, devices), model.moe];
if ((moe !== null)) {
moe = $replace(moe, $dict([["width", parallel_shares$_part("the experts' width", moe.width, devices)], ["shared_width", parallel_shares$_part("shared_width", moe.shared_width, devices)]]));
}
return $call($getattr(model, "with_"), [], $dict([["heads", parallel_shares$_part("heads", model.heads, devices)], ["kv_heads", kv_heads], ["head_dim", model.head_dim], ["d_ff", parallel_shares$_part("d_ff", model.d_ff, devices)], ["vocab", vocab], ["sharers", devices], ["sharer_nodes", nodes], ["moe", moe]]));
})]);
function parallel_shares$expert_parallel(model, devices, nodes = 1) {
let blocks, block, parts;
if (layers_parts$is_one(devices)) {
return model;
}
blocks = $list([]);
for (block of model.blocks) {
parts = $tuple((() => { const $ = []; for (const part of block.parts) $.push(((part instanceof layers_feed$Mixture) ? $replace(part, $dict([["dealt", devices], ["nodes", nodes]])) : part)); return $; })());
blocks.append($replace(block, $dict([["parts", parts]])));
}
return $call($getattr(model, "with_"), [], $dict([["blocks", $tuple(blocks)]]));
}
let parallel_shares$_DIVIDED = $dict([[layers_attention_kinds$Attention, [["heads"], ["kv_heads"]]], [layers_attention_kinds$DifferentialAttention, [["heads"], ["kv_heads"]]], [layers_attention_kinds$ValueMaskedAttention, [["heads"], ["kv_heads"]]], [layers_attention_kinds$Latent, [["heads"], []]], [layers_compressed$CompressedAttention, [["heads", "output_groups"], []]], [layers_scans$DeltaRule, [["value_heads"], ["key_heads"]]], [layers_scans$LightningAttention, [["heads"], []]], [layers_scans$Mamba, [["width"], []]], [layers_scans$Mamba2, [["heads"], ["groups"]]], [layers_scans$ShortConvolution, [["width"], []]], [layers_scans$RGLRU, [["width", "heads"], []]], [layers_feed$Mlp, [["width"], []]], [layers_feed$Mixture, [["width", "shared_width"], []]]]);
function parallel_shares$_share_of_blocks(model, devices) {
let blocks, block, parts;
blocks = $list([]);
for (block of model.blocks) {
parts = $tuple((() => { const $ = []; for (const part of block.parts) $.push(parallel_shares$_share_of_part(part, devices)); return $; })());
blocks.append($replace(block, $dict([["parts", parts]])));
}
return $call($getattr(model, "with_"), [], $dict([["blocks", $tuple(blocks)]]));
}
function parallel_shares$degrees(model) {
let parts, sizes;
parts = (() => { const $ = $list(); for (const block of model.blocks) for (const part of block.parts) $.push(part); return $; })();
if ($any((function* () { for (const part of parts) yield !$has(parallel_shares$_DIVIDED, $type(part)); })())) {
return $list([1]);
}
sizes = $sub($set((() => { const $ = []; for (const part of parts) for (const name of $at($at(parallel_shares$_DIVIDED, $type(part)), 0)) $.push($int($getattr(part, name))); return $; })()), $set([0]));
return (() => { const $ = $list(); for (const each of $range(1, $add($min([sizes]), 1))) if ($all((function* () { for (const of of sizes) yield $eq($mod(of, each), 0); })())) $.push(each); return $; })();
}
function parallel_shares$_share_of_part(part, devices) {
let kind, split, shared, changes, name;
kind = $called($type(part));
if (!$has(parallel_shares$_DIVIDED, $type(part))) {
throw new $ValueError().__init__([`how ${$str(kind)} is divided over devices is not known: divide it yourself`]);
}
[split, shared] = $at(parallel_shares$_DIVIDED, $type(part));
changes = $dict((() => { const $ = []; for (const name of split) $.push([name, parallel_shares$_part(`${$str(kind)}.${$str(name)}`, $getattr(part, name), devices)]); return $; })());
for (name of shared) {
$put(changes, name, parallel_shares$_shared_part(`${$str(kind)}.${$str(name)}`, $getattr(part, name), devices));
}
return $replace(part, $dict([...changes.items()]));
}
function parallel_shares$_shared_part(name, whole, devices) {
let fewer;
if (units_numbers$divides(devices, whole)) {
return units_numbers$exact_div(whole, devices);
}
fewer = !$eq($mod(whole, devices), 0);
if (!units_numbers$divides(whole, units_numbers$where(fewer, devices, whole))) {
throw new $ValueError().__init__([`devices must divide ${$str(name)}=${$str(whole)} or be a multiple, got ${$str(devices)}`]);
}
return units_numbers$where(fewer, 1, $floordiv(whole, devices));
}
function parallel_shares$_part(name, whole, devices) {
if (units_numbers$is_zero(whole)) {
return 0;
}
if (!units_numbers$divides(devices, whole)) {
throw new $ValueError().__init__([`devices must divide ${$str(name)}=${$str(whole)}, got ${$str(devices)}`]);
}
return units_numbers$exact_div(whole, devices);
}
function parallel_stages$dealt(layers, pieces) {
let most, found, which;
[layers, pieces] = [$int(units_numbers$size("layers", layers)), $int(units_numbers$size("pieces", pieces))];
most = (-$floordiv((-layers), pieces));
found = $mul($list([most]), pieces);
for (which of $range($sub($mul(most, pieces), layers))) {
$put(found, ($eq($mod(which, 2), 0) ? $sub(-1, $floordiv(which, 2)) : $floordiv(which, 2)), $sub($at(found, ($eq($mod(which, 2), 0) ? $sub(-1, $floordiv(which, 2)) : $floordiv(which, 2))), 1));
}
return found;
}
function parallel_stages$stage_models(model, pipeline, axis = "pipeline") {
let found;
if ($eq(pipeline, 1)) {
return [[model, 1]];
}
found = parallel_shares$remembered(parallel_stages$_stage_models, [model, pipeline, axis]);
return found;
}
let parallel_stages$_stage_models = $call($lru_cache(256), [(function _stage_models(model, pipeline, axis) {
let different, order, found, start, at, count, blocks, storage, ends, stage;
[different, order] = parallel_stages$layer_kinds(model);
found = $list([]);
start = 0;
for ([at, count] of $enumerate(parallel_stages$dealt($len(order), pipeline))) {
blocks = parallel_stages$_in_blocks((() => { const $ = $list(); for (const kind of $part(order, start, $add(start, count), null)) $.push($at(different, kind)); return $; })());
storage = $both(model.storage, () => $replace(model.storage, $dict([["first_layer", start]])));
ends = $dict([["is_first", $eq(at, 0)], ["hands_on", ($eq(at, $sub(pipeline, 1)) ? "" : axis)]]);
stage = $call($getattr(model, "with_"), [], $dict([["blocks", blocks], ["storage", storage], ["tied", false], ...ends.items()]));
if ($truth(found) && parallel_stages$_alike(stage, $at($at(found, -1), 0))) {
$put(found, -1, [$at($at(found, -1), 0), $add($at($at(found, -1), 1), 1)]);
} else {
found.append([stage, 1]);
}
start = $iadd(start, count);
}
return $tuple(found);
})]);
function parallel_stages$_in_blocks(layers) {
let found, layer;
found = $list([]);
for (layer of layers) {
if ($truth(found) && layers_parts$same($replace($at(found, -1), $dict([["layers", 1]])), layer)) {
$put(found, -1, $replace($at(found, -1), $dict([["layers", $add($at(found, -1).layers, 1)]])));
} else {
found.append(layer);
}
}
return $tuple(found);
}
function parallel_stages$_alike(one, other) {
let ends;
ends = (() => { const $ = $list(); for (const stage of [one, other]) $.push([stage.is_first, stage.hands_on]); return $; })();
if (!$eq($at(ends, 0), $at(ends, 1)) || !layers_parts$same(one.blocks, other.blocks)) {
return false;
}
return ((one.storage === null) || $eq(one.precision, other.precision));
}
function parallel_stages$layer_kinds(model) {
let different, counts, block, one, kind, order, places;
different = $list([]);
counts = $list([]);
for (block of model.blocks) {
one = $replace(block, $dict([["layers", 1]]));
kind = $next((function* () { for (const [k, other] of $enumerate(different)) if (layers_parts$same(one, other)) yield k; })(), $len(different));
if ($eq(kind, $len(different))) {
different.append(one);
}
counts.append([kind, $int(units_numbers$size("layers", block.layers))]);
}
order = (() => { const $ = $list(); for (const [kind, count] of counts) for (const _ of $range(count)) $.push(kind); return $; })();
if ($has(model._derived, "blocks") && (model.moe === null)) {
places = (() => { const $ = $list(); for (const [kind, count] of counts) for (const at of $range(count)) $.push([$div($add(at, 0.5), count), kind]); return $; })();
order = (() => { const $ = $list(); for (const [_, kind] of $sorted(places)) $.push(kind); return $; })();
}
return [$tuple(different), order];
}
let parallel_work$CONTEXT_BY;
parallel_work$CONTEXT_BY = ["ring", "all_to_all"];
let timing_roofline$_PLAIN;
timing_roofline$_PLAIN = $frozenset($set([$int, $float]));
let timing_roofline$_ZERO;
timing_roofline$_ZERO = 0;
let timing_roofline$_HEAD;
timing_roofline$_HEAD = 128;
let timing_roofline$_STEP;
timing_roofline$_STEP = 16;
let timing_roofline$OVERLAPS;
timing_roofline$OVERLAPS = ["perfect", "none"];
let timing_roofline$GRANULARITIES;
timing_roofline$GRANULARITIES = ["op", "step"];
let timing_roofline$TOO_LARGE;
timing_roofline$TOO_LARGE = ["warn", "ignore", "error"];
let timing_roofline$TILES;
timing_roofline$TILES = [...[[256, 128], [128, 256], [128, 128], [256, 64], [64, 256], [128, 64], [64, 128], [64, 64]], ...[[128, 32], [32, 128], [128, 16], [16, 128]]];
class timing_roofline$Limit extends $object {
get busy() {
const self = this;
let busy;
busy = timing_roofline$overlapped(self.compute_time, self.memory_time, self.blend);
return ((self.floor === timing_roofline$_ZERO) ? busy : units_numbers$maximum(busy, self.floor));
}
get is_compute_bound() {
const self = this;
return $ge(self.compute_time, self.memory_time);
}
__init__(name, flops, bytes, compute_time, memory_time, overhead = 0, sending_time = 0, blend = $math_inf, floor = 0, compute = "") {
this.name = name;
this.flops = flops;
this.bytes = bytes;
this.compute_time = compute_time;
this.memory_time = memory_time;
this.overhead = overhead;
this.sending_time = sending_time;
this.blend = blend;
this.floor = floor;
this.compute = compute;
return this;
}
}
$class(timing_roofline$Limit, "Limit", "name flops bytes compute_time memory_time overhead sending_time blend floor compute", "name flops bytes compute_time memory_time overhead= sending_time= blend= floor= compute=");
function timing_roofline$limits(work, device, precision = null) {
let each, compute, rates;
device = model_catalog$device_of(device);
each = timing_roofline$_precision(work, precision, device);
compute = $either(each.compute, () => device.sixteen_bits);
rates = [device.compute_rate(compute), device.memory_rate];
return $tuple((() => { const $ = []; for (const op of timing_roofline$_ops(work)) $.push(new timing_roofline$Limit().__init__(op.name, op.flops, op.bytes(each), ...timing_roofline$_seconds(op, device, each, rates), compute)); return $; })());
}
function timing_roofline$time(work, device, precision = null, overlap = "perfect", granularity = "op", steps = 1, too_large = "warn") {
let each, ops, rates, spent, computing, moving, floors, op, compute, memory, overhead, sending, blend, floor, busy;
units_numbers$choose("overlap", overlap, timing_roofline$OVERLAPS);
units_numbers$choose("granularity", granularity, timing_roofline$GRANULARITIES);
device = model_catalog$device_of(device);
each = timing_roofline$_precision(work, precision, device);
ops = timing_roofline$_ops(work);
timing_roofline$_check_room(work, device, each, too_large);
rates = [device.compute_rate(each.compute), device.memory_rate];
spent = $list([$mul(device.overhead_per_step, steps)]);
[computing, moving, floors] = [$list([]), $list([]), $list([])];
for (op of ops) {
[compute, memory, overhead, sending, blend, floor] = timing_roofline$_seconds(op, device, each, rates);
if ((granularity === "op") || (overlap === "none")) {
busy = ((overlap === "none") ? $add(compute, memory) : timing_roofline$overlapped(compute, memory, blend));
spent.append(((floor === timing_roofline$_ZERO) ? busy : units_numbers$maximum(busy, floor)));
} else {
computing.append(compute);
moving.append(memory);
floors.append(floor);
}
if ((overhead !== timing_roofline$_ZERO)) {
spent.append(overhead);
}
if ((sending !== timing_roofline$_ZERO)) {
spent.append(sending);
}
}
if ($truth(computing)) {
busy = timing_roofline$overlapped(timing_roofline$_total(computing), timing_roofline$_total(moving), device.blend);
spent.append(units_numbers$maximum(busy, timing_roofline$_total(floors)));
}
return timing_roofline$_total(spent);
}
function timing_roofline$overlapped(compute, memory, blend = $math_inf) {
let longer, ratio;
if ((blend === $math_inf)) {
if ($has(timing_roofline$_PLAIN, $type(compute)) && $has(timing_roofline$_PLAIN, $type(memory))) {
return ($gt(compute, memory) ? compute : memory);
}
if (units_numbers$is_zero(compute) || units_numbers$is_zero(memory)) {
return (units_numbers$is_zero(compute) ? memory : compute);
}
return units_numbers$maximum(compute, memory);
}
longer = units_numbers$maximum(compute, memory);
ratio = $div(units_numbers$minimum(compute, memory), $add(longer, $eq(longer, 0)));
return $mul(longer, $pow($add(1, $pow(ratio, blend)), $div(1, blend)));
}
function timing_roofline$_shape(op) {
let read, written, count, made, out, inner, m, n, both, root, product, near;
[read, written, count] = [op.elements_read, op.elements_written, op.count];
if (!$truth(op.is_matmul) || !units_numbers$is_zero(read.kv) || !units_numbers$is_zero(read.scores)) {
return null;
}
if (units_numbers$is_zero((made = written.total)) || units_numbers$is_zero(count)) {
return null;
}
[out, inner] = [$div(made, count), $div($div(op.flops, 2), made)];
if (!units_numbers$is_zero(read.weights)) {
[m, n] = [$div($div(read.activations, count), inner), $div($div(read.weights, count), inner)];
} else {
both = $div($div(read.activations, count), inner);
root = units_numbers$square_root(units_numbers$maximum($sub($div($mul(both, both), 4), out), 0.0));
[m, n] = [$add($div(both, 2), root), $sub($div(both, 2), root)];
}
product = $div($mul(m, n), out);
near = $and($gt(product, $sub(1, 1e-06)), $lt(product, $add(1, 1e-06)));
return [timing_roofline$_rounded(m), timing_roofline$_rounded(inner), timing_roofline$_rounded(n), near];
}
function timing_roofline$wave_factors(op, cores) {
let shape, m, _, n, is_one, factors, rows, columns, waves, paid;
shape = timing_roofline$_shape(op);
if ((shape === null) || !$truth(cores)) {
return $list([]);
}
[m, _, n, is_one] = shape;
if (!timing_roofline$_any(is_one)) {
return $list([]);
}
factors = $list([]);
for ([rows, columns] of timing_roofline$TILES) {
waves = units_numbers$ceil_div($mul(units_numbers$ceil_div(m, rows), units_numbers$ceil_div(n, columns)), cores);
paid = $div($mul(waves, $mul($mul(cores, rows), columns)), $mul(m, n));
factors.append((timing_roofline$_always(is_one) ? paid : units_numbers$where(is_one, paid, 1.0)));
}
return factors;
}
function timing_roofline$heads_served(op) {
let kv, beside, shared;
kv = op.elements_read.kv;
if ((kv === timing_roofline$_ZERO) || units_numbers$is_zero(kv) || units_numbers$is_zero(op.flops)) {
return 0;
}
beside = $add(op.elements_read.activations, op.elements_written.activations);
shared = units_numbers$where($gt(op.flops, $mul($mul(2, timing_roofline$_STEP), kv)), beside, kv);
return $div($mul(beside, $div(shared, op.flops)), timing_roofline$_HEAD);
}
function timing_roofline$_seconds(op, device, precision, rates) {
let compute, memory, blend, factors, best, rows, columns, factor, floor, overhead, rate, latency;
[compute, memory] = [$div(op.flops, $at(rates, 0)), $div(op.bytes(precision), $at(rates, 1))];
blend = device.blend;
if ((blend !== $math_inf) && ($truth((factors = timing_roofline$wave_factors(op, device.cores))))) {
best = $math_inf;
for ([[rows, columns], factor] of $zip([timing_roofline$TILES, factors], true)) {
best = units_numbers$minimum(best, $mul(factor, $add(1, $mul(device.edge, $add($div(1, rows), $div(1, columns))))));
}
compute = $mul(compute, best);
}
floor = 0;
if ((device.floor_per_head !== timing_roofline$_ZERO) && $truth(device.cores)) {
floor = $div($mul(timing_roofline$heads_served(op), device.floor_per_head), device.cores);
}
if (!$truth(op.axis)) {
overhead = device.overhead_per_op;
return [compute, memory, ((overhead === timing_roofline$_ZERO) ? 0 : $mul(op.count, overhead)), 0, blend, floor];
}
[rate, latency] = device.link(op.axis);
overhead = $mul(op.count, device.overhead_per_message);
if ((latency !== timing_roofline$_ZERO)) {
overhead = $add(overhead, $mul(op.rounds, latency));
}
return [compute, memory, overhead, $div(op.bytes_sent(precision), rate), blend, floor];
}
function timing_roofline$_check_room(work, device, precision, too_large) {
let holds, held, text;
units_numbers$choose("too_large", too_large, timing_roofline$TOO_LARGE);
holds = ((work instanceof units_ledger$Ledger) ? work.holds : null);
if ((holds === null) || (device.capacity === null) || (too_large === "ignore")) {
return null;
}
held = model_kvcache$held_bytes(holds, precision);
if (!timing_roofline$_any($gt(held, device.usable))) {
return null;
}
text = `this pass holds ${$str(timing_roofline$_gigabytes(held))} of weights and cache, and ${$str(device.name)} gives out ${$str(timing_roofline$_gigabytes(device.usable))} of its ${$str(timing_roofline$_gigabytes(device.capacity))}: costlib.fits asks beforehand, too_large='ignore' times it all the same`;
if ((too_large === "error")) {
throw new $ValueError().__init__([text]);
}
$absent("warnings.warn")();
}
function timing_roofline$_gigabytes(count) {
let largest;
largest = ($isinstance(count, [$int, $float]) ? count : count.max());
return `${$format($div($float(largest), 1000000000.0), `.1f`)} GB`;
}
function timing_roofline$_precision(work, precision, device) {
let each;
each = ((work instanceof units_ledger$Ledger) ? work.at(precision) : units_precision$precision_of(precision));
return ((precision !== null) ? each : timing_roofline$as_computed(each, device));
}
function timing_roofline$as_computed(own, device) {
let is_known;
is_known = ((own.compute === null) || $has(device.flops_per_s, own.compute));
return ($truth(is_known) ? own : $call($getattr(own, "with_"), [], $dict([["compute", null]])));
}
function timing_roofline$_ops(work) {
if ((work instanceof units_ledger$Ledger)) {
return work.ops;
}
if ((work instanceof units_ledger$Op)) {
return [work];
}
throw new $TypeError().__init__([`work must be a Ledger or an Op, such as model.decode(1, 4096), got ${$format($repr(work), `.80`)}`]);
}
function timing_roofline$_total(times) {
let total, arrays, value;
total = 0;
arrays = $list([]);
for (value of times) {
if ($has(timing_roofline$_PLAIN, $type(value))) {
total = $iadd(total, value);
} else {
arrays.append(value);
}
}
for (value of $sorted(arrays, ((each) => $getattr(each, "size", 1)))) {
total = (units_numbers$is_zero(total) ? value : $add(total, value));
}
return total;
}
function timing_roofline$_rounded(value) {
return ($isinstance(value, [$int, $float]) ? $round(value, 6) : value.round(6));
}
function timing_roofline$_any(condition) {
return $bool(($hasattr(condition, "any") ? condition.any() : condition));
}
function timing_roofline$_always(condition) {
return $bool(($hasattr(condition, "all") ? condition.all() : condition));
}
let training_activations$POLICIES;
training_activations$POLICIES = [null, "selective", "full"];
let parallel_degrees$ORDER;
parallel_degrees$ORDER = ["tensor", "context", "expert", "pipeline", "data"];
class parallel_degrees$Degrees extends $object {
__post_init__() {
const self = this;
let name, text;
for (name of ["tensor", "context", "expert", "pipeline", "data", "microbatch", "chunks"]) {
self[name] = units_numbers$size(name, $getattr(self, name));
}
for (name of ["shard", "nodes_per_token"]) {
if (($getattr(self, name) !== null)) {
self[name] = units_numbers$size(name, $getattr(self, name));
}
}
if (!$truth($numpy_all($numpy_isin(self.zero, [0, 1, 2, 3])))) {
throw new $ValueError().__init__([`zero must be 0, 1, 2 or 3, got ${$format($repr(self.zero), `.200`)}`]);
}
units_numbers$choose("schedule", self.schedule, ["1f1b", "gpipe", "interleaved"]);
units_numbers$choose("recompute", self.recompute, training_activations$POLICIES);
units_numbers$choose("context_by", self.context_by, parallel_work$CONTEXT_BY);
for (name of ["sequence", "whole_experts"]) {
if (!$isinstance($getattr(self, name), [$bool])) {
text = `${$str(name)} must be True or False, got ${$repr($getattr(self, name))}`;
throw new $TypeError().__init__([text]);
}
}
training_recipes$recipe_of(self.recipe);
if (!$eq($sorted(self.order), $sorted(parallel_degrees$ORDER)) || !$eq($part(self.order, null, 2, null), $part(parallel_degrees$ORDER, null, 2, null))) {
text = `order must have ${$str($str_join(", ", parallel_degrees$ORDER))}, tensor and context first`;
throw new $ValueError().__init__([`${$str(text)}, got ${$format($repr(self.order), `.200`)}`]);
}
if (!$truth($numpy_all($ge($numpy_asarray(self.imbalance), 1)))) {
throw new $ValueError().__init__([`imbalance must be at least 1, got ${$repr(self.imbalance)}`]);
}
}
get devices() {
const self = this;
return $mul($mul($mul(self.tensor, self.context), self.pipeline), self.data);
}
get ordered() {
const self = this;
return ($gt(self.chunks, 1) && (self.schedule === "1f1b") ? "interleaved" : self.schedule);
}
with_(changes) {
const self = this;
return $replace(self, $dict([...changes.items()]));
}
__init__(tensor = 1, context = 1, expert = 1, pipeline = 1, data = 1, zero = 0, shard = null, sequence = false, whole_experts = false, microbatch = 1, chunks = 1, schedule = "1f1b", recompute = null, recipe = null, context_by = "ring", imbalance = 1, nodes_per_token = null, order = parallel_degrees$ORDER) {
this.tensor = tensor;
this.context = context;
this.expert = expert;
this.pipeline = pipeline;
this.data = data;
this.zero = zero;
this.shard = shard;
this.sequence = sequence;
this.whole_experts = whole_experts;
this.microbatch = microbatch;
this.chunks = chunks;
this.schedule = schedule;
this.recompute = recompute;
this.recipe = recipe;
this.context_by = context_by;
this.imbalance = imbalance;
this.nodes_per_token = nodes_per_token;
this.order = order;
this.__post_init__();
return this;
}
}
$class(parallel_degrees$Degrees, "Degrees", "tensor context expert pipeline data zero shard sequence whole_experts microbatch chunks schedule recompute recipe context_by imbalance nodes_per_token order", "/ tensor= context= expert= pipeline= data= zero= shard= sequence= whole_experts= microbatch= chunks= schedule= recompute= recipe= context_by= imbalance= nodes_per_token= order=");
$signed(parallel_degrees$Degrees.prototype.with_, "/ **changes");
class parallel_mesh$Mesh extends $object {
__init__(plan, cluster) {
const self = this;
let sizes;
[self.plan, self.cluster] = [plan, cluster];
self.inner = $mul(plan.context, ($truth(plan.whole_experts) ? plan.tensor : 1));
self.of_data = units_numbers$maximum(1, $floordiv(plan.expert, self.inner));
sizes = $dict([["tensor", plan.tensor], ["context", plan.context], ["expert", self.of_data]]);
sizes = $ior(sizes, $dict([["pipeline", plan.pipeline], ["data", units_numbers$maximum(1, $floordiv(plan.data, self.of_data))]]));
self.axes = parallel_cluster$placed(cluster, sizes, plan.order);
return this;
}
get expert() {
return $once(this, "expert", function () {
const self = this;
let stride, near;
stride = ($truth(self.plan.whole_experts) ? 1 : self.plan.tensor);
near = units_numbers$minimum(self.plan.expert, self.inner);
return $mul(self.cluster.tiers(near, stride), $at(self.axes, "expert"));
});
}
get expert_replicas() {
return $once(this, "expert_replicas", function () {
const self = this;
let near, stride;
near = units_numbers$minimum(self.plan.expert, self.inner);
stride = $mul(near, ($truth(self.plan.whole_experts) ? 1 : self.plan.tensor));
return $mul(self.cluster.tiers($floordiv(self.inner, near), stride), $at(self.axes, "data"));
});
}
get neighbour() {
return $once(this, "neighbour", function () {
const self = this;
let away;
away = $at(self.axes, "pipeline").across;
return new parallel_cluster$Tiers().__init__(units_numbers$where($gt(away, 1), 1, 2), units_numbers$where($gt(away, 1), 2, 1));
});
}
}
$class(parallel_mesh$Mesh, "Mesh", "", "plan cluster");
class parallel_legal$Asked extends $object {
get mesh() {
return $once(this, "mesh", function () {
const self = this;
return new parallel_mesh$Mesh().__init__(self.plan, self.cluster);
});
}
get mixtures() {
return $once(this, "mixtures", function () {
const self = this;
let parts;
parts = (function* () { for (const block of self.model.blocks) for (const part of block.parts) yield part; })();
return (() => { const $ = $list(); for (const part of parts) if ((part instanceof layers_feed$Mixture)) $.push(part); return $; })();
});
}
get microbatches() {
return $once(this, "microbatches", function () {
const self = this;
return (-$floordiv((-self.batch), $mul(self.plan.data, self.plan.microbatch)));
});
}
with_(name, value) {
const self = this;
let plan;
plan = $call($getattr(self.plan, "with_"), [], $dict([...$dict([[name, value]]).items()]));
return new parallel_legal$Asked().__init__(plan, self.model, self.cluster, self.batch, self.seq, self.strict);
}
__init__(plan, model, cluster, batch, seq, strict = true) {
this.plan = plan;
this.model = model;
this.cluster = cluster;
this.batch = batch;
this.seq = seq;
this.strict = strict;
return this;
}
}
$class(parallel_legal$Asked, "Asked", "plan model cluster batch seq strict", "plan model cluster batch seq strict=");
$signed(parallel_legal$Asked.prototype.with_, "name value");
class parallel_legal$Rule extends $object {
__init__(argument, holds, says, most = ((asked) => asked.cluster.devices), among = null) {
this.argument = argument;
this.holds = holds;
this.says = says;
this.most = most;
this.among = among;
return this;
}
}
$class(parallel_legal$Rule, "Rule", "argument holds says most among", "argument holds says most= among=");
function parallel_legal$_divides(divisor, value) {
return $eq($mod(value, divisor), 0);
}
function parallel_legal$_cut_alike(asked) {
let one, tensor, found;
one = function one(tensor) {
let problem;
try {
parallel_shares$tensor_parallel(asked.model, tensor);
} catch ($problem0) {
if ($caught($problem0, [$ValueError])) {
problem = $problem0;
return $str(problem);
} else throw $problem0;
}
return "";
};
tensor = asked.plan.tensor;
return !$truth($call(one, [$int(tensor)], null));
}
function parallel_legal$_why_not_cut(asked) {
let problem;
try {
parallel_shares$tensor_parallel(asked.model, asked.plan.tensor);
} catch ($problem0) {
if ($caught($problem0, [$ValueError])) {
problem = $problem0;
return `tensor=${$str(asked.plan.tensor)} does not divide the model: ${$str(problem)}`;
} else throw $problem0;
}
return "";
}
function parallel_legal$_mixes_only_by_attention(asked) {
return !$truth(parallel_legal$_other_mixers(asked));
}
function parallel_legal$_other_mixers(asked) {
let run, found, block, part, known;
[run, found] = [new layers_parts$Pass().__init__(1, 2, 2, void 0, void 0, void 0, "naive"), $call($at($dict, [$str, null]), [], null)];
for (block of asked.model.blocks) {
for (part of block.parts) {
known = ($isinstance(part, [layers_attention_kinds$Attention, layers_attention_kinds$Latent]) && !$truth($getattr(part, "cross", false)));
if (!$truth(known) && $truth(part.mixing(run, 1))) {
$put(found, $called($type(part)), null);
}
}
}
return $list(found);
}
function parallel_legal$_heads_go_round(asked) {
let among, found, block, part;
among = $mul(asked.plan.tensor, asked.plan.context);
found = true;
for (block of asked.model.blocks) {
for (part of block.parts) {
if ($isinstance(part, [layers_attention_kinds$Attention, layers_attention_kinds$Latent])) {
found = $and(found, parallel_legal$_divides(among, part.heads));
}
}
}
return found;
}
function parallel_legal$_experts_divide(asked) {
let found, part;
found = true;
for (part of asked.mixtures) {
found = $and(found, parallel_legal$_divides(asked.plan.expert, part.experts));
}
return found;
}
function parallel_legal$_experts_have_devices(asked) {
let expert, inner, near;
[expert, inner] = [asked.plan.expert, asked.mesh.inner];
near = $or(parallel_legal$_divides(inner, expert), parallel_legal$_divides(expert, inner));
return $and(near, parallel_legal$_divides(asked.mesh.of_data, asked.plan.data));
}
function parallel_legal$_placed(asked) {
let found, tiers;
found = true;
for (tiers of [...asked.mesh.axes.values(), asked.mesh.expert, asked.mesh.expert_replicas]) {
found = $and(found, tiers.fits);
}
return found;
}
function parallel_legal$_has_tiers(asked) {
let node, found, tiers;
[node, found] = [asked.cluster.node, true];
for (tiers of asked.mesh.axes.values()) {
if ((node.network === null)) {
found = $and(found, $eq(tiers.across, 1));
}
if ((node.link === null)) {
found = $and(found, $eq(tiers.inside, 1));
}
}
return found;
}
function parallel_legal$_missing(asked) {
let node, what, name, text;
node = asked.cluster.node;
[what, name] = ((node.network === null) ? ["network", "network"] : ["link", "link inside a node"]);
text = `${$str(node.name)} has no ${$str(name)}, over which this plan sends`;
return `${$str(text)}: give one with node.with_(${$str(what)}=...)`;
}
function parallel_legal$_in_rounds(asked) {
if ((asked.plan.ordered !== "interleaved") || $eq(asked.plan.pipeline, 1)) {
return true;
}
return parallel_legal$_divides(asked.plan.pipeline, asked.microbatches);
}
function parallel_legal$_encoders(asked) {
let parts;
parts = (() => { const $ = $list(); for (const block of asked.model.blocks) for (const part of block.parts) $.push(part); return $; })();
return $any((function* () { for (const part of parts) yield ($isinstance(part, [layers_encoder$Encoder, layers_encoder$WhereSeen]) || $getattr(part, "cross", false)); })());
}
function parallel_legal$_about_devices(asked) {
let plan, there, named, cuts, text, name, many, value, rest, of_it, is_open;
[plan, there] = [asked.plan, asked.cluster.devices];
named = $dict((() => { const $ = []; for (const name of ["data", "pipeline", "tensor", "context"]) $.push([name, $getattr(plan, name)]); return $; })());
cuts = $either($str_join(" · ", (() => { const $ = []; for (const [name, many] of named.items()) if ($gt(many, 1)) $.push(`${$str(name)}=${$str(many)}`); return $; })()), () => "data=1");
text = `${$str(cuts)} makes a plan for ${$str(plan.devices)} devices, and there are ${$str(there)}`;
for ([name, many] of named.items()) {
[value, rest] = $divmod($mul(many, there), plan.devices);
of_it = (function* () { for (const rule of parallel_legal$RULES) if ($eq(rule.argument, name)) yield rule; })();
is_open = ($eq(rest, 0) && ($gt(many, 1) || (name === "data")));
if ($truth(is_open) && $all((function* () { for (const rule of of_it) yield parallel_legal$_would_do(rule, asked, value); })())) {
return `${$str(text)}; ${$str(name)}=${$str(value)} would do`;
}
}
return text;
}
function parallel_legal$_about_copies(asked) {
let plan, text;
plan = asked.plan;
text = `expert=${$str(plan.expert)} must divide data=${$str(plan.data)}`;
text = $iadd(text, ($gt(plan.context, 1) ? ` times context=${$str(plan.context)}` : ""));
text = $iadd(text, ($truth(plan.whole_experts) ? ` times tensor=${$str(plan.tensor)}` : ""));
return `${$str(text)} (data=${$str(plan.expert)} would do, on ${$str(plan.expert)} devices or more)`;
}
function parallel_legal$_about_batch(asked) {
let batch, data, nearest;
[batch, data] = [asked.batch, asked.plan.data];
nearest = $mul($max([1, $floordiv($add($mul(2, batch), data), $mul(2, data))]), data);
return `batch=${$str(batch)} must be a multiple of data=${$str(data)}; the nearest is ${$str(nearest)}`;
}
let parallel_legal$RULES;
parallel_legal$RULES = [new parallel_legal$Rule().__init__("model", ((a) => !parallel_legal$_encoders(a)), ((_) => "plans of models with an encoder are not known")), new parallel_legal$Rule().__init__("recipe", ((a) => (training_recipes$recipe_of(a.plan.recipe).adapters === null)), ((_) => "recipe has adapters, and plans of low-rank adapters are not known")), new parallel_legal$Rule().__init__("chunks", ((a) => ($eq(a.plan.chunks, 1) || ($gt(a.plan.pipeline, 1) && (a.plan.schedule !== "gpipe")))), ((a) => `chunks=${$str(a.plan.chunks)} needs a pipeline of several stages, in order 1f1b`)), new parallel_legal$Rule().__init__("pipeline", ((a) => $le(a.plan.pipeline, a.model.layers)), ((a) => `pipeline=${$str(a.plan.pipeline)} is more stages than the model's ${$str(a.model.layers)} layers`), void 0, ((_) => [])), new parallel_legal$Rule().__init__("chunks", ((a) => $le($mul(a.plan.pipeline, a.plan.chunks), $add(a.model.layers, 2))), ((a) => `chunks=${$str(a.plan.chunks)} makes ${$str($mul(a.plan.pipeline, a.plan.chunks))} pieces of ${$str(a.model.layers)} layers, an embedding and an unembedding`)), new parallel_legal$Rule().__init__("tensor", parallel_legal$_cut_alike, parallel_legal$_why_not_cut, void 0, ((a) => parallel_shares$degrees(a.model))), new parallel_legal$Rule().__init__("context", ((a) => parallel_legal$_divides(a.plan.context, a.seq)), ((a) => `context=${$str(a.plan.context)} must divide seq=${$str(a.seq)}`)), new parallel_legal$Rule().__init__("context", ((a) => $or($eq(a.plan.context, 1), parallel_legal$_mixes_only_by_attention(a))), ((a) => `context=${$str(a.plan.context)}: how ${$str($str_join(", ", parallel_legal$_other_mixers(a)))} is divided along the sequence is not known`)), new parallel_legal$Rule().__init__("context", ((a) => $or($or($eq(a.plan.context, 1), (a.plan.context_by === "ring")), parallel_legal$_heads_go_round(a))), ((a) => `context=${$str(a.plan.context)} times tensor=${$str(a.plan.tensor)} must divide the heads (all_to_all): a ring need not`)), new parallel_legal$Rule().__init__("tensor", ((a) => (!$truth(a.plan.sequence) ? true : parallel_legal$_divides($mul(a.plan.tensor, a.plan.context), a.seq))), ((a) => `tensor=${$str(a.plan.tensor)} times context=${$str(a.plan.context)} must divide seq=${$str(a.seq)}, where the sequence is divided too`)), new parallel_legal$Rule().__init__("expert", ((a) => $or($eq(a.plan.expert, 1), $bool(a.mixtures))), ((a) => `expert=${$str(a.plan.expert)} needs a mixture of experts, and this model has none`)), new parallel_legal$Rule().__init__("expert", parallel_legal$_experts_divide, ((a) => `expert=${$str(a.plan.expert)} must divide the ${$str($at(a.mixtures, 0).experts)} experts`)), new parallel_legal$Rule().__init__("expert", parallel_legal$_experts_have_devices, parallel_legal$_about_copies, void 0, ((a) => $range(2, a.plan.expert))), new parallel_legal$Rule().__init__("data", ((a) => $eq(a.plan.devices, a.cluster.devices)), parallel_legal$_about_devices, void 0, ((_) => [])), new parallel_legal$Rule().__init__("batch", ((a) => $or(!$truth(a.strict), parallel_legal$_divides(a.plan.data, a.batch))), parallel_legal$_about_batch), new parallel_legal$Rule().__init__("microbatch", ((a) => $or(!$truth(a.strict), parallel_legal$_divides($mul(a.plan.data, a.plan.microbatch), a.batch))), ((a) => `microbatch=${$str(a.plan.microbatch)} times data=${$str(a.plan.data)} must divide batch=${$str(a.batch)}`), ((a) => $int(a.batch))), new parallel_legal$Rule().__init__("microbatch", ((a) => $or(!$truth(a.strict), parallel_legal$_in_rounds(a))), ((a) => `microbatch=${$str(a.plan.microbatch)} makes ${$str(a.microbatches)} microbatches, and interleaved ones go in rounds of as many as the ${$str(a.plan.pipeline)} stages`), ((a) => $int(a.batch))), new parallel_legal$Rule().__init__("per_node", parallel_legal$_placed, ((a) => `groups of this plan straddle nodes of ${$str(a.cluster.node.devices)} devices: use fewer of each, Cluster(..., per_node=...)`)), new parallel_legal$Rule().__init__("network", parallel_legal$_has_tiers, parallel_legal$_missing)];
function parallel_legal$_shares_layers_alone(asked) {
return ($eq(asked.plan.pipeline, 1) && $eq(asked.plan.expert, 1));
}
let parallel_legal$SERVED;
parallel_legal$SERVED = [new parallel_legal$Rule().__init__("model", ((a) => (parallel_legal$_shares_layers_alone(a) || !parallel_legal$_encoders(a))), ((_) => "plans of models with an encoder are not known")), new parallel_legal$Rule().__init__("pipeline", ((a) => ($eq(a.plan.pipeline, 1) || $all((function* () { for (const b of a.model.blocks) yield units_numbers$is_zero(b.borrowed); })()))), ((a) => `pipeline=${$str(a.plan.pipeline)}: layers of this model share weights`)), ...(function* () { for (const rule of parallel_legal$RULES) if ($has(["pipeline", "tensor", "expert", "data", "per_node", "network"], rule.argument)) yield rule; })()];
function* parallel_legal$broken(plan, model, cluster, batch, seq, strict = true, rules = parallel_legal$RULES) {
let asked, rule;
asked = new parallel_legal$Asked().__init__(plan, model, cluster, units_numbers$size("batch", batch), units_numbers$size("seq", seq), strict);
for (rule of rules) {
if (!$truth($numpy_all(rule.holds(asked)))) {
yield $add(rule.says(asked), parallel_legal$_nearest(rule, asked));
}
}
}
function parallel_legal$_nearest(rule, asked) {
let given, most, tries, value;
given = $getattr(asked.plan, rule.argument, null);
if (!$isinstance(given, [$int]) || $isinstance(given, [$bool])) {
return "";
}
most = $min([$max([rule.most(asked), $int(asked.model.layers)]), $pow(2, 16)]);
tries = ((rule.among === null) ? $range(1, $add(most, 1)) : rule.among(asked));
for (value of $sorted(tries, ((value) => $abs($sub(value, given))))) {
if ($le(value, most) && parallel_legal$_would_do(rule, asked, value)) {
return `; the nearest is ${$str(value)}`;
}
}
return "";
}
function parallel_legal$_would_do(rule, asked, value) {
try {
return $bool(rule.holds($call($getattr(asked, "with_"), [rule.argument, value], null)));
} catch ($problem0) {
if ($caught($problem0, [$ValueError])) {
return false;
} else throw $problem0;
}
return null;
}
let serving_server$CUTS;
serving_server$CUTS = ["tensor", "pipeline", "expert", "data"];
class serving_server$Server extends $object {
__post_init__() {
const self = this;
let model, place, many, put, name, rest, cluster, plan, wrong, mesh, axes, given, waits, share, axis;
[model, [place, many]] = [model_catalog$model_of(self.model), parallel_cluster$machine_of(self.device)];
if ((self.precision !== null)) {
units_precision$precision_of(self.precision);
}
put = $object___setattr__;
many = ((place instanceof parallel_cluster$Cluster) ? place.devices : many);
for (name of ["pipeline", "expert", "data"]) {
$call(put, [self, name, $int(units_numbers$size(name, $getattr(self, name)))], null);
}
rest = $max([1, $floordiv(($truth(many) ? many : 1), $mul(self.pipeline, self.data))]);
$call(put, [self, "tensor", ((self.tensor === null) ? rest : $int(units_numbers$size("tensor", self.tensor)))], null);
$call(put, [self, "model", model], null);
$call(put, [self, "place", place], null);
cluster = ((place instanceof parallel_cluster$Cluster) ? place : serving_server$_of_one_node(place, ($truth(many) ? many : self.devices)));
plan = $call(parallel_degrees$Degrees, [], $dict([...self.plan.items()]));
for (wrong of parallel_legal$broken(plan, model, cluster, self.data, 1, void 0, parallel_legal$SERVED)) {
throw new $ValueError().__init__([wrong]);
}
mesh = new parallel_mesh$Mesh().__init__(plan, cluster);
axes = $dict([...mesh.axes.items(), ["expert", mesh.expert]]);
given = ((self.latency === null) ? cluster.latency : units_numbers$amount("latency", self.latency, 0));
waits = ((given === null) ? 0 : given);
if ((place instanceof parallel_cluster$Cluster)) {
$call(put, [self, "device", place.device_on(axes, waits)], null);
} else {
$call(put, [self, "device", serving_server$_waiting(place, waits)], null);
}
share = parallel_shares$tensor_parallel(model, self.tensor, $at(axes, "tensor").across);
share = parallel_shares$expert_parallel(share, self.expert, mesh.expert.across);
axis = ($gt(mesh.neighbour.across, 1) ? "pipeline.network" : "pipeline");
$call(put, [self, "stages", parallel_stages$stage_models(share, self.pipeline, axis)], null);
}
get plan() {
const self = this;
return $dict((() => { const $ = []; for (const name of serving_server$CUTS) $.push([name, $getattr(self, name)]); return $; })());
}
get devices() {
const self = this;
return $int($mul(self.per_copy, self.data));
}
get per_copy() {
const self = this;
return $int($mul(self.tensor, self.pipeline));
}
get share() {
const self = this;
if ($gt(self.pipeline, 1)) {
throw new $ValueError().__init__([`pipeline=${$str(self.pipeline)} is not known here: cut every layer instead, tensor=...`]);
}
return $at($at(self.stages, 0), 0);
}
with_(changes) {
const self = this;
return $replace(self, $dict([...$dict([["device", self.place], ...changes.items()]).items()]));
}
seconds(work) {
const self = this;
return timing_roofline$time(work, self.device, self.precision, void 0, void 0, void 0, "ignore");
}
passes(batch, context, new$, options) {
const self = this;
return (() => { const $ = $list(); for (const [stage, n] of self.stages) $.push([$call($getattr(stage, "decode"), [batch, context, new$], $dict([...options.items()])), n]); return $; })();
}
groups(batch) {
const self = this;
if ($eq(self.pipeline, 1)) {
return [1, batch];
}
return [units_numbers$minimum(batch, self.pipeline), units_numbers$ceil_div(batch, self.pipeline)];
}
step(batch, context, new$ = 1) {
const self = this;
let groups, each;
[groups, each] = self.groups(batch);
return self._in_turn(self.passes(each, context, new$, $dict([])), groups);
}
prefill(prompt, cached = 0, batch = 1) {
const self = this;
return self._in_turn(self.passes(batch, cached, prompt, $dict([["logits", "last"]])), 1);
}
busy(prompt, cached = 0) {
const self = this;
let seconds;
seconds = (() => { const $ = $list(); for (const [work, _] of self.passes(1, cached, prompt, $dict([["logits", "last"]]))) $.push(self.seconds(work)); return $; })();
return $reduce(units_numbers$maximum, seconds);
}
_in_turn(passes, groups) {
const self = this;
let seconds, through, spent, _, alike;
seconds = (() => { const $ = $list(); for (const [work, _] of passes) $.push(self.seconds(work)); return $; })();
if ($eq($len(passes), 1)) {
return $at(seconds, 0);
}
through = 0;
for ([spent, [_, alike]] of $zip([seconds, passes], true)) {
through = $add(through, $mul(alike, spent));
}
return units_numbers$maximum(through, $mul(groups, $reduce(units_numbers$maximum, seconds)));
}
room(context) {
const self = this;
return $reduce(units_numbers$minimum, (() => { const $ = $list(); for (const [stage, _] of self.stages) $.push(self.room_of(stage, context)); return $; })());
}
room_of(stage, context) {
const self = this;
return model_kvcache$largest_batch(stage, self.device, context, self.precision).largest;
}
get fits() {
const self = this;
return $bool($gt(self.room(1), 0));
}
fullest(batch, context) {
const self = this;
let held;
held = (() => { const $ = $list(); for (const [s, _] of self.stages) $.push([s, model_kvcache$memory(s, batch, context, self.precision)]); return $; })();
return $max([held], ((each) => $at(each, 1).total));
}
get element_bytes() {
const self = this;
let own;
own = $at($at(self.stages, 0), 0).precision;
return ((self.precision === null) ? own : units_precision$precision_of(self.precision)).kv;
}
__init__(model, device, precision = null, tensor = null, pipeline = 1, expert = 1, data = 1, latency = null) {
this.model = model;
this.device = device;
this.precision = precision;
this.tensor = tensor;
this.pipeline = pipeline;
this.expert = expert;
this.data = data;
this.latency = latency;
this.__post_init__();
return this;
}
}
$class(serving_server$Server, "Server", "model device precision tensor pipeline expert data latency stages!^~ place!^", "model device precision= tensor= pipeline= expert= data= latency=");
$signed(serving_server$Server.prototype.with_, "/ **changes");
function serving_server$_of_one_node(device, many) {
return new parallel_cluster$Cluster().__init__(new model_catalog_node$Node().__init__(device.name, device, many, $math_inf));
}
function serving_server$_waiting(device, waits) {
if (units_numbers$is_zero(waits) || (device.interconnect === null)) {
return device;
}
return $call($getattr(device, "with_"), [], $dict([["links", $dict([...device.links.items(), ["node", new units_device$Link().__init__(device.interconnect, waits)]])]]));
}
let serving_money$_MILLION;
serving_money$_MILLION = 1000000.0;
let serving_money$_HOUR;
serving_money$_HOUR = 3600;
function serving_money$per_million(seconds, per_hour, utilisation = 1) {
if ($gt(units_numbers$amount("utilisation", utilisation), 1)) {
throw new $ValueError().__init__([`utilisation must be a share of the time up to 1, got ${$str(utilisation)}`]);
}
[units_numbers$amount("seconds", seconds, 0), units_numbers$amount("per_hour", per_hour, 0)];
return $div($div($mul($mul(seconds, serving_money$_MILLION), per_hour), serving_money$_HOUR), utilisation);
}
let serving_answers$_MILLION;
serving_answers$_MILLION = $pow(10, 6);
class serving_answers$Answer extends $object {
get shown() {
const self = this;
if ($isinstance(self.value, [$bool, $str])) {
return ($isinstance(self.value, [$str]) ? self.value : ($truth(self.value) ? "yes" : "no"));
}
if ($eq(self.value, $math_inf)) {
return "without end";
}
if ((self.unit === "$")) {
return `$${$str(serving_answers$_digits(self.value))}`;
}
if ($has(["tokens", "tokens/s"], self.unit) || ((self.unit === "") && $lt(self.value, serving_answers$_MILLION))) {
return $str_strip(`${$str(serving_answers$_digits(self.value))} ${$str(self.unit)}`);
}
return units_display$quantity(self.value, self.unit);
}
__init__(key, name, value, unit, why, where) {
this.key = key;
this.name = name;
this.value = value;
this.unit = unit;
this.why = why;
this.where = where;
return this;
}
}
$class(serving_answers$Answer, "Answer", "key name value unit why where", "key name value unit why where");
function serving_answers$_digits(value) {
if ($isinstance(value, [$int])) {
return `${$format(value, `,`)}`;
}
return ($ge(value, 1000) ? `${$format(value, `,.0f`)}` : `${$format(value, `.4g`)}`);
}
class serving_answers$Answers extends $object {
__iter__() {
const self = this;
return $iter(self.rows);
}
__getitem__(name) {
const self = this;
let row;
for (row of self.rows) {
if ($eq(row.key, name)) {
return row.value;
}
}
throw new $KeyError().__init__([`no answer is called ${$repr(name)}; there are ${$str($str_join(", ", self.plain()))}`]);
}
get fits() {
const self = this;
return $bool($at(self, "fits"));
}
plain() {
const self = this;
return $dict((() => { const $ = []; for (const row of self) $.push([row.key, ($eq(row.value, $math_inf) ? null : row.value)]); return $; })());
}
__init__(server, batch, context, prompt, rows) {
this.server = server;
this.batch = batch;
this.context = context;
this.prompt = prompt;
this.rows = rows;
return this;
}
}
$class(serving_answers$Answers, "Answers", "server batch context prompt rows", "server batch context prompt rows");
function serving_answers$answer(model, device, tensor = null, pipeline = 1, expert = 1, data = 1, latency = null, batch = 1, context = 4096, prompt = null, precision = null, price_per_hour = null, watts = null) {
let server, rows, step, first;
server = new serving_server$Server().__init__(model, device, precision, tensor, pipeline, expert, data, latency);
[batch, context] = [$int(units_numbers$size("batch", batch)), $int(units_numbers$size("context", context))];
prompt = ((prompt === null) ? context : $int(units_numbers$size("prompt", prompt)));
rows = $list([...serving_answers$_of_model(server), ...serving_answers$_of_memory(server, batch, context)]);
[step, first] = [serving_answers$_step(server, batch, context), serving_answers$_prompt(server, prompt)];
rows = $iadd(rows, serving_answers$_of_time(server, batch, context, prompt, step, first));
rows = $iadd(rows, serving_answers$_of_money(server, batch, prompt, step.seconds, price_per_hour, watts));
return new serving_answers$Answers().__init__(server, batch, context, prompt, $tuple(rows));
}
function* serving_answers$_of_model(server) {
let model, where, params, active, why, moe, each;
[model, where] = [server.model, "transformer.html#to-the-last-parameter"];
[params, active] = [model.params(), model.active_params()];
why = `${$format(params, `,`)} in ${$str(model.layers)} layers and at both ends`;
yield new serving_answers$Answer().__init__("params", "parameters", params, "", why, where);
if (!$eq(active, params)) {
moe = "transformer.html#mixtures-of-experts-stored-used-read";
why = `${$format($div(active, params), `.1%`)} of them: a token meets the experts it is sent to`;
yield new serving_answers$Answer().__init__("active_params", "parameters a token uses", active, "", why, moe);
}
each = model.weight_bytes(server.precision);
why = `${$format(params, `,`)} parameters × ${$format($div(each, params), `.4g`)} bytes`;
yield new serving_answers$Answer().__init__("weight_bytes", "weights", each, "B", why, "kvcache.html#what-fits");
yield* serving_answers$_of_a_token(server);
}
function* serving_answers$_of_a_token(server) {
let width, where, grows, why, token, state, long;
[width, where] = [server.element_bytes, "kvcache.html#what-a-token-leaves-behind"];
grows = (() => { const $ = $list(); for (const [c, layers] of server.model.caches()) if ($truth(c.per_token)) $.push([c, layers]); return $; })();
if ($truth(grows)) {
why = $str_join(" + ", (() => { const $ = []; for (const [cache, layers] of grows) $.push(serving_answers$_kept(cache, layers)); return $; })());
why = ($gt($len(grows), 1) ? `(${$str(why)})` : why);
token = $mul(server.model.kv_elements_per_token(), width);
yield new serving_answers$Answer().__init__("token_cache_bytes", "cache of a token", token, "B", `${$str(why)} × ${$format(width, `g`)} bytes`, where);
}
state = server.model.state_elements();
if ($truth(state)) {
why = `${$format(state, `,`)} elements × ${$format(width, `g`)} bytes, however long the sequence`;
long = "serving.html#a-long-past";
yield new serving_answers$Answer().__init__("state_bytes", "state of a sequence", $mul(state, width), "B", why, long);
}
}
function serving_answers$_kept(cache, layers) {
let text;
text = `${$str(layers)} layers × ${$format(cache.per_token, `,`)} elements`;
text = $iadd(text, (!$eq(cache.every, 1) ? ` for every ${$str(cache.every)} tokens` : ""));
return $add(text, ($truth(cache.window) ? ` of the last ${$format(cache.window, `,`)} tokens` : ""));
}
function* serving_answers$_of_memory(server, batch, context) {
let where, share, held, given, precision, sums, capacity, sign, why, stages, least, one, most, longest, each, room, long;
where = "kvcache.html#what-fits";
[share, held] = server.fullest(batch, context);
[given, precision] = [server.device.usable, server.precision];
sums = `weights ${$format($div(held.weights, 1000000000.0), `.4g`)} + cache ${$format($div(held.kv, 1000000000.0), `.4g`)} + activations `;
sums = $iadd(sums, `${$format($div(held.activations, 1000000000.0), `.2g`)} GB${$str(serving_answers$_which(server, share))}`);
yield new serving_answers$Answer().__init__("held_bytes", "memory it takes", held.total, "B", sums, where);
capacity = `${$format($div(server.device.capacity, 1000000000.0), `.4g`)} GB less ${$format(units_device$RESERVE, `.0%`)} for what else needs room`;
yield new serving_answers$Answer().__init__("given_bytes", "memory given out", given, "B", capacity, where);
sign = ($le(held.total, given) ? "≤" : ">");
why = `${$format($div(held.total, 1000000000.0), `.4g`)} ${$str(sign)} ${$format($div(given, 1000000000.0), `.4g`)} GB`;
yield new serving_answers$Answer().__init__("fits", "fits", $bool($le(held.total, given)), "", why, where);
stages = (() => { const $ = $list(); for (const [stage, _] of server.stages) $.push(stage); return $; })();
least = $min([stages], ((stage) => server.room_of(stage, $add(context, 1))));
one = model_kvcache$memory(least, 1, context, precision);
why = `(${$format($div(given, 1000000000.0), `.4g`)} − ${$format($div(one.weights, 1000000000.0), `.4g`)} GB) / `;
why = $iadd(why, `${$format($div($add(one.kv, one.activations), 1000000000.0), `.4g`)} GB a sequence`);
why = $iadd(why, ($gt(server.data, 1) ? ", in each copy" : ""));
most = server.room($add(context, 1));
yield new serving_answers$Answer().__init__("largest_batch", "largest batch", most, "", why, where);
longest = (() => { const $ = $list(); for (const each of stages) $.push(model_kvcache$largest_context(each, server.device, batch, precision)); return $; })();
each = ($eq(batch, 1) ? "one sequence" : `each of ${$format(batch, `,`)} sequences`);
room = $div($max([0, $sub(given, one.weights)]), 1000000000.0);
why = `so many tokens of ${$str(each)}, and one that is written, fit in the ${$format(room, `.4g`)} GB `;
why = $iadd(why, "beside the weights");
long = $max([0, $sub($min([(() => { const $ = []; for (const each of longest) $.push(each.largest); return $; })()]), 1)]);
yield new serving_answers$Answer().__init__("largest_context", "longest context", long, "tokens", why, where);
}
function serving_answers$_which(server, stage) {
let ends, of;
if ($eq(server.devices, 1)) {
return "";
}
if ($eq(server.pipeline, 1)) {
return `, each of ${$str(server.devices)} devices`;
}
ends = ($truth(stage.hands_on) ? "" : " and the unembedding");
ends = ($truth(stage.is_first) ? " and the embedding" : ends);
of = `${$str(stage.layers)} of ${$str(server.model.layers)} layers${$str(ends)}`;
return `: ${$str(of)}, on the fullest of ${$str(server.devices)} devices`;
}
class serving_answers$_Pass extends $object {
__init__(seconds, binds, why) {
this.seconds = seconds;
this.binds = binds;
this.why = why;
return this;
}
}
$class(serving_answers$_Pass, "_Pass", "seconds binds why", "seconds binds why");
function serving_answers$_step(server, batch, context) {
let groups, each, passes, of, seconds, slowest, through, found, stage, told;
[groups, each] = server.groups(batch);
passes = server.passes(each, context, 1, $dict([["logits", "last"]]));
if ($eq(server.pipeline, 1)) {
return serving_answers$_spent_on(server, passes, serving_answers$_on_each(server));
}
of = `${$str(server.pipeline)} stages`;
seconds = (() => { const $ = $list(); for (const [work, _] of passes) $.push($float(server.seconds(work))); return $; })();
slowest = $max([$range($len(passes))], ((which) => $at(seconds, which)));
through = $sum((() => { const $ = []; for (const [spent, [_, n]] of $zip([seconds, passes], true)) $.push($mul(spent, n)); return $; })());
if ($ge(through, $mul(groups, $at(seconds, slowest)))) {
return serving_answers$_spent_on(server, passes, serving_answers$_through_all(server));
}
found = serving_answers$_spent_on(server, $list([[$at($at(passes, slowest), 0), 1]]), serving_answers$_on_each(server));
stage = $at($at(server.stages, slowest), 0);
told = `${$str(groups)} groups of ${$format(each, `,`)}, ${$str(units_display$quantity(found.seconds, "s"))} each in the slowest of `;
told = $iadd(told, `${$str(of)}, ${$str(stage.layers)} of ${$str(server.model.layers)} layers: ${$str(found.why)}`);
return $replace(found, $dict([["seconds", $mul(groups, found.seconds)], ["why", told]]));
}
function serving_answers$_prompt(server, prompt) {
let told;
told = ($gt(server.pipeline, 1) ? serving_answers$_through_all(server) : serving_answers$_on_each(server));
return serving_answers$_spent_on(server, server.passes(1, 0, prompt, $dict([["logits", "last"]])), told);
}
function serving_answers$_on_each(server) {
return ($gt(server.devices, 1) ? "on each device " : "");
}
function serving_answers$_through_all(server) {
return `through one device of each of ${$str(server.pipeline)} stages: `;
}
function serving_answers$_spent_on(server, passes, told = "") {
let device, precision, points, spent, point, n, name, time, computing, moving, moved, flops, rate, why, sending, waiting, seconds;
[device, precision] = [server.device, server.precision];
points = (() => { const $ = $list(); for (const [work, n] of passes) for (const point of timing_roofline$limits(work, device, precision)) $.push([point, n]); return $; })();
spent = $dict([]);
for ([point, n] of points) {
for ([name, time] of serving_answers$_parts(point)) {
$put(spent, name, $add(spent.get(name, 0), $mul(n, time)));
}
}
computing = $sum((() => { const $ = []; for (const [point, n] of points) $.push($mul(n, $float(point.compute_time))); return $; })());
moving = $sum((() => { const $ = []; for (const [point, n] of points) $.push($mul(n, $float(point.memory_time))); return $; })());
moved = $sum((() => { const $ = []; for (const [point, n] of points) $.push($mul(n, $float(point.bytes))); return $; })());
flops = $sum((() => { const $ = []; for (const [work, n] of passes) $.push($mul(n, work.flops)); return $; })());
rate = $max([(() => { const $ = []; for (const [point, _] of points) $.push(point); return $; })()], ((point) => point.flops)).compute;
why = `${$str(told)}computing ${$str(units_display$quantity(flops, "FLOP"))} in ${$str(rate)} takes ${$str(units_display$quantity(computing, "s"))}, `;
why = $iadd(why, `moving ${$str(units_display$quantity(moved, "B"))} takes ${$str(units_display$quantity(moving, "s"))}`);
sending = spent.get("sending", 0);
waiting = spent.get("waiting", 0);
why = $iadd(why, ($truth(sending) ? `, sending takes ${$str(units_display$quantity(sending, "s"))}` : ""));
why = $iadd(why, ($truth(waiting) ? `, waiting for messages ${$str(units_display$quantity(waiting, "s"))}` : ""));
why = $iadd(why, "; op by op, the longer of computing and moving counts");
seconds = $sum((() => { const $ = []; for (const [work, n] of passes) $.push($mul(n, $float(server.seconds(work)))); return $; })());
return new serving_answers$_Pass().__init__(seconds, $max([spent], ((name) => $at(spent, name))), why);
}
function* serving_answers$_parts(point) {
let busy;
busy = ($truth(point.is_compute_bound) ? "compute" : "memory");
yield [busy, $float(point.busy)];
yield [(units_numbers$is_zero(point.sending_time) ? "overhead" : "waiting"), $float(point.overhead)];
yield ["sending", $float(point.sending_time)];
}
function* serving_answers$_of_time(server, batch, context, prompt, step, first) {
let where, roof, why, most, each, gives, many;
[where, roof] = ["serving.html#one-step-four-limits", "roofline.html#every-op-is-a-point"];
why = `a prompt of ${$format(prompt, `,`)} tokens: ${$str(first.why)}`;
yield new serving_answers$Answer().__init__("first_token_s", "time to first token", first.seconds, "s", why, where);
most = "what most of that time goes into";
yield new serving_answers$Answer().__init__("first_token_bound", "a prompt is bound by", first.binds, "", most, roof);
why = `${$format(batch, `,`)} × ${$format(context, `,`)} tokens: ${$str(step.why)}`;
yield new serving_answers$Answer().__init__("per_token_s", "time per token", step.seconds, "s", why, where);
yield new serving_answers$Answer().__init__("per_token_bound", "a step is bound by", step.binds, "", most, roof);
[each, gives] = [$div(1, step.seconds), "serving.html#what-one-gives-up-all-get"];
why = `1 / ${$str(units_display$quantity(step.seconds, "s"))}`;
yield new serving_answers$Answer().__init__("one_tokens_per_s", "tokens a second, one", each, "tokens/s", why, gives);
many = $mul(server.data, batch);
why = `${$format(batch, `,`)} / ${$str(units_display$quantity(step.seconds, "s"))}`;
why = $iadd(why, ($gt(server.data, 1) ? ` × ${$str(server.data)} copies` : ""));
yield new serving_answers$Answer().__init__("all_tokens_per_s", "tokens a second, all", $mul(many, each), "tokens/s", why, gives);
}
function* serving_answers$_of_money(server, batch, prompt, step, price, watts) {
let where, many, of, read, written, name, seconds, each, paid, why, told, joules;
[where, many] = ["serving.html#what-a-million-tokens-cost", server.devices];
of = ($eq(many, 1) ? "1 device" : `${$str(many)} devices`);
read = $div($float(server.busy(prompt)), $mul(prompt, server.data));
written = $div(step, $mul(batch, server.data));
for ([name, seconds] of [["read", read], ["written", written]]) {
each = `${$str(units_display$quantity(seconds, "s"))} a token`;
if ((price !== null)) {
paid = serving_money$per_million(seconds, $mul(units_numbers$amount("price_per_hour", price, 0), many));
why = `10⁶ × ${$str(each)} × $${$format(price, `g`)} an hour × ${$str(of)}`;
told = `a million tokens ${$str(name)}`;
yield new serving_answers$Answer().__init__(`dollars_per_million_${$str(name)}`, told, paid, "$", why, where);
}
if ((watts !== null)) {
joules = $mul($mul($mul(1000000.0, seconds), units_numbers$amount("watts", watts, 0)), many);
why = `10⁶ × ${$str(each)} × ${$format(watts, `g`)} W × ${$str(of)}`;
yield new serving_answers$Answer().__init__(`joules_per_million_${$str(name)}`, `energy of a million ${$str(name)}`, joules, "J", why, where);
}
}
}
export { serving_answers$answer as answer, model_transformer$Transformer as Transformer, units_precision$precision_of as precision_of, units_precision$FORMATS as FORMATS, units_precision$RECIPES as RECIPES, model_catalog$devices as devices, model_catalog$models as models, model_catalog$nodes as nodes, model_families_family$FAMILIES as FAMILIES, model_families_config$parsed as parsed };
