"""The table of verbs and the one way through them: find the verb, parse, call, and turn whatever fails into words."""

import io
import os
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module

from berth.cli.verb import Entry, Session, Verb

VERBS: dict[str, Entry] = {
    "run": Entry("run:RUN", "run an image on cards and follow its output"),
    "submit": Entry("submit:SUBMIT", "submit a job file"),
    "jobs": Entry("jobs:JOBS", "the jobs and their states"),
    "queue": Entry("jobs:QUEUE", "what waits, in order, with reasons"),
    "why": Entry("why:WHY", "why a job waits, node by node"),
    "history": Entry("history:HISTORY", "all attempts of all slots of a job"),
    "logs": Entry("logs:LOGS", "the output of a job"),
    "wait": Entry("wait:WAIT", "wait until a job runs or has ended"),
    "cancel": Entry("act:CANCEL", "end a job, or take it out of the queue"),
    "hold": Entry("act:HOLD", "keep a waiting job from starting"),
    "release": Entry("act:RELEASE", "let a held job start again"),
    "requeue": Entry("act:REQUEUE", "stop a running job and put it back in the queue"),
    "scale": Entry("scale:SCALE", "change the number of a service's replicas"),
    "stack deploy": Entry("stack_deploy:DEPLOY", "deploy a stack file, or the changes in it"),
    "stack config": Entry("stack_config:CONFIG", "the merged stack file with its variables filled in"),
    "stack ls": Entry("stack:LS", "the stacks"),
    "stack ps": Entry("stack:PS", "the tasks of a stack"),
    "stack rm": Entry("stack:RM", "remove a stack"),
    "secret create": Entry("secret:CREATE", "keep a secret for jobs and stacks"),
    "secret ls": Entry("secret:LS", "the secrets and what uses them"),
    "secret rm": Entry("secret:RM", "remove a secret that nothing uses"),
    "gpus": Entry("gpus:GPUS", "what can be had, by model"),
    "cards": Entry("cards:CARDS", "every card and what holds it"),
    "nodes": Entry("nodes:NODES", "the nodes and their free cards"),
    "events": Entry("events:EVENTS", "what happened"),
    "node label": Entry("node:LABEL", "set or remove labels of a node"),
    "node drain": Entry("node:DRAIN", "give a node no new work"),
    "node undrain": Entry("node:UNDRAIN", "give a drained node work again"),
    "node fence": Entry("node:FENCE", "vouch that a node is off, so that its tasks may move"),
    "node unfence": Entry("node:UNFENCE", "take a node's fence back"),
    "node rm": Entry("node:RM", "forget a node that is gone"),
    "card fence": Entry("card:FENCE", "give a card no new work"),
    "card unfence": Entry("card:UNFENCE", "give a fenced card work again"),
    "labels adopt": Entry("node:ADOPT", "permit label writes that end other people's tasks on a node"),
    "login": Entry("login:LOGIN", "keep a server and its token for later calls"),
    "token create": Entry("token:CREATE", "make a token"),
    "token ls": Entry("token:LS", "the tokens"),
    "token revoke": Entry("token:REVOKE", "make a token worthless"),
    "explain": Entry("explain:EXPLAIN", "what an error's code means"),
    "version": Entry("version:VERSION", "the versions of this command and of the server"),
    "completion": Entry("completion:COMPLETION", "a script that completes this command in a shell"),
}
LOCAL = {
    "up": "start a server and the agent of this machine",
    "agent": "run the agent of this node",
}
"""Summaries of the verbs that run in this process: main/ hands in those that work."""


def run(argv: Sequence[str], local: Mapping[str, str]) -> int:
    """Run one command line and return its exit code; `local` maps a verb to "module:function" of its own."""
    _forgiving_output()
    words = list(argv)
    try:
        return _dispatch(words, local)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except Exception as error:  # noqa: BLE001 - the last resort: nobody is ever shown a traceback
        return _explained(error, "--json" in words)


def _explained(error: Exception, as_json: bool) -> int:
    from berth.cli.guard import explain_failure

    return explain_failure(error, as_json)


def _forgiving_output() -> None:
    """A character that the terminal's encoding lacks is shown as `?`, not as an error."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def _dispatch(argv: list[str], local: Mapping[str, str]) -> int:
    before, words = _split(argv)
    if not words or words[0] in ("-h", "--help", "help"):
        return _help(words[1:], local)
    if words == ["--version"]:
        words = ["version"]
    if words[0] in local:
        module, _, function = local[words[0]].partition(":")
        return int(getattr(import_module(module), function)(before + words[1:]))
    if len(words) == 2 and words[1] in ("-h", "--help") and words[0] not in VERBS:
        return _help(words[:1], local)
    name, rest = _find(words, local)
    verb = load(name)
    from berth.cli.parser import verb_parser

    parser = verb_parser(name, VERBS[name].summary, verb)
    try:
        args = parser.parse_args(before + rest)
    except SystemExit as end:  # argparse ends the process itself only after --help
        return int(end.code or 0)
    return _called(verb, Session(args))


def _called(verb: Verb, session: Session) -> int:
    try:
        return verb.call(session)
    except BrokenPipeError:
        raise
    except Exception as error:  # noqa: BLE001 - here it is known whether --json was meant for berth
        return _explained(error, session.screen.as_json)


def load(name: str) -> Verb:
    """The verb of this name in the table."""
    module, _, attribute = VERBS[name].where.partition(":")
    verb: Verb = getattr(import_module(f"berth.cli.verbs.{module}"), attribute)
    return verb


def _split(argv: list[str]) -> tuple[list[str], list[str]]:
    """Flags with their values that stand before the verb, and the rest."""
    at = 0
    while at < len(argv) and argv[at].partition("=")[0] in ("--server", "--token-file", "--ca", "--json"):
        at += 1 if "=" in argv[at] or argv[at] == "--json" else 2
    return argv[:at], argv[at:]


def _find(words: list[str], local: Mapping[str, str]) -> tuple[str, list[str]]:
    """The verb that the words begin with, and the words after it. Raises ClientError for one that is not there."""
    if words[0] in VERBS:
        return words[0], words[1:]
    pair = " ".join(words[:2])
    if pair in VERBS:
        return pair, words[2:]
    from berth.cli.overview import unknown_verb

    raise unknown_verb(words, [*VERBS, *local])


def _help(words: list[str], local: Mapping[str, str]) -> int:
    if words and words[0] in local:
        return _dispatch([words[0], "--help"], local)
    if words and (words[0] in VERBS or " ".join(words[:2]) in VERBS):
        return _dispatch([*words[: 1 if words[0] in VERBS else 2], "--help"], local)
    from berth.cli.overview import overview

    shown = {**{name: LOCAL.get(name, "") for name in local}, **{name: entry.summary for name, entry in VERBS.items()}}
    print(overview(shown, words[0] if words else ""))
    return 0
