# SPDX-License-Identifier: MIT
"""The subcommands of `ethosu`, one module each.

`cli.py` finds a module here by its docstring, which starts with "`ethosu NAME`: summary.", and
calls its three functions:

- `add_arguments(parser)` declares its options,
- `execute(args, ui)` does the work and returns a dictionary that JSON can represent,
- `render(data)` formats that dictionary as text.

An optional EPILOG is shown below the options by --help.

Only `ui` prints. `cli.py` passes the result to it; a long-running command may pass something
earlier.
"""
