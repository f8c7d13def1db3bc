"""Consent in Python code: decorate what needs it, run it through the gate, and it is asked and run once."""
