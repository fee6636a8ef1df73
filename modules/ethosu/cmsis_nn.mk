# SPDX-License-Identifier: MIT
# CMSIS-NN from the tree that CMSIS_NN_DIR names, for operators with weights: what is compiled of
# it, and how. runtime/kernels/README.md says which operators, and which versions were tried.

ifneq ($(CMSIS_NN_DIR),)
ifeq ($(wildcard $(CMSIS_NN_DIR)/Include/arm_nnfunctions.h),)
$(error CMSIS_NN_DIR: $(CMSIS_NN_DIR) has no Include/arm_nnfunctions.h: it is not a CMSIS-NN tree)
endif
CMSIS_NN_FOLDERS := ConvolutionFunctions FullyConnectedFunctions NNSupportFunctions TransposeFunctions
CMSIS_NN_ALL := $(sort $(foreach folder,$(CMSIS_NN_FOLDERS), \
	$(wildcard $(CMSIS_NN_DIR)/Source/$(folder)/*.c)))
# Relative to its Source/; LSTM and float operators aside.
CMSIS_NN_SRC := $(patsubst $(CMSIS_NN_DIR)/Source/%,%, \
	$(filter-out %_f16.c %_f32.c %_flt.c,$(foreach source,$(CMSIS_NN_ALL), \
		$(if $(findstring _lstm_,$(notdir $(source))),,$(source)))))
CMSIS_NN_USE := -DETHOSU_CMSIS_NN -isystem $(CMSIS_NN_DIR)/Include
# It shifts negative numbers, and sums that wrap around. Its authors can fix its warnings.
CMSIS_NN_CFLAGS := -I$(CMSIS_NN_DIR)/Include -O3 -fwrapv -w
endif
