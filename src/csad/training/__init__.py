"""Runs a schedule: one mini-batch through all updates, stages, epochs, log, checkpoints."""
