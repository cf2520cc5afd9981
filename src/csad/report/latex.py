"""A table of results for a paper: LaTeX in which every sign of ours is one that LaTeX knows."""

from __future__ import annotations

import re

from csad.report.tables import INTERVAL, METHOD, PAPER, ResultTable, as_rows, captions

# Each sign and what it is in a formula.
SIGNS = (
    r"α\alpha β\beta γ\gamma δ\delta ε\epsilon ζ\zeta η\eta θ\theta ι\iota κ\kappa λ\lambda μ\mu ν\nu ξ\xi π\pi ρ\rho "
    r"σ\sigma τ\tau υ\upsilon φ\phi χ\chi ψ\psi ω\omega Γ\Gamma Δ\Delta Θ\Theta Λ\Lambda Ξ\Xi Π\Pi Σ\Sigma Φ\Phi Ψ\Psi "
    r"Ω\Omega ▲\bigtriangleup ▼\bigtriangledown ±\pm −- ×\times →\to ≤\leq ≥\geq ≈\approx << >> || "
    r"↑\uparrow ↓\downarrow ⁰^{0} ¹^{1} ²^{2} ³^{3} ⁴^{4} ⁵^{5} ⁶^{6} ⁷^{7} ⁸^{8} ⁹^{9}"
)
LATEX = {
    **{pair[0]: f"${pair[1:]}$" for pair in SIGNS.split()},
    **{letter: f"\\{letter}" for letter in "&%#_{}"},
    **{letter: f"{{{letter}}}" for letter in "[*"},  # a line break just before would take these for its own
    **{"\\": r"\textbackslash{}", "$": r"\textdollar{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"},
    **{"–": r"\textendash{}", "—": r"\textemdash{}", "…": r"\ldots{}", "‘": "`", "’": "'", "“": "``", "”": "''"},
}


def as_latex(table: ResultTable) -> str:
    """A LaTeX ``table`` that needs no package but booktabs."""
    (stub, *columns), rows = as_rows(table)
    lines = [r"\toprule"]
    if stub != METHOD and columns:
        lines.append(f" & \\multicolumn{{{len(columns)}}}{{c}}{{{_latex(stub)}}} \\\\")
        lines.append(f"\\cmidrule(lr){{2-{len(columns) + 1}}}")
    lines += [" & ".join(map(_latex, [METHOD, *columns])) + r" \\", r"\midrule"]
    for place, row in enumerate(rows):
        small = "\\footnotesize " if row[0] in (PAPER, INTERVAL) else ""
        lines += [r"\addlinespace"] if place and not small else []
        lines.append(" & ".join(small + _latex(text) for text in row) + r" \\")
    parts = [
        r"% \usepackage{booktabs}; names with rare accents also need \usepackage[T1]{fontenc}",
        r"\begin{table}",
        r"  \centering",
        f"  \\caption{{{_latex(table.title)}}}",
        f"  \\begin{{tabular}}{{l{'c' * len(columns)}}}",
        *(f"    {line}" for line in [*lines, r"\bottomrule"]),
        r"  \end{tabular}",
        r"  \par\smallskip\raggedright\footnotesize",
        *(f"  {_latex(caption)}\\par" for caption in captions(table)),
        r"\end{table}",
    ]
    return "\n".join(parts) + "\n"


def _latex(text: str) -> str:
    """Text on one line in which nothing is markup and every sign is one that LaTeX knows, ``?`` if need be."""
    known = (LATEX.get(letter, letter if letter < "\u0180" else "?") for letter in " ".join(text.split()))
    # Signs side by side are one formula, digits side by side one exponent; two hyphens are no dash.
    return re.sub("-(?=-)", "-{}", "".join(known).replace("$$", "").replace("}^{", ""))
