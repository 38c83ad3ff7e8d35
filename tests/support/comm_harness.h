/* For tests of comm/ under MPI: one topology, and a body that runs once for every way of moving data that
 * this machine has: CUDA with each transport where all ranks see a GPU, else host (staged, peer) and a
 * stand-in for a GPU (staged, aware, mapped). A way that is missing is skipped with the reason. Ranks count
 * their mismatches and agree on the sum before they assert: no rank leaves another in an MPI call. */
#pragma once

#include <dirent.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "exchange/halo.h"
#include "ranks/check.h"
#include "support/deferred_device.h"
#include "support/file_memory.h"
#include "support/host_field.h"
#include "topology/topology.h"

static topology harness;
static char harness_exe[4096];

static inline long harness_sum(long mine)
{
    long all = 0;
    MPI_CHECK(MPI_Allreduce(&mine, &all, 1, MPI_LONG, MPI_SUM, harness.comm));
    return all;
}

/* That this process holds open. */
static inline int harness_descriptors(void)
{
    DIR *const fds = opendir("/proc/self/fd");
    int count = 0;
    while (fds && readdir(fds)) count++;
    (void)closedir(fds);
    return count;
}

static inline bool harness_cuda_missing(const char **why)
{
    int mine = device_cuda_count(why), least;
    MPI_CHECK(MPI_Allreduce(&mine, &least, 1, MPI_INT, MPI_MIN, harness.comm));
    return least == 0;
}

typedef void harness_body(device *d, transport_kind t);

static inline void harness_on_host(harness_body *body)
{
    device *d = device_host_create(1);
    body(d, TRANSPORT_STAGED);
    device_destroy(&d);
}

/* Does a halo take this transport here? Collective; if not, why gets the reason. */
static inline bool harness_has(device *d, transport_kind t, sentence *why)
{
    const transport_choice choice = transport_choice_of_all(t);
    decomp dec = { .nx = 4 * harness.ranks, .ny = 1, .rank = harness.rank };
    if (t == TRANSPORT_AWARE) return topology_probe_aware(&harness, d, harness_exe, why);
    if (!decomp_make(&dec, harness.ranks, 1, why)) return false;
    const field_shape f = field_shape_make(DTYPE_F32, box_width(dec.own), 1, 1, 0);
    halo *h = halo_create(&dec, d, &f, 1, false, &choice, harness.comm);
    sentence_set(why, "%s", halo_refused(h));
    halo_destroy(&h);
    return why->text[0] == '\0';
}

static inline void harness_on_cuda(harness_body *body, transport_kind t)
{
    const char *no_cuda = "";
    sentence why = { "" }, notes = { "" };
    if (harness_cuda_missing(&no_cuda)) {
        print_message("skipped: no GPU on some rank: %s\n", no_cuda ? no_cuda : "");
        skip();
    }
    device *d = topology_device(&harness, TOPOLOGY_CUDA, 1, &why, &notes);
    if (!d) fail_msg("%s", why.text);
    if (!harness_has(d, t, &why)) {
        print_message("skipped: %s\n", why.text);
        device_destroy(&d);
        skip();
    }
    body(d, t);
    device_destroy(&d);
}

/* The peer exchange on the host device, each message in one part. What does not come ends the process. */
static inline int host_peer_exchange(device *d, const field_shape *f, void *field, const device_link *links,
                                     int count, device_stream *s)
{
    for (int i = 0; i < count; i++) {
        const device_link *l = &links[i];
        d->pack(d, f, field, l->there[*l->done % 2], &(pack_piece){ l->send, 0 }, 1, s);
        atomic_store((_Atomic uint64_t *)l->flag_there, *l->done + 1);
    }
    (void)alarm(100);
    for (int i = 0; i < count; i++) {
        const device_link *l = &links[i];
        while (atomic_load((const _Atomic uint64_t *)l->flag_here) <= *l->done) sched_yield();
        d->unpack(d, f, field, l->here[*l->done % 2], &(pack_piece){ l->receive, 0 }, 1, UNPACK_STORE, s);
        ++*l->done;
    }
    (void)alarm(0);
    return 0;
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
typedef struct harness_way {
    const char *name;
    enum { HARNESS_HOST, HARNESS_SHARED, HARNESS_DEFERRED, HARNESS_CUDA } on;
    transport_kind t;
} harness_way;

static harness_body *harness_every_body;
static inline void harness_way_test(void **state)
{
    const harness_way *w = *state;
    if (w->on == HARNESS_CUDA) {
        harness_on_cuda(harness_every_body, w->t);
        return;
    }
    device *d = w->on == HARNESS_DEFERRED ? deferred_device_create((unsigned)harness.rank)
                                          : device_host_create(1);
    if (w->on == HARNESS_SHARED) file_memory_give(d);
    if (w->on == HARNESS_SHARED) d->peer_exchange = host_peer_exchange;
    harness_every_body(d, w->t);
    device_destroy(&d);
}

static inline int harness_run_every_way(void)
{
    static harness_way ways[] = {
        { "host staged", HARNESS_HOST, TRANSPORT_STAGED },
        { "host peer", HARNESS_SHARED, TRANSPORT_PEER },
        { "deferred staged", HARNESS_DEFERRED, TRANSPORT_STAGED },
        { "deferred aware", HARNESS_DEFERRED, TRANSPORT_AWARE },
        { "deferred mapped", HARNESS_DEFERRED, TRANSPORT_MAPPED },
        { "cuda staged", HARNESS_CUDA, TRANSPORT_STAGED },
        { "cuda aware", HARNESS_CUDA, TRANSPORT_AWARE },
        { "cuda mapped", HARNESS_CUDA, TRANSPORT_MAPPED },
        { "cuda peer", HARNESS_CUDA, TRANSPORT_PEER },
        { "cuda nccl", HARNESS_CUDA, TRANSPORT_NCCL },
    };
    enum { WAYS = sizeof ways / sizeof *ways };
    struct CMUnitTest tests[WAYS];
    const char *no_cuda = NULL;
    size_t count = 0;
    const bool missing = harness_cuda_missing(&no_cuda);
    if (missing) print_message("without GPUs: %s\n", no_cuda ? no_cuda : "no GPU on some rank");
    for (int i = 0; i < WAYS; i++)
        if ((ways[i].on != HARNESS_CUDA) == missing)
            tests[count++] = (struct CMUnitTest){ ways[i].name, harness_way_test, NULL, NULL, &ways[i] };
    return _cmocka_run_group_tests("ways", tests, count, NULL, NULL);
}

static inline int harness_main_every_way(int argc, char **argv, harness_body *body)
{
    harness_every_body = body;
    return harness_main(argc, argv, harness_run_every_way);
}
