import pytest

from zs_assets.backends.registry import build_backend
from zs_assets.protocol.errors import BackendUnavailable
from zs_assets_tests.backends.asking import ask_all, presentation, question, shipped
from zs_assets_tests.backends.demo_accuracy import accuracy_on_demo

pytest.importorskip("sparrow_decider", reason="needs the demo extra")

TOPICS = question({"travel": "A trip or a journey.", "food": "Cooking or eating.", "sport": "A match or a race."})
TEXT = "We won the match in the last minute."


@pytest.mark.parametrize(("name", "chance"), [("topics", 1 / 4), ("emotions", 1 / 6), ("intents", 1 / 24)])
def test_the_real_model_is_well_above_chance_without_a_network(name, chance):
    assert accuracy_on_demo(shipped("sparrow"), name) > chance + 0.2


def test_answers_are_aligned_to_the_declared_order_whatever_order_was_sent():
    orders = [(0, 1, 2), (2, 0, 1), (1, 2, 0)]
    backend = build_backend(shipped("sparrow"), TOPICS)
    sent = []
    asked = [presentation(TOPICS, TEXT, order) for order in orders]
    original = backend.vector
    backend.vector = lambda one: sent.append(original(one)) or sent[-1]
    first, *others = (reading.probabilities for _, reading in ask_all(backend, asked))
    for other in others:
        assert other == pytest.approx(first, abs=1e-6)
    assert first.index(max(first)) == 2
    for order, vector in zip(orders, sent[2:], strict=True):  # the first two calls are the warm-up
        assert vector == pytest.approx([first[index] for index in order], abs=1e-6)


def test_it_answers_like_the_library_asked_directly():
    import sparrow_decider

    criteria = {option.id: option.description for option in TOPICS.options}
    asked = {"type": "choice", "instructions": TOPICS.instructions, "criteria": criteria}
    direct = sparrow_decider.Decider.load().probs(TEXT, asked)[3].tolist()
    [(_, reading)] = ask_all(build_backend(shipped("sparrow"), TOPICS), [presentation(TOPICS, TEXT)])
    assert list(reading.probabilities) == direct


def test_placeholder_names_are_not_shown_to_the_model():
    sentences = ["A trip or a journey.", "A match or a race."]
    numbered = [question({f"label_{start + i}": s for i, s in enumerate(sentences)}) for start in (0, 700)]
    answers = [
        ask_all(build_backend(shipped("sparrow"), one), [presentation(one, TEXT)])[0][1].probabilities
        for one in numbered
    ]
    assert answers[0] == answers[1]


def test_placeholders_with_equal_sentences_are_refused():
    with pytest.raises(BackendUnavailable, match="different ids and descriptions"):
        build_backend(shipped("sparrow"), question({"label_0": "Same.", "label_1": "Same."}))


def test_an_unknown_model_is_one_sentence_that_names_the_bundled_ones():
    backend = build_backend(shipped("sparrow", model="sparrow-nano"), TOPICS)
    with pytest.raises(BackendUnavailable, match=r"sparrow-nano-general-v1\.1"):
        ask_all(backend, [])


def test_identity_pins_the_weights_inside_the_package():
    backend = build_backend(shipped("sparrow"), TOPICS)
    ask_all(backend, [])
    identity = backend.identity()
    assert identity["version_sparrow-decider"] == "0.2.0" and len(identity["weights_sha256"]) == 64
