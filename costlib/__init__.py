"""costlib: what transformers cost, to the FLOP and to the byte.

Every cost is a formula written once as plain arithmetic and read many ways: pass ints for an exact
int, NumPy arrays for a sweep, SymPy symbols for the formula itself.

>>> import costlib
>>> costlib.matmul(4096, 4096, 4096).flops
137438953472
"""

from costlib.ledger import Elements, Ledger, Op, Precision
from costlib.matmul import einsum, linear, matmul
from costlib.numbers import symbols

__all__ = ["Elements", "Ledger", "Op", "Precision", "einsum", "linear", "matmul", "symbols"]

__version__ = "0.1.0"
