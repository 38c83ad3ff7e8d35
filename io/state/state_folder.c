/* The folder of checkpoints: DIR/step_NNNNNNNNNN.h5, and what goes of it and stays. Rank 0 looks and acts;
 * all ranks get the same answer. */
#include "state/state_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "files/replace.h"
#include "ranks/check.h"
#include "ranks/ranks.h"
#include "state/state_index.h"

enum { DIGITS = 8, SEEN_WITHIN_S = 10, SEEN_TRIES = 200 };

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

bool state_look_again(int code, int *tries)
{
    const struct timespec pause = { 0, 1000000000L / SEEN_TRIES * SEEN_WITHIN_S };
    if ((code != ENOENT && code != ESTALE) || (*tries)++ == SEEN_TRIES) return false;
    nanosleep(&pause, NULL);
    return true;
}

int state_look_for(const char *path)
{
    int code, tries = 0;
    do code = access(path, F_OK) != 0 ? errno : 0;
    while (state_look_again(code, &tries));
    return code;
}

state_status state_make_folder(MPI_Comm comm, const char *dir, sentence *why)
{
    const int rank = ranks_mine(comm);
    struct stat info;
    int code = rank == 0 ? make_with_parents(dir) : 0;
    if (rank == 0 && !code && stat(dir, &info) == 0 && !S_ISDIR(info.st_mode)) code = ENOTDIR;
    if (rank == 0 && !code && access(dir, W_OK | X_OK) != 0) code = errno;
    state_status status = STATE_OK;
    if (code) status = state_fail(STATE_IO, why, "cannot make the directory %s: %s", dir, strerror(code));
    return state_agree(comm, status, why);
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

state_status state_names_are_free(const char *dir, sentence *why)
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

/* ---- attempts ---- */

static size_t stem_bytes(const char *name)
{
    const size_t length = strlen(name);
    return length > 3 && strcmp(name + length - 3, ".h5") == 0 ? length - 3 : length;
}

void state_attempt_name(char out[STATE_NAME_BYTES], const char *path, uint32_t token)
{
    const char *const slash = strrchr(path, '/'), *const name = slash ? slash + 1 : path;
    snprintf(out, STATE_NAME_BYTES, "%.*s.%08" PRIx32, (int)stem_bytes(name), name, token);
}

/* The names that weft gives in an attempt's folder, besides the mark. */
static bool is_ours(const char *name)
{
    const size_t digits = strspn(name, "0123456789");
    return (digits > 0 && strcmp(name + digits, ".h5") == 0) || strcmp(name, STATE_INDEX_NAME) == 0;
}

static void mark_path(char out[STATE_PATH_BYTES], const char *dir, const char *name)
{
    snprintf(out, STATE_PATH_BYTES, "%.3900s/%s/unfinished", dir, name);
}

int state_attempt_mark(const char *dir, const char *name)
{
    char path[STATE_PATH_BYTES], folder[STATE_PATH_BYTES];
    mark_path(path, dir, name);
    replace_directory_of(folder, sizeof folder, path);
    const int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (fd < 0) return errno == ENOENT || errno == ENOTDIR ? 0 : errno; /* no folder: nothing to be found */
    return close(fd) != 0 ? errno : replace_sync_folder(folder);
}

/* May an index still need the attempt: does it name the attempt, or cannot be read? */
static bool is_needed(const char *dir, const char *name)
{
    char path[STATE_PATH_BYTES];
    state_info s;
    sentence why;
    bool needed = false;
    for (int i = 0; i < 2 && !needed; i++) { /* output.final may have any name */
        snprintf(path, sizeof path, "%.3900s/%.*s%s", dir, (int)strlen(name) - DIGITS - 1, name,
                 i == 0 ? ".h5" : "");
        const state_status status = state_index_read(path, &s, &why);
        const bool named = status == STATE_OK && strcmp(s.folder, name) == 0;
        needed = named || (status != STATE_OK && status != STATE_MISSING);
        mark_path(path, dir, name);
        if (named) (void)unlink(path);
        state_close(&s);
    }
    return needed;
}

static void remove_folder(const char *dir, const char *name)
{
    char path[STATE_PATH_BYTES], mark[STATE_PATH_BYTES];
    bool all = true;
    snprintf(path, sizeof path, "%.3900s/%s", dir, name);
    const int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *const d = fd < 0 ? NULL : fdopendir(fd);
    if (!d) return;
    for (const struct dirent *e; (e = readdir(d));)
        if (is_ours(e->d_name)) all = unlinkat(fd, e->d_name, 0) == 0 && all;
    closedir(d);
    mark_path(mark, dir, name);
    if (all) (void)unlink(mark); /* what could not be deleted keeps its mark */
    (void)rmdir(path);
}

static bool is_attempt(const char *name)
{
    const size_t length = strlen(name);
    return length > DIGITS + 1 && name[length - DIGITS - 1] == '.' &&
           strspn(name + length - DIGITS, "0123456789abcdef") == DIGITS;
}

void state_attempt_remove(const char *dir, const char *name)
{
    if (is_attempt(name) && !is_needed(dir, name)) remove_folder(dir, name);
}

bool state_attempt_is_of(const char *name, const char *file)
{
    const int stem = (int)strlen(name) - DIGITS - 1;
    const char *const slash = file ? strrchr(file, '/') : NULL, *const base = slash ? slash + 1 : file;
    char index[STATE_NAME_BYTES];
    snprintf(index, sizeof index, "%.*s.h5", stem, name);
    return file ? stem == (int)stem_bytes(base) && strncmp(name, base, (size_t)stem) == 0
                : state_step_of(index) >= 0;
}

void state_attempts_tidy(const char *dir, const char *file)
{
    char mark[STATE_PATH_BYTES];
    DIR *const d = opendir(dir);
    for (const struct dirent *e; d && (e = readdir(d));) {
        if (!is_attempt(e->d_name) || !state_attempt_is_of(e->d_name, file)) continue;
        (void)unlinkat(dirfd(d), e->d_name, AT_REMOVEDIR); /* empty: killed before the mark */
        mark_path(mark, dir, e->d_name);
        if (access(mark, F_OK) == 0) state_attempt_remove(dir, e->d_name);
    }
    if (d) closedir(d);
}

void state_remove(const char *dir, const char *path)
{
    state_info s;
    sentence why;
    const bool has_parts = state_index_read(path, &s, &why) == STATE_OK && s.folder[0];
    state_close(&s);
    if (has_parts && state_attempt_mark(dir, s.folder) != 0) return;
    if (unlink(path) != 0 || !has_parts) return;
    /* an index whose parts are gone is no state: its name goes first on disk, too */
    if (replace_sync_folder(dir) == 0) state_attempt_remove(dir, s.folder);
}

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
        state_remove(dir, path);
    }
    free(steps);
}
