"""Reads one constraint: key, operator, value, each refused with its column; called by admit, the loader and fit."""

import ipaddress
import re
from functools import lru_cache

from berth.core.constraints import quantity
from berth.core.constraints.keys import IDENTITIES, canonical, nearest
from berth.core.constraints.language import ALL_OPERATORS, ORDERING, REGEX, SYMBOLS, BadConstraint, Constraint, Op
from berth.core.constraints.regex import BadPattern, compiled

LONGEST = 1024
_MISTAKEN = {"===": "==", "!==": "!=", "=>": ">=", "=<": "<=", "<>": "!="}
_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9._/-]*")
_WORD = re.compile(r"(not\s+in|not\s+exists|in|exists)(?![A-Za-z0-9._-])", re.IGNORECASE)
_RESERVED = re.compile(r"""[=!<>~"'`,]""")
_SECOND = re.compile(r"&&|;|\sand\s+[A-Za-z_][\w./-]*\s*(?:[=!<>]|in\b|not\b|exists\b)", re.IGNORECASE)


@lru_cache(maxsize=8192)
def parse(text: str) -> Constraint:
    """The constraint that `text` says. Raises BadConstraint with the column of what is wrong and what to write."""
    if len(text) > LONGEST:
        raise BadConstraint(f"a constraint has at most {LONGEST} characters", LONGEST + 1, "Split it or shorten it.")
    at = len(text) - len(text.lstrip())
    written, at = _key(text, at)
    key = canonical(written)
    if key is None:
        raise _unknown_key(text, written, at - len(written))
    at = _skip(text, at)
    op, end = _operator(text, at, written)
    _check_order(key, written, op, at)
    values = _values(text, end, key, written, op)
    return Constraint(key, op, values, text.strip())


def _key(text: str, at: int) -> tuple[str, int]:
    found = _KEY.match(text, at)
    if found is None:
        message = "a constraint begins with a key" if text.strip() else "the constraint is empty"
        raise BadConstraint(message, at + 1, "Write for example: node.labels.zone == idc")
    return found[0], found.end()


def _unknown_key(text: str, written: str, at: int) -> BadConstraint:
    right = nearest(written)
    better = (text[:at] + right + text[at + len(written) :]).strip()
    return BadConstraint(f"'{written}' is not a key that can be asked for", at + 1, f"Write: {better}")


def _operator(text: str, at: int, key: str) -> tuple[Op, int]:
    for wrong, right in _MISTAKEN.items():
        if text.startswith(wrong, at):
            value = text[at + len(wrong) :].strip() or "VALUE"
            raise BadConstraint(f"'{wrong}' is not an operator", at + 1, f"Write: {key} {right} {value}")
    for symbol in SYMBOLS:
        if text.startswith(symbol, at):
            return symbol, at + len(symbol)
    word = _WORD.match(text, at)
    if word:
        op: Op = " ".join(word[1].lower().split())  # type: ignore[assignment]
        return op, word.end()
    if at >= len(text):
        raise BadConstraint("the operator is missing", at + 1, f"Write: {key} == VALUE, or {key} exists")
    if text.startswith("=", at):
        value = text[at + 1 :].strip() or "VALUE"
        raise BadConstraint("'=' is not an operator", at + 1, f"Write: {key} == {value}")
    seen = text[at:].split()[0][:20]
    raise BadConstraint(f"'{seen}' is not an operator", at + 1, f"The operators are {ALL_OPERATORS}.")


def _values(text: str, end: int, key: str, written: str, op: Op) -> tuple[str, ...]:
    at = _skip(text, end)
    if op in ("exists", "not exists"):
        if at < len(text):
            raise BadConstraint(f"nothing may follow '{op}'", at + 1, f"Write: {written} {op}")
        return ()
    if op in ("in", "not in"):
        return tuple(_value(value, place, key, written, op) for value, place in _listed(text, at, written, op))
    return (_value(text[at:].rstrip(), at, key, written, op),)


def _listed(text: str, at: int, written: str, op: Op) -> list[tuple[str, int]]:
    hint = f"Write: {written} {op} (VALUE, VALUE)"
    if not text.startswith("(", at):
        raise BadConstraint(f"'{op}' takes a list in parentheses", at + 1, hint)
    close = text.rfind(")")
    if close < 0 or text[close + 1 :].strip():
        raise BadConstraint("the list does not end with ')'", len(text.rstrip()) + 1, hint)
    found, place = [], at + 1
    for part in text[place:close].split(","):
        found.append((part.strip(), place + len(part) - len(part.lstrip())))
        place += len(part) + 1
    return found


def _value(value: str, at: int, key: str, written: str, op: Op) -> str:
    if not value:
        hint = f"Write: {written} {op} VALUE" if op not in ("in", "not in") else f"Write: {written} {op} (VALUE, VALUE)"
        raise BadConstraint(
            f"the value after '{op}' is missing", at + 1, f"{hint}; {written} exists asks for any value"
        )
    if op in REGEX:
        _check_pattern(value, at)
        return value
    _check_characters(value, at, written, op)
    if op in ORDERING and quantity.read(value, key) is None:
        hint = f"Write {written} {op} and a number, a version such as 550.54, or a size such as 40GiB"
        raise BadConstraint(f"'{value}' has no order: '{op}' compares numbers, versions and sizes", at + 1, hint)
    if key == "node.ip":
        _check_network(value, at, written, op)
    return value


def _check_pattern(value: str, at: int) -> None:
    try:
        compiled(value)
    except BadPattern as problem:
        hint = "Mend the expression (RE2 syntax, without look-around), for example: ^A100"
        raise BadConstraint(f"'{value[:40]}' is not a regular expression: {problem}", at + 1, hint) from None


def _check_characters(value: str, at: int, written: str, op: Op) -> None:
    """Swarm keeps operator characters out of values, for operators to come; quotes would be part of the value."""
    second = _SECOND.search(value)
    if second:
        hint = "Write several constraints, one a line: all of them must hold"
        raise BadConstraint("one text holds one constraint", at + second.start() + 1, hint)
    found = _RESERVED.search(value)
    if found:
        clean = " ".join(_RESERVED.sub(" ", value).split()) or "VALUE"
        values = f"({', '.join(clean.split())})" if found[0] == "," or op in ("in", "not in") else clean
        word = "in" if found[0] == "," and op == "==" else "not in" if found[0] == "," and op == "!=" else op
        message = f"the value may not hold {found[0]}"
        raise BadConstraint(message, at + found.start() + 1, f"Write: {written} {word} {values}")


def _check_network(value: str, at: int, written: str, op: Op) -> None:
    try:
        ipaddress.ip_network(value, strict=False)
    except ValueError:
        hint = f"Write an address or a subnet: {written} {'==' if op != '!=' else op} 10.0.0.0/24"
        raise BadConstraint(f"'{value}' is neither an IP address nor a subnet", at + 1, hint) from None


def _check_order(key: str, written: str, op: Op, at: int) -> None:
    if op in ORDERING and key in IDENTITIES:
        hint = f"Write: {written} == VALUE, {written} in (VALUE, VALUE), or {written} =~ REGEX"
        raise BadConstraint(f"{written} has no order, so '{op}' cannot compare it", at + 1, hint)


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at
