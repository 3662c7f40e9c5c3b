"""Dagster components of this project: one, the Study."""
