# SPDX-License-Identifier: MIT
"""Calls for the tests of all commands."""

# Of commands that take a board, and of those that read a file.
BOARD = [("demo", "wakeword")]
READ = [["demo", "wakeword", "--wav", "BAD"]]
