"""Stack files and job files -> drafts of the model, with every mistake found in one go; admit takes it from there."""

from berth.compose.body import JobBody, decode_jobs
from berth.compose.facts import Facts, Reading
from berth.compose.job import draft_job, load_job, read_body, read_job
from berth.compose.stack import load_stack, merged_stack, read_stack

__all__ = [
    "Facts", "JobBody", "Reading", "decode_jobs", "draft_job", "load_job", "load_stack", "merged_stack", "read_body",
    "read_job", "read_stack",
]  # fmt: skip
