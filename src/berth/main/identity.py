"""What a server keeps beside its database: the cluster's id and the first admin token."""

import os
import secrets
from pathlib import Path

from berth.control.commands.tokens import hash_of, make_token
from berth.control.context import Control
from berth.model.change import PutToken
from berth.model.token import Token


def data_folder(path: Path) -> Path:
    """The data folder, made for its owner alone when it is not there."""
    path.mkdir(parents=True, exist_ok=True, mode=0o700)
    return path


def cluster_id(data: Path) -> str:
    """The id that marks this cluster's objects on the engine; it outlives the database."""
    file = data / "cluster.id"
    if not file.exists():
        write_private(file, secrets.token_hex(8) + "\n")
    return file.read_text().strip()


async def admin_token(control: Control, data: Path) -> Path:
    """The file of the admin token: made at the first start, and known to a new database under the same secret."""
    file = data / "admin.token"
    admins = [token for token in control.cluster.tokens.values() if token.role == "admin"]
    if file.exists():
        secret = file.read_text().strip()
        if not admins and secret:
            token = Token(id="first", hash=hash_of(secret), role="admin", name="admin", created_at=control.clock.now())
            await control.writer.commit((PutToken(token),))
    elif not admins:
        token, secret = make_token("admin", "admin", "", control.clock.now())
        write_private(file, secret + "\n")
        await control.writer.commit((PutToken(token), control.note("token-created", "the first admin token")))
    return file


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner can read, whole or not at all."""
    draft = path.with_suffix(f".{os.getpid()}")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "w") as out:
        out.write(text)
        out.flush()
        os.fsync(out.fileno())
    draft.replace(path)
