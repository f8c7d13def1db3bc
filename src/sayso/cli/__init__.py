"""The command line."""

INTERRUPTED = 130
"""The exit code after Ctrl-C."""
