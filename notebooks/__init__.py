"""Notebooks, guide and results of csf; what makes the tables is `notebooks.experiments`."""
