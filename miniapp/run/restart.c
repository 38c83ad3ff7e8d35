#include "run/restart.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cmd.h"
#include "ranks/check.h"
#include "ranks/ranks.h"
#include "sim/sim_state.h"
#include "state/checkpoint.h"
#include "state/checkpoint_directory.h"

/* The deck stored in a file, as a config; false: unreadable, so the file is damaged. */
static bool stored_config(const checkpoint_info *info, config *c, sentence *why)
{
    deck d = { NULL, 0 };
    const bool ok = info->deck && deck_read_text(&d, info->deck, "stored deck", why) &&
                    config_from_deck(c, &d, why);
    deck_free(&d);
    return ok;
}

/* step: where to put the step of a file that is only looked at; NULL: it is loaded.
 * CHECKPOINT_MISSING here also stands for "disagrees with the deck" and for "beyond time.steps": the user's
 * mistake in all cases. */
static checkpoint_status take_file(sim *s, const char *path, int64_t *step, sentence *why)
{
    sentence reason;
    checkpoint_info info;
    memset(&info, 0, sizeof info);
    checkpoint_status status = checkpoint_read_info(s->top.comm, path, &info, why);
    if (status != CHECKPOINT_OK) return status;

    config *stored = CHECK_ALLOC(calloc(1, sizeof *stored));
    if (!stored_config(&info, stored, &reason)) {
        sentence_set(why, "%s: the deck stored in it cannot be read: %s", path, reason.text);
        status = CHECKPOINT_DAMAGED;
    } else {
        const char *key = config_first_difference(s->cfg, stored);
        if (key) {
            sentence_set(why, "%s differs between the deck and %s; a restart must agree in problem and grid",
                         key, path);
            status = CHECKPOINT_MISSING;
        } else if (info.step > s->cfg->time.steps) {
            sentence_set(why,
                         "time.steps = %lld, but %s is of step %lld; allowed is that step or a later one",
                         (long long)s->cfg->time.steps, path, (long long)info.step);
            status = CHECKPOINT_MISSING;
        }
    }
    if (step) *step = info.step;
    free(stored);
    checkpoint_info_free(&info);
    return status == CHECKPOINT_OK && !step ? sim_load(s, path, why) : status;
}

enum { PATH_FILE, PATH_DIRECTORY, PATH_MISSING, PATH_HIDDEN };

/* What rank 0 finds under the name; PATH_HIDDEN: it cannot tell, *code says why. */
static int find_path(const topology *top, const char *path, int *code)
{
    int answer[2] = { PATH_FILE, 0 };
    if (top->rank == 0) {
        struct stat st;
        if (stat(path, &st) == 0) answer[0] = S_ISDIR(st.st_mode) ? PATH_DIRECTORY : PATH_FILE;
        else answer[0] = errno == ENOENT || errno == ENOTDIR ? PATH_MISSING : PATH_HIDDEN, answer[1] = errno;
    }
    MPI_CHECK(ranks_bcast(answer, 2, MPI_INT, 0, top->comm));
    *code = answer[1];
    return answer[0];
}

/* Why none of a directory's checkpoints can be used: which are damaged, and which may not be read. */
static int none_usable(const char *dir, size_t damaged, size_t unreadable, sentence *why)
{
    const size_t count = damaged + unreadable;
    char how[96];
    if (unreadable == 0) snprintf(how, sizeof how, "all damaged");
    else if (damaged == 0) snprintf(how, sizeof how, "none of which can be read");
    else snprintf(how, sizeof how, "%zu damaged and %zu that cannot be read", damaged, unreadable);
    sentence_set(why, "%s holds %zu checkpoint%s, %s", dir, count, count == 1 ? "" : "s", how);
    return CHECK_EXIT_ENVIRONMENT;
}

static int take_newest(sim *s, const char *dir, bool *found, int64_t *step, sentence *why)
{
    int64_t *steps = NULL;
    size_t count = 0, unreadable = 0;
    checkpoint_status status = checkpoint_list(s->top.comm, dir, &steps, &count);
    if (status != CHECKPOINT_OK && status != CHECKPOINT_MISSING) {
        sentence_set(why, "--restart %s: the directory cannot be read", dir);
        return CHECK_EXIT_ENVIRONMENT;
    }
    for (size_t i = 0; i < count; i++) {
        char path[4224];
        checkpoint_path(path, sizeof path, dir, steps[i]);
        status = take_file(s, path, step, why);
        if (status == CHECKPOINT_OK) {
            *found = true;
            break;
        }
        if (status == CHECKPOINT_MISSING) break; /* a whole file of another problem: not for us to skip */
        if (status == CHECKPOINT_IO) unreadable++;
        cmd_say(0, "%s; skipped", why->text);
    }
    free(steps);
    if (*found || count == 0) return 0;
    if (status == CHECKPOINT_MISSING) return CHECK_EXIT_USAGE;
    return none_usable(dir, count - unreadable, unreadable, why);
}

int restart(sim *s, const request *ask, int64_t *step, bool *found, sentence *why)
{
    const char *path = ask->restart;
    int code = 0;
    *found = false;
    switch (find_path(&s->top, path, &code)) {
    case PATH_DIRECTORY: return take_newest(s, path, found, step, why);
    case PATH_MISSING:
        if (ask->restart_if_any) return 0;
        sentence_set(why, "--restart %s: no such file or directory; --restart-if-any would start at step 0",
                     path);
        return CHECK_EXIT_USAGE;
    case PATH_HIDDEN:
        sentence_set(why, "--restart %s: cannot be read: %s", path, strerror(code));
        return CHECK_EXIT_ENVIRONMENT;
    }
    const checkpoint_status status = take_file(s, path, step, why);
    *found = status == CHECKPOINT_OK;
    return checkpoint_exit(status);
}
