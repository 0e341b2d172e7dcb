"""What can be typed: one parser, which help, errors and completion all read."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import Any, NoReturn

from costlib.command import asked
from costlib.command.table import complain
from costlib.model.engines import ENGINES
from costlib.timing.sweeps import CONTEXT
from costlib.training import RECIPES as TRAINED
from costlib.units.precision import RECIPES

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


#: What every option's help ends with: what is taken where the option is not given.
_DEFAULT = "{says}; default: {default}"
_USUAL = f"{CONTEXT}, or as many as the model was trained for"
_NONE = "none"


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
        _FILL[name](command)
        if name not in ("measure", "completion"):
            form = command.add_mutually_exclusive_group()
            for kind in ("json", "csv"):
                says = _says(f"print the answer as {kind.upper()}", "a table")
                how: dict[str, Any] = {"const": kind, "dest": "form", "default": "text"}
                form.add_argument(f"--{kind}", action="store_const", help=says, **how)
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


def _says(says: str, default: Any) -> str:
    return _DEFAULT.format(says=says, default=default)


def _of_tokens(says: str, default: Any) -> str:
    """The help of a number of tokens, which people write in thousands."""
    return _says(f"{says}, where 8k is 8,000", default)


_WHY = _says("show the sum behind each number, and the section of the book that derives it", "off")


_WHERE = {
    "DEVICE[xN]": "run on a device, such as H100-SXM or H100-SXMx8, or on nodes, such as "
    "DGX-H100x2",
    "DEVICE": "run on a device, such as H100-SXM",
    "NODE[xN]": "run on nodes, such as DGX-H100x16, or on the devices of one, such as H100-SXMx8",
}


def _of(
    command: Any, *, several: bool = False, on: str = "DEVICE[xN]", devices: bool = False
) -> None:
    many: dict[str, Any] = {"nargs": "+"} if several else {}
    says = "name a model of the catalogue or the path of a config.json; - reads one from stdin"
    command.add_argument("model", metavar="MODEL", help=says, **many)
    how: dict[str, Any] = {"nargs": "+"} if several or devices else {}
    if on:
        says = _says(_WHERE[on], "none, required")
        command.add_argument("--on", "--gpu", metavar=on, help=says, **how)


def _plan_of(command: Any, *, several: bool = False) -> None:
    """How the devices share a server."""
    says = "divide the model over the devices, such as tensor=4,pipeline=2,expert=8,data=2,dcp=4"
    says = _says(says, "tensor parallelism over all of them")
    how: dict[str, Any] = {"nargs": "+", "default": [{}]} if several else {"default": {}}
    command.add_argument("--plan", type=_read(asked.plan), metavar="PLAN", help=says, **how)


def _wait(command: Any) -> None:
    says = "add this many microseconds to each round of messages between devices"
    _amount(command, "--wait", "MICROSECONDS", says, 0, asked.wait)


def _engine(command: Any) -> None:
    says = f"count memory as an engine does: {', '.join(ENGINES)}"
    says = _says(says, "none, exact bytes")
    command.add_argument("--engine", type=_read(asked.engine), metavar="ENGINE", help=says)


def _step(command: Any) -> None:
    """What a step is."""
    _whole(command, "--batch", "SEQUENCES", 1, "run this many sequences at once in each copy")
    _context(command, "keep this many tokens of each sequence in the KV cache")


def _context(command: Any, says: str) -> None:
    how: dict[str, Any] = {"type": _read(asked.whole), "metavar": "TOKENS"}
    command.add_argument("--context", help=_of_tokens(says, _USUAL), **how)


def _case(command: Any, *, several: bool = False) -> None:
    """What a step or a prompt is, and what it is paid with."""
    _step(command)
    _input(command, "prefill a prompt of this many input tokens", "as many as the context")
    _precision(command)
    _engine(command)
    _money(command, several=several)


def _input(command: Any, says: str, default: Any) -> None:
    value = default if isinstance(default, int) else None
    how: dict[str, Any] = {"dest": "prompt", "metavar": "TOKENS", "default": value}
    how |= {"type": _read(asked.whole), "help": _of_tokens(says, default)}
    command.add_argument("--input-tokens", "--prompt", **how)


def _money(command: Any, *, several: bool = False) -> None:
    says = "charge this many US dollars an hour for each device"
    if several:
        says = _says(f"{says}, one price for all or one for each", "the dated rent, if known")
        how: dict[str, Any] = {"nargs": "+", "metavar": "DOLLARS", "help": says}
        command.add_argument("--price", type=_read(asked.prices), **how)
    else:
        _amount(command, "--price", "DOLLARS", says, _NONE, asked.price)
    _amount(command, "--watts", "WATTS", "count energy at this many watts for each device", _NONE)


def _precision(command: Any) -> None:
    says = f"store and compute in {', '.join(RECIPES)}"
    says = _says(says, "as the model ships, else 16 bits")
    command.add_argument("--precision", type=_read(asked.precision), metavar="FORMAT", help=says)


def _whole(command: Any, name: Any, unit: str, default: Any, says: str) -> None:
    names = [name] if isinstance(name, str) else name
    value = default if isinstance(default, int) else None
    how: dict[str, Any] = {"type": _read(asked.whole), "metavar": unit, "default": value}
    command.add_argument(*names, help=_says(says, default), **how)


def _amount(
    command: Any, name: Any, unit: str, says: str, default: Any, reads: Any = asked.amount
) -> None:
    names = [name] if isinstance(name, str) else name
    command.add_argument(*names, type=_read(reads), metavar=unit, help=_says(says, default))


def _answer(command: Any) -> None:
    _of(command)
    _plan_of(command)
    _wait(command)
    _case(command)
    command.add_argument("--why", action="store_true", help=_WHY)


def _params(command: Any) -> None:
    _of(command, on="")
    _precision(command)


def _memory(command: Any) -> None:
    _of(command)
    _plan_of(command)
    _step(command)
    _precision(command)
    _engine(command)


def _time(command: Any) -> None:
    _of(command)
    _plan_of(command)
    _step(command)
    _precision(command)
    _wait(command)
    _input(command, "time the prefill of this many input tokens", "none, a decode step is timed")


def _compare(command: Any) -> None:
    _of(command, several=True)
    _plan_of(command, several=True)
    _wait(command)
    _case(command, several=True)


def _sweep(command: Any) -> None:
    _of(command, several=True, on="DEVICE")
    such = ", such as 8, 1,8,64, 1:64, 1:64:8, or doubled 1:64:x2"
    how: dict[str, Any] = {"type": _read(asked.numbers)}
    says = _says(f"take these numbers of sequences{such}", 1)
    command.add_argument("--batch", default=[1], metavar="SEQUENCES", help=says, **how)
    says = "take these numbers of tokens in the KV cache, written in the same ways"
    says = _of_tokens(says, _USUAL)
    command.add_argument("--context", metavar="TOKENS", help=says, **how)
    _precision(command)


def _read(reads: Callable[[str], Any]) -> Callable[[str], Any]:
    """The same function with the kind of error that argparse passes on."""

    def read(text: str) -> Any:
        try:
            return reads(text)
        except ValueError as problem:
            raise argparse.ArgumentTypeError(str(problem)) from problem

    return read


def _plan(command: Any) -> None:
    _of(command, on="NODE[xN]")  # several devices are a node of their own
    _trained(command, 256)
    _recipe(command)
    _whole(command, "--top", "PLANS", 10, "show at most this many plans")


def _trained(command: Any, batch: int) -> None:
    """What a training step is."""
    _whole(command, "--batch", "SEQUENCES", batch, "train with this many sequences in a step")
    _context(command, "take sequences of this many tokens")


def _train(command: Any) -> None:
    _of(command, on="NODE[xN]")
    says = "train with this many tokens in all, such as 300e9 or 2T"
    says = _of_tokens(says, "none, required")
    how: dict[str, Any] = {"type": _read(asked.whole), "metavar": "TOKENS", "required": True}
    command.add_argument("--tokens", help=says, **how)
    _trained(command, 256)
    _recipe(command)
    says = _says("reach this share of the peak, such as 0.4 or 40%%", "what published runs reached")
    command.add_argument("--mfu", type=_read(asked.share), metavar="SHARE", help=says)
    _rent(command)
    _amount(command, "--watts", "WATTS", "count energy at this many watts for each device", _NONE)
    command.add_argument("--why", action="store_true", help=_WHY)


def _lora(command: Any) -> None:
    _of(command, on="DEVICE")
    _whole(command, "--rank", "RANK", 16, "train adapters of this rank")
    says = "add adapters to these products, with commas between, or to all with all-linear"
    says = _says(says, "q_proj,v_proj")
    how: dict[str, Any] = {"type": asked.names, "metavar": "NAMES", "help": says}
    command.add_argument("--targets", default=["q_proj", "v_proj"], **how)
    says = _says("store the frozen matrices in this format; nf4 is QLoRA", "bf16")
    how = {"type": _read(asked.frozen), "metavar": "FORMAT", "help": says}
    command.add_argument("--base", default="bf16", **how)
    _trained(command, 1)
    says = _says("recompute these activations in the backward pass", "none, all are kept")
    command.add_argument("--recompute", choices=("selective", "full"), help=says)
    says = _of_tokens("train with this many tokens in all, such as 10M", _NONE)
    command.add_argument("--tokens", type=_read(asked.whole), metavar="TOKENS", help=says)
    _rent(command)
    command.add_argument("--why", action="store_true", help=_WHY)


def _rent(command: Any) -> None:
    says = "charge this many US dollars an hour for each device"
    _amount(command, "--price", "DOLLARS", says, "the dated rent, if known", asked.price)


def _recipe(command: Any) -> None:
    says = _says(f"keep the optimizer states of a recipe: {', '.join(TRAINED)}", "bf16")
    command.add_argument("--recipe", type=_read(asked.recipe), metavar="RECIPE", help=says)


def _serve(command: Any) -> None:
    _of(command, devices=True)
    _plan_of(command)
    _wait(command)
    _input(command, "take requests of this many input tokens", 1000)
    says = _of_tokens("generate this many output tokens for each request", 200)
    how: dict[str, Any] = {"dest": "answer", "metavar": "TOKENS", "default": 200}
    command.add_argument("--output-tokens", "--answer", type=_read(asked.whole), help=says, **how)
    says = "find the fewest devices for this many concurrent users"
    _whole(command, "--users", "USERS", "none, find the batch instead", says)
    says = "allow this many milliseconds for each output token"
    _amount(command, ("--tpot", "--within"), "MILLISECONDS", says, _NONE, asked.tpot)
    says = "allow this many milliseconds for the first token, together with --users"
    _amount(command, "--ttft", "MILLISECONDS", says, _NONE, asked.ttft)
    says = "find how many servers take this many requests per second"
    _amount(command, "--rate", "REQUESTS", says, _NONE, asked.positive)
    _precision(command)
    _engine(command)
    says = "charge this many US dollars an hour for each device"
    default = "none; with --users the dated rent, if known"
    _amount(command, "--price", "DOLLARS", says, default, asked.price)
    command.add_argument("--why", action="store_true", help=_WHY)


def _explain(command: Any) -> None:
    says = "name the log of vLLM, SGLang, TensorRT-LLM or llama.cpp; - reads one from stdin"
    command.add_argument("log", metavar="LOG", help=says)
    says = _says("name the device, such as H100-SXM", "the one that the log names")
    command.add_argument("--on", "--gpu", dest="place", default="", metavar="DEVICE", help=says)
    says = _says("read the model from its config.json", "the catalogue's, by the log's name")
    command.add_argument("--config", metavar="FILE", help=says)


def _listed(command: Any) -> None:
    says = _says("list the names that contain this text", "all names")
    command.add_argument("pattern", nargs="?", metavar="TEXT", help=says)


def _measure(command: Any) -> None:
    how: dict[str, Any] = {"choices": ("cpu", "cuda"), "default": "cpu"}
    command.add_argument("--device", help=_says("time the CPU, or a GPU with CUDA", "cpu"), **how)
    says = _says("repeat each timing once instead of seven times", "off")
    command.add_argument("--quick", action="store_true", help=says)


def _completion(command: Any) -> None:
    says = "name the shell that will read the script: bash or zsh"
    command.add_argument("shell", choices=("bash", "zsh"), help=says)


_FILL: dict[str, Callable[[Any], None]] = {
    "answer": _answer,
    "params": _params,
    "memory": _memory,
    "time": _time,
    "compare": _compare,
    "sweep": _sweep,
    "plan": _plan,
    "train": _train,
    "lora": _lora,
    "serve": _serve,
    "explain": _explain,
    "models": _listed,
    "devices": _listed,
    "nodes": _listed,
    "measure": _measure,
    "completion": _completion,
}
