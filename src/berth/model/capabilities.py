"""What an engine can do, as a value that control and core ask instead of the engine's name."""

import msgspec


class Capabilities(msgspec.Struct, frozen=True, kw_only=True):
    """What an engine can do; control asks these, never the engine's name.

    `slot_objects`: a slot has an object of its own that exists before the run (prepare) and whose removal by a
    person is a cancel. `native`: the engine places services without cards itself. `node_labels`: nodes carry
    labels that Berth may write. `hints_all`: `changes` tells of every start and
    end, so that looking unasked is only a backstop. `images`: what runs comes from images that registries keep.
    `ingress`: a port can be published for the whole engine, not only on the node of a task.
    `container_keys`: it runs containers of one host, which take what services cannot: ipc, tmpfs, image mounts.
    """

    slot_objects: bool = False
    native: bool = False
    node_labels: bool = False
    hints_all: bool = False
    images: bool = False
    ingress: bool = False
    container_keys: bool = False
