"""Features and patterns of queries (appendices A and B), on the syntax tree.

Features are the seven numbers of Table 1. The authors count them with rules and regular expressions. If a definition is
ambiguous, the function documents its reading, chosen to be closest to the paper's figures.

Label requests and directives for the engine are not counted, as the paper removes them from its queries (section 3.1):
the label service, ``hint:`` statements, and the parameters of other services.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from lark import Token, Tree

from kbkit.schema import Wikibase
from kbkit.sparql.tree import Node, ParseTree, child, children, nodes, tokens

_HEADS = ("select_query", "sub_select", "ask_query", "construct_query", "describe_query")
_BRACKETS = "blank_node_property_list_path"
_SUBJECTS = ("triples_same_subject_path", _BRACKETS)
_CLAUSES = ("group_clause", "having_clause", "order_clause", "filter", "minus_graph_pattern")
_JOINS = ("optional_graph_pattern", "inline_data", "values_clause", "include")
_VALUES = ("inline_data_one_var", "inline_data_full", "data_row")
_IRIS = ("IRIREF", "PNAME_LN", "PNAME_NS")
_NUMBERS = ("NUMBER", "SIGNED_NUMBER")
_LABELS = ("Label", "Description")
"""Suffixes of variables that the label service fills; the authors leave such columns out."""
_LABEL_SERVICE = Wikibase.ONTOLOGY + "label"
_PARAMETER = Wikibase.BLAZEGRAPH + "serviceParam"


@dataclass(frozen=True)
class Features:
    """The numbers of one query."""

    clauses: int
    projections: int
    relations: int
    subjects: int
    predicates: int
    objects: int
    literals: int


class TripleClause(NamedTuple):
    """A subject-relation-object clause; ``relation`` is a variable, an IRI, ``a`` or a path."""

    subject: Node
    relation: Node
    object: Node


class ParsedQuery:
    """A query's tree with its prefixes: its own declarations, or else the Wikidata Query Service's."""

    def __init__(self, tree: ParseTree) -> None:
        self.tree = tree
        self._prefixes = dict(Wikibase.PREFIXES)
        for declared in nodes(tree, "prefix_decl"):
            name, iri = declared.children[-2:]
            self._prefixes[str(name).removesuffix(":")] = str(iri)[1:-1]
        self.triples = tuple(self._triples())

    def iri(self, node: Node) -> str:
        """Return the IRI of a token, or "" for other tokens and trees; an undeclared prefix is unchanged."""
        if not isinstance(node, Token) or node.type not in _IRIS:
            return ""
        if node.type == "IRIREF":
            return node[1:-1]
        prefix, _, local = node.partition(":")
        return self._prefixes.get(prefix, f"{prefix}:") + local

    def parts(self, *rules: str) -> Iterator[ParseTree]:
        """Return the subtrees of these rules, without those in the label service."""
        return nodes(self.tree, *rules, within=lambda tree: not self._is_label_service(tree))

    def _is_label_service(self, tree: ParseTree) -> bool:
        return tree.data == "service_graph_pattern" and any(self.iri(c) == _LABEL_SERVICE for c in tree.children)

    def _triples(self) -> Iterator[TripleClause]:
        for part in self.parts(*_SUBJECTS):
            # A list in brackets is the subject of its properties; any other subject precedes them.
            subject = part if part.data == _BRACKETS else part.children[0]
            for properties in children(part, "property_list_path_not_empty"):
                for relation, value in _pairs(properties):
                    triple = TripleClause(subject, relation, value)
                    if not self._is_directive(triple):
                        yield triple

    def _is_directive(self, triple: TripleClause) -> bool:
        """Return whether a clause configures the engine or a service."""
        subject = self.iri(triple.subject)
        return subject.startswith(Wikibase.HINT) or subject == _PARAMETER


def _pairs(properties: ParseTree) -> Iterator[tuple[Node, Node]]:
    """Yield (relation, object) of ``p a, b; q c``."""
    relation: Node = properties
    for part in properties.children:
        if isinstance(part, Tree) and part.data == "object_list_path":
            yield from ((relation, value) for value in part.children if value != ",")
        elif part != ";":
            relation = part


def features(tree: ParseTree) -> Features:
    """Return the seven numbers of a query."""
    query = ParsedQuery(tree)
    return Features(
        clauses(query),
        projections(query),
        relations(query),
        subjects(query),
        predicates(query),
        objects(query),
        literals(query),
    )


def clauses(query: ParsedQuery) -> int:
    """Count *clauses* as defined in appendix A.

    "[T]he number of atomic nodes of an AST, where an atomic node is one of: a projection clause (i.e., SELECT ...
    WHERE), a single subject-relation-object clause, a group by clause, a having by clause, a filter clause, a sorting
    clause, a MINUS clause, and a join clause".

    A projection clause is every SELECT, also of sub-selects and named subqueries, and the head of another query (ASK).
    A join clause adds solutions to its group: OPTIONAL, VALUES, INCLUDE. A filter with EXISTS is one clause in addition
    to those inside it. UNION, BIND, LIMIT and SERVICE are not counted, as the definition does not mention them (the
    authors' program counts LIMIT, and the clauses inside OPTIONAL twice).
    """
    return relations(query) + sum(1 for _ in query.parts(*_HEADS, *_CLAUSES, *_JOINS))


def projections(query: ParsedQuery) -> int:
    """Count *projections*: "the number of fields in the final SELECT ... WHERE clause".

    Fields whose names end in Label or Description are left out, as by the authors. ``*`` counts all visible variables
    of the pattern; an ASK has one field, its boolean; CONSTRUCT and DESCRIBE have none.
    """
    if child(query.tree, "ask_query"):
        return 1
    select = child(query.tree, "select_query")
    return sum(not name.endswith(_LABELS) for name in _fields(select)) if select else 0


def _fields(select: ParseTree) -> list[str]:
    """Return the names of a SELECT's fields."""
    clause = child(select, "select_clause")
    assert clause is not None
    if "*" in clause.children:
        return sorted({name for where in children(select, "where_clause") for name in _visible(where)})
    # The last variable of (expression AS ?name).
    return [[t for t in tokens(field) if t.type == "VAR"][-1][1:] for field in clause.children if _is_field(field)]


def _is_field(node: Node) -> bool:
    return isinstance(node, Tree) or node.type == "VAR"


def _visible(node: Node) -> Iterator[str]:
    """Yield the variables that ``SELECT *`` returns, without the variables of filters, MINUS and inner sub-selects."""
    if isinstance(node, Token):
        if node.type == "VAR":
            yield node[1:]
    elif node.data == "sub_select":
        yield from _fields(node)
    elif node.data not in ("filter", "minus_graph_pattern"):
        for part in node.children:
            yield from _visible(part)


def relations(query: ParsedQuery) -> int:
    """Count *relations*: "the number of subject-relation-object clauses".

    ``?a p ?b, ?c; q ?d`` is three; ``?a p [ q ?b ]`` is two; a path of any length is one.
    """
    return len(query.triples)


def subjects(query: ParsedQuery) -> int:
    """Count *subjects*: "the number of uniquely occurring subjects (either variables or entities)".

    Blank nodes are neither; an entity is any IRI.
    """
    return len({_name(query, triple.subject) for triple in query.triples} - {""})


def predicates(query: ParsedQuery) -> int:
    """Count *predicates*: "the unique number of properties (i.e. a PID of the form P...)".

    Properties in relations and paths count; ``p:P39`` and ``ps:P39`` are one property.
    """
    names: set[str] = set()
    for triple in query.triples:
        names.update(properties(query, triple.relation))
    return len(names)


def properties(query: ParsedQuery, node: Node) -> set[str]:
    """Return the PIDs in a part of a query, in any namespace of Wikibase."""
    return {pid for token in tokens(node) if (pid := wikidata_id(query.iri(token))).startswith("P")}


def wikidata_id(iri: str) -> str:
    """Return the PID, QID or LID at the end of an IRI of Wikidata's entities and properties, or ""."""
    for space in _SPACES:
        if iri.startswith(space):
            local = iri[len(space) :]
            if local[:1] in ("P", "Q", "L") and local[1:].isdecimal() and local.isascii():
                return local
    return ""


_SPACES = tuple(
    sorted({space for space in Wikibase.PREFIXES.values() if space.startswith(Wikibase.PROP)} | {Wikibase.ENTITY})
)


def objects(query: ParsedQuery) -> int:
    """Count *objects*: "the number of uniquely occurring objects (either variables or entities), where we also count
    the number of y occurring in each VALUES clause of the form VALUES ?x {y}".
    They are one set: a value that is also an object counts once. Blank nodes and literals are not objects.
    """
    names = {_name(query, triple.object) for triple in query.triples}
    for part in query.parts(*_VALUES):
        names.update(query.iri(value) for value in part.children)
    return len(names - {""})


def literals(query: ParsedQuery) -> int:
    """Count *literals*: "the unique number of strings (e.g. "wikidata") or numerical numbers (e.g. 123.45)".

    Objects, filters and VALUES count. LIMIT, projections, BIND, HAVING and ORDER BY do not. A string with a datatype or
    language is a string.
    """
    names: set[str] = set()
    for part in query.parts("filter", *_VALUES):
        names.update(_constants(part))
    for triple in query.triples:
        if isinstance(triple.object, Token) or triple.object.data == "rdf_literal":
            names.update(_constants(triple.object))
    return len(names)


def _name(query: ParsedQuery, node: Node) -> str:
    """Return a variable or IRI in a form that is equal for equal ones; "" for anything else."""
    if isinstance(node, Token) and node.type == "VAR":
        return f"?{node[1:]}"
    return query.iri(node)


def _constants(node: Node) -> Iterator[str]:
    """Yield the strings, without quotes, and the numbers in a part of a query."""
    for token in tokens(node):
        if token.type in _NUMBERS:
            yield str(token)
        elif token.type == "STRING":
            marks = 3 if token[:3] in ('"""', "'''") else 1
            yield f'"{token[marks:-marks]}'


# -- patterns ---------------------------------------------------------------------------------------------------------

_PLACEHOLDERS = {"VAR": "?", "NUMBER": "0", "SIGNED_NUMBER": "0", "INTEGER": "0", "STRING": '""'}
"""Placeholders for all variables, numbers and strings."""
_PREFIXES = sorted(Wikibase.PREFIXES.items(), key=lambda item: -len(item[1]))
"""The longest namespaces first, as some are prefixes of others."""


def pattern(tree: ParseTree) -> str:
    """Return the form of a query: its tokens, "ignoring all query variables, property IDs (PIDs), entity IDs (QIDs),
    numbers, and string literals" (appendix B).
    White space, comments, the case of keywords and prefix declarations do not count, and neither does the spelling of
    an IRI. All variables are equal. Namespaces count: ``wdt:P31`` and ``p:P31`` differ.
    """
    query = ParsedQuery(tree)
    body = (part for part in tree.children if part not in children(tree, "prologue"))
    return " ".join(_form(query, token) for part in body for token in tokens(part))


def _form(query: ParsedQuery, token: Token) -> str:
    if token.type in _PLACEHOLDERS:
        return _PLACEHOLDERS[token.type]
    word, iri = str(token), query.iri(token)
    if not iri:
        return word if word == "a" else word.upper()
    name = wikidata_id(iri)
    return _shortened(iri.removesuffix(name) + name[:1])


def _shortened(iri: str) -> str:
    """Return an IRI with its prefix in the Wikidata Query Service, if it has one: ``wdt:P``."""
    for prefix, space in _PREFIXES:
        if iri.startswith(space):
            return f"{prefix}:{iri.removeprefix(space)}"
    return f"<{iri}>"


def pids(tree: ParseTree) -> set[str]:
    """Return all properties of a query, also as values (``wd:P31``)."""
    return properties(ParsedQuery(tree), tree)
