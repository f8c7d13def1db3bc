"""The places where questions are shown to a person and answers come from."""
