/* Every allocation that a rank shares is seen whole by its neighbours, at its own address: small ones, which
 * the runtime cuts from one block, large ones, also those from which a device-aware MPI sends, one shared
 * twice, a rank without any; a rank is its own neighbour by its own pointer. Shared blocks are zeros
 * everywhere, whatever stood in that memory. Where a rank cannot map, all are told why. No descriptor stays
 * open. ranks: 1 2 3 gpus: rank */
#include "support/comm_harness.h"
#include "support/file_memory.h"

#include <dirent.h>
#include <errno.h>

#include "ranks/ranks.h"
#include "transports/message.h"
#include "transports/peer.h"

enum { ALLOCATIONS = 24, NEIGHBOURS_MAX = 16 };

static size_t large_bytes = 300000; /* allocation i has i times as many, every third fewer */
static size_t bytes_of(int i) { return i % 3 == 0 ? 64 + (size_t)i * 512 : (size_t)i * large_bytes; }
static int byte_of(int rank, int i) { return (rank * 71 + i * 5 + 1) % 255; }

/* Wrong bytes in the neighbour's allocation i. */
static long wrong_bytes(device *d, device_stream *s, unsigned char *mirror, const void *theirs, int rank,
                        int i)
{
    long wrong = 0;
    DEVICE_CALL(d, copy, mirror, theirs, bytes_of(i), s);
    DEVICE_CALL(d, stream_sync, s);
    for (size_t b = 0; b < bytes_of(i); b++) wrong += mirror[b] != byte_of(rank, i);
    return wrong;
}

/* As halos over aware do: from memory whose blocks hold nothing else, which MPI then maps in other processes
 * and leaves mapped. */
static void send_from(char *mine, size_t bytes)
{
    const int next = (harness.rank + 1) % harness.ranks,
              before = (harness.rank + harness.ranks - 1) % harness.ranks;
    const int half = (int)(bytes / 2), counts[] = { 8, 4096, half };
    if (message_block_bytes((int64_t)bytes) != (int64_t)bytes) return;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        MPI_CHECK(MPI_Sendrecv(mine, counts[i], MPI_BYTE, next, 0, mine + half, counts[i], MPI_BYTE, before,
                               0, harness.comm, MPI_STATUS_IGNORE));
}

enum { SHARED_BLOCK_BYTES = 100000 };

/* Bytes of a new shared block that are not 0 at a neighbour's. */
static long wrong_shared_block(device *d, device_stream *s, peer *p, const int *ranks, int count,
                               unsigned char *mirror)
{
    void *theirs[NEIGHBOURS_MAX], *const mine = peer_shared_block(p, SHARED_BLOCK_BYTES, theirs);
    long wrong = 0;
    for (int k = 0; k < count; k++) {
        DEVICE_CALL(d, copy, mirror, theirs[k], SHARED_BLOCK_BYTES, s);
        DEVICE_CALL(d, stream_sync, s);
        for (size_t b = 0; b < SHARED_BLOCK_BYTES; b++) wrong += mirror[b] != 0;
        wrong += (theirs[k] == mine) != (ranks[k] == harness.rank);
    }
    wrong += peer_shared_block(p, 0, theirs) != NULL;
    for (int k = 0; k < count; k++) wrong += theirs[k] != NULL;
    return wrong;
}

static void every_allocation_of(device *d)
{
    int ranks[NEIGHBOURS_MAX], count = 0;
    void *mine[ALLOCATIONS], *theirs[ALLOCATIONS][NEIGHBOURS_MAX], *again[NEIGHBOURS_MAX],
        *none[NEIGHBOURS_MAX];
    unsigned char *mirror;
    sentence why;
    long wrong = 0;
    device_stream *s;
    const bool aware = topology_probe_aware(&harness, d, harness_exe, &why);
    assert_true(harness.ranks < NEIGHBOURS_MAX);
    for (int r = 0; r < harness.ranks; r++) ranks[count++] = r;
    ranks[count++] = (harness.rank + 1) % harness.ranks; /* the next one twice */
    peer *p = peer_create(d, ranks, count, harness.comm, &why);
    if (!p) fail_msg("%s", why.text);
    DEVICE_CALL(d, stream_create, false, &s);
    DEVICE_CALL(d, alloc, DEVICE_MEMORY_PINNED, (size_t)ALLOCATIONS * large_bytes + SHARED_BLOCK_BYTES,
                (void **)&mirror);
    for (int i = 0; i < ALLOCATIONS; i++) {
        DEVICE_CALL(d, alloc, DEVICE_MEMORY_DEVICE, bytes_of(i), &mine[i]);
        if (aware) send_from(mine[i], bytes_of(i));
        DEVICE_CALL(d, fill_bytes, mine[i], byte_of(harness.rank, i), bytes_of(i), s);
    }
    DEVICE_CALL(d, stream_sync, s);
    for (int i = 0; i < ALLOCATIONS; i++) peer_share(p, mine[i], theirs[i]);
    for (int i = 0; i < ALLOCATIONS && aware; i++) { /* mapped already, and then by both */
        MPI_CHECK(MPI_Barrier(harness.comm));
        send_from(mine[i], bytes_of(i));
        DEVICE_CALL(d, fill_bytes, mine[i], byte_of(harness.rank, i), bytes_of(i), s);
    }
    DEVICE_CALL(d, stream_sync, s);
    MPI_CHECK(MPI_Barrier(harness.comm));
    peer_share(p, mine[1], again);
    peer_share(p, harness.rank == 0 ? NULL : mine[0], none);
    for (int k = 0; k < count; k++) {
        for (int i = 0; i < ALLOCATIONS; i++) {
            wrong += wrong_bytes(d, s, mirror, theirs[i][k], ranks[k], i);
            wrong += ranks[k] == harness.rank && theirs[i][k] != mine[i];
        }
        wrong += wrong_bytes(d, s, mirror, again[k], ranks[k], 1);
        wrong += (none[k] == NULL) != (ranks[k] == 0);
    }
    wrong += wrong_shared_block(d, s, p, ranks, count, mirror);
    peer_destroy(&p);
    for (int i = 0; i < ALLOCATIONS; i++) DEVICE_CALL(d, free, DEVICE_MEMORY_DEVICE, mine[i]);
    DEVICE_CALL(d, free, DEVICE_MEMORY_PINNED, mirror);
    DEVICE_CALL(d, stream_destroy, &s);
    assert_int_equal(harness_sum(wrong), 0);
}

/* A device whose memory cannot be shared gives the reason, on every rank, and no peers. */
static void host_is_refused(void **state)
{
    (void)state;
    device *d = device_host_create(1);
    const int next = (harness.rank + 1) % harness.ranks;
    sentence why = { "" };
    peer *p = peer_create(d, &next, 1, harness.comm, &why);
    const long wrong = harness_sum(
        p != NULL ||
        strcmp(why.text, "rank 0 shares no device memory: the host device shares no memory between ranks") !=
            0);
    device_destroy(&d);
    assert_int_equal(wrong, 0);
}

/* On the host. */
static void with_files(void (*body)(device *d, transport_kind t))
{
    device *d = device_host_create(1);
    file_memory_give(d);
    large_bytes = 3000;
    body(d, TRANSPORT_STAGED);
    large_bytes = 300000;
    device_destroy(&d);
}

/* ---- mapping is refused ---- */

static int (*real_open)(device *d, const device_handle *h, void **out);
static int refused_code;

static int open_or_refuse(device *d, const device_handle *h, void **out)
{
    return harness.rank == harness.ranks - 1 ? refused_code : real_open(d, h, out);
}

static void refused(device *d, transport_kind t)
{
    const int next = (harness.rank + 1) % harness.ranks;
    char no_map[256];
    sentence why;
    (void)t;
    if (harness.ranks == 1) skip();
    refused_code = d->kind == DEVICE_CUDA ? 800 : EPERM; /* cudaErrorNotPermitted */
    snprintf(no_map, sizeof no_map, "rank %d cannot map the device memory of rank 0: %s", harness.ranks - 1,
             d->error_text(refused_code));
    real_open = d->handle_open;
    d->handle_open = open_or_refuse;
    peer *p = peer_create(d, &next, 1, harness.comm, &why);
    d->handle_open = real_open;
    assert_int_equal(harness_sum(p != NULL || strcmp(why.text, no_map) != 0), 0);
}

/* Ranks that take themselves for hosts. */
static void other_hosts(device *d, transport_kind t)
{
    const int next = (harness.rank + 1) % harness.ranks;
    char count[12];
    sentence why;
    (void)t;
    if (harness.ranks == 1) skip();
    snprintf(count, sizeof count, "%d", harness.ranks);
    setenv("WEFT_PRETEND_HOSTS", count, 1);
    hosts *h = hosts_create(harness.comm);
    const bool pretends = h->count > 1;
    hosts_destroy(&h);
    if (!pretends) {
        print_message("skipped: only debug builds pretend hosts\n");
        skip();
    }
    peer *p = peer_create(d, &next, 1, harness.comm, &why);
    unsetenv("WEFT_PRETEND_HOSTS");
    const bool told = strcmp(why.text, "rank 0 and its neighbour 1 run on different hosts") == 0;
    assert_int_equal(harness_sum(p != NULL || !told), 0);
}

/* ---- all of it ---- */

static int open_descriptors(void)
{
    DIR *d = opendir("/proc/self/fd");
    int count = 0;
    while (readdir(d)) count++;
    closedir(d);
    return count;
}

static void every_allocation(device *d, transport_kind t)
{
    (void)t;
    every_allocation_of(d);
    const int before = open_descriptors();
    every_allocation_of(d);
    assert_int_equal(open_descriptors(), before);
}

static void allocations_in_files(void **state) { (void)state, with_files(every_allocation); }
static void refused_with_files(void **state) { (void)state, with_files(refused); }
static void other_hosts_with_files(void **state) { (void)state, with_files(other_hosts); }
static void allocations_on_cuda(void **state)
{
    (void)state, harness_on_cuda(every_allocation, TRANSPORT_STAGED);
}
static void refused_on_cuda(void **state) { (void)state, harness_on_cuda(refused, TRANSPORT_STAGED); }

static int run(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(host_is_refused),     cmocka_unit_test(allocations_in_files),
        cmocka_unit_test(refused_with_files),  cmocka_unit_test(other_hosts_with_files),
        cmocka_unit_test(allocations_on_cuda), cmocka_unit_test(refused_on_cuda),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argc, char **argv) { return harness_main(argc, argv, run); }
