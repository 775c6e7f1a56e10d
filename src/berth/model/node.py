"""A node of the engine: its facts, its labels, and what people decided about it."""

from typing import Literal

import msgspec

NodeState = Literal["ready", "draining", "silent", "fenced", "gone"]


class Node(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One node. `name` is unique in Berth (the hostname, or `NAME-id` for the later of two with one hostname).

    `engine_id` and `engine_version` are the engine's own (version: for compare-and-swap of labels);
    `cpu_nano` is capacity in 1e-9 CPUs, `memory_bytes` in bytes; both 0 when unknown (then not a limit).
    `labels` are the node labels as the engine last showed them; `extra` are labels kept by Berth for an
    engine without node labels. `written` are the `gpu.*` labels that Berth wrote, `before` what a person had
    written under the same keys. `taken` maps a card to the other's
    service that was counted as using it at adoption. `withheld` are label writes that would kill somebody's task.
    `flag` is what its agent says against its cards; `mistrust` what a container there saw instead of its own cards.
    `seen_at` is when the engine or agent last answered for it (seconds, server's clock).
    """

    name: str
    engine: str
    engine_id: str = ""
    engine_version: int = 0
    hostname: str = ""
    ip: str = ""
    role: str = ""
    os: str = "linux"
    arch: str = ""
    labels: dict[str, str] = {}
    extra: dict[str, str] = {}
    engine_labels: dict[str, str] = {}
    cpu_nano: int = 0
    memory_bytes: int = 0
    up: bool = True
    available: bool = True
    seen_at: float = 0.0
    agent: str = ""
    agent_up: bool = False
    group_ids: dict[str, int] = {}
    adopted: bool = False
    gone: bool = False
    drain: str = ""
    drain_grace_s: float | None = None
    fence: str = ""
    written: dict[str, str] = {}
    before: dict[str, str] = {}
    taken: dict[str, str] = {}
    withheld: tuple[str, ...] = ()
    labels_permitted: bool = False
    flag: str = ""
    mistrust: str = ""

    @property
    def state(self) -> NodeState:
        """The one word that users see, the most severe first."""
        if self.gone:
            return "gone"
        if self.fence:
            return "fenced"
        if not self.up:
            return "silent"
        if self.drain or not self.available:
            return "draining"
        return "ready"

    @property
    def complaint(self) -> str:
        """What stands against its cards, in words; "" when all is well."""
        return "; ".join(text for text in (self.mistrust and f"wrong cards: {self.mistrust}", self.flag) if text)

    @property
    def all_labels(self) -> dict[str, str]:
        """Node labels as constraints see them."""
        return {**self.labels, **self.extra}
