"""Stack files and job files -> drafts of the model, with every mistake found in one go; admit takes it from there."""

from berth.compose.facts import Facts, Reading
from berth.compose.stack import load_stack

__all__ = ["Facts", "Reading", "load_stack"]
