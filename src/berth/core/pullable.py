"""Whether an image can be had on the nodes that a task could go to: refused only on a definite no, else a warning."""

from collections.abc import Iterator, Sequence

from berth.core.demands import demands_of, doubt
from berth.core.shape import shape_of
from berth.core.stand import NO_NODE, Memo
from berth.core.topology import positions
from berth.model.errors import Problem
from berth.model.image import Demand, KnownImage
from berth.model.registry import HUB
from berth.model.snapshot import NodeView
from berth.model.spec import TaskSpec

MOST_NAMED = 5


def demanded(spec: TaskSpec, known: KnownImage) -> tuple[Demand, ...]:
    """What the image demands of cards; a variable that the spec itself sets counts instead of the image's."""
    env = {**known.env, **{name: value or "" for name, value in spec.env}}
    return demands_of(env) if known.env else ()


def refusal(spec: TaskSpec, known: KnownImage, views: tuple[NodeView, ...], memo: Memo) -> Problem | None:
    """A problem when the registry said no and every node that the task could go to said that it has no such image."""
    answer = known.registry
    if answer.verdict not in ("absent", "denied"):
        return None
    nodes = {view.node.name for view, _ in _candidates(spec, views, memo)}
    if not nodes or not nodes <= known.lacking:
        return None
    message = f"the registry {answer.registry} has no image {spec.image} ({answer.said}), and no node has it."
    hint = "Check its name and tag"
    if answer.verdict == "denied":
        message = f"the registry {answer.registry} denied {spec.image} ({answer.said}), and no node has it."
        hint = f"Log in and submit again: docker login {'' if answer.registry == HUB else answer.registry}".rstrip()
    return Problem(code=f"image-{answer.verdict}", message=message, hint=hint, field="image")


def warnings(spec: TaskSpec, known: KnownImage, views: tuple[NodeView, ...], memo: Memo) -> Iterator[Problem]:
    """What a person should know of the image before it is tried."""
    if known == KnownImage():
        return
    nodes = _candidates(spec, views, memo)
    yield from _of_registry(spec, known, {view.node.name for view, _ in nodes})
    if spec.request.wants_cards:
        yield from _of_doubts(spec, known, nodes)


def _of_registry(spec: TaskSpec, known: KnownImage, nodes: set[str]) -> Iterator[Problem]:
    answer, there = known.registry, sorted(known.here & nodes)
    where = (
        f"only {_names(there)} {'has' if len(there) == 1 else 'have'} it" if there else "no node is known to have it"
    )
    if answer.verdict in ("absent", "denied") and not nodes <= known.here:
        does = "has no such image" if answer.verdict == "absent" else "denied it"
        text = f"{spec.image}: the registry {answer.registry} {does} ({answer.said}), and {where}."
        hint = "A task that goes to another node cannot start; push the image, log in, or load it there"
        yield Problem(code="image-not-pullable", message=text, hint=hint, field="image")
    if answer.verdict == "unreachable" and (not there or answer.registry != HUB):
        text = f"{spec.image}: the registry {answer.registry} does not answer ({answer.said}), and {where}."
        hint = "It runs on nodes that have the image; 'docker pull' it there while the registry answers"
        yield Problem(code="registry-unreachable", message=text, hint=hint, field="image")


def _of_doubts(spec: TaskSpec, known: KnownImage, nodes: Sequence[tuple[NodeView, int]]) -> Iterator[Problem]:
    """Nodes whose cards may not run the image, since nothing is known of what it demands: they are tried."""
    demands = demanded(spec, known)
    missing: dict[str, list[str]] = {}
    for view, mask in nodes:
        cards = [view.cards[at].card for at in positions(mask)]
        for fact in sorted({doubt(demand, card, view.node) for demand in demands for card in cards} - {""}):
            missing.setdefault(fact, []).append(view.node.name)
    for fact, names in missing.items():
        text = f"{spec.image} demands something of {fact}, which nothing tells for the cards of {_names(names)}."
        hint = "They are tried; an agent tells it, or a label (gpu.driver, gpu.cuda)"
        yield Problem(code="image-demand-unknown", message=text, hint=hint, field="image")


def _candidates(spec: TaskSpec, views: tuple[NodeView, ...], memo: Memo) -> list[tuple[NodeView, int]]:
    """The nodes that could take the task, whatever is free on them now, each with a mask of the cards that match."""
    shape = shape_of(spec.request)
    found = ((view, memo.mask(stand, shape)) for view, stand in zip(views, memo.stands(views), strict=True))
    return [(view, mask) for view, mask in found if mask > 0 or (mask != NO_NODE and not shape.wants_cards)]


def _names(names: Sequence[str]) -> str:
    if len(names) > MOST_NAMED:
        return f"{len(names)} nodes"
    return f"node{'s' * (len(names) > 1)} {', '.join(names)}"
