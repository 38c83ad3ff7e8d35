/* The last words of a rank: one line in one write, so that the lines of several failing ranks do not mix.
 * MPI_Abort is only legal between MPI_Init and MPI_Finalize; outside it the process leaves by itself. */
#include "ranks/check.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ranks/printable.h"

/* Writes what gcov counted, in a build that counts (COVERAGE=1): only exit() does so by itself. */
#ifdef WEFT_COVERAGE
#include <gcov.h>
static void put_counts(void) { __gcov_dump(); }
#else
static void put_counts(void) { }
#endif

static void (*put_more)(char *out, size_t bytes);

void check_add(void (*put)(char *out, size_t bytes)) { put_more = put; }

static int world_rank(void)
{
    int initialized = 0, finalized = 0, rank = -1;
    MPI_Initialized(&initialized);
    MPI_Finalized(&finalized);
    if (!initialized || finalized) return -1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
}

static _Noreturn void end_job(const char *text)
{
    char more[512] = "", who[32] = "", message[2560], said[2560];
    check_guard(NULL);
    if (put_more) put_more(more, sizeof more);
    const int rank = world_rank();
    if (rank >= 0) (void)snprintf(who, sizeof who, "rank %d ", rank);
    (void)snprintf(message, sizeof message, "weft: %son %s: %s%s", who, printable_host(), text, more);
    (void)fflush(stdout);
    const size_t bytes = strlen(printable(said, sizeof said - 1, message));
    said[bytes] = '\n';
    (void)!write(STDERR_FILENO, said, bytes + 1); /* stdio may write 128 bytes at a time */
    put_counts();
    if (rank >= 0) MPI_Abort(MPI_COMM_WORLD, CHECK_EXIT_ENVIRONMENT);
    _exit(CHECK_EXIT_ENVIRONMENT);
}

void check_fail(const char *file, int line, const char *call, const char *text)
{
    char all[2048];
    (void)snprintf(all, sizeof all, "%s:%d: %s: %s", file, line, call, text);
    end_job(all);
}

/* ---- who ends the process ---- */

static _Atomic(const char *) guarded; /* what runs; NULL: the process may end */
static pid_t guarded_process;         /* a child that a library forks may end as it likes */

static void end_guarded(const char *call)
{
    char text[256];
    const char *const place = getpid() == guarded_process ? atomic_exchange(&guarded, NULL) : NULL;
    if (!place) return;
    (void)snprintf(text, sizeof text, "a library called %s in %s", call, place);
    end_job(text);
}

static void by_exit(void) { end_guarded("exit"); }
static void by_quick_exit(void) { end_guarded("quick_exit"); }

void check_guard(const char *place)
{
    static bool registered;
    if (WEFT_SIM) return; /* simulated ranks share a process */
    atomic_store(&guarded, place);
    if (!place || registered) return;
    registered = true;
    guarded_process = getpid();
    (void)atexit(by_exit);
    (void)at_quick_exit(by_quick_exit);
}

_Noreturn void check_leave(int status)
{
    check_guard(NULL);
    _exit(status);
}

/* In place of the C library's, also for libraries: MPI_Init that fails ends so. */
void _exit(int status)
{
    end_guarded("_exit");
    put_counts();
    for (;;) (void)syscall(SYS_exit_group, status);
}

void _Exit(int status) { _exit(status); }

void *check_alloc(const char *file, int line, const char *call, void *p)
{
    if (!p) check_fail(file, line, call, "out of memory");
    return p;
}

void check_fail_mpi(const char *file, int line, const char *call, int code)
{
    char text[MPI_MAX_ERROR_STRING] = "no text for this error code";
    int length = 0;
    if (MPI_Error_string(code, text, &length) != MPI_SUCCESS)
        (void)snprintf(text, sizeof text, "MPI error %d", code);
    for (char *c = text; *c; c++)
        if (*c == '\n') *c = ' ';
    check_fail(file, line, call, text);
}
