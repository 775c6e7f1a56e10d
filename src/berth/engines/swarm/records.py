"""The few fields of Swarm's answers that Berth reads, decoded from the raw bytes and nothing else of them."""

from datetime import datetime

import msgspec

OVER = ("complete", "failed", "rejected", "shutdown")
"""States of a task whose processes are gone."""


class Record(msgspec.Struct, frozen=True, rename="pascal"):
    """Base of records whose fields are spelled `ContainerSpec` on the wire and `container_spec` here."""


class Version(Record, frozen=True):
    index: int = 0


class Constraints(Record, frozen=True):
    constraints: list[str] | None = None


class NamedResource(Record, frozen=True):
    kind: str = ""
    value: str = ""


class Discrete(Record, frozen=True):
    kind: str = ""
    value: int = 0


class GenericResource(Record, frozen=True):
    named_resource_spec: NamedResource | None = None
    discrete_resource_spec: Discrete | None = None


class Reservation(
    msgspec.Struct, frozen=True, rename={"cpu": "NanoCPUs", "memory": "MemoryBytes", "generic": "GenericResources"}
):
    cpu: int = 0
    memory: int = 0
    generic: list[GenericResource] | None = None


class Resources(Record, frozen=True):
    reservations: Reservation | None = None


class ContainerSpec(Record, frozen=True):
    image: str = ""
    labels: dict[str, str] | None = None
    env: list[str] | None = None
    user: str = ""


class TaskTemplate(Record, frozen=True):
    container_spec: ContainerSpec | None = None
    placement: Constraints | None = None
    resources: Resources | None = None


class Replicated(Record, frozen=True):
    replicas: int = 0


class Mode(Record, frozen=True):
    replicated: Replicated | None = None


class PublishedPort(
    msgspec.Struct,
    frozen=True,
    rename={"protocol": "Protocol", "target": "TargetPort", "number": "PublishedPort", "mode": "PublishMode"},
):
    """A port of a service; `number` 0: the engine is to choose one."""

    protocol: str = "tcp"
    target: int = 0
    number: int = 0
    mode: str = "ingress"


class Ports(Record, frozen=True):
    ports: list[PublishedPort] | None = None


class ServiceSpec(Record, frozen=True):
    name: str
    labels: dict[str, str] | None = None
    task_template: TaskTemplate = TaskTemplate()
    mode: Mode = Mode()
    endpoint_spec: Ports | None = None


class UpdateStatus(Record, frozen=True):
    """How Swarm's own update of a service goes."""

    state: str = ""
    message: str = ""
    started_at: datetime | None = None
    completed_at: datetime | None = None


class RawService(
    msgspec.Struct,
    frozen=True,
    rename={
        "id": "ID",
        "version": "Version",
        "created": "CreatedAt",
        "spec": "Spec",
        "endpoint": "Endpoint",
        "update": "UpdateStatus",
    },
):
    """A service whose spec is still bytes: only a service that changed is decoded further."""

    id: str
    version: Version
    created: datetime
    spec: msgspec.Raw
    endpoint: Ports | None = None
    update: UpdateStatus | None = None


class ContainerStatus(msgspec.Struct, frozen=True, rename={"container": "ContainerID", "exit_code": "ExitCode"}):
    container: str = ""
    exit_code: int = 0


class TaskStatus(Record, frozen=True):
    timestamp: datetime
    state: str
    err: str = ""
    message: str = ""
    container_status: ContainerStatus | None = None
    port_status: Ports | None = None


class RawTask(
    msgspec.Struct,
    frozen=True,
    rename={
        "id": "ID",
        "version": "Version",
        "created": "CreatedAt",
        "service": "ServiceID",
        "slot": "Slot",
        "node": "NodeID",
        "status": "Status",
        "desired": "DesiredState",
        "spec": "Spec",
        "resources": "AssignedGenericResources",
    },
):
    """A task whose spec is still bytes."""

    id: str
    version: Version
    created: datetime
    status: TaskStatus
    desired: str
    spec: msgspec.Raw
    service: str = ""
    slot: int = 0
    node: str = ""
    resources: list[GenericResource] | None = None


class Platform(msgspec.Struct, frozen=True, rename={"arch": "Architecture", "os": "OS"}):
    arch: str = ""
    os: str = ""


class Capacity(msgspec.Struct, frozen=True, rename={"cpu": "NanoCPUs", "memory": "MemoryBytes"}):
    cpu: int = 0
    memory: int = 0


class NodeEngine(Record, frozen=True):
    engine_version: str = ""
    labels: dict[str, str] | None = None


class Description(Record, frozen=True):
    hostname: str = ""
    platform: Platform = Platform()
    resources: Capacity = Capacity()
    engine: NodeEngine = NodeEngine()


class NodeSpec(Record, frozen=True):
    labels: dict[str, str] | None = None
    role: str = ""
    availability: str = "active"


class NodeStatus(Record, frozen=True):
    state: str = "unknown"
    addr: str = ""


class ManagerStatus(Record, frozen=True):
    addr: str = ""


class NodeRecord(
    msgspec.Struct,
    frozen=True,
    rename={
        "id": "ID",
        "version": "Version",
        "spec": "Spec",
        "description": "Description",
        "status": "Status",
        "manager": "ManagerStatus",
    },
):
    id: str
    version: Version
    spec: NodeSpec
    description: Description = Description()
    status: NodeStatus = NodeStatus()
    manager: ManagerStatus | None = None


class SwarmInfo(
    msgspec.Struct,
    frozen=True,
    rename={"state": "LocalNodeState", "node": "NodeID", "managing": "ControlAvailable", "cluster": "Cluster"},
):
    state: str = "inactive"
    node: str = ""
    managing: bool = False
    cluster: "ClusterInfo | None" = None


class ClusterInfo(msgspec.Struct, frozen=True, rename={"id": "ID"}):
    id: str = ""


class Info(Record, frozen=True):
    """What `GET /info` says: only what decides whether Berth can work here."""

    name: str = ""
    security_options: list[str] | None = None
    swarm: SwarmInfo = SwarmInfo()
