/* For tests of states: known values, cut among ranks in several ways, in a folder of the test that all ranks
 * share, and main. Include in one source. */
#pragma once

#include <glob.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "core/cell.h"
#include "state/state_index.h"
#include "state/state_write.h"
#include "support/unit.h"

enum {
    FIXTURE_PATH_BYTES = 300,
    FIXTURE_STEP_BYTES = FIXTURE_PATH_BYTES + 128,
    FIXTURE_ROOM_BYTES = 256 << 20
};
static char folder[FIXTURE_PATH_BYTES];
static int rank, ranks;
static sentence why;

/* True only where every rank says so: an assertion on it fails on all ranks or on none. */
static inline bool on_all(bool mine)
{
    int here = mine, all;
    MPI_Allreduce(&here, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    return all;
}

/* On one rank alone, where an assertion would leave the others waiting. */
static inline void must(bool holds, const char *what)
{
    if (holds) return;
    fprintf(stderr, "%s\n", what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* printf's command, in the folder `dir`, by rank 0, while the others wait. */
__attribute__((format(printf, 2, 3))) static inline void fixture_shell(const char *dir, const char *command,
                                                                       ...)
{
    char text[8192];
    va_list args;
    va_start(args, command);
    const int cd = snprintf(text, sizeof text, "cd '%s' && ", dir);
    vsnprintf(text + cd, sizeof text - (size_t)cd, command, args);
    va_end(args);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) must(system(text) == 0, text);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* The folder is in memory where that has room: some tests write hundreds of files, each with several fsyncs,
 * of which one takes seconds on a disk that others use. set_up: of the group, or NULL. SIGXFSZ as in the
 * program: the error of the call that meets the limit. */
static inline int fixture_main(int argc, char **argv, int (*run)(void))
{
    struct statvfs room;
    (void)signal(SIGXFSZ, SIG_IGN);
    state_before_mpi_init();
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const bool in_memory = access("/dev/shm", W_OK) == 0 && statvfs("/dev/shm", &room) == 0 &&
                           room.f_bavail * room.f_frsize > FIXTURE_ROOM_BYTES;
    snprintf(folder, sizeof folder, "%s/weft_test_XXXXXX", in_memory ? "/dev/shm" : "/tmp");
    must(rank > 0 || mkdtemp(folder), folder);
    MPI_Bcast(folder, sizeof folder, MPI_CHAR, 0, MPI_COMM_WORLD);
    const int failed = run();
    fixture_shell("/", "rm -rf '%s'", folder);
    MPI_Finalize();
    return failed ? 1 : 0;
}
#define STATE_TESTS(set_up, ...)                                  \
    static int all_tests(void)                                    \
    {                                                             \
        const struct CMUnitTest tests[] = { __VA_ARGS__ };        \
        return cmocka_run_group_tests(tests, set_up, NULL);       \
    }                                                             \
    int main(int argc, char **argv) { return fixture_main(argc, argv, all_tests); }

/* How much is in the folder NAME of `folder` that no state needs: attempts that no index names, temporary
 * files. By any rank. */
static inline int fixture_left(const char *name)
{
    char path[FIXTURE_PATH_BYTES + 400];
    glob_t found;
    snprintf(path, sizeof path, "%s/%s/*.{????????,tmp*}", folder, name);
    (void)glob(path, GLOB_BRACE, NULL, &found);
    int left = (int)found.gl_pathc;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        const char *const attempt = found.gl_pathv[i];
        state_info s;
        snprintf(path, sizeof path, "%.*s.h5", (int)strlen(attempt) - 9, attempt);
        left -= state_index_head(path, &s) == STATE_OK && strcmp(s.folder, basename(attempt)) == 0;
    }
    globfree(&found);
    return left;
}

/* The path of step N in the folder NAME of `folder`, FIXTURE_STEP_BYTES of room; is it there? */
static inline bool fixture_step(char *path, const char *name, int64_t step)
{
    snprintf(path, FIXTURE_STEP_BYTES, "%s/%s/step_%010lld.h5", folder, name, (long long)step);
    return access(path, F_OK) == 0;
}

/* Cells of rank r out of `ranks` in columns x rows; floor(n*i/ranks) as everywhere. */
static inline box fixture_box(int64_t nx, int64_t ny, int columns, int rows, int r)
{
    const int cx = r % columns, cy = r / columns;
    return box_make(nx * cx / columns, nx * (cx + 1) / columns, ny * cy / rows, ny * (cy + 1) / rows);
}

/* The place in the field of the i-th of own cells. */
static inline int64_t fixture_place(box own, int64_t nx, int64_t i)
{
    return (own.y0 + i / box_width(own)) * nx + own.x0 + i % box_width(own);
}

static inline double fixture_value(int field, int64_t linear)
{
    return cell_random((uint64_t)field + 7, (uint64_t)linear) + (double)field;
}

/* The cells of rank r among columns x rows, zero; the caller frees the data. */
static inline state_cells fixture_cut(const char *name, int64_t nx, int64_t ny, int columns, int rows, int r,
                                      dtype type)
{
    const box own = fixture_box(nx, ny, columns, rows, r);
    void *const data = calloc((size_t)box_cells(own) + 1, dtype_bytes(type));
    return (state_cells){ name, nx, ny, own, columns, data, 0 };
}

static inline bool fixture_is(const void *data, dtype type, int64_t i, double v)
{
    return type == DTYPE_F32 ? ((const float *)data)[i] == (float)v : ((const double *)data)[i] == v;
}

/* Own cells from fixture_value, and this rank's share of the fingerprint, by plain addition. */
static inline void fixture_fill(state_cells *f, dtype type, int number)
{
    f->fingerprint = 0;
    for (int64_t i = 0; i < box_cells(f->own); i++) {
        const int64_t n = fixture_place(f->own, f->nx, i);
        const double v = fixture_value(number, n);
        cell_set(type, f->data, i, v);
        const uint64_t bits = type == DTYPE_F32 ? cell_bits_f32((float)v) : cell_bits_f64(v);
        f->fingerprint += cell_fingerprint(bits, (uint64_t)n);
    }
}

static inline bool fixture_holds(const state_cells *f, dtype type, int number)
{
    bool holds = true;
    for (int64_t i = 0; i < box_cells(f->own); i++)
        holds &= fixture_is(f->data, type, i, fixture_value(number, fixture_place(f->own, f->nx, i)));
    return holds;
}

/* One field u, rows cut among the ranks; the caller frees field[0].data. */
static inline state_level fixture_state(int64_t nx, int64_t ny, dtype type, int64_t step)
{
    state_level s = {
        .kind = "heat", .type = type, .step = step, .deck = "[grid]\nnx = 5\n", .fields = 1
    };
    s.field[0] = fixture_cut("u", nx, ny, 1, ranks, rank, type);
    fixture_fill(&s.field[0], type, 0);
    return s;
}

static inline state_writer *fixture_writer(const state_writer_options *o)
{
    state_status status;
    sentence note;
    state_writer *w = state_writer_create(MPI_COMM_WORLD, o, &status, &note, &why);
    must(w && status == STATE_OK && state_writer_stats(w).async == o->async, why.text);
    return w;
}

/* Begins a write and waits for its end. */
static inline state_status fixture_go(state_writer *w, const state_level *l)
{
    const state_status status = state_writer_begin(w, &(state_request){ .level = *l }, &why);
    return status == STATE_OK ? state_writer_wait(w, &why) : status;
}

/* A state as the options say, which must be written. */
static inline void fixture_write(const state_writer_options *o, const state_level *l)
{
    state_writer *w = fixture_writer(o);
    must(fixture_go(w, l) == STATE_OK, why.text);
    state_writer_destroy(&w);
}

static inline state_status fixture_load(MPI_Comm comm, const char *path, state_level *l)
{
    state_info s;
    state_status status = state_open(comm, path, &s, &why);
    if (status == STATE_OK) status = state_load(comm, &s, l, &why);
    state_close(&s);
    return status;
}

/* The sentence is in r->first. */
static inline state_status fixture_verify(const char *path, state_report *r)
{
    state_info s;
    sentence said = { "" };
    memset(r, 0, sizeof *r);
    state_status status = state_open(MPI_COMM_WORLD, path, &s, &said);
    if (status == STATE_OK) status = state_verify(MPI_COMM_WORLD, &s, r, &said);
    if (!r->damaged) r->first = said;
    state_close(&s);
    return status;
}
