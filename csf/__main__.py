"""``python -m csf``, the same as the command ``csf``."""

from csf.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
