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

static inline void fixture_remove(const char *folder)
{
    char command[FIXTURE_PATH_BYTES + 16];
    MPI_Barrier(MPI_COMM_WORLD);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    if (fixture_rank(MPI_COMM_WORLD) == 0 && system(command) != 0) MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* How much is in that folder that no state needs: attempts that no index names, temporary files. By any rank;
 * -1: no such folder. */
static inline int fixture_left(const char *folder)
{
    int left = 0;
    char path[FIXTURE_PATH_BYTES + 320];
    DIR *d = opendir(folder);
    if (!d) return -1;
    for (const struct dirent *e; (e = readdir(d));) {
        const size_t length = strlen(e->d_name);
        state_info s;
        sentence why;
        left += strstr(e->d_name, ".tmp") != NULL;
        if (length < 10 || e->d_name[length - 9] != '.' ||
            strspn(e->d_name + length - 8, "0123456789abcdef") != 8)
            continue;
        snprintf(path, sizeof path, "%s/%.*s.h5", folder, (int)length - 9, e->d_name);
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

static inline int fixture_left_in(const char *folder, const char *name)
{
    char dir[FIXTURE_STEP_BYTES];
    snprintf(dir, sizeof dir, "%s/%s", folder, name);
    return fixture_left(dir);
}

/* Flips the bits of mask in one byte of a file; by one rank, between barriers of the caller's. */
static inline void fixture_flip(const char *path, long at, int mask)
{
    FILE *f = fopen(path, "r+b");
    fseek(f, at, SEEK_SET);
    const int c = fgetc(f);
    fseek(f, at, SEEK_SET);
    fputc(c ^ mask, f);
    fclose(f);
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

static inline state_cells fixture_field(const char *name, int64_t nx, int64_t ny, box own, dtype type)
{
    state_cells f = { name, nx, ny, own, 1, calloc((size_t)box_cells(own) + 1, dtype_bytes(type)), 0 };
    return f;
}

/* The same of rank r among columns x rows. */
static inline state_cells fixture_cut(const char *name, int64_t nx, int64_t ny, int columns, int rows,
                                      int r, dtype type)
{
    state_cells f = fixture_field(name, nx, ny, fixture_box(nx, ny, columns, rows, r), type);
    f.columns = columns;
    return f;
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

/* The state `path` by that many writers (0: the writer's choice), beside the caller or while it waits. */
static inline state_status fixture_write_as(bool async, MPI_Comm comm, const char *path, const state_level *l,
                                            int writers, sentence *why)
{
    const state_writer_options o = { .file = path, .async = async, .writers = writers };
    state_status status;
    sentence note;
    state_writer *w = state_writer_create(comm, &o, &status, &note, why);
    if (w) status = state_writer_begin(w, &(state_request){ .level = l }, why);
    if (w && status == STATE_OK) status = state_writer_wait(w, why);
    state_writer_destroy(&w);
    return status;
}

static inline state_status fixture_write(MPI_Comm comm, const char *path, const state_level *l, int writers,
                                         sentence *why)
{
    return fixture_write_as(false, comm, path, l, writers, why);
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
