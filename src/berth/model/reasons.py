"""What each word means by which a job waits, a run has ended, or a node refuses: the text of `berth explain WORD`."""

from berth.model.codes import CODES

WAITING: dict[str, str] = {
    "behind": (
        "An earlier job that could get the same cards is served first (strict first come). A job may pass an earlier "
        "one only when the two can share no card. `berth queue` shows the order, `berth why JOB` who is in front."
    ),
    "capacity": (
        "Nodes match, but none is large enough: too few matching cards on one node, or less CPU or memory in all than "
        "the task reserves. Ask for fewer cards or smaller reservations, or for several tasks."
    ),
    "cpu": (
        "Cards are free, but the node has not enough unreserved CPU for `resources.reservations.cpus`. It starts when "
        "what runs there ends; a smaller reservation lets it start now."
    ),
    "dependency": (
        "It waits for a job named under `after`, or ended because that job did not succeed. Look at the other one with "
        "`berth history JOB`."
    ),
    "engine": (
        "The engine is not ready for this task: it does not answer, or what is left of an earlier run is being removed "
        "first. It goes on by itself; `berth events` shows what happens."
    ),
    "fenced": (
        "The matching nodes take no new work: a person drained or fenced them, gpu.schedule is false, or their cards "
        "are fenced, quarantined or lost. `berth nodes` and `berth cards` say why; `berth node undrain NODE`, `berth "
        "node unfence NODE` and `berth card unfence UUID` give them back."
    ),
    "free-cards": (
        "Enough cards match, but they are in use, by Berth's tasks or by work that Berth did not start. It starts when "
        "cards come free; `berth gpus` shows what is free now, `berth cards` who has the rest."
    ),
    "gang": "Its tasks start together or not at all, and not all of them fit at once yet. It starts when they do.",
    "held": "A person holds it back. `berth release JOB` lets it go on with its original submit time.",
    "image": (
        "No node that could take it can pull its image. Check the name and the registry, and log in with `docker "
        "login` before you deploy again."
    ),
    "memory": (
        "Cards are free, but the node has not enough unreserved memory for `resources.reservations.memory`. It starts "
        "when what runs there ends; a smaller reservation lets it start now."
    ),
    "no-match": (
        "No known card or node meets its constraints, so as things are it never starts; a node that joins or gets "
        "another label may change that. `berth why JOB` names the rule, `berth cards` and `berth nodes` what there is."
    ),
    "node-silent": (
        "The matching nodes do not answer or are gone. It starts when one is back. Of a run that ended: its node was "
        "lost. For a node that is surely off: `berth node fence NODE --reason TEXT`."
    ),
    "policy": "A rule of the queue or of the cluster forbids it now. `berth why JOB` says which one.",
    "port": (
        "A host port that the task publishes is taken on every node that could run it. It starts when the other task "
        "ends; another published port lets it start now."
    ),
    "quota": "Its queue or user has used up what it may hold at once. It starts when some of that work ends.",
    "queue": "Its queue is full or closed. It starts when the queue takes work again.",
    "reservation": "The cards are kept for a reservation of somebody else. It starts after that.",
    "restart-delay": (
        "Its last run has ended and the delay of its restart policy is not over. It keeps its cards and starts again "
        "by itself."
    ),
    "secret": "A secret that it names does not exist. Create it, and it starts.",
    "taint": "The matching nodes carry a taint that it does not tolerate. Add a toleration, or remove the taint.",
    "volume": "Its volume is on a node that cannot take it now. It starts when that node can.",
    "window": "It may run only in its window of time, which is not open. It starts when the window opens.",
}

ENDED: dict[str, str] = {
    "cancelled": "A person ended it, by `berth cancel`, `berth stack rm`, `berth scale` or a removed service.",
    "dependency": WAITING["dependency"],
    "exit": "Its command ended by itself; the exit code says how. `berth logs JOB` has its output.",
    "killed": (
        "Somebody ended its container with the engine's own tools (`docker kill`, `docker stop`, `docker rm -f`). That "
        "counts as a failure and follows its restart policy."
    ),
    "lost-cards": (
        "A card that it held is no longer reported by the driver. Look at the node (`nvidia-smi`, the kernel's log); "
        "the card is out of use until it is back."
    ),
    "max-attempts": "It has failed as often as its restart policy allows. `berth history JOB` shows each run.",
    "node-lost": (
        "Its node was lost while it ran. The run is not counted, and the slot starts once more whatever its restart "
        "policy is."
    ),
    "oom": (
        "The kernel ended it because it used more memory than its limit (or than the node has). Raise "
        "`resources.limits.memory`, or let it use less."
    ),
    "preempted": "Other work took its cards. The run is not counted; the job waits again with its submit time.",
    "removed-on-engine": "Its service or container was removed with the engine's own tools, which means a cancel.",
    "replaced": (
        "An update of its service, or an edit by hand that was put back, ended this attempt for the next one, on the "
        "same cards where that asks for the same. It is no failure and is not counted."
    ),
    "start-failed": (
        "The engine could not start it: the image, a mount, or the command is wrong. `berth history JOB` has the "
        "engine's own words."
    ),
    "time-limit": "It ran as long as its time limit allows. Give it more with `time` (`--time` of `berth run`).",
    "unhealthy": (
        "Its health check failed as often as it may (`retries`), so it was ended. That is a failure: it follows the "
        "restart policy, and during an update the failure_action. `berth history JOB` has the check's last words."
    ),
    "wrong-cards": CODES["wrong-cards"],
}

RULES: dict[str, str] = {
    "constraint": "A constraint of the task does not hold on that node or on its cards; the line quotes it.",
    "draining": (
        "The node takes no new work; what runs there finishes. A person drained it (`berth node undrain NODE` takes "
        "that back), or the engine has it drained."
    ),
    "gpu.schedule": "The node's label gpu.schedule is false, so it takes no new work with cards. Set it to true.",
}

REASONS: dict[str, str] = {**RULES, **ENDED, **WAITING}
"""Every word that stands as a reason or rule in what users see, with what it means and what to do."""
