// SPDX-License-Identifier: MIT
/**
 * NPU_CLONES: compile a function for several instruction sets and choose at load time.
 *
 * Sanitizers cannot be there when the choice is made, so their builds have one version. With
 * NPU_PLAIN there is nothing but portable C and the exact way of every operation; with
 * NPU_NO_AVX512=1 there is what a machine with AVX2 has.
 */
#ifndef NPU_CLONES_H
#define NPU_CLONES_H

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(NPU_PLAIN)
#define NPU_X86_KERNELS 1 /**< intrinsics are at hand */
#endif

#ifndef NPU_NO_AVX512
#define NPU_NO_AVX512 0
#endif

#if !defined(NPU_X86_KERNELS) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define NPU_CLONES
#elif NPU_NO_AVX512
#define NPU_CLONES __attribute__((target_clones("arch=x86-64-v3", "default"), optimize("O3")))
#else
#define NPU_CLONES \
    __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default"), optimize("O3")))
#endif

#ifdef NPU_PLAIN
#define NPU_FAST_WAYS 0
#else
#define NPU_FAST_WAYS 1 /**< of operations, in addition to the exact one */
#endif

#endif
