/* Ranks go through the same phases: WRITE with the read-back, PUBLISH, and TELL after a failure. In a
 * phase HDF5 makes files in the main thread, and a job in a thread of each rank, which calls neither MPI nor
 * HDF5, does the rest; then all agree on how it went, by non-blocking collectives. The thread gets no signals
 * and has a team of one where a job meets an OpenMP pragma: the cores are the time steps'. Where none can be
 * started, the job is done in its place. */
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <omp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "core/fp.h"
#include "files/replace.h"
#include "ranks/check.h"
#include "ranks/ranks.h"
#include "ranks/timer.h"
#include "state/attempt.h"

#if WEFT_SIM
/* A non-blocking collective of SMPI sends P^2 messages: 256 ranks came to no end. Its blocking ones are
 * trees, and all simulated ranks come to the same ones in the same order. */
#define MPI_Iallreduce(mine, all, count, type, op, comm, request) \
    (*(request) = MPI_REQUEST_NULL, MPI_Allreduce(mine, all, count, type, op, comm))
#endif

typedef enum phase { IDLE, WRITE, PUBLISH, TELL } phase;

/* Numbers of which all ranks learn the largest, and which rank, the lowest of several, has it. */
enum { WORST, JOB_S, VERIFY_S, AGREED };
typedef struct most {
    double number; /* WORST: a status */
    int rank;
} most;
struct state_writer {
    MPI_Comm comm; /* owned */
    state_stats stats;
    /* ---- the write under way; a job's while it runs ---- */
    attempt a;
    phase phase;
    bool agreeing; /* the phase's work is done */
    state_request request;
    collect *cells; /* NULL: the snapshot is not there yet */
    collect_window window;
    pthread_t thread;
    bool job_runs, has_thread, finished; /* finished: the phase's last job is begun */
    most mine[AGREED], all[AGREED];
    MPI_Request pending[3];
    int pending_count;
    state_status status; /* of this phase on this rank */
    state_status ended;  /* how the last write ended, until it is told; its sentence is a.why */
};

/* ---- jobs ---- */

/* A window, the end of the part behind the last one, or the state's name. */
static state_status do_job(state_writer *w)
{
    if (w->phase == PUBLISH) return attempt_publish(&w->a);
    return w->finished ? attempt_verify(&w->a) : attempt_write(&w->a, &w->window);
}

static void *run_job(void *writer)
{
    state_writer *w = writer;
    const int threads = omp_get_max_threads();
    fp_default(); /* before the first number */
    const double begin_s = timer_now_s();
    omp_set_num_threads(1);
    if (w->status == STATE_OK) w->status = do_job(w); /* after a failure messages go on, but nothing else */
    omp_set_num_threads(threads);
    w->mine[JOB_S].number += timer_now_s() - begin_s;
    return NULL;
}

/* A thread inherits the mask: signals stay the main thread's, whose system calls restart. SIGXFSZ, which a
 * thread gets of its own writes, becomes the error EFBIG. */
static void start_job(state_writer *w)
{
    sigset_t all, old;
    w->job_runs = true;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    w->has_thread = w->a.o.async && pthread_create(&w->thread, NULL, run_job, w) == 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (!w->has_thread) run_job(w);
}

static bool job_is_done(state_writer *w)
{
    if (w->job_runs && w->has_thread && pthread_tryjoin_np(w->thread, NULL) != 0) return false;
    w->job_runs = false;
    return true;
}

static bool snapshot_is_there(state_writer *w)
{
    double held_s = 0;
    if (w->request.ready && !w->request.ready(w->request.owner, &w->request.level, &held_s)) return false;
    w->stats.snapshot_s += held_s;
    w->stats.stall_s += held_s;
    return true;
}

/* One window after another, while the messages of the next go on. False: some are left. */
static bool windows_are_written(state_writer *w)
{
    if (!w->cells && !snapshot_is_there(w)) return false;
    if (!w->cells) w->cells = collect_begin(w->comm, &w->a.s, &w->request.level, w->a.number);
    while (collect_next(w->cells, &w->window)) {
        if (w->window.field == w->a.s.fields) return true;
        if (box_empty(w->window.cells)) continue;
        start_job(w);
        return false;
    }
    return false;
}

/* ---- a phase ---- */

/* Begins what comes next in this phase. False: something is still to be done, or to be waited for. */
static bool phase_is_done(state_writer *w)
{
    if (!job_is_done(w)) {
        if (w->cells) (void)collect_arrived(w->cells);
        return false;
    }
    if (w->finished) return true;
    if (w->phase == WRITE && !windows_are_written(w)) return false;
    w->finished = true;
    start_job(w);
    return job_is_done(w);
}

static void begin_phase(state_writer *w, phase next)
{
    const double begin_s = timer_now_s();
    w->phase = next;
    w->agreeing = w->finished = false;
    for (int i = 0; i < AGREED; i++) w->mine[i] = (most){ 0, w->a.rank };
    if (next == WRITE) w->status = attempt_begin(&w->a, &w->request.level);
    else if (w->a.rank == 0) w->status = state_index_create(w->a.index, &w->a.s, &w->a.why);
    w->mine[JOB_S].number = timer_now_s() - begin_s;
}

static MPI_Request *next_pending(state_writer *w) { return &w->pending[w->pending_count++]; }

static void agree(state_writer *w)
{
    const state_info *s = &w->a.s;
    w->agreeing = true;
    w->mine[WORST].number = w->status;
    w->mine[VERIFY_S].number = w->phase == WRITE ? w->a.verify_s : 0;
    w->mine[JOB_S].number -= w->mine[VERIFY_S].number;
    MPI_CHECK(MPI_Iallreduce(w->mine, w->all, AGREED, MPI_DOUBLE_INT, MPI_MAXLOC, w->comm, next_pending(w)));
    if (w->phase != WRITE) return;
    /* parts and checksums: what a rank does not know is 0, what several know is the same */
    const int words = (int)(s->crc + s->blocks - (uint32_t *)s->part);
    MPI_CHECK(MPI_Iallreduce(MPI_IN_PLACE, s->part, words, MPI_UINT32_T, MPI_BOR, w->comm, next_pending(w)));
    for (int i = 0; i < s->fields; i++) w->a.sum[0][i] = w->request.level.field[i].fingerprint;
    MPI_CHECK(MPI_Iallreduce(MPI_IN_PLACE, w->a.sum, 2 * STATE_FIELDS_MAX, MPI_UINT64_T, MPI_SUM, w->comm,
                             next_pending(w)));
}

/* ---- what all ranks know once they have agreed ---- */

/* Compares the fingerprints of the cells that were read back with those of the device. */
static state_status learn_fingerprints(state_writer *w)
{
    state_field *f = w->a.s.field;
    const uint64_t *const wanted = w->a.sum[0], *const found = w->a.sum[1];
    for (int i = 0; i < w->a.s.fields; i++) {
        f[i].fingerprint = wanted[i];
        if (w->a.o.verify == STATE_VERIFY_FULL && found[i] != wanted[i])
            return sentence_fail(STATE_DAMAGED, &w->a.why,
                                 "cannot write %s: /fields/%s was read back with fingerprint %016" PRIx64
                                 ", but had %016" PRIx64 " on its device",
                                 w->a.path, f[i].name, found[i], wanted[i]);
    }
    return STATE_OK;
}

static void end(state_writer *w)
{
    if (w->ended == STATE_OK) {
        w->stats.count++;
        w->stats.newest_step = w->a.s.step;
        w->stats.bytes += (int64_t)w->a.bytes;
        w->stats.parts = w->a.s.parts;
    } else {
        w->stats.failed++;
    }
    collect_end(&w->cells);
    state_close(&w->a.s);
    w->phase = IDLE;
}

/* Nothing has a name yet. Once all have rank `speaker`'s sentence, what was half written is deleted. */
static void give_up(state_writer *w, state_status status, int speaker)
{
    w->ended = status;
    w->phase = TELL;
    w->agreeing = true;
    attempt_give_up(&w->a);
    MPI_CHECK(MPI_Ibcast(w->a.why.text, SENTENCE_BYTES, MPI_BYTE, speaker, w->comm, next_pending(w)));
    MPI_CHECK(MPI_Ibarrier(w->comm, next_pending(w)));
}

static void go_on(state_writer *w)
{
    if (w->phase == TELL) {
        end(w);
        return;
    }
    state_status status = (state_status)w->all[WORST].number;
    w->stats.write_s += w->all[JOB_S].number;
    w->stats.verify_s += w->all[VERIFY_S].number;
    if (status == STATE_OK && w->phase == WRITE) status = learn_fingerprints(w);
    if (status != STATE_OK) {
        give_up(w, status, w->all[WORST].rank);
    } else if (w->phase == PUBLISH) {
        end(w);
    } else {
        begin_phase(w, PUBLISH);
    }
}

/* Goes on as far as it can without waiting. */
static void advance(state_writer *w)
{
    while (w->phase != IDLE) {
        if (!w->agreeing) {
            if (!phase_is_done(w)) return;
            agree(w);
        }
        int agreed = 1;
        MPI_CHECK(MPI_Testall(w->pending_count, w->pending, &agreed, MPI_STATUSES_IGNORE));
        if (!agreed) return;
        w->pending_count = 0;
        go_on(w);
    }
}

/* ---- begin, poll, wait ---- */

state_status state_writer_begin(state_writer *w, const state_request *r, sentence *why)
{
    assert(w->phase == IDLE);
    const double begin_s = timer_now_s();
    w->request = *r;
    w->ended = STATE_OK;
    begin_phase(w, WRITE);
    w->stats.aside = w->a.aside;
    advance(w);
    if (!r->idle || r->idle(r->owner)) w->stats.stall_s += timer_now_s() - begin_s;
    return w->stats.async ? STATE_OK : state_writer_wait(w, why);
}

static state_status tell(state_writer *w, sentence *why)
{
    const state_status ended = w->ended;
    if (w->phase != IDLE || ended == STATE_OK) return STATE_OK;
    *why = w->a.why;
    w->ended = STATE_OK;
    return ended;
}

state_status state_writer_poll(state_writer *w, sentence *why)
{
    advance(w);
    return tell(w, why);
}

state_status state_writer_wait(state_writer *w, sentence *why)
{
    const struct timespec pause = { .tv_nsec = 100 * 1000 }; /* threads that write need processors */
    double idle_since_s = NAN;
    while (w->phase != IDLE) {
        if (isnan(idle_since_s) && (!w->request.idle || w->request.idle(w->request.owner)))
            idle_since_s = timer_now_s();
        advance(w);
        if (w->phase != IDLE) nanosleep(&pause, NULL);
    }
    if (!isnan(idle_since_s)) w->stats.stall_s += timer_now_s() - idle_since_s;
    return tell(w, why);
}

bool state_writer_busy(const state_writer *w) { return w->phase != IDLE; }
state_stats state_writer_stats(const state_writer *w) { return w->stats; }
void state_writer_trust(state_writer *w, int64_t step) { w->a.verified = step; }

/* ---- create and destroy ---- */

/* By rank 0: the folder and its lock are this run's, and what dead runs left half written is gone. */
static state_status take_place(attempt *a, sentence *note, sentence *why)
{
    const state_writer_options *o = &a->o;
    char path[STATE_PATH_BYTES];
    state_status status = o->folder ? state_make_folder(o->folder, why) : STATE_OK;
    state_lock_path(path, o->folder, o->file);
    if (status == STATE_OK) a->lock = lock_take(path, &status, note, why);
    return status == STATE_OK ? state_tidy(a->dir, o->file, why) : status;
}

state_writer *state_writer_create(MPI_Comm comm, const state_writer_options *o, state_status *status,
                                  sentence *note, sentence *why)
{
    state_writer *w = CHECK_ALLOC(calloc(1, sizeof *w));
    attempt *a = &w->a;
    *a = (attempt){
        .o = *o, .rank = ranks_mine(comm), .ranks = ranks_count(comm), .verified = STATE_NONE_VERIFIED
    };
    w->stats.async = o->async;
    note->text[0] = '\0';
    if (o->folder) snprintf(a->dir, sizeof a->dir, "%s", o->folder);
    else replace_directory_of(a->dir, sizeof a->dir, o->file);
    *status = state_agree(comm, a->rank == 0 ? take_place(a, note, why) : STATE_OK, why);
    if (*status != STATE_OK) {
        lock_release(&a->lock);
        free(w);
        return NULL;
    }
    MPI_CHECK(ranks_dup(comm, &w->comm));
    a->token = (uint32_t)replace_token();
    MPI_CHECK(ranks_bcast(&a->token, 1, MPI_UINT32_T, 0, comm));
    return w;
}

void state_writer_destroy(state_writer **w)
{
    if (!w || !*w) return;
    sentence ignored;
    (void)state_writer_wait(*w, &ignored);
    MPI_CHECK(MPI_Comm_free(&(*w)->comm));
    lock_release(&(*w)->a.lock);
    free(*w);
    *w = NULL;
}
