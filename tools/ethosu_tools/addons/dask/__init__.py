# SPDX-License-Identifier: MIT
"""Runs the samples of `ethosu validate` on a Dask cluster, for data sets that outgrow a machine."""

OFFERS = {"cluster": {"scheduler": "cluster"}}
