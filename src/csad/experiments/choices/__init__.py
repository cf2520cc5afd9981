"""λ chosen on validation rows by a named rule."""
