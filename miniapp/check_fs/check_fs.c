/* Every trial is collective: rank 0 or all make a file, others look at it, and all agree on what was seen.
 * Loops meet at every turn, so that a signal to any rank ends them. All trials together take `seconds`, or
 * longer where calls are slow. */
#include "check_fs/check_fs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cmd.h"
#include "base/cmd_key.h"
#include "base/terminal.h"
#include "files/figure.h"
#include "files/replace.h"
#include "ranks/check.h"
#include "ranks/printable.h"
#include "ranks/ranks.h"
#include "ranks/timer.h"
#include "state/state_folder.h"

/* A promise that is not kept is BROKEN where weft relies on it, else a NOTE. FAILED: it is not known. NONE:
 * there is nothing to try here. */
typedef enum fs_word { NONE, KEPT, NOTE, BROKEN, FAILED } fs_word;
static const char *const word_name[] = { "", "kept", "note", "BROKEN", "FAILED" };

typedef struct trials {
    const topology *top;
    const char *dir;
    int64_t seconds;
    char folder[STATE_PATH_BYTES];
    int names;    /* given so far: each is used once */
    int host;     /* of the trial under way: whose first rank takes part */
    bool stopped; /* by a signal to any rank */
} trials;

/* ---- meeting ---- */

static volatile sig_atomic_t got_signal;

static void on_signal(int number) { got_signal = number; }

void check_fs_catch_signals(void)
{
    signals_catch(on_signal);
}

/* All ranks have come here. True: one of them wants to go on, and none was stopped. */
static bool meet(trials *t, bool wants)
{
    int most = got_signal ? 2 : wants;
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_INT, MPI_MAX, t->top->comm));
    t->stopped = t->stopped || most == 2;
    return most == 1;
}

static long long sum_of(const trials *t, long long mine)
{
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &mine, 1, MPI_LONG_LONG, MPI_SUM, t->top->comm));
    return mine;
}

/* ---- files and lines ---- */

static void name_file(trials *t, const char *stem, char path[STATE_PATH_BYTES])
{
    if (snprintf(path, STATE_PATH_BYTES, "%s/%s_%d", t->folder, stem, ++t->names) >= STATE_PATH_BYTES)
        check_fail(__FILE__, __LINE__, t->folder, strerror(ENAMETOOLONG));
}

/* code: 0 or errno of this rank's call. True: it went well on all ranks; else found says where it did not. */
static bool all_well(const trials *t, int code, const char *call, sentence *found)
{
    if (code)
        sentence_set(found, "%s failed on rank %d of %s: %s", call, t->top->rank, t->top->host,
                     strerror(code));
    return agree_or_say(!code, found, t->top->comm);
}

/* ---- trials ---- */

/* The file was synced when it was made. */
static fs_word try_sync(trials *t, const char *path, sentence *found)
{
    const bool folder = agree_all(t->top->rank > 0 || replace_sync_path(t->folder) == 0, t->top->comm);
    sentence_set(found, folder ? "works, of files and of folders" : "works of files, but not of folders");
    return folder ? KEPT : NOTE;
}

/* The folder of an attempt, and the lock of a folder, are made by one. */
static fs_word try_exclusive(trials *t, const char *unused, sentence *found)
{
    enum { TRIES = 8 };
    char path[STATE_PATH_BYTES];
    int wrong = 0, code = 0;
    for (int i = 0; i < TRIES && !t->stopped; i++) {
        name_file(t, "first", path);
        (void)meet(t, false);
        const int fd = replace_create_new(path);
        if (fd < 0 && errno != EEXIST) code = errno;
        if (fd >= 0) close(fd);
        wrong += sum_of(t, fd >= 0) != 1;
        if (t->top->rank == 0) (void)unlink(path);
    }
    if (!all_well(t, code, "open with O_CREAT | O_EXCL", found)) return FAILED;
    sentence_set(found, "of %d files that all ranks make at once %d are made by one rank alone", TRIES,
                 TRIES - wrong);
    return wrong ? BROKEN : KEPT;
}

/* An index takes the place of an older one. On the host that renames NFS's client moves aside what another
 * process there has open, so with several hosts the others alone look, for as long as rank 0 renames. */
static fs_word try_rename(trials *t, const char *path, sentence *found)
{
    char tmp[STATE_PATH_BYTES];
    long long missing = 0;
    int code = 0, tries = 0; /* a client may not know yet that the name is there */
    const bool makes = t->top->rank == 0,
               sees = t->top->hosts == 1 ? !makes : t->top->where->of[t->top->rank] > 0;
    const double end_s = timer_now_s() + 0.1 * (double)t->seconds;
    if (t->top->ranks == 1) return NONE;
    while (sees && access(path, F_OK) != 0 && state_look_again(errno, &tries)) {}
    while (meet(t, makes && !code && timer_now_s() < end_s)) {
        MPI_Request all_done;
        if (makes) {
            (void)replace_temporary(tmp, sizeof tmp, path);
            code = replace_new_file(tmp, "w", 1);
            if (!code && rename(tmp, path) != 0) code = errno;
        }
        MPI_CHECK(MPI_Ibarrier(t->top->comm, &all_done));
        for (int done = 0; !done;) {
            const int fd = sees ? open(path, O_RDONLY | O_CLOEXEC) : -1;
            missing += sees && fd < 0 && errno == ENOENT;
            if (fd >= 0) close(fd);
            MPI_CHECK(MPI_Test(&all_done, &done, MPI_STATUS_IGNORE));
        }
    }
    missing = sum_of(t, missing);
    if (!all_well(t, code, "rename", found)) return FAILED;
    sentence_set(found, "while a file is replaced again and again its name is missing for %lld looks",
                 missing);
    return missing ? BROKEN : KEPT;
}

static bool takes(int fd) { return fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0; }

/* Rank 0 holds a lock that the challenger, which has a descriptor of its own, must not get until it is
 * freed. Between hosts weft does not rely on it. */
static fs_word try_lock(trials *t, const char *path, sentence *found)
{
    const hosts *const h = t->top->where;
    const bool holds = t->top->rank == 0, tries = t->top->rank == h->rank[h->begin[t->host]];
    const double end_s = timer_now_s() + 0.1 * (double)t->seconds;
    const int held = holds ? open(path, O_RDWR | O_CLOEXEC) : -1;
    int fd = -1, looked = 0, code = holds && held < 0 ? errno : 0;
    while (tries && (fd = open(path, O_RDWR | O_CLOEXEC)) < 0 && state_look_again(errno, &looked)) {}
    if (tries && fd < 0) code = errno;
    fs_word word = all_well(t, code, "opening a file", found) ? KEPT : FAILED;
    const bool has = agree_all(!holds || takes(held), t->top->comm),
               two = agree_any(has && tries && takes(fd), t->top->comm);
    if (holds && !two) (void)flock(held, LOCK_UN);
    bool freed = !tries || !has;
    while (meet(t, !freed && !(freed = takes(fd)) && timer_now_s() < end_s)) {}
    freed = agree_all(freed, t->top->comm);
    if (fd >= 0) close(fd);
    if (held >= 0) close(held);
    if (word == FAILED) return word;
    sentence_set(found, "%s, %s",
                 two      ? "two hold the same lock"
                 : !has   ? "cannot be had"
                 : !freed ? "a lock that is free cannot be taken"
                          : "one at a time holds a lock",
                 t->host == 0 ? "on one host" : "between hosts");
    return two && t->host == 0 ? BROKEN : !two && has && freed ? KEPT : NOTE;
}

/* Every rank writes a part and its fsync at once, as those of states are written, and reads it back. */
static fs_word try_rate(trials *t, const char *unused, sentence *found)
{
    enum { PART_BYTES = 8 << 20, RANKS = 64 }; /* more ranks write smaller parts: half a GiB together */
    const int ranks = t->top->ranks;
    const size_t bytes = ranks > RANKS ? (size_t)PART_BYTES * RANKS / (size_t)ranks : PART_BYTES;
    char stem[32], path[STATE_PATH_BYTES], *const part = CHECK_CALLOC(2, bytes);
    for (size_t i = 0; i < bytes; i++) part[i] = (char)(i % 251 + i / 4096 + (size_t)t->top->rank);
    snprintf(stem, sizeof stem, "rate_of_%d", t->top->rank);
    name_file(t, stem, path);
    (void)meet(t, false);
    const double begin_s = timer_now_s();
    int code = replace_new_file(path, part, bytes);
    const double took_s = timer_slowest_s(timer_now_s() - begin_s, t->top->comm);
    const int fd = code ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    if (!code) code = fd < 0 ? errno : replace_pread(fd, part + bytes, bytes, 0);
    if (fd >= 0) close(fd);
    (void)unlink(path);
    const bool same = agree_all(memcmp(part, part + bytes, bytes) == 0, t->top->comm);
    free(part);
    if (!all_well(t, code, "writing or reading a part", found)) return FAILED;
    const double rate = (double)bytes * ranks / took_s;
    sentence_set(found, "%d x %s at %s with fsync, read back %s", ranks,
                 figure_bytes((double)bytes).text, figure_rate(rate, "B/s").text,
                 same ? "as written" : "with other bytes");
    return same ? KEPT : BROKEN;
}

static const struct {
    const char *name;
    bool made; /* rank 0 makes a file at `path` first, and deletes it at the end */
    int host;
    fs_word (*try)(trials *t, const char *path, sentence *found);
    const char *means; /* for weft, where it is a note or BROKEN */
} all_trials[] = {
    { "fsync", true, 0, try_sync, "a power cut may take a name that was given a moment ago" },
    { "O_EXCL", false, 0, try_exclusive, "two runs may take one folder for theirs" },
    { "rename", true, 0, try_rename, "a reader finds neither the old file nor the new one" },
    { "flock here", true, 0, try_lock,
      "a second run on this host would take the folder from one that still writes there" },
    { "flock", true, 1, try_lock, "weft knows another host's run by what its lock's file says" },
    { "rate", false, 0, try_rate, "a checkpoint would be damaged" },
};
enum { TRIALS = sizeof all_trials / sizeof *all_trials };

/* Prints a line, and returns its word. */
static fs_word try_one(trials *t, int i)
{
    char path[STATE_PATH_BYTES];
    sentence found = { "" };
    if (all_trials[i].host >= t->top->hosts) return NONE;
    name_file(t, all_trials[i].name, path);
    const bool makes = all_trials[i].made && t->top->rank == 0;
    const int code = makes ? replace_new_file(path, "w", 1) : 0;
    t->host = all_trials[i].host;
    const fs_word word =
        all_well(t, code, "a write or its fsync", &found) ? all_trials[i].try(t, path, &found) : FAILED;
    (void)meet(t, false);
    if (makes) (void)unlink(path);
    if (word == NOTE || word == BROKEN) sentence_add(&found, "; %s", all_trials[i].means);
    if (word != NONE && t->top->rank == 0)
        terminal_say(stdout, 25, "  %-14s %-6s  %.1000s", all_trials[i].name, word_name[word], found.text);
    return word;
}

/* ---- the folder, by rank 0 ---- */

static bool make_folder(trials *t, sentence *why)
{
    char path[STATE_PATH_BYTES];
    int code = 0;
    if (t->top->rank == 0) {
        const bool fits = snprintf(path, sizeof path, "%s/weft_check_fs", t->dir) < (int)sizeof path &&
                          replace_temporary(t->folder, sizeof t->folder, path);
        code = !fits ? ENAMETOOLONG : mkdir(t->folder, 0777) != 0 ? errno : 0;
    }
    if (!all_well(t, code, "making a folder there", why)) return false;
    MPI_CHECK(MPI_Bcast(t->folder, sizeof t->folder, MPI_CHAR, 0, t->top->comm));
    return true;
}

/* A network file system keeps what was open a moment ago under another name for a while. */
static void remove_folder(trials *t)
{
    const struct timespec pause = { 0, 10 * 1000 * 1000 };
    (void)meet(t, false);
    for (int tries = 0; t->top->rank == 0 && tries < 50 && rmdir(t->folder) != 0 && errno != ENOENT;
         tries++) {
        DIR *d = opendir(t->folder);
        for (const struct dirent *e; d && (e = readdir(d));) (void)unlinkat(dirfd(d), e->d_name, 0);
        if (d) closedir(d);
        if (tries > 0) nanosleep(&pause, NULL);
    }
}

static int try_folder(trials *t)
{
    sentence why = { "" };
    int count[FAILED + 1] = { 0 };
    if (state_is_shared(t->top->comm, t->dir, &why) != STATE_OK)
        return cmd_say(CHECK_EXIT_FAILED, "%s", why.text);
    if (!make_folder(t, &why)) return cmd_say(CHECK_EXIT_ENVIRONMENT, "%s: %s", t->dir, why.text);
    const bool speaks = t->top->rank == 0;
    if (speaks)
        terminal_say(stdout, 25, "%s: %d rank%s on %d host%s", printable_text(t->dir), t->top->ranks,
                     t->top->ranks == 1 ? "" : "s", t->top->hosts, t->top->hosts == 1 ? "" : "s");
    for (int i = 0; i < TRIALS && !t->stopped; i++) count[try_one(t, i)]++;
    remove_folder(t);
    if (speaks && !t->stopped)
        puts(count[BROKEN]   ? "not fit for checkpoints"
             : count[FAILED] ? "incomplete: not everything could be tried"
                             : "fit for checkpoints");
    if (t->stopped)
        return cmd_say(CHECK_EXIT_ENVIRONMENT,
                       "check fs was stopped by a signal; nothing is left in its folder");
    return count[BROKEN] ? CHECK_EXIT_FAILED : count[FAILED] ? CHECK_EXIT_ENVIRONMENT : 0;
}

/* ---- the command line ---- */

static const cmd_key keys[] = {
    { .key = "seconds", CMD_KEY_WHOLE, offsetof(trials, seconds), .least = 1, .most = 3600 },
};

/* The folder as rank 0 sees it. */
static bool read_words(trials *t, int argc, char **argv, sentence *why)
{
    char path[STATE_PATH_BYTES];
    for (int i = 1; i < argc; i++) {
        if (strchr(argv[i], '=')) {
            if (!cmd_key_set(keys, sizeof keys / sizeof *keys, t, argv[i], why)) return false;
        } else if (t->dir)
            return sentence_refuse(why, "check fs takes one folder, and was given %.200s and %.200s", t->dir,
                                   argv[i]);
        else t->dir = argv[i];
    }
    if (!t->dir) return sentence_refuse(why, "check fs needs a folder: weft check fs DIR [seconds=10]");
    (void)snprintf(path, sizeof path, "%s/.", t->dir);
    return t->top->rank > 0 || access(path, W_OK | X_OK) == 0 ||
           sentence_refuse(why, "%.1000s: %s; allowed: a folder in which files can be made", t->dir,
                           strerror(errno));
}

int check_fs_command(topology *top, int argc, char **argv)
{
    trials t = { .top = top, .seconds = 10 };
    sentence why = { "" };
    if (!agree_or_say(read_words(&t, argc, argv, &why), &why, top->comm))
        return cmd_say(CHECK_EXIT_USAGE, "%s", why.text);
    return try_folder(&t);
}
