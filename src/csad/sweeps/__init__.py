"""Many runs as few programs: several methods, seeds or settings trained at once."""
