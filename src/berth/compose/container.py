"""What runs in a service's container: image, command, environment and its files, user, health, the small switches."""

import re

from berth.compose import envfile, keys, units
from berth.compose.fields import Fields, Var
from berth.compose.scope import Scope
from berth.compose.text import Place, decode
from berth.model.draft import SourceFile
from berth.model.errors import BadInput
from berth.model.spec import Healthcheck, TaskSpec

_REFERENCE = re.compile(
    r"(?:[A-Za-z0-9][A-Za-z0-9.-]*(?::\d+)?/|\[[0-9a-fA-F:]+\](?::\d+)?/)?"
    r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*)*"
    r"(?::\w[\w.-]{0,127})?(?:@[A-Za-z][\w+.-]*:[0-9a-fA-F]{32,})?"
)
_USER = re.compile(r"[^\s:]*(?::[^\s:]+)?")
_SIGNAL = re.compile(r"(?:SIG)?[A-Z0-9+-]+|\d{1,2}", re.IGNORECASE)
_TESTS = ("NONE", "CMD", "CMD-SHELL")


def spec(one: Fields) -> TaskSpec:
    """The fields of a task that stand alone; the rest is put in by service."""
    return TaskSpec(
        image=_image(one),
        command=one.command("entrypoint"),
        args=one.command("command"),
        user=_user(one),
        groups=tuple(dict.fromkeys(text for text, _ in one.strings("group_add"))),
        workdir=one.text("working_dir"),
        hostname=one.text("hostname"),
        healthcheck=_health(one),
        stop_signal=_signal(one),
        stop_grace_s=one.seconds("stop_grace_period"),
        init=one.flag("init"),
        tty=one.flag("tty") or False,
        stdin_open=one.flag("stdin_open") or False,
        read_only=one.flag("read_only") or False,
        shm_bytes=one.measured("shm_size", units.size) or 0,
    )


def image_problem(image: str) -> tuple[str, str] | None:
    """(what is wrong with the name of an image, what to write), or None."""
    if not image:
        return "the image is missing.", "Write image: NAME:TAG"
    if len(image) > 512:
        return f"the name of the image has {len(image)} characters; at most 512 are taken.", "Write REGISTRY/NAME:TAG"
    if _REFERENCE.fullmatch(image):
        return None
    hint = f"Write {image.lower()[:80]}" if _REFERENCE.fullmatch(image.lower()) else "Write REGISTRY/NAME:TAG"
    return f"'{image[:80]}' is not the name of an image.", hint


def environment(one: Fields, scope: Scope) -> dict[str, Var]:
    """The variables of a service: its env_files in order, over them `environment`.

    As in the docker CLI, a name without a value, or with an empty one, takes that of the shell where it has one.
    """
    found: dict[str, Var] = {}
    for path, place in one.strings("env_file", one=True):
        for pair in _file(one, (path, place), scope):
            given = scope.look(pair.name) if not pair.value else None
            if given is not None or pair.value is not None:
                found[pair.name] = Var(given if given is not None else pair.value, pair.place, one.field("env_file"))
    for name, var in one.pairs("environment").items():
        given = scope.look(name) if not var.value else None
        found[name] = var._replace(value=given) if given is not None else var
    return found


def time_limit(one: Fields, default: float | None) -> float | None:
    """The time limit of an attempt by x-berth, in seconds."""
    found = one.table("x-berth", keys.BERTH).seconds("time")
    return default if found is None else found


def _image(one: Fields) -> str:
    image = one.text("image")
    wrong = image_problem(image)
    if wrong is None:
        return image
    message, hint = wrong
    if not image and one.node("build") is not None:
        hint = (
            "Build and push it first, and name it here: image: REGISTRY/NAME:TAG (docker stack deploy builds nothing)."
        )
    one.wrong("image", "image-missing" if not image else "bad-image", message, hint)
    return image


def _user(one: Fields) -> str:
    user = one.text("user")
    if not _USER.fullmatch(user):
        one.wrong("user", "bad-value", f"'{user[:40]}' is not a user.", 'Write user: "UID:GID"')
    return user


def _signal(one: Fields) -> str:
    signal = one.text("stop_signal")
    if signal and not _SIGNAL.fullmatch(signal):
        one.wrong("stop_signal", "bad-value", f"'{signal[:40]}' is not a signal.", "Write stop_signal: SIGTERM")
    return signal


def _health(one: Fields) -> Healthcheck | None:
    if one.node("healthcheck") is None:
        return None
    table = one.table("healthcheck", keys.HEALTH)
    test = _test(table)
    if table.flag("disable"):
        if test:
            table.wrong("disable", "bad-value", "test and disable contradict each other.", "Remove one of them.")
        return Healthcheck(test=("NONE",))
    return Healthcheck(
        test=test,
        interval_ns=table.measured("interval", units.nanoseconds) or 0,
        timeout_ns=table.measured("timeout", units.nanoseconds) or 0,
        start_period_ns=table.measured("start_period", units.nanoseconds) or 0,
        start_interval_ns=table.measured("start_interval", units.nanoseconds) or 0,
        retries=table.whole("retries") or 0,
    )


def _test(table: Fields) -> tuple[str, ...]:
    found = tuple(text for text, _ in table.strings("test", one=True))
    if found and table.is_word("test"):
        return ("CMD-SHELL", *found)
    if found and found[0] not in _TESTS:
        message = f"a list under test begins with one of {', '.join(_TESTS)}."
        table.wrong("test", "bad-value", message, f"Write test: [CMD, {', '.join(found)}]")
    return found


def _file(one: Fields, at: tuple[str, Place], scope: Scope) -> list[envfile.Pair]:
    path, place = at
    data = scope.file(path)
    if data is None:
        hint = "The path starts at the directory of the first stack file."
        one.report.wrong(place, "env-file-missing", f"there is no file {path[:200]}.", hint, one.field("env_file"))
    if not isinstance(data, bytes):
        return []
    try:
        return envfile.env_file(decode(SourceFile(path, data), private=True), one.report)
    except BadInput as bad:
        one.report.problems += bad.problems
        return []
