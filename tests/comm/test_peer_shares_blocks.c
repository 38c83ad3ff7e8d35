/* Every block that ranks share is seen whole by their neighbours, zeros at first whatever stood in that
 * memory: small and large ones, and a rank without any; a rank is its own neighbour by its own pointer. Where
 * any rank cannot map, reads wrongly or is on another host, all give the same reason. No descriptor is left.
 * ranks: 1 2 3 gpus: rank */
#include "support/comm_harness.h"

#include <errno.h>

#include "transports/peer.h"

enum { BLOCKS = 5, NEIGHBOURS_MAX = 16 };

/* In block 0 rank 0 has none. */
static size_t bytes_of(int rank, int i) { return i == 0 && rank == 0 ? 0 : 64 + (size_t)(i * i) * 9000; }
static int byte_of(int rank, int i) { return (rank * 71 + i * 5 + 1) % 255; }

/* Peers of all ranks, and of the next one twice, are made, with that reason where they are not, and all see
 * block i, before and after each has filled its own. */
static long wrong_peer(device *d, int i, const char *refusal)
{
    int ranks[NEIGHBOURS_MAX], count = 0;
    void *theirs[NEIGHBOURS_MAX];
    unsigned char *mirror;
    device_stream *s;
    sentence why;
    long wrong = 0;
    assert_true(harness.ranks < NEIGHBOURS_MAX);
    for (int r = 0; r < harness.ranks; r++) ranks[count++] = r;
    ranks[count++] = (harness.rank + 1) % harness.ranks;
    peer *p = peer_create(d, ranks, count, bytes_of(harness.rank, i), theirs, harness.comm, &why);
    if (strcmp(p ? "" : why.text, refusal) != 0) print_message("'%s' is not '%s'\n", why.text, refusal);
    if (!p || refusal[0]) return p || strcmp(why.text, refusal) != 0;
    DEVICE_CALL(d, stream_create, false, &s);
    DEVICE_CALL(d, alloc, DEVICE_MEMORY_PINNED, bytes_of(1, i), (void **)&mirror);
    for (int filled = 0; filled < 2; filled++) {
        if (filled && peer_own(p))
            DEVICE_CALL(d, fill_bytes, peer_own(p), byte_of(harness.rank, i), bytes_of(harness.rank, i), s);
        DEVICE_CALL(d, stream_sync, s);
        MPI_CHECK(MPI_Barrier(harness.comm));
        for (int k = 0; k < count; k++) {
            const size_t bytes = bytes_of(ranks[k], i);
            wrong += (bytes == 0) != (theirs[k] == NULL);
            wrong += ranks[k] == harness.rank && theirs[k] != peer_own(p);
            DEVICE_CALL(d, copy, mirror, theirs[k], bytes, s);
            DEVICE_CALL(d, stream_sync, s);
            for (size_t b = 0; b < bytes; b++) wrong += mirror[b] != (filled ? byte_of(ranks[k], i) : 0);
        }
        MPI_CHECK(MPI_Barrier(harness.comm));
    }
    peer_destroy(&p);
    DEVICE_CALL(d, free, DEVICE_MEMORY_PINNED, mirror);
    DEVICE_CALL(d, stream_destroy, &s);
    return wrong;
}

static void every_block(device *d, transport_kind t)
{
    long wrong = 0;
    int before = 0;
    for (int i = 0; i < 2 * BLOCKS; i++) {
        if (i == BLOCKS) before = harness_descriptors();
        wrong += wrong_peer(d, i % BLOCKS, "");
    }
    assert_int_equal(harness_sum(wrong + (harness_descriptors() != before)), 0);
}

/* ---- no peers: something fails on the last rank, or ranks take themselves for hosts (debug builds) ---- */

static device whole;
static int refused_code;

static bool is_last(void) { return harness.rank == harness.ranks - 1; }

static int open_or_refuse(device *d, const device_handle *h, void **out)
{
    return is_last() ? refused_code : whole.handle_open(d, h, out);
}

static int copy_wrongly(device *d, void *to, const void *from, size_t bytes, device_stream *s)
{
    const int code = whole.copy(d, to, from, bytes, s);
    if (is_last()) ((unsigned char *)to)[bytes - 1] ^= 1;
    return code;
}

static void refused(device *d, transport_kind t)
{
    char why[256] = "";
    refused_code = d->kind == DEVICE_CUDA ? 800 : EPERM; /* cudaErrorNotPermitted */
    if (harness.ranks > 1)
        snprintf(why, sizeof why, "rank %d cannot map the device memory of rank 0: %s", harness.ranks - 1,
                 d->error_text(refused_code));
    whole = *d;
    d->handle_open = open_or_refuse;
    assert_int_equal(harness_sum(wrong_peer(d, 1, why)), 0);
    d->handle_open = whole.handle_open;
    if (harness.ranks == 1 || d->kind == DEVICE_CUDA) return;
    d->copy = copy_wrongly;
    snprintf(why, sizeof why, "rank %d reads the device memory of rank 0 wrongly", harness.ranks - 1);
    assert_int_equal(harness_sum(wrong_peer(d, 1, why)), 0);
    d->copy = whole.copy;
    setenv("WEFT_PRETEND_HOSTS", harness.ranks == 2 ? "2" : "3", 1);
    hosts *h = hosts_create(harness.comm);
    const bool pretends = h->count > 1;
    hosts_destroy(&h);
    const long wrong = wrong_peer(d, 1, pretends ? "rank 0 and its neighbour 1 run on different hosts" : "");
    unsetenv("WEFT_PRETEND_HOSTS");
    assert_int_equal(harness_sum(wrong), 0);
}

static void host_is_refused(device *d, transport_kind t)
{
    const char *why = "rank 0 shares no device memory: the host device shares no memory between ranks";
    assert_int_equal(harness_sum(wrong_peer(d, 1, why)), 0);
}

/* ---- on the host, and on GPUs ---- */

static void with_files(void **body)
{
    device *d = device_host_create(1);
    file_memory_give(d);
    ((harness_body *)*body)(d, TRANSPORT_STAGED);
    device_destroy(&d);
}
static void on_the_host(void **body) { harness_on_host(*body); }
static void on_cuda(void **body) { harness_on_cuda(*body, TRANSPORT_STAGED); }

static int run(void)
{
    const struct CMUnitTest tests[] = {
        { "the host's own memory", on_the_host, NULL, NULL, host_is_refused },
        { "every block, files", with_files, NULL, NULL, every_block },
        { "refused, files", with_files, NULL, NULL, refused },
        { "every block, CUDA", on_cuda, NULL, NULL, every_block },
        { "refused, CUDA", on_cuda, NULL, NULL, refused },
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argc, char **argv) { return harness_main(argc, argv, run); }
