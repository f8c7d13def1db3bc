"""Start the hook: `python3 -I -S hook.py AGENT EVENT FILE`.

Python compiles this file at every start, so it is short. It keeps `ask.py` compiled, and compiles it again
once its source has changed. If it is not there, or anything else goes wrong, nothing runs.
"""

import sys
from posix import _exit, write

try:
    sys.path.insert(0, __file__.rpartition("/")[0])
    from ask import run  # type: ignore[import-not-found]

    run(sys.argv[1:])
finally:
    write(2, b"Sayso: the hook failed, so nothing runs\n")
    _exit(2)
