// SPDX-License-Identifier: MIT
/** Runs the test named on the command line. */
#include "check.h"

struct test *tests;

int main(int argc, char **argv)
{
    for (struct test *test = tests; test != NULL && argc == 2; test = test->next) {
        if (strcmp(test->name, argv[1]) == 0) {
            test->run();
            return 0;
        }
    }
    fprintf(stderr, "there is no test %s\n", argc == 2 ? argv[1] : "(one name expected)");
    return 2;
}
