#include "check/units.h"

#include <math.h>
#include <stdlib.h>

#include "ranks/check.h"

static const double noise_least = 0.005; /* no machine repeats itself better */

/* ---- medians ---- */

static int ascending(const void *pa, const void *pb)
{
    const double a = *(const double *)pa, b = *(const double *)pb;
    return (a > b) - (a < b);
}

/* Sorts x. */
static double median_of(double *x, int n)
{
    if (n == 0) return NAN;
    qsort(x, (size_t)n, sizeof *x, ascending);
    return (x[(n - 1) / 2] + x[n / 2]) / 2;
}

/* How many of n sorted values are less than v. */
static int less_than(const double *sorted, int n, double v)
{
    int low = 0;
    for (int high = n; low < high;) {
        const int middle = (low + high) / 2;
        if (sorted[middle] < v) low = middle + 1;
        else high = middle;
    }
    return low;
}

/* The median of n sorted values but v, which is one of them; 0 where there is no other. */
static double median_of_others(const double *sorted, int n, double v)
{
    const int place = less_than(sorted, n, v), low = (n - 2) / 2, high = (n - 1) / 2;
    return n < 2 ? 0 : (sorted[low + (low >= place)] + sorted[high + (high >= place)]) / 2;
}

/* The numbers among n values that are `step` apart; returns how many. */
static int numbers_of(const double *x, int n, int step, double *out)
{
    int count = 0;
    for (int i = 0; i < n; i++)
        if (!isnan(x[i * step])) out[count++] = x[i * step];
    return count;
}

/* How far a remote quantile of Student's distribution exceeds the normal one's. */
static double few(int n) { return n == 0 ? 0 : 1 + 5.0 / n + 20.0 / n / n; }

/* ---- which figure counts for which unit ---- */

typedef struct entry {
    int a, b, round;
    double x;
} entry;

/* Returns how many units the figure counts for. */
static int entries_of(const check_findings *f, const check_figure *g, unit_kind kind, entry e[2])
{
    e[0] = e[1] = (entry){ g->a, g->b, g->round, log(g->rate) };
    if (kind == UNIT_COMPONENT || g->a < 0) return 1;
    e[0].b = e[1].b = -1;
    if (g->b >= 0) e[1].a = g->b;
    for (int i = 0; i < 2 && kind == UNIT_HOST; i++) e[i].a = f->rank[e[i].a].first_of_host;
    return e[0].a == e[1].a ? 1 : 2;
}

void units_explain(const check_findings *f, unit_kind kind, int a, int b, bool *explained)
{
    for (int i = 0; i < f->figures; i++) {
        entry e[2];
        for (int k = entries_of(f, &f->figure[i], kind, e) - 1; k >= 0; k--)
            if ((e[k].a == a && e[k].b == b) || (e[k].a == b && e[k].b == a)) explained[i] = true;
    }
}

static int by_unit(const void *pa, const void *pb)
{
    const entry *a = pa, *b = pb;
    return a->a != b->a ? (a->a > b->a) - (a->a < b->a) : (a->b > b->b) - (a->b < b->b);
}

static void place(units *u, entry *all, int entries)
{
    qsort(all, (size_t)entries, sizeof *all, by_unit);
    u->unit = CHECK_ALLOC(malloc(((size_t)entries + 1) * sizeof *u->unit));
    for (int i = 0; i < entries; i++) {
        if (all[i].round >= u->rounds) u->rounds = all[i].round + 1;
        if (i == 0 || by_unit(&all[i], &all[i - 1]) != 0)
            u->unit[u->count++] = (unit){ .a = all[i].a, .b = all[i].b };
    }
    const int columns = u->rounds + 1;
    u->x = CHECK_ALLOC(malloc(((size_t)u->count * (size_t)columns + 1) * sizeof *u->x));
    for (int i = 0; i < u->count * columns; i++) u->x[i] = NAN;
    for (int i = 0, k = -1; i < entries; i++) {
        k += i == 0 || by_unit(&all[i], &all[i - 1]) != 0;
        double *const x = u->x + k * columns;
        x[all[i].round] = fmax(x[all[i].round], all[i].x);
        x[u->rounds] = fmax(x[u->rounds], all[i].x);
    }
}

/* ---- noise ---- */

static void set_beside(const units *u, double *beside, double *scratch)
{
    const int columns = u->rounds + 1;
    for (int r = 0; r < columns; r++) {
        const int n = numbers_of(u->x + r, u->count, columns, scratch);
        (void)median_of(scratch, n);
        for (int i = r; i < u->count * columns; i += columns)
            beside[i] = u->x[i] - median_of_others(scratch, n, u->x[i]);
    }
}

/* The standard deviation of a unit's best round, from the median change of its rate from one round to the
 * next. The best of n rounds scatters less than one by about the fourth root of n. */
static double deviation_of(const units *u, const double *x, double *scratch, int *changes)
{
    const int columns = u->rounds + 1;
    *changes = 0;
    for (int i = 0; i < u->count * columns; i++)
        if (i % columns > 0 && i % columns < u->rounds && !isnan(x[i] - x[i - 1]))
            scratch[(*changes)++] = fabs(x[i] - x[i - 1]);
    return *changes ? 1.0484 * median_of(scratch, *changes) / sqrt(sqrt(u->rounds)) : 0;
}

/* repeated: the scatter of repeats, which counts where there are fewer than three rounds. */
static void set_noise(units *u, const double *beside, double repeated, double *scratch)
{
    int changes;
    if (u->rounds >= 3) repeated = 0;
    u->spread = fmax(noise_least, fmax(repeated, deviation_of(u, u->x, scratch, &changes)));
    const double deviation = deviation_of(u, beside, scratch, &changes);
    u->noise = fmax(noise_least, fmax(repeated, deviation * few(changes) * (1 + 2.0 / u->rounds)));
    if (u->count < 3) return;
    for (int i = 0; i < u->count; i++) scratch[i] = u->unit[i].effect;
    const double middle = median_of(scratch, u->count);
    for (int i = 0; i < u->count; i++) scratch[i] = fabs(u->unit[i].effect - middle);
    u->scatter = 1.4826 * few(u->count) * median_of(scratch, u->count);
}

/* On a machine that others use, rates are lost by factors now and then, and none is won: a unit like the
 * others exceeds a rate as often as they do. A rate counts as higher from a tenth of the unit's effect on:
 * ranks that share a core have the same lower level, but for a hair. */
static void set_never(units *u, double *scratch)
{
    int all = 0;
    for (int i = 0; i < u->count; i++)
        all += numbers_of(u->x + i * (u->rounds + 1), u->rounds, 1, scratch + all);
    (void)median_of(scratch, all);
    for (int i = 0; i < u->count; i++) {
        unit *const one = &u->unit[i];
        const int own = numbers_of(u->x + i * (u->rounds + 1), u->rounds, 1, scratch + all),
                  above = all - less_than(scratch, all, one->best - fmin(one->effect / 10, 0));
        one->never = own * log1p(-(double)above / (all - own + 1));
    }
}

units units_create(const check_findings *f, check_like like, unit_kind kind, const bool *explained)
{
    units u = { .median = NAN };
    const size_t most = 2 * (size_t)f->figures + 2;
    entry *const all = CHECK_ALLOC(malloc(most * sizeof *all));
    double *const repeats = CHECK_ALLOC(malloc(most * sizeof *repeats));
    int entries = 0, figures = 0;
    for (int i = 0; i < f->figures; i++) {
        const check_figure *g = &f->figure[i];
        if (g->like != like || !(g->rate > 0) || (explained && explained[i])) continue;
        entries += entries_of(f, g, kind, &all[entries]);
        repeats[figures++] = isfinite(g->noise) ? g->noise : 0;
    }
    place(&u, all, entries);
    const int columns = u.rounds + 1;
    double *const scratch = CHECK_ALLOC(malloc((most + (size_t)columns) * sizeof *scratch));
    double *const beside = CHECK_ALLOC(malloc(((size_t)u.count * (size_t)columns + 1) * sizeof *beside));
    set_beside(&u, beside, scratch);
    for (int i = 0; i < u.count; i++) {
        const int rounds = numbers_of(beside + i * columns, u.rounds, 1, scratch);
        (void)median_of(scratch, rounds);
        u.unit[i].best = u.x[i * columns + u.rounds];
        u.unit[i].effect = beside[i * columns + u.rounds];
        u.unit[i].often = scratch[rounds - 1 - rounds / 10];
    }
    if (entries > 0) {
        set_noise(&u, beside, median_of(repeats, figures), scratch);
        set_never(&u, scratch);
        u.median = median_of(scratch, numbers_of(u.x + u.rounds, u.count, columns, scratch));
    }
    free(beside);
    free(scratch);
    free(repeats);
    free(all);
    return u;
}

void units_destroy(units *u)
{
    free(u->unit);
    free(u->x);
}

int units_least(const units *u)
{
    int least = u->count > 0 ? 0 : -1;
    for (int i = 1; i < u->count; i++)
        if (u->unit[i].best < u->unit[least].best) least = i;
    return least;
}
