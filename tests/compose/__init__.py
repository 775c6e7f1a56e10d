"""Stack files and job files become drafts."""
