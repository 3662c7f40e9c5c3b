"""The shipped study of choice order, and the one on own texts that stands beside it: plan, prompt, groups, pairs."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path

import pytest
import yaml

from zs_assets.assets.graph import StudyGraph
from zs_assets.components.catalogue import SHIPPED, find_study, load_study
from zs_assets.protocol.errors import SourceError
from zs_assets.protocol.hashing import prompt_hash
from zs_assets.protocol.plan import asking_sequence, option_orders, presentations
from zs_assets.protocol.study import DatasetSpec
from zs_assets.sources import Dataset, load_dataset
from zs_assets.sources.base import make_example

OWN_TEXTS = SHIPPED / "choice_order" / "own_texts.yaml"
THE_TWELVE = {
    *("jev_1_14", "jev_1_13", "kev_4b", "laya", "von", "semif"),
    *("nimble_9b", "nanojev", "rizzo_flow_4b", "openai_luna", "clef_27b", "subq_snap"),
}
# Of the question and the seven definitions as the methodology prints them, in its order.
PUBLISHED_PROMPT = "efee8cc1899dbe06b6ceed65dcd230f478cf6ff67f4c980470cf7cdac97d123a"
TEXTS = "text,group\nThat is wrong.,random\nThat is wrong.,random\nThank you!,added_coverage\n"


@pytest.fixture
def study() -> StudyGraph:
    return find_study("choice_order")


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StudyGraph:
    """The study on own texts as a user has it: copied, with texts.csv beside it."""
    folder = tmp_path / "mine"
    folder.mkdir()
    shutil.copy(OWN_TEXTS, folder / "defs.yaml")
    (folder / "texts.csv").write_text(TEXTS)
    monkeypatch.delenv("ZS_ORDER_TEXTS", raising=False)
    monkeypatch.setenv("ZS_STUDIES", str(tmp_path))
    return find_study("my_choice_order")


def loaded(study: StudyGraph, name: str) -> tuple[DatasetSpec, Dataset]:
    spec = study.spec.dataset(name)
    return spec, load_dataset(spec, study_question=study.spec.question, study_folder=study.folder)


def test_each_option_stands_twice_in_every_position_of_fourteen_orders(study):
    spec, dataset = loaded(study, "reactions")
    orders = option_orders(len(dataset.question), study.spec.plan_of(spec))
    assert len(set(orders)) == 14
    assert set(Counter((option, place) for order in orders for place, option in enumerate(order)).values()) == {2}
    assert len({option for order in orders for option in order}) == 7


def test_the_reverse_of_every_order_is_asked_as_well(study):
    spec, dataset = loaded(study, "reactions")
    orders = option_orders(len(dataset.question), study.spec.plan_of(spec))
    assert {order[::-1] for order in orders} == set(orders)


def test_a_thousand_samples_give_the_published_number_of_replies(study):
    spec, dataset = loaded(study, "reactions")
    thousand = [make_example(str(number), f"text {number}", None) for number in range(1000)]
    assert len(presentations(thousand, dataset.question, study.spec.plan_of(spec))) == 42_000
    assert len(THE_TWELVE) * 42_000 == 504_000


def test_the_sixty_samples_are_asked_in_one_shuffled_sequence(study):
    spec, dataset = loaded(study, "reactions")
    plan = study.spec.plan_of(spec)
    planned = presentations(dataset.examples, dataset.question, plan)
    asked = asking_sequence(planned, plan)
    assert len(planned) == 60 * 14 * 3
    assert asked != planned and sorted(p.id for p in asked) == sorted(p.id for p in planned)


def test_the_repeat_check_asks_three_sentences_twenty_times_in_the_declared_order(study):
    spec, dataset = loaded(study, "reaction_checks")
    planned = presentations(dataset.examples, dataset.question, study.spec.plan_of(spec))
    assert {presentation.order for presentation in planned} == {tuple(range(7))}
    assert set(Counter(presentation.example.example_id for presentation in planned).values()) == {20}
    assert 2 * len(planned) == 120  # of the two pinned versions of Jev, as published


def test_the_prompt_is_the_published_one_and_no_other_is_taken(study):
    for name in ("reactions", "reaction_checks"):
        spec, dataset = loaded(study, name)
        assert prompt_hash(dataset.question) == spec.prompt_hash == PUBLISHED_PROMPT
    other = spec.model_dump() | {"source": {"kind": "demo", "name": "reactions"}}
    with pytest.raises(SourceError, match=rf"where the study pins {PUBLISHED_PROMPT}"):
        load_dataset(DatasetSpec.model_validate(other), study_question="?", study_folder=None)


def test_the_twelve_systems_and_two_that_run_anywhere_are_asked(study):
    assert set(study.systems) == THE_TWELVE | {"sparrow", "minilm"}
    assert [name for name, system in study.systems.items() if system.extra == "demo"] == ["sparrow", "minilm"]


def test_settings_fixed_before_the_published_run(study):
    analysis = study.spec.analyses.order_sensitivity
    assert analysis is not None
    assert analysis.pairs == (("jev_1_14", "jev_1_13"),)
    assert (analysis.threshold_points, analysis.resamples) == (10, 2000)
    assert study.spec.attempt_budget == 4
    assert study.spec.scoring.renormalise is False


def test_the_demo_texts_are_public_and_own_ones_private(study, own):
    assert [dataset.private for dataset in study.spec.datasets] == [False, False]
    assert [dataset.private for dataset in own.spec.datasets] == [True]


def test_own_texts_are_asked_the_published_prompt_by_the_published_plan(study, own):
    spec, dataset = loaded(own, "texts")
    assert prompt_hash(dataset.question) == PUBLISHED_PROMPT
    assert own.spec.plan_of(spec) == study.spec.plan
    asked, here = (graph.spec.analyses.order_sensitivity for graph in (study, own))
    assert asked.model_copy(update={"main_group": None}) == here and own.spec.scoring == study.spec.scoring
    assert set(own.systems) <= set(study.systems)


def test_the_shipped_study_names_its_main_group_and_own_texts_lead_with_all_samples(study, own):
    _, dataset = loaded(study, "reactions")
    assert study.spec.analyses.order_sensitivity.main_group == "random"
    assert "random" in {example.group for example in dataset.examples}
    assert own.spec.analyses.order_sensitivity.main_group is None


def test_own_texts_keep_groups_and_copies_and_need_no_labels(own):
    _, dataset = loaded(own, "texts")
    assert [example.group for example in dataset.examples] == ["random", "random", "added_coverage"]
    assert {example.target_index for example in dataset.examples} == {None}
    assert dataset.provenance["distinct_texts"] == "2"


def test_own_texts_may_lie_elsewhere(own, tmp_path, monkeypatch):
    (tmp_path / "elsewhere.jsonl").write_text('{"text": "Thank you!", "group": "random"}\n')
    here = own.spec.dataset_spec_hash(own.spec.dataset("texts"))
    monkeypatch.setenv("ZS_ORDER_TEXTS", str(tmp_path / "elsewhere.jsonl"))
    assert len(loaded(own, "texts")[1].examples) == 1
    assert own.spec.dataset_spec_hash(own.spec.dataset("texts")) == here


def test_own_texts_without_groups_need_one_line_less(tmp_path):
    lines = [line for line in OWN_TEXTS.read_text().splitlines() if "group_column: group" not in line]
    (tmp_path / "defs.yaml").write_text("\n".join(lines))
    (tmp_path / "texts.csv").write_text("text\nThat is wrong.\n")
    _, dataset = loaded(load_study(tmp_path / "defs.yaml"), "texts")
    assert [example.group for example in dataset.examples] == [None]


def test_the_example_of_own_texts_is_no_study_until_it_is_copied(monkeypatch):
    monkeypatch.delenv("ZS_STUDIES", raising=False)
    names = {yaml.safe_load(path.read_text())["attributes"]["name"] for path in SHIPPED.glob("*/defs.yaml")}
    assert "choice_order" in names and "my_choice_order" not in names
