"""What each error code means and what to do about it: the text of `berth explain CODE`, one entry per code, sorted."""

CODES: dict[str, str] = {
    "agent-blind": (
        "The agent may not look into running containers, so it cannot check that each sees exactly its cards. "
        "It runs as an ordinary user or in a container without the host's processes. "
        "Run `berth agent` as root on the host, or its container with `--pid=host`."
    ),
    "agent-elsewhere": (
        "An agent speaks for the host that it runs on: its cards, its processes. The Docker daemon that it was told to "
        "watch (by --docker-host, DOCKER_HOST or a context) is on another host. Start the agent on that host, "
        "or unset the variable."
    ),
    "agent-only": (
        "The stream of agents takes only tokens of role agent, and this was another one. Make one for the node with "
        "`berth token create --role agent --node NAME > F` and start the agent with `--token-file F`."
    ),
    "agent-refused": (
        "The server answered the agent with a no: the token is unknown, revoked, expired, or not one for agents. "
        "Make a new one on the server with `berth token create --role agent --node NAME > F` and start the agent with "
        "`--token-file F`. A server that was restored from a backup may have forgotten younger tokens."
    ),
    "agent-token": (
        "An agent's token keeps its own node's stream and opens nothing else, so that a node that was broken into can "
        "change nothing. For people and programs make another one: `berth token create --role user --name NAME`."
    ),
    "bad-address": (
        "The address of a server is http:// or https://, a host, and a port: `berth login "
        "https://berth.example.org:7700`. A name or password in it is not taken: the token goes into a file or is "
        "asked for."
    ),
    "bad-ca": (
        "The file given by --ca (or kept by `berth login`) cannot be read or is no certificate in PEM form. Name "
        "the PEM file of the authority that signed the server's certificate."
    ),
    "bad-certificate": (
        "The files given by --tls-cert and --tls-key cannot be read, are not in PEM form, or do not belong together. "
        "The certificate's file holds the server's own certificate first, then its chain; the key's file is not "
        "encrypted."
    ),
    "bad-constraint": (
        "A constraint is `key operator value`, for example `node.labels.zone == idc` or `gpu.memory >= 40GiB`. The "
        "key, the operator or the value at the marked place is not one of the language. Write what stands after the "
        "arrow; docs/constraints.md lists keys and operators."
    ),
    "bad-cursor": (
        "Lists come in pages, and `next` of one page names the following one. What was sent back is no such word, or "
        "comes from another list. Send `next` as it was, with the same query, or leave `cursor` out and begin anew."
    ),
    "bad-request": (
        "The request is not as the API takes it: a missing or misspelled field, a value of another type, or a body "
        "that is not JSON. The message names the field. All paths and bodies are described at /v1/openapi.json."
    ),
    "bad-settings": (
        "The file in which `berth login` and `berth up` keep the server's address cannot be read or is not JSON. "
        "Remove it and log in again with `berth login URL`."
    ),
    "bad-time": (
        "A time is written as a duration before now (`10m`, `1h30m`, `45s`, `2d`) or as RFC 3339 "
        "(`2026-01-31T08:00:00Z`). Without a zone UTC is meant."
    ),
    "bad-token-file": (
        "The token cannot be read: the file is missing, not yours to read, or holds something else than one "
        "token. Make a token with `berth token create --role user --name NAME` and name its file with `--token- "
        "file FILE`, or log in again with `berth login URL`."
    ),
    "bad-usage": (
        "The command line itself is wrong: a verb, a flag or a value that does not exist, or one that is missing. "
        "Type what stands after the arrow; `berth VERB --help` lists the flags of a verb with an example."
    ),
    "body-too-large": (
        "The server takes bodies up to 32 MiB. Split a list of jobs into several, and keep data out of stack files: "
        "mount it as a volume or put it into the image."
    ),
    "bug": (
        "Berth met something that its authors did not foresee. Run the command again with BERTH_DEBUG=1 before it "
        "and report what it shows together with the version that the message names. The server and running work "
        "are not affected by it."
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
    "changed-meanwhile": (
        "Two requests changed the same thing at the same moment; this one came second, and nothing of it was done. "
        "Look at the thing (`berth jobs`, `berth nodes`) and try again."
    ),
    "connection-lost": (
        "The connection broke while the server was answering, so it is not known whether the call had an effect. "
        "Look with `berth jobs` or `berth events`, then type the command again where it is needed."
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
    "key-reused": (
        "An Idempotency-Key stands for one request for a day: the same request under it gives the first answer again, "
        "another one is refused. Use a new random key for every new request, as the command line does."
    ),
    "key-too-long": ("An Idempotency-Key has at most 255 characters. A random word of 32 is enough."),
    "method-not-allowed": (
        "The path is there, but not with this method: for example, a job is cancelled with DELETE, not with POST. The "
        "header Allow of the answer lists the methods; /v1/openapi.json describes them."
    ),
    "no-server": (
        "Nothing answers at the address of the server. Start one with `berth up`, or name the one that you mean: "
        "`berth login URL` keeps it, `--server URL` and BERTH_SERVER name it for one call. On another machine "
        "look at its firewall, and at `berth up --listen`."
    ),
    "no-such-path": (
        "The API has nothing at this path. Check for a misspelled part, and that the version is in front (/v1/...). A "
        "newer client may know paths that an older server lacks: compare with `berth version`."
    ),
    "not-berth": (
        "Something answers at this address, but not as a Berth does: a proxy, another program, or a server with "
        "TLS that was called with http://. Use the address that `berth up` printed."
    ),
    "not-confirmed": (
        "The question on the terminal was not answered with y, so nothing was done. Answer y, or add `-y` to the "
        "command."
    ),
    "not-named": (
        "While deploying a stack the server asked for a file or a shell variable that the stack files do not "
        "name. The client sends only what the files name, so it stopped and nothing was sent. Check that you "
        "speak to your own server: `berth version`."
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
    "store-broken": (
        "The database that holds Berth's jobs and ledger does not work: its disk is full, its file is damaged or may "
        "not be written, or the PostgreSQL server does not answer. The message says which and what to do. What runs "
        "goes on; a damaged file can be put aside, for a new start reads back from the engine what runs there."
    ),
    "store-url": (
        "The value of --store is no database that Berth knows, or its driver is not installed. Write sqlite:///PATH "
        "(with an absolute path that makes four slashes), or postgresql://USER:PASSWORD@HOST/DATABASE after "
        "`pip install 'gpu-berth[server,postgres]'`. Without --store it is SQLite in the folder of --data."
    ),
    "superseded": (
        "Another Berth server has taken over this cluster, so this one writes no more and ends. Speak to the newer "
        "one; if that one was started by mistake, stop it and start this one again."
    ),
    "token-expired": (
        "The token was valid for a limited time that is over. Ask an admin for another one (`berth token create "
        "--role user --name NAME`), then `berth login URL` or `--token-file FILE`."
    ),
    "token-missing": (
        "The request carried no bearer token, and the server answers only /healthz without one. Log in once with "
        "`berth login URL`, or name a file with `--token-file FILE`. The first token is in the server's data folder: "
        "admin.token."
    ),
    "token-shown": (
        "The token was created by an earlier request under the same Idempotency-Key. Its secret is shown once and "
        "never written down, so it cannot be told again. Revoke it with `berth token revoke ID` and create another."
    ),
    "token-unknown": (
        "The server knows no such token: it is misspelled, was revoked, or belongs to another server. Log in again "
        "with `berth login URL`, or name the right file with `--token-file FILE`. A server restored from a backup may "
        "have forgotten younger tokens."
    ),
    "unknown-card": (
        "A card is asked for by a name that no known node has. Cards are named by their index on a node (`0`), by "
        "NODE/INDEX, or by their full UUID; a shortened UUID is not taken. `berth cards --json` lists them; a number "
        "of cards (`count: 2`, `--gpus 2`) takes any that match."
    ),
    "unknown-code": (
        "There is no error code of this name in this version. `berth explain` without a code lists all of them."
    ),
    "unreadable-file": (
        "A file that was named on the command line cannot be read, or is far larger than such a file can be. "
        "Check the path and its permissions; `-` stands for standard input where the verb says so."
    ),
    "untrusted-certificate": (
        "The server's certificate is not signed by an authority that this machine knows, or not for this name. "
        "Name the file of the authority with `--ca FILE` (`berth login URL --ca FILE` keeps it), or use the name "
        "that the certificate is for."
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
