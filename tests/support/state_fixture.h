/* States with known values, cut among ranks in several ways, in a folder of their own that the ranks share.
 * */
#pragma once

#include <dirent.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "core/cell.h"
#include "state/state_index.h"
#include "state/state_write.h"

enum { FIXTURE_PATH_BYTES = 300, FIXTURE_ROOM_BYTES = 256 << 20 };

/* True only where every rank says so: an assertion on it fails on all ranks or on none. */
static inline bool on_all(MPI_Comm comm, bool mine)
{
    int here = mine, all;
    MPI_Allreduce(&here, &all, 1, MPI_INT, MPI_MIN, comm);
    return all;
}

/* On one rank alone, where an assertion would leave the others waiting. */
static inline void must(bool holds, const char *what)
{
    if (holds) return;
    fprintf(stderr, "%s\n", what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static inline int fixture_rank(MPI_Comm comm)
{
    int rank;
    MPI_Comm_rank(comm, &rank);
    return rank;
}

static inline int fixture_ranks(MPI_Comm comm)
{
    int ranks;
    MPI_Comm_size(comm, &ranks);
    return ranks;
}

/* In memory where that has room: some tests write hundreds of files, each with several fsyncs, of which one
 * takes seconds on a disk that others use. */
static inline void fixture_folder(char folder[FIXTURE_PATH_BYTES])
{
    struct statvfs room;
    const bool in_memory =
        statvfs("/dev/shm", &room) == 0 && room.f_bavail * room.f_frsize > FIXTURE_ROOM_BYTES;
    snprintf(folder, FIXTURE_PATH_BYTES, "%s/weft_test_XXXXXX",
             in_memory && access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    if (fixture_rank(MPI_COMM_WORLD) == 0 && !mkdtemp(folder)) MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Bcast(folder, FIXTURE_PATH_BYTES, MPI_CHAR, 0, MPI_COMM_WORLD);
}

/* By rank 0, while the others wait. */
static inline void fixture_shell(const char *command)
{
    MPI_Barrier(MPI_COMM_WORLD);
    if (fixture_rank(MPI_COMM_WORLD) == 0) must(system(command) == 0, command);
    MPI_Barrier(MPI_COMM_WORLD);
}

static inline void fixture_remove(const char *folder)
{
    char command[FIXTURE_PATH_BYTES + 16];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    fixture_shell(command);
}

/* How much is in the folder NAME of `folder` that no state needs: attempts that no index names, temporary
 * files. By any rank; -1: no such folder. */
static inline int fixture_left(const char *folder, const char *name)
{
    char path[FIXTURE_PATH_BYTES + 400];
    int left = 0;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    DIR *d = opendir(path);
    if (!d) return -1;
    for (const struct dirent *e; (e = readdir(d));) {
        const size_t length = strlen(e->d_name);
        state_info s;
        sentence why;
        left += strstr(e->d_name, ".tmp") != NULL;
        const bool dotted = length > 9 && e->d_name[length - 9] == '.';
        if (!dotted || strspn(e->d_name + length - 8, "0123456789abcdef") != 8) continue;
        snprintf(path, sizeof path, "%s/%s/%.*s.h5", folder, name, (int)length - 9, e->d_name);
        left += state_index_read(path, &s, &why) != STATE_OK || strcmp(s.folder, e->d_name) != 0;
        state_close(&s);
    }
    closedir(d);
    return left;
}

/* The name that step N has in the folder NAME of `folder`, with that end; FIXTURE_STEP_BYTES of room. */
enum { FIXTURE_STEP_BYTES = FIXTURE_PATH_BYTES + 128 };
static inline void fixture_step(char *path, const char *folder, const char *name, int64_t step,
                                const char *end)
{
    snprintf(path, FIXTURE_STEP_BYTES, "%s/%s/step_%010lld%s", folder, name, (long long)step, end);
}

static inline bool fixture_has(const char *folder, const char *name, int64_t step, const char *end)
{
    char path[FIXTURE_STEP_BYTES];
    fixture_step(path, folder, name, step, end);
    return access(path, F_OK) == 0;
}

/* Cells of rank r out of `ranks` in columns x rows; floor(n*i/ranks) as everywhere. */
static inline box fixture_box(int64_t nx, int64_t ny, int columns, int rows, int r)
{
    const int cx = r % columns, cy = r / columns;
    return box_make(nx * cx / columns, nx * (cx + 1) / columns, ny * cy / rows, ny * (cy + 1) / rows);
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

static inline void fixture_put(void *data, dtype type, int64_t i, double v)
{
    if (type == DTYPE_F32) ((float *)data)[i] = (float)v;
    else ((double *)data)[i] = v;
}

static inline bool fixture_is(const void *data, dtype type, int64_t i, double v)
{
    return type == DTYPE_F32 ? ((const float *)data)[i] == (float)v : ((const double *)data)[i] == v;
}

/* Own cells from fixture_value, and this rank's share of the fingerprint, by plain addition. */
static inline void fixture_fill(state_cells *f, dtype type, int number)
{
    int64_t i = 0;
    f->fingerprint = 0;
    for (int64_t y = f->own.y0; y < f->own.y1; y++)
        for (int64_t x = f->own.x0; x < f->own.x1; x++) {
            const uint64_t n = (uint64_t)(y * f->nx + x);
            const double v = fixture_value(number, (int64_t)n);
            fixture_put(f->data, type, i++, v);
            const uint64_t bits = type == DTYPE_F32 ? cell_bits_f32((float)v) : cell_bits_f64(v);
            f->fingerprint += cell_fingerprint(bits, n);
        }
}

static inline bool fixture_holds(const state_cells *f, dtype type, int number)
{
    int64_t i = 0;
    for (int64_t y = f->own.y0; y < f->own.y1; y++)
        for (int64_t x = f->own.x0; x < f->own.x1; x++)
            if (!fixture_is(f->data, type, i++, fixture_value(number, y * f->nx + x))) return false;
    return true;
}

/* One field u, rows cut among the ranks; the caller frees field[0].data. */
static inline state_level fixture_state(MPI_Comm comm, int64_t nx, int64_t ny, dtype type, int64_t step)
{
    state_level s = {
        .kind = "heat", .type = type, .step = step, .deck = "[grid]\nnx = 5\n", .fields = 1
    };
    const int ranks = fixture_ranks(comm), rank = fixture_rank(comm);
    s.field[0] = fixture_cut("u", nx, ny, ny == 1 ? ranks : 1, ny == 1 ? 1 : ranks, rank, type);
    fixture_fill(&s.field[0], type, 0);
    return s;
}

static inline state_writer *fixture_writer(const state_writer_options *o)
{
    state_status status;
    sentence note, why;
    state_writer *w = state_writer_create(MPI_COMM_WORLD, o, &status, &note, &why);
    must(w && status == STATE_OK && state_writer_stats(w).async == o->async, why.text);
    return w;
}

/* Begins a write and waits for its end. */
static inline state_status fixture_go(state_writer *w, const state_level *l, sentence *why)
{
    const state_status status = state_writer_begin(w, &(state_request){ .level = l }, why);
    return status == STATE_OK ? state_writer_wait(w, why) : status;
}

/* The state `path` by that many writers (0: the writer's choice), beside the caller or while it waits. */
static inline state_status fixture_write(bool async, const char *path, const state_level *l, int writers,
                                         sentence *why)
{
    state_writer *w =
        fixture_writer(&(state_writer_options){ .file = path, .async = async, .writers = writers });
    const state_status status = fixture_go(w, l, why);
    state_writer_destroy(&w);
    return status;
}

static inline state_status fixture_load(MPI_Comm comm, const char *path, state_level *l, sentence *why)
{
    state_info s;
    state_status status = state_open(comm, path, &s, why);
    if (status == STATE_OK) status = state_load(comm, &s, l, why);
    state_close(&s);
    return status;
}

static inline state_status fixture_verify(MPI_Comm comm, const char *path, state_report *r, sentence *why)
{
    state_info s;
    memset(r, 0, sizeof *r);
    state_status status = state_open(comm, path, &s, why);
    if (status == STATE_OK) status = state_verify(comm, &s, r, why);
    state_close(&s);
    return status;
}
