"""What is asked: options, the question, examples and the presentations made of them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

_PLACEHOLDER = re.compile(r"label_\d+")

ALL_GROUPS = "all"
"""What tables call every sample of a dataset, whatever its group; so no group may have this name."""


@dataclass(frozen=True)
class Option:
    """One option: the id a system answers with, and the description it reads (None: the id says it all)."""

    id: str
    description: str | None

    @property
    def sentence(self) -> str:
        """What a model that has no option ids reads: the description, or the id where there is none."""
        return self.description if self.description is not None else self.id

    @property
    def is_placeholder(self) -> bool:
        """True for ids such as `label_000` that carry no meaning: local models see the description only."""
        return _PLACEHOLDER.fullmatch(self.id) is not None


@dataclass(frozen=True)
class Question:
    """Instructions and the options in their **declared** order."""

    instructions: str
    options: tuple[Option, ...]

    @cached_property
    def ids(self) -> tuple[str, ...]:
        return tuple(option.id for option in self.options)

    @cached_property
    def criteria(self) -> dict[str, str | None]:
        """Option id -> description, in declared order."""
        return {option.id: option.description for option in self.options}

    @cached_property
    def index_of(self) -> dict[str, int]:
        return {option.id: index for index, option in enumerate(self.options)}

    def __len__(self) -> int:
        return len(self.options)


@dataclass(frozen=True)
class Example:
    """One text of a dataset; `target_index` points into the declared options (None: no gold label).

    `group` names the part of the sample it belongs to, such as `random` (None: the dataset has no groups). Groups are
    reported apart and never sent.
    """

    example_id: str
    text: str
    text_sha256: str
    target_index: int | None
    group: str | None = None


@dataclass(frozen=True)
class Presentation:
    """One example in one option order at one repeat. `order[i]` is the declared index of the option sent i-th."""

    example: Example
    order: tuple[int, ...]
    order_index: int
    repeat: int

    @property
    def id(self) -> str:
        """Unique within a partition; what the journal and the attempts table are keyed by."""
        return f"{self.example.example_id}/o{self.order_index}r{self.repeat}"
