/* Claim: the host's boundary fill writes the ghosts that the rules define, for every pair of sides along both
 * axes, corners included, with the neighbour's cells read where a side has none, and changes nothing else. */
#include "support/host_field.h"

static double mirror(dtype t, double v, double u)
{
    if (t == DTYPE_F64) return v + v - u;
    const float narrow = (float)v;
    return (double)(narrow + narrow - (float)u);
}

static double plain(dtype t, double v) { return t == DTYPE_F32 ? (double)(float)v : v; }

/* The rules as they are written down, one axis: ghosts of a line of n cells, `stride` apart, from cell 0 at
 * `first`. */
static void naive_line(dtype t, void *data, int64_t first, int64_t stride, int64_t n, int depth,
                       boundary_side low, boundary_side high)
{
#define U(I) host_field_get(t, data, first + (I) * stride)
#define PUT(I, NUMBER) host_field_set(t, data, first + (I) * stride, NUMBER)
    for (int k = 0; k < depth; k++) {
        if (low.kind == BOUNDARY_PERIODIC) PUT(-1 - k, U(n - 1 - k));
        if (low.kind == BOUNDARY_DIRICHLET)
            PUT(-1 - k, k == 0 ? plain(t, low.value) : mirror(t, low.value, U(k - 1)));
        if (low.kind == BOUNDARY_NEUMANN) PUT(-1 - k, U(k));
        if (high.kind == BOUNDARY_PERIODIC) PUT(n + k, U(k));
        if (high.kind == BOUNDARY_DIRICHLET)
            PUT(n + k, k == 0 ? plain(t, high.value) : mirror(t, high.value, U(n - k)));
        if (high.kind == BOUNDARY_NEUMANN) PUT(n + k, U(n - 1 - k));
    }
#undef U
#undef PUT
}

/* The ghosts outside the domain as disjoint boxes: columns beside the rows that exist, then whole rows. */
static int outside(const field_shape *f, const boundary *b, box boxes[BOUNDARY_BOXES_MAX])
{
    const int64_t dx = f->depth_x, dy = f->depth_y;
    const int64_t y0 = b->y_low.kind == BOUNDARY_NONE ? -dy : 0,
                  y1 = f->ny + (b->y_high.kind == BOUNDARY_NONE ? dy : 0);
    int n = 0;
    if (b->x_low.kind != BOUNDARY_NONE) boxes[n++] = box_make(-dx, 0, y0, y1);
    if (b->x_high.kind != BOUNDARY_NONE) boxes[n++] = box_make(f->nx, f->nx + dx, y0, y1);
    if (b->y_low.kind != BOUNDARY_NONE) boxes[n++] = box_make(-dx, f->nx + dx, -dy, 0);
    if (b->y_high.kind != BOUNDARY_NONE) boxes[n++] = box_make(-dx, f->nx + dx, f->ny, f->ny + dy);
    return n;
}

static void check(device *d, const field_shape *f, const boundary *b)
{
    void *got = host_field_create(d, f, 5), *want = host_field_clone(d, f, got);
    for (int64_t y = -f->depth_y; y < f->ny + f->depth_y; y++) /* x first */
        naive_line(f->type, want, field_index(f, 0, y), 1, f->nx, f->depth_x, b->x_low, b->x_high);
    for (int64_t x = -f->depth_x; x < f->nx + f->depth_x; x++)
        naive_line(f->type, want, field_index(f, x, 0), f->pitch, f->ny, f->depth_y, b->y_low, b->y_high);
    box boxes[BOUNDARY_BOXES_MAX];
    const int count = outside(f, b, boxes);
    assert_int_equal(d->boundary_fill(d, f, got, b, boxes, count, NULL), 0);
    assert_memory_equal(got, want, f->bytes);
    host_field_free(d, got);
    host_field_free(d, want);
}

/* What may stand at the low and the high side of an axis; NONE where a neighbour's cells lie. */
static int side_pairs(boundary_side pairs[16][2])
{
    const boundary_side kinds[3] = { { BOUNDARY_NONE, 0 },
                                     { BOUNDARY_DIRICHLET, 0.1 },
                                     { BOUNDARY_NEUMANN, 0 } };
    int n = 0;
    for (int low = 0; low < 3; low++)
        for (int high = 0; high < 3; high++) {
            pairs[n][0] = kinds[low];
            pairs[n][1] = kinds[high];
            if (high == 1) pairs[n][1].value = -2.3; /* not the low side's */
            n++;
        }
    pairs[n][0].kind = pairs[n][1].kind = BOUNDARY_PERIODIC;
    pairs[n][0].value = pairs[n][1].value = 0;
    return n + 1;
}

static void every_pair_of_sides(void **state)
{
    (void)state;
    device *d = device_host_create(2);
    boundary_side pairs[16][2];
    const int count = side_pairs(pairs);
    assert_int_equal(count, 10);
    const struct {
        int64_t nx, ny;
        int depth;
    } shapes[] = { { 8, 8, 8 }, { 1, 1, 1 }, { 13, 5, 3 }, { 70, 9, 8 } };
    for (int t = DTYPE_F32; t <= DTYPE_F64; t++)
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
            const field_shape f =
                field_shape_make((dtype)t, shapes[i].nx, shapes[i].ny, shapes[i].depth, shapes[i].depth);
            for (int x = 0; x < count; x++)
                for (int y = 0; y < count; y++) {
                    const boundary b = { pairs[x][0], pairs[x][1], pairs[y][0], pairs[y][1] };
                    check(d, &f, &b);
                }
        }
    device_destroy(&d);
}

static void one_dimension_has_no_y_ghosts(void **state)
{
    (void)state;
    device *d = device_host_create(1);
    boundary_side pairs[16][2];
    const int count = side_pairs(pairs);
    const field_shape f = field_shape_make(DTYPE_F64, 21, 1, 8, 0);
    for (int x = 0; x < count; x++) {
        const boundary b = { pairs[x][0], pairs[x][1], { BOUNDARY_PERIODIC, 0 }, { BOUNDARY_PERIODIC, 0 } };
        check(d, &f, &b);
    }
    device_destroy(&d);
}

/* Enough ghosts for a team of threads. */
static void many_ghosts_by_many_threads(void **state)
{
    (void)state;
    device *d = device_host_create(4);
    const field_shape f = field_shape_make(DTYPE_F32, 3001, 2003, 4, 4);
    const boundary b = {
        { BOUNDARY_DIRICHLET, 1.5 },
        { BOUNDARY_NEUMANN, 0 },
        { BOUNDARY_NEUMANN, 0 },
        { BOUNDARY_DIRICHLET, 0.3 },
    };
    check(d, &f, &b);
    device_destroy(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pair_of_sides),
        cmocka_unit_test(one_dimension_has_no_y_ghosts),
        cmocka_unit_test(many_ghosts_by_many_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
