"""A container as its Docker daemon describes it, reduced to what concerns cards; `watch` reads, `verdict` judges."""

from collections.abc import Iterable, Sequence

import msgspec

from berth.dockerapi.holders import EVERY_CARD, VISIBLE, listed
from berth.model import marks
from berth.model.card import Card

CDI = "nvidia.com/gpu="


class Inspected(msgspec.Struct, frozen=True, kw_only=True):
    """One container. `granted` are the cards of its label `berth.cards`; `task` is "" when it is not a task of Berth's.

    `ours` is True for everything that Berth made, native services included. `devices` and `mounts` are host paths of
    NVIDIA's nodes; `requests` are the cards named by device requests ("all", indices, UUIDs).
    `visible` is NVIDIA_VISIBLE_DEVICES in its environment, None when it is not set. `image` is the image's id.
    """

    id: str
    name: str
    pid: int
    image: str
    image_name: str
    ours: bool = False
    task: str = ""
    attempt: int = 0
    granted: tuple[str, ...] = ()
    privileged: bool = False
    devices: tuple[str, ...] = ()
    mounts: tuple[str, ...] = ()
    requests: tuple[str, ...] = ()
    visible: str | None = None

    @property
    def running(self) -> bool:
        """True while its first process lives."""
        return self.pid > 0

    def asked_cards(self, inherited: str | None) -> tuple[str, ...]:
        """The cards that its caller asked for in words; `inherited` is what the image's own environment says."""
        said = () if self.visible == inherited else listed(self.visible)
        return (*self.requests, *(path.removeprefix("/dev/nvidia") for path in self.devices), *said)


class _Request(msgspec.Struct, rename="pascal"):
    driver: str = ""
    count: int = 0
    device_ids: list[str] | None = msgspec.field(name="DeviceIDs", default=None)
    capabilities: list[list[str]] | None = None


class _Device(msgspec.Struct, rename="pascal"):
    path_on_host: str = ""


class _Host(msgspec.Struct, rename="pascal"):
    privileged: bool = False
    devices: list[_Device] | None = None
    device_requests: list[_Request] | None = None


class _Config(msgspec.Struct, rename="pascal"):
    env: list[str] | None = None
    labels: dict[str, str] | None = None
    image: str = ""


class _State(msgspec.Struct, rename="pascal"):
    pid: int = 0


class _Mount(msgspec.Struct, rename="pascal"):
    source: str = ""


class _Container(msgspec.Struct, rename="pascal"):
    id: str
    name: str = ""
    image: str = ""
    state: _State = msgspec.field(default_factory=_State)
    config: _Config = msgspec.field(default_factory=_Config)
    host_config: _Host = msgspec.field(default_factory=_Host)
    mounts: list[_Mount] | None = None


class _Image(msgspec.Struct, rename="pascal"):
    config: _Config | None = None


def read_container(data: bytes) -> Inspected:
    """Read the answer of GET /containers/ID/json. Raises msgspec.MsgspecError for anything else."""
    found = msgspec.json.decode(data, type=_Container)
    labels, host = found.config.labels or {}, found.host_config
    return Inspected(
        id=found.id,
        name=found.name.lstrip("/"),
        pid=found.state.pid,
        image=found.image,
        image_name=found.config.image,
        ours=marks.JOB in labels,
        task=labels.get(marks.TASK, ""),
        attempt=marks.attempt_of(labels),
        granted=marks.cards_of(labels),
        privileged=host.privileged,
        devices=tuple(d.path_on_host for d in host.devices or () if d.path_on_host.startswith("/dev/nvidia")),
        mounts=tuple(m.source for m in found.mounts or () if m.source == "/dev" or m.source.startswith("/dev/nvidia")),
        requests=tuple(card for request in host.device_requests or () for card in _requested(request)),
        visible=_variable(found.config.env or (), VISIBLE),
    )


def read_image_variable(data: bytes) -> str | None:
    """NVIDIA_VISIBLE_DEVICES in the answer of GET /images/ID/json; None when the image does not set it."""
    config = msgspec.json.decode(data, type=_Image).config
    return _variable((config.env if config else None) or (), VISIBLE)


def resolve(names: Iterable[str], cards: Sequence[Card]) -> tuple[str, ...]:
    """The UUIDs of the cards that are named by index, UUID, the start of a UUID, or "all"."""
    wanted = set(names)
    return tuple(card.uuid for card in cards if EVERY_CARD in wanted or any(card.is_named(name) for name in wanted))


def _requested(request: _Request) -> tuple[str, ...]:
    """Docker turns a count into the first indices, and -1 into all."""
    named = tuple(request.device_ids or ())
    if request.driver == "cdi":
        return tuple(name.removeprefix(CDI) for name in named if name.startswith(CDI))
    if request.driver != "nvidia" and not any("gpu" in group for group in request.capabilities or ()):
        return ()
    return named or ((EVERY_CARD,) if request.count < 0 else tuple(map(str, range(request.count))))


def _variable(env: Iterable[str], name: str) -> str | None:
    found = [entry.partition("=")[2] for entry in env if entry.startswith(f"{name}=")]
    return found[-1] if found else None
