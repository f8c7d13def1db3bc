"""Commands about the service: run, find and stop it, sign in to its page, and who may speak to it."""
