#include "run/shared.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "files/replace.h"
#include "state/checkpoint_directory.h"
#include "writer/writers.h"

/* Rank 0's host is looked at where the folder is made. */
static checkpoint_status may_write(const sim *s, const char *dir, sentence *why)
{
    char folder[CHECKPOINT_PATH_BYTES];
    checkpoint_status status = CHECKPOINT_OK;
    writers w;
    writers_look(&w, s->top.comm, s->top.where, dir, s->cfg->checkpoint.aggregators);
    const bool writes = w.rule == WRITERS_ALIGNED || w.rule == WRITERS_LOCKED;
    if (writes && checkpoint_nearest_folder(folder, dir) == 0 && access(folder, W_OK | X_OK) != 0)
        status = checkpoint_fail(CHECKPOINT_IO, why,
                                 "rank %d on %s cannot write in %.300s: %s; ranks of all hosts write there",
                                 s->top.rank, s->top.host, folder, strerror(errno));
    return checkpoint_agree(s->top.comm, status, why);
}

int shared_check(sim *s, sentence *why)
{
    const config *c = s->cfg;
    char folder[CHECKPOINT_PATH_BYTES];
    replace_directory_of(folder, sizeof folder, c->output.final);
    const struct {
        const char *key, *dir;
        bool used;
    } all[] = { { "checkpoint.dir", c->checkpoint.dir, true }, /* where a signal's goes, too */
                { "output.series", c->output.series, c->output.every > 0 && c->output.series[0] },
                { "output.final", folder, c->output.final[0] } };
    for (size_t i = 0; i < sizeof all / sizeof *all && s->top.hosts > 1; i++) {
        if (!all[i].used) continue;
        sentence reason;
        checkpoint_status status = checkpoint_is_shared(s->top.comm, all[i].dir, &reason);
        if (status == CHECKPOINT_OK) status = may_write(s, all[i].dir, &reason);
        const bool never_due = i == 0 && c->checkpoint.every == 0;
        if (status != CHECKPOINT_OK && never_due)
            sim_add_note(s, false, "%s: %s; a signal would end this run without a checkpoint", all[i].key,
                         reason.text);
        if (status == CHECKPOINT_OK || never_due) continue;
        sentence_set(why, "%s: %s", all[i].key, reason.text);
        return checkpoint_exit(status);
    }
    return 0;
}
