"""The private network of one testbed: a bridge, and one network namespace with its own cable per host."""

import re
from dataclasses import dataclass
from pathlib import Path

from .processes import TestbedError, run

NAMESPACES = Path("/run/netns")
LINKS = Path("/sys/class/net")


@dataclass(frozen=True)
class Network:
    """Names and addresses made from a prefix (`bt`) and the first three numbers of a subnet (`10.88.0`)."""

    prefix: str
    subnet: str

    def __post_init__(self) -> None:
        """Refuse names that the kernel or the clean-up could not tell apart."""
        if not re.fullmatch(r"[a-z]{1,8}", self.prefix):
            raise TestbedError(f"prefix {self.prefix!r}: use 1 to 8 small letters")
        if not re.fullmatch(r"\d{1,3}\.\d{1,3}\.\d{1,3}", self.subnet):
            raise TestbedError(f"subnet {self.subnet!r}: give its first three numbers, such as 10.88.0")

    @property
    def bridge(self) -> str:
        """Name of the bridge in the machine's own namespace."""
        return f"{self.prefix}br"

    @property
    def gateway(self) -> str:
        """Address of the machine itself on the bridge: here a server of the tests is seen by all hosts."""
        return f"{self.subnet}.254"

    def address(self, number: int) -> str:
        """Address of host `number`."""
        return f"{self.subnet}.{number}"

    def namespace(self, number: int) -> Path:
        """File that names the network namespace of host `number`."""
        return NAMESPACES / f"{self.prefix}{number}"

    def cable(self, number: int) -> str:
        """The machine's end of the cable to host `number`."""
        return f"{self.prefix}v{number}"

    def open(self) -> None:
        """Make the bridge, and let it forward even where another Docker closed the FORWARD chain."""
        if run(["ip", "-o", "-4", "address", "show", "to", f"{self.subnet}.0/24"]).stdout:
            raise TestbedError(f"this machine has an address in {self.subnet}.0/24 already: take another subnet")
        run(["ip", "link", "add", self.bridge, "type", "bridge"])
        run(["ip", "address", "add", f"{self.gateway}/24", "dev", self.bridge])
        run(["ip", "link", "set", self.bridge, "up"])
        run(["iptables", "-w", "10", "-I", *self._forward()])

    def is_open(self) -> bool:
        """Tell whether the bridge is there."""
        return (LINKS / self.bridge).exists()

    def add_host(self, number: int) -> None:
        """Make the namespace and the cable of host `number`; its end of the cable is called eth0."""
        name, cable = self.namespace(number).name, self.cable(number)
        run(["ip", "netns", "add", name])
        run(["ip", "link", "add", cable, "master", self.bridge, "type", "veth", "peer", "eth0", "netns", name])
        run(["ip", "link", "set", cable, "up"])
        inside = f"link set lo up\naddress add {self.address(number)}/24 dev eth0\nlink set eth0 up\n"
        run(["ip", "-n", name, "-batch", "-"], stdin=inside)

    def remove_host(self, number: int) -> None:
        """Take the namespace of host `number` away; its cable goes with it."""
        if (LINKS / self.cable(number)).exists():
            run(["ip", "link", "delete", self.cable(number)], check=False)
        if self.namespace(number).exists():
            run(["ip", "netns", "delete", self.namespace(number).name])

    def unplug(self, number: int) -> None:
        """Cut host `number` off from all others."""
        run(["ip", "link", "set", self.cable(number), "down"])

    def plug(self, number: int) -> None:
        """Connect host `number` again."""
        run(["ip", "link", "set", self.cable(number), "up"])

    def close(self) -> None:
        """Remove everything that carries this prefix, also what an earlier run left."""
        for number in self._numbers(NAMESPACES, "") | self._numbers(LINKS, "v"):
            self.remove_host(number)
        if self.is_open():
            run(["ip", "link", "delete", self.bridge])
        while run(["iptables", "-w", "10", "-D", *self._forward()], check=False).returncode == 0:
            pass

    def _forward(self) -> list[str]:
        return ["FORWARD", "-i", self.bridge, "-o", self.bridge, "-j", "ACCEPT"]

    def _numbers(self, folder: Path, infix: str) -> set[int]:
        names = [entry.name for entry in folder.iterdir()] if folder.exists() else []
        found = [re.fullmatch(rf"{self.prefix}{infix}(\d+)", name) for name in names]
        return {int(match[1]) for match in found if match}
