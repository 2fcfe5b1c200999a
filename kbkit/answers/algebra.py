"""The operators of a resolved expression; immutable.

Every operator is a set of nodes; ``type`` is a type that all of them have (None: any). To add an operator, add a class
here and its cases to ``evaluator.py``, ``to_sql.py``, ``to_sparql.py`` and ``why.py``. A :class:`Total` is a value of
the nodes of an operator; its cases are in ``totals.py``, ``total_sql.py`` and ``total_sparql.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from kbkit.answers.date_functions import DATE_TYPES
from kbkit.answers.syntax import Key, Name, Slot, identifier

Scalar: TypeAlias = str | int | float | bool


@dataclass(frozen=True)
class AllNodes:
    """All nodes of a type, primary or secondary."""

    type: str | None


@dataclass(frozen=True)
class Lookup:
    """The nodes that a parameter is bound to."""

    type: str | None
    parameter: str


@dataclass(frozen=True)
class SavedNodes:
    """The members of a saved set."""

    type: str | None
    name: str


@dataclass(frozen=True)
class AttributeCondition:
    """A test ``attribute op parameters``; ``sql_type`` is the attribute's DuckDB type; ``missing``, ``in`` and
    ``contains`` can be ``negated``. With ``other``, a comparison with another attribute of the same node or edge.
    """

    attribute: str
    sql_type: str
    op: str
    parameters: tuple[str, ...] = ()
    negated: bool = False
    other: AttributeMeasure | None = None

    @property
    def attributes(self) -> tuple[str, ...]:
        """The names of the attributes whose values decide."""
        return (self.attribute,) if self.other is None else (self.attribute, self.other.name)

    @property
    def swapped(self) -> AttributeCondition:
        """The same comparison with another attribute, of which the other is the first."""
        assert self.other is not None
        sign = self.op.translate(str.maketrans("<>", "><"))
        mine = AttributeMeasure(self.attribute, self.sql_type)
        return AttributeCondition(self.other.name, self.other.sql_type, sign, other=mine)


@dataclass(frozen=True)
class AttributeFilter:
    """The nodes of ``source`` that meet all conditions."""

    source: Operator
    conditions: tuple[AttributeCondition, ...]

    @property
    def type(self) -> str | None:
        """The type of the source."""
        return self.source.type


@dataclass(frozen=True)
class Move:
    """A relation followed from head to tail (``forward``) or back; ``closure`` is empty, ``*`` or ``+``.

    It follows the edges that meet all ``conditions`` on their attributes; one with a closure has none.
    """

    relation: str
    forward: bool
    closure: str = ""
    conditions: tuple[AttributeCondition, ...] = ()


@dataclass(frozen=True)
class Hop:
    """The nodes that any of ``moves`` reaches from ``source``; ``check`` if some may not have ``type``."""

    source: Operator
    moves: tuple[Move, ...]
    type: str | None
    check: bool = False


@dataclass(frozen=True)
class Intersection:
    """The nodes in all parts."""

    type: str | None
    parts: tuple[Operator, ...]


@dataclass(frozen=True)
class Union:
    """The nodes in at least one part."""

    type: str | None
    parts: tuple[Operator, ...]


@dataclass(frozen=True)
class Difference:
    """The nodes of ``left`` that are not in ``right``."""

    left: Operator
    right: Operator

    @property
    def type(self) -> str | None:
        """The type of the left side."""
        return self.left.type


@dataclass(frozen=True)
class AttributeMeasure:
    """A measure: an attribute of a DuckDB type; of a list, its greatest or least element."""

    name: str
    sql_type: str

    @property
    def text(self) -> str:
        """The name of the attribute."""
        return self.name

    @property
    def written(self) -> str:
        """The attribute as expressions have it."""
        return identifier(self.name)


@dataclass(frozen=True)
class DateMeasure(AttributeMeasure):
    """A measure: ``op`` (year, month or days) of attributes with dates, which has a value where all of them have.

    It is an attribute that is computed where it is read; ``name`` is the expression. Of a list (year and month), the
    list of the values.
    """

    op: str
    dates: tuple[AttributeMeasure, ...]

    @property
    def written(self) -> str:
        """The function as expressions have it."""
        return self.name

    @classmethod
    def of(cls, op: str, dates: tuple[AttributeMeasure, ...]) -> DateMeasure:
        """Return a function of attributes."""
        several = "[]" if dates[0].sql_type.endswith("[]") else ""
        name = f"{op}({', '.join(date.written for date in dates)})"
        return cls(name, DATE_TYPES[op] + several, op, dates)


@dataclass(frozen=True)
class EdgeMeasure(AttributeMeasure):
    """A measure of the edges that are the rows of a :class:`Total`: ``attribute``, also a function of dates."""

    attribute: AttributeMeasure

    @property
    def written(self) -> str:
        """The attribute as expressions have it."""
        return self.attribute.written

    @property
    def column(self) -> AttributeMeasure:
        """The measure as a column of the table of the rows, which has a column ``id`` too."""
        return AttributeMeasure(f"edge {self.name}", self.sql_type)


def aggregate_type(op: str, sql_type: str) -> str:
    """Return the DuckDB type of a function (exists, count, sum, avg, min or max) of values of a type."""
    element = sql_type.removesuffix("[]")
    if op == "sum" and not element.startswith("DECIMAL"):
        return "DOUBLE" if element in ("DOUBLE", "FLOAT") else "BIGINT"
    if op in ("avg", "fraction", "percentage"):
        return "DOUBLE"
    return {"exists": "BOOLEAN", "count": "BIGINT"}.get(op, element)


@dataclass(frozen=True)
class MeasureStep:
    """A step of a measure, to nodes that any of ``moves`` reaches and that are in ``within`` (None: all of them)."""

    moves: tuple[Move, ...]
    type: str | None
    within: Operator | None = None


@dataclass(frozen=True)
class PathMeasure:
    """A measure: ``op`` (count, sum, avg, min or max) of the distinct nodes that ``steps`` reach from a node.

    It is the number of nodes or, with ``attribute``, what ``op`` makes of their values: nothing if there are none,
    except for count, which is the number of distinct values. ``text`` is the expression. ``of_edges``: the attribute is
    one of the edges of the last step, each of which counts, and not of the nodes; that step has one move.
    """

    steps: tuple[MeasureStep, ...]
    text: str
    op: str = "count"
    attribute: AttributeMeasure | None = None
    of_edges: bool = False

    @property
    def is_number_of_nodes(self) -> bool:
        """Whether it is the number of the nodes, which every node has."""
        return self.attribute is None

    @property
    def end(self) -> str | None:
        """The type of the nodes at the end of the path."""
        return self.steps[-1].type

    @property
    def sql_type(self) -> str:
        """The DuckDB type of the value."""
        return "BIGINT" if self.attribute is None else aggregate_type(self.op, self.attribute.sql_type)


Measure: TypeAlias = AttributeMeasure | PathMeasure


@dataclass(frozen=True)
class ReachedAttribute:
    """An attribute of the nodes of ``type`` that ``path`` reaches, by which nodes are grouped; ``text`` says it."""

    path: PathMeasure
    attribute: AttributeMeasure
    type: str | None
    text: str

    @property
    def name(self) -> str:
        """The name of the attribute."""
        return self.attribute.name

    @property
    def sql_type(self) -> str:
        """The DuckDB type of the attribute."""
        return self.attribute.sql_type


GroupKey: TypeAlias = Measure | ReachedAttribute
"""What groups have in common: a value of an attribute, or for a count the node that its steps reach."""


def path_of(group: GroupKey) -> PathMeasure | None:
    """Return the path by which nodes are grouped, if they are not by an attribute of their own."""
    if isinstance(group, ReachedAttribute):
        return group.path
    return group if isinstance(group, PathMeasure) else None


@dataclass(frozen=True)
class Extreme:
    """The nodes of ``source`` with the greatest (or least) value of a measure; nodes without a value are left out.

    With ``number``, a parameter n: the nodes with a value that fewer than n others surpass, so all that tie for n-th.
    With ``per``: those of each group; a node of several groups need be among them in one, and a node of none is left
    out.
    """

    source: Operator
    measure: Measure
    greatest: bool
    number: str | None = None
    per: GroupKey | None = None

    @property
    def type(self) -> str | None:
        """The type of the source."""
        return self.source.type


@dataclass(frozen=True)
class SortKey:
    """A key by which rows are sorted: a measure of the nodes or, for groups, the number of a column of the result."""

    key: Measure | int
    descending: bool = False


@dataclass(frozen=True)
class HavingTest:
    """A comparison of the column ``column`` of a table of groups with a number; ``op`` is one of = != < <= > >=."""

    column: int
    op: str
    value: int | float


@dataclass(frozen=True)
class Total:
    """A value of all answers: ``op`` is exists, count, values, sum, avg, min or max, mostly of ``measures``.

    Or op is fraction or percentage: the share of the answers that are in ``part``, missing without answers. Several
    functions (``min, max``) have a measure each. A count among ``groups`` stands for the nodes that its steps reach.
    ``having`` selects groups, and ``limit`` keeps the first rows and ties. With ``edges``, a step back from the
    answers, its edges are the rows instead of the answers; :class:`EdgeMeasure` are of these.
    """

    op: str
    measures: tuple[Measure, ...] = ()
    groups: tuple[GroupKey, ...] = ()
    order: tuple[SortKey, ...] = ()
    limit: int | None = None
    having: tuple[HavingTest, ...] = ()
    part: Operator | None = None
    edges: MeasureStep | None = None

    @property
    def is_table(self) -> bool:
        """Whether the value is a table: a row for each group, or for each node with several measures or an order."""
        return bool(self.groups or self.order or len(self.measures) > 1)

    @property
    def parts(self) -> tuple[Total, ...]:
        """The value of each function, without groups and order."""
        ops = self.op.split(", ")
        each = [(measure,) for measure in self.measures] if len(ops) > 1 else [self.measures]
        named = zip(ops, each, strict=True)
        return tuple(Total(op, measures, part=self.part, edges=self.edges) for op, measures in named)

    @property
    def counts(self) -> tuple[PathMeasure, ...]:
        """The measures of paths, and the paths of groups."""
        measures = (*self.measures, *(order.key for order in self.order))
        counts = [measure for measure in measures if isinstance(measure, PathMeasure)]
        paths = [path for group in self.groups if (path := path_of(group)) is not None]
        followed = [] if self.edges is None else [edges_of(self.edges)]
        return tuple(dict.fromkeys([*counts, *paths, *followed]))

    @property
    def edge_measures(self) -> tuple[EdgeMeasure, ...]:
        """The measures of edges."""
        measures = (*self.measures, *self.groups, *(order.key for order in self.order))
        return tuple(dict.fromkeys(measure for measure in measures if isinstance(measure, EdgeMeasure)))


def edges_of(step: MeasureStep) -> PathMeasure:
    """Return a step as a path that ends with its edges."""
    return PathMeasure((step,), "", of_edges=True)


@dataclass(frozen=True)
class ValueOf:
    """A value of the nodes of ``root``, which other nodes are compared with; ``text`` is the expression."""

    root: Operator
    total: Total
    text: str


@dataclass(frozen=True)
class MeasureFilter:
    """The nodes of ``source`` whose measure compares with another value; ``op`` is one of = != < <= > >=.

    ``other`` is a parameter, another measure of the node, or a value of other nodes. Of several values or elements of a
    list, any may compare. A missing value compares with nothing.
    """

    source: Operator
    measure: Measure
    op: str
    other: str | Measure | ValueOf

    @property
    def type(self) -> str | None:
        """The type of the source."""
        return self.source.type


Operator: TypeAlias = (
    AllNodes | Lookup | SavedNodes | AttributeFilter | Hop | Intersection | Union | Difference | MeasureFilter | Extreme
)


@dataclass(frozen=True)
class Parameter:
    """A parameter of a plan: nodes of ``type`` (None: any), or if ``is_value`` a constant of the DuckDB type ``type``.

    ``source`` is the slot, name, key or constant in the expression; ``at`` its position.
    """

    name: str
    type: str | None
    source: Slot | Name | Key | Scalar
    is_value: bool = False
    at: int = 0


@dataclass(frozen=True)
class Plan:
    """A resolved expression. Names of ``parameters`` are valid in SQL and SPARQL; ``text`` is the expression. ``total``
    is what ``count(...)``, ``values(...)`` and so on compute from the answers.
    """

    root: Operator
    parameters: tuple[Parameter, ...]
    text: str
    total: Total | None = None

    @property
    def type(self) -> str | None:
        """The type of the answers (None: any)."""
        return self.root.type

    @property
    def slots(self) -> tuple[str, ...]:
        """Names of the slots, in the order of their first appearance."""
        return tuple(p.source.name for p in self.parameters if isinstance(p.source, Slot))
