/* What a name means to other hosts: after the file behind it was replaced, when it was not there a moment
 * ago, when several want to make it, while it is renamed, and in a listing. All ranks but 0 look; where there
 * is one rank it looks at what it did itself. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/terminal.h"
#include "check_fs/fs_trials.h"
#include "files/replace.h"
#include "ranks/agree.h"
#include "ranks/check.h"
#include "ranks/ranks.h"
#include "ranks/timer.h"
#include "files/transfer.h"

enum { CONTENT_BYTES = 4096, SECONDS_BYTES = 64 };
/* tries; where time is over, the least */
enum { EXCLUSIVE_NAMES = 16, EXCLUSIVE_LEAST = 4, NAMES_TWICE = 5, NAMES_TWICE_LEAST = 2 };
static const double waits_for = 0.1, renames_for = 0.03, tries_for = 0.03; /* of the time */
static const double at_once_s = 0.005;

static bool looks(const fs_world *w) { return w->rank > 0 || w->ranks == 1; }

/* ---- contents: one letter ---- */

/* 0 or errno. */
static int make_with(const char *path, char letter)
{
    char content[CONTENT_BYTES];
    const int fd = replace_create_new(path);
    memset(content, letter, sizeof content);
    int code = fd < 0 ? errno : transfer_pwrite(fd, content, sizeof content, 0);
    if (!code && fsync(fd) != 0) code = errno;
    if (fd >= 0 && close(fd) != 0 && !code) code = errno;
    return code;
}

/* 0: not to be had; '?': not one letter alone. */
static char read_letter(int fd)
{
    char content[CONTENT_BYTES];
    if (fd < 0 || transfer_pread(fd, content, sizeof content, 0) != 0) return 0;
    for (int i = 1; i < CONTENT_BYTES; i++)
        if (content[i] != content[0]) return '?';
    return content[0];
}

static char letter_of(const char *path)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const char letter = read_letter(fd);
    if (fd >= 0) close(fd);
    return letter;
}

/* ---- waiting ---- */

typedef bool is_seen(const fs_world *w, const char *path);

static bool is_new(const fs_world *w, const char *path) { return letter_of(path) == 'B'; }

static bool is_there(const fs_world *w, const char *path) { return letter_of(path) != 0; }

static bool is_listed(const fs_world *w, const char *path)
{
    const char *const name = strrchr(path, '/') + 1;
    bool listed = false;
    DIR *d = opendir(w->folder);
    for (const struct dirent *e; d && !listed && (e = readdir(d));) listed = strcmp(e->d_name, name) == 0;
    if (d) closedir(d);
    return listed;
}

/* Of the rank that waited longest; INFINITY: in vain. */
static double seconds_until(const fs_world *w, is_seen *seen, const char *path)
{
    const struct timespec pause = { 0, 1000 * 1000 };
    const double begin_s = timer_now_s();
    double mine_s = 0;
    while (looks(w) && !fs_is_stopped() && mine_s < INFINITY && !seen(w, path)) {
        nanosleep(&pause, NULL);
        mine_s = timer_now_s() - begin_s;
        if (mine_s > waits_for * w->seconds) mine_s = INFINITY;
    }
    return timer_slowest_s(mine_s, w->comm);
}

static const char *after(const fs_world *w, double waited_s, char out[SECONDS_BYTES])
{
    char s[24];
    if (waited_s < at_once_s) snprintf(out, SECONDS_BYTES, "at once");
    else if (isinf(waited_s))
        snprintf(out, SECONDS_BYTES, "not within %s", terminal_seconds(s, sizeof s, waits_for * w->seconds));
    else snprintf(out, SECONDS_BYTES, "after %s", terminal_seconds(s, sizeof s, waited_s));
    return out;
}

/* ---- trials ---- */

/* Rank 0 gives the name of a file that the others have open, and have opened before, to another. */
static void try_replaced(fs_world *w)
{
    static const char key[] = "new files";
    char path[STATE_PATH_BYTES], other[STATE_PATH_BYTES], text[SECONDS_BYTES];
    fs_name(w, "name", path);
    fs_name(w, "name", other);
    if (!fs_all_well(w, key, w->rank == 0 ? make_with(path, 'A') : 0, "making a file")) return;
    if (looks(w)) (void)letter_of(path);
    const int held = looks(w) ? fs_open(path, O_RDONLY) : -1;
    const int code = !looks(w) ? 0 : held < 0 ? errno : read_letter(held) != 'A' ? EIO : 0;
    if (!fs_all_well(w, key, code, "reading what rank 0 has written")) return;
    const int renamed = w->rank != 0               ? 0
                        : make_with(other, 'B')    ? errno
                        : rename(other, path) != 0 ? errno
                                                   : 0;
    if (!fs_all_well(w, key, renamed, "replacing a file by rename")) return;
    const double waited_s = seconds_until(w, is_new, path);
    const bool kept = agree_all(!looks(w) || read_letter(held) == 'A', w->comm);
    if (held >= 0) close(held);
    fs_forget(w, path);
    const bool late = waited_s >= at_once_s;
    fs_add(
        w, key, late ? FS_NOTE : FS_KEPT,
        late ? "checkpoints get names that were free; let another host read output.final only after that time"
             : "",
        "a new file that was renamed over an old one is reached by its name %s; a rank that has the old one "
        "open %s",
        after(w, waited_s, text), kept ? "goes on reading it" : "can no longer read it");
}

/* A temporary name for another file, once the first one has its final name. True: another rank has reached
 * the first one by it. Code: of what rank 0 does. */
static bool reaches_old(fs_world *w, int *code)
{
    char path[STATE_PATH_BYTES], final[STATE_PATH_BYTES];
    fs_name(w, "tmp", path);
    fs_name(w, "final", final);
    if (w->rank == 0) *code = make_with(path, 'A');
    fs_meet(w);
    for (int i = 0; i < 2 && looks(w); i++) { /* a second look makes a cache surer */
        const int fd = open(path, O_RDWR | O_CLOEXEC);
        if (fd >= 0) close(fd);
    }
    fs_meet(w);
    if (w->rank == 0 && !*code) *code = rename(path, final) != 0 ? errno : make_with(path, 'B');
    fs_meet(w);
    const bool old = agree_any(looks(w) && letter_of(path) == 'A', w->comm);
    fs_forget(w, path);
    fs_forget(w, final);
    return old;
}

static void try_used_again(fs_world *w)
{
    static const char key[] = "names";
    const double end_s = timer_now_s() + tries_for * w->seconds;
    int code = 0, old = 0, tries = 0;
    for (; tries < NAMES_TWICE && (tries < NAMES_TWICE_LEAST || fs_more(w, end_s)); tries++)
        old += reaches_old(w, &code);
    if (!fs_all_well(w, key, code, "renaming a file and making another of its name")) return;
    if (old == 0) fs_add(w, key, FS_KEPT, "", "a name that is used again reaches the new file");
    else
        fs_add(w, key, FS_NOTE, "weft uses each temporary name once, and compares inodes",
               "a name that is used again reached the old file on another host in %d of %d tries", old,
               tries);
}

/* A name that the others have looked for in vain. */
static void try_appears(fs_world *w, const char *key, is_seen *seen, const char *what, const char *means)
{
    char path[STATE_PATH_BYTES], text[SECONDS_BYTES];
    fs_name(w, "new", path);
    if (looks(w)) (void)seen(w, path);
    fs_meet(w);
    if (!fs_all_well(w, key, w->rank == 0 ? make_with(path, 'A') : 0, "making a file")) return;
    const double waited_s = seconds_until(w, seen, path);
    fs_forget(w, path);
    const bool late = waited_s >= at_once_s;
    fs_add(w, key, late ? FS_NOTE : FS_KEPT, late ? means : "", "%s %s", what, after(w, waited_s, text));
}

/* How many ranks were the first. */
static int makers_of(fs_world *w, const char *path, int *code)
{
    int makers = 0;
    fs_meet(w);
    const int made = fs_make(path, 0), mine = made == 0;
    if (made != 0 && made != EEXIST) *code = made;
    MPI_CHECK(ranks_allreduce(&mine, &makers, 1, MPI_INT, MPI_SUM, w->comm));
    return makers;
}

static void try_exclusive(fs_world *w)
{
    static const char key[] = "O_EXCL";
    char path[STATE_PATH_BYTES];
    const double end_s = timer_now_s() + tries_for * w->seconds;
    int wrong = 0, code = 0, tries = 0;
    for (; tries < EXCLUSIVE_NAMES && (tries < EXCLUSIVE_LEAST || fs_more(w, end_s)); tries++) {
        fs_name(w, "first", path);
        wrong += makers_of(w, path, &code) != 1;
        fs_forget(w, path);
    }
    if (!fs_all_well(w, key, code, "open with O_CREAT | O_EXCL")) return;
    if (wrong == 0) fs_add(w, key, FS_KEPT, "", "of all ranks that make a file at once, one does");
    else
        fs_add(w, key, FS_BROKEN, "two runs may take one folder for theirs",
               "%d of %d files that all ranks made at once were made by several ranks, or by none", wrong,
               tries);
}

/* 0 or errno. */
static int rename_until(const char *path, double end_s)
{
    char tmp[STATE_PATH_BYTES];
    int code = 0;
    while (!code && timer_now_s() < end_s && !fs_is_stopped()) {
        if (!replace_temporary(tmp, sizeof tmp, path, replace_token())) return ENAMETOOLONG;
        code = fs_make(tmp, 0);
        if (!code && rename(tmp, path) != 0) code = errno;
    }
    return code;
}

/* How often the name was not there. */
static int64_t missing_until(const char *path, double end_s)
{
    int64_t missing = 0;
    while (timer_now_s() < end_s && !fs_is_stopped()) {
        const int fd = open(path, O_RDONLY | O_CLOEXEC);
        missing += fd < 0 && errno == ENOENT;
        if (fd >= 0) close(fd);
    }
    return missing;
}

typedef struct rename_kind {
    const char *key, *who;
    fs_word missing;
    const char *means;
} rename_kind;

static void try_rename(fs_world *w, const rename_kind *k, bool reads)
{
    char path[STATE_PATH_BYTES];
    int64_t missing = 0;
    fs_name(w, "renamed", path);
    if (!fs_all_well(w, k->key, w->rank == 0 ? fs_make(path, 0) : 0, "making a file")) return;
    const int seen = reads ? fs_open(path, O_RDONLY) : -1;
    if (seen >= 0) close(seen);
    fs_meet(w);
    const double end_s = timer_now_s() + renames_for * w->seconds;
    const int code = w->rank == 0 ? rename_until(path, end_s) : 0;
    const int64_t mine = reads ? missing_until(path, end_s) : 0;
    MPI_CHECK(ranks_allreduce(&mine, &missing, 1, MPI_INT64_T, MPI_SUM, w->comm));
    fs_forget(w, path);
    if (!fs_all_well(w, k->key, code, "rename")) return;
    if (missing == 0)
        fs_add(w, k->key, FS_KEPT, "",
               "while a file is replaced again and again its name is always there, %s", k->who);
    else
        fs_add(w, k->key, k->missing, k->means,
               "while a file was replaced again and again its name was missing for %lld looks, %s",
               (long long)missing, k->who);
}

/* NFS's client moves a file aside that a process of its own host has open, before it gives the name to
 * another: for a moment other hosts find neither. Without such a reader rename replaces at once, which is
 * what weft relies on. */
static void try_renames(fs_world *w)
{
    static const char broken[] = "a reader finds neither the old file nor the new one";
    static const rename_kind one_host = { "rename", "for ranks of one host", FS_BROKEN, broken },
        others = { "rename", "for other hosts", FS_BROKEN, broken },
        all = { "rename here", "with readers on the host that renames, too", FS_NOTE,
                "weft has no file open that it replaces" };
    if (w->ranks == 1) return;
    if (w->hosts->count == 1) try_rename(w, &one_host, w->rank > 0);
    else try_rename(w, &others, w->hosts->of[w->rank] > 0);
    if (w->hosts->count > 1 && w->hosts->begin[1] > 1) try_rename(w, &all, w->rank > 0);
}

void fs_names(fs_world *w)
{
    try_replaced(w);
    try_used_again(w);
    try_appears(w, "new names", is_there, "a name that was looked for in vain is found",
                "weft lets no other rank look before rank 0 has made a file");
    try_exclusive(w);
    try_renames(w);
}

void fs_listing(fs_world *w)
{
    try_appears(w, "listings", is_listed, "a new file is in another rank's listing",
                "in weft one rank lists and tells the others");
}
