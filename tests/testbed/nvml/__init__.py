"""A fake libnvidia-ml.so.1 and the writer of the file that it answers from."""

from .state import FakeCard, FakeNvml, FakeProcess, Xid

__all__ = ["FakeCard", "FakeNvml", "FakeProcess", "Xid"]
