"""``python -m notebooks.experiments``, from the folder of the project."""

from notebooks.experiments.command import main

if __name__ == "__main__":
    raise SystemExit(main())
