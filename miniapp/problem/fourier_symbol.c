/* The scan is sound: g is a trigonometric polynomial of degree r <= 8 per axis, so 256 angles are at least 32 for its
 * shortest wave, and no maximum lies between two of them unseen: by Bernstein's inequality the largest sample is within
 * 1 - cos(8 pi / 256)^2 < 2 % of the maximum. Refined are all local maxima of the samples within 2 % of the largest. */
#include "problem/fourier_symbol.h"

#include <complex.h>
#include <math.h>

enum { ENUMERATE_MODES_MAX = 1 << 14 };

/* The symbol of the 2r+1 factors that stand `step` apart from `first` on, along one axis. */
static fourier_symbol symbol_along(const stencil *op, int first, int step, const mode_axis *axis)
{
    const int r = op->radius;
    fourier_symbol g = { double_double_of(0.0), double_double_of(0.0) };
    for (int d = -r; d <= r; d++) {
        double_double re, im;
        const double_double w = double_double_of(op->weight[first + (d + r) * step]);
        mode_axis_shift_factor(axis, d, &re, &im);
        g.re = double_double_add(g.re, double_double_mul(w, re));
        g.im = double_double_add(g.im, double_double_mul(w, im));
    }
    return g;
}

static fourier_symbol symbol_of_factors(const stencil *op, const mode_axis *x, const mode_axis *y)
{
    const int r = op->radius, products = stencil_products(op->form);
    fourier_symbol g = { double_double_of(0.0), double_double_of(0.0) };
    for (int k = 0; k < products; k++) {
        const fourier_symbol a = symbol_along(op, stencil_row_factor(r, k, -r), 1, x);
        const fourier_symbol b = symbol_along(op, stencil_column_factor(products, r, k, -r), products, y);
        const double_double re = double_double_sub(double_double_mul(a.re, b.re), double_double_mul(a.im, b.im));
        const double_double im = double_double_add(double_double_mul(a.re, b.im), double_double_mul(a.im, b.re));
        g.re = double_double_add(g.re, re);
        g.im = double_double_add(g.im, im);
    }
    return g;
}

fourier_symbol fourier_symbol_of(const stencil *op, const mode_axis *x, const mode_axis *y)
{
    const int r = op->radius;
    fourier_symbol g = { double_double_of(0.0), double_double_of(0.0) };
    if (stencil_products(op->form) > 0) return symbol_of_factors(op, x, y);
    for (int dy = -r; dy <= r; dy++) {
        double_double y_re, y_im;
        mode_axis_shift_factor(y, dy, &y_re, &y_im);
        for (int dx = -r; dx <= r; dx++) {
            const int at = stencil_weight_index(op->form, r, dx, dy);
            if (at < 0) continue;
            const double_double w = double_double_of(op->weight[at]);
            double_double x_re, x_im;
            mode_axis_shift_factor(x, dx, &x_re, &x_im);
            const double_double re = double_double_sub(double_double_mul(x_re, y_re), double_double_mul(x_im, y_im));
            const double_double im = double_double_add(double_double_mul(x_re, y_im), double_double_mul(x_im, y_re));
            g.re = double_double_add(g.re, double_double_mul(w, re));
            g.im = double_double_add(g.im, double_double_mul(w, im));
        }
    }
    return g;
}

/* ---- the largest |g| ---- */

/* The stencil as rows of weights, [dy + r][dx + r]. */
typedef struct dense {
    int radius, rows; /* rows 1 for a LINE */
    long double weight[2 * STENCIL_RADIUS_MAX + 1][2 * STENCIL_RADIUS_MAX + 1];
} dense;

static long double product_weight(const stencil *op, int dx, int dy)
{
    const int r = op->radius, products = stencil_products(op->form);
    long double w = 0.0L;
    for (int k = 0; k < products; k++)
        w += (long double)op->weight[stencil_row_factor(r, k, dx)] * (long double)op->weight[stencil_column_factor(products, r, k, dy)];
    return w;
}

static dense dense_of(const stencil *op)
{
    dense d = { .radius = op->radius, .rows = op->form == STENCIL_LINE ? 0 : op->radius };
    for (int dy = -d.rows; dy <= d.rows; dy++)
        for (int dx = -d.radius; dx <= d.radius; dx++) {
            const int at = stencil_weight_index(op->form, d.radius, dx, dy);
            if (at >= 0) d.weight[dy + d.rows][dx + d.radius] = (long double)op->weight[at];
            else if (stencil_products(op->form) > 0) d.weight[dy + d.rows][dx + d.radius] = product_weight(op, dx, dy);
        }
    return d;
}

/* One angle's powers e^(i k theta), k = -r..r, or cosines. */
typedef struct powers {
    long double complex at[2 * STENCIL_RADIUS_MAX + 1];
} powers;

static powers powers_of(long double theta, int r)
{
    powers p;
    for (int k = -r; k <= r; k++) p.at[k + r] = cosl(k * theta) + I * sinl(k * theta);
    return p;
}

static void columns_at(const dense *d, const powers *y, long double complex *column)
{
    for (int i = 0; i <= 2 * d->radius; i++) {
        column[i] = 0.0L;
        for (int j = 0; j <= 2 * d->rows; j++) column[i] += d->weight[j][i] * y->at[j];
    }
}

static long double size_at(const dense *d, const long double complex *column, const powers *x)
{
    long double complex g = 0.0L;
    for (int i = 0; i <= 2 * d->radius; i++) g += column[i] * x->at[i];
    return cabsl(g);
}

static long double size_at_angles(const dense *d, long double theta_x, long double theta_y)
{
    const powers x = powers_of(theta_x, d->radius), y = powers_of(theta_y, d->rows);
    long double complex column[2 * STENCIL_RADIUS_MAX + 1];
    columns_at(d, &y, column);
    return size_at(d, column, &x);
}

/* Compass search from a sample that is a local maximum; the error is quadratic in the last step, so below 1e-18. */
static long double refine(const dense *d, long double theta_x, long double theta_y, long double step)
{
    long double best = size_at_angles(d, theta_x, theta_y);
    while (step > 1e-10L) {
        const long double try_at[8][2] = { { step, 0 }, { -step, 0 }, { 0, step }, { 0, -step },
                                           { step, step }, { step, -step }, { -step, step }, { -step, -step } };
        int better = -1;
        for (int k = 0; k < 8; k++) {
            const long double g = size_at_angles(d, theta_x + try_at[k][0], theta_y + try_at[k][1]);
            if (g > best) {
                best = g;
                better = k;
            }
        }
        if (better < 0) {
            step /= 2;
            continue;
        }
        theta_x += try_at[better][0];
        theta_y += try_at[better][1];
    }
    return best;
}

static long double scan(const dense *d)
{
    /* real weights: g(-theta) is the conjugate of g(theta), so half of the y angles do */
    enum { X = FOURIER_SYMBOL_SCAN, Y = FOURIER_SYMBOL_SCAN / 2 + 1 };
    long double size[Y][X]; /* half a megabyte of the main thread's stack */
    const long double pi = 3.14159265358979323846264338327950288L, step = 2 * pi / FOURIER_SYMBOL_SCAN;
    const int rows = d->rows > 0 ? Y : 1;
    powers x[X];
    long double largest = 0.0L;
    for (int i = 0; i < X; i++) x[i] = powers_of(i * step, d->radius);
    for (int j = 0; j < rows; j++) {
        const powers y = powers_of(j * step, d->rows);
        long double complex column[2 * STENCIL_RADIUS_MAX + 1];
        columns_at(d, &y, column);
        for (int i = 0; i < X; i++) {
            size[j][i] = size_at(d, column, &x[i]);
            if (size[j][i] > largest) largest = size[j][i];
        }
    }
    long double best = largest;
    for (int j = 0; j < rows; j++)
        for (int i = 0; i < X; i++) {
            const long double s = size[j][i];
            const bool peak = s >= size[j][(i + 1) % X] && s >= size[j][(i + X - 1) % X] &&
                              (j == 0 || s >= size[j - 1][i]) && (j == rows - 1 || s >= size[j + 1][i]);
            if (!peak || s < 0.98L * largest) continue;
            const long double refined = refine(d, i * step, j * step, step / 2);
            if (refined > best) best = refined;
        }
    return best;
}

/* The angle of every mode of one axis. */
static long double mode_angle(int64_t n, boundary_kind low, boundary_kind high, int64_t m)
{
    const mode_axis a = mode_axis_make(n, low, high, m);
    return 6.28318530717958647692528676655900576L * (long double)a.turn_p / (long double)a.turn_q;
}

static long double enumerate(const dense *d, const config *c)
{
    const boundary *s = &c->grid.sides;
    const int64_t y_first = d->rows > 0 ? mode_axis_first(s->y_low.kind, s->y_high.kind) : 0;
    const int64_t x_first = mode_axis_first(s->x_low.kind, s->x_high.kind);
    const int64_t y_modes = d->rows > 0 ? c->grid.ny : 1;
    long double best = 0.0L;
    for (int64_t j = 0; j < y_modes; j++) {
        const powers y = powers_of(
            d->rows > 0 ? mode_angle(c->grid.ny, s->y_low.kind, s->y_high.kind, y_first + j) : 0.0L, d->rows);
        long double complex column[2 * STENCIL_RADIUS_MAX + 1];
        columns_at(d, &y, column);
        for (int64_t i = 0; i < c->grid.nx; i++) {
            const powers x = powers_of(mode_angle(c->grid.nx, s->x_low.kind, s->x_high.kind, x_first + i), d->radius);
            const long double g = size_at(d, column, &x);
            if (g > best) best = g;
        }
    }
    return best;
}

/* `count` weights that stand `step` apart. */
static weight_sums sums_along(const double *weight, int count, int step)
{
    weight_sums s = { 0 };
    for (int i = 0; i < count; i++) {
        s.sum += (long double)weight[i * step];
        s.size += fabsl((long double)weight[i * step]);
    }
    return s;
}

weight_sums weight_sums_of(const stencil *op)
{
    const int r = op->radius, products = stencil_products(op->form), side = 2 * r + 1;
    weight_sums s = { 0 };
    if (products == 0) return sums_along(op->weight, stencil_weights(op->form, r), 1);
    for (int k = 0; k < products; k++) {
        const weight_sums a = sums_along(op->weight + stencil_row_factor(r, k, -r), side, 1);
        const weight_sums b = sums_along(op->weight + stencil_column_factor(products, r, k, -r), side, products);
        s.sum += a.sum * b.sum;
        s.size += a.size * b.size;
    }
    return s;
}

long double fourier_symbol_largest(const stencil *op, const config *c)
{
    const dense d = dense_of(op);
    if (weight_sums_of(op).size <= 1.0L) return 1.0L;
    if (c->grid.nx <= ENUMERATE_MODES_MAX && c->grid.ny <= ENUMERATE_MODES_MAX &&
        c->grid.nx * c->grid.ny <= ENUMERATE_MODES_MAX)
        return enumerate(&d, c);
    return scan(&d);
}
