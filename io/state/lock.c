/* It holds one line, of rank 0's process,
 *
 *   host=HOST pid=PID job=JOB restarts=N
 *
 * JOB is Slurm's ("-": none). The process holds flock on the file as long as it runs. A lock is another's to
 * take over where
 * - no process holds the flock, and the line is this host's or there is none: flock may be each host's own;
 * - this is a later start of the same Slurm job, which Slurm requeues only when the earlier one has ended.
 * All else is refused, and the sentence says which file to delete, and when. Where there is no flock the line
 * alone is the lock: of two runs that start at one instant both may take it. */
#include "state/state_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files/replace.h"
#include "ranks/check.h"
#include "ranks/printable.h"
#include "ranks/ranks.h"
#include "ranks/timer.h"
#include "state/state_index.h"

enum { WORD_BYTES = 64, LINE_BYTES = 256 };

typedef struct owner {
    char host[WORD_BYTES], job[WORD_BYTES]; /* host "": there is no whole line */
    long pid;
    int restarts;
} owner;

struct lock {
    char path[STATE_PATH_BYTES];
    int fd;                /* holds flock, where there is one */
    char line[LINE_BYTES]; /* this run's */
    bool replaces;         /* the file of a dead run, which had its name */
};

static owner read_owner(const char *text)
{
    owner o = { .pid = 0 };
    if (sscanf(text, "host=%63s pid=%ld job=%63s restarts=%d", o.host, &o.pid, o.job, &o.restarts) < 4)
        o.host[0] = '\0';
    return o;
}

static void put_line(char line[LINE_BYTES])
{
    const char *const id = getenv("SLURM_JOB_ID"), *const restarts = getenv("SLURM_RESTART_COUNT");
    snprintf(line, LINE_BYTES, "host=%s pid=%ld job=%.63s restarts=%d\n", printable_host(), (long)getpid(),
             id && *id ? id : "-", restarts ? atoi(restarts) : 0);
}

static bool has_the_name(const char *path, int fd)
{
    struct stat held, named;
    return fstat(fd, &held) == 0 && lstat(path, &named) == 0 && held.st_ino == named.st_ino &&
           held.st_dev == named.st_dev;
}

/* 0, errno, EBUSY, or EAGAIN: once more; *other: whose it is, or was. */
static int try(lock *l, owner *other)
{
    struct stat info;
    char text[LINE_BYTES] = "";
    const owner self = read_owner(l->line);
    l->fd = open(l->path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0644);
    if (l->fd < 0) return errno;
    if (fstat(l->fd, &info) != 0 || !S_ISREG(info.st_mode)) return EEXIST;
    const bool locked = flock(l->fd, LOCK_EX | LOCK_NB) == 0, others = !locked && errno == EWOULDBLOCK;
    if (pread(l->fd, text, sizeof text - 1, 0) < 0) return errno;
    if (text[0] && strncmp(text, "host=", 5) != 0) return EEXIST; /* another program's file */
    if (text[0] || !l->replaces) *other = read_owner(text);
    const bool same_host = strcmp(other->host, self.host) == 0,
               later = *other->host && strcmp(self.job, "-") != 0 && strcmp(other->job, self.job) == 0 &&
                       other->restarts < self.restarts;
    const bool named = has_the_name(l->path, l->fd);
    l->replaces = named && others && later && !same_host;
    if (l->replaces) unlink(l->path); /* a server may hold a dead host's lock for a while */
    if (!named || others) return EAGAIN;
    if (*other->host && !(locked && same_host) && !later) return EBUSY;
    int code = ftruncate(l->fd, 0) != 0 ? errno : replace_pwrite(l->fd, l->line, strlen(l->line), 0);
    if (!code && fsync(l->fd) != 0) code = errno;
    if (code) unlink(l->path);
    return code;
}

void state_lock_path(char out[STATE_PATH_BYTES], const char *folder, const char *file)
{
    const int stem = folder ? 0 : (int)(basename(file) - file) + state_stem_bytes(file);
    if (folder) snprintf(out, STATE_PATH_BYTES, "%.4000s/" LOCK_NAME, folder);
    else snprintf(out, STATE_PATH_BYTES, "%.*s.lock", stem, file);
}

state_status state_is_free(MPI_Comm comm, const char *folder, sentence *why)
{
    char path[STATE_PATH_BYTES];
    state_status status = STATE_OK;
    snprintf(path, sizeof path, "%.4000s/" LOCK_NAME, folder);
    const int fd = ranks_mine(comm) == 0 ? open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC) : -1;
    if (fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        status = sentence_fail(STATE_BUSY, why, "another run holds %.300s", path);
    if (fd >= 0) close(fd);
    return state_agree(comm, status, why);
}

lock *lock_take(const char *path, state_status *status, sentence *note, sentence *why)
{
    owner other = { .pid = 0 };
    char who[4 * WORD_BYTES] = "";
    int code, tries = 0;
    lock *l = CHECK_ALLOC(calloc(1, sizeof *l));
    snprintf(l->path, sizeof l->path, "%s", path);
    put_line(l->line);
    while ((code = try(l, &other)) != 0) {
        if (l->fd >= 0) close(l->fd);
        if (code != EAGAIN || !timer_try_again(&tries, 1)) break; /* a run may just be leaving */
    }
    const bool busy = code == EAGAIN || code == EBUSY;
    *status = !code ? STATE_OK : busy ? STATE_BUSY : STATE_IO;
    note->text[0] = '\0';
    if (*other.host)
        snprintf(who, sizeof who, " (host %s, pid %ld, job %s)", other.host, other.pid, other.job);
    if (busy)
        sentence_set(why,
                     "another run%s writes there: use another name, or delete %.300s if that run is gone",
                     who, path);
    else if (code) sentence_set(why, "cannot make %.300s: %s", path, strerror(code));
    else if (*who) sentence_set(note, "took over %.300s from a run that is gone%s", path, who);
    if (!code) return l;
    free(l);
    return NULL;
}

bool lock_is_held(const lock *l)
{
    char found[LINE_BYTES] = "";
    const ssize_t bytes = pread(l->fd, found, strlen(l->line), 0);
    return has_the_name(l->path, l->fd) && bytes == (ssize_t)strlen(l->line) && strcmp(found, l->line) == 0;
}

void lock_release(lock **l)
{
    if (!l || !*l) return;
    if (lock_is_held(*l)) unlink((*l)->path);
    close((*l)->fd); /* not before: a file without a holder is another run's to take */
    free(*l);
    *l = NULL;
}
