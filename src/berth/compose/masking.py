"""Keeps secrets out of what is shown: which names and values look like one, and lines of a file with them hidden.

Text shows its lines through this; fields and lint ask it before they quote a value.
"""

import re

HIDDEN = "*"
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_SECRET = frozenset(
    ("PASSWORD", "PASSWD", "PASSPHRASE", "PASS", "PWD", "SECRET", "TOKEN", "APIKEY", "CREDENTIAL", "CREDENTIALS")
)
_NOT_A_KEY = frozenset(("PUBLIC", "SORT", "PRIMARY", "FOREIGN", "PARTITION", "CACHE", "ROUTING", "HOT"))
_ABOUT = frozenset(
    (
        "FILE", "PATH", "DIR", "ID", "NAME", "TYPE", "URL", "URI", "ENDPOINT", "HOST", "TTL", "LENGTH", "EXPIRY",
        "EXPIRES", "TIMEOUT", "LIMIT", "COUNT", "HEADER", "ISSUER", "ALGORITHM", "VERSION", "ENABLED", "POLICY",
    )
)  # fmt: skip
"""Last words of names that speak about a secret without holding it: DB_PASSWORD_FILE, TOKEN_URL."""
_VALUE = re.compile(
    r"\bAKIA[0-9A-Z]{16}\b|\bgh[pousr]_\w{20,}|\bgithub_pat_\w{20,}|\bglpat-[\w-]{16,}|\bxox[abprs]-[\w-]{10,}"
    r"|\bsk-[\w-]{16,}|\bhf_\w{20,}|\beyJ[\w-]{8,}\.[\w-]+\.[\w-]*|-----BEGIN .*"
    r"|(?<=://)[^\s/:@]*:[^\s/@]+(?=@)"
)
"""Beginnings that well-known services give their tokens, a key in PEM, and the user and password of a URL."""
_PAIR = re.compile(r"(?<![\w.])(?P<name>[A-Za-z_][\w.-]{0,80}+)[\"']?(?:\s*+=\s*+|\s*+:(?:\s++|$))")
_FLAG = re.compile(r"(?<!\S)[\"']?--?(?P<name>[A-Za-z][\w-]{0,60}+)[\"']?,?\s++[\"']?(?P<value>[^\s,\]}\"']++)")
_VARIABLE = re.compile(r"\$\w+|\$\{\w+(?::?\?[^{}]*)?\}|")
_HINT = re.compile(
    r"pass|pwd|secret|token|key|credential|://|-----|AKIA|gh[pousr]_|github_|glpat|xox|sk-|hf_|eyJ", re.IGNORECASE
)
"""What a line must have before a closer look pays: nearly all have none of it."""
_FLOW_END = re.compile(r"[,}\]]")
_BLOCK = re.compile(r"[|>][-+0-9]*\s*(?:#.*)?$")
_LONGEST = 4_000
"""Characters of a text that are searched for tokens: more is no token."""


def is_secret_name(name: str) -> bool:
    """True for names such as DB_PASSWORD, apiKey, HF_TOKEN; not for MAX_TOKENS or DB_PASSWORD_FILE."""
    words = [word.upper() for word in _WORD.findall(name)]
    if not words or words[-1] in _ABOUT:
        return False
    if words[-1] == "KEY" and (len(words) < 2 or words[-2] not in _NOT_A_KEY):
        return True
    return words != ["PWD"] and words != ["OLDPWD"] and not _SECRET.isdisjoint(words)


def is_secret_value(value: str) -> bool:
    """True for a value that is a known service's token, a private key, or a URL with a password in it."""
    return _VALUE.search(value[:_LONGEST]) is not None


def masked(line: str) -> str:
    """The line with the values of secrets hidden, each character by a star, so that columns stay where they are.

    Of a very long line the values of names alone: `tokens_masked` is for the part of it that is shown.
    """
    if _HINT.search(line) is None:
        return line
    hidden = _pairs_masked(line)
    return hidden if len(hidden) > _LONGEST else tokens_masked(hidden)


def tokens_masked(part: str) -> str:
    """The text without what is a secret by its own look, or as the value of a flag such as `--token x`."""
    return _FLAG.sub(_hide_flag, _VALUE.sub(lambda found: _stars(found[0]), part[:_LONGEST]))


def continues_secret(lines: list[str], number: int) -> bool:
    """True when line `number` (from 1) lies in the text block of a secret: `KEY: |` and what is indented below it."""
    indent = _indent(lines[number - 1])
    for above in reversed(lines[max(0, number - 200) : number - 1]):
        if above.strip() and _indent(above) < indent:
            found = _PAIR.search(above[:_LONGEST])
            opens = found is not None and _BLOCK.match(above, found.end()) is not None
            return opens and found is not None and is_secret_name(found["name"])
    return False


def _pairs_masked(line: str) -> str:
    """The line with the values of secret names hidden; one pass, however long the line is."""
    pieces, done, at, depth = [], 0, 0, 0
    while (found := _PAIR.search(line, at)) is not None:
        depth += _opened(line, at, found.start())
        at = max(found.end(), found.start() + 1)
        if is_secret_name(found["name"]):
            start, at = _span(line, found, depth > 0)
            pieces += [line[done:start], _stars(line[start:at])]
            done = at
        else:
            depth += _opened(line, found.start(), at)
    return "".join((*pieces, line[done:]))


def _opened(line: str, start: int, end: int) -> int:
    """How many more flow lists and mappings are open after this part of the line than before it."""
    opened = line.count("{", start, end) + line.count("[", start, end)
    return opened - line.count("}", start, end) - line.count("]", start, end)


def _stars(text: str) -> str:
    return text if _VARIABLE.fullmatch(text.strip()) else HIDDEN * len(text)


def _hide_flag(found: re.Match[str]) -> str:
    if not is_secret_name(found["name"]):
        return found[0]
    return found[0][: found.start("value") - found.start()] + _stars(found["value"])


def _span(line: str, pair: re.Match[str], flow: bool) -> tuple[int, int]:
    """Where the value of a pair begins and ends: inside its quotes, in its entry of a flow list, or in its line."""
    start, before = pair.end(), line[pair.start() - 1 : pair.start()]
    if line[start : start + 1] in ("'", '"'):
        return start + 1, _closing(line, start + 1, line[start])
    if before in ("'", '"') and line[pair.end("name") : pair.end("name") + 1] != before:
        return start, _closing(line, start, before)
    if flow:
        end = _FLOW_END.search(line, start)
        return start, end.start() if end else len(line)
    return start, len(line)


def _closing(line: str, start: int, quote: str) -> int:
    at = line.find(quote, start)
    return at if at >= 0 else len(line)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))
