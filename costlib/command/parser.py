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
    "answer": "say if it fits, how fast it is, what binds, what it costs (or without this word)",
    "params": "count parameters by what they are for",
    "memory": "list what lies in each device's memory, and say how far it goes",
    "time": "time each op of a step or a prompt, and say what binds it",
    "compare": "set the answers for several models or devices side by side",
    "sweep": "print a row for each batch and context",
    "plan": "find ways to train a model on a cluster",
    "train": "say how long a training run takes, in what memory, for how much",
    "lora": "say whether LoRA or QLoRA fits a device, and how fast it trains",
    "serve": "find the batch, or the fewest devices, and the price of a latency target",
    "explain": "set an engine's log beside what was to be expected, and say what binds",
    "models": "list names of models",
    "devices": "list names of devices",
    "nodes": "list names of nodes, of which clusters are made",
    "measure": "time this machine, and draw its roofline if told where to",
    "completion": "print a script that completes all this in bash or zsh",
}

_HEAD = """costlib MODEL --on DEVICE[xN] asks everything at once; MODEL is a name of the
catalogue or a config.json. Exit codes: 0 answered; 1 the answer is no: it does
not fit, no batch meets the target, no name is like it; 2 asked wrongly."""

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


_USUAL = f"({CONTEXT}, or as many as the model was trained for)"


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
            for kind, reader in (("json", "a program"), ("csv", "a spreadsheet")):
                form.add_argument(
                    f"--{kind}",
                    action="store_const",
                    const=kind,
                    dest="form",
                    default="text",
                    help=f"print the same for {reader}",
                )
    return top


def flags() -> dict[str, list[str]]:
    """The flags of every command.

    >>> "--quick" in flags()["measure"]
    True
    """
    [commands] = [
        action for action in parser()._actions if isinstance(action, argparse._SubParsersAction)
    ]
    return {
        name: [word for action in each._actions for word in action.option_strings]
        for name, each in commands.choices.items()
    }


def _version() -> str:
    return str(sys.modules["costlib"].__version__)


_WHY = "show the sum that made each number, and the section of the book that derives it"


_WHERE = {
    "DEVICE[xN]": "run on a device, as H100-SXM or H100-SXMx8, or nodes, as DGX-H100x2",
    "DEVICE": "run on a device, as H100-SXM",
    "NODE[xN]": "run on nodes, as DGX-H100x16, or devices side by side, as H100-SXMx8",
}


def _of(
    command: Any, *, several: bool = False, on: str = "DEVICE[xN]", devices: bool = False
) -> None:
    many: dict[str, Any] = {"nargs": "+"} if several else {}
    says = "name a model of the catalogue, the path of a config.json, or - to read one"
    command.add_argument("model", metavar="MODEL", help=says, **many)
    how: dict[str, Any] = {"nargs": "+"} if several or devices else {}
    if on:
        command.add_argument("--on", "--gpu", metavar=on, help=_WHERE[on], **how)


def _cut(command: Any, *, several: bool = False) -> None:
    """How the devices share a server."""
    says = "share it so: tensor=4,pipeline=2,expert=8,data=2,dcp=4 (every layer by all)"
    how: dict[str, Any] = {"nargs": "+", "default": [{}]} if several else {"default": {}}
    command.add_argument("--plan", type=_read(asked.plan), metavar="CUTS", help=says, **how)


def _wait(command: Any) -> None:
    _amount(command, "--wait", "wait so many microseconds in each round of messages (0)")


def _engine(command: Any) -> None:
    says = f"count memory as an engine does: {', '.join(ENGINES)} (exact bytes)"
    command.add_argument("--engine", type=_read(asked.engine), metavar="NAME", help=says)


def _step(command: Any) -> None:
    """What a step is."""
    _whole(command, "--batch", 1, "run so many sequences at once in each copy")
    _whole(command, "--context", None, f"keep so many tokens cached of each sequence {_USUAL}")


def _case(command: Any, *, several: bool = False) -> None:
    """What a step or a prompt is, and what it is paid with."""
    _step(command)
    _whole(command, "--prompt", None, "prefill a prompt of so many tokens (as many as the context)")
    _precision(command)
    _engine(command)
    _money(command, several=several)


def _money(command: Any, *, several: bool = False) -> None:
    says = "pay so many dollars for an hour of one device"
    if several:
        says += ", one for all or one for each (its dated rent, where one is known)"
        how: dict[str, Any] = {"nargs": "+", "metavar": "X", "help": says}
        command.add_argument("--price", type=_read(asked.amount), **how)
    else:
        _amount(command, "--price", f"{says} (not asked)")
    _amount(command, "--watts", "draw so many watts with one device (not asked)")


def _precision(command: Any) -> None:
    says = f"store and compute in {', '.join(RECIPES)} (as the model ships, else 16 bits)"
    command.add_argument("--precision", type=_read(asked.precision), metavar="FORMAT", help=says)


def _whole(command: Any, name: str, default: int | None, says: str) -> None:
    more = "" if default is None else f" ({default})"
    how: dict[str, Any] = {"type": _read(asked.whole), "metavar": "N"}
    command.add_argument(name, default=default, help=says + more, **how)


def _amount(command: Any, name: Any, says: str, reads: Any = asked.amount) -> None:
    names = [name] if isinstance(name, str) else name
    command.add_argument(*names, type=_read(reads), metavar="X", help=says)


def _answer(command: Any) -> None:
    _of(command)
    _cut(command)
    _wait(command)
    _case(command)
    command.add_argument("--why", action="store_true", help=_WHY)


def _params(command: Any) -> None:
    _of(command, on="")
    _precision(command)


def _memory(command: Any) -> None:
    _of(command)
    _cut(command)
    _step(command)
    _precision(command)
    _engine(command)


def _time(command: Any) -> None:
    _of(command)
    _cut(command)
    _step(command)
    _precision(command)
    _wait(command)
    _whole(
        command, "--prompt", None, "prefill a prompt of so many tokens in place of a step (a step)"
    )


def _compare(command: Any) -> None:
    _of(command, several=True)
    _cut(command, several=True)
    _wait(command)
    _case(command, several=True)


def _sweep(command: Any) -> None:
    _of(command, several=True, on="DEVICE")
    says = "take these numbers: 8, 1,8,64, 1:64, 1:64:8, or doubled 1:64:x2"
    how: dict[str, Any] = {"type": _read(asked.numbers), "metavar": "N"}
    command.add_argument("--batch", default=[1], **how | {"help": f"{says} (1)"})
    command.add_argument("--context", **how | {"help": f"{says} {_USUAL}"})
    _precision(command)


def _read(reads: Callable[[str], Any]) -> Callable[[str], Any]:
    """A reader whose errors argparse passes on: it knows this kind alone."""

    def read(text: str) -> Any:
        try:
            return reads(text)
        except ValueError as problem:
            raise argparse.ArgumentTypeError(str(problem)) from problem

    return read


def _plan(command: Any) -> None:
    _of(command, on="NODE[xN]")  # so many devices are a node of their own
    _whole(command, "--batch", 256, "train with so many sequences a step")
    _whole(command, "--context", None, f"take sequences of so many tokens {_USUAL}")
    _recipe(command)
    _whole(command, "--top", 10, "show so many plans")


def _train(command: Any) -> None:
    _of(command, on="NODE[xN]")
    says = "train with so many tokens in all, as 300e9 or 2T"
    how: dict[str, Any] = {"type": _read(asked.whole), "metavar": "N", "required": True}
    command.add_argument("--tokens", help=says, **how)
    _whole(command, "--batch", 256, "train with so many sequences a step")
    _whole(command, "--context", None, f"take sequences of so many tokens {_USUAL}")
    _recipe(command)
    says = "reach this share of the peak, as 0.4 or 40%% (what published runs reached)"
    command.add_argument("--mfu", type=_read(asked.share), metavar="X", help=says)
    _hours(command)
    _amount(command, "--watts", "draw so many watts with one device (not asked)")
    command.add_argument("--why", action="store_true", help=_WHY)


def _lora(command: Any) -> None:
    _of(command, on="DEVICE")
    _whole(command, "--rank", 16, "train adapters of this rank")
    says = "put adapters beside these products: q_proj,v_proj (q_proj,v_proj)"
    how: dict[str, Any] = {"type": asked.names, "metavar": "NAMES", "help": says}
    command.add_argument("--targets", default=["q_proj", "v_proj"], **how)
    says = "freeze matrices in this format: nf4 is QLoRA (bf16)"
    command.add_argument("--base", type=_read(asked.frozen), default="bf16", metavar="X", help=says)
    _whole(command, "--batch", 1, "train with so many sequences a step")
    _whole(command, "--context", None, f"take sequences of so many tokens {_USUAL}")
    says = "keep less for the backward pass, and compute it again (keep all)"
    command.add_argument("--recompute", choices=("selective", "full"), help=says)
    _whole(command, "--tokens", None, "train with so many tokens in all, as 10M (not asked)")
    _hours(command)
    command.add_argument("--why", action="store_true", help=_WHY)


def _hours(command: Any) -> None:
    says = "pay so many dollars for an hour of one device (its dated rent, where one is known)"
    _amount(command, "--price", says)


def _recipe(command: Any) -> None:
    says = f"keep of a parameter what {', '.join(TRAINED)} keeps (bf16)"
    command.add_argument("--recipe", type=_read(asked.recipe), metavar="NAME", help=says)


def _serve(command: Any) -> None:
    _of(command, devices=True)
    _cut(command)
    _wait(command)
    _whole(command, "--prompt", 1000, "read prompts of so many tokens")
    _whole(command, "--answer", 200, "write answers of so many tokens")
    _whole(command, "--users", None, "find the fewest devices for so many at once (not asked)")
    says = "allow so many milliseconds for each output token (no limit)"
    _amount(command, ("--tpot", "--within"), says, asked.positive)
    says = "with --users, allow so many milliseconds for the first token (no limit)"
    _amount(command, "--ttft", says, asked.positive)
    _amount(command, "--rate", "meet so many requests a second (not asked)", asked.positive)
    _precision(command)
    _engine(command)
    _amount(command, "--price", "pay so many dollars for an hour of one device (not asked)")
    command.add_argument("--why", action="store_true", help=_WHY)


def _explain(command: Any) -> None:
    says = "name the log of a vLLM, SGLang, TensorRT-LLM or llama.cpp, or - to read one"
    command.add_argument("log", metavar="LOG", help=says)
    says = "name the device, as H100-SXM, where the log does not (what the log says)"
    command.add_argument("--on", dest="place", default="", metavar="DEVICE", help=says)
    says = "take the model from its config.json (the catalogue's, by the log's name)"
    command.add_argument("--config", metavar="FILE", help=says)


def _listed(command: Any) -> None:
    command.add_argument("pattern", nargs="?", help="name a part of the name (all)")


def _measure(command: Any) -> None:
    command.add_argument(
        "--device", choices=("cpu", "cuda"), default="cpu", help="time this kind (cpu)"
    )
    command.add_argument("--quick", action="store_true", help="repeat less often")


def _completion(command: Any) -> None:
    command.add_argument("shell", choices=("bash", "zsh"))


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
