"""`berth run`: one image on cards; follows its output, or prints the id and leaves."""

import argparse
from typing import Any

from berth.cli.images import auth_header
from berth.cli.parser import usage_error
from berth.cli.verb import Session, Verb
from berth.client.errors import ClientError


def _arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--gpus", metavar="N", help="how many whole cards of one node (default: none)")
    add("--model", metavar="M", help="a model or an alias, such as A100")
    add("-c", "--constraint", metavar="EXPR", action="append", default=[], help="such as 'gpu.memory >= 40GiB'")
    add("--name", metavar="N", help="a name to find it by")
    add("--time", metavar="T", help="stop it after this time, such as 2h")
    add("-e", "--env", metavar="K=V", action="append", default=[], help="K alone takes the value from this shell")
    add("-v", "--volume", metavar="A:B", action="append", default=[], help="a path or volume, and where it is mounted")
    add("--shm-size", metavar="S", help="size of /dev/shm, such as 8g")
    add("--secret", metavar="S", action="append", default=[], help="a secret of the engine, mounted as a file")
    add("--user", metavar="U", help="the user in the container, such as 1001:1001")
    add("--detach", action="store_true", help="print the id and leave")
    add("--plan", action="store_true", help="say what would happen, and do nothing")
    add("--strict", action="store_true", help="take warnings of the lint as errors")
    add("image", metavar="IMAGE", help="the image")
    add("command", metavar="CMD", nargs=argparse.REMAINDER, help="the command and its arguments").required = False


def _run(session: Session) -> int:
    args = session.args
    headers = auth_header(session, args.image)
    query = {name: 1 for name in ("plan", "strict") if getattr(args, name)}
    answer = _submitted(session, query, headers)
    if args.plan:
        from berth.cli.plan import show_plan

        return show_plan(session.screen, session.client, answer)
    for text in answer.get("warnings", []):
        session.screen.note(f"warning: {text}")
    if not args.detach:
        return _attached(session, answer)
    if session.screen.as_json:
        session.screen.value(answer)
    else:
        session.screen.say(answer["id"])
    return 0


def _submitted(session: Session, query: dict[str, Any] | None, headers: Any) -> Any:
    body = job_body(session.args, session.environ)
    try:
        return session.client.call("POST", "/v1/jobs", query, body, headers).value
    except ClientError as error:
        from berth.cli.flags import in_flags

        raise in_flags(error, body) from None


def job_body(args: argparse.Namespace, environ: Any) -> dict[str, Any]:
    """The job as the API takes it: only what was typed, so that the server's defaults hold."""
    command = args.command[1:] if args.command[:1] == ["--"] else args.command
    body = {
        "image": args.image,
        "command": command,
        "name": args.name,
        "gpus": int(args.gpus) if args.gpus and args.gpus.lstrip("-").isdecimal() else args.gpus,
        "model": args.model,
        "constraints": args.constraint,
        "env": dict(filter(None, (_variable(pair, environ) for pair in args.env))),
        "volumes": args.volume,
        "secrets": args.secret,
        "user": args.user,
        "time": args.time,
        "shm_size": args.shm_size,
    }
    return {key: value for key, value in body.items() if value not in (None, [], {})}


def _variable(pair: str, environ: Any) -> tuple[str, str] | None:
    name, equals, value = pair.partition("=")
    if not name:
        raise usage_error(f"-e {pair} has no name", "write it as -e NAME=VALUE, or -e NAME for the value of this shell")
    if equals:
        return name, value
    return (name, environ[name]) if name in environ else None


def _attached(session: Session, job: dict[str, Any]) -> int:
    """Follow the job to its end. What fails from here on fails after acceptance."""
    from berth.cli.follow import FAILED_AFTER_ACCEPTANCE, follow_to_end

    try:
        return follow_to_end(session, job["id"])
    except KeyboardInterrupt:
        session.screen.note(f"\nberth: {job['name']} goes on without you; {_come_back(job)}")
        return 130
    except ClientError as error:
        from berth.cli.guard import explain_failure

        explain_failure(error)
        session.screen.note(f"berth: {job['name']} may go on; {_come_back(job)}")
        return FAILED_AFTER_ACCEPTANCE


def _come_back(job: dict[str, Any]) -> str:
    return f"come back: 'berth logs -f {job['id']}', end it: 'berth cancel {job['id']}'"


RUN = Verb(
    "berth run --gpus 2 --model A100 -v /data:/data pytorch:2 python train.py",
    _arguments,
    _run,
    about="Ctrl-C leaves it running and says how to come back. The exit code is the command's own; 125 says that "
    "Berth or the engine failed after the job had been accepted.",
)
