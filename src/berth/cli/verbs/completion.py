"""`berth completion`: a script for bash, zsh or fish, made from the table and the parsers themselves."""

import argparse
from collections.abc import Iterator

from berth.cli.verb import Session, Verb

BASH = """# bash completion for berth: source <(berth completion bash)
_berth() {{
    local cur="${{COMP_WORDS[COMP_CWORD]}}" one="${{COMP_WORDS[1]}}" two="${{COMP_WORDS[1]}} ${{COMP_WORDS[2]}}" words
    if [ "$COMP_CWORD" -eq 1 ]; then words="{first}"
    else
        case "$one" in
{families}
        esac
        [ "$COMP_CWORD" -gt 2 ] && words=""
        case "$two" in
{pairs}
        esac
        case "$one" in
{singles}
        esac
    fi
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
    [ ${{#COMPREPLY[@]}} -eq 0 ] && COMPREPLY=($(compgen -f -- "$cur"))
}}
complete -F _berth berth
"""
ZSH = """#compdef berth
# zsh completion for berth: source <(berth completion zsh)
autoload -U +X bashcompinit && bashcompinit
"""


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", metavar="SHELL", choices=("bash", "zsh", "fish"), help="bash, zsh or fish")


def _completion(session: Session) -> int:
    flags = dict(_flags())
    texts = {"bash": bash, "zsh": lambda found: ZSH + bash(found), "fish": fish}
    session.screen.say(texts[session.args.shell](flags).rstrip("\n"))
    return 0


def _flags() -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Every verb with its flags and their help."""
    from berth.cli.main import VERBS, load
    from berth.cli.parser import verb_parser

    for name, entry in VERBS.items():
        parser = verb_parser(name, entry.summary, load(name))
        yield name, [(flag, action.help or "") for action in parser.actions for flag in action.option_strings]


def bash(flags: dict[str, list[tuple[str, str]]]) -> str:
    """The script for bash: words by position, files where no word fits."""
    families: dict[str, list[str]] = {}
    for name in flags:
        first, _, second = name.partition(" ")
        families.setdefault(first, []).extend([second] if second else [])
    cases = {name: " ".join(flag for flag, _ in found if flag.startswith("--")) for name, found in flags.items()}
    return BASH.format(
        first=" ".join(families),
        families=_cases({name: " ".join(words) for name, words in families.items() if words}),
        pairs=_cases({name: words for name, words in cases.items() if " " in name}),
        singles=_cases({name: words for name, words in cases.items() if " " not in name}),
    )


def _cases(words: dict[str, str]) -> str:
    return "\n".join(f'            "{name}") words="{found}" ;;' for name, found in words.items())


def fish(flags: dict[str, list[tuple[str, str]]]) -> str:
    """The script for fish: verbs and flags with their help."""
    from berth.cli.main import VERBS

    lines = ["# fish completion for berth: berth completion fish | source"]
    for name, found in flags.items():
        first, _, second = name.partition(" ")
        when = f"__fish_seen_subcommand_from {first}" if second else "__fish_use_subcommand"
        lines.append(f"complete -c berth -n '{when}' -a {second or first} -d {_quoted(VERBS[name].summary)}")
        if second:
            lines.append(f"complete -c berth -n __fish_use_subcommand -a {first}")
        typed = f"__fish_seen_subcommand_from {first}" + (
            f"; and __fish_seen_subcommand_from {second}" if second else ""
        )
        lines += [
            f"complete -c berth -n '{typed}' -l {flag[2:]} -d {_quoted(text)}"
            for flag, text in found
            if flag.startswith("--")
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
