"""`berth submit`: a job file goes to the server as it is, which parses it and answers with ids."""

import argparse
import sys

from berth.cli.bundle import STDIN, read_file
from berth.cli.images import auth_header, images_in
from berth.cli.plan import show_plan
from berth.cli.verb import Session, Verb


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="JOB.yaml", help="the job file; - reads standard input")
    parser.add_argument("--plan", action="store_true", help="say what would happen, and do nothing")
    parser.add_argument("--strict", action="store_true", help="take warnings of the lint as errors")


def _submit(session: Session) -> int:
    path = session.args.file
    data = sys.stdin.buffer.read() if path == STDIN else read_file(path, "name a job file, or - for standard input")
    images = images_in(data.decode("utf-8", "replace"))
    headers = {"Content-Type": "application/yaml", "X-Berth-File": _header(path)}
    headers |= auth_header(session, images[0]) if images else {}
    query = {name: 1 for name in ("plan", "strict") if getattr(session.args, name)}
    answer = session.client.call("POST", "/v1/jobs", query, data, headers).value
    if session.args.plan:
        return show_plan(session.screen, session.client, answer)
    for job in answer if isinstance(answer, list) else [answer]:
        for text in job.get("warnings", []):
            session.screen.note(f"warning: {text}")
        if not session.screen.as_json:
            session.screen.say(job["id"])
    if session.screen.as_json:
        session.screen.value(answer)
    return 0


def _header(path: str) -> str:
    """A path as a header can carry it: UTF-8 bytes, no control characters."""
    return "".join(ch for ch in path if ch.isprintable()).encode("utf-8", "replace").decode("latin-1")


SUBMIT = Verb("berth submit train.yaml", _arguments, _submit, about="Only the job's id is printed on standard output.")
