"""saved_tensors.json: bytes that autograd keeps of small blocks, by hooks on what it saves.

Each storage counts once, however many ops keep it; parameters are left out. All is in bf16 on the
CPU. Two things are asked for by name, as the CPU would do them otherwise than a GPU does: dropout
keeps a mask of one byte (`torch.native_dropout`), and a norm keeps its input and its statistics.
"""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import gelu, layer_norm, scaled_dot_product_attention, silu
from torch.utils.checkpoint import checkpoint

DATA = Path(__file__).parent.parent
KIND = torch.bfloat16

SIZES: dict[str, Any] = {"batch": 2, "seq": 96, "d_model": 128, "heads": 8}
LLAMA = {**SIZES, "kind": "llama", "kv_heads": 2, "d_ff": 320}
GPT = {**SIZES, "kind": "gpt", "kv_heads": 8, "d_ff": 512}
MIXTURE = {**LLAMA, "kind": "mixture", "experts": 6, "per_token": 2, "d_ff": 192}
LATENT = {
    **LLAMA,
    "kind": "latent",
    "kv_rank": 40,
    "q_rank": 56,
    "nope": 24,
    "rope": 8,
    "value": 20,
}
ROWS = {
    "gpt": GPT,
    "gpt selective": {**GPT, "recompute": "selective"},
    "gpt full": {**GPT, "recompute": "full"},
    "llama materialised": {**LLAMA, "scores": "materialised"},
    "llama on chip": {**LLAMA, "scores": "on-chip"},
    "llama full": {**LLAMA, "scores": "on-chip", "recompute": "full"},
    "llama with adapters": {**LLAMA, "scores": "on-chip", "rank": 4, "targets": ["q", "v"]},
    "llama with adapters, materialised": {**LLAMA, "rank": 4, "targets": ["k", "o", "up"]},
    "mixture on chip": {**MIXTURE, "scores": "on-chip"},
    "latent on chip": {**LATENT, "value": 32, "scores": "on-chip"},
    "latent materialised": {**LATENT, "scores": "materialised"},
}


def make(names: list[str]) -> None:
    """Count every row again, or those that are named."""
    file = DATA / "saved_tensors.json"
    held = json.loads(file.read_text("utf-8")) if file.exists() else {}
    known = held.get("rows", {})
    rows = {
        name: {"sizes": sizes, **counted(sizes)}
        for name, sizes in ROWS.items()
        if not names or name in names or name not in known
    }
    torch_is = f"torch {torch.__version__}"
    held = {"made_with": torch_is, "rows": {**known, **rows}}
    file.write_text(json.dumps(held, indent=1) + "\n", encoding="utf-8")


def counted(sizes: dict[str, Any]) -> dict[str, Any]:
    """Bytes that one block of these sizes leaves behind, and the tensors they are in."""
    torch.manual_seed(0)
    block = Block(sizes)
    if "rank" in sizes:
        freeze(block, sizes)
    block = block.to(KIND)
    given = torch.randn(sizes["batch"], sizes["seq"], sizes["d_model"], dtype=KIND)
    given.requires_grad_()
    own = {p.untyped_storage().data_ptr() for p in block.parameters()}
    own |= {b.untyped_storage().data_ptr() for b in block.buffers()}
    found: dict[int, Tensor] = {}

    def keep(tensor: Tensor) -> Tensor:
        at = tensor.untyped_storage().data_ptr()
        if at not in own:
            found.setdefault(at, tensor)
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        if sizes.get("recompute") == "full":
            made = checkpoint(block, given, use_reentrant=True)
        else:
            made = block(given)
    assert made.requires_grad
    shapes = Counter(
        f"{str(t.dtype).removeprefix('torch.')} {tuple(t.shape)}: {t.untyped_storage().nbytes()}"
        for t in found.values()
    )
    total = sum(tensor.untyped_storage().nbytes() for tensor in found.values())
    return {"bytes": total, "tensors": dict(sorted(shapes.items()))}


def freeze(block: "Block", sizes: dict[str, Any]) -> None:
    """No weight learns but those of adapters beside the products named."""
    block.requires_grad_(requires_grad=False)
    for name in sizes["targets"]:
        if hasattr(block, name):
            setattr(block, name, Adapted(getattr(block, name), sizes["rank"]))
        else:
            block.experts[0][name] = Adapted(block.experts[0][name], sizes["rank"])


class Norm(torch.autograd.Function):
    """A root-mean-square norm in one kernel: it keeps its input and one number a row."""

    @staticmethod
    def forward(ctx: Any, given: Tensor, weight: Tensor) -> Tensor:
        scale = given.float().pow(2).mean(-1, keepdim=True).add(1e-6).rsqrt()
        ctx.save_for_backward(given, scale, weight)
        return (given.float() * scale).to(given.dtype) * weight

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor]:
        raise NotImplementedError("only what is saved is of interest")


class Block(nn.Module):
    """One layer of a kind: attention and a feed-forward layer, each behind a norm."""

    def __init__(self, sizes: dict[str, Any]) -> None:
        super().__init__()
        self.sizes, d, f = sizes, sizes["d_model"], sizes["d_ff"]
        self.kind, self.heads = sizes["kind"], sizes["heads"]
        self.dim = d // self.heads
        self.scores = sizes.get("scores", "materialised")
        keys = sizes["kv_heads"] * self.dim
        self.norms = nn.ParameterList(torch.ones(d) for _ in range(2))
        self.biases = nn.ParameterList(torch.zeros(d) for _ in range(2))
        if self.kind == "latent":
            self._make_latent(d)
        else:
            for name, width in (("q", d), ("k", keys), ("v", keys)):
                setattr(self, name, linear(d, width))
        values = self.heads * sizes.get("value", self.dim)
        self.o = linear(values, d)
        experts = sizes.get("experts", 1)
        self.router = linear(d, experts)
        names = ("up", "down") if self.kind == "gpt" else ("gate", "up", "down")
        self.experts = nn.ModuleList(
            nn.ModuleDict({n: linear(f, d) if n == "down" else linear(d, f) for n in names})
            for _ in range(experts)
        )
        angles = torch.arange(sizes["seq"]).float()[:, None] / torch.arange(1, 5)
        self.register_buffer("cos", angles.cos().repeat(1, self.rotated() // 4))
        self.register_buffer("sin", angles.sin().repeat(1, self.rotated() // 4))
        ahead = torch.full((sizes["seq"], sizes["seq"]), float("-inf")).triu(1)
        self.register_buffer("ahead", ahead)

    def _make_latent(self, d: int) -> None:
        s = self.sizes
        self.q_a, self.kv_a = linear(d, s["q_rank"]), linear(d, s["kv_rank"] + s["rope"])
        self.q_b = linear(s["q_rank"], self.heads * (s["nope"] + s["rope"]))
        self.kv_b = linear(s["kv_rank"], self.heads * (s["nope"] + s["value"]))
        self.inner = nn.ParameterList(torch.ones(s[n]) for n in ("q_rank", "kv_rank"))

    def rotated(self) -> int:
        return int(self.sizes.get("rope", self.dim))

    def forward(self, given: Tensor) -> Tensor:
        mixed = self.o(self.attention(self.norm(given, 0)))
        middle = given + self.dropped(mixed)
        return middle + self.dropped(self.feed(self.norm(middle, 1)))

    def norm(self, given: Tensor, which: int) -> Tensor:
        if self.kind == "gpt":
            width = (self.sizes["d_model"],)
            return layer_norm(given, width, self.norms[which], self.biases[which])
        return Norm.apply(given, self.norms[which])

    def dropped(self, given: Tensor) -> Tensor:
        return torch.native_dropout(given, 0.1, True)[0] if self.kind == "gpt" else given

    def attention(self, given: Tensor) -> Tensor:
        q, k, v = self.latents(given) if self.kind == "latent" else self.heads_of(given)
        if self.scores == "on-chip":
            k, v = k.contiguous(), v.contiguous()
            with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
                shared = q.shape[1] != k.shape[1]
                made = scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=shared)
        elif self.sizes.get("recompute") == "selective":
            made = checkpoint(self.core, q, k, v, use_reentrant=True)
        else:
            made = self.core(q, k, v)
        return made.transpose(1, 2).flatten(2)

    def core(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """Scores that are written down. Heads that share keys are rows of one product."""
        batch, heads, seq, dim = q.shape
        shared = heads // k.shape[1]
        rows = q.reshape(batch, k.shape[1], shared * seq, dim)
        scores = rows @ k.transpose(-1, -2) * dim**-0.5
        scores = scores.view(batch, heads, seq, seq) + self.ahead
        chances = self.dropped(scores.softmax(-1)).view(batch, k.shape[1], shared * seq, seq)
        return (chances @ v).view(batch, heads, seq, -1)

    def heads_of(self, given: Tensor) -> tuple[Tensor, ...]:
        q, k, v = (make(given).unflatten(-1, (-1, self.dim)) for make in (self.q, self.k, self.v))
        if self.kind != "gpt":
            q, k = self.rotary(q), self.rotary(k)
        return tuple(each.transpose(1, 2) for each in (q, k, v))

    def latents(self, given: Tensor) -> tuple[Tensor, ...]:
        s = self.sizes
        queries = self.q_b(Norm.apply(self.q_a(given), self.inner[0]))
        plain, turned = self.cut(queries, s["nope"], s["rope"])
        latent, key = self.kv_a(given).split([s["kv_rank"], s["rope"]], dim=-1)
        both = self.kv_b(Norm.apply(latent, self.inner[1]))
        keys, values = self.cut(both, s["nope"], s["value"])
        key = self.rotary(key[:, :, None]).expand(-1, -1, self.heads, -1)
        q, k = torch.cat([plain, self.rotary(turned)], -1), torch.cat([keys, key], -1)
        return tuple(each.transpose(1, 2) for each in (q, k, values))

    def cut(self, given: Tensor, *widths: int) -> tuple[Tensor, ...]:
        return given.unflatten(-1, (self.heads, sum(widths))).split(widths, dim=-1)

    def rotary(self, given: Tensor) -> Tensor:
        """Of tokens, heads and entries, in this order."""
        left, right = given.chunk(2, dim=-1)
        return given * self.cos[:, None] + torch.cat([-right, left], -1) * self.sin[:, None]

    def feed(self, given: Tensor) -> Tensor:
        if self.kind != "mixture":
            return self.expert(0, given)
        tokens = given.flatten(0, 1)
        chances, chosen = self.router(tokens).softmax(-1).topk(self.sizes["per_token"])
        each, order = self.sizes["per_token"], chosen.flatten().argsort()
        sent = tokens.index_select(0, order // each)
        counts = torch.bincount(chosen.flatten(), minlength=self.sizes["experts"]).tolist()
        done = [self.expert(i, part) for i, part in enumerate(sent.split(counts)) if len(part)]
        weighted = torch.cat(done) * chances.flatten()[order][:, None]
        back = weighted.index_select(0, order.argsort())
        return back.unflatten(0, (-1, each)).sum(1).view_as(given)

    def expert(self, which: int, given: Tensor) -> Tensor:
        e = self.experts[which]
        if self.kind == "gpt":
            return e["down"](gelu(e["up"](given)))
        return e["down"](silu(e["gate"](given)) * e["up"](given))


class Adapted(nn.Module):
    """A frozen product, and two thin ones beside it that learn."""

    def __init__(self, frozen: nn.Linear, rank: int) -> None:
        super().__init__()
        self.frozen = frozen
        self.down = linear(frozen.in_features, rank)
        self.up = linear(rank, frozen.out_features)

    def forward(self, given: Tensor) -> Tensor:
        return self.frozen(given) + self.up(self.down(given))


def linear(d_in: int, d_out: int) -> nn.Linear:
    return nn.Linear(d_in, d_out, bias=False)
