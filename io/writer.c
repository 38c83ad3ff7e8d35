/* The foreground writer: submit writes, so that the steps wait for every second of it and wait has nothing to wait for. */
#include "writer.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "lock.h"
#include "timer.h"

struct writer {
    MPI_Comm comm;
    char *dir;
    lock *lock;
    retain_rule rule;
    int64_t verified; /* step of the last checkpoint known to be whole */
    char note[768];
    writer_stats stats;
};

writer *writer_create(MPI_Comm comm, const char *dir, retain_rule rule, checkpoint_status *status, char *why, size_t why_bytes)
{
    *status = checkpoint_make_dir(comm, dir, why, why_bytes);
    if (*status != CHECKPOINT_OK) return NULL;
    writer *w = calloc(1, sizeof *w);
    char *copy = strdup(dir);
    if (!w || !copy) check_fail(__FILE__, __LINE__, "calloc", "out of memory for the checkpoint writer");
    *w = (writer){ .comm = comm, .dir = copy, .rule = rule, .verified = RETAIN_NONE_VERIFIED };
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
    return w;
}

const char *writer_note(const writer *w) { return w->note; }

void writer_trust(writer *w, int64_t step) { w->verified = step; }

checkpoint_status writer_submit(writer *w, const checkpoint_state *s, char *why, size_t why_bytes)
{
    const double begin_s = timer_now_s();
    const size_t path_bytes = strlen(w->dir) + 64;
    char *path = malloc(path_bytes);
    if (!path) check_fail(__FILE__, __LINE__, "malloc", "out of memory for a checkpoint's path");
    checkpoint_path(path, path_bytes, w->dir, s->step);
    int64_t bytes = 0;
    const checkpoint_status status = checkpoint_write(w->comm, path, s, &bytes, why, why_bytes);
    free(path);
    if (status == CHECKPOINT_OK) {
        if (s->verify != CHECKPOINT_VERIFY_OFF) w->verified = s->step; /* read back before it got its name */
        retain_apply(w->comm, w->dir, w->rule, s->step, w->verified);
        w->stats.count++;
        w->stats.bytes += bytes;
    } else {
        w->stats.failed++;
    }
    const double spent_s = timer_now_s() - begin_s;
    w->stats.write_s += spent_s;
    w->stats.stall_s += spent_s;
    return status;
}

checkpoint_status writer_wait(writer *w, char *why, size_t why_bytes)
{
    assert(w);
    (void)w;
    if (why_bytes) why[0] = '\0';
    return CHECKPOINT_OK;
}

writer_stats writer_get_stats(const writer *w) { return w->stats; }

void writer_destroy(writer **w)
{
    if (!w || !*w) return;
    lock_release(&(*w)->lock);
    free((*w)->dir);
    free(*w);
    *w = NULL;
}
