import asyncio
from types import SimpleNamespace

import pytest

from zs_assets.backends.gliner import rewrite_label
from zs_assets.backends.registry import build_backend
from zs_assets.protocol.errors import BackendUnavailable, StudyError
from zs_assets.protocol.names import Outcome
from zs_assets_tests.backends.asking import ask_all, presentation, question, shipped, sockets_blocked
from zs_assets_tests.tiny_gliner import build_tiny_gliner

pytest.importorskip("gliner2", reason="needs the gliner extra")

TEXT = "I want my money back for the ticket."


def numbered(size):
    return question({f"label_{i:03d}": f"The text is about subject number {i}, told at length" for i in range(size)})


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    texts = [TEXT, *(option.sentence for option in numbered(72).options)]
    return build_tiny_gliner(tmp_path_factory.mktemp("gliner") / "tiny", texts)


@pytest.fixture
def spec(tiny):
    return shipped("gliner", settings={"threads": 1, "folder": str(tiny)})


def direct(folder, labels, text=TEXT):
    """The library by itself, compiling afresh."""
    from gliner2.classification import ClassificationSchema, Classifier, compile_schema

    classifier = Classifier.from_pretrained(str(folder), device="cpu").eval()
    result = classifier.classify(text, compile_schema(ClassificationSchema().single("label", labels)))
    return dict(result.probabilities("label"))


@pytest.mark.parametrize("size", [4, 6, 72])
def test_the_whole_distribution_comes_from_the_real_library_without_a_network(spec, tiny, size):
    asked = numbered(size)
    with sockets_blocked():
        [(_, reading)] = ask_all(build_backend(spec, asked), [presentation(asked, TEXT)])
    assert reading.outcome is Outcome.OK and len(set(reading.probabilities)) > 1
    expected = direct(tiny, [option.sentence for option in asked.options])
    assert reading.probabilities == pytest.approx([expected[o.sentence] for o in asked.options], abs=1e-9)


def test_label_order_changes_the_answer_as_the_library_says_and_ids_stay_aligned(spec, tiny):
    asked = numbered(4)
    orders = [(0, 1, 2, 3), (3, 1, 0, 2), (0, 1, 2, 3)]
    answers = ask_all(build_backend(spec, asked), [presentation(asked, TEXT, order) for order in orders])
    first, second, again = (reading.probabilities for _, reading in answers)
    assert first == again and max(abs(a - b) for a, b in zip(first, second, strict=True)) > 1e-3
    for order, got in ((orders[0], first), (orders[1], second)):
        expected = direct(tiny, [asked.options[index].sentence for index in order])
        assert got == pytest.approx([expected[option.sentence] for option in asked.options], abs=1e-9)


def test_the_librarys_compile_cache_still_forgets_order_and_ours_does_not(spec, tiny):
    """Described labels in another order reuse the first prompt inside the library: the reason we compile ourselves."""
    from gliner2.classification import ClassificationSchema, Classifier

    classifier = Classifier.from_pretrained(str(tiny), device="cpu").eval()
    described = {"one": "The first subject", "two": "The second subject"}
    swapped = dict(reversed(described.items()))
    classifier.compile_schema(ClassificationSchema().single("label", described))
    cached = classifier.compile_schema(ClassificationSchema().single("label", swapped))
    assert cached.task("label").label_names == ("one", "two"), "the library bug is gone: the workaround may go too"

    backend = build_backend(spec, numbered(4))
    for order in ((0, 1, 2, 3), (3, 2, 1, 0)):
        sent = backend._schema(order).task("label").label_names
        assert sent == tuple(numbered(4).options[index].sentence for index in order)


def test_labels_of_a_substituted_dummy_record_make_the_reply_invalid(spec):
    asked = numbered(4)
    backend = build_backend(spec, asked)

    dummy = SimpleNamespace(tasks={"label": SimpleNamespace(probabilities={"entity": 1.0})})

    async def run():
        async with backend:
            backend._classifier = SimpleNamespace(classify=lambda *_: dummy)
            return backend.read(await backend.ask(presentation(asked, TEXT)), presentation(asked, TEXT))

    reading = asyncio.run(run())
    assert reading.outcome is Outcome.INVALID and "entity" in reading.problem


def test_a_record_the_library_cannot_prepare_never_becomes_a_success(spec, monkeypatch):
    asked = numbered(4)
    backend = build_backend(spec, asked)

    async def run():
        async with backend:
            processor = backend._classifier.model.processor
            monkeypatch.setattr(processor, "_transform_record", lambda *_, **__: 1 / 0)
            with pytest.raises(Exception, match="model_failed"):
                await backend.ask(presentation(asked, TEXT))

    asyncio.run(run())


def test_parentheses_are_refused_by_name_unless_a_rewrite_is_asked_for(spec):
    labels = question({"fee": "A fee (late return)", "loan": "A loan"})
    with pytest.raises(BackendUnavailable, match=r"A fee \(late return\).*settings\.parentheses"):
        build_backend(spec, labels)


def test_a_rewrite_is_sent_recorded_and_read_back_under_the_option(spec, tiny):
    labels = question({"fee": "A fee (late return)", "loan": "A loan"})
    spec = spec.model_copy(update={"settings": {**spec.settings, "parentheses": "rewrite"}})
    backend = build_backend(spec, labels)
    [(_, reading)] = ask_all(backend, [presentation(labels, TEXT)])
    expected = direct(tiny, ["A fee, late return", "A loan"])
    assert reading.probabilities == pytest.approx(list(expected.values()), abs=1e-9)
    assert backend.identity()["label_rewrites"] == '{"fee":"A fee, late return"}'


@pytest.mark.parametrize(
    ("label", "rewritten"),
    [
        ("refund (partial) of fee", "refund, partial, of fee"),
        ("top up (by card).", "top up, by card."),
        ("(old) account", "old, account"),
        ("a [P] and [[L]]", "a P and L"),
        ("((x))", "x"),
    ],
)
def test_rewritten_labels_hold_nothing_the_library_rejects(label, rewritten):
    from gliner2.classification import ClassificationSchema, compile_schema

    assert rewrite_label(label) == rewritten
    compile_schema(ClassificationSchema().single("label", [rewritten, "other"]))


@pytest.mark.parametrize("labels", [{"a": "Same", "b": "Same"}, {"a": "", "b": "Other"}])
def test_equal_or_empty_labels_are_refused_before_loading(spec, labels):
    with pytest.raises(BackendUnavailable):
        build_backend(spec, question(labels))


def test_a_local_folder_is_pinned_by_its_weights_not_by_the_revision_of_the_entry(spec):
    backend = build_backend(spec, numbered(4))
    [(_, reading)] = ask_all(backend, [presentation(numbered(4), TEXT)])
    identity = backend.identity()
    assert reading.model == identity["model"] == f"{spec.model}@sha256:{identity['weights_sha256']}"
    assert identity["threads"] == "1" and identity["version_gliner2"] == "2.1.0"
    assert spec.revision not in identity.values()


def test_the_folder_may_come_from_the_environment(tiny, monkeypatch):
    monkeypatch.setenv("ZS_GLINER_DIR", str(tiny))
    [(_, reading)] = ask_all(build_backend(shipped("gliner"), numbered(4)), [presentation(numbered(4), TEXT)])
    assert reading.outcome is Outcome.OK


def test_a_missing_snapshot_is_one_sentence(monkeypatch):
    import huggingface_hub.constants

    monkeypatch.delenv("ZS_GLINER_DIR", raising=False)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    with sockets_blocked(), pytest.raises(BackendUnavailable, match="ZS_GLINER_DIR"):
        ask_all(build_backend(shipped("gliner"), numbered(4)), [])


@pytest.mark.parametrize("settings", [{"parentheses": "drop"}, {"threads": 0}, {"thread": 2}])
def test_wrong_settings_name_the_key(settings):
    with pytest.raises(StudyError, match=f"settings.{next(iter(settings))}"):
        build_backend(shipped("gliner", settings=settings), numbered(4))
