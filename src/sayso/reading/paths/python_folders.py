"""Where this Python keeps its commands and its libraries.

It is found out while this is imported, which one thread does: of two that ask `sysconfig` for the first time
at the same moment, one may get an error, and then the command line it reads counts as unreadable.
"""

from __future__ import annotations

import sysconfig

SCRIPTS = sysconfig.get_path("scripts")
LIBRARIES = sysconfig.get_path("purelib")
