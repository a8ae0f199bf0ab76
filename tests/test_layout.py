"""The package's shape: where it is imported from, what it imports, how long its files are."""

from __future__ import annotations

import ast
import fnmatch
import importlib
import os
import re
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ROOMS = ("graph", "scheduler", "workers", "arrays", "ml")
SOURCES = sorted(path for room in ROOMS for path in (ROOT / room).rglob("*.py"))
FILES = sorted(
    path for folder in (*ROOMS, "tests", "examples", "benchmarks", "src") for path in (ROOT / folder).rglob("*.py")
)
LONGEST = 700
LOOSE = 12
"""Files of a folder that a reader sees at once."""
RESULT_WORDS = {"found", "told", "made", "given"}
"""Names that say only that something is a result; a variable's name says which."""
RESULT_FIELDS = {"ml/search/results.py: told"}
"""Fields that users read under such a name: of a search's `history_`."""
BLOCKS = "windrow.workers.kernels.blocks"
BLOCK = r"([a-z]+\.[a-z0-9]+|planned):[a-z_]*\*?"
HEAVY = ("asyncio", "mpi4py", "numba", "matplotlib", "networkx", "scipy", "sklearn", "tensorflow", "dask")


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


@dataclass(frozen=True)
class Names:
    """What a file names."""

    imported: set[str]
    """The top-level modules of its absolute imports, wherever they stand."""
    classes: list[str]
    variables: list[str]
    blocks: list[str]
    """Functions of blocks, "folder.module:name" with "*" for what is put in."""


@cache
def names() -> dict[str, Names]:
    """What each file of the package names."""
    return {name(path): names_in(path) for path in SOURCES}


def names_in(path: Path) -> Names:
    file = Names(set(), [], [], [])
    nodes = list(ast.walk(ast.parse(path.read_text())))
    inside = {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in nodes:
        if isinstance(node, ast.Import):
            file.imported.update(alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            file.imported.add(node.module.partition(".")[0])
        elif isinstance(node, ast.ClassDef):
            file.classes.append(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            file.variables.append(node.id)
        elif id(node) not in inside and (text := text_of(node)) and re.fullmatch(BLOCK, text) and text[-1] != ":":
            file.blocks.append(text)
    return file


def text_of(node: ast.AST) -> str | None:
    """A text; a formatted one up to what is put in."""
    part = node.values[0] if isinstance(node, ast.JoinedStr) else node
    if not isinstance(part, ast.Constant) or not isinstance(part.value, str):
        return None
    return part.value if part is node else f"{part.value}*"


def python(code: str) -> str:
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_import_from_the_root_takes_the_package_and_no_stray_folder():
    code = f"import sys, windrow; print(*sorted(set({ROOMS}) & set(sys.modules)), windrow.__file__)"
    assert python(code).split() == [str(ROOT / "src" / "windrow" / "__init__.py")]


def test_import_is_light():
    code = f"import sys, windrow; print(*sorted(set({HEAVY}) & set(sys.modules)))"
    assert python(code).split() == []


def test_what_few_need_is_loaded_when_it_is_used():
    later = ["arrays.display.explain", "arrays.fft", "arrays.linalg", "arrays.random", "arrays.shared"]
    later += [
        "scheduler.shared.symmetric",
        "scheduler.shared.spaces",
        "workers.shared.one_sided.site",
        "workers.shared.pages.service",
    ]
    code = f"""if True:
        import sys, windrow as wr
        assert wr.ones((9, 9), chunks=4).sum().compute() == 81
        print(*sorted({{'windrow.' + name for name in {later}}} & set(sys.modules)))
        from windrow.linalg import norm
        import windrow.fft
        assert norm is wr.linalg.norm and windrow.fft is sys.modules["windrow.arrays.fft"]
        assert wr.linalg is sys.modules["windrow.linalg"] is sys.modules["windrow.arrays.linalg"]
        assert wr.einsum is wr.einsum and float(wr.einsum("i->", wr.ones(3))) == 3
    """
    assert python(code).split() == []


def test_links_point_to_the_folders():
    links = {path.name: os.readlink(path) for path in (ROOT / "src" / "windrow").iterdir() if path.is_symlink()}
    assert links == {room: f"../../{room}" for room in ROOMS}


@pytest.mark.parametrize("room", ROOMS)
def test_every_folder_of_modules_is_a_package(room):
    folders = {path.parent for path in (ROOT / room).rglob("*.py")}
    assert [name(folder) for folder in sorted(folders) if not (folder / "__init__.py").exists()] == []


def test_no_file_is_long():
    assert [name(path) for path in FILES if len(path.read_text().splitlines()) > LONGEST] == []


def test_imports_inside_the_package_are_relative():
    assert [path for path, file in names().items() if file.imported & {"windrow", *ROOMS}] == []


def test_only_workers_mpi_imports_mpi4py():
    users = {path for path, file in names().items() if "mpi4py" in file.imported}
    assert {user for user in users if not re.match(r"workers/mpi(\.py|/)", user)} == set()


def test_folders_have_few_loose_files():
    counts: Counter[str] = Counter(name(path.parent) for path in SOURCES if path.name != "__init__.py")
    assert {folder: count for folder, count in counts.items() if count > LOOSE} == {}


def test_no_public_class_name_means_two_things():
    places: dict[str, list[str]] = {}
    for path, file in names().items():
        for one in file.classes:
            if not one.startswith("_"):
                places.setdefault(one, []).append(path)
    assert {one: where for one, where in places.items() if len(where) > 1} == {}


def test_variables_say_what_they_hold():
    places = {f"{path}: {variable}" for path, file in names().items() for variable in file.variables}
    assert {place for place in places if place.rpartition(" ")[2] in RESULT_WORDS} <= RESULT_FIELDS


def test_every_function_of_blocks_that_is_named_is_there():
    named = {text: path for path, file in names().items() for text in file.blocks}
    named.pop("planned:*", None)  # what `explain` shows in place of an operation; it never runs
    assert len(named) > 100
    missing = []
    for text, user in named.items():
        module, _, function = text.partition(":")
        if not (ROOT / "workers" / "kernels" / "blocks" / f"{module.replace('.', '/')}.py").exists():
            missing.append(f"{user}: {text}")
            continue
        there = importlib.import_module(f"{BLOCKS}.{module}")
        if not hasattr(there, function) and not fnmatch.filter(dir(there), function):
            missing.append(f"{user}: {text}")
    assert missing == []
