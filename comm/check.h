/* The environment's failures: a CUDA, MPI, HDF5 or file call that should have worked. check_fail names rank, host, file,
 * line and the library's own words on stderr, then ends the whole job with exit status 3. The user's mistakes do not
 * come here (one sentence on rank 0, exit 2), the programmer's are asserts. */
#ifndef CHECK_H
#define CHECK_H

#include <mpi.h>

#include "device.h"

enum { CHECK_EXIT_FAILED = 1, CHECK_EXIT_USAGE = 2, CHECK_EXIT_ENVIRONMENT = 3, CHECK_EXIT_REQUEUE = 75 };

_Noreturn void check_fail(const char *file, int line, const char *call, const char *text);
_Noreturn void check_fail_mpi(const char *file, int line, const char *call, int code);

#define MPI_CHECK(call)                                                                \
    do {                                                                               \
        const int check_code_ = (call);                                                \
        if (check_code_ != MPI_SUCCESS) check_fail_mpi(__FILE__, __LINE__, #call, check_code_); \
    } while (0)

/* call is an expression of device functions that returns 0 or a code of device d */
#define DEVICE_CHECK(d, call)                                                          \
    do {                                                                               \
        const int check_code_ = (call);                                                \
        if (check_code_ != 0) check_fail(__FILE__, __LINE__, #call, (d)->error_text(check_code_)); \
    } while (0)

#define HDF5_CHECK(call)                                                               \
    do {                                                                               \
        if ((call) < 0) check_fail(__FILE__, __LINE__, #call, "HDF5 call failed");     \
    } while (0)

#endif
