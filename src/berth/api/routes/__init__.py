"""All routes: each reads its request, calls one command or query of control, and shows the answer."""

from berth.api.routes import about, events, jobs, lists, logs, nodes, secrets, stack_config, stacks, submit, tokens

HANDLERS = [
    *lists.HANDLERS,
    *jobs.HANDLERS,
    *logs.HANDLERS,
    *submit.HANDLERS,
    *stacks.HANDLERS,
    *nodes.HANDLERS,
    *tokens.HANDLERS,
    *secrets.HANDLERS,
    *stack_config.HANDLERS,
    *events.HANDLERS,
    *about.HANDLERS,
]
