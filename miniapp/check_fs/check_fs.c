/* Every trial is collective: rank 0 makes a file, the other ranks look for it (one rank alone looks for its
 * own), and all ranks agree on what was seen. Loops meet at every turn, so that a signal to any rank ends
 * them. All trials together take `seconds`, or longer where calls are slow. */
#include "check_fs/check_fs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "base/cmd.h"
#include "base/machine.h"
#include "base/signals.h"
#include "base/terminal.h"
#include "deck/deck.h"
#include "files/bytes.h"
#include "files/replace.h"
#include "files/transfer.h"
#include "output/record.h"
#include "ranks/check.h"
#include "ranks/printable.h"
#include "ranks/ranks.h"
#include "ranks/timer.h"
#include "state/state_folder.h"

/* What is not kept is BROKEN where weft relies on it, and else a NOTE; of FAILED it is not known. */
typedef enum fs_word { FIGURE, KEPT, NOTE, BROKEN, FAILED, WORDS } fs_word;
static const char *const word_name[WORDS] = { "figure", "kept", "note", "BROKEN", "FAILED" };

typedef struct line {
    const char *trial;
    fs_word word;
    sentence found, means; /* means: "" or what it means for weft */
} line;

enum { LINES_MAX = 16, TEXT_BYTES = 32, PIECE_BYTES = 1 << 20 };
static const double share = 0.1; /* of the time, for a loop or a wait */
static const double at_once_s = 0.005;

typedef struct trials {
    MPI_Comm comm; /* may be MPI_COMM_NULL (ranks.h) */
    const hosts *hosts;
    int rank, ranks;
    const char *dir, *output; /* output NULL: none */
    int64_t bytes, seconds;
    char folder[STATE_PATH_BYTES];
    int names; /* given so far: each is used once */
    line line[LINES_MAX];
    int lines;
    bool stopped;    /* by a signal to any rank */
    double one, all; /* bytes per second, with fsync, of rank 0 and of all ranks */
} trials;

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

static bool looks(const trials *t) { return t->rank > 0 || t->ranks == 1; }

/* ---- files and lines ---- */

static void name_file(trials *t, const char *stem, char path[STATE_PATH_BYTES])
{
    if (snprintf(path, STATE_PATH_BYTES, "%s/%s_%d", t->folder, stem, ++t->names) >= STATE_PATH_BYTES)
        check_fail(__FILE__, __LINE__, t->folder, strerror(ENAMETOOLONG));
}

/* A new file of one byte, on disk. 0 or errno. */
static int make_file(const char *path) { return transfer_new_file(path, "w", 1); }

static void forget(trials *t, const char *path)
{
    (void)meet(t, false);
    if (t->rank == 0) (void)unlink(path);
}

__attribute__((format(printf, 5, 6))) static void add(trials *t, const char *trial, fs_word word,
                                                      const char *means, const char *format, ...)
{
    va_list args;
    if (t->lines == LINES_MAX) check_fail(__FILE__, __LINE__, "add", "too many lines");
    line *l = &t->line[t->lines++];
    l->trial = trial;
    l->word = word;
    sentence_set(&l->means, "%s", means);
    va_start(args, format);
    sentence_set_list(&l->found, format, args);
    va_end(args);
}

/* code: 0 or errno of this rank's call. True if it went well on all ranks; else there is a line. */
static bool all_well(trials *t, const char *trial, int code, const char *call)
{
    char host[STATE_HOST_BYTES];
    sentence why;
    if (code)
        sentence_set(&why, "%s failed on rank %d of %s: %s", call, t->rank, state_host(host), strerror(code));
    if (agree_or_say(!code, &why, t->comm)) return true;
    add(t, trial, FAILED, "", "%s", why.text);
    return false;
}

/* ---- names ---- */

/* The folder of an attempt, and the lock of a folder, are made by one. */
static void try_exclusive(trials *t)
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
    if (!all_well(t, "O_EXCL", code, "open with O_CREAT | O_EXCL")) return;
    if (!wrong) add(t, "O_EXCL", KEPT, "", "of all ranks that make a file at once, one does");
    else
        add(t, "O_EXCL", BROKEN, "two runs may take one folder for theirs",
            "%d of %d files that all ranks made at once were made by several ranks, or by none", wrong,
            tries);
}

typedef bool is_seen(const trials *t, const char *path);

static bool is_there(const trials *t, const char *path) { return access(path, F_OK) == 0; }

static bool is_listed(const trials *t, const char *path)
{
    bool listed = false;
    DIR *d = opendir(t->folder);
    for (const struct dirent *e; d && !listed && (e = readdir(d));)
        listed = strcmp(e->d_name, strrchr(path, '/') + 1) == 0;
    if (d) closedir(d);
    return listed;
}

/* How long until all see a name that they have looked for in vain. */
static void try_appears(trials *t, const char *trial, is_seen *seen, const char *what, const char *means)
{
    const struct timespec pause = { 0, 1000 * 1000 };
    char path[STATE_PATH_BYTES], text[TEXT_BYTES] = "at once";
    bool mine;
    name_file(t, "new", path);
    if (looks(t)) (void)seen(t, path);
    (void)meet(t, false);
    if (!all_well(t, trial, t->rank == 0 ? make_file(path) : 0, "making a file")) return;
    const double begin_s = timer_now_s(), end_s = begin_s + share * (double)t->seconds;
    while (meet(t, !(mine = !looks(t) || seen(t, path)) && timer_now_s() < end_s)) nanosleep(&pause, NULL);
    const double waited_s = timer_slowest_s(timer_now_s() - begin_s, t->comm);
    const bool all = agree_all(mine, t->comm), kept = all && waited_s < at_once_s;
    if (!all) snprintf(text, sizeof text, "not within %g s", share * (double)t->seconds);
    else if (!kept) snprintf(text, sizeof text, "after %.3g s", waited_s);
    forget(t, path);
    add(t, trial, kept ? KEPT : NOTE, kept ? "" : means, "%s %s", what, text);
}

static void try_names(trials *t)
{
    try_appears(t, "new names", is_there, "a name that was looked for in vain is found",
                "weft lets no other rank look before rank 0 has made a file");
    try_appears(t, "listings", is_listed, "a new file is in another rank's listing",
                "in weft one rank lists and tells the others");
}

/* An index takes the place of an older one. On the host that renames NFS's client moves aside what another
 * process there has open, so with several hosts the others alone look, for as long as rank 0 renames. */
static void try_rename(trials *t)
{
    enum { AT_A_TURN = 4 };
    char path[STATE_PATH_BYTES], tmp[STATE_PATH_BYTES];
    int64_t mine = 0, missing;
    int code = 0;
    const bool sees = t->hosts->count == 1 ? t->rank > 0 : t->hosts->of[t->rank] > 0;
    if (t->ranks == 1) return;
    name_file(t, "renamed", path);
    if (!all_well(t, "rename", t->rank == 0 ? make_file(path) : 0, "making a file")) return;
    int tries = 0; /* a client may not know yet that the name is there */
    while (sees && access(path, F_OK) != 0 && state_look_again(errno, &tries)) {}
    const double end_s = timer_now_s() + share * (double)t->seconds;
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
    MPI_CHECK(ranks_allreduce(&mine, &missing, 1, MPI_INT64_T, MPI_SUM, t->comm));
    forget(t, path);
    if (!all_well(t, "rename", code, "rename")) return;
    if (missing)
        add(t, "rename", BROKEN, "a reader finds neither the old file nor the new one",
            "while a file was replaced again and again its name was missing for %lld looks",
            (long long)missing);
    else add(t, "rename", KEPT, "", "while a file is replaced again and again its name is always there");
}

/* ---- flock, fsync ---- */

static bool takes(int fd) { return flock(fd, LOCK_EX | LOCK_NB) == 0; }

/* Rank 0 holds a lock that the challenger, which has a descriptor of its own, must not get until it is
 * freed. */
static void try_lock(trials *t, const char *trial, int challenger, fs_word twice, const char *means)
{
    enum { HELD, NONE, STUCK, TWICE };
    static const char *const found[] = { "one at a time holds a lock", "cannot be had",
                                         "a lock that is free cannot be taken", "two hold the same lock" };
    const bool here = challenger == 0, tries = t->rank == challenger;
    char path[STATE_PATH_BYTES];
    sentence none = { "" };
    name_file(t, "locked", path);
    if (!all_well(t, trial, t->rank == 0 ? make_file(path) : 0, "making a file")) return;
    const int held = t->rank == 0 ? open(path, O_RDWR | O_CLOEXEC) : -1;
    int code = t->rank == 0 && held < 0 ? errno : 0, fd = -1, looked = 0;
    (void)meet(t, false);
    while (tries && (fd = open(path, O_RDWR | O_CLOEXEC)) < 0 && state_look_again(errno, &looked)) {}
    if (tries && fd < 0) code = errno;
    if (all_well(t, trial, code, "opening a file")) {
        int worst = agree_worst(t->rank == 0 && !takes(held) ? NONE : HELD, &none, t->comm);
        if (worst == HELD) worst = agree_worst(tries && takes(fd) ? TWICE : HELD, &none, t->comm);
        if (t->rank == 0) (void)flock(held, LOCK_UN);
        const double end_s = timer_now_s() + share * (double)t->seconds;
        while (meet(t, tries && !takes(fd) && timer_now_s() < end_s)) {}
        if (worst == HELD) worst = agree_worst(tries && !takes(fd) ? STUCK : HELD, &none, t->comm);
        add(t, trial,
            worst == HELD    ? KEPT
            : worst == TWICE ? twice
                             : NOTE,
            worst == HELD ? "" : means, "%s, %s", found[worst], here ? "on one host" : "between hosts");
    }
    if (fd >= 0) close(fd);
    if (held >= 0) close(held);
    forget(t, path);
}

static void try_locks(trials *t)
{
    try_lock(t, "flock here", 0, BROKEN,
             "a second run on this host would take the folder from one that still writes there");
    if (t->hosts->count > 1)
        try_lock(t, "flock", t->hosts->rank[t->hosts->begin[1]], NOTE,
                 "weft knows another host's run by what its lock's file says");
}

static void try_sync(trials *t)
{
    char path[STATE_PATH_BYTES];
    name_file(t, "synced", path);
    if (!all_well(t, "fsync", t->rank == 0 ? make_file(path) : 0, "fsync of a file")) return;
    const bool folder = agree_all(t->rank != 0 || replace_sync_path(t->folder) == 0, t->comm);
    forget(t, path);
    add(t, "fsync", folder ? KEPT : NOTE,
        folder ? "" : "a power cut may take a name that was given a moment ago",
        folder ? "works, of files and of folders" : "works of files, but not of folders");
}

/* ---- room and rate ---- */

static double free_bytes(const trials *t)
{
    struct statvfs room;
    double bytes = statvfs(t->folder, &room) == 0 ? (double)room.f_bavail * (double)room.f_frsize : 0;
    MPI_CHECK(ranks_bcast(&bytes, 1, MPI_DOUBLE, 0, t->comm));
    return bytes;
}

static void try_room(trials *t)
{
    char a[TEXT_BYTES], b[TEXT_BYTES];
    const double found = free_bytes(t);
    const bool enough = found >= (double)t->bytes;
    add(t, "free space", enough ? KEPT : NOTE,
        enough ? "" : "a state of that size is refused before it is written", "%s are free%s%s",
        bytes_text(a, sizeof a, found),
        enough ? "" : ", less than bytes = ", enough ? "" : bytes_text(b, sizeof b, (double)t->bytes));
}

/* Bytes per second of that many ranks, each with a file of its own, with fsync; NaN: there is a line. */
static double rate_of(trials *t, int writers)
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
            code = transfer_pwrite(fd, data, PIECE_BYTES, (uint64_t)mine);
            mine += PIECE_BYTES;
        }
    if (writes && !code && fsync(fd) != 0) code = errno;
    const double seconds = timer_slowest_s(timer_now_s() - begin_s, t->comm);
    MPI_CHECK(ranks_allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, t->comm));
    if (fd >= 0 && close(fd) != 0 && !code) code = errno;
    if (fd >= 0) (void)unlink(path);
    free(data);
    return all_well(t, "rates", code, "write or fsync") ? all / seconds : NAN;
}

static void try_rates(trials *t)
{
    char a[TEXT_BYTES], b[TEXT_BYTES];
    t->one = rate_of(t, 1);
    if (!isnan(t->one)) t->all = rate_of(t, t->ranks);
    if (!isnan(t->all))
        add(t, "rates", FIGURE, "", "%s by one rank, with fsync; %s by all %d, each with a file of its own",
            terminal_rate(a, sizeof a, t->one, "B/s"), terminal_rate(b, sizeof b, t->all, "B/s"), t->ranks);
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

static bool has(const trials *t, fs_word word)
{
    bool found = false;
    for (int i = 0; i < t->lines; i++) found = found || t->line[i].word == word;
    return found;
}

static int exit_status(const trials *t)
{
    return has(t, BROKEN) ? CHECK_EXIT_FAILED : has(t, FAILED) ? CHECK_EXIT_ENVIRONMENT : 0;
}

static void print_page(const trials *t)
{
    terminal_text text;
    FILE *to = terminal_text_begin(&text);
    fprintf(to, "%s: %d rank%s on %d host%s\n", printable_text(t->dir), t->ranks, t->ranks == 1 ? "" : "s",
            t->hosts->count, t->hosts->count == 1 ? "" : "s");
    for (const line *l = t->line; l < t->line + t->lines; l++)
        fprintf(to, "  %-14s %-6s  %s%s%s\n", l->trial, word_name[l->word], l->found.text,
                l->means.text[0] ? "; " : "", l->means.text);
    fprintf(to, "%s\n",
            has(t, BROKEN)   ? "not fit for checkpoints"
            : has(t, FAILED) ? "incomplete: not everything could be tried"
                             : "fit for checkpoints");
    terminal_text_end(&text, 25);
}

static bool append_record(const trials *t, int argc, char **argv, json_t *started, sentence *why)
{
    char *const words = cmd_text(argc, argv);
    json_t *const record = machine_record(words, started), *const lines = json_array();
    for (const line *l = t->line; l < t->line + t->lines; l++)
        json_array_append_new(lines, json_pack("{s:s, s:s, s:o, s:o}", "trial", l->trial, "word",
                                               word_name[l->word], "found", record_text(l->found.text),
                                               "means", record_text_or_null(l->means.text)));
    json_object_set_new(record, "check_fs",
                        json_pack("{s:o, s:i, s:i, s:o, s:{s:o, s:o}, s:i}", "dir", record_text(t->dir),
                                  "hosts", t->hosts->count, "ranks", t->ranks, "trials", lines, "speed",
                                  "write_one_bytes_per_s", record_number(t->one), "write_all_bytes_per_s",
                                  record_number(t->all), "status", exit_status(t)));
    const bool appended = record_append(t->output, record, why);
    json_decref(record);
    free(words);
    return appended;
}

static int try_folder(trials *t, int argc, char **argv)
{
    static void (*const tries[])(trials *) = { try_sync,  try_exclusive, try_names, try_rename,
                                               try_locks, try_room,      try_rates };
    sentence why;
    json_t *started = record_now();
    bool recorded = true;
    if (state_is_shared(t->comm, t->dir, &why) != STATE_OK) return cmd_say(CHECK_EXIT_FAILED, "%s", why.text);
    if (!make_folder(t, &why)) return cmd_say(CHECK_EXIT_ENVIRONMENT, "%s", why.text);
    for (size_t i = 0; i < sizeof tries / sizeof *tries && !t->stopped; i++) tries[i](t);
    remove_folder(t);
    if (t->stopped)
        return cmd_say(CHECK_EXIT_ENVIRONMENT,
                       "check fs was stopped by a signal; nothing is left in its folder");
    if (t->rank == 0) print_page(t);
    if (t->rank == 0 && t->output) recorded = append_record(t, argc, argv, started, &why);
    json_decref(started);
    return agree_or_say(recorded, &why, t->comm) ? exit_status(t)
                                                 : cmd_say(CHECK_EXIT_ENVIRONMENT, "%s", why.text);
}

/* ---- the command line ---- */

static bool set_whole(const char *key, const char *text, int64_t least, int64_t most, int64_t *out,
                      sentence *why)
{
    if (deck_whole(text, out) && *out >= least && *out <= most) return true;
    return sentence_refuse(
        why, "%s = %.200s; allowed: a whole number from %lld to %lld, as in 64, 4k (4096) or 1e6", key, text,
        (long long)least, (long long)most);
}

static bool set_key(trials *t, const char *word, sentence *why)
{
    static const char *const known[] = { "bytes=", "seconds=", "output=" };
    static const char *const none[] = { NULL, NULL, NULL };
    const char *const text = strchr(word, '=') + 1;
    if (strncmp(word, "bytes=", 6) == 0)
        return set_whole("bytes", text, 1 << 20, (int64_t)1 << 50, &t->bytes, why);
    if (strncmp(word, "seconds=", 8) == 0) return set_whole("seconds", text, 1, 3600, &t->seconds, why);
    if (strncmp(word, "output=", 7) == 0) {
        t->output = strcmp(text, "none") == 0 ? NULL : text;
        return true;
    }
    cmd_option_unknown_word("key", word, known, none, 3, why);
    return false;
}

static bool read_words(trials *t, int argc, char **argv, sentence *why)
{
    if (!cmd_option_all_known(cmd_option_none, argc, argv, why)) return false;
    for (int i = 1; i < argc; i++) {
        if (strchr(argv[i], '=')) {
            if (!set_key(t, argv[i], why)) return false;
        } else if (t->dir)
            return sentence_refuse(why, "check fs takes one folder, and was given %.200s and %.200s", t->dir,
                                   argv[i]);
        else t->dir = argv[i];
    }
    if (t->dir) return true;
    return sentence_refuse(
        why, "check fs needs a folder: weft check fs DIR [bytes=256M] [seconds=10] [output=none]");
}

/* As rank 0 sees it. */
static bool look_at_folder(const char *dir, sentence *why)
{
    struct stat info;
    if (stat(dir, &info) != 0) return sentence_refuse(why, "%.1000s: %s", dir, strerror(errno));
    if (!S_ISDIR(info.st_mode)) return sentence_refuse(why, "%.1000s is no folder", dir);
    if (access(dir, W_OK | X_OK) == 0) return true;
    return sentence_refuse(why, "%.1000s: %s; check fs needs a folder in which files can be made", dir,
                           strerror(errno));
}

int check_fs_command(topology *top, int argc, char **argv)
{
    trials t = { .comm = top->comm,
                 .hosts = top->where,
                 .rank = top->rank,
                 .ranks = top->ranks,
                 .bytes = 256 << 20,
                 .seconds = 10,
                 .one = NAN,
                 .all = NAN };
    sentence why;
    bool ok = read_words(&t, argc, argv, &why);
    if (ok && t.rank == 0) ok = look_at_folder(t.dir, &why);
    if (!agree_or_say(ok, &why, t.comm)) return cmd_say(CHECK_EXIT_USAGE, "%s", why.text);
    return try_folder(&t, argc, argv);
}
