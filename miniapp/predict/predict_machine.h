/* What is predicted: a kind of run on some number of ranks, with what follows from that alone, on any
 * machine: the cells of a rank, hosts, who moves them. And what a machine can do, as its records tell: rates
 * of copies by size, of links, of transposes by ranks, of passes by stencil, and what a step costs beside
 * these. */
#pragma once

#include <math.h>
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
static inline double predict_host_doublings(const predict_case *c) { return ceil(log2(predict_hosts(c))); }

/* ---- the machine ---- */

enum { PREDICT_RATES_MAX = 64, PREDICT_ORDERS = 9, PREDICT_PASSES_MAX = 128, PREDICT_TRANSPOSES_MAX = 16 };

typedef struct predict_link {
    double alpha_s, bytes_per_s;
} predict_link; /* alpha_s NaN: not known; bytes_per_s INFINITY: one size of message was measured */

typedef struct predict_transpose { /* sent by a rank in a distributed transpose */
    int ranks;
    double bytes_per_s;
} predict_transpose;

typedef struct predict_pass {
    stencil_form stencil;
    bool two_levels;
    dtype type;
    int radius, steps;
    double cell_s; /* of a large field on one rank: of one of its predict_places, in all steps together */
} predict_pass;

typedef struct predict_machine {
    bool cuda;
    char name[96];
    int ranks_per_host; /* the most that any record has; 0: not known */
    double launch_s;
    bool launch_assumed;
    struct {
        double bytes, bytes_per_s;
    } copy[PREDICT_RATES_MAX]; /* of one device while all copy, by size, ascending */
    int copies;
    /* by kind, f32 or f64, radius; 1 where not known */
    double efficiency[PREDICT_KINDS][2][PREDICT_ORDERS];
    double inkernel_s[PREDICT_FEEDS]; /* of a step with in-kernel exchange, alone */
    double neighbours_s[PREDICT_FEEDS]; /* ... and what neighbours add */
    double overlapped_s[PREDICT_TRANSPORTS][PREDICT_FEEDS];          /* of an overlapped step */
    double norm_s;      /* inside a host */
    double norm_hop_s;  /* ... and for each doubling of the hosts; NaN: the latency of an exchange between
                         * hosts */
    double norm_cell_s; /* of a cell, where a block of steps takes a norm with it */
    predict_pass pass[PREDICT_PASSES_MAX]; /* blocks of steps that a record tells of */
    int passes;
    double pass_fixed_s[PREDICT_FEEDS]; /* of a block of steps, whatever its size */
    double pass_neighbours_s; /* and more with neighbours */
    int processors; /* SMs of a GPU, which no record has; 0: passes have no strips */
    predict_link exchange[PREDICT_TRANSPORTS];   /* within a host; bytes of one neighbour each way */
    /* by ranks; those with 0 ranks are free */
    predict_transpose transpose[PREDICT_TRANSPORTS][PREDICT_TRANSPOSES_MAX];
    predict_link between;                        /* hosts: bytes that leave one */
    bool between_assumed;                        /* no record measured it */
    double file_bytes_per_s;                     /* all ranks; NaN: not known */
} predict_machine;

/* No machine: costs as multiples of the launch (NaN: an H200's on GPUs, none on a host), nothing else known.
 * */
void predict_machine_init(predict_machine *m, bool cuda, double launch_s);
/* Keeps the best rate of copies of about that size. */
void predict_add_copy(predict_machine *m, double bytes, double bytes_per_s);
double predict_copy_rate(const predict_machine *m, double bytes);
/* NULL: none on that number of ranks. */
const predict_transpose *predict_transpose_of(const predict_machine *m, transport_kind t, int ranks);
/* Takes the place of what was known of as many ranks; ignored where there is no room. */
void predict_add_transpose(predict_machine *m, transport_kind t, int ranks, double bytes_per_s);
/* Of the nearest number of ranks, by their ratio; NaN: none known. */
double predict_transpose_rate(const predict_machine *m, transport_kind t, int ranks);
