"""A run as a file of another program: the target branch alone."""
