"""Words and signs of answer expressions that completion offers, each with what it means."""

from __future__ import annotations

from kbkit.executor.completion.ranking import CompletionItem

OPERATORS = {
    **{"=": "equal", "!=": "not equal", "<": "less", "<=": "at most", ">": "more", ">=": "at least"},
    **{"in [": "one of", "not in [": "none of", "contains": "contains this text"},
}
COMPARISONS = {sign for sign in OPERATORS if sign[0] in "=!<>"}
SET_SIGNS = {"& ": "and", "| ": "or", "- ": "without", "{": "filter by attributes"}
ARROWS = {"-> ": "forward step", "<- ": "backward step"}
TOTALS = [
    CompletionItem("exists(", "", "whether there is an answer"),
    CompletionItem("count(", "", "number of nodes, or of distinct values: count(set, attribute)"),
    CompletionItem("values(", "", "values of attributes: values(set, attribute, ...)"),
    CompletionItem("sum(", "", "sum of an attribute: sum(set, attribute)"),
    CompletionItem("avg(", "", "average of an attribute: avg(set, attribute)"),
    CompletionItem("min(", "", "least value of an attribute: min(set, attribute)"),
    CompletionItem("max(", "", "greatest value of an attribute: max(set, attribute)"),
    CompletionItem("fraction(", "", "share of a set that is in another one: fraction(part of whole)"),
    CompletionItem("percentage(", "", "the same from 0 to 100: percentage(part of whole)"),
]
COUNT = CompletionItem("count(", "count(-> ", "number of nodes that a path reaches")
FUNCTIONS = [
    COUNT,
    CompletionItem("sum(", "sum(-> ", "sum of an attribute of the nodes that a path reaches"),
    CompletionItem("avg(", "avg(-> ", "average of an attribute of the nodes that a path reaches"),
    CompletionItem("min(", "min(-> ", "least value of an attribute of the nodes that a path reaches"),
    CompletionItem("max(", "max(-> ", "greatest value of an attribute of the nodes that a path reaches"),
]
DATES = [
    CompletionItem("year(", "", "year of a date"),
    CompletionItem("month(", "", "month of a date, such as 2022-03"),
    CompletionItem("days(", "", "days from one date to another"),
]
SUPERLATIVES = [
    CompletionItem("max ", "", "with the greatest value"),
    CompletionItem("min ", "", "with the least value"),
    CompletionItem("top ", "top 3 ", "with the n greatest values, and ties"),
    CompletionItem("bottom ", "bottom 3 ", "with the n least values, and ties"),
    CompletionItem("not (", "", "that do not meet a condition"),
]
VALUES = [item for item in TOTALS if item.name not in ("exists(", "fraction(", "percentage(")]
COLUMNS = {
    ", ": "another attribute",
    "by ": "group by",
    "having ": "select groups",
    "order by ": "sort",
    ") ": "end the function",
}
DATE_SIGNS = {", ": "another date", ") ": "end the function"}
