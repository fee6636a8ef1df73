# SPDX-License-Identifier: MIT
# $(call listed,FILE,WORDS[,STALE]) is FILE, which has the words. It is written when they are others
# than before, and what STALE names is removed then. What is made from a $(wildcard) depends on such
# a list, because make does not see that a file is gone. Under -n and -q, nothing is written.
asking := $(findstring n,$(firstword -$(MAKEFLAGS)))$(findstring q,$(firstword -$(MAKEFLAGS)))
listed = $(if $(asking),$(wildcard $(1)),$(call listed_written,$(1),$(2),$(3))$(1))
listed_written = $(if $(call listed_differs,$(strip $(file <$(1))),$(strip $(2)))$(call listed_new,$(1),$(strip $(2))),$(shell mkdir -p $(dir $(1)) && rm -rf $(3))$(file >$(1),$(strip $(2))))
# A file that is missing reads like one without words.
listed_new = $(if $(2)$(wildcard $(1)),,new)
# Not by words: $(filter) finds no order, and takes % for a pattern.
listed_differs = $(subst x$(1)x,,x$(2)x)$(subst x$(2)x,,x$(1)x)
