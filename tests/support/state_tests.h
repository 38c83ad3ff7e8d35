/* What tests of states begin and end with: a folder of their own, a sentence, main. Include in one source. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>

#include "support/state_fixture.h"

static char folder[FIXTURE_PATH_BYTES]; /* the same on all ranks */
static sentence why;

static inline void state_tests_begin(int *argc, char ***argv)
{
    (void)signal(SIGXFSZ, SIG_IGN); /* as in the program: the error of the call that meets the limit */
    state_before_mpi_init();
    MPI_Init(argc, argv);
    fixture_folder(folder);
}

static inline int state_tests_end(int failed)
{
    fixture_remove(folder);
    MPI_Finalize();
    return failed ? 1 : 0;
}

/* set_up: of the group, or NULL; then its tests. */
#define STATE_TESTS(set_up, ...)                                             \
    int main(int argc, char **argv)                                          \
    {                                                                        \
        const struct CMUnitTest tests[] = { __VA_ARGS__ };                   \
        state_tests_begin(&argc, &argv);                                     \
        return state_tests_end(cmocka_run_group_tests(tests, set_up, NULL)); \
    }
