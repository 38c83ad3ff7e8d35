#include "check_fs/fs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cmd.h"
#include "base/machine.h"
#include "base/terminal.h"
#include "check_fs/fs_trials.h"
#include "deck/deck.h"
#include "output/record.h"
#include "ranks/agree.h"
#include "ranks/check.h"
#include "ranks/printable.h"
#include "ranks/ranks.h"

typedef struct request {
    const char *dir, *output; /* NULL: not given */
    int64_t bytes, seconds;
} request;

/* ---- the command line ---- */

static bool set_whole(const char *key, const char *text, int64_t least, int64_t most, int64_t *out,
                      sentence *why)
{
    if (deck_whole(text, out) && *out >= least && *out <= most) return true;
    return sentence_refuse(
        why, "%s = %.200s; allowed: a whole number from %lld to %lld, as in 64, 4k (4096) or 1e6", key, text,
        (long long)least, (long long)most);
}

static bool set_key(request *q, const char *word, sentence *why)
{
    static const char *const known[] = { "bytes=", "seconds=", "output=" };
    static const char *const none[] = { NULL, NULL, NULL };
    const char *const text = strchr(word, '=') + 1;
    const size_t length = (size_t)(text - word);
    if (strncmp(word, known[0], length) == 0)
        return set_whole("bytes", text, 1 << 20, (int64_t)1 << 50, &q->bytes, why);
    if (strncmp(word, known[1], length) == 0) return set_whole("seconds", text, 1, 3600, &q->seconds, why);
    if (strncmp(word, known[2], length) == 0) {
        q->output = strcmp(text, "none") == 0 ? NULL : text;
        return true;
    }
    cmd_option_unknown_word("key", word, known, none, 3, why);
    return false;
}

static bool read_words(request *q, int argc, char **argv, sentence *why)
{
    if (!cmd_option_all_known(cmd_option_none, argc, argv, why)) return false;
    for (int i = 1; i < argc; i++) {
        if (strchr(argv[i], '=')) {
            if (!set_key(q, argv[i], why)) return false;
        } else if (q->dir)
            return sentence_refuse(why, "check fs takes one folder, and was given %.200s and %.200s", q->dir,
                                   argv[i]);
        else q->dir = argv[i];
    }
    return q->dir ? true
                  : sentence_refuse(
                        why,
                        "check fs needs a folder: weft check fs DIR [bytes=256M] [seconds=10] [output=none]");
}

/* As rank 0 sees it. */
static bool look_at_folder(const char *dir, sentence *why)
{
    struct stat info;
    if (stat(dir, &info) != 0) return sentence_refuse(why, "%.1000s: %s", dir, strerror(errno));
    if (!S_ISDIR(info.st_mode)) return sentence_refuse(why, "%.1000s is no folder", dir);
    if (access(dir, W_OK | X_OK) != 0)
        return sentence_refuse(why, "%.1000s: %s; check fs needs a folder in which files can be made", dir,
                               strerror(errno));
    return true;
}

/* ---- the answer ---- */

static const char *word_name(fs_word w)
{
    static const char *const name[] = { [FS_FIGURE] = "figure",
                                        [FS_KEPT] = "kept",
                                        [FS_NOTE] = "note",
                                        [FS_BROKEN] = "BROKEN",
                                        [FS_FAILED] = "FAILED" };
    return name[w];
}

static int count_of(const fs_world *w, fs_word word)
{
    int count = 0;
    for (int i = 0; i < w->lines; i++) count += w->line[i].word == word;
    return count;
}

static int exit_status(const fs_world *w)
{
    if (count_of(w, FS_BROKEN)) return CHECK_EXIT_FAILED;
    return count_of(w, FS_FAILED) ? CHECK_EXIT_ENVIRONMENT : 0;
}

/* The file system that dir is in. */
static void put_name(char name[24], const char *dir)
{
    static const struct {
        uint32_t type;
        const char *name;
    } known[] = {
        { 0x0BD00BD0, "lustre" }, { 0x47504653, "gpfs" },    { 0x6969, "nfs" },     { 0xFE534D42, "smb2" },
        { 0xFF534D42, "cifs" },   { 0x65735546, "fuse" },    { 0x01021997, "9p" },  { 0x19830326, "beegfs" },
        { 0x00C36400, "ceph" },   { 0xEF53, "ext4" },        { 0x58465342, "xfs" }, { 0x01021994, "tmpfs" },
        { 0x9123683E, "btrfs" },  { 0x794C7630, "overlay" }, { 0x2FC12FC1, "zfs" },
    };
    struct statfs info;
    name[0] = '\0';
    if (statfs(dir, &info) != 0) return;
    snprintf(name, 24, "0x%x", (uint32_t)info.f_type);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].type == (uint32_t)info.f_type) snprintf(name, 24, "%s", known[i].name);
}

static void print_page(const fs_world *w, const request *q)
{
    terminal_text lines;
    FILE *to = terminal_text_begin(&lines);
    fprintf(to, "%s: %s, %d rank%s on %d host%s\n", printable_text(q->dir),
            w->file_system[0] ? w->file_system : "file system not known", w->ranks, w->ranks == 1 ? "" : "s",
            w->hosts->count, w->hosts->count == 1 ? "" : "s");
    for (int i = 0; i < w->lines; i++) {
        const fs_line *l = &w->line[i];
        fprintf(to, "  %-14s %-6s  %s%s%s\n", l->key, word_name(l->word), l->found.text,
                l->means.text[0] ? "; " : "", l->means.text);
    }
    terminal_text_end(&lines, 25);
    to = terminal_text_begin(&lines);
    for (int i = 0; i < w->lines; i++)
        if (w->line[i].word == FS_BROKEN)
            fprintf(to, "warning: weft relies on this, and it is not so here: %s\n", w->line[i].key);
    fprintf(to, "%s\n",
            exit_status(w) == 0      ? "fit for checkpoints"
            : count_of(w, FS_BROKEN) ? "not fit for checkpoints"
                                     : "incomplete: not everything could be tried");
    terminal_text_end(&lines, 2);
}

static json_t *speed_json(const fs_speed *s)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:o}", "write_one_bytes_per_s", record_number(s->one),
                     "write_all_bytes_per_s", record_number(s->all), "write_unaligned_bytes_per_s",
                     record_number(s->unaligned), "fsyncs_per_s", record_number(s->syncs),
                     "small_files_per_s", record_number(s->small_files));
}

static json_t *page_json(const fs_world *w, const request *q)
{
    json_t *lines = json_array();
    for (int i = 0; i < w->lines; i++)
        json_array_append_new(lines, json_pack("{s:s, s:s, s:o, s:o}", "trial", w->line[i].key, "word",
                                               word_name(w->line[i].word), "found",
                                               record_text(w->line[i].found.text), "means",
                                               record_text_or_null(w->line[i].means.text)));
    return json_pack("{s:o, s:o, s:i, s:i, s:o, s:o, s:i}", "dir", record_text(q->dir), "file_system",
                     record_text_or_null(w->file_system), "hosts", w->hosts->count, "ranks", w->ranks,
                     "trials", lines, "speed", speed_json(&w->speed), "status", exit_status(w));
}

static bool append_record(const fs_world *w, const request *q, int argc, char **argv, json_t *started,
                          sentence *why)
{
    char *const words = cmd_text(argc, argv);
    json_t *const record = machine_record(words, started);
    json_object_set_new(record, "check_fs", page_json(w, q));
    const bool appended = record_append(q->output, record, why);
    json_decref(record);
    free(words);
    return appended;
}

/* ---- the command ---- */

static void try_all(fs_world *w)
{
    fs_names(w);
    fs_listing(w);
    fs_locks(w);
    fs_syncs(w);
    fs_room(w);
    fs_rates(w);
}

/* Are all ranks in one folder? Else that is the answer. */
static int try_folder(fs_world *w, const request *q, int argc, char **argv)
{
    sentence why;
    json_t *started = record_now();
    bool recorded = true;
    int status;
    if (state_is_shared(w->comm, q->dir, &why) != STATE_OK) return cmd_say(CHECK_EXIT_FAILED, "%s", why.text);
    if (!fs_begin(w, q->dir, &why)) return cmd_say(CHECK_EXIT_ENVIRONMENT, "%s", why.text);
    fs_add(w, "shared", FS_KEPT, "", "every rank sees the file that rank 0 makes");
    try_all(w);
    fs_end(w);
    status = exit_status(w);
    if (w->rank == 0) print_page(w, q);
    if (w->rank == 0 && q->output) recorded = append_record(w, q, argc, argv, started, &why);
    json_decref(started);
    return agree_or_say(recorded, &why, w->comm) ? status : cmd_say(CHECK_EXIT_ENVIRONMENT, "%s", why.text);
}

int check_fs_command(topology *t, int argc, char **argv)
{
    request q = { .bytes = 256 << 20, .seconds = 10 };
    sentence why;
    bool ok = read_words(&q, argc, argv, &why);
    if (ok && t->rank == 0) ok = look_at_folder(q.dir, &why);
    if (!agree_or_say(ok, &why, t->comm)) return cmd_say(CHECK_EXIT_USAGE, "%s", why.text);
    fs_world *w = CHECK_ALLOC(calloc(1, sizeof *w));
    w->comm = t->comm;
    w->hosts = t->where;
    w->rank = t->rank;
    w->ranks = t->ranks;
    w->bytes = (uint64_t)q.bytes;
    w->seconds = (double)q.seconds;
    put_name(w->file_system, q.dir);
    const int status = try_folder(w, &q, argc, argv);
    free(w);
    return status;
}
