"""What training holds, computes and costs: recipes, activations, FLOPs, runs, failures, budgets.

>>> from costlib import models
>>> llama = models["llama-3-8b"]
>>> state_bytes(llama, "bf16").total / llama.params()
16.0
>>> round(hfu_over_mfu(llama, 8192, recompute="full"), 2)
1.31
"""

from costlib.training.activations import *
from costlib.training.failures import *
from costlib.training.flops import *
from costlib.training.recipes import *
from costlib.training.run import *
from costlib.training.scaling import *
from costlib.units.display import show as _show

_show(__name__)
