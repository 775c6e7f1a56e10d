"""`berth up`: the server and the agent of this machine in one process, until SIGTERM or Ctrl-C."""

import asyncio
import gc
import logging
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from berth.client.config import keep
from berth.main.arguments import program, with_help
from berth.main.options import DEFAULT_LISTEN, Options, default_data, loopback, parse_listen

if TYPE_CHECKING:
    from berth.main.server import Server

SWITCH_S = 0.0005
"""The store's thread waits so long at most for its turn while requests keep the loop busy (Python's own: 5 ms)."""
EXAMPLE = "berth up --simulate 'node1=A100-SXM4-80GB:4'"


def run(argv: Sequence[str]) -> int:
    """Parse the flags, run until stopped; the exit code."""
    options = _options(argv)
    logging.basicConfig(
        level=logging.WARNING, stream=sys.stderr, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )
    import uvloop

    sys.setswitchinterval(SWITCH_S)
    return uvloop.run(_serve(options))


async def _serve(options: Options) -> int:
    from berth.main.server import Server

    server = Server(options)
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    await server.start()
    gc.collect()
    gc.freeze()  # what is loaded now stays: looking through it again would stop the loop for 50 ms at a time
    if options.remember:
        keep(options.address, str(server.token_file.resolve()), str(options.tls_cert or ""), os.environ)
    print(_greeting(server), flush=True)
    unfit = asyncio.create_task(server.unfit())
    await asyncio.wait({unfit, asyncio.create_task(stop.wait())}, return_when=asyncio.FIRST_COMPLETED)
    await server.stop()
    if unfit.done():
        print(unfit.result(), file=sys.stderr)
        return 4
    unfit.cancel()
    return 0


def _greeting(server: "Server") -> str:
    options, chosen, cluster = server.options, server.chosen, server.control.cluster
    lines = [
        f"Berth is up at {options.address}",
        f"  engine   {_engine(chosen.engine.name, chosen.identity.version)} ({chosen.why})",
        f"  cards    {_count(len(cluster.cards), 'card')} on {_count(len(cluster.nodes), 'node')}",
        f"  token    {server.token_file} (admin; the berth command of this user finds it by itself)",
        f"  data     {options.data}",
        *(f"  note     {warning}" for warning in chosen.identity.warnings),
        *_joining(options),
        "Stop with Ctrl-C; what runs goes on.",
    ]
    return "\n".join(lines)


def _engine(name: str, version: str) -> str:
    return name if version == name else f"{name} {version}"


def _joining(options: Options) -> list[str]:
    """How a node's agent comes to this server; what has to be done first where only this machine can reach it."""
    steps = "make its token here, take the file there, and start its agent:"
    create = "  berth token create --role agent --node NAME > F"
    if loopback(options.host):
        return [
            "Other nodes do not reach this server: --listen HOST:PORT --tls-cert CERT --tls-key KEY lets them.",
            f"To join one then: {steps}",
            create,
            "  berth agent --server https://HOST:PORT --token-file F --ca CERT",
        ]
    ca = f" --ca {options.tls_cert}" if options.tls_cert else ""
    return [f"To join a node: {steps}", create, f"  berth agent --server {options.address} --token-file F{ca}"]


def _count(number: int, what: str) -> str:
    return f"{number} {what}" + ("" if number == 1 else "s")


def _options(argv: Sequence[str]) -> Options:
    parser = program("up", "Start a server and the agent of this machine in one process.", EXAMPLE)
    parser.add_argument("--engine", default="auto", metavar="WORD", help="auto, docker, swarm or simulated")
    parser.add_argument("--data", type=Path, metavar="DIR", help="the folder of database, logs and token")
    parser.add_argument("--listen", default=DEFAULT_LISTEN, metavar="HOST:PORT", help=f"by default {DEFAULT_LISTEN}")
    parser.add_argument("--store", default="", metavar="URL", help="a database URL; by default SQLite in DIR")
    parser.add_argument("--tls-cert", type=Path, metavar="F", help="certificate chain as PEM")
    parser.add_argument("--tls-key", type=Path, metavar="F", help="its key as PEM")
    parser.add_argument("--insecure", action="store_true", help="plain HTTP beyond loopback")
    args = with_help(parser).parse_args(list(argv))
    host, port = parse_listen(args.listen)
    return Options(
        engine=args.engine,
        simulate=args.simulate,
        cards=args.cards,
        data=(args.data or default_data()).absolute(),
        host=host,
        port=port,
        store=args.store,
        docker_host=args.docker_host,
        tls_cert=args.tls_cert.absolute() if args.tls_cert else None,
        tls_key=args.tls_key.absolute() if args.tls_key else None,
        insecure=args.insecure,
    )
