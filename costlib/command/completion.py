"""Scripts that complete the command in bash and zsh: written from the parser and the catalogue."""

from __future__ import annotations

import argparse

from costlib.catalog import devices, models, nodes
from costlib.command.parser import COMMANDS, parser

__all__ = ["script"]

_SCRIPT = """\
_costlib() {{
  local word="${{COMP_WORDS[COMP_CWORD]}}" first="${{COMP_WORDS[1]}}" before place
  for ((place = COMP_CWORD - 1; place > 0; place--)); do
    before="${{COMP_WORDS[place]}}"
    [[ $before == -* ]] && break
  done
  local commands="{commands}" models="{models}" devices="{devices}" nodes="{nodes}"
  local options="{answer}" words
  case "$first" in
{cases}
  esac
  if [[ $word == -* ]]; then words="$options"
  elif [[ $before == --on && $first == plan ]]; then words="$nodes"
  elif [[ $before == --on ]]; then words="$devices $nodes"
  elif [[ $before == --precision ]]; then words="{precisions}"
  elif ((COMP_CWORD == 1)); then words="$commands $models"
  else words="$models"
  fi
  COMPREPLY=($(compgen -W "$words" -- "$word"))
  if [[ $words != "$options" && $COMP_CWORD -ge 1 && ${{#COMPREPLY[@]}} -eq 0 ]]; then
    COMPREPLY=($(compgen -f -- "$word"))
  fi
}}
complete -F _costlib costlib
"""

_ZSH = "autoload -Uz compinit bashcompinit\n(( $+functions[compdef] )) || compinit\nbashcompinit\n"


def script(shell: str) -> str:
    """What to source: ``source <(costlib completion bash)``.

    >>> "complete -F _costlib costlib" in script("bash"), "bashcompinit" in script("zsh")
    (True, True)
    """
    from costlib.precision import RECIPES

    options = _options()
    cases = "\n".join(f'    {name}) options="{found}" ;;' for name, found in options.items())
    filled = _SCRIPT.format(
        commands=" ".join(COMMANDS),
        models=" ".join(models),
        devices=" ".join(devices),
        nodes=" ".join(name.replace(" ", "-") for name in nodes),
        answer=options["answer"],
        cases=cases,
        precisions=" ".join(RECIPES),
    )
    return (_ZSH if shell == "zsh" else "") + filled


def _options() -> dict[str, str]:
    """The options of every command."""
    [commands] = [
        action for action in parser()._actions if isinstance(action, argparse._SubParsersAction)
    ]
    return {
        name: " ".join(word for action in each._actions for word in action.option_strings)
        for name, each in commands.choices.items()
    }
