"""Where a program can be changed: a line drawn by chance, and one of Cosmic Ray's operators that applies there."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from cosmic_ray.ast import Visitor, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names

if TYPE_CHECKING:
    import random
    from pathlib import Path

LEFT = ("VariableReplacer", "VariableInserter", "RemoveDecorator", "_Is", "_UAdd")
"""Operators that need arguments, or whose changes are seldom other programs."""
GUARDS = ("strict", "frozen", "slots", "daemon")
"""Arguments that guard against what doesn't happen, or make no difference until the process ends."""
OPERATORS = [get_operator(n)() for n in operator_names() if not any(part in n for part in LEFT)]


@dataclass(frozen=True)
class Mutant:
    """One change of one file."""

    file: str
    line: int
    operator: str
    before: str
    after: str
    code: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.before}  ->  {self.after}"


class _Finder(Visitor):  # type: ignore[misc]
    """Finds what operators apply in a line, and as which of their occurrences in the file."""

    def __init__(self, line: int) -> None:
        self.line = line
        self.found: list[tuple[Any, int]] = []
        self.candidates: list[Any] = []

    def visit(self, node: Any) -> Any:
        if node.start_pos[0] == self.line:
            for operator in OPERATORS:
                if any(begin[0] == self.line for begin, _ in operator.mutation_positions(node)):
                    self.candidates.append(operator)
        return node


class _Counter(Visitor):  # type: ignore[misc]
    """Counts an operator's occurrences up to a line, and in it."""

    def __init__(self, operator: Any, line: int) -> None:
        self.operator, self.line, self.count = operator, line, 0
        self.occurrences: list[int] = []

    def visit(self, node: Any) -> Any:
        for begin, _ in self.operator.mutation_positions(node):
            if begin[0] == self.line:
                self.occurrences.append(self.count)
            self.count += 1
        return node


def draw(file: Path, name: str, line: int, chance: random.Random) -> Mutant | None:
    """Return a change of a line; None where there is none that makes another program."""
    code = file.read_text()
    tree = get_ast(code)
    finder = _Finder(line)
    finder.walk(tree)
    candidates = list(dict.fromkeys(finder.candidates))
    chance.shuffle(candidates)
    for operator in candidates:
        counter = _Counter(operator, line)
        counter.walk(tree)
        occurrence = chance.choice(counter.occurrences)
        changed = mutate_code(code, operator, occurrence)
        if changed is not None and _program(changed) not in (None, _program(code)):
            pairs = zip(code.splitlines(), changed.splitlines(), strict=False)
            before, after = next((a, b) for a, b in pairs if a != b)
            return Mutant(name, line, type(operator).__name__, before.strip(), after.strip(), changed)
    return None


@cache
def lines_of(file: Path) -> list[int]:
    """Return the lines of a file that hold code which runs: no imports, annotations, documentation, tuning numbers."""
    found: set[int] = set()
    for node in ast.walk(_stripped(ast.parse(file.read_text()))):
        if isinstance(node, ast.stmt) and not isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Pass):
            end = node.body[0].lineno - 1 if getattr(node, "body", None) else node.end_lineno
            found.update(range(node.lineno, (end or node.lineno) + 1))
    return sorted(found)


def _program(code: str) -> str | None:
    try:
        return ast.dump(_stripped(ast.parse(code)))
    except SyntaxError:
        return None


class _Strip(ast.NodeTransformer):
    def visit(self, node: Any) -> Any:
        for name in ("annotation", "returns"):
            if getattr(node, name, None) is not None:
                setattr(node, name, ast.Name("Any", ast.Load()) if name == "annotation" else None)
        return super().visit(node)

    def visit_If(self, node: ast.If) -> Any:
        typing = isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        return None if typing else self.generic_visit(node)

    def visit_keyword(self, node: ast.keyword) -> Any:
        if node.arg in GUARDS:
            node.value = ast.Constant(True)
        return self.generic_visit(node)

    def visit_Assert(self, node: ast.Assert) -> Any:  # what it guards against doesn't happen
        return ast.copy_location(ast.Pass(), node)

    def visit_Import(self, node: Any) -> Any:
        return None

    visit_ImportFrom = visit_Import

    def visit_Expr(self, node: ast.Expr) -> Any:
        text = isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        return None if text else self.generic_visit(node)


def _stripped(tree: ast.Module) -> ast.Module:
    """Return a module without what only readers and type checkers see, and without numbers by which it is tuned."""
    tree.body = [each for each in tree.body if not _tuning(each)]
    return _Strip().visit(tree)


def _tuning(node: ast.stmt) -> bool:
    names = node.targets if isinstance(node, ast.Assign) else []
    return bool(names) and all(isinstance(n, ast.Name) and (n.id.isupper() or n.id == "__all__") for n in names)
