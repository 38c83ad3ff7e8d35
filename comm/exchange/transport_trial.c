/* A probe runs the transport three times over a small field of the same process grid, so that both buffers of
 * a transport that has two are used again, and compares every ghost with its cell. */
#include "exchange/halo.h"

#include <string.h>

#include "ranks/check.h"
#include "ranks/timer.h"
#include "ranks/trial.h"
#include "transports/message.h"

enum { PROBE_LEVELS = 3, EXCHANGES_MAX = 100 };
/* Exchanges follow each other: what disturbs a machine lasts longer than one of some microseconds. */
static const double batch_s = 0.75e-3;

/* The transport on those links, the others left out. */
static transport_choice choice_on(const bool toward[DECOMP_NEIGHBOURS], transport_kind t)
{
    transport_choice c;
    for (int k = 0; k < DECOMP_NEIGHBOURS; k++) c.toward[k] = toward[k] ? t : TRANSPORT_KINDS;
    return c;
}

/* ---- the probe ---- */

/* The bits of a cell: different for every cell, wherever it is seen from, and for every level; in f32 on the
 * few cells of a probe. */
static uint64_t known(const decomp *dec, int64_t x, int64_t y, int level)
{
    const int64_t gx = (dec->own.x0 + x + dec->nx) % dec->nx, gy = (dec->own.y0 + y + dec->ny) % dec->ny;
    return (uint64_t)((gy * dec->nx + gx) * PROBE_LEVELS + level + 1);
}

static void fill_known(const decomp *dec, const field_shape *f, int level, void *mirror)
{
    memset(mirror, 0xFF, f->bytes); /* NaN */
    for (int64_t y = 0; y < f->ny; y++)
        for (int64_t x = 0; x < f->nx; x++) {
            const uint64_t bits = known(dec, x, y, level);
            memcpy(field_at(f, mirror, x, y), &bits, dtype_bytes(f->type));
        }
}

static long count_wrong(const transport_trial *of, const transport_choice *choice, const decomp *dec,
                        const field_shape *f, int level, const void *mirror)
{
    long wrong = 0;
    for (int k = 0; k < DECOMP_NEIGHBOURS; k++) {
        if (choice->toward[k] == TRANSPORT_KINDS) continue;
        const box b = halo_ghosts(f, of->depth, k);
        for (int64_t y = b.y0; y < b.y1; y++)
            for (int64_t x = b.x0; x < b.x1; x++) {
                const uint64_t bits = known(dec, x, y, level);
                wrong += memcmp(field_at_const(f, mirror, x, y), &bits, dtype_bytes(f->type)) != 0;
            }
    }
    return wrong;
}

/* The wrong ghosts of this rank. Ends the halo, before its fields. */
static long exchange_known(const transport_trial *of, const transport_choice *choice, halo *h,
                           const decomp *dec, const field_shape *f)
{
    device *d = of->d;
    const int64_t level_bytes = message_align((int64_t)f->bytes), bytes = PROBE_LEVELS * level_bytes;
    char *fields, *mirror;
    device_stream *s;
    long wrong = 0;
    DEVICE_CALL(d, stream_create, true, &s);
    DEVICE_CALL(d, alloc, DEVICE_MEMORY_PINNED, (size_t)bytes, (void **)&mirror);
    DEVICE_CALL(d, alloc, DEVICE_MEMORY_DEVICE, (size_t)message_block_bytes(bytes), (void **)&fields);
    for (int level = 0; level < PROBE_LEVELS; level++)
        fill_known(dec, f, level, mirror + level * level_bytes);
    DEVICE_CALL(d, copy, fields, mirror, (size_t)bytes, s);
    for (int level = 0; level < PROBE_LEVELS; level++) halo_exchange(h, fields + level * level_bytes, s);
    DEVICE_CALL(d, copy, mirror, fields, (size_t)bytes, s);
    DEVICE_CALL(d, stream_sync, s);
    for (int level = 0; level < PROBE_LEVELS; level++)
        wrong += count_wrong(of, choice, dec, f, level, mirror + level * level_bytes);
    halo_destroy(&h);
    DEVICE_CALL(d, free, DEVICE_MEMORY_DEVICE, fields);
    DEVICE_CALL(d, free, DEVICE_MEMORY_PINNED, mirror);
    DEVICE_CALL(d, stream_destroy, &s);
    return wrong;
}

bool transport_trial_serves(const transport_trial *of, const bool toward[DECOMP_NEIGHBOURS], transport_kind t,
                            sentence *why)
{
    const transport_choice choice = choice_on(toward, t);
    const decomp *big = of->dec;
    const int64_t side = 2 * (int64_t)of->depth + 3;
    decomp small = *big;
    small.nx = big->ranks_x * side, small.ny = big->ny == 1 ? 1 : big->ranks_y * side;
    if (!decomp_make(&small, big->ranks_x * big->ranks_y, of->depth, why)) return false;
    const field_shape f = field_shape_make(of->shape->type, box_width(small.own), box_height(small.own),
                                           of->shape->depth_x, of->shape->depth_y);
    halo *h = halo_create(&small, of->d, &f, of->depth, of->corners, &choice, of->comm);
    if (halo_refused(h)[0]) {
        sentence_set(why, "%s", strchr(halo_refused(h), ' ') + 1); /* without "nccl: " */
        halo_destroy(&h);
        return false;
    }
    long wrong = exchange_known(of, &choice, h, &small, &f);
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_LONG, MPI_SUM, of->comm));
    if (wrong) sentence_set(why, "%ld cells arrived wrong in a trial exchange", wrong);
    return wrong == 0;
}

/* ---- the time ---- */

/* The halo of each transport, and how many exchanges follow each other as the steps of a run have them. */
typedef struct exchanges {
    const transport_trial *of;
    device_stream *s;
    halo *h[TRANSPORT_KINDS];
    int count[TRANSPORT_KINDS];
} exchanges;

static double exchange_s(void *context, int way)
{
    const exchanges *x = context;
    MPI_CHECK(MPI_Barrier(x->of->comm));
    const double begin_s = timer_now_s();
    for (int i = 0; i < x->count[way]; i++) halo_exchange(x->h[way], x->of->field, x->s);
    DEVICE_CALL(x->of->d, stream_sync, x->s);
    return (timer_now_s() - begin_s) / x->count[way];
}

void transport_trial_times(const transport_trial *of, const bool toward[DECOMP_NEIGHBOURS],
                           const transport_kind over[], int count, double seconds[])
{
    exchanges x = { .of = of };
    if (count == 0) return;
    DEVICE_CALL(of->d, stream_create, true, &x.s);
    for (int i = 0; i < count; i++) {
        const transport_choice choice = choice_on(toward, over[i]);
        x.h[i] = halo_create(of->dec, of->d, of->shape, of->depth, of->corners, &choice, of->comm);
        x.count[i] = 1;
        (void)exchange_s(&x, i);
        x.count[i] = trial_repeats(timer_slowest_s(exchange_s(&x, i), of->comm), batch_s, 1, EXCHANGES_MAX);
    }
    trial_run(&(trial){ .ways = count }, exchange_s, &x, seconds, of->comm);
    for (int i = count; i-- > 0;) halo_destroy(&x.h[i]);
    DEVICE_CALL(of->d, stream_destroy, &x.s);
}
