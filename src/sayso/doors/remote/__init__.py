"""The Python door of a program whose gate is in the service: the service decides, the functions run here."""
