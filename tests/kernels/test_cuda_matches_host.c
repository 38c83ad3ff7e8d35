/* Passes and boundary fills give on CUDA, from the same input, the bits that they give on the host, and write
 * nothing else: whole allocations are compared, padding and ghosts included.
 * gpus: part
 * slow: a minute, as long as all other units of a GPU together begin and end */
#include "support/cuda_twin.h"

/* ---- the pass ---- */

static const int64_t sizes[][2] = { { 1, 1 },    { 7, 5 },  { 33, 9 },  { 129, 65 }, { 1000, 37 },
                                    { 300, 260 }, { 5, 1 }, { 1000, 1 }, { 4097, 1 } };
enum { SIZES = sizeof sizes / sizeof *sizes };

static void pass_case(const stencil *op, int64_t nx, int64_t ny, int extra_depth)
{
    const int depth_y = ny == 1 && op->form == STENCIL_LINE ? 0 : op->radius + extra_depth;
    const field_shape f = field_shape_make(op->type, nx, ny, op->radius + extra_depth, depth_y);
    twin cur = twin_random(f.type, f.bytes), prev = twin_random(f.type, f.bytes),
         next = twin_random(f.type, f.bytes);
    const box all = field_own(&f), inner = box_make(nx / 3, nx - nx / 4, ny / 4, ny - ny / 3);
    box shell[STENCIL_BOXES_MAX];
    const int count = box_shell(all, inner, shell);
    /* ragged columns, an empty box between them, a single cell */
    const box odd[] = { { 0, (nx + 2) / 3, 0, ny }, { 3, 3, 0, ny }, { nx - 1, nx, ny / 2, ny },
                        { nx / 2 + 1, nx / 2 + 2, ny / 3, ny / 3 + 1 } };
    const int odd_count = nx > 4 ? 4 : 2;
    ON_BOTH {
        device *d = dev[i];
        OK(i, d->stencil_pass(d, &f, next.at[i], cur.at[i], prev.at[i], &all, 1, stream[i]));
        /* the other way round, in place: next is prev */
        OK(i, d->stencil_pass(d, &f, prev.at[i], next.at[i], prev.at[i], shell, count, stream[i]));
        OK(i, d->stencil_pass(d, &f, cur.at[i], prev.at[i], next.at[i], odd, odd_count, stream[i]));
    }
    const twin *fields[] = { &next, &prev, &cur };
    for (int k = 0; k < 3; k++)
        assert_same(fields[k], "%s r=%d %s prev=%d %lldx%lld pass %d", stencil_form_name(op->form),
                    op->radius, dtype_name(op->type), op->has_prev, (long long)nx, (long long)ny, k + 1);
    twin_free(&cur);
    twin_free(&prev);
    twin_free(&next);
}

static void passes(stencil_form form)
{
    for (int radius = 1; radius <= STENCIL_RADIUS_MAX; radius++)
        for (dtype type = DTYPE_F32; type <= DTYPE_F64; type++)
            for (int has_prev = 0; has_prev <= (form != STENCIL_BOX); has_prev++) {
                stencil op = { form, radius, type, has_prev, has_prev ? random_number() : 0.0, { 0 } };
                for (int k = 0; k < stencil_weights(form, radius); k++)
                    op.weight[k] = random_number() / radius;
                if (type == DTYPE_F32)
                    for (int k = 0; k < STENCIL_WEIGHTS_MAX; k++) op.weight[k] = (float)op.weight[k];
                ON_BOTH OK(i, dev[i]->stencil_bind(dev[i], &op));
                for (int k = 0; k < SIZES; k++) pass_case(&op, sizes[k][0], sizes[k][1], k % 2 ? 3 : 0);
            }
}

static void line_passes(void **state) { (void)state, passes(STENCIL_LINE); }
static void star_passes(void **state) { (void)state, passes(STENCIL_STAR); }
static void box_passes(void **state) { (void)state, passes(STENCIL_BOX); }

/* So wide that tiles go in more than one band of columns. */
static void wide_passes(void **state)
{
    (void)state;
    for (dtype type = DTYPE_F32; type <= DTYPE_F64; type++) {
        const stencil op = { STENCIL_STAR, 1, type, true, -1.0, { 0.25, 0.5, -0.75, 0.125, 2.0 } };
        ON_BOTH OK(i, dev[i]->stencil_bind(dev[i], &op));
        pass_case(&op, 70001, 35, 0);
    }
}

/* So tall that the GPU is full without cutting the tiles' height: their rows pass through the ring many
 * times. */
static void tall_passes(void **state)
{
    (void)state;
    static const struct { stencil_form form; int radius;
    } all[] = {
        { STENCIL_STAR, 2 }, { STENCIL_STAR, 4 }, { STENCIL_STAR, 5 }, { STENCIL_STAR, 8 },
        { STENCIL_BOX, 2 },  { STENCIL_BOX, 3 },  { STENCIL_BOX, 4 },  { STENCIL_BOX, 5 },
    };
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        for (dtype type = DTYPE_F32; type <= DTYPE_F64; type++) {
            stencil op = { all[k].form, all[k].radius, type, k % 2 == 0 && all[k].form != STENCIL_BOX,
                           -1.0,        { 0 } };
            for (int i = 0; i < stencil_weights(op.form, op.radius); i++)
                op.weight[i] = random_number() / op.radius;
            if (type == DTYPE_F32)
                for (int i = 0; i < STENCIL_WEIGHTS_MAX; i++) op.weight[i] = (float)op.weight[i];
            ON_BOTH OK(i, dev[i]->stencil_bind(dev[i], &op));
            pass_case(&op, 37, 132007, 0);
        }
}

/* Tiles of other heights and in other orders, and other kernels, with enough cells that tiles are cut to no
 * less than they ask for, and bands of them differ by a row of tiles. */
static void variants(void **state)
{
    (void)state;
    static const struct { stencil_form form; int radius;
    } all[] = {
        { STENCIL_LINE, 1 }, { STENCIL_LINE, 8 }, { STENCIL_STAR, 1 }, { STENCIL_STAR, 2 }, { STENCIL_STAR, 4 },
        { STENCIL_STAR, 6 }, { STENCIL_STAR, 8 }, { STENCIL_BOX, 2 },  { STENCIL_BOX, 4 },
    };
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        for (dtype type = DTYPE_F32; type <= DTYPE_F64; type++) {
            stencil op = { all[k].form, all[k].radius, type, k % 2 == 1 && all[k].form != STENCIL_BOX,
                           0.5,         { 0 } };
            for (int i = 0; i < stencil_weights(op.form, op.radius); i++)
                op.weight[i] = random_number() / op.radius;
            if (type == DTYPE_F32)
                for (int i = 0; i < STENCIL_WEIGHTS_MAX; i++) op.weight[i] = (float)op.weight[i];
            ON_BOTH OK(i, dev[i]->stencil_bind(dev[i], &op));
            const int count = dev[CUDA]->stencil_variants.count;
            for (int v = 1; v < count; v++) {
                dev[CUDA]->stencil_variants.chosen = v;
                pass_case(&op, 1030, 4111, 0);
                pass_case(&op, 129, 65, 1);
            }
        }
}

/* ---- ghosts ---- */

/* The regions around the own cells that lie beyond at least one side that is not NONE. */
static int ghost_boxes(const field_shape *f, const boundary *b, box boxes[BOUNDARY_BOXES_MAX])
{
    const int64_t x[] = { -f->depth_x, 0, f->nx, f->nx + f->depth_x },
                  y[] = { -f->depth_y, 0, f->ny, f->ny + f->depth_y };
    const boundary_kind kx[] = { b->x_low.kind, BOUNDARY_NONE, b->x_high.kind };
    const boundary_kind ky[] = { b->y_low.kind, BOUNDARY_NONE, b->y_high.kind };
    int count = 0;
    for (int j = 0; j < 3; j++)
        for (int i = 0; i < 3; i++)
            if (kx[i] != BOUNDARY_NONE || ky[j] != BOUNDARY_NONE)
                boxes[count++] = box_make(x[i], x[i + 1], y[j], y[j + 1]);
    return count;
}

static void ghosts(void **state)
{
    (void)state;
    static const boundary_kind pairs[][2] = {
        { BOUNDARY_PERIODIC, BOUNDARY_PERIODIC },   { BOUNDARY_NONE, BOUNDARY_NONE },
        { BOUNDARY_NONE, BOUNDARY_DIRICHLET },      { BOUNDARY_NONE, BOUNDARY_NEUMANN },
        { BOUNDARY_DIRICHLET, BOUNDARY_NONE },      { BOUNDARY_DIRICHLET, BOUNDARY_DIRICHLET },
        { BOUNDARY_DIRICHLET, BOUNDARY_NEUMANN },   { BOUNDARY_NEUMANN, BOUNDARY_NONE },
        { BOUNDARY_NEUMANN, BOUNDARY_DIRICHLET },   { BOUNDARY_NEUMANN, BOUNDARY_NEUMANN },
    };
    /* nx, ny, depth_x, depth_y: also ghosts deeper than the axis is long, and 1D */
    static const int shapes[][4] = { { 9, 7, 1, 1 }, { 37, 11, 8, 8 }, { 700, 5, 2, 3 },
                                     { 2, 3, 5, 7 }, { 1, 1, 3, 3 },   { 50, 1, 4, 0 } };
    enum { PAIRS = sizeof pairs / sizeof *pairs, SHAPES = sizeof shapes / sizeof *shapes };
    for (int k = 0; k < SHAPES * PAIRS * PAIRS * 2; k++) {
        const int *n = shapes[k % SHAPES], px = k / SHAPES % PAIRS, py = k / SHAPES / PAIRS % PAIRS;
        const dtype type = k / SHAPES / PAIRS / PAIRS ? DTYPE_F64 : DTYPE_F32;
        const field_shape f = field_shape_make(type, n[0], n[1], n[2], n[3]);
        const boundary b = {
            { pairs[px][0], 0.1 }, { pairs[px][1], -0.7 }, { pairs[py][0], 1.3 }, { pairs[py][1], 0.0 }
        };
        box boxes[BOUNDARY_BOXES_MAX];
        const int count = ghost_boxes(&f, &b, boxes);
        twin field = twin_random(type, f.bytes);
        ON_BOTH OK(i, dev[i]->boundary_fill(dev[i], &f, field.at[i], &b, boxes, count, stream[i]));
        assert_same(&field, "ghosts %s %dx%d depth %d,%d sides %d%d %d%d", dtype_name(type), n[0], n[1], n[2],
                    n[3], (int)b.x_low.kind, (int)b.x_high.kind, (int)b.y_low.kind, (int)b.y_high.kind);
        twin_free(&field);
    }
}

static int run(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(line_passes), cmocka_unit_test(star_passes), cmocka_unit_test(box_passes),
        cmocka_unit_test(wide_passes), cmocka_unit_test(tall_passes), cmocka_unit_test(variants),
        cmocka_unit_test(ghosts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void) { return twin_main(run); }
