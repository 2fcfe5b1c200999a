"""Dot-commands that look at the KB: info, schema, show, back, path, around, queries, templates, sets."""

from __future__ import annotations

import re
from pathlib import Path

from kbkit.display.drawing import check
from kbkit.errors import KbError, UnknownNameError
from kbkit.executor.commands import arguments
from kbkit.executor.commands.registry import command
from kbkit.executor.executor import Executor, Last, Outcome, Printout
from kbkit.executor.languages import COMMAND
from kbkit.executor.vocabulary import Argument
from kbkit.graph.pages import print_text
from kbkit.stores.nodes import typed


@command()
def info(executor: Executor, argument: str) -> Outcome:
    """What the KB holds, in numbers."""
    from kbkit.graph.pages import print_info

    data = executor.kb.info()
    return Outcome(COMMAND, Printout(lambda stream, width: print_info(data, stream, width)))


@command("[TYPE|RELATION]", Argument.TYPE_OR_RELATION)
def schema(executor: Executor, argument: str) -> Outcome:
    """Types and relations; with a name, all about it."""
    import polars as pl

    kb = executor.kb
    if not argument:
        shown = kb.relations().select("relation", "head_type", "tail_type", "edges", "attributes", "label")
        types = kb.types().select("type", "nodes", "other_nodes", "attributes", "description")
        return Outcome(COMMAND, (("types", types), ("relations", shown)))
    name = argument.strip("`[]")
    owners = {t.name: t for t in kb.schema.node_types} | {r.name: r for r in kb.schema.relations}
    folded = [known for known in owners if known.casefold() == name.casefold()]
    if name not in owners and len(folded) != 1:
        raise UnknownNameError("type or relation", name, owners)
    owner = owners[name if name in owners else folded[0]]
    columns = [(a.name, a.type, a.label) for a in owner.attributes]
    parts = [("attributes", pl.DataFrame(columns, ["attribute", "type", "label"], orient="row"))] if columns else []
    is_own = pl.col("relation") == owner.name
    if any(t.name == owner.name for t in kb.schema.node_types):
        is_own = is_own | (pl.col("head_type") == owner.name) | (pl.col("tail_type") == owner.name)
    joined = kb.relations().filter(is_own).select("relation", "head_type", "tail_type", "edges", "sql_name", "label")
    return Outcome(COMMAND, (*parts, ("relations", joined)))


_QUOTED = re.compile(r"""((?:[^\s:"']+:)?)(["'])(.+)\2""")
"""A node whose name stands in quotes."""


@command("NODE", Argument.NODE)
def show(executor: Executor, argument: str) -> Outcome:
    """A node's page; type a link's number to go there.

    NODE is a name, a key, type:name, type#key or #id. A number alone also leads to a row of the last result, as
    .show does without an argument to its first.
    .back goes back.
    """
    if not argument:
        return executor.follow(1) if executor.links else _nothing_to_show()
    try:
        return executor.show(typed(argument))
    except UnknownNameError:
        if argument.isdecimal() and executor.links:
            return executor.follow(int(argument))
        bare = _QUOTED.fullmatch(argument)  # as expressions have it: country:"France"
        if bare is None:
            raise
        return executor.show(bare[1] + bare[3])


def _nothing_to_show() -> Outcome:
    raise KbError("no node is named", ".show NODE, e.g. by its name or type#key")


@command()
def back(executor: Executor, argument: str) -> Outcome:
    """The page before this one."""
    return executor.back()


@command("FROM TO", Argument.NODE, Argument.NODE)
def path(executor: Executor, argument: str) -> Outcome:
    """The shortest paths between two nodes.

    Edges count both ways; names that have spaces stand in quotes. `kbkit path` has more options.
    """
    ends = [typed(word) for word in arguments.words(argument)]
    if len(ends) != 2:
        raise KbError(f"{len(ends)} nodes, where two are expected", "e.g. .path Nepal 'New Zealand'")
    found = executor.kb.paths(ends[0], ends[1])
    if not found:
        raise KbError("no path of at most 4 steps joins them", "kbkit path --max 6 looks further")
    return Outcome(COMMAND, Printout(lambda stream, width: print_text(found.lines(width), stream)))


@command("NODE [FILE]", Argument.NODE, Argument.FILE)
def around(executor: Executor, argument: str) -> Outcome:
    """What lies one step around a node; with a file, draw it.

    The file ends in .html, .svg, .png, .graphml or .dot. `kbkit around` has more options.
    """
    node, *file = arguments.words(argument) or [""]
    if not node or len(file) > 1:
        raise KbError("a node, and a file if it is to be drawn, are expected", "e.g. .around Nepal nepal.html")
    target = Path(file[0]).expanduser() if file else None
    if target is not None:
        check(target)
    found = executor.kb.around(typed(node))
    if target is None:
        return Outcome(COMMAND, Printout(lambda stream, width: print_text(found.lines(width), stream)))
    found.write(target)
    return Outcome(COMMAND, note=f"{target}: {found.summary}")


@command("[NAME [P=VALUE ...]]", Argument.QUERY)
def queries(executor: Executor, argument: str) -> Outcome:
    """The queries that ship with kbkit; with a name, run one.

    `.queries graph/most_connected limit=3` gives a parameter. A file (.sql, .rq) may be named, too.
    """
    from kbkit.assets import queries as files
    from kbkit.assets.parameters import convert_all
    from kbkit.assets.queries import listed

    if not argument:
        frame = listed()
        return Outcome(COMMAND, frame, frame)
    name, *given = arguments.words(argument)
    query = files.load(_kind_of(name), name)
    values = convert_all(executor.kb, query, arguments.pairs(given))
    executor.ran = query.text
    limit = executor.settings.timeout
    if query.kind == "sql":
        frame = executor.kb.sql(query.text, limit, **values)
    else:
        frame = executor.kb.sparql(query.text, limit, **values)
    return executor.kept(Last(query.kind, query.text, frame))


def _kind_of(name: str) -> str:
    """The language of a query, by its file's ending or by where the shipped one is."""
    from kbkit.assets import queries as files

    for kind, ending in files.ENDINGS.items():
        if name.endswith(ending) or any(name in (known, known.split("/")[1]) for known in files.shipped(kind)):
            return kind
    known = [query for kind in files.ENDINGS for query in files.shipped(kind)]
    raise UnknownNameError("query", name, [*known, *(query.split("/")[1] for query in known)])


@command("[ID [SLOT=VALUE ...]]", Argument.TEMPLATE)
def templates(executor: Executor, argument: str) -> Outcome:
    """Templates that fit this KB: expressions with slots.

    With an id: all about it; with values for its slots too: its answers. `.templates suggest` makes some from the
    schema.
    """
    from kbkit.answers import templates as catalogue

    if not argument:
        frame = executor.kb.templates().filter("fits").drop("fits", "problem")
        return Outcome(COMMAND, frame, frame)
    name, *given = arguments.words(argument)
    if name == "suggest":
        frame = executor.kb.suggest_templates().select("expression", "groundings")
        return Outcome(COMMAND, frame, frame)
    template = catalogue.find(name, [])
    if not given:
        frame = catalogue.details(template)
        return Outcome(COMMAND, frame, frame)
    executor.ran = template.expression
    return executor.answered(executor.kb.answers(template, slots=arguments.pairs(given)))


@command("[NAME]", Argument.SET)
def sets(executor: Executor, argument: str) -> Outcome:
    """Saved sets; with a name, its members.

    In expressions a set is @NAME; .save NAME makes one.
    """
    if argument:
        from kbkit.answers.syntax import SavedSet

        executor.ran = str(SavedSet(argument.removeprefix("@")))
        return executor.answered(executor.kb.answers(executor.ran))
    frame = executor.kb.sets()
    return Outcome(COMMAND, frame, frame)
