"""The JSON body of `POST /v1/jobs`: the keys of the job file as a struct, and its mistakes in plain words."""

import re
from typing import Any, NamedTuple

import msgspec

from berth.compose import keys, unknown
from berth.model.errors import BadInput, Problem

Value = str | int | float | bool | None
_UNKNOWN = re.compile(r"Object contains unknown field `(.*?)`(?: - at `(.*)`)?", re.DOTALL)
_MISSING = re.compile(r"Object missing required field `(.*?)`(?: - at `(.*)`)?")
_EXPECTED = re.compile(r"Expected `(.*?)`, got `(.*?)`(?: - at `(.*)`)?")
_WORDS = {
    "str": "text", "int": "a whole number", "float": "a number", "array": "a list", "object": "a mapping",
    "bool": "true or false", "null": "nothing",
}  # fmt: skip


class LimitsBody(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Ceilings of a task."""

    cpus: str | int | float | None = None
    memory: str | int | None = None
    pids: int | None = None


class ReservationsBody(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """What the node must have left for a task."""

    cpus: str | int | float | None = None
    memory: str | int | None = None


class ResourcesBody(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """CPU and memory of a task."""

    limits: LimitsBody | None = None
    reservations: ReservationsBody | None = None


class RestartBody(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """When a task runs again."""

    condition: str = "none"
    delay: str | int | None = None
    max_attempts: int | None = None
    window: str | int | None = None


class JobBody(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A job as a person writes it; only the image must be there."""

    image: str
    name: str = ""
    command: str | list[str] = []
    gpus: int | float | str | dict[str, Any] | None = None
    model: str = ""
    constraints: list[str] = []
    env: dict[str, Value] | list[str] = {}
    volumes: list[str] = []
    secrets: list[str] = []
    user: str | int = ""
    resources: ResourcesBody | None = None
    restart: RestartBody | None = None
    time: str | int | None = None
    queue: str = "default"
    priority: int = 50
    shm_size: str | int | None = None


class Mistake(NamedTuple):
    """What msgspec found: the code, a sentence, what to write, the path, and the unknown key that it is about."""

    code: str
    message: str
    hint: str
    path: str
    key: str = ""

    @property
    def field(self) -> str:
        """The whole path, the key included."""
        return ".".join(part for part in (self.path, self.key) if part)


_SECTIONS = {
    "": keys.JOB,
    "resources": keys.RESOURCES,
    "resources.limits": keys.LIMITS,
    "resources.reservations": keys.RESERVATIONS_OF_JOB,
    "restart": keys.RESTART,
}
_BODIES: msgspec.json.Decoder[list[JobBody] | JobBody] = msgspec.json.Decoder(list[JobBody] | JobBody)


def decode_jobs(data: bytes) -> tuple[list[JobBody], bool]:
    """The jobs of a request body, and whether it was a list. Raises BadInput with the place in the body."""
    try:
        found = _BODIES.decode(data)
    except msgspec.ValidationError as error:
        wrong = mistake(error)
        raise BadInput(Problem(code=wrong.code, message=wrong.message, hint=wrong.hint, field=wrong.field)) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadInput.of("bad-json", f"the body is not JSON: {error}", "Send one job or a list of jobs.") from None
    except RecursionError:
        raise BadInput.of("bad-json", "the body has too many levels.", "Send one job or a list of jobs.") from None
    return (found, True) if isinstance(found, list) else ([found], False)


def mistake(error: msgspec.ValidationError) -> Mistake:
    """What is wrong with a body, from msgspec's sentence."""
    text = str(error)
    if found := _UNKNOWN.fullmatch(text):
        return _unknown(found[1], _path(found[2]))
    if found := _MISSING.fullmatch(text):
        return Mistake(
            "image-missing", f"{found[1]} is missing.", f"Write {found[1]}: NAME:TAG", _path(found[2]), found[1]
        )
    if found := _EXPECTED.fullmatch(text):
        path = _path(found[3])
        wanted, got = _kinds(found[1]), _kinds(found[2])
        last = path.rpartition(".")[2] or "the body"
        last = f"a value of {last}" if str(found[3]).endswith("[...]") else last
        if last == "gpus":
            return Mistake("gpu-count", f"gpus is {got}, not a number of cards.", "Write gpus: 1, or gpus: all", path)
        return Mistake("wrong-type", f"{last} is {got}, not {wanted}.", f"Write {wanted}.", path)
    return Mistake("bad-value", text, "Correct the value.", "")


def _kinds(union: str) -> str:
    """`int | str` in words. Where many kinds are taken as text, text is what is meant."""
    words = union.split(" | ")
    return "text" if "str" in words and len(words) > 2 else " or ".join(_WORDS.get(word, word) for word in words)


def _unknown(key: str, path: str) -> Mistake:
    section = _SECTIONS.get(re.sub(r"^\[\d+\]\.?", "", path), keys.JOB)
    if key in section.later:
        return Mistake("key-not-carried", f"{key[:80]} is not carried yet.", section.later[key], path, key[:80])
    return Mistake("unknown-key", unknown.sentence(section, key), unknown.nearest(section, key), path, key[:80])


def _path(pointer: str | None) -> str:
    """`$[2].restart.delay` as `[2].restart.delay`."""
    return (pointer or "").removeprefix("$").removeprefix(".").replace("[...]", "")
