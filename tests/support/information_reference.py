"""A slow second implementation of M and of the bounds, written from the formulas alone, for the tests to compare with.

"paper" is Zhu et al., ICCV 2021, Eq. 1–9 as printed; "authors" is what the authors' published code computes.
Loops over pairs, `torch.linalg.inv`, nothing shared with `csad`. The dtype of the input is the dtype of the sums.
"""

import torch

LOG_GUARD = 1e-7


def cosine(a, b):
    """Eq. 3 and 4: aᵀb / (‖a‖ ‖b‖) of two vectors."""
    return (a * b).sum() / (a.square().sum().sqrt() * b.square().sum().sqrt())


def content(m_y, m_b):
    """Eq. 3 without α: s_c(i, j) = cosine of M_y(h_y_i) and M_b(h_b_j)."""
    return torch.stack([torch.stack([cosine(a, b) for b in m_b]) for a in m_y])


def edges(m, tau, form):
    """Eq. 4, 5: softmax over j of τ · cosine, diagonal included; the authors average it with its transpose."""
    rows = []
    for a in m:
        weight = [torch.exp(tau * cosine(a, b)) for b in m]
        total = sum(weight)
        rows.append(torch.stack([w / total for w in weight]))
    e = torch.stack(rows)
    return (e + e.T) / 2 if form == "authors" else e


def closed_walk(e, c):
    """Eq. 7 for every i at once: (1 − c)(I − cE)⁻¹."""
    return (1 - c) * torch.linalg.inv(torch.eye(len(e), dtype=e.dtype) - c * e)


def iterated_walk(e, c, i, steps):
    """Eq. 6 from r⁰ = a_i: r ← c E r + (1 − c) a_i, so the limit is COLUMN i of the closed form."""
    start = torch.zeros(len(e), dtype=e.dtype)
    start[i] = 1
    r = start.clone()
    for _ in range(steps):
        r = c * (e @ r) + (1 - c) * start
    return r


def neighbourhoods(m, tau, form, c):
    """A list of r_i, each summing to one. Paper: column i of the inverse. Authors: row i of the symmetrised inverse."""
    walk = closed_walk(edges(m, tau, form), c)
    if form == "authors":
        walk = (walk + walk.T) / 2
        r = [walk[i, :] for i in range(len(m))]
    else:
        r = [walk[:, i] for i in range(len(m))]
    return [r_i / r_i.sum() for r_i in r]


def structure(m_y, m_b, tau_y, tau_b, form, c=0.5):
    """Eq. 8, inverse symmetric cross-entropy; the authors' second term is the transpose of the printed one."""
    r_y, r_b = neighbourhoods(m_y, tau_y, form, c), neighbourhoods(m_b, tau_b, form, c)
    log_y = [torch.log(r + LOG_GUARD) for r in r_y]
    log_b = [torch.log(r + LOG_GUARD) for r in r_b]
    rows = []
    for i in range(len(m_y)):
        row = []
        for j in range(len(m_b)):
            first = (r_y[i] * log_b[j]).sum()
            second = (r_b[i] * log_y[j]).sum() if form == "authors" else (r_b[j] * log_y[i]).sum()
            row.append((first + second) / 2)
        rows.append(torch.stack(row))
    return torch.stack(rows)


def similarity(m_y, m_b, tau_y, tau_b, form, kind, c=0.5):
    """Eq. 3, 8 or 9, without α."""
    parts = {
        "content": lambda: content(m_y, m_b),
        "structure": lambda: structure(m_y, m_b, tau_y, tau_b, form, c),
        "joint": lambda: content(m_y, m_b) + structure(m_y, m_b, tau_y, tau_b, form, c),
    }
    return parts[kind]()


def split(scores, related):
    """The scores of the pairs in Ω (1) and of those outside (0), as two lists; −1 belongs to neither."""
    inside, outside = [], []
    for i in range(scores.shape[0]):
        for j in range(scores.shape[1]):
            if int(related[i, j]) == 1:
                inside.append(scores[i, j])
            elif int(related[i, j]) == 0:
                outside.append(scores[i, j])
    return inside, outside


def cs(scores, related, pairs, alpha_pos=1.0, alpha_neg=1.0):
    """I_CS. "mean": Eq. 2 with M = α·s. "sum": the authors' loss with its sign turned, each log divided by its α."""
    inside, outside = split(scores, related)
    near = sum(torch.exp(-alpha_pos * s) for s in inside)
    far = sum(torch.exp(alpha_neg * s) for s in outside)
    if pairs == "mean":
        return -torch.log(1 + near / len(inside)) - torch.log(1 + far / len(outside))
    return -torch.log(1 + near) / alpha_pos - torch.log(1 + far) / alpha_neg


def jsd(scores, related, alpha_pos=1.0, alpha_neg=1.0):
    """Eq. 1 over Ω: −E sp(−M) inside, −E sp(M) outside."""
    inside, outside = split(scores, related)
    near = sum(torch.log(1 + torch.exp(-alpha_pos * s)) for s in inside) / len(inside)
    far = sum(torch.log(1 + torch.exp(alpha_neg * s)) for s in outside) / len(outside)
    return -near - far


def mine(scores, related, alpha_pos=1.0, alpha_neg=1.0):
    """Donsker and Varadhan: the mean inside − log of the mean exponential outside (Belghazi et al., ICML 2018)."""
    inside, outside = split(scores, related)
    near = sum(alpha_pos * s for s in inside) / len(inside)
    far = torch.log(sum(torch.exp(alpha_neg * s) for s in outside) / len(outside))
    return near - far


def nce(scores, related, alpha_pos=1.0, alpha_neg=1.0):
    """InfoNCE with several partners: mean over Ω of log( e^{s_ij} / mean of e^s over j and row i's others )."""
    logs = []
    for row, marks in zip(scores, related, strict=True):
        others = [torch.exp(alpha_neg * s) for s, mark in zip(row, marks, strict=True) if int(mark) == 0]
        for s, mark in zip(row, marks, strict=True):
            if int(mark) == 1:
                own = torch.exp(alpha_pos * s)
                logs.append(torch.log(own / ((own + sum(others)) / (1 + len(others)))))
    return sum(logs) / len(logs)


def info_nce(scores):
    """InfoNCE as published (van den Oord et al., 2018), Ω the identity: mean of log( e^{s_ii} / mean_j e^{s_ij} )."""
    n = len(scores)
    return sum(scores[i, i] - torch.log(sum(torch.exp(s) for s in scores[i]) / n) for i in range(n)) / n
