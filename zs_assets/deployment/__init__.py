"""Past one machine: the folder a deployment starts from, and the routing of its runs to queues.

Nothing here runs a study. Dagster's run launchers distribute whole runs, one partition each; this package writes their
configuration and says which kind of machine a run needs.
"""
