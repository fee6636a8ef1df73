# SPDX-License-Identifier: MIT
"""Python loads this first: the tools then lack what only Linux, or only POSIX, has."""

import builtins
import os

_MODULES = {"fcntl", "resource", "pty", "tty", "termios", "pwd", "grp"}
_FUNCTIONS = (
    "fork",
    "killpg",
    "getuid",
    "openpty",
    "pidfd_open",
    "posix_fadvise",
    "set_blocking",
    "sysconf",
)
_import = builtins.__import__


def _restricted(name, globals=None, *rest, **named):
    if name in _MODULES and (globals or {}).get("__name__", "").startswith("ethosu_tools"):
        raise ImportError(f"no module {name}", name=name)
    return _import(name, globals, *rest, **named)


builtins.__import__ = _restricted
for _name in _FUNCTIONS:
    delattr(os, _name)
