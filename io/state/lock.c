/* The first line is of rank 0's process,
 *
 *   host=HOST pid=PID job=JOB restarts=N
 *
 * JOB is Slurm's ("-": none); each line behind it is the name of an attempt. The process holds flock on the
 * file as long as it runs. A lock is another's to take over where
 * - no process holds the flock, and the line is this host's or there is none: flock may be each host's own;
 * - this is a later start of the same Slurm job, which Slurm requeues only when the earlier one has ended.
 * All else is refused, and the sentence says which file to delete, and when. Where there is no flock the file
 * alone is the lock. */
#include "state/state_folder.h"

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
    const char *noted;           /* in found: the next name */
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
    const char *restarts = getenv("SLURM_RESTART_COUNT");
    put_word(o.host, host);
    put_word(o.job, getenv("SLURM_JOB_ID"));
    o.restarts = restarts ? atoi(restarts) : 0;
    return o;
}

/* No host: there is no line, or another program's. */
static owner read_owner(const char *text)
{
    owner o = { .pid = 0 };
    if (sscanf(text, "host=%63s pid=%ld job=%63s restarts=%d", o.host, &o.pid, o.job, &o.restarts) < 4)
        o.host[0] = '\0';
    return o;
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
static verdict judge(const owner *o, const owner *self, flocked got, bool made, int tries)
{
    const bool same_host = strcmp(o->host, self->host) == 0, later = *o->host && is_requeued(o, self);
    switch (got) {
    case FLOCK_OURS: return !*o->host || same_host || later ? TAKE : REFUSE;
    case FLOCK_NONE: return made || later ? TAKE : REFUSE;
    case FLOCK_OTHERS:
        if (later && !same_host) return REPLACE; /* a server may hold a dead host's locks for a while */
        return tries < PATIENT_TRIES ? WAIT : REFUSE;
    }
    return REFUSE;
}

/* Names that a dead run had noted stay noted until they are gone. 0 or errno. */
static int fill(lock *l)
{
    const char *const names = strchr(l->found, '\n');
    l->noted = names ? names + 1 : "";
    int code = ftruncate(l->fd, 0) != 0 ? errno : transfer_pwrite(l->fd, l->line, strlen(l->line), 0);
    if (!code) code = transfer_pwrite(l->fd, l->noted, strlen(l->noted), strlen(l->line));
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
    if (!*made && errno == EEXIST) {
        l->fd = open(l->path, how);
        if (l->fd < 0 && errno == ENOENT) return 0;
    }
    if (l->fd < 0) return errno;
    return fstat(l->fd, &info) == 0 && S_ISREG(info.st_mode) ? 0 : EEXIST;
}

/* 0, errno, or EBUSY; *other: whose it is, or was; *got: how it ended. */
static int take(lock *l, owner *other, flocked *got)
{
    static char text[TEXT_BYTES];
    const struct timespec pause = { 0, 50 * 1000 * 1000 };
    const owner self = self_owner();
    snprintf(l->line, sizeof l->line, "host=%s pid=%ld job=%s restarts=%d\n", self.host, self.pid, self.job,
             self.restarts);
    for (int tries = 0; tries < TRIES; tries++) {
        bool made;
        verdict v = WAIT;
        const int code = open_file(l, &made);
        if (code) return code;
        if (l->fd >= 0) {
            *got = try_flock(l->fd);
            const ssize_t bytes = pread(l->fd, text, sizeof text - 1, 0);
            text[bytes > 0 ? bytes : 0] = '\0';
            if (bytes > 0) memcpy(l->found, text, sizeof text); /* else what stood in one that it replaces */
            *other = read_owner(l->found);
            if (has_the_name(l->path, l->fd)) v = bytes < 0 ? REFUSE : judge(other, &self, *got, made, tries);
            if (v == TAKE) return fill(l);
            if (v == REPLACE) unlink(l->path);
            close(l->fd);
            l->fd = -1;
        }
        if (v == REFUSE) return EBUSY;
        if (v == WAIT) l->found[0] = '\0';
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

bool lock_next_noted(lock *l, char name[STATE_NAME_BYTES])
{
    const char *const end = strchr(l->noted, '\n');
    if (!end) return false; /* or half a line: nothing was made after it */
    snprintf(name, STATE_NAME_BYTES, "%.*s", (int)(end - l->noted), l->noted);
    l->noted = end + 1;
    return true;
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
