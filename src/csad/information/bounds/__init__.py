"""Lower bounds on mutual information: how much higher the scores of related pairs are than those of other pairs.

Each takes scores (N, N), Ω (N, N) as a mask (bool, or 1 / 0 / −1 for related / not / in no pair), and α as
``scale=(related, others)``, by default 1 each.
"""
