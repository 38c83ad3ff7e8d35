/* Of a checkpoint's jobs (checkpoint_job.h): locks on what a rank writes, where hosts are not coherent. NFS
 * drops what a host has cached of a file when it gets a lock, and writes it back before the lock is freed.
 * The lock is the open file's, not the process's: closing another descriptor of the file does not free it. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>

#include "writer/checkpoint_job.h"

enum { LOCK_WITHIN_S = 60, LOCK_TRIES = 600 };

/* 0 or errno. */
static int set(int fd, short type, uint64_t from, uint64_t to)
{
    struct flock lock = {
        .l_type = type, .l_whence = SEEK_SET, .l_start = (off_t)from, .l_len = (off_t)(to - from)
    };
    return fcntl(fd, F_OFD_SETLK, &lock) != 0 ? errno : 0;
}

static int lock_range(int fd, uint64_t from, uint64_t to)
{
    const struct timespec pause = { 0, 1000000000L / LOCK_TRIES * LOCK_WITHIN_S };
    int code = set(fd, F_WRLCK, from, to);
    for (int tries = 0; (code == EAGAIN || code == EACCES || code == EINTR) && tries < LOCK_TRIES; tries++) {
        nanosleep(&pause, NULL);
        code = set(fd, F_WRLCK, from, to);
    }
    return code;
}

checkpoint_status checkpoint_job_lock(checkpoint_job *j)
{
    const uint64_t piece = j->plan.piece_bytes;
    int code = 0;
    for (int i = 0; i < j->state.fields; i++) {
        writers_range range[WRITERS_RANGES];
        const int ranges = writers_ranges(&j->plan, &j->state, &j->layout, i, j->number, range);
        for (int r = 0; r < ranges && !code; r++)
            code =
                lock_range(j->fd, range[r].from / piece * piece, (range[r].to + piece - 1) / piece * piece);
    }
    if (!code) return CHECKPOINT_OK;
    return checkpoint_fail(CHECKPOINT_IO, &j->why,
                           "cannot lock %s: rank %d: %s; with checkpoint.aggregators = 0 only the ranks of "
                           "one host write, without locks",
                           j->names.path, j->rank, strerror(code));
}

void checkpoint_job_unlock(checkpoint_job *j) { (void)set(j->fd, F_UNLCK, 0, 0); }
