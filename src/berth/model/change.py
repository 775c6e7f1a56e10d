"""The closed set of changes that the store can make; a batch of them is one transaction."""

from typing import TypeAlias

import msgspec

from berth.model.card import Card, Share
from berth.model.event import Event
from berth.model.job import Attempt, Job, Stack, Task
from berth.model.node import Node
from berth.model.stored import KeptFile
from berth.model.token import Token


class PutJob(msgspec.Struct, frozen=True):
    """Insert (`was` None) or replace the job, whose stored version must be `was`."""

    job: Job
    was: int | None = None


class PutTask(msgspec.Struct, frozen=True):
    """Insert (`was` None) or replace the task, whose stored version must be `was`."""

    task: Task
    was: int | None = None


class PutAttempt(msgspec.Struct, frozen=True):
    """Insert or replace the record of one attempt."""

    attempt: Attempt


class PutNode(msgspec.Struct, frozen=True):
    """Insert or replace a node."""

    node: Node


class DropNode(msgspec.Struct, frozen=True):
    """Remove a node; its cards must be dropped in the same batch."""

    name: str


class PutCard(msgspec.Struct, frozen=True):
    """Insert a card with its whole room, or replace its facts; what the ledger booked on it stays."""

    card: Card


class RenameCard(msgspec.Struct, frozen=True):
    """The declared card `old` is found to be `card`: grants on it follow to the new uuid."""

    old: str
    card: Card


class DropCard(msgspec.Struct, frozen=True):
    """Remove a card on which nothing is booked."""

    uuid: str


class Take(msgspec.Struct, frozen=True):
    """Book shares of cards for a task. Refused (DoubleGrant) when a card has not that much left."""

    task: str
    shares: tuple[Share, ...]


class Give(msgspec.Struct, frozen=True):
    """Give back what the task holds: all of it, or only the named cards. Holding nothing is not an error."""

    task: str
    cards: tuple[str, ...] | None = None


class PutStack(msgspec.Struct, frozen=True):
    """Insert or replace a stack."""

    stack: Stack


class DropStack(msgspec.Struct, frozen=True):
    """Remove a stack by name."""

    name: str


class PutToken(msgspec.Struct, frozen=True):
    """Insert a token (its hash)."""

    token: Token


class DropToken(msgspec.Struct, frozen=True):
    """Revoke a token by id."""

    id: str


class PutFile(msgspec.Struct, frozen=True):
    """Insert or replace a secret or config of Berth's own store."""

    file: KeptFile


class DropFile(msgspec.Struct, frozen=True):
    """Remove one by id."""

    id: str


class Note(msgspec.Struct, frozen=True):
    """Append an event; the store numbers it."""

    event: Event


class Remember(msgspec.Struct, frozen=True):
    """Keep the answer to an idempotent request: `key` by caller, hash of the request's body, encoded response.

    Refused (Stale) when the key is kept already: of two requests with one key only one has an effect.
    """

    key: str
    body_hash: str
    response: bytes
    at: float


Change: TypeAlias = (
    PutJob
    | PutTask
    | PutAttempt
    | PutNode
    | DropNode
    | PutCard
    | RenameCard
    | DropCard
    | Take
    | Give
    | PutStack
    | DropStack
    | PutToken
    | DropToken
    | PutFile
    | DropFile
    | Note
    | Remember
)
Batch: TypeAlias = tuple[Change, ...]


class Stale(Exception):
    """A guarded write found another version: the plan that it came from is thrown away."""


class DoubleGrant(Exception):
    """The ledger's CHECK refused: the card has not that much left, or is not there."""


class Superseded(Exception):
    """Another server has raised the epoch: this one may write nothing more."""
