/* See transport_selection.h. A probe runs the transport three times over a small field of the same process grid, so that both
 * buffers of a transport that has two are used again, and compares every ghost with the cell it stands for. */
#include "exchange/transport_selection.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ranks/check.h"
#include "ranks/hosts.h"
#include "ranks/timer.h"

enum { PROBE_LEVELS = 3, BATCHES = 3, EXCHANGES_MAX = 20 };
static const double margin = 0.1;
/* A step over peer needs no exchange where it is one launch, so an exchange by itself overstates what peer costs. */
static const double peer_weight = 0.5;
static const double trial_s = 0.03; /* the most that the timing of one candidate on one kind of link is to take */

const char *const link_kind_name[LINK_KINDS] = { "inside a host", "between hosts" };

/* ---- links ---- */

/* The kind of link in every direction; -1 for none. */
static void find_kinds(const decomp *dec, bool with_y, bool corners, MPI_Comm comm, int kind[DECOMP_NEIGHBOURS])
{
    int rank;
    MPI_CHECK(MPI_Comm_rank(comm, &rank));
    hosts *h = hosts_create(comm);
    for (int k = 0; k < DECOMP_NEIGHBOURS; k++) {
        const int other = dec->neighbour[k];
        const bool corner = decomp_dx[k] != 0 && decomp_dy[k] != 0;
        kind[k] = -1;
        if (other < 0 || (corner && !corners) || (decomp_dy[k] != 0 && !with_y)) continue;
        kind[k] = h->of[other] == h->of[rank] ? LINK_INSIDE_HOST : LINK_BETWEEN_HOSTS;
    }
    hosts_destroy(&h);
}

/* The transport on the links of one kind, the other links left out. */
static transport_choice choice_on(const transport_selection *sel, transport_kind t, link_kind kind)
{
    transport_choice c;
    for (int k = 0; k < DECOMP_NEIGHBOURS; k++) c.toward[k] = sel->kind[k] == (int)kind ? t : TRANSPORT_KINDS;
    return c;
}

transport_selection transport_selection_create(const decomp *dec, device *d, const field_shape *shape, void *field, int depth,
                                               bool corners, double budget_s, MPI_Comm comm)
{
    transport_selection sel = { .dec = dec, .d = d, .shape = shape, .field = field, .depth = depth, .corners = corners, .comm = comm,
                                .begin_s = timer_now_s(), .budget_s = budget_s, .choice = transport_choice_of_all(TRANSPORT_STAGED) };
    find_kinds(dec, shape->depth_y > 0, corners, comm, sel.kind);
    for (int k = 0; k < DECOMP_NEIGHBOURS; k++)
        if (sel.kind[k] >= 0) sel.links[sel.kind[k]]++;
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, sel.links, LINK_KINDS, MPI_INT, MPI_SUM, comm));
    for (int t = 0; t < TRANSPORT_KINDS; t++)
        for (int kind = 0; kind < LINK_KINDS; kind++) sel.trial[t][kind].seconds = sel.trial[t][kind].slowest_s = INFINITY;
    return sel;
}

/* ---- the probe ---- */

static void store(const field_shape *f, void *field, int64_t x, int64_t y, double v)
{
    void *at = field_at(f, field, x, y);
    if (f->type == DTYPE_F32)
        *(float *)at = (float)v;
    else
        *(double *)at = v;
}

static double load(const field_shape *f, const void *field, int64_t x, int64_t y)
{
    const void *at = field_at_const(f, field, x, y);
    return f->type == DTYPE_F32 ? (double)*(const float *)at : *(const double *)at;
}

/* Different for every cell, wherever it is seen from, and for every level; exact in f32 on the few cells of a probe. */
static double known(const decomp *dec, int64_t x, int64_t y, int level)
{
    const int64_t gx = (dec->own.x0 + x + dec->nx) % dec->nx, gy = (dec->own.y0 + y + dec->ny) % dec->ny;
    return (double)((gy * dec->nx + gx) * PROBE_LEVELS + level + 1);
}

static void fill_known(const decomp *dec, const field_shape *f, int level, void *mirror)
{
    memset(mirror, 0xFF, f->bytes); /* NaN */
    for (int64_t y = 0; y < f->ny; y++)
        for (int64_t x = 0; x < f->nx; x++) store(f, mirror, x, y, known(dec, x, y, level));
}

static long count_wrong(const transport_selection *sel, const decomp *dec, const field_shape *f, link_kind kind, int level,
                        const void *mirror)
{
    long wrong = 0;
    for (int k = 0; k < DECOMP_NEIGHBOURS; k++) {
        if (sel->kind[k] != (int)kind) continue;
        const box b = halo_ghosts(f, sel->depth, k);
        for (int64_t y = b.y0; y < b.y1; y++)
            for (int64_t x = b.x0; x < b.x1; x++) wrong += load(f, mirror, x, y) != known(dec, x, y, level);
    }
    return wrong;
}

/* The wrong ghosts of this rank. Ends the halo. */
static long exchange_known(const transport_selection *sel, halo *h, const decomp *dec, const field_shape *f, link_kind kind)
{
    device *d = sel->d;
    void *field[PROBE_LEVELS], *mirror;
    device_stream *s;
    long wrong = 0;
    DEVICE_CALL(d, stream_create, true, &s);
    DEVICE_CALL(d, alloc, DEVICE_MEMORY_PINNED, f->bytes, &mirror);
    for (int level = 0; level < PROBE_LEVELS; level++) {
        DEVICE_CALL(d, alloc, DEVICE_MEMORY_DEVICE, halo_field_bytes(d, f), &field[level]);
        fill_known(dec, f, level, mirror);
        DEVICE_CALL(d, copy, field[level], mirror, f->bytes, s);
        DEVICE_CALL(d, stream_sync, s);
    }
    for (int level = 0; level < PROBE_LEVELS; level++) {
        halo_begin(h, field[level], s);
        halo_end(h);
    }
    for (int level = 0; level < PROBE_LEVELS; level++) {
        DEVICE_CALL(d, copy, mirror, field[level], f->bytes, s);
        DEVICE_CALL(d, stream_sync, s);
        wrong += count_wrong(sel, dec, f, kind, level, mirror);
    }
    halo_destroy(&h); /* before its fields */
    for (int level = 0; level < PROBE_LEVELS; level++) DEVICE_CALL(d, free, DEVICE_MEMORY_DEVICE, field[level]);
    DEVICE_CALL(d, free, DEVICE_MEMORY_PINNED, mirror);
    DEVICE_CALL(d, stream_destroy, &s);
    return wrong;
}

/* Does it bring every cell of a small field on the same process grid? */
static bool probe(const transport_selection *sel, transport_kind t, link_kind kind, sentence *why)
{
    const transport_choice choice = choice_on(sel, t, kind);
    const decomp *big = sel->dec;
    decomp small;
    const int64_t side = 2 * (int64_t)sel->depth + 3;
    if (!decomp_make(&small, big->ranks_x * side, big->ny == 1 ? 1 : big->ranks_y * side, big->periodic_x, big->periodic_y,
                     big->ranks_x * big->ranks_y, big->rank, big->ranks_x, big->ranks_y, sel->depth, why))
        return false;
    const field_shape f = field_shape_make(sel->shape->type, box_width(small.own), box_height(small.own), sel->shape->depth_x,
                                           sel->shape->depth_y);
    halo *h = halo_create(&small, sel->d, &f, sel->depth, sel->corners, &choice, sel->comm);
    if (halo_refused(h)[0]) {
        sentence_set(why, "%s", halo_refused_reason(h));
        halo_destroy(&h);
        return false;
    }
    long wrong = exchange_known(sel, h, &small, &f, kind);
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_LONG, MPI_SUM, sel->comm));
    if (wrong) sentence_set(why, "%ld cells arrived wrong in a trial exchange", wrong);
    return wrong == 0;
}

/* ---- the time ---- */

static double batch_s(const transport_selection *sel, halo *h, int exchanges, device_stream *s)
{
    MPI_CHECK(MPI_Barrier(sel->comm));
    const double begin_s = timer_now_s();
    for (int i = 0; i < exchanges; i++) {
        halo_begin(h, sel->field, s);
        halo_end(h);
    }
    DEVICE_CALL(sel->d, stream_sync, s);
    return (timer_now_s() - begin_s) / exchanges;
}

/* Seconds of an exchange on the halo's own sizes, back to back as the steps of a run have them. */
static double time_it(const transport_selection *sel, transport_kind t, link_kind kind)
{
    const transport_choice choice = choice_on(sel, t, kind);
    halo *h = halo_create(sel->dec, sel->d, sel->shape, sel->depth, sel->corners, &choice, sel->comm);
    device_stream *s;
    double best_s = INFINITY;
    DEVICE_CALL(sel->d, stream_create, true, &s);
    (void)batch_s(sel, h, 1, s); /* whatever a first use sets up */
    const double one_s = timer_slowest_s(batch_s(sel, h, 1, s), sel->comm), wanted = trial_s / BATCHES / fmax(one_s, 1e-9);
    const int exchanges = wanted < 1 ? 1 : wanted > EXCHANGES_MAX ? EXCHANGES_MAX : (int)wanted;
    for (int i = 0; i < BATCHES; i++) best_s = fmin(best_s, batch_s(sel, h, exchanges, s));
    DEVICE_CALL(sel->d, stream_destroy, &s);
    halo_destroy(&h);
    return best_s;
}

static bool suits(const transport_selection *sel, transport_kind t, link_kind kind, sentence *why)
{
    if (transport_traits_of(t)->one_host && kind == LINK_BETWEEN_HOSTS)
        return sentence_refuse(why, "it does not reach other hosts");
    const double spent_s = timer_slowest_s(timer_now_s() - sel->begin_s, sel->comm);
    if (spent_s < sel->budget_s) return true;
    return sentence_refuse(why, "there was no time left to try it");
}

void transport_selection_try(transport_selection *sel, transport_kind t)
{
    for (link_kind kind = 0; kind < LINK_KINDS; kind++) {
        transport_selection_trial *trial = &sel->trial[t][kind];
        trial->tried = true;
        if (sel->links[kind] == 0 || !suits(sel, t, kind, &trial->why) || !probe(sel, t, kind, &trial->why)) continue;
        trial->seconds = time_it(sel, t, kind);
        trial->slowest_s = timer_slowest_s(trial->seconds, sel->comm);
    }
}

void transport_selection_leave_out(transport_selection *sel, transport_kind t, const char *why)
{
    for (link_kind kind = 0; kind < LINK_KINDS; kind++) sentence_set(&sel->trial[t][kind].why, "%s", why);
}

/* ---- the decision ---- */

static double cost_s(const double seconds[TRANSPORT_KINDS], transport_kind t)
{
    return t == TRANSPORT_PEER ? peer_weight * seconds[t] : seconds[t];
}

transport_kind transport_selection_cheapest(const double seconds[TRANSPORT_KINDS])
{
    transport_kind best = TRANSPORT_STAGED;
    for (transport_kind t = 0; t < TRANSPORT_KINDS; t++)
        if (cost_s(seconds, t) < cost_s(seconds, best)) best = t;
    return best;
}

transport_kind transport_selection_pick(const double seconds[TRANSPORT_KINDS], transport_kind favourite)
{
    const transport_kind best = transport_selection_cheapest(seconds);
    return cost_s(seconds, best) < cost_s(seconds, favourite) * (1 - margin) ? best : favourite;
}

static transport_kind favourite_of(const transport_selection *sel, link_kind kind, transport_kind asked)
{
    double seconds[TRANSPORT_KINDS];
    for (transport_kind t = 0; t < TRANSPORT_KINDS; t++) seconds[t] = sel->trial[t][kind].slowest_s;
    return asked != TRANSPORT_AUTO && isfinite(seconds[asked]) ? asked : transport_selection_cheapest(seconds);
}

void transport_selection_decide(transport_selection *sel, transport_kind asked)
{
    enum { TIMES = TRANSPORT_KINDS * LINK_KINDS };
    int ranks;
    double mine[TIMES];
    MPI_CHECK(MPI_Comm_size(sel->comm, &ranks));
    double *all = malloc((size_t)ranks * sizeof mine);
    if (!all) check_fail(__FILE__, __LINE__, "malloc", "out of memory");
    for (int i = 0; i < TIMES; i++) mine[i] = sel->trial[i / LINK_KINDS][i % LINK_KINDS].seconds;
    MPI_CHECK(MPI_Allgather(mine, TIMES, MPI_DOUBLE, all, TIMES, MPI_DOUBLE, sel->comm));
    for (link_kind kind = 0; kind < LINK_KINDS; kind++) sel->favourite[kind] = favourite_of(sel, kind, asked);
    memset(sel->used, 0, sizeof sel->used);
    for (int k = 0; k < DECOMP_NEIGHBOURS; k++) {
        if (sel->kind[k] < 0) continue;
        const link_kind kind = (link_kind)sel->kind[k];
        double slower_end_s[TRANSPORT_KINDS];
        for (int t = 0; t < TRANSPORT_KINDS; t++)
            slower_end_s[t] = fmax(mine[t * LINK_KINDS + (int)kind],
                                   all[sel->dec->neighbour[k] * TIMES + t * LINK_KINDS + (int)kind]);
        sel->choice.toward[k] = sel->favourite[kind] == asked ? asked : transport_selection_pick(slower_end_s, sel->favourite[kind]);
        sel->used[sel->choice.toward[k]]++;
    }
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, sel->used, TRANSPORT_KINDS, MPI_INT, MPI_SUM, sel->comm));
    sel->seconds = timer_slowest_s(timer_now_s() - sel->begin_s, sel->comm);
    free(all);
}

transport_choice transport_selection_for(const transport_selection *sel, const decomp *dec)
{
    transport_choice c = transport_choice_of_all(TRANSPORT_STAGED);
    int kind[DECOMP_NEIGHBOURS];
    find_kinds(dec, true, true, sel->comm, kind);
    for (int k = 0; k < DECOMP_NEIGHBOURS; k++)
        if (kind[k] >= 0) c.toward[k] = sel->favourite[kind[k]];
    return c;
}

bool transport_selection_has_links(const transport_selection *sel)
{
    return sel->links[LINK_INSIDE_HOST] + sel->links[LINK_BETWEEN_HOSTS] > 0;
}

bool transport_selection_passed(const transport_selection *sel, transport_kind t, sentence *why)
{
    for (link_kind kind = 0; kind < LINK_KINDS; kind++) {
        const transport_selection_trial *trial = &sel->trial[t][kind];
        if (sel->links[kind] == 0 || isfinite(trial->slowest_s)) continue;
        return sentence_refuse(why, "%s", trial->why.text[0] ? trial->why.text : "it was not tried");
    }
    return true;
}

transport_kind transport_selection_main(const transport_selection *sel)
{
    transport_kind most = TRANSPORT_STAGED;
    for (transport_kind t = 0; t < TRANSPORT_KINDS; t++)
        if (sel->used[t] > sel->used[most]) most = t;
    return most;
}
