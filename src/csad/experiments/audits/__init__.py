"""What an audit reads and where it is kept: any model, any labels, a run."""
