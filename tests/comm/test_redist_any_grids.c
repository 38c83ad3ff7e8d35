/* The distributed transpose puts every source cell, once, at its mirrored place, between any two process
 * grids: store, add, add and increment the source, call after call, also through rings that hold a few of a
 * part's chunks, however the ranks drift apart; ghosts and padding of both fields stay as they were.
 * ranks: 1 2 3 4 6 gpus: rank
 * release: all cases of three ranks, a third of those of more */
#include "exchange/redist.h"
#include "support/comm_harness.h"
#include "support/sanitized.h"
#include "transpose/transpose_peer.h"

#include <time.h>

enum { SLOTS = 3 };

typedef struct transpose_case {
    int64_t nx, ny; /* of the source */
    int from_x, to_x, flags;
    dtype type;
    int rounds;
} transpose_case;

/* Exact in f32 up to 3000 x 3000 cells with the additions below. */
static double source_cell(int64_t gx, int64_t gy, int64_t nx) { return (double)(gy * nx + gx + 1); }

/* The whole allocation of the source, or of the target, which is 7 everywhere at first, after `rounds`; NaN
 * outside the own cells. */
static void expect(const transpose_case *c, const decomp *dec, const field_shape *f, bool target, int rounds,
                   void *out)
{
    memset(out, 0xFF, f->bytes);
    for (int64_t y = 0; y < f->ny; y++)
        for (int64_t x = 0; x < f->nx; x++) {
            const int64_t gx = dec->own.x0 + x, gy = dec->own.y0 + y;
            const double a = target ? source_cell(gy, gx, c->nx) : source_cell(gx, gy, c->nx);
            const double v = !target       ? a + (c->flags ? rounds : 0)
                             : rounds == 0 ? 7
                             : c->flags    ? 7 + rounds * a + rounds * (rounds - 1) / 2
                                           : a;
            cell_set(f->type, out, field_index(f, x, y), v);
        }
}

static void copy_now(device *d, void *to, void *from, size_t bytes, device_stream *s)
{
    DEVICE_CALL(d, copy, to, from, bytes, s);
    DEVICE_CALL(d, stream_sync, s);
}

/* Returns the number of this rank's wrong allocations. */
static long transpose(device *d, transport_kind t, const transpose_case *c, const decomp *from,
                      const decomp *to)
{
    const decomp *const dec[2] = { from, to };
    const field_shape f[2] = { field_shape_make(c->type, box_width(from->own), box_height(from->own), 2, 1),
                               field_shape_make(c->type, box_width(to->own), box_height(to->own), 0, 3) };
    const size_t most_bytes = f[0].bytes > f[1].bytes ? f[0].bytes : f[1].bytes;
    void *field[2], *mirror, *wanted = CHECK_ALLOC(malloc(most_bytes)); /* source and target */
    device_stream *s;
    long wrong = 0;
    DEVICE_CALL(d, stream_create, false, &s);
    DEVICE_CALL(d, alloc, DEVICE_MEMORY_PINNED, most_bytes, &mirror);
    for (int i = 0; i < 2; i++) {
        DEVICE_CALL(d, alloc, DEVICE_MEMORY_DEVICE, f[i].bytes, &field[i]);
        expect(c, dec[i], &f[i], i == 1, 0, mirror);
        copy_now(d, field[i], mirror, f[i].bytes, s);
    }
    /* Still queued when the first round begins, and for long on some ranks, so that the others' cells come
     * before it has run. */
    for (int n = 0; n < harness.rank % 2 * 50; n++) DEVICE_CALL(d, copy, field[1], mirror, f[1].bytes, s);

    redist *r = redist_create(from, to, d, &f[0], &f[1], t, harness.comm);
    for (int n = 0; n < c->rounds; n++) {
        const struct timespec pause = { 0, 300000L * ((harness.rank + n) % harness.ranks) };
        if (c->rounds > 2) nanosleep(&pause, NULL);
        redist_transpose(r, field[1], field[0], c->flags, s);
    }
    for (int i = 0; i < 2; i++) {
        copy_now(d, mirror, field[i], f[i].bytes, s);
        expect(c, dec[i], &f[i], i == 1, c->rounds, wanted);
        wrong += memcmp(mirror, wanted, f[i].bytes) != 0;
        DEVICE_CALL(d, free, DEVICE_MEMORY_DEVICE, field[i]);
    }
    wrong += harness.ranks == 1 && redist_sent_bytes(r) != 0;
    wrong += c->rounds > 2 && redist_sent_bytes(r) > 0 && redist_sent_bytes(r) < redist_rings_bytes;
    redist_destroy(&r);
    DEVICE_CALL(d, free, DEVICE_MEMORY_PINNED, mirror);
    DEVICE_CALL(d, stream_destroy, &s);
    free(wanted);
    return wrong;
}

/* False if the grids do not fit. */
static bool try_case(device *d, transport_kind t, const transpose_case *c)
{
    decomp from = { c->nx, c->ny, c->from_x, .rank = harness.rank },
           to = { c->ny, c->nx, c->to_x, .rank = harness.rank };
    sentence why;
    if (!decomp_make(&from, harness.ranks, 0, &why) || !decomp_make(&to, harness.ranks, 0, &why))
        return false;
    const long wrong = harness_sum(transpose(d, t, c, &from, &to));
    if (wrong)
        fail_msg("%ld wrong: %lld x %lld, %d x %d ranks to %d x %d, flags %d, %s", wrong, (long long)c->nx,
                 (long long)c->ny, from.ranks_x, from.ranks_y, to.ranks_x, to.ranks_y, c->flags,
                 dtype_name(c->type));
    return true;
}

static void all_cases(device *d, transport_kind t)
{
    static const int64_t grids[][2] = {
        { 23, 17 }, { 64, 64 }, { 5, 97 }, { 130, 33 }, { 1, 40 }, { 13, 1 }
    };
    static const int flags[] = { TRANSPOSE_STORE, TRANSPOSE_ADD | TRANSPOSE_INCREMENT_SOURCE };
    int tried = 0;
    for (size_t g = 0; g < sizeof grids / sizeof *grids; g++)
        for (int from_x = 1; from_x <= harness.ranks; from_x++)
            for (int to_x = 1; to_x <= harness.ranks; to_x++)
                for (int k = 0; k < 4; k++) {
                    if ((SANITIZED || harness.ranks > 3) && ((int)g + from_x + to_x + k) % 3 != 0) continue;
                    tried += try_case(d, t,
                                      &(transpose_case){ grids[g][0], grids[g][1], from_x, to_x, flags[k % 2],
                                                         k < 2 ? DTYPE_F32 : DTYPE_F64, 2 });
                }
    assert_true(tried >= 24);
}

/* Big enough that a pair of ranks exchanges several messages, or fills its rings again and again: who gives
 * waits for slots, and who takes for chunks. */
static void many_parts(device *d, transport_kind t)
{
    const int64_t usual_bytes = redist_rings_bytes;
    redist_rings_bytes = SLOTS * (harness.ranks - 1) * TRANSPOSE_CHUNK_BYTES;
    for (int to_x = 1; to_x <= 2; to_x++)
        assert_true(try_case(d, t,
                             &(transpose_case){ 2301, 2003, 1, harness.ranks % to_x ? 1 : to_x,
                                                TRANSPOSE_ADD | TRANSPOSE_INCREMENT_SOURCE, DTYPE_F64, 6 }));
    redist_rings_bytes = usual_bytes;
}

static void everything(device *d, transport_kind t)
{
    if (t == TRANSPORT_NCCL || (t == TRANSPORT_PEER && d->kind == DEVICE_HOST)) {
        print_message("skipped: a redistribution does not go over nccl, nor over peer without a GPU\n");
        return;
    }
    all_cases(d, t);
    if (harness.ranks == 2 || (harness.ranks == 3 && t == TRANSPORT_PEER)) many_parts(d, t);
}

int main(int argc, char **argv) { return harness_main_every_way(argc, argv, everything); }
