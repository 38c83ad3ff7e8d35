/* A halo over any transport is right on every communicator, whichever came before: two ways to part the
 * ranks, and all of them, in all orders. Once halo and communicator are gone no descriptor, no mapped file and
 * no memory of them is left. ranks: 3 4 gpus: rank */
#include <dirent.h>

#include "ranks/ranks.h"
#include "support/comm_harness.h"
#include "transports/message.h"

enum { PAIRS, ALL, PARITY, COMMUNICATORS, ORDERS = 6, DEPTH = 2, CHUNK_BYTES = 256 };

/* The communicators that the ranks are in, side by side. */
static void part(MPI_Comm comm[COMMUNICATORS])
{
    const int colour[COMMUNICATORS] = { harness.rank / 2, 0, harness.rank % 2 };
    for (int i = 0; i < COMMUNICATORS; i++) {
        MPI_CHECK(MPI_Comm_split(harness.comm, colour[i], harness.rank, &comm[i]));
        MPI_CHECK(MPI_Comm_set_errhandler(comm[i], MPI_ERRORS_RETURN));
    }
}

/* Cells that a ring of these ranks, cut into rows or columns, brings wrongly. */
static long exchange(device *d, transport_kind t, bool columns, MPI_Comm comm)
{
    const int ranks = ranks_count(comm);
    const transport_choice choice = transport_choice_of_all(t);
    decomp dec;
    sentence why;
    device_stream *s;
    float *host;
    void *field;
    if (!decomp_make(&dec, 240, 24, columns, !columns, ranks, ranks_mine(comm), columns ? ranks : 1, 0, DEPTH,
                     &why))
        check_fail(__FILE__, __LINE__, "decomp_make", why.text);
    const field_shape f = field_shape_make(DTYPE_F32, box_width(dec.own), box_height(dec.own), DEPTH, DEPTH);
    halo *h = halo_create(&dec, d, &f, DEPTH, false, &choice, comm);
    long wrong = halo_refused(h)[0] != '\0';
    DEVICE_CALL(d, stream_create, false, &s);
    DEVICE_CALL(d, alloc, DEVICE_MEMORY_PINNED, f.bytes, (void **)&host);
    const size_t field_bytes = deferred_is(d) ? f.bytes : halo_field_bytes(d->kind, &f);
    DEVICE_CALL(d, alloc, DEVICE_MEMORY_DEVICE, field_bytes, &field);
    memset(host, 0xff, f.bytes);
    for (int64_t y = 0; y < f.ny; y++)
        for (int64_t x = 0; x < f.nx; x++)
            harness_store(&f, host, x, y, (double)((dec.own.y0 + y) * dec.nx + dec.own.x0 + x));
    DEVICE_CALL(d, copy, field, host, f.bytes, s);
    halo_exchange(h, field, s);
    DEVICE_CALL(d, copy, host, field, f.bytes, s);
    DEVICE_CALL(d, stream_sync, s);
    const int out_x = columns && ranks > 1 ? DEPTH : 0, out_y = !columns && ranks > 1 ? DEPTH : 0;
    for (int64_t y = -out_y; y < f.ny + out_y; y++)
        for (int64_t x = -out_x; x < f.nx + out_x; x++) {
            const int64_t gx = (dec.own.x0 + x + dec.nx) % dec.nx, gy = (dec.own.y0 + y + dec.ny) % dec.ny;
            wrong += *(const float *)field_at(&f, host, x, y) != (float)(gy * dec.nx + gx);
        }
    halo_destroy(&h);
    DEVICE_CALL(d, free, DEVICE_MEMORY_DEVICE, field);
    DEVICE_CALL(d, free, DEVICE_MEMORY_PINNED, host);
    DEVICE_CALL(d, stream_destroy, &s);
    return wrong;
}

/* The first communicator twice: the others came in between. */
static long in_order(device *d, transport_kind t, const int order[COMMUNICATORS])
{
    MPI_Comm comm[COMMUNICATORS];
    long wrong = 0;
    part(comm);
    for (int i = 0; i <= COMMUNICATORS; i++)
        for (int columns = 0; columns < 2; columns++)
            wrong += exchange(d, t, columns, comm[order[i % COMMUNICATORS]]);
    for (int i = 0; i < COMMUNICATORS; i++) MPI_CHECK(MPI_Comm_free(&comm[order[i]]));
    return harness_sum(wrong);
}

/* ---- what a process holds ---- */

enum { DESCRIPTORS, MAPPED_FILES, BLOCKS, GPU_BYTES, HOLDS };
static const char *const held_name[HOLDS] = { "descriptors", "mapped files", "blocks of memory",
                                              "bytes of GPU memory" };

static device as_made;
static size_t blocks;

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

static void look(device *d, size_t held[HOLDS])
{
    char line[512];
    size_t free_bytes = 0, all_bytes = 0;
    DIR *const fds = opendir("/proc/self/fd");
    FILE *const maps = fopen("/proc/self/maps", "r");
    assert_true(fds && maps);
    memset(held, 0, HOLDS * sizeof *held);
    while (readdir(fds)) held[DESCRIPTORS]++;
    while (fgets(line, sizeof line, maps))
        held[MAPPED_FILES] += strstr(line, "/dev/shm/") != NULL;
    (void)closedir(fds);
    (void)fclose(maps);
    held[BLOCKS] = blocks;
    if (d->kind != DEVICE_CUDA || deferred_is(d)) return;
    DEVICE_CALL(d, memory_info, &free_bytes, &all_bytes);
    held[GPU_BYTES] = all_bytes - free_bytes;
}

/* Every order does the same, so what is left behind grows each time; libraries take some once or twice. */
static void every_order(device *d, transport_kind t)
{
    static const int order[ORDERS][COMMUNICATORS] = { { PAIRS, ALL, PARITY }, { PAIRS, PARITY, ALL },
                                                      { ALL, PAIRS, PARITY }, { ALL, PARITY, PAIRS },
                                                      { PARITY, ALL, PAIRS }, { PARITY, PAIRS, ALL } };
    const int64_t usual_bytes = message_chunk_bytes;
    size_t held[HOLDS], before[HOLDS] = { 0 };
    int rises[HOLDS] = { 0 };
    as_made = *d;
    d->alloc = counted_alloc;
    d->free = counted_free;
    message_chunk_bytes = CHUNK_BYTES;
    for (int k = 0; k < ORDERS; k++) {
        const long wrong = in_order(d, t, order[k]);
        if (wrong) fail_msg("order %d: %ld cells are wrong", k, wrong);
        look(d, held);
        for (int i = 0; i < HOLDS; i++) {
            rises[i] += k > 0 && held[i] > before[i];
            before[i] = held[i];
        }
    }
    message_chunk_bytes = usual_bytes;
    d->alloc = as_made.alloc;
    d->free = as_made.free;
    for (int i = 0; i < HOLDS; i++)
        if (harness_sum(rises[i] == ORDERS - 1))
            fail_msg("%s grow with every order, to %zu here", held_name[i], held[i]);
}

int main(int argc, char **argv) { return harness_main_every_way(argc, argv, every_order); }
