"""Draw results as the comment ``#defaultView:Map`` in a query says, as the Wikidata Query Service does.

https://www.wikidata.org/wiki/Wikidata:SPARQL_query_service/Wikidata_Query_Help/Result_Views
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from kbkit.directory.files import write_files
from kbkit.display import charts, drawing, html
from kbkit.display.charts import Chart
from kbkit.display.drawing.model import Drawing
from kbkit.display.points import Points, Spans
from kbkit.errors import BadInputError, KbError, plural
from kbkit.stores.sparql_text import tokens

VIEWS = ("Table", "ImageGrid", "Map", "Timeline", "BarChart", "LineChart", "ScatterChart", "Graph", "Tree")
_SAME = {"AreaChart": "LineChart", "BubbleChart": "BarChart", "GraphBuilder": "Graph", "TreeMap": "Tree"}
"""Views of the service that are drawn as another one."""
MOST_ROWS = 200
"""Maximum number of bars, and of rows of a timeline."""

_COMMENT = re.compile(r"#\s*defaultView\s*:\s*(\w+)\s*(\{.*\})?.*", re.IGNORECASE)
_NUMBERS = ("integer", "decimal", "double", "float")
_DATES = ("dateTime", "date", "gYear", "gYearMonth")
_XSD = "http://www.w3.org/2001/XMLSchema#"
_POINT = r"(?i)^\s*(?:<http://www\.wikidata\.org/entity/Q2>\s*)?Point\s*\(\s*([-+0-9.eE]+)[\s,]+([-+0-9.eE]+)\s*\)"
"""A point on Earth; those of other globes are not drawn."""
_PAGES = (".html",)


@dataclass(frozen=True)
class View:
    """The result of a query and how to draw it.

    ``name`` is one of ``VIEWS``; ``rows`` are the rows as values, ``terms`` the same as RDF terms. ``hidden`` columns
    are not drawn; ``layer`` is the column whose values have colours (empty: none). ``edges`` says that the rows are
    triples.
    """

    name: str
    rows: pl.DataFrame
    terms: pl.DataFrame
    hidden: Sequence[str] = ()
    layer: str = ""
    edges: bool = False

    def __repr__(self) -> str:
        return f"<View {self.name} of {plural(self.rows.height, 'row')}>"

    def write(self, path: str | os.PathLike[str]) -> None:
        """Draw to a file (.html, .svg or .png; graphs and trees also .graphml and .dot).

        Raises :class:`KbError` for another suffix, a missing extra, and rows that the view cannot show.
        """
        path = Path(path)
        check_view(self.name, path)
        if self.name in ("Graph", "Tree"):
            drawing.write(self._graph(), path)
        elif self.name in ("Table", "ImageGrid"):
            shown = self.rows.select(self._columns)
            write_files({path: html.document(self._title, shown.columns, shown.rows())})
        else:
            charts.write([self._chart()], path)

    # -- columns ------------------------------------------------------------------------------------------------------

    @property
    def _title(self) -> str:
        return f"{self.name}: {plural(self.rows.height, 'row')}"

    @property
    def _columns(self) -> list[str]:
        return [name for name in self.terms.columns if name not in self.hidden]

    @cached_property
    def _kinds(self) -> dict[str, str]:
        """The kind of most values of each column: uri, point, date, number or text (empty: no values)."""
        return {name: _kind(self.terms[name]) for name in self.terms.columns}

    def _of_kind(self, *kinds: str) -> list[str]:
        return [name for name in self._columns if self._kinds[name] in kinds]

    def _named(self) -> list[str]:
        """Return the columns that name things; a column ``xLabel`` stands for ``x``."""
        return [name for name in self._of_kind("uri", "text") if f"{name}Label" not in self.terms.columns]

    def _needed(self, what: str, *kinds: str, skip: Sequence[str] = ()) -> str:
        names = [name for name in self._of_kind(*kinds) if name not in skip]
        if not names:
            raise KbError(f"The view {self.name} needs a column of {what}", "Select one, or choose another view")
        return names[0]

    def _texts(self, column: str) -> pl.Series:
        """Return the values of a column as text: the label of an entity, else the end of its IRI."""
        label = f"{column}Label" if f"{column}Label" in self.terms.columns else column
        term = self.terms[label].struct
        value = term.field("value")
        return value if label != column or self._kinds[column] != "uri" else value.str.extract(r"([^/#]+)[/#]?$")

    def _label(self) -> pl.Series:
        """Return a name for each row."""
        names = self._named() or self._columns
        return self._texts(names[0]).alias("label")

    def _colours(self, skip: Sequence[str] = ()) -> pl.Series:
        named = [name for name in self._named() if name not in skip]
        layer = self.layer or next((name for name in ("layerLabel", "layer") if name in self.terms.columns), "")
        column = (
            layer if layer in self.terms.columns else "" if self.name in ("Map", "Timeline") else next(iter(named), "")
        )
        return (
            self._texts(column).alias("colour") if column else pl.Series("colour", [None] * self.rows.height, pl.String)
        )

    # -- charts -------------------------------------------------------------------------------------------------------

    def _chart(self) -> Chart | Points | Spans:
        if self.name == "Map":
            return self._map()
        if self.name == "Timeline":
            return self._timeline()
        return self._bars() if self.name == "BarChart" else self._numbers()

    def _map(self) -> Points:
        place = next((name for name, kind in self._kinds.items() if kind == "point"), None)  # it may be hidden
        if place is None:
            raise KbError("The view Map needs a column of coordinates", "Select one, or choose another view")
        coordinates = self.terms[place].struct.field("value").str.extract_groups(_POINT).struct
        frame = pl.DataFrame(
            {
                "x": coordinates.field("1").cast(pl.Float64, strict=False),
                "y": coordinates.field("2").cast(pl.Float64, strict=False),
                "label": self._label(),
                "colour": self._colours(),
            }
        ).drop_nulls(["x", "y"])
        return Points(self._title, frame, "longitude", "latitude", equal=True)

    def _timeline(self) -> Spans:
        self._needed("dates", "date")
        dates = self._of_kind("date")
        start, end = dates[0], next(iter(dates[1:]), None)
        nothing = pl.Series([None] * self.rows.height, dtype=pl.String)
        frame = pl.DataFrame(
            {
                "label": self._label(),
                "start": _years(self.terms[start]),
                "end": _years(self.terms[end]) if end else nothing.cast(pl.Float64),
                "from": self.terms[start].struct.field("value").str.slice(0, 10),
                "to": self.terms[end].struct.field("value").str.slice(0, 10) if end else nothing,
                "colour": self._colours(),
            }
        ).drop_nulls("start")
        frame = frame.sort("start", "label").head(MOST_ROWS)
        return Spans(self._cut(frame.height), frame)

    def _bars(self) -> Chart:
        y = self._needed("numbers", "number")
        x = self._needed("names or dates", "uri", "text", "date", skip=[y])
        x = next(iter(self._named()), x)
        frame = pl.DataFrame({"x": self._texts(x), "y": _numbers(self.terms[y]), "colour": self._colours(skip=[x])})
        frame = frame.drop_nulls(["x", "y"]).head(MOST_ROWS)
        colour = "colour" if frame["colour"].null_count() < frame.height else ""
        frame = frame.with_columns(pl.col("colour").fill_null(""))
        return Chart(self._cut(frame.height), frame, "x", "y", colour, stacked=True, x_title=x, y_title=y)

    def _numbers(self) -> Chart | Points:
        """Return a line chart or a scatter chart."""
        x = self._needed("numbers or dates", "date", "number")
        y = self._needed("numbers other than that of the x axis", "number", skip=[x])
        date = self._kinds[x] == "date"
        across = _years(self.terms[x]) if date else _numbers(self.terms[x])
        frame = pl.DataFrame(
            {"x": across, "y": _numbers(self.terms[y]), "label": self._label(), "colour": self._colours()}
        ).drop_nulls(["x", "y"])
        if self.name == "ScatterChart":
            return Points(self._title, frame, x, y)
        frame = frame.with_columns(pl.col("colour").fill_null("")).sort("x")
        colour = "colour" if frame["colour"].n_unique() > 1 else ""
        form = "d" if date else "~s"
        return Chart(self._title, frame, "x", "y", colour, lines=True, x_title=x, y_title=y, x_format=form)

    def _cut(self, shown: int) -> str:
        return self._title if shown < MOST_ROWS else f"{self._title}, the first {MOST_ROWS} shown"

    # -- graphs -------------------------------------------------------------------------------------------------------

    def _graph(self) -> Drawing:
        pairs = self._triples() if self.edges else self._pairs()
        if not pairs.height:
            raise KbError(f"The view {self.name} needs two columns of entities", "Select them, or choose another view")
        ends = [pairs.select(key=end, name=f"{end}_name", type=f"{end}_type") for end in ("head", "tail")]
        nodes = pl.concat(ends).unique("key", maintain_order=True).with_row_index("id").cast({"id": pl.Int64})
        numbers = nodes.select("key", "id")
        edges = (
            pairs.join(numbers, left_on="head", right_on="key", maintain_order="left")
            .join(numbers, left_on="tail", right_on="key", suffix="_tail", maintain_order="left")
            .select(head="id", relation="relation", tail="id_tail")
            .unique(maintain_order=True)
        )
        center, hops = _hops(nodes.height, edges)
        nodes = nodes.with_columns(hop=pl.Series(hops), line=pl.lit(None, pl.String))
        nodes = nodes.select("id", "key", "type", "name", "hop", "line").sort("hop", "id")
        summary = f"{plural(nodes.height, 'node')}, {plural(edges.height, 'edge')}"
        types = pairs.select(pl.concat_list("head_type", "tail_type").explode()).to_series().unique(maintain_order=True)
        return Drawing(self._title, summary, center, nodes, edges, types.to_list(), frozenset(), {})

    def _triples(self) -> pl.DataFrame:
        """Return the triples whose objects are entities as edges."""
        parts = {name: self.terms[name].struct for name in ("subject", "predicate", "object")}
        value = {name: part.field("value") for name, part in parts.items()}
        end = {name: text.str.extract(r"([^/#]+)[/#]?$").fill_null(text) for name, text in value.items()}
        frame = pl.DataFrame(
            {
                "head": value["subject"], "head_name": end["subject"], "head_type": ["node"] * self.terms.height,
                "relation": end["predicate"],
                "tail": value["object"], "tail_name": end["object"], "tail_type": ["node"] * self.terms.height,
                "kind": parts["object"].field("type"),
            }
        )  # fmt: skip
        return frame.filter(pl.col("kind") != "literal").drop("kind")

    def _pairs(self) -> pl.DataFrame:
        """Return the pairs of entities of each row: the first with each other one, in a tree each with the next."""
        columns = self._of_kind("uri")
        frames = []
        for place, tail in enumerate(columns[1:]):
            head = columns[place] if self.name == "Tree" else columns[0]
            relation = (
                self._texts("edge") if "edgeLabel" in self.terms.columns else pl.Series([tail] * self.rows.height)
            )
            frames.append(
                pl.DataFrame(
                    {
                        "head": self.terms[head].struct.field("value"), "head_name": self._texts(head),
                        "head_type": [head] * self.rows.height, "relation": relation.fill_null(tail),
                        "tail": self.terms[tail].struct.field("value"), "tail_name": self._texts(tail),
                        "tail_type": [tail] * self.rows.height,
                    }
                )
            )  # fmt: skip
        whole = pl.concat(frames) if frames else pl.DataFrame(schema={"head": pl.String, "tail": pl.String})
        return whole.drop_nulls(["head", "tail"])


@dataclass(frozen=True)
class Wanted:
    """The view that a query asks for (empty: none), and its options ``hide`` and ``layer``."""

    name: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)

    def of(self, rows: pl.DataFrame, terms: pl.DataFrame, *, edges: bool) -> View:
        """Return the view of a result; by default, triples are a graph and rows a table."""
        hide = self.options.get("hide", [])
        hidden = [str(name).lstrip("?") for name in (hide if isinstance(hide, list) else [hide])]
        return View(
            self.name or ("Graph" if edges else "Table"),
            rows,
            terms,
            hidden,
            str(self.options.get("layer", "")).lstrip("?"),
            edges,
        )


def wanted(text: str) -> Wanted:
    """Return the view that the first comment ``#defaultView`` of a query asks for.

    Raises :class:`BadInputError` for an unknown view and for options that are not JSON.
    """
    for token in tokens(text):
        match = _COMMENT.fullmatch(token.text) if token.kind == "comment" else None
        if match is None:
            continue
        by_name = {name.lower(): name for name in VIEWS} | {old.lower(): new for old, new in _SAME.items()}
        name = by_name.get(match[1].lower())
        if name is None:
            raise BadInputError(f"Unsupported view {match[1]}", f"Use one of {', '.join(VIEWS)}")
        try:
            options = json.loads(match[2] or "{}")
        except ValueError:
            raise BadInputError(f"Invalid options of #defaultView:{match[1]}", "They must be JSON") from None
        return Wanted(name, options)
    return Wanted()


def check_view(name: str, path: Path) -> None:
    """Raise the errors of :meth:`View.write` for a file, in advance; without a ``name`` those of all views."""
    if not name:
        if path.suffix.lower() not in drawing.ENDINGS:
            drawing.check(path)
    elif name in ("Graph", "Tree"):
        drawing.check(path)
    elif name not in ("Table", "ImageGrid"):
        charts.check(path)
    elif path.suffix.lower() not in _PAGES:
        raise KbError(
            f"The view {name} cannot be drawn as {path.suffix or 'a file without a suffix'}",
            "Use .html, or choose another view with a comment in the query, such as #defaultView:BarChart",
        )
    elif not path.parent.is_dir():
        raise KbError(f"{path.parent} does not exist", "Create the folder first")


def _kind(column: pl.Series) -> str:
    term = column.drop_nulls().struct
    if not len(column.drop_nulls()):
        return ""
    kinds = pl.DataFrame({"type": term.field("type"), "datatype": term.field("datatype").fill_null("")}).select(
        pl.when(pl.col("type") == "uri").then(pl.lit("uri"))
        .when(pl.col("datatype").str.ends_with("wktLiteral")).then(pl.lit("point"))
        .when(pl.col("datatype").is_in([_XSD + name for name in _NUMBERS])).then(pl.lit("number"))
        .when(pl.col("datatype").is_in([_XSD + name for name in _DATES])).then(pl.lit("date"))
        .otherwise(pl.lit("text")).alias("kind")
    )  # fmt: skip
    return str(kinds["kind"].value_counts(sort=True)["kind"][0])


def _numbers(column: pl.Series) -> pl.Series:
    return column.struct.field("value").str.strip_prefix("+").cast(pl.Float64, strict=False)


def _years(column: pl.Series) -> pl.Series:
    """Return dates as years with fractions, which have no limits; calendars before the common era have a year 0."""
    part = column.struct.field("value").str.extract_groups(r"^([-+]?[0-9]+)(?:-([0-9]{2}))?(?:-([0-9]{2}))?").struct
    year, month, day = (part.field(str(n)).str.strip_prefix("+").cast(pl.Float64, strict=False) for n in (1, 2, 3))
    return year + (month.fill_null(1) - 1).clip(0, 11) / 12 + (day.fill_null(1) - 1).clip(0, 30) / 372


def _hops(count: int, edges: pl.DataFrame) -> tuple[int, list[int]]:
    """Return the node with the most edges, and the distance of each node from it (unreachable: one more than most)."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import dijkstra

    heads, tails = edges["head"].to_numpy(), edges["tail"].to_numpy()
    center = int(np.bincount(np.concatenate([heads, tails]), minlength=count).argmax())
    matrix = coo_array((np.ones(len(heads)), (heads, tails)), shape=(count, count)).tocsr()
    far = dijkstra(matrix, directed=False, indices=center, unweighted=True)
    reached = np.isfinite(far)
    return center, np.where(reached, far, far[reached].max() + 1).astype(np.int64).tolist()
