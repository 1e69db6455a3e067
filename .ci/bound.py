"""Run a command that file permissions bind, even where root runs it: `python bound.py COMMAND ...`."""

import ctypes
import os
import sys

if os.geteuid() == 0:
    ctypes.CDLL(None).prctl(28, 1, 0, 0, 0)  # PR_SET_SECUREBITS, SECBIT_NOROOT: no capabilities after exec
os.execvp(sys.argv[1], sys.argv[1:])
