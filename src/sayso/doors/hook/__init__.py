"""The hook: a short process that a coding agent starts for one call. It imports nothing of Sayso."""
