"""The MCP face of a gate: what an agent may do with it, and nothing that grants. Needs the extra `mcp`."""
