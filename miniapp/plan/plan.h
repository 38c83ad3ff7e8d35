/* The plan: what a run chooses where the deck leaves it open, and why. It is computed here and nowhere else,
 * from the deck, the facts of the machine and its ranks, and a trial that answers "how long does it take?"
 * and "can it be had?": measured in a run (sim/sim_trial.c), given by the caller of a dry run in JSON
 * (plan_json.c), made up in tests; a dry run on a terminal does not ask for times.
 *
 * Rules are pure functions of the three, so that all ranks choose the same, and so do a run and its dry run.
 * plan_make (plan.c) has their order: each chooses from what stands before it. */
#pragma once

#include <stdio.h>

#include "config/request.h"
#include "core/field.h"
#include "core/stencil.h"
#include "device/device.h"
#include "device/host_limits.h"
#include "ranks/decomp.h"
#include "step/step.h"
#include "streaming/streaming.h"

/* Where the two ends of a link of the halo run. */
typedef enum link_kind { LINK_INSIDE_HOST, LINK_BETWEEN_HOSTS, LINK_KINDS } link_kind;

/* ---- what is chosen ---- */

typedef struct plan_grid { /* one global field's layout over the ranks */
    decomp dec;
    field_shape shape;
    transport_choice choice; /* of this rank's links */
} plan_grid;

/* One of several ways to do something, and what a trial says of it. */
typedef struct plan_way {
    char name[64];
    int steps;       /* of a block, or where `persistent` says so of a persistent pass */
    bool persistent;
    double weight;   /* of the seconds, in the choice */
    double seconds;  /* of the slowest rank; INFINITY: it cannot be had, or was not tried, */
    sentence why;    /* ... since: a sentence part */
} plan_way;

/* The halo, whose links take the transport that is best for their kind, and the trials of these. */
typedef struct plan_exchange {
    const plan_grid *grid; /* the halo's; NULL: there is no link */
    int depth;
    bool corners;
    int kind[DECOMP_NEIGHBOURS];               /* of this rank's link in that direction; -1: none */
    int links[LINK_KINDS];                     /* of all ranks */
    int used[TRANSPORT_KINDS];                 /* ... by transport */
    transport_kind favourite[LINK_KINDS];      /* that links of the kind take */
    bool tried;                                /* else no seconds hold */
    plan_way way[LINK_KINDS][TRANSPORT_KINDS]; /* an exchange over links of the kind */
} plan_exchange;

typedef enum plan_choice {
    PLAN_MEMORY,
    PLAN_GRID,
    PLAN_BLOCK,
    PLAN_TRANSPORT,
    PLAN_REDISTRIBUTION,
    PLAN_FORM,
    PLAN_FEED,
    PLAN_STREAMS,
    PLAN_VARIANT,
    PLAN_CHOICES
} plan_choice;

enum { PLAN_NOTES_MAX = 16 };
typedef struct plan_note { /* what a user should know, for the table and the record */
    bool asked; /* about what the deck asked for and cannot have here; else about machine or problem */
    sentence said;
} plan_note;

typedef struct plan {
    plan_grid grid, transposed_grid; /* transposed: (nx, ny) of transpose and sweep */
    int block_steps;                 /* that one pass takes at most; 1: no temporal blocking */
    bool persistent;                 /* such a pass keeps all cells in the device's registers (device.h) */
    bool in_host_memory;             /* fields are, and rows stream through the device: a pass is a visit */
    streaming_window window;         /* of a visit; slots of no rows: single steps, by the host */
    step_form form;
    transport_kind transport; /* of most links; of the redistributions where there are no halos */
    transport_kind redist_transport;
    config_feed feed;
    int streams;
    int variant;
    const char *variant_name; /* NULL: not chosen yet */

    plan_exchange exchange;
    sentence because[PLAN_CHOICES]; /* "": the run has nothing to choose there */
    plan_note note[PLAN_NOTES_MAX]; /* the plan's own, then those of the run that has it */
    int notes;
} plan;

/* ---- what it is chosen from ---- */

/* The device that computes where fields are in host memory (streaming/streaming.h). */
typedef struct plan_through {
    double bytes;                     /* of its memory, for each rank */
    streaming_pass_steps *pass_steps; /* with its owner */
    const void *owner;
    sentence because; /* they are there, since ...: a sentence */
} plan_through;

typedef struct plan_room { /* memory that is free, and what leaves no more */
    double bytes;
    host_limit by;
} plan_room;

/* Halos as planned; distributed transposes over a transport; steps with in-kernel exchange. */
typedef enum plan_part { PLAN_HALOS, PLAN_TRANSPOSES, PLAN_IN_KERNEL } plan_part;

/* The deck, facts of the machine and its ranks, and the trial, whose functions take the question itself: the
 * same on all ranks but for `rank`, as is every answer. p: as far as it is chosen. Without exchange or blocks
 * (NULL) the rule takes what serves best on most machines. */
typedef struct plan_question plan_question;
struct plan_question {
    const config *cfg;
    const stencil *op;           /* problem_make's */
    device_kind device;          /* where fields live */
    const plan_through *through; /* NULL: it computes, too */
    int threads;                 /* of a rank, on the host device */
    int rank, ranks, hosts;
    const int *host_of; /* [ranks]; NULL: per_host on each host, in order */
    int per_host;
    int most_on_device;    /* ranks that share a GPU, where most do; 1 on the host device */
    const plan_room *room; /* [ranks]: for each rank's fields; NULL: enough */
    bool mpi_claims_cuda;
    const char *no_graphs; /* why the device captures no steps, as a sentence part; NULL: it does */
    /* How many steps one pass best takes, of at most `most` (>= 1); 0: none. norm: with the last step's. */
    int (*block_steps)(const plan_question *q, int most, bool norm);
    /* Do the devices' registers hold a field of that size on each rank? Asked by all ranks; NULL: no. */
    bool (*persistent)(const plan_question *q, int64_t nx, int64_t ny, const boundary *sides);
    /* Can it be had? False with the reason as a sentence part. */
    bool (*can)(const plan_question *q, plan_part what, transport_kind over, sentence *why);
    /* Exchanges over each of these transports, compared with each other, on the links of a kind: sets their
     * p->exchange.way. */
    void (*exchange)(const plan_question *q, plan *p, link_kind kind, const transport_kind over[], int count);
    /* Seconds per step in blocks of that many steps, with an exchange and nothing beside it, 1: single steps;
     * or of one way alone, of persistent passes. */
    void (*blocks)(const plan_question *q, const plan *p, plan_way way[], int count);
    void *owner; /* of the functions */
};

/* 0; or one sentence in why, and 2: the deck does not fit the ranks, 3: it does not fit into memory. */
int plan_make(plan *p, const plan_question *q, sentence *why);
/* plan.variant, of count >= 2, by the seconds of a pass with each, the slowest rank's. */
void plan_choose_variant(plan *p, const char *const name[], const double pass_s[], int count);

/* One more note; of more than there is room for the first are kept. */
__attribute__((format(printf, 3, 4))) void plan_add_note(plan *p, bool asked, const char *format, ...);

/* A choice that has a reason, as people read it; until the next call. */
const char *plan_chosen(const plan *p, plan_choice choice);
/* These choices in a line. */
void plan_list(FILE *to, const plan *p);
/* A line on stdout for each choice: what, and why; before: of each line. */
void plan_explain(const plan *p, const char *before);
/* Adds what the record of a run and a plan in JSON share: grid, ranks, what was chosen and why ("plan":
 * {"process_grid": {"chosen": "1 x 4", "because": ...}, ...}), and the notes; returns o. */
struct json_t *plan_add_json(struct json_t *o, const plan *p, const config *c);
struct json_t *plan_links_json(const plan *p); /* links of all ranks by transport */

/* ---- plan_json.c: the plan as JSON ---- */

/* `weft run --dry-run --json`: prints the request's plan on one line of stdout, for ranks that need not be
 * here, whose trials jobs/predict answers; docs/contract.md has its keys. An exit status, with a sentence in
 * why where it is not 0. */
int plan_print_json(const request *ask, sentence *why);

/* Device memory of a rank: all fields with ghosts and padding, and the messages of a redistribution. */
double plan_memory_bytes(const plan *p, const config *c, device_kind of, int rank);
/* A block of steps that read two levels (wave, advect) cannot write over any field that it reads: it takes
 * four, not two. */
static inline bool plan_four_fields(const config *c, int block_steps)
{
    return block_steps > 1 && config_kind_of(c)->two_levels;
}
