"""One server: store, engine, loop, API and local agent put together, and taken apart in the reverse order."""

import asyncio
import contextlib
import logging
from collections.abc import Coroutine
from pathlib import Path

from berth.agent import host
from berth.agent.agent import AgentSettings, run_agent
from berth.agent.link import InProcessLink
from berth.api.app import create_app
from berth.api.serve import Tls, serve
from berth.control.agents import Agents
from berth.control.context import Control, Settings
from berth.control.loop import Loop
from berth.control.mirror.cluster import Cluster
from berth.dockerapi.address import find
from berth.main.choose import Chosen, choose
from berth.main.clock import SystemClock
from berth.main.identity import admin_token, cluster_id, data_folder
from berth.main.inventory import Simulation
from berth.main.options import Options, check
from berth.model.errors import BerthError, Refused
from berth.ports import Store, StoreBroken, StoreInUse, StoreTooNew, Vendor
from berth.store import make_logs, make_store
from berth.vault import AesVault, read_or_make
from berth.vendors import detect, table

log = logging.getLogger("berth")
HELLO_S = 5.0
KEY_FILE = "secret.key"


class Server:
    """Made from options; `start` raises BerthError when it cannot work, `stop` leaves what runs running."""

    def __init__(self, options: Options) -> None:
        check(options)
        self.options = options
        self.clock = SystemClock()
        self._exit = contextlib.AsyncExitStack()
        self.chosen: Chosen
        self.control: Control
        self.loop: Loop
        self.token_file: Path

    async def start(self) -> None:
        """Open everything; once it returns, requests are answered and work is placed."""
        try:
            await self._start()
        except BaseException:
            await self._exit.aclose()
            raise

    async def stop(self) -> None:
        """Close everything in the reverse order."""
        await self._exit.aclose()

    async def unfit(self) -> str:
        """Returns, with the reason, when this server must end: another took over, or its mirror cannot be trusted."""
        taken = asyncio.create_task(self.loop.superseded.wait())
        lost = asyncio.create_task(self.control.writer.lost.wait())
        try:
            await asyncio.wait({taken, lost}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            taken.cancel()
            lost.cancel()
        if self.loop.superseded.is_set():
            return "Another server has taken over this cluster; this one has ended."
        return "The database did not say whether a write was kept; start the server again to read what it has."

    async def _start(self) -> None:
        data = data_folder(self.options.data)
        store = _open_store(self.options, data)
        self._exit.callback(store.close)
        self.chosen = await choose(self.options, self.clock)
        self._exit.push_async_callback(self.chosen.engine.close)
        self.control = await self._make_control(store, data)
        self._exit.push_async_callback(self.control.writer.close)
        self.loop = Loop(self.control, log.error)
        await self.loop.begin()
        self._exit.push_async_callback(self.loop.end)
        self.token_file = await admin_token(self.control, data)
        agents = Agents(self.control)
        await self._inventory(agents)
        await self._listen(agents)

    async def _make_control(self, store: Store, data: Path) -> Control:
        engine = self.chosen.engine
        _same_engine(store, engine.name, self.chosen.identity.id)
        cluster = Cluster(store.load())
        settings = Settings(cluster_id=cluster_id(data), engine=engine.name, address=self.options.address)
        control = Control(cluster, store, engine, self.clock, make_logs(data / "logs"), settings)
        control.vendors = table()
        control.vault = AesVault(read_or_make(data / KEY_FILE))
        control.host_groups = host.group_ids()
        return control

    async def _inventory(self, agents: Agents) -> None:
        """Simulated cards from the server, real ones from the agent in this process."""
        if self.chosen.simulation or self.options.cards:
            simulation = Simulation(self.control, self.chosen.simulation, self.options.cards)
            simulation.check()
            await simulation.tell()
            self._keep(simulation.keep(), "simulation")
        if self.chosen.engine.name != "simulated" and host.is_own(find(self.options.docker_host).url):
            self._keep(self._local_agent(agents), "agent")
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(HELLO_S):
                    await agents.first_hello.wait()

    async def _local_agent(self, agents: Agents) -> None:
        def vendor(node: str) -> Vendor:
            return detect("auto", node, self.chosen.simulation, self.options.cards)

        settings = AgentSettings(vendor=vendor, docker=find(self.options.docker_host))
        try:
            await run_agent(settings, InProcessLink(lambda peer: agents.serve(peer, "")))
        except BerthError as error:
            log.warning("the agent of this machine ended: %s", error)

    async def _listen(self, agents: Agents) -> None:
        app = create_app(self.control, agents)
        tls = (
            Tls(self.options.tls_cert, self.options.tls_key) if self.options.tls_cert and self.options.tls_key else None
        )
        try:
            running = await serve(app, self.options.host, self.options.port, tls)
        except OSError as error:
            raise Refused.of(
                "address-in-use",
                f"{self.options.host}:{self.options.port} cannot be listened on: {error.strerror or error}.",
                "Stop what listens there, or choose another: --listen 127.0.0.1:7701",
            ) from error
        self._exit.push_async_callback(running.stop)

    def _keep(self, work: Coroutine[object, object, None], name: str) -> None:
        task = asyncio.create_task(work, name=name)

        async def end() -> None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

        self._exit.push_async_callback(end)


def _open_store(options: Options, data: Path) -> Store:
    store = make_store(options.store or f"sqlite:///{data / 'berth.db'}")
    try:
        store.open()
    except StoreInUse as error:
        raise Refused.of(
            "already-running",
            f"another Berth runs on {data} ({error}).",
            "Use that one, or start this one with another --data DIR",
        ) from error
    except StoreTooNew as error:
        raise Refused.of(
            "database-too-new",
            f"the database in {data} was written by a newer Berth ({error}).",
            "Start it with that version, or with another --data DIR",
        ) from error
    except StoreBroken as error:
        raise BerthError.of("store-broken", str(error)) from error
    return store


def _same_engine(store: Store, name: str, identity: str) -> None:
    """A folder belongs to one engine: its ledger says nothing about another one's cards."""
    mine = f"{name} {identity}"
    known = store.meta("engine")
    if known is None:
        store.set_meta("engine", mine)
    elif known != mine:
        raise Refused.of(
            "other-engine",
            f"this data folder belongs to the engine {known}, and this is {mine}.",
            "Name that engine (--engine, --docker-host), or another --data DIR",
        )
