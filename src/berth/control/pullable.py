"""What admission has to say of images: learnt once per submission, then refused, warned of, or kept as demands."""

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from berth.control.context import Control
from berth.core import pullable
from berth.core.stand import Memo
from berth.model.draft import Draft
from berth.model.errors import Problem
from berth.model.image import Demand, KnownImage
from berth.model.job import Job
from berth.model.registry import registry_of


async def learnt(control: Control, drafts: Sequence[Draft], auth: Mapping[str, str] | str) -> tuple[Draft, ...]:
    """The drafts with what nodes and registries say of their images now. `auth` maps a registry to its X-Registry-Auth
    value, or is the value for all of them.
    """
    images = dict.fromkeys(draft.spec.image for draft in drafts)
    known = await control.images.learn({image: _login(image, auth) for image in images})
    if not known:
        return tuple(drafts)
    return tuple(msgspec.structs.replace(draft, known=known[draft.spec.image]) for draft in drafts)


def refusals(control: Control, drafts: Sequence[Draft]) -> Iterator[tuple[Draft, Problem]]:
    """Images that no node has and whose registry says no, each beside its draft. What Swarm places is Swarm's matter:
    it waits for the image, as with Docker's own command.
    """
    memo, views = Memo(), control.views.nodes()
    for draft in _of_berth(control, drafts):
        found = pullable.refusal(draft.spec, draft.known, views, memo)
        if found is not None:
            yield draft, found


def warnings(control: Control, drafts: Sequence[Draft]) -> tuple[Problem, ...]:
    """What a person should know of these images, each thing once."""
    memo, views = Memo(), control.views.nodes()
    told = (
        problem
        for draft in _of_berth(control, drafts)
        for problem in pullable.warnings(draft.spec, draft.known, views, memo)
    )
    return tuple(dict.fromkeys(told))


def demands(draft: Draft, before: Job | None = None) -> tuple[Demand, ...]:
    """What the draft's image demands of cards; where nobody told it this time, what was known `before`."""
    silent = draft.known.registry.verdict != "found" and not draft.known.here
    if before is not None and silent and before.spec.image == draft.spec.image:
        return before.demands
    return pullable.demanded(draft.spec, draft.known)


def _login(image: str, auth: Mapping[str, str] | str) -> str:
    return auth if isinstance(auth, str) else auth.get(registry_of(image), "")


def _of_berth(control: Control, drafts: Sequence[Draft]) -> Iterator[Draft]:
    """Drafts that Berth places, one for each image and request: a thousand jobs of one kind are looked at once."""
    last: Draft | None = None
    for draft in drafts:
        if (draft.native and control.engine.capabilities.native) or draft.known == KnownImage():
            continue
        if last is None or (draft.spec.image, draft.spec.request) != (last.spec.image, last.spec.request):
            yield draft
        last = draft
