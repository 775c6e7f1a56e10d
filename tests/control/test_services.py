"""Which job stands for a service, in whatever order its jobs became known."""

from itertools import permutations

from berth.control.mirror.services import Services
from berth.model.job import Job
from tests import build


def job(job_id: str, submitted: float, ended: float | None) -> Job:
    """A job of the stack's only service."""
    return build.job(job_id, name="app_train", stack="app", submitted_at=submitted, ended_at=ended)


def test_of_jobs_that_ended_together_the_later_submitted_one_stands() -> None:
    first, second = job("z", 1.0, 9.0), job("a", 2.0, 9.0)
    for order in permutations((first, second)):
        services = Services({one.id: one for one in order})
        for one in order:
            services.add(one)
        assert services.of("app") == (second,)
        assert services.superseded() == {"z"}
        assert (list(services.before(second)), list(services.before(first))) == ([first], [])


def test_a_live_job_stands_before_one_that_ended() -> None:
    live, later = job("z", 1.0, None), job("a", 2.0, 9.0)
    for order in permutations((live, later)):
        services = Services({one.id: one for one in order})
        for one in order:
            services.add(one)
        assert services.of("app") == (live,)
