"""Assets: thin steps that read tables, call one function of `stats`, `collection` or `report`, write and describe.

Each module builds the assets of one stretch of the pipeline for any study; nothing is special-cased by study name.

Modules that define assets do not postpone annotations: Dagster reads the parameters' types, and refuses strings.
"""
