"""Scripts that complete the command in bash and zsh: written from the parser and the catalogue."""

from __future__ import annotations

from collections.abc import Mapping

from costlib.command.parser import COMMANDS, flags
from costlib.model.catalog import devices, models, nodes
from costlib.serving.server import CUTS
from costlib.training import RECIPES as TRAINED
from costlib.units.precision import FORMATS, RECIPES

__all__ = ["script"]

#: In bash a word ends at "=", in zsh it does not: a cut is completed behind its last comma in both.
#: In zsh words that do not fit are dropped later: that there is none left shows by the words alone.
_SCRIPT = """\
_costlib() {{
  local word="${{COMP_WORDS[COMP_CWORD]}}" first="${{COMP_WORDS[1]}}" before="" place
  for ((place = COMP_CWORD - 1; place > 0; place--)); do
    before="${{COMP_WORDS[place]}}"
    [[ $before == -* ]] && break
    before=""
  done
  local models="{models}" devices="{devices}" nodes="{nodes}"
  local options="{answer}" words="" prefix=""
  case "$first" in
{options}
  esac
  case "$first $before" in
    *" --on") words="$devices $nodes"; [[ $first == plan || $first == train ]] && words="$nodes" ;;
    *" --plan")
      prefix="${{word%"${{word##*,}}"}}" words="{cuts}" ;;
{values}
{places}
    *" -"*) ;;
    *)
      words="$models"
      [[ " {commands} " == *" $first "* ]] && ((place = 2)) || ((place = 1))
      ((COMP_CWORD > place)) && [[ $first != compare && $first != sweep ]] && words="$options"
      ((COMP_CWORD == 1)) && words="{commands} $models" ;;
  esac
  [[ $word == -* ]] && words="$options"
  COMPREPLY=($(compgen -P "$prefix" -W "$words" -- "${{word#"$prefix"}}"))
  [[ $words == *"$models" && " $words" != *" $word"* && $word != -* ]] &&
    COMPREPLY=($(compgen -f -- "$word"))
  return 0
}}
complete -F _costlib costlib
"""

_ZSH = "autoload -Uz compinit bashcompinit\n(( $+functions[compdef] )) || compinit\nbashcompinit\n"


def script(shell: str) -> str:
    """What to source: ``source <(costlib completion bash)``.

    >>> "complete -F _costlib costlib" in script("bash"), "bashcompinit" in script("zsh")
    (True, True)
    """
    options = {name: " ".join(each) for name, each in flags().items()}
    values = {"--base": [*FORMATS], "--recompute": ["selective", "full"]}
    values |= {"--precision": [*RECIPES], "--recipe": [*TRAINED], "--device": ["cpu", "cuda"]}
    places = {"completion": "bash zsh", "models": "$models", "devices": "$devices"}
    places |= {"nodes": "$nodes", "measure": ""}
    filled = _SCRIPT.format(
        commands=" ".join(COMMANDS),
        models=" ".join(models),
        devices=" ".join(devices),
        nodes=" ".join(name.replace(" ", "-") for name in nodes),
        answer=options["answer"],
        options=_cases({name: f'options="{found}"' for name, found in options.items()}),
        cuts=" ".join(f"{name}={many}" for name in CUTS for many in (2, 4, 8)),
        values=_cases({f'*" {name}"': f'words="{" ".join(v)}"' for name, v in values.items()}),
        places=_cases({f'"{name} "': f'words="{found}"' for name, found in places.items()}),
    )
    return (_ZSH if shell == "zsh" else "") + filled


def _cases(done: Mapping[str, str]) -> str:
    return "\n".join(f"    {pattern}) {does} ;;" for pattern, does in done.items())
