// SPDX-License-Identifier: MIT
/** Runs the tests named on the command line; several of them in a process each. */
#include "check.h"

#include <sys/wait.h>
#include <unistd.h>

struct test *tests;

static int run(const char *name)
{
    for (struct test *test = tests; test != NULL; test = test->next) {
        if (strcmp(test->name, name) == 0) {
            test->run();
            return 0;
        }
    }
    fprintf(stderr, "there is no test %s\n", name);
    return 2;
}

static int run_apart(const char *name)
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        exit(run(name));
    }
    int status = 1;
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
        fprintf(stderr, "%s failed with status 0x%x\n", name, (unsigned)status);
        return 1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 2) {
        return run(argv[1]);
    }
    int failed = argc < 2;
    for (int i = 1; i < argc; ++i) {
        failed |= run_apart(argv[i]);
    }
    return failed;
}
