# SPDX-License-Identifier: MIT
"""Helper processes end, whatever happened before."""

import signal
import subprocess
import sys

from ethosu_tools.base import helper_process


def test_a_ctrl_c_inside_poll_does_not_keep_a_process_from_being_waited_for():
    """A process is waited for after a Ctrl-C in poll(), which leaves Popen's lock taken."""
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    assert process._waitpid_lock.acquire(blocking=False)
    helper_process.end(process)
    assert process.returncode == -signal.SIGKILL
