"""What was found, for people and for other programs: plots, reports, and winners as rules."""
