"""The key of the vault: 256 random bits in a file that only the server's user can read, outside the database."""

import base64
import binascii
import os
import secrets
import stat
from pathlib import Path

from berth.model.errors import Refused

KEY_BYTES = 32


def read_or_make(path: Path) -> bytes:
    """The key in this file, made when there is none. Raises Refused for one that is no key or that others can read."""
    if not path.exists():
        _make(path)
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & 0o077:
        raise Refused.of(
            "secret-key-file",
            f"{path} can be read by others (mode {mode:04o}); it opens every secret that is kept here.",
            f"chmod 600 {path}",
        )
    try:
        key = base64.b64decode(path.read_text().strip(), validate=True)
    except (binascii.Error, UnicodeDecodeError):
        key = b""
    if len(key) != KEY_BYTES:
        raise Refused.of(
            "secret-key-file",
            f"{path} does not hold a key of {KEY_BYTES} bytes in base64.",
            "Put the right file back from a backup; to give all kept secrets up, remove it and start again",
        )
    return key


def _make(path: Path) -> None:
    """Write it whole or not at all; a second server that does the same at this moment keeps the first one's."""
    draft = path.with_suffix(f".{os.getpid()}")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(base64.b64encode(secrets.token_bytes(KEY_BYTES)) + b"\n")
            out.flush()
            os.fsync(out.fileno())
        os.link(draft, path)
    except FileExistsError:
        pass
    finally:
        draft.unlink(missing_ok=True)
