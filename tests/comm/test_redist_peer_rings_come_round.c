/* A distributed transpose through rings that hold a few of a part's chunks puts every cell at its place, call
 * after call: who gives waits for slots, and who takes for chunks, however the ranks drift apart. ranks: 2 3
 * gpus: rank */
#include "support/comm_harness.h"

#include <time.h>

#include "exchange/redist.h"
#include "transpose/transpose_peer.h"

enum { NX = 1501, NY = 1303, ROUNDS = 6, SLOTS = 3 };

/* What stands at (x, y) of the source at first; exact in f64 with everything that is added. */
static double source_cell(int64_t x, int64_t y) { return (double)(y * NX + x + 1); }

static void store_source(const decomp *dec, const field_shape *f, double more, void *out)
{
    memset(out, 0, f->bytes);
    for (int64_t y = 0; y < f->ny; y++)
        for (int64_t x = 0; x < f->nx; x++)
            harness_store(f, out, x, y, source_cell(dec->own.x0 + x, dec->own.y0 + y) + more);
}

/* After ROUNDS calls of B += A^T; A += 1. */
static void store_target(const decomp *dec, const field_shape *f, void *out)
{
    memset(out, 0, f->bytes);
    for (int64_t y = 0; y < f->ny; y++)
        for (int64_t x = 0; x < f->nx; x++)
            harness_store(f, out, x, y,
                          ROUNDS * source_cell(dec->own.y0 + y, dec->own.x0 + x) + ROUNDS * (ROUNDS - 1) / 2);
}

static void *upload(device *d, device_stream *s, const void *mirror, size_t bytes)
{
    void *field;
    DEVICE_CALL(d, alloc, DEVICE_MEMORY_DEVICE, bytes, &field);
    DEVICE_CALL(d, copy, field, mirror, bytes, s);
    DEVICE_CALL(d, stream_sync, s);
    return field;
}

static long differs(device *d, device_stream *s, const void *field, void *mirror, const void *wanted,
                    size_t bytes)
{
    DEVICE_CALL(d, copy, mirror, field, bytes, s);
    DEVICE_CALL(d, stream_sync, s);
    return memcmp(mirror, wanted, bytes) != 0;
}

static void rings_come_round(device *d, transport_kind t)
{
    decomp from, to;
    sentence why = { "" };
    device_stream *s;
    void *mirror, *wanted;
    (void)t;
    assert_true(decomp_make(&from, NX, NY, false, false, harness.ranks, harness.rank, 1, 0, 0, &why));
    assert_true(decomp_make(&to, NY, NX, false, false, harness.ranks, harness.rank, 1, 0, 0, &why));
    const field_shape a = field_shape_make(DTYPE_F64, box_width(from.own), box_height(from.own), 0, 0);
    const field_shape b = field_shape_make(DTYPE_F64, box_width(to.own), box_height(to.own), 0, 0);
    const size_t most_bytes = a.bytes > b.bytes ? a.bytes : b.bytes;
    DEVICE_CALL(d, stream_create, false, &s);
    DEVICE_CALL(d, alloc, DEVICE_MEMORY_PINNED, most_bytes, &mirror);
    DEVICE_CALL(d, alloc, DEVICE_MEMORY_PINNED, most_bytes, &wanted);
    store_source(&from, &a, 0, mirror);
    void *const source = upload(d, s, mirror, a.bytes);
    memset(mirror, 0, b.bytes);
    void *const target = upload(d, s, mirror, b.bytes);
    const redist_ends ends = { from, to, d, a, b };
    redist_peer *r =
        redist_peer_create(&ends, SLOTS * (harness.ranks - 1) * TRANSPOSE_CHUNK_BYTES, harness.comm, &why);
    if (!r) fail_msg("%s", why.text);
    assert_true(redist_peer_sent_bytes(r) > SLOTS * (harness.ranks - 1) * TRANSPOSE_CHUNK_BYTES);
    for (int n = 0; n < ROUNDS; n++) {
        const struct timespec pause = { 0, 300000L * ((harness.rank + n) % harness.ranks) };
        nanosleep(&pause, NULL);
        redist_peer_transpose(r, target, source, TRANSPOSE_ADD | TRANSPOSE_INCREMENT_SOURCE, s);
    }
    store_source(&from, &a, ROUNDS, wanted);
    long wrong = differs(d, s, source, mirror, wanted, a.bytes);
    store_target(&to, &b, wanted);
    wrong += differs(d, s, target, mirror, wanted, b.bytes);
    redist_peer_destroy(&r);
    DEVICE_CALL(d, free, DEVICE_MEMORY_DEVICE, source);
    DEVICE_CALL(d, free, DEVICE_MEMORY_DEVICE, target);
    DEVICE_CALL(d, free, DEVICE_MEMORY_PINNED, mirror);
    DEVICE_CALL(d, free, DEVICE_MEMORY_PINNED, wanted);
    DEVICE_CALL(d, stream_destroy, &s);
    assert_int_equal(harness_sum(wrong), 0);
}

static void rings_on_cuda(void **state) { (void)state, harness_on_cuda(rings_come_round, TRANSPORT_PEER); }

static int run(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(rings_on_cuda) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argc, char **argv) { return harness_main_cuda(argc, argv, run); }
