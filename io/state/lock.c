/* The first line is of rank 0's process,
 *
 *   host=HOST pid=PID job=JOB restarts=N
 *
 * JOB is the batch system's ("-": none); each line behind it the name of an attempt. The process holds flock
 * on the file as long as it runs. A lock is another's to take over where
 * - no process holds the flock, and the line is this host's or there is none: flock may be each host's own;
 * - this is a later start of the same Slurm job, which Slurm requeues only when the earlier one has ended.
 * About all else nothing is known from here, so it is refused, and the sentence says which file to delete,
 * and when. Where there is no flock the file alone is the lock. */
#include "state/lock.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "files/transfer.h"
#include "ranks/check.h"
#include "ranks/ranks.h"
#include "state/state_folder.h"

enum {
    WORD_BYTES = 64,
    LINE_BYTES = 256,
    TEXT_BYTES = 64 << 10,
    TRIES = 100,
    PATIENT_TRIES = 20, /* 50 ms each: for a run that is just leaving */
};

typedef struct owner {
    char host[WORD_BYTES], job[WORD_BYTES];
    long pid;
    int restarts;
} owner;

struct lock {
    char path[STATE_PATH_BYTES]; /* "" on all ranks but 0 */
    int fd;                      /* holds flock, where there is one; -1: not taken yet */
    char line[LINE_BYTES];       /* this run's */
    char found[TEXT_BYTES];      /* what a dead run had left: its line, and names */
    char replaced[TEXT_BYTES];   /* the same of a file that had to go */
};

/* ---- who ---- */

/* One word without blanks, as sscanf reads it. */
static void put_word(char to[WORD_BYTES], const char *from)
{
    snprintf(to, WORD_BYTES, "%.*s", WORD_BYTES - 1, from && *from ? from : "-");
    for (char *c = to; *c; c++)
        if (!isgraph((unsigned char)*c)) *c = '_';
}

static owner self_owner(void)
{
    owner o = { .pid = (long)getpid() };
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    const char *job = getenv("SLURM_JOB_ID"), *restarts = getenv("SLURM_RESTART_COUNT");
    if (!job) job = getenv("PBS_JOBID");
    if (!job) job = getenv("LSB_JOBID");
    put_word(o.host, host);
    put_word(o.job, job);
    o.restarts = restarts ? atoi(restarts) : 0;
    return o;
}

static void put_line(char line[LINE_BYTES], const owner *o)
{
    snprintf(line, LINE_BYTES, "host=%s pid=%ld job=%s restarts=%d\n", o->host, o->pid, o->job, o->restarts);
}

/* False: no line, or another program's. */
static bool read_owner(const char *text, owner *o)
{
    char again[LINE_BYTES];
    memset(o, 0, sizeof *o);
    const int words =
        sscanf(text, "host=%63s pid=%ld job=%63s restarts=%d", o->host, &o->pid, o->job, &o->restarts);
    put_line(again, o);
    if (words == 4 && strncmp(text, again, strlen(again)) == 0) return true;
    memset(o, 0, sizeof *o);
    return false;
}

static bool is_requeued(const owner *o, const owner *self)
{
    return strcmp(o->job, "-") != 0 && strcmp(o->job, self->job) == 0 && o->restarts < self->restarts;
}

/* ---- the file ---- */

typedef enum flocked { FLOCK_OURS, FLOCK_OTHERS, FLOCK_NONE } flocked;
typedef enum verdict { TAKE, REPLACE, REFUSE, WAIT } verdict;

static flocked try_flock(int fd)
{
    if (flock(fd, LOCK_EX | LOCK_NB) == 0) return FLOCK_OURS;
    return errno == EWOULDBLOCK ? FLOCK_OTHERS : FLOCK_NONE; /* none: this file system has no flock */
}

static bool has_the_name(const char *path, int fd)
{
    struct stat held, named;
    return fstat(fd, &held) == 0 && lstat(path, &named) == 0 && held.st_ino == named.st_ino &&
           held.st_dev == named.st_dev;
}

/* made: by this run, just now. */
static verdict judge(const owner *o, bool readable, const owner *self, flocked got, bool made, int tries)
{
    const bool same_host = readable && strcmp(o->host, self->host) == 0;
    const bool later = readable && is_requeued(o, self);
    switch (got) {
    case FLOCK_OURS: return !readable || same_host || later ? TAKE : REFUSE;
    case FLOCK_NONE: return made || later ? TAKE : REFUSE;
    case FLOCK_OTHERS:
        if (later && !same_host) return REPLACE; /* a server may hold a dead host's locks for a while */
        return tries < PATIENT_TRIES ? WAIT : REFUSE;
    }
    return REFUSE;
}

static bool read_text(int fd, char text[TEXT_BYTES])
{
    const ssize_t bytes = pread(fd, text, TEXT_BYTES - 1, 0);
    text[bytes > 0 ? bytes : 0] = '\0';
    return bytes >= 0;
}

/* Names that a dead run had noted stay noted until they are gone. 0 or errno. */
static int fill(lock *l)
{
    const char *const names = strchr(l->found, '\n');
    int code = ftruncate(l->fd, 0) != 0 ? errno : transfer_pwrite(l->fd, l->line, strlen(l->line), 0);
    if (!code && names) code = transfer_pwrite(l->fd, names + 1, strlen(names + 1), strlen(l->line));
    if (!code && fsync(l->fd) != 0) code = errno;
    if (code) unlink(l->path);
    return code;
}

/* 0 or errno; sets l->fd, -1 where the file went meanwhile. */
static int open_file(lock *l, bool *made)
{
    struct stat info;
    const int how = O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC; /* of a pipe, no wait for another */
    l->fd = open(l->path, how | O_CREAT | O_EXCL, 0644);
    *made = l->fd >= 0;
    if (!*made && errno == EEXIST) l->fd = open(l->path, how);
    if (l->fd < 0) return errno == ENOENT && access(l->path, F_OK) != 0 ? 0 : errno;
    return fstat(l->fd, &info) == 0 && S_ISREG(info.st_mode) ? 0 : EEXIST;
}

/* 0, errno, or EBUSY with *other; *got: as it was last. */
static int take(lock *l, owner *other, flocked *got)
{
    const struct timespec pause = { 0, 50 * 1000 * 1000 };
    const owner self = self_owner();
    put_line(l->line, &self);
    for (int tries = 0; tries < TRIES; tries++) {
        bool made;
        int code = open_file(l, &made);
        if (!code && l->fd < 0 && tries > 5) code = ENOENT;
        verdict v = WAIT;
        if (!code && l->fd >= 0) {
            *got = try_flock(l->fd);
            if (!read_text(l->fd, l->found)) code = errno;
            if (!code && has_the_name(l->path, l->fd))
                v = judge(other, read_owner(l->found, other), &self, *got, made, tries);
        }
        if (!code && v == REFUSE) code = EBUSY;
        if (!code && v == REPLACE) {
            memcpy(l->replaced, l->found, sizeof l->replaced);
            if (unlink(l->path) != 0 && errno != ENOENT) code = errno;
        }
        if (!code && v == TAKE && !l->found[0] && l->replaced[0]) {
            memcpy(l->found, l->replaced, sizeof l->found);
            (void)read_owner(l->found, other);
        }
        if (!code && v == TAKE) code = fill(l);
        if (!code && v == TAKE) return 0;
        if (l->fd >= 0) close(l->fd);
        l->fd = -1;
        if (code) return code;
        nanosleep(&pause, NULL);
    }
    return EAGAIN;
}

static state_status refuse(const owner *o, const char *path, flocked got, sentence *why)
{
    char who[3 * WORD_BYTES] = "";
    if (*o->host) snprintf(who, sizeof who, " (host %s, pid %ld, job %s)", o->host, o->pid, o->job);
    return state_fail(STATE_BUSY, why,
                      "another run%s writes there: use another name, or delete %.300s if that run is "
                      "gone%s",
                      who, path, got == FLOCK_NONE ? "; this file system has no flock to tell by" : "");
}

lock *lock_take(MPI_Comm comm, const char *path, state_status *status, sentence *note, sentence *why)
{
    note->text[0] = '\0';
    lock *l = CHECK_ALLOC(calloc(1, sizeof *l));
    *status = STATE_OK;
    l->fd = -1;
    if (ranks_mine(comm) == 0) {
        owner other = { .pid = 0 };
        flocked got = FLOCK_OURS;
        snprintf(l->path, sizeof l->path, "%s", path);
        const int code = take(l, &other, &got);
        if (code == EBUSY) *status = refuse(&other, path, got, why);
        else if (code) *status = state_fail(STATE_IO, why, "cannot make %.300s: %s", path, strerror(code));
        else if (*other.host)
            sentence_set(note, "took over %.300s from a run that is gone (host %s, pid %ld, job %s)", path,
                         other.host, other.pid, other.job);
    }
    *status = state_agree(comm, *status, why);
    if (*status == STATE_OK) return l;
    lock_release(&l);
    return NULL;
}

bool lock_is_held(const lock *l)
{
    char found[LINE_BYTES] = "";
    const ssize_t bytes = pread(l->fd, found, strlen(l->line), 0);
    return has_the_name(l->path, l->fd) && bytes == (ssize_t)strlen(l->line) && strcmp(found, l->line) == 0;
}

int lock_note(lock *l, const char *name)
{
    struct stat info;
    char line[STATE_NAME_BYTES + 2];
    snprintf(line, sizeof line, "%s\n", name);
    if (fstat(l->fd, &info) != 0) return errno;
    const int code = transfer_pwrite(l->fd, line, strlen(line), (uint64_t)info.st_size);
    return code ? code : fdatasync(l->fd) != 0 ? errno : 0;
}

void lock_settle(lock *l) { (void)!ftruncate(l->fd, (off_t)strlen(l->line)); }

int lock_visit_noted(const lock *l, bool (*visit)(void *visitor, const char *name), void *visitor)
{
    char name[STATE_NAME_BYTES];
    int count = 0;
    for (const char *end = strchr(l->found, '\n'); end && end[1];) {
        const char *const from = end + 1;
        end = strchr(from, '\n');
        if (!end || end - from >= (ptrdiff_t)sizeof name)
            continue; /* half a line: nothing was made after it */
        snprintf(name, sizeof name, "%.*s", (int)(end - from), from);
        count += visit(visitor, name);
    }
    return count;
}

void lock_release(lock **l)
{
    if (!l || !*l) return;
    if ((*l)->fd >= 0) {
        if (lock_is_held(*l)) unlink((*l)->path);
        close((*l)->fd); /* not before: a file without a holder is another run's to take */
    }
    free(*l);
    *l = NULL;
}
