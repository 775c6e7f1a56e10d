"""Reads the list of containers into one look; a container is inspected when it is new, changed, or spoken of."""

import msgspec

from berth.dockerapi import holders, marking
from berth.dockerapi.client import Docker, segment
from berth.dockerapi.events import DockerEvent
from berth.engines.docker import records
from berth.engines.docker.records import Container, Listed
from berth.model import marks
from berth.model.bounded import Bounded
from berth.model.errors import EngineError, ObjectGone
from berth.model.seen import Health, Life, Other, SeenPort

RUNNING = ("running", "paused", "restarting")
ENDING = {"1", "2", "3", "6", "9", "15"}
GHOSTS = 1_000
_list = msgspec.json.Decoder(list[Listed])
_container = msgspec.json.Decoder(Container)
_image = msgspec.json.Decoder(records.Image)


class Reader:
    """All containers of one daemon: Berth's as lives, others' that ask for cards; and what events alone can tell."""

    def __init__(self, docker: Docker, node: str) -> None:
        self._docker = docker
        self.node = node
        self._known: dict[str, tuple[str, Container]] = {}
        self._doubtful: set[str] = set()
        self._images: dict[str, dict[str, str]] = {}
        self._killed = Bounded()
        self._asked = Bounded()
        self._codes: dict[str, int] = {}
        self.ghosts: dict[str, Life] = {}

    def asked(self, container: str) -> None:
        """Berth is about to end this container: its death is no person's doing."""
        self._asked.keep(container)
        self.ghosts.pop(container, None)

    def hear(self, event: DockerEvent | None) -> None:
        """Take an event; None after a gap: then everything is looked at again."""
        if event is None:
            self._doubtful.update(self._known)
            return
        key, about = event.actor.id, event.actor.attributes
        self._doubtful.add(key)
        if event.action == "kill" and about.get("signal") in ENDING and key not in self._asked:
            self._killed.keep(key)
        elif event.action == "die" and about.get("exitCode", "").isdecimal():
            self._codes[key] = int(about["exitCode"])
        elif event.action == "destroy":
            self._destroyed(key, about, event.at_ns / 1e9)

    async def containers(self) -> list[tuple[Listed, Container]]:
        """Every container with its details; those that vanish meanwhile are left out."""
        listed = _list.decode(await self._docker.read("/containers/json", {"all": True}))
        doubtful, self._doubtful = self._doubtful, set()
        found = []
        for line in listed:
            held = self._known.get(line.id)
            if held is None or held[0] != line.state or line.id in doubtful:
                held = await self._inspect(line)
            if held:
                found.append((line, held[1]))
        self._known = {line.id: (line.state, details) for line, details in found}
        return found

    def life(self, line: Listed, details: Container) -> Life:
        """A container of Berth's as the loop sees it."""
        labels = details.config.labels or {}
        running = details.state.status in RUNNING
        state = details.state
        began = bool(state.started and state.started.year > 1)
        return Life(
            task=labels.get(marks.TASK, ""),
            job=labels.get(marks.JOB, ""),
            attempt=marks.attempt_of(labels),
            node=self.node,
            state="running" if running else "exited",
            engine_id=line.id,
            container_id=line.id,
            cards=marks.cards_of(labels),
            exit_code=state.exit_code if not running and began else None,
            oom=state.oom and not running,
            killed=not running and line.id in self._killed,
            error=state.error or _complaint(state),
            started_at=state.started.timestamp() if began and state.started else None,
            ended_at=state.finished.timestamp() if not running and began and state.finished else None,
            labels=labels,
            spec=marking.spec_of(labels, details.config.env or []),
            health=_health(state),
        )

    def id_of(self, key: str) -> str:
        """The id of a container that is named by id or name; `key` itself when it was not seen before."""
        if key in self._known:
            return key
        named = (found for found, (_, details) in self._known.items() if details.name == f"/{key}")
        return next(named, key)

    def labels(self, container: str) -> dict[str, str]:
        """The labels of a container that was seen before; empty when it was not."""
        held = self._known.get(container)
        return (held[1].config.labels or {}) if held else {}

    def older(self, labels: dict[str, str]) -> list[str]:
        """Ended containers of the same task's earlier attempts."""
        task, attempt = labels.get(marks.TASK), marks.attempt_of(labels)
        return [
            key
            for key, (state, details) in self._known.items()
            if task
            and state not in RUNNING
            and (found := details.config.labels or {}).get(marks.TASK) == task
            and marks.attempt_of(found) < attempt
        ]

    async def other(self, details: Container) -> Other:
        """A running container of somebody else."""
        takes, cards = await self._asks(details)
        return Other(
            id=details.id,
            name=details.name.lstrip("/"),
            kind="container",
            nodes=(self.node,),
            memory_bytes=details.host_config.memory,
            takes_cards=takes,
            cards=cards,
            image=details.config.image,
            user=details.config.user,
        )

    async def _asks(self, details: Container) -> holders.Asks:
        """By device request, device node, or environment; what only the image says does not count."""
        requests = [one for one in details.host_config.requests or () if _for_cards(one)]
        named = tuple(name for one in requests for name in holders.by_device_ids(one.ids or ()))
        nodes = holders.by_device_nodes(device.path_on_host for device in details.host_config.devices or ())
        takes, said = holders.by_environment(details.config.env or (), await self._image_env(details.image))
        unnamed = any(not one.ids for one in requests)
        return bool(requests or nodes or takes), () if unnamed else (*named, *nodes, *said)

    async def _inspect(self, line: Listed) -> tuple[str, Container] | None:
        try:
            return line.state, _container.decode(await self._docker.read(f"/containers/{segment(line.id)}/json"))
        except ObjectGone:
            return None

    async def _image_env(self, image: str) -> dict[str, str]:
        if image not in self._images:
            try:
                answer = _image.decode(await self._docker.read(f"/images/{segment(image)}/json"))
                env = (answer.config.env if answer.config else None) or []
            except EngineError:
                env = []
            self._images[image] = dict(pair.partition("=")[::2] for pair in env)
        return self._images[image]

    def _destroyed(self, key: str, labels: dict[str, str], at: float) -> None:
        """A container that somebody removed: its last moment is kept, so that its end can be told."""
        code = self._codes.pop(key, None)
        if key in self._asked or marks.TASK not in labels:
            return
        held = self._known.get(key)
        self.ghosts[key] = Life(
            task=labels[marks.TASK],
            job=labels.get(marks.JOB, ""),
            attempt=marks.attempt_of(labels),
            node=self.node,
            state="exited",
            engine_id=key,
            container_id=key,
            cards=marks.cards_of(labels),
            exit_code=code,
            killed=key in self._killed,
            error="the container was removed with the engine's own tools",
            started_at=_start_of(held[1]) if held else None,
            ended_at=at,
            labels={name: value for name, value in labels.items() if name.startswith(marks.PREFIX)},
        )
        if len(self.ghosts) > GHOSTS:
            self.ghosts.pop(next(iter(self.ghosts)))


def published(line: Listed, node: str) -> tuple[SeenPort, ...]:
    """The host's ports that a running container has; as their holder counts the task, where it is one of Berth's."""
    numbers = {(port.public_port, port.type) for port in line.ports or () if port.public_port}
    holder = (line.labels or {}).get(marks.TASK) or line.id
    return tuple(
        SeenPort(port=f"{number}/{kind}", node=node, holder=holder, who=f"container {line.name}")
        for number, kind in sorted(numbers)
    )


def _health(state: records.State) -> Health:
    found: dict[str, Health] = {"starting": "starting", "healthy": "healthy", "unhealthy": "unhealthy"}
    return found.get(state.health.status, "") if state.health is not None else ""


def _complaint(state: records.State) -> str:
    """What the last probe said of a container that is not healthy."""
    if state.health is None or state.health.status != "unhealthy":
        return ""
    last = state.health.log[-1] if state.health.log else records.Probe()
    said = " ".join(last.output.split())[:200] or f"code {last.exit_code}"
    times = f"{state.health.failing_streak} times in a row" if state.health.failing_streak > 1 else "once"
    return f"its health check failed {times}, at last with: {said}"


def _start_of(details: Container) -> float | None:
    started = details.state.started
    return started.timestamp() if started and started.year > 1 else None


def _for_cards(request: records.DeviceRequest) -> bool:
    kinds = {word for words in request.capabilities or () for word in words}
    cdi = any(name.rpartition("=")[0].endswith("/gpu") for name in request.ids or ())
    return request.driver == "nvidia" or "gpu" in kinds or cdi
