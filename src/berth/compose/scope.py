"""Where variables come from: the shell before `.env`; what the client has not sent yet is noted as a need."""

import msgspec

from berth.compose import envfile
from berth.compose.report import Report
from berth.compose.template import BadTemplate, substitute
from berth.compose.text import decode
from berth.compose.tree import Entry, Items, Mapping, Node, Scalar
from berth.model.draft import Bundle, Needs
from berth.model.errors import BadInput

MOST_NAMED = 6
MOST_GROWN = 10_000_000
"""Characters by which variables may make a deployment longer."""


class Scope:
    """The variables of one bundle. `needs` fills up while texts are substituted; what is unset is told of."""

    def __init__(self, bundle: Bundle, report: Report) -> None:
        self._shell = bundle.variables
        self._extra = bundle.extra
        self._variables: dict[str, None] = {}
        self._files: dict[str, None] = {}
        self._contents: dict[str, None] = {}
        self._given = bundle.contents
        self._report = report
        self._told: set[str] = set()
        self._filled: list[str] = []
        self._grown = 0
        self._dotenv = self._read_dotenv(bundle)

    @property
    def needs(self) -> Needs:
        """What the client must send before there is an answer."""
        return Needs(files=tuple(self._files), variables=tuple(self._variables), contents=tuple(self._contents))

    def look(self, name: str) -> str | None:
        """The value of a variable; None: not set anywhere, or not known yet (then it is in `needs`)."""
        if name not in self._shell:
            self._variables[name] = None
            return None
        value = self._shell[name]
        return value if value is not None else self._dotenv.get(name)

    def known(self, name: str) -> bool:
        """True when the client has said what the shell holds under this name."""
        return name in self._shell

    def from_dotenv(self, name: str) -> bool:
        """True when `.env` alone gives the variable."""
        return self._shell.get(name) is None and name in self._dotenv

    def tell(self) -> None:
        """Warn, once for all of them, of the variables that `.env` gave."""
        names = self._filled
        if names:
            more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
            message = (
                f"{', '.join(names[:MOST_NAMED])}{more} {'comes' if len(names) == 1 else 'come'} from .env, "
                "which docker stack deploy does not read."
            )
            hint = "To have the same there, type first: set -a; . ./.env; set +a"
            self._report.warn(None, "dotenv-used", message, hint)

    def file(self, path: str) -> "msgspec.UnsetType | bytes | None":
        """The bytes of a file that the stack file names, None where there is none, UNSET while it is needed."""
        if path not in self._extra:
            self._files[path] = None
            return msgspec.UNSET
        found = self._extra[path]
        return None if found is None else found.data

    def content(self, path: str) -> "msgspec.UnsetType | bytes | None":
        """The same for a file that becomes a secret or config: its bytes are nobody's to read."""
        if path not in self._given:
            self._contents[path] = None
            return msgspec.UNSET
        found = self._given[path]
        return None if found is None else found.data

    def expand(self, node: Node, field: str = "") -> Node:
        """The node with the variables in its values replaced. What cannot be is noted in the report."""
        if isinstance(node, Scalar):
            return self._scalar(node, field) if isinstance(node.value, str) and "$" in node.value else node
        if isinstance(node, Items):
            items = [self.expand(item, f"{field}.{n}") for n, item in enumerate(node.items)]
            return Items(node.place, items, node.size, node.depth)
        entries = {
            name: Entry(entry.key, self.expand(entry.node, f"{field}.{name}" if field else name))
            for name, entry in node.entries.items()
        }
        return Mapping(node.place, entries, node.size, node.depth)

    def _scalar(self, node: Scalar, field: str) -> Scalar:
        def look(name: str) -> str | None:
            if self.from_dotenv(name) and self.known(name) and self._first(name):
                self._filled.append(name)
            return self.look(name)

        def unset(name: str) -> None:
            if self.known(name) and self._first(name):
                message = f"the variable {name} is not set; it counts as empty."
                hint = f"Set it, or write ${{{name}:-default}}; $$ is a dollar sign"
                self._report.warn(node.place, "variable-unset", message, hint, field)

        try:
            text = substitute(node.written, look, unset)
        except BadTemplate as bad:
            self._complain(bad, node, field)
            return node
        self._grown += len(text) - len(node.written)
        if self._grown > MOST_GROWN:
            if self._first(""):
                message = f"variables make the files more than {MOST_GROWN} characters longer."
                self._report.wrong(node.place, "yaml-too-big", message, "Put long values into files or secrets.", field)
            return node
        return Scalar(node.place, text, text)

    def _complain(self, bad: BadTemplate, node: Scalar, field: str) -> None:
        if bad.missing and self._variables:
            return
        place = node.place.shifted(bad.at) if node.exact else node.place
        code = "variable-required" if bad.missing else "bad-template"
        self._report.wrong(place, code, bad.message, bad.hint, field)

    def _first(self, name: str) -> bool:
        first = name not in self._told
        self._told.add(name)
        return first

    def _ask_shell(self, name: str) -> str | None:
        if name not in self._shell:
            self._variables[name] = None
        return self._shell.get(name)

    def _read_dotenv(self, bundle: Bundle) -> dict[str, str]:
        if bundle.dotenv is None:
            return {}
        try:
            text = decode(bundle.dotenv, private=True)
        except BadInput as bad:
            self._report.problems += bad.problems
            return {}
        return envfile.dotenv(text, self._ask_shell, self._report)
