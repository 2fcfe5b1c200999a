"""kbkit: an embedded toolkit for knowledge graphs whose nodes carry text."""

from __future__ import annotations

__version__ = "0.1.0"
