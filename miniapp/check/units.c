#include "check/units.h"

#include <math.h>
#include <stdlib.h>

#include "ranks/check.h"

static const double noise_least = 0.005; /* no machine repeats itself better */

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

/* Makes the units of sorted entries, and sets their x. */
static void place(units *u, const entry *all, int entries)
{
    for (int i = 0; i < entries; i++) {
        u->rounds = all[i].round < u->rounds ? u->rounds : all[i].round + 1;
        u->count += i == 0 || by_unit(&all[i], &all[i - 1]) != 0;
    }
    const int columns = u->rounds + 1, cells = u->count * columns;
    u->unit = CHECK_ALLOC(calloc((size_t)u->count + 1, sizeof *u->unit));
    u->x = CHECK_ALLOC(malloc((2 * (size_t)cells + 1) * sizeof *u->x));
    for (int i = 0; i < cells; i++) u->x[i] = NAN;
    unit *one = u->unit - 1;
    for (int i = 0; i < entries; i++) {
        one += i == 0 || by_unit(&all[i], &all[i - 1]) != 0;
        double *const x = u->x + (one - u->unit) * columns;
        *one = (unit){ .a = all[i].a, .b = all[i].b, .x = x, .beside = x + cells };
        x[all[i].round] = fmax(x[all[i].round], all[i].x);
        x[u->rounds] = fmax(x[u->rounds], all[i].x);
    }
}

/* ---- noise ---- */

/* The median of n sorted values but v, which is one of them. */
static double median_of_others(const double *sorted, int n, double v)
{
    const double *const at = bsearch(&v, sorted, (size_t)n, sizeof v, ascending);
    const int place = at ? (int)(at - sorted) : n, low = (n - 2) / 2, high = (n - 1) / 2;
    return n < 2 ? 0 : (sorted[low + (low >= place)] + sorted[high + (high >= place)]) / 2;
}

static double set_beside(units *u, int round, double *scratch)
{
    int n = 0;
    for (int i = 0; i < u->count; i++)
        if (!isnan(u->unit[i].x[round])) scratch[n++] = u->unit[i].x[round];
    const double median = median_of(scratch, n);
    for (unit *one = u->unit; one < u->unit + u->count; one++)
        one->beside[round] = one->x[round] - median_of_others(scratch, n, one->x[round]);
    return median;
}

/* From the median change of a rate next to the others, from one round to the next, and where there are fewer
 * than three of how far repeats scatter; and from how far units scatter. The best of n rounds scatters less
 * than one by about the fourth root of n. */
static void set_noise(units *u, double repeated, double *scratch)
{
    int n = 0;
    for (const unit *one = u->unit; one < u->unit + u->count; one++)
        for (int r = 1; r < u->rounds; r++)
            if (!isnan(one->beside[r] - one->beside[r - 1]))
                scratch[n++] = fabs(one->beside[r] - one->beside[r - 1]);
    const double deviation = n ? 1.0484 * median_of(scratch, n) / sqrt(sqrt(u->rounds)) : 0,
                 others = u->count < 3 ? 1 : 0.6366 * (u->count - 1),
                 least = u->rounds < 3 ? fmax(noise_least, repeated) : noise_least;
    u->spread = fmax(least, deviation);
    u->noise = fmax(least, deviation * few(n) * (1 + 2.0 / u->rounds));
    for (int i = 0; i < u->count; i++) scratch[i] = u->unit[i].effect;
    const double middle = median_of(scratch, u->count);
    for (int i = 0; i < u->count; i++) scratch[i] = fabs(u->unit[i].effect - middle);
    const double scatter = u->count < 3 ? 0 : 1.4826 * few(u->count) * median_of(scratch, u->count);
    u->error = fmax(scatter, u->noise * sqrt(1 + 1 / others));
}

units units_create(const check_findings *f, check_like like, unit_kind kind, const bool *explained)
{
    units u = { .median = NAN };
    const size_t most = 2 * (size_t)f->figures + 2;
    entry *const all = CHECK_ALLOC(malloc(most * sizeof *all));
    double *const scratch = CHECK_ALLOC(malloc(most * sizeof *scratch));
    int entries = 0, figures = 0;
    for (int i = 0; i < f->figures; i++) {
        const check_figure *g = &f->figure[i];
        if (g->like != like || !(g->rate > 0) || (explained && explained[i])) continue;
        entries += entries_of(f, g, kind, &all[entries]);
        scratch[figures++] = isfinite(g->noise) ? g->noise : 0;
    }
    const double repeated = median_of(scratch, figures);
    qsort(all, (size_t)entries, sizeof *all, by_unit);
    place(&u, all, entries);
    for (int r = 0; r <= u.rounds; r++) u.median = set_beside(&u, r, scratch);
    for (unit *one = u.unit; one < u.unit + u.count; one++) {
        one->best = one->x[u.rounds];
        one->effect = one->beside[u.rounds];
    }
    if (entries > 0) set_noise(&u, repeated, scratch);
    free(scratch);
    free(all);
    return u;
}

void units_destroy(units *u)
{
    free(u->unit);
    free(u->x);
}

/* ---- questions ---- */

const unit *units_least(const units *u)
{
    const unit *least = NULL;
    for (const unit *one = u->unit; one < u->unit + u->count; one++)
        if (!least || one->best < least->best) least = one;
    return least;
}

/* A rate that has two levels, as where ranks share a core or do not, makes a best round that is rare: a unit
 * that had none is no slower in most rounds. */
bool units_often_below(const units *u, const unit *one, double effect)
{
    int rounds = 0, above = 0;
    for (int r = 0; r < u->rounds; r++) {
        rounds += !isnan(one->beside[r]);
        above += one->beside[r] >= effect;
    }
    return above <= rounds / 10;
}

/* On a machine that others use, rates are lost by factors now and then, and none is won: a unit like the
 * others exceeds a rate as often as they do. A rate counts as higher from a tenth of the unit's effect on:
 * ranks that share a core have the same lower level, but for a hair. */
double units_never_higher(const units *u, const unit *one)
{
    const double higher = one->best - fmin(one->effect / 10, 0);
    int all = 0, above = 0, own = 0;
    for (int i = 0; i < u->count; i++)
        for (int r = 0; r < u->rounds; r++) {
            const double x = u->unit[i].x[r];
            all += !isnan(x);
            above += x >= higher;
            own += &u->unit[i] == one && !isnan(x);
        }
    return own * log1p(-(double)above / (all - own + 1));
}
