"""The few fields of a Docker daemon's answers that Berth reads."""

from datetime import datetime

import msgspec


class Record(msgspec.Struct, frozen=True, rename="pascal"):
    """Base of records whose fields are spelled `HostConfig` on the wire and `host_config` here."""


class ListedPort(Record, frozen=True):
    """A port of a container; `public_port` 0: it is not published."""

    public_port: int = 0
    type: str = "tcp"


class Listed(Record, frozen=True):
    """A line of the list of containers: enough to see whether anything changed."""

    id: str
    names: list[str] | None = None
    image: str = ""
    state: str = ""
    created: int = 0
    labels: dict[str, str] | None = None
    ports: list[ListedPort] | None = None

    @property
    def name(self) -> str:
        """Its name without the slash."""
        return (self.names or [""])[0].lstrip("/")


class Probe(Record, frozen=True):
    """One run of a health check."""

    exit_code: int = 0
    output: str = ""


class Health(Record, frozen=True):
    """What a container's health check says of it: "none", "starting", "healthy", "unhealthy"; the newest probe last."""

    status: str = "none"
    failing_streak: int = 0
    log: list[Probe] | None = None


class State(
    msgspec.Struct,
    frozen=True,
    rename={
        "oom": "OOMKilled",
        "exit_code": "ExitCode",
        "error": "Error",
        "status": "Status",
        "started": "StartedAt",
        "finished": "FinishedAt",
        "health": "Health",
    },
):
    status: str = ""
    oom: bool = False
    exit_code: int = 0
    error: str = ""
    started: datetime | None = None
    finished: datetime | None = None
    health: Health | None = None


class Config(Record, frozen=True):
    env: list[str] | None = None
    labels: dict[str, str] | None = None
    image: str = ""
    user: str = ""
    tty: bool = False


class DeviceRequest(
    msgspec.Struct,
    frozen=True,
    rename={"driver": "Driver", "count": "Count", "ids": "DeviceIDs", "capabilities": "Capabilities"},
):
    driver: str = ""
    count: int = 0
    ids: list[str] | None = None
    capabilities: list[list[str]] | None = None


class Device(Record, frozen=True):
    path_on_host: str = ""


class HostConfig(
    msgspec.Struct,
    frozen=True,
    rename={"cpu": "NanoCpus", "memory": "MemoryReservation", "requests": "DeviceRequests", "devices": "Devices"},
):
    cpu: int = 0
    memory: int = 0
    requests: list[DeviceRequest] | None = None
    devices: list[Device] | None = None


class Container(Record, frozen=True):
    """A container as `GET /containers/ID/json` tells it; `image` is the image's id."""

    id: str
    name: str
    image: str = ""
    state: State = State()
    config: Config = Config()
    host_config: HostConfig = HostConfig()


class ImageConfig(Record, frozen=True):
    env: list[str] | None = None


class Image(Record, frozen=True):
    config: ImageConfig | None = None


class CdiDevice(msgspec.Struct, frozen=True, rename={"source": "Source", "id": "ID"}):
    source: str = ""
    id: str = ""


class Info(
    msgspec.Struct,
    frozen=True,
    rename={
        "id": "ID",
        "name": "Name",
        "os": "OSType",
        "arch": "Architecture",
        "cpus": "NCPU",
        "memory": "MemTotal",
        "labels": "Labels",
        "security": "SecurityOptions",
        "runtimes": "Runtimes",
        "devices": "DiscoveredDevices",
        "live_restore": "LiveRestoreEnabled",
    },
):
    """What `GET /info` says of the daemon and its host."""

    id: str = ""
    name: str = ""
    os: str = "linux"
    arch: str = ""
    cpus: int = 0
    memory: int = 0
    labels: list[str] | None = None
    security: list[str] | None = None
    runtimes: dict[str, msgspec.Raw] | None = None
    devices: list[CdiDevice] | None = None
    live_restore: bool = False
