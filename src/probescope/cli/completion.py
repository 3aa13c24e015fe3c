"""``probescope completion SHELL``: a script for the shell to source.

Commands and options come from the commands' own parsers; probes are asked for at the moment the key is pressed.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

from probescope.cli.ftrace import COMMANDS as FTRACE
from probescope.cli.main import COMMANDS
from probescope.cli.parsing import Parser, offered
from probescope.views.ask.question import ORDER as QUESTIONS

EXAMPLES = """examples:
  eval "$(probescope completion bash)"
  probescope completion zsh > ~/.zfunc/_probescope
  probescope completion fish > ~/.config/fish/completions/probescope.fish
"""
SHELLS = ("bash", "zsh", "fish")
WITH_PROBES = ("list", "explain")
SOURCES = (
    "tracepoint: rawtracepoint: kprobe: kretprobe: fentry: fexit: uprobe: uretprobe: usdt: profile: interval: "
    "software: hardware: watchpoint: iter:"
)

# bash breaks words at colons: the whole word is taken from the line, and what stands before its last colon is cut from
# the answers. No function of the bash-completion package is needed.
_BASH = r"""_probescope() {{
  local line="${{COMP_LINE:0:COMP_POINT}}" cur command
  cur="${{line##*[[:space:]]}}"
  local quote=""
  case "$cur" in [\'\"]*) quote="${{cur:0:1}}"; cur="${{cur:1}}" ;; esac
  local -a words
  read -ra words <<< "$line"
  command="${{words[1]}}"
  COMPREPLY=()
  if (( ${{#words[@]}} < 2 )) || [[ ${{#words[@]}} -eq 2 && "$line" != *[[:space:]] ]]; then
    COMPREPLY=($(compgen -W "{commands}" -- "$cur"))
    return
  fi
  local previous="${{words[${{#words[@]}}-1]}}"
  [[ "$line" == *[[:space:]] ]] || previous="${{words[${{#words[@]}}-2]}}"
  case "$command:$previous" in
{values}
    *:-p|*:--pid) COMPREPLY=($(cd /proc && compgen -G "$cur[0-9]*")); return ;;
  esac
  if [[ "$cur" == -* ]]; then
    case "$command" in
{options}
    esac
    return
  fi
  case "$command" in
    completion) COMPREPLY=($(compgen -W "{shells}" -- "$cur")) ;;
    {with_probes}) _probescope_probes "$cur" "$quote" ;;
    ftrace)
      if (( ${{#words[@]}} < 3 )) || [[ ${{#words[@]}} -eq 3 && "$line" != *[[:space:]] ]]; then
        COMPREPLY=($(compgen -W "{ftrace}" -- "$cur"))
      else
        compopt -o filenames 2> /dev/null; COMPREPLY=($(compgen -f -- "$cur"))
      fi ;;
    ask) COMPREPLY=($(compgen -W "{questions}" -- "$cur")) ;;
    *) compopt -o filenames 2> /dev/null; COMPREPLY=($(compgen -f -- "$cur")) ;;
  esac
}}
_probescope_probes() {{
  local cur="$1" IFS=$'\n'
  local cut="${{cur%"${{cur##*:}}"}}"
  case "$cur" in
    uprobe:*:*|uretprobe:*:*|usdt:*:*) COMPREPLY=($(probescope list "$cur*" 2> /dev/null | head -n 500)) ;;
    uprobe:*|uretprobe:*|usdt:*)
      COMPREPLY=($(compgen -P "$cut" -f -- "${{cur#*:}}"))
      compopt -o nospace 2> /dev/null ;;
    *:*) COMPREPLY=($(probescope list "$cur*" 2> /dev/null | head -n 500)) ;;
    *) COMPREPLY=($(IFS=' ' compgen -W "{sources}" -- "$cur")); compopt -o nospace 2> /dev/null ;;
  esac
  if [[ -z "$2" && "$COMP_WORDBREAKS" == *:* ]]; then COMPREPLY=("${{COMPREPLY[@]#"$cut"}}"); fi
}}
complete -F _probescope probescope
"""

_ZSH = r"""#compdef probescope
_probescope() {{
  local -a commands options
  commands=({described})
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  case "$words[CURRENT-1]" in
    -p|--pid) compadd -- /proc/[0-9]*(N:t); return ;;
  esac
  case "$words[2]:$words[CURRENT-1]" in
{values}
  esac
  if [[ "$PREFIX" == -* ]]; then
    case "$words[2]" in
{options}
    esac
    _describe option options
    return
  fi
  case "$words[2]" in
    completion) compadd {shells} ;;
    ask) compadd -- {questions} ;;
    ftrace) if (( CURRENT == 3 )); then compadd -- {ftrace}; else _files; fi ;;
    {with_probes})
      if [[ "$PREFIX" == *:* ]]; then
        compadd -- ${{(f)"$(probescope list "${{(Q)PREFIX}}*" 2> /dev/null | head -n 500)"}}
      else
        compadd -S '' -- {sources}
      fi ;;
    *) _files ;;
  esac
}}
if [ "$funcstack[1]" = "_probescope" ]; then _probescope "$@"; else compdef _probescope probescope; fi
"""

_FISH_PROBES = (
    "complete -c probescope -n '__fish_seen_subcommand_from {commands}' -f "
    "-a '(probescope list (commandline -ct)\"*\" 2> /dev/null | head -n 500)'\n"
)


def parser() -> Parser:
    p = Parser("completion", "Print a completion script for a shell to source.", EXAMPLES)
    p.add_argument("shell", choices=SHELLS, help="which shell")
    return p


def main(argv: list[str]) -> int:
    args = parser().parse_args(argv)
    sys.stdout.write({"bash": _bash, "zsh": _zsh, "fish": _fish}[args.shell]())
    return 0


def actions_of(command: str) -> list[argparse.Action]:
    """The options of a command, in order."""
    from importlib import import_module

    module: Any = import_module(f"probescope.cli.{COMMANDS[command][0]}")
    return [a for a in module.parser()._actions if a.option_strings and a.help != argparse.SUPPRESS]


def _flags(command: str) -> list[str]:
    """Every spelling of every option."""
    return [o for a in actions_of(command) for o in a.option_strings]


def _choices() -> list[tuple[str, list[str], list[str]]]:
    """(command, spellings, values) of options with a fixed set of values."""
    found = [(c, a) for c in COMMANDS for a in actions_of(c) if offered(a)]
    return [(c, list(a.option_strings), list(offered(a))) for c, a in found]


def _help(action: argparse.Action) -> str:
    return (action.help or "").replace("'", "").replace(":", " -").replace("%%", "%")


def _bash() -> str:
    values = [
        f'    {"|".join(f"{c}:{o}" for o in flags)}) COMPREPLY=($(compgen -W "{" ".join(words)}" -- "$cur")); return ;;'
        for c, flags, words in _choices()
    ]
    options = [f'      {c}) COMPREPLY=($(compgen -W "{" ".join(_flags(c))}" -- "$cur")) ;;' for c in COMMANDS]
    return _BASH.format(
        commands=" ".join(COMMANDS),
        values="\n".join(values),
        options="\n".join(options),
        shells=" ".join(SHELLS),
        with_probes="|".join(WITH_PROBES),
        ftrace=" ".join(FTRACE),
        questions=" ".join(QUESTIONS),
        sources=SOURCES,
    )


def _zsh() -> str:
    described = " ".join(f"'{c}:{about}'" for c, (_, about) in COMMANDS.items())
    values = [
        f"    {'|'.join(f'{c}:{o}' for o in flags)}) compadd -- {' '.join(words)}; return ;;"
        for c, flags, words in _choices()
    ]
    options = []
    for c in COMMANDS:
        pairs = " ".join(f"'{o}:{_help(a)}'" for a in actions_of(c) for o in a.option_strings)
        options.append(f"      {c}) options=({pairs}) ;;")
    return _ZSH.format(
        described=described,
        values="\n".join(values),
        options="\n".join(options),
        ftrace=" ".join(FTRACE),
        questions=" ".join(QUESTIONS),
        shells=" ".join(SHELLS),
        with_probes="|".join(WITH_PROBES),
        sources=" ".join(f"'{s}'" for s in SOURCES.split()),
    )


def _fish() -> str:
    out = ["complete -c probescope -f\n"]
    for c, (_, about) in COMMANDS.items():
        out.append(f"complete -c probescope -n __fish_use_subcommand -a {c} -d '{about}'\n")
        out += [_fish_option(c, a) for a in actions_of(c)]
    out.append(_FISH_PROBES.format(commands=" ".join(WITH_PROBES)))
    out.append(f"complete -c probescope -n '__fish_seen_subcommand_from completion' -a '{' '.join(SHELLS)}'\n")
    out.append(f"complete -c probescope -n '__fish_seen_subcommand_from ask' -a '{' '.join(QUESTIONS)}'\n")
    out.append(
        "complete -c probescope -n '__fish_seen_subcommand_from ftrace; and not __fish_seen_subcommand_from "
        f"{' '.join(FTRACE)}' -a '{' '.join(FTRACE)}'\n"
    )
    out.append("complete -c probescope -n '__fish_seen_subcommand_from run export flame query' -F\n")
    return "".join(out)


def _fish_option(command: str, action: argparse.Action) -> str:
    names = "".join(f" -l {o[2:]}" if o.startswith("--") else f" -s {o[1:]}" for o in action.option_strings)
    words = " ".join(offered(action))
    takes = f" -x -a '{words}'" if words else "" if action.nargs == 0 else " -r"
    return f"complete -c probescope -n '__fish_seen_subcommand_from {command}'{names}{takes} -d '{_help(action)}'\n"
