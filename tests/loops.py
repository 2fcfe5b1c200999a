"""Loops over cases that must not be empty, and the search for tests that would pass without any case."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import TypeVar

Case = TypeVar("Case")

_ASSERTING = {"wording", "mentions"}
"""Helpers of all tests that assert."""


def each(cases: Iterable[Case], least: int = 1) -> Iterator[Case]:
    """Yield the cases that a test checks, and assert that there were at least so many."""
    count = 0
    for count, one in enumerate(cases, 1):  # noqa: B007
        yield one
    assert count >= least, f"{count} cases instead of {least}"


class _Test(ast.NodeVisitor):
    """Finds out whether a test asserts anything, and whether it would if all that it loops over were empty."""

    def __init__(self, constants: set[str], helpers: set[str]) -> None:
        self._constants, self._helpers = constants, helpers
        self.asserts = self.certain = False
        self.loops: list[ast.expr] = []

    def _found(self, certain: bool) -> None:
        self.asserts = True
        self.certain = self.certain or certain

    def visit_Assert(self, node: ast.Assert) -> None:
        self._found(not self._is_vacuous(node.test))

    def visit_With(self, node: ast.With) -> None:
        calls = [item.context_expr for item in node.items if isinstance(item.context_expr, ast.Call)]
        if any(ast.unparse(call.func) in ("pytest.raises", "pytest.warns", "raises") for call in calls):
            self._found(certain=True)
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        if isinstance(node.func, ast.Name) and node.func.id in self._helpers:
            self._found(certain=True)
        self.generic_visit(node)

    def visit_For(self, node: ast.For) -> None:
        if self._has_cases(node.iter):
            self.generic_visit(node)
            return
        within = _Test(self._constants, self._helpers)
        for child in node.body:
            within.visit(child)
        if within.asserts:
            self._found(certain=False)
            self.loops.append(node.iter)
        for child in (node.iter, *node.orelse):
            self.visit(child)

    def visit_Assign(self, node: ast.Assign) -> None:
        if self._has_cases(node.value):
            self._constants |= {target.id for target in node.targets if isinstance(target, ast.Name)}
        self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        """Leave out functions within a test: they may never be called."""

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value and isinstance(node.target, ast.Name) and self._has_cases(node.value):
            self._constants.add(node.target.id)
        self.generic_visit(node)

    def _is_vacuous(self, test: ast.expr) -> bool:
        """Whether an assertion holds of nothing: ``all(...)``, ``not any(...)``, ``not [...]``, ``[...] == []``."""
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            inner = test.operand
            if isinstance(inner, ast.Call) and ast.unparse(inner.func) == "any" and inner.args:
                inner = inner.args[0]
            return self._may_be_empty(inner)
        if isinstance(test, ast.Call) and ast.unparse(test.func) == "all" and test.args:
            return self._may_be_empty(test.args[0])
        if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.Eq):
            sides = [test.left, test.comparators[0]]
            empty = [ast.unparse(side) in ("[]", "set()", "{}") for side in sides]
            return any(empty) and self._may_be_empty(sides[empty.index(True) - 1])
        return False

    def _may_be_empty(self, node: ast.expr) -> bool:
        """Whether an expression is a comprehension over what may be empty; a call is what is tested."""
        if not isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
            return False
        loop = node.generators[0].iter
        self.loops.append(loop)
        called = any(isinstance(part, ast.Call) for part in ast.walk(loop))
        return not called and not self._has_cases(loop)

    def _has_cases(self, node: ast.expr) -> bool:
        """Whether what is looped over cannot be empty: written out, a constant, or counted by :func:`each`."""
        if isinstance(node, ast.List | ast.Tuple | ast.Set | ast.Dict):
            items = node.keys if isinstance(node, ast.Dict) else node.elts
            return any(not isinstance(item, ast.Starred) or self._has_cases(item.value) for item in items if item)
        if isinstance(node, ast.Constant):
            return bool(node.value)
        if isinstance(node, ast.Name | ast.Attribute):
            return ast.unparse(node).rpartition(".")[2] in self._constants or _is_upper(ast.unparse(node))
        if isinstance(node, ast.BinOp):
            return self._has_cases(node.left) or (isinstance(node.op, ast.Add) and self._has_cases(node.right))
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            if name in ("each", "range"):
                return name == "each" or isinstance(node.args[-1], ast.Constant)
            if name in ("enumerate", "reversed", "sorted", "list", "tuple", "set", "dict", "zip", "map", "product"):
                arguments = node.args[1:] if name == "map" else node.args
                return bool(arguments) and all(map(self._has_cases, arguments[:1] if name != "product" else arguments))
            if isinstance(node.func, ast.Attribute) and node.func.attr in ("items", "values", "split", "splitlines"):
                return self._has_cases(node.func.value)
        return False


def _is_upper(name: str) -> bool:
    return name.rpartition(".")[2].strip("_").isupper()


def uncertain_tests(source: str) -> dict[str, list[ast.expr]]:
    """Return the tests of a module whose every assertion lies in a loop over what may be empty, with these loops."""
    tree = ast.parse(source)
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    helpers = {f.name for f in functions if any(isinstance(node, ast.Assert) for node in ast.walk(f))} | _ASSERTING
    found = {}
    for function in functions:
        if not function.name.startswith("test") or any("given(" in ast.unparse(d) for d in function.decorator_list):
            continue  # Hypothesis draws from the empty case upwards
        test = _Test(set(), helpers)
        for child in function.body:
            test.visit(child)
        if test.asserts and not test.certain:
            found[function.name] = test.loops
    return found
