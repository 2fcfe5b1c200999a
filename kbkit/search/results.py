"""Search results: a polars frame that a notebook shows as a list of hits."""

from __future__ import annotations

import polars as pl

from kbkit import html_pages

_NEEDED = {"key", "type", "name", "score", "snippet"}


class SearchResults(pl.DataFrame):
    """A polars frame in every respect; where columns of a hit are gone, a notebook shows polars' own table."""

    def _repr_html_(self, *, _from_series: bool = False) -> str:
        if not _NEEDED.issubset(self.columns):
            return super()._repr_html_(_from_series=_from_series)
        return html_pages.hits(self.columns, self.head(html_pages.HITS).rows(), self.height)
