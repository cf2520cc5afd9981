"""The data sets by name: a new file here is all it takes to add one."""
