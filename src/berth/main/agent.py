"""`berth agent`: the agent of a node, until SIGTERM or Ctrl-C; its token comes from a file, never from an argument."""

import asyncio
import logging
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from berth.cli.parser import Parser
from berth.main.arguments import program, with_help

if TYPE_CHECKING:
    from berth.agent.agent import AgentSettings
    from berth.agent.link import HttpLink

EXAMPLE = "berth agent --server https://berth.example:7700 --token-file F --ca ca.pem"


def run(argv: Sequence[str]) -> int:
    """Parse the flags, run until stopped; the exit code."""
    parser = _parser()
    args = parser.parse_args(list(argv))
    logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(asctime)s %(name)s %(levelname)s %(message)s")
    import uvloop

    from berth.agent.agent import AgentSettings
    from berth.agent.link import HttpLink
    from berth.dockerapi.address import find
    from berth.model.simulate import parse_simulate
    from berth.vendors import detect

    spec = parse_simulate(args.simulate) if args.simulate else ()
    detect(args.vendor, "", spec, args.cards)
    settings = AgentSettings(
        vendor=lambda node: detect(args.vendor, node, spec, args.cards),
        required=args.vendor != "auto",
        docker=find(args.docker_host),
    )
    return uvloop.run(_serve(settings, HttpLink(args.server, args.token_file, args.ca)))


async def _serve(settings: "AgentSettings", link: "HttpLink") -> int:
    from berth.agent.agent import run_agent

    work = asyncio.create_task(run_agent(settings, link), name="agent")
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, work.cancel)
    try:
        await work
    except asyncio.CancelledError:
        return 0
    return 0


def _parser() -> Parser:
    parser = program("agent", "Run the agent of this node: it tells the server about cards and containers.", EXAMPLE)
    parser.add_argument("--server", required=True, metavar="URL", help="the server's address")
    parser.add_argument("--token-file", required=True, type=Path, metavar="F", help="the file with this node's token")
    vendors = ("auto", "nvidia", "declared", "simulated")
    parser.add_argument("--vendor", default="auto", choices=vendors, help="whose cards to look for")
    parser.add_argument("--ca", type=Path, metavar="FILE", help="the CA of the server's certificate, as PEM")
    return with_help(parser)
