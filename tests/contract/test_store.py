"""One contract suite for every store: what a commit keeps, what it refuses, what the ledger says, what is forgotten."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from berth.model.card import Room, Share
from berth.model.change import (
    Batch,
    DoubleGrant,
    DropCard,
    DropFile,
    DropNode,
    DropStack,
    DropToken,
    Give,
    Note,
    PutAttempt,
    PutCard,
    PutFile,
    PutJob,
    PutNode,
    PutStack,
    PutTask,
    PutToken,
    Remember,
    RenameCard,
    Stale,
    Superseded,
    Take,
)
from berth.model.event import Event
from berth.model.job import Attempt, Network, Stack, Task
from berth.model.stored import KeptFile
from berth.model.token import Token
from berth.ports import Store
from tests import build
from tests.contract.stores import Place, postgres_place, sqlite_place


def submitted(job_id: str = "j1", slots: int = 1, **fields: object) -> Batch:
    """A job with waiting tasks."""
    return (PutJob(build.job(job_id, **fields)), *(PutTask(build.task(job_id, slot)) for slot in range(1, slots + 1)))


def ended(job_id: str, at: float, **fields: object) -> Batch:
    """A job that has ended, and of which nothing is left."""
    task = build.task(job_id, state="ended", ended_at=at)
    return (PutJob(build.job(job_id, ended_at=at, **fields)), PutTask(task))


def note(text: str = "m", time: float = 1.0, job: str = "") -> Note:
    """An event."""
    return Note(Event(kind="k", message=text, time=time, job=job))


def kept(store: Store, *batches: Batch) -> None:
    """Commit each, which must succeed."""
    assert store.commit(batches) == [None] * len(batches)


def refused(store: Store, batch: Batch) -> Exception:
    """Commit a batch that must be refused."""
    (problem,) = store.commit([batch])
    assert problem is not None
    return problem


def rooms(store: Store) -> dict[str, Room]:
    """What is left of each card; proves that it is what the grants leave."""
    loaded = store.load()
    for card, room in loaded.cards:
        shares = [share for _, share in loaded.grants if share.card == card.uuid]
        assert room.milli == 1000 - sum(share.milli for share in shares)
        assert room.mib == max(0, card.memory_mib - sum(share.mib for share in shares))
    return {card.uuid: room for card, room in loaded.cards}


def grants(store: Store) -> set[tuple[str, str, int, int]]:
    """The grants as plain rows."""
    return {(task, share.card, share.milli, share.mib) for task, share in store.load().grants}


class StoreContract:
    """What every store promises; `place` is given by the classes below."""

    @pytest.fixture
    def place(self) -> Place:
        raise NotImplementedError

    @pytest.fixture
    def store(self, place: Place) -> Iterator[Store]:
        place.open()
        yield place.store
        place.store.close()

    # values

    def test_a_new_store_is_empty(self, store: Store) -> None:
        loaded = store.load()
        assert (loaded.jobs, loaded.tasks, loaded.cards, loaded.last_event) == ([], [], [], 0)
        assert store.events(0, 10) == []

    def test_live_jobs_come_in_the_order_of_their_submission_whatever_their_ids(self, store: Store) -> None:
        same = (submitted("b", submitted_at=2.0, seq=1), submitted("a", submitted_at=2.0, seq=0))
        kept(store, submitted("d", submitted_at=3.0), *same, submitted("z", submitted_at=1.0))
        assert [job.id for job in store.load().jobs] == ["z", "a", "b", "d"]

    def test_what_was_committed_is_there_after_a_restart(self, place: Place, store: Store) -> None:
        card = build.card(nvlink=("GPU-x",), power_limit_w=400)
        job = build.job("j1", stack="s", warnings=("ünïcode 漢 \x00 \u2028",), submitted_at=1733130000.123456)
        task = build.task("j1", state="running", attempt=2, cards=(card.uuid,), failed_at=(1.5, 2.25), gone=False)
        node = build.node(labels={"gpu.free": "2"}, drain="maintenance", drain_grace_s=0.1)
        stack = Stack(name="s", networks=(Network(name="s_default", driver="overlay"),), deployed_at=5.0)
        token = Token(id="t1", hash="ab" * 32, role="user", name="ada", expires_at=9.5)
        batch = (PutJob(job), PutTask(task), PutNode(node), PutCard(card), PutStack(stack), PutToken(token))
        kept(store, (*batch, Take("j1.1", (Share(card.uuid, 1000, 81920),)), note("hello", 7.5, "j1")))
        after = place.again().load()
        assert (after.jobs, after.tasks, after.nodes) == ([job], [task], [node])
        assert (after.cards, after.grants) == ([(card, Room(0, 0))], [("j1.1", Share(card.uuid, 1000, 81920))])
        assert (after.stacks, after.tokens, after.last_event) == ([stack], [token], 1)
        assert place.store.events(0, 10) == [Event(kind="k", message="hello", time=7.5, job="j1", seq=1)]

    def test_a_job_is_found_by_id_with_its_tasks_by_slot(self, store: Store) -> None:
        kept(store, submitted("j1", slots=11), submitted("j2"))
        found = store.job("j1")
        assert found is not None
        assert found[0] == build.job("j1")
        assert [task.slot for task in found[1]] == list(range(1, 12))
        assert store.job("j3") is None

    def test_puts_replace_and_drops_remove(self, store: Store) -> None:
        stack, token, node = Stack(name="s"), Token(id="t", hash="h", role="user"), build.node()
        kept(store, (PutStack(stack), PutToken(token), PutNode(node)))
        changed = Stack(name="s", removing=True), Token(id="t", hash="h", role="admin"), build.node(drain="x")
        kept(store, (PutStack(changed[0]), PutToken(changed[1]), PutNode(changed[2])))
        loaded = store.load()
        assert (loaded.stacks, loaded.tokens, loaded.nodes) == ([changed[0]], [changed[1]], [changed[2]])
        kept(store, (DropStack("s"), DropToken("t"), DropNode("gpu-1")), (DropStack("s"), DropToken("t")))
        loaded = store.load()
        assert (loaded.stacks, loaded.tokens, loaded.nodes) == ([], [], [])

    def test_files_are_kept_as_they_are_sealed(self, place: Place, store: Store) -> None:
        one = KeptFile(id="f1", kind="secret", name="key", sealed=b"\x01\x00\xff", digest="d", size=3, user="ann")
        two = KeptFile(id="f2", kind="config", name="key", sealed=b"", digest="e", size=0, labels={"a": "b"})
        kept(store, (PutFile(one), PutFile(two)))
        store = place.again()
        assert store.load().files == [one, two]
        kept(store, (PutFile(msgspec.structs.replace(one, sealed=b"x")), DropFile("f2"), DropFile("gone")))
        assert [file.sealed for file in store.load().files] == [b"x"]

    def test_attempts_come_by_slot_then_attempt_and_the_last_word_stays(self, store: Store) -> None:
        def attempt(task: str, number: int, **fields: object) -> Attempt:
            return Attempt(task=task, attempt=number, node="gpu-1", cards=("a",), **fields)  # type: ignore[arg-type]

        shuffled = [attempt("j1.10", 1), attempt("j1.2", 2), attempt("j1.2", 1), attempt("j2.1", 1)]
        kept(store, *((PutAttempt(one),) for one in shuffled))
        closed = attempt("j1.2", 2, exit_code=137, reason="oom", ended_at=3.5)
        kept(store, (PutAttempt(closed),))
        assert store.attempts("j1") == [attempt("j1.2", 1), closed, attempt("j1.10", 1)]

    # versions

    def test_a_write_from_another_version_is_stale(self, store: Store) -> None:
        kept(store, submitted("j1"))
        newer = build.job("j1", priority=60, version=2)
        kept(store, (PutJob(newer, was=1),))
        assert isinstance(refused(store, (PutJob(build.job("j1", priority=70, version=2), was=1),)), Stale)
        assert isinstance(refused(store, (PutTask(build.task("j1", version=3), was=2),)), Stale)
        assert isinstance(refused(store, submitted("j1")), Stale)
        assert isinstance(refused(store, (PutJob(build.job("j9", version=2), was=1),)), Stale)
        assert isinstance(refused(store, (PutTask(build.task("j9")),)), Stale)
        assert store.load().jobs == [newer]

    def test_several_versions_in_one_commit(self, store: Store) -> None:
        task = build.task("j1")
        steps: list[Batch] = [submitted("j1")]
        for version in range(1, 6):
            new = msgspec.structs.replace(task, state="prepared", version=version + 1)
            steps.append((PutTask(new, was=version),))
        late = (PutTask(msgspec.structs.replace(task, version=3), was=2),)
        results = store.commit([*steps, late])
        assert results[:-1] == [None] * 6
        assert isinstance(results[-1], Stale)
        assert store.load().tasks == [msgspec.structs.replace(task, state="prepared", version=6)]

    def test_a_refused_batch_is_undone_alone(self, store: Store) -> None:
        wrong = (*submitted("j2"), note("from the refused one"), PutJob(build.job("j9", version=2), was=1))
        first, second, third = store.commit([(*submitted("j1"), note("a")), wrong, (*submitted("j3"), note("b"))])
        assert (first, third) == (None, None)
        assert isinstance(second, Stale)
        assert sorted(job.id for job in store.load().jobs) == ["j1", "j3"]
        assert [(event.seq, event.message) for event in store.events(0, 9)] == [(1, "a"), (2, "b")]

    def test_many_refused_among_many(self, store: Store) -> None:
        bad = {0, 7, 8, 50, 63}
        batches = [
            (*submitted(f"j{number}"), note(str(number)), *((PutJob(build.job("x"), was=5),) if number in bad else ()))
            for number in range(64)
        ]
        results = store.commit(batches)
        assert {number for number, problem in enumerate(results) if problem is not None} == bad
        assert len(store.load().jobs) == 64 - len(bad)
        events = store.events(0, 100)
        assert [event.seq for event in events] == list(range(1, 60))
        assert [int(event.message) for event in events] == [number for number in range(64) if number not in bad]

    def test_an_empty_commit(self, store: Store) -> None:
        assert store.commit([]) == []
        assert store.commit([()]) == [None]

    # the ledger

    def test_a_card_is_given_once(self, store: Store) -> None:
        card = build.card()
        kept(store, (PutCard(card),), submitted("j1"), submitted("j2"))
        kept(store, (Take("j1.1", build.whole(card)),))
        assert isinstance(refused(store, (Take("j2.1", build.whole(card)), note("never"))), DoubleGrant)
        assert rooms(store) == {card.uuid: Room(0, 0)}
        assert grants(store) == {("j1.1", card.uuid, 1000, 81920)}
        assert store.load().last_event == 0

    def test_two_who_want_the_last_card_in_one_commit(self, store: Store) -> None:
        cards = [build.card(index=index) for index in range(2)]
        kept(store, tuple(PutCard(card) for card in cards), submitted("j1"), submitted("j2"))
        first, second = store.commit([(Take("j1.1", build.whole(*cards)),), (Take("j2.1", build.whole(cards[1])),)])
        assert first is None
        assert isinstance(second, DoubleGrant)
        assert rooms(store) == {card.uuid: Room(0, 0) for card in cards}

    def test_a_take_is_whole_or_nothing(self, store: Store) -> None:
        cards = [build.card(index=index) for index in range(3)]
        kept(store, tuple(PutCard(card) for card in cards), submitted("j1"), submitted("j2"))
        kept(store, (Take("j1.1", build.whole(cards[2])),))
        assert isinstance(refused(store, (Take("j2.1", build.whole(*cards)),)), DoubleGrant)
        assert rooms(store)[cards[0].uuid] == Room(1000, 81920)

    def test_shares_of_one_card(self, store: Store) -> None:
        card = build.card(memory_mib=1000)
        kept(store, (PutCard(card),), submitted("j1", slots=4))
        kept(store, (Take("j1.1", (Share(card.uuid, 500, 400),)),), (Take("j1.2", (Share(card.uuid, 250, 400),)),))
        assert rooms(store) == {card.uuid: Room(250, 200)}
        assert isinstance(refused(store, (Take("j1.3", (Share(card.uuid, 250, 201),)),)), DoubleGrant)
        assert isinstance(refused(store, (Take("j1.3", (Share(card.uuid, 251, 200),)),)), DoubleGrant)
        kept(store, (Take("j1.3", (Share(card.uuid, 250, 200),)),), (Give("j1.1"),))
        assert rooms(store) == {card.uuid: Room(500, 400)}

    def test_what_is_not_there_cannot_be_taken(self, store: Store) -> None:
        card = build.card()
        kept(store, (PutCard(card),), submitted("j1"))
        assert isinstance(refused(store, (Take("j1.1", (Share("GPU-none", 1000, 0),)),)), DoubleGrant)
        assert isinstance(refused(store, (Take("j9.1", build.whole(card)),)), Stale)
        half = (Share(card.uuid, 500, 10),)
        assert isinstance(refused(store, (Take("j1.1", half), Take("j1.1", half))), DoubleGrant)
        assert isinstance(refused(store, (Take("j1.1", (Share(card.uuid, -1, 0),)),)), DoubleGrant)
        assert rooms(store) == {card.uuid: Room(1000, 81920)}

    def test_giving_back_twice_is_giving_back_once(self, store: Store) -> None:
        cards = [build.card(index=index) for index in range(8)]
        kept(store, tuple(PutCard(card) for card in cards))
        kept(store, *((*submitted(f"j{n}"), Take(f"j{n}.1", build.whole(card))) for n, card in enumerate(cards)))
        assert all(room == Room(0, 0) for room in rooms(store).values())
        kept(store, *((Give(f"j{n}.1"),) for n in (*range(8), 3)))
        assert sum(room.milli for room in rooms(store).values()) == 8000
        kept(store, (Give("j3.1"), Give("j3.1")), (Give("never"),))
        assert sum(room.milli for room in rooms(store).values()) == 8000

    def test_giving_back_named_cards_only(self, store: Store) -> None:
        cards = [build.card(index=index) for index in range(3)]
        other = build.card(index=3)
        kept(store, tuple(PutCard(card) for card in (*cards, other)), submitted("j1"), submitted("j2"))
        kept(store, (Take("j1.1", build.whole(*cards)), Take("j2.1", build.whole(other))))
        kept(store, (Give("j1.1", (cards[0].uuid, other.uuid, "GPU-none")), Give("j1.1", (cards[2].uuid,))))
        assert {row[:2] for row in grants(store)} == {("j1.1", cards[1].uuid), ("j2.1", other.uuid)}
        assert rooms(store)[cards[0].uuid] == Room(1000, 81920)

    def test_give_and_take_in_the_order_of_the_batches(self, store: Store) -> None:
        card = build.card()
        kept(store, (PutCard(card),), submitted("j1"), submitted("j2"))
        whole = build.whole(card)
        kept(
            store, (Take("j1.1", whole),), (Give("j1.1"),), (Take("j2.1", whole),), (Give("j2.1"), Take("j1.1", whole))
        )
        assert grants(store) == {("j1.1", card.uuid, 1000, 81920)}
        early, _ = store.commit([(Take("j2.1", whole),), (Give("j1.1"),)])
        assert isinstance(early, DoubleGrant)
        assert grants(store) == set()

    def test_a_card_of_unknown_memory_books_thousandths_only(self, store: Store) -> None:
        card = build.card(memory_mib=0)
        kept(store, (PutCard(card),), submitted("j1", slots=2))
        kept(store, (Take("j1.1", (Share(card.uuid, 500, 8000),)),))
        assert rooms(store) == {card.uuid: Room(500, 0)}
        assert grants(store) == {("j1.1", card.uuid, 500, 0)}
        kept(store, (PutCard(build.card(memory_mib=16000)),))
        assert rooms(store) == {card.uuid: Room(500, 16000)}
        kept(store, (Give("j1.1"),))
        assert rooms(store) == {card.uuid: Room(1000, 16000)}

    def test_new_facts_of_a_card_leave_its_bookings(self, store: Store) -> None:
        card = build.card(memory_mib=16000)
        kept(store, (PutCard(card),), submitted("j1", slots=2))
        kept(store, (Take("j1.1", (Share(card.uuid, 500, 8000),)), Take("j1.2", (Share(card.uuid, 250, 8000),))))
        kept(store, (PutCard(build.card(memory_mib=20000, driver="550.54")),))
        assert rooms(store) == {card.uuid: Room(250, 4000)}
        kept(store, (PutCard(build.card(memory_mib=10000)),))
        assert rooms(store) == {card.uuid: Room(250, 0)}
        kept(store, (Give("j1.1"),))
        assert rooms(store) == {card.uuid: Room(750, 2000)}
        kept(store, (Give("j1.2"),))
        assert store.load().cards == [(build.card(memory_mib=10000), Room(1000, 10000))]

    def test_a_declared_card_is_found_and_its_grant_follows(self, store: Store) -> None:
        declared = build.card(uuid="gpu-1/0", declared=True, memory_mib=16384)
        found = build.card(uuid="GPU-real", memory_mib=16160)
        kept(store, (PutCard(declared),), submitted("j1"), (Take("j1.1", build.whole(declared)),))
        kept(store, (RenameCard("gpu-1/0", found),))
        assert store.load().cards == [(found, Room(0, 0))]
        assert grants(store) == {("j1.1", "GPU-real", 1000, 16384)}
        kept(store, (Give("j1.1"),))
        assert rooms(store) == {"GPU-real": Room(1000, 16160)}
        assert isinstance(refused(store, (RenameCard("gpu-1/0", found),)), Stale)

    def test_a_rename_onto_a_used_card_is_no_way_to_give_it_twice(self, store: Store) -> None:
        one, two = build.card(index=0), build.card(index=1)
        kept(store, (PutCard(one), PutCard(two)), submitted("j1"), submitted("j2"))
        kept(store, (Take("j1.1", build.whole(one)), Take("j2.1", build.whole(two))))
        assert isinstance(refused(store, (RenameCard(one.uuid, two),)), DoubleGrant)
        kept(store, (Give("j2.1"), RenameCard(one.uuid, two)))
        assert grants(store) == {("j1.1", two.uuid, 1000, 81920)}
        assert rooms(store) == {two.uuid: Room(0, 0)}

    def test_a_card_that_is_held_cannot_be_dropped(self, store: Store) -> None:
        card = build.card()
        kept(store, (PutCard(card),), (*submitted("j1"), Take("j1.1", build.whole(card))))
        assert isinstance(refused(store, (DropCard(card.uuid),)), Stale)
        kept(store, (Give("j1.1"), DropCard(card.uuid)))
        assert store.load().cards == []
        kept(store, (DropCard(card.uuid),))

    # events, answers, facts

    def test_events_are_numbered_without_gaps_and_found_by_job(self, place: Place, store: Store) -> None:
        kept(store, (note("a", job="j1"), note("b")), (note("c", job="j1"),))
        place.again()
        kept(place.store, (note("d", job="j1"),))
        assert [(event.seq, event.message) for event in place.store.events(0, 3)] == [(1, "a"), (2, "b"), (3, "c")]
        assert [event.seq for event in place.store.events(1, 10, "j1")] == [3, 4]
        assert place.store.events(4, 10) == []

    def test_of_two_requests_with_one_key_one_has_an_effect(self, store: Store) -> None:
        answer = Remember("ada:k1", "hash", b'{"id":"j1"}\x00\xff', 5.0)
        kept(store, (*submitted("j1"), answer))
        assert store.remembered("ada:k1") == ("hash", b'{"id":"j1"}\x00\xff')
        assert store.remembered("ada:k2") is None
        first, second = store.commit(
            [(*submitted("j2"), Remember("k", "h", b"1", 1.0)), (*submitted("j3"), Remember("k", "h", b"2", 1.0))]
        )
        assert first is None
        assert isinstance(second, Stale)
        assert store.job("j3") is None

    def test_small_facts(self, place: Place, store: Store) -> None:
        assert store.meta("engine") is None
        store.set_meta("engine", "swarm a")
        store.set_meta("engine", "swarm b")
        assert place.again().meta("engine") == "swarm b"

    # one leader

    def test_each_start_raises_the_epoch(self, place: Place, store: Store) -> None:
        first = store.meta("epoch")
        assert first is not None
        assert place.again().meta("epoch") == str(int(first) + 1)

    def test_a_superseded_leader_writes_nothing_more(self, store: Store) -> None:
        kept(store, submitted("j1"))
        store.set_meta("epoch", "99")
        with pytest.raises(Superseded):
            store.commit([submitted("j2")])
        with pytest.raises(Superseded):
            store.commit([submitted("j2"), (PutJob(build.job("x"), was=5),)])
        with pytest.raises(Superseded):
            store.set_meta("engine", "x")
        with pytest.raises(Superseded):
            store.prune(9e9, 9e9, 9e9)
        assert [job.id for job in store.load().jobs] == ["j1"]

    # what has ended

    def test_load_brings_the_newest_ended_jobs_and_all_that_is_of_use(self, store: Store) -> None:
        card = build.card()
        kept(store, (PutCard(card), PutStack(Stack(name="up"))))
        held = build.task("held", state="ended", ended_at=1.0)
        kept(store, (PutJob(build.job("held", ended_at=1.0)), PutTask(held), Take("held.1", build.whole(card))))
        open_ = build.task("open", state="failed", ended_at=1.1, gone=False)
        kept(store, (PutJob(build.job("open", ended_at=1.1)), PutTask(open_)))
        kept(store, ended("stacked", 1.2, stack="up"), ended("old", 1.3, stack="down"))
        kept(store, *(ended(f"e{number:04}", 10.0 + number) for number in range(1000)))
        kept(store, submitted("live2", seq=2), submitted("live1", seq=1))
        loaded = store.load()
        ids = [job.id for job in loaded.jobs]
        assert ids[:3] == ["held", "open", "stacked"]
        assert ids[3:-2] == [f"e{number:04}" for number in range(1000)]
        assert ids[-2:] == ["live1", "live2"]
        assert {task.job for task in loaded.tasks} == set(ids)

    def test_ended_jobs_come_newest_first_by_pages(self, store: Store) -> None:
        kept(store, *(ended(f"j{number}", float(number), name="a" if number % 2 else "b") for number in range(6)))
        kept(store, submitted("live", name="a"))
        page = store.ended_jobs(4.0, 2)
        assert [(job.id, [task.id for task in tasks]) for job, tasks in page] == [("j3", ["j3.1"]), ("j2", ["j2.1"])]
        assert [job.id for job in store.find_ended("a")] == ["j5", "j3", "j1"]
        assert [job.id for job in store.find_ended("a", 1)] == ["j5"]

    def test_pruning_forgets_what_is_old_and_of_no_use(self, place: Place, store: Store) -> None:
        card = build.card()
        kept(store, (PutCard(card), PutStack(Stack(name="up"))), submitted("live"))
        kept(store, *(ended(f"j{number}", float(number)) for number in range(4)), ended("stacked", 1.0, stack="up"))
        held = build.task("held", state="ended", ended_at=1.0)
        kept(store, (PutJob(build.job("held", ended_at=1.0)), PutTask(held), Take("held.1", build.whole(card))))
        attempts = (Attempt(task=f"j{n}.1", attempt=1, node="n", cards=()) for n in (1, 3))
        kept(store, tuple(PutAttempt(one) for one in attempts))
        kept(store, (Remember("old", "h", b"", 1.0), Remember("new", "h", b"", 5.0)))
        kept(store, tuple(note(str(time), float(time)) for time in range(4)))
        assert store.prune(events_before=2.0, jobs_before=2.0, remembered_before=2.0) == ["j0", "j1"]
        assert sorted(job.id for job in store.load().jobs) == ["held", "j2", "j3", "live", "stacked"]
        assert store.job("j1") is None
        assert (store.attempts("j1"), len(store.attempts("j3"))) == ([], 1)
        assert (store.remembered("old"), store.remembered("new")) == (None, ("h", b""))
        assert [event.seq for event in store.events(0, 9)] == [3, 4]
        store.prune(9e9, 0.0, 0.0)
        assert place.again().load().last_event == 4
        kept(place.store, (note("next"),))
        assert [event.seq for event in place.store.events(0, 9)] == [4, 5]

    def test_a_thousand_updates_in_one_commit(self, store: Store) -> None:
        cards = [build.card(f"gpu-{number // 8}", number % 8) for number in range(400)]
        kept(store, tuple(PutCard(card) for card in cards), *(submitted(f"j{number}") for number in range(400)))

        def granted(number: int) -> Task:
            return build.task(f"j{number}", state="starting", attempt=1, cards=(cards[number].uuid,), version=2)

        kept(store, *((PutTask(granted(n), was=1), Take(f"j{n}.1", build.whole(cards[n]))) for n in range(400)))
        assert all(room == Room(0, 0) for room in rooms(store).values())
        kept(store, *((Give(f"j{number}.1"), note()) for number in range(400)))
        assert all(room == Room(1000, 81920) for room in rooms(store).values())
        assert {task.version for task in store.load().tasks} == {2}


class TestMemory(StoreContract):
    @pytest.fixture
    def place(self) -> Place:
        return Place("memory:")


class TestSqlite(StoreContract):
    @pytest.fixture
    def place(self, tmp_path: Path) -> Place:
        return sqlite_place(tmp_path)


class TestPostgres(StoreContract):
    @pytest.fixture
    def place(self, postgres_server: str) -> Place:
        return postgres_place(postgres_server)
