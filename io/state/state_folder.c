/* The folder of checkpoints: DIR/step_NNNNNNNNNN.h5, and what goes of it and stays. Rank 0 looks and acts;
 * all ranks get the same answer. An attempt's folder holds its parts 0.h5, 1.h5 .. and, until it is
 * published, the index and the mark. */
#include "state/state_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files/replace.h"
#include "ranks/check.h"
#include "ranks/printable.h"
#include "ranks/ranks.h"
#include "state/state_index.h"

enum { DIGITS = 8 }; /* of an attempt */
#define MARK "unfinished"

static void path_in(char out[STATE_PATH_BYTES], const char *folder, const char *file)
{
    snprintf(out, STATE_PATH_BYTES, "%.4000s/%s", folder, file);
}

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
    char in_it[STATE_PATH_BYTES];
    int code = make_with_parents(dir);
    path_in(in_it, dir, ".");
    if (!code && access(in_it, W_OK | X_OK) != 0) code = errno;
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
    char mark[STATE_PATH_BYTES] = "", folder[STATE_PATH_BYTES];
    const int rank = ranks_mine(comm);
    state_status status = STATE_OK;
    int tries = 0, seen = 0, code = rank == 0 ? make_mark(mark, folder, dir) : 0;
    MPI_CHECK(ranks_bcast(mark, sizeof mark, MPI_CHAR, 0, comm));
    if (rank > 0) replace_directory_of(folder, sizeof folder, mark);
    while (mark[0] && state_look_again(seen = access(mark, F_OK) != 0 ? errno : 0, &tries)) continue;
    if (seen != 0)
        status = sentence_fail(
            STATE_IO, why,
            "rank %d on %s does not see what rank 0 writes to %s: state files need a folder that all "
            "hosts share",
            rank, printable_host(), dir);
    else if (mark[0] && access(folder, W_OK | X_OK) != 0) code = errno;
    if (code)
        status = sentence_fail(STATE_IO, why, "rank %d on %s cannot write in %.300s: %s", rank,
                               printable_host(), folder, strerror(code));
    status = state_agree(comm, status, why);
    if (rank == 0 && mark[0]) unlink(mark);
    return status;
}

static int is_step(const struct dirent *e) { return state_step_of(e->d_name) >= 0; }

/* All of the folder's, or an error: a run that missed the newest would go on from an older one, or from the
 * start. */
static state_status list_here(const char *dir, int64_t **steps, size_t *count)
{
    struct dirent **name;
    const int found = scandir(dir, &name, is_step, alphasort);
    *count = found > 0 ? (size_t)found : 0;
    *steps = found > 0 ? CHECK_CALLOC(found, sizeof **steps) : NULL;
    if (found < 0) return errno == ENOENT || errno == ENOTDIR ? STATE_MISSING : STATE_IO;
    for (int i = 0; i < found; i++) {
        (*steps)[found - 1 - i] = state_step_of(name[i]->d_name);
        free(name[i]);
    }
    free(name);
    return found > 0 ? STATE_OK : STATE_MISSING;
}

state_status state_set_aside(const char *path, const state_info *next, sentence *note, sentence *why)
{
    state_info s;
    char aside[STATE_PATH_BYTES], number[16] = "";
    struct stat info;
    int code = 0;
    note->text[0] = '\0';
    if (state_index_head(path, &s) == STATE_OK && !state_is_alike(&s, next)) {
        for (int n = 2;; snprintf(number, sizeof number, ".%d", n++)) { /* until no state has the name */
            snprintf(aside, sizeof aside, "%.*s.%s-%" PRId64 "x%" PRId64 "-%s%s.h5",
                     (int)(strlen(path) - strlen(".h5")), path, s.kind, s.field[0].nx, s.field[0].ny,
                     dtype_name(s.type), number);
            if (lstat(aside, &info) != 0) break;
        }
        if (rename(path, aside)) code = errno;
        else sentence_set(note, "%s, a state of another problem, is kept as %s", path, aside);
    }
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

/* ---- attempts by their folders, DIR/NAME.<8 hex digits>, and their marks ---- */

static bool is_attempt(const char *folder)
{
    const size_t length = strlen(folder);
    return length > DIGITS + 1 && folder[length - DIGITS - 1] == '.' &&
           strspn(folder + length - DIGITS, "0123456789abcdef") == DIGITS;
}

/* Is the attempt one of the state `file`, or, NULL, of a step? */
static bool is_of(const char *folder, const char *file)
{
    const char *const name = basename(folder);
    const int stem = (int)strlen(name) - DIGITS - 1;
    char index[STATE_NAME_BYTES];
    snprintf(index, sizeof index, "%.*s.h5", stem, name);
    return file ? stem == state_stem_bytes(file) && strncmp(name, basename(file), (size_t)stem) == 0
                : state_step_of(index) >= 0;
}

int state_put_mark(const char *folder)
{
    char path[STATE_PATH_BYTES];
    path_in(path, folder, MARK);
    const int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
    return fd < 0 || close(fd) != 0 ? errno : 0;
}

/* May an index still need the attempt: does it name the attempt, whose mark then goes, or cannot be read? */
static bool is_needed(const char *folder)
{
    char path[STATE_PATH_BYTES];
    state_info s;
    bool needed = false;
    for (int i = 0; i < 2 && !needed; i++) { /* output.final may have any name */
        snprintf(path, sizeof path, "%.*s%s", (int)strlen(folder) - DIGITS - 1, folder, i == 0 ? ".h5" : "");
        const state_status status = state_index_head(path, &s);
        const bool named = status == STATE_OK && strcmp(s.folder, basename(folder)) == 0;
        needed = named || (status != STATE_OK && status != STATE_MISSING);
        path_in(path, folder, MARK);
        if (named) (void)unlink(path);
    }
    return needed;
}

/* The names that weft gives, but the mark. */
static bool is_ours(const char *name)
{
    const size_t digits = strspn(name, "0123456789");
    return (digits > 0 && strcmp(name + digits, ".h5") == 0) || strcmp(name, STATE_INDEX) == 0;
}

/* A folder that cannot be deleted, or holds a file that is not weft's, keeps a mark. */
void state_remove_attempt(const char *folder)
{
    if (!is_attempt(folder) || is_needed(folder)) return;
    const int fd = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *const d = fd < 0 ? NULL : fdopendir(fd);
    if (!d) return;
    for (const struct dirent *e; (e = readdir(d));)
        if (is_ours(e->d_name)) (void)unlinkat(fd, e->d_name, 0);
    (void)unlinkat(fd, MARK, 0); /* last: the next run finds what a kill leaves */
    closedir(d);
    if (rmdir(folder) != 0 && state_put_mark(folder) == 0) (void)replace_sync_folder(folder);
}

state_status state_tidy(const char *dir, const char *file, sentence *why)
{
    char path[STATE_PATH_BYTES], mark[STATE_PATH_BYTES];
    struct stat info;
    state_status status = STATE_OK;
    DIR *const d = opendir(dir);
    for (const struct dirent *e; d && (e = readdir(d));) {
        path_in(path, dir, e->d_name);
        if (!file && is_step(e) && lstat(path, &info) == 0 && S_ISDIR(info.st_mode))
            status = sentence_fail(STATE_IO, why, "%s is a folder, where a state will be", path);
        if (!is_attempt(e->d_name) || !is_of(e->d_name, file)) continue;
        path_in(mark, path, MARK);
        (void)rmdir(path); /* empty: killed before the mark */
        if (access(mark, F_OK) == 0) state_remove_attempt(path);
    }
    if (d) closedir(d);
    return status;
}

/* The parts' folder `older` of the state `path` gets a mark; "": it has none, or that of a state of which it
 * is a copy. 0 or errno. */
static int mark_older(const char *path, const char *dir, char older[STATE_PATH_BYTES])
{
    state_info s;
    const bool of_this = state_index_head(path, &s) == STATE_OK && s.folder[0] && is_of(s.folder, path);
    path_in(older, dir, s.folder);
    if (!of_this) older[0] = '\0';
    int code = of_this ? state_put_mark(older) : 0;
    if (of_this && !code) code = replace_sync_folder(older);
    return code == ENOENT || code == ENOTDIR ? 0 : code; /* no folder: nothing to be found */
}

int state_replace(const char *path, const char *index)
{
    char dir[STATE_PATH_BYTES], older[STATE_PATH_BYTES];
    replace_directory_of(dir, sizeof dir, path);
    int code = mark_older(path, dir, older);
    if (!code && (index ? rename(index, path) : unlink(path)) != 0) code = errno;
    /* an index whose parts are gone is no state: its name goes first on disk, too */
    if (!code && (index || older[0])) code = replace_sync_folder(dir);
    if (!code) state_remove_attempt(older);
    return code;
}

/* ---- which states stay ---- */

static bool is_of_another_problem(const char *path, const state_info *mine)
{
    state_info s;
    return state_index_head(path, &s) != STATE_OK || !state_is_alike(&s, mine);
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
        (void)state_replace(path, NULL);
    }
    free(steps);
}
