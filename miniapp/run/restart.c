#include "run/loop.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cmd.h"
#include "ranks/check.h"
#include "ranks/ranks.h"
#include "state/state_folder.h"

/* Does the state go on where the deck wants to? The deck stored in it is damaged where it cannot be read. */
static state_status compare_decks(const sim *s, const state_info *found, sentence *why)
{
    sentence reason;
    deck d = { NULL, 0 };
    state_status status = STATE_OK;
    config *stored = CHECK_ALLOC(calloc(1, sizeof *stored));
    const bool readable =
        deck_read_text(&d, found->deck, "stored deck", &reason) && config_from_deck(stored, &d, &reason);
    const char *key = readable ? config_first_difference(s->cfg, stored) : NULL;
    if (!readable)
        status = sentence_fail(STATE_DAMAGED, why, "%s: the deck stored in it cannot be read: %s",
                               found->path, reason.text);
    else if (key)
        status = sentence_fail(STATE_MISSING, why,
                               "%s differs between the deck and %s; a restart must agree in problem and grid",
                               key, found->path);
    else if (found->step > s->cfg->time.steps)
        status =
            sentence_fail(STATE_MISSING, why,
                          "time.steps = %lld, but %s is of step %lld; allowed is that step or a later one",
                          (long long)s->cfg->time.steps, found->path, (long long)found->step);
    deck_free(&d);
    free(stored);
    return status;
}

/* STATE_MISSING here also stands for "disagrees with the deck" and for "beyond time.steps": the user's
 * mistake in all cases. look: nothing is loaded. */
static state_status take_file(sim *s, const char *path, bool look, int64_t *step, sentence *why)
{
    state_info found;
    state_status status = state_open(s->top.comm, path, &found, why);
    if (status == STATE_OK) status = compare_decks(s, &found, why);
    if (status == STATE_OK && !look) status = sim_load(s, &found, why);
    if (status == STATE_OK) *step = found.step;
    state_close(&found);
    return status;
}

/* Rank 0 looks at the name: 0, or errno. */
static int find_path(const topology *top, const char *path, bool *directory)
{
    struct stat st;
    int answer[2] = { 0, 0 };
    if (top->rank == 0 && stat(path, &st) != 0) answer[0] = errno;
    else if (top->rank == 0) answer[1] = S_ISDIR(st.st_mode);
    MPI_CHECK(ranks_bcast(answer, 2, MPI_INT, 0, top->comm));
    *directory = answer[1] != 0;
    return answer[0];
}

/* A file that has a checkpoint's name and is none, or another problem's, is skipped, and named where an older
 * one is taken. */
static state_status take_newest(sim *s, const char *dir, bool look, int64_t *step, sentence *why)
{
    int64_t *steps = NULL;
    size_t count = 0, unreadable = 0, others = 0;
    const state_status listed = state_list(s->top.comm, dir, &steps, &count);
    if (listed != STATE_OK && listed != STATE_MISSING)
        return sentence_fail(listed, why, "--restart %s: the directory cannot be read", dir);
    sentence *const skipped = CHECK_ALLOC(calloc(count + 1, sizeof *skipped));
    size_t tried = 0;
    bool found = false;
    for (; tried < count && !found; tried++) {
        char path[STATE_PATH_BYTES];
        state_path(path, sizeof path, dir, steps[tried]);
        const state_status status = take_file(s, path, look, step, &skipped[tried]);
        found = status == STATE_OK;
        unreadable += status == STATE_IO;
        if (status == STATE_MISSING && others++ == 0) *why = skipped[tried];
        if (status == STATE_MISSING && steps[tried] > s->cfg->time.steps)
            break; /* the run was to end before */
    }
    for (size_t i = 0; i + found < tried && (found || others == 0); i++)
        cmd_say(0, "%s; skipped", skipped[i].text);
    free(skipped);
    free(steps);
    if (found || count == 0) return STATE_OK;
    if (others > 0) return STATE_MISSING;
    return sentence_fail(STATE_DAMAGED, why, "%s: no checkpoint can be used; damaged: %zu, not readable: %zu",
                         dir, count - unreadable, unreadable);
}

state_status restart(sim *s, const request *ask, int64_t *step, sentence *why)
{
    const char *path = ask->restart;
    bool directory = false;
    const int code = find_path(&s->top, path, &directory);
    *step = -1;
    if (directory) return take_newest(s, path, ask->dry_run, step, why);
    const bool missing = code == ENOENT || code == ENOTDIR;
    if (missing && ask->restart_if_any) return STATE_OK;
    if (missing)
        return sentence_fail(
            STATE_MISSING, why,
            "--restart %s: no such file or directory; --restart-if-any would start at step 0", path);
    if (code) return sentence_fail(STATE_IO, why, "--restart %s: cannot be read: %s", path, strerror(code));
    return take_file(s, path, ask->dry_run, step, why);
}
