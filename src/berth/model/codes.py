"""What each error code means and what to do about it: the text of `berth explain CODE`, one entry per code, sorted."""

CODES: dict[str, str] = {
    "address-in-use": (
        "Something else listens on the address that the server was to take, or this machine does not have it. See "
        "what it is with `ss -ltnp`, stop it, or choose another address: `berth up --listen 127.0.0.1:7701`."
    ),
    "admin-only": (
        "Nodes, cards, labels and tokens are changed by admins alone. The first admin's token is in the server's "
        "data folder (`admin.token`, readable by its owner); give it with `--token-file`, or keep it with `berth "
        "login URL`."
    ),
    "agent-blind": (
        "The agent may not look into running containers, so it cannot check that each sees exactly its cards. It "
        "runs as an ordinary user or in a container without the host's processes. Run `berth agent` as root on the "
        "host, or its container with `--pid=host`."
    ),
    "agent-elsewhere": (
        "An agent speaks for the host that it runs on: its cards, its processes. The Docker daemon that it was "
        "told to watch (by --docker-host, DOCKER_HOST or a context) is on another host. Start the agent on that "
        "host, or unset the variable."
    ),
    "agent-no-hello": (
        "An agent's first message says who it is and what cards it has; another one came. The agent and the server "
        "are probably of versions too far apart: bring both to the same one."
    ),
    "agent-only": (
        "The stream of agents takes only tokens of role agent, and this was another one. Make one for the node "
        "with `berth token create --role agent --node NAME > F` and start the agent with `--token-file F`."
    ),
    "agent-refused": (
        "The server answered the agent with a no: the token is unknown, revoked, expired, or not one for agents. "
        "Make a new one on the server with `berth token create --role agent --node NAME > F` and start the agent "
        "with `--token-file F`. A server that was restored from a backup may have forgotten younger tokens."
    ),
    "agent-token": (
        "An agent's token keeps its own node's stream and opens nothing else, so that a node that was broken into "
        "can change nothing. For people and programs make another one: `berth token create --role user --name "
        "NAME`."
    ),
    "agent-unknown-node": (
        "The engine has no node on which this agent could run, by its id or its hostname. Join the host to the "
        "Swarm first (`docker swarm join`), or start the server on that host's Docker."
    ),
    "agent-wrong-node": (
        "An agent's token is bound to one node, and the agent runs on another. Make a token for the right node: "
        "`berth token create --role agent --node NAME > F`."
    ),
    "already-running": (
        "Another Berth has this data folder open; two would write one ledger. Use that server (`berth cards` finds "
        "it), or start this one with another folder: `berth up --data DIR`."
    ),
    "ambiguous-card": (
        "A card is named by the beginning of its UUID, and several cards begin so. The message lists them: write "
        "one of them in full, or name it by NODE/INDEX; `berth cards` shows all."
    ),
    "ambiguous-job": (
        "Several jobs have this name, since names may repeat. The message lists their ids: name one of those "
        "instead, or see them all with `berth jobs --all`."
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
    "bad-card": (
        "A name in device_ids, NV_GPU or NVIDIA_VISIBLE_DEVICES is not that of a card. A card is named by its "
        "index on the node (0), its full UUID (GPU-... or MIG-...), or NODE/INDEX. `berth cards` lists them all; "
        "to take any card, ask for a number instead: count: 2."
    ),
    "bad-certificate": (
        "The files given by --tls-cert and --tls-key cannot be read, are not in PEM form, or do not belong "
        "together. The certificate's file holds the server's own certificate first, then its chain; the key's file "
        "is not encrypted."
    ),
    "bad-constraint": (
        "A constraint is `key operator value`, for example `node.labels.zone == idc` or `gpu.memory >= 40GiB`. The "
        "key, the operator or the value at the marked place is not one of the language. Write what stands after "
        "the arrow; docs/constraints.md lists keys and operators."
    ),
    "bad-cursor": (
        "Lists come in pages, and `next` of one page names the following one. What was sent back is no such word, "
        "or comes from another list. Send `next` as it was, with the same query, or leave `cursor` out and begin "
        "anew."
    ),
    "bad-docker-config": (
        "The docker CLI's configuration (`~/.docker/config.json` or a context's metadata) cannot be read as JSON. "
        "Mend or remove the file that the message names, or name the daemon yourself: `--docker-host "
        "unix:///var/run/docker.sock`."
    ),
    "bad-docker-host": (
        "The address of a Docker daemon is not one that Berth understands. Write `unix:///path/docker.sock`, "
        "`tcp://host:2376` with TLS, `ssh://user@host`, or the name of a Docker context."
    ),
    "bad-docker-tls": (
        "The certificate files for the Docker daemon (ca.pem, cert.pem, key.pem in DOCKER_CERT_PATH or the "
        "context) cannot be used. Check that they are there, belong together and are readable."
    ),
    "bad-image": (
        "The name of the image is not one that an engine accepts. It is [REGISTRY/]NAME[:TAG] with small letters "
        "in NAME, or NAME@DIGEST. Nothing was created."
    ),
    "bad-job-name": (
        "A job's name has letters and digits, and - _ . between them, at most 63 characters. Leave it out to get "
        "one made up."
    ),
    "bad-json": (
        "The body of the request is not JSON. Send one job as an object or several as a list, in UTF-8; a job file "
        "in YAML goes with the content type application/yaml."
    ),
    "bad-listen": ("`--listen` takes HOST:PORT, for example 127.0.0.1:7700 or [::1]:7700; `:7700` means loopback."),
    "bad-mount": (
        "A mount cannot be read. The short form is /host/path:/path, NAME:/path or /path, with :ro at the end "
        "where it is only read; the long form needs type, target, and for a bind a source. A relative path starts "
        "at the directory of the client, which must be known; a path on the nodes is better written whole."
    ),
    "bad-port": (
        "An entry of ports is read as the docker CLI reads it: CONTAINER, HOST:CONTAINER, ranges of one length such as "
        "8000-8002:80-82, with /udp or /sctp at the end, or a mapping with target, published, protocol and mode. Ports "
        "are numbers from 1 to 65535. Put the entry in quotes: YAML reads 22:22 without them as one number."
    ),
    "bad-request": (
        "The request is not as the API takes it: a missing or misspelled field, a value of another type, or a body "
        "that is not JSON. The message names the field. All paths and bodies are described at /v1/openapi.json."
    ),
    "bad-service-name": (
        "The engine accepts no such name for a service: letters, digits, - and _, no dot, and a letter or digit at "
        "the end. Rename the service in the file."
    ),
    "bad-settings": (
        "The file in which `berth login` and `berth up` keep the server's address cannot be read or is not JSON. "
        "Remove it and log in again with `berth login URL`."
    ),
    "bad-stack-name": (
        "A stack's name has letters, digits, - and _, begins with a letter or digit, and leaves room for the names "
        "of its services (63 characters together). Give another name to `berth stack deploy`."
    ),
    "bad-template": (
        "A dollar sign begins something that is no variable. Variables are $NAME, ${NAME}, ${NAME:-default}, "
        "${NAME:?message}, ${NAME:+other}; a dollar sign itself is written $$."
    ),
    "bad-time": (
        "A time is written as a duration before now (`10m`, `1h30m`, `45s`, `2d`) or as RFC 3339 "
        "(`2026-01-31T08:00:00Z`). Without a zone UTC is meant."
    ),
    "bad-token-file": (
        "The token cannot be read: the file is missing, not yours to read, or holds something else than one token. "
        "Make a token with `berth token create --role user --name NAME` and name its file with `--token- file "
        "FILE`, or log in again with `berth login URL`."
    ),
    "bad-usage": (
        "The command line itself is wrong: a verb, a flag or a value that does not exist, or one that is missing. "
        "Type what stands after the arrow; `berth VERB --help` lists the flags of a verb with an example."
    ),
    "bad-value": (
        "A value has the right kind but cannot be used: a time without a unit, a size that is none, a word that "
        "the key does not know. The message names the place, and what to write stands after the arrow."
    ),
    "body-too-large": (
        "The server takes bodies up to 32 MiB. Split a list of jobs into several, and keep data out of stack "
        "files: mount it as a volume or put it into the image."
    ),
    "body-too-slow": (
        "The server waits 30 seconds for the next part of a request and 5 minutes for all of it; this one stood still "
        "for longer, and nothing was done. Send it again. On a slow line split a list of jobs, and keep data out of "
        "stack files."
    ),
    "bug": (
        "Berth met something that its authors did not foresee. Run the command again with BERTH_DEBUG=1 before it "
        "and report what it shows together with the version that the message names. The server and running work "
        "are not affected by it."
    ),
    "card-by-annotation": (
        "A label that begins with cdi.k8s.io/ asks the container runtime for devices itself, past Berth's ledger, "
        "so two tasks could meet on one card. Remove it and ask with deploy.resources.reservations.devices."
    ),
    "card-lost": (
        "The driver lists a card that no longer answers: it fell off the bus, or has to be reset. Berth gives it "
        "no work and keeps what runs on the other cards. Look at `dmesg` for Xid messages and reset the card or "
        "restart the machine; the card comes back by itself."
    ),
    "cards-file": (
        "The file given by --cards cannot be read, or is not a JSON list of card objects. Each object may hold "
        "node, index, uuid, model, memory_mib, driver, cuda, nvlink, util, mem_used_mib and the other fields that "
        "`berth cards --json` prints. While Berth runs, the last good content stays in use."
    ),
    "changed-meanwhile": (
        "Two requests changed the same thing at the same moment; this one came second, and nothing of it was done. "
        "Look at the thing (`berth jobs`, `berth nodes`) and try again."
    ),
    "config-missing": (
        "The file names an external config that does not exist. Create it first (in a Swarm: `docker config create "
        "NAME FILE`), or declare it with file: PATH."
    ),
    "connection-lost": (
        "The connection broke while the server was answering, so it is not known whether the call had an effect. "
        "Look with `berth jobs` or `berth events`, then type the command again where it is needed."
    ),
    "count-and-device-ids": (
        "A device has both count and device_ids. count means any so many cards, device_ids means exactly these, so "
        "one of them must go."
    ),
    "database-too-new": (
        "The database was written by a newer version of Berth, which this one would damage. Start it with that "
        "version, or use another folder: `berth up --data DIR`."
    ),
    "declared-label": (
        "A gpu.* label on a node without an agent has a value that says nothing about cards. gpu.count and "
        "gpu.free are whole numbers, gpu.cards is a list of indices such as 2,3, gpu.memory is MiB or carries a "
        "unit. Correct it with `berth node label NODE KEY=VALUE`."
    ),
    "device-by-hand": (
        "An entry under devices gives a device node, or goes with a service that has cards, past Berth's ledger. "
        "Remove it: Berth puts the granted cards into the container. Other devices are ignored, as docker stack "
        "deploy ignores them."
    ),
    "device-capabilities": (
        "A device under reservations must say what it is for. Only graphics cards are carried: write capabilities: "
        "[gpu]."
    ),
    "device-driver": (
        "Devices are asked for with driver: nvidia or without a driver. Berth itself chooses between CDI and the "
        "NVIDIA runtime on each node, so names such as nvidia.com/gpu=0 are not taken."
    ),
    "dotenv-used": (
        "A variable was filled from the .env file beside the first stack file. Berth reads it as Compose does; "
        "docker stack deploy does not, so there the variable would be empty. Export it in the shell to have the "
        "same everywhere."
    ),
    "driver-missing": (
        "The file names a driver of volumes, networks or logs that no node of the engine has; Swarm would leave the "
        "task pending for ever. The message lists the drivers that there are. Install the plugin on the nodes "
        "(`docker plugin install NAME`), or leave the driver out. A legacy plugin of a single Docker host is known "
        "only once something has used it: `docker volume create -d NAME`."
    ),
    "duplicate-card": (
        "One card is named twice for one task. Name each card once, or ask for a number of cards with count."
    ),
    "duplicate-key": (
        "A key stands twice in one mapping of a YAML file, so one of them would be lost in silence. Remove one; "
        "keys that come from an anchor (<<: *name) may be written again."
    ),
    "engine-answer-lost": (
        "The connection to the engine broke before its answer came, so the call may or may not have been carried "
        "out. Berth keeps what it had granted, looks at the engine, and goes on from what it sees; nothing has to "
        "be done."
    ),
    "engine-away": (
        "The agent cannot reach the Docker daemon of its own node. It still reports cards, but sees no containers. "
        "Check that dockerd runs, that DOCKER_HOST names its socket, and that the agent's user may open it."
    ),
    "engine-conflict": (
        "The engine refused because something of that name, or in that state, exists already; nothing was done. "
        "Look at it with `docker ps -a` or `docker service ls`, and remove it when it is not needed."
    ),
    "engine-object-gone": (
        "The engine no longer has the service, container or network that was meant. Usually a person removed it at "
        "the same moment; Berth finds out with its next look."
    ),
    "engine-refused": (
        "The engine said no, with the words that the message repeats; nothing was done. What to change depends on "
        "those words: a wrong mount, a name that is taken, an option that this version of Docker does not know."
    ),
    "engine-rootless": (
        "A rootless Docker cannot give containers the cards of the host in a way that Berth could check. Use the "
        "system's Docker: `--docker-host unix:///var/run/docker.sock`."
    ),
    "engine-taken": (
        "Another Berth manages this Swarm, and two ledgers would give one card twice. Stop the other server; when "
        "it was killed, its claim is void a minute later. To go on with its jobs, start this one with its data "
        "folder."
    ),
    "engine-undecided": (
        "The engine answered with an error of its own, so it is not known whether the call had an effect. Berth "
        "keeps the grant and looks at the engine before it does anything else."
    ),
    "engine-unreachable": (
        "The Docker daemon does not answer at the address that the message names. Check that dockerd runs and that "
        "you may open its socket (group docker, or root); choose another with `--docker-host` or DOCKER_HOST. A "
        "running Berth goes on trying."
    ),
    "engine-version": (
        "The daemon speaks no version of the Docker API that Berth speaks. Berth needs Docker 20.10 (API 1.41) or "
        "newer: upgrade the daemon."
    ),
    "env-file-line": (
        "A line of an env_file or of .env is not NAME=value. Lines that begin with # and empty ones are skipped; a "
        "name has no spaces."
    ),
    "env-file-missing": (
        "The stack file names an env_file that the client does not find. The path starts at the directory of the "
        "first stack file."
    ),
    "external-name-old": (
        "external: {name: X} is how files before version 3.5 named something that exists already. It works, here and "
        "in Docker; write external: true and name: X beside it."
    ),
    "external-name-twice": (
        "An object has both external.name and name. The first is the old form of the second: keep external: true "
        "and name."
    ),
    "external-with-settings": (
        "An external volume exists already, so its driver, options and labels cannot be set from here. Remove "
        "them, or remove external."
    ),
    "fence-alive": (
        "Fencing a node says that it is switched off, so that its tasks may run elsewhere. This node answers: its "
        "containers would go on, and its cards would be given twice. To keep new work away use `berth node drain "
        "NODE --reason R`, with `--move` to move what runs."
    ),
    "file-changed": (
        "A stack file declares a secret or config whose content differs from what the Swarm has under that name. In a "
        "Swarm the content never changes, so docker stack deploy fails there, too. Give it a new name under its key, "
        "`name: pw_2` or `name: pw_${VERSION}`: the services that mount it are then updated, and the old one goes "
        "with the stack or with `docker secret rm`."
    ),
    "file-in-use": (
        "A secret that a job or service mounts is not removed. The message names them; cancel them or deploy them "
        "without it, then remove it."
    ),
    "file-missing": (
        "A secret or config names a file that is not there or cannot be read on the machine where the command is "
        "typed. Paths start at the directory of the first stack file."
    ),
    "file-name": (
        "The name of a secret or config is made of letters, digits, `.`, `-` and `_`, begins and ends with a letter "
        "or digit, and has at most 64 characters, as in a Swarm."
    ),
    "file-size": (
        "A secret has 1 byte to 500 KiB, a config at most 1000 KiB, as in a Swarm. Keep larger files in a volume, and "
        "in a secret only the key that opens them."
    ),
    "file-source": (
        "A secret or config that is not external says with file: PATH where its content comes from (a config may have "
        "content: instead, and both environment: NAME, as in Compose). Exactly one of them is written."
    ),
    "file-taken": (
        "A secret or config of this name exists already. Choose another name, or remove the old one first: `berth "
        "secret rm NAME`. To use what is there, a stack file says external: true."
    ),
    "file-too-big": (
        "The file is larger than a stack or job file can be, so it was not read. Check that the right file was named."
    ),
    "file-twice": (
        "Two secrets or two configs of the file have the same name on the engine, so one would replace the other. "
        "Give each a name of its own."
    ),
    "gpu-assumed": (
        "runtime: nvidia or NVIDIA_VISIBLE_DEVICES=all says that cards are wanted, but not how many. Berth takes "
        "it as one card and binds exactly that. Say the number with deploy.resources.reservations.devices and "
        "count: N, or count: all for every matching card of one node."
    ),
    "gpu-contradiction": (
        "Two structured fields (devices, gpus, generic_resources) ask for different cards. Keep one of them. "
        "Environment variables never contradict: they give way, with a warning."
    ),
    "gpu-count": (
        "The number of cards is not a whole number from 0 up, or all. 0 is a job without cards; all means every "
        "matching card of one node. Shares of a card come with a later version."
    ),
    "gpu-overwritten": (
        "An environment variable asked for cards, but a field that ranks above it asked for something else and "
        "counts. The order is devices, generic_resources, NV_GPU, a list in NVIDIA_VISIBLE_DEVICES, gpu.free >= N, "
        "gpu.task=true. Berth sets NVIDIA_VISIBLE_DEVICES to the granted cards; remove yours to silence this."
    ),
    "gpu-variable": (
        "A variable that container runtimes read as a request for devices was taken out of the environment: only "
        "Berth says which cards a container sees. Ask for cards with deploy.resources.reservations.devices."
    ),
    "hold-running": (
        "`hold` keeps a waiting job from starting; this one has started or ended. `berth requeue JOB` stops a "
        "running job and puts it back with its submit time, `berth cancel JOB` ends it."
    ),
    "image-absent": (
        "The image is not on the node and its registry does not give it to the engine. Check its name, push it, or "
        "pull it on the node; for a private registry log in with `docker login` before you deploy."
    ),
    "image-demand-unknown": (
        "The image demands something of the cards (NVIDIA_REQUIRE_* or CUDA_VERSION in its environment), and for "
        "some cards nothing tells the driver, CUDA version or brand that this is about. The task is tried there. "
        "An agent on the node tells it; on a node labelled by hand the labels gpu.driver and gpu.cuda do."
    ),
    "image-denied": (
        "The image's registry refused to give it to you, and every node that the task could go to says that it "
        "does not have it. Log in with `docker login REGISTRY` and submit again: the login is passed on, kept in "
        "memory only. A registry also answers so for names that do not exist."
    ),
    "image-missing": (
        "A service or job has no image. Berth builds none, and neither does docker stack deploy: build and push "
        "it, then write image: REGISTRY/NAME:TAG."
    ),
    "image-not-pullable": (
        "The image's registry does not have it, or denies it, and not every node that the task could go to is "
        "known to have it. On a node without the image the start fails. Correct the name, log in with `docker "
        "login`, or load the image on every node."
    ),
    "key-ignored": (
        "docker stack deploy reads this key and does nothing with it, and so does Berth; the service runs without "
        "it. Remove the key to silence this."
    ),
    "key-not-carried": (
        "The key is right but this version of Berth does not carry it yet, and it drops nothing in silence. Do "
        "what stands after the arrow, or leave the key out."
    ),
    "key-reused": (
        "An Idempotency-Key stands for one request for a day: the same request under it gives the first answer "
        "again, another one is refused. Use a new random key for every new request, as the command line does."
    ),
    "key-too-long": ("An Idempotency-Key has at most 255 characters. A random word of 32 is enough."),
    "label-busy": (
        "Somebody else changed the node's labels at the same moment, several times in a row. Type the command again."
    ),
    "label-count": (
        "`gpu.count` is the number of cards that a hand-labelled node declares: a whole number from 0 to 1024."
    ),
    "label-count-held": (
        "The number of declared cards cannot be lowered below those that work is using. Cancel that work or wait "
        "for its end; `berth cards` shows who holds which card."
    ),
    "label-of-berth": (
        "These labels are written by Berth from its ledger, and a value set by hand would be put back. Use labels "
        "of your own (zone, tier); on a hand-labelled node the number of cards is changed with `berth node label "
        "NODE gpu.count=N`. A node without cards that Berth has not adopted yet can be declared by all of them but "
        "gpu.free."
    ),
    "label-reserved": (
        "Labels that begin with berth. are those by which Berth finds its own objects again. Give yours another name."
    ),
    "last-admin": (
        "Without an admin's token nobody could make another one. Create a new one first: `berth token create "
        "--role admin --name NAME`, then revoke the old one."
    ),
    "lint-capabilities": (
        "The service adds a capability, such as ALL or SYS_ADMIN, that is nearly the same as root on the host. Name "
        "only those that the program needs, for example `cap_add: [NET_BIND_SERVICE]`. To be silent about it: "
        "`x-berth: {lint: [lint-capabilities]}`."
    ),
    "lint-devel-image": (
        "A `-devel` image brings compilers and headers that a running program does not need: gigabytes to pull, and "
        "more for an intruder to use. Name the `-runtime` or `-base` tag, and build in a -devel image. To be silent "
        "about it: `x-berth: {lint: [lint-devel-image]}`."
    ),
    "lint-engine-socket": (
        "Who has the engine's socket is root on the host. Only an admin may mount it at all, and never with cards. "
        "Remove the mount, or put a proxy before the socket that allows only what is needed. To be silent about it: "
        "`x-berth: {lint: [lint-engine-socket]}`."
    ),
    "lint-host-folder": (
        "A folder of the host's own system (such as `/`, `/etc` or `/root`) is mounted so that the program can "
        "write to it, and so change the host. Mount only the folder that it needs, and add `:ro` where it only "
        "reads. To be silent about it: `x-berth: {lint: [lint-host-folder]}`."
    ),
    "lint-host-network": (
        "On the host's own network the program sees every packet and can take every port. Let it have a network of "
        "the stack, and publish `ports`. To be silent about it: `x-berth: {lint: [lint-host-network]}`."
    ),
    "lint-latest-tag": (
        "The image has no tag, or the tag `latest`: what runs can change with every pull, and replicas can differ. "
        "Write a version (`NAME:1.2.3`) or a digest (`NAME@sha256:...`). To be silent about it: `x-berth: {lint: "
        "[lint-latest-tag]}`."
    ),
    "lint-privileged": (
        "`privileged: true` would open the whole host to the program. docker stack deploy ignores it, and so does "
        "Berth; with cards it is refused. Remove it, and name what the program needs with `cap_add` or a mount. To "
        "be silent about it: `x-berth: {lint: [lint-privileged]}`."
    ),
    "lint-root-user": (
        "The file says no user, so the program runs as root in its container unless the image names another user; "
        "with a hole in the runtime or a mount of the host's folders that is root on the host. Write `user: "
        '"1000:1000"`, or the user that the image was made for. To be silent about it: `x-berth: {lint: '
        "[lint-root-user]}` in the service, or at the top for all of them."
    ),
    "lint-secret-in-env": (
        "A variable holds a password, token or key as plain text: it stands in the file, in the service's "
        "definition and in `docker inspect`. Make a secret (`berth secret create NAME FILE`), mount it with "
        "`secrets: [NAME]`, and let the program read `/run/secrets/NAME`. Berth never prints the value. To be "
        "silent about it: `x-berth: {lint: [lint-secret-in-env]}`."
    ),
    "method-not-allowed": (
        "The path is there, but not with this method: for example, a job is cancelled with DELETE, not with POST. "
        "The header Allow of the answer lists the methods; /v1/openapi.json describes them."
    ),
    "mode-decimal": (
        "The permissions of a secret or config are written as a decimal number, and Docker takes it as one: 440 "
        "is 0670 in octal. What is meant is almost always octal: write 0440."
    ),
    "mount-of-cards": (
        "A mount would give the container device nodes of cards, or ask NVIDIA's runtime for some, past Berth's "
        "ledger. Remove it and ask for cards with deploy.resources.reservations.devices or --gpus."
    ),
    "mount-of-socket": (
        "A mount contains the socket of the container engine. Whoever has it can start containers with any card, "
        "so it is refused with cards, and to everybody but admins without. Mount only the paths that the program "
        "needs."
    ),
    "name-taken": (
        "Slot N of a service is named STACK_SERVICE-N on the engine, and another service of the stack has that "
        "name. Rename one of the two services."
    ),
    "name-too-long": (
        "The engine takes names of at most 63 characters, and a slot's name is STACK_SERVICE-N. Shorten the name "
        "of the stack or of the service."
    ),
    "native-service": (
        "Swarm places a service without cards and with Swarm's own constraints only, so Berth neither holds it nor "
        "keeps its output: `berth logs` reads it from Swarm while the service is there. To start its tasks again: "
        "`docker service update --force NAME`."
    ),
    "network-missing": (
        "The stack names an external network that the engine does not have. Create it (`docker network create "
        "--driver overlay NAME` on a Swarm), or leave `external` out so that the stack gets its own."
    ),
    "network-not-for-services": (
        "The stack file names one of the networks that each node has of its own, none or ingress, which Swarm refuses "
        "to services after others have been created. Use a network of the file with internal: true for work that "
        "shall reach nothing outside, or host for the node's own network."
    ),
    "no-jobs": ("A list of jobs was sent that is empty. Send one job object, or a list of at least one."),
    "no-native-services": ("A Docker host places no services by itself; there Berth places every task."),
    "no-node-labels": ("A Docker host has no node labels. Labels set with `berth node label` are kept by Berth there."),
    "no-reason": (
        "Draining and fencing need `--reason TEXT`: whoever finds the node or card like that later wants to know why."
    ),
    "no-server": (
        "Nothing answers at the address of the server. Start one with `berth up`, or name the one that you mean: "
        "`berth login URL` keeps it, `--server URL` and BERTH_SERVER name it for one call. On another machine look "
        "at its firewall, and at `berth up --listen`."
    ),
    "no-services": (
        "The stack files name no service, so there is nothing to run. A stack file has services: with a name and "
        "at least an image under it."
    ),
    "no-such-card": (
        "No card has this UUID. `berth cards` lists them; a UUID may be shortened to its first characters as long "
        "as only one card fits."
    ),
    "no-such-job": (
        "No job has this id or name. `berth jobs --all` lists also those that have ended; those that ended more "
        "than 30 days ago are forgotten."
    ),
    "no-such-node": (
        "No node has this name. `berth nodes` lists them; nodes come from the engine, so join a new one there first."
    ),
    "no-such-path": (
        "The API has nothing at this path. Check for a misspelled part, and that the version is in front "
        "(/v1/...). A newer client may know paths that an older server lacks: compare with `berth version`."
    ),
    "no-such-secret": (
        "There is no secret of this name. `berth secret ls` lists them; a stack's own secrets are named STACK_NAME."
    ),
    "no-such-stack": (
        "No stack has this name here. `berth stack ls` lists those that Berth deployed; others are `docker stack ls`'s."
    ),
    "no-such-token": ("No token has this id. `berth token ls` lists ids, never the secrets."),
    "no-take-over": (
        "Only a Swarm has stacks that the docker CLI made and that Berth could take over. On a Docker host deploy the "
        "file without `--take-over`; containers that run there already stay as they are."
    ),
    "node-alive": (
        "A node can be forgotten once the engine no longer has it. On a Swarm: `docker node rm NAME` on a manager, "
        "then `berth node rm NAME`."
    ),
    "node-holds-work": (
        "Work of Berth's may still run on this node, and its cards stay held until that is settled. If the machine "
        "is really off, say so: `berth node fence NODE --reason R`."
    ),
    "not-a-manager": (
        "This Docker daemon is not a manager of a Swarm, so it cannot start services. Start Berth on a manager, or "
        "name one: `--docker-host ssh://user@manager`. Without a Swarm use `--engine docker`."
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
        "While deploying a stack the server asked for a file or a shell variable that the stack files do not name. "
        "The client sends only what the files name, so it stopped and nothing was sent. Check that you speak to "
        "your own server: `berth version`."
    ),
    "not-text": (
        "The file holds bytes that no text has, so it is not a YAML file, or it was damaged. Check that the right "
        "file was named."
    ),
    "not-utf-8": (
        "The file is not UTF-8, the only encoding that stack and job files have. Save it as UTF-8 in the editor, "
        "or convert it: iconv -f latin1 -t utf-8 FILE."
    ),
    "not-yours": (
        "A user changes only jobs and stacks that were submitted with their own token. Ask the owner or an admin."
    ),
    "number-rewritten": (
        "A value in environment or labels is a number without quotes, and numbers reach the container in their "
        "shortest form, as with docker stack deploy: 3.10 arrives as 3.1, 0777 as 511. Quote it to keep it as it "
        "is written."
    ),
    "nvidia-bindings-missing": (
        "NVIDIA cards are read through the Python package nvidia-ml-py, which is not installed here. Install Berth "
        "with its agent parts: `pip install 'gpu-berth[agent]'`."
    ),
    "nvidia-driver-mismatch": (
        "The NVIDIA driver in the kernel has another version than its library, usually after an update of "
        "packages. New GPU work fails until they agree. Drain the node and restart it, or unload and load the "
        "nvidia modules."
    ),
    "nvidia-driver-not-loaded": (
        "NVIDIA's library is installed but its kernel driver is not loaded or finds no card. Try `modprobe nvidia` "
        "and read `dmesg`; after a kernel update the module may have to be built again."
    ),
    "nvidia-library-missing": (
        "libnvidia-ml.so.1 is not on this host, so no NVIDIA driver is installed. Install the driver of your "
        "distribution (`nvidia-smi` must work), or use --vendor declared or simulated."
    ),
    "nvidia-no-answer": (
        "A call to the NVIDIA driver has not come back for a long time, or ended in an error of the driver itself. "
        "Run `nvidia-smi` on the node: when it hangs too, the node has to be restarted. The agent goes on trying."
    ),
    "other-engine": (
        "A data folder holds the ledger of one engine, and this is another one. Name the engine that it belongs to "
        "(`--engine`, `--docker-host`), or start with another folder: `--data DIR`."
    ),
    "out-of-range": ("A number is smaller or larger than the key allows. The message names the limits."),
    "plain-beyond-loopback": (
        "Tokens would cross the network in the clear. Give a certificate (`--tls-cert F --tls-key F`), listen on "
        "loopback and use an SSH tunnel, or say `--insecure` when the network is your own."
    ),
    "port-address": (
        "A port of a stack cannot be bound to one address of a node: Swarm opens it at every address, and docker stack "
        "deploy passes over what stands before the port, with a warning. Leave it out; where the port must not be "
        "reachable from everywhere, close it in the nodes' firewall."
    ),
    "port-ingress-dnsrr": (
        "An ingress port reaches a service through its virtual address, and `endpoint_mode: dnsrr` gives it none; "
        "Docker refuses the two together. Publish the port with `mode: host`, or remove `endpoint_mode`."
    ),
    "port-ingress-slots": (
        "Berth places each task of a service with cards by itself, and an ingress port belongs to one service on the "
        "engine. Write the port in its long form with `mode: host`: each task then publishes it on its own node, and "
        "two tasks with one port go to two nodes. With one task the port works as written."
    ),
    "port-taken": (
        "Another service has this ingress port, or a task publishes it on a node, so Swarm would refuse the service. "
        "`docker service ls` shows who has it; publish another port, or remove the one that has it."
    ),
    "port-twice": (
        "One service publishes the same port twice. Remove one of the two lines, or give one of them another number."
    ),
    "privileged-with-cards": (
        "privileged opens every device of the node to the container, so it would see cards that were given to "
        "others. Remove it; a program that needs one capability rarely needs all of them."
    ),
    "registry-unreachable": (
        "The image's registry gave no answer, so nobody knows whether it has the image. Nodes that have the "
        "image run it; on the others the start fails until the registry answers. The server asks each registry "
        "again after a minute."
    ),
    "replicas-of-global": (
        "A global service runs one task on every node that fits its constraints, so its number cannot be given as "
        "well; docker stack deploy refuses such a file, too. Remove replicas, or write mode: replicated."
    ),
    "requeue-ended": (
        "A job that has ended is not put back in the queue. Submit it again: `berth run`, `berth submit`, or "
        "`berth stack deploy`."
    ),
    "restart-default": (
        "A service without deploy.restart_policy gets Docker's default: it runs again whenever it ends, even after "
        "success, and keeps its cards. For training write condition: on-failure with max_attempts; for one run, "
        "condition: none."
    ),
    "restart-no": (
        'docker stack deploy takes restart: "no" for its default, which is to restart always, and so does Berth. '
        "What you mean is deploy.restart_policy: {condition: none}."
    ),
    "scale-ended": (
        "A job that has ended has no replicas to change. Deploy its stack again: `berth stack deploy -c FILE NAME`."
    ),
    "scale-global": (
        "A service with `mode: global` has one task on each node that fits it, so there is no number to set. Choose "
        "the nodes with `deploy.placement.constraints`, or write `mode: replicated` and deploy under another name."
    ),
    "scale-negative": ("The number of replicas is a whole number from 0 up: `berth scale STACK_SERVICE=2`."),
    "secret-driver": (
        "A secret from a driver's plugin, and the templates of template_driver, are Swarm's own: a Docker host has "
        "neither. Give the content with file: PATH, or use a Swarm."
    ),
    "secret-key-file": (
        "The file secret.key in the server's data folder opens every secret that Berth keeps. It must hold 32 bytes "
        "in base64 and be readable by the server's user alone (`chmod 600`). Put it back from a backup when it was "
        "damaged."
    ),
    "secret-missing": (
        "The job names a secret that does not exist, in the Swarm or, on a Docker host, among those that Berth keeps. "
        "Create it with `berth secret create NAME FILE`, declare it in the stack file with file: PATH, or correct the "
        "name (`berth secret ls`)."
    ),
    "secret-unreadable": (
        "What Berth keeps of a secret or config was encrypted with another key than the one in the data folder's "
        "secret.key. Put the old key file back, or remove the secret and create it again; there is no other way to "
        "read it."
    ),
    "service-kind-changed": (
        "A service without cards is placed by Swarm itself, one with cards by Berth, slot by slot. The file turns "
        "one into the other, which cannot happen under the service's name while the old form still runs. Cancel "
        "that service and deploy the file again; the other services of the stack go on."
    ),
    "service-left": (
        "The stack has a service that the files no longer name. As with docker stack deploy it stays, with its cards, "
        "until it is cancelled: `berth stack deploy --prune` cancels all such services, `berth cancel STACK_SERVICE` "
        "one."
    ),
    "service-mode-changed": (
        "A service cannot change its `deploy.mode` while it is there; Docker refuses that, too. Cancel the "
        "service with `berth cancel STACK_SERVICE` and deploy the file again."
    ),
    "simulate-spec": (
        "The text after --simulate is not understood. Write NODE=MODEL:COUNT, more models of a node joined by +, "
        "more nodes by a comma, and * for every node: "
        "node1=A100-SXM4-80GB:4,node2=Tesla-V100-SXM2-16GB:2+A10-24GB:1"
    ),
    "simulate-unknown-node": (
        "--simulate or --cards names a node that the engine does not have. Use the names that the message lists, "
        "or * for every node."
    ),
    "stack-not-berths": (
        "Services of this stack run already and were made by `docker stack deploy`, so deploying over them would mean "
        "two masters. `berth stack deploy --take-over --plan -c FILE NAME` says what would go on and what would "
        "restart; without `--plan` it is done."
    ),
    "stale-version": (
        "The engine's object changed after Berth had read it, so the engine refused the change and nothing was "
        "done. Berth looks again and repeats what is still wanted."
    ),
    "start-first": (
        "The file asks that updates start a new container before the old one ends (order: start-first). Where Berth "
        "places a service, a slot has one container at a time, on its own cards, so the old one ends first. "
        "The other slots go on meanwhile: write more replicas, and parallelism: 1. A service without cards and with "
        "Swarm's own constraints only is updated by Swarm, start-first as asked."
    ),
    "store-broken": (
        "The database that holds Berth's jobs and ledger does not work: its disk is full, its file is damaged or "
        "may not be written, or the PostgreSQL server does not answer. The message says which and what to do. What "
        "runs goes on; a damaged file can be put aside, for a new start reads back from the engine what runs "
        "there."
    ),
    "store-url": (
        "The value of --store is no database that Berth knows, or its driver is not installed. Write "
        "sqlite:///PATH (with an absolute path that makes four slashes), or "
        "postgresql://USER:PASSWORD@HOST/DATABASE after `pip install 'gpu-berth[server,postgres]'`. Without "
        "--store it is SQLite in the folder of --data."
    ),
    "superseded": (
        "Another Berth server has taken over this cluster, so this one writes no more and ends. Speak to the newer "
        "one; if that one was started by mistake, stop it and start this one again."
    ),
    "take-over-cards": (
        "A running task of the service cannot be given cards in the ledger: which ones it uses does not fit the file, "
        "or another task has them. Nothing was changed. Take the stack over with the very file that it was deployed "
        "from, and end what shares a card with it first."
    ),
    "take-over-left": (
        "The stack has running services that the file does not name. They go on and stay outside of Berth; cards that "
        "they use are shown as foreign."
    ),
    "take-over-mode": (
        "A service with cards and a task on every node cannot be taken over one task at a time. Remove it with `docker "
        "service rm NAME` and deploy the file; its tasks then start through the queue."
    ),
    "take-over-order": (
        "Services with cards are taken over one after the other, and of each one container after the other. A service "
        "whose new container does not start keeps the rest as it is; `berth why NAME` says what it waits for."
    ),
    "template-not-carried": (
        "A value holds a placeholder that Berth cannot fill in. In services that Berth places it fills in "
        "{{.Task.Slot}}, {{.Task.Name}}, {{.Service.Name}} and the service's labels itself, since each slot is a "
        "service of its own on the engine; words of Go's template language are not read. In a mount, or in a "
        "variable's name, such words could stand for any path and are refused everywhere. Write the value out."
    ),
    "tls-file": (
        "A file given with `--tls-cert` or `--tls-key` cannot be read. Check its path, and that the server's user "
        "may read it."
    ),
    "tls-pair": ("TLS needs both the certificate and its key: `--tls-cert F --tls-key F`, as PEM files."),
    "token-expired": (
        "The token was valid for a limited time that is over. Ask an admin for another one (`berth token create "
        "--role user --name NAME`), then `berth login URL` or `--token-file FILE`."
    ),
    "token-missing": (
        "The request carried no bearer token, and the server answers only /healthz without one. Log in once with "
        "`berth login URL`, or name a file with `--token-file FILE`. The first token is in the server's data "
        "folder: admin.token."
    ),
    "token-name": (
        "A user's token needs a name, because the jobs that it submits belong to that name: `berth token create "
        "--role user --name NAME`."
    ),
    "token-name-form": (
        "A token's name is made of letters, digits, `.`, `_`, `@` and `-`, and has at most 63 characters."
    ),
    "token-node": (
        "An agent's token is bound to one node, so that it can speak for no other: `berth token create --role "
        "agent --node NAME > F`."
    ),
    "token-node-unknown": (
        "The token was made for a node that is not known yet. A node may join after its token was made, so this is a "
        "warning; a misspelled name would wait for ever. `berth nodes` lists the names; `berth token revoke ID` makes "
        "the token worthless."
    ),
    "token-node-user": ("Only an agent's token is bound to a node. Leave `--node` out, or make it `--role agent`."),
    "token-shown": (
        "The token was created by an earlier request under the same Idempotency-Key. Its secret is shown once and "
        "never written down, so it cannot be told again. Revoke it with `berth token revoke ID` and create "
        "another."
    ),
    "token-unknown": (
        "The server knows no such token: it is misspelled, was revoked, or belongs to another server. Log in again "
        "with `berth login URL`, or name the right file with `--token-file FILE`. A server restored from a backup "
        "may have forgotten younger tokens."
    ),
    "too-many-cards": (
        "No known node has that many cards (silent nodes are counted, too), so the task could never run: a task "
        "runs on one node. Ask for fewer, or spread the work over several tasks; `berth gpus` shows what there is."
    ),
    "too-many-constraints": (
        "One task has more constraints than Berth takes: each is weighed against every node and card over and over. "
        "Put alternatives into one constraint, or label the nodes that are meant and ask for that label."
    ),
    "too-many-jobs": ("One request takes at most so many jobs. Send them in several requests."),
    "too-many-replicas": (
        "One job takes at most 10,000 replicas. Submit several jobs, or check the number in the file."
    ),
    "too-many-services": ("One stack has more services than Berth takes. Split the file into several stacks."),
    "undefined-config": (
        "A service names a config that the file does not declare. Add it at the end of the file: configs: {NAME: "
        "{external: true}}."
    ),
    "undefined-network": (
        "A service names a network that the file does not declare. Add it at the end of the file: networks: {NAME: "
        "}, or with external: true when it exists already."
    ),
    "undefined-secret": (
        "A service names a secret that the file does not declare. Add it at the end of the file: secrets: {NAME: "
        "{external: true}}."
    ),
    "undefined-volume": (
        "A service mounts a volume that the file does not declare. Add it at the end of the file: volumes: {NAME: "
        "}. A path of the host begins with / or ./"
    ),
    "unknown-card": (
        "A card is asked for by a name that no known node has. Cards are named by their index on a node (`0`), by "
        "NODE/INDEX, or by their full UUID; a shortened UUID is not taken. `berth cards --json` lists them; a "
        "number of cards (`count: 2`, `--gpus 2`) takes any that match."
    ),
    "unknown-code": (
        "There is no error code of this name in this version. `berth explain` without a code lists all of them."
    ),
    "unknown-docker-context": (
        "The docker CLI has no context of this name. `docker context ls` lists them; give `--docker-host` one of "
        "those, or an address."
    ),
    "unknown-engine": (
        "`--engine` takes auto, docker, swarm or simulated. Leave it out and Berth takes the best one that "
        "answers, and says why."
    ),
    "unknown-key": (
        "No stack or job file has a key of this name at this place. Write the one that stands after the arrow; "
        "keys of your own begin with x-."
    ),
    "unknown-lint": (
        "`x-berth: {lint: [...]}` names the lint rules to be silent about, and this is none of them; the hint names "
        "the nearest. `berth explain lint-root-user` and its like tell about each rule."
    ),
    "unknown-queue": ("There is no queue of this name. Until queues are configured there is one, named default."),
    "unreadable-file": (
        "A file that was named on the command line cannot be read, or is far larger than such a file can be. Check "
        "the path and its permissions; `-` stands for standard input where the verb says so."
    ),
    "untrusted-certificate": (
        "The server's certificate is not signed by an authority that this machine knows, or not for this name. "
        "Name the file of the authority with `--ca FILE` (`berth login URL --ca FILE` keeps it), or use the name "
        "that the certificate is for."
    ),
    "variable-required": (
        "The file says ${NAME:?message}: it cannot be deployed without this variable. Set it in front of the "
        "command: NAME=value berth stack deploy ..."
    ),
    "variable-unset": (
        "A variable is set neither in the shell nor in .env, so it counts as empty, as with docker stack deploy. "
        "Set it, or give a default: ${NAME:-default}."
    ),
    "vendor-unknown": (
        "--vendor takes auto, nvidia, declared or simulated. declared needs --cards FILE on an agent; simulated "
        "needs --simulate SPEC or --cards FILE."
    ),
    "version-unsupported": (
        "The file's version is not 3, the one that docker stack deploy takes. Files for Compose 2 keep resources "
        'elsewhere (mem_limit), so they are not guessed at: write version: "3.8" or leave it out, and use '
        "deploy.resources."
    ),
    "wrong-cards": (
        "After its start a container saw other cards than Berth had granted, so it was stopped, and its node "
        "flagged and drained. The message names the cause: privileged mode, a device or cgroup rule of its own, or a "
        "container toolkit that maps UUIDs to other cards. Mend that on the node, type `berth node undrain NODE`, and "
        "submit the job again."
    ),
    "wrong-type": (
        "A value is of another kind than its key takes: true where text is wanted, a list where a mapping is. "
        "Quote words such as true, and numbers that are meant as text."
    ),
    "yaml-alias": (
        "*name stands for a part of the file that &name marked before. There is no such mark above, or the alias "
        "is inside the very part that it names."
    ),
    "yaml-documents": (
        "A line --- begins a second document, but a stack or job file is one document. Put the rest into a file of "
        "its own and give it with another -c."
    ),
    "yaml-empty": ("The file holds nothing but comments or blanks. Check that the right file was named and saved."),
    "yaml-key": ("A key is a list or a mapping, or begins with [ or { without quotes. Quote it."),
    "yaml-merge": ("<< takes in the keys of another mapping, so it wants *name of a mapping, or a list of them."),
    "yaml-syntax": (
        "The file is not YAML at the place that the message names; often the cause is a line above it: a quote or "
        "bracket that is not closed, or keys that are not aligned. Values that begin with @ ` % & * ! need quotes."
    ),
    "yaml-tab": (
        "YAML indents with spaces; a tab there is an error. Replace it by spaces, and let the editor do so for "
        ".yml files."
    ),
    "yaml-tag": ("A value carries a tag (! or !!) that is not one of YAML's own. Remove the tag."),
    "yaml-too-big": (
        "With its aliases written out the file has more values than can be meant. Split it, or use fewer aliases "
        "of aliases."
    ),
    "yaml-too-deep": (
        "Lists and mappings stand inside each other more than 100 levels deep. Most often a bracket is not closed."
    ),
    "yaml-top": (
        "A stack or job file is a mapping: keys with values, such as services: or image:. This one holds a list or "
        "a single word."
    ),
}
