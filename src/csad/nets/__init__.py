"""F, D and P: the parts of the network, by letter, from plain sizes."""
