// SPDX-License-Identifier: MIT
/**
 * A minimal test framework: TEST(name) { CHECK(...); }. The program runs the tests named on its
 * command line; pytest finds the names in the source.
 */
#ifndef CHECK_H
#define CHECK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct test {
    const char *name;
    void (*run)(void);
    struct test *next;
};

extern struct test *tests;

#define TEST(name)                                                 \
    static void test_##name(void);                                 \
    __attribute__((constructor)) static void register_##name(void) \
    {                                                              \
        static struct test entry = {#name, test_##name, NULL};     \
        entry.next = tests;                                        \
        tests = &entry;                                            \
    }                                                              \
    static void test_##name(void)

#define CHECK(condition)                                                    \
    do {                                                                    \
        if (!(condition)) {                                                 \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
            exit(1);                                                        \
        }                                                                   \
    } while (0)

#define CHECK_EQ(found, expected)                                                             \
    do {                                                                                      \
        long long found_ = (long long)(found), expected_ = (long long)(expected);             \
        if (found_ != expected_) {                                                            \
            fprintf(stderr, "%s:%d: %s is %lld, expected %lld\n", __FILE__, __LINE__, #found, \
                    found_, expected_);                                                       \
            exit(1);                                                                          \
        }                                                                                     \
    } while (0)

#define CHECK_TEXT(found, part)                                                               \
    do {                                                                                      \
        if (strstr(found, part) == NULL) {                                                    \
            fprintf(stderr, "%s:%d: \"%s\" lacks \"%s\"\n", __FILE__, __LINE__, found, part); \
            exit(1);                                                                          \
        }                                                                                     \
    } while (0)

#endif
