"""MCP servers in the settings of their clients: found, put behind the gateway, released again."""
