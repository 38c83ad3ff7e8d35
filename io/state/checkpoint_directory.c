/* The folder of checkpoints: DIR/step_NNNNNNNNNN.h5. Rank 0 looks and acts; all ranks get the same answer. */
#include "state/checkpoint_directory.h"

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

void checkpoint_path(char *out, size_t out_bytes, const char *dir, int64_t step)
{
    snprintf(out, out_bytes, "%s/step_%0*" PRId64 ".h5", dir, STEP_DIGITS, step);
}

/* 0 or errno. A folder's name is on disk once the folder above was fsynced: without that a power cut may take
 * all that it holds. */
static int make_one(const char *dir)
{
    char above[CHECKPOINT_PATH_BYTES];
    if (mkdir(dir, 0777) != 0) return errno == EEXIST ? 0 : errno;
    replace_directory_of(above, sizeof above, dir);
    const int code = replace_sync_path(above);
    /* no fsync of folders here, or one that may be entered but not read */
    return code == EINVAL || code == EACCES ? 0 : code;
}

static int make_with_parents(const char *dir)
{
    char path[CHECKPOINT_PATH_BYTES];
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

bool checkpoint_look_again(int code, int *tries)
{
    const struct timespec pause = { 0, 1000000000L / SEEN_TRIES * SEEN_WITHIN_S };
    if ((code != ENOENT && code != ESTALE) || (*tries)++ == SEEN_TRIES) return false;
    nanosleep(&pause, NULL);
    return true;
}

static int look_at_directory(const char *dir)
{
    struct stat info;
    if (stat(dir, &info) != 0) return errno;
    return S_ISDIR(info.st_mode) ? 0 : ENOTDIR;
}

/* 0 or errno. */
static int wait_for_directory(const char *dir)
{
    int code, tries = 0;
    do code = look_at_directory(dir);
    while (checkpoint_look_again(code, &tries));
    return code;
}

checkpoint_status checkpoint_make_dir(MPI_Comm comm, const char *dir, sentence *why)
{
    const int rank = ranks_mine(comm);
    int code = rank == 0 ? make_with_parents(dir) : 0;
    if (rank == 0 && !code) code = wait_for_directory(dir);
    if (rank == 0 && !code && access(dir, W_OK | X_OK) != 0) code = errno;
    checkpoint_status status = CHECKPOINT_OK;
    if (code)
        status = checkpoint_fail(CHECKPOINT_IO, why, "cannot make the directory %s: %s", dir, strerror(code));
    return checkpoint_agree(comm, status, why);
}

int checkpoint_nearest_folder(char out[CHECKPOINT_PATH_BYTES], const char *path)
{
    char above[CHECKPOINT_PATH_BYTES];
    struct stat info;
    snprintf(out, CHECKPOINT_PATH_BYTES, "%s", path);
    while (stat(out, &info) != 0) {
        if (errno != ENOENT || strcmp(out, ".") == 0 || strcmp(out, "/") == 0) return errno;
        replace_directory_of(above, sizeof above, out);
        memcpy(out, above, sizeof above);
    }
    return 0;
}

/* An empty file under a name that is used once; "" where it cannot be made, which is another sentence's
 * business. */
static void make_mark(char mark[CHECKPOINT_PATH_BYTES], const char *dir)
{
    char folder[CHECKPOINT_PATH_BYTES], name[CHECKPOINT_PATH_BYTES + 8];
    mark[0] = '\0';
    if (checkpoint_nearest_folder(folder, dir) != 0) return;
    snprintf(name, sizeof name, "%s/.weft", folder);
    if (!replace_temporary(mark, CHECKPOINT_PATH_BYTES, name, replace_token())) mark[0] = '\0';
    const int fd = mark[0] ? replace_create_new(mark) : -1;
    if (fd >= 0) close(fd);
    else mark[0] = '\0';
}

checkpoint_status checkpoint_is_shared(MPI_Comm comm, const char *dir, sentence *why)
{
    char mark[CHECKPOINT_PATH_BYTES], host[CHECKPOINT_HOST_BYTES];
    struct stat info;
    const int rank = ranks_mine(comm);
    int code = 0, tries = 0;
    if (rank == 0) make_mark(mark, dir);
    MPI_CHECK(ranks_bcast(mark, sizeof mark, MPI_CHAR, 0, comm));
    do code = mark[0] && stat(mark, &info) != 0 ? errno : 0;
    while (checkpoint_look_again(code, &tries));
    checkpoint_status status = CHECKPOINT_OK;
    if (code)
        status = checkpoint_fail(CHECKPOINT_IO, why,
                                 "rank %d on %s does not see what rank 0 writes to %s: state files need a "
                                 "folder that all hosts share",
                                 rank, checkpoint_host(host), dir);
    status = checkpoint_agree(comm, status, why);
    if (rank == 0 && mark[0]) unlink(mark);
    return status;
}

int64_t checkpoint_step_of(const char *path)
{
    const char *const slash = strrchr(path, '/'), *const name = slash ? slash + 1 : path;
    if (strncmp(name, "step_", 5) != 0 || strspn(name + 5, "0123456789") != STEP_DIGITS
        || strcmp(name + 5 + STEP_DIGITS, ".h5") != 0)
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
static checkpoint_status read_steps(DIR *d, int64_t **steps, size_t *count)
{
    for (;;) {
        errno = 0;
        const struct dirent *e = readdir(d);
        if (!e) return errno ? CHECKPOINT_IO : CHECKPOINT_OK;
        const int64_t step = checkpoint_step_of(e->d_name);
        if (step < 0) continue;
        if (!grow(steps, *count + 1)) return CHECKPOINT_IO;
        (*steps)[(*count)++] = step;
    }
}

checkpoint_status checkpoint_list_here(const char *dir, int64_t **steps, size_t *count)
{
    *steps = NULL;
    *count = 0;
    DIR *d = opendir(dir);
    if (!d) return errno == ENOENT || errno == ENOTDIR ? CHECKPOINT_MISSING : CHECKPOINT_IO;
    const checkpoint_status status = read_steps(d, steps, count);
    closedir(d);
    if (status != CHECKPOINT_OK) {
        free(*steps);
        *steps = NULL;
        *count = 0;
        return status;
    }
    if (*count == 0) return CHECKPOINT_MISSING;
    qsort(*steps, *count, sizeof **steps, newest_first);
    return CHECKPOINT_OK;
}

checkpoint_status checkpoint_list(MPI_Comm comm, const char *dir, int64_t **steps, size_t *count)
{
    const int rank = ranks_mine(comm);
    sentence why = { "" };
    *steps = NULL;
    *count = 0;
    const checkpoint_status status =
        checkpoint_agree(comm, rank == 0 ? checkpoint_list_here(dir, steps, count) : CHECKPOINT_OK, &why);
    if (status != CHECKPOINT_OK) return status;
    uint64_t number = *count;
    MPI_CHECK(ranks_bcast(&number, 1, MPI_UINT64_T, 0, comm));
    *count = (size_t)number;
    if (rank != 0 && !grow(steps, *count))
        check_fail(__FILE__, __LINE__, "realloc", "out of memory for the list of checkpoints");
    MPI_CHECK(ranks_bcast(*steps, (int)*count, MPI_INT64_T, 0, comm));
    return CHECKPOINT_OK;
}
