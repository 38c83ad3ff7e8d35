/* The folder of checkpoints: DIR/step_NNNNNNNNNN.h5, and what goes of it and stays. Rank 0 looks and acts;
 * all ranks get the same answer. */
#include "state/state_folder.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files/replace.h"
#include "ranks/check.h"
#include "ranks/ranks.h"
#include "state/attempt.h"

/* 0 or errno. A folder's name is on disk once the folder above was fsynced: without that a power cut may take
 * all that it holds. */
static int make_with_parents(const char *dir)
{
    char above[STATE_PATH_BYTES];
    replace_directory_of(above, sizeof above, dir);
    if (mkdir(dir, 0777) == 0) return replace_sync_folder(above);
    if (errno != ENOENT || strcmp(above, dir) == 0) return errno == EEXIST ? 0 : errno;
    const int code = make_with_parents(above);
    return code ? code : make_with_parents(dir);
}

state_status state_make_folder(const char *dir, sentence *why)
{
    struct stat info;
    int code = make_with_parents(dir);
    if (!code && stat(dir, &info) == 0 && !S_ISDIR(info.st_mode)) code = ENOTDIR;
    if (!code && access(dir, W_OK | X_OK) != 0) code = errno;
    return code ? state_file_failed("make the directory", dir, code, why) : STATE_OK;
}

int state_nearest_folder(char out[STATE_PATH_BYTES], const char *path)
{
    char above[STATE_PATH_BYTES];
    struct stat info;
    snprintf(out, STATE_PATH_BYTES, "%s", path);
    while (stat(out, &info) != 0) {
        if (errno != ENOENT || strcmp(out, ".") == 0 || strcmp(out, "/") == 0) return errno;
        replace_directory_of(above, sizeof above, out);
        memcpy(out, above, sizeof above);
    }
    return 0;
}

/* An empty file of a new name in the nearest folder that is there; *folder has that folder. 0 or errno, and
 * then the name is "". */
static int make_mark(char mark[STATE_PATH_BYTES], char folder[STATE_PATH_BYTES], const char *dir)
{
    const int code = state_nearest_folder(folder, dir);
    snprintf(mark, STATE_PATH_BYTES, "%.4000s/.weft.XXXXXX", folder);
    const int fd = code ? -1 : mkstemp(mark);
    if (fd >= 0) return close(fd) != 0 ? errno : 0;
    mark[0] = '\0';
    return code ? code : errno;
}

state_status state_is_shared(MPI_Comm comm, const char *dir, sentence *why)
{
    char mark[STATE_PATH_BYTES] = "", folder[STATE_PATH_BYTES], host[STATE_HOST_BYTES];
    const int rank = ranks_mine(comm);
    state_status status = STATE_OK;
    int code = rank == 0 ? make_mark(mark, folder, dir) : 0;
    MPI_CHECK(ranks_bcast(mark, sizeof mark, MPI_CHAR, 0, comm));
    if (rank > 0) replace_directory_of(folder, sizeof folder, mark);
    if (mark[0] && state_look_for(mark) != 0)
        status = state_fail(
            STATE_IO, why,
            "rank %d on %s does not see what rank 0 writes to %s: state files need a folder that all "
            "hosts share",
            rank, state_host(host), dir);
    else if (mark[0] && access(folder, W_OK | X_OK) != 0) code = errno;
    if (code)
        status = state_fail(STATE_IO, why, "rank %d on %s cannot write in %.300s: %s", rank, state_host(host),
                            folder, strerror(code));
    status = state_agree(comm, status, why);
    if (rank == 0 && mark[0]) unlink(mark);
    return status;
}

static int newest_first(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x < y) - (x > y);
}

/* All of the folder's, or an error: a run that missed the newest would go on from an older one, or from the
 * start. */
static state_status list_here(const char *dir, int64_t **steps, size_t *count)
{
    *steps = NULL;
    *count = 0;
    DIR *const d = opendir(dir);
    if (!d) return errno == ENOENT || errno == ENOTDIR ? STATE_MISSING : STATE_IO;
    for (const struct dirent *e; errno = 0, (e = readdir(d));) {
        const int64_t step = state_step_of(e->d_name);
        if (step < 0) continue;
        *steps = CHECK_ALLOC(realloc(*steps, (*count + 1) * sizeof **steps));
        (*steps)[(*count)++] = step;
    }
    const state_status status = errno ? STATE_IO : *count == 0 ? STATE_MISSING : STATE_OK;
    closedir(d);
    if (*count > 0) qsort(*steps, *count, sizeof **steps, newest_first);
    if (status == STATE_OK) return STATE_OK;
    free(*steps);
    *steps = NULL;
    *count = 0;
    return status;
}

state_status state_check_names(const char *dir, sentence *why)
{
    int64_t *steps = NULL;
    size_t count = 0;
    state_status status = STATE_OK;
    (void)list_here(dir, &steps, &count);
    for (size_t i = 0; i < count && status == STATE_OK; i++) {
        char path[STATE_PATH_BYTES];
        struct stat info;
        state_path(path, sizeof path, dir, steps[i]);
        if (lstat(path, &info) == 0 && S_ISDIR(info.st_mode))
            status = state_fail(STATE_IO, why, "%s is a folder, where a state will be", path);
    }
    free(steps);
    return status;
}

state_status state_set_aside(const char *path, const state_info *next, sentence *note, sentence *why)
{
    state_info s;
    sentence ignored;
    char aside[STATE_PATH_BYTES], number[16] = "";
    struct stat info;
    int code = 0;
    note->text[0] = '\0';
    if (state_index_read(path, &s, &ignored) == STATE_OK && !state_is_alike(&s, next)) {
        for (int n = 2;; snprintf(number, sizeof number, ".%d", n++)) { /* until no state has the name */
            snprintf(aside, sizeof aside, "%.*s.%s-%" PRId64 "x%" PRId64 "-%s%s.h5",
                     (int)(strlen(path) - strlen(".h5")), path, s.kind, s.field[0].nx, s.field[0].ny,
                     dtype_name(s.type), number);
            if (lstat(aside, &info) != 0) break;
        }
        if (rename(path, aside)) code = errno;
        else sentence_set(note, "%s, a state of another problem, is kept as %s", path, aside);
    }
    state_close(&s);
    return code ? state_file_failed("rename", path, code, why) : STATE_OK;
}

state_status state_list(MPI_Comm comm, const char *dir, int64_t **steps, size_t *count)
{
    const int rank = ranks_mine(comm);
    sentence why = { "" };
    *steps = NULL;
    *count = 0;
    const state_status mine = rank == 0 ? list_here(dir, steps, count) : STATE_OK,
                       status = state_agree(comm, mine, &why);
    if (status != STATE_OK) return status;
    uint64_t number = *count;
    MPI_CHECK(ranks_bcast(&number, 1, MPI_UINT64_T, 0, comm));
    *count = (size_t)number;
    if (rank != 0) *steps = CHECK_ALLOC(malloc(*count * sizeof **steps));
    MPI_CHECK(ranks_bcast(*steps, (int)*count, MPI_INT64_T, 0, comm));
    return STATE_OK;
}

/* ---- which states stay ---- */

static bool is_of_another_problem(const char *path, const state_info *mine)
{
    state_info s;
    sentence why;
    const bool other = state_index_read(path, &s, &why) != STATE_OK || !state_is_alike(&s, mine);
    state_close(&s);
    return other;
}

void state_keep_apply(const char *dir, state_keep keep, const state_info *last, int64_t verified)
{
    int64_t *steps = NULL;
    size_t count = 0;
    int newest = 0;
    char path[STATE_PATH_BYTES];
    if (keep.newest == 0 || list_here(dir, &steps, &count) != STATE_OK) return;
    for (size_t i = 0; i < count; i++) { /* newest first */
        /* milestones by steps: neither restarts nor the states that signals asked for change them */
        const bool milestone = keep.milestone_steps > 0 && steps[i] % keep.milestone_steps == 0,
                   stays = steps[i] == verified || milestone;
        if (steps[i] > last->step || (stays && newest >= keep.newest)) continue;
        state_path(path, sizeof path, dir, steps[i]);
        if (is_of_another_problem(path, last) || newest++ < keep.newest || stays) continue;
        attempt_delete_state(path);
    }
    free(steps);
}
