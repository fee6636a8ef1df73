# SPDX-License-Identifier: MIT
"""Verdicts on any model file: which boards run it, how exactly, and why others refuse it.

messages.py  what other runtimes print, with cause and remedy; `ethosu decode` uses it, too
subject.py   facts of the file that decide
runtimes.py  other runtimes: their limits, each with its source
rules.py     the rules that apply the limits; the web page runs them, too
on_boards.py this project's boards: compile, load, run, compare, estimate
answer.py    the answer in words, for the commands
"""
