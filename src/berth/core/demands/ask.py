"""Asks an image's demand of a card. What nothing is known of counts as met: the node is tried, and that is said."""

import re
from typing import NamedTuple

from berth.core.demands import cuda
from berth.model.card import Card
from berth.model.image import Demand
from berth.model.node import Node

_TERM = re.compile(r"([a-z]+)(=|!=|<=|>=|<|>)(.+)")
_HOLDS = {"=": (0,), "!=": (-1, 1), "<": (-1,), "<=": (-1, 0), ">": (1,), ">=": (0, 1)}
_BRANDS = ("tesla", "quadro", "geforce", "titan", "grid", "nvs")
"""Brands that a model's name begins with."""
NVIDIA, AMD = "nvidia", "amd"
_AMD_MODELS = ("mi", "instinct", "radeon")


class Known(NamedTuple):
    """A card's facts for demands; "" where nobody said."""

    vendor: str
    driver: str
    cuda: str
    brand: str
    arch: str


def known(card: Card, node: Node) -> Known:
    """What the card says of itself, else what its node's labels say; CUDA and brand are also derived."""
    labels = node.all_labels
    driver = card.driver or labels.get("gpu.driver", "")
    version = card.cuda or labels.get("gpu.cuda", "") or cuda.cuda_of(driver)
    return Known(_vendor(card), driver, version, card.brand or _brand(card.model), card.arch)


def unmet(demand: Demand, card: Card, node: Node) -> str:
    """Why the card does not meet the demand, in words; "" when it does, or when nobody can tell."""
    facts = known(card, node)
    asked = [[_ask(term, facts) for term in terms] for terms in demand.any_of]
    if any(all(answer is not False for answer in answers) for answers in asked):
        return ""
    return f"{demand.source} asks for {told(demand)}, and it has {_has(demand, facts)}"


def doubt(demand: Demand, card: Card, node: Node) -> str:
    """The facts, in words, that are missing to tell whether the card meets the demand; "" when one can tell."""
    facts = known(card, node)
    asked = [{_name(term): _ask(term, facts) for term in terms} for terms in demand.any_of]
    if any(all(answer is True for answer in answers.values()) for answers in asked):
        return ""
    open_ones = [answers for answers in asked if all(answer is not False for answer in answers.values())]
    missing = sorted({name for answers in open_ones for name, answer in answers.items() if answer is None})
    return " and ".join(missing)


def told(demand: Demand) -> str:
    """The demand in words: the first alternative, and how many more there are."""
    first = " and ".join(_words(term) for term in demand.any_of[0])
    more = len(demand.any_of) - 1
    others = f", or one of {more} other combinations" if more > 1 else ", or another combination" if more else ""
    return first + others


def _words(term: str) -> str:
    name, op, value = _split(term)
    if name == "toolkit":
        return f"CUDA {value}, which needs driver {cuda.driver_for(value)} or newer"
    if name == "vendor":
        return "AMD's cards" if value == AMD else "NVIDIA's cards"
    if name == "cuda" and op == ">=" and cuda.first_driver(value):
        return f"{term} (driver {cuda.first_driver(value)} or newer)"
    return term


def _has(demand: Demand, facts: Known) -> str:
    names = {_name(term) for terms in demand.any_of for term in terms}
    shown = []
    if names & {"cuda", "driver", "driver version"} and facts.driver:
        shown.append(f"driver {facts.driver}")
    if "cuda" in names and facts.cuda:
        shown.append(f"CUDA {facts.cuda}")
    shown += [f"{name} {getattr(facts, name)}" for name in ("brand", "arch") if name in names and getattr(facts, name)]
    if "vendor" in names:
        shown.append(f"a card of {facts.vendor}")
    return ", ".join(shown)


def _ask(term: str, facts: Known) -> bool | None:
    """True, False, or None when the fact is not known."""
    name, op, value = _split(term)
    if name == "toolkit":
        return _runs(value, facts)
    if name in ("vendor", "brand"):
        have = getattr(facts, name)
        return None if not have else (have.casefold() == value.casefold()) is (op == "=")
    if name == "cuda":
        return _compare_cuda(op, value, facts)
    order = cuda.order(facts.driver if name == "driver" else facts.arch, value)
    return None if order is None else order in _HOLDS[op]


def _compare_cuda(op: str, value: str, facts: Known) -> bool | None:
    order = cuda.order(facts.cuda, value)
    if order is None:
        return None
    if order < 0 and cuda.newest(facts.cuda):
        return None
    return order in _HOLDS[op]


def _runs(toolkit: str, facts: Known) -> bool | None:
    needed = cuda.driver_for(toolkit)
    if facts.driver and needed:
        return cuda.at_least(facts.driver, needed)
    major = f"{toolkit.partition('.')[0]}.0" if needed in cuda.MINOR.values() else toolkit
    order = cuda.order(facts.cuda, major)
    return None if order is None else order >= 0


def _name(term: str) -> str:
    name = _split(term)[0]
    return "driver version" if name == "toolkit" else name


def _split(term: str) -> tuple[str, str, str]:
    found = _TERM.fullmatch(term)
    assert found is not None, term
    return found[1], found[2], found[3]


def _vendor(card: Card) -> str:
    """A simulated card has the vendor that its model has."""
    if card.vendor in (NVIDIA, AMD):
        return card.vendor
    return AMD if card.model.casefold().startswith(_AMD_MODELS) else NVIDIA


def _brand(model: str) -> str:
    first = model.partition("-")[0].casefold()
    return first if first in _BRANDS else ""
