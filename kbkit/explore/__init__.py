"""What an expert does who explores a KB: search, read an entry, see examples of a property, try a query; and an agent
that does so by itself.

``actions`` are the steps, ``agent`` the loop of the SPINACH paper (section 4), ``mcp_server`` the same for any agent.
"""
