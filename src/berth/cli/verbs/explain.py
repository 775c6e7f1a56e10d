"""`berth explain`: what an error's code or a reason means and what to do; works without a server."""

import argparse

from berth.cli.parser import nearest
from berth.cli.verb import Session, Verb
from berth.client.errors import failure
from berth.model.codes import CODES
from berth.model.reasons import REASONS

WORDS = {**REASONS, **CODES}
"""A code and a reason never share a word."""


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "code",
        metavar="CODE",
        nargs="?",
        help="an error's code, or the reason why a job waits or ended; without it, all are listed",
    )


def _explain(session: Session) -> int:
    code = session.args.code
    if code is None:
        return _all(session)
    if code not in WORDS:
        like = nearest(code, list(WORDS))
        hint = f"the nearest is {like}: berth explain {like}" if like else "all of them: berth explain"
        raise failure("unknown-code", f"there is no code and no reason '{code}'", hint, exit_code=3)
    if session.screen.as_json:
        session.screen.value({"code": code, "explanation": WORDS[code]})
    else:
        import textwrap

        session.screen.say(
            f"{code}\n\n{textwrap.fill(WORDS[code], 88, break_long_words=False, break_on_hyphens=False)}"
        )
    return 0


def _all(session: Session) -> int:
    if session.screen.as_json:
        session.screen.value([{"code": code, "explanation": text} for code, text in sorted(WORDS.items())])
    else:
        session.screen.say("\n".join(sorted(WORDS)))
    return 0


EXPLAIN = Verb("berth explain no-server", _arguments, _explain)
