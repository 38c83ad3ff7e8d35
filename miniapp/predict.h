/* A model of one time step from a machine's ceilings: what bytes, launches and messages a step has, and what each costs.
 *
 *   memory    words x cells of a rank, at the rate of device copies of that many bytes (times what the stencil reached of it on
 *             one rank, where a record says so)
 *   arithmetic  what a sweep of several steps (run.fuse) takes beyond the copy of its field (predict_fused.c), cells computed
 *             twice and the wait for the last warps included (predict_strips.c); its exchange is as many steps deep, and
 *             hidden behind all of them
 *   launches  a fixed cost a step or sweep, by its form and by who feeds it; and what the thread that enqueues takes longer than
 *             all the rest
 *   exchange  alpha + bytes / beta of the link class: hidden behind the interior where MPI moves the cells, behind a fifth of it
 *             where kernels do (they take the interior's place); of whole steps and of sweeps a fixed cost of having neighbours
 *             at all
 *   turn      the distributed transpose: the bytes that leave a rank at the rate of the all-to-all on as many ranks, or nearly
 *   norm      a fixed cost, with an all-reduce over the hosts; of fused steps also what the sweep that makes its level takes
 *             longer, or, where no sweep can, the single step that it wants
 *
 * Not in it: noise of the machine, other jobs, congestion between switches, caches beyond what copies of that size show, several
 * lanes, columns of whole steps and of sweeps. Costs that no record tells are multiples of a kernel's launch, as they were on
 * H200s. */
#ifndef PREDICT_H
#define PREDICT_H

#include <stdbool.h>
#include <stdint.h>

#include "config.h"

enum {
    PREDICT_RATES_MAX = 64,
    PREDICT_TRANSPORTS = CONFIG_TRANSPORT_COPY + 1,
    PREDICT_KINDS = CONFIG_SWEEP + 1,
    PREDICT_ORDERS = 9,
    PREDICT_SWEEPS_MAX = 128,
    PREDICT_TURNS_MAX = 16
};
typedef enum predict_form { PREDICT_WHOLE, PREDICT_SPLIT, PREDICT_TURNED } predict_form;
enum { PREDICT_FEEDS = 2 }; /* 0: a host thread enqueues every step; 1: graphs */

typedef struct predict_link {
    double alpha_s, bytes_per_s;
} predict_link; /* alpha_s NaN: not known */

typedef struct predict_turn { /* sent by a rank in a distributed transpose */
    int ranks;
    double bytes_per_s;
} predict_turn;

typedef struct predict_sweep {
    config_kind kind;
    dtype type;
    int radius, steps;
    bool line; /* a grid of one dimension */
    double cell_s; /* of a large field on one rank: of one of its predict_places, in all steps together */
    double byte_s; /* of the same, of a byte that comes or goes */
    bool by_memory; /* it moves its bytes about as fast as any sweep */
} predict_sweep;

typedef struct predict_machine {
    bool cuda;
    char name[96];
    double launch_s;
    struct {
        double bytes, bytes_per_s;
    } copy[PREDICT_RATES_MAX]; /* of one device while all copy, by size, ascending */
    int copies;
    double efficiency[PREDICT_KINDS][2][PREDICT_ORDERS];        /* by kind, f32 or f64, radius; 1 where not known */
    double whole_s[PREDICT_FEEDS], neighbours_s[PREDICT_FEEDS]; /* of a whole step: alone, and more with neighbours */
    double split_s[PREDICT_TRANSPORTS][PREDICT_FEEDS];          /* of a split step */
    double host_s[PREDICT_TRANSPORTS]; /* split steps over kernels: of the thread that enqueues one; 0: not known */
    double norm_s;
    double norm_cell_s; /* of a cell, where a sweep of several steps takes a norm with it */
    predict_sweep sweep[PREDICT_SWEEPS_MAX]; /* those of several steps that a record tells of */
    int sweeps;
    double sweep_fixed_s[PREDICT_FEEDS]; /* of a sweep of several steps, whatever its size */
    double sweep_neighbours_s; /* and more with neighbours */
    int warps, strip_bytes; /* of sweeps on a GPU: how many it holds at a time, what one has of a row; 0: no strips */
    predict_link exchange[PREDICT_TRANSPORTS];   /* within a host; bytes of one neighbour each way */
    predict_turn turn[PREDICT_TRANSPORTS][PREDICT_TURNS_MAX]; /* by ranks; those with 0 ranks are free */
    predict_link between;                        /* hosts: bytes that leave one */
    double file_bytes_per_s;                     /* all ranks; NaN: not known */
} predict_machine;

typedef struct predict_case {
    config_kind kind;
    dtype type;
    int radius;
    double nx, ny;
    int ranks, ranks_x, ranks_y, per_host;
    predict_form form;
    int feed;
    config_transport transport; /* within a host */
    int64_t norm_every;         /* 0: none */
    int fuse;                   /* steps in one sweep */
    bool mirrors;               /* dirichlet or neumann sides */
    double exchange_alone_s;    /* as it was measured, of a step or sweep; 0: by the links */
} predict_case;

typedef struct predict_time {
    double memory_s, arithmetic_s, launches_s, exchange_s, turn_s, norm_s; /* what each adds to the step */
    double step_s;
    double exchange_alone_s;
    const char *bottleneck; /* the part that adds most */
} predict_time;

/* No machine: costs as multiples of the launch, nothing else known. */
void predict_machine_init(predict_machine *m, bool cuda, double launch_s);
/* Keeps the best rate of copies of about that size. */
void predict_add_copy(predict_machine *m, double bytes, double bytes_per_s);
double predict_copy_rate(const predict_machine *m, double bytes);
const predict_turn *predict_turn_of(const predict_machine *m, config_transport t, int ranks); /* NULL: none on that number of ranks */
/* Takes the place of what was known of as many ranks; ignored where there is no room. */
void predict_add_turn(predict_machine *m, config_transport t, int ranks, double bytes_per_s);
/* Of the nearest number of ranks, by their ratio; NaN: none known. */
double predict_turn_rate(const predict_machine *m, config_transport t, int ranks);

bool predict_by_kernels(config_transport t); /* do kernels move the cells, not MPI? */
/* What the program would choose: whole steps where kernels store into all neighbours, on one host of GPUs; by graphs where none
 * needs the host. */
bool predict_may_graph(const predict_machine *m, const predict_case *c);
predict_form predict_form_of(const predict_machine *m, config_kind kind, int ranks, int hosts, config_transport t);
bool predict_knows(const predict_machine *m, const predict_case *c); /* all that the step needs */
/* Is it the thread that enqueues which bounds such steps? */
bool predict_host_bound(const predict_machine *m, const predict_case *c, double step_s);
predict_time predict_step(const predict_machine *m, const predict_case *c);

/* Sweeps of several steps: what the records tell of one of this length (NULL: nothing); its place, made if need be (NULL: no
 * room); is there any rate of arithmetic to go by? */
const predict_sweep *predict_sweep_known(const predict_machine *m, const predict_case *c);
predict_sweep *predict_sweep_of(predict_machine *m, const predict_case *c);
bool predict_knows_fused(const predict_machine *m, const predict_case *c);
/* Do sweeps of several steps take norms with them (fused_change_steps)? */
bool predict_takes_norms(const predict_machine *m, const predict_case *c);
double predict_redundant(const predict_case *c); /* cells computed beyond the rank's own, as a part of these */
/* The cells that a rank would have computed in the time of a sweep, were all its warps always busy (predict_strips.c). */
double predict_places(const predict_machine *m, const predict_case *c, bool by_memory);
double predict_moved_bytes(const predict_case *c); /* by a sweep, that come and go */
void predict_sweeps_by_memory(predict_machine *m); /* sets by_memory */
double predict_copied_s(const predict_machine *m, const predict_case *c);
/* A sweep of c->fuse > 1 steps without what is fixed, and without neighbours. */
double predict_sweep_s(const predict_machine *m, const predict_case *c);

double predict_words(config_kind kind);
double predict_cells(const predict_case *c); /* of a rank */
int predict_hosts(const predict_case *c);

/* Seconds between checkpoints that each cost write_s, with a failure every mtbf_s: Young's first order, and Daly's. */
double predict_interval_young(double write_s, double mtbf_s);
double predict_interval_daly(double write_s, double mtbf_s);
/* The part of the time that checkpoints and lost work take at that interval. */
double predict_waste(double interval_s, double write_s, double mtbf_s);

#endif
