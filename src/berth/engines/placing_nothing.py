"""The part of an engine that places no services by itself: it refuses what would need that."""

from berth.model.errors import Problem, Refused
from berth.model.launch import Handle, Launch
from berth.model.seen import SlotObject


class PlacesNothing:
    """`name` is the engine's. Berth places every slot, so nobody but Berth can scale one either."""

    name: str

    async def restore_replicas(self, seen: SlotObject) -> None:
        """Nothing to set back."""

    async def apply_native(self, launch: Launch) -> Handle:
        """Always raises Refused."""
        raise self._refused(launch.name)

    async def unlike(self, launch: Launch, service: str) -> tuple[str, ...]:  # noqa: ARG002 - there is none
        """Always raises Refused."""
        raise self._refused(launch.name)

    async def take_over_native(self, launch: Launch, service: str) -> Handle:  # noqa: ARG002 - there is none
        """Always raises Refused."""
        raise self._refused(launch.name)

    async def resize(self, service: str, replicas: int) -> None:  # noqa: ARG002 - there is none
        """Always raises Refused."""
        raise self._refused(service)

    def _refused(self, name: str) -> Refused:
        return Refused(
            Problem(
                code="no-native-services",
                message=f"{name} cannot be left to the engine ({self.name}): it places no services by itself.",
                hint="Berth places each of its tasks.",
            )
        )
