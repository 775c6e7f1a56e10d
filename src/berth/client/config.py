"""Which server to speak to and how to prove who asks: flags first, then the environment, then what `login` kept."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from berth.client.errors import failure

DEFAULT_SERVER = "http://127.0.0.1:7700"


class Target(NamedTuple):
    """One server: its URL without a slash at the end, the bearer token ("" for none), and a CA file ("" for none)."""

    server: str
    token: str = ""
    ca: str = ""


class Flags(NamedTuple):
    """What the person typed: `--server`, `--token-file`, `--ca` ("" where not given)."""

    server: str = ""
    token_file: str = ""
    ca: str = ""


def directory(environ: Mapping[str, str]) -> Path:
    """Where Berth keeps a person's settings: `$XDG_CONFIG_HOME/berth`, by default `~/.config/berth`."""
    base = environ.get("XDG_CONFIG_HOME", "")
    return (Path(base) if base else Path(environ.get("HOME") or Path.home()) / ".config") / "berth"


def target(flags: Flags, environ: Mapping[str, str]) -> Target:
    """Find the server, token and CA; each is overridden on its own, but what was kept goes only to the server for which
    it was kept, and BERTH_TOKEN to BERTH_SERVER where that is set: any other one would learn the token. Raises
    ClientError when a file is unreadable.
    """
    kept = read(environ)
    known = address(kept.get("server", "") or DEFAULT_SERVER)
    server = address(flags.server or environ.get("BERTH_SERVER", "") or known)
    own = kept if _same(server, known) else {}
    return Target(server, _token(flags, environ, own, server), flags.ca or own.get("ca", ""))


def read(environ: Mapping[str, str]) -> dict[str, str]:
    """What `login` or `up` kept: `server`, `token_file`, `ca`; empty when nothing was kept."""
    path = directory(environ) / "config.json"
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise failure(
            "bad-settings", f"{path} cannot be read: {error}", f"remove {path} and type 'berth login URL'"
        ) from error
    return {k: v for k, v in found.items() if isinstance(v, str)} if isinstance(found, dict) else {}


def keep(server: str, token_file: str, ca: str, environ: Mapping[str, str]) -> Path:
    """Record a server for this person's later calls (mode 0600); returns the file that was written."""
    settings = {"server": address(server), "token_file": token_file, "ca": ca}
    path = directory(environ) / "config.json"
    write_private(path, json.dumps({k: v for k, v in settings.items() if v}, indent=2) + "\n")
    return path


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner can read, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.unlink(missing_ok=True)
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as out:
        out.write(text)
    draft.replace(path)


def address(server: str) -> str:
    """A server's URL as it is kept: with a scheme, without a slash at the end. Raises ClientError."""
    url = server if "://" in server else f"http://{server}"
    scheme, _, rest = url.partition("://")
    host = rest.partition("/")[0]
    if scheme not in ("http", "https") or not host or "@" in host:
        raise failure("bad-address", f"'{server}' is not the address of a server", f"write it as {DEFAULT_SERVER}")
    return url.rstrip("/")


def _same(server: str, other: str) -> bool:
    """True for two addresses of one server; localhost is 127.0.0.1."""
    plain = [url.replace("//localhost", "//127.0.0.1") for url in (server, other)]
    return plain[0] == plain[1]


def read_token(path: str) -> str:
    """The token in a file. Raises ClientError when there is none."""
    try:
        token = Path(path).expanduser().read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise failure(
            "bad-token-file", f"the token file {path} cannot be read: {reason}", "name another one: --token-file FILE"
        ) from error
    return check_token(token, f"the token file {path}")


def check_token(token: str, source: str) -> str:
    """The token itself, if it can be one. Raises ClientError."""
    if not token or not token.isascii() or any(ch.isspace() for ch in token):
        raise failure(
            "bad-token-file", f"{source} holds no token", "a token is one word: 'berth token create' makes it"
        )
    return token


def _token(flags: Flags, environ: Mapping[str, str], kept: Mapping[str, Any], server: str) -> str:
    if flags.token_file:
        return read_token(flags.token_file)
    meant = environ.get("BERTH_SERVER", "")
    if environ.get("BERTH_TOKEN") and (not meant or _same(server, address(meant))):
        return check_token(environ["BERTH_TOKEN"].strip(), "BERTH_TOKEN")
    return read_token(kept["token_file"]) if kept.get("token_file") else ""
