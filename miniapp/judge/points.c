#include "judge/points.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ranks/check.h"

/* No machine repeats itself better. */
static const double noise_least = 0.005;
/* The median of distances from the median, and of differences of two, of normal numbers. */
static const double deviations_per_distance = 1.4826, deviations_per_difference = 1.0484;

static int ascending(const void *pa, const void *pb)
{
    const double a = *(const double *)pa, b = *(const double *)pb;
    return (a > b) - (a < b);
}

double check_median(double *x, int n)
{
    qsort(x, (size_t)n, sizeof *x, ascending);
    return (x[(n - 1) / 2] + x[n / 2]) / 2;
}

/* By how much a quantile far out in Student's distribution exceeds the normal one, roughly: at 1e-5 3.6 for n = 4, 1.9 for 8. */
static double few(int n) { return 1 + 5.0 / n + 20.0 / n / n; }

double check_scatter(double *x, int n)
{
    const double middle = check_median(x, n);
    for (int i = 0; i < n; i++) x[i] = fabs(x[i] - middle);
    return deviations_per_distance * few(n) * check_median(x, n);
}

/* ---- figures in the order of rows, components, rounds ---- */

static bool same_row(const check_figure *a, const check_figure *b) { return a->like == b->like && a->alone == b->alone; }
static bool same_component(const check_figure *a, const check_figure *b) { return same_row(a, b) && a->a == b->a && a->b == b->b; }

static int in_order(const void *pa, const void *pb)
{
    const check_figure *a = pa, *b = pb;
    if (a->like != b->like) return (int)a->like - (int)b->like;
    if (a->alone != b->alone) return a->alone - b->alone;
    if (a->a != b->a) return a->a < b->a ? -1 : 1;
    if (a->b != b->b) return a->b < b->b ? -1 : 1;
    return a->round - b->round;
}

static check_figure *sorted(const check_findings *f, int *count)
{
    check_figure *all = CHECK_ALLOC(malloc((size_t)(f->figures + 1) * sizeof *all));
    *count = 0;
    for (int i = 0; i < f->figures; i++)
        if (f->figure[i].rate > 0 && isfinite(f->figure[i].rate)) all[(*count)++] = f->figure[i];
    qsort(all, (size_t)*count, sizeof *all, in_order);
    return all;
}

/* ---- points ---- */

/* Of one component's rounds. Returns the noise of the best one's repeats. */
static double add_point(check_points *p, const check_figure *figure, int rounds)
{
    double best = -INFINITY, second = -INFINITY, noise = 0;
    for (int i = 0; i < rounds; i++) {
        const double x = log(figure[i].rate);
        if (x > best) {
            second = best;
            best = x;
            noise = figure[i].noise;
        } else if (x > second) {
            second = x;
        }
    }
    p->point[p->points++] = (check_point){ p->rows, figure->a, figure->b, best, rounds > 1 ? best - second : 0 };
    return isfinite(noise) ? noise : 0;
}

/* Where every component has at least this many rounds, the noise of its best one is estimated from the differences between rounds alone.
 * Repeats within a round count only where there are fewer. */
enum { ROUNDS_TELL = 3 };

/* The best of n rounds scatters less than a round, by about the fourth root of n, but load gives it a longer tail than a normal number
 * has, the more so the fewer rounds there are; a single round may be disturbed as a whole, so that its repeats tell a third of it. */
static void set_noise(check_point_row *row, double *repeats, double *differences, int count, int fewest, int rounds)
{
    const double by_repeats = fewest >= ROUNDS_TELL ? 0 : check_median(repeats, row->count);
    const double by_rounds = count > 0 ? deviations_per_difference * check_median(differences, count) / sqrt(sqrt(rounds)) : 0;
    const double known_badly = count > 0 ? few(count) * (1 + 2.0 / rounds) : 1;
    row->spread = fmax(noise_least, fmax(by_repeats, by_rounds));
    row->noise = fmax(noise_least, fmax(by_repeats * (rounds > 1 ? 1 : 3), by_rounds * known_badly));
}

/* Of `figures` figures of one row; two scratch arrays as long. */
static void add_row(check_points *p, const check_figure *figure, int figures, double *repeats, double *differences)
{
    check_point_row *row = &p->row[p->rows];
    int count = 0, fewest = figures, most = 1;
    *row = (check_point_row){ .like = figure->like, .alone = figure->alone, .first = p->points };
    for (int i = 0, rounds; i < figures; i += rounds) {
        for (rounds = 1; i + rounds < figures && same_component(&figure[i], &figure[i + rounds]); rounds++)
            differences[count++] = fabs(log(figure[i + rounds].rate / figure[i + rounds - 1].rate));
        repeats[row->count++] = add_point(p, &figure[i], rounds);
        if (rounds < fewest) fewest = rounds;
        if (rounds > most) most = rounds;
    }
    set_noise(row, repeats, differences, count, fewest, most);
    for (int i = row->first; i < p->points; i++) p->point[i].noise = hypot(p->point[i].noise, row->noise);
    p->rows++;
}

void check_points_create(check_points *p, const check_findings *f)
{
    int count;
    check_figure *figure = sorted(f, &count);
    double *scratch = CHECK_ALLOC(malloc((size_t)(2 * count + 1) * sizeof *scratch));
    *p = (check_points){ .point = CHECK_ALLOC(malloc((size_t)(count + 1) * sizeof *p->point)) };
    for (int i = 0, n; i < count; i += n) {
        for (n = 1; i + n < count && same_row(&figure[i], &figure[i + n]); n++) continue;
        add_row(p, &figure[i], n, scratch, scratch + count);
    }
    free(scratch);
    free(figure);
}

void check_points_destroy(check_points *p)
{
    free(p->point);
    *p = (check_points){ .rows = 0 };
}
