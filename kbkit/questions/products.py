"""What a quantity and the price of one come to: takings are added up as the quantity times the unit price.

Prices of one piece are not added up: where rows have a quantity beside one, a sum of prices means that of products.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import Any

from kbkit.answers.resolve_attributes import is_number
from kbkit.answers.syntax import Aggregate, DateFunction, Expression, PathFunction
from kbkit.questions.elements import Elements
from kbkit.questions.lexicon import label_words
from kbkit.questions.reading_words import answer_type

_QUANTITIES = frozenset("qty quantity quantities units pieces".split())  # noqa: SIM905
_OF_ONE = frozenset("unit each per".split())  # noqa: SIM905
"""Words of the price of one piece."""
_WHOLE = frozenset("total amount subtotal sum value paid charge".split())  # noqa: SIM905
"""Words of what a row comes to, which is there already."""


def takings_of(elements: Elements, kind: int) -> DateFunction | None:
    """Return the quantity times the price of one, if a type has one of each and no amount; None otherwise."""
    numbers = [(a.name, {*label_words(a.name)}) for a in elements.types[kind].attributes if is_number(a.type)]
    quantities = [name for name, words in numbers if words & _QUANTITIES]
    prices = [name for name, words in numbers if "price" in words or ({"cost", "fee"} & words and _OF_ONE & words)]
    if len(quantities) != 1 or len(prices) != 1 or any(words & _WHOLE for _, words in numbers):
        return None
    return DateFunction("times", (quantities[0], prices[0]))


def with_products(elements: Elements, tree: Expression) -> Expression:
    """Return an expression with the products in place of the prices of one that it adds up."""
    known = {one.name: takings_of(elements, number) for number, one in enumerate(elements.types)}
    changed: Expression = _changed(tree, known) if any(known.values()) else tree
    return changed


def _changed(part: Any, known: dict[str, DateFunction | None]) -> Any:
    """Return a part of an expression with products in its sums."""
    if isinstance(part, tuple):
        return tuple(_changed(one, known) for one in part)
    if not is_dataclass(part) or isinstance(part, type):
        return part
    inner = {one.name: _changed(getattr(part, one.name), known) for one in fields(part) if one.init}
    found = replace(part, **inner)
    if isinstance(found, Aggregate) and found.op == "sum" and found.columns:
        product = known.get(answer_type(found.source) or "")
        columns = tuple(replace(one, measure=_product(one.measure, product)) for one in found.columns)
        return replace(found, columns=columns)
    if isinstance(found, PathFunction) and found.op == "sum":
        product = known.get(getattr(found.elements[-1], "type", None) or "")
        return replace(found, attribute=_product(found.attribute, product))
    return found


def _product(measure: Any, product: DateFunction | None) -> Any:
    return product if product is not None and measure == product.dates[1] else measure
