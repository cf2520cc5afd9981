"""Tables in memory, and how they are read: from CSV and Parquet files, and from values that Python passes."""
