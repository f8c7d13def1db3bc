"""The gateway: a process that stands in front of a stdio MCP server, and asks before every tool call."""
