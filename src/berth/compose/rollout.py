"""`update_config` and `rollback_config` of a service; deploy reads the rest of the section."""

from typing import Any

from berth.compose import keys, units
from berth.compose.fields import Fields
from berth.model.spec import Rollout

_ACTIONS = ("pause", "continue", "rollback")
_ORDERS = ("stop-first", "start-first")


def rollout(deploy: Fields, key: str) -> Rollout | None:
    """The rollout under a key, or None when the file has none. What the file leaves out is Docker's default."""
    if deploy.node(key) is None:
        return None
    table = deploy.table(key, keys.ROLLOUT)
    parallelism = table.whole("parallelism")
    monitor = table.seconds("monitor")
    chosen: dict[str, Any] = {
        "failure_action": _word(table, "failure_action", _ACTIONS),
        "order": _word(table, "order", _ORDERS),
    }
    return Rollout(
        parallelism=1 if parallelism is None else parallelism,
        delay_s=table.seconds("delay") or 0.0,
        monitor_s=monitor or 5.0,
        max_failure_ratio=_ratio(table),
        **{name: word for name, word in chosen.items() if word},
    )


def _word(table: Fields, key: str, known: tuple[str, ...]) -> str:
    word = table.text(key)
    if word and word not in known:
        table.wrong(key, "bad-value", f"{key}: {word[:40]} does not exist.", f"Write one of: {', '.join(known)}")
        return ""
    return word


def _ratio(table: Fields) -> float:
    nano = table.measured("max_failure_ratio", units.ratio)
    return (nano or 0) / units.NANO
