/* Every ghost that a neighbour owns, corners included, holds that neighbour's cell after an exchange, and
 * nothing else in the allocation has changed: grids, process grids, boundaries, depths, types, with and
 * without corners; however ranks drift apart (over peer 10^5 exchanges, 2000 where ranks share a GPU: each
 * wait costs a time slice of 2 ms there); on every communicator, whichever came before. Of a halo that is
 * gone no descriptor and no block of memory is left. (Padding, which may travel between rows, is alike on
 * all ranks here.) ranks: 1 2 3 4 6 gpus: rank
 * release: all cases of two ranks, a third of those of three and four, a fifth of six */
#include <limits.h>
#include <time.h>

#include "support/comm_harness.h"
#include "support/sanitized.h"
#include "transports/message.h"

enum { LEVELS = 5, BATCH = 100, NOISE_BYTES_MAX = 8 << 20 };

typedef struct exchange_case {
    int64_t nx, ny;
    int ranks_x, depth;
    bool periodic_x, periodic_y, corners;
    dtype type;
    int drifting; /* exchanges with random delays; 0: LEVELS without */
} exchange_case;

/* Exact in f32, different for every cell, and for levels near each other. */
static double cell_of(int64_t gx, int64_t gy, int64_t nx, int level)
{
    return (double)(gy * nx + gx + 1 + ((int64_t)(level % 255) << 16));
}

/* Where ghost coordinate g (global, may lie outside) comes from along an axis of which this rank has
 * [low, high); -1: from no neighbour. */
static int64_t source(int64_t g, int64_t low, int64_t high, int64_t n, bool periodic, int depth)
{
    const bool own = g >= low && g < high, cut = high - low < n;
    if (own || !cut || g < low - depth || g >= high + depth) return own ? g : -1;
    return g >= 0 && g < n ? g : periodic ? (g + n) % n : -1;
}

/* The whole allocation as it must be: NaN (all bits set) where nothing was written. */
static void expect(const exchange_case *c, const decomp *dec, const field_shape *f, bool with_ghosts,
                   int level, void *out)
{
    const box own = dec->own;
    memset(out, 0xFF, f->bytes);
    for (int64_t y = -f->depth_y; y < f->ny + f->depth_y; y++)
        for (int64_t x = -f->depth_x; x < f->nx + f->depth_x; x++) {
            const int outside = (x < 0 || x >= f->nx) + (y < 0 || y >= f->ny);
            if (outside > (!with_ghosts ? 0 : c->corners ? 2 : 1)) continue;
            const int64_t gx = source(own.x0 + x, own.x0, own.x1, c->nx, c->periodic_x, c->depth);
            const int64_t gy = source(own.y0 + y, own.y0, own.y1, c->ny, c->periodic_y, c->depth);
            if (gx >= 0 && gy >= 0)
                cell_set(f->type, out, field_index(f, x, y), cell_of(gx, gy, c->nx, level));
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

/* Mostly none; else up to 30 us of the host's or of the device's time. */
static void delay(device *d, void *noise, device_stream *s)
{
    static unsigned chance;
    chance = (chance + (unsigned)harness.rank) * 1664525u + 1013904223u;
    const struct timespec pause = { 0, (long)(chance >> 8) % 30000 };
    if (chance >> 28 == 0) nanosleep(&pause, NULL);
    if (chance >> 28 == 1) DEVICE_CALL(d, fill_bytes, noise, 0, 1 + (chance >> 4) % NOISE_BYTES_MAX, s);
}

/* All through one halo, levels back to back in a queue: a level is written just before its exchange and read
 * just after, and buffers and fields are used again while that may still be queued. Returns this rank's wrong
 * allocations. */
static long exchange(device *d, transport_kind t, const exchange_case *c, const decomp *dec, MPI_Comm comm)
{
    const int spare = (int)(c->nx % 2); /* sometimes the field's ghosts are deeper than the exchange */
    const int levels = c->drifting ? BATCH : LEVELS, fields = c->depth == 2 ? LEVELS : 2;
    const transport_choice choice = choice_for(t, dec);
    const field_shape f = field_shape_make(c->type, box_width(dec->own), box_height(dec->own),
                                           c->depth + spare, c->ny == 1 ? 0 : c->depth + spare);
    const size_t field_bytes = deferred_is(d) ? f.bytes /* MPI maps no blocks there */
                                              : halo_field_bytes(d->kind, &f);
    void *field[LEVELS], *noise = NULL; /* noise: what the device is kept busy with */
    char *mirror;                       /* [levels][2]: what is given, what is got */
    device_stream *s;
    int neighbours = 0;
    DEVICE_CALL(d, stream_create, true, &s);
    DEVICE_CALL(d, alloc, DEVICE_MEMORY_PINNED, 2 * (size_t)levels * f.bytes, (void **)&mirror);
    if (c->drifting) DEVICE_CALL(d, alloc, DEVICE_MEMORY_DEVICE, NOISE_BYTES_MAX, &noise);
    halo *h = halo_create(dec, d, &f, c->depth, c->corners, &choice, comm);
    for (int i = 0; i < fields; i++) DEVICE_CALL(d, alloc, DEVICE_MEMORY_DEVICE, field_bytes, &field[i]);
    long wrong = halo_refused(h)[0] != '\0'; /* the harness has seen that it can be had */
    for (int first = 0; first == 0 || first < c->drifting; first += levels) {
        for (int l = 0; l < levels; l++) {
            char *const given = mirror + 2 * (size_t)l * f.bytes;
            expect(c, dec, &f, false, first + l, given);
            DEVICE_CALL(d, copy, field[l % fields], given, f.bytes, s);
            if (noise) delay(d, noise, s);
            halo_begin(h, field[l % fields], s);
            halo_progress(h);
            if (noise) delay(d, noise, s);
            halo_end(h);
            DEVICE_CALL(d, copy, given + f.bytes, field[l % fields], f.bytes, s);
        }
        DEVICE_CALL(d, stream_sync, s);
        for (int l = 0; l < levels; l++) {
            char *const wanted = mirror + 2 * (size_t)l * f.bytes;
            expect(c, dec, &f, true, first + l, wanted);
            wrong += memcmp(wanted + f.bytes, wanted, f.bytes) != 0;
        }
    }
    for (int k = 0; k < DECOMP_NEIGHBOURS; k++)
        neighbours += dec->neighbour[k] >= 0 && (c->corners || decomp_dx[k] == 0 || decomp_dy[k] == 0);
    wrong += halo_neighbours(h) != neighbours || (halo_sent_bytes(h) > 0) != (neighbours > 0);
    halo_destroy(&h);
    for (int i = 0; i < fields; i++) DEVICE_CALL(d, free, DEVICE_MEMORY_DEVICE, field[i]);
    if (noise) DEVICE_CALL(d, free, DEVICE_MEMORY_DEVICE, noise);
    DEVICE_CALL(d, free, DEVICE_MEMORY_PINNED, mirror);
    DEVICE_CALL(d, stream_destroy, &s);
    return wrong;
}

/* The case on these ranks; false where none can be arranged like that. */
static bool try_case(device *d, transport_kind t, const exchange_case *c, MPI_Comm comm)
{
    decomp dec = { .nx = c->nx,
                   .ny = c->ny,
                   .ranks_x = c->ranks_x,
                   .periodic_x = c->periodic_x,
                   .periodic_y = c->periodic_y,
                   .rank = ranks_mine(comm) };
    sentence why;
    const bool fits = decomp_make(&dec, ranks_count(comm), c->depth, &why);
    const long wrong = harness_sum(fits ? exchange(d, t, c, &dec, comm) : 0);
    if (wrong)
        fail_msg("%ld wrong: %lld x %lld on %d of %d ranks in %d columns, depth %d, periodic %d %d, corners "
                 "%d, %s",
                 wrong, (long long)c->nx, (long long)c->ny, ranks_count(comm), harness.ranks, c->ranks_x,
                 c->depth, c->periodic_x, c->periodic_y, c->corners, dtype_name(c->type));
    return harness_sum(fits) > 0;
}

/* One in `every` of them, in turn on one of the communicators that the ranks are in, side by side; that of
 * all ranks is there twice, with others in between. */
static void cases(device *d, transport_kind t, int every)
{
    static const int64_t grids[][2] = { { 37, 29 }, { 131, 1 }, { 16, 65 }, { 6, 23 }, { 90, 4 } };
    static const int depths[] = { 1, 2, 5 };
    const int colour[] = { 0, harness.rank / 2, 0, harness.rank % 2 };
    enum { COMMUNICATORS = sizeof colour / sizeof *colour };
    MPI_Comm comm[COMMUNICATORS];
    int tried = 0, number = 0;
    for (int i = 0; i < COMMUNICATORS; i++) {
        MPI_CHECK(MPI_Comm_split(harness.comm, colour[i], harness.rank, &comm[i]));
        MPI_CHECK(MPI_Comm_set_errhandler(comm[i], MPI_ERRORS_RETURN));
    }
    for (size_t g = 0; g < sizeof grids / sizeof *grids; g++)
        for (int ranks_x = 1; ranks_x <= harness.ranks; ranks_x++)
            for (size_t k = 0; k < sizeof depths / sizeof *depths; k++)
                for (int bits = 0; bits < 16; bits++) {
                    if (((int)g + ranks_x + (int)k + bits) % every != 0) continue;
                    const exchange_case c = { grids[g][0], grids[g][1], ranks_x, depths[k],
                                              bits & 1, bits & 2, bits & 4, bits & 8 ? DTYPE_F64 : DTYPE_F32,
                                              0 };
                    tried += try_case(d, t, &c, comm[(number + number / 16) % COMMUNICATORS]);
                    number++;
                }
    for (int i = 0; i < COMMUNICATORS; i++) MPI_CHECK(MPI_Comm_free(&comm[i]));
    assert_true(tried * every >= 48);
}

/* Copies out, messages and copies in of many chunks run beside each other. */
static void in_chunks(device *d)
{
    const int64_t usual = message_chunk_bytes;
    message_chunk_bytes = 256;
    cases(d, TRANSPORT_STAGED, 9);
    message_chunk_bytes = usual;
}

/* Rows of several chunks of a part (peer_exchange_cuda.cu): whole vectors, and single cells. */
static void long_rows(device *d)
{
    for (int odd = 0; odd < 2; odd++) {
        const exchange_case c = { (5 << 18) + odd, 4 * harness.ranks, 1, 1, .periodic_y = true,
                                  .type = DTYPE_F64 };
        assert_true(try_case(d, TRANSPORT_PEER, &c, harness.comm));
    }
}

/* Tiny exchanges in a ring of rows. */
static void drifting(device *d, transport_kind t)
{
    /* 3 ranks on 2 GPUs: by two of them */
    const bool shared = harness_sum(d->kind == DEVICE_HOST || harness.ranks_on_device > 1) > 0;
    const int exchanges = t != TRANSPORT_PEER ? 300 : shared ? 2000 : 100000;
    const exchange_case c = { 40, 3 * harness.ranks, 1, 2, .periodic_y = true, .drifting = exchanges };
    assert_true(try_case(d, t, &c, harness.comm));
    print_message("%d exchanges with delays\n", exchanges);
}

/* The same again and again: descriptors that are left behind grow each time; libraries take some once or
 * twice. */
static bool descriptors_grow(device *d, transport_kind t)
{
    enum { TIMES = 6 };
    int before = INT_MAX, rises = 0;
    for (int i = 0; i < TIMES; i++) {
        cases(d, t, 19);
        const int held = harness_descriptors();
        rises += held > before;
        before = held;
    }
    return rises == TIMES - 1;
}

static device as_made;
static long blocks;

static int counted_alloc(device *d, device_memory where, size_t bytes, void **out)
{
    blocks++;
    return as_made.alloc(d, where, bytes, out);
}

static int counted_free(device *d, device_memory where, void *p)
{
    blocks--;
    return as_made.free(d, where, p);
}

/* And a mixture, where mapped is tried: each of its messages has to find its own way. */
static void every_choice(device *d, transport_kind t)
{
    const bool cuda = d->kind == DEVICE_CUDA;
    const int every = SANITIZED ? 13 : harness.ranks < 3 ? 1 : cuda || harness.ranks > 4 ? 5 : 3;
    as_made = *d;
    d->alloc = counted_alloc;
    d->free = counted_free;
    blocks = 0;
    cases(d, t, every);
    if (t == TRANSPORT_STAGED && cuda) in_chunks(d);
    if (t == TRANSPORT_PEER && cuda) long_rows(d);
    if (t == TRANSPORT_MAPPED && deferred_is(d)) cases(d, TRANSPORT_KINDS, every);
    if (harness.ranks == 2 || harness.ranks == 3) drifting(d, t);
    assert_int_equal(harness_sum(harness.ranks == 3 && descriptors_grow(d, t)), 0);
    assert_int_equal(harness_sum(blocks), 0);
}

int main(int argc, char **argv) { return harness_main_every_way(argc, argv, every_choice); }
