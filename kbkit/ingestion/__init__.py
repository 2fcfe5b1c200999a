"""Runs a recipe, builds the stores, publishes the generation.

``recipe`` reads recipe.toml (``skeleton`` is one to start from); ``files`` finds the raw files and shows them to SQL,
``conversion`` runs a converter; ``stage`` checks what load.sql made and numbers the nodes; ``describe`` reads the
schema off it; ``build`` makes the stores and publishes.
"""
