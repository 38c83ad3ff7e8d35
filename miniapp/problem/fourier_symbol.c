/* The scan is sound: g is a trigonometric polynomial of degree r <= 8 per axis, so 256 angles are at least 32
 * for its shortest wave, and no maximum lies between two of them unseen: by Bernstein's inequality the
 * largest sample is within 1 - cos(8 pi / 256)^2 < 2 % of the maximum. Refined are all local maxima of the
 * samples within 2 % of the largest. */
#include "problem/fourier_symbol.h"

#include <math.h>

#include "problem/portable_math.h"

enum { ENUMERATE_MODES_MAX = 1 << 14 };

double_double_complex fourier_symbol_of(const stencil *op, const mode_axis *x, const mode_axis *y)
{
    const int r = op->radius;
    double_double_complex g = double_double_complex_of(double_double_of(0.0));
    for (int dy = -r; dy <= r; dy++)
        for (int dx = -r; dx <= r; dx++) {
            const int at = stencil_weight_index(op->form, r, dx, dy);
            if (at < 0) continue;
            const double_double_complex both = double_double_complex_mul(mode_axis_shift_factor(x, dx),
                                                                         mode_axis_shift_factor(y, dy));
            const double_double w = double_double_of(op->weight[at]);
            g.re = double_double_add(g.re, double_double_mul(w, both.re));
            g.im = double_double_add(g.im, double_double_mul(w, both.im));
        }
    return g;
}

/* ---- the largest |g| ---- */

/* The stencil as rows of weights, [dy + r][dx + r]. */
typedef struct dense {
    int radius, rows; /* rows 0 for a LINE */
    double weight[2 * STENCIL_RADIUS_MAX + 1][2 * STENCIL_RADIUS_MAX + 1];
} dense;

static dense dense_of(const stencil *op)
{
    dense d = { .radius = op->radius, .rows = op->form == STENCIL_LINE ? 0 : op->radius };
    for (int dy = -d.rows; dy <= d.rows; dy++)
        for (int dx = -d.radius; dx <= d.radius; dx++) {
            const int at = stencil_weight_index(op->form, d.radius, dx, dy);
            if (at >= 0) d.weight[dy + d.rows][dx + d.radius] = op->weight[at];
        }
    return d;
}

/* The powers e^(2 pi i k p / q) of an angle, k = -r..r; also the sums of a stencil's columns. */
typedef struct powers {
    double re[2 * STENCIL_RADIUS_MAX + 1], im[2 * STENCIL_RADIUS_MAX + 1];
} powers;

static powers powers_of(uint64_t p, uint64_t q, int r)
{
    powers at = { { 0 }, { 0 } };
    for (int k = 0; k <= r; k++) {
        portable_math_sincos(p * (uint64_t)k % q, q, &at.im[r + k], &at.re[r + k]);
        at.re[r - k] = at.re[r + k];
        at.im[r - k] = -at.im[r + k];
    }
    return at;
}

static powers columns_at(const dense *d, const powers *y)
{
    powers column = { { 0 }, { 0 } };
    for (int i = 0; i <= 2 * d->radius; i++)
        for (int j = 0; j <= 2 * d->rows; j++) {
            column.re[i] += d->weight[j][i] * y->re[j];
            column.im[i] += d->weight[j][i] * y->im[j];
        }
    return column;
}

static double size_at(const dense *d, const powers *column, const powers *x)
{
    double re = 0.0, im = 0.0;
    for (int i = 0; i <= 2 * d->radius; i++) {
        re += column->re[i] * x->re[i] - column->im[i] * x->im[i];
        im += column->re[i] * x->im[i] + column->im[i] * x->re[i];
    }
    return portable_math_hypot(re, im);
}

/* Angles of the scan in units of 2^-40 of a turn. */
static const uint64_t turn = (uint64_t)1 << 40, scan_step = ((uint64_t)1 << 40) / FOURIER_SYMBOL_SCAN;

static double size_at_angles(const dense *d, uint64_t x_angle, uint64_t y_angle)
{
    const powers x = powers_of(x_angle % turn, turn, d->radius), y = powers_of(y_angle % turn, turn, d->rows);
    const powers column = columns_at(d, &y);
    return size_at(d, &column, &x);
}

/* Compass search from a sample that is a local maximum; the error is quadratic in the last step, so below
 * 1e-18. */
static double refine(const dense *d, uint64_t x, uint64_t y)
{
    double best = size_at_angles(d, x, y);
    for (uint64_t step = scan_step / 2; step >= 16;) {
        int better = -1;
        for (int k = 0; k < 9; k++) { /* the neighbours in x and y; adding turn - step is a step back */
            const double g = size_at_angles(d, x + turn + (uint64_t)(k % 3) * step - step,
                                            y + turn + (uint64_t)(k / 3) * step - step);
            if (g > best) {
                best = g;
                better = k;
            }
        }
        if (better < 0) {
            step /= 2;
            continue;
        }
        x += turn + (uint64_t)(better % 3) * step - step;
        y += turn + (uint64_t)(better / 3) * step - step;
    }
    return best;
}

static double scan(const dense *d)
{
    /* real weights: g(-theta) is the conjugate of g(theta), so half of the y angles do */
    enum { X = FOURIER_SYMBOL_SCAN, Y = FOURIER_SYMBOL_SCAN / 2 + 1 };
    double size[Y][X]; /* a quarter of a megabyte of the main thread's stack */
    const int rows = d->rows > 0 ? Y : 1;
    powers x[X];
    double largest = 0.0;
    for (int i = 0; i < X; i++) x[i] = powers_of((uint64_t)i, FOURIER_SYMBOL_SCAN, d->radius);
    for (int j = 0; j < rows; j++) {
        const powers y = powers_of((uint64_t)j, FOURIER_SYMBOL_SCAN, d->rows), column = columns_at(d, &y);
        for (int i = 0; i < X; i++) {
            size[j][i] = size_at(d, &column, &x[i]);
            if (size[j][i] > largest) largest = size[j][i];
        }
    }
    double best = largest;
    for (int j = 0; j < rows; j++)
        for (int i = 0; i < X; i++) {
            const double s = size[j][i];
            const bool peak = s >= size[j][(i + 1) % X] && s >= size[j][(i + X - 1) % X] &&
                              (j == 0 || s >= size[j - 1][i]) && (j == rows - 1 || s >= size[j + 1][i]);
            if (!peak || s < 0.98 * largest) continue;
            best = fmax(best, refine(d, (uint64_t)i * scan_step, (uint64_t)j * scan_step));
        }
    return best;
}

static powers powers_of_mode(int64_t n, boundary_kind low, boundary_kind high, int64_t i, int r)
{
    const mode_axis a = mode_axis_make(n, low, high, mode_axis_first(low, high) + i);
    return powers_of(a.turn_p, a.turn_q, r);
}

static double enumerate(const dense *d, const config *c)
{
    const boundary *s = &c->grid.sides;
    double best = 0.0;
    for (int64_t j = 0; j < (d->rows > 0 ? c->grid.ny : 1); j++) {
        const powers y = d->rows > 0 ? powers_of_mode(c->grid.ny, s->y_low.kind, s->y_high.kind, j, d->rows)
                                     : powers_of(0, 1, 0);
        const powers column = columns_at(d, &y);
        for (int64_t i = 0; i < c->grid.nx; i++) {
            const powers x = powers_of_mode(c->grid.nx, s->x_low.kind, s->x_high.kind, i, d->radius);
            best = fmax(best, size_at(d, &column, &x));
        }
    }
    return best;
}

weight_sums weight_sums_of(const stencil *op)
{
    weight_sums s = { double_double_of(0.0), double_double_of(0.0) };
    for (int i = 0; i < stencil_weights(op->form, op->radius); i++) {
        s.sum = double_double_add(s.sum, double_double_of(op->weight[i]));
        s.size = double_double_add(s.size, double_double_of(fabs(op->weight[i])));
    }
    return s;
}

double fourier_symbol_largest(const stencil *op, const config *c)
{
    const dense d = dense_of(op);
    if (double_double_sub(weight_sums_of(op).size, double_double_of(1.0)).hi <= 0.0) return 1.0;
    if (c->grid.nx <= ENUMERATE_MODES_MAX && c->grid.ny <= ENUMERATE_MODES_MAX &&
        c->grid.nx * c->grid.ny <= ENUMERATE_MODES_MAX)
        return enumerate(&d, c);
    return scan(&d);
}
