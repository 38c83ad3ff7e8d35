/* Several steps in one pass give the bits of as many passes of one step with their ghosts filled, whatever
 * the sides, the size and the cut: on a GPU where there is one, else on the host. Of two levels, both.
 *
 * The answer: passes of one step over a whole domain, on the host. Then a window of it, as a rank would own
 * it: cut sides have data in their ghosts, steps * radius deep (of the level before, radius less), periodic
 * sides too; ghosts beyond dirichlet and neumann sides are NaN and must not be used. gpus: part
 * release: three times as many cases, and larger fields */
#include "support/host_field.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "support/sanitized.h"
#include "support/side_pairs.h"
#include "temporal/temporal.h"

static device *host, *tested;
static device_stream *host_stream, *tested_stream;

#define OK(d, call)                                                                        \
    do {                                                                                   \
        const int code_ = (call);                                                          \
        if (code_) fail_msg("%s: %s: %s", (d)->name, #call, (d)->error_text(code_));       \
    } while (0)

/* How far data go beyond a side. */
static int64_t beyond(boundary_side s, int64_t depth) { return boundary_mirrors(s.kind) ? 0 : depth; }

/* All ghosts, the sides' rules along x first. */
typedef struct problem {
    stencil op;
    boundary sides;
    int64_t nx, ny;
    int steps;
} problem;

enum { LEVELS = 2 };

/* A level as a rank has it that owns this window: NaN wherever a pass must not read. */
static void fill_window(const field_shape *f, const void *level, int depth, const boundary *sides, box w,
                        const field_shape *own, void *to)
{
    const int64_t depth_y = own->depth_y > 0 ? depth : 0;
    const int64_t x0 = -beyond(sides->x_low, depth), x1 = own->nx + beyond(sides->x_high, depth);
    const int64_t y0 = -beyond(sides->y_low, depth_y), y1 = own->ny + beyond(sides->y_high, depth_y);
    const size_t row_bytes = (size_t)(x1 - x0) * dtype_bytes(own->type);
    memset(to, 0xff, own->bytes);
    for (int64_t y = y0; y < y1; y++)
        memcpy(field_at(own, to, x0, y), field_at_const(f, level, w.x0 + x0, w.y0 + y), row_bytes);
}

static void compare_window(const problem *p, const field_shape *f, const void *answer, box w,
                           const field_shape *own, const void *seen, const char *what)
{
    for (int64_t y = 0; y < own->ny; y++)
        for (int64_t x = 0; x < own->nx; x++)
            if (memcmp(field_at_const(own, seen, x, y), field_at_const(f, answer, w.x0 + x, w.y0 + y),
                       dtype_bytes(p->op.type)))
                fail_msg("%s, form %d, r = %d, %s, %d steps, domain %lldx%lld sides %d%d %d%d, window "
                         "%lld..%lld x %lld..%lld, %s: "
                         "cell (%lld, %lld) is %a, not %a",
                         tested->name, (int)p->op.form, p->op.radius, dtype_name(p->op.type), p->steps,
                         (long long)p->nx, (long long)p->ny, (int)p->sides.x_low.kind,
                         (int)p->sides.x_high.kind, (int)p->sides.y_low.kind, (int)p->sides.y_high.kind,
                         (long long)w.x0, (long long)w.x1, (long long)w.y0, (long long)w.y1, what,
                         (long long)x, (long long)y, host_field_get(own->type, seen, field_index(own, x, y)),
                         host_field_get(f->type, answer, field_index(f, w.x0 + x, w.y0 + y)));
}

/* What bytes the last pass finds: of a number, as ghosts that are worked out of NaN are NaN. It may leave
 * others in the window and TEMPORAL_OVER columns beyond a periodic x_high. */
enum { UNWRITTEN = 0x5a };
static void check_ghosts(const problem *p, const field_shape *own, const void *seen, const boundary *sides,
                         const char *what)
{
    const int64_t over = sides->x_high.kind == BOUNDARY_PERIODIC ? TEMPORAL_OVER : 0;
    const box written = { 0, own->nx + over, 0, own->ny };
    for (int64_t y = -own->depth_y; y < own->ny + own->depth_y; y++)
        for (int64_t x = -own->depth_x; x < own->nx + own->depth_x; x++) {
            if (written.x0 <= x && x < written.x1 && written.y0 <= y && y < written.y1) continue;
            const unsigned char *cell = field_at_const(own, seen, x, y);
            for (size_t i = 0; i < dtype_bytes(p->op.type); i++)
                if (cell[i] != UNWRITTEN)
                    fail_msg(
                        "%s, form %d, r = %d, %d steps, window %lldx%lld, %s: ghost (%lld, %lld) was written",
                        tested->name, (int)p->op.form, p->op.radius, p->steps, (long long)own->nx,
                        (long long)own->ny, what, (long long)x, (long long)y);
        }
}

/* The norm of the last pass into a window, against that of the answer. */
static void compare_change(const field_shape *f, void *const answer[LEVELS], box w, const uint64_t *change)
{
    uint64_t seen, expected;
    OK(tested, tested->copy(tested, &seen, change, sizeof seen, tested_stream));
    OK(tested, tested->stream_sync(tested, tested_stream));
    OK(host, host->max_change(host, f, answer[0], answer[1], w, &expected, host_stream));
    assert_int_equal(seen, expected);
}

/* One window of the domain: `start` are the domain's levels with all ghosts filled, `answer` the last two
 * after the steps. Every other window's last pass takes the norm too, where it can. */
static void window_case(const problem *p, const field_shape *f, void *const start[LEVELS],
                        void *const answer[LEVELS], box w)
{
    const int levels = p->op.has_prev ? LEVELS : 1, depth = p->steps * p->op.radius;
    const int depth_y = p->op.form == STENCIL_LINE ? 0 : depth;
    const boundary_side cut = { BOUNDARY_NONE, 0.0 };
    const boundary sides = { w.x0 == 0 ? p->sides.x_low : cut, w.x1 == p->nx ? p->sides.x_high : cut,
                             w.y0 == 0 ? p->sides.y_low : cut, w.y1 == p->ny ? p->sides.y_high : cut };
    const field_shape own = field_shape_make(p->op.type, box_width(w), box_height(w), depth, depth_y);
    void *const data = malloc(own.bytes), *there[2][LEVELS] = { { NULL } }, *change = NULL;
    static int turn;
    assert_non_null(data);
    for (int k = 0; k < levels; k++) {
        for (int i = 0; i < 2; i++)
            OK(tested, tested->alloc(tested, DEVICE_MEMORY_DEVICE, own.bytes, &there[i][k]));
        fill_window(f, start[k], depth - k * p->op.radius, &sides, w, &own, data);
        OK(tested, tested->copy(tested, there[0][k], data, own.bytes, tested_stream));
        OK(tested, tested->fill_bytes(tested, there[1][k], 0xff, own.bytes, tested_stream));
        OK(tested, tested->stream_sync(tested, tested_stream));
    }
    OK(tested, tested->alloc(tested, DEVICE_MEMORY_DEVICE, sizeof(uint64_t), &change));
    OK(tested, tested->fill_bytes(tested, change, 0, sizeof(uint64_t), tested_stream));
    turn++;
    /* each in turn, with a norm and without */
    tested->temporal_variants.chosen = turn / 2 % tested->temporal_variants.count;
    int at = 0;
    bool norm = false;
    for (int left = p->steps; left > 0; at = 1 - at) {
        const int steps = tested->temporal_steps(tested, left);
        assert_in_range(steps, 1, left);
        left -= steps;
        /* ghosts that later passes need */
        const int64_t later = (int64_t)left * p->op.radius, later_y = depth_y > 0 ? later : 0;
        const box cells = { -beyond(sides.x_low, later), own.nx + beyond(sides.x_high, later),
                            -beyond(sides.y_low, later_y), own.ny + beyond(sides.y_high, later_y) };
        /* in two boxes, the left one last: neither may write what is the other's */
        const int64_t middle = cells.x0 + 5 * box_width(cells) / 7;
        const box parts[] = { { middle, cells.x1, cells.y0, cells.y1 },
                              { cells.x0, middle, cells.y0, cells.y1 } };
        const bool parted = (left + own.nx) % 2 != 0;
        void *const *next = there[1 - at], *const *cur = there[at];
        if (left == 0)
            for (int k = 0; k < levels; k++)
                OK(tested, tested->fill_bytes(tested, next[k], UNWRITTEN, own.bytes, tested_stream));
        norm = left == 0 && turn % 2 == 0 && tested->temporal_change_steps(tested, steps) == steps;
        for (int i = 0; i < (parted ? 2 : 1); i++)
            OK(tested, tested->temporal_pass(tested, &own, next[0], next[1], cur[0], cur[1],
                                             parted ? parts[i] : cells, steps, &sides, norm ? change : NULL,
                                             tested_stream));
    }
    const char *const names[LEVELS] = { levels == 1 ? "one level" : "of two levels", "the level before" };
    if (norm) compare_change(f, answer, w, change);
    OK(tested, tested->free(tested, DEVICE_MEMORY_DEVICE, change));
    for (int k = 0; k < levels; k++) {
        OK(tested, tested->copy(tested, data, there[at][k], own.bytes, tested_stream));
        OK(tested, tested->stream_sync(tested, tested_stream));
        compare_window(p, f, answer[k], w, &own, data, names[k]);
        check_ghosts(p, &own, data, &sides, names[k]);
        for (int i = 0; i < 2; i++) OK(tested, tested->free(tested, DEVICE_MEMORY_DEVICE, there[i][k]));
    }
    free(data);
}

static void problem_case(const problem *p)
{
    const int depth = p->steps * p->op.radius, depth_y = p->op.form == STENCIL_LINE ? 0 : depth;
    const field_shape f = field_shape_make(p->op.type, p->nx, p->ny, depth, depth_y);
    void *const start[LEVELS] = { host_field_create(host, &f, 7), host_field_create(host, &f, 8) };
    void *answer[LEVELS];
    const box all = field_own(&f);
    for (int k = 0; k < LEVELS; k++) {
        host_field_fill_ghosts(host, &f, start[k], &p->sides, host_stream);
        answer[k] = host_field_clone(host, &f, start[k]);
    }
    host_field_step(host, &f, answer, p->op.has_prev, &p->sides, p->steps, host_stream);
    /* a neighbour owns at least as many cells as the ghosts are deep */
    const int64_t x = p->nx / 3 > depth ? p->nx / 3 : depth, y = p->ny / 2 > depth ? p->ny / 2 : depth;
    const bool within_x = p->nx >= 2 * depth + p->op.radius;
    window_case(p, &f, start, answer, all);
    if (depth_y == 0) {
        if (p->nx - x >= depth) window_case(p, &f, start, answer, box_make(0, x, 0, p->ny));
        if (p->nx - x >= depth) window_case(p, &f, start, answer, box_make(x, p->nx, 0, p->ny));
        if (within_x) window_case(p, &f, start, answer, box_make(depth, p->nx - depth, 0, p->ny));
    } else {
        if (p->nx - x >= depth && p->ny - y >= depth) {
            window_case(p, &f, start, answer, box_make(0, x, 0, y));
            window_case(p, &f, start, answer, box_make(x, p->nx, y, p->ny));
            window_case(p, &f, start, answer, box_make(0, p->nx, y, p->ny));
        }
        if (within_x && p->ny >= 2 * depth + p->op.radius)
            window_case(p, &f, start, answer, box_make(depth, p->nx - depth, depth, p->ny - depth));
    }
    for (int k = 0; k < LEVELS; k++) {
        host_field_free(host, start[k]);
        host_field_free(host, answer[k]);
    }
}

static double rounded(dtype t, double u) { return t == DTYPE_F32 ? (double)(float)u : u; }

static void bind_random(stencil *op)
{
    uint64_t state = 11;
    for (int i = 0; i < stencil_weights(op->form, op->radius); i++)
        op->weight[i] = rounded(op->type, host_field_number(&state) / op->radius);
    op->beta = op->has_prev ? rounded(op->type, -0.9) : 0;
    OK(host, host->stencil_bind(host, op));
    OK(tested, tested->stencil_bind(tested, op));
}

/* Of one level and of two, f32 and f64. */
enum { KINDS = 4 };
static int kinds_of(stencil_form form) { return form == STENCIL_BOX ? KINDS / 2 : KINDS; }
static stencil op_of(stencil_form form, int radius, int kind)
{
    const stencil op = {
        .form = form, .radius = radius, .type = kind % 2 == 0 ? DTYPE_F32 : DTYPE_F64, .has_prev = kind >= 2
    };
    return op;
}

/* All sides, small odd sizes: narrower than a strip, lower than the halo depth. */
static void small(void **state)
{
    (void)state;
    static const int steps[] = { 1, 2, 3, 4, 8, 16 };
    static const int64_t sizes[][2] = { { 4, 4 }, { 9, 5 }, { 37, 23 }, { 130, 41 }, { 261, 90 } };
    for (stencil_form form = STENCIL_LINE; form <= STENCIL_BOX; form++)
        for (int radius = 1; radius <= (form == STENCIL_BOX ? 2 : 4); radius++)
            for (int kind = 0; kind < kinds_of(form); kind++) {
                problem p = { .op = op_of(form, radius, kind) };
                bind_random(&p.op);
                if (tested->temporal_steps(tested, 16) == 0) continue;
                for (int k = 0; k < (int)(sizeof steps / sizeof *steps); k++)
                    for (int size = 0; size < (int)(sizeof sizes / sizeof *sizes); size++)
                        /* two levels: of each some */
                        for (int turn = 0; turn < (p.op.has_prev ? (k + size) % 2 : 2); turn++) {
                            if (SANITIZED && (k + size + turn + kind) % 3 != 0) continue;
                            p.steps = steps[k];
                            /* lines: each by itself */
                            p.nx = sizes[size][0], p.ny = form == STENCIL_LINE ? 3 : sizes[size][1];
                            p.sides = side_pairs_of((k + size + turn) % SIDE_PAIRS,
                                                    (2 * k + 3 * size + 2 * turn) % SIDE_PAIRS);
                            problem_case(&p);
                        }
            }
}

/* The longest passes on grids narrower than two of CUDA's strips along a side, of every few widths to 70, and
 * lower than a halo. */
static void narrow(void **state)
{
    (void)state;
    static const struct {
        stencil_form form;
        int radius;
    } all[] = { { STENCIL_STAR, 1 }, { STENCIL_STAR, 2 }, { STENCIL_STAR, 3 },
                { STENCIL_STAR, 4 }, { STENCIL_BOX, 1 },  { STENCIL_BOX, 2 } };
    for (int i = 0; i < (int)(sizeof all / sizeof *all); i++)
        for (int kind = 0; kind < kinds_of(all[i].form); kind++) {
            problem p = { .op = op_of(all[i].form, all[i].radius, kind) };
            bind_random(&p.op);
            p.steps = tested->temporal_steps(tested, 16);
            if (p.steps == 0 || (SANITIZED && (i + kind) % 3 != 0)) continue;
            for (p.nx = p.op.radius; p.nx <= 70; p.nx += 3 + (p.nx + i + kind) % 4) {
                p.ny = p.op.radius + (5 * p.nx + i) % 29;
                p.sides = side_pairs_of((int)(p.nx + i) % (SIDE_PAIRS - 1) + 1,
                                        (int)(p.nx / 2 + kind) % SIDE_PAIRS);
                problem_case(&p);
            }
        }
}

/* So large that strips and chunks without sides are among them, and several of the host's tiles. */
static void large(void **state)
{
    (void)state;
    static const boundary_kind others[] = { BOUNDARY_PERIODIC, BOUNDARY_DIRICHLET, BOUNDARY_NEUMANN };
    for (int i = 0; i < 10; i++) {
        const stencil_form form = i < 4 ? STENCIL_STAR : i < 6 ? STENCIL_BOX : STENCIL_LINE;
        const int radius = i < 4 ? i + 1 : i < 6 ? i - 3 : i - 5;
        for (int kind = 0; kind < kinds_of(form); kind++) {
            problem p = { .op = op_of(form, radius, kind),
                          .nx = 1103,
                          .ny = (SANITIZED ? 173 : 517) + 2 * radius };
            bind_random(&p.op);
            if (tested->temporal_steps(tested, 12) == 0) continue;
            for (int k = p.op.has_prev ? radius % 3 : 0; k < 3; k += p.op.has_prev ? 3 : 1) {
                if (SANITIZED && (i + kind + k) % 3 != 0) continue;
                p.steps = k == 2 ? 3 : 12;
                const int along_x = others[k] == BOUNDARY_PERIODIC    ? 0
                                    : others[k] == BOUNDARY_DIRICHLET ? 3
                                                                      : 2;
                p.sides = side_pairs_of(along_x, (radius + k) % SIDE_PAIRS);
                problem_case(&p);
            }
        }
    }
}

static int run(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(small), cmocka_unit_test(narrow),
                                        cmocka_unit_test(large) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void)
{
    const char *why = NULL;
    int code = 0;
    host = device_host_create(0);
    if (host->stream_create(host, false, &host_stream)) return 1;
    tested = host;
    tested_stream = host_stream;
    const bool gpu = device_cuda_count(&why) > 0;
    if (!gpu) {
        printf("the host: %s\n", why);
    } else {
        tested = device_cuda_create(0, &code);
        if (!tested) {
            printf("cannot use the GPU: %s\n", device_cuda_error_text(code));
            return 1;
        }
        if (tested->stream_create(tested, false, &tested_stream)) return 1;
    }
    const int failed = run();
    if (gpu) {
        if (tested->stream_destroy(tested, &tested_stream)) return 1;
        device_destroy(&tested);
    }
    if (host->stream_destroy(host, &host_stream)) return 1;
    device_destroy(&host);
    return failed ? 1 : 0;
}
