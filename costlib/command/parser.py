"""What can be typed: one parser, which help, errors and completion all read."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from functools import partial
from typing import Any, NoReturn

from costlib.command import asked
from costlib.command.table import complain
from costlib.model.engines import ENGINES
from costlib.timing.sweeps import CONTEXT
from costlib.training import RECIPES as TRAINED
from costlib.units.precision import FORMATS, RECIPES

__all__ = ["COMMANDS", "flags", "parser"]

#: What can be asked, and in a few words what comes.
COMMANDS = {
    "answer": "say whether it fits, how fast it is, what binds and what it costs",
    "params": "count parameters by what they are for",
    "memory": "list what is in each device's memory, and say what is left",
    "time": "time each op of a decode step or a prefill, and say what binds it",
    "compare": "compare the answers for several models, devices or plans",
    "sweep": "print a row for each batch and context",
    "plan": "find ways to train a model on a cluster",
    "train": "say how long a training run takes, in what memory and at what price",
    "lora": "say whether LoRA or QLoRA fits a device, and how fast it trains",
    "serve": "find the largest batch, or the fewest devices, within targets for TPOT and TTFT",
    "explain": "compare an engine's log with what was to be expected, and say what binds",
    "models": "list names of models",
    "devices": "list names of devices",
    "nodes": "list names of nodes, from which clusters are made",
    "measure": "time this machine: its GEMMs and its memory, as a roofline",
    "completion": "print a script that completes names and options in bash or zsh",
}

_HEAD = """costlib MODEL --on DEVICE[xN] asks everything at once. MODEL is a name of the
catalogue or a config.json. Exit codes: 0 for an answer; 1 where the answer is
no (neither it nor another choice fits, no batch meets the target, no name
matches); 2 for an error in the question."""

_EXAMPLES = """examples:
  costlib llama-3.1-8b --on H100-SXM --batch 8 --context 8192 --price 3.99
  costlib config.json --on A100-80GBx4 --why
  costlib deepseek-v3 --on DGX-H200x2 --plan expert=16,data=16 --batch 64
  costlib compare llama-3.1-70b --on H100-SXMx8 --plan tensor=8 tensor=4,data=2
  costlib serve llama-3.1-8b --on H100-SXM --tpot 25 --rate 40
  costlib serve llama-3.1-8b --on H100 L40S --users 200 --tpot 33 --ttft 500
  costlib plan llama-3.1-70b --on DGX-H100x16 --batch 512 --context 4096
  costlib train llama-3.1-8b --on DGX-H100x16 --tokens 2T --context 8192
  costlib lora llama-3.1-8b --on RTX-4090 --base nf4 --tokens 10M
  costlib explain server.log --on H100-SXM
  costlib sweep llama-3-8b --on T4 L4 --batch 1:64:x2 --context 4096 --csv"""


class _Parser(argparse.ArgumentParser):
    """Errors in one sentence, with the help that says more."""

    def error(self, message: str) -> NoReturn:
        message = message.replace("the following arguments are required", "what is missing")
        complain(f"{message} ({self.prog} --help says more)")
        self.exit(2)


def parser() -> argparse.ArgumentParser:
    """All commands and their options.

    >>> parser().parse_args(["params", "gpt2"]).model
    'gpt2'
    """
    top = _Parser(
        prog="costlib",
        description=_HEAD,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="version", version=f"costlib {_version()}")
    commands = top.add_subparsers(
        dest="command", required=True, metavar="COMMAND", title="commands"
    )
    for name, says in COMMANDS.items():
        command = commands.add_parser(name, help=says, description=f"{says[0].upper()}{says[1:]}.")
        for names, how in _FLAGS[name]:
            command.add_argument(*names, **how)
        if name not in ("measure", "completion"):
            form = command.add_mutually_exclusive_group()
            for kind in ("json", "csv"):
                taken: dict[str, Any] = {"const": kind, "dest": "form", "default": "text"}
                says = f"print the answer as {kind.upper()}; default: a table"
                form.add_argument(f"--{kind}", action="store_const", help=says, **taken)
    return top


def flags() -> dict[str, dict[str, str]]:
    """The flags of every command; of those that take several values their first name, too.

    >>> flags()["measure"]["--quick"], flags()["serve"]["--gpu"]
    ('', '--on')
    """
    [commands] = [
        action for action in parser()._actions if isinstance(action, argparse._SubParsersAction)
    ]
    return {
        name: {
            word: action.option_strings[0] if action.nargs == "+" else ""
            for action in each._actions
            for word in action.option_strings
        }
        for name, each in commands.choices.items()
    }


def _version() -> str:
    return str(sys.modules["costlib"].__version__)


def _read(reads: Callable[[str], Any]) -> Callable[[str], Any]:
    """The same function with the kind of error that argparse passes on."""

    def read(text: str) -> Any:
        try:
            return reads(text)
        except ValueError as problem:
            raise argparse.ArgumentTypeError(str(problem)) from problem

    return read


#: Names of a flag or of what stands alone, and what argparse is told of it.
Flag = tuple[list[str], dict[str, Any]]


def _flag(named: str, says: str, usual: Any = None, reads: Any = None, **how: Any) -> Flag:
    """A flag by its names and its unit, as in ``--rank RANK``; its help ends with what is taken
    where it is not given, a number or in words."""
    *names, unit = named.split()
    told: dict[str, Any] = {"help": says if usual is None else f"{says}; default: {usual}"}
    told |= {"metavar": unit} if unit.isupper() else {}
    told |= {"type": _read(reads)} if reads else {}
    told |= {"default": usual} if isinstance(usual, int) else {}
    return names if unit.isupper() else [*names, unit], {**told, **how}


def _tokens(named: str, says: str, usual: Any, reads: Any = asked.whole, **how: Any) -> Flag:
    """A number of tokens, which people write in thousands."""
    return _flag(f"{named} TOKENS", f"{says}, where 8k is 8,000", usual, reads, **how)


def _model(on: str, **how: Any) -> list[Flag]:
    """The model, and what it runs on."""
    says = "name a model of the catalogue or the path of a config.json; - reads one from stdin"
    where = {
        "DEVICE[xN]": "a device, such as H100-SXM or H100-SXMx8, or on nodes, such as DGX-H100x2",
        "DEVICE": "a device, such as H100-SXM",
        "NODE[xN]": "nodes, such as DGX-H100x16, or on the devices of one, such as H100-SXMx8",
    }
    named = {"metavar": on, "nargs": how.pop("devices", how.get("nargs"))}
    return [
        _flag("model MODEL", says, **how),
        _flag("--on --gpu", f"run on {where[on]}", "none, required", **named),
    ]


def _plan(default: Any, **how: Any) -> Flag:
    says = "divide the model over the devices, such as tensor=4,pipeline=2,expert=8,data=2,dcp=4"
    usual = "tensor parallelism over all of them"
    return _flag("--plan PLAN", says, usual, asked.plan, default=default, **how)


def _batch(says: str, usual: int) -> Flag:
    return _flag("--batch SEQUENCES", says, usual, asked.whole)


def _context(says: str, reads: Any = asked.whole) -> Flag:
    return _tokens("--context", says, f"{CONTEXT}, or as many as the model was trained for", reads)


def _input(says: str, usual: Any) -> Flag:
    return _tokens("--input-tokens --prompt", says, usual, dest="prompt")


def _price(usual: str, says: str = "", reads: Any = asked.price, **how: Any) -> Flag:
    says = f"charge this many US dollars an hour for each device{says}"
    return _flag("--price DOLLARS", says, usual, reads, **how)


_RENT = "the dated rent, if known"
_SAYS_WAIT = "add this many microseconds to each round of messages between devices"
_WAIT = _flag(
    "--wait MICROSECONDS",
    _SAYS_WAIT,
    "0",
    partial(asked.duration, "microseconds", 100_000, asked.amount),
)
_STEP = (
    _batch("run this many sequences at once in each copy", 1),
    _context("keep this many tokens of each sequence in the KV cache"),
)
_PROMPT = _input("prefill a prompt of this many input tokens", "as many as the context")
_FORMATS = f"store and compute in {', '.join(RECIPES)}"
_SHIPPED = "as the model ships, else 16 bits"
_PRECISION = _flag("--precision FORMAT", _FORMATS, _SHIPPED, partial(asked.among, RECIPES))
_COUNTS = f"count memory as an engine does: {', '.join(ENGINES)}"
_ENGINE = _flag("--engine ENGINE", _COUNTS, "none, exact bytes", partial(asked.among, ENGINES))
_POWER = "count energy at this many watts for each device"
_WATTS = _flag("--watts WATTS", _POWER, "none", asked.amount)
_SUMS = "show the sum behind each number, and the section of the book that derives it"
_WHY = _flag("--why", _SUMS, "off", action="store_true")
_SEQUENCES = "train with this many sequences in a step"
_LENGTH = _context("take sequences of this many tokens")
_KEPT = f"keep the optimizer states of a recipe: {', '.join(TRAINED)}"
_RECIPE = _flag("--recipe RECIPE", _KEPT, "bf16", partial(asked.among, TRAINED))
_LISTED = [_flag("pattern TEXT", "list the names that contain this text", "all names", nargs="?")]
_CASE = (*_STEP, _PROMPT, _PRECISION, _ENGINE)

#: What each command can be told, in the order of its help.
_FLAGS: dict[str, list[Flag]] = {
    "answer": [*_model("DEVICE[xN]"), _plan({}), _WAIT, *_CASE, _price("none"), _WATTS, _WHY],
    "params": [_model("DEVICE")[0], _PRECISION],
    "memory": [*_model("DEVICE[xN]"), _plan({}), *_STEP, _PRECISION, _ENGINE],
    "time": [
        *(*_model("DEVICE[xN]"), _plan({}), *_STEP, _PRECISION, _WAIT),
        _input("time the prefill of this many input tokens", "none, a decode step is timed"),
    ],
    "compare": [
        *(*_model("DEVICE[xN]", nargs="+"), _plan([{}], nargs="+"), _WAIT, *_CASE),
        _price(_RENT, ", one price for all or one for each", asked.prices, nargs="+"),
        _WATTS,
    ],
    "sweep": [
        *_model("DEVICE", nargs="+"),
        _flag(
            "--batch SEQUENCES",
            "take these numbers of sequences, such as 8, 1,8,64, 1:64, 1:64:8, or doubled 1:64:x2",
            1,
            asked.numbers,
            default=[1],
        ),
        _context(
            "take these numbers of tokens in the KV cache, written in the same ways", asked.numbers
        ),
        _PRECISION,
    ],
    "plan": [
        *_model("NODE[xN]"),  # several devices are a node of their own
        *(_batch(_SEQUENCES, 256), _LENGTH, _RECIPE),
        _flag("--top PLANS", "show at most this many plans", 10, asked.whole),
    ],
    "train": [
        *_model("NODE[xN]"),
        _tokens(
            "--tokens",
            "train with this many tokens in all, such as 300e9 or 2T",
            "none, required",
            required=True,
        ),
        *(_batch(_SEQUENCES, 256), _LENGTH, _RECIPE),
        _flag(
            "--mfu SHARE",
            "reach this share of the peak, such as 0.4 or 40%%",
            "what published runs reached",
            asked.share,
        ),
        *(_price(_RENT), _WATTS, _WHY),
    ],
    "lora": [
        *_model("DEVICE"),
        _flag("--rank RANK", "train adapters of this rank", 16, asked.whole),
        _flag(
            "--targets NAMES",
            "add adapters to these products, with commas between, or to all with all-linear",
            "q_proj,v_proj",
            asked.names,
            default=["q_proj", "v_proj"],
        ),
        _flag(
            "--base FORMAT",
            "store the frozen matrices in this format; nf4 is QLoRA",
            "bf16",
            partial(asked.among, FORMATS),
            default="bf16",
        ),
        *(_batch(_SEQUENCES, 1), _LENGTH),
        _flag(
            "--recompute",
            "recompute these activations in the backward pass",
            "none, all are kept",
            choices=("selective", "full"),
        ),
        _tokens("--tokens", "train with this many tokens in all, such as 10M", "none"),
        *(_price(_RENT), _WHY),
    ],
    "serve": [
        *(*_model("DEVICE[xN]", devices="+"), _plan({}), _WAIT),
        _input("take requests of this many input tokens", 1000),
        _tokens(
            "--output-tokens --answer",
            "generate this many output tokens for each request",
            200,
            dest="answer",
        ),
        _flag(
            "--users USERS",
            "find the fewest devices for this many concurrent users",
            "none, find the batch instead",
            asked.whole,
        ),
        _flag(
            "--tpot --within MILLISECONDS",
            "allow this many milliseconds for each output token",
            "none",
            partial(asked.duration, "milliseconds", 1000, asked.positive),
        ),
        _flag(
            "--ttft MILLISECONDS",
            "allow this many milliseconds for the first token, together with --users",
            "none",
            partial(asked.duration, "milliseconds", 60_000, asked.positive),
        ),
        _flag(
            "--rate REQUESTS",
            "find how many servers take this many requests per second",
            "none",
            asked.positive,
        ),
        *(_PRECISION, _ENGINE, _price(f"none; with --users {_RENT}"), _WHY),
    ],
    "explain": [
        _flag(
            "log LOG",
            "name the log of vLLM, SGLang, TensorRT-LLM or llama.cpp; - reads one from stdin",
        ),
        _flag(
            "--on --gpu DEVICE",
            "name the device, such as H100-SXM",
            "the one that the log names",
            dest="place",
            default="",
        ),
        _flag(
            "--config FILE",
            "read the model from its config.json",
            "the catalogue's, by the log's name",
        ),
    ],
    **dict.fromkeys(("models", "devices", "nodes"), _LISTED),
    "measure": [
        _flag(
            "--device",
            "time the CPU, or a GPU with CUDA",
            "cpu",
            choices=("cpu", "cuda"),
            default="cpu",
        ),
        _flag(
            "--quick", "repeat each timing once instead of seven times", "off", action="store_true"
        ),
    ],
    "completion": [
        _flag(
            "shell",
            "name the shell that will read the script: bash or zsh",
            choices=("bash", "zsh"),
        )
    ],
}
