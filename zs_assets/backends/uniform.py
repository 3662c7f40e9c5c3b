"""The uniform control: 1/K for each option, so that the declared first option is predicted."""

from __future__ import annotations

from zs_assets.backends.local import LocalBackend
from zs_assets.protocol.question import Presentation


class UniformBackend(LocalBackend):
    """Knows nothing of the text: what every model has to beat."""

    def vector(self, presentation: Presentation) -> list[float]:
        size = len(self.question)
        return [1.0 / size] * size
