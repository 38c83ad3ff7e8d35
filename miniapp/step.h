/* One time step of a stencil over all ranks: the split step, whose order is what hides the halo exchange.
 *
 *   1. receives posted; boundary boxes packed on the high-priority comm stream, once the last level is complete
 *   2. interior (cells that need no neighbour) launched on L lanes: L strips of rows, one stream each; with feed openmp
 *      each lane is fed by a thread of its own, with serial one thread goes round breadth first
 *   3. the comm thread (the main thread, so MPI_THREAD_FUNNELED is enough) waits for the pack, sends, receives, unpacks
 *   4. shell (cells next to a neighbour) once halo and lanes are in; then the ghosts that need no neighbour; the level
 *      is complete
 * Nothing in it allocates, synchronises the device or touches the default stream, and it never asks what device it runs
 * on: on the host a lane is a thread and its streams run at once.
 *
 * Invariant between steps: event `level` stands for "cur is complete, with every ghost that own cells alone decide". */
#ifndef STEP_H
#define STEP_H

#include "config.h"
#include "decomp.h"
#include "device.h"
#include "halo.h"

enum { STEP_LANES_MAX = 64 };

typedef enum step_phase { STEP_INTERIOR, STEP_EXCHANGE, STEP_SHELL, STEP_PHASES } step_phase;
extern const char *const step_phase_name[STEP_PHASES];

/* The streams one rank computes with; shared by all passes of a step. */
typedef struct step_streams {
    device *dev;
    int lanes;
    config_feed feed; /* CONFIG_FEED_OPENMP or CONFIG_FEED_SERIAL */
    device_stream *lane[STEP_LANES_MAX], *comm;
    device_event *lane_done[STEP_LANES_MAX], *halo_ready, *level;
} step_streams;

void step_streams_create(step_streams *s, device *d, int lanes, config_feed feed);
void step_streams_destroy(step_streams *s);

/* One stencil pass over one field: where its cells and ghosts are and who brings them. */
typedef struct step_pass {
    const field_shape *shape; /* not owned */
    halo *halo;
    boundary sides;           /* BOUNDARY_NONE where a neighbour's cells lie */
    box interior;
    box shell[4];
    int shell_count;
    box early[BOUNDARY_BOXES_MAX], late[BOUNDARY_BOXES_MAX]; /* ghosts made of own cells / of received ones */
    int early_count, late_count;
} step_pass;

/* sides: of the domain; corners: the stencil reads diagonal ghosts. along_x_only: a LINE pass over a 2D field. */
void step_pass_create(step_pass *p, const decomp *dec, device *d, const field_shape *shape, const boundary *sides,
                      int radius, bool corners, halo_transport transport, MPI_Comm comm);
void step_pass_destroy(step_pass *p);

/* Measuring: seconds of each phase of one step by events, read when they are done. */
typedef struct step_probe {
    device_event *begin, *interior_end, *comm_begin, *comm_end, *end;
} step_probe;

/* Ghosts of a level that was filled or loaded: afterwards the invariant holds for it. */
void step_complete_level(step_streams *s, const step_pass *p, void *field);

/* next from cur (and prev, which may be next); afterwards the invariant holds for next. exchange = false leaves the
 * halo out (stale ghosts), to time the same step without communication. probe may be NULL. */
void step_advance(step_streams *s, step_pass *p, void *next, void *cur, const void *prev, bool exchange,
                  const step_probe *probe);

/* The exchange of cur's halo with nothing beside it, to time communication alone; enqueued on the comm stream. */
void step_exchange(step_streams *s, step_pass *p, void *cur);

void step_probe_create(step_probe *p, device *d);
void step_probe_destroy(step_probe *p, device *d);
/* Waits for the probed step and reads it. */
void step_probe_read(const step_probe *p, device *d, bool exchanged, double seconds[STEP_PHASES]);

#endif
