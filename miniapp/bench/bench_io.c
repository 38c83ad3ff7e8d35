/* io: a state written and read as checkpoints are, beside raw files. The lesson: docs/teaching/io.md.
 *
 * All files of a run lie in a folder of its own, dir/weft_bench_io.PID, which goes with them. Each has a name
 * that no file had before: a client of NFS may take an old name for the file that once had it. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/bench_request.h"
#include "bench/bench_world.h"
#include "files/figure.h"
#include "files/replace.h"
#include "ranks/check.h"
#include "state/state_folder.h"
#include "state/state_index.h"
#include "state/state_write.h"

enum { READ, WRITE, RAW_READ, RAW_WRITE }; /* ways: a state; a file for each rank, which bounds it */
enum { PATH_BYTES = 1024 };

typedef struct filing {
    decomp dec;
    size_t bytes; /* of this rank's cells */
    char *data, *found;
    char path[PATH_BYTES]; /* of the state, or of this rank's raw file; "": there is none */
    state_level state;
    bool verified;   /* what is not right from here on is a failure, before it a verdict: */
    sentence damage; /* what the writer found when it read back, the same on all ranks */
} filing;

static bool writes(const ladder_case *c) { return bench_way_of(c->rung) % 2 == WRITE; }
static bool is_raw(const ladder_case *c) { return bench_way_of(c->rung) >= RAW_READ; }

static bool has_room(ladder_case *c)
{
    const bench_world *w = bench_world_of(c);
    struct statvfs fs;
    const double need = 2.5 * (double)c->value[0] * w->top->ranks,
                 have = statvfs(w->dir, &fs) == 0 ? (double)fs.f_bavail * (double)fs.f_frsize : 0;
    if (have < need)
        sentence_set(&c->missing, "dir = %.60s: needs %s, but only %s are free", w->dir,
                     figure_bytes(need).text, figure_bytes(have).text);
    return agree_or_say(!c->missing.text[0], &c->missing, w->top->comm);
}

/* ---- the folder ---- */

static char folder[PATH_BYTES]; /* "": there is none */

/* Malloc may be under way where a signal came: another program deletes, and no function that allocates is
 * called. */
void bench_io_delete_files(void)
{
    if (!folder[0]) return;
    const pid_t child = vfork();
    if (child == 0) {
        (void)execl("/bin/rm", "rm", "-rf", folder, (char *)NULL);
        check_leave(1);
    }
    if (child > 0) (void)waitpid(child, NULL, 0);
}

static void on_signal(int number)
{
    bench_io_delete_files();
    (void)signal(number, SIG_DFL);
    (void)raise(number);
}

void bench_io_catch_signals(void) { signals_catch(on_signal); }

static void check_file(const char *path, int code)
{
    if (code) check_fail(__FILE__, __LINE__, path, strerror(code));
}

static void make_folder(const bench_world *w)
{
    int pid = (int)getpid();
    MPI_CHECK(MPI_Bcast(&pid, 1, MPI_INT, 0, w->top->comm));
    snprintf(folder, sizeof folder, "%.900s/weft_bench_io.%d", w->dir, pid);
    if (w->top->rank == 0) check_file(folder, mkdir(folder, 0777) == 0 ? 0 : errno);
    MPI_CHECK(MPI_Barrier(w->top->comm));
}

/* A new name; the file before is deleted. */
static void next_path(const ladder_case *c, filing *f)
{
    static int names;
    const int rank = bench_world_of(c)->top->rank;
    if (f->path[0] && is_raw(c)) (void)unlink(f->path);
    else if (f->path[0] && rank == 0) (void)state_replace(f->path, NULL);
    names++;
    if (is_raw(c)) snprintf(f->path, PATH_BYTES, "%.990s/%d.rank_%d", folder, names, rank);
    else snprintf(f->path, PATH_BYTES, "%.990s/%d.h5", folder, names);
}

/* Advice only: a file system that keeps its files in memory cannot follow it. */
static void drop_pages(const char *path)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return;
    (void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    (void)close(fd);
}

/* ---- the state ---- */

static void store(ladder_case *c, filing *f)
{
    const topology *top = bench_world_of(c)->top;
    sentence why, note;
    state_status status;
    const state_writer_options o = { .file = f->path, .writers = top->ranks };
    state_writer *w = state_writer_create(top->comm, &o, &status, &note, &why);
    if (w) status = state_writer_begin(w, &(state_request){ .level = f->state }, &why);
    state_writer_destroy(&w);
    if (status == STATE_DAMAGED && writes(c) && !f->verified) f->damage = why;
    else if (status != STATE_OK) check_fail(__FILE__, __LINE__, "state_writer_begin", why.text);
}

/* Drops the part that this rank wrote from the page cache. */
static void drop_part(const ladder_case *c, const filing *f)
{
    char path[STATE_PATH_BYTES];
    sentence why;
    state_info s;
    const topology *top = bench_world_of(c)->top;
    if (state_open(top->comm, f->path, &s, &why) == STATE_OK) {
        state_part_path(&s, top->rank % s.parts, path);
        drop_pages(path);
    }
    state_close(&s);
}

static void load(const ladder_case *c, filing *f)
{
    sentence why;
    state_info s;
    state_level found = f->state;
    const MPI_Comm comm = bench_world_of(c)->top->comm;
    found.field[0].data = f->found;
    if (state_open(comm, f->path, &s, &why) != STATE_OK || state_load(comm, &s, &found, &why) != STATE_OK)
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
            ladder_random(c->type, at, (int64_t)place, 1);
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

/* ---- rungs ---- */

static void put(ladder_case *c, filing *f)
{
    if (is_raw(c)) check_file(f->path, replace_new_file(f->path, f->data, f->bytes));
    else store(c, f);
}

static void get(ladder_case *c, filing *f)
{
    if (!is_raw(c)) {
        load(c, f);
        return;
    }
    const int fd = open(f->path, O_RDONLY | O_CLOEXEC);
    check_file(f->path, fd < 0 ? errno : replace_pread(fd, f->found, f->bytes, 0));
    (void)close(fd);
}

static int filing_prepare(ladder_case *c)
{
    const bench_world *w = bench_world_of(c);
    const int64_t cells = c->value[0] / (int64_t)dtype_bytes(c->type) * w->top->ranks,
                  nx = (int64_t)sqrt((double)cells);
    filing *f = ladder_state(c, sizeof *f);
    if (!has_room(c) || !bench_world_decomp(c, w->top->comm, nx, cells / nx, false, 1, &f->dec)) return 0;
    f->bytes = ladder_bytes(c, box_cells(f->dec.own));
    f->data = CHECK_ALLOC(malloc(f->bytes));
    f->found = CHECK_ALLOC(malloc(f->bytes));
    make_field(c, f);
    make_folder(w);
    ladder_moves(c, f->dec.nx * f->dec.ny, 1);
    c->way = writes(c) ? "raw write" : "raw read";
    if (writes(c)) return 0;
    next_path(c, f);
    put(c, f);
    return 0;
}

/* Writes make a new file, and reads find theirs on its device. */
static int filing_before(ladder_case *c)
{
    filing *f = c->state;
    if (writes(c)) next_path(c, f);
    else if (is_raw(c)) drop_pages(f->path);
    else drop_part(c, f);
    return 0;
}

static int filing_enqueue(ladder_case *c)
{
    (writes(c) ? put : get)(c, c->state);
    return 0;
}

/* A file that was written is read once more; one that was read holds the cells that were written. */
static int filing_verify(ladder_case *c, ladder_verdict *v)
{
    filing *f = c->state;
    f->verified = true;
    if (f->damage.text[0]) {
        ladder_wrong(v, "%s", f->damage.text);
        return 0;
    }
    if (writes(c)) get(c, f);
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
    if (bench_world_of(c)->top->rank == 0) bench_io_delete_files();
    folder[0] = '\0';
    free(f->data);
    free(f->found);
    MPI_CHECK(MPI_Barrier(bench_world_of(c)->top->comm));
}

static const int64_t sizes[] = { 64 << 10, 1 << 20, 16 << 20, 64 << 20 };
static const ladder_parameter parameters[] = { { "bytes", 64 << 20, 64, (int64_t)1 << 40, "of each rank" } };

#define FILES(NAME, WHY, WAY, CUT)                                                      \
    LADDER_ROW(NAME, WHY, filing_prepare, filing_enqueue, filing_verify, NULL),         \
        .destroy = filing_destroy, .before = filing_before, .clock = LADDER_CLOCK_HOST, \
        .variant = WAY * BENCH_CUTS + CUT, LADDER_SCAN(0, sizes)

static const ladder_rung raw_write = { FILES("raw write", "", RAW_WRITE, BENCH_ROWS) },
                         raw_read = { FILES("raw read", "", RAW_READ, BENCH_ROWS) };

static const ladder_rung rungs[] = {
    { FILES("write_slabs", "a state, rows: checked, fsynced", WRITE, BENCH_ROWS), .beside = &raw_write },
    { FILES("write_blocks", "a state, blocks: checked, fsynced", WRITE, BENCH_BLOCKS), .beside = &raw_write },
    { FILES("read_slabs", "a state, rows: checksums checked", READ, BENCH_ROWS), .beside = &raw_read },
    { FILES("read_blocks", "a state, blocks: checksums checked", READ, BENCH_BLOCKS), .beside = &raw_read },
};

#define FAMILY(KIND)                                                                          \
    LADDER_FAMILY(KIND, "io", "a field as a state by layout, beside raw files", "f32", "f64", \
                  bench_world_uncut)
const ladder_family bench_io_host = FAMILY(DEVICE_HOST), bench_io_cuda = FAMILY(DEVICE_CUDA);
