"""The composition roots: the only place that chooses implementations and hands them to the rooms."""
