#include "ladder_memory/ladder_transpose.h"

#include "core/cell.h"

int ladder_transpose_prepare(ladder_case *c)
{
    ladder_moves(c, c->value[LADDER_TRANSPOSE_NX] * c->value[LADDER_TRANSPOSE_NY], 2);
    return ladder_open(c, c->size, c->size);
}

static void answer_transpose(const void *context, dtype t, int64_t first, int64_t count, void *out)
{
    const ladder_case *c = context;
    const int64_t nx = c->value[LADDER_TRANSPOSE_NX], ny = c->value[LADDER_TRANSPOSE_NY];
    int64_t column = first / ny, row = first % ny; /* of A: cell `first` of B stands in its row `column` */
    for (int64_t i = 0; i < count; i++) {
        const double u = cell_random(LADDER_SEED, (uint64_t)(row * nx + column));
        if (t == DTYPE_F32) ((float *)out)[i] = (float)u;
        else ((double *)out)[i] = u;
        if (++row == ny) {
            row = 0;
            column++;
        }
    }
}

int ladder_transpose_verify(ladder_case *c, ladder_verdict *v) { return ladder_verify(c, answer_transpose, v); }

int ladder_transpose_production(ladder_case *c)
{
    const int64_t nx = c->value[LADDER_TRANSPOSE_NX], ny = c->value[LADDER_TRANSPOSE_NY];
    return c->d->transpose(c->d, c->type, c->out, ny, c->in, nx, ny, nx, TRANSPOSE_STORE, c->stream);
}
