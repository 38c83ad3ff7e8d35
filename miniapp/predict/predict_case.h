/* What is predicted: a kind of run on some number of ranks; and what follows from that alone, on any machine: the cells of a rank,
 * hosts, who moves them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"
#include "step/step_form.h"

enum { PREDICT_TRANSPORTS = TRANSPORT_KINDS, PREDICT_KINDS = KIND_ROWS };
enum { PREDICT_FEEDS = 2 }; /* 0: a host thread enqueues every step; 1: graphs */

typedef struct predict_case {
    kind_id kind;
    dtype type;
    int radius;
    double nx, ny;
    int ranks, ranks_x, ranks_y, per_host;
    step_form form;             /* where it does not transpose */
    int feed;
    transport_kind transport; /* within a host */
    int64_t norm_every;         /* 0: none */
    int block_steps;            /* that one pass takes; 1: no temporal blocking */
    stencil_form stencil;
    boundary sides;             /* of the grid; values do not count */
    double exchange_alone_s;    /* as it was measured, of a step or pass; 0: by the links */
} predict_case;

/* Do kernels move the cells, not MPI? */
static inline bool predict_by_kernels(transport_kind t) { return !transport_traits_of(t)->needs_host; }
static inline bool predict_transposes(const predict_case *c) { return kind_of(c->kind)->transposes > 0; }
static inline bool predict_two_levels(const predict_case *c) { return kind_of(c->kind)->two_levels; }
static inline double predict_cells(const predict_case *c) { return c->nx * c->ny / c->ranks; } /* of a rank */
static inline int predict_hosts(const predict_case *c) { return (c->ranks + c->per_host - 1) / c->per_host; }
