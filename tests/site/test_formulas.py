"""Formulas of the pages say what the library computes.

A row of FORMULAS names a formula by its page and by what it begins with, and says what the library
computes for the same letters, at points that are drawn. A formula in a sentence that begins so is
held too. At least nine in ten of the book's displayed formulas are held, and a failure lists those
that are not. A second test leaves out or doubles each symbol of each of these formulas, and turns
each sign round; every such change must be noticed.

Not seen are other numbers in a subscript, words, and most formulas in sentences.
"""

from __future__ import annotations

import doctest
import inspect
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import costlib
import latex
from costlib import Device, Precision, measured, models, serving, training
from costlib.iomodel.algorithms import backward, runs
from costlib.iomodel.counting import bounds, counts
from costlib.layers.attention import pairs
from costlib.layers.matmul import matmul_backward
from costlib.layers.parts import experts_bound, experts_expected
from costlib.measured import plans, served
from costlib.model.kvcache import kv_bytes
from costlib.parallel import hiding, pipeline
from costlib.parallel.collectives import ALGORITHMS, least_sent, two_tier_sent
from costlib.timing.limits import overlapped
from paths import ROOT

#: The share of displayed formulas that have a row.
HELD = 0.9
POINTS = 12
SHARES = ("alpha", "chi", "u", "rho", "sigma", "bubble")
DENSE = ("llama-3-8b", "llama-2-7b", "pythia-6.9b", "llama-3.1-70b")
SERVERS = ("llama-3.1-8b", "llama-2-7b")


@dataclass(frozen=True)
class Row:
    """A formula, and what the library says of its letters: values of its sides, or the letters.

    ``library`` gets the letters that it names, which are drawn. It returns the value of every side,
    or a tuple with one for each, or a dictionary of further letters. With a dictionary the sides
    must be equal to one another, unless it says under ``sides`` what they are equal to. ``dots`` is
    the letter that the last term after dots counts, and where it begins behind them.
    """

    page: str
    begins: str
    library: Callable[..., Any]
    sign: str = "="
    near: float = 1e-9
    dots: tuple[str, int] = ("", 0)

    def __str__(self) -> str:
        return f"{self.page}: {self.begins}"

    def found(self) -> list[str]:
        """The formulas of the page that begin so."""
        start = latex.spaceless(self.begins)
        every = [formula for kind in formulas_of(self.page) for formula in kind]
        return [each for each in every if latex.spaceless(each).startswith(start)]

    def drawn(self, seed: int) -> dict[str, Any]:
        """The letters at one point."""
        chance = random.Random(f"{self} {seed}")
        letters: dict[str, Any] = {}
        for name in inspect.signature(self.library).parameters:
            kinds = {"model": DENSE, "server": SERVERS, "random": (seed,)}
            drawn = chance.choice(kinds[name]) if name in kinds else chance.randint(2, 40)
            letters[name] = round(chance.uniform(0.1, 0.9), 3) if name in SHARES else drawn
        if "model" in letters:
            letters["model"] = models[letters["model"]]
        if "server" in letters:
            letters["server"] = serving.Server(letters["server"], "H100-SXM")
        if "random" in letters:
            letters["random"] = np.random.default_rng(seed)
        said = self.library(**letters)
        if not isinstance(said, dict):
            said = {"sides": said}
        return {**letters, **said}

    def problem(self, statements: list[list[str]], points: list[dict[str, Any]]) -> str:
        """What is wrong with a formula; nothing if it holds at all points."""
        for letters in points:
            values = []
            for statement in statements:
                if {*statement[1::2]} - {self.sign}:
                    return f"{statement[1::2]}, not {self.sign}"
                sides = [latex.value(side, letters, self.dots) for side in statement[::2]]
                if "sides" not in letters and not (
                    len(sides) > 1 and all(is_near(each, sides[0], self.near) for each in sides)
                ):
                    return f"{statement} is {sides} for {shown(letters)}"
                values += sides
            said = letters.get("sides", values)
            said = said if isinstance(said, (tuple, list)) else (said,) * len(values)
            if len(values) != len(said) or not all(
                is_near(a, b, self.near) for a, b in zip(values, said, strict=True)
            ):
                return f"{statements} is {values}, by the library {said}, for {shown(letters)}"
        return ""


def formulas_of(page: str) -> tuple[list[str], list[str]]:
    return latex.formulas(ROOT / "book" / f"{page}.md")


def shown(letters: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in letters.items() if isinstance(value, (int, float))}


def is_near(a: Any, b: Any, near: float) -> bool:
    return np.shape(a) == np.shape(b) and bool(np.allclose(a, b, rtol=near, atol=1e-14))


def attended(random: Any) -> dict[str, Any]:
    """One query and some keys, all the way to the output."""
    q, k, v = random.normal(size=4), random.normal(size=(5, 4)), random.normal(size=(5, 3))
    s, at = k @ q, random.integers(1, 6)
    w = np.exp(s) / np.exp(s).sum()
    letters = {"s": s, "w": w, "bold_q": q, "bold_k": k, "bold_v": v, "every": range(1, 6)}
    return {**letters, "j": int(at), "bold_o": runs.reference_attention([q], k, v)[0]}


def one_pass(random: Any) -> dict[str, Any]:
    """What a pass over some keys knows after the last of them."""
    s, v = random.normal(size=6), random.normal(size=(6, 3))
    top, grown = s.max(), np.exp(s - s.max())
    known = {"s": s, "bold_v": v, "mu": top, "sigma": grown.sum(), "bold_a": grown @ v}
    assert is_near(known["bold_a"] / known["sigma"], grown / grown.sum() @ v, 1e-12)
    return {**known, "every": range(1, 7)}


def one_key_more(random: Any) -> dict[str, Any]:
    """The same before and after a key that may have the largest score."""
    s, v = random.normal(size=6), random.normal(size=(6, 3))
    tops = [s[:5].max(), s.max()]
    sums = [np.exp(s[:n] - top).sum() for n, top in zip((5, 6), tops, strict=True)]
    outs = [np.exp(s[:n] - top) @ v[:n] for n, top in zip((5, 6), tops, strict=True)]
    both = {"mu": tops[0], "mu_new": tops[1], "sigma": sums[0], "sigma_new": sums[1]}
    return {**both, "bold_a": outs[0], "bold_a_new": outs[1], "s": s[5], "bold_v": v[5]}


def attention_gradients(random: Any) -> dict[str, Any]:
    """The gradients that the library's reference gives, and what lies between."""
    Q, K, V, dO = (random.normal(size=(5, 4)) for _ in range(4))
    weights = np.exp(Q @ K.T) / np.exp(Q @ K.T).sum(axis=1, keepdims=True)
    one = np.eye(5)
    dP = np.array([[np.sum(dO[i] * V[j]) for j in range(5)] for i in range(5)])
    dS = weights * np.array([[(one[j] - weights[i]) @ dP[i] for j in range(5)] for i in range(5)])
    dQ, dK, dV = backward.reference_gradients(Q, K, V, dO)
    gradients = {"d_bold_Q": dQ, "d_bold_K": dK, "d_bold_V": dV, "d_bold_P": dP, "d_bold_S": dS}
    return {**gradients, "bold_Q": Q, "bold_K": K, "bold_V": V, "bold_P": weights, "d_bold_O": dO}


def product_gradients(random: Any) -> dict[str, Any]:
    """Gradients of a sum of C's entries with weights: an entry of A more is so much more of it."""
    A, B, C = random.normal(size=(3, 5)), random.normal(size=(5, 4)), random.normal(size=(3, 4))
    dA = np.array([[np.sum(C[i] * B[j]) for j in range(5)] for i in range(3)])
    dB = np.array([[np.sum(A[:, i] * C[:, j]) for j in range(4)] for i in range(5)])
    return {"bold_A": A, "bold_B": B, "bold_C_new": C, "bold_A_new": dA, "bold_B_new": dB}


def one_entry(random: Any) -> dict[str, Any]:
    A, B = random.normal(size=(3, 6)), random.normal(size=(6, 4))
    return {"bold_A": A, "bold_B": B, "bold_C": A @ B, "i": 3, "j": 2, "k": 6}


def heads(random: Any) -> dict[str, Any]:
    Q, K, V = (random.normal(size=(5, 4)) for _ in range(3))
    S, out = np.einsum("sd,td->st", Q, K), runs.reference_attention(Q, K, V)
    letters = {"bold_Q": Q, "bold_K": K, "bold_V": V, "bold_S": S, "bold_O": out}
    return {**letters, "bold_P": np.exp(S) / np.exp(S).sum(axis=1, keepdims=True)}


def remembered(model: Any, B: int, T: int) -> dict[str, Any]:
    """A model's memory, and a device with room for it or not."""
    held = model.memory(B, T - 1)
    device = Device("toy", {"bf16": 1e15}, 1e12, capacity=held.total)
    sizes = {"P": model.params(), "e_w": 2, "kappa": kv_bytes(model, 1, 1), "C": device.usable}
    return {**sizes, "sides": (held.weights + held.kv, device.usable)}


def one_step(model: Any, B: int) -> dict[str, Any]:
    """A step of a device whose arithmetic takes no time, with long caches."""
    T, beta = 2000 * B, 1e12
    seconds = costlib.time(model.decode(B, T - 1), Device("toy", {"bf16": 1e29}, beta))
    return {**products(model), "T": T, "beta": beta, "t": seconds}


def full_step(model: Any, B: int) -> dict[str, Any]:
    """A step of so many sequences that products wait for arithmetic, and caches for memory."""
    T, B, pi, beta = 2000 * B, 10**6 * B, 2e13, 1e12
    seconds = costlib.time(model.decode(B, T - 1), Device("toy", {"bf16": pi}, beta))
    return {**products(model), "B": B, "T": T, "beta": beta, "pi": pi, "t": seconds}


def products(model: Any) -> dict[str, Any]:
    """Parameters in products, by their FLOPs for one token."""
    token = model.decode(1, 0).without("scores", "values")
    return {"P_m": token.matmul_flops / 2, "e_w": 2, "kappa": kv_bytes(model, 1, 1)}


def within_a_target(P: int, T: int, random: Any) -> dict[str, Any]:
    """The lines of a server, as its library turns them round: each of the three may end it."""
    P_m, e_w, kappa, pi, beta = 0.9 * P, 2, 0.1, 20.0, 1.5
    capacity = P * e_w + random.uniform(1, 40) * T * kappa
    lines = serving.Regimes(
        weights=P_m * e_w / beta,
        reading=T * kappa / beta,
        rest=0,
        computing=2 * P_m / pi + T * kappa / beta,
        capacity=(capacity - P * e_w) / (T * kappa),
    )
    t_0 = lines.weights * random.uniform(1.1, 5)
    letters = {"P_m": P_m, "e_w": e_w, "kappa": kappa, "pi": pi, "beta": beta, "C": capacity}
    return {**letters, "t_0": t_0, "B": lines.batch_within(t_0)}


def settled(eta: int, S: int, random: Any) -> dict[str, Any]:
    """The batch at which as many requests leave as arrive, by trying until it stays."""
    lines = serving.Regimes(weights=5e-3, reading=1e-6 * S, rest=0, computing=0, capacity=1e9)
    rate, t_p, batch = random.uniform(1, 10), random.uniform(1e-3, 5e-2), 0.0
    for _ in range(2000):
        batch = rate * (eta - 1) * float(lines.step(batch)) / (1 - rate * t_p)
    psi = rate * (eta - 1) / (1 - rate * t_p)
    letters = {"lambda_": rate, "t_p": t_p, "t_w": lines.weights, "t_r": lines.reading}
    return {**letters, "psi": psi, "B": batch}


def saturated(server: Any, B: int, S: int, eta: int) -> dict[str, Any]:
    S, eta = 2 * S, 2 * eta
    full = serving.saturation(server, S, eta, batch=B)
    step, read = server.step(B, S + eta // 2 - 1), server.prefill(S)
    return {"t_p": read, "eta": eta, "t": step, "lambda_": full.requests_per_s}


def drafted(server: Any, S: int, gamma: int, alpha: float) -> dict[str, Any]:
    """Drafts on a server, as long as they pay up to some batch."""
    gamma, chi, alpha = gamma % 5 + 1, 0.02, 0.5 + alpha / 3
    lines, many = serving.regimes(server, S), 2**20
    arithmetic = server.seconds(server.share.prefill(many, 1)) / many
    brought = serving.expected_tokens(alpha, gamma) - chi * gamma
    letters = {"gamma": gamma, "omega": brought, "t_w": lines.weights, "t_r": lines.reading}
    most = serving.pays_up_to(server, S, accepted=alpha, drafts=gamma, draft_cost=chi)
    return {**letters, "t_a": arithmetic, "B": most}


def published(random: Any) -> dict[str, Any]:
    """A row of a table whose requests were all there from the start, in one round."""
    plain = [(row, row.setup) for row in served.served_rows() if not row.last]
    plain = [(row, ran) for row, ran in plain if (ran.measures, ran.per) == ("output", "all")]
    fair = [row for row, ran in plain if ran.limit is None and ran.offered is None]
    row = fair[int(random.integers(len(fair)))]
    known = measured.DATASHEET
    batch, pipeline = float(row.batch[0]), row.setup.pipeline
    step = float(row.step.seconds(known)[0]) / pipeline
    read = float(row.prefill.seconds(known)[0]) / row.prompts / pipeline
    letters = {"B": batch, "t_p": read, "t": step, "eta": row.setup.answer}
    return {**letters, "sides": row.predicted(known) / row.groups / row.copies}


def crossing(G: int, t_m: int, beta_c: int) -> dict[str, Any]:
    """Where ring and tree take as long, by their rounds and by what they send."""
    G = 2 ** (G % 6 + 2)
    ring, tree = ALGORITHMS["ring all-reduce"], ALGORITHMS["tree all-reduce"]
    more = tree.rounds(G) - ring.sent(2**20, G) / 2**20  # each round of a tree sends all of it
    return {"G": G, "Z": t_m * beta_c * (ring.rounds(G) - tree.rounds(G)) / more}


def one_or_two_shots(G: int, t_m: int, beta_c: int) -> dict[str, Any]:
    """Where both take as long, by their rounds and by what they send."""
    G = 2 ** (G % 6 + 2)
    one, two = ALGORITHMS["one-shot all-reduce"], ALGORITHMS["two-shot all-reduce"]
    more = (one.sent(2**20, G) - two.sent(2**20, G)) / 2**20
    return {"G": G, "Z": t_m * beta_c * (two.rounds(G) - one.rounds(G)) / more}


def held_by_chance(B: int, S: int, eta: int, M: int) -> dict[str, Any]:
    """The mean and two deviations of what sequences hold that are anywhere in their answers."""
    B, S, eta = 100 * B, S % 20 + 1, eta % 100 + 100
    cached = np.arange(S, S + eta - 1)
    held = B * cached.mean() + 2 * np.sqrt(B) * cached.std()
    return {"B": B, "S": S, "eta": eta, "sides": (held, M)}


def chunk_within(t_0: int, t: int, pi: int, P_m: int) -> dict[str, Any]:
    """The rows of a product that fill what a target leaves beside a step."""
    return {"S_c": (t_0 - t) * pi / costlib.matmul(1, P_m, 1).flops}


def recomputed(model: Any, S: int) -> dict[str, Any]:
    """What three policies compute, over what the gradients need."""
    S = 20 * S
    forward = model.prefill(1, S)
    parts = forward.only("scores", "values"), forward["unembedding"]
    sigma, rho = (part.flops / forward.matmul_flops for part in parts)
    kept = training.hfu_over_mfu(model, S, scores="on-chip")
    again = [training.hfu_over_mfu(model, S, recompute=how) for how in ("selective", "full")]
    return {"sigma": sigma, "rho": rho, "sides": (kept, *again)}


def utilised(model: Any, G: int, S: int, random: Any) -> dict[str, Any]:
    device, each = Device("toy", {"bf16": 1e15}, 1e12), training.flops_per_token(model, S)
    speed = float(random.uniform(0.01, 0.99)) * G * 1e15 / each  # of less than the peak
    used = training.mfu(model, device, tokens_per_s=speed, seq=S, devices=G)
    return {"tokens_s": speed, "FLOPs_token": each, "pi": 1e15, "u": used}


def trained(model: Any, G: int, tau: int, u: float) -> dict[str, Any]:
    device, P = Device("toy", {"bf16": 1e15}, 1e12), model.active_params()
    letters = {"model": model, "tokens": tau, "device": device, "devices": G, "mfu": u}
    run = training.TrainingRun(**letters, seq=64, convention="6N")
    return {"P": P, "pi": 1e15, "t": run.seconds}


def fitted(alpha: float, random: Any) -> dict[str, Any]:
    floor, a, b, gamma, P, tau = random.uniform(1, 2, size=6)
    fit = training.LossFit(floor=floor, of_size=a, of_tokens=b, size_power=alpha, token_power=gamma)
    return {"ell": fit.loss, "ell_0": floor, "P": P, "tau": tau, "a": a, "b": b, "gamma": gamma}


def balanced(c: int, alpha: float, random: Any) -> dict[str, Any]:
    a, b, gamma = random.uniform(1, 2, size=3)
    fit = training.LossFit(floor=1, of_size=a, of_tokens=b, size_power=alpha, token_power=gamma)
    P, tau = fit.best(1000 * c)
    return {"P": P, "tau": tau, "a": a, "b": b, "gamma": gamma}


def noisy_step(x: int, cal_B: int, cal_B_c: int) -> Any:
    """How much a step lowers a parabola, on average over noise that is as often up as down."""
    noise = (cal_B_c / cal_B) ** 0.5
    return np.mean([(1 - (1 - x * (1 + way)) ** 2) / 2 for way in (noise, -noise)])


def muon_of_experts(tau: int, random: Any) -> dict[str, Any]:
    """Muon on all experts, over a step in which each token is in some of them."""
    k, wider, chosen, spare = map(int, random.integers(1, 30, size=4))
    n, each = k + wider, 5 * (4 * k**2 * (k + wider) + 2 * k**3)
    used = {"P": (chosen + spare) * k * n, "P_a": chosen * k * n}
    step = 3 * costlib.matmul(tau * chosen, k, n).flops
    return {**used, "k": k, "n": n, "sides": (chosen + spare) * each / step}


def zero_bubble(random: Any) -> dict[str, Any]:
    """The seconds of a played step in which gradients of weights are the shortest tasks."""
    t_W, *others = sorted(map(int, random.integers(1, 10, size=3)))
    t_F, t_B = map(int, random.permutation(others))
    G_p, more = map(int, random.integers(2, 7, size=2))
    step = {"stages": G_p, "microbatches": G_p + more}
    done = pipeline.played("zb-h1", **step, forward=t_F, backward=t_B + t_W, weights=t_W)
    letters = {"G_p": G_p, "J": G_p + more, "t_F": t_F, "t_B": t_B, "t_W": t_W}
    return {**letters, "sides": float(done.seconds)}


def casts(m: int, k: int, n: int, g: int, e_q: float, pi: int, beta: int) -> tuple[float, float]:
    """Seconds that a faster format saves in a layer's three products, and those of its casts."""
    slow = 3 * costlib.matmul(m, k, n).flops / pi
    return slow - slow / g, (m * k + m * n) * (2 + 2 * e_q) / beta


def newton_schulz(k: int, n: int) -> tuple[float, float]:
    """FLOPs a parameter of five rounds, each of three products."""
    one = [costlib.matmul(k, *other).flops for other in ((n, k), (k, k), (k, n))]
    return (5 * sum(one) / (k * n),) * 2


def first_flash(N: int, d: int, B_c: int) -> dict[str, Any]:
    return {"T_c": -(-N // B_c), "sides": counts.flash(N, d, 1, B_c).total}


def second_flash(N: int, d: int, B_r: int) -> dict[str, Any]:
    return {"T_r": -(-N // B_r), "sides": counts.flash2(N, d, B_r, 1).total}


def bound_b(N: int, d: int, M: int) -> dict[str, Any]:
    """The library's is with as many live intervals that nothing pays for as pairs, the least."""
    M, f = min(M, 4 * d**2), N**2 - N - d
    return {"M": M, "f": f, "Q": 1, "sides": (1, bounds.small_cache(N, d, M) + N**2 - f)}


def step_of_a_plan(J: int, arithmetic: int, rest: int, ends: int, bubble: float) -> dict[str, Any]:
    """With nothing that hides and nothing that lies with the host."""
    compute, other = 0.7, 5.0
    terms = plans.Terms(J * arithmetic, J * other, 1 + bubble, 0, 0, ends, 0)
    step = plans._seconds(terms, compute, rest)
    return {"compute": compute, "other_work": other, "step": step}


def roofline_time(m: int, k: int, n: int, pi: int, beta: int) -> dict[str, Any]:
    """A product's time is no less than that, and no more than both together."""
    pi, beta = 10**6 * pi, 10**6 * beta
    product, toy = costlib.matmul(m, k, n), Device("toy", {"bf16": pi}, beta)
    sizes = {"FLOPs": product.flops, "bytes": product.bytes(Precision())}
    slowest = costlib.time(product, toy, overlap="none")
    sizes |= {"t": slowest, "time": slowest, "peak_rate": pi, "memory_bandwidth": beta}
    sizes |= {"pi": pi, "beta": beta}
    return {**sizes, "sides": (slowest, costlib.time(product, toy))}


def last(random: Any) -> dict[str, Any]:
    return {"s": random.normal(size=6), "j": 4}


def one_gradient(random: Any) -> dict[str, Any]:
    """A score's gradient by the weights', the place of each from the library's reference."""
    letters = attention_gradients(random)
    return {**letters, "i": 2, "j": 3, "every": range(1, 6)}


def attained(pi: int, n: int, beta: int) -> dict[str, Any]:
    pi, beta = 20 * 10**6 * pi, 10**6 * beta
    sides = Device("toy", {"bf16": pi}, beta).attainable(n)
    return {"pi": pi, "beta": beta, "I": n, "sides": sides}


def one_latent(random: Any) -> dict[str, Any]:
    q, U, c = random.normal(size=4), random.normal(size=(4, 6)), random.normal(size=6)
    said = float(sum(q[i] * U[i, j] * c[j] for i in range(4) for j in range(6)))
    return {"bold_q": q, "bold_U": U, "bold_c": c, "sides": said}


def of_heads(B: int, S: int, H: int, h: int, op: str, what: str) -> dict[str, Any]:
    """What one op of attention costs, all tokens seeing all."""
    done = costlib.attention(B, S, H, h, scores="materialised")[op]
    return {"D": H * h, "sides": getattr(done, what)}


def as_much_as_products(D: int) -> dict[str, Any]:
    """A causal prompt whose attention takes as many FLOPs as matrices of 12·D² weights."""
    S = 12 * D - 1
    core = costlib.attention(1, S, 1, D, causal=True).matmul_flops
    return {"S": S, "sides": (core, 12 * costlib.matmul(S, D, D).flops, S, S)}


def kept_on_chip(B: int, H: int, S: int, h: int) -> Any:
    """Elements moved with scores in memory, for each moved without."""
    ways = [costlib.attention(B, S, H, h, scores=how) for how in ("materialised", "on-chip")]
    return ways[0].elements / ways[1].elements


def masked(S: int, T: int) -> dict[str, Any]:
    T += S
    return {"T": T, "sides": 1 - pairs(S, T, causal=True) / (S * T)}


def one_token(model: Any, T: int) -> dict[str, Any]:
    letters = {"L": model.layers, "H": model.heads, "h": model.head_dim}
    flops = model.decode(1, T - 1).matmul_flops
    return {**letters, **products(model), "sides": flops}


def of_experts(used: Callable[..., Any]) -> Callable[..., Any]:
    def library(E: int, B: int, S: int, E_a: int) -> dict[str, Any]:
        E, B, S, E_a = E + 30, B % 3 + 1, S % 4 + 1, E_a % 8 + 1
        return {"E": E, "B": B, "S": S, "E_a": E_a, "sides": used(E, E_a, B * S)}

    return library


def cached(model: Any) -> dict[str, Any]:
    letters = {"L": model.layers, "K": model.kv_heads, "h": model.head_dim}
    return {**letters, "sides": model.kv_elements_per_token()}


def shared_out(server: Any, B: int, S: int, eta: int) -> dict[str, Any]:
    """Machines that read for each that writes."""
    S, eta = 2 * S, 2 * eta
    step, read = server.step(B, S + eta // 2 - 1), server.prefill(S)
    said = serving.machine_ratio(server, server, S, eta, B)
    return {"t_p": read, "eta": eta, "t": step, "sides": said}


def pieces(S: int, S_c: int) -> dict[str, Any]:
    S *= 20
    return {"n_p": -(-S // S_c), "sides": serving.chunk_extra_reads(S, S_c)}


def saved(n_r: int, S_r: int, phi: int) -> dict[str, Any]:
    S_r *= 20
    return {"S_r": S_r, "sides": serving.prefix_saving(n_r, S_r, phi)}


def sessions(*, cached: bool) -> Callable[..., Any]:
    """Tokens that the calls of a session prefill."""

    def library(n_c: int, S_1: int, eta: int, S: int) -> dict[str, Any]:
        of = serving.Session(calls=n_c, first=S_1, answer=eta, result=S)
        return {"S_a": of.grows, "sides": of.prefilled(cached=cached)}

    return library


def break_even(model: Any, S: int, pi: int) -> dict[str, Any]:
    """Bytes of a prefix over the seconds of its products, unembedding included."""
    seconds = model.prefill(1, S).matmul_flops / pi
    letters = {"L": model.layers, "H": model.heads, "h": model.head_dim}
    rate = kv_bytes(model, 1, S) / seconds
    return {**letters, **products(model), "kappa": kv_bytes(model, 1, 1), "beta_c": rate}


def held(random: Any) -> dict[str, Any]:
    share, elasticity, t_p = random.uniform(0.1, 1, size=3)
    found = serving.HeldPrefix(share=share, elasticity=elasticity, prefill=t_p)
    return {"t_h": found.seconds, "t_p": t_p, "f_h": share, "u_w": elasticity}


def behind_a_bus(server: Any, random: Any) -> dict[str, Any]:
    """Tokens a second of weights alone, some of them behind a link that is not much slower."""
    link, share = server.device.memory_rate / random.uniform(1.5, 4), random.uniform(0.2, 0.8)
    moved = serving.offloaded_work(server, 1, 100)
    spent = serving.offloaded_step(server, 1, 100, link=link, share=share)
    letters = {"P_m": float(moved.elements_read.weights), "e_w": 2, "beta_c": link}
    return {**letters, "beta": server.device.memory_rate, "f_w": share, "sides": 1 / spent}


def scored_and_updated(server: Any, random: Any) -> dict[str, Any]:
    """Of short answers, so that attention is little."""
    u, n_m, copies = float(random.uniform(0.2, 0.6)), int(random.integers(1, 9)), 2
    sizes: dict[str, Any] = {"prompt": 8, "group": 4, "copies": copies, "most": 4}
    step = serving.policy_step(server, [4, 9] * 8, **sizes, scored=n_m, mfu=u)
    letters = {"n_m": n_m, "u": u, "G": copies, "tau_a": 8 * (4 + 9) + 16 * 8}
    peak = server.device.flops_per_s[server.device.sixteen_bits]
    said = {"t_scoring": step.scoring, "t_update": step.update}
    return {**letters, **products(server.model), **said, "pi": peak}


def written_once(c_w: int, c_r: int) -> dict[str, Any]:
    """Later calls with which a token costs the same with a paid cache and without one."""
    c_r = c_r / 50
    calls = np.linalg.solve([[1, -1], [1, -c_r]], [1, c_w])[1]
    return {"c_r": c_r, "n_h": calls, "sides": calls}


def rolled_out(n_a: int, B: int, eta: int, eta_m: int, t_d: int) -> dict[str, Any]:
    """All tokens at the rate of full slots, and then the longest answer alone."""
    rate = B / t_d
    return {"t": 1, "sides": (1, n_a * eta / rate + sum([t_d] * eta_m))}


def sampling(random: Any) -> dict[str, Any]:
    """The split at which the longer side is shortest, among all."""
    full, scoring, update = random.uniform(1, 9, size=3)
    step = serving.PolicyStep(2 * full, scoring, update, 0, 1, full, 1, 1)
    letters = {"t_full": full, "t_scoring": scoring, "t_update": update}
    return {**letters, "f_s": step.samplers}


def two_tiers(does: str, network: float) -> Callable[..., Any]:
    """Both wires of a collective at once: the longer one decides, now this and now that."""

    def library(Z: int, G_1: int, G_2: int, beta_c: int, beta_n: int) -> dict[str, Any]:
        G_2, beta_n = G_2 % 3 + 2, network * beta_n
        Z *= G_1 * G_2
        inside, across = two_tier_sent(does, Z, node=G_1, nodes=G_2)
        t = max(inside / beta_c, across / beta_n)
        return {"Z": Z, "G": G_1 * G_2, "G_2": G_2, "beta_n": beta_n, "t": t}

    return library


def tokens_to_hide(B: int, S: int, G: int, pi: int, beta_c: int) -> tuple[Any, Any]:
    return B * S, hiding.data_tokens(hiding.ridge(pi, beta_c, inside=G))


def gathers_to_hide(
    B: int, S: int, G_1: int, G_2: int, pi: int, beta_c: int, beta_n: int
) -> dict[str, Any]:
    """Both tiers again, of an all-gather."""
    G_2, beta_n = G_2 % 3 + 2, 0.1 * beta_n
    ridge = hiding.ridge(pi, beta_c, inside=G_1, across=G_2, network=beta_n)
    return {"G_2": G_2, "beta_n": beta_n, "sides": (B * S, hiding.fsdp_tokens(ridge))}


def widest(G_t: int, P_l: int, D: int, pi: int, beta_c: int) -> tuple[Any, Any]:
    return G_t, hiding.tensor_devices(pi, beta_c, parameters=P_l, d_model=D)


def slices(S: int, G_c: int, H: int, K: int, pi: int, beta_c: int) -> tuple[Any, Any]:
    return S / G_c, hiding.slice_tokens(pi, beta_c, heads=H, kv_heads=K)


def standard(N: int, d: int, b: int) -> dict[str, Any]:
    return {"sides": counts.naive(N, d, b, softmax="online").total}


def small(N: int, d: int, b: int) -> dict[str, Any]:
    return {"sides": counts.small_cache(N, d, b).total}


def nodes_of_a_token(G_2: int, E_a: int) -> Any:
    """Nodes are reached as experts are by tokens that have one each."""
    return experts_expected(G_2, 1, E_a)


def bound_0(N: int, d: int, M: int) -> dict[str, Any]:
    return {"Q": 1, "sides": (1, bounds.scores_only(N, d, M))}


def bound_a(N: int, d: int, M: int) -> dict[str, Any]:
    M += 4 * d**2
    return {"M": M, "Q": 1, "sides": (1, bounds.large_cache(N, d, M))}


def level_three(overhead: int, compute: int, memory: int, blend: int) -> dict[str, Any]:
    blend = 1 + blend / 20
    return {"blend": blend, "time": overhead + overlapped(compute, memory, blend)}


FORMULAS = [
    Row("matmul", r"\mathbf{C}_{ij}", one_entry, dots=("k", 3)),
    Row("matmul", r"\mathbf{A}' = \mathbf{C}'", product_gradients),
    Row("matmul", r"2 \cdot m \cdot k", lambda m, k, n: costlib.matmul(m, k, n).flops),
    Row("matmul", r"m \cdot k +", lambda m, k, n: costlib.matmul(m, k, n).reads),
    Row(
        "matmul",
        r"6 \cdot P",
        lambda m, k, n: {
            "P": k * n,
            "sides": costlib.matmul(m, k, n).flops + matmul_backward(m, k, n).flops,
        },
    ),
    Row("matmul", r"\frac{2 n^2}", lambda n: costlib.matmul(1, n, n).intensity()),
    Row("matmul", r"\frac{2 B D^2}", lambda B, D: costlib.matmul(B, D, D).intensity()),
    Row("matmul", r"\text{time} \ge", roofline_time, sign=r"\ge"),
    Row("attention", r"\begin{aligned} s_j", attended),
    Row("attention", r"\begin{aligned} \mathbf{S}", heads),
    Row("attention", r"\begin{aligned} \mu", one_pass),
    Row("attention", r"\exp(s_j - \mu')", lambda random: {**one_key_more(random), **last(random)}),
    Row("attention", r"\begin{aligned} \sigma'", one_key_more),
    Row("attention", r"\begin{aligned} \mathrm{d}\mathbf{V}", attention_gradients),
    Row("attention", r"\mathrm{d}\mathbf{S}_{ij}", one_gradient),
    Row(
        "attention",
        r"\frac{W (W + 1)}{2}",
        lambda S, W: {"S": S + W, "sides": pairs(S + W, causal=True, window=W)},
    ),
    Row("attention", "2 S (S + 1) D = ", as_much_as_products),
    Row("attention", r"\frac{4 B H S h + 4", kept_on_chip),
    Row("attention", r"\frac{S (S - 1)/2}", masked),
    Row("attention", "2 B S^2 D", lambda B, S, H, h: of_heads(B, S, H, h, "scores", "flops")),
    Row("attention", "5 B H S^2", lambda B, S, H, h: of_heads(B, S, H, h, "softmax", "flops")),
    Row("attention", "B H S^2 + B S D", lambda B, S, H, h: of_heads(B, S, H, h, "values", "reads")),
    Row("attention", "6 B S D^2", lambda B, S, D: costlib.matmul(B * S, D, 3 * D).flops),
    Row("attention", "B S D + 3 D^2", lambda B, S, D: costlib.matmul(B * S, D, 3 * D).reads),
    Row("attention", "2 B S D^2", lambda B, S, D: costlib.matmul(B * S, D, D).flops),
    Row("attention", "B S D + D^2", lambda B, S, D: costlib.matmul(B * S, D, D).reads),
    Row("transformer", "2 P_m + 4", one_token),
    Row("transformer", "E (1 -", of_experts(experts_expected)),
    Row("transformer", r"\min(E, B S", of_experts(experts_bound)),
    Row("kvcache", r"P \, e_w", remembered, sign=r"\le"),
    Row("kvcache", r"t = \frac", one_step, near=5e-3),
    Row(
        "kvcache",
        r"1 + \alpha + \dots",
        lambda alpha, gamma: serving.expected_tokens(alpha, gamma),
        dots=("gamma", 2),
    ),
    Row("kvcache", r"2 \cdot L \cdot K", cached),
    Row("kvcache", r"(1 - \alpha^", lambda alpha, gamma: serving.expected_tokens(alpha, gamma)),
    Row("roofline", r"t \ge \max", roofline_time, sign=r"\ge"),
    Row("roofline", r"\min(\pi, I", attained),
    Row("latent", r"\mathbf{q} \cdot (\mathbf{U}", one_latent),
    Row("training", "2 + 2 + 4", lambda: (training.recipe_of("bf16").per_parameter,) * 2),
    Row("training", r"\begin{aligned} \text{in the kernel", recomputed, near=1e-3),
    Row("training", r"u = \frac{\text{tokens", utilised),
    Row("training", r"t = \frac{6", trained),
    Row("training", r"\ell(P, \tau)", fitted),
    Row("training", r"\alpha a / P^", balanced),
    Row("training", r"\frac{6 m k n}", casts, sign=r"\ge"),
    Row("training", r"5 \, \frac{4 k^2", newton_schulz),
    Row("training", r"\frac{20 k + 10", muon_of_experts),
    Row("training", r"x - \left(1", noisy_step),
    Row(
        "training",
        r"\tau = n_0",
        lambda n_0, cal_B, cal_B_c: {"tau": n_0 * cal_B + n_0 * cal_B_c},
    ),
    Row("training", r"\sqrt{2 \delta \theta}", lambda delta, theta: training.young(delta, theta)),
    Row("serving", r"t = \frac{P_m", one_step, near=5e-3),
    Row("serving", r"t = B", full_step, near=2e-2),
    Row("serving", r"B = \min", within_a_target),
    Row("serving", r"B = \frac{\psi", settled),
    Row("serving", r"B = \frac{\lambda (\eta", settled),
    Row("serving", r"\lambda = \frac{1}", saturated, near=1e-6),
    Row("serving_faster", r"\frac{B\,t_p}{(\eta", shared_out),
    Row("serving", r"B \left(S", held_by_chance, sign=r"\le", near=3e-3),
    Row("serving_faster", r"S_c = \frac", chunk_within),
    Row("serving_faster", r"Z = \frac{t_m", one_or_two_shots),
    Row("serving_faster", r"S_c \, n_p", pieces),
    Row("serving_faster", r"S_c \, \frac", pieces),
    Row("serving_faster", r"(\phi - 1)/2", lambda phi: serving.mean_empty(phi)),
    Row("serving_faster", r"(n_r - 1)", saved),
    Row(
        "serving_faster",
        r"\frac{1 - \alpha",
        lambda alpha, gamma, chi: serving.speed_up(alpha, gamma, chi),
    ),
    Row("serving_faster", r"B = \frac{\omega", drafted),
    Row("serving", r"\frac{B\,\eta}", published),
    Row("agents", r"n_c S_1", sessions(cached=False)),
    Row("agents", r"S_1 + (n_c", sessions(cached=True)),
    Row("agents", r"\beta_c = \frac{\kappa", break_even),
    Row("agents", r"t_h = \frac{t_p}", held),
    Row("agents", r"n_h > \frac", written_once, sign=">"),
    Row("agents", r"\frac{1}{(1 - f_w)", behind_a_bus, near=0.02),
    Row("agents", r"t \le \frac{n_a", rolled_out, sign=r"\le"),
    Row("agents", r"t_{\text{scoring}} + t_{\text{update}} =", scored_and_updated, near=0.01),
    Row("agents", r"f_s = \frac", sampling),
    Row(
        "parallel",
        "2 Z (G-1)/G",
        lambda Z, G: {"Z": Z * G, "sides": least_sent("all_reduce", Z * G, G)},
    ),
    Row("parallel", r"Z = t_m", crossing),
    Row("parallel", r"t = \frac{2 Z}{G_1}", two_tiers("all_reduce", 0.1)),
    Row("parallel", r"t = \frac{Z}{G} \max", two_tiers("all_to_all", 2)),
    Row("parallel", r"B S \ge \frac{\pi}{\beta_c}", tokens_to_hide, sign=r"\ge"),
    Row("parallel", r"B S \ge \frac{\pi}{G_1}", gathers_to_hide, sign=r"\ge"),
    Row("parallel", r"G_t \le", widest, sign=r"\le"),
    Row(
        "parallel",
        r"G_t = \sqrt",
        lambda P, L, D, B, S: {"G_t": np.sqrt(6 * P / (16 * L * D * B * S))},
    ),
    Row("parallel", r"\frac{G_p - 1}{J", lambda G_p, J: pipeline.bubble(G_p, J)),
    Row("parallel", r"(J + G_p - 1)(t_F", zero_bubble),
    Row("parallel", r"(G_p - 1)/(v J", lambda G_p, J, v: pipeline.bubble(G_p, J, v)),
    Row(
        "parallel",
        r"F \ge \frac",
        lambda F, pi, beta_c: (F, hiding.expert_width(pi / beta_c)),
        sign=r"\ge",
    ),
    Row("parallel", r"G_2 \left(1", nodes_of_a_token),
    Row("parallel", r"\frac{S}{G_c} \ge", slices, sign=r"\ge"),
    Row("measured", r"\begin{aligned} \text{step}", step_of_a_plan),
    Row("iomodel", r"\begin{aligned} & \underbrace{2N^2}", standard),
    Row("iomodel", r"\begin{aligned} & \underbrace{T_c", first_flash),
    Row("iomodel", r"\underbrace{T_r", second_flash),
    Row("iomodel", r"\begin{aligned} & \underbrace{3 \lceil N/b", small),
    Row("lowerbounds", r"Q \ge \min", bound_0, sign=r"\ge"),
    Row("lowerbounds", r"Q \ge \frac{2}", bound_b, sign=r"\ge"),
    Row("lowerbounds", r"Q \ge 4N^2d^2/M", bound_a, sign=r"\ge"),
    Row("measured", r"\begin{aligned} \text{time}", level_three),
]
rows = pytest.mark.parametrize("row", FORMULAS, ids=str)


def test_formulas_are_read_as_they_are_meant() -> None:
    assert doctest.testmod(latex).failed == 0


@rows
def test_a_formula_is_what_the_library_computes(row: Row) -> None:
    found = row.found()
    assert found, f"no formula of {row.page} begins with {row.begins}: say what it begins with now"
    points = [row.drawn(seed) for seed in range(POINTS)]
    for formula in found:
        assert not (wrong := row.problem(latex.statements(formula), points)), wrong


def changed(row: Row, statements: list[list[str]]) -> Iterator[list[list[str]]]:
    """The statements with one symbol or sign of one side changed."""
    for s, statement in enumerate(statements):
        for n in range(0, len(statement), 2):
            for mutant in latex.mutants(statement[n], row.dots):
                sides = [*statement[:n], mutant, *statement[n + 1 :]]
                yield [*statements[:s], sides, *statements[s + 1 :]]


@rows
def test_a_changed_formula_is_noticed(row: Row) -> None:
    points = [row.drawn(seed) for seed in range(POINTS)]
    for formula in row.found()[:1]:
        for mutant in changed(row, latex.statements(formula)):
            try:
                noticed = bool(row.problem(mutant, points))
            except (SyntaxError, ArithmeticError, ValueError, TypeError, NameError, IndexError):
                noticed = True
            assert noticed, f"{mutant} passes"


def test_a_cache_without_its_tokens_is_noticed() -> None:
    """The slip that went unseen: B T κ became B κ."""
    [row] = [row for row in FORMULAS if row.library is remembered]
    points = [row.drawn(seed) for seed in range(POINTS)]
    [formula] = row.found()
    slip = formula.replace(r"B \, T \, \kappa", r"B \, \kappa")
    assert slip != formula
    assert not row.problem(latex.statements(formula), points)
    assert row.problem(latex.statements(slip), points)


def test_hardly_a_displayed_formula_is_not_held() -> None:
    displayed = {
        (page.stem, formula)
        for page in (ROOT / "book").glob("*.md")
        for formula in latex.formulas(page)[0]
    }
    held = {(row.page, formula) for row in FORMULAS for formula in row.found()}
    left = displayed - held
    assert len(displayed) - len(left) >= HELD * len(displayed), (
        f"{len(displayed) - len(left)} are held, and not {sorted(left)}"
    )
