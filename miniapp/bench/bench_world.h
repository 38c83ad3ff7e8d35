/* Shared by the families that all ranks climb together: who exchanges with whom, and cells that tell their
 * place. ladder_case's `world` points at one. */
#pragma once

#include "ladder/ladder.h"
#include "ranks/decomp.h"
#include "ranks/timer.h"
#include "topology/topology.h"

typedef struct bench_world {
    const topology *top; /* one device per rank */
    const char *dir;     /* where files go */
    MPI_Comm pairs;      /* ranks two by two; one for all exchanges of pairs: nccl keeps its own there */
    int sender;          /* of a pair's two ranks the one that sends one way */
    int link;            /* WEFT_FAULT=slow_link:NUMBER means this one; -1: none does */
} bench_world;

/* The ranks of top->comm, in its order. Collective, as is the next. top and dir are not owned. */
bench_world bench_world_create(const topology *top, const char *dir);
void bench_world_destroy(bench_world *w);

static inline const bench_world *bench_world_of(const ladder_case *c) { return c->world; }

/* A rung's variant: how cells travel (a transport, or a way of the family's own), and how the domain is cut
 * among ranks: in rows, along both axes, or in two halves between two ranks each. */
typedef enum bench_cut { BENCH_ROWS, BENCH_BLOCKS, BENCH_PAIRS, BENCH_CUTS } bench_cut;
static inline bench_cut bench_cut_of(const ladder_rung *r) { return (bench_cut)(r->variant % BENCH_CUTS); }
static inline int bench_way_of(const ladder_rung *r) { return r->variant / BENCH_CUTS; }

/* A family's `refusal`: of one that cuts a domain. */
const char *bench_world_uncut(const ladder_rung *r, device_kind kind, int ranks);

/* Ranks along each axis, as even as can be. */
void bench_world_grid(bench_cut cut, int ranks, int *ranks_x, int *ranks_y);
/* This rank's part of nx x ny cells, cut as the rung says. False, with c->missing: rows do not suffice. */
bool bench_world_decomp(ladder_case *c, MPI_Comm comm, int64_t nx, int64_t ny, bool periodic, int depth,
                        decomp *dec);

/* The state of a rung whose ranks exchange the cells of a field begins with this. */
typedef struct bench_field {
    decomp dec;
    field_shape shape;
    int64_t (*place)(const decomp *d, int64_t x, int64_t y); /* whose cell c->out has there in the end */
} bench_field;
/* Fills a rank's own cells, on its device, with random ones that tell their global place; around them all is
 * poisoned. verify: does each cell of c->out, ghosts included, have its place, unless that is negative? */
int bench_world_fill(ladder_case *c, void *field);
int bench_world_verify(ladder_case *c, ladder_verdict *v);
