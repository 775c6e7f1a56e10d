"""Which images a text names, without reading YAML, and the registry credentials that go along for them."""

import re
from collections.abc import Iterable

from berth.cli.verb import Session
from berth.client.registry import credentials


def auth_for(session: Session, images: Iterable[str]) -> dict[str, str]:
    """Values for X-Registry-Auth by registry; says where a kept login cannot be had."""
    found = credentials(images, session.environ)
    for notice in found.notices:
        session.screen.note(f"berth: {notice}")
    return found.auth


def auth_header(session: Session, image: str) -> dict[str, str]:
    """The header for one image; empty where no login is kept for its registry."""
    auth = auth_for(session, [image])
    return {"X-Registry-Auth": next(iter(auth.values()))} if auth else {}


def images_in(text: str) -> list[str]:
    """The values after `image:`, those with variables included."""
    return re.findall(r"^[ \t-]*[\"']?image[\"']?[ \t]*:[ \t]*[\"']?([^\s\"'#]+)", text, re.MULTILINE)


def images_to_log_in_for(text: str, registries: Iterable[str]) -> list[str]:
    """Images whose registries may need a login: those named, and one per known registry that the text mentions.

    An image's name may come from a variable; its registry then stands somewhere in the text or the variables.
    """
    plain = [image for image in images_in(text) if "$" not in image]
    hub = ["any"] if len(plain) < len(images_in(text)) else []
    return plain + hub + [f"{registry}/any" for registry in registries if registry in text]
