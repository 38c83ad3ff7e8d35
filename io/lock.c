/* Rank 0 makes the file with O_EXCL: of two runs that come at once, one gets it. It holds one line,
 *
 *   host=HOST pid=PID started=TICKS job=JOB restarts=N
 *
 * of rank 0's process; TICKS since boot tell it from a later process with its number, JOB is the batch system's ("-": none).
 *
 * A lock is stale where its process is known to be gone: on this host, no process of that number and start; or this is a later
 * start of the same Slurm job, which Slurm requeues only when the earlier one has ended, whatever host that had. A line that
 * stays unreadable is stale too: its run died between making and filling the file, as it would be whole within moments otherwise.
 * Of all else nothing is known from here, so it is refused, and the sentence says which file to delete.
 *
 * A stale lock goes by the hand of one run only: who holds flock on the file and still finds it under the name unlinks it.
 * Without that, one run could unlink the new lock of another that had found the same stale one. */
#include "lock.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "checkpoint_part.h"

enum {
    NAME_BYTES = 64,
    LINE_BYTES = 320,
    TRIES = 100,
    UNREADABLE_TRIES = 20, /* 50 ms each: for a lock that is just being filled */
};

typedef struct owner {
    char host[NAME_BYTES], job[NAME_BYTES];
    long pid;
    unsigned long long started_ticks; /* since boot; 0: not known */
    int restarts;
} owner;

struct lock {
    char path[CHECKPOINT_PATH_BYTES]; /* "" on all ranks but 0 */
    owner self;
};

/* ---- who ---- */

/* One word without blanks, as sscanf reads it. */
static void put_word(char to[NAME_BYTES], const char *from)
{
    snprintf(to, NAME_BYTES, "%s", from && *from ? from : "-");
    for (char *c = to; *c; c++)
        if (!isgraph((unsigned char)*c)) *c = '_';
}

/* False: no such process, or one that has ended and only waits for its parent. Ticks of 0: its start cannot be read. */
static bool process_runs(long pid, unsigned long long *started_ticks)
{
    char path[64], line[1024] = "";
    *started_ticks = 0;
    if (pid <= 0 || (kill((pid_t)pid, 0) != 0 && errno == ESRCH)) return false;
    snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    FILE *f = fopen(path, "r");
    if (!f) return true;
    const bool read = fgets(line, sizeof line, f) != NULL;
    fclose(f);
    const char *p = read ? strrchr(line, ')') : NULL; /* the program's name may hold anything */
    if (!p) return true;
    const char state = p[1] == ' ' ? p[2] : '?';
    for (int field = 2; field < 22 && p; field++) p = strchr(p + 1, ' '); /* proc(5): starttime is field 22 */
    if (p) *started_ticks = strtoull(p, NULL, 10);
    return state != 'Z' && state != 'X';
}

static owner self_owner(void)
{
    owner o;
    char host[256] = "";
    memset(&o, 0, sizeof o);
    gethostname(host, sizeof host - 1);
    const char *job = getenv("SLURM_JOB_ID"), *restarts = getenv("SLURM_RESTART_COUNT");
    if (!job) job = getenv("PBS_JOBID");
    if (!job) job = getenv("LSB_JOBID");
    put_word(o.host, host);
    put_word(o.job, job);
    o.pid = (long)getpid();
    process_runs(o.pid, &o.started_ticks);
    o.restarts = restarts ? atoi(restarts) : 0;
    return o;
}

static void put_line(char line[LINE_BYTES], const owner *o)
{
    snprintf(line, LINE_BYTES, "host=%s pid=%ld started=%llu job=%s restarts=%d\n", o->host, o->pid, o->started_ticks, o->job,
             o->restarts);
}

static bool read_owner(int fd, owner *o)
{
    char line[LINE_BYTES] = "", again[LINE_BYTES];
    memset(o, 0, sizeof *o);
    if (fd < 0 || pread(fd, line, sizeof line - 1, 0) <= 0) return false;
    if (sscanf(line, "host=%63s pid=%ld started=%llu job=%63s restarts=%d", o->host, &o->pid, &o->started_ticks, o->job,
               &o->restarts) != 5)
        return false;
    put_line(again, o);
    return strcmp(line, again) == 0;
}

static bool is_gone(const owner *o, const owner *self)
{
    unsigned long long ticks;
    if (strcmp(o->job, "-") != 0 && strcmp(o->job, self->job) == 0 && o->restarts < self->restarts) return true;
    if (strcmp(o->host, self->host) != 0) return false;
    return !process_runs(o->pid, &ticks) || (ticks && o->started_ticks && ticks != o->started_ticks);
}

/* ---- the file ---- */

/* What has its name, if it is no link: perhaps a pipe, for which nobody waits. */
static int open_file(const lock *l) { return open(l->path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC); }

/* 0 or errno. */
static int make_file(const lock *l)
{
    char line[LINE_BYTES];
    put_line(line, &l->self);
    const int fd = open(l->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd < 0) return errno;
    errno = ENOSPC; /* what a short write means */
    int code = write(fd, line, strlen(line)) == (ssize_t)strlen(line) ? 0 : errno;
    if (close(fd) != 0 && !code) code = errno;
    if (code) unlink(l->path);
    return code;
}

/* 0 or errno; nothing if another run was faster. fd: the stale lock, or -1 for a symbolic link, which is nobody's lock. */
static int remove_stale(const lock *l, int fd)
{
    struct stat held, named;
    if (fd >= 0) {
        if (flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) return 0;
        /* no flock on this file system: what remains is a gap of microseconds */
        if (fstat(fd, &held) != 0 || lstat(l->path, &named) != 0) return errno == ENOENT ? 0 : errno;
        if (held.st_ino != named.st_ino || held.st_dev != named.st_dev) return 0;
    }
    return unlink(l->path) != 0 && errno != ENOENT ? errno : 0;
}

typedef enum found { FOUND_NONE, FOUND_GONE, FOUND_UNREADABLE } found;

/* 0, errno, or EBUSY with *other; *stale: what was taken over, if anything. */
static int take(const lock *l, owner *other, found *stale)
{
    const struct timespec pause = { 0, 50 * 1000 * 1000 };
    *stale = FOUND_NONE;
    for (int tries = 0; tries < TRIES; tries++) {
        int code = make_file(l);
        if (code != EEXIST) return code;
        const int fd = open_file(l);
        if (fd < 0 && errno != ENOENT && errno != ELOOP) return errno;
        if (fd < 0 && errno == ENOENT) continue;
        const bool readable = read_owner(fd, other), gone = readable && is_gone(other, &l->self);
        if (gone || (!readable && tries >= UNREADABLE_TRIES)) {
            code = remove_stale(l, fd);
            *stale = readable ? FOUND_GONE : FOUND_UNREADABLE;
        } else {
            code = readable ? EBUSY : 0;
        }
        if (fd >= 0) close(fd);
        if (code) return code;
        nanosleep(&pause, NULL);
    }
    return EAGAIN;
}

static void put_note(char *note, size_t note_bytes, const char *dir, const owner *other, found stale)
{
    if (stale == FOUND_GONE)
        snprintf(note, note_bytes, "took over %.300s from the run with host %s, pid %ld, job %s, which is gone", dir, other->host,
                 other->pid, other->job);
    if (stale == FOUND_UNREADABLE) snprintf(note, note_bytes, "took over %.300s, whose lock is unreadable", dir);
}

lock *lock_take(MPI_Comm comm, const char *dir, checkpoint_status *status, char *note, size_t note_bytes, char *why,
                size_t why_bytes)
{
    int rank;
    MPI_CHECK(MPI_Comm_rank(comm, &rank));
    if (note_bytes) note[0] = '\0';
    lock *l = calloc(1, sizeof *l);
    if (!l) check_fail(__FILE__, __LINE__, "calloc", "out of memory for a lock");
    *status = CHECKPOINT_OK;
    if (rank == 0) {
        owner other;
        found stale;
        snprintf(l->path, sizeof l->path, "%s/%s", dir, LOCK_NAME);
        l->self = self_owner();
        const int code = take(l, &other, &stale);
        if (code == 0) put_note(note, note_bytes, dir, &other, stale);
        else if (code == EBUSY)
            *status = checkpoint_fail(CHECKPOINT_BUSY, why, why_bytes,
                                      "a run with host %s, pid %ld, job %s writes in %.200s: take another directory, or delete "
                                      "%.200s/%s if that run is gone",
                                      other.host, other.pid, other.job, dir, dir, LOCK_NAME);
        else *status = checkpoint_fail(CHECKPOINT_IO, why, why_bytes, "cannot make %.300s: %s", l->path, strerror(code));
    }
    *status = checkpoint_agree(comm, *status, why, why_bytes);
    if (*status == CHECKPOINT_OK) return l;
    free(l);
    return NULL;
}

void lock_release(lock **l)
{
    if (!l || !*l) return;
    if ((*l)->path[0]) {
        owner now;
        const int fd = open_file(*l);
        if (read_owner(fd, &now) && memcmp(&now, &(*l)->self, sizeof now) == 0) unlink((*l)->path);
        if (fd >= 0) close(fd);
    }
    free(*l);
    *l = NULL;
}
