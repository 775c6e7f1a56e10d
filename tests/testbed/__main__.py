"""The testbed by hand: `python -m tests.testbed up --swarm` gives a developer real engines to play with."""

import argparse
import json
import sys
from collections.abc import Callable

from . import build, image, ready
from .daemons import DockerHost
from .install import install
from .lab import Lab
from .processes import Process, TestbedError
from .swarm import Swarm


def main() -> int:
    """Carry out one command; its answer is JSON on standard output."""
    arguments = _parser().parse_args()
    action: Callable[[argparse.Namespace], object] = arguments.action
    try:
        print(json.dumps(action(arguments), indent=2))
    except TestbedError as error:
        print(f"testbed: {error}", file=sys.stderr)
        return 1
    return 0


def up(arguments: argparse.Namespace) -> object:
    """Start hosts that stay until `down`, and tell where they are."""
    lab = Lab(arguments.prefix, arguments.subnet)
    lab.__enter__()
    try:
        swarm = Swarm(lab, arguments.nodes, variant=arguments.variant, cards=arguments.cards if arguments.nvidia else 0)
        if arguments.swarm:
            swarm.__enter__()
        else:
            for host in swarm.nodes:
                host.__enter__()
        lab.kept.write_text(json.dumps(_description(swarm, arguments.swarm)))
    except BaseException:
        lab.sweep()
        raise
    finally:
        lab.release()
    return json.loads(lab.kept.read_text())


def down(arguments: argparse.Namespace) -> object:
    """Remove everything that carries this prefix."""
    lab = Lab(arguments.prefix, arguments.subnet)
    lab.take()
    lab.sweep()
    lab.release()
    return {"removed": lab.network.prefix}


def status(arguments: argparse.Namespace) -> object:
    """Tell what `up` told, and which of the daemons run."""
    lab = Lab(arguments.prefix, arguments.subnet)
    if not lab.kept.exists():
        return {"up": False}
    alive = {record.parent.name: bool(Process.load(record)) for record in lab.folder.glob("*/dockerd.process")}
    document = json.loads(lab.kept.read_text())
    for name, node in document["nodes"].items():
        document["nodes"][name] = {**node, "running": alive.get(str(node["number"]), False)}
    return {"up": True, **document}


def _description(swarm: Swarm, joined: bool) -> dict[str, object]:
    document: dict[str, object] = {"prefix": swarm.manager.lab.network.prefix, "images": image.tags()}
    document["gateway"] = swarm.manager.lab.network.gateway
    document["nodes"] = {host.name: _host(host) for host in swarm.nodes}
    if joined:
        document["manager"] = swarm.manager.url
        document["tokens"] = {role: swarm.token(role) for role in ("worker", "manager")}
    return document


def _host(host: DockerHost) -> dict[str, object]:
    cards = [{"uuid": card.uuid, "node": str(card.node)} for card in host.cards]
    return {
        "number": host.number,
        "docker_host": host.url,
        "address": host.address,
        "log": str(host.log),
        "enter": " ".join(host.command()[:2]),
        "cards": cards,
    }


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.testbed", description=__doc__)
    verbs = parser.add_subparsers(required=True, metavar="COMMAND")
    verbs.add_parser("install", help="install Debian packages that are missing").set_defaults(
        action=lambda _: install()
    )
    making = verbs.add_parser("build", help="build today's engine, runc, NVIDIA's toolkit and the fake NVML")
    making.set_defaults(action=lambda _: [str(folder) for folder in build.build_all()])
    everything = verbs.add_parser("ready", help="install and build all that tests need; says why where it cannot")
    everything.set_defaults(action=lambda _: {"obstacle": ready.obstacle(), "ready": ready.make_ready()})
    for action, said in ((up, "start hosts"), (down, "remove them"), (status, "tell what is up")):
        verb = verbs.add_parser(action.__name__, help=said, description=action.__doc__)
        verb.add_argument("--prefix", help="names of bridge and namespaces begin so (bt)")
        verb.add_argument("--subnet", help="first three numbers of the addresses (10.88.0)")
        verb.set_defaults(action=action)
        if action is up:
            verb.add_argument("--nodes", type=int, default=3, help="how many hosts (3)")
            verb.add_argument("--variant", choices=("debian", "today"), default="debian", help="which Docker (debian)")
            verb.add_argument("--swarm", action="store_true", help="join them to a Swarm")
            verb.add_argument("--nvidia", action="store_true", help="NVIDIA's runtime on stand-in cards")
            verb.add_argument("--cards", type=int, default=2, help="cards per host with --nvidia (2)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
