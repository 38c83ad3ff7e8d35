/* One time step of a stencil over all ranks, in one of several forms that give the same bits (step.c); or, by
 * temporal blocking (kernels/temporal/temporal.h), a block of several steps.
 *
 * Ghosts outside the domain that are images of own cells are complete before the interior, which therefore
 * ends only near cut sides; the halo brings the others, or the cells that they are images of.
 *
 * With block_steps > 1 one exchange and one pass take up to block_steps steps. The ghosts are radius *
 * block_steps deep, corners included. Those beyond dirichlet and neumann sides the pass works out at every
 * level. Where a step reads two levels, a halo of its own brings the ghosts of the level before, and a pass
 * leaves two levels, in two other fields.
 *
 * Invariant between steps: event `level` stands for "every own cell of cur is complete, and where the pass
 * stores images every image of them"; other ghost values are undefined. */
#pragma once

#include <mpi.h>

#include "config/config.h"
#include "core/boundary.h"
#include "device/device.h"
#include "exchange/halo.h"
#include "ranks/decomp.h"

typedef enum step_form { STEP_OVERLAPPED, STEP_EXCHANGE_FIRST, STEP_IN_KERNEL, STEP_FORMS } step_form;
extern const char *const step_form_name[STEP_FORMS]; /* as step_form of the records has them */

enum { STEP_STREAMS_MAX = 64 };

/* Points of a step: a profiler is told at all of them (device/nvtx.h), and a probe records an event on the
 * device and the host's time. The exchange lasts from PACK to POSTED and from RESUME to RECEIVED: between the
 * two its stream is idle. A step that is one launch has the first and the last point alone. */
enum step_point {
    STEP_ENTER, /* on stream 0, as LEAVE; the others on the comm stream */
    STEP_PACK,
    STEP_POSTED,   /* halo_begin has returned */
    STEP_RESUME,   /* halo_end is called */
    STEP_RECEIVED, /* it has returned */
    STEP_FILLED,   /* ghosts outside the domain */
    STEP_SHELL_END,
    STEP_LEAVE,    /* all streams have joined */
    STEP_INTERIOR, /* of stream i two: STEP_INTERIOR + 2 * i begins it, the next one ends it */
    STEP_POINTS_MAX = STEP_INTERIOR + 2 * STEP_STREAMS_MAX
};

typedef struct step_probe {
    device_event *event[STEP_POINTS_MAX];
    double host_s[STEP_POINTS_MAX]; /* timer_now_s of the thread that got there */
    int streams;                    /* that computed the interior; 0: the step was one launch */
    bool exchanged;                 /* a halo was: the host's times from POSTED to RECEIVED hold */
} step_probe;

void step_probe_create(step_probe *p, device *d, int streams); /* at most */
void step_probe_destroy(step_probe *p, device *d);
/* The step gets to this point of stream s. p may be NULL. */
void step_probe_mark(step_probe *p, device *d, int point, device_stream *s);

/* The streams one rank computes with; shared by all passes of a step. */
typedef struct step_streams {
    device *dev;
    int count;
    config_feed feed; /* OPENMP: a thread for each stream; else one thread; GRAPH: graph_batch_launch */
    device_stream *stream[STEP_STREAMS_MAX], *comm;
    device_event *stream_done[STEP_STREAMS_MAX], *shell_done, *level;
    uint64_t generation; /* counts levels that something other than a step put in place */
} step_streams;

void step_streams_create(step_streams *s, device *d, int count, config_feed feed);
void step_streams_destroy(step_streams *s);

/* A level and, where the step reads two, the one before it (else NULL). */
typedef struct step_levels {
    void *u, *prev;
} step_levels;

/* The work that a pass is made for. dev, dec, shape, op and persistent live as long as the pass; nothing is
 * owned. */
typedef struct step_setup {
    device *dev;
    const decomp *dec;
    const field_shape *shape;
    const boundary *sides; /* of the domain */
    const stencil *op;
    int streams;     /* that compute the interior */
    int block_steps; /* that one pass takes at most: 1, or as temporal_steps gave for the bound stencil */
    bool every_norm; /* all steps of a graph with norms have one; else its last */
    const persistent_memory *persistent; /* not NULL: such passes (device.h), on one stream, without ghosts */
    step_levels field[2]; /* levels alternate between them: a step from an even epoch writes field[0]. A
                           * single step of two levels writes over the level before: { a, b } and { b, a } */
    const transport_choice *choice; /* of each link of the halo */
    MPI_Comm comm;
} step_setup;

/* Steps with in-kernel exchange (kernels/core/inkernel.h): the plans for both fields, the neighbours'
 * inboxes, and the epoch on which all ranks agree. */
typedef struct inkernel_pass inkernel_pass;

/* Norms come in runs, of steps that are enqueued together, and the host reads the last one of each run. There
 * are three slots for runs, used in rotation: in one, steps take norms; in the next, the first norm is
 * cleared; the third is on its way to the host. */
enum { INKERNEL_PASS_SLOTS = 3, INKERNEL_PASS_NORMS_MAX = 32 };
typedef struct inkernel_pass_norm {
    int slot, number, of; /* number `number`, from 0, in a run of `of`; of = 0: no norm */
} inkernel_pass_norm;

/* graph_batch.c's sizes of graphs, powers of two of steps, and their kinds: by slot of norms, and without. */
enum { GRAPH_BATCH_STEPS_MAX = 32, GRAPH_BATCH_SIZES = 6, GRAPH_BATCH_KINDS = INKERNEL_PASS_SLOTS + 2 };

/* One stencil pass over one field: where its cells and ghosts are and who brings them. */
typedef struct step_pass {
    step_setup of;
    halo *halo;
    halo *prev_halo; /* of blocks, where a step reads two levels: the level before's; else NULL */
    boundary sides;  /* BOUNDARY_NONE where a neighbour's cells lie */
    box interior, strip[STEP_STREAMS_MAX]; /* strip: of the interior, one for each stream */
    box shell[4];
    int shell_count;
    int depth;                      /* of the ghosts that a step or block reads */
    box ghosts[BOUNDARY_BOXES_MAX]; /* outside the domain along some axis; the halo brings the others */
    int ghosts_count, own_ghosts_count; /* own: the first ones, which are images of own cells alone */
    step_form form;
    inkernel_pass *inkernel;      /* owned; NULL: no in-kernel exchange */
    bool stores_images;           /* the kernels of its single steps do; else a fill precedes each */
    inkernel_step images[2];      /* of own cells among own ghosts; [i] writes of.field[i] */
    uint64_t images_generation;   /* of the level whose images are in place */
    /* [epoch of the first level]; owned; NULL: not captured yet */
    device_graph *graph[INKERNEL_EPOCHS][GRAPH_BATCH_SIZES][GRAPH_BATCH_KINDS];
} step_pass;

/* Collective, as is destroy. */
void step_pass_create(step_pass *p, const step_setup *of);
/* Called between passes: the pass takes that form from now on; a new one is overlapped. Exchange first is of
 * blocks alone, in-kernel exchange of single steps, whose `inkernel` is made before. */
void step_pass_set_form(step_pass *p, step_form form);
void step_pass_destroy(step_pass *p);

/* A level that something other than a step put in place (initial values, a transpose) is complete once stream
 * 0 gets here. */
void step_begin_generation(step_streams *s);

/* next from cur: a step, or a block of steps. */
typedef struct step_job {
    step_levels next,
        cur;        /* a step writes next.u alone, which may be cur.prev; a block's fields all differ */
    int steps;      /* 1; of a block as temporal_steps gave them, of a persistent pass any */
    bool exchange;  /* false: without the halo (stale ghosts), to time the step without communication */
    uint64_t *norm; /* not NULL: max |next - cur| of this rank's last step is taken, to there by a block of as
                     * many steps as temporal_steps gave or a persistent pass, else in the inkernel_pass */
    step_probe *probe; /* may be NULL */
    int epoch;         /* of cur (inkernel_pass.c); with in-kernel exchange alone, as is rides */
    inkernel_pass_norm rides; /* the norm that the step takes */
} step_job;
/* Enqueues it; afterwards the invariant holds for next. The same work for the same job, which may be
 * captured. */
void step_take(step_streams *s, step_pass *p, step_job j);
/* The pass alone, in these boxes; a persistent one in all own cells, whatever they are. */
void step_compute(const step_pass *p, const step_job *j, const box *boxes, int count, device_stream *stream);
/* The event `level`, recorded now. */
void step_complete(step_streams *s);
static inline bool step_in_kernel(const step_pass *p) { return p->form == STEP_IN_KERNEL; }

/* ---- inkernel_pass.c ---- */

/* Collective. Makes pass->inkernel, if it is not there; the device's bound stencil is the step's, of a kind
 * that it takes so. False on all ranks, with the reason, where one cannot reach a neighbour. */
bool inkernel_pass_create(step_pass *pass, sentence *why);
/* Collective. */
void inkernel_pass_destroy(inkernel_pass **p);
/* Around `steps` steps with in-kernel exchange that are enqueued together, never captured; else nothing.
 * step_ready sets ghosts and flag words of the first one where they are missing (collective then, and it
 * waits), and the job's epoch and norm. step_taken: they are enqueued, with rides.of norms. The last norm
 * comes to the host; the caller reads it before the next run but one is enqueued. */
void step_ready(step_streams *s, step_pass *p, step_job *j);
void step_taken(step_streams *s, step_pass *p, const step_job *j, int64_t steps);
bool step_can_change(const step_pass *p); /* do its steps take norms? */
/* The step of all own cells, on s, as step_take; the norms of a run in their order. */
void inkernel_pass_step(const step_pass *p, const step_job *j, device_stream *s);
/* cell_abs_bits of this rank's max |next - cur| in the last step of the last run but `later`, later = 0 or 1;
 * waits for it. */
uint64_t inkernel_pass_change(inkernel_pass *p, int later);

/* ---- measuring ---- */

/* Cells that one block of `steps` steps moves between memory and its kernels: what boxes that meet read twice
 * counts twice; strips and tiles of the kernels are not counted. */
int64_t step_pass_moved_cells(const step_pass *p, int steps);
/* Bytes that this rank sends in an exchange. */
int64_t step_pass_sent_bytes(const step_pass *p);

/* The exchange of cur's halo with nothing beside it; enqueued on the comm stream. */
void step_exchange(step_streams *s, step_pass *p, step_levels cur);

/* ---- graph_batch.c ---- */

/* Steps launched many at a time (feed = graph): the host enqueues once for all of a captured graph, and the
 * device goes from one step to the next without it. Graphs keep the kernels' arguments, so there is one for
 * every power of two of steps up to GRAPH_BATCH_STEPS_MAX, for every epoch of the level it starts from, and
 * for every slot of norms; what else changes from step to step (the parity of inboxes) is counted on the
 * device. Only for halos whose transports need no host. */
/* Captures what is not yet, so that nothing is left to the loop. change: with norms, too. */
void graph_batch_prepare(step_streams *s, step_pass *p, bool change);
/* `steps` of these steps, the first one's as step_ready leaves it. With norms, of which rides.of is set, the
 * last is read as after a step_take with a norm; with every_norm only for a power of two of steps. */
void graph_batch_launch(step_streams *s, step_pass *p, step_job *j, int64_t steps);
