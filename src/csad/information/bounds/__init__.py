"""Lower bounds on mutual information: how far the scores of related pairs stand apart from those of other pairs.

Each takes scores (N, N), Ω (N, N) as a mask (bool, or 1 / 0 / −1 for related / not / in no pair), and α as
``scale=(related, others)``, 1 each unless given.
"""
