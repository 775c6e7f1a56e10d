"""The table of policies: a name and where its policy is found. A new one is one file and one line here."""

from importlib import import_module

from berth.core.order import Policy

POLICIES = {
    "fifo": "berth.core.policies.fifo:POLICY",
}


def load(name: str) -> Policy:
    """The policy of that name. Raises KeyError for a name that the table lacks, ImportError for a broken one."""
    module, _, attribute = POLICIES[name].partition(":")
    policy = getattr(import_module(module), attribute)
    if not isinstance(policy, Policy):
        raise ImportError(f"{POLICIES[name]} is not a Policy")
    return policy
