"""`berth completion`: a script for bash, zsh or fish, made from the table and the parsers themselves."""

import argparse
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from berth.cli.verb import Session, Verb

BASH = """# bash completion for berth: source <(berth completion bash)
_berth() {{
    local cur="${{COMP_WORDS[COMP_CWORD]}}" verb="${{COMP_WORDS[1]}}" words="" flags=""
    case "$verb" in
        {families}) [ "$COMP_CWORD" -gt 2 ] && verb="$verb ${{COMP_WORDS[2]}}" ;;
    esac
    [ "$COMP_CWORD" -eq 1 ] && verb=""
    case "$verb" in
{cases}
    esac
    case "$cur" in
        -*) words="$flags" ;;
    esac
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
    [ -z "$words" ] && COMPREPLY=($(compgen -f -- "$cur"))
}}
complete -o filenames -F _berth berth
"""
ZSH = """#compdef berth
# zsh completion for berth: source <(berth completion zsh)
autoload -U +X bashcompinit && bashcompinit
"""


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", metavar="SHELL", choices=("bash", "zsh", "fish"), help="bash, zsh or fish")


def _completion(session: Session) -> int:
    texts = {"bash": bash, "zsh": lambda found: ZSH + bash(found), "fish": fish}
    session.screen.say(texts[session.args.shell](list(_typed())).rstrip("\n"))
    return 0


class Typed(NamedTuple):
    """What can follow a verb: flags with their help, and the words that a position takes."""

    verb: str
    summary: str
    flags: Sequence[tuple[str, str]] = ()
    words: Sequence[str] = ()


def _typed() -> Iterator[Typed]:
    from berth.cli.main import LOCAL, VERBS, load
    from berth.cli.parser import verb_parser

    for name, summary in LOCAL.items():
        yield Typed(name, summary)
    for name, entry in VERBS.items():
        actions = verb_parser(name, entry.summary, load(name)).actions
        flags = [(flag, action.help or "") for action in actions for flag in action.option_strings]
        words = [str(word) for action in actions if not action.option_strings for word in action.choices or ()]
        yield Typed(name, entry.summary, [flag for flag in flags if flag[0].startswith("--")], words)


def bash(verbs: Sequence[Typed]) -> str:
    """The script for bash: words by position, flags after a dash, files where no word is known."""
    families = _families(verbs)
    cases = [f'        "") words="{" ".join(families)}" ;;']
    cases += [f'        "{first}") words="{" ".join(seconds)}" ;;' for first, seconds in families.items() if seconds]
    for typed in verbs:
        flags = " ".join(flag for flag, _ in typed.flags)
        cases.append(f'        "{typed.verb}") words="{" ".join(typed.words)}" flags="{flags}" ;;')
    several = "|".join(first for first, seconds in families.items() if seconds)
    return BASH.format(families=several, cases="\n".join(cases))


def _families(verbs: Sequence[Typed]) -> dict[str, list[str]]:
    """First words, each with the second words that may follow it."""
    found: dict[str, list[str]] = {}
    for typed in verbs:
        first, _, second = typed.verb.partition(" ")
        found.setdefault(first, []).extend([second] if second else [])
    return found


def fish(verbs: Sequence[Typed]) -> str:
    """The script for fish: verbs and flags with their help."""
    lines = ["# fish completion for berth: berth completion fish | source"]
    for typed in verbs:
        first, _, second = typed.verb.partition(" ")
        seen = f"__fish_seen_subcommand_from {first}"
        before = seen if second else "__fish_use_subcommand"
        after = f"{seen}; and __fish_seen_subcommand_from {second}" if second else seen
        if second:
            lines.append(f"complete -c berth -n __fish_use_subcommand -a {first}")
        lines.append(f"complete -c berth -n {_quoted(before)} -a {second or first} -d {_quoted(typed.summary)}")
        lines += [f"complete -c berth -n {_quoted(after)} -a {word}" for word in typed.words]
        lines += [
            f"complete -c berth -n {_quoted(after)} -l {flag[2:]} -d {_quoted(text)}" for flag, text in typed.flags
        ]
    return "\n".join(dict.fromkeys(lines))


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


COMPLETION = Verb(
    "source <(berth completion bash)",
    _arguments,
    _completion,
    about="For fish: berth completion fish | source",
)
