/* A model of one time step from a machine's ceilings: what bytes, launches and messages a step has, and what
 * each costs.
 *
 *   memory    words x cells of a rank, at the rate of device copies of that many bytes (times the fraction of
 *             it that the stencil had on one rank, where there is such a record)
 *   arithmetic  what a block of steps (temporal blocking, run.fuse) takes beyond the copy of its field
 *               (predict_temporal.h), cells
 *             computed twice and the wait for the last warps included ; its exchange is as many steps deep,
 *             and hidden behind all of them
 *   launches  a fixed cost per step or pass, by its form and by who feeds it
 *   exchange  alpha + bytes / beta of the link class: hidden behind the interior where MPI moves the cells,
 *             behind a fifth of it where kernels do (they take the interior's place); of in-kernel exchange
 *             and of blocks of steps a fixed cost of having neighbours at all
 *   transpose the distributed transpose: the bytes that leave a rank at the rate of the all-to-all on as many
 *   ranks, or nearly
 *   norm      a fixed cost, with an all-reduce over the hosts: as much more for each doubling of them; of
 *             blocks of steps also what the pass that makes its level takes longer, or, where no pass can,
 *             the single step that it wants
 *
 * The program's plan chooses (predict_plan.h). Not modelled: noise of the machine, other jobs, congestion
 * between switches, caches beyond what copies of that size show, several streams, and columns cut where the
 * exchange is in-kernel or of blocks of steps. Costs that no record tells are multiples of a kernel's launch,
 * as they were on H200s. */
#pragma once

#include "predict/predict_machine.h"

typedef struct predict_time {
    /* what each adds to the step */
    double memory_s, arithmetic_s, launches_s, exchange_s, transpose_s, norm_s;
    double step_s;
    double exchange_alone_s;
    const char *bottleneck; /* the part that adds most */
} predict_time;

bool predict_knows(const predict_machine *m, const predict_case *c); /* all that the step needs */
/* An exchange alone over c->transport inside a host, and between hosts; NaN: not known. */
double predict_inside_s(const predict_machine *m, const predict_case *c);
double predict_between_s(const predict_machine *m, const predict_case *c);
/* Messages that wait for one another in an exchange, and the bytes of all that share its link: of a rank
 * inside a host, of a host between hosts. */
int predict_messages(const predict_case *c, bool between);
double predict_link_bytes(const predict_case *c, bool between);
predict_time predict_step(const predict_machine *m, const predict_case *c);

/* Seconds between checkpoints that each cost write_s, with a failure every mtbf_s, by Daly. */
double predict_interval_daly(double write_s, double mtbf_s);
/* The part of the time that checkpoints and lost work take at that interval. */
double predict_waste(double interval_s, double write_s, double mtbf_s);
