/* Rank 0 makes the file with O_EXCL: of two runs that come at once, one gets it. It holds one line,
 *
 *   host=HOST pid=PID started=TICKS job=JOB restarts=N boot=ID pidns=NAMESPACE flock=DEVICE
 *
 * of rank 0's process; TICKS since boot tell it from a later process with its number, JOB is the batch
 * system's ("-": none), ID the kernel's for this boot. DEVICE is that of the file, on which the process holds
 * flock as long as it runs; 0: there is no flock here. Older versions wrote five words, held no flock, and
 * did not know of namespaces.
 *
 * A lock is stale where its process is known to be gone:
 * - this is a later start of the same Slurm job, which Slurm requeues only when the earlier one has ended,
 * whatever host that had;
 * - under the same kernel, nobody holds the flock that it would hold; without flock, in the same PID
 * namespace, there is no
 *   process of that number and start;
 * - this host was booted since.
 * A line that stays unreadable is stale too: its run died between making and filling the file, as it would be
 * whole within moments otherwise. Of all else nothing is known from here, so it is refused, and the sentence
 * says which file to delete.
 *
 * A stale lock goes by the hand of one run only: who holds flock on the file and still finds it under the
 * name unlinks it. Without that, one run could unlink the new lock of another that had found the same stale
 * one. */
#include "writer/lock.h"

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

#include "ranks/check.h"
#include "ranks/ranks.h"
#include "state/checkpoint_directory.h"

enum {
    NAME_BYTES = 64,
    LINE_BYTES = 512,
    TRIES = 100,
    PATIENT_TRIES = 20, /* 50 ms each: for a lock that is just being filled, or looked at by another run */
};

typedef struct owner {
    char host[NAME_BYTES], job[NAME_BYTES];
    char boot[NAME_BYTES], pid_space[NAME_BYTES]; /* "-": not known; "": by an older version */
    long pid;
    unsigned long long started_ticks; /* since boot; 0: not known */
    unsigned long long flock_device;  /* 0: it holds none */
    int restarts;
} owner;

struct lock {
    char path[CHECKPOINT_PATH_BYTES]; /* "" on all ranks but 0 */
    int fd;                           /* holds flock, where there is one; -1: not taken yet */
    owner self;
};

/* ---- who ---- */

/* One word without blanks, as sscanf reads it. */
static void put_word(char to[NAME_BYTES], const char *from)
{
    snprintf(to, NAME_BYTES, "%.*s", NAME_BYTES - 1, from && *from ? from : "-");
    for (char *c = to; *c; c++)
        if (!isgraph((unsigned char)*c)) *c = '_';
}

/* False: no such process, or one that has ended and only waits for its parent. Ticks of 0: its start cannot
 * be read. */
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

static void read_word(char to[NAME_BYTES], const char *path)
{
    char word[NAME_BYTES] = "";
    FILE *f = fopen(path, "r");
    if (f && !fgets(word, sizeof word, f)) word[0] = '\0';
    if (f) fclose(f);
    word[strcspn(word, "\n")] = '\0';
    put_word(to, word);
}

static owner self_owner(void)
{
    owner o;
    char host[256] = "", space[NAME_BYTES] = "";
    memset(&o, 0, sizeof o);
    gethostname(host, sizeof host - 1);
    const char *job = getenv("SLURM_JOB_ID"), *restarts = getenv("SLURM_RESTART_COUNT");
    if (!job) job = getenv("PBS_JOBID");
    if (!job) job = getenv("LSB_JOBID");
    put_word(o.host, host);
    put_word(o.job, job);
    read_word(o.boot, "/proc/sys/kernel/random/boot_id");
    if (readlink("/proc/self/ns/pid", space, sizeof space - 1) < 0) space[0] = '\0';
    put_word(o.pid_space, space);
    o.pid = (long)getpid();
    process_runs(o.pid, &o.started_ticks);
    o.restarts = restarts ? atoi(restarts) : 0;
    return o;
}

static void put_line(char line[LINE_BYTES], const owner *o)
{
    const int bytes = snprintf(line, LINE_BYTES, "host=%s pid=%ld started=%llu job=%s restarts=%d", o->host,
                               o->pid, o->started_ticks, o->job, o->restarts);
    snprintf(line + bytes, LINE_BYTES - (size_t)bytes, *o->boot ? " boot=%s pidns=%s flock=%llu\n" : "\n",
             o->boot, o->pid_space, o->flock_device);
}

/* False: *o is all zero. */
static bool read_owner(int fd, owner *o)
{
    char line[LINE_BYTES] = "", again[LINE_BYTES];
    memset(o, 0, sizeof *o);
    if (fd < 0 || pread(fd, line, sizeof line - 1, 0) <= 0) return false;
    const int words = sscanf(
        line, "host=%63s pid=%ld started=%llu job=%63s restarts=%d boot=%63s pidns=%63s flock=%llu", o->host,
        &o->pid, &o->started_ticks, o->job, &o->restarts, o->boot, o->pid_space, &o->flock_device);
    put_line(again, o);
    if ((words == 5 || words == 8) && strcmp(line, again) == 0) return true;
    memset(o, 0, sizeof *o);
    return false;
}

static bool is_requeued(const owner *o, const owner *self)
{
    return strcmp(o->job, "-") != 0 && strcmp(o->job, self->job) == 0 && o->restarts < self->restarts;
}

static bool is_known(const char *word) { return *word && strcmp(word, "-") != 0; }

static bool is_same(const char *a, const char *b) { return is_known(a) && is_known(b) && strcmp(a, b) == 0; }

/* Numbers of processes mean the same to both. Older versions did not say: it is taken for so. */
static bool has_our_numbers(const owner *o, const owner *self)
{
    if (*o->boot) return is_same(o->boot, self->boot) && is_same(o->pid_space, self->pid_space);
    return strcmp(o->host, self->host) == 0;
}

static bool runs_here(const owner *o, const owner *self)
{
    unsigned long long ticks;
    if (!has_our_numbers(o, self) || !process_runs(o->pid, &ticks)) return false;
    return !ticks || !o->started_ticks || ticks == o->started_ticks;
}

/* disk: the device of the file, where this run holds flock on it; 0: it does not. */
static bool is_gone(const owner *o, const owner *self, unsigned long long disk)
{
    const bool same_boot = is_same(o->boot, self->boot);
    if (same_boot && disk && o->flock_device == disk) return true;
    if (has_our_numbers(o, self)) return !runs_here(o, self);
    return is_known(o->boot) && is_known(self->boot) && !same_boot && strcmp(o->host, self->host) == 0;
}

/* ---- the file ---- */

typedef enum flocked { FLOCK_OURS, FLOCK_OTHERS, FLOCK_NONE } flocked;

/* NONE: this file system has no flock, or not for this file. */
static flocked try_flock(int fd)
{
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0) return FLOCK_OURS;
    return fd >= 0 && errno == EWOULDBLOCK ? FLOCK_OTHERS : FLOCK_NONE;
}

/* What has its name, if it is no link: perhaps a pipe, for which nobody waits. NFS has flock only for files
 * that may be written. */
static int open_file(const lock *l)
{
    const int how = O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, fd = open(l->path, O_RDWR | how);
    return fd < 0 && (errno == EACCES || errno == EROFS) ? open(l->path, O_RDONLY | how) : fd;
}

static bool has_the_name(const lock *l, int fd, unsigned long long *disk)
{
    struct stat held, named;
    if (fstat(fd, &held) != 0 || lstat(l->path, &named) != 0) return false;
    *disk = (unsigned long long)held.st_dev;
    return held.st_ino == named.st_ino && held.st_dev == named.st_dev;
}

/* Those who look at the new file hold it for a moment. */
static flocked wait_for_flock(int fd)
{
    const struct timespec pause = { 0, 10 * 1000 * 1000 };
    flocked got = try_flock(fd);
    for (int tries = 0; tries < TRIES && got == FLOCK_OTHERS; tries++) {
        nanosleep(&pause, NULL);
        got = try_flock(fd);
    }
    return got;
}

/* First flock, then the line: whoever can read the line finds the flock held. 0 or errno; EEXIST also where
 * another run has taken the empty file for a dead run's. */
static int fill_file(lock *l)
{
    char line[LINE_BYTES];
    unsigned long long disk = 0;
    const flocked got = wait_for_flock(l->fd);
    if (!has_the_name(l, l->fd, &disk)) return EEXIST;
    l->self.flock_device = got == FLOCK_OURS ? disk : 0;
    put_line(line, &l->self);
    errno = ENOSPC; /* what a short write means */
    const int code =
        write(l->fd, line, strlen(line)) == (ssize_t)strlen(line) && fsync(l->fd) == 0 ? 0 : errno;
    if (code) unlink(l->path);
    return code || has_the_name(l, l->fd, &disk) ? code : EEXIST;
}

/* 0 or errno. */
static int make_file(lock *l)
{
    l->fd = open(l->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (l->fd < 0) return errno;
    const int code = fill_file(l);
    if (!code) return 0;
    close(l->fd);
    l->fd = -1;
    return code;
}

/* 0 or errno; nothing if another run was faster. fd: the stale lock, or -1 for a symbolic link, which is no
 * run's lock. */
static int remove_stale(const lock *l, int fd)
{
    unsigned long long disk;
    if (fd >= 0 && !has_the_name(l, fd, &disk)) return 0;
    return unlink(l->path) != 0 && errno != ENOENT ? errno : 0;
}

typedef enum found { FOUND_NONE, FOUND_GONE, FOUND_UNREADABLE } found;
typedef enum verdict { REMOVE, REFUSE, WAIT } verdict;

/* Without flock what remains is a gap of microseconds between finding and removing. */
static verdict judge(const owner *o, bool readable, flocked got, unsigned long long disk, const owner *self,
                     int tries)
{
    const bool patient = tries < PATIENT_TRIES;
    if (!readable && patient) return WAIT;
    if (!readable) return got == FLOCK_OTHERS ? REFUSE : REMOVE;
    if (is_requeued(o, self) && (got != FLOCK_OTHERS || !is_same(o->boot, self->boot))) return REMOVE;
    if (got == FLOCK_OTHERS) return runs_here(o, self) || !patient ? REFUSE : WAIT;
    return is_gone(o, self, got == FLOCK_OURS ? disk : 0) ? REMOVE : REFUSE;
}

/* 0, errno, or EBUSY with *other; *stale: what was taken over, if anything. */
static int take(lock *l, owner *other, found *stale)
{
    const struct timespec pause = { 0, 50 * 1000 * 1000 };
    *stale = FOUND_NONE;
    for (int tries = 0; tries < TRIES; tries++) {
        int code = make_file(l);
        if (code != EEXIST) return code;
        const int fd = open_file(l);
        if (fd < 0 && errno != ENOENT && errno != ELOOP) return errno;
        if (fd < 0 && errno == ENOENT) continue;
        unsigned long long disk = 0;
        const flocked got = try_flock(fd);
        const bool readable = read_owner(fd, other), named = fd >= 0 && has_the_name(l, fd, &disk);
        const verdict v = fd >= 0 && !named ? WAIT : judge(other, readable, got, disk, &l->self, tries);
        code = v == REFUSE ? EBUSY : 0;
        if (v == REMOVE) {
            code = remove_stale(l, fd);
            *stale = readable ? FOUND_GONE : FOUND_UNREADABLE;
        }
        if (fd >= 0) close(fd);
        if (code) return code;
        nanosleep(&pause, NULL);
    }
    return EAGAIN;
}

static void put_note(sentence *note, const char *dir, const owner *other, found stale)
{
    if (stale == FOUND_GONE)
        sentence_set(note, "took over %.300s from a run that is gone (host %s, pid %ld, job %s)", dir,
                     other->host, other->pid, other->job);
    if (stale == FOUND_UNREADABLE) sentence_set(note, "took over %.300s, whose lock file is unreadable", dir);
}

static checkpoint_status refuse(const owner *o, const char *dir, sentence *why)
{
    char who[3 * NAME_BYTES] = ""; /* of a version to come */
    if (*o->host) snprintf(who, sizeof who, " (host %s, pid %ld, job %s)", o->host, o->pid, o->job);
    return checkpoint_fail(
        CHECKPOINT_BUSY, why,
        "another run%s writes in %.200s: use another directory, or delete %.200s/%s if that run is gone", who,
        dir, dir, LOCK_NAME);
}

lock *lock_take(MPI_Comm comm, const char *dir, checkpoint_status *status, sentence *note, sentence *why)
{
    const int rank = ranks_mine(comm);
    note->text[0] = '\0';
    lock *l = CHECK_ALLOC(calloc(1, sizeof *l));
    *status = CHECKPOINT_OK;
    l->fd = -1;
    if (rank == 0) {
        owner other;
        found stale;
        snprintf(l->path, sizeof l->path, "%s/%s", dir, LOCK_NAME);
        l->self = self_owner();
        const int code = take(l, &other, &stale);
        if (code == 0) put_note(note, dir, &other, stale);
        else if (code == EBUSY) *status = refuse(&other, dir, why);
        else *status = checkpoint_fail(CHECKPOINT_IO, why, "cannot make %.300s: %s", l->path, strerror(code));
    }
    *status = checkpoint_agree(comm, *status, why);
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
        close((*l)->fd); /* not before: a file that nobody holds is another run's to delete */
    }
    free(*l);
    *l = NULL;
}
