"""Plots as inline SVG, without a plotting package."""
