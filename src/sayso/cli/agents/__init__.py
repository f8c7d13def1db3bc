"""Commands that gate coding agents: install, uninstall, doctor, hook."""
