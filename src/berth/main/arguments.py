"""What the two programs that are no verbs, `berth up` and `berth agent`, have in common on the command line."""

from pathlib import Path

from berth.cli.parser import Parser


def program(name: str, description: str, example: str) -> Parser:
    """A parser for `berth NAME` with the flags that say which cards and which daemon a node has."""
    told = f"example:\n  {example}"
    parser = Parser(prog=f"berth {name}", description=description, epilog=told, allow_abbrev=False, add_help=False)
    parser.example = example
    parser.add_argument("--simulate", default="", metavar="SPEC", help="simulated cards: node1=A100-SXM4-80GB:4,...")
    parser.add_argument("--cards", type=Path, metavar="FILE", help="a JSON list of card objects")
    parser.add_argument("--docker-host", default="", metavar="H", help="unix://, ssh://, tcp:// or a Docker context")
    return parser


def with_help(parser: Parser) -> Parser:
    """The parser once it has all its own flags."""
    parser.own = len(parser.actions)
    parser.add_argument("-h", "--help", action="help", help="show this and end")
    return parser
