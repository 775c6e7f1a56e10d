"""What each error code means and what to do about it: the text of `berth explain CODE`, one entry per code, sorted."""

CODES: dict[str, str] = {
    "agent-blind": (
        "The agent may not look into running containers, so it cannot check that each sees exactly its cards. "
        "It runs as an ordinary user or in a container without the host's processes. "
        "Run `berth agent` as root on the host, or its container with `--pid=host`."
    ),
    "card-lost": (
        "The driver lists a card that no longer answers: it fell off the bus, or has to be reset. "
        "Berth gives it no work and keeps what runs on the other cards. "
        "Look at `dmesg` for Xid messages and reset the card or restart the machine; the card comes back by itself."
    ),
    "cards-file": (
        "The file given by --cards cannot be read, or is not a JSON list of card objects. "
        "Each object may hold node, index, uuid, model, memory_mib, driver, cuda, nvlink, util, mem_used_mib and the "
        "other fields that `berth cards --json` prints. While Berth runs, the last good content stays in use."
    ),
    "declared-label": (
        "A gpu.* label on a node without an agent has a value that says nothing about cards. "
        "gpu.count and gpu.free are whole numbers, gpu.cards is a list of indices such as 2,3, gpu.memory is MiB or "
        "carries a unit. Correct it with `berth node label NODE KEY=VALUE`."
    ),
    "engine-away": (
        "The agent cannot reach the Docker daemon of its own node. It still reports cards, but sees no containers. "
        "Check that dockerd runs, that DOCKER_HOST names its socket, and that the agent's user may open it."
    ),
    "nvidia-bindings-missing": (
        "NVIDIA cards are read through the Python package nvidia-ml-py, which is not installed here. "
        "Install Berth with its agent parts: `pip install 'gpu-berth[agent]'`."
    ),
    "nvidia-driver-mismatch": (
        "The NVIDIA driver in the kernel has another version than its library, usually after an update of packages. "
        "New GPU work fails until they agree. Drain the node and restart it, or unload and load the nvidia modules."
    ),
    "nvidia-driver-not-loaded": (
        "NVIDIA's library is installed but its kernel driver is not loaded or finds no card. "
        "Try `modprobe nvidia` and read `dmesg`; after a kernel update the module may have to be built again."
    ),
    "nvidia-library-missing": (
        "libnvidia-ml.so.1 is not on this host, so no NVIDIA driver is installed. "
        "Install the driver of your distribution (`nvidia-smi` must work), or use --vendor declared or simulated."
    ),
    "nvidia-no-answer": (
        "A call to the NVIDIA driver has not come back for a long time, or ended in an error of the driver itself. "
        "Run `nvidia-smi` on the node: when it hangs too, the node has to be restarted. The agent goes on trying."
    ),
    "simulate-spec": (
        "The text after --simulate is not understood. Write NODE=MODEL:COUNT, more models of a node joined by +, "
        "more nodes by a comma, and * for every node: node1=A100-SXM4-80GB:4,node2=Tesla-V100-SXM2-16GB:2+A10-24GB:1"
    ),
    "simulate-unknown-node": (
        "--simulate or --cards names a node that the engine does not have. "
        "Use the names that the message lists, or * for every node."
    ),
    "vendor-unknown": (
        "--vendor takes auto, nvidia, declared or simulated. declared needs --cards FILE on an agent; "
        "simulated needs --simulate SPEC or --cards FILE."
    ),
    "wrong-cards": (
        "After its start a container saw other cards than Berth had granted, so it was stopped and its node flagged. "
        "The message names the cause: privileged mode, a device or cgroup rule of its own, or a container toolkit that "
        "maps UUIDs to other cards. Mend that on the node, then `berth requeue JOB`."
    ),
}
"""Code -> two to four sentences with the remedy."""
