"""The graph around a node: neighbours, pages, paths, neighbourhoods; and an overview of the whole graph."""
