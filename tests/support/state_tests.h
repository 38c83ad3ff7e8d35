/* What tests of states begin and end with: a folder of their own, a sentence, main. Include in one source. */
#pragma once

#include <signal.h>

#include "support/state_fixture.h"
#include "support/unit.h"

static char folder[FIXTURE_PATH_BYTES]; /* the same on all ranks */
static sentence why;

/* set_up: of the group, or NULL; then its tests. SIGXFSZ as in the program: the error of the call that meets
 * the limit. */
#define STATE_TESTS(set_up, ...)                                              \
    int main(int argc, char **argv)                                           \
    {                                                                         \
        const struct CMUnitTest tests[] = { __VA_ARGS__ };                    \
        (void)signal(SIGXFSZ, SIG_IGN);                                       \
        state_before_mpi_init();                                              \
        MPI_Init(&argc, &argv);                                               \
        fixture_folder(folder);                                               \
        const int failed = cmocka_run_group_tests(tests, set_up, NULL);       \
        fixture_remove(folder);                                               \
        MPI_Finalize();                                                       \
        return failed ? 1 : 0;                                                \
    }
