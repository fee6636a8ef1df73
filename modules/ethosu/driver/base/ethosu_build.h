// SPDX-License-Identifier: MIT
/**
 * Build options. All are on by default; a makefile may set each of them to 0 with -D.
 * They determine the tables in ethosu_products.c and ethosu_verify_products.c, the only references
 * to products and the verifier, so that the linker drops everything the tables do not refer to.
 */
#ifndef ETHOSU_BUILD_H
#define ETHOSU_BUILD_H

/** The verifier. Without it ethosu_ext_prepare() needs ETHOSU_EXT_NO_VERIFY. */
#ifndef ETHOSU_VERIFY
#define ETHOSU_VERIFY 1
#endif

/**
 * 1: ethosu_invoke_*() does not verify streams until ethosu_ext_set_verify(drv, true). For
 * firmware that runs only its own models and whose client can't call that function.
 */
#ifndef ETHOSU_TRUST_STREAMS
#define ETHOSU_TRUST_STREAMS 0
#endif

/**
 * 1: the payloads of ethosu_invoke_*() never change while the program runs, unless it calls
 * ethosu_ext_forget() then. For a client that can't call ethosu_ext_set_constant_payloads().
 */
#ifndef ETHOSU_CONSTANT_PAYLOADS
#define ETHOSU_CONSTANT_PAYLOADS 0
#endif

/** Payloads with Vela's option --cop-format COP2; COP1 is its default. */
#ifndef ETHOSU_COP2
#define ETHOSU_COP2 1
#endif

/** Performance counters. Without them a build leaves out ethosu_pmu.c and ethosu_pmu_ops.c. */
#ifndef ETHOSU_PMU
#define ETHOSU_PMU 1
#endif

/** Support for each family of NPUs. */
#ifndef ETHOSU_U55
#define ETHOSU_U55 1
#endif
#ifndef ETHOSU_U65
#define ETHOSU_U65 1
#endif
#ifndef ETHOSU_U85
#define ETHOSU_U85 1
#endif

/** A function that most inferences do not call: compiled for size, and apart from those that do. */
#define RARE __attribute__((noinline, cold))

/** Is this file compiled for size (-Os)? Then it leaves out shorter ways for the usual case. */
#ifdef __OPTIMIZE_SIZE__
#define ETHOSU_FOR_SIZE 1
#else
#define ETHOSU_FOR_SIZE 0
#endif

#if !(ETHOSU_U55 || ETHOSU_U65 || ETHOSU_U85)
#error "This build supports no NPU: set ETHOSU_U55, ETHOSU_U65 or ETHOSU_U85 to 1"
#endif

#endif
