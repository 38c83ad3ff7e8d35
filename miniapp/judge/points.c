#include "judge/points.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ranks/check.h"

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

double check_few(int n) { return 1 + 5.0 / n + 20.0 / n / n; }

double check_scatter(double *x, int n)
{
    const double middle = check_median(x, n);
    for (int i = 0; i < n; i++) x[i] = fabs(x[i] - middle);
    return deviations_per_distance * check_few(n) * check_median(x, n);
}

/* ---- figures in the order of rows, components, rounds ---- */

static bool same_row(const check_figure *a, const check_figure *b)
{
    return a->like == b->like && a->alone == b->alone;
}
static bool same_component(const check_figure *a, const check_figure *b)
{
    return same_row(a, b) && a->a == b->a && a->b == b->b;
}

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

/* ---- round by round ---- */

static const check_figure *compared; /* for qsort; rank 0's main thread alone judges */
static int by_round_and_rate(const void *pa, const void *pb)
{
    const check_figure *a = &compared[*(const int *)pa], *b = &compared[*(const int *)pb];
    if (a->round != b->round) return a->round - b->round;
    return (a->rate > b->rate) - (a->rate < b->rate);
}

/* The median log of n >= 2 figures in ascending order but the i-th. */
static double median_without(const check_figure *figure, const int *order, int n, int i)
{
    const int low = (n - 2) / 2, high = (n - 1) / 2;
    return log(figure[order[low + (low >= i)]].rate * figure[order[high + (high >= i)]].rate) / 2;
}

/* The i-th of n in ascending order, as an equally distributed number of mean 0 and variance 1. */
static double place_of(int i, int n)
{
    return n > 1 ? (i - (n - 1) / 2.0) / sqrt(((double)n * n - 1) / 12) : 0;
}

/* Of a row's figures the log of each beside the median of the others in its round (by itself, where there are
 * none), and its place. */
static void beside_others(const check_figure *figure, int figures, double *beside, double *place)
{
    int *order = CHECK_ALLOC(malloc((size_t)figures * sizeof *order));
    for (int i = 0; i < figures; i++) order[i] = i;
    compared = figure;
    qsort(order, (size_t)figures, sizeof *order, by_round_and_rate);
    for (int i = 0, n; i < figures; i += n) {
        for (n = 1; i + n < figures && figure[order[i + n]].round == figure[order[i]].round; n++) continue;
        for (int k = 0; k < n; k++) {
            beside[order[i + k]] =
                log(figure[order[i + k]].rate) - (n > 1 ? median_without(figure, order + i, n, k) : 0);
            place[order[i + k]] = place_of(k, n);
        }
    }
    free(order);
}

/* ---- points ---- */

enum { EXCEPTIONS = 10 }; /* of as many rounds one may be */

/* Of one component's rounds; beside is sorted. Returns the noise of the best one's repeats. */
static double add_point(check_points *p, const check_figure *figure, double *beside, const double *place,
                        int rounds)
{
    const check_figure *best = figure;
    double places = 0;
    for (int i = 0; i < rounds; i++) {
        if (figure[i].rate > best->rate) best = &figure[i];
        places += place[i];
    }
    qsort(beside, (size_t)rounds, sizeof *beside, ascending);
    p->point[p->points++] = (check_point){ .row = p->rows,
                                           .a = figure->a,
                                           .b = figure->b,
                                           .x = log(best->rate),
                                           .beside = beside[rounds - 1 - rounds / EXCEPTIONS],
                                           .places = places / sqrt(rounds) };
    return isfinite(best->noise) ? best->noise : 0;
}

typedef struct scatter { /* of a row */
    double *repeats;                  /* [components] noise of repeats within the best round */
    double *differences, *of_besides; /* [count] between a component's rounds: of its logs, of these beside
                                       * the others */
    int count, fewest, most;          /* rounds that a component has */
} scatter;

/* Where every component has at least this many rounds, the noise of its best one is estimated from the
 * differences between rounds alone. Repeats within a round count only where there are fewer. */
enum { ROUNDS_TELL = 3 };

/* The best of n rounds scatters less than a round, by about the fourth root of n, but load gives it a longer
 * tail than a normal number has, the more so the fewer rounds there are; a single round may be disturbed as a
 * whole, so that its repeats tell a third of it. */
static void set_noise(check_point_row *row, scatter *s)
{
    const double by_repeats = s->fewest >= ROUNDS_TELL ? 0 : check_median(s->repeats, row->count),
                 calm = 1 / sqrt(sqrt(s->most));
    const double known_badly = s->count > 0 ? check_few(s->count) * (1 + 2.0 / s->most) : 1;
    const double by_rounds =
        s->count > 0 ? deviations_per_difference * calm * check_median(s->differences, s->count) : 0;
    const double beside =
        s->count > 0 ? deviations_per_difference * calm * check_median(s->of_besides, s->count) : 0;
    row->spread = fmax(CHECK_NOISE_LEAST, fmax(by_repeats, by_rounds));
    row->rounds = s->fewest;
    row->noise = fmax(CHECK_NOISE_LEAST, fmax(by_repeats * (s->most > 1 ? 1 : 3), beside * known_badly));
}

enum { ARRAYS = 5 };
/* Of `figures` figures of one row; ARRAYS scratch arrays as long. */
static void add_row(check_points *p, const check_figure *figure, int figures, double *scratch)
{
    check_point_row *row = &p->row[p->rows];
    double *const beside = scratch + 3 * figures, *const place = scratch + 4 * figures;
    scatter s = { .repeats = scratch,
                  .differences = scratch + figures,
                  .of_besides = scratch + 2 * figures,
                  .fewest = figures,
                  .most = 1 };
    *row = (check_point_row){ .like = figure->like, .alone = figure->alone, .first = p->points };
    beside_others(figure, figures, beside, place);
    for (int i = 0, rounds; i < figures; i += rounds) {
        for (rounds = 1; i + rounds < figures && same_component(&figure[i], &figure[i + rounds]); rounds++) {
            const int now = i + rounds, before = now - 1;
            s.differences[s.count] = fabs(log(figure[now].rate / figure[before].rate));
            s.of_besides[s.count++] = fabs(beside[now] - beside[before]);
        }
        s.repeats[row->count++] = add_point(p, &figure[i], &beside[i], &place[i], rounds);
        if (rounds < s.fewest) s.fewest = rounds;
        if (rounds > s.most) s.most = rounds;
    }
    set_noise(row, &s);
    p->rows++;
}

void check_points_create(check_points *p, const check_findings *f)
{
    int count;
    check_figure *figure = sorted(f, &count);
    double *scratch = CHECK_ALLOC(malloc((size_t)(ARRAYS * count + 1) * sizeof *scratch));
    *p = (check_points){ .point = CHECK_ALLOC(malloc((size_t)(count + 1) * sizeof *p->point)) };
    for (int i = 0, n; i < count; i += n) {
        for (n = 1; i + n < count && same_row(&figure[i], &figure[i + n]); n++) continue;
        add_row(p, &figure[i], n, scratch);
    }
    free(scratch);
    free(figure);
}

void check_points_destroy(check_points *p)
{
    free(p->point);
    *p = (check_points){ .rows = 0 };
}
