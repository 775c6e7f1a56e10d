"""Turns what went wrong between `client` and the daemon into the port's kinds of errors: a no, stale, or not known."""

import msgspec

from berth.model.errors import (
    EngineConflict,
    EngineError,
    EngineUnknown,
    EngineUnreachable,
    ImageAbsent,
    ObjectGone,
    Problem,
    StaleVersion,
)

# A Swarm manager answers so when the change may still be carried out by the other managers.
UNDECIDED = ("DeadlineExceeded", "deadline exceeded", "context canceled", "lost leadership", "lost its leadership")
GATEWAYS = (502, 504)
_KINDS: dict[str, type[EngineError]] = {
    "engine-object-gone": ObjectGone,
    "engine-conflict": EngineConflict,
    "image-absent": ImageAbsent,
}


class _Answer(msgspec.Struct, frozen=True):
    message: str = ""


def answered(status: int, body: bytes, what: str, changes: bool) -> EngineError | EngineUnknown:
    """The error for an answer of 400 or more to `what` ("POST /services/create"); `changes` False for a read."""
    message = _message(body) or f"HTTP {status}"
    if "update out of sequence" in message:
        return StaleVersion(
            Problem(
                code="stale-version",
                message=f"The engine's object changed since it was read ({what}): {message}.",
                hint="Nothing was done; Berth reads it again.",
            )
        )
    if changes and (status in GATEWAYS or any(mark in message for mark in UNDECIDED)):
        return EngineUnknown(
            Problem(code="engine-undecided", message=f"The engine could not say whether {what} took place: {message}.")
        )
    code = _code(status, message)
    return _KINDS.get(code, EngineError)(
        Problem(code=code, message=f"The engine refused {what}: {message}.", hint=_hint(message))
    )


def unreachable(where: str, why: object) -> EngineUnreachable:
    """Nothing was sent, or only a question: nothing happened."""
    return EngineUnreachable(
        Problem(
            code="engine-unreachable",
            message=f"The Docker daemon at {where} does not answer: {why}.",
            hint="Check that it runs (`systemctl status docker`) and that this user may use it.",
        )
    )


def lost(where: str, what: str, why: object) -> EngineUnknown:
    """The request may have been carried out; the answer was lost."""
    return EngineUnknown(
        Problem(
            code="engine-answer-lost",
            message=f"The Docker daemon at {where} did not answer {what}: {why}; it may have happened.",
            hint="Berth looks at what runs before it goes on.",
        )
    )


def _message(body: bytes) -> str:
    try:
        return msgspec.json.decode(body, type=_Answer).message.strip().rstrip(".")
    except msgspec.MsgspecError:
        return body.decode(errors="replace").strip().rstrip(".")[:500]


def _code(status: int, message: str) -> str:
    if "not a swarm manager" in message:
        return "not-a-manager"
    if "No such image" in message:
        return "image-absent"
    return {404: "engine-object-gone", 409: "engine-conflict"}.get(status, "engine-refused")


def _hint(message: str) -> str:
    if "not a swarm manager" in message:
        return "Run `docker swarm init` here, or start Berth with --docker-host at a manager."
    if "No such image" in message:
        return "Pull or build the image on that host, or correct its name."
    return ""
