"""`berth version`: of this command, and of the server where one answers."""

import platform
from typing import Any

from berth import __version__
from berth.cli.verb import Session, Verb, no_arguments
from berth.client.errors import ClientError


def _version(session: Session) -> int:
    server, trouble = _server(session)
    if session.screen.as_json:
        session.screen.value({"client": __version__, **server})
        return 0
    session.screen.say(f"berth   {__version__} (Python {platform.python_version()})")
    session.screen.say(f"server  {server.get('version') or trouble}")
    for key, value in server.items():
        if key != "version" and isinstance(value, str | int):
            session.screen.say(f"  {key}: {value}")
    return 0


def _server(session: Session) -> tuple[dict[str, Any], str]:
    """What the server says of itself, or why it says nothing: this verb works without one."""
    try:
        return session.client.get("/v1/version"), ""
    except ClientError as error:
        return {}, str(error)


VERSION = Verb("berth version", no_arguments, _version)
