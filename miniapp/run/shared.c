#include "run/shared.h"

#include "files/replace.h"
#include "state/state_folder.h"

int shared_check(sim *s, sentence *why)
{
    const config *c = s->cfg;
    char folder[STATE_PATH_BYTES];
    replace_directory_of(folder, sizeof folder, c->output.final);
    const struct {
        const char *key, *dir;
        bool used;
    } all[] = { { "checkpoint.dir", c->checkpoint.dir, true }, /* where a signal's goes, too */
                { "output.series", c->output.series, c->output.every > 0 && c->output.series[0] },
                { "output.final", folder, c->output.final[0] } };
    for (size_t i = 0; i < sizeof all / sizeof *all && s->top.ranks > 1; i++) {
        if (!all[i].used) continue;
        sentence reason;
        const state_status status = state_is_shared(s->top.comm, all[i].dir, &reason);
        const bool never_due = i == 0 && c->checkpoint.every == 0;
        if (status != STATE_OK && never_due)
            sim_add_note(s, false, "%s: %s; a signal would end this run without a checkpoint", all[i].key,
                         reason.text);
        if (status == STATE_OK || never_due) continue;
        sentence_set(why, "%s: %s", all[i].key, reason.text);
        return state_exit(status);
    }
    return 0;
}
