"""The cluster in memory: what the store holds, with the ledger, the indexes of work, and what was last seen."""
