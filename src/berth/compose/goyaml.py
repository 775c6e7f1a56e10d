"""Writes YAML as the docker CLI does (block style, two spaces, quotes where a word would be read as something else)."""

import re
from typing import Any

import yaml

from berth.compose.scalars import plain

_OLD_BOOLS = frozenset(
    word for text in ("y", "yes", "on", "n", "no", "off") for word in (text, text.title(), text.upper())
)
_SIXTIES = re.compile(r"[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?")
_CLOCK = r"\d{1,2}:\d{2}:\d{2}(?:\.\d*)?(?:\s*(?:Z|[-+]\d{1,2}(?::\d{2})?))?"
_DATE = re.compile(rf"\d{{4}}-\d{{1,2}}-\d{{1,2}}(?:(?:[Tt]|\s+){_CLOCK})?")
_PARTS = re.compile(r"\d+|\D")


def text_of(value: Any) -> str:
    """The value as YAML; the keys of mappings stand in the order that they have."""
    options = {"default_flow_style": False, "sort_keys": False, "allow_unicode": True, "width": 1 << 30, "indent": 2}
    return str(yaml.dump(value, Dumper=_Dumper, **options))  # type: ignore[call-overload]


def sorted_keys(mapping: dict[str, Any]) -> dict[str, Any]:
    """The mapping by its keys, numbers in them by value: vol9 before vol10."""
    return dict(sorted(mapping.items(), key=lambda pair: _natural(pair[0])))


def _natural(text: str) -> list[tuple[int, int, str]]:
    """Letters come after all else; a run of digits counts as a number."""
    return [
        (1, int(part), part) if part.isdecimal() else (2 if part.isalpha() else 0, 0, part)
        for part in _PARTS.findall(text)
    ]


class _Dumper(yaml.SafeDumper):
    """Lists are indented below their key, and nothing is written as an alias."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002
        super().increase_indent(flow, False)

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002
        return True


def _string(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else '"' if _needs_quotes(text) else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


def _needs_quotes(text: str) -> bool:
    """True for text that would be read as a number, a date, true, null or a merge without quotes."""
    other = not isinstance(plain(text), str) or text == "<<" or text in _OLD_BOOLS
    return other or bool(_SIXTIES.fullmatch(text) or _DATE.fullmatch(text))


_Dumper.add_representer(str, _string)
