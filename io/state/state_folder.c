/* The folder of checkpoints: DIR/step_NNNNNNNNNN.h5. Rank 0 looks and acts; all ranks get the same answer. */
#include "state/state_folder.h"

#include <dirent.h>
#include <errno.h>
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

enum { STEP_DIGITS = 10, SEEN_WITHIN_S = 10, SEEN_TRIES = 200 };

void state_path(char *out, size_t out_bytes, const char *dir, int64_t step)
{
    snprintf(out, out_bytes, "%s/step_%0*" PRId64 ".h5", dir, STEP_DIGITS, step);
}

int state_sync_folder(const char *path)
{
    const int code = replace_sync_path(path);
    return code == EINVAL || code == EACCES ? 0 : code;
}

/* 0 or errno. A folder's name is on disk once the folder above was fsynced: without that a power cut may take
 * all that it holds. */
static int make_one(const char *dir)
{
    char above[STATE_PATH_BYTES];
    if (mkdir(dir, 0777) != 0) return errno == EEXIST ? 0 : errno;
    replace_directory_of(above, sizeof above, dir);
    return state_sync_folder(above);
}

static int make_with_parents(const char *dir)
{
    char path[STATE_PATH_BYTES];
    if (snprintf(path, sizeof path, "%s", dir) >= (int)sizeof path) return ENAMETOOLONG;
    for (char *c = path + 1; *c; c++) {
        if (*c != '/') continue;
        *c = '\0';
        const int code = make_one(path);
        if (code) return code;
        *c = '/';
    }
    return make_one(path);
}

bool state_look_again(int code, int *tries)
{
    const struct timespec pause = { 0, 1000000000L / SEEN_TRIES * SEEN_WITHIN_S };
    if ((code != ENOENT && code != ESTALE) || (*tries)++ == SEEN_TRIES) return false;
    nanosleep(&pause, NULL);
    return true;
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

/* An empty file under a name that is used once; "" where it cannot be made, which is another sentence's
 * business. */
static void make_mark(char mark[STATE_PATH_BYTES], const char *dir)
{
    char folder[STATE_PATH_BYTES], name[STATE_PATH_BYTES + 8];
    mark[0] = '\0';
    if (state_nearest_folder(folder, dir) != 0) return;
    snprintf(name, sizeof name, "%s/.weft", folder);
    if (!replace_temporary(mark, STATE_PATH_BYTES, name, replace_token())) mark[0] = '\0';
    const int fd = mark[0] ? replace_create_new(mark) : -1;
    if (fd >= 0) close(fd);
    else mark[0] = '\0';
}

state_status state_is_shared(MPI_Comm comm, const char *dir, sentence *why)
{
    char mark[STATE_PATH_BYTES], folder[STATE_PATH_BYTES], host[STATE_HOST_BYTES];
    struct stat info;
    const int rank = ranks_mine(comm);
    int code = 0, tries = 0;
    state_status status = STATE_OK;
    if (rank == 0) make_mark(mark, dir);
    MPI_CHECK(ranks_bcast(mark, sizeof mark, MPI_CHAR, 0, comm));
    do code = mark[0] && stat(mark, &info) != 0 ? errno : 0;
    while (state_look_again(code, &tries));
    replace_directory_of(folder, sizeof folder, mark);
    if (code)
        status = state_fail(
            STATE_IO, why,
            "rank %d on %s does not see what rank 0 writes to %s: state files need a folder that all "
            "hosts share",
            rank, state_host(host), dir);
    else if (mark[0] && access(folder, W_OK | X_OK) != 0)
        status = state_fail(STATE_IO, why, "rank %d on %s cannot write in %.300s: %s", rank, state_host(host),
                            folder, strerror(errno));
    status = state_agree(comm, status, why);
    if (rank == 0 && mark[0]) unlink(mark);
    return status;
}

int64_t state_step_of(const char *path)
{
    const char *const slash = strrchr(path, '/'), *const name = slash ? slash + 1 : path;
    if (strncmp(name, "step_", 5) != 0 || strspn(name + 5, "0123456789") != STEP_DIGITS ||
        strcmp(name + 5 + STEP_DIGITS, ".h5") != 0)
        return -1;
    return strtoll(name + 5, NULL, 10);
}

static int newest_first(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x < y) - (x > y);
}

static bool grow(int64_t **steps, size_t count)
{
    int64_t *larger = realloc(*steps, count * sizeof *larger);
    if (larger) *steps = larger;
    return larger != NULL;
}

/* All of the folder's, or an error: a run that missed the newest would go on from an older one, or from the
 * start. */
static state_status read_steps(DIR *d, int64_t **steps, size_t *count)
{
    for (;;) {
        errno = 0;
        const struct dirent *e = readdir(d);
        if (!e) return errno ? STATE_IO : STATE_OK;
        const int64_t step = state_step_of(e->d_name);
        if (step < 0) continue;
        if (!grow(steps, *count + 1)) return STATE_IO;
        (*steps)[(*count)++] = step;
    }
}

state_status state_list_here(const char *dir, int64_t **steps, size_t *count)
{
    *steps = NULL;
    *count = 0;
    DIR *d = opendir(dir);
    if (!d) return errno == ENOENT || errno == ENOTDIR ? STATE_MISSING : STATE_IO;
    const state_status status = read_steps(d, steps, count);
    closedir(d);
    if (status != STATE_OK) {
        free(*steps);
        *steps = NULL;
        *count = 0;
        return status;
    }
    if (*count == 0) return STATE_MISSING;
    qsort(*steps, *count, sizeof **steps, newest_first);
    return STATE_OK;
}

state_status state_list(MPI_Comm comm, const char *dir, int64_t **steps, size_t *count)
{
    const int rank = ranks_mine(comm);
    sentence why = { "" };
    *steps = NULL;
    *count = 0;
    const state_status status =
        state_agree(comm, rank == 0 ? state_list_here(dir, steps, count) : STATE_OK, &why);
    if (status != STATE_OK) return status;
    uint64_t number = *count;
    MPI_CHECK(ranks_bcast(&number, 1, MPI_UINT64_T, 0, comm));
    *count = (size_t)number;
    if (rank != 0 && !grow(steps, *count))
        check_fail(__FILE__, __LINE__, "realloc", "out of memory for the list of checkpoints");
    MPI_CHECK(ranks_bcast(*steps, (int)*count, MPI_INT64_T, 0, comm));
    return STATE_OK;
}
