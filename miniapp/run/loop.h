/* A run around its steps: where it starts, or what a dry run says of it; the time loop: advance, look around,
 * judge, save, leave, in this order at every step boundary. */
#pragma once

#include "config/request.h"
#include "output/picture.h"
#include "ranks/timer.h"
#include "sim/sim.h"
#include "state/state_write.h"

/* ---- clock.c: how long steps take, and a timeline of the first ones ---- */

/* A time stamp on the main stream after every step, or after every few that were enqueued at once and count
 * as equal steps of their mean, read back long after it passed, so that the device never waits for the host.
 * The host stays near: it waits before more than CLOCK_LEAD_S of steps are enqueued, since a signal or a
 * checkpoint would come after all of them; but never for the last CLOCK_TICKS_AHEAD ticks. */
enum { CLOCK_RING = 128, CLOCK_TICKS_AHEAD = 3 };
static const double CLOCK_LEAD_S = 0.1;

/* A run's first steps on each rank, by probes of one step (or pass) of every TIMELINE_EVERY. */
enum { TIMELINE_STEPS = 100, TIMELINE_EVERY = 16 };
typedef struct timeline timeline;

typedef struct clock_steps {
    device *dev;
    device_stream *stream;
    device_event *tick[CLOCK_RING];
    int steps[CLOCK_RING]; /* that end with that tick; 0: what was enqueued is no step */
    int64_t ticks, read;   /* recorded; already turned into samples */
    int64_t steps_ahead;   /* of the ticks between */
    double step_s;         /* of the last tick that was read; 0: none yet */
    double *sample_s;      /* [samples]: of single steps; owned */
    size_t samples;
    double total_s; /* of all steps that were read */
    int64_t total_steps;
    timeline *timeline; /* owned; NULL: there is none */
} clock_steps;

/* s: the stream on which the steps end, idle. traced: NULL, or there is a timeline, of a step's `streams`
 * streams; then it is collective (clocks are compared). */
void clock_create(clock_steps *c, device *d, device_stream *s, const topology *traced, int streams);
void clock_destroy(clock_steps *c);
/* For what is enqueued next, from this level to its tick; NULL: it needs no probe. */
step_probe *clock_probe(clock_steps *c, int64_t level);
/* After `steps` steps were enqueued; 0, before the first step and after every pause: what was enqueued since
 * the last tick, and the time that passed, are no step's. */
void clock_tick(clock_steps *c, int steps);
void clock_flush(clock_steps *c); /* waits for what is outstanding */
/* Writes the timeline. Collective. */
bool clock_trace(clock_steps *c, const char *path, sentence *why);

/* ---- calibrate.c: short measurements at the start of a run, on its own fields with random values ---- */

enum { OVERLAP_PAIRS = 9 };

/* How much of the halo exchange an overlapped step hides. */
typedef struct overlap {
    double step_s, step_without_comm_s, comm_s; /* medians: a step (or block of steps), the same without
                                                 * its exchange, that alone */
    double visible_s;     /* median of the differences of the pairs */
    double uncertainty_s; /* of visible_s: half of its 95 % confidence interval, the longer half */
    double hidden_fraction, hidden_uncertainty; /* 1 - visible / comm, in [0,1]; NaN: it cannot be said */
    sentence why;                               /* no fraction can be said; else "" */
} overlap;

typedef struct calibrate_result {
    double ceiling_bytes_per_s; /* copies of field size on all ranks at once; bytes read + written */
    timer_straggler copies; /* whose copy of a byte takes longest: a slow GPU or host shows here, where no
                             * neighbour waits for it */
    overlap overlap;        /* the slowest rank's seconds */
} calibrate_result;

/* Collective; leaves the fields' values meaningless. */
calibrate_result calibrate(sim *s);

/* The hidden part of the exchange, from pairs of seconds, each pair from the same moment, and as many of the
 * exchange alone. There is no fraction where the exchange takes no longer than the uncertainty. */
overlap overlap_of(const double with_s[OVERLAP_PAIRS], const double without_s[OVERLAP_PAIRS],
                   const double comm_s[OVERLAP_PAIRS]);

/* ---- restart.c, dry_run.c: where it is not 0, with one sentence in why. Collective ---- */

/* Loads the state that ask->restart names into s: a state file, or a directory, of which the newest whole
 * checkpoint is taken; damaged ones, and those that may not be read, are named on stderr and skipped. In a
 * dry run nothing is loaded: a file's attributes alone are read. *step: the state's; -1: a directory has no
 * checkpoints, or with ask->restart_if_any the path is missing. MISSING: the path is, the file disagrees with
 * the deck in problem or grid, or its step is beyond time.steps (a complete job that is requeued ends with
 * 0); DAMAGED, IO: there is nothing else. */
state_status restart(sim *s, const request *ask, int64_t *step, sentence *why);

/* After sim_create: looks at what only a run's later parts would open (--restart, problem.initial,
 * checkpoint.dir), then prints the resolved deck and, as its comments, what the run would need. An exit
 * status. */
int dry_run(sim *s, const request *ask, sentence *why);

/* ---- saver.c: the states and pictures of a run ---- */

/* Checkpoints: one is due, the level is put aside and handed to the writer, steps go on, and later it turns
 * out whether the file was written. Of failures in a row rank 0 says the first, where the run may go on.
 * Levels that the run keeps, for which the steps wait and which count as none: every output.every steps, from
 * step 0 on, a state file in output.series and a frame of output.picture; the last one as output.final and
 * output.picture. */
typedef enum saver_output { SAVER_CHECKPOINTS, SAVER_SERIES, SAVER_FINAL, SAVER_OUTPUTS } saver_output;
typedef struct saver { /* lives as long as the sim; before it is opened all else is zero */
    sim *sim;
    clock_steps *ticks;    /* of the steps, which leaves out what holds them up */
    const char *deck_text; /* the resolved deck, stored in every state file; none of the three is owned */
    state_writer *writer[SAVER_OUTPUTS]; /* NULL: not asked for; of checkpoints until one is sure to come */
    picture_scale scale;                 /* of the frames, */
    char frames[STATE_PATH_BYTES];       /* whose folder this is */
    int64_t written;                     /* checkpoints that it has heard of */
    bool failure_said;
    bool no_folder;  /* there can be no checkpoint, and no time limit of Slurm ends the run */
    bool stop;       /* a write failed and the run is to end; ranks may learn of it at different steps */
    sentence why;    /* of the last failure */
} saver;

/* The folders of state files, which all hosts share, seen before the first step. 0, or the exit status with a
 * sentence that names the key, and the rank and host which does not see the folder as rank 0 does, or may not
 * write there; a note for a checkpoint.dir into which only a signal's would go. Leaves nothing. Collective,
 * as are all below. */
int saver_check_folders(saver *v, sentence *why);
/* The writers that are sure to have work, before the first step: folders are made and names locked now, not
 * when the first state is due. restarted: the level was read from a state. As saver_check_folders. */
int saver_open(saver *v, bool restarted, sentence *why);
void saver_close(saver *v);

/* After every step; never waits. */
void saver_poll(saver *v);
/* A checkpoint of this level, which all ranks know is to be made. waited_for: return only when it is on disk.
 * False: the run must end, with why; the same on all ranks. Opens the saver if need be. */
bool saver_save(saver *v, bool waited_for);
/* Waits for the last one. False as saver_save, as is: */
bool saver_finish(saver *v);
/* Keeps this level, behind the checkpoint under way: it reads the memory that a frame goes through. */
bool saver_keep(saver *v);
/* The last level. False: why. */
bool saver_end(const saver *v, sentence *why);

/* ---- loop.c: a line of progress on a terminal, redrawn; plain lines where stderr is not one ---- */

typedef struct progress {
    const config *c; /* not owned */
    bool on, redrawn;
    int64_t first, shown; /* steps; shown: of the last line */
    int64_t every_steps;  /* the next line comes when both have passed since the last one */
    double every_s;
    double copy_cells_per_s, begin_s, shown_s;
} progress;

/* Rank 0 alone prints, from step `first` to time.steps. output.progress = auto: on a terminal every half
 * second on stderr; else on stdout, after 10 % of the steps or 5 s, whichever is later (a minute with a
 * tolerance). on: every half second in either case. copy_bytes_per_s: of copies on all ranks. */
void progress_begin(progress *p, const config *c, int rank, int64_t first, double copy_bytes_per_s);
/* Is a line due? For tests, which give a time of their own. */
bool progress_due(const progress *p, int64_t step, double now_s);

/* ---- verify.c: the verdict, every cell against the exact discrete answer ---- */

typedef enum verify_verdict { VERIFY_EXACT, VERIFY_FAILED, VERIFY_UNCHECKED } verify_verdict;
extern const char *const verify_name[];

typedef struct verify_result {
    verify_verdict verdict;
    double max_error, bound; /* NaN where not measured */
    sentence why;            /* unchecked: the reason */
} verify_result;

/* The verdict on the present level. Collective. */
verify_result verify_level(sim *s);

/* ---- loop.c ---- */

typedef enum loop_end { /* of several reasons the last counts */
    LOOP_DONE,          /* none to leave early */
    LOOP_OUT_OF_TIME,   /* the deadline; as for a signal a checkpoint is to be written */
    LOOP_STOPPED,       /* a signal */
    LOOP_FAILED         /* a checkpoint or a frame could not be written: the saver's why */
} loop_end;

/* Catches USR1, TERM and INT from here on; a second INT ends the process at once. Before the loop. */
void loop_catch_signals(void);

typedef struct loop_result {
    loop_end end;
    int64_t steps_run;
    double last_change;     /* max |next - u| of the last checked level, NaN if none was */
    int64_t infinite_level; /* the first checked level where it was NaN or infinite; -1: none */
} loop_result;

/* From the level of v->sim to the end of the run, which began at start_s and which all ranks begin together;
 * what the saver holds is on disk by then. ceiling_bytes_per_s: of all ranks' copies, for the line of
 * progress. Collective. */
loop_result loop_run(saver *v, double start_s, double ceiling_bytes_per_s);
