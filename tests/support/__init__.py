"""What several tests share: builders of data and files, and ways to call the command line."""
