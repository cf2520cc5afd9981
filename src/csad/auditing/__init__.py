"""What a model knows of the bias, and what it gets right: arrays in, figures out."""
