"""Whole runs: settings, one TOML file per task, run folders, the demonstration."""
