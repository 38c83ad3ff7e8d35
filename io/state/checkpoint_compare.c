/* Two state files against each other. Neither is ever in memory as a whole: a rank reads its rows of both in
 * pieces of PIECE_BYTES, alone, with POSIX calls, and the fingerprints are summed on the way. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/cell.h"
#include "ranks/check.h"
#include "ranks/decomp.h"
#include "ranks/ranks.h"
#include "state/checkpoint.h"
#include "state/checkpoint_dataset.h"
#include "state/checkpoint_h5.h"
#include "state/checkpoint_info.h"
#include "state/checkpoint_rows.h"

enum { PIECE_BYTES = 4 << 20 };

typedef struct comparing {
    MPI_Comm comm;
    int rank, ranks;
    const char *const *path;
    dtype type;
    sentence *why;
} comparing;

static double cell_at(const void *data, dtype t, int64_t k)
{
    return t == DTYPE_F32 ? (double)((const float *)data)[k] : ((const double *)data)[k];
}

/* A number's place among all numbers of its type; 0 and -0 have the same. */
static int64_t place_of(double v, dtype t)
{
    if (t == DTYPE_F64) {
        const uint64_t bits = cell_bits_f64(v), size = bits & INT64_MAX;
        return bits == size ? (int64_t)size : -(int64_t)size;
    }
    const float f = (float)v;
    const uint64_t bits = cell_bits_f32(f);
    if (bits > UINT32_MAX) return INT64_MAX; /* NaN */
    const int64_t size = (int64_t)(bits & INT32_MAX);
    return bits >> 31 ? -size : size;
}

static uint64_t ulps(double a, double b, dtype t)
{
    const int64_t i = place_of(a, t), j = place_of(b, t);
    return i > j ? (uint64_t)i - (uint64_t)j : (uint64_t)j - (uint64_t)i;
}

static void raise(checkpoint_place *p, uint64_t size, int64_t x, int64_t y)
{
    if (p->x >= 0 && size <= p->size) return;
    *p = (checkpoint_place){ size, x, y };
}

/* The piece's rows are dense in both. */
static void compare_piece(checkpoint_difference *d, const void *const data[2], dtype t, box piece)
{
    const int64_t width = box_width(piece), cells = box_cells(piece);
    for (int64_t k = 0; k < cells; k++) {
        const double a = cell_at(data[0], t, k), b = cell_at(data[1], t, k);
        if (cell_bits_f64(a) == cell_bits_f64(b)) continue;
        const int64_t x = piece.x0 + k % width, y = piece.y0 + k / width;
        const double largest = fmax(fabs(a), fabs(b));
        d->cells++;
        raise(&d->abs, cell_abs_bits(a - b), x, y);
        raise(&d->rel, cell_abs_bits(largest > 0 ? (a - b) / largest : a - b), x, y); /* of two zeros: 0 */
        raise(&d->ulp, ulps(a, b, t), x, y);
    }
}

static checkpoint_status read_piece(const comparing *c, int side, hid_t dataset, const checkpoint_field *f,
                                    box piece, void *data)
{
    const char *const reason = checkpoint_h5_read(dataset, piece, c->type, data);
    if (!reason) return CHECKPOINT_OK;
    return checkpoint_fail(CHECKPOINT_DAMAGED, c->why, "cannot read /fields/%s of %s: %s", f->name,
                           c->path[side], reason);
}

/* This rank's part. share: of the two fingerprints. */
static checkpoint_status compare_part(const comparing *c, const hid_t dataset[2], const checkpoint_field *f,
                                      checkpoint_difference *d, uint64_t share[2])
{
    const size_t cell_bytes = dtype_bytes(c->type);
    const box part = decomp_share(f->nx, f->ny, c->ranks, c->rank);
    const int64_t pieces = checkpoint_bands(part, cell_bytes, PIECE_BYTES);
    if (pieces == 0) return CHECKPOINT_OK;
    const size_t bytes = (size_t)box_cells(checkpoint_band(part, cell_bytes, PIECE_BYTES, 0)) * cell_bytes;
    char *buffer = malloc(2 * bytes);
    if (!buffer) return checkpoint_fail(CHECKPOINT_IO, c->why, "no memory to read %s", c->path[0]);
    void *const data[2] = { buffer, buffer + bytes };
    checkpoint_status status = CHECKPOINT_OK;
    for (int64_t p = 0; p < pieces && status == CHECKPOINT_OK; p++) {
        const box piece = checkpoint_band(part, cell_bytes, PIECE_BYTES, p);
        for (int side = 0; side < 2 && status == CHECKPOINT_OK; side++) {
            status = read_piece(c, side, dataset[side], f, piece, data[side]);
            if (status == CHECKPOINT_OK)
                share[side] += checkpoint_fingerprint_share(c->type, data[side], piece, f->nx);
        }
        if (status == CHECKPOINT_OK) compare_piece(d, (const void *const *)data, c->type, piece);
    }
    free(buffer);
    return status;
}

/* Everybody's differences as one. Collective. */
static void unite(const comparing *c, checkpoint_difference *d)
{
    checkpoint_difference *all = CHECK_ALLOC(malloc((size_t)c->ranks * sizeof *all));
    MPI_CHECK(ranks_allgather(d, sizeof *d, MPI_BYTE, all, sizeof *d, MPI_BYTE, c->comm));
    d->cells = 0;
    for (int i = 0; i < c->ranks; i++) {
        checkpoint_place *const to[] = { &d->abs, &d->rel, &d->ulp };
        const checkpoint_place from[] = { all[i].abs, all[i].rel, all[i].ulp };
        d->cells += all[i].cells;
        for (int k = 0; k < 3; k++)
            if (from[k].x >= 0) raise(to[k], from[k].size, from[k].x, from[k].y);
    }
    free(all);
}

/* Collective. */
static checkpoint_status compare_field(const comparing *c, const hid_t file[2], const checkpoint_field *f,
                                       checkpoint_difference *d)
{
    static const checkpoint_place nowhere = { 0, -1, -1 };
    hid_t dataset[2] = { H5I_INVALID_HID, H5I_INVALID_HID };
    uint64_t stored[2] = { 0, 0 }, found[2] = { 0, 0 };
    checkpoint_status status = CHECKPOINT_OK;
    *d = (checkpoint_difference){ f->name, 0, nowhere, nowhere, nowhere };
    for (int side = 0; side < 2 && status == CHECKPOINT_OK; side++)
        status = checkpoint_dataset_open(file[side], c->path[side], f, c->type, &dataset[side], &stored[side],
                                         c->why);
    if (status == CHECKPOINT_OK) status = compare_part(c, dataset, f, d, found);
    for (int side = 0; side < 2; side++)
        if (dataset[side] >= 0) H5Dclose(dataset[side]);
    status = checkpoint_agree(c->comm, status, c->why);
    if (status != CHECKPOINT_OK) return status;
    MPI_CHECK(ranks_allreduce(MPI_IN_PLACE, found, 2, MPI_UINT64_T, MPI_SUM, c->comm));
    for (int side = 0; side < 2 && status == CHECKPOINT_OK; side++)
        if (found[side] != stored[side])
            status = checkpoint_fail(CHECKPOINT_DAMAGED, c->why,
                                     "/fields/%s of %s is damaged: it has fingerprint %016" PRIx64
                                     ", but the file records %016" PRIx64,
                                     f->name, c->path[side], found[side], stored[side]);
    status = checkpoint_agree(c->comm, status, c->why); /* each rank read the attributes for itself */
    if (status == CHECKPOINT_OK) unite(c, d);
    return status;
}

checkpoint_status checkpoint_compare(MPI_Comm comm, const char *const path[2], checkpoint_info info[2],
                                     checkpoint_difference diff[CHECKPOINT_FIELDS_MAX], int *fields,
                                     sentence *why)
{
    comparing c = {
        .comm = comm, .rank = ranks_mine(comm), .ranks = ranks_count(comm), .path = path, .why = why
    };
    hid_t file[2] = { H5I_INVALID_HID, H5I_INVALID_HID };
    checkpoint_status status = CHECKPOINT_OK;
    *fields = 0;
    memset(info, 0, 2 * sizeof *info);
    for (int side = 0; side < 2 && status == CHECKPOINT_OK; side++)
        status = checkpoint_read_info(comm, path[side], &info[side], why);
    if (status != CHECKPOINT_OK) return status;
    if (strcmp(info[0].kind, info[1].kind) != 0 || info[0].type != info[1].type || info[0].nx != info[1].nx ||
        info[0].ny != info[1].ny)
        return CHECKPOINT_OK;
    c.type = info[0].type;
    for (int side = 0; side < 2 && status == CHECKPOINT_OK; side++)
        status = checkpoint_h5_open(path[side], &file[side], why);
    status = checkpoint_agree(comm, status, why);
    const checkpoint_state s = checkpoint_info_fields(&info[0]);
    for (int i = 0; i < s.fields && status == CHECKPOINT_OK; i++) {
        status = compare_field(&c, file, &s.field[i], &diff[i]);
        if (status == CHECKPOINT_OK) ++*fields;
    }
    for (int side = 0; side < 2; side++)
        if (file[side] >= 0) H5Fclose(file[side]);
    return status;
}
