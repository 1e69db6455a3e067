"""The papers' protocols and tables on real data: methods, splits, statistics, figures."""
