"""argparse with Berth's manners: one help layout, the flags that every verb has, and errors that say what to type."""

import argparse
import re
from typing import NoReturn

from berth.cli.verb import Verb
from berth.client.errors import ClientError, ErrorBody, failure


class Parser(argparse.ArgumentParser):
    """Raises ClientError instead of ending the process; its usage names the verb's own flags, the first `own`."""

    example = ""
    own = 0

    def format_usage(self) -> str:
        """The usage, of the verb's own flags alone: those that all verbs have are listed below it."""
        formatter = self._get_formatter()
        formatter.add_usage(None, self._actions[: self.own], [])
        return formatter.format_help()

    def format_help(self) -> str:
        """The whole help."""
        self.usage = self.format_usage().removeprefix("usage: ").rstrip()
        return super().format_help()

    def error(self, message: str) -> NoReturn:
        """Say what is wrong with the line that was typed, and what to type instead."""
        raise ClientError([self._problem(message)], 2)

    def _problem(self, message: str) -> ErrorBody:
        text, hint = reword(message, self._flags())
        usage = " ".join(self.format_usage().removeprefix("usage: ").split())
        hints = [hint, f"{usage}", f"for example: {self.example}"] if hint else [usage, f"for example: {self.example}"]
        return {"code": "bad-usage", "message": f"'{self.prog}': {text}", "hint": "\n".join(hints)}

    def _flags(self) -> list[str]:
        return [flag for action in self._actions for flag in action.option_strings]

    @property
    def actions(self) -> list[argparse.Action]:
        """All that can be typed, for shell completion."""
        return list(self._actions)


def verb_parser(name: str, summary: str, verb: Verb) -> Parser:
    """The parser of one verb, with its example in the help and the flags that all verbs have."""
    parser = Parser(
        prog=f"berth {name}",
        description=" ".join((f"{summary[:1].upper()}{summary[1:]}.", verb.about)).strip(),
        epilog=f"example:\n  {verb.example}",
        formatter_class=_Layout,
        allow_abbrev=False,
        add_help=False,
    )
    parser.example = verb.example
    verb.arguments(parser)
    parser.own = len(parser.actions)
    _shared(parser, verb)
    return parser


def _shared(parser: Parser, verb: Verb) -> None:
    group = parser.add_argument_group("for every verb")
    group.add_argument("--json", action="store_true", help="print the objects of the HTTP API")
    if verb.watch:
        group.add_argument("--watch", action="store_true", help="print again whenever something changes")
    group.add_argument("--server", metavar="URL", help="the server (or BERTH_SERVER, or what login kept)")
    group.add_argument("--token-file", metavar="FILE", help="a file with the token (or BERTH_TOKEN)")
    group.add_argument("--ca", metavar="FILE", help="the CA of a server with TLS, as PEM")
    group.add_argument("-h", "--help", action="help", help="show this and end")


def yes_flag(parser: argparse.ArgumentParser) -> None:
    """The flag of verbs that destroy something."""
    parser.add_argument("-y", "--yes", action="store_true", help="do not ask")


def job_argument(parser: argparse.ArgumentParser) -> None:
    """The one JOB that most verbs take."""
    parser.add_argument("job", metavar="JOB", help="an id, a job's name, or STACK_SERVICE")


def duration(text: str) -> float:
    """Seconds of a length of time such as "90", "60s", "10m", "2h", "1h30m"."""
    match = re.fullmatch(r"(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+(?:\.\d+)?)s?)?", text)
    if not text or not match:
        raise argparse.ArgumentTypeError(f"'{text}' is not a length of time: write it as 60s, 10m or 2h")
    days, hours, minutes, rest = (float(part or 0) for part in match.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60 + rest


def whole(text: str) -> int:
    """A number that counts something: 0 or more."""
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"'{text}' is not a number: write it as 0, 1, 2, ...")
    return int(text)


def reword(message: str, flags: list[str]) -> tuple[str, str]:
    """argparse's message in plain words, and what to type instead ("" where the usage says it)."""
    if match := re.match(r"unrecognized arguments: (\S+)", message):
        return _unknown(match[1], flags)
    if match := re.match(r"the following arguments are required: (.*)", message):
        missing = match[1].split(", ")
        return f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing", ""
    if match := re.match(r"argument (\S+): expected (?:at least )?one argument", message):
        return f"{match[1]} needs a value after it", ""
    if match := re.match(r"argument (\S+): invalid choice: (\S+) \(choose from (.*)\)", message):
        choices = ", ".join(part.strip("'\" ") for part in match[3].split(","))
        return f"{match[2]} does not fit {match[1]}", f"one of: {choices}"
    if match := re.match(r"argument (\S+): ignored explicit argument (.*)", message):
        return f"{match[1]} takes no value, but {match[2]} is written after it", ""
    return re.sub(r"^argument (\S+): ", r"\1: ", message), ""


def nearest(word: str, known: list[str]) -> str:
    """The known word that is most like this one, or ""."""
    from difflib import get_close_matches

    return next(iter(get_close_matches(word, known, n=1, cutoff=0.6)), "")


def _unknown(word: str, flags: list[str]) -> tuple[str, str]:
    if not word.startswith("-") or word == "-":
        return f"'{word}' is too much", ""
    flag = word.partition("=")[0]
    known = nearest(flag[2:], [each[2:] for each in flags if each.startswith("--")]) if flag.startswith("--") else ""
    return f"there is no {flag}", f"the nearest is --{known}" if known else ""


def usage_error(message: str, hint: str) -> ClientError:
    """A wrong line that argparse alone does not see."""
    return failure("bad-usage", message, hint)


class _Layout(argparse.RawDescriptionHelpFormatter):
    """Wraps the description, keeps the example as it is, and leaves room for long flags."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=32)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        if text.startswith("example:"):
            return text
        return argparse.HelpFormatter._fill_text(self, text, width, indent)
