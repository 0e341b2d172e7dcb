"""What training holds, computes and costs: recipes, activations, FLOPs, runs, failures, budgets.

>>> from costlib import models
>>> llama = models["llama-3-8b"]
>>> state_bytes(llama, "bf16").total / llama.params()
16.0
>>> round(hfu_over_mfu(llama, 8192, recompute="full"), 2)
1.31
"""

from costlib.training.activations import (
    Activation,
    Activations,
    activations,
    saved_activations,
    training_memory,
)
from costlib.training.failures import daly, goodput, likely_failures, young
from costlib.training.flops import (
    CONVENTIONS,
    adapter_step,
    flops_per_token,
    hfu_over_mfu,
    mfu,
)
from costlib.training.recipes import (
    RECIPES,
    Adapters,
    Recipe,
    adapter_params,
    checkpoint_bytes,
    lora,
    params_by_kind,
    recipe_of,
    state_bytes,
)
from costlib.training.run import TrainingRun
from costlib.training.scaling import FITS, ComputeOptimum, LossFit, optimum

__all__ = [
    "CONVENTIONS",
    "FITS",
    "RECIPES",
    "Activations",
    "Adapters",
    "LossFit",
    "ComputeOptimum",
    "Recipe",
    "Activation",
    "TrainingRun",
    "activations",
    "adapter_params",
    "adapter_step",
    "checkpoint_bytes",
    "daly",
    "flops_per_token",
    "goodput",
    "hfu_over_mfu",
    "likely_failures",
    "lora",
    "mfu",
    "optimum",
    "params_by_kind",
    "recipe_of",
    "saved_activations",
    "state_bytes",
    "training_memory",
    "young",
]
