#include "writer.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "check.h"
#include "checkpoint_job.h"
#include "lock.h"
#include "phases.h"
#include "timer.h"

struct writer {
    MPI_Comm comm; /* owned */
    int rank;
    char *dir;
    lock *lock;
    retain_rule rule;
    int64_t verified; /* step of the last checkpoint known to be whole */
    char note[768], not_async[256];
    writer_stats stats;
    phases *phases; /* NULL: in the foreground */
    writer_request request;
    checkpoint_state snapshot;
    char path[CHECKPOINT_PATH_BYTES];
    bool under_way, failed; /* failed: the last one, and nobody was told */
};

writer *writer_create(MPI_Comm comm, const char *dir, retain_rule rule, bool async, checkpoint_status *status, char *why,
                      size_t why_bytes)
{
    *status = checkpoint_make_dir(comm, dir, why, why_bytes);
    if (*status != CHECKPOINT_OK) return NULL;
    writer *w = calloc(1, sizeof *w);
    char *copy = strdup(dir);
    if (!w || !copy) check_fail(__FILE__, __LINE__, "calloc", "out of memory for the checkpoint writer");
    *w = (writer){ .dir = copy, .rule = rule, .verified = RETAIN_NONE_VERIFIED };
    MPI_CHECK(MPI_Comm_dup(comm, &w->comm));
    MPI_CHECK(MPI_Comm_set_errhandler(w->comm, MPI_ERRORS_RETURN));
    MPI_CHECK(MPI_Comm_rank(comm, &w->rank));
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
    if (async) w->phases = phases_create(w->comm, &w->stats, w->not_async, sizeof w->not_async);
    w->stats.async = w->phases != NULL;
    return w;
}

const char *writer_note(const writer *w) { return w->note; }

const char *writer_not_async(const writer *w) { return w->not_async; }

void writer_trust(writer *w, int64_t step) { w->verified = step; }

bool writer_busy(const writer *w) { return w->under_way; }

/* ---- the end of a write ---- */

static void count_file(writer *w)
{
    if (w->snapshot.verify != CHECKPOINT_VERIFY_OFF) w->verified = w->snapshot.step; /* read back before it got its name */
    w->stats.count++;
    w->stats.newest_step = w->snapshot.step;
    for (int i = 0; i < w->snapshot.fields; i++) w->stats.bytes += (int64_t)checkpoint_field_bytes(&w->snapshot, i);
}

/* As far as the one in the background goes without waiting. */
static void advance(writer *w)
{
    if (!w->under_way || phases_advance(w->phases)) return;
    w->under_way = false;
    w->failed = phases_why(w->phases) != NULL;
    if (w->failed) w->stats.failed++;
    else count_file(w);
}

static checkpoint_status tell(writer *w, char *why, size_t why_bytes)
{
    if (!w->failed) return CHECKPOINT_OK;
    if (why_bytes) snprintf(why, why_bytes, "%s", phases_why(w->phases));
    w->failed = false;
    return CHECKPOINT_IO;
}

/* ---- submit ---- */

/* The longer the wait so far, the longer a pause in it, up to a millisecond: the threads that write may need this processor, and to
 * know of their end a sixteenth later costs little. */
static void pause_in_wait(double since_s)
{
    const double pause_s = fmin(fmax((timer_now_s() - since_s) / 16, 50e-6), 1e-3);
    nanosleep(&(struct timespec){ .tv_nsec = (long)(pause_s * 1e9) }, NULL);
}

static bool steps_wait(const writer *w) { return !w->request.idle || w->request.idle(w->request.owner); }

/* With the fingerprints of all ranks' cells. */
static checkpoint_status write_snapshot(writer *w, char *why, size_t why_bytes)
{
    checkpoint_state *s = &w->snapshot;
    uint64_t share[CHECKPOINT_FIELDS_MAX], all[CHECKPOINT_FIELDS_MAX];
    for (int i = 0; i < s->fields; i++) share[i] = s->field[i].fingerprint;
    MPI_CHECK(MPI_Allreduce(share, all, s->fields, MPI_UINT64_T, MPI_SUM, w->comm));
    for (int i = 0; i < s->fields; i++) s->field[i].fingerprint = all[i];
    return checkpoint_write(w->comm, w->path, s, &w->stats.aggregators, why, why_bytes);
}

/* Is the raw file system measured after this file? Not where the run waits for it to end. */
static bool is_sampled(const writer *w)
{
    const int64_t number = w->stats.count + 1;
    return (number & (number - 1)) == 0 && !w->request.waited_for;
}

/* The rows of the file just written, as checkpoint_job_raw writes them; write_s: what that took. What fails is not measured. */
static void measure_raw(writer *w, double write_s)
{
    checkpoint_job j;
    char ignored[CHECKPOINT_SENTENCE_BYTES];
    checkpoint_status status = checkpoint_job_begin(&j, w->rank, &w->snapshot, w->path);
    const double file_bytes = (double)checkpoint_field_bytes(&j.state, 0);
    j.layout.field_at_bytes[1] = (uint64_t)file_bytes;
    j.raw_bytes = PHASES_RAW_BYTES;
    j.file_bytes = checkpoint_needed_bytes(&j.state);
    if (status == CHECKPOINT_OK) checkpoint_job_room(&j);
    if (checkpoint_agree(w->comm, j.status, ignored, sizeof ignored) == CHECKPOINT_OK) {
        checkpoint_job_phase(&j);
        checkpoint_job_raw(&j);
        const double bytes = (double)j.raw_done_bytes;
        double all_bytes, longest_s;
        MPI_CHECK(MPI_Allreduce(&bytes, &all_bytes, 1, MPI_DOUBLE, MPI_SUM, w->comm));
        MPI_CHECK(MPI_Allreduce(&j.seconds, &longest_s, 1, MPI_DOUBLE, MPI_MAX, w->comm));
        if (all_bytes > 0) phases_add_raw(&w->stats, all_bytes, longest_s, &w->snapshot, write_s);
    }
    checkpoint_job_clean_up(&j);
    checkpoint_job_end(&j);
}

static checkpoint_status write_in_foreground(writer *w, char *why, size_t why_bytes)
{
    double held_s = 0, mark_s = timer_now_s();
    while (!w->request.ready(w->request.owner, &w->snapshot, &held_s)) pause_in_wait(mark_s);
    w->stats.snapshot_s += held_s;
    const double waited_s = timer_lap_s(&mark_s);
    const bool sampled = is_sampled(w);
    const checkpoint_status status = write_snapshot(w, why, why_bytes);
    if (status == CHECKPOINT_OK) {
        count_file(w);
        if (w->rank == 0) retain_apply(w->dir, w->rule, w->snapshot.step, w->verified);
        MPI_CHECK(MPI_Barrier(w->comm)); /* deleted for every rank */
    } else {
        w->stats.failed++;
    }
    const double spent_s = timer_lap_s(&mark_s);
    w->stats.write_s += spent_s;
    w->stats.verify_s = NAN;
    if (sampled && status == CHECKPOINT_OK) measure_raw(w, spent_s);
    w->stats.stall_s += fmax(waited_s, held_s) + spent_s + timer_lap_s(&mark_s);
    return status;
}

static void write_in_background(writer *w)
{
    const double begin_s = timer_now_s();
    const phases_order order = {
        .path = w->path, .dir = w->dir, .rule = w->rule,
        .verified = w->snapshot.verify != CHECKPOINT_VERIFY_OFF ? w->snapshot.step : w->verified,
        .raw = is_sampled(w),
    };
    w->under_way = true;
    phases_begin(w->phases, &w->request, &order);
    advance(w);
    if (steps_wait(w)) w->stats.stall_s += timer_now_s() - begin_s;
}

checkpoint_status writer_submit(writer *w, const writer_request *r, char *why, size_t why_bytes)
{
    assert(!w->under_way && !w->failed);
    w->request = *r;
    w->snapshot = *r->state;
    checkpoint_path(w->path, sizeof w->path, w->dir, w->snapshot.step);
    if (!w->phases) return write_in_foreground(w, why, why_bytes);
    write_in_background(w);
    return CHECKPOINT_OK;
}

checkpoint_status writer_poll(writer *w, char *why, size_t why_bytes)
{
    advance(w);
    return tell(w, why, why_bytes);
}

void writer_hurry(writer *w)
{
    if (w->under_way) phases_hurry(w->phases);
}

checkpoint_status writer_wait(writer *w, char *why, size_t why_bytes)
{
    const double begin_s = timer_now_s();
    double stall_begin_s = begin_s;
    bool stalls = false;
    advance(w);
    while (w->under_way) {
        if (!stalls && steps_wait(w)) {
            stalls = true;
            stall_begin_s = timer_now_s();
        }
        pause_in_wait(begin_s);
        advance(w);
    }
    if (stalls) w->stats.stall_s += timer_now_s() - stall_begin_s;
    return tell(w, why, why_bytes);
}

writer_stats writer_get_stats(const writer *w) { return w->stats; }

void writer_destroy(writer **w)
{
    if (!w || !*w) return;
    char ignored[CHECKPOINT_SENTENCE_BYTES];
    (void)writer_wait(*w, ignored, sizeof ignored);
    phases_destroy(&(*w)->phases);
    MPI_CHECK(MPI_Comm_free(&(*w)->comm));
    lock_release(&(*w)->lock);
    free((*w)->dir);
    free(*w);
    *w = NULL;
}
