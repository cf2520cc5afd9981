"""One self-contained HTML page, and a model card, on runs: verdict, figures, plots and limits."""
