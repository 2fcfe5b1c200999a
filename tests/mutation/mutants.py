"""Small faults: where one can be put into a module, and the text that has it."""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

_COMPARED: dict[type[ast.cmpop], str] = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==",
    ast.In: "not in", ast.NotIn: "in", ast.Is: "is not", ast.IsNot: "is",
}  # fmt: skip
_COMPUTED: dict[type[ast.operator], str] = {ast.Sub: "+", ast.Mult: "+", ast.Div: "*", ast.FloorDiv: "*", ast.Mod: "//"}
_EMPTY = {"list": "[]", "dict": "{}", "set": "set()", "frozenset": "frozenset()", "str": '""', "int": "0"}


@dataclass(frozen=True)
class Mutant:
    """A fault: the text between two positions of a file, in bytes, and what it becomes."""

    file: str
    line: int
    function: str
    kind: str
    start: int
    end: int
    old: str
    new: str

    def __str__(self) -> str:
        old = " ".join(self.old.split())
        return f"{self.file}:{self.line} {self.kind}: {old[:70]} -> {' '.join(self.new.split())[:70]}"

    def put_into(self, source: bytes) -> bytes:
        """Return the module with the fault."""
        return source[: self.start] + self.new.encode() + source[self.end :]


class _Finder:
    """Collects the mutants of one module."""

    def __init__(self, file: str, source: bytes) -> None:
        self._file, self._source = file, source
        self._starts = [0]
        for line in source.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))
        self.found: list[Mutant] = []

    def of_module(self) -> list[Mutant]:
        for node in ast.walk(ast.parse(self._source)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                for statement in node.body:
                    self._statement(statement, node)
        return self.found

    def _add(self, node: ast.expr | ast.stmt, kind: str, new: str, function: ast.AST) -> None:
        start = self._starts[node.lineno - 1] + node.col_offset
        end = self._starts[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0)
        old = self._source[start:end].decode()
        name = getattr(function, "name", "")
        self.found.append(Mutant(self._file, node.lineno, name, kind, start, end, old, new))

    def _statement(self, statement: ast.stmt, function: ast.AST) -> None:
        if isinstance(statement, ast.Raise | ast.Assert | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            return  # messages; functions within functions have their own turn
        if isinstance(statement, ast.AugAssign) or (
            isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)
        ):
            self._add(statement, "drop a statement", "pass", function)
        if isinstance(statement, ast.If | ast.While):
            self._negate(statement.test, function)
        if isinstance(statement, ast.Return) and statement.value is not None:
            empty = _EMPTY.get(ast.unparse(getattr(function, "returns", None) or ast.Constant(0)).partition("[")[0])
            if empty and not isinstance(statement.value, ast.Constant):
                self._add(statement.value, "return nothing", f"({empty})", function)
        for child in ast.iter_child_nodes(statement):
            if isinstance(child, ast.stmt):
                self._statement(child, function)
            elif isinstance(child, ast.ExceptHandler | ast.match_case):
                for inner in child.body:
                    self._statement(inner, function)
            elif isinstance(child, ast.expr) and child is not getattr(statement, "annotation", None):
                self._expression(child, function)
            elif isinstance(child, ast.withitem):
                self._expression(child.context_expr, function)

    def _negate(self, test: ast.expr, function: ast.AST) -> None:
        self._add(test, "negate a condition", f"(not ({ast.unparse(test)}))", function)

    def _expression(self, node: ast.expr, function: ast.AST) -> None:
        if isinstance(node, ast.JoinedStr | ast.Lambda):
            return  # parts of an f-string have no position of their own
        if isinstance(node, ast.IfExp):
            self._negate(node.test, function)
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _COMPARED:
            sides = ast.unparse(node.left), ast.unparse(node.comparators[0])
            new = f"(({sides[0]}) {_COMPARED[type(node.ops[0])]} ({sides[1]}))"
            self._add(node, "compare otherwise", new, function)
        if isinstance(node, ast.BoolOp):
            word = " or " if isinstance(node.op, ast.And) else " and "
            self._add(node, "and, or", "(" + word.join(f"({ast.unparse(v)})" for v in node.values) + ")", function)
        if isinstance(node, ast.BinOp) and type(node.op) in _COMPUTED:
            sides = ast.unparse(node.left), ast.unparse(node.right)
            self._add(node, "compute otherwise", f"(({sides[0]}) {_COMPUTED[type(node.op)]} ({sides[1]}))", function)
        if isinstance(node, ast.Constant) and isinstance(node.value, bool | int):
            new = str(not node.value if isinstance(node.value, bool) else node.value + 1)
            self._add(node, "another constant", f"({new})", function)
        if isinstance(node, ast.Call) and len(node.args) > 1 and not _is_fixed(node):
            swapped = ast.parse(ast.unparse(node), mode="eval").body
            assert isinstance(swapped, ast.Call)
            swapped.args[:2] = swapped.args[1::-1]
            self._add(node, "swap arguments", f"({ast.unparse(swapped)})", function)
        if isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
            for part in node.generators:
                for test in part.ifs:
                    self._negate(test, function)
        for child in ast.walk(node):
            if child is not node and isinstance(child, ast.expr) and self._parent_of(node, child):
                self._expression(child, function)

    @staticmethod
    def _parent_of(node: ast.expr, child: ast.expr) -> bool:
        """Whether an expression lies directly in another: comprehensions and keywords are no expressions."""
        for one in ast.iter_child_nodes(node):
            if one is child:
                return True
            if isinstance(one, ast.comprehension | ast.keyword | ast.Slice) and child in ast.iter_child_nodes(one):
                return True
        return False


def _is_fixed(call: ast.Call) -> bool:
    """Whether swapped arguments are the same or certain to fail."""
    known = isinstance(call.func, ast.Name) and call.func.id in ("isinstance", "min", "max", "range")
    return known or any(isinstance(argument, ast.Starred) for argument in call.args[:2])


def all_mutants(root: Path, area: str) -> list[Mutant]:
    """Return every mutant of a folder of ``kbkit``, in order."""
    files = sorted((root / "kbkit" / area).rglob("*.py"))
    return [one for path in files for one in _Finder(path.relative_to(root).as_posix(), path.read_bytes()).of_module()]


def draw(root: Path, areas: Sequence[str], count: int, seed: int) -> list[Mutant]:
    """Draw mutants, as many of each area, at most one of a function; the first of a larger draw are the same."""
    rng = random.Random(seed)
    turns: list[Iterator[Mutant]] = []
    for area in areas:
        some = all_mutants(root, area)
        rng.shuffle(some)
        turns.append(iter({(one.file, one.function): one for one in reversed(some)}.values()))
    drawn: list[Mutant] = []
    while len(drawn) < count and turns:
        for turn in list(turns):
            one = next(turn, None)
            if one is None:
                turns.remove(turn)
            elif len(drawn) < count:
                drawn.append(one)
    return drawn
