"""What a report tells of runs."""
