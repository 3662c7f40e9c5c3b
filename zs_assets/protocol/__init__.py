"""What is fixed before inference: models of the study YAML, hashes, the question and the plan of presentations.

Nothing here reads data, calls a system or knows Dagster.
"""
