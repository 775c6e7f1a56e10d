"""One module per revision, `rNNNN_what.py`; each says only what changed, never what the schema is now."""
