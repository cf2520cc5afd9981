"""The data sets that csad knows by name, one file each."""
