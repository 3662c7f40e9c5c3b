"""Models of a dataset's `source` in a study's YAML: where texts and gold labels come from.

A path may be a file, an http(s) URL, or hold `${NAME}` or `${NAME:-default}`, read from the environment when the
source is. What is hashed is the text in the YAML, so a study's hash does not depend on where a user keeps the file;
the content is pinned by `sha256`, and by the manifest.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, SerializerFunctionWrapHandler, model_serializer

SLUG = r"^[a-z0-9][a-z0-9_]*$"
Slug = Annotated[str, Field(pattern=SLUG)]

BTZSC_REPOSITORY = "btzsc/btzsc"
BTZSC_REVISION = "fef2a2ac62b69c58670047dddf045c53d7c3cb5e"

# The file the automation study drew from; the branch may move, the hash says if it did.
BANKING77_URL = "https://raw.githubusercontent.com/PolyAI-LDN/task-specific-datasets/master/banking_data/test.csv"
BANKING77_SHA256 = "d12d6e3bc4c3103966ae786dc435913c0c563dfa328f5a3646d0e62cfeeb474d"
# The automation study's own repository at fixed commits: label descriptions, and the 500 rows it drew from WOS-46985.
_JANUS = "https://raw.githubusercontent.com/FirasSX914/Janus"
JANUS_LABELS = f"{_JANUS}/bd4f906e3f766dd4989d4a1c0d23bd65a626efce/data"
JANUS_WOS_500 = f"{_JANUS}/9638498e5f42c3d0f47a89efbe9a512bf4ef7b72/data/wos_500.jsonl"


class Strict(BaseModel):
    """A part of a study: immutable, and closed to keys it does not know."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class LaterSettings(Strict):
    """A source that has grown: a setting of `later` that is not made leaves no trace in the dump, which is hashed.

    So a study written before the setting existed keeps its protocol_hash.
    """

    later: ClassVar[tuple[str, ...]] = ()

    @model_serializer(mode="wrap")
    def _without_later_settings_not_made(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {name: value for name, value in dump(self).items() if value is not None or name not in self.later}


class BtzscSource(Strict):
    """One configuration of BTZSC on the Hugging Face Hub, at a pinned revision."""

    kind: Literal["btzsc"] = "btzsc"
    config: Slug
    repository: str = BTZSC_REPOSITORY
    revision: str = BTZSC_REVISION


class FileSource(LaterSettings):
    """A csv, jsonl, parquet or xlsx file of the user's. `labels` maps label id -> description, in declared order."""

    later: ClassVar[tuple[str, ...]] = ("group_column",)

    kind: Literal["file"] = "file"
    path: str  # relative paths start at the study's folder
    text_column: str = "text"
    label_column: str | None = "label"  # None: texts without gold labels
    id_column: str | None = None  # None: the row number
    group_column: str | None = None  # groups of the sample that are reported apart, such as `random`; never sent
    labels: dict[str, str | None] | None = None  # inline, or
    labels_file: str | None = None  # a YAML or JSON file {instructions, labels}
    sha256: str | None = None  # checked when given


class DemoSource(LaterSettings):
    """One of the authored demonstration datasets that ship with the package, with its groups where it has any."""

    later: ClassVar[tuple[str, ...]] = ("labels",)

    kind: Literal["demo"] = "demo"
    name: Slug
    labels: Slug | None = None  # the question and options: NAME of NAME.labels.yaml; None: those named like the set


class Banking77Source(Strict):
    """The test split of Banking77 (PolyAI, CC BY 4.0), 3,080 rows of 77 labels; an example's id is its row number."""

    kind: Literal["banking77"] = "banking77"
    path: str = f"${{ZS_BANKING77:-{BANKING77_URL}}}"
    labels_file: str = f"${{ZS_AUTOMATION_LABELS:-{JANUS_LABELS}}}/banking77.labels.json"
    sha256: str | None = BANKING77_SHA256


class WosSource(Strict):
    """WOS-46985 by its (Domain, area) pairs, 145 classes named `Domain/area`.

    `path` is the archive's Meta-data sheet (xlsx; columns Domain, area, Abstract, outer white space dropped), a table
    file with those columns, or a table file with the columns text and gold_label (and id, where ids are to be kept).
    """

    kind: Literal["wos"] = "wos"
    path: str = f"${{ZS_WOS:-{JANUS_WOS_500}}}"
    labels_file: str = f"${{ZS_AUTOMATION_LABELS:-{JANUS_LABELS}}}/wos.labels.json"
    sha256: str | None = None


Source = Annotated[BtzscSource | FileSource | DemoSource | Banking77Source | WosSource, Field(discriminator="kind")]
