"""What is unsafe or fragile in services and jobs without being wrong: a table of rules, each a small function.

service and job say what they read (`Looked`); lint collects what the rules find.
"""

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from berth.compose import guard, masking
from berth.compose.fields import Var
from berth.compose.guard import Mounted

MOST_LOOKED_AT = 500
"""Characters of a line that are searched for a variable."""
_ROOT = re.compile(r"(?:root|0)(?::.*)?")
_VARIABLE = re.compile(r"(?<!\$)\$(?:\{|[A-Za-z_])")
_NO_SECRETS = frozenset(("", "true", "false", "yes", "no", "on", "off", "none", "null"))
_WIDE = frozenset(("ALL", "SYS_ADMIN", "SYS_PTRACE", "SYS_MODULE", "SYS_RAWIO", "DAC_READ_SEARCH", "BPF"))
_SYSTEM = frozenset(
    (
        "/", "/bin", "/boot", "/dev", "/etc", "/home", "/lib", "/lib64", "/proc", "/root", "/run", "/sbin", "/sys",
        "/usr", "/var", "/var/lib", "/var/lib/docker", "/var/run",
    )
)  # fmt: skip


class Looked(NamedTuple):
    """What the rules see of one service or job. `flags` are the keys that open the host, by name.

    `typed` is for a job from `berth run`: it hears only of what is dangerous.
    """

    name: str
    image: Var
    user: Var
    env: dict[str, Var]
    mounts: Sequence[Mounted]
    capabilities: Sequence[Var] = ()
    flags: Mapping[str, Var] = MappingProxyType({})
    ignored: frozenset[str] = frozenset()
    typed: bool = False


class Rule(NamedTuple):
    """A rule: `find` yields a Var for each thing found, whose value is a word to tell it by, where it needs one.

    A finding reads "WHAT in NAMES: WHY". `typed`: also for `berth run`.
    """

    code: str
    find: Callable[[Looked], Iterator[Var]]
    what: str
    why: str
    hint: str
    typed: bool = False


def _root_user(one: Looked) -> Iterator[Var]:
    if not one.user.value or _ROOT.fullmatch(one.user.value):
        yield one.user._replace(value=None)


def _latest_tag(one: Looked) -> Iterator[Var]:
    image = one.image.value or ""
    tag = image.rpartition("/")[2].partition(":")[2]
    if image and "@" not in image and tag in ("", "latest"):
        yield one.image


def _devel_image(one: Looked) -> Iterator[Var]:
    if re.search(r"-devel(?:$|[-.@])", one.image.value or ""):
        yield one.image


def _secrets(one: Looked) -> Iterator[Var]:
    for name, var in one.env.items():
        value = (var.value or "").strip()
        named = masking.is_secret_name(name) and not value.startswith("/") and value.lower() not in _NO_SECRETS
        if (named or masking.is_secret_value(value)) and _is_literal(var):
            yield var._replace(value=name)


def _is_literal(var: Var) -> bool:
    """True when the value stands in the stack file itself, not in a variable or another file."""
    if var.place is None:
        return True
    at = var.place.column - 1
    line = var.place.text.line(var.place.line)[at : at + MOST_LOOKED_AT]
    return not var.place.text.private and _VARIABLE.search(line) is None


def _privileged(one: Looked) -> Iterator[Var]:
    if "privileged" in one.flags:
        yield one.flags["privileged"]._replace(value=None)


def _host_network(one: Looked) -> Iterator[Var]:
    if "network" in one.flags:
        yield one.flags["network"]._replace(value=None)


def _capabilities(one: Looked) -> Iterator[Var]:
    for var in one.capabilities:
        if (var.value or "").upper().removeprefix("CAP_") in _WIDE:
            yield var


def _socket(one: Looked) -> Iterator[Var]:
    for made in one.mounts:
        if made.host and guard.opens_engine(made.host) and not _is_system(made):
            yield Var(made.host, made.place, made.field)


def _host_folder(one: Looked) -> Iterator[Var]:
    for made in one.mounts:
        if _is_system(made):
            yield Var(made.host, made.place, made.field)


def _is_system(made: Mounted) -> bool:
    host = "/" + posixpath.normpath(made.host).lstrip("/") if made.host.startswith("/") else ""
    return not made.mount.read_only and (host in _SYSTEM or host.startswith(("/root/", "/boot/")))


RULES = (
    Rule(
        code="lint-root-user",
        find=_root_user,
        what="no user",
        why="the program runs as root, unless its image names another user.",
        hint='Write user: "1000:1000", or the user that the image was made for.',
    ),
    Rule(
        code="lint-latest-tag",
        find=_latest_tag,
        what="an image without a fixed tag",
        why="what runs can change with every pull.",
        hint="Write a version: image: NAME:1.2.3, or NAME@sha256:...",
    ),
    Rule(
        code="lint-devel-image",
        find=_devel_image,
        what="a -devel image",
        why="compilers and headers make it gigabytes larger, and easier to break into.",
        hint="Write the -runtime or -base tag; build in a -devel image, and copy the result.",
    ),
    Rule(
        code="lint-secret-in-env",
        find=_secrets,
        what="a secret in the environment",
        typed=True,
        why="everybody who may look at the service reads it.",
        hint="Create a secret (berth secret create NAME FILE), mount it (secrets: [NAME]), and read /run/secrets/NAME.",
    ),
    Rule(
        code="lint-privileged",
        find=_privileged,
        what="privileged: true",
        why="it would open the whole host; docker stack deploy ignores it, and so does Berth.",
        hint="Remove it; name what the program needs: cap_add, or a mount.",
    ),
    Rule(
        code="lint-capabilities",
        find=_capabilities,
        what="a capability that is nearly root on the host",
        why="whoever breaks into the program has the host.",
        hint="Name only what the program needs: cap_add: [NET_BIND_SERVICE]",
    ),
    Rule(
        code="lint-host-network",
        find=_host_network,
        what="the host's network",
        why="the program sees every packet and port of the host.",
        hint="Remove it; publish ports: [HOST:CONTAINER]",
    ),
    Rule(
        code="lint-engine-socket",
        find=_socket,
        what="a mount of the engine's socket",
        typed=True,
        why="whoever has it is root on the host.",
        hint="Remove the mount, or put a proxy that allows only reads before it.",
    ),
    Rule(
        code="lint-host-folder",
        find=_host_folder,
        what="a writable mount of the host's own folders",
        typed=True,
        why="the program can change the host.",
        hint="Mount only the folder that it needs, with :ro where it only reads.",
    ),
)
CODES = tuple(rule.code for rule in RULES)
