"""The resident service: the gate over HTTP and a Unix socket, and the page where people answer."""
