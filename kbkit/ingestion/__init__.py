"""Run a recipe, build the stores, publish the generation.

``recipe`` reads recipes, ``sources`` and ``archives`` turn their files into tables, ``staging`` validates the recipe's
tables and numbers the nodes, ``describe`` derives the schema. ``build`` ingests a source or rebuilds a store,
``update`` changes a KB with a ``delta``; both build and publish a ``generation``. ``fetch`` downloads sources,
``generate`` writes synthetic ones.
"""
