"""Where built parts are kept between runs, and the locks that let several testbeds share them."""

import fcntl
import os
import pwd
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


def cache_folder() -> Path:
    """Return the folder of built parts: BERTH_TESTBED_CACHE, or berth-testbed under the user's cache."""
    chosen = os.environ.get("BERTH_TESTBED_CACHE")
    home = os.environ.get("HOME") or pwd.getpwuid(os.getuid()).pw_dir
    folder = Path(chosen or Path(home) / ".cache" / "berth-testbed")
    folder.mkdir(parents=True, exist_ok=True)
    return folder.resolve()


@contextmanager
def locked(name: str) -> Iterator[None]:
    """Hold the lock of this name; other processes wait until it is free."""
    with open(cache_folder() / f"{name}.lock", "w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def made_once(name: str, make: Callable[[Path], None]) -> Path:
    """Return the cached folder of this name; the first caller fills it, and nobody ever sees it half full."""
    folder = cache_folder() / name
    if folder.exists():
        return folder
    with locked(name):
        if not folder.exists():
            draft = Path(tempfile.mkdtemp(prefix=f"{name}.", dir=cache_folder()))
            try:
                make(draft)
                draft.chmod(0o755)
                draft.rename(folder)
            finally:
                shutil.rmtree(draft, ignore_errors=True)
    return folder
