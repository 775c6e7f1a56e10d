"""The figures, each beside its peer in the same run: `python -m benchmarks.NAME`, or all by `python -m benchmarks`."""
