"""Remembers a person's kills and the kernel's, for containers of the manager's daemon: only those are heard of."""

from berth.dockerapi.events import DockerEvent
from berth.model import marks
from berth.model.bounded import Bounded

ENDING = {"1", "2", "3", "6", "9", "15"}


class Signals:
    """Containers by id. Swarm's own kills are told apart by the task's last state ("shutdown"), in `look`."""

    def __init__(self) -> None:
        self._killed = Bounded()
        self._oom = Bounded()
        self.heard = 0

    def hear(self, event: DockerEvent | None) -> None:
        """Take an event; None after a gap."""
        if event is None or marks.TASK not in event.actor.attributes:
            return
        if event.action == "oom":
            self._keep(self._oom, event.actor.id)
        elif event.action == "kill" and event.actor.attributes.get("signal") in ENDING:
            self._keep(self._killed, event.actor.id)

    def killed(self, container: str) -> bool:
        """True when a signal that ends most programs reached the container."""
        return container in self._killed

    def oom(self, container: str) -> bool:
        """True when the kernel ended one of its processes for want of memory."""
        return container in self._oom

    def _keep(self, where: Bounded, container: str) -> None:
        where.keep(container)
        self.heard += 1
