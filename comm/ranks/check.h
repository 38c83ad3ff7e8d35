/* The environment's failures: a CUDA or MPI call or an allocation that should have worked. check_fail names
 * rank, host, file, line and the library's own words on stderr, then ends the whole job with exit status 3.
 * Refusals of files and of HDF5 do not come here (a state_status, on which all ranks agree), nor do the
 * user's mistakes (one sentence on rank 0, exit 2); the programmer's are asserts. */
#pragma once

#include <mpi.h>
#include <stdlib.h>

#include "device/device.h"

/* docs/contract.md, "Exit status" */
enum {
    CHECK_EXIT_FAILED = 1,
    CHECK_EXIT_USAGE = 2,
    CHECK_EXIT_ENVIRONMENT = 3,
    CHECK_EXIT_NOT_JUDGED = 4,
    CHECK_EXIT_REQUEUE = 75
};

_Noreturn void check_fail(const char *file, int line, const char *call, const char *text);
/* From here on check_fail's line ends with what this puts: a clause that begins with "; ", or nothing. The
 * thread that failed calls it, whatever locks others hold, so it takes none. */
void check_add(void (*put)(char *out, size_t bytes));
/* From here on a library that ends the process does not end it with a status of its own: as after check_fail
 * the job ends with 3, and the line names `place`, what runs. NULL: no longer. */
void check_guard(const char *place);
/* _exit, also from a signal handler. */
_Noreturn void check_leave(int status);
_Noreturn void check_fail_mpi(const char *file, int line, const char *call, int code);

/* The pointer that an allocation returned: not NULL, or the job ends. */
#define CHECK_ALLOC(call) check_alloc(__FILE__, __LINE__, #call, call)
void *check_alloc(const char *file, int line, const char *call, void *p);
/* Zeroed memory for `count` things of a size; also for none it is not NULL. */
#define CHECK_CALLOC(count, each_bytes) CHECK_ALLOC(calloc((size_t)(count) + ((count) == 0), each_bytes))

#define MPI_CHECK(call)                                                                \
    do {                                                                               \
        const int check_code_ = (call);                                                \
        if (check_code_ != MPI_SUCCESS) check_fail_mpi(__FILE__, __LINE__, #call, check_code_); \
    } while (0)

/* call is an expression of device functions that returns 0 or a code of device d */
#define DEVICE_CHECK(d, call) DEVICE_CHECK_AS(d, call, #call)
/* d->f(d, ...), and ends the job if it fails */
#define DEVICE_CALL(d, f, ...) \
    DEVICE_CHECK_AS(d, (d)->f(d, __VA_ARGS__), #d "->" #f "(" #d ", " #__VA_ARGS__ ")")
#define DEVICE_CHECK_AS(d, call, text)                                                 \
    do {                                                                               \
        const int check_code_ = (call);                                                \
        if (check_code_ != 0) check_fail(__FILE__, __LINE__, text, (d)->error_text(check_code_)); \
    } while (0)
