"""Rewrite ``SERVICE bd:slice`` and ``bd:sample``: a part of the matches of one triple pattern."""

from __future__ import annotations

from kbkit.schema import Wikibase
from kbkit.sparql.calls import name_of, number, parameters
from kbkit.sparql.context import Context
from kbkit.sparql.parse import patterns, refuse
from kbkit.sparql.printing import to_text
from kbkit.sparql.tree import ParseTree, parents, put

_SLICE, _SAMPLE = (Wikibase.BLAZEGRAPH + name for name in ("slice.", "sample."))
_DEFAULT_SAMPLE = 100


def take(tree: ParseTree, calls: list[ParseTree], context: Context) -> None:
    """Replace each call by a subquery: the rows at an offset, or a random sample of them."""
    parent_of = parents(tree)
    for call in calls:
        name = to_text(name_of(call))
        values, rest = parameters(call, context)
        if len(rest) != 1:
            refuse(call, f"SERVICE {name} needs one triple", "Write ?x wdt:P31 ?class")
        by_iri = dict(values)
        pattern = " ".join(to_text(part) for part in rest[0])
        numbers = {
            iri.rpartition(".")[2]: number(call, value, "bd:" + iri.removeprefix(Wikibase.BLAZEGRAPH))
            for iri, value in by_iri.items()
            if iri in (_SLICE + "offset", _SLICE + "limit", _SAMPLE + "limit")
        }
        unknown = [iri for iri in by_iri if iri.startswith(_SLICE) and iri.removeprefix(_SLICE) not in numbers]
        if unknown:
            short = "bd:" + unknown[0].removeprefix(Wikibase.BLAZEGRAPH)
            refuse(call, f"Unsupported parameter {short} of SERVICE {name}", "Use bd:slice.offset and bd:slice.limit")
        sampled = context.names.iri(name_of(call)) == Wikibase.BLAZEGRAPH + "sample"
        order = "ORDER BY RAND()" if sampled else ""
        limit = numbers.get("limit", _DEFAULT_SAMPLE if sampled else None)
        rows = ("" if limit is None else f" LIMIT {limit}") + (
            f" OFFSET {numbers['offset']}" if "offset" in numbers else ""
        )
        put(parent_of[id(call)], call, *patterns(f"{{ SELECT * WHERE {{ {pattern} . }} {order}{rows} }}"))
        context.note(f"Rewrote SERVICE {name} as a subquery")
