"""Everything static is in pyproject.toml; here is only the copy of `data/demo` into the built package."""

from __future__ import annotations

from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

DEMO = Path("data/demo")
IN_PACKAGE = Path("zs_assets/sources/demo_data")


class BuildWithDemoData(build_py):
    """The demo sets are authored at the top level, where people look for data, and ship inside the wheel.

    An editable install copies nothing: it reads `data/demo` itself.
    """

    def run(self) -> None:
        super().run()
        if not self.editable_mode:
            for source, target in self._demo_files():
                self.mkpath(str(target.parent))
                self.copy_file(str(source), str(target))

    def get_outputs(self, include_bytecode: bool = True) -> list[str]:
        copied = [] if self.editable_mode else [str(target) for _, target in self._demo_files()]
        return super().get_outputs(include_bytecode) + copied

    def get_source_files(self) -> list[str]:
        """Also what the source distribution takes along: a wheel can be built from it."""
        return super().get_source_files() + [str(source) for source, _ in self._demo_files()]

    def _demo_files(self) -> list[tuple[Path, Path]]:
        sources = sorted([*DEMO.glob("*.csv"), *DEMO.glob("*.labels.yaml")])
        if not sources:
            raise FileNotFoundError(f"{DEMO} holds no demo sets: build from a full checkout.")
        return [(source, Path(self.build_lib) / IN_PACKAGE / source.name) for source in sources]


setup(cmdclass={"build_py": BuildWithDemoData})
