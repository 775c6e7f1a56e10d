"""`berth --help`, the help of a family of verbs, and what to say about a verb that does not exist."""

from collections.abc import Mapping, Sequence

from berth.cli.parser import nearest, usage_error
from berth.client.errors import ClientError

SECTIONS = (
    ("start", ("up", "agent", "login")),
    ("jobs", ("run", "submit", "jobs", "queue", "why", "history", "logs", "wait", "cancel", "hold", "release",
              "requeue", "scale")),
    ("stacks", ("stack deploy", "stack config", "stack ls", "stack ps", "stack rm", "secret create", "secret ls",
                "secret rm")),
    ("cards and nodes", ("gpus", "cards", "nodes", "events", "node label", "node drain", "node undrain", "node fence",
                         "node unfence", "node rm", "card fence", "card unfence", "labels adopt")),
    ("people", ("token create", "token ls", "token revoke")),
    ("help", ("explain", "version", "completion")),
)  # fmt: skip
EXAMPLES = """examples:
  berth stack deploy -c docker-compose.yml gpu-job
  berth run --gpus 1 nvidia/cuda:12.4.1-base-ubuntu22.04 nvidia-smi
  berth why gpu-job_ai-training

'berth VERB --help' shows a verb's flags and an example."""


def overview(summaries: Mapping[str, str], family: str = "") -> str:
    """All verbs by section, or only those of one family such as `stack`."""
    if family:
        return _family(summaries, family)
    parts = ["usage: berth VERB ...\n\nEvery GPU card gets one place in one queue."]
    for title, names in SECTIONS:
        shown = [f"  {name:<14}{summaries[name]}" for name in names if name in summaries]
        parts.append("\n".join([f"{title}:", *shown]))
    return "\n\n".join([*parts, EXAMPLES])


def unknown_verb(words: Sequence[str], known: Sequence[str]) -> ClientError:
    """What to type instead of a verb that does not exist."""
    family = [name for name in known if name.split(" ")[0] == words[0]]
    if family and len(words) == 1:
        return usage_error(f"'berth {words[0]}' needs one more word", _list(family))
    if family and words[1].startswith("-"):
        return usage_error(f"'berth {words[0]}' needs a verb before {words[1]}", _list(family))
    if family:
        return usage_error(f"there is no 'berth {words[0]} {words[1]}'", _list(family))
    if words[0].startswith("-"):
        return usage_error(f"there is no flag {words[0]} before the verb", "all verbs and their flags: berth --help")
    like = nearest(words[0], [*known, *{name.split(" ")[0] for name in known}])
    hint = f"the nearest verb is 'berth {like}'" if like else "all verbs: berth --help"
    return usage_error(f"there is no verb '{words[0]}'", hint)


def _family(summaries: Mapping[str, str], family: str) -> str:
    found = [name for name in summaries if name.split(" ")[0] == family]
    if not found:
        raise unknown_verb([family], list(summaries))
    shown = [f"  berth {name:<14}{summaries[name]}" for name in found]
    return "\n".join([f"usage: berth {family} VERB ...\n", *shown, "\n'berth VERB --help' shows flags and an example."])


def _list(names: Sequence[str]) -> str:
    return "one of: " + ", ".join(f"berth {name}" for name in names)
