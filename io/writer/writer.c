#include "writer/writer.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "ranks/check.h"
#include "ranks/ranks.h"
#include "ranks/timer.h"
#include "state/checkpoint_directory.h"
#include "writer/lock.h"
#include "writer/phases.h"

struct writer {
    MPI_Comm comm; /* owned */
    char *dir;
    lock *lock;
    retain_rule rule;
    int64_t verified; /* step of the last checkpoint known to be whole */
    sentence note, not_async;
    writer_stats stats;
    phases *phases;
    writer_request request;
    checkpoint_state snapshot;
    char path[CHECKPOINT_PATH_BYTES];
    bool under_way, failed; /* failed: the last one, and nobody was told */
};

writer *writer_create(MPI_Comm comm, const char *dir, retain_rule rule, bool async, checkpoint_status *status,
                      sentence *why)
{
    *status = checkpoint_make_dir(comm, dir, why);
    if (*status != CHECKPOINT_OK) return NULL;
    writer *w = CHECK_ALLOC(calloc(1, sizeof *w));
    char *copy = CHECK_ALLOC(strdup(dir));
    *w = (writer){ .dir = copy, .rule = rule, .verified = RETAIN_NONE_VERIFIED };
    MPI_CHECK(ranks_dup(comm, &w->comm));
    w->lock = lock_take(comm, dir, status, &w->note, why);
    if (*status != CHECKPOINT_OK) {
        writer_destroy(&w);
        return NULL;
    }
    const int deleted = retain_clean(comm, dir);
    if (deleted > 0)
        sentence_add(&w->note, "%sdeleted %d half-written file%s of dead runs from %.300s",
                     w->note.text[0] ? "; " : "", deleted, deleted == 1 ? "" : "s", dir);
    w->phases = phases_create(w->comm, async, &w->stats, &w->not_async);
    return w;
}

const char *writer_note(const writer *w) { return w->note.text; }

const char *writer_not_async(const writer *w) { return w->not_async.text; }

void writer_trust(writer *w, int64_t step) { w->verified = step; }

bool writer_busy(const writer *w) { return w->under_way; }

/* ---- the end of a write ---- */

static void count_file(writer *w)
{
    /* read back before it got its name */
    if (w->snapshot.verify != CHECKPOINT_VERIFY_OFF) w->verified = w->snapshot.step;
    w->stats.count++;
    w->stats.newest_step = w->snapshot.step;
    for (int i = 0; i < w->snapshot.fields; i++)
        w->stats.bytes += (int64_t)checkpoint_field_bytes(&w->snapshot, i);
}

/* As far as the one under way goes without waiting. */
static void advance(writer *w)
{
    if (!w->under_way || phases_advance(w->phases)) return;
    w->under_way = false;
    w->failed = phases_why(w->phases) != NULL;
    if (w->failed) w->stats.failed++;
    else count_file(w);
}

static checkpoint_status tell(writer *w, sentence *why)
{
    if (!w->failed) return CHECKPOINT_OK;
    *why = *phases_why(w->phases);
    w->failed = false;
    return CHECKPOINT_IO;
}

/* ---- submit ---- */

static void wait_for_end(writer *w)
{
    w->stats.stall_s += phases_wait(w->phases, w->request.idle, w->request.owner);
    advance(w);
}

checkpoint_status writer_submit(writer *w, const writer_request *r, sentence *why)
{
    assert(!w->under_way && !w->failed);
    const double begin_s = timer_now_s();
    w->request = *r;
    w->snapshot = *r->state;
    checkpoint_path(w->path, sizeof w->path, w->dir, w->snapshot.step);
    const phases_order order = {
        .path = w->path, .dir = w->dir, .rule = w->rule,
        .verified = w->snapshot.verify != CHECKPOINT_VERIFY_OFF ? w->snapshot.step : w->verified,
    };
    w->under_way = true;
    phases_begin(w->phases, &w->request, &order);
    advance(w);
    if (!w->request.idle || w->request.idle(w->request.owner)) w->stats.stall_s += timer_now_s() - begin_s;
    return w->stats.async ? CHECKPOINT_OK : writer_wait(w, why);
}

checkpoint_status writer_poll(writer *w, sentence *why)
{
    advance(w);
    return tell(w, why);
}

checkpoint_status writer_wait(writer *w, sentence *why)
{
    if (w->under_way) wait_for_end(w);
    return tell(w, why);
}

writer_stats writer_get_stats(const writer *w) { return w->stats; }

void writer_destroy(writer **w)
{
    if (!w || !*w) return;
    sentence ignored;
    (void)writer_wait(*w, &ignored);
    phases_destroy(&(*w)->phases);
    MPI_CHECK(MPI_Comm_free(&(*w)->comm));
    lock_release(&(*w)->lock);
    free((*w)->dir);
    free(*w);
    *w = NULL;
}
