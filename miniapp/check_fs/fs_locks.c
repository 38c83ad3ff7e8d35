/* Locks between two descriptors: of one process, which is how two runs on one host stand to each other; and
 * of two ranks, of two hosts where there are. And fsync, of a file and of a folder. */
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "check_fs/fs_trials.h"
#include "files/replace.h"
#include "ranks/agree.h"
#include "ranks/timer.h"
#include "files/transfer.h"

enum { RANGE_BYTES = 4096 };
static const double waits_for = 0.1; /* of the time, for a lock that was freed */

typedef enum outcome { HELD, NONE, STUCK, TWICE } outcome; /* the worst one last */

typedef struct lock_kind {
    const char *key, *key_here;
    int (*set)(int fd, bool on, int range);
    fs_word twice_here, twice;
    const char *means_here, *means;
} lock_kind;

/* As lock.c takes it: of the whole file. */
static int set_flock(int fd, bool on, int range)
{
    if (range > 0) return 0;
    return flock(fd, on ? LOCK_EX | LOCK_NB : LOCK_UN) != 0 ? errno : 0;
}

static bool is_refusal(int code) { return code == EAGAIN || code == EACCES; }

static outcome challenge(const lock_kind *k, int fd)
{
    const int code = k->set(fd, true, 0), beside = k->set(fd, true, 1);
    return code == 0 ? TWICE : !is_refusal(code) ? NONE : beside != 0 ? STUCK : HELD;
}

static outcome take_freed(const fs_world *w, const lock_kind *k, int fd)
{
    const struct timespec pause = { 0, 1000 * 1000 };
    const double end_s = timer_now_s() + waits_for * w->seconds;
    int code = k->set(fd, true, 0);
    while (code && timer_now_s() < end_s && !fs_is_stopped()) {
        nanosleep(&pause, NULL);
        code = k->set(fd, true, 0);
    }
    return code ? STUCK : HELD;
}

static outcome worst_of(fs_world *w, outcome mine)
{
    sentence none = { "" };
    return (outcome)agree_worst((int)mine, &none, w->comm);
}

/* The holder locks, the challenger must not; then the holder frees it, and the challenger must. */
static outcome hold_and_challenge(fs_world *w, const lock_kind *k, int holds, int challenges)
{
    outcome mine = holds >= 0 && k->set(holds, true, 0) != 0 ? NONE : HELD, all = worst_of(w, mine);
    if (all == HELD) all = worst_of(w, challenges >= 0 ? challenge(k, challenges) : HELD);
    if (all != HELD) return all;
    if (holds >= 0) (void)k->set(holds, false, 0);
    fs_meet(w);
    return worst_of(w, challenges >= 0 ? take_freed(w, k, challenges) : HELD);
}

static void add_line(fs_world *w, const lock_kind *k, outcome o, bool here)
{
    const char *const key = here ? k->key_here : k->key, *const who = here ? "on one host" : "between hosts";
    const char *const means = here ? k->means_here : k->means;
    switch (o) {
    case HELD: fs_add(w, key, FS_KEPT, "", "one at a time holds a lock, %s", who); break;
    case NONE: fs_add(w, key, FS_NOTE, means, "cannot be had"); break;
    case STUCK: fs_add(w, key, FS_NOTE, means, "a lock that is free cannot be taken, %s", who); break;
    case TWICE:
        fs_add(w, key, here ? k->twice_here : k->twice, means, "two hold the same lock, %s", who);
        break;
    }
}

static void try_lock(fs_world *w, const lock_kind *k, int challenger, bool here)
{
    char path[STATE_PATH_BYTES];
    fs_name(w, "locked", path);
    if (!fs_all_well(w, k->key, w->rank == 0 ? fs_make(path, RANGE_BYTES) : 0, "making a file")) return;
    const int first = fs_open_shared(w, w->rank == 0 || w->rank == challenger, path, O_RDWR);
    const int second = w->rank == 0 && challenger == 0 && first >= 0 ? fs_open(path, O_RDWR) : -1;
    const int holds = w->rank == 0 ? first : -1;
    const int challenges = w->rank != challenger ? -1 : challenger == 0 ? second : first;
    const bool opened = (w->rank != 0 || holds >= 0) && (w->rank != challenger || challenges >= 0);
    if (fs_all_well(w, k->key, opened ? 0 : errno, "opening a file"))
        add_line(w, k, hold_and_challenge(w, k, holds, challenges), here);
    if (challenges >= 0) close(challenges);
    if (holds >= 0) close(holds);
    fs_forget(w, path);
}

static const lock_kind flocks = {
    "flock",
    "flock here",
    set_flock,
    FS_BROKEN,
    FS_NOTE,
    "a second run on this host would take the folder from one that still writes there",
    "weft knows another host's run by what its lock's file says"
};
void fs_locks(fs_world *w)
{
    const bool several = w->hosts->count > 1;
    const int other = several ? w->hosts->rank[w->hosts->begin[1]] : w->ranks - 1;
    try_lock(w, &flocks, several ? 0 : other, true);
    if (several) try_lock(w, &flocks, other, false);
}

/* ---- fsync ---- */

/* 0 or errno. */
static int write_and_sync(const char *path)
{
    const int fd = replace_create_new(path);
    int code = fd < 0 ? errno : transfer_pwrite(fd, path, 1, 0);
    if (!code && fsync(fd) != 0) code = errno;
    if (fd >= 0 && close(fd) != 0 && !code) code = errno;
    return code;
}

void fs_syncs(fs_world *w)
{
    static const char key[] = "fsync";
    char path[STATE_PATH_BYTES];
    fs_name(w, "synced", path);
    if (!fs_all_well(w, key, w->rank == 0 ? write_and_sync(path) : 0, "fsync of a file")) return;
    const int code = w->rank == 0 ? replace_sync_path(w->folder) : 0;
    if (agree_all(code == 0, w->comm)) fs_add(w, key, FS_KEPT, "", "works, of files and of folders");
    else
        fs_add(w, key, FS_NOTE, "a power cut may take a name that was given a moment ago",
               "works of files, but not of folders");
}
