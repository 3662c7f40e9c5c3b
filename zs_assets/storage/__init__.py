"""Where tables live: Arrow schemas, the Parquet lake with its IO manager, and the DuckDB warehouse."""
