"""A user's own data: tables, pictures and series in files of their own."""
