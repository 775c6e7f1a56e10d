"""What routes share: control, kept answers, the watch; and who asks."""

from typing import Any

import msgspec
from litestar import Request
from litestar.connection import ASGIConnection
from litestar.di import NamedDependency

from berth.api.idempotent import Pending
from berth.api.kept import Kept
from berth.api.watch import Watch
from berth.control.context import Control
from berth.model.token import Actor

AnyRequest = Request[Any, Any, Any]


class Room(msgspec.Struct, frozen=True):
    """One per server."""

    control: Control
    kept: Kept
    watch: Watch


Here = NamedDependency[Room]


def actor_of(request: ASGIConnection[Any, Any, Any, Any]) -> Actor:
    """Who asks, as the front has proven."""
    actor: Actor = request.scope["actor"]  # type: ignore[typeddict-item]
    return actor


def pending_of(request: AnyRequest) -> Pending | None:
    """The answer that is to be kept under an Idempotency-Key, if there is one."""
    return request.scope.get("pending")  # type: ignore[return-value]
