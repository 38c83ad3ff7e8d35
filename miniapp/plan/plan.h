/* What a run chooses where the deck leaves it open, and why. */
#ifndef PLAN_H
#define PLAN_H

#include "config/config.h"
#include "core/field.h"
#include "exchange/transport_selection.h"
#include "ranks/decomp.h"

typedef struct plan_grid { /* one global field's layout over the ranks */
    decomp dec;
    field_shape shape;
} plan_grid;

/* Blocks of the longest and the next fewer steps, and single steps, each with an exchange and nothing beside it; of the slowest
 * rank. */
enum { PLAN_LENGTHS_MAX = 2 };
typedef struct plan_temporal_trial {
    int count; /* 0: nothing was tried */
    int steps[PLAN_LENGTHS_MAX];
    double step_s[PLAN_LENGTHS_MAX], single_step_s;
    int best; /* of count */
} plan_temporal_trial;

/* Blocks of steps in either form (step.h); of the slowest rank. */
typedef struct plan_form_trial {
    bool tried;
    double overlapped_s, exchange_first_s;
} plan_form_trial;

typedef struct plan {
    plan_grid grid, transposed_grid; /* transposed: (nx, ny) of transpose and sweep */
    int block_steps;                 /* that one pass takes at most; 1: no temporal blocking */
    plan_temporal_trial temporal_trial;
    plan_form_trial form_trial;
    transport_kind transport;        /* of most links; of the redistributions where there are no halos */
    transport_choice choice, transposed_choice; /* of the pass over the grid, and of the transposed one */
    transport_kind redist_transport;
    bool selected;                   /* transport, choice and transposed_choice are what selection chose */
    transport_selection selection;
    config_feed feed;
    int streams;
} plan;

#endif
