/* One time step of a stencil over all ranks, in one of four forms that give the same bits; or, by temporal
 * blocking (kernels/temporal/temporal.h), a block of several steps.
 *
 * In-kernel exchange, where every neighbour's memory can be reached: one launch (kernels/core/inkernel.h),
 * and no other exchange. Before the first such step the halo exchange of the other forms brings the ghosts.
 *
 * Overlapped, over any transport; the order of its parts is what hides the halo exchange:
 *
 *   1. receives posted; boundary boxes packed on the high-priority comm stream, once the last level is
 *   complete
 *   2. interior (cells that read no ghost) launched on L streams: L strips of rows, one per stream; with feed
 *   openmp
 *      each stream is fed by a thread of its own, with serial one thread feeds them one after another (so
 *      does the one that captures steps for feed graph, graph_batch.h)
 *   3. the comm thread (the main thread, so MPI_THREAD_FUNNELED is enough) waits for the pack, sends,
 *   receives, unpacks
 *   4. on the comm stream still: ghosts outside the domain, then the shell (cells that read ghosts)
 *   5. stream 0 waits for the other streams and for the shell: the level is complete
 * The shell runs beside the interior, not after it: at high priority its few blocks go in between, and the
 * launch, the wait for the halo and the half-empty last wave of a thin kernel cost the step nothing. Measured
 * on two H200s, 16384 x 8192 f32 per rank: 281 us per step with the shell after the interior, 270 us with it
 * beside.
 *
 * Exchange first, of blocks of steps only: the same parts without an interior; after the exchange one pass
 * takes all cells. It costs less than the passes of a shell where the exchange is short.
 *
 * Mixed, where some links go over peer memory and some do not (on several hosts): overlapped with a shell
 * along the other links alone. The kernels of a step exchange with the neighbours within reach (in-kernel
 * exchange of boxes); a block is taken after an exchange with these, which is short.
 *
 * With block_steps > 1 one exchange and one pass take up to block_steps steps. The ghosts are radius *
 * block_steps deep, corners included. Beyond dirichlet and neumann sides the pass works them out at every
 * level; along a periodic axis that is not cut they are filled from own cells before the interior, which
 * therefore ends only where another rank's ghosts are read, radius * block_steps cells from a cut side. What
 * two boxes both depend on is computed twice (step_pass_cells_of). Where a step reads two levels, the ghosts
 * of the level before are brought too, by a halo of its own, and a pass leaves two levels, in two other
 * fields.
 *
 * No step allocates, synchronises the device, touches the default stream, or asks what device it runs on: on
 * the host a stream is a thread, and streams run at once.
 *
 * Invariant between steps: event `level` stands for "every own cell of cur is complete"; ghost values are
 * undefined. */
#pragma once

#include "config/config.h"
#include "device/device.h"
#include "exchange/halo.h"
#include "ranks/decomp.h"
#include "step/inkernel_pass.h"
#include "step/step_form.h"
#include "step/step_probe.h"

/* The streams one rank computes with; shared by all passes of a step. */
typedef struct step_streams {
    device *dev;
    int count;
    config_feed feed; /* OPENMP, or SERIAL; with GRAPH (graph_batch.h) steps are captured, and now and then
                       * taken, by one thread too */
    device_stream *stream[STEP_STREAMS_MAX], *comm;
    device_event *stream_done[STEP_STREAMS_MAX], *shell_done, *level;
    uint64_t generation; /* counts levels that something other than a step put in place */
} step_streams;

void step_streams_create(step_streams *s, device *d, int count, config_feed feed);
void step_streams_destroy(step_streams *s);

/* One stencil pass over one field: where its cells and ghosts are and who brings them. */
typedef struct step_pass {
    const field_shape *shape; /* not owned */
    halo *halo;
    halo *prev_halo;          /* of blocks, where a step reads two levels: the level before's; else NULL */
    boundary sides;           /* BOUNDARY_NONE where a neighbour's cells lie */
    box interior, strip[STEP_STREAMS_MAX]; /* strip: of the interior, one for each stream */
    int strips;
    box shell[4];
    int shell_count;
    box ghosts[BOUNDARY_BOXES_MAX]; /* outside the domain along some axis: the fill's, the halo brings the
                                     * others */
    int ghosts_count, early_ghosts; /* early: of form MIXED, the first of them, no images of what far links
                                     * bring */
    unsigned near;            /* transports, bit by bit, whose links a mixed step does not take for far:
                               * peer */
    int depth;                /* halo depth: of the ghosts that a step or block reads */
    int block_steps;          /* that one pass takes at most; 1: stencil_pass */
    const persistent_memory *persistent; /* not NULL: such a pass is a persistent one (device.h), of all
                                          * own cells */
    step_form form;
    box wraps[BOUNDARY_BOXES_MAX]; /* of blocks: ghosts that are images of own cells; `ghosts` holds images
                                    * of received ones */
    int wraps_count;
    bool makes_images;        /* blocks do, of own and of received cells, beyond periodic sides: then
                               * neither holds any */
    inkernel_pass *inkernel;  /* NULL: no in-kernel exchange */
    uint64_t inkernel_generation; /* of the level from which steps with in-kernel exchange go on; their
                                   * ghosts are in place */
} step_pass;

/* A level and, where the step reads two, the one before it (else NULL). */
typedef struct step_levels {
    void *u, *prev;
} step_levels;

/* streams: that compute the interior; sides: of the domain; corners: the stencil reads diagonal ghosts;
 * has_prev: it reads two levels. block_steps: 1, or a number that temporal_steps gave for the bound stencil;
 * the field's ghosts are radius * block_steps deep. persistent: NULL, or of persistent passes, of any number
 * of steps, on one stream; not owned. Ghosts are neither read nor written then. */
void step_pass_create(step_pass *p, int streams, const decomp *dec, device *d, const field_shape *shape,
                      const boundary *sides, int radius, bool corners, bool has_prev, int block_steps,
                      const persistent_memory *persistent, const transport_choice *choice, MPI_Comm comm);
/* Between passes: in that form, at first overlapped, from now on. Exchange first is of blocks alone,
 * in-kernel exchange of single steps, for which this and mixed want step_pass_make_inkernel before. */
void step_pass_set_form(step_pass *p, step_form form);
/* What single steps need for in-kernel exchange with their near neighbours; false, on all ranks, with the
 * reason, where that cannot be had. Collective. fields: the two buffers that the levels alternate between. */
bool step_pass_make_inkernel(step_pass *p, const decomp *dec, device *d, int radius, bool corners,
                             void *const fields[2], MPI_Comm comm, sentence *why);
void step_pass_destroy(step_pass *p);

/* A level that something other than a step put in place (initial values, a transpose) is complete once stream
 * 0 gets here. */
void step_begin_generation(step_streams *s);

/* next from cur: a step, or a block of steps. */
typedef struct step_job {
    step_levels next, cur;   /* a step writes next.u alone, which may be cur.prev; all fields of a block
                              * are different */
    int steps;               /* of a block as temporal_steps gave them, of a persistent pass any, at most
                              * the pass's block_steps; else 1 */
    bool exchange;           /* false: without the halo (stale ghosts), to time the same step without
                              * communication */
    uint64_t *norm; /* NULL, or this rank's max |next - cur| of the last step is taken: a block, of a number
                       of steps that temporal_change_steps gave, or a persistent pass, leaves it there; a step
                       that step_can_change in its inkernel_pass */
    const step_probe *probe; /* may be NULL */
    int epoch;               /* step_advance's own, as is: */
    inkernel_pass_norm rides;
} step_job;
/* Afterwards the invariant holds for next. */
void step_advance(step_streams *s, step_pass *p, step_job j);
/* step_advance in parts, for steps that are captured; with block_steps > 1 they are blocks. step_ready: what
 * must have happened before the first one of them (in-kernel exchange: ghosts and flag words; collective
 * then); the epoch of cur with in-kernel exchange, else 0. step_enqueue: the step from a level of that epoch,
 * the same work every time, with a norm (inkernel_pass_step) or none. step_taken: `steps` were, with `norms`
 * norms. The epoch of a level is even where fields[0] is written next. fields: what levels alternate between.
 * A single step of two levels writes over the level before: { a, b } and { b, a }. */
int step_ready(step_streams *s, step_pass *p, void *next, void *cur, bool exchange);
void step_enqueue(step_streams *s, step_pass *p, const step_levels fields[2], bool exchange, int epoch,
                  inkernel_pass_norm norm);
void step_taken(step_streams *s, step_pass *p, int64_t steps, bool exchange, int norms);
/* The event `level`, recorded now. */
void step_complete(step_streams *s);
static inline bool step_in_kernel(const step_pass *p) { return step_form_in_kernel(p->form, p->block_steps); }
static inline bool step_can_change(const step_pass *p)
{
    return step_in_kernel(p) && inkernel_pass_can_change(p->inkernel);
}

/* What one block of `steps` steps computes, cells of all levels, and moves between memory and its
 * kernels, in cells. Own cells times steps, and what boxes that meet compute and read twice; strips and tiles
 * of the kernels are not counted. */
typedef struct step_pass_cells {
    int64_t computed_cells, moved_cells;
} step_pass_cells;
step_pass_cells step_pass_cells_of(const step_pass *p, int radius, int steps);
/* What this rank sends in an exchange. */
int64_t step_pass_sent_bytes(const step_pass *p);

/* The exchange of cur's halo with nothing beside it, to time communication alone; enqueued on the comm
 * stream. */
void step_exchange(step_streams *s, step_pass *p, step_levels cur);
