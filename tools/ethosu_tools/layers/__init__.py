# SPDX-License-Identifier: MIT
"""The cost of a model by layer: one table, shown by six commands.

table.py    cycles, traffic and MACs of each operation, and of each operator of the model by name
views.py    rows as plain data, as text and as HTML
subject.py  a model under examination: compiled if needed, estimated, compared with the reference
memory.py   the arena over time, with the writes of layers on the NPU
page.py     the page of `ethosu report`
"""
