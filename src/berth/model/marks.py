"""The names of the labels by which Berth finds its own services and containers again, and how they are read."""

from collections.abc import Mapping

PREFIX = "berth."
"""Every label of Berth's own begins so."""
CLUSTER = "berth.cluster"
VERSION = "berth.v"
JOB = "berth.job"
NAME = "berth.name"
SLOT = "berth.slot"
TASK = "berth.task"
ATTEMPT = "berth.attempt"
CARDS = "berth.cards"
STACK = "berth.stack"
SERVICE = "berth.service"
QUEUE = "berth.queue"
USER = "berth.user"
SPEC = "berth.spec"
FILES = "berth.files"
DIGEST = "berth.digest"
HOLDER = "berth.server"
RENEWED = "berth.renewed"

NAMESPACE = "com.docker.stack.namespace"
IMAGE = "com.docker.stack.image"
"""Those by which the docker CLI knows a stack's services, networks, volumes, secrets and configs."""

NOWHERE = "berth-waiting"
"""The id of a node that never is: an object that is pinned there waits in sight."""


def cards_of(labels: Mapping[str, str]) -> tuple[str, ...]:
    """The cards that an object's label names."""
    return tuple(card for card in labels.get(CARDS, "").split(",") if card)


def attempt_of(labels: Mapping[str, str]) -> int:
    """The attempt that an object's label names; 0 when it names none."""
    text = labels.get(ATTEMPT, "")
    return int(text) if text.isdecimal() else 0
