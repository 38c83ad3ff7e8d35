#include "bench/bench_world.h"

#include <stdlib.h>
#include <string.h>

#include "ladder/ladder_direct.h"
#include "ranks/check.h"
#include "ranks/ranks.h"
#include "transports/transport.h"

bench_world bench_world_create(const topology *top, const char *dir)
{
    bench_world w = { .top = top, .dir = dir, .link = -1 };
    MPI_CHECK(MPI_Comm_split(top->comm, ranks_mine(top->comm) / 2, 0, &w.pairs));
    return w;
}

void bench_world_destroy(bench_world *w)
{
#if WEFT_CUDA
    if (!ladder_nvshmem.missing) ladder_nvshmem.stop();
#endif
    MPI_CHECK(MPI_Comm_free(&w->pairs));
}

/* ---- domains ---- */

void bench_world_grid(bench_cut cut, int ranks, int *ranks_x, int *ranks_y)
{
    *ranks_y = ranks;
    for (int y = 2; cut == BENCH_BLOCKS && y * y <= ranks; y++)
        if (ranks % y == 0) *ranks_y = y;
    *ranks_x = ranks / *ranks_y;
}

const char *bench_world_uncut(const ladder_rung *r, device_kind kind, int ranks)
{
    int x, y;
    (void)kind;
    bench_world_grid(bench_cut_of(r), ranks, &x, &y);
    if (bench_cut_of(r) == BENCH_BLOCKS && x == 1) return "needs at least 4 ranks, not a prime number";
    return bench_cut_of(r) == BENCH_PAIRS && ranks % 2 != 0 ? "needs an even number of ranks" : NULL;
}

bool bench_world_decomp(ladder_case *c, MPI_Comm comm, int64_t nx, int64_t ny, bool periodic, int depth,
                        decomp *dec)
{
    const int ranks = ranks_count(comm);
    sentence why;
    *dec = (decomp){
        .nx = nx, .ny = ny, .periodic_x = periodic, .periodic_y = periodic, .rank = ranks_mine(comm)
    };
    bench_world_grid(bench_cut_of(c->rung), ranks, &dec->ranks_x, &dec->ranks_y);
    if (decomp_make(dec, ranks, depth, &why)) return true;
    return sentence_refuse(&c->missing, "needs at least one row per rank");
}

int bench_world_fill(ladder_case *c, void *field)
{
    const bench_field *on = c->state;
    const field_shape *f = &on->shape;
    const box own = on->dec.own;
    const int code = ladder_poison(c, field, f->bytes);
    return code ? code : ladder_fill_field(c, f, field, field_own(f), on->dec.nx, own.x0, own.y0);
}

int bench_world_verify(ladder_case *c, ladder_verdict *v)
{
    const bench_field *on = c->state;
    const field_shape *f = &on->shape;
    const topology *top = bench_world_of(c)->top;
    char *host = CHECK_ALLOC(malloc(f->bytes));
    MPI_CHECK(MPI_Barrier(top->comm)); /* where others store into our memory, they have done so */
    const int code = ladder_fetch(c, host, c->out, f->bytes);
    for (int64_t y = -f->depth_y; y < f->ny + f->depth_y && v->right && !code; y++)
        for (int64_t x = -f->depth_x; x < f->nx + f->depth_x && v->right; x++) {
            const int64_t at = on->place(&on->dec, x, y);
            double wanted;
            if (at < 0) continue;
            ladder_random(c->type, &wanted, at, 1);
            if (memcmp(field_at(f, host, x, y), &wanted, dtype_bytes(c->type)) != 0)
                ladder_wrong(v, "rank %d: cell (%lld, %lld) is not that of place %lld", top->rank,
                             (long long)x, (long long)y, (long long)at);
        }
    free(host);
    return code;
}
