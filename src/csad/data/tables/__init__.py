"""A user's own table, CSV or Parquet: read, its columns understood, prepared and divided."""
