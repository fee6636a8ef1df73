# SPDX-License-Identifier: MIT
"""Before boot.py: mount the RAM disk, formatted if need be; modules may lie in /lib too."""

import sys

import machine
import vfs


def _mount():
    disk = machine.RAMDisk()
    sizes = {"readsize": 256, "progsize": 256, "lookahead": 256}
    try:
        vfs.mount(vfs.VfsLfs2(disk, **sizes), "/")
    except OSError:
        vfs.VfsLfs2.mkfs(disk, **sizes)
        vfs.mount(vfs.VfsLfs2(disk, **sizes), "/")


_mount()
sys.path.append("/lib")  # where mpremote mip installs to
