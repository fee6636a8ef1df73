# SPDX-License-Identifier: MIT
# How to build for OPENMV_AE3-M55_HP and -M55_HE.

include $(ROOT)/firmware/chips/alif_ensemble/chip.mk
