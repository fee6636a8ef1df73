# SPDX-License-Identifier: MIT
"""The package `ml`, to be frozen into a firmware that has the module `ethosu`."""

package("ml", opt=3)  # noqa: F821  (the manifest's own function)
