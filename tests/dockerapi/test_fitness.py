"""Daemons that cannot carry Berth, and those that stand open."""

import pytest

from berth.dockerapi.address import Address, TlsFiles
from berth.dockerapi.failures import answered
from berth.dockerapi.fitness import open_door, refuse_rootless
from berth.model.errors import EngineConflict, EngineError, EngineUnknown, ImageAbsent, ObjectGone, StaleVersion

HERE = Address("unix:///run/user/1000/docker.sock")


def test_rootless_docker_is_refused_with_the_reason() -> None:
    with pytest.raises(EngineError, match="rootless") as refused:
        refuse_rootless(["name=seccomp,profile=default", "name=rootless"], HERE)
    assert refused.value.problems[0].code == "engine-rootless"
    refuse_rootless(["name=seccomp,profile=default"], HERE)
    refuse_rootless(None, HERE)


def test_a_port_without_tls_is_warned_about() -> None:
    assert "no TLS" in open_door(Address("tcp://gpu-1:2375"))[0]
    assert open_door(Address("tcp://gpu-1:2376", TlsFiles())) == ()
    assert open_door(HERE) == ()


@pytest.mark.parametrize(
    ("status", "message", "kind", "code"),
    [
        (500, "rpc error: code = Unknown desc = update out of sequence", StaleVersion, "stale-version"),
        (500, "rpc error: code = DeadlineExceeded desc = context deadline exceeded", EngineUnknown, "engine-undecided"),
        (504, "", EngineUnknown, "engine-undecided"),
        (404, "No such image: x:1", ImageAbsent, "image-absent"),
        (404, "service a not found", ObjectGone, "engine-object-gone"),
        (409, "name conflicts with an existing object", EngineConflict, "engine-conflict"),
        (503, "This node is not a swarm manager.", EngineError, "not-a-manager"),
        (400, "invalid reference format", EngineError, "engine-refused"),
    ],
)
def test_an_answer_is_a_no_or_not_known(status: int, message: str, kind: type[Exception], code: str) -> None:
    body = b'{"message": "%s"}' % message.encode()
    error = answered(status, body, "POST /services/create", changes=True)
    assert type(error) is kind
    assert error.problems[0].code == code


def test_a_question_that_times_out_at_the_manager_changed_nothing() -> None:
    error = answered(500, b'{"message": "context deadline exceeded"}', "GET /services", changes=False)
    assert type(error) is EngineError
