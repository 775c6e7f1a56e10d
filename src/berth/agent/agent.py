"""The node agent: it looks at cards (`inventory`) and containers (`watch`), and tells the server over `link`.

What the server does on its side (`AgentPeer`, messages in `model.wire`), once per connection:
1. The WebSocket `/v1/agents/stream` is opened with a bearer token of role agent; the token's node is the only node that
   this connection may speak for. HTTP 401 or 403 refuses it.
2. The first message is Hello, with everything; the server answers Welcome or Refuse within 10 s. A Hello may come again
   at any time and replaces all that was known of the node's cards, containers and foreign uses.
3. Then Cards, Uses, Foreign, Container and Saw as things happen, and Heartbeat when nothing did. Any message renews the
   lease, which runs on the server's clock alone; `at` in Container is the node's clock, to show only.
4. When a second connection comes for the same node the older is closed; another `instance` is another process.
Container events that happened while no server was there follow the next Hello, oldest first, the newest 1,000.
"""

import asyncio
import logging
import random
import uuid
from collections import deque
from collections.abc import Callable

import msgspec

from berth import __version__
from berth.agent import host
from berth.agent.inventory import Inventory
from berth.agent.link import Link, LinkDown, Stream
from berth.agent.looker import KnownCards
from berth.agent.strangers import merged, strangers
from berth.agent.watch import Daemon, Hearer, Watch
from berth.dockerapi.address import Address
from berth.model.card import Use
from berth.model.errors import BadInput, Problem, Refused
from berth.model.wire import (
    Cards,
    Container,
    Down,
    FindImage,
    Foreign,
    ForeignUse,
    FoundImage,
    Heartbeat,
    Hello,
    Refresh,
    Refuse,
    Up,
    Uses,
    Welcome,
)
from berth.ports import Vendor

log = logging.getLogger("berth.agent")
WELCOME_S = 10.0
RETRY_S = (0.3, 10.0)
KEPT_EVENTS = 1000


class AgentSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What the composition root chose. `vendor` makes the vendor for a node's name (see `vendors.detect`).

    `required`: the vendor was asked for by name, so that a missing driver is a problem to tell. `docker` is the
    node's own daemon (None: no containers are watched). `node` overrides the name that the daemon or host gives.
    """

    vendor: Callable[[str], Vendor]
    required: bool = False
    docker: Address | None = None
    node: str = ""
    interval_s: float = 10.0


async def run_agent(settings: AgentSettings, link: Link) -> None:
    """Run until cancelled. The server may be away for any time; the agent goes on and comes back to it.

    Raises Refused when the server says no at the first connection, or finally; BadInput for a daemon that is not this
    host's own (its cards and processes would be taken for that one's), and from the vendor's making.
    """
    if settings.docker and not host.is_own(settings.docker.url):
        message = f"The agent has to run on its node itself, and {settings.docker.url} is another host's Docker daemon."
        raise BadInput.of(
            "agent-elsewhere", message, "Start it there, or name this host's socket: unix:///run/docker.sock"
        )
    try:
        await Agent(settings, link).run()
    except BaseExceptionGroup as errors:
        raise _first(errors) from None


class Agent:
    """One agent. What happens goes into the outbox; `_converse` sends it while a server listens.

    `_open`: Hello was made for this connection, so that what happens now has to follow it. `_listening`: the server
    welcomed it. `_known`: some server did, ever.
    """

    def __init__(self, settings: AgentSettings, link: Link) -> None:
        self._settings, self._link = settings, link
        self._instance = uuid.uuid4().hex
        self._watch = self._make_watch(settings.docker) if settings.docker else None
        self._inventory: Inventory | None = None
        self._ready = asyncio.Event()
        self._poke = asyncio.Event()
        self._outbox: deque[Up] = deque(maxlen=KEPT_EVENTS)
        self._mail = asyncio.Event()
        self._open = self._listening = self._known = False
        self._told: tuple[Use, ...] = ()
        self._foreign: tuple[ForeignUse, ...] = ()
        self._pids: set[int] = set()
        self._groups = host.group_ids()

    async def run(self) -> None:
        """Look and tell, until cancelled."""
        async with asyncio.TaskGroup() as group:
            if self._watch:
                group.create_task(self._watch.run())
            group.create_task(self._look_often())
            group.create_task(self._keep_connected())

    def _make_watch(self, docker: Address) -> Watch:
        hearer = Hearer(say=self._say, renewed=self._say_hello, changed=self._say_foreign)
        return Watch(docker, self._known_cards, hearer)

    def _known_cards(self) -> KnownCards:
        return KnownCards(self._inventory.cards, self._inventory.strict) if self._inventory else KnownCards()

    @property
    def _engine(self) -> Daemon:
        return self._watch.facts if self._watch else Daemon()

    @property
    def _hostname(self) -> str:
        return self._settings.node or self._engine.hostname or host.hostname()

    # Looking

    async def _look_often(self) -> None:
        """Look at the cards every interval and when poked; the vendor is made anew when the node gets another name."""
        if self._watch:
            await self._watch.known.wait()
        named = ""
        while True:
            if named != self._hostname or self._inventory is None:
                named = self._hostname
                self._inventory = Inventory(self._settings.vendor(named), self._settings.required)
            changed = await self._inventory.look()
            await self._looked(self._inventory, changed)
            self._poke.clear()
            await _event_or(self._poke, self._settings.interval_s)

    async def _looked(self, inventory: Inventory, changed: bool) -> None:
        if not self._ready.is_set():
            await self._first_look()
        elif changed:
            self._say(self._cards(inventory))
            if self._watch:
                await self._watch.look_at_all()
        self._say_foreign()
        self._pids = {pid for use in inventory.uses for pid in use.pids}
        if self._told != inventory.uses:
            self._told = inventory.uses
            self._say(Uses(inventory.uses))

    async def _first_look(self) -> None:
        if self._watch:
            self._watch.inventoried.set()
            await self._watch.read.wait()
        self._ready.set()

    # Telling

    def _say(self, message: Up) -> None:
        """Put a message into the outbox. While no server listens only events are kept: Hello will tell the rest."""
        if self._open or isinstance(message, Container):
            self._outbox.append(message)
            self._mail.set()

    def _say_hello(self) -> None:
        """Say everything again, and soon look at the cards again: the node's name may be another now."""
        self._poke.set()
        if self._open:
            self._say(self._hello())

    def _say_foreign(self) -> None:
        """Say who else uses cards, when that changed."""
        found = self._find_foreign()
        if found != self._foreign:
            self._foreign = found
            self._say(Foreign(found))

    def _find_foreign(self) -> tuple[ForeignUse, ...]:
        """Who else uses cards now; while the daemon is away nobody can tell whose a process is, so all stays."""
        watch = self._watch
        if watch is None or watch.problem or not watch.read.is_set():
            return self._foreign
        asked = [other.use for other in watch.others.values() if other.asked]
        others = {container: other.use for container, other in watch.others.items()}
        uses = self._inventory.uses if self._inventory else ()
        return merged(asked, strangers(uses, others, watch.alive, self._pids))

    def _hello(self) -> Hello:
        engine, inventory, watch = self._engine, self._inventory, self._watch
        self._foreign = self._find_foreign()
        docker = {"docker": engine.version, "cgroup": engine.cgroup} if engine.id else {}
        return Hello(
            hostname=self._hostname,
            instance=self._instance,
            agent=__version__,
            engine_id=engine.id,
            swarm_node_id=engine.swarm_node_id,
            vendor=inventory.vendor if inventory else "",
            cards=inventory.cards if inventory else (),
            group_ids=self._groups,
            facts={**host.facts(), **docker},
            containers=tuple(watch.saws.values()) if watch else (),
            foreign=self._foreign,
            problems=self._problems(),
        )

    def _cards(self, inventory: Inventory) -> Cards:
        return Cards(vendor=inventory.vendor, cards=inventory.cards, problems=self._problems())

    def _problems(self) -> tuple[Problem, ...]:
        found = self._inventory.problems if self._inventory else ()
        return (*found, *(self._watch.problems if self._watch else ()))

    # The connection

    async def _keep_connected(self) -> None:
        """Connect, converse, and again: at once after a good conversation, then slower and slower, up to 10 s."""
        await self._ready.wait()
        pause = RETRY_S[0]
        while True:
            self._listening = False
            try:
                await self._converse(await self._link.connect())
            except LinkDown as error:
                if error.refused and not self._known:
                    raise Refused(error.problem) from None
                pause = RETRY_S[0] if self._listening else pause
                log.log(logging.WARNING if pause == RETRY_S[0] else logging.DEBUG, "%s", error)
            await asyncio.sleep(pause * random.uniform(0.5, 1.0))  # noqa: S311 - spreads agents, guards nothing
            pause = min(pause * 2, RETRY_S[1])

    async def _converse(self, stream: Stream) -> None:
        """One connection from Hello to its end. Raises LinkDown, or Refused when the server's no is final."""
        self._open = True
        try:
            lease_s = await self._introduce(stream)
            async with asyncio.TaskGroup() as group:
                group.create_task(self._send(stream, lease_s))
                group.create_task(self._receive(stream))
        except BaseExceptionGroup as errors:
            raise _first(errors) from None
        finally:
            self._open = False
            self._outbox = deque((said for said in self._outbox if isinstance(said, Container)), KEPT_EVENTS)
            await stream.close()

    async def _introduce(self, stream: Stream) -> float:
        """Say hello and be welcomed; the lease in seconds. Raises LinkDown, or Refused when that is final."""
        await stream.send(self._hello())
        self._told = self._inventory.uses if self._inventory else ()
        try:
            async with asyncio.timeout(WELCOME_S):
                answer = await stream.receive()
        except TimeoutError:
            problem = Problem(code="no-server", message="The server did not answer the agent's hello.")
            raise LinkDown(problem) from None
        if isinstance(answer, Refuse):
            raise Refused(answer.problem) if answer.final else LinkDown(answer.problem)
        if not isinstance(answer, Welcome):
            problem = Problem(code="no-server", message="The server did not welcome the agent's hello.")
            raise LinkDown(problem)
        self._known = self._listening = True
        log.info("connected as %s", answer.node)
        self._say(Uses(self._told))
        return answer.lease_s

    async def _send(self, stream: Stream, lease_s: float) -> None:
        """Send what is in the outbox, and a heartbeat when a third of the lease passed without a word."""
        while True:
            while self._outbox:
                message = self._outbox.popleft()
                try:
                    await stream.send(message)
                except LinkDown:
                    self._outbox.appendleft(message)
                    raise
            self._mail.clear()
            if not await _event_or(self._mail, lease_s / 3):
                await stream.send(Heartbeat())

    async def _receive(self, stream: Stream) -> None:
        while True:
            await self._obey(await stream.receive())

    async def _obey(self, message: Down) -> None:
        match message:
            case FindImage(image=image):
                self._say(await self._watch.find_image(image) if self._watch else FoundImage(image=image))
            case Refresh():
                if self._watch:
                    await self._watch.look_at_all()
                self._say_hello()
            case Refuse(problem=problem, final=final):
                raise Refused(problem) if final else LinkDown(problem)
            case _:
                log.debug("nothing to do for %r", message)


async def _event_or(event: asyncio.Event, seconds: float) -> bool:
    """Wait for the event, at most `seconds`; True when it came."""
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return False
    return True


def _first(errors: BaseExceptionGroup[BaseException]) -> BaseException:
    found: BaseException = errors
    while isinstance(found, BaseExceptionGroup):
        found = found.exceptions[0]
    return found
