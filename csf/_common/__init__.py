"""What every room needs: compiled loops, files, names, warnings."""
