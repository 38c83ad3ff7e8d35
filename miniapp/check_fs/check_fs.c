/* Every trial is collective: rank 0 makes a file, the other ranks look for it (one rank alone looks for its
 * own), and all ranks agree on what was seen. Loops meet at every turn, so that a signal to any rank ends
 * them. All trials together take `seconds`, or longer where calls are slow. */
#include "check_fs/check_fs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "base/cmd.h"
#include "base/cmd_key.h"
#include "base/machine.h"
#include "base/terminal.h"
#include "files/figure.h"
#include "files/replace.h"
#include "output/record.h"
#include "ranks/check.h"
#include "ranks/printable.h"
#include "ranks/ranks.h"
#include "ranks/timer.h"
#include "state/state_folder.h"

/* A promise that is not kept is BROKEN where weft relies on it, else a NOTE. FAILED: it is not known. NONE:
 * there is nothing to try here. */
typedef enum fs_word { NONE, FIGURE, KEPT, NOTE, BROKEN, FAILED } fs_word;
static const char *const word_name[] = { "", "figure", "kept", "note", "BROKEN", "FAILED" };

enum { TRIALS = 8, TEXT_BYTES = 32, PIECE_BYTES = 1 << 20 };
static const double share = 0.1; /* of the time, for a loop or a wait */
static const double at_once_s = 0.005;

typedef struct trials {
    const topology *top;
    MPI_Comm comm; /* top's; may be MPI_COMM_NULL (ranks.h) */
    int rank, ranks;
    const char *dir, *output; /* output "": none */
    int64_t bytes, seconds;
    char folder[STATE_PATH_BYTES];
    int names; /* given so far: each is used once */
    fs_word word[TRIALS];
    sentence found[TRIALS];
    bool stopped;    /* by a signal to any rank */
    double one, all; /* bytes per second, with fsync, of rank 0 and of all ranks */
} trials;

typedef struct trial {
    const char *name;
    bool made; /* rank 0 makes a file at `path` first, and deletes it at the end */
    fs_word (*try)(trials *t, const char *path, sentence *found);
    const char *means; /* for weft, where it is a note or BROKEN */
} trial;

/* ---- meeting ---- */

static volatile sig_atomic_t got_signal;

static void on_signal(int number) { got_signal = number; }

void check_fs_catch_signals(void)
{
    signals_catch(SIGUSR1, on_signal);
    signals_catch(SIGTERM, on_signal);
    signals_catch(SIGINT, on_signal);
    signals_catch(SIGXFSZ, SIG_IGN); /* a limit on the size of files is an error of the write that meets it */
}

/* All ranks have come here. True: one of them wants to go on, and none was stopped. */
static bool meet(trials *t, bool wants)
{
    const int mine = got_signal ? 2 : wants;
    int all;
    MPI_CHECK(ranks_allreduce(&mine, &all, 1, MPI_INT, MPI_MAX, t->comm));
    t->stopped = t->stopped || all == 2;
    return all == 1;
}

/* ---- files and lines ---- */

static void name_file(trials *t, const char *stem, char path[STATE_PATH_BYTES])
{
    if (snprintf(path, STATE_PATH_BYTES, "%s/%s_%d", t->folder, stem, ++t->names) >= STATE_PATH_BYTES)
        check_fail(__FILE__, __LINE__, t->folder, strerror(ENAMETOOLONG));
}

/* A new file of one byte, on disk. 0 or errno. */
static int make_file(const char *path) { return replace_new_file(path, "w", 1); }

static void forget(trials *t, const char *path)
{
    (void)meet(t, false);
    if (t->rank == 0) (void)unlink(path);
}

/* code: 0 or errno of this rank's call. True if it went well on all ranks; else found says where it did not.
 */
static bool all_well(const trials *t, int code, const char *call, sentence *found)
{
    char host[STATE_HOST_BYTES];
    if (code)
        sentence_set(found, "%s failed on rank %d of %s: %s", call, t->rank, state_host(host),
                     strerror(code));
    return agree_or_say(!code, found, t->comm);
}

/* ---- names ---- */

/* The folder of an attempt, and the lock of a folder, are made by one. */
static fs_word try_exclusive(trials *t, const char *unused, sentence *found)
{
    enum { LEAST = 4, MOST = 16 };
    char path[STATE_PATH_BYTES];
    const double end_s = timer_now_s() + share / 3 * (double)t->seconds;
    int wrong = 0, tries = 0, code = 0;
    while (tries < MOST && meet(t, tries < LEAST || (t->rank == 0 && timer_now_s() < end_s))) {
        int makers;
        name_file(t, "first", path);
        const int fd = replace_create_new(path), mine = fd >= 0;
        if (fd < 0 && errno != EEXIST) code = errno;
        if (fd >= 0) close(fd);
        MPI_CHECK(ranks_allreduce(&mine, &makers, 1, MPI_INT, MPI_SUM, t->comm));
        wrong += makers != 1;
        tries++;
        forget(t, path);
    }
    if (!all_well(t, code, "open with O_CREAT | O_EXCL", found)) return FAILED;
    sentence_set(found, "of all ranks that make a file at once, one does");
    if (wrong)
        sentence_set(found,
                     "%d of %d files that all ranks made at once were made by several ranks, or by none",
                     wrong, tries);
    return wrong ? BROKEN : KEPT;
}

static bool is_listed(const trials *t, const char *path)
{
    bool listed = false;
    DIR *d = opendir(t->folder);
    for (const struct dirent *e; d && !listed && (e = readdir(d));)
        listed = strcmp(e->d_name, strrchr(path, '/') + 1) == 0;
    if (d) closedir(d);
    return listed;
}

/* How long until all list a name that they have looked for in vain. */
static fs_word try_listing(trials *t, const char *path, sentence *found)
{
    const struct timespec pause = { 0, 1000 * 1000 };
    const double most_s = share * (double)t->seconds;
    const bool looks = t->rank > 0 || t->ranks == 1;
    bool mine;
    if (looks) (void)is_listed(t, path);
    (void)meet(t, false);
    if (!all_well(t, t->rank == 0 ? make_file(path) : 0, "making a file", found)) return FAILED;
    const double begin_s = timer_now_s();
    while (meet(t, !(mine = !looks || is_listed(t, path)) && timer_now_s() < begin_s + most_s))
        nanosleep(&pause, NULL);
    const double waited_s = timer_slowest_s(timer_now_s() - begin_s, t->comm);
    const bool all = agree_all(mine, t->comm), kept = all && waited_s < at_once_s;
    sentence_set(found, "a new file is in another rank's listing ");
    if (kept) sentence_add(found, "at once");
    else if (all) sentence_add(found, "after %.3g s", waited_s);
    else sentence_add(found, "not within %g s", most_s);
    forget(t, path);
    return kept ? KEPT : NOTE;
}

/* An index takes the place of an older one. On the host that renames NFS's client moves aside what another
 * process there has open, so with several hosts the others alone look, for as long as rank 0 renames. */
static fs_word try_rename(trials *t, const char *path, sentence *found)
{
    enum { AT_A_TURN = 4 };
    char tmp[STATE_PATH_BYTES];
    long long mine = 0, missing;
    int code = 0, tries = 0; /* a client may not know yet that the name is there */
    const bool sees = t->top->hosts == 1 ? t->rank > 0 : t->top->where->of[t->rank] > 0;
    const double end_s = timer_now_s() + share * (double)t->seconds;
    if (t->ranks == 1) return NONE;
    while (sees && access(path, F_OK) != 0 && state_look_again(errno, &tries)) {}
    while (meet(t, t->rank == 0 && !code && timer_now_s() < end_s)) {
        MPI_Request all_done;
        for (int i = 0; i < AT_A_TURN && t->rank == 0 && !code; i++) {
            (void)replace_temporary(tmp, sizeof tmp, path, replace_token());
            code = make_file(tmp);
            if (!code && rename(tmp, path) != 0) code = errno;
        }
        MPI_CHECK(MPI_Ibarrier(t->comm, &all_done));
        for (int done = 0; !done;) {
            const int fd = sees ? open(path, O_RDONLY | O_CLOEXEC) : -1;
            mine += sees && fd < 0 && errno == ENOENT;
            if (fd >= 0) close(fd);
            MPI_CHECK(MPI_Test(&all_done, &done, MPI_STATUS_IGNORE));
        }
    }
    MPI_CHECK(ranks_allreduce(&mine, &missing, 1, MPI_LONG_LONG, MPI_SUM, t->comm));
    if (!all_well(t, code, "rename", found)) return FAILED;
    sentence_set(found, "while a file is replaced again and again its name is always there");
    if (missing)
        sentence_set(found, "while a file was replaced again and again its name was missing for %lld looks",
                     missing);
    return missing ? BROKEN : KEPT;
}

/* ---- flock, fsync ---- */

static bool takes(int fd) { return flock(fd, LOCK_EX | LOCK_NB) == 0; }

/* Rank 0 holds a lock that the challenger, which has a descriptor of its own, must not get until it is
 * freed. */
static fs_word try_lock(trials *t, const char *path, int challenger, fs_word twice, sentence *found)
{
    enum { HELD, STUCK, TWICE, CANNOT };
    static const char *const said[] = { "one at a time holds a lock", "a lock that is free cannot be taken",
                                        "two hold the same lock", "cannot be had" };
    const fs_word word[] = { KEPT, NOTE, twice, NOTE };
    const bool tries = t->rank == challenger;
    const int held = t->rank == 0 ? open(path, O_RDWR | O_CLOEXEC) : -1;
    int code = t->rank == 0 && held < 0 ? errno : 0, fd = -1, looked = 0, mine = HELD, worst = HELD;
    (void)meet(t, false);
    while (tries && (fd = open(path, O_RDWR | O_CLOEXEC)) < 0 && state_look_again(errno, &looked)) {}
    if (tries && fd < 0) code = errno;
    const bool opened = all_well(t, code, "opening a file", found);
    if (opened) {
        if (t->rank == 0 && !takes(held)) mine = CANNOT;
        (void)meet(t, false);
        if (tries && mine == HELD && takes(fd)) mine = TWICE;
        (void)meet(t, false);
        if (t->rank == 0) (void)flock(held, LOCK_UN);
        const double end_s = timer_now_s() + share * (double)t->seconds;
        while (meet(t, tries && mine == HELD && !takes(fd) && timer_now_s() < end_s)) {}
        if (tries && mine == HELD && !takes(fd)) mine = STUCK;
        MPI_CHECK(ranks_allreduce(&mine, &worst, 1, MPI_INT, MPI_MAX, t->comm));
        sentence_set(found, "%s, %s", said[worst], challenger == 0 ? "on one host" : "between hosts");
    }
    if (fd >= 0) close(fd);
    if (held >= 0) close(held);
    return opened ? word[worst] : FAILED;
}

static fs_word try_lock_here(trials *t, const char *path, sentence *found)
{
    return try_lock(t, path, 0, BROKEN, found);
}

static fs_word try_lock_between(trials *t, const char *path, sentence *found)
{
    const hosts *h = t->top->where;
    return h->count > 1 ? try_lock(t, path, h->rank[h->begin[1]], NOTE, found) : NONE;
}

/* The file was synced when it was made. */
static fs_word try_sync(trials *t, const char *path, sentence *found)
{
    const bool folder = agree_all(t->rank != 0 || replace_sync_path(t->folder) == 0, t->comm);
    sentence_set(found, folder ? "works, of files and of folders" : "works of files, but not of folders");
    return folder ? KEPT : NOTE;
}

/* ---- room and rate ---- */

static double free_bytes(const trials *t)
{
    struct statvfs room;
    double bytes = statvfs(t->folder, &room) == 0 ? (double)room.f_bavail * (double)room.f_frsize : 0;
    MPI_CHECK(ranks_bcast(&bytes, 1, MPI_DOUBLE, 0, t->comm));
    return bytes;
}

static fs_word try_room(trials *t, const char *path, sentence *found)
{
    const double bytes = free_bytes(t);
    const bool enough = bytes >= (double)t->bytes;
    sentence_set(found, "%s are free", figure_bytes(bytes).text);
    if (!enough) sentence_add(found, ", less than bytes = %s", figure_bytes((double)t->bytes).text);
    return enough ? KEPT : NOTE;
}

/* Bytes per second of that many ranks, each with a file of its own, with fsync; NaN: found says why. */
static double rate_of(trials *t, int writers, sentence *found)
{
    char path[STATE_PATH_BYTES], stem[TEXT_BYTES], *const data = CHECK_ALLOC(malloc(PIECE_BYTES));
    const double most = fmin((double)t->bytes, free_bytes(t) / 4) / writers;
    const bool writes = t->rank < writers;
    double mine = 0, all;
    memset(data, 'w', PIECE_BYTES);
    snprintf(stem, sizeof stem, "part_%d", t->rank);
    name_file(t, stem, path);
    const int fd = writes ? replace_create_new(path) : -1;
    int code = writes && fd < 0 ? errno : 0;
    (void)meet(t, false);
    const double begin_s = timer_now_s(), end_s = begin_s + 2 * share * (double)t->seconds;
    while (meet(t, writes && !code && mine + PIECE_BYTES <= most && (mine == 0 || timer_now_s() < end_s)))
        if (writes && !code && mine + PIECE_BYTES <= most) {
            code = replace_pwrite(fd, data, PIECE_BYTES, (uint64_t)mine);
            mine += PIECE_BYTES;
        }
    if (writes && !code && fsync(fd) != 0) code = errno;
    const double seconds = timer_slowest_s(timer_now_s() - begin_s, t->comm);
    MPI_CHECK(ranks_allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, t->comm));
    if (fd >= 0 && close(fd) != 0 && !code) code = errno;
    if (fd >= 0) (void)unlink(path);
    free(data);
    return all_well(t, code, "write or fsync", found) ? all / seconds : NAN;
}

static fs_word try_rates(trials *t, const char *path, sentence *found)
{
    t->one = rate_of(t, 1, found);
    if (!isnan(t->one)) t->all = rate_of(t, t->ranks, found);
    if (isnan(t->all)) return FAILED;
    sentence_set(found, "%s by one rank, with fsync; %s by all %d, each with a file of its own",
                 figure_rate(t->one, "B/s").text, figure_rate(t->all, "B/s").text, t->ranks);
    return FIGURE;
}

static const trial all_trials[TRIALS] = {
    { "fsync", true, try_sync, "a power cut may take a name that was given a moment ago" },
    { "O_EXCL", false, try_exclusive, "two runs may take one folder for theirs" },
    { "listings", false, try_listing, "in weft one rank lists and tells the others" },
    { "rename", true, try_rename, "a reader finds neither the old file nor the new one" },
    { "flock here", true, try_lock_here,
      "a second run on this host would take the folder from one that still writes there" },
    { "flock", true, try_lock_between, "weft knows another host's run by what its lock's file says" },
    { "free space", false, try_room, "a state of that size is refused before it is written" },
    { "rates", false, try_rates, "" },
};

static void try_one(trials *t, int i)
{
    const trial *one = &all_trials[i];
    char path[STATE_PATH_BYTES];
    name_file(t, one->name, path);
    const int code = one->made && t->rank == 0 ? make_file(path) : 0;
    t->word[i] = all_well(t, code, "making a file, or its fsync,", &t->found[i])
                     ? one->try(t, path, &t->found[i])
                     : FAILED;
    if (one->made) forget(t, path);
}

/* The meaning for weft, or "". */
static const char *means_of(const trials *t, int i)
{
    return t->word[i] == NOTE || t->word[i] == BROKEN ? all_trials[i].means : "";
}

/* ---- the folder, by rank 0 ---- */

static bool make_folder(trials *t, sentence *why)
{
    char path[STATE_PATH_BYTES];
    int code = 0;
    if (t->rank == 0) {
        const int bytes = snprintf(path, sizeof path, "%s/weft_check_fs", t->dir);
        const bool fits =
            bytes < (int)sizeof path && replace_temporary(t->folder, sizeof t->folder, path, replace_token());
        code = !fits ? ENAMETOOLONG : mkdir(t->folder, 0777) != 0 ? errno : 0;
    }
    if (code) sentence_set(why, "cannot make %s: %s", t->folder, strerror(code));
    if (!agree_or_say(!code, why, t->comm)) return false;
    MPI_CHECK(ranks_bcast(t->folder, sizeof t->folder, MPI_CHAR, 0, t->comm));
    return true;
}

/* A network file system keeps what was open a moment ago under another name for a while. */
static void remove_folder(trials *t)
{
    const struct timespec pause = { 0, 10 * 1000 * 1000 };
    (void)meet(t, false);
    for (int tries = 0; t->rank == 0 && tries < 50 && rmdir(t->folder) != 0 && errno != ENOENT; tries++) {
        DIR *d = opendir(t->folder);
        for (const struct dirent *e; d && (e = readdir(d));) (void)unlinkat(dirfd(d), e->d_name, 0);
        if (d) closedir(d);
        if (tries > 0) nanosleep(&pause, NULL);
    }
}

/* ---- the answer ---- */

static int exit_status(const trials *t)
{
    bool failed = false;
    for (int i = 0; i < TRIALS; i++) {
        if (t->word[i] == BROKEN) return CHECK_EXIT_FAILED;
        failed = failed || t->word[i] == FAILED;
    }
    return failed ? CHECK_EXIT_ENVIRONMENT : 0;
}

static void print_page(const trials *t)
{
    const int status = exit_status(t);
    terminal_text text;
    FILE *to = terminal_text_begin(&text);
    fprintf(to, "%s: %d rank%s on %d host%s\n", printable_text(t->dir), t->ranks, t->ranks == 1 ? "" : "s",
            t->top->hosts, t->top->hosts == 1 ? "" : "s");
    for (int i = 0; i < TRIALS; i++) {
        const char *const means = means_of(t, i);
        if (t->word[i] != NONE)
            fprintf(to, "  %-14s %-6s  %s%s%s\n", all_trials[i].name, word_name[t->word[i]], t->found[i].text,
                    means[0] ? "; " : "", means);
    }
    fprintf(to, "%s\n",
            status == CHECK_EXIT_FAILED ? "not fit for checkpoints"
            : status                    ? "incomplete: not everything could be tried"
                                        : "fit for checkpoints");
    terminal_text_end(&text, 25);
}

static bool append_record(const trials *t, int argc, char **argv, json_t *started, sentence *why)
{
    char *const words = cmd_text(argc, argv);
    json_t *const record = machine_record(words, started), *const lines = json_array();
    for (int i = 0; i < TRIALS; i++)
        if (t->word[i] != NONE)
            json_array_append_new(lines,
                                  json_pack("{s:s, s:s, s:o, s:o}", "trial", all_trials[i].name, "word",
                                            word_name[t->word[i]], "found", record_text(t->found[i].text),
                                            "means", record_text_or_null(means_of(t, i))));
    json_object_set_new(record, "check_fs",
                        json_pack("{s:o, s:i, s:i, s:o, s:{s:o, s:o}, s:i}", "dir", record_text(t->dir),
                                  "hosts", t->top->hosts, "ranks", t->ranks, "trials", lines, "speed",
                                  "write_one_bytes_per_s", record_number(t->one), "write_all_bytes_per_s",
                                  record_number(t->all), "status", exit_status(t)));
    const bool appended = record_append(t->output, record, why);
    json_decref(record);
    free(words);
    return appended;
}

static int try_folder(trials *t, int argc, char **argv)
{
    sentence why;
    json_t *started = record_now();
    bool recorded = true;
    if (state_is_shared(t->comm, t->dir, &why) != STATE_OK) return cmd_say(CHECK_EXIT_FAILED, "%s", why.text);
    if (!make_folder(t, &why)) return cmd_say(CHECK_EXIT_ENVIRONMENT, "%s", why.text);
    for (int i = 0; i < TRIALS && !t->stopped; i++) try_one(t, i);
    remove_folder(t);
    if (t->stopped)
        return cmd_say(CHECK_EXIT_ENVIRONMENT,
                       "check fs was stopped by a signal; nothing is left in its folder");
    if (t->rank == 0) print_page(t);
    if (t->rank == 0 && t->output[0]) recorded = append_record(t, argc, argv, started, &why);
    json_decref(started);
    return agree_or_say(recorded, &why, t->comm) ? exit_status(t)
                                                 : cmd_say(CHECK_EXIT_ENVIRONMENT, "%s", why.text);
}

/* ---- the command line ---- */

static const cmd_key keys[] = {
    { .key = "bytes", CMD_KEY_WHOLE, offsetof(trials, bytes), .least = 1 << 20, .most = (int64_t)1 << 50 },
    { .key = "seconds", CMD_KEY_WHOLE, offsetof(trials, seconds), .least = 1, .most = 3600 },
    { .key = "output", CMD_KEY_OUTPUT, offsetof(trials, output) },
};

static bool read_words(trials *t, int argc, char **argv, sentence *why)
{
    for (int i = 1; i < argc; i++) {
        if (strchr(argv[i], '=')) {
            if (!cmd_key_set(keys, sizeof keys / sizeof *keys, t, argv[i], why)) return false;
        } else if (t->dir)
            return sentence_refuse(why, "check fs takes one folder, and was given %.200s and %.200s", t->dir,
                                   argv[i]);
        else t->dir = argv[i];
    }
    return t->dir ||
           sentence_refuse(why, "check fs needs a folder: weft check fs DIR [bytes=256M] [seconds=10] "
                                "[output=none]");
}

/* The folder, as rank 0 sees it. */
static bool look_at_folder(const trials *t, sentence *why)
{
    char path[STATE_PATH_BYTES];
    (void)snprintf(path, sizeof path, "%s/.", t->dir);
    if (t->rank > 0 || access(path, W_OK | X_OK) == 0) return true;
    return sentence_refuse(why, "%.1000s: %s; allowed: a folder in which files can be made", t->dir,
                           strerror(errno));
}

int check_fs_command(topology *top, int argc, char **argv)
{
    trials t = { .top = top,
                 .comm = top->comm,
                 .rank = top->rank,
                 .ranks = top->ranks,
                 .output = "",
                 .bytes = 256 << 20,
                 .seconds = 10,
                 .one = NAN,
                 .all = NAN };
    sentence why;
    if (!agree_or_say(read_words(&t, argc, argv, &why) && look_at_folder(&t, &why), &why, t.comm))
        return cmd_say(CHECK_EXIT_USAGE, "%s", why.text);
    return try_folder(&t, argc, argv);
}
