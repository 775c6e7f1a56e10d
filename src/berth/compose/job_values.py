"""Reads the values of a job's body one by one and notes what is wrong with each, with its line where there is one."""

import re
from collections.abc import Callable
from typing import Any

import msgspec

from berth.compose import deploy
from berth.compose.body import JobBody
from berth.compose.cards import Ask
from berth.compose.deploy import Constraints
from berth.compose.facts import Facts
from berth.compose.fields import Var
from berth.compose.report import Report
from berth.compose.scalars import shown
from berth.compose.text import Place
from berth.model.gpu_model import normalise

_SHARE = re.compile(r"\d+x.*|\d*\.\d+|\d+(?:\.\d+)?\s*[kmgt]i?b?", re.IGNORECASE)


class Where:
    """Places of fields, for input that has lines."""

    def __init__(self, places: dict[str, Place], whole: Place | None, keys: dict[str, Place] | None = None) -> None:
        self.places = places
        self._whole = whole
        self._keys = keys or {}

    def key(self, field: str) -> Place | None:
        """The place of a field's key."""
        return self._keys.get(field) or self.at(field)

    def at(self, field: str) -> Place | None:
        """The place of a field, or of the nearest one around it."""
        while field and field not in self.places:
            field = field.rpartition(".")[0]
        return self.places.get(field, self._whole)


class Reader:
    """Reads the values of a body and notes what is wrong with them."""

    def __init__(self, body: JobBody, where: Where, report: Report) -> None:
        self.body = body
        self.where = where
        self.report = report

    def wrong(self, field: str, code: str, message: str, hint: str) -> None:
        """Note a wrong value."""
        self.report.wrong(self.where.at(field), code, message, hint, field)

    def measured(self, field: str, value: str | int | float | None, read: Callable[[str], int]) -> int:
        """A time, size or number of CPUs; 0 when there is none."""
        if value is None:
            return 0
        try:
            return read(value if isinstance(value, str) else shown(value))
        except ValueError as error:
            message, hint = error.args
            self.wrong(field, "bad-value", message, hint)
            return 0

    def env(self) -> dict[str, Var]:
        """The environment by name."""
        given, found = self.body.env, {}
        pairs = given.items() if isinstance(given, dict) else [_pair(text) for text in given]
        for name, value in pairs:
            field = f"env.{name}"
            if not name or "=" in name:
                self.wrong("env", "bad-value", "env has a variable without a name.", "Write env: {NAME: value}")
            elif isinstance(value, bool):
                word = str(value).lower()
                self.wrong(field, "wrong-type", f"{name} is true or false, not text.", f'Quote it: {name}: "{word}"')
            else:
                text = value if value is None or isinstance(value, str) else shown(value)
                found[name] = Var(text, self.where.at(field), field)
        return found

    def constraints(self, facts: Facts) -> Constraints:
        """The constraints, with the model as one of them."""
        texts = tuple((text, self.where.at(f"constraints.{n}")) for n, text in enumerate(self.body.constraints))
        found = deploy.constraints(texts, "constraints", facts, self.report)
        if self.body.model:
            model = normalise(self.body.model)
            if not model:
                self.wrong("model", "bad-value", "the model has no letter or digit.", "Write model: A100")
            return msgspec.structs.replace(found, texts=(*found.texts, f"gpu.model == {model}"), swarm=False)
        return found

    def gpus(self) -> Ask | None:
        """The number of cards that the body gives; None when it gives none."""
        value = self.body.gpus
        if value is None:
            return None
        ask = Ask("gpus", self.where.at("gpus"), "gpus")
        text = value.strip() if isinstance(value, str) else value
        if text == "all":
            return msgspec.structs.replace(ask, all_matching=True)
        number = _whole(text)
        if number is not None and 0 <= number <= 1024:
            return msgspec.structs.replace(ask, gpus=number)
        if isinstance(text, dict) or (isinstance(text, str) and _SHARE.fullmatch(text)) or isinstance(text, float):
            said = "a range" if isinstance(text, dict) else str(text)[:40]
            message = f"gpus: {said} is not a number of whole cards; shares and ranges are not carried yet."
            self.wrong("gpus", "gpu-count", message, "Write gpus: 1")
        else:
            said = "negative" if number is not None and number < 0 else "not a number of whole cards"
            self.wrong("gpus", "gpu-count", f"gpus: {str(text)[:40]} is {said}.", "Write gpus: 1, or gpus: all")
        return None


def _pair(text: str) -> tuple[str, str | None]:
    name, equals, value = text.partition("=")
    return name, value if equals else None


def _whole(value: Any) -> int | None:
    if isinstance(value, str):
        bare = value.removeprefix("-")
        return int(value) if bare.isascii() and bare.isdecimal() and len(bare) < 10 else None
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) < 1e9 else None
    return value if isinstance(value, int) else None
