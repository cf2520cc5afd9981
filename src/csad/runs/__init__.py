"""One run, from settings to metrics, in a folder from which it can resume."""
