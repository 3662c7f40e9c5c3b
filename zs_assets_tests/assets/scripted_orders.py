"""A study in shuffled rotations whose one system says what a script tells it, over several runs."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import dagster as dg
import pyarrow as pa
import pytest
import yaml

from zs_assets.assets import cells
from zs_assets.assets.follow_up_asset import follow_up_asset
from zs_assets.assets.gated_reading import GatedPartition, load_gated
from zs_assets.assets.order_assets import order_assets
from zs_assets.assets.resources import Workspace
from zs_assets.backends.base import Backend, RawReply, Reading
from zs_assets.backends.systems import SystemSpec
from zs_assets.components.catalogue import load_study
from zs_assets.components.partition_loop import PartitionLoop
from zs_assets.components.resources import study_resources
from zs_assets.protocol.analyses import Analyses, OrderSensitivityAnalysis
from zs_assets.protocol.names import AssetName, Outcome
from zs_assets.protocol.question import Presentation, Question
from zs_assets.protocol.study import Plan

ORDERS = 6
"""Three options: three rotations of one order and three of its reverse."""
LABELS = {"joy": "The text is glad.", "anger": "The text is angry.", "calm": "The text is neither."}
PLAN = {"orders": {"kind": "rotations", "seed": 3}, "repeats": 1, "shuffle_seed": 5}
CALL_USD = 0.01
# The input alone has a price, 1 USD per 1,000 tokens: each reply reports 10.
PRICE = {"input_per_million_usd": 1_000.0, "output_per_million_usd": 0.0, "since": "2026-01-01"}
SYSTEM = {"interface": "scripted", "title": "Scripted", "deployment": "hosted", "price": PRICE, "decimals": 2}


GOOD: Mapping[str, Any] = {"vector": [0.5, 0.3, 0.2], "choice": "joy"}
TIED: Mapping[str, Any] = {"vector": [0.4, 0.4, 0.2], "choice": "anger"}
MISMATCH: Mapping[str, Any] = {"vector": [0.5, 0.3, 0.2], "choice": "anger"}
LABEL_ALONE: Mapping[str, Any] = {"choice": "joy"}
REFUSAL: Mapping[str, Any] = {"outcome": "refusal"}

Answers = Callable[[str, int], Mapping[str, Any] | BaseException]
"""(presentation id, replies it had before) -> what the system says, or what is raised instead."""


class Talker(Backend):
    """Answers by a script that outlives it: a run that goes on later meets the same system."""

    def __init__(self, spec: SystemSpec, question: Question, answers: Answers, replies: Counter[str]):
        super().__init__(spec, question)
        self._answers = answers
        self._replies = replies

    async def ask(self, presentation: Presentation) -> RawReply:
        said = self._answers(presentation.id, self._replies[presentation.id])
        if isinstance(said, BaseException):
            raise said
        self._replies[presentation.id] += 1
        return RawReply(json.dumps(said))

    def read(self, reply: RawReply, presentation: Presentation) -> Reading:
        said = json.loads(reply.body)
        vector = said.get("vector")
        return Reading(
            Outcome(said.get("outcome", "ok")),
            None if vector is None else tuple(vector),
            choice=said.get("choice"),
            model=said.get("model", "scripted-1"),
            input_tokens=10,
            output_tokens=1,
        )


class ScriptedOrders:
    """A study in a folder of its own, whose system says what `answers` says at that moment."""

    def __init__(
        self,
        folder: Path,
        instance: dg.DagsterInstance,
        monkeypatch: pytest.MonkeyPatch,
        samples: int,
        concurrency: int = 1,
        plan: Mapping[str, Any] = PLAN,
    ):
        folder.mkdir(parents=True)
        with open(folder / "texts.csv", "w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([["text", "label"], *([f"Text {i}.", "joy"] for i in range(samples))])
        source = {"kind": "file", "path": "texts.csv", "labels": LABELS}
        attributes = {
            "name": "orders",
            "question": "What does the text feel?",
            "datasets": [{"name": "texts", "source": source}],
            "backends": ["talker"],
            "systems": {"talker": {**SYSTEM, "limits": {"concurrency": concurrency}}},
            "plan": dict(plan),
        }
        path = folder / "defs.yaml"
        content = {"type": "zs_assets.Study", "attributes": attributes}
        path.write_text(yaml.safe_dump(content, sort_keys=False))  # the order of the labels is part of the question
        self.graph = load_study(path)
        self.instance = instance
        self.answers: Answers = lambda name, before: GOOD
        self.replies: Counter[str] = Counter()

        def build(spec: SystemSpec, question: Question, folder: Path | None = None) -> Talker:
            return Talker(spec, question, lambda name, before: self.answers(name, before), self.replies)

        monkeypatch.setattr(cells, "build_backend", build)
        self.workspace = Workspace.from_environment()
        self.lake = self.workspace.lake
        self.loop = PartitionLoop(self.graph, instance)
        self.loop.prepare(["texts"])

    def measure(self, **options: Any) -> dg.ExecuteInProcessResult:
        keys = [self.graph.key(name) for name in (AssetName.PREDICTIONS, AssetName.ATTEMPTS)]
        return self._materialize(self.loop.assets, keys, {"ops": {"orders__collect": {"config": options}}})

    def analyse(self) -> dg.ExecuteInProcessResult:
        """The choice-order analysis, with settings as they stand by default."""
        analyses = Analyses(order_sensitivity=OrderSensitivityAnalysis(resamples=20, permutations=20))
        graph = replace(self.graph, spec=self.graph.spec.model_copy(update={"analyses": analyses}))
        return self._materialize(order_assets(graph), [], None, "texts")

    def change_plan(self, **changes: Any) -> None:
        """As if the YAML were edited after the manifest was frozen."""
        plan = Plan.model_validate({**PLAN, **changes})
        self.graph = replace(self.graph, spec=self.graph.spec.model_copy(update={"plan": plan}))

    def follow_up(self, **options: Any) -> dg.ExecuteInProcessResult:
        key = self.graph.key(AssetName.FOLLOW_UP)
        config = {"ops": {key.to_python_identifier(): {"config": options}}}
        return self._materialize([follow_up_asset(self.graph)], [key], config)

    def _materialize(
        self, assets: Any, keys: list[dg.AssetKey], config: dict[str, Any] | None = None, partition: str | None = None
    ) -> dg.ExecuteInProcessResult:
        return dg.materialize(
            assets,
            selection=keys or None,
            partition_key=partition or self.graph.cell("texts", "talker"),
            instance=self.instance,
            resources=study_resources(),
            run_config={"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}, **(config or {})},
            raise_on_error=False,
        )

    @property
    def partition(self) -> GatedPartition:
        return load_gated(self.lake, self.graph, "texts", "talker")

    @property
    def table(self) -> pa.Table:
        return self.lake.read("orders", AssetName.FOLLOW_UP, dataset="texts", backend="talker")

    def journal(self, number: int) -> Path:
        return self.workspace.places.follow_up_journal("orders", "texts", "talker", number)
