/* Steps decide what stays, not ages or counts of files: whether a state is a milestone does not change with
 * restarts, nor with the states that signals asked for. */
#include "state/state_attempt.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "files/replace.h"
#include "state/state_folder.h"
#include "state/state_index.h"
#include "state/state_xdmf.h"

enum { DIGITS = 8 };

static size_t stem_bytes(const char *name)
{
    const size_t length = strlen(name);
    return length > 3 && strcmp(name + length - 3, ".h5") == 0 ? length - 3 : length;
}

bool state_attempt_name(char *out, const char *path, uint32_t token)
{
    const char *const slash = strrchr(path, '/'), *const name = slash ? slash + 1 : path;
    return snprintf(out, STATE_NAME_BYTES, "%.*s.%08" PRIx32, (int)stem_bytes(name), name, token) <
           STATE_NAME_BYTES;
}

/* The names that weft gives in an attempt's folder. */
static bool is_ours(const char *name)
{
    const size_t digits = strspn(name, "0123456789");
    return (digits > 0 && strcmp(name + digits, ".h5") == 0) || strcmp(name, STATE_INDEX_NAME) == 0 ||
           strcmp(name, STATE_XDMF_NAME) == 0;
}

/* May the index in this file still need it? The index of another attempt does not. */
static bool needs(const char *path, uint32_t token)
{
    state_trailer t;
    sentence why;
    const state_status status = state_trailer_check(path, &t, &why);
    return status == STATE_OK ? t.token == token : status != STATE_MISSING;
}

static bool is_needed(const char *dir, const char *name)
{
    char path[STATE_PATH_BYTES];
    const int stem = (int)strlen(name) - DIGITS - 1;
    const uint32_t token = (uint32_t)strtoul(name + stem + 1, NULL, 16);
    for (int i = 0; i < 2; i++) { /* output.final may have any name */
        snprintf(path, sizeof path, "%.3900s/%.*s%s", dir, stem, name, i == 0 ? ".h5" : "");
        if (needs(path, token)) return true;
    }
    return false;
}

static bool is_attempt(const char *name)
{
    const size_t length = strlen(name);
    return length > DIGITS + 1 && !strchr(name, '/') && name[length - DIGITS - 1] == '.' &&
           strspn(name + length - DIGITS, "0123456789abcdef") == DIGITS;
}

static bool remove_folder(const char *dir, const char *name)
{
    char path[STATE_PATH_BYTES];
    snprintf(path, sizeof path, "%.3900s/%s", dir, name);
    const int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *const d = fd < 0 ? NULL : fdopendir(fd);
    if (!d) return access(path, F_OK) != 0;
    for (const struct dirent *e; (e = readdir(d));)
        if (is_ours(e->d_name)) (void)unlinkat(fd, e->d_name, 0);
    closedir(d);
    return rmdir(path) == 0;
}

bool state_attempt_remove(const char *dir, const char *name)
{
    return !is_attempt(name) || is_needed(dir, name) || remove_folder(dir, name);
}

bool state_remove(lock *l, const char *dir, const char *path)
{
    char xdmf[STATE_PATH_BYTES], name[STATE_NAME_BYTES];
    state_trailer t;
    sentence why;
    const bool has_parts = state_trailer_check(path, &t, &why) == STATE_OK && t.token != 0;
    if (has_parts && (!state_attempt_name(name, path, t.token) || (l && lock_note(l, name) != 0)))
        return false;
    if (state_xdmf_path(xdmf, sizeof xdmf, path))
        (void)unlink(xdmf); /* one without its data is the worse leftover */
    if (unlink(path) != 0) return false;
    /* an index whose parts are gone is no state: its name goes first on disk, too */
    return !has_parts || (state_sync_folder(dir) == 0 && state_attempt_remove(dir, name));
}

static bool is_milestone(state_keep keep, int64_t step)
{
    return keep.milestone_steps > 0 && step % keep.milestone_steps == 0;
}

bool state_keep_apply(lock *l, const char *dir, state_keep keep, int64_t last, int64_t verified)
{
    int64_t *steps = NULL;
    size_t count = 0;
    bool all = true;
    char path[STATE_PATH_BYTES];
    if (keep.newest != 0 && state_list_here(dir, &steps, &count) == STATE_OK) {
        int newest = 0;
        for (size_t i = 0; i < count; i++) { /* newest first */
            if (steps[i] > last || newest++ < keep.newest) continue;
            if (steps[i] == verified || is_milestone(keep, steps[i])) continue;
            state_path(path, sizeof path, dir, steps[i]);
            all = state_remove(l, dir, path) && all;
        }
    }
    free(steps);
    return all;
}
