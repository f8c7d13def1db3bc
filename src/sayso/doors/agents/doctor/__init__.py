"""Is a coding agent really gated? Looked at, tried, and said exactly."""
