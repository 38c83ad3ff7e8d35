/* Ranks write neighbouring stripes of one file, at once or in turns, and read all of it once it was closed:
 * does each byte have the value that its rank gave it? A host that writes a page back whole overwrites what
 * another wrote into that page meanwhile. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check_fs/fs_trials.h"
#include "ranks/agree.h"
#include "ranks/check.h"
#include "ranks/timer.h"
#include "state/checkpoint_rows.h"

enum { FILES_MAX = 40, STRIPES = 16 };
static const double part_of_time = 0.075; /* of each way */

typedef struct way {
    const char *key, *where;
    uint64_t stripe_bytes;
    int stripes;
    bool relied;
} way;

typedef struct shared_file {
    const way *y;
    const fs_team *team;
    int round;
    uint64_t bytes;
    unsigned char *memory; /* of the whole file */
    char path[CHECKPOINT_PATH_BYTES];
} shared_file;

static int owner_of(const shared_file *f, uint64_t at)
{
    return (int)(at / f->y->stripe_bytes) % f->team->size;
}

/* Never 0, which is what nobody wrote. */
static unsigned char byte_of(const shared_file *f, uint64_t at)
{
    return (unsigned char)(1 +
                           (at + at / 251 + 83 * (uint64_t)owner_of(f, at) + 29 * (uint64_t)f->round) % 255);
}

/* ---- writing ---- */

/* 0 or errno. */
static int write_stripes(const shared_file *f, int fd)
{
    int code = 0;
    for (int s = f->team->mine; s < f->y->stripes && !code; s += f->team->size) {
        const uint64_t from = (uint64_t)s * f->y->stripe_bytes;
        for (uint64_t i = 0; i < f->y->stripe_bytes; i++) f->memory[i] = byte_of(f, from + i);
        code = checkpoint_pwrite(fd, f->memory, f->y->stripe_bytes, from);
    }
    if (!code && fsync(fd) != 0) code = errno;
    return code;
}

/* Half of the files have their length before, and in half of these a rank has read what is there. */
static int open_shared(fs_world *w, const shared_file *f)
{
    const int fd = fs_open_shared(w, f->team->mine >= 0, f->path, O_RDWR);
    if (fd >= 0 && f->round % 4 == 3) (void)!pread(fd, f->memory, f->bytes, 0);
    return fd;
}

/* At once in even rounds, in turns in odd ones. */
static bool write_file(fs_world *w, const shared_file *f)
{
    const fs_team *const t = f->team;
    const int turns = f->round % 2 ? t->size : 1;
    const int fd = open_shared(w, f);
    int code = t->mine >= 0 && fd < 0 ? errno : 0;
    for (int turn = 0; turn < turns; turn++) {
        fs_meet(w);
        if (fd >= 0 && !code && (turns == 1 || turn == t->mine)) code = write_stripes(f, fd);
    }
    if (fd >= 0 && close(fd) != 0 && !code) code = errno;
    return fs_all_well(w, f->y->key, code, "write, fsync or close of a shared file");
}

/* ---- reading ---- */

/* The bytes that differ, one after the other, from the first on. */
static uint64_t wrong_bytes(const shared_file *f, uint64_t *first)
{
    uint64_t at = 0;
    while (at < f->bytes && f->memory[at] == byte_of(f, at)) at++;
    *first = at;
    while (at < f->bytes && f->memory[at] != byte_of(f, at)) at++;
    return at - *first;
}

/* True: every byte is right; else a sentence. Code: 0 or errno. */
static bool read_file(fs_world *w, const shared_file *f, int *code, sentence *why)
{
    char host[CHECKPOINT_HOST_BYTES];
    uint64_t first;
    const int fd = fs_open(f->path, O_RDONLY);
    *code = fd < 0 ? errno : checkpoint_pread(fd, f->memory, f->bytes, 0);
    if (fd >= 0) close(fd);
    if (*code == EIO) *code = 0; /* the file ends before: what was read is compared */
    const uint64_t wrong = *code ? 0 : wrong_bytes(f, &first);
    if (wrong == 0) return true;
    sentence_set(why, "rank %d on %s read %llu wrong bytes from byte %llu on, which rank %d had written",
                 w->rank, checkpoint_host(host), (unsigned long long)wrong, (unsigned long long)first,
                 f->team->rank[owner_of(f, first)]);
    return false;
}

/* By those who wrote, and by the last rank, which did not where there are as many. */
static bool compare_file(fs_world *w, const shared_file *f, bool *right, sentence *why)
{
    int code = 0;
    bool mine = true;
    memset(f->memory, 0, f->bytes);
    if (f->team->mine >= 0 || w->rank == w->ranks - 1) mine = read_file(w, f, &code, why);
    if (!fs_all_well(w, f->y->key, code, "read of a shared file")) return false;
    *right = agree_or_say(mine, why, w->comm);
    return true;
}

/* ---- ways ---- */

/* False: a call failed, which has its line. */
static bool try_file(fs_world *w, shared_file *f, bool *right, sentence *why)
{
    fs_name(w, "border", f->path);
    const int code = w->rank == 0 ? fs_make(f->path, f->round / 2 % 2 ? f->bytes : 0) : 0;
    if (!fs_all_well(w, f->y->key, code, "making a file") || !write_file(w, f) ||
        !compare_file(w, f, right, why))
        return false;
    fs_forget(w, f->path);
    return true;
}

static void add_line(fs_world *w, const way *y, int files, int lost, const char *why)
{
    if (lost == 0) fs_add(w, y->key, FS_KEPT, "", "%s, in %d files, at once and in turns", y->where, files);
    else
        fs_add(w, y->key, y->relied ? FS_BROKEN : FS_NOTE,
               y->relied ? "weft's ranks write so: checkpoints would be damaged"
                         : "weft does not let hosts write so",
               "%s, lost in %d of %d files: %s", y->where, lost, files, why);
}

static void try_way(fs_world *w, const way *y, const fs_team *t)
{
    shared_file f = { .y = y, .team = t, .bytes = y->stripe_bytes * (uint64_t)y->stripes };
    sentence why, first = { "" };
    int lost = 0;
    bool well = true;
    const double end_s = timer_now_s() + part_of_time * w->seconds;
    f.memory = CHECK_ALLOC(malloc(f.bytes));
    for (; f.round < FILES_MAX && well && (f.round < 2 || fs_more(w, end_s)); f.round++) {
        bool right = true;
        well = try_file(w, &f, &right, &why);
        if (!right && lost++ == 0) first = why;
    }
    if (well) add_line(w, y, f.round, lost, first.text);
    free(f.memory);
}

void fs_borders(fs_world *w)
{
    const bool several = w->hosts->count > 1;
    const bool shares = w->plan.rule == WRITERS_ALIGNED || w->plan.rule == WRITERS_LOCKED;
    const uint64_t inside = 20 * 1024 + 1000, pages = 20 * 1024,
                   piece = w->plan.piece_bytes ? w->plan.piece_bytes : WRITERS_PIECE_BYTES;
    const fs_team all = fs_team_of_hosts(w), here = fs_team_of_one_host(w);
    const way one_host = { "borders here", "stripes of 20.98 KiB by ranks of one host", inside, STRIPES,
                           true };
    const way of_hosts[] = {
        { "borders", "stripes of 20.98 KiB by several hosts, which share pages", inside, STRIPES, false },
        { "page borders", "stripes of 20 KiB by several hosts", pages, STRIPES, false },
        { "piece borders", "shares of whole pieces (1 MiB, or a block of this file system) by several hosts",
          piece, 4, shares },
    };
    if (here.size > 1) try_way(w, &one_host, &here);
    for (size_t i = 0; i < sizeof of_hosts / sizeof *of_hosts && several; i++) try_way(w, &of_hosts[i], &all);
    if (w->ranks == 1)
        fs_add(w, "borders", FS_NOTE, "start as many ranks as a run has, on its hosts",
               "one rank shares no file with another");
}
