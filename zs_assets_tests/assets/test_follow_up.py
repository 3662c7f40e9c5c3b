"""A follow-up asks again what came without scores or against its own label, and changes no prediction.

The counts are those of the published study of choice order: 178 refusals in 34 of 1,000 samples, of which one recovered
at its first further try (532 further replies), and 32 label mismatches in 28 samples, which all did.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from typing import Any

import dagster as dg
import pytest

from zs_assets.assets.cells import cell_budget
from zs_assets.assets.follow_up_asset import current_follow_up, follow_up_asset, follow_up_job
from zs_assets.assets.follow_up_rows import ask_again, complete_samples, incomplete_presentations
from zs_assets.backends.base import CallFault, Remedy
from zs_assets.collection import journalled_usd
from zs_assets.collection.pricing import call_cost, call_tokens, question_tokens
from zs_assets.components.resources import study_resources
from zs_assets.components.study_reset import archive_study
from zs_assets.protocol.errors import CollectionStopped
from zs_assets.protocol.names import AssetName
from zs_assets_tests.assets.scripted_orders import (
    CALL_USD,
    GOOD,
    LABEL_ALONE,
    MISMATCH,
    ORDERS,
    REFUSAL,
    TIED,
    ScriptedOrders,
)

SAMPLES = 1_000


@pytest.fixture
def study(home, tmp_path, instance, monkeypatch):
    """Eight samples in six orders each: 48 presentations, asked one after the other."""
    return ScriptedOrders(tmp_path / "study", instance, monkeypatch, 8, concurrency=1)


@pytest.fixture
def published(home, tmp_path, instance, monkeypatch):
    """1,000 samples in six orders each."""
    return ScriptedOrders(tmp_path / "study", instance, monkeypatch, SAMPLES, concurrency=64)


def spread(affected: int, samples: int) -> list[str]:
    """Ids of that many presentations over that many samples, at least one in each."""
    drawn = random.Random(1)
    chosen = drawn.sample(range(SAMPLES), samples)
    ids = [f"{sample}/o{drawn.randrange(ORDERS)}r0" for sample in chosen]
    rest = [f"{sample}/o{order}r0" for sample in chosen for order in range(ORDERS)]
    return ids + drawn.sample([name for name in rest if name not in ids], affected - samples)


def estimated_usd(study: ScriptedOrders) -> float:
    """What one call is reserved at."""
    planned = study.partition.planned
    tokens = call_tokens(question_tokens(planned.question), planned.presentations[0])
    usd = call_cost(study.graph.systems["talker"], planned.question, tokens)
    assert usd is not None
    return usd


def test_published_refusals_178_asked_again_one_recovers_in_532_further_replies(published):
    refused = spread(178, 34)
    recovering = refused[-1]
    published.answers = lambda name, before: (
        REFUSAL if name in refused and not (name == recovering and before == 1) else GOOD
    )
    assert published.measure().success
    path = published.lake.table("orders", AssetName.PREDICTIONS, dataset="texts", backend="talker")
    primary, before = path.read_bytes(), sum(published.replies.values())
    assert published.follow_up().success
    table = published.table
    assert sum(published.replies.values()) - before == sum(table["tries"].to_pylist()) == 532
    assert table.num_rows == 178 and set(table["reason"].to_pylist()) == {"refusal"}
    (recovered,) = [row for row in table.to_pylist() if row["recovered"]]
    assert (recovered["presentation_id"], recovered["tries"], recovered["outcome"]) == (recovering, 1, "ok")
    assert {row["tries"] for row in table.to_pylist() if not row["recovered"]} == {3}
    complete = complete_samples(published.partition, table)
    assert (complete.samples, complete.before, complete.after) == (1_000, 966, 966)
    assert path.read_bytes() == primary, "the follow-up is never merged into the predictions"


def test_published_label_mismatches_all_32_pass_at_their_first_retry(published):
    mismatched = spread(32, 28)
    published.answers = lambda name, before: MISMATCH if name in mismatched and before == 0 else GOOD
    assert published.measure().success
    assert max(published.replies.values()) == 1, "a label mismatch is a reply with scores: never asked again at first"
    before = sum(published.replies.values())
    assert published.follow_up().success
    table = published.table
    assert sum(published.replies.values()) - before == table.num_rows == 32
    assert set(table["reason"].to_pylist()) == {"label_mismatch"}
    assert all(table["recovered"].to_pylist())
    complete = complete_samples(published.partition, table)
    assert (complete.before, complete.after) == (972, 1_000)
    assert table["cost_usd"].to_pylist() == pytest.approx([CALL_USD] * 32)


def test_nothing_affected_is_an_empty_table_and_no_call(study):
    study.answers = lambda name, before: TIED  # a tie passes the label check
    assert study.measure().success and study.follow_up().success
    assert study.table.num_rows == 0
    assert sum(study.replies.values()) == 48
    assert not study.journal(1).exists()


def test_every_failure_is_affected_and_says_why(study):
    gone = CallFault("http_400", Remedy.GIVE_UP, "no", status=400)
    first = {"0/o0r0": {"outcome": "no_call"}, "1/o1r0": {"outcome": "invalid"}, "2/o2r0": gone, "3/o3r0": LABEL_ALONE}
    study.answers = lambda name, before: first.get(name, GOOD)
    assert study.measure().success
    found = incomplete_presentations(study.partition.predictions, study.partition.planned.question)
    assert found == {"0/o0r0": "no_call", "1/o1r0": "invalid", "2/o2r0": "error", "3/o3r0": "no_scores"}
    assert study.follow_up().success
    rows = {row["presentation_id"]: row for row in study.table.to_pylist()}
    assert {name: row["reason"] for name, row in rows.items()} == found
    assert {row["tries"] for row in rows.values()} == {3}
    # A rejected call bills no answer; the others are billed three times.
    assert rows["2/o2r0"]["cost_usd"] == 0.0
    assert rows["0/o0r0"]["cost_usd"] == pytest.approx(3 * CALL_USD)


def test_a_label_only_system_has_no_follow_up(study):
    study.answers = lambda name, before: REFUSAL if name == "0/o0r0" else LABEL_ALONE
    assert study.measure().success and study.follow_up().success
    assert study.table.num_rows == 0
    assert complete_samples(study.partition, study.table).after == 0


def test_a_stopped_round_is_gone_on_with_and_asks_nothing_again(study):
    refused = [f"{sample}/o0r0" for sample in range(8)]
    study.answers = lambda name, before: REFUSAL if name in refused else GOOD
    assert study.measure().success

    def wrong_key_in_the_second_round(name: str, before: int) -> Mapping[str, Any] | BaseException:
        if sum(study.replies.values()) >= 48 + 8 + 3:
            return CallFault("http_401", Remedy.STOP, "wrong key", status=401)
        return REFUSAL

    study.answers = wrong_key_in_the_second_round
    assert not study.follow_up().success
    assert not study.lake.has("orders", AssetName.FOLLOW_UP, dataset="texts", backend="talker")
    received = sum(study.replies.values()) - 48
    assert 8 + 3 <= received < 8 + 8
    study.answers = lambda name, before: REFUSAL
    assert study.follow_up().success
    assert sum(study.replies.values()) == 48 + 3 * 8
    assert {study.replies[name] for name in refused} == {1 + 3}
    assert study.follow_up().success
    assert sum(study.replies.values()) == 48 + 3 * 8, "a follow-up made again is made of its journals"


def test_a_line_torn_by_a_kill_is_asked_again_and_no_other(study):
    study.answers = lambda name, before: REFUSAL if name.endswith("/o0r0") else GOOD
    assert study.measure().success and study.follow_up().success
    lines = study.journal(2).read_bytes()
    study.journal(2).write_bytes(lines[:-9])
    study.journal(3).unlink()
    assert study.follow_up().success
    # The reply whose line was torn, and the third round of eight.
    assert sum(study.replies.values()) == 48 + 3 * 8 + 1 + 8


def test_the_budget_of_the_study_counts_every_round_and_stops_before_it_is_passed(study):
    study.answers = lambda name, before: REFUSAL if name.endswith("/o0r0") else GOOD
    assert study.measure().success
    # Room for the first round and for two calls of the second, each reserved at its estimate.
    limit = (48 + 8 + 1.5) * CALL_USD + estimated_usd(study)
    with pytest.raises(CollectionStopped, match="would be passed by the next call"):
        ask_again(study.workspace, study.graph, "texts", "talker", study.partition, max_usd=limit)
    places = study.workspace.places
    paid = [places.journal("orders", "texts", "talker"), *places.follow_up_journals("orders", "texts", "talker")]
    spent = [journalled_usd(path) for path in paid]
    assert spent == pytest.approx([48 * CALL_USD, 8 * CALL_USD, 2 * CALL_USD])
    # The study's own run and each round count all but the journal they write themselves.
    budget = cell_budget(study.workspace, study.graph, "texts", "talker", 1.0)
    assert budget.elsewhere_usd == pytest.approx(sum(spent) - spent[0])
    budget = cell_budget(study.workspace, study.graph, "texts", "talker", 1.0, follow_up_round=1)
    assert budget.elsewhere_usd == pytest.approx(sum(spent) - spent[1])


def test_a_follow_up_is_of_the_predictions_it_read(study):
    gone = CallFault("http_400", Remedy.GIVE_UP, "no", status=400)
    study.answers = lambda name, before: gone if name == "0/o0r0" else GOOD
    assert study.measure().success and study.follow_up().success
    assert current_follow_up(study.lake, study.graph, "texts", "talker") is not None
    stamp = json.loads(study.table.schema.metadata[b"inputs"])
    receipt = study.lake.sha256("orders", AssetName.PREDICTIONS, dataset="texts", backend="talker")
    assert stamp == {"talker": receipt}
    study.answers = lambda name, before: GOOD
    assert study.measure(retry_errors=True).success
    assert current_follow_up(study.lake, study.graph, "texts", "talker") is None


def test_reset_moves_the_follow_up_aside_too(study):
    study.answers = lambda name, before: REFUSAL if name == "0/o0r0" else GOOD
    assert study.measure().success and study.follow_up().success
    moved = dict((old.name, new) for old, new in archive_study(study.workspace, study.graph, study.instance))
    assert not study.journal(1).exists()
    assert len(list(moved["orders"].rglob("follow_up_*.jsonl"))) == 3


def test_the_job_for_the_ui_asks_for_nothing_but_the_follow_up(study):
    definitions = dg.Definitions(assets=[follow_up_asset(study.graph)], jobs=[follow_up_job(study.graph)])
    definitions = dg.Definitions.merge(definitions, dg.Definitions(resources=study_resources()))
    job = definitions.resolve_job_def("orders__ask_again")
    assert job.asset_layer.executable_asset_keys == {study.graph.key(AssetName.FOLLOW_UP)}
    assert job.partitions_def == study.graph.cells


def test_a_reply_of_another_model_recovers_nothing(study):
    study.answers = lambda name, before: GOOD if name != "0/o0r0" else REFUSAL if not before else {**GOOD, "model": "2"}
    assert study.measure().success and study.follow_up().success
    (row,) = study.table.to_pylist()
    assert (row["tries"], row["recovered"], row["outcome"]) == (3, False, "other_model")
    complete = complete_samples(study.partition, study.table)
    assert (complete.before, complete.after) == (7, 7)


def test_a_plan_changed_after_collection_is_neither_followed_up_nor_analysed(study):
    study.answers = lambda name, before: REFUSAL if name == "0/o0r0" else GOOD
    assert study.measure().success and study.analyse().success
    study.change_plan(orders={"kind": "rotations", "seed": 4})
    asked = sum(study.replies.values())
    for run in (study.follow_up(), study.analyse()):
        assert not run.success
        assert any("changed after its manifest was frozen" in str(event) for event in run.all_events)
    assert sum(study.replies.values()) == asked
