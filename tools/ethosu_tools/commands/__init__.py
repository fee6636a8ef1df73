# SPDX-License-Identifier: MIT
"""The subcommands of `ethosu`, one module each.

A module here offers three functions; `cli.py` lists it and calls them:

- `add_arguments(parser)` declares its options,
- `execute(args, ui)` does the work and returns a dictionary that JSON can hold,
- `render(data)` turns that dictionary into text for a person.

Nothing but `ui` prints: `cli.py` gives it the result, a command that goes on for long may give it
something earlier.
"""
