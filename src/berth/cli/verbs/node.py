"""`berth node ...` and `berth labels adopt`: what people decide about a node."""

import argparse
from typing import Any

from berth.cli.parser import duration, usage_error, yes_flag
from berth.cli.verb import Session, Verb
from berth.client.http import segment


def _node(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("node", metavar="NODE", help="the node's name")


def _node_and_yes(parser: argparse.ArgumentParser) -> None:
    _node(parser)
    yes_flag(parser)


def _label_arguments(parser: argparse.ArgumentParser) -> None:
    _node(parser)
    parser.add_argument("changes", metavar="K=V", nargs="+", help="a label and its value; 'K-' removes the label")


def _drain_arguments(parser: argparse.ArgumentParser) -> None:
    _node_and_yes(parser)
    parser.add_argument("--reason", metavar="R", required=True, help="shown to everybody who asks why")
    parser.add_argument("--move", action="store_true", help="move running tasks to other nodes, too")
    parser.add_argument("--grace", metavar="T", type=duration, help="with --move: time to end after TERM, such as 30s")


def _fence_arguments(parser: argparse.ArgumentParser) -> None:
    _node_and_yes(parser)
    parser.add_argument("--reason", metavar="R", required=True, help="how you know that it is off")


def _path(session: Session, tail: str = "") -> str:
    return f"/v1/nodes/{segment(session.args.node)}{tail}"


def _done(session: Session, answer: Any, words: str) -> int:
    if session.screen.as_json:
        session.screen.value(answer)
    else:
        session.screen.say(f"{session.args.node}: {words}")
    return 0


def _label(session: Session) -> int:
    labels = dict(label_change(text) for text in session.args.changes)
    answer = session.client.call("PATCH", _path(session, "/labels"), body=labels).value
    words = ", ".join(f"{key}={value}" if value is not None else f"{key} removed" for key, value in labels.items())
    return _done(session, answer, words)


def label_change(text: str) -> tuple[str, str | None]:
    """`k=v` sets a label, `k-` removes it. Raises ClientError for anything else."""
    key, equals, value = text.partition("=")
    if equals and key:
        return key, value
    if not equals and text.endswith("-") and len(text) > 1:
        return text[:-1], None
    raise usage_error(f"'{text}' is no label", "write it as KEY=VALUE, or KEY- to remove it")


def _drain(session: Session) -> int:
    args = session.args
    if args.grace is not None and not args.move:
        raise usage_error("--grace goes with --move", "add --move, or leave --grace out: running tasks then finish")
    if args.move:
        session.screen.ask(f"Stop what runs on {args.node} and start it elsewhere?", args.yes)
    answer = session.client.post(
        _path(session, "/drain"), {"reason": args.reason, "move": args.move, "grace_s": args.grace}
    )
    words = "draining; its tasks move" if args.move else "draining; what runs there finishes"
    return _done(session, answer, f"{words} ('berth node undrain {args.node}' takes it back)")


def _undrain(session: Session) -> int:
    return _done(session, session.client.post(_path(session, "/undrain")), "gets work again")


def _fence(session: Session) -> int:
    session.screen.ask(f"Is {session.args.node} really off? Its tasks will start elsewhere.", session.args.yes)
    answer = session.client.post(_path(session, "/fence"), {"reason": session.args.reason})
    return _done(session, answer, "fenced; its tasks may move")


def _unfence(session: Session) -> int:
    return _done(session, session.client.post(_path(session, "/unfence")), "no longer fenced")


def _rm(session: Session) -> int:
    session.screen.ask(f"Forget {session.args.node} and its cards?", session.args.yes)
    return _done(session, session.client.delete(_path(session)), "removed")


def _adopt(session: Session) -> int:
    session.screen.ask(
        f"End other people's tasks on {session.args.node} where the labels ask for it?", session.args.yes
    )
    return _done(session, session.client.post(_path(session, "/adopt")), "label writes are permitted")


LABEL = Verb(
    "berth node label node2 zone=idc gpu.count=4 old-key-",
    _label_arguments,
    _label,
    about="'K-' removes a label. gpu.* labels other than gpu.enable, gpu.schedule, gpu.model, gpu.count and gpu.cards "
    "are Berth's own.",
)
DRAIN = Verb(
    "berth node drain node2 --reason 'new driver'",
    _drain_arguments,
    _drain,
    about="What runs there finishes, unless --move.",
)
UNDRAIN = Verb("berth node undrain node2", _node, _undrain)
FENCE = Verb(
    "berth node fence node2 --reason 'power supply pulled'",
    _fence_arguments,
    _fence,
    about="A fenced node that still runs means two containers on one card: look first.",
)
UNFENCE = Verb("berth node unfence node2", _node, _unfence)
RM = Verb("berth node rm node2", _node_and_yes, _rm)
ADOPT = Verb(
    "berth labels adopt node2",
    _node_and_yes,
    _adopt,
    about="Berth withholds a label write that would end somebody else's task; this permits it. 'berth nodes' shows "
    "what is withheld.",
)
