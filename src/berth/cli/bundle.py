"""What travels with `stack deploy`: the files as they are, and of the rest only what the files themselves name."""

import base64
import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from berth.client.errors import ClientError, failure

STDIN = "-"
MOST_BYTES = 4 * 1024 * 1024
"""A stack file or env_file above this is a mistake."""


class Bundle:
    """The files of one deployment. `body` is the `bundle` object of the API; `add` answers what the server needs."""

    def __init__(self, paths: Iterable[str], environ: Mapping[str, str]) -> None:
        self._environ = environ
        self._named = list(paths)
        self._files = _all_read(self._named)
        self._dotenv = self._beside()
        self._extra: dict[str, dict[str, str] | None] = {}
        self._contents: dict[str, dict[str, str] | None] = {}
        self._variables: dict[str, str | None] = {}

    @property
    def body(self) -> dict[str, Any]:
        """The bundle as JSON, bytes in base64."""
        found: dict[str, Any] = {"files": [_source(_said(path), data) for path, data in self._files]}
        if self._dotenv:
            found["dotenv"] = _source(*self._dotenv)
        where = str(self._home().absolute())
        sent = {"extra": self._extra, "contents": self._contents, "variables": self._variables}
        return found | sent | {"directory": where}

    def add(self, needs: Mapping[str, Iterable[str]]) -> None:
        """Add the files and shell variables that the server asks for, and nothing that the files do not name.

        Raises ClientError when it asks for something else, or for the same again.
        """
        text = self.text
        for path in needs.get("files", ()):
            self._only_once(path, self._extra)
            if not names_path(text, path):
                raise _not_named(f"the file {path}")
            self._extra[path] = self._beside_first(path)
        for path in needs.get("contents", ()):
            self._only_once(path, self._contents)
            if not names_path(text, path):
                raise _not_named(f"the file {path}")
            self._contents[path] = self._beside_first(path)
        for name in needs.get("variables", ()):
            self._only_once(name, self._variables)
            if not re.search(rf"\b{re.escape(name)}\b", text):
                raise _not_named(f"the variable {name}")
            self._variables[name] = self._environ.get(name)

    @property
    def text(self) -> str:
        """All that travels so far, to see what it names; the content of secrets and configs names nothing."""
        parts = [data for _, data in self._files] + ([self._dotenv[1]] if self._dotenv else [])
        parts += [base64.b64decode(extra["data"]) for extra in self._extra.values() if extra]
        values = [value for value in self._variables.values() if value]
        return "\n".join([part.decode("utf-8", "replace") for part in parts] + values)

    def _only_once(self, key: str, known: Mapping[str, Any]) -> None:
        if key in known:
            raise failure("not-berth", f"the server asks for '{key}' again and again", "look at 'berth version'", 5)

    def _home(self) -> Path:
        """Where paths in the files start: beside the first file, or here for standard input."""
        return Path.cwd() if self._named[0] == STDIN else Path(self._named[0]).parent

    def _beside(self) -> tuple[str, bytes] | None:
        path = self._home() / ".env"
        if self._named[0] == STDIN or not path.is_file():
            return None
        return str(path), _read(str(path))

    def _beside_first(self, path: str) -> dict[str, str] | None:
        found = self._home() / Path(path).expanduser()
        return _source(path, _read(str(found))) if found.is_file() else None


def until_answered(bundle: Bundle, ask: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Ask the server, and again with what it needs to see, until it has an answer."""
    while True:
        answer = ask()
        if not answer.get("needs"):
            return answer
        bundle.add(answer["needs"])


def names_path(text: str, path: str) -> bool:
    """True when a text names this path: as it is, or by a word with variables that it can come from."""
    if path in text:
        return True
    return any(_pattern(word).fullmatch(path) for word in re.findall(r"[^\s'\"\[\],]*\$[^\s'\"\[\],]*", text))


def _pattern(word: str) -> re.Pattern[str]:
    """A word such as `${STAGE:-dev}.env` as a pattern for what it can become; variables alone fit no path."""
    fixed = re.split(r"\$\{[^}]*\}|\$\w+", word)
    return re.compile(".+".join(re.escape(part) for part in fixed) if "".join(fixed) else r"(?!)")


def _not_named(what: str) -> Exception:
    return failure(
        "not-named",
        f"the server asks for {what}, which the stack files do not name; nothing was sent",
        "deploy to a server that you trust, or write the name out in the file",
        exit_code=4,
    )


def _said(path: str) -> str:
    """How messages name a stack file."""
    return "standard input" if path == STDIN else path


def _source(path: str, data: bytes) -> dict[str, str]:
    return {"path": path, "data": base64.b64encode(data).decode()}


def _read_stdin() -> bytes:
    if sys.stdin.isatty():
        print("berth: reading the stack file from the terminal; end it with Ctrl-D", file=sys.stderr)
    return sys.stdin.buffer.read()


def _read(path: str) -> bytes:
    return read_file(path, "name the file, or '-c -' to read standard input")


def read_file(path: str, hint: str) -> bytes:
    """A file's bytes. Raises ClientError when it cannot be read or is far too large."""
    try:
        with open(os.path.expanduser(path), "rb") as source:
            data = source.read(MOST_BYTES + 1)
    except OSError as error:
        raise _unread("unreadable-file", path, f"{(error.strerror or str(error)).lower()}", hint) from error
    if len(data) > MOST_BYTES:
        raise _unread("file-too-big", path, f"larger than {MOST_BYTES >> 20} MiB", hint)
    return data


def _unread(code: str, path: str, message: str, hint: str) -> ClientError:
    return ClientError([{"code": code, "message": message, "hint": hint, "file": path}], 2)


def _all_read(paths: list[str]) -> list[tuple[str, bytes]]:
    """The files of -c in their order. Raises ClientError with all that cannot be read."""
    found, wrong = [], []
    for path in paths:
        try:
            found.append((path, _read_stdin() if path == STDIN else _read(path)))
        except ClientError as error:
            wrong += error.problems
    if wrong:
        raise ClientError(wrong, 2)
    return found
