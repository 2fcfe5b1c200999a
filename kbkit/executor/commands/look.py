"""Dot-commands that explore the KB: info, schema, tables, show, back, path, around, graph.

Also queries, query, templates and sets.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from kbkit.assets.parameters import convert_all
from kbkit.display.drawing import ENDINGS, check
from kbkit.display.pages import print_text
from kbkit.errors import KbError, UnknownNameError, clipped
from kbkit.executor import languages
from kbkit.executor.commands.registry import command, parse_choice, parse_pairs, split_words
from kbkit.executor.executor import Executor
from kbkit.executor.languages import COMMAND, GRAPH
from kbkit.executor.lexers import parameters
from kbkit.executor.outcomes import Last, Printout, StatementOutcome
from kbkit.executor.vocabulary import Argument, Vocabulary
from kbkit.stores.nodes import typed

if TYPE_CHECKING:
    from kbkit.graph.neighbourhoods import Neighbourhood
    from kbkit.graph.paths import Paths


@command()
def info(executor: Executor, argument: str) -> StatementOutcome:
    """Show the size of the KB and its stores."""
    from kbkit.display.pages import print_info

    data = executor.kb.info()
    return StatementOutcome(COMMAND, Printout(lambda stream, width: print_info(data, stream, width)))


@command("[TYPE|RELATION]", Argument.TYPE_OR_RELATION)
def schema(executor: Executor, argument: str) -> StatementOutcome:
    """List types and relations, or describe one."""
    import polars as pl

    kb = executor.kb
    if not argument:
        shown = kb.relations().select("relation", "head_type", "tail_type", "edges", "attributes", "label")
        types = kb.types().select("type", "nodes", "other_nodes", "attributes", "description")
        return StatementOutcome(COMMAND, (("types", types), ("relations", shown)))
    name = argument.strip('`[]"')
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
    return StatementOutcome(COMMAND, (*parts, ("relations", joined)))


@command("[WORDS]", Argument.NONE)
def tables(executor: Executor, argument: str) -> StatementOutcome:
    """List the tables of SQL; with WORDS, matching ones."""
    import polars as pl

    words = argument.casefold()
    known = [row for row in Vocabulary.of(executor.kb).tables() if words in row[0].casefold()]
    frame = pl.DataFrame(known, {"table": pl.String, "holds": pl.String}, orient="row")
    return StatementOutcome(COMMAND, frame, frame)


_SHOWN = 100
"""Characters of a saved statement in the list."""
_QUOTED = re.compile(r"""((?:[^\s:"']+:)?)(["'])(.+)\2""")
"""A node whose name is in quotes."""


@command("NODE", Argument.NODE)
def show(executor: Executor, argument: str) -> StatementOutcome:
    """Show a node's page; enter a number to follow a link.

    NODE is a name, a key, type:name, type#key or #id. After a query, a number opens that row of the result, and .show
    alone the first row. .back returns to the previous page.
    """
    if not argument:
        if not executor.links:
            raise KbError("Expected a node", "Use its name or type#key: .show NODE")
        return executor.follow(1)
    try:
        return executor.show(typed(argument))
    except UnknownNameError:
        if argument.isdecimal() and executor.links:
            return executor.follow(int(argument))
        bare = _QUOTED.fullmatch(argument)  # as in expressions: country:"France"
        if bare is None:
            raise
        return executor.show(bare[1] + bare[3])


@command()
def back(executor: Executor, argument: str) -> StatementOutcome:
    """Show the previous page."""
    return executor.back()


@command("FROM TO [FILE]", Argument.NODE, Argument.NODE, Argument.FILE)
def path(executor: Executor, argument: str) -> StatementOutcome:
    """Show or draw the shortest paths between two nodes.

    Edges are followed in both directions. Quote names with spaces. FILE ends in .html, .svg, .png, .graphml or .dot.
    `kbkit path` has more options.
    """
    ends, file = split_words(argument), []
    if len(ends) == 3 and Path(ends[2]).suffix.lower() in ENDINGS:
        file = [ends.pop()]
    if len(ends) != 2:
        raise KbError(f"Expected two nodes, not {len(ends)}", "Example: .path Nepal 'New Zealand'")
    target = _target(file)
    found = executor.kb.paths(typed(ends[0]), typed(ends[1]))
    if not found:
        raise KbError("No path of at most 4 steps connects the nodes", "For longer paths, use `kbkit path`")
    return _drawn(found, target)


@command("NODE [FILE]", Argument.NODE, Argument.FILE)
def around(executor: Executor, argument: str) -> StatementOutcome:
    """Show or draw the neighbourhood of a node.

    FILE ends in .html, .svg, .png, .graphml or .dot. `kbkit around` has more options.
    """
    node, *file = split_words(argument) or [""]
    if not node or len(file) > 1:
        raise KbError("Expected a node, and optionally a file", "Example: .around Nepal nepal.html")
    target = _target(file)
    return _drawn(executor.kb.around(typed(node)), target)


@command("[ALGORITHM [NAME=VALUE ...]]", Argument.ALGORITHM)
def graph(executor: Executor, argument: str) -> StatementOutcome:
    """List graph algorithms, or run one.

    `.graph pagerank relation=borders within=country` ranks countries. `kbkit graph ALGORITHM --help` lists settings.
    """
    import polars as pl

    from kbkit.assets import operations
    from kbkit.graph.algorithms.run import run
    from kbkit.graph.algorithms.table import ALGORITHMS, algorithm

    if not argument:
        listed = [
            (one.name, one.summary, ", ".join(f.about.name or f.name for f in one.parameters)) for one in ALGORITHMS
        ]
        frame = pl.DataFrame(listed, ["algorithm", "summary", "settings"], orient="row")
        return StatementOutcome(COMMAND, frame, frame)
    name, *pairs = split_words(argument)
    chosen = algorithm(name)
    executor.ran = argument
    found = run(executor.kb.stores, chosen, operations.parse(chosen.settings, parse_pairs(pairs)))
    return executor.keep(Last(GRAPH, argument, found), preview=found.drop("id", strict=False))


def _target(file: list[str]) -> Path | None:
    """Return the file to draw to, if any, after a check that it can be written."""
    target = Path(file[0]).expanduser() if file else None
    if target is not None:
        check(target)
    return target


def _drawn(found: Neighbourhood | Paths, target: Path | None) -> StatementOutcome:
    if target is None:
        return StatementOutcome(COMMAND, Printout(lambda stream, width: print_text(found.lines(width), stream), found))
    found.write(target)
    return StatementOutcome(COMMAND, note=f"{target}: {found.summary}")


@command("[NAME [P=VALUE ...]]", Argument.QUERY)
def queries(executor: Executor, argument: str) -> StatementOutcome:
    """List saved queries and those shipped with kbkit, or run one.

    `.queries graph/most_connected limit=3` sets a parameter. NAME can also be a file (.sql, .rq). .save-query NAME
    saves the last statement.
    """
    import polars as pl

    from kbkit.assets.queries import listed

    if argument:
        return query(executor, argument)
    saved = [
        (q.language, q.name, _shortened(q.statement), ", ".join(parameters(q.statement, q.language)))
        for q in executor.kb.workspace.queries.all()
    ]
    shipped = listed()
    frame = pl.concat([pl.DataFrame(saved, shipped.schema, orient="row"), shipped])
    return StatementOutcome(COMMAND, frame, frame)


@command("NAME [P=VALUE ...]", Argument.QUERY)
def query(executor: Executor, argument: str) -> StatementOutcome:
    """Run a saved query, or one shipped with kbkit.

    `.query big n=3` sets the parameter of `LIMIT $n`, or the slot of `country:<n>`; others have the values of .set.
    """
    from kbkit.assets import queries as files

    if not argument:
        raise KbError("Expected the name of a query", "Enter .queries for a list")
    name, *pairs = split_words(argument)
    values, saved = parse_pairs(pairs), executor.kb.workspace.queries.find(name)
    if saved is not None:
        parse_choice(saved.language, "language", languages.LANGUAGES)
        known = parameters(saved.statement, saved.language)
        for given in values:
            if given not in known:
                raise UnknownNameError("parameter", given, known, f"query {name}")
        return executor.run(saved.statement, saved.language, executor.bound(saved.statement, saved.language, values))
    found = files.load(_kind_of(executor, name), name)
    executor.ran, limit = found.text, executor.settings.timeout
    converted = convert_all(executor.kb, found, values)
    from kbkit.sparql.run import query as sparql_query

    if found.kind == "sql":
        frame = executor.kb.tables.frame(found.text, converted, limit)
    else:
        frame = sparql_query(executor.kb.stores, found.text, limit, params=converted).frame()
    return executor.keep(Last(found.kind, found.text, frame))


def _shortened(statement: str) -> str:
    return clipped(" ".join(statement.split()), _SHOWN)


def _kind_of(executor: Executor, name: str) -> str:
    """Return the language of a query, by its file name or that of the shipped query."""
    from kbkit.assets import queries as files

    for kind, ending in files.ENDINGS.items():
        if name.endswith(ending) or any(name in (known, known.split("/")[1]) for known in files.shipped(kind)):
            return kind
    saved = [saved.name for saved in executor.kb.workspace.queries.all()]
    known = [query for kind in files.ENDINGS for query in files.shipped(kind)]
    raise UnknownNameError("query", name, [*saved, *known, *(query.split("/")[1] for query in known)])


@command("[ID [SLOT=VALUE ...]]", Argument.TEMPLATE)
def templates(executor: Executor, argument: str) -> StatementOutcome:
    """List templates that fit this KB, or run one.

    An id alone shows the template; with values for its slots, it is run. `.templates suggest` derives templates from
    the schema.
    """
    from kbkit.answers import templates as catalogue

    if not argument:
        frame = executor.kb.templates().filter("fits").drop("fits", "problem")
        return StatementOutcome(COMMAND, frame, frame)
    name, *pairs = split_words(argument)
    if name == "suggest":
        frame = executor.kb.suggest_templates().select("expression", "groundings")
        return StatementOutcome(COMMAND, frame, frame)
    template = catalogue.find(name, [])
    if not pairs:
        frame = catalogue.details(template)
        return StatementOutcome(COMMAND, frame, frame)
    executor.ran = template.expression
    return executor.answered(executor.kb.answers(template, slots=parse_pairs(pairs)))


@command("[NAME]", Argument.SET)
def sets(executor: Executor, argument: str) -> StatementOutcome:
    """List saved sets, or show the nodes of one.

    In expressions a set is @NAME; .save NAME creates one.
    """
    if argument:
        from kbkit.answers.syntax import SavedSet

        executor.ran = str(SavedSet(argument.removeprefix("@")))
        return executor.answered(executor.kb.answers(executor.ran))
    frame = executor.kb.sets()
    return StatementOutcome(COMMAND, frame, frame)
