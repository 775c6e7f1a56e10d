"""Who may speak to the server: tokens, stored only as hashes."""

from typing import Literal

import msgspec

Role = Literal["admin", "user", "agent"]


class Token(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A bearer token as the store keeps it: `hash` is the SHA-256 of the secret in hex, never the secret."""

    id: str
    hash: str
    role: Role
    name: str = ""
    node: str = ""
    created_at: float = 0.0
    expires_at: float | None = None


class Actor(msgspec.Struct, frozen=True):
    """Who asks: a user's name and role, as proven by the token."""

    name: str
    role: Role
    node: str = ""
    token: str = ""
