"""Chooses debias_weight (λ) of a run on own data by its validation rows."""
