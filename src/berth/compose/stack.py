"""Stack files -> drafts: read, substitute, merge, then every service; the one entry for `POST /v1/stacks`."""

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

from berth.compose import keys, lint, merge, tree
from berth.compose.container import environment, time_limit
from berth.compose.facts import Facts
from berth.compose.fields import Fields
from berth.compose.final import final
from berth.compose.folding import folded
from berth.compose.goyaml import text_of
from berth.compose.report import Report
from berth.compose.scope import Scope
from berth.compose.sections import Objects, ask_for_contents, objects
from berth.compose.service import Read, Setting, service
from berth.compose.text import decode
from berth.compose.tree import Entry, Mapping
from berth.model.draft import Bundle, Draft, LoadedStack, Needs
from berth.model.errors import BadInput, Problem, in_order, settle
from berth.model.job import Network, Volume

MOST_SERVICES = 1_000
NAME_LIMIT = 63
_ANY_NAME = "stack"
_OF_DEPLOYMENT = frozenset(
    (
        "image-missing", "bad-image", "bad-constraint", "bad-mount", "bad-service-name", "name-too-long", "name-taken",
        "undefined-network", "undefined-volume", "undefined-secret", "undefined-config", "file-source", "file-twice",
        "label-reserved", "no-services",
    )
)  # fmt: skip
"""Problems of a file whose form is right: it can be shown, not deployed."""
_STACK = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
_SERVICE = re.compile(r"[A-Za-z0-9_-]*[A-Za-z0-9]")
_VERSION = re.compile(r"3(?:\.\d{1,2})?")


def load_stack(bundle: Bundle, stack: str, facts: Facts) -> LoadedStack:
    """The same as `read_stack`. Raises BadInput with everything that is wrong in the files; Refused when all of it is
    what nobody may have.
    """
    loaded = read_stack(bundle, stack, facts)
    settle(loaded.problems, loaded.refusals)
    return loaded


def read_stack(bundle: Bundle, stack: str, facts: Facts, strict: bool | None = None) -> LoadedStack:
    """The drafts of a stack with all that is wrong in its files, or what the client must send first (`needs`).

    What is wrong is left out of the drafts, so that they can be checked further. `strict` takes what lint finds as
    errors, False as warnings; None does not look. Raises BadInput for no YAML.
    """
    report = Report()
    _stack_name(stack, report)
    trees = _trees(bundle, report)
    scope = Scope(bundle, report)
    whole = _merged(trees, scope, report)
    needs = _needs(whole, scope, contents=True)
    if needs is not None:
        return LoadedStack(needs=needs)
    return _load(Fields(whole, "", report, keys.TOP), stack, scope, (facts, bundle.directory), strict)


class Final(NamedTuple):
    """The files as one, in long forms: as plain values and as YAML; or what the client must send first."""

    value: dict[str, Any]
    text: str = ""
    warnings: tuple[Problem, ...] = ()
    needs: Needs = Needs()


def merged_stack(bundle: Bundle, facts: Facts) -> Final:
    """What `docker stack config` prints of these files. Raises BadInput for what is no stack file by its form.

    What only a deployment would be refused for is a warning here. The content of secrets and configs is not asked for.
    """
    report = Report()
    trees = _trees(bundle, report)
    scope = Scope(bundle, report)
    whole = _merged(trees, scope, report, extras=True)
    needs = _needs(whole, scope, contents=False)
    if needs is not None:
        return Final({}, needs=needs)
    loaded = _load(Fields(whole, "", report, keys.TOP), _ANY_NAME, scope, (facts, bundle.directory))
    settle(problem for problem in loaded.problems if problem.code not in _OF_DEPLOYMENT)
    value = final(whole, scope, bundle.directory)
    return Final(value, text_of(value), in_order((*loaded.problems, *loaded.warnings)))


def _load(top: Fields, stack: str, scope: Scope, given: tuple[Facts, str], strict: bool | None = None) -> LoadedStack:
    report = top.report
    _version(top)
    declared = objects(top, stack, scope)
    ignored = lint.ignored(top.table("x-berth", keys.BERTH))
    setting = Setting(stack, declared, scope, *given, time_limit_s=time_limit(top, None), lint_ignored=ignored)
    read = [service(name, one, setting) for name, one in _services(top)]
    drafts = tuple(one.draft for one in read)
    _names(drafts, stack, top)
    networks, volumes = _used(declared, read)
    scope.tell()
    lint.note([one.looked for one in read], strict, report)
    return LoadedStack(
        drafts=drafts, networks=networks, volumes=volumes, files=declared.files,
        problems=report.told(report.problems), refusals=report.told(report.refusals),
        warnings=report.told(report.warnings),
    )  # fmt: skip


def _trees(bundle: Bundle, report: Report) -> list[Mapping]:
    found, broken = [], False
    for file in bundle.files:
        try:
            found.append(tree.read(decode(file), report.problems))
        except BadInput as bad:
            report.problems += bad.problems
            broken = True
    if not bundle.files:
        report.wrong(None, "no-services", "no stack file was sent.", "Name one: berth stack deploy -c FILE NAME")
    if broken or not found:
        report.finish()
    return found


def _merged(trees: list[Mapping], scope: Scope, report: Report, extras: bool = False) -> Mapping:
    """The files as one, with their variables replaced."""
    expanded = [_expanded(one, scope, extras) for one in trees]
    if len(trees) > 1 and not scope.needs.variables:
        expanded = [folded(one, scope, report) for one in expanded]
    return merge.merge(expanded)


def _expanded(whole: Mapping, scope: Scope, extras: bool = False) -> Mapping:
    """The file with its variables replaced; fragments under x- keys count where they are used, or with `extras`."""
    entries = {
        name: Entry(entry.key, scope.expand(entry.node, name)) if extras or _counts(name) else entry
        for name, entry in whole.entries.items()
    }
    return Mapping(whole.place, entries, whole.size, whole.depth)


def _counts(name: str) -> bool:
    return not name.startswith("x-") or name == "x-berth"


def _needs(whole: Mapping, scope: Scope, contents: bool) -> Needs | None:
    """What is still to be sent. Files are asked for only once the variables in their paths are known."""
    if not scope.needs.variables:
        services = whole.entries.get("services")
        quiet = Report()
        for _, entry in services.node.entries.items() if services and isinstance(services.node, Mapping) else ():
            if isinstance(entry.node, Mapping):
                environment(Fields(entry.node, "", quiet), scope)
        if contents:
            ask_for_contents(whole, scope)
    needs = scope.needs
    return needs if needs.variables or needs.files or needs.contents else None


def _version(top: Fields) -> None:
    text = top.text("version")
    if text and not _VERSION.fullmatch(text):
        message = f"version {text[:20]} is not a stack file's; docker stack deploy takes version 3 alone, too."
        top.wrong("version", "version-unsupported", message, 'Write version: "3.8", or leave it out.')


def _services(top: Fields) -> list[tuple[str, Fields]]:
    found = list(top.named("services", keys.SERVICE))
    if not found and not top.report.problems:
        top.wrong("services", "no-services", "the files name no service.", "Write services: {NAME: {image: IMAGE}}")
    if len(found) > MOST_SERVICES:
        message = f"{len(found)} services are more than Berth takes in one stack ({MOST_SERVICES})."
        top.wrong("services", "too-many-services", message, "Split the file.")
        return []
    return found


def _stack_name(stack: str, report: Report) -> None:
    if not _STACK.fullmatch(stack) or len(stack) >= NAME_LIMIT:
        message = f"'{stack[:80]}' cannot name a stack: letters, digits, - and _, and at most {NAME_LIMIT - 1} of them."
        report.wrong(None, "bad-stack-name", message, f"Write {_tidy(stack) or 'mystack'}", "name")


def _tidy(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]+", "-", name).strip("-_")[:40]


def _names(drafts: tuple[Draft, ...], stack: str, top: Fields) -> None:
    """Names that the engine would refuse, and two slots that would have one name."""
    node = top.node("services")
    services = Fields(node, "services", top.report) if isinstance(node, Mapping) else top
    numbered = _numbered(draft.service for draft in drafts)
    for draft in drafts:
        name, longest = draft.service, f"{draft.name}-{draft.replicas}" if draft.replicas > 1 else draft.name
        if not _SERVICE.fullmatch(name):
            message = (
                f"'{name[:80]}' cannot name a service: letters, digits, - and _, no dot, and no - or _ at its end."
            )
            services.name_wrong(name, "bad-service-name", message, f"Write {_tidy(name) or 'web'}")
        elif len(longest) > NAME_LIMIT:
            message = f"{longest} has {len(longest)} characters; the engine takes {NAME_LIMIT}."
            services.name_wrong(name, "name-too-long", message, "Shorten the name of the stack or of the service.")
        slots = () if draft.native else (slot for slot in numbered.get(name, ()) if 2 <= slot <= draft.replicas)
        for slot in slots:
            message = f"slot {slot} of {name} would be named {stack}_{name}-{slot}, as the service {name}-{slot} is."
            services.name_wrong(f"{name}-{slot}", "name-taken", message, "Rename one of the two services.")


def _numbered(services: Iterable[str]) -> dict[str, list[int]]:
    """The numbers at the end of names, as slots have them, by what stands before: web-2 and web-3 are {web: [2, 3]}."""
    found: dict[str, list[int]] = {}
    for name in sorted(services):
        base, _, number = name.rpartition("-")
        if base and number.isascii() and number.isdecimal() and number[0] != "0" and len(number) < 6:
            found.setdefault(base, []).append(int(number))
    return found


def _used(declared: Objects, read: list[Read]) -> tuple[tuple[Network, ...], tuple[Volume, ...]]:
    """Networks and volumes that a service uses; the docker CLI creates no others."""
    networks = {key: declared.networks[key] for one in read for key in one.networks}
    mounted = {mount.source for one in read for mount in one.draft.spec.mounts if mount.kind == "volume"}
    volumes = [volume for volume in declared.volumes.values() if volume.name in mounted]
    return tuple(sorted(networks.values(), key=lambda network: network.name)), tuple(volumes)
