"""What happened, for `berth events`, the audit trail and the history of a job."""

import msgspec


class Event(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing that happened. `time` is seconds since the epoch; `seq` is given by the store (0: not stored yet)."""

    kind: str
    message: str
    time: float = 0.0
    actor: str = "berth"
    job: str = ""
    task: str = ""
    node: str = ""
    card: str = ""
    seq: int = 0
