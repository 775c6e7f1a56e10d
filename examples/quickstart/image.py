"""The image of the quickstart: one program of 64 bytes, so that nothing has to be downloaded.

It prints its environment (NVIDIA_VISIBLE_DEVICES among it) and waits until it is killed.
"""

import hashlib
import io
import json
import struct
import tarfile

NAME = "berth-quickstart:1"
CODE = bytes.fromhex(
    "4889e3488b0b488d5ccb10"  # envp: behind argv on the stack
    "488b334885f67424"  # the next string, or on to waiting
    "31d2803c16007404ffc2ebf6"  # its length
    "c604160affc2bf01000000b8010000000f05"  # write it with a newline
    "4883c308ebd4"
    "b8220000000f05ebf7"  # pause, for ever
)
"""Machine code for x86-64 Linux."""
BASE = 0x400000
HEADERS = 0x78


def archive() -> bytes:
    """The image as `docker load` takes it; the same bytes every time."""
    layer = _tar({"hello": (_elf(CODE), 0o755)})
    config = {
        "architecture": "amd64",
        "os": "linux",
        "config": {"Entrypoint": ["/hello"], "StopSignal": "SIGKILL"},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(layer).hexdigest()}"]},
    }
    manifest = [{"Config": "config.json", "RepoTags": [NAME], "Layers": ["layer.tar"]}]
    return _tar(
        {
            "config.json": (json.dumps(config).encode(), 0o644),
            "layer.tar": (layer, 0o644),
            "manifest.json": (json.dumps(manifest).encode(), 0o644),
        }
    )


def _elf(code: bytes) -> bytes:
    """The smallest executable around the code: ELF header, one loadable segment (System V ABI, chapter 4)."""
    size = HEADERS + len(code)
    header = struct.pack(
        "<16sHHIQQQIHHHHHH", b"\x7fELF\x02\x01\x01" + bytes(9), 2, 62, 1, BASE + HEADERS, 64, 0, 0, 64, 56, 1, 0, 0, 0
    )
    segment = struct.pack("<IIQQQQQQ", 1, 7, 0, BASE, BASE, size, size, 0x1000)
    return header + segment + code


def _tar(files: dict[str, tuple[bytes, int]]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, (data, mode) in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(data), mode
            tar.addfile(entry, io.BytesIO(data))
    return out.getvalue()
