# SPDX-License-Identifier: MIT
"""What the tests of all parts share: images, builds, packages, and what is missing."""
