# SPDX-License-Identifier: MIT
# How to build for ALIF_ENSEMBLE_E7-M55_HP and -M55_HE.

include $(ROOT)/firmware/chips/alif_ensemble/chip.mk
