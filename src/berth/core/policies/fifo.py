"""Strict first come, best fit: the policy of the queue `default`."""

from berth.core.order import Policy, first_come
from berth.core.score import best_fit

POLICY = Policy("fifo", first_come, best_fit)
