# SPDX-License-Identifier: MIT
# What `make demo` shows: included by the Makefile of the root.

DEMO = $(BIN)/ethosu demo wakeword
