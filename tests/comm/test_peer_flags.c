/* No exchange over peer memory and flags ever shows a ghost of another exchange, and none hangs, however the
 * ranks drift apart: 10^5 tiny exchanges in a ring with random delays on the hosts and on the devices, every
 * ghost of every one checked. (2000 where any ranks share a GPU: each wait costs a time slice of 2 ms there.)
 * ranks: 2 3 gpus: rank */
#include "support/comm_harness.h"

#include <time.h>

#include "transports/transport.h"

enum {
    NX = 40,
    NY = 3,
    DEPTH = 2,
    BATCH = 100,
    EXCHANGES = 100000,
    EXCHANGES_SHARED = 2000,
    NOISE_BYTES_MAX = 8 << 20
};
enum { UP = 1, LEFT = 3, RIGHT = 4, DOWN = 6 }; /* numbers in decomp_dx, decomp_dy */

typedef struct ring {
    device *d;
    field_shape f;
    device_stream *s;
    transport *t;
    char *fields, *mirror; /* [BATCH] fields: device, pinned */
    void *noise;           /* what the device is kept busy with */
    unsigned chance;
} ring;

static unsigned draw(ring *r)
{
    r->chance = r->chance * 1664525u + 1013904223u;
    return r->chance >> 8;
}

/* Mostly none; else up to 30 us of the host's or of the device's time. */
static void delay(ring *r)
{
    const unsigned what = draw(r) % 16;
    if (what == 0) {
        struct timespec pause = { 0, (long)(draw(r) % 30000) };
        nanosleep(&pause, NULL);
    }
    if (what == 1) DEVICE_CALL(r->d, fill_bytes, r->noise, 0, 1 + draw(r) % NOISE_BYTES_MAX, r->s);
}

/* What every byte of the rank's own cells is in exchange n; the same n of two ranks, and near n, differ. */
static int byte_of(int rank, long n) { return (int)((rank * 85 + n) % 255); }

/* A closed ring: slabs of rows, and each rank its own neighbour across the rows' ends. */
static ring make_ring(device *d)
{
    const int up = (harness.rank + harness.ranks - 1) % harness.ranks,
              down = (harness.rank + 1) % harness.ranks;
    const transport_links links = {
        TRANSPORT_PEER, d, field_shape_make(DTYPE_F32, NX, NY, DEPTH, DEPTH), harness.comm, 4,
        { { up, UP, box_make(0, NX, 0, DEPTH), box_make(0, NX, -DEPTH, 0), false },
          { harness.rank, LEFT, box_make(0, DEPTH, 0, NY), box_make(-DEPTH, 0, 0, NY), false },
          { harness.rank, RIGHT, box_make(NX - DEPTH, NX, 0, NY), box_make(NX, NX + DEPTH, 0, NY), false },
          { down, DOWN, box_make(0, NX, NY - DEPTH, NY), box_make(0, NX, NY, NY + DEPTH), false } }
    };
    ring r = { .d = d, .f = links.shape, .chance = 77u + (unsigned)harness.rank };
    sentence why;
    DEVICE_CALL(d, stream_create, true, &r.s);
    DEVICE_CALL(d, alloc, DEVICE_MEMORY_DEVICE, BATCH * r.f.bytes, (void **)&r.fields);
    DEVICE_CALL(d, alloc, DEVICE_MEMORY_PINNED, BATCH * r.f.bytes, (void **)&r.mirror);
    DEVICE_CALL(d, alloc, DEVICE_MEMORY_DEVICE, NOISE_BYTES_MAX, &r.noise);
    r.t = transport_peer_create(&links, &why);
    if (!r.t) fail_msg("%s", why.text);
    return r;
}

static void destroy_ring(ring *r)
{
    device *d = r->d;
    r->t->destroy(&r->t);
    DEVICE_CALL(d, free, DEVICE_MEMORY_DEVICE, r->fields);
    DEVICE_CALL(d, free, DEVICE_MEMORY_PINNED, r->mirror);
    DEVICE_CALL(d, free, DEVICE_MEMORY_DEVICE, r->noise);
    DEVICE_CALL(d, stream_destroy, &r->s);
}

/* Rows of ghosts are the ring's neighbours', all else is the rank's own byte. */
static long wrong_bytes(const ring *r, const char *field, long n)
{
    const int up = (harness.rank + harness.ranks - 1) % harness.ranks,
              down = (harness.rank + 1) % harness.ranks;
    long wrong = 0;
    for (int64_t y = -DEPTH; y < NY + DEPTH; y++)
        for (int64_t x = -DEPTH; x < NX + DEPTH; x++) {
            const bool above = y < 0 && x >= 0 && x < NX, below = y >= NY && x >= 0 && x < NX;
            const int byte = byte_of(above ? up : below ? down : harness.rank, n);
            const unsigned char *cell = field_at_const(&r->f, field, x, y);
            for (size_t b = 0; b < dtype_bytes(r->f.type); b++) wrong += cell[b] != byte;
        }
    return wrong;
}

static void no_stale_ghost(device *d, transport_kind t)
{
    (void)t;
    ring r = make_ring(d);
    const bool shared = harness_sum(harness.ranks_on_device > 1) > 0; /* 3 ranks on 2 GPUs: by two of them */
    const long exchanges = shared ? EXCHANGES_SHARED : EXCHANGES;
    long wrong = 0;
    for (long first = 0; first < exchanges; first += BATCH) {
        for (long n = first; n < first + BATCH; n++) {
            void *field = r.fields + (size_t)(n - first) * r.f.bytes;
            DEVICE_CALL(d, fill_bytes, field, byte_of(harness.rank, n), r.f.bytes, r.s);
            delay(&r);
            r.t->begin(r.t, field, r.s);
            delay(&r);
        }
        DEVICE_CALL(d, copy, r.mirror, r.fields, BATCH * r.f.bytes, r.s);
        DEVICE_CALL(d, stream_sync, r.s);
        for (long n = first; n < first + BATCH; n++)
            wrong += wrong_bytes(&r, r.mirror + (size_t)(n - first) * r.f.bytes, n);
    }
    destroy_ring(&r);
    print_message("%ld exchanges, %d ranks%s\n", exchanges, harness.ranks,
                  exchanges < EXCHANGES ? " sharing a GPU" : "");
    assert_int_equal(harness_sum(wrong), 0);
}

static void flags_on_cuda(void **state) { (void)state, harness_on_cuda(no_stale_ghost, TRANSPORT_STAGED); }

static int run(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(flags_on_cuda) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argc, char **argv) { return harness_main_cuda(argc, argv, run); }
