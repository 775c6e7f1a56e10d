"""The server's side of agents: what each says of its own node becomes facts; leases run on the server's clock."""

import asyncio
import contextlib

import msgspec

from berth.control.context import Control
from berth.control.inventory import put_inventory
from berth.control.turns import change_node
from berth.control.wrong_cards import found_wrong_cards
from berth.model.errors import Problem
from berth.model.node import Node
from berth.model.wire import (
    Cards,
    Container,
    Foreign,
    ForeignUse,
    FoundImage,
    Heartbeat,
    Hello,
    Refuse,
    Saw,
    Up,
    Uses,
    Welcome,
)
from berth.ports import AgentPeer

LEASE_S = 15.0
HELLO_S = 10.0


class Agents:
    """All connected agents, one per node; `serve` is run once per connection."""

    def __init__(self, control: Control) -> None:
        self.control = control
        self._peers = control.peers
        self._instances: dict[str, str] = {}
        self._versions: dict[str, str] = {}
        self.first_hello = asyncio.Event()

    async def serve(self, peer: AgentPeer, node: str) -> None:
        """Talk to one agent until it leaves. `node`: the only node that its token may speak for ("": any, the
        server's own agent).
        """
        name = ""
        try:
            hello = await self._first(peer)
            if hello is None:
                return
            name = await self._welcome(peer, hello, node)
            while name:
                async with asyncio.timeout(LEASE_S):
                    message = await peer.receive()
                if message is None or self._peers.get(name) is not peer:
                    return
                await self._heard(name, message)
        except TimeoutError:
            pass
        finally:
            await self._left(name, peer)

    async def _first(self, peer: AgentPeer) -> Hello | None:
        async with asyncio.timeout(HELLO_S):
            message = await peer.receive()
        if isinstance(message, Hello):
            return message
        if message is not None:
            await peer.send(_refusal("agent-no-hello", "an agent's first message says what it has; this one did not."))
        return None

    async def _welcome(self, peer: AgentPeer, hello: Hello, bound: str) -> str:
        found = await self._node_of(hello)
        if found is None:
            told = (
                f"the engine has no node {hello.hostname} (its nodes: {', '.join(sorted(self.control.cluster.nodes))})."
            )
            await peer.send(_refusal("agent-unknown-node", told, "Join the host to the engine first."))
            return ""
        if bound and bound not in (found.name, found.hostname):
            told = f"this token is for node {bound}, and the agent runs on {found.name}."
            hint = f"berth token create --role agent --node {found.name} > FILE"
            await peer.send(_refusal("agent-wrong-node", told, hint, final=True))
            return ""
        await self._replace(found.name, peer, hello.instance)
        await peer.send(Welcome(lease_s=LEASE_S, node=found.name))
        told = f"the agent of {found.name} is here (version {hello.agent})"
        await self.control.writer.commit((self.control.note("agent-joined", told, node=found.name),))
        await self._hello(found, hello)
        return found.name

    async def _node_of(self, hello: Hello) -> Node | None:
        """The node by the engine's own id, else by hostname; a look is taken when it is not known yet."""
        for attempt in range(2):
            nodes = [node for node in self.control.cluster.nodes.values() if not node.gone]
            ids = {hello.swarm_node_id, hello.engine_id} - {""}
            by_id = [node for node in nodes if node.engine_id in ids]
            by_name = [node for node in nodes if node.hostname == hello.hostname]
            if by_id or len(by_name) == 1:
                return (by_id or by_name)[0]
            if attempt == 0:
                await self.control.refresh()
        return None

    async def _replace(self, name: str, peer: AgentPeer, instance: str) -> None:
        old, self._peers[name] = self._peers.get(name), peer
        if old is not None:
            if self._instances.get(name) != instance:
                text = f"a second agent speaks for node {name}: the older one was sent away"
                await self.control.writer.commit((self.control.note("agent-twice", text, node=name),))
            await old.close()
        self._instances[name] = instance

    async def _hello(self, node: Node, hello: Hello) -> None:
        control = self.control
        self._versions[node.name] = hello.agent
        has_cards = hello.vendor != ""
        facts = {
            "agent": hello.agent if has_cards else node.agent,
            "agent_up": True,
            "group_ids": hello.group_ids,
            "seen_at": control.clock.now(),
            "flag": _flag(hello.problems),
        }
        if has_cards:
            await put_inventory(control, node, hello.cards, **facts)
        else:
            await change_node(control, node.name, lambda now: msgspec.structs.replace(now, **facts))
        self._foreign(node.name, hello.foreign)
        self.first_hello.set()
        for saw in hello.containers:
            await found_wrong_cards(self.control, node.name, saw)

    async def _heard(self, name: str, message: Up) -> None:
        match message:
            case Hello():
                await self._hello(self.control.cluster.nodes[name], message)
            case Cards(cards=cards, problems=problems):
                node = self.control.cluster.nodes[name]
                agent = node.agent or self._versions.get(name, "")
                await put_inventory(self.control, node, cards, agent=agent, flag=_flag(problems))
            case Foreign(uses=uses):
                self._foreign(name, uses)
            case Container():
                self._container(message)
            case Saw():
                await found_wrong_cards(self.control, name, message)
            case Uses(uses=uses):
                self.control.uses.update({use.uuid: use for use in uses})
            case FoundImage():
                self.control.images.heard(name, message)
            case Heartbeat():
                pass

    def _container(self, message: Container) -> None:
        """A signal that nobody at Berth asked for is a person's: the end that follows is a failure, whatever code."""
        task = self.control.cluster.task(message.task)
        asked = task is None or task.attempt != message.attempt or task.state != "running"
        if message.action in ("kill", "stop") and not asked:
            self.control.killed.keep(message.container)
        if message.oom:
            self.control.oom.keep(message.container)
        self.control.wake("observe")

    def _foreign(self, name: str, uses: tuple[ForeignUse, ...]) -> None:
        """Cards that containers of others were given by explicit request; unnamed ones take the whole node."""
        control = self.control
        mine = control.cluster.ledger.on_node(name)
        found: dict[str, str] = {}
        for use in uses:
            text = f"used by {use.who}, not started by Berth"
            found.update(dict.fromkeys(use.cards or mine, text))
        kept = {uuid: text for uuid, text in control.agent_foreign.items() if uuid not in mine}
        control.agent_foreign = {**kept, **{uuid: text for uuid, text in found.items() if uuid in mine}}
        control.wake("observe")

    async def _left(self, name: str, peer: AgentPeer) -> None:
        with contextlib.suppress(OSError):
            await peer.close()
        if not name or self._peers.get(name) is not peer:
            return
        del self._peers[name]
        note = self.control.note("agent-silent", f"the agent of {name} is silent; work goes on", node=name)
        await change_node(self.control, name, lambda now: msgspec.structs.replace(now, agent_up=False), (note,))


def _flag(problems: tuple[Problem, ...]) -> str:
    """What the agent itself says against the node's cards."""
    return "; ".join(problem.message for problem in problems)


def _refusal(code: str, message: str, hint: str = "", final: bool = False) -> Refuse:
    return Refuse(problem=Problem(code=code, message=message, hint=hint), final=final)
