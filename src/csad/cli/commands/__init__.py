"""The commands of ``csad``, one file each."""
