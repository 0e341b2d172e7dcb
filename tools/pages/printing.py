"""Formulas of costlib as JavaScript, asked of models whose sizes are symbols.

What the generators of the explorers' files share.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from typing import Any

import sympy
from sympy.printing.jscode import JavascriptCodePrinter

import costlib
from costlib.model.transformer import MLA, MoE, Transformer

# ---------------------------------------------------------------- printing


class Printer(JavascriptCodePrinter):
    """SymPy's, with small powers as products: exact as long as integers fit, and faster."""

    def _print_Pow(self, expr: sympy.Pow) -> str:
        base, power = expr.as_base_exp()
        if power.is_Integer and 2 <= power <= 4:
            text = self.parenthesize(base, sympy.printing.precedence.PRECEDENCE["Pow"])
            return "(" + "*".join([text] * int(power)) + ")"
        return str(super()._print_Pow(expr))

    def _print_Max(self, expr: sympy.Max) -> str:
        return f"Math.max({', '.join(map(self._print, expr.args))})"

    def _print_Min(self, expr: sympy.Min) -> str:
        return f"Math.min({', '.join(map(self._print, expr.args))})"


def function(name: str, arguments: Sequence[Any], results: Any) -> str:
    """One exported function: a number, or an array of numbers, of its arguments.

    ``arguments`` are symbols; where one is a tuple of symbols, an array is passed for it.
    """
    printer = Printer()
    many = isinstance(results, (list, tuple))
    flat = [sympy.sympify(each) for each in (results if many else [results])]
    shared, flat = sympy.cse(flat, symbols=sympy.numbered_symbols("t"), order="none")
    while inverse := next((pair for pair in shared if _is_inverse(pair[1])), None):
        known = dict([inverse])
        shared = [(one, value.xreplace(known)) for one, value in shared if one not in known]
        flat = [value.xreplace(known) for value in flat]
    passed = [f"[{', '.join(map(str, a))}]" if isinstance(a, tuple) else str(a) for a in arguments]
    lines = [f"export function {name}({', '.join(passed)}) {{"]
    lines += [f"  const {one} = {printer.doprint(value)};" for one, value in shared]
    values = [printer.doprint(value) for value in flat]
    rows = [", ".join(values[at : at + 5]) for at in range(0, len(values), 5)]
    body = "[\n    " + ",\n    ".join(rows) + "]" if many else values[0]
    return "\n".join([*lines, f"  return {body};", "}", ""])


def _is_inverse(value: Any) -> bool:
    """1/b as a value of its own: a·(1/b) is not always a/b, and its ceiling can be one too many."""
    return bool(value.is_Pow and value.exp.is_number and value.exp.is_negative)


def constant(name: str, value: Any) -> str:
    """One exported constant."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return f"export const {name} = {text};\n"


def evaluated(expression: str, sizes: Mapping[str, Any]) -> Any:
    """What an expression says, in the names of costlib, of sizes that are numbers or symbols.

    >>> evaluated("matmul(m, k, n).flops", {"m": 2, "k": 3, "n": 4})
    48
    """
    names = {public: getattr(costlib, public) for public in costlib.__all__}
    return eval(expression, {**names, "costlib": costlib, "sympy": sympy, **sizes})


# ---------------------------------------------------------------- models

#: Sizes of a model that a formula takes, in the order in which it takes them.
SIZES = (
    "layers",
    "d_model",
    "heads",
    "kv_heads",
    "head_dim",
    "d_ff",
    "vocab",
    "rotary_dim",
    "positions",
    "window",
    "local_layers",
)
EXPERTS = ("experts", "per_token", "width", "shared_width", "dense_layers")
LATENT = ("q_rank", "kv_rank", "nope_dim", "rope_dim", "value_dim")
KINDS = ("weights", "activations", "kv", "scores")


def parts(model: Transformer) -> dict[str, Any]:
    """Every size of a model by name; 0 or None where it has none."""
    found = {name: getattr(model, name) for name in SIZES}
    found |= {name: getattr(model.moe, name, 0) for name in EXPERTS}
    return found | {name: getattr(model.mla, name, 0) or 0 for name in LATENT}


def family(model: Transformer) -> tuple[Any, ...]:
    """What decides which steps a model has: models that agree in it share their formulas."""
    sizes = parts(model)
    kinds = (
        model.gated,
        model.activation,
        model.norm,
        model.norms,
        model.final_norm,
        model.embedding_norm,
        model.qk_norm,
        model.biases,
        model.parallel,
        model.sinks,
        model.moe is not None and model.moe.shared_gate,
    )
    present = tuple(name for name in (*SIZES, *EXPERTS, *LATENT) if sizes[name] not in (0, None))
    return (*kinds, present, model.local_layers == model.layers)


def symbolic(model: Transformer) -> tuple[Transformer, tuple[sympy.Symbol, ...]]:
    """A model of the same family whose sizes are symbols, and those symbols."""
    sizes = parts(model)
    named = {
        name: costlib.symbols(name) if value not in (0, None) else value
        for name, value in sizes.items()
    }
    if model.local_layers == model.layers:
        named["local_layers"] = named["layers"]
    moe = mla = None
    if model.moe:
        moe = MoE(shared_gate=model.moe.shared_gate, **{name: named[name] for name in EXPERTS})
    if model.mla:
        mla = MLA(**{name: named[name] or None for name in LATENT})
    changed = model.with_(**{name: named[name] for name in SIZES}, moe=moe, mla=mla)
    used = [named[name] for name in (*SIZES, *EXPERTS, *LATENT)]
    return changed, tuple(dict.fromkeys(s for s in used if isinstance(s, sympy.Symbol)))


@functools.cache
def drawable() -> dict[str, Transformer]:
    """Released models whose layers are alike, so that one set of sizes says all of them.

    The reader says in how many bytes the weights are: none of them has a checkpoint of its own
    here, and one that is packed in another way, under a longer name, is left out.
    """
    origin = costlib.models.provenance
    found: dict[str, Transformer] = {}
    for name, model in sorted(costlib.models.items()):
        kind = origin(name)["config"]["source"]["kind"]
        shape = model.with_(storage=None)
        packed = any(name.startswith(other) and found[other] == shape for other in found)
        if model.is_uniform and kind != "class default" and not packed:
            found[name] = shape
    return {name: found[name] for name in costlib.models if name in found}
