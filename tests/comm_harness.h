/* For tests of comm/ under MPI: one topology, and a body that runs once for every way of moving data that this machine
 * has: host, a stand-in for a GPU (staged and aware), CUDA staged, CUDA aware (where the probe says yes). A way that is missing is skipped with the reason.
 * Ranks count their mismatches and agree on the sum before they assert, so that no rank leaves another in an MPI call. */
#ifndef COMM_HARNESS_H
#define COMM_HARNESS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "check.h"
#include "deferred_device.h"
#include "halo.h"
#include "topology.h"

static topology harness;
static char harness_exe[4096];

static inline long harness_sum(long mine)
{
    long all = 0;
    MPI_CHECK(MPI_Allreduce(&mine, &all, 1, MPI_LONG, MPI_SUM, harness.comm));
    return all;
}

static inline bool harness_cuda_missing(const char **why)
{
    int mine = device_cuda_count(why), least;
    MPI_CHECK(MPI_Allreduce(&mine, &least, 1, MPI_INT, MPI_MIN, harness.comm));
    return least == 0;
}

typedef void harness_body(device *d, halo_transport t);

static inline void harness_on_host(harness_body *body)
{
    device *d = device_host_create(1);
    body(d, HALO_STAGED);
    device_destroy(&d);
}

static inline void harness_deferred(harness_body *body, halo_transport t)
{
    device *d = deferred_device_create((unsigned)harness.rank);
    body(d, t);
    device_destroy(&d);
}

static inline void harness_on_cuda(harness_body *body, halo_transport t)
{
    const char *no_cuda = "";
    char why[512] = "", notes[512] = "";
    if (harness_cuda_missing(&no_cuda)) {
        print_message("skipped: no GPU on some rank: %s\n", no_cuda ? no_cuda : "");
        skip();
    }
    device *d = topology_device(&harness, TOPOLOGY_CUDA, 1, why, sizeof why, notes, sizeof notes);
    if (!d) fail_msg("%s", why);
    if (t == HALO_AWARE && !topology_probe_aware(&harness, d, harness_exe, why, sizeof why)) {
        print_message("skipped: MPI does not take device buffers: %s\n", why);
        device_destroy(&d);
        skip();
    }
    body(d, t);
    device_destroy(&d);
}

static inline void harness_store(const field_shape *f, void *field, int64_t x, int64_t y, double v)
{
    void *at = field_at(f, field, x, y);
    if (f->type == DTYPE_F32)
        *(float *)at = (float)v;
    else
        *(double *)at = v;
}

/* A test's main. The program is its own probe child, like weft. */
static inline int harness_main(int argc, char **argv, int (*run)(void))
{
    int level;
    if (argc == 2 && strcmp(argv[1], TOPOLOGY_PROBE_ARGUMENT) == 0) return topology_probe_child();
    const ssize_t length = readlink("/proc/self/exe", harness_exe, sizeof harness_exe - 1);
    if (length < 0) return 1;
    MPI_CHECK(MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level));
    topology_create(&harness);
    if (harness.rank != 0 && !freopen("/dev/null", "w", stdout)) return 1;
    const int failed = run();
    topology_destroy(&harness);
    MPI_CHECK(MPI_Finalize());
    return failed ? 1 : 0;
}

/* ... and for a body that every way of moving data has to pass: a test a way. */
static harness_body *harness_every_body;
static inline void harness_host_test(void **state) { (void)state, harness_on_host(harness_every_body); }
static inline void harness_deferred_staged_test(void **state) { (void)state, harness_deferred(harness_every_body, HALO_STAGED); }
static inline void harness_deferred_aware_test(void **state) { (void)state, harness_deferred(harness_every_body, HALO_AWARE); }
static inline void harness_cuda_staged_test(void **state) { (void)state, harness_on_cuda(harness_every_body, HALO_STAGED); }
static inline void harness_cuda_aware_test(void **state) { (void)state, harness_on_cuda(harness_every_body, HALO_AWARE); }

static inline int harness_run_every_way(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(harness_host_test),        cmocka_unit_test(harness_deferred_staged_test),
        cmocka_unit_test(harness_deferred_aware_test), cmocka_unit_test(harness_cuda_staged_test),
        cmocka_unit_test(harness_cuda_aware_test),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

static inline int harness_main_every_way(int argc, char **argv, harness_body *body)
{
    harness_every_body = body;
    return harness_main(argc, argv, harness_run_every_way);
}

#endif
