"""Where (x, y, b) come from: data sets by name, own arrays, and Ω, the pairs that share a bias."""
