"""`berth explain`: what an error's code means and what to do; works without a server."""

import argparse

from berth.cli.parser import nearest
from berth.cli.verb import Session, Verb
from berth.client.errors import failure
from berth.model.codes import CODES


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("code", metavar="CODE", nargs="?", help="the code; without it, all codes are listed")


def _explain(session: Session) -> int:
    code = session.args.code
    if code is None:
        return _all(session)
    if code not in CODES:
        like = nearest(code, list(CODES))
        hint = f"the nearest code is {like}: berth explain {like}" if like else "all codes: berth explain"
        raise failure("unknown-code", f"there is no code '{code}'", hint, exit_code=3)
    if session.screen.as_json:
        session.screen.value({"code": code, "explanation": CODES[code]})
    else:
        import textwrap

        session.screen.say(
            f"{code}\n\n{textwrap.fill(CODES[code], 88, break_long_words=False, break_on_hyphens=False)}"
        )
    return 0


def _all(session: Session) -> int:
    if session.screen.as_json:
        session.screen.value([{"code": code, "explanation": text} for code, text in sorted(CODES.items())])
    else:
        session.screen.say("\n".join(sorted(CODES)))
    return 0


EXPLAIN = Verb("berth explain no-server", _arguments, _explain)
