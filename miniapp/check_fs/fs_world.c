#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cmd.h"
#include "base/signals.h"
#include "check_fs/fs_trials.h"
#include "files/replace.h"
#include "ranks/agree.h"
#include "ranks/check.h"
#include "ranks/ranks.h"
#include "ranks/timer.h"
#include "state/lock.h"

static const char folder_name[] = "weft_check_fs";

/* ---- the folder, by rank 0 ---- */

/* The lock's file goes last, by its owner: nobody takes the folder for a dead check's before. */
static void remove_files(const char *folder)
{
    DIR *d = opendir(folder);
    for (const struct dirent *e; d && (e = readdir(d));)
        if (strcmp(e->d_name, LOCK_NAME) != 0) (void)unlinkat(dirfd(d), e->d_name, 0);
    if (d) closedir(d);
}

/* A network file system keeps what was open a moment ago under another name for a while. */
static void remove_folder(const char *folder, lock **held)
{
    const struct timespec pause = { 0, 10 * 1000 * 1000 };
    remove_files(folder);
    lock_release(held);
    for (int tries = 0;
         tries < 50 && rmdir(folder) != 0 && (errno == ENOTEMPTY || errno == EEXIST || errno == EBUSY);
         tries++) {
        nanosleep(&pause, NULL);
        remove_files(folder);
    }
}

/* A folder whose check is gone leaves its lock to whoever asks. */
static void remove_dead(const char *folder)
{
    state_status status;
    sentence note, why;
    char path[STATE_PATH_BYTES + 16];
    snprintf(path, sizeof path, "%s/" LOCK_NAME, folder);
    lock *held = lock_take(MPI_COMM_NULL, path, &status, &note, &why);
    if (held) remove_folder(folder, &held);
}

static void remove_all_dead(const char *dir)
{
    char path[STATE_PATH_BYTES];
    DIR *d = opendir(dir);
    for (const struct dirent *e; d && (e = readdir(d));) {
        const size_t stem = strlen(folder_name); /* of NAME.tmp.<16 hex digits> */
        if (strncmp(e->d_name, folder_name, stem) || strncmp(e->d_name + stem, ".tmp.", 5)) continue;
        if (snprintf(path, sizeof path, "%s/%s", dir, e->d_name) < (int)sizeof path) remove_dead(path);
    }
    if (d) closedir(d);
}

static lock *held; /* the folder's, on rank 0 */

/* 0 or errno; EBUSY with a sentence. */
static int make_folder(fs_world *w, const char *dir, sentence *why)
{
    char path[STATE_PATH_BYTES];
    state_status status;
    sentence note;
    remove_all_dead(dir);
    if (snprintf(path, sizeof path, "%s/%s", dir, folder_name) >= (int)sizeof path) return ENAMETOOLONG;
    if (!replace_temporary(w->folder, sizeof w->folder, path, replace_token())) return ENAMETOOLONG;
    if (mkdir(w->folder, 0777) != 0) return errno;
    snprintf(path, sizeof path, "%.4300s/" LOCK_NAME, w->folder);
    held = lock_take(MPI_COMM_NULL, path, &status, &note, why);
    if (held) return 0;
    (void)rmdir(w->folder);
    return EBUSY;
}

bool fs_begin(fs_world *w, const char *dir, sentence *why)
{
    const int code = w->rank == 0 ? make_folder(w, dir, why) : 0;
    if (code && code != EBUSY) sentence_set(why, "cannot make %s: %s", w->folder, strerror(code));
    if (!agree_or_say(!code, why, w->comm)) return false;
    MPI_CHECK(ranks_bcast(w->folder, sizeof w->folder, MPI_CHAR, 0, w->comm));
    return true;
}

void fs_end(fs_world *w)
{
    MPI_CHECK(ranks_barrier(w->comm));
    if (w->rank == 0) remove_folder(w->folder, &held);
}

/* ---- meeting ---- */

static volatile sig_atomic_t stopped;

static void on_signal(int number) { stopped = number; }

/* What trials have open in the folder, but not its lock: NFS would keep it there under another name. */
static void close_files(const char *folder)
{
    enum { MOST = 1024 };
    char link[32], *const real = realpath(folder, NULL);
    for (int fd = 3; real && fd < MOST; fd++) {
        char path[STATE_PATH_BYTES] = "";
        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        const ssize_t n = readlink(link, path, sizeof path - 1);
        if (n > 0 && strncmp(path, real, strlen(real)) == 0 &&
            strcmp(path + strlen(real), "/" LOCK_NAME) != 0)
            (void)close(fd);
    }
    free(real);
}

void fs_catch_signals(void)
{
    signals_catch(SIGUSR1, on_signal);
    signals_catch(SIGTERM, on_signal);
    signals_catch(SIGINT, on_signal);
    signals_catch(SIGXFSZ, SIG_IGN); /* a limit on the size of files is an error of the write that meets it */
}

bool fs_is_stopped(void) { return stopped != 0; }

bool fs_more(fs_world *w, double end_s)
{
    enum { GO_ON, OVER, STOPPED };
    int mine = stopped ? STOPPED : w->rank == 0 && timer_now_s() >= end_s ? OVER : GO_ON, all;
    MPI_CHECK(ranks_allreduce(&mine, &all, 1, MPI_INT, MPI_MAX, w->comm));
    if (all != STOPPED) return all == GO_ON;
    close_files(w->folder);
    fs_end(w);
    exit(cmd_end(
        cmd_say(CHECK_EXIT_ENVIRONMENT, "check fs was stopped by a signal; nothing is left in its folder")));
}

void fs_meet(fs_world *w) { (void)fs_more(w, INFINITY); }

/* ---- files ---- */

void fs_name(fs_world *w, const char *stem, char path[STATE_PATH_BYTES])
{
    if (snprintf(path, STATE_PATH_BYTES, "%s/%s_%d.h5", w->folder, stem, ++w->names) >= STATE_PATH_BYTES)
        check_fail(__FILE__, __LINE__, w->folder, strerror(ENAMETOOLONG));
}

int fs_make(const char *path, uint64_t bytes)
{
    const int fd = replace_create_new(path);
    int code = fd < 0 || (bytes > 0 && ftruncate(fd, (off_t)bytes) != 0) ? errno : 0;
    if (fd >= 0 && close(fd) != 0 && !code) code = errno;
    return code;
}

void fs_forget(fs_world *w, const char *path)
{
    fs_meet(w);
    if (w->rank == 0) (void)unlink(path);
}

int fs_open(const char *path, int flags)
{
    int fd, tries = 0;
    do fd = open(path, flags | O_CLOEXEC);
    while (fd < 0 && !stopped && state_look_again(errno, &tries));
    return fd;
}

/* Where two hosts open a file of NFSv4 at once, one of them now and then waits for 3 s: about as long as a
 * server takes that calls back a delegation which its host does not have yet, and asks again. */
int fs_open_shared(fs_world *w, bool opens, const char *path, int flags)
{
    int fd = opens && w->rank == 0 ? fs_open(path, flags) : -1, code = errno;
    fs_meet(w);
    if (opens && w->rank > 0) {
        fd = fs_open(path, flags);
        code = errno;
    }
    errno = code;
    return fd;
}

/* ---- lines ---- */

bool fs_all_well(fs_world *w, const char *key, int code, const char *call)
{
    char host[STATE_HOST_BYTES];
    sentence why;
    if (code)
        sentence_set(&why, "%s failed on rank %d of %s: %s", call, w->rank, state_host(host), strerror(code));
    if (agree_or_say(!code, &why, w->comm)) return true;
    fs_add(w, key, FS_FAILED, "", "%s", why.text);
    return false;
}

void fs_add(fs_world *w, const char *key, fs_word word, const char *means, const char *format, ...)
{
    va_list args;
    if (w->lines == FS_LINES_MAX) check_fail(__FILE__, __LINE__, "fs_add", "too many lines");
    fs_line *l = &w->line[w->lines++];
    l->key = key;
    l->word = word;
    sentence_set(&l->means, "%s", means);
    va_start(args, format);
    sentence_set_list(&l->found, format, args);
    va_end(args);
}
