"""Feature extractors F. Each takes the shape of one x and gives h as rows (n, features)."""
