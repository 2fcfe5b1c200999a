"""How nodes are connected: shortest paths between two, and the neighbourhood of one, whichever way edges run."""

from kbkit.connections.around import Neighbourhood, around
from kbkit.connections.paths import Path, Paths, Step, paths

__all__ = ["Neighbourhood", "Path", "Paths", "Step", "around", "paths"]
