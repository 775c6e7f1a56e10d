"""Pins the images of a stack to digests when it is deployed, so that all of its tasks run the same; api calls it."""

import asyncio
from collections.abc import Mapping
from typing import Literal

import msgspec

from berth.control.context import Control
from berth.model.draft import Draft, LoadedStack
from berth.model.registry import registry_of
from berth.model.spec import Pinned

Resolve = Literal["always", "changed", "never"]
ANSWER_S = 10.0
"""How long a deployment waits for a registry."""


async def pinned(
    control: Control, stack: str, loaded: LoadedStack, auth: Mapping[str, str], resolve: Resolve = "always"
) -> LoadedStack:
    """The stack with each image by the digest that its registry has now. Where none is told, or asked for, a service
    whose image is the same as before keeps its digest, so that it need not start again.

    `auth` maps a registry to the X-Registry-Auth value for its images.
    """
    if loaded.problems or loaded.refusals:
        return loaded
    before = _before(control, stack)
    asked = [draft for draft in loaded.drafts if resolve == "always" or (draft.service, draft.spec.image) not in before]
    images = dict.fromkeys(draft.spec.image for draft in asked if resolve != "never")
    answers = await asyncio.gather(*(_ask(control, image, auth) for image in images))
    return _with(loaded, {image: pin for image, pin in zip(images, answers, strict=True) if pin.image}, before)


def kept(control: Control, stack: str, loaded: LoadedStack) -> LoadedStack:
    """The stack with the digests that its services have already; no registry is asked."""
    return _with(loaded, {}, _before(control, stack))


async def _ask(control: Control, image: str, auth: Mapping[str, str]) -> Pinned:
    try:
        return await asyncio.wait_for(control.engine.pin(image, auth.get(registry_of(image), "")), ANSWER_S)
    except TimeoutError:
        return Pinned()


def _before(control: Control, stack: str) -> dict[tuple[str, str], Pinned]:
    """What the stack's services run now, by service and image."""
    jobs = control.cluster.work.services.of(stack)
    return {(job.service, job.spec.image): job.spec.pinned for job in jobs if job.ended_at is None}


def _with(loaded: LoadedStack, told: Mapping[str, Pinned], before: Mapping[tuple[str, str], Pinned]) -> LoadedStack:
    def one(draft: Draft) -> Draft:
        image = draft.spec.image
        pin = told.get(image) or before.get((draft.service, image), Pinned())
        return msgspec.structs.replace(draft, spec=msgspec.structs.replace(draft.spec, pinned=pin))

    return msgspec.structs.replace(loaded, drafts=tuple(one(draft) for draft in loaded.drafts))
