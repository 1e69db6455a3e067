"""Learners beside the search of class costs: for streams, for structural losses, and by Fenchel duals."""
