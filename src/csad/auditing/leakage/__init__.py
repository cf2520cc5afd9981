"""How much a layer of a model still tells of the bias: probes on held-out rows, with verdicts."""
