"""Doors: a host's call becomes a request, and the decision the host's words. None of them decides."""
