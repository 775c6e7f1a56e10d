"""Who may change what: a user sees all and changes only their own; an admin changes all; an agent nothing here."""

from berth.model.errors import Refused
from berth.model.job import Job
from berth.model.stored import SeenFile
from berth.model.token import Actor


def must_own(actor: Actor, job: Job) -> None:
    """Raise Refused unless the actor is an admin or submitted the job."""
    if actor.role == "admin" or (actor.role == "user" and job.user == actor.name):
        return
    raise Refused.of(
        "not-yours",
        f"job {job.name} ({job.id}) belongs to {job.user or 'nobody'}; you are {actor.name} with role {actor.role}.",
        "Ask its owner or an admin, or use an admin's token: --token-file FILE",
    )


def must_own_file(actor: Actor, seen: SeenFile) -> None:
    """Raise Refused unless the actor is an admin or created the secret or config."""
    if actor.role == "admin" or (actor.role == "user" and seen.user == actor.name):
        return
    raise Refused.of(
        "not-yours",
        f"the {seen.kind} {seen.name} belongs to {seen.user or 'nobody that Berth knows'}; you are {actor.name} with "
        f"role {actor.role}.",
        "Ask its owner or an admin, or use an admin's token: --token-file FILE",
    )


def must_be_admin(actor: Actor, what: str) -> None:
    """Raise Refused unless the actor is an admin."""
    if actor.role != "admin":
        raise Refused.of(
            "admin-only",
            f"only an admin may {what}; you are {actor.name} with role {actor.role}.",
            "Use an admin's token: --token-file FILE (the first one is in the server's data folder, admin.token)",
        )


def may_submit(actor: Actor) -> None:
    """Raise Refused for an agent: its token is for its stream only."""
    if actor.role == "agent":
        raise Refused.of(
            "agent-token",
            "this is an agent's token: it may only keep its own node's stream.",
            "Create a user's token: berth token create --role user --name NAME",
        )
