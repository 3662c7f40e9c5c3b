"""One hash says which code a process runs: the same for the same files anywhere, another for any change."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from zs_assets import __version__
from zs_assets.protocol.code_identity import PACKAGE, code_files, code_identity, hash_of_code


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """The package's files in a folder of another name's parent, as a wheel or another checkout would hold them."""
    folder = tmp_path / "elsewhere" / "zs_assets"
    for path in code_files():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(PACKAGE / path, folder / path)
    return folder


def test_the_same_files_in_another_folder_are_the_same_code(copied: Path):
    assert hash_of_code(copied) == hash_of_code(PACKAGE)
    assert code_identity().package_version == __version__
    assert len(code_identity().code_sha256) == 64


def test_the_files_of_a_wheel_are_all_there_is_to_hash(copied: Path):
    """The build copies the demo sets into the package, and Python its bytecode: neither is code."""
    before = hash_of_code(copied)
    for name in ("sources/demo_data/topics.labels.yaml", "stats/__pycache__/auroc.cpython-311.pyc", "stats/notes.txt"):
        (copied / name).parent.mkdir(exist_ok=True)
        (copied / name).write_text("anything")
    assert hash_of_code(copied) == before


@pytest.mark.parametrize("name", ["gates/verdict.py", "backends/systems.yaml", "deployment/templates/Dockerfile.j2"])
def test_one_changed_line_is_other_code(copied: Path, name: str):
    before = hash_of_code(copied)
    with open(copied / name, "a", encoding="utf-8") as file:
        file.write("# one line more\n")
    assert hash_of_code(copied) != before


def test_a_renamed_a_missing_and_a_split_file_are_other_code(tmp_path: Path):
    def package(**files: str) -> str:
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        folder.mkdir()
        for name, text in files.items():
            (folder / f"{name}.py").write_text(text)
        return hash_of_code(folder)

    hashes = [package(a="x", b="y"), package(a="x", c="y"), package(a="x"), package(a="xb.py", b=""), package(ab="xy")]
    assert len(set(hashes)) == len(hashes)


def test_a_process_keeps_the_code_it_began_with(copied: Path):
    """Files that are replaced under a waiting worker do not change what it runs."""
    program = (
        "import pathlib, zs_assets; from zs_assets.protocol.code_identity import PACKAGE, code_identity, hash_of_code; "
        "pathlib.Path(PACKAGE, 'gates', 'verdict.py').write_text('changed = 1'); "
        "print(zs_assets.__file__, code_identity().code_sha256, hash_of_code())"
    )
    before = hash_of_code(copied)
    run = subprocess.run([sys.executable, "-c", program], cwd=copied.parent, capture_output=True, text=True, check=True)
    file, at_start, now = run.stdout.split()
    assert Path(file).parent == copied
    assert (at_start, now) == (before, hash_of_code(copied))
    assert at_start != now


def run_copy(copied: Path, program: str) -> list[str]:
    """Lines that a program prints which imports the copied package."""
    run = subprocess.run([sys.executable, "-c", program], cwd=copied.parent, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return run.stdout.splitlines()


REPLACE_EVERY_MODULE = (
    "for path in code_files():\n"
    "    if path.suffix == '.py':\n"
    "        (PACKAGE / path).write_text('raise RuntimeError(\"read again\")')\n"
)


def test_a_worker_that_loaded_its_modules_reads_none_of_them_again(copied: Path):
    """All files are replaced between its start and its first task: every import still gives what it began with."""
    lines = run_copy(
        copied,
        "from importlib import import_module\n"
        "from zs_assets.protocol.code_identity import PACKAGE, _module_names, code_files, load_own_modules\n"
        "names = _module_names()\n"
        "left_out = load_own_modules()\n" + REPLACE_EVERY_MODULE + "for name in names:\n"
        "    if name not in left_out:\n"
        "        import_module(name)\n"
        "from zs_assets.backends.gliner import GlinerBackend\n"
        "print(len(names), sorted(left_out))\n"
        "print(GlinerBackend.__module__)\n",
    )
    assert lines[0] == f"{len([path for path in code_files() if path.suffix == '.py']) - 1} []"
    assert lines[1] == "zs_assets.backends.gliner"


def test_without_it_a_module_is_read_from_the_files_of_the_day(copied: Path):
    lines = run_copy(
        copied,
        "from zs_assets.protocol.code_identity import PACKAGE, code_files\n" + REPLACE_EVERY_MODULE + "try:\n"
        "    import zs_assets.backends.gliner\n"
        "except RuntimeError as error:\n"
        "    print(error)\n",
    )
    assert lines == ["read again"]


def test_loading_the_modules_loads_no_heavy_library(copied: Path):
    lines = run_copy(
        copied,
        "import sys\n"
        "from zs_assets.protocol.code_identity import load_own_modules\n"
        "load_own_modules()\n"
        "heavy = ('torch', 'transformers', 'gliner2', 'onnxruntime', 'altair', 'sklearn')\n"
        "print([name for name in heavy if name in sys.modules])\n",
    )
    assert lines == ["[]"]


def test_a_module_whose_extra_is_missing_is_left_out_and_named(copied: Path):
    lines = run_copy(
        copied,
        "import sys\n"
        "sys.modules['starlette'] = sys.modules['celery'] = None\n"
        "from zs_assets.protocol.code_identity import load_own_modules\n"
        "left_out = load_own_modules()\n"
        "print(left_out['zs_assets.emulator.app'], left_out['zs_assets.deployment.worker_code'])\n"
        "print('zs_assets.assets.report_asset' in left_out, 'zs_assets.assets.report_asset' in sys.modules)\n",
    )
    assert lines == ["starlette celery", "False True"]


def test_a_missing_module_of_our_own_is_no_missing_extra(copied: Path):
    (copied / "gates" / "verdict.py").unlink()
    run = subprocess.run(
        [sys.executable, "-c", "from zs_assets.protocol.code_identity import load_own_modules; load_own_modules()"],
        cwd=copied.parent,
        capture_output=True,
        text=True,
    )
    assert run.returncode != 0
    assert "No module named 'zs_assets.gates.verdict'" in run.stderr
