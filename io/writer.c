/* The state machine between the time steps and the threads that write (checkpoint_job.h).
 *
 * A checkpoint passes through phases; each has a job, done by every rank's thread, and ends with an agreement of the main
 * threads by non-blocking collectives on a communicator of the writer's own: ranks reach a phase's end at different steps,
 * but all go through the same phases in the same order. So neither a step nor MPI ever waits for a file, only the main thread
 * calls MPI and HDF5 (MPI_THREAD_FUNNELED is enough), and an error on one rank is an error on all before anything has its name. */
#include "writer.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "background.h"
#include "check.h"
#include "checkpoint_job.h"
#include "lock.h"
#include "timer.h"

typedef enum phase { IDLE, ROOM, WRITE, READ_BACK, PUBLISH, RAW, CLEAN_UP } phase;
static void (*const job_of[])(void *) = { [ROOM] = checkpoint_job_room,           [WRITE] = checkpoint_job_write,
                                          [READ_BACK] = checkpoint_job_read_back, [PUBLISH] = checkpoint_job_publish,
                                          [RAW] = checkpoint_job_raw,             [CLEAN_UP] = checkpoint_job_clean_up };
typedef enum stage { HELD, RUNNING, AGREEING } stage; /* of a phase */

/* What ranks agree on: the largest of each. */
typedef enum agreed { WORST, JOB_NS, FILE_BYTES, FIELD_AT, AGREED = FIELD_AT + CHECKPOINT_FIELDS_MAX } agreed;
enum { REQUESTS_MAX = 2 + CHECKPOINT_FIELDS_MAX, RAW_BYTES = 256 << 20 };

struct writer {
    MPI_Comm comm; /* owned */
    int rank, ranks;
    char *dir;
    lock *lock;
    retain_rule rule;
    int64_t verified; /* step of the last checkpoint known to be whole */
    char note[768], not_async[256];
    writer_stats stats;

    background *thread; /* NULL: in the foreground */
    phase phase;
    stage stage;
    writer_request request;
    checkpoint_job job;
    checkpoint_state snapshot; /* with this rank's shares of the fingerprints once it is there */
    int64_t mine[AGREED], all[AGREED], raw_mine, raw_all;
    uint64_t share[CHECKPOINT_FIELDS_MAX], fingerprint[CHECKPOINT_FIELDS_MAX]; /* the latter on rank 0 */
    checkpoint_sums sums[CHECKPOINT_FIELDS_MAX];                               /* joined; on rank 0 */
    MPI_Request pending[REQUESTS_MAX];
    int pending_count;
    bool failed; /* the write under way; then its sentence is in job.why */
    checkpoint_status told; /* of the write that ended last; OK once it was told */
    char told_why[CHECKPOINT_SENTENCE_BYTES];
};

/* ---- may it be in the background? ---- */

/* Fills in not_async where it may not. */
static void make_thread(writer *w)
{
    const checkpoint_state trial = { .kind = "", .type = DTYPE_F64, .deck = "", .fields = 1,
                                     .field = { { .name = "u", .nx = 1, .ny = 1, .own = { 0, 1, 0, 1 } } } };
    uint32_t crc = 0;
    const checkpoint_sums sums[CHECKPOINT_FIELDS_MAX] = { { .lines = 1, .blocks = 1, .crc = &crc } };
    checkpoint_image image;
    if (w->rank == 0) {
        if (checkpoint_image_make(&image, &trial, sums, w->not_async, sizeof w->not_async) != CHECKPOINT_OK) return;
        checkpoint_image_free(&image);
    }
    w->thread = background_create();
    if (!w->thread) snprintf(w->not_async, sizeof w->not_async, "cannot start a thread: %s", strerror(errno));
}

/* The same on all ranks. */
static void choose_background(writer *w)
{
    make_thread(w);
    const checkpoint_status mine = w->thread ? CHECKPOINT_OK : CHECKPOINT_IO;
    w->stats.async = checkpoint_agree(w->comm, mine, w->not_async, sizeof w->not_async) == CHECKPOINT_OK;
    if (!w->stats.async) background_destroy(&w->thread);
}

writer *writer_create(MPI_Comm comm, const char *dir, retain_rule rule, bool async, checkpoint_status *status, char *why,
                      size_t why_bytes)
{
    *status = checkpoint_make_dir(comm, dir, why, why_bytes);
    if (*status != CHECKPOINT_OK) return NULL;
    writer *w = calloc(1, sizeof *w);
    char *copy = strdup(dir);
    if (!w || !copy) check_fail(__FILE__, __LINE__, "calloc", "out of memory for the checkpoint writer");
    *w = (writer){ .dir = copy, .rule = rule, .verified = RETAIN_NONE_VERIFIED, .stats.raw_bytes_per_s = NAN };
    MPI_CHECK(MPI_Comm_dup(comm, &w->comm));
    MPI_CHECK(MPI_Comm_set_errhandler(w->comm, MPI_ERRORS_RETURN));
    MPI_CHECK(MPI_Comm_rank(comm, &w->rank));
    MPI_CHECK(MPI_Comm_size(comm, &w->ranks));
    w->lock = lock_take(comm, dir, status, w->note, sizeof w->note, why, why_bytes);
    if (*status != CHECKPOINT_OK) {
        writer_destroy(&w);
        return NULL;
    }
    const int deleted = retain_clean(comm, dir);
    const size_t used = strlen(w->note);
    if (deleted > 0)
        snprintf(w->note + used, sizeof w->note - used, "%s%d half-written file%s of dead runs deleted from %.300s",
                 used ? "; " : "", deleted, deleted == 1 ? "" : "s", dir);
    if (async) choose_background(w);
    return w;
}

const char *writer_note(const writer *w) { return w->note; }

const char *writer_not_async(const writer *w) { return w->not_async; }

void writer_trust(writer *w, int64_t step) { w->verified = step; }

bool writer_busy(const writer *w) { return w->phase != IDLE; }

/* ---- the end of a write ---- */

static void count_file(writer *w)
{
    if (w->snapshot.verify != CHECKPOINT_VERIFY_OFF) w->verified = w->snapshot.step; /* read back before it got its name */
    w->stats.count++;
    for (int i = 0; i < w->snapshot.fields; i++) w->stats.bytes += (int64_t)checkpoint_field_bytes(&w->snapshot, i);
}

static checkpoint_status tell(writer *w, char *why, size_t why_bytes)
{
    const checkpoint_status status = w->told;
    if (why_bytes && status != CHECKPOINT_OK) snprintf(why, why_bytes, "%s", w->told_why);
    w->told = CHECKPOINT_OK;
    return status;
}

static void end(writer *w)
{
    if (w->failed) {
        w->stats.failed++;
        w->told = CHECKPOINT_IO;
        snprintf(w->told_why, sizeof w->told_why, "%s", w->job.why);
    }
    checkpoint_job_end(&w->job);
    for (int i = 0; i < CHECKPOINT_FIELDS_MAX; i++) checkpoint_sums_free(&w->sums[i]);
    w->phase = IDLE;
}

/* ---- one phase: job, agreement, what follows ---- */

/* To be asked until it is. *held_s: for how long it held the steps up. */
static bool snapshot_is_there(writer *w, double *held_s)
{
    if (!w->request.ready(w->request.owner, &w->snapshot, held_s)) return false;
    w->stats.snapshot_s += *held_s;
    for (int i = 0; i < w->snapshot.fields; i++) w->share[i] = w->snapshot.field[i].fingerprint;
    return true;
}

static checkpoint_status make_structure(checkpoint_job *j, checkpoint_image *image, const checkpoint_state *s,
                                        const checkpoint_sums *sums)
{
    char reason[512];
    if (checkpoint_image_make(image, s, sums, reason, sizeof reason) == CHECKPOINT_OK) return CHECKPOINT_OK;
    return checkpoint_fail(CHECKPOINT_IO, j->why, sizeof j->why, "cannot write %s: %s", j->names.path, reason);
}

/* On rank 0: HDF5's structure with the joined checksums and fingerprints. */
static bool make_image(writer *w)
{
    checkpoint_state s = w->snapshot;
    checkpoint_job *j = &w->job;
    for (int i = 0; i < s.fields; i++) {
        s.field[i].fingerprint = w->fingerprint[i];
        checkpoint_sums_finish(&w->sums[i], s.type, &s.field[i]);
    }
    j->status = make_structure(j, &j->image, &s, w->sums);
    if (j->status != CHECKPOINT_OK) return false;
    if (memcmp(&j->image.layout, &j->layout, sizeof j->layout) == 0 && j->image.file_bytes == j->file_bytes) return true;
    j->status = checkpoint_fail(CHECKPOINT_IO, j->why, sizeof j->why, "cannot write %s: HDF5 changed the layout of the file",
                                j->names.path);
    return false;
}

/* False: the job has to wait for the snapshot. */
static bool start(writer *w)
{
    if (w->phase == WRITE) {
        double held_s = 0;
        if (!snapshot_is_there(w, &held_s)) return false;
        w->stats.stall_s += held_s;
        w->job.state = w->snapshot;
    }
    w->stage = RUNNING;
    if (w->phase == PUBLISH && w->rank == 0 && !make_image(w)) return true; /* nothing to run: at once to the agreement */
    background_start(w->thread, job_of[w->phase], &w->job);
    return true;
}

static MPI_Request *next_pending(writer *w)
{
    assert(w->pending_count < REQUESTS_MAX);
    return &w->pending[w->pending_count++];
}

static void join_checksums(writer *w)
{
    for (int i = 0; i < w->snapshot.fields; i++)
        MPI_CHECK(MPI_Ireduce(w->job.share[i].crc, w->sums[i].crc, (int)w->job.share[i].blocks, MPI_UINT32_T, MPI_BXOR, 0,
                              w->comm, next_pending(w)));
    MPI_CHECK(MPI_Ireduce(w->share, w->fingerprint, w->snapshot.fields, MPI_UINT64_T, MPI_SUM, 0, w->comm, next_pending(w)));
}

static void agree(writer *w)
{
    w->stage = AGREEING;
    w->mine[WORST] = (int64_t)w->job.status * w->ranks + (w->ranks - 1 - w->rank); /* of equals the lowest rank speaks */
    w->mine[JOB_NS] = (int64_t)(w->job.seconds * 1e9);
    MPI_CHECK(MPI_Iallreduce(w->mine, w->all, AGREED, MPI_INT64_T, MPI_MAX, w->comm, next_pending(w)));
    if (w->phase == WRITE) join_checksums(w);
    if (w->phase == RAW) {
        w->raw_mine = (int64_t)w->job.raw_done_bytes;
        MPI_CHECK(MPI_Iallreduce(&w->raw_mine, &w->raw_all, 1, MPI_INT64_T, MPI_SUM, w->comm, next_pending(w)));
    }
}

/* While the half-written file is deleted, its story goes round. */
static void clean_up_failed(writer *w)
{
    const int speaker = w->ranks - 1 - (int)(w->all[WORST] % w->ranks);
    w->failed = true;
    w->phase = CLEAN_UP;
    w->stage = HELD;
    MPI_CHECK(MPI_Ibcast(w->job.why, (int)sizeof w->job.why, MPI_CHAR, speaker, w->comm, next_pending(w)));
}

/* All ranks have agreed on how the phase went. */
static void go_on(writer *w)
{
    const double seconds = 1e-9 * (double)w->all[JOB_NS];
    const phase ended = w->phase;
    w->stage = HELD;
    if (ended == READ_BACK) w->stats.verify_s += seconds;
    else if (ended != RAW && ended != CLEAN_UP) w->stats.write_s += seconds;
    if (w->all[WORST] / w->ranks != CHECKPOINT_OK) {
        clean_up_failed(w);
        return;
    }
    if (ended == ROOM) {
        w->job.file_bytes = (uint64_t)w->all[FILE_BYTES];
        for (int i = 0; i < CHECKPOINT_FIELDS_MAX; i++) w->job.layout.field_at_bytes[i] = (uint64_t)w->all[FIELD_AT + i];
    }
    if (ended == PUBLISH) count_file(w);
    if (ended == RAW && w->raw_all > 0) w->stats.raw_bytes_per_s = (double)w->raw_all / seconds;
    if (ended == CLEAN_UP || (ended == PUBLISH && w->job.raw_bytes == 0)) end(w);
    else w->phase = ended + 1;
}

/* As far as it goes without waiting. */
static void advance(writer *w)
{
    while (w->phase != IDLE) {
        int complete = 1;
        switch (w->stage) {
        case HELD:
            if (!start(w)) return;
            break;
        case RUNNING:
            if (!background_done(w->thread)) return;
            agree(w);
            break;
        case AGREEING:
            MPI_CHECK(MPI_Testall(w->pending_count, w->pending, &complete, MPI_STATUSES_IGNORE));
            if (!complete) return;
            w->pending_count = 0;
            go_on(w);
            break;
        }
    }
}

/* ---- submit ---- */

/* Where the fields will lie, from a structure without their checksums; rank 0 tells the others with the first agreement. */
static checkpoint_status plan_layout(writer *w)
{
    checkpoint_job *j = &w->job;
    checkpoint_image plan;
    const checkpoint_status status = make_structure(j, &plan, &w->snapshot, w->sums);
    if (status != CHECKPOINT_OK) return status;
    j->layout = plan.layout;
    w->mine[FILE_BYTES] = (int64_t)plan.file_bytes;
    for (int i = 0; i < CHECKPOINT_FIELDS_MAX; i++) w->mine[FIELD_AT + i] = (int64_t)plan.layout.field_at_bytes[i];
    checkpoint_image_free(&plan);
    return CHECKPOINT_OK;
}

static void begin(writer *w, const char *path)
{
    checkpoint_job *j = &w->job;
    const checkpoint_state *s = &w->snapshot;
    uint64_t bytes = 0, own_bytes = 0;
    memset(w->mine, 0, sizeof w->mine);
    w->failed = false;
    checkpoint_status status = checkpoint_job_begin(j, w->rank, s, path);
    for (int i = 0; i < s->fields && status == CHECKPOINT_OK; i++)
        if (!checkpoint_sums_make(&w->sums[i], &s->field[i], j->share[i].lines))
            status = checkpoint_fail(CHECKPOINT_IO, j->why, sizeof j->why, "no memory for the checksums of a checkpoint");
    if (status == CHECKPOINT_OK && w->rank == 0) status = plan_layout(w);
    j->dir = w->dir;
    j->rule = w->rule;
    j->verified = s->verify != CHECKPOINT_VERIFY_OFF ? s->step : w->verified;
    for (int i = 0; i < s->fields; i++) {
        bytes += checkpoint_field_bytes(s, i);
        own_bytes += (uint64_t)box_cells(s->field[i].own) * dtype_bytes(s->type);
    }
    /* Once, when there is time; each rank as large a part of its rows. */
    if (w->stats.count == 0 && isnan(w->stats.raw_bytes_per_s) && !w->request.waited_for)
        j->raw_bytes = bytes > RAW_BYTES ? (uint64_t)((double)own_bytes * RAW_BYTES / (double)bytes) : own_bytes;
    w->phase = ROOM;
    w->stage = HELD;
    if (status != CHECKPOINT_OK) {
        j->status = status;
        w->stage = RUNNING; /* nothing to run: all ranks hear of it in the agreement */
    }
}

static void pause_briefly(void) { nanosleep(&(struct timespec){ 0, 50 * 1000 }, NULL); }

static bool steps_wait(const writer *w) { return !w->request.idle || w->request.idle(w->request.owner); }

static checkpoint_status write_in_foreground(writer *w, const char *path, char *why, size_t why_bytes)
{
    double held_s = 0, mark_s = timer_now_s();
    while (!snapshot_is_there(w, &held_s)) pause_briefly();
    const double waited_s = timer_lap_s(&mark_s);
    checkpoint_state s = w->snapshot;
    MPI_CHECK(MPI_Allreduce(w->share, w->fingerprint, s.fields, MPI_UINT64_T, MPI_SUM, w->comm));
    for (int i = 0; i < s.fields; i++) s.field[i].fingerprint = w->fingerprint[i];
    const checkpoint_status status = checkpoint_write(w->comm, path, &s, NULL, why, why_bytes);
    if (status == CHECKPOINT_OK) {
        count_file(w);
        if (w->rank == 0) retain_apply(w->dir, w->rule, s.step, w->verified);
        MPI_CHECK(MPI_Barrier(w->comm)); /* deleted for every rank */
    } else {
        w->stats.failed++;
    }
    const double spent_s = timer_lap_s(&mark_s);
    w->stats.write_s += spent_s;
    w->stats.verify_s = NAN;
    w->stats.stall_s += fmax(waited_s, held_s) + spent_s;
    return status;
}

checkpoint_status writer_submit(writer *w, const writer_request *r, char *why, size_t why_bytes)
{
    const double begin_s = timer_now_s();
    char path[CHECKPOINT_PATH_BYTES];
    assert(w->phase == IDLE && w->told == CHECKPOINT_OK);
    w->request = *r;
    w->snapshot = *r->state;
    checkpoint_path(path, sizeof path, w->dir, w->snapshot.step);
    if (!w->thread) return write_in_foreground(w, path, why, why_bytes);
    begin(w, path);
    advance(w);
    if (steps_wait(w)) w->stats.stall_s += timer_now_s() - begin_s;
    return CHECKPOINT_OK;
}

checkpoint_status writer_poll(writer *w, char *why, size_t why_bytes)
{
    if (w->phase != IDLE) advance(w);
    return tell(w, why, why_bytes);
}

checkpoint_status writer_wait(writer *w, char *why, size_t why_bytes)
{
    double begin_s = timer_now_s();
    bool stalls = false;
    advance(w);
    while (w->phase != IDLE) {
        if (!stalls && steps_wait(w)) {
            stalls = true;
            begin_s = timer_now_s();
        }
        pause_briefly();
        advance(w);
    }
    if (stalls) w->stats.stall_s += timer_now_s() - begin_s;
    return tell(w, why, why_bytes);
}

writer_stats writer_get_stats(const writer *w) { return w->stats; }

void writer_destroy(writer **w)
{
    if (!w || !*w) return;
    char ignored[CHECKPOINT_SENTENCE_BYTES];
    (void)writer_wait(*w, ignored, sizeof ignored);
    background_destroy(&(*w)->thread);
    MPI_CHECK(MPI_Comm_free(&(*w)->comm));
    lock_release(&(*w)->lock);
    free((*w)->dir);
    free(*w);
    *w = NULL;
}
