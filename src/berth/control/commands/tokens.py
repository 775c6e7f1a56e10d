"""Commands on tokens: create (the secret is shown once and stored only as its hash) and revoke."""

import hashlib
import re
import secrets

from berth.control.context import Control
from berth.control.permit import must_be_admin
from berth.model.change import DropToken, PutToken
from berth.model.errors import BadInput, NotFound, Problem, Refused
from berth.model.token import Actor, Role, Token

PREFIX = "berth_"


def make_token(role: Role, name: str, node: str, now: float) -> tuple[Token, str]:
    """A new token and its secret (256 random bits)."""
    secret = PREFIX + secrets.token_urlsafe(32)
    token_id = secrets.token_hex(4)
    token = Token(id=token_id, hash=hash_of(secret), role=role, name=name or role, node=node, created_at=now)
    return token, secret


def hash_of(secret: str) -> str:
    """SHA-256 in hex: enough for secrets of 256 random bits, and quick to check on each request."""
    return hashlib.sha256(secret.encode()).hexdigest()


async def create(control: Control, actor: Actor, role: Role, name: str = "", node: str = "") -> tuple[Token, str]:
    """Create a token. An agent's is bound to one node; a user's name owns the jobs that it submits."""
    must_be_admin(actor, "create tokens")
    if role == "agent" and not node:
        raise BadInput.of(
            "token-node",
            "an agent's token is bound to one node.",
            "berth token create --role agent --node NAME",
            field="node",
        )
    if role != "agent" and node:
        raise BadInput.of("token-node-user", "only an agent's token has a node.", "Leave --node out", field="node")
    if role == "user" and not name:
        raise BadInput.of(
            "token-name", "a user's token needs a name.", "berth token create --role user --name NAME", field="name"
        )
    if name and not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,62}", name):
        text = f"'{name}' is not a name: letters, digits, '.', '_', '@', '-', at most 63."
        fit = re.sub(r"[^A-Za-z0-9._@-]+", "-", name).strip("-._@")[:63] or "NAME"
        raise BadInput.of("token-name-form", text, f"Write --name {fit}", field="name")
    token, secret = make_token(role, name, node, control.clock.now())
    whose = f"node {node}" if node else token.name
    note = control.note("token-created", f"{role} token {token.id} for {whose}", actor=actor.name, node=node)
    await control.writer.commit((PutToken(token), note))
    return token, secret


def unknown_node(control: Control, token: Token) -> Problem | None:
    """A warning for a token of a node that is not known: it may join later, or its name may be misspelled."""
    if not token.node or token.node in control.cluster.nodes:
        return None
    known = ", ".join(sorted(control.cluster.nodes)) or "none yet"
    return Problem(
        code="token-node-unknown",
        message=f"node {token.node} is not known; the nodes are: {known}.",
        hint=f"If it joins later, all is well; if its name is wrong: berth token revoke {token.id}, and create another",
        field="node",
    )


async def revoke(control: Control, actor: Actor, token_id: str) -> Token:
    """Revoke at once. The last admin's token is kept: nobody could create another."""
    must_be_admin(actor, "revoke tokens")
    token = next((one for one in control.cluster.tokens.values() if one.id == token_id), None)
    if token is None:
        raise NotFound.of("no-such-token", f"there is no token {token_id}.", "List them: berth token ls")
    admins = [one for one in control.cluster.tokens.values() if one.role == "admin"]
    if token.role == "admin" and len(admins) == 1:
        raise Refused.of(
            "last-admin", "this is the last admin token.", "Create another first: berth token create --role admin"
        )
    whose = f"node {token.node}" if token.node else token.name
    note = control.note("token-revoked", f"{token.role} token {token.id} of {whose}", actor=actor.name)
    await control.writer.commit((DropToken(token_id), note))
    return token
