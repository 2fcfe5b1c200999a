"""The exploration actions as a Model Context Protocol server."""
