"""Frames that notebooks render with prose left-aligned; Polars aligns all columns on the right."""

from __future__ import annotations

import polars as pl

from kbkit.display import html


class DataFrame(pl.DataFrame):
    """A polars frame that notebooks render as kbkit's other tables."""

    def _repr_html_(self, *, _from_series: bool = False) -> str:
        if _from_series:
            return super()._repr_html_(_from_series=_from_series)
        return html.rows(self.columns, self.head(html.TABLE_ROWS).rows(), self.height)
