# SPDX-License-Identifier: MIT
"""Python loads this first: the tools then see another system than Linux, which lacks what only
Linux, or only POSIX, has. Python's own modules and other packages see this one.

What Windows has in another way stays: processes, and the pipes between them. ABSENT_PACKAGES names
packages that the tools lack, too.
"""

import builtins
import importlib.metadata
import importlib.util
import os
import sys
import types

_MODULES = {"resource", "fcntl", "pty", "tty", "termios", "pwd", "grp", "syslog", "crypt"}
_NAMES = {
    "os": "fork forkpty openpty ttyname set_blocking memfd_create pidfd_open posix_fadvise pread"
    " pwrite getuid geteuid getgid fchmod fchown chown mkfifo statvfs uname sysconf setsid wait3"
    " wait4 waitid sched_getaffinity O_NONBLOCK O_NOFOLLOW O_CLOEXEC O_DIRECTORY",
    "select": "poll epoll POLLIN",
    "signal": "SIGSTOP SIGCONT SIGHUP SIGUSR1 SIGALRM setitimer pidfd_send_signal",
    "socket": "AF_UNIX AF_NETLINK SCM_RIGHTS",
    "sys": "",
    "time": "clock_gettime CLOCK_PROCESS_CPUTIME_ID tzset",
}
_import = builtins.__import__


class _Module(types.ModuleType):
    """One of Python's modules, without these names."""

    def __init__(self, real, absent):
        vars(self).update(_real=real, _absent=absent, __name__=real.__name__)

    def __getattr__(self, name):
        if name in self._absent:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r} here")
        is_platform = self._real is sys and name == "platform"
        return "darwin" if is_platform else getattr(self._real, name)

    def __setattr__(self, name, value):
        setattr(self._real, name, value)


_modules = {
    name: _Module(_import(name), frozenset(names.split())) for name, names in _NAMES.items()
}


class _Finder:
    """Finds none of these modules, for all that imports them."""

    absent = frozenset(os.environ.get("ABSENT_PACKAGES", "").split())

    def find_spec(self, name, *_):
        if name.partition(".")[0] in self.absent:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def _version(package, real=importlib.metadata.version):
    if package.replace("-", "_").replace("ethos_u_vela", "ethosu") in _Finder.absent:
        raise importlib.metadata.PackageNotFoundError(package)
    return real(package)


def _restricted(name, globals=None, *rest, **named):
    if (globals or {}).get("__name__", "").startswith("ethosu_tools") and not (rest[1:] or (0,))[0]:
        if name in _MODULES:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        if name in _modules:
            return _modules[name]
    return _import(name, globals, *rest, **named)


builtins.__import__ = _restricted
sys.meta_path.insert(0, _Finder())
importlib.metadata.version = _version
