# SPDX-License-Identifier: MIT
"""The subcommands of `ethosu`, one module each.

`cli.py` finds a module here by its docstring, which begins "`ethosu NAME`: what it does.", and
calls its three functions:

- `add_arguments(parser)` declares its options,
- `execute(args, ui)` does the work and returns a dictionary that JSON can hold,
- `render(data)` turns that dictionary into text for a person.

One with `complete(words)` gets its words before they are parsed: `ethosu bench MODEL` needs that.

Nothing but `ui` prints: `cli.py` gives it the result, a command that goes on for long may give it
something earlier.
"""
