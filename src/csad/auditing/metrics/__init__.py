"""Metrics of a model's predictions, overall and by group, with bootstrap intervals."""
