"""The one reader and writer of tables: CSV, JSON lines, Parquet, LETOR, TREC."""
