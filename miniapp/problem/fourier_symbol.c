/* The scan is sound: g is a trigonometric polynomial of degree r per axis, and the scan has at least 32
 * angles for its shortest wave, so no maximum lies between two of them unseen: by Bernstein's inequality the
 * largest sample is within 1 - cos(pi / 32)^2 < 2 % of the maximum. Refined are all local maxima of the
 * samples within 2 % of the largest. A box of radius 8 takes half a second. */
#include "problem/problem.h"

#include <math.h>

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
static const uint64_t turn = (uint64_t)1 << 40;
enum { SCAN_WAVE = 32, SCAN_MOST = SCAN_WAVE * STENCIL_RADIUS_MAX }; /* angles for the shortest wave */

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
static double refine(const stencil *op, uint64_t x, uint64_t y, uint64_t step)
{
    double best = size_at(op, x, y);
    while (step >= 16) {
        uint64_t better = 4;               /* the sample itself */
        for (uint64_t k = 0; k < 9; k++) { /* and its neighbours in x and y */
            const double g = size_at(op, x + (k % 3) * step - step, y + (k / 3) * step - step);
            if (g > best) {
                best = g;
                better = k;
            }
        }
        x += (better % 3) * step - step;
        y += (better / 3) * step - step;
        if (better == 4) step /= 2;
    }
    return best;
}

double fourier_symbol_largest(const stencil *op)
{
    if (weight_sums_of(op).size <= 1) return 1.0;
    static double size[SCAN_MOST / 2 + 1][SCAN_MOST];
    int count = SCAN_WAVE;
    while (count < SCAN_WAVE * op->radius) count *= 2;
    /* real weights have |g| again at -x and -y, so half of the y angles do */
    const int rows = op->form == STENCIL_LINE ? 1 : count / 2 + 1;
    const uint64_t step = turn / (uint64_t)count;
    double largest = 0.0;
    for (int j = 0; j < rows; j++)
        for (int i = 0; i < count; i++) {
            size[j][i] = size_at(op, (uint64_t)i * step, (uint64_t)j * step);
            largest = fmax(largest, size[j][i]);
        }
    double best = largest;
    for (int j = 0; j < rows; j++)
        for (int i = 0; i < count; i++) {
            const double s = size[j][i];
            const bool peak = s >= size[j][(i + 1) % count] && s >= size[j][(i + count - 1) % count] &&
                              (j == 0 || s >= size[j - 1][i]) && (j == rows - 1 || s >= size[j + 1][i]);
            if (!peak || s < 0.98 * largest) continue;
            best = fmax(best, refine(op, (uint64_t)i * step, (uint64_t)j * step, step / 2));
        }
    return best;
}
