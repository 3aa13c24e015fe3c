"""``probescope completion SHELL``: a script for the shell to source."""

from __future__ import annotations

import argparse
import sys

from probescope.cli.main import COMMANDS

EXAMPLES = """examples:
  eval "$(probescope completion bash)"
  probescope completion zsh > ~/.zfunc/_probescope
  probescope completion fish > ~/.config/fish/completions/probescope.fish
"""

_BASH = """_probescope() {{
  local cur="${{COMP_WORDS[COMP_CWORD]}}"
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "{commands}" -- "$cur"))
    return
  fi
  case "${{COMP_WORDS[1]}}:$cur" in
{options}
    list:*|explain:*)
      local IFS=$'\\n'
      COMPREPLY=($(compgen -W "$(probescope list "${{cur%%\\**}}*" 2>/dev/null | head -n 200)" -- "$cur"))
      __ltrim_colon_completions "$cur" 2>/dev/null ;;
    *) COMPREPLY=($(compgen -f -- "$cur")) ;;
  esac
}}
complete -o default -F _probescope probescope
"""

_ZSH = """#compdef probescope
_probescope() {{
  if (( CURRENT == 2 )); then
    local -a commands=({described})
    _describe command commands
    return
  fi
  case "$words[2]" in
{options}
  esac
  _files
}}
_probescope "$@"
"""


def parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(
        prog="probescope completion",
        description="Print a completion script.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    p.add_argument("shell", choices=("bash", "zsh", "fish"))
    return p


def main(argv: list[str]) -> int:
    args = parser().parse_args(argv)
    sys.stdout.write({"bash": _bash, "zsh": _zsh, "fish": _fish}[args.shell]())
    return 0


def options_of(command: str) -> list[tuple[str, str]]:
    """(option, help) of a command, long ones."""
    from importlib import import_module

    module = import_module(f"probescope.cli.{COMMANDS[command][0]}")
    out = []
    for action in module.parser()._actions:
        out += [(o, action.help or "") for o in action.option_strings if o.startswith("--")]
    return out


def _bash() -> str:
    cases = [
        f'    {c}:-*) COMPREPLY=($(compgen -W "{" ".join(o for o, _ in options_of(c))}" -- "$cur")) ;;'
        for c in COMMANDS
    ]
    return _BASH.format(commands=" ".join(COMMANDS), options="\n".join(cases))


def _zsh() -> str:
    described = " ".join(f"'{c}:{about}'" for c, (_, about) in COMMANDS.items())
    cases = [f"    {c}) compadd -- {' '.join(o for o, _ in options_of(c))} ;;" for c in COMMANDS]
    return _ZSH.format(described=described, options="\n".join(cases))


def _fish() -> str:
    out = []
    for c, (_, about) in COMMANDS.items():
        out.append(f"complete -c probescope -n __fish_use_subcommand -f -a {c} -d '{about}'\n")
        for option, help_ in options_of(c):
            text = help_.replace("'", "")
            out.append(f"complete -c probescope -n '__fish_seen_subcommand_from {c}' -l {option[2:]} -d '{text}'\n")
    return "".join(out)
