/* Two states against each other. Neither is ever in memory as a whole: a rank reads its rows of both in
 * pieces of PIECE_BYTES, alone, however each is cut into parts. */
#include <math.h>
#include <stdlib.h>

#include "core/cell.h"
#include "ranks/check.h"
#include "ranks/decomp.h"
#include "ranks/ranks.h"
#include "state/state_index.h"

enum { PIECE_BLOCKS = 4, PIECE_BYTES = PIECE_BLOCKS * STATE_BLOCK_BYTES };

static void raise(state_place *p, uint64_t size, int64_t x, int64_t y)
{
    if (p->x >= 0 && size <= p->size) return;
    *p = (state_place){ size, x, y };
}

/* The piece's rows are dense in both. */
static void compare_piece(state_difference *d, const void *const data[2], dtype t, box piece)
{
    const int64_t width = box_width(piece), cells = box_cells(piece);
    for (int64_t k = 0; k < cells; k++) {
        const double a = cell_get(t, data[0], k), b = cell_get(t, data[1], k);
        if (cell_bits_f64(a) == cell_bits_f64(b)) continue;
        const int64_t x = piece.x0 + k % width, y = piece.y0 + k / width;
        const double largest = fmax(fabs(a), fabs(b));
        d->cells++;
        raise(&d->abs, cell_abs_bits(a - b), x, y);
        raise(&d->rel, cell_abs_bits(largest > 0 ? (a - b) / largest : a - b), x, y); /* of two zeros: 0 */
    }
}

/* This rank's part of field i. */
static state_status diff_part(const state_info *const side[2], int i, box part, state_difference *d,
                              sentence *why)
{
    const dtype t = side[0]->type;
    char *const buffer = CHECK_ALLOC(malloc(2 * (size_t)PIECE_BYTES));
    void *const data[2] = { buffer, buffer + PIECE_BYTES };
    state_status status = STATE_OK;
    for (int64_t n = 0; status == STATE_OK; n++) {
        const box piece = state_piece(part, t, PIECE_BLOCKS, n);
        if (box_empty(piece)) break;
        for (int k = 0; k < 2 && status == STATE_OK; k++)
            status = state_read(side[k], i, piece, data[k], why);
        if (status == STATE_OK) compare_piece(d, (const void *const *)data, t, piece);
    }
    free(buffer);
    return status;
}

/* Reduces the differences of all ranks. Collective. */
static void unite(MPI_Comm comm, state_difference *d)
{
    const int ranks = ranks_count(comm);
    state_difference *all = CHECK_ALLOC(malloc((size_t)ranks * sizeof *all));
    MPI_CHECK(ranks_allgather(d, sizeof *d, all, comm));
    d->cells = 0;
    for (int r = 0; r < ranks; r++) {
        state_place *const to[] = { &d->abs, &d->rel };
        const state_place from[] = { all[r].abs, all[r].rel };
        d->cells += all[r].cells;
        for (int k = 0; k < 2; k++)
            if (from[k].x >= 0) raise(to[k], from[k].size, from[k].x, from[k].y);
    }
    free(all);
}

state_status state_diff(MPI_Comm comm, const state_info *a, const state_info *b,
                        state_difference diff[STATE_FIELDS_MAX], sentence *why)
{
    static const state_place nowhere = { 0, -1, -1 };
    const state_info *const side[2] = { a, b };
    state_status status = STATE_OK;
    for (int i = 0; i < a->fields && status == STATE_OK; i++) {
        diff[i] = (state_difference){ 0, nowhere, nowhere };
        const box part = decomp_share(a->field[i].nx, a->field[i].ny, ranks_count(comm), ranks_mine(comm));
        status = state_agree(comm, diff_part(side, i, part, &diff[i], why), why);
        if (status == STATE_OK) unite(comm, &diff[i]);
    }
    return status;
}
