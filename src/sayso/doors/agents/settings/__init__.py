"""The settings of coding agents: what is registered, and the user's files changed by no more than that."""
