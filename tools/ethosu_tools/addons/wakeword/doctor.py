# SPDX-License-Identifier: MIT
"""What `ethosu doctor` looks for."""

PACKAGES = (("pymicro-wakeword", "demo", "ethosu demo"),)
PROGRAMS = (("espeak-ng", "espeak-ng", "ethosu demo"), ("sox", "sox", "ethosu demo"))
