"""Past one machine: the folder a deployment starts from, and the routing of its runs to queues.

Nothing here runs a study. Dagster's run launchers distribute whole runs, one partition each; this package writes their
configuration and says which kind of machine a run needs.
"""

from __future__ import annotations

from zs_assets.deployment.folder import Deployment, Engine, WrittenFile, write_deployment

__all__ = ["Deployment", "Engine", "WrittenFile", "write_deployment"]
