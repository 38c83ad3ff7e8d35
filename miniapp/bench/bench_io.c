#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cmd.h"
#include "bench/bench_families.h"
#include "bench/bench_world.h"
#include "core/cell.h"
#include "files/figure.h"
#include "files/replace.h"
#include "ranks/check.h"
#include "ranks/decomp.h"
#include "ranks/timer.h"
#include "state/state.h"
#include "state/state_write.h"
#include "state/state_index.h"

enum { SLABS = 0, BLOCKS = 1, WRITE = 2 }; /* bits of a rung's variant */
enum { PATH_BYTES = 1024, RAWS_MOST = 2048 };

typedef struct filing {
    decomp dec;
    int pid;      /* rank 0's, the same on all ranks */
    size_t bytes; /* of this rank's cells */
    char *data, *found;
    /* "" where there is none; the last two of rank 0 are all ranks' */
    char raw[PATH_BYTES], shared[PATH_BYTES];
    double raw_s[RAWS_MOST]; /* samples of the raw file, of the slowest rank */
    int raws;
    state_level state;
    bool verified;   /* what is not right from here on is a failure, before it a verdict: */
    sentence damage; /* what the writer found when it read back, the same on all ranks */
} filing;

static bool writes(const ladder_case *c) { return c->rung->variant & WRITE; }
static bool has_blocks(const ladder_rung *r) { return r->variant & BLOCKS; }

static const char *refusal(const ladder_rung *r, device_kind kind, int ranks)
{
    int x, y;
    return has_blocks(r) && !bench_world_cut_both(ranks, &x, &y) ? BENCH_WORLD_CANNOT_CUT_BOTH : NULL;
}

static bool has_room(ladder_case *c)
{
    const bench_world *w = bench_world_of(c);
    const double need = 2.5 * (double)c->value[0] * w->top->ranks;
    struct statvfs fs;
    if (statvfs(w->dir, &fs) != 0 || access(w->dir, W_OK | X_OK) != 0)
        sentence_set(&c->missing, "dir = %.60s: %s", w->dir, strerror(errno));
    else if ((double)fs.f_bavail * (double)fs.f_frsize < need)
        sentence_set(&c->missing, "dir = %.60s: needs %s, but only %s are free", w->dir,
                     figure_bytes(need).text, figure_bytes((double)fs.f_bavail * (double)fs.f_frsize).text);
    return agree_or_say(!c->missing.text[0], &c->missing, w->top->comm);
}

/* ---- what is left where a signal ends the process ---- */

static struct {
    char dir[PATH_BYTES], name[40]; /* how the names of all ranks' files begin, half written or not */
    size_t name_bytes;              /* 0: there are none */
} trail;

/* Deletes in the folder `name` of `in` all names that begin so, folders with their files. */
static void delete_in(int in, const char *name, const char *begins, size_t bytes_begin, int depth)
{
    static char all[2][1 << 15];
    char *const entries = all[depth];
    const int dir = openat(in, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    for (long bytes; dir >= 0 && (bytes = syscall(SYS_getdents64, dir, entries, sizeof all[0])) > 0;)
        for (long at = 0; at < bytes;) {
            const struct dirent64 *const e = (const struct dirent64 *)(const void *)(entries + at);
            at += e->d_reclen;
            if (e->d_name[0] == '.' || strncmp(e->d_name, begins, bytes_begin) != 0) continue;
            if (unlinkat(dir, e->d_name, 0) == 0 || depth == 1) continue;
            delete_in(dir, e->d_name, "", 0, 1);
            (void)unlinkat(dir, e->d_name, AT_REMOVEDIR);
        }
    if (dir >= 0) (void)close(dir);
}

/* By system calls alone, since malloc may be under way where the signal came. */
void bench_io_delete_files(void)
{
    if (trail.name_bytes > 0) delete_in(AT_FDCWD, trail.dir, trail.name, trail.name_bytes, 0);
}

static void on_signal(int number)
{
    bench_io_delete_files();
    (void)signal(number, SIG_DFL);
    (void)raise(number);
}

void bench_io_catch_signals(void)
{
    signals_catch(SIGUSR1, on_signal);
    signals_catch(SIGTERM, on_signal);
    signals_catch(SIGINT, on_signal);
}

/* ---- names that no file had before: a client of NFS may take an old name for the file that once had it ----
 * */

static void new_name(const filing *f, const bench_world *w, const char *end, char *path)
{
    static int names;
    snprintf(trail.dir, sizeof trail.dir, "%.900s", w->dir);
    trail.name_bytes = (size_t)snprintf(trail.name, sizeof trail.name, "weft_bench_io.%d.", f->pid);
    snprintf(path, PATH_BYTES, "%.900s/weft_bench_io.%d.%d%s", w->dir, f->pid, ++names, end);
}

static void forget(char *path)
{
    if (path[0]) (void)unlink(path);
    path[0] = '\0';
}

/* ---- one file per rank ---- */

static int read_raw(const filing *f)
{
    const int fd = open(f->raw, O_RDONLY | O_CLOEXEC);
    const int code = fd < 0 ? errno : replace_pread(fd, f->found, f->bytes, 0);
    if (fd >= 0) (void)close(fd);
    return code;
}

/* Advice only: a file system that keeps its files in memory cannot follow it. */
static void drop_pages(const char *path)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return;
    (void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    (void)close(fd);
}

static void next_raw(ladder_case *c, filing *f)
{
    char end[32];
    forget(f->raw);
    snprintf(end, sizeof end, ".rank_%d", bench_world_of(c)->top->rank);
    new_name(f, bench_world_of(c), end, f->raw);
}

static void check_raw(const filing *f, int code)
{
    if (code) check_fail(__FILE__, __LINE__, f->raw, strerror(code));
}

/* ---- the ceiling: raw bytes per second, all ranks together, one sample before each of the shared file ----
 * */

static void raw_turn(ladder_case *c, filing *f)
{
    const topology *top = bench_world_of(c)->top;
    if (writes(c)) next_raw(c, f);
    else drop_pages(f->raw);
    MPI_CHECK(MPI_Barrier(top->comm));
    const double begin_s = timer_now_s();
    check_raw(f, writes(c) ? replace_new_file(f->raw, f->data, f->bytes) : read_raw(f));
    const double raw_s = timer_slowest_s(timer_now_s() - begin_s, top->comm);
    if (f->raws < RAWS_MOST) f->raw_s[f->raws++] = raw_s;
    if (writes(c)) forget(f->raw);
    c->ceiling_rate = c->work / timer_percentiles_of(f->raw_s, (size_t)f->raws).p50;
}

/* ---- the shared file ---- */

static void store(ladder_case *c, filing *f)
{
    sentence why;
    sentence note;
    state_status status;
    const state_writer_options o = { .file = f->shared, .writers = bench_world_of(c)->top->ranks };
    state_writer *w = state_writer_create(bench_world_of(c)->top->comm, &o, &status, &note, &why);
    if (w) status = state_writer_begin(w, &(state_request){ .level = &f->state }, &why);
    state_writer_destroy(&w);
    if (status == STATE_DAMAGED && writes(c) && !f->verified) f->damage = why;
    else if (status != STATE_OK) check_fail(__FILE__, __LINE__, "state_writer_begin", why.text);
}

static void forget_shared(ladder_case *c, filing *f)
{
    if (bench_world_of(c)->top->rank != 0) return;
    if (f->shared[0]) (void)state_remove(NULL, bench_world_of(c)->dir, f->shared);
    f->shared[0] = '\0';
}

/* A file of a new name; the one before is deleted. */
static void next_shared(ladder_case *c, filing *f)
{
    forget_shared(c, f);
    new_name(f, bench_world_of(c), ".h5", f->shared);
}

/* The part that this rank wrote. */
static void drop_part(ladder_case *c, const filing *f)
{
    char path[STATE_PATH_BYTES];
    sentence why;
    state_info s;
    const topology *top = bench_world_of(c)->top;
    if (state_open(top->comm, f->shared, &s, &why) == STATE_OK) {
        state_part_path(&s, top->rank % s.parts, path);
        drop_pages(path);
    }
    state_close(&s);
}

static void load(ladder_case *c, filing *f)
{
    sentence why;
    state_info s;
    state_level found = f->state;
    const MPI_Comm comm = bench_world_of(c)->top->comm;
    found.field[0].data = f->found;
    if (state_open(comm, f->shared, &s, &why) != STATE_OK || state_load(comm, &s, &found, &why) != STATE_OK)
        check_fail(__FILE__, __LINE__, "state_load", why.text);
    state_close(&s);
}

/* Cells that tell their global place, and the fingerprint that the file must have. */
static void make_field(ladder_case *c, filing *f)
{
    const box own = f->dec.own;
    uint64_t share = 0;
    char *at = f->data;
    for (int64_t y = own.y0; y < own.y1; y++)
        for (int64_t x = own.x0; x < own.x1; x++, at += dtype_bytes(c->type)) {
            const uint64_t place = (uint64_t)(y * f->dec.nx + x);
            bench_world_cell(c->type, (int64_t)place, at);
            share += cell_fingerprint(
                c->type == DTYPE_F32 ? cell_bits_f32(*(float *)at) : cell_bits_f64(*(double *)at), place);
        }
    f->state = (state_level){ .kind = "heat", .type = c->type, .deck = "", .fields = 1 };
    f->state.field[0] = (state_cells){ .name = "u",
                                       .nx = f->dec.nx,
                                       .ny = f->dec.ny,
                                       .own = own,
                                       .data = f->data,
                                       .fingerprint = share,
                                       .columns = f->dec.ranks_x };
}

static int filing_prepare(ladder_case *c)
{
    const bench_world *w = bench_world_of(c);
    const int64_t cells = c->value[0] / (int64_t)dtype_bytes(c->type) * w->top->ranks,
                  nx = (int64_t)sqrt((double)cells);
    int ranks_x = 1, ranks_y = w->top->ranks;
    sentence why;
    if (!has_room(c)) return 0;
    filing *f = ladder_state(c, sizeof *f);
    if (has_blocks(c->rung)) (void)bench_world_cut_both(w->top->ranks, &ranks_x, &ranks_y);
    if (!decomp_make(&f->dec, nx, cells / nx, false, false, w->top->ranks, w->top->rank, ranks_x, ranks_y, 1,
                     &why)) {
        sentence_set(&c->missing, "needs at least one row per rank");
        return 0;
    }
    f->bytes = (size_t)box_cells(f->dec.own) * dtype_bytes(c->type);
    f->data = CHECK_ALLOC(malloc(f->bytes));
    f->found = CHECK_ALLOC(malloc(f->bytes));
    memset(f->found, 0xff, f->bytes);
    f->pid = (int)getpid();
    MPI_CHECK(MPI_Bcast(&f->pid, 1, MPI_INT, 0, w->top->comm));
    make_field(c, f);
    ladder_moves(c, f->dec.nx * f->dec.ny, 1);
    c->ceiling_name = writes(c) ? "raw write" : "raw read";
    if (writes(c)) return 0;
    next_shared(c, f);
    store(c, f);
    next_raw(c, f);
    check_raw(f, replace_new_file(f->raw, f->data, f->bytes));
    return 0;
}

/* The raw file has its turn. Then writes make a new file, and reads find theirs on its device. */
static int filing_before(ladder_case *c)
{
    filing *f = c->state;
    raw_turn(c, f);
    if (writes(c)) {
        next_shared(c, f);
    } else {
        memset(f->found, 0xff, f->bytes); /* the raw file's bytes are the right ones */
        drop_part(c, f);
    }
    return 0;
}

static int filing_enqueue(ladder_case *c)
{
    if (writes(c)) store(c, c->state);
    else load(c, c->state);
    return 0;
}

/* A file that was written is read once more; one that was read holds the cells that were written. */
static int filing_verify(ladder_case *c, ladder_verdict *v)
{
    filing *f = c->state;
    f->verified = true;
    ladder_right(v);
    if (f->damage.text[0]) {
        ladder_wrong(v, "%s", f->damage.text);
        return 0;
    }
    if (writes(c)) load(c, f);
    if (memcmp(f->data, f->found, f->bytes) != 0)
        ladder_wrong(v, "rank %d read back bytes that differ from those it wrote",
                     bench_world_of(c)->top->rank);
    return 0;
}

static void filing_destroy(ladder_case *c)
{
    filing *f = c->state;
    if (!f) return;
    MPI_CHECK(MPI_Barrier(bench_world_of(c)->top->comm));
    forget(f->raw);
    forget_shared(c, f);
    free(f->data);
    free(f->found);
}

static const int64_t sizes[] = { 64 << 10, 1 << 20, 16 << 20, 64 << 20 };
static const ladder_parameter parameters[] = { { "bytes", 64 << 20, 64, (int64_t)1 << 40, "of each rank" } };

#define FILING(NAME, WHY, VARIANT)                                                          \
    {                                                                                       \
        LADDER_ROW(NAME, WHY, filing_prepare, filing_enqueue, filing_verify, NULL),         \
            .destroy = filing_destroy, .before = filing_before, .clock = LADDER_CLOCK_HOST, \
            .variant = VARIANT, LADDER_SCAN(0, sizes)                                       \
    }

static const ladder_rung rungs[] = {
    FILING("write_slabs", "a state, rows: checked, fsynced", WRITE | SLABS),
    FILING("write_blocks", "a state, blocks: checked, fsynced", WRITE | BLOCKS),
    FILING("read_slabs", "a state, rows: checksums checked", SLABS),
    FILING("read_blocks", "a state, blocks: checksums checked", BLOCKS),
};

#define FAMILY(KIND) BENCH_FAMILY(KIND, "io", "a field as a state by layout, beside raw files")
const ladder_family bench_io_host = FAMILY(DEVICE_HOST), bench_io_cuda = FAMILY(DEVICE_CUDA);
