/* The plainest device: the host's memory, streams, copies and patterns, with kernels that are loops over
 * cells, written from docs/numerics.md and device.h alone. Cells are doubles; those of an f32 field are
 * rounded after every operation. */
#pragma once

#include <math.h>

#include "core/cell.h"
#include "core/pattern.h"
#include "support/host_field.h"
#include "support/plain_reference.h"

static stencil plain_op; /* as bound */

/* plain_reference.h's arithmetic of a type. */
static const plain *of(dtype t)
{
    static const plain of_type[] = { [DTYPE_F32] = { .f32 = true }, [DTYPE_F64] = { .f32 = false } };
    return &of_type[t];
}

static inline double plain_get(const field_shape *f, const void *u, int64_t x, int64_t y)
{
    return cell_get(f->type, u, field_index(f, x, y));
}
static inline void plain_set(const field_shape *f, void *u, int64_t x, int64_t y, double number)
{
    cell_set(f->type, u, field_index(f, x, y), number);
}
#define PLAIN_CELLS(b)                              \
    for (int64_t y = (b).y0; y < (b).y1; y++)       \
        for (int64_t x = (b).x0; x < (b).x1; x++)

/* ---- a step: the order of the sum, spelt out; the first term is a product ---- */

static int plainly_stencil_bind(device *d, const stencil *op)
{
    plain_op = *op;
    return 0;
}

static double plain_stencil_cell(const field_shape *f, const void *cur, int64_t x, int64_t y)
{
    const int r = plain_op.radius;
    plain_chain sum = { false, 0 };
    int n = 0;
#define ADD(DX, DY) plain_add(of(f->type), &sum, plain_op.weight[n++], plain_get(f, cur, x + (DX), y + (DY)))
    for (int dy = -r; plain_op.form == STENCIL_BOX && dy <= r; dy++)
        for (int dx = -r; dx <= r; dx++) ADD(dx, dy);
    for (int k = r; plain_op.form != STENCIL_BOX && k >= 1; k--) {
        ADD(-k, 0);
        ADD(k, 0);
        if (plain_op.form == STENCIL_STAR) ADD(0, -k);
        if (plain_op.form == STENCIL_STAR) ADD(0, k);
    }
    if (plain_op.form != STENCIL_BOX) ADD(0, 0);
#undef ADD
    return sum.sum;
}

static int plainly_stencil_pass(device *d, const field_shape *f, stencil_levels levels, const box *boxes,
                                int count, const inkernel_step *step, device_stream *s)
{
    for (int i = 0; i < count; i++)
        PLAIN_CELLS(boxes[i]) {
            double u = plain_stencil_cell(f, levels.cur, x, y);
            if (plain_op.has_prev)
                u = plain_fma(of(f->type), plain_op.beta, plain_get(f, levels.prev, x, y), u);
            plain_set(f, levels.next, x, y, u);
        }
    return 0;
}

/* ---- ghosts: the rules as they are written down, one axis: a line of n cells, `stride` apart, cell 0 at
 * `first`; x first, then y ---- */

static void plain_line(dtype t, void *u, int64_t first, int64_t stride, int64_t n, int depth,
                       boundary_side low, boundary_side high)
{
#define U(I) cell_get(t, u, first + (I) * stride)
#define PUT(I, NUMBER) cell_set(t, u, first + (I) * stride, NUMBER)
#define MIRROR(V, I) plain_sum(of(t), plain_sum(of(t), V, V), -U(I))
    low.value = host_field_rounded(t, low.value), high.value = host_field_rounded(t, high.value);
    for (int k = 0; k < depth; k++) {
        if (low.kind == BOUNDARY_PERIODIC) PUT(-1 - k, U(n - 1 - k));
        if (low.kind == BOUNDARY_DIRICHLET) PUT(-1 - k, k == 0 ? low.value : MIRROR(low.value, k - 1));
        if (low.kind == BOUNDARY_NEUMANN) PUT(-1 - k, U(k));
        if (high.kind == BOUNDARY_PERIODIC) PUT(n + k, U(k));
        if (high.kind == BOUNDARY_DIRICHLET) PUT(n + k, k == 0 ? high.value : MIRROR(high.value, n - k));
        if (high.kind == BOUNDARY_NEUMANN) PUT(n + k, U(n - 1 - k));
    }
#undef U
#undef PUT
#undef MIRROR
}

static int plainly_boundary_fill(device *d, const field_shape *f, void *field, const boundary *b,
                               const box *boxes, int count, device_stream *s)
{
    void *all = host_field_clone(d, f, field);
    for (int64_t y = -f->depth_y; y < f->ny + f->depth_y; y++)
        plain_line(f->type, all, field_index(f, 0, y), 1, f->nx, f->depth_x, b->x_low, b->x_high);
    for (int64_t x = -f->depth_x; x < f->nx + f->depth_x; x++)
        plain_line(f->type, all, field_index(f, x, 0), f->pitch, f->ny, f->depth_y, b->y_low, b->y_high);
    for (int i = 0; i < count; i++) PLAIN_CELLS(boxes[i]) plain_set(f, field, x, y, plain_get(f, all, x, y));
    host_field_free(d, all);
    return 0;
}

/* ---- moves ---- */

static int plainly_pack(device *d, const field_shape *f, const void *field, void *buffer,
                      const pack_piece *pieces, int count, device_stream *s)
{
    for (int i = 0; i < count; i++) {
        int64_t at = pieces[i].offset;
        PLAIN_CELLS(pieces[i].cells) cell_set(f->type, buffer, at++, plain_get(f, field, x, y));
    }
    return 0;
}

static int plainly_unpack(device *d, const field_shape *f, void *field, const void *buffer,
                        const pack_piece *pieces, int count, unpack_mode mode, device_stream *s)
{
    for (int i = 0; i < count; i++) {
        int64_t at = pieces[i].offset;
        PLAIN_CELLS(pieces[i].cells) {
            const double u = cell_get(f->type, buffer, at++);
            plain_set(f, field, x, y,
                      mode == UNPACK_ADD ? plain_sum(of(f->type), plain_get(f, field, x, y), u) : u);
        }
    }
    return 0;
}

static int plainly_transpose(device *d, dtype t, matrix to, matrix from, int64_t rows, int64_t cols,
                             int flags, device_stream *s)
{
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < cols; c++) {
            const int64_t out = c * to.pitch + r, in = r * from.pitch + c;
            const double u = cell_get(t, from.cells, in), old = cell_get(t, to.cells, out);
            cell_set(t, to.cells, out, flags & TRANSPOSE_ADD ? plain_sum(of(t), old, u) : u);
            if (flags & TRANSPOSE_INCREMENT_SOURCE) cell_set(t, from.cells, in, plain_sum(of(t), u, 1));
        }
    return 0;
}

/* ---- values (test_problem_tables_do_not_depend_on_slice has their formula), norms, the fingerprint ---- */

#define PLAIN_GOLDEN 0x9E3779B97F4A7C15ull

static int plainly_value_fill(device *d, const field_shape *f, void *field, const value *v, box cells,
                            device_stream *s)
{
    PLAIN_CELLS(cells) plain_set(f, field, x, y, cell_value(v, x, y));
    return 0;
}

static int plainly_max_error(device *d, const field_shape *f, const void *field, const value *v, box cells,
                           uint64_t *result, device_stream *s)
{
    *result = 0;
    PLAIN_CELLS(cells) {
        const double error = fabs(plain_get(f, field, x, y) - cell_value(v, x, y));
        const uint64_t bits = plain_bits(of(DTYPE_F64), error);
        if (bits > *result) *result = bits;
    }
    return 0;
}

static int plainly_max_change(device *d, const field_shape *f, const void *a, const void *b, box cells,
                            uint64_t *result, device_stream *s)
{
    *result = 0;
    PLAIN_CELLS(cells) {
        const double change = plain_sum(of(f->type), plain_get(f, a, x, y), -plain_get(f, b, x, y));
        const uint64_t bits = plain_bits(of(DTYPE_F64), fabs(change));
        if (bits > *result) *result = bits;
    }
    return 0;
}

static int plainly_fingerprint(device *d, const field_shape *f, const void *field, int64_t nx_global,
                             int64_t x_first, int64_t y_first, uint64_t *result, device_stream *s)
{
    *result = 0;
    PLAIN_CELLS(field_own(f)) {
        const uint64_t at = (uint64_t)((y_first + y) * nx_global + x_first + x);
        *result += plain_mix(plain_bits(of(f->type), plain_get(f, field, x, y)) + (at + 1) * PLAIN_GOLDEN);
    }
    return 0;
}

#define PLAIN_FUNCTIONS(X)                                                                                  \
    X(stencil_bind) X(stencil_pass) X(boundary_fill) X(pack) X(unpack) X(transpose) X(value_fill)           \
    X(max_error) X(max_change) X(fingerprint)
#define PLAIN_PUT(member) d->member = plainly_##member;

static inline device *plain_device_create(void)
{
    device *d = device_host_create(1);
    PLAIN_FUNCTIONS(PLAIN_PUT)
    return d;
}
