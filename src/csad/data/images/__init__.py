"""Pictures as arrays: reading, decoding and the cache of decoded pictures."""
