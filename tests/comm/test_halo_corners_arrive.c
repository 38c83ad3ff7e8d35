/* Every ghost that a neighbour owns, corners included, holds that neighbour's cell after an exchange, and
 * nothing else in the allocation has changed: grids, process grids, boundaries, depths, types, with and
 * without corners. (Padding, which may travel between rows, is alike on all ranks here.) ranks: 1 2 3 4 6
 * gpus: rank
 * release: seven times as many cases */
#include "support/comm_harness.h"
#include "support/sanitized.h"
#include "transports/message.h"

enum { LEVELS = 5 };

typedef struct exchange_case {
    int64_t nx, ny;
    int ranks_x, depth;
    bool periodic_x, periodic_y, corners;
    dtype type;
} exchange_case;

/* Exact in f32, different for every cell and level. */
static double cell_of(int64_t gx, int64_t gy, int64_t nx, int level)
{
    return (double)(gy * nx + gx + 1 + ((int64_t)level << 16));
}

/* Where ghost coordinate g (global, may lie outside) comes from along one axis; -1: from no neighbour. */
static int64_t source_coordinate(int64_t g, int64_t low, int64_t high, int64_t n, bool cut, bool periodic,
                                 int depth)
{
    if (g >= low && g < high) return g;
    if (!cut || g < low - depth || g >= high + depth) return -1;
    if (g >= 0 && g < n) return g;
    return periodic ? (g + n) % n : -1;
}

/* The whole allocation as it must be: NaN (all bits set) wherever nobody wrote. */
static void expect(const exchange_case *c, const decomp *dec, const field_shape *f, bool with_ghosts,
                   int level, void *out)
{
    memset(out, 0xFF, f->bytes);
    for (int64_t y = -f->depth_y; y < f->ny + f->depth_y; y++)
        for (int64_t x = -f->depth_x; x < f->nx + f->depth_x; x++) {
            const bool out_x = x < 0 || x >= f->nx, out_y = y < 0 || y >= f->ny;
            if ((out_x || out_y) && !with_ghosts) continue;
            if (out_x && out_y && !c->corners) continue;
            const int64_t gx = source_coordinate(dec->own.x0 + x, dec->own.x0, dec->own.x1, c->nx,
                                                 dec->ranks_x > 1, c->periodic_x, c->depth);
            const int64_t gy = source_coordinate(dec->own.y0 + y, dec->own.y0, dec->own.y1, c->ny,
                                                 dec->ranks_y > 1, c->periodic_y, c->depth);
            if (gx >= 0 && gy >= 0) harness_store(f, out, x, y, cell_of(gx, gy, c->nx, level));
        }
}

/* TRANSPORT_KINDS stands for a mixture of those that go by messages, which both ends of a link work out
 * alike. */
static transport_choice choice_for(transport_kind t, const decomp *dec)
{
    static const transport_kind by_messages[] = { TRANSPORT_STAGED, TRANSPORT_AWARE, TRANSPORT_MAPPED };
    transport_choice c = transport_choice_of_all(t);
    for (int k = 0; k < DECOMP_NEIGHBOURS && t == TRANSPORT_KINDS; k++) {
        const int back = DECOMP_NEIGHBOURS - 1 - k;
        if (dec->neighbour[k] >= 0)
            c.toward[k] = by_messages[(dec->rank + dec->neighbour[k] + (k < back ? k : back)) % 3];
    }
    return c;
}

/* Several levels back to back through one halo, all in a queue: a level is written just before its exchange
 * and read just after, and buffers and fields are used again while that may still be queued. Returns this
 * rank's wrong allocations. */
static long exchange(device *d, transport_kind t, const exchange_case *c, const decomp *dec)
{
    const int spare = (int)(c->nx % 2); /* sometimes the field's ghosts are deeper than the exchange */
    const int fields = c->depth == 2 ? LEVELS : 2;
    const field_shape f = field_shape_make(c->type, box_width(dec->own), box_height(dec->own),
                                           c->depth + spare, c->ny == 1 ? 0 : c->depth + spare);
    void *field[LEVELS], *wanted = malloc(f.bytes);
    char *mirrors, *given[LEVELS], *got[LEVELS];
    device_stream *s;
    long wrong = 0;
    if (!wanted) check_fail(__FILE__, __LINE__, "malloc", "out of memory");
    DEVICE_CALL(d, stream_create, true, &s);
    DEVICE_CALL(d, alloc, DEVICE_MEMORY_PINNED, 2 * LEVELS * f.bytes, (void **)&mirrors);
    const transport_choice choice = choice_for(t, dec);
    halo *h = halo_create(dec, d, &f, c->depth, c->corners, &choice, harness.comm);
    wrong += halo_refused(h)[0] != '\0'; /* the harness has seen that it can be had */
    /* no blocks that MPI maps there */
    const size_t field_bytes = deferred_is(d) ? f.bytes : halo_field_bytes(d->kind, &f);
    for (int i = 0; i < fields; i++) DEVICE_CALL(d, alloc, DEVICE_MEMORY_DEVICE, field_bytes, &field[i]);
    for (int l = 0; l < LEVELS; l++) {
        given[l] = mirrors + 2 * (size_t)l * f.bytes;
        got[l] = given[l] + f.bytes;
        expect(c, dec, &f, false, l, given[l]);
        DEVICE_CALL(d, copy, field[l % fields], given[l], f.bytes, s);
        halo_begin(h, field[l % fields], s);
        halo_progress(h);
        halo_end(h);
        DEVICE_CALL(d, copy, got[l], field[l % fields], f.bytes, s);
    }
    DEVICE_CALL(d, stream_sync, s);
    for (int l = 0; l < LEVELS; l++) {
        expect(c, dec, &f, true, l, wanted);
        wrong += memcmp(got[l], wanted, f.bytes) != 0;
    }
    int neighbours = 0;
    for (int k = 0; k < DECOMP_NEIGHBOURS; k++)
        neighbours += dec->neighbour[k] >= 0 && (c->corners || decomp_dx[k] == 0 || decomp_dy[k] == 0);
    wrong += halo_neighbours(h) != neighbours;
    wrong += (halo_sent_bytes(h) > 0) != (neighbours > 0);
    halo_destroy(&h);
    for (int i = 0; i < fields; i++) DEVICE_CALL(d, free, DEVICE_MEMORY_DEVICE, field[i]);
    DEVICE_CALL(d, free, DEVICE_MEMORY_PINNED, mirrors);
    DEVICE_CALL(d, stream_destroy, &s);
    free(wanted);
    return wrong;
}

/* One in `every` of them. */
static void cases(device *d, transport_kind t, int every)
{
    static const int64_t grids[][2] = { { 37, 29 }, { 131, 1 }, { 16, 64 }, { 6, 23 }, { 90, 4 } };
    static const int depths[] = { 1, 2, 5 };
    int tried = 0;
    for (size_t g = 0; g < sizeof grids / sizeof *grids; g++)
        for (int ranks_x = 1; ranks_x <= harness.ranks; ranks_x++)
            for (size_t k = 0; k < sizeof depths / sizeof *depths; k++)
                for (int bits = 0; bits < 16; bits++) {
                    if (((int)g + ranks_x + (int)k + bits) % every != 0) continue;
                    const exchange_case c = { grids[g][0],     grids[g][1],
                                              ranks_x,         depths[k],
                                              (bits & 1) != 0, (bits & 2) != 0,
                                              (bits & 4) != 0, (bits & 8) ? DTYPE_F64 : DTYPE_F32 };
                    decomp dec;
                    sentence why;
                    if (!decomp_make(&dec, c.nx, c.ny, c.periodic_x, c.periodic_y, harness.ranks,
                                     harness.rank, ranks_x, 0, c.depth, &why))
                        continue;
                    tried++;
                    const long wrong = harness_sum(exchange(d, t, &c, &dec));
                    if (wrong)
                        fail_msg("%ld wrong: %lld x %lld on %d x %d ranks, depth %d, periodic %d %d, corners "
                                 "%d, %s",
                                 wrong, (long long)c.nx, (long long)c.ny, dec.ranks_x, dec.ranks_y, c.depth,
                                 c.periodic_x, c.periodic_y, c.corners, dtype_name(c.type));
                }
    assert_true(tried * every >= 48);
}

/* What a device-aware MPI has mapped stays mapped: here the memory beside an allocation that outlives the
 * messages. */
static void aware_beforehand(device *d)
{
    const exchange_case c = { 37, 29, 1, 1, true, true, false, DTYPE_F32 };
    decomp dec;
    sentence why;
    if (!topology_probe_aware(&harness, d, harness_exe, &why) ||
        !decomp_make(&dec, c.nx, c.ny, true, true, harness.ranks, harness.rank, 1, 0, 1, &why))
        return;
    assert_int_equal(harness_sum(exchange(d, TRANSPORT_AWARE, &c, &dec)), 0);
}

/* Copies out, messages and copies in of many chunks run beside each other. */
static void in_chunks(device *d)
{
    const int64_t usual = message_chunk_bytes;
    message_chunk_bytes = 256;
    cases(d, TRANSPORT_STAGED, 9);
    message_chunk_bytes = usual;
}

/* And a mixture, where mapped is tried: each of its messages has to find its own way. */
static void every_choice(device *d, transport_kind t)
{
    void *outlives = NULL;
    if (t == TRANSPORT_PEER) {
        DEVICE_CALL(d, alloc, DEVICE_MEMORY_DEVICE, 8, &outlives);
        aware_beforehand(d);
    }
    cases(d, t, SANITIZED ? 7 : d->kind == DEVICE_CUDA && harness.ranks > 2 ? 5 : 1);
    if (t == TRANSPORT_STAGED && d->kind == DEVICE_CUDA) in_chunks(d);
    if (t == TRANSPORT_MAPPED && deferred_is(d)) cases(d, TRANSPORT_KINDS, SANITIZED ? 7 : 1);
    if (outlives) DEVICE_CALL(d, free, DEVICE_MEMORY_DEVICE, outlives);
}

int main(int argc, char **argv) { return harness_main_every_way(argc, argv, every_choice); }
