"""Measurements: each module prints one table. Nothing here is asserted by a test."""
