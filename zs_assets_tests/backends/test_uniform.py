import asyncio
import json

import pytest

from zs_assets.backends.base import RawReply
from zs_assets.backends.registry import build_backend
from zs_assets.protocol.errors import StudyError
from zs_assets.protocol.names import Outcome
from zs_assets_tests.backends.asking import ask_all, presentation, question, shipped

SIX = question({f"label_{i:03d}": f"Sentence {i}." for i in range(6)})


def test_each_option_gets_exactly_one_kth_and_the_first_maximum_is_the_declared_first():
    backend = build_backend(shipped("uniform"), SIX)
    [(reply, reading)] = ask_all(backend, [presentation(SIX, "any text", (5, 4, 3, 2, 1, 0))])
    assert reading.outcome is Outcome.OK and reading.probabilities == (1 / 6,) * 6
    assert reading.probabilities.index(max(reading.probabilities)) == 0
    assert json.loads(reply.body)["model"] == reading.model == "uniform"


def test_the_body_keeps_every_digit_and_needs_no_loaded_model_to_be_read():
    one = presentation(SIX, "any text")
    [(reply, reading)] = ask_all(build_backend(shipped("uniform"), SIX), [one])
    assert build_backend(shipped("uniform"), SIX).read(reply, one) == reading


@pytest.mark.parametrize(
    "body", ["", "{", "null", "[]", '{"probabilities":null}', '{"probabilities":[1]}', "[" * 100_000, "9" * 9_999]
)
def test_a_broken_body_reads_as_invalid_with_a_reason(body):
    reading = build_backend(shipped("uniform"), SIX).read(RawReply(body), presentation(SIX, "x"))
    assert reading.outcome is Outcome.INVALID and reading.probabilities is None and reading.problem


def test_an_unknown_setting_is_an_error_that_names_it():
    with pytest.raises(StudyError, match=r"settings\.warmth"):
        build_backend(shipped("uniform", settings={"warmth": 1}), SIX)


@pytest.mark.parametrize("values", [[0.5, 0.5], [1 / 6] * 7, [float("nan")] * 6, [2.0, -1.0, 0, 0, 0, 0]])
def test_a_vector_that_does_not_fit_the_options_is_invalid_not_cut_to_fit(values):
    backend = build_backend(shipped("uniform"), SIX)
    backend.vector = lambda presentation: values
    [(_, reading)] = ask_all(backend, [presentation(SIX, "x")])
    assert reading.outcome is Outcome.INVALID


def test_identity_names_the_hardware_and_no_process():
    identity = build_backend(shipped("uniform"), SIX).identity()
    assert {"model", "platform", "python", "cpu_model", "cpu_count"} <= identity.keys()
    assert all(isinstance(value, str) and value for value in identity.values())


def test_a_failing_model_is_a_fault_of_that_text_only():
    backend = build_backend(shipped("uniform"), SIX)

    def fail_on_bad(presentation):
        if presentation.example.text == "bad":
            raise RuntimeError("no such word")
        return [1 / 6] * 6

    backend.vector = fail_on_bad

    async def run():
        async with backend:
            with pytest.raises(Exception, match="model_failed: RuntimeError: no such word"):
                await backend.ask(presentation(SIX, "bad"))
            return await backend.ask(presentation(SIX, "good"))

    assert asyncio.run(run()).status == 200
