// SPDX-License-Identifier: MIT
/**
 * NPU_CLONES: compile a function for several instruction sets and choose at load time.
 *
 * Sanitizer runtimes are not yet available when that choice is made, so sanitizer builds have one
 * version. NPU_PLAIN selects portable C and the exact path of every operation; NPU_PORTABLE only
 * portable C, as on a machine other than x86-64 and AArch64; NPU_NO_AVX512=1 limits the build to
 * AVX2.
 */
#ifndef NPU_CLONES_H
#define NPU_CLONES_H

#if defined(__GNUC__) && !defined(NPU_PLAIN) && !defined(NPU_PORTABLE)
#if defined(__x86_64__) && !defined(__clang__)
#define NPU_X86_KERNELS 1 /**< intrinsics are available */
#elif defined(__aarch64__)
#define NPU_NEON_KERNELS 1 /**< the same; every AArch64 has them */
#endif
#endif

#ifndef NPU_NO_AVX512
#define NPU_NO_AVX512 0
#endif

#ifdef __clang__
#define NPU_O3
#else
#define NPU_O3 __attribute__((optimize("O3")))
#endif

#ifdef NPU_NEON_KERNELS
#define NPU_CLONES NPU_O3
#elif !defined(NPU_X86_KERNELS) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define NPU_CLONES
#elif NPU_NO_AVX512
#define NPU_CLONES __attribute__((optimize("O3"), target_clones("arch=x86-64-v3", "default")))
#else
#define NPU_CLONES \
    __attribute__((optimize("O3"), target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#endif

#ifdef NPU_PLAIN
#define NPU_FAST_WAYS 0
#else
#define NPU_FAST_WAYS 1 /**< fast paths in addition to the exact one */
#endif

/** For functions of intrinsics. GCC 13 and 14 forget a target that stands before optimize(). */
#define FOR_TARGET(NAMES) __attribute__((optimize("O3"), target(NAMES)))
#define AVX2 FOR_TARGET("avx2")
#define AVX512 FOR_TARGET("avx512f,avx512bw,avx512vl,avx512vnni")
#define NEON NPU_O3

#if defined(NPU_X86_KERNELS) || defined(NPU_NEON_KERNELS)
#define INLINE __attribute__((always_inline)) static inline

/** Unrolled early, so that arrays of vectors become registers. */
#define EACH_PIXEL(PIXELS) _Pragma("GCC unroll 16") for (int p = 0; p < (PIXELS); p++)
#endif

#endif
