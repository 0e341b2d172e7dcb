"""Paged KV cache: how many blocks there are, what a sequence takes of them, and what stays empty.

What grows with every token is kept in blocks of a fixed number of tokens. What has a largest size
(states of scans, the windows of local layers) is reserved whole. A block is as many bytes in all
layers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from costlib.serving.server import Server, server_of
from costlib.units.numbers import Number, one_size, size

if TYPE_CHECKING:
    from costlib.serving.requests import Requests

__all__ = ["Pages", "mean_empty", "prefix_saving"]


class Pages:
    """A server's memory for caches, as blocks of ``block`` tokens.

    >>> pages = Pages(Server("llama-3.1-8b", "H100-SXM"), block=16)
    >>> pages.block_bytes, pages.blocks, pages.of(100), pages.fixed(100)
    (2097152, 29205, 7, 0)
    """

    def __init__(self, server: Server, *, block: int = 16, sequences: int = 1) -> None:
        self.block = one_size("block", block)
        server = server_of(server)
        share, kv = server.share, server.element_bytes
        self.server, self._sequences = server, sequences
        self._fixed: list[tuple[Any, Any]] = []  # bytes a token, and up to how many tokens
        grows: Any = 0
        for cache, layers in share.caches():
            each = layers * cache.per_token * kv / cache.every
            if cache.window is None:
                grows += each
            else:
                self._fixed.append((each, cache.window))
        self._state = share.state_elements() * kv
        self.grows = grows > 0
        self._longest = 1 << 40
        whole = self.block * grows if self.grows else max(1, self._fixed_bytes(self._longest))
        self.block_bytes = int(whole) if whole == int(whole) else whole
        self.blocks = max(0, int(server.free_bytes(sequences) // whole))

    @property
    def tokens(self) -> int:
        """Tokens that the blocks hold, where each token of a sequence takes room.

        >>> Pages(Server("llama-3.1-8b", "H100-SXM")).tokens
        467280
        """
        if not self.grows:
            raise ValueError("server has a model whose caches do not grow with the tokens in them")
        return self.block * self.blocks

    def of(self, tokens: int) -> int:
        """Blocks that ``tokens`` tokens of a sequence take."""
        return -(-tokens // self.block) if self.grows else 0

    def fixed(self, tokens: int) -> int:
        """Blocks of what is reserved at once for a sequence that ends with ``tokens`` tokens."""
        return int(-(-self._fixed_bytes(tokens) // self.block_bytes))

    def _fixed_bytes(self, tokens: int) -> Any:
        return self._state + sum(each * min(tokens, window) for each, window in self._fixed)

    def check(self, requests: Requests) -> None:
        """Say so if there is a request that could never be served."""
        last = requests.prompt + requests.answer - 1
        longest = int(last.max())
        needs = self.of(longest) + self.fixed(longest)
        if needs <= self.blocks:
            return
        self.server.check(longest)
        raise ValueError(
            f"a request of {longest:,} tokens needs {needs:,} blocks of {self.block}, and beside "
            f"weights and the activations of {self._sequences} sequences there are "
            f"{self.blocks:,}: requests of up to {self.blocks * self.block:,} tokens fit"
        )


def mean_empty(block: Number) -> Any:
    """Slots that a sequence leaves empty on average, if all lengths are equally likely: (φ − 1)/2.

    >>> mean_empty(16)
    7.5
    """
    return (size("block", block) - 1) / 2


def prefix_saving(sequences: Number, shared: Number, block: Number = 1) -> Any:
    """Tokens that prefix caching saves where n sequences begin alike: (n − 1)·⌊s/φ⌋·φ.

    >>> prefix_saving(100, 1000, 16)
    98208
    """
    sequences, block = size("sequences", sequences), size("block", block)
    return (sequences - 1) * (size("shared", shared, least=0) // block) * block
