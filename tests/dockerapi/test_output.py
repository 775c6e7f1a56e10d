"""The daemon's stream of output becomes lines, whatever the pieces in which it arrives."""

from hypothesis import given
from hypothesis import strategies as st

from berth.dockerapi.output import Unpack, parse
from berth.ports import LogLine


def frame(stream: int, text: str) -> bytes:
    payload = text.encode()
    return bytes([stream, 0, 0, 0]) + len(payload).to_bytes(4, "big") + payload


@given(st.lists(st.integers(1, 40), min_size=1))
def test_pieces_do_not_matter(cuts: list[int]) -> None:
    raw = frame(1, "2026-12-02T08:54:16.051614299Z one\n") + frame(2, "2026-12-02T08:54:17Z zwei ü\n")
    unpack, lines = Unpack(), []
    for cut in [*cuts, len(raw)]:
        lines += list(unpack.feed(raw[:cut]))
        raw = raw[cut:]
    assert [(line.stream, line.text) for line in lines] == [("stdout", "one\n"), ("stderr", "zwei ü\n")]
    assert lines[0].time == 1796201656.0516143
    assert lines[1].time == 1796201657.0


def test_a_terminal_is_raw() -> None:
    unpack = Unpack(tty=True)
    lines = [*unpack.feed(b"2026-12-02T08:54:17Z a\r\n2026-12"), *unpack.feed(b"-02T08:54:18Z b"), *unpack.rest()]
    assert [line.text for line in lines] == ["a\r\n", "b"]


def test_a_line_without_a_stamp_is_kept() -> None:
    assert parse("stderr", b"broken") == LogLine(0.0, "stderr", "broken")
