"""Who asks: the bearer token of a request, looked up by its hash among the tokens that hold."""

import hashlib
from collections.abc import Iterable

from berth.api.answers import Unproven
from berth.control.context import Control
from berth.model.errors import Refused
from berth.model.token import Actor

HINT = "Type 'berth login URL', or add --token-file FILE; the first token is in the server's data folder: admin.token"


def prove(control: Control, headers: Iterable[tuple[bytes, bytes]]) -> Actor:
    """The actor of these headers. Every secret is hashed and looked up alike, so that time tells nothing of it.

    Raises Unproven when there is no token, or when it is unknown, revoked or expired.
    """
    sent = next((value for name, value in headers if name == b"authorization"), b"")
    scheme, _, secret = sent.partition(b" ")
    if scheme.lower() != b"bearer" or not secret:
        raise Unproven.of("token-missing", "this server answers only to a token, and the request had none.", HINT)
    token = control.cluster.tokens.get(hashlib.sha256(secret.strip()).hexdigest())
    if token is None:
        raise Unproven.of("token-unknown", "the server does not know this token: it is wrong, or was revoked.", HINT)
    if token.expires_at is not None and token.expires_at <= control.clock.now():
        raise Unproven.of("token-expired", f"token {token.id} of {token.name} has expired.", HINT)
    return Actor(name=token.name, role=token.role, node=token.node, token=token.id)


def refuse_agent(actor: Actor) -> None:
    """Raise Refused for an agent: its token opens its own stream and nothing else."""
    if actor.role == "agent":
        raise Refused.of(
            "agent-token",
            "this is an agent's token: it may only keep its own node's stream.",
            "Create a user's token: berth token create --role user --name NAME",
        )
