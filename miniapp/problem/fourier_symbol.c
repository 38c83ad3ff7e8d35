/* The scan is sound: g is a trigonometric polynomial of degree r <= 8 per axis, so 256 angles are at least 32
 * for its shortest wave, and no maximum lies between two of them unseen: by Bernstein's inequality the
 * largest sample is within 1 - cos(8 pi / 256)^2 < 2 % of the maximum. Refined are all local maxima of the
 * samples within 2 % of the largest. */
#include "problem/fourier_symbol.h"

#include <math.h>

#include "problem/portable_math.h"

quad_complex fourier_symbol_of(const stencil *op, const mode_axis *x, const mode_axis *y)
{
    quad_complex g = { 0, 0 };
    for (int at = 0; at < stencil_weights(op->form, op->radius); at++) {
        int dx, dy;
        stencil_weight_place(op->form, op->radius, at, &dx, &dy);
        const quad_complex both =
            quad_complex_mul(mode_axis_shift_factor(x, dx), mode_axis_shift_factor(y, dy));
        g.re += op->weight[at] * both.re;
        g.im += op->weight[at] * both.im;
    }
    return g;
}

weight_sums weight_sums_of(const stencil *op)
{
    weight_sums s = { 0, 0 };
    for (int i = 0; i < stencil_weights(op->form, op->radius); i++) {
        s.sum += op->weight[i];
        s.size += fabs(op->weight[i]);
    }
    return s;
}

/* ---- the largest |g| ---- */

/* Angles in units of 2^-40 of a turn, of which a uint64_t holds whole turns. */
static const uint64_t turn = (uint64_t)1 << 40, scan_step = ((uint64_t)1 << 40) / FOURIER_SYMBOL_SCAN;

static double size_at(const stencil *op, uint64_t x, uint64_t y)
{
    double re = 0.0, im = 0.0;
    for (int at = 0; at < stencil_weights(op->form, op->radius); at++) {
        double sine, cosine;
        int dx, dy;
        stencil_weight_place(op->form, op->radius, at, &dx, &dy);
        portable_math_sincos((x * (uint64_t)dx + y * (uint64_t)dy) % turn, turn, &sine, &cosine);
        re += op->weight[at] * cosine;
        im += op->weight[at] * sine;
    }
    return portable_math_hypot(re, im);
}

/* Compass search from a sample that is a local maximum; the error is quadratic in the last step, so below
 * 1e-18. */
static double refine(const stencil *op, uint64_t x, uint64_t y)
{
    double best = size_at(op, x, y);
    for (uint64_t step = scan_step / 2; step >= 16;) {
        uint64_t better = 9;
        for (uint64_t k = 0; k < 9; k++) { /* the neighbours in x and y */
            const double g = size_at(op, x + (k % 3) * step - step, y + (k / 3) * step - step);
            if (g > best) {
                best = g;
                better = k;
            }
        }
        if (better == 9) {
            step /= 2;
            continue;
        }
        x += (better % 3) * step - step;
        y += (better / 3) * step - step;
    }
    return best;
}

/* |g| at the angles i and j of the scan: real weights have it again at -i and -j, so half of the y angles do.
 */
enum { X = FOURIER_SYMBOL_SCAN, Y = FOURIER_SYMBOL_SCAN / 2 + 1 };
static void sample(const stencil *op, int rows, double size[Y][X])
{
    double im[Y][X] = { 0 }, cosine[X], sine[X]; /* with `size` half a megabyte of the main thread's stack */
    for (int i = 0; i < X; i++) portable_math_sincos((uint64_t)i, X, &sine[i], &cosine[i]);
    for (int at = 0; at < stencil_weights(op->form, op->radius); at++) {
        int dx, dy;
        stencil_weight_place(op->form, op->radius, at, &dx, &dy);
        for (int j = 0; j < rows; j++)
            for (int i = 0; i < X; i++) {
                const unsigned angle = (unsigned)(i * dx + j * dy) % X;
                size[j][i] += op->weight[at] * cosine[angle];
                im[j][i] += op->weight[at] * sine[angle];
            }
    }
    for (int j = 0; j < rows; j++)
        for (int i = 0; i < X; i++) size[j][i] = portable_math_hypot(size[j][i], im[j][i]);
}

double fourier_symbol_largest(const stencil *op)
{
    double size[Y][X] = { 0 }, largest = 0.0;
    const int rows = op->form == STENCIL_LINE ? 1 : Y;
    if (weight_sums_of(op).size <= 1) return 1.0;
    sample(op, rows, size);
    for (int j = 0; j < rows; j++)
        for (int i = 0; i < X; i++) largest = fmax(largest, size[j][i]);
    double best = largest;
    for (int j = 0; j < rows; j++)
        for (int i = 0; i < X; i++) {
            const double s = size[j][i];
            const bool peak = s >= size[j][(i + 1) % X] && s >= size[j][(i + X - 1) % X] &&
                              (j == 0 || s >= size[j - 1][i]) && (j == rows - 1 || s >= size[j + 1][i]);
            if (!peak || s < 0.98 * largest) continue;
            best = fmax(best, refine(op, (uint64_t)i * scan_step, (uint64_t)j * scan_step));
        }
    return best;
}
