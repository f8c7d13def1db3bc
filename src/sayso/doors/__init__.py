"""Doors: each turns a call of its world into a request, and the decision into that world's words."""
