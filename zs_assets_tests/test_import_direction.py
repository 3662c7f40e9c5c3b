"""Imports point one way (layout rule), and loading definitions loads nothing heavy."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "zs_assets"

# A package may import itself, those of lower rank, and those listed as its exceptions.
RANK = {
    "protocol": 0,
    "stats": 0,
    "gates": 1,
    "sources": 1,
    "backends": 1,
    "storage": 2,
    "collection": 3,
    "report": 3,
    "emulator": 3,
    "assets": 4,
    "components": 5,
    "definitions": 6,
    "deployment": 6,
    "cli": 7,
}
ONLY = {"stats": set(), "gates": {"protocol"}, "emulator": {"protocol", "backends"}}


def imports_of(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("zs_assets."):
            names.add(node.module.split(".")[1])
        elif isinstance(node, ast.Import):
            names |= {alias.name.split(".")[1] for alias in node.names if alias.name.startswith("zs_assets.")}
    return names


def modules() -> list[Path]:
    return sorted(path for path in PACKAGE.rglob("*.py") if path.parent != PACKAGE or path.stem != "__init__")


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_one_way(path: Path):
    relative = path.relative_to(PACKAGE)
    own = relative.parts[0].removesuffix(".py")
    others = imports_of(path) - {own}
    if own in ONLY:
        assert others <= ONLY[own]
    assert {other for other in others if RANK[other] >= RANK[own]} == set()


def test_statistics_import_only_numpy_and_scipy():
    for path in (PACKAGE / "stats").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            roots = []
            if isinstance(node, ast.Import):
                roots = [alias.name.split(".")[0] for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module:
                roots = [node.module.split(".")[0]]
            foreign = [r for r in roots if r not in {"numpy", "scipy", "zs_assets", *sys.stdlib_module_names}]
            assert foreign == [], path.name


def test_loading_definitions_imports_nothing_heavy():
    code = (
        "import sys; from zs_assets.definitions import defs; defs(); "
        "heavy = ('torch', 'transformers', 'gliner2', 'onnxruntime', 'altair', 'sklearn'); "
        "print([m for m in heavy if m in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
