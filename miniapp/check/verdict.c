#include "check/verdict.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/terminal.h"
#include "check/verdict_text.h"
#include "ranks/check.h"

static const double noise_least = 0.005; /* no machine repeats itself better */
static const double looked_for = 0.5;    /* a deviation; where less hides in noise, nothing is judged */
enum { ROUNDS_LEAST = 2, ROUNDS_TELL = 3, ROWS_TELL = 8, SUSPECTS_MOST = 8, SHOWN = 3 };
static const check_part each = CHECK_PARTS; /* no units: each component by itself */

const char *check_word_name(check_word w)
{
    static const char *const name[] = { "delivers", "not judged", "slow", "wrong", "incomplete" };
    return name[w];
}

int check_exit_status(check_word w)
{
    static const int status[] = { 0, CHECK_EXIT_NOT_JUDGED, CHECK_EXIT_FAILED, CHECK_EXIT_FAILED,
                                  CHECK_EXIT_ENVIRONMENT };
    return status[w];
}

/* ---- figures of a row, one line a unit (component, rank or host) ---- */

typedef struct grid {
    check_like like;
    int units, rounds;
    int *a, *b;     /* [units] */
    double *x;      /* [units][rounds] logs of rates; NaN: none */
    double *best;   /* [units], as is */
    double *often;  /* how far below the others it is in nine of ten rounds */
    double *effect; /* of the best round next to the median of the others */
    double *never;  /* log of the probability that chance keeps it below its best in all rounds */
    double noise, spread, scatter;
    bool told; /* there are rounds enough */
} grid;

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

/* The median of n >= 2 sorted values but v, which is one of them. */
static double median_of_others(const double *sorted, int n, double v)
{
    int place = 0, low = (n - 2) / 2, high = (n - 1) / 2;
    while (sorted[place] < v) place++;
    low += low >= place;
    high += high >= place;
    return (sorted[low] + sorted[high]) / 2;
}

/* How far a remote quantile of Student's distribution exceeds the normal one's. */
static double few(int n) { return 1 + 5.0 / n + 20.0 / n / n; }

/* Which unit a figure of that row counts for; two for a pair among ranks or hosts. */
static int units_of(const check_findings *f, const check_figure *g, check_part of, int unit[2])
{
    const int ends[] = { g->a, g->b };
    int n = 0;
    for (int i = 0; i < 2; i++) {
        if (ends[i] < 0) continue;
        int first = 0; /* the first rank of that host, or that drives that GPU */
        const check_rank *r = &f->rank[ends[i]];
        while (of == CHECK_HOST                ? f->rank[first].host_number != r->host_number
               : of == CHECK_GPU && r->uuid[0] ? strcmp(f->rank[first].uuid, r->uuid) != 0
                                               : first != ends[i])
            first++;
        if (n == 0 || unit[0] != first) unit[n++] = first;
    }
    return n;
}

static void *grown(void *array, int units, size_t bytes)
{
    if (units & (units - 1)) return array;
    return CHECK_ALLOC(realloc(array, (units ? 2 * (size_t)units : 1) * bytes));
}

static int new_unit(grid *g, int a, int b)
{
    const int u = g->units;
    g->a = grown(g->a, u, sizeof *g->a);
    g->b = grown(g->b, u, sizeof *g->b);
    g->x = grown(g->x, u, (size_t)g->rounds * sizeof *g->x);
    g->a[u] = a;
    g->b[u] = b;
    for (int r = 0; r < g->rounds; r++) g->x[u * g->rounds + r] = NAN;
    return g->units++;
}

/* The best of several rates of a unit in a round counts. */
static void add_rate(grid *g, int a, int b, int round, double x)
{
    int u = g->units - 1;
    while (u >= 0 && (g->a[u] != a || g->b[u] != b)) u--;
    if (u < 0) u = new_unit(g, a, b);
    g->x[u * g->rounds + round] = fmax(g->x[u * g->rounds + round], x);
}

/* A suspect takes part in that figure, whose rate therefore tells nothing of others. */
static bool is_explained(const check_findings *f, const check_verdict *v, const check_figure *g)
{
    for (int i = 0; i < v->suspects; i++) {
        const check_suspect *s = &v->suspect[i];
        int unit[2];
        const bool pair = s->b >= 0;
        const int n = units_of(f, g, pair ? CHECK_GPU : s->part, unit);
        if (s->a < 0) continue;
        if (pair && n == 2 && ((unit[0] == s->a && unit[1] == s->b) || (unit[0] == s->b && unit[1] == s->a)))
            return true;
        for (int k = 0; k < n && !pair; k++)
            if (unit[k] == s->a) return true;
    }
    return false;
}

static void compare(grid *g, double repeated);

/* The row's figures, by units; without those that a suspect explains, unless `all`. */
static grid grid_create(const check_findings *f, const check_verdict *v, const check_row *row, check_part of,
                        bool all)
{
    grid g = { .like = row->like, .rounds = f->rounds + 1 };
    double *repeats = CHECK_ALLOC(malloc(((size_t)f->figures + 1) * sizeof *repeats));
    int count = 0;
    for (int i = 0; i < f->figures; i++) {
        const check_figure *q = &f->figure[i];
        int unit[2];
        if (q->like != row->like || q->alone != row->alone || !(q->rate > 0)) continue;
        if (!all && is_explained(f, v, q)) continue;
        const int units = of == each ? 0 : units_of(f, q, of, unit);
        if (of == each) add_rate(&g, q->a, q->b, q->round, log(q->rate));
        for (int k = 0; k < units; k++) add_rate(&g, unit[k], -1, q->round, log(q->rate));
        repeats[count++] = isfinite(q->noise) ? q->noise : 0;
    }
    if (g.units > 0) compare(&g, median_of(repeats, count));
    free(repeats);
    return g;
}

static void grid_destroy(grid *g)
{
    free(g->a);
    free(g->b);
    free(g->x);
    free(g->best);
}

/* Each rate next to the others of its round, into beside[units][rounds]. */
static void beside_others(const grid *g, double *beside, double *scratch)
{
    for (int r = 0; r < g->rounds; r++) {
        int n = 0;
        for (int u = 0; u < g->units; u++)
            if (!isnan(g->x[u * g->rounds + r])) scratch[n++] = g->x[u * g->rounds + r];
        qsort(scratch, (size_t)n, sizeof *scratch, ascending);
        for (int u = 0; u < g->units; u++) {
            const double x = g->x[u * g->rounds + r];
            beside[u * g->rounds + r] = isnan(x) ? NAN : n < 2 ? x : x - median_of_others(scratch, n, x);
        }
    }
}

/* The median change from a unit's round to its next. */
static double change_of(const grid *g, const double *x, double *scratch, int *changes)
{
    *changes = 0;
    for (int u = 0; u < g->units; u++)
        for (int r = 1; r < g->rounds; r++) {
            const double change = fabs(x[u * g->rounds + r] - x[u * g->rounds + r - 1]);
            if (!isnan(change)) scratch[(*changes)++] = change;
        }
    return *changes ? median_of(scratch, *changes) : 0;
}

/* Of each unit its best round, and how far it lies below the others in nine of ten. */
static void summarize(grid *g, const double *beside, double *scratch, int *most, int *fewest)
{
    for (int u = 0; u < g->units; u++) {
        int count = 0;
        g->best[u] = -INFINITY;
        for (int r = 0; r < g->rounds; r++) {
            g->best[u] = fmax(g->best[u], g->x[u * g->rounds + r]);
            if (!isnan(beside[u * g->rounds + r])) scratch[count++] = beside[u * g->rounds + r];
        }
        (void)median_of(scratch, count);
        g->often[u] = scratch[count - 1 - count / 10];
        *most = count > *most ? count : *most;
        *fewest = count < *fewest ? count : *fewest;
    }
}

/* On a machine that others use, rates are lost by factors now and then, and none is won: a unit like the
 * others exceeds a rate as often as they do. Uses [units][rounds] of scratch. */
static void add_never(grid *g, double *scratch)
{
    int all = 0;
    for (int i = 0; i < g->units * g->rounds; i++)
        if (!isnan(g->x[i])) scratch[all++] = g->x[i];
    qsort(scratch, (size_t)all, sizeof *scratch, ascending);
    for (int u = 0; u < g->units; u++) {
        int own = 0, low = 0, high = all; /* scratch[high] is the first above its best */
        for (int r = 0; r < g->rounds; r++) own += !isnan(g->x[u * g->rounds + r]);
        while (low < high) {
            const int middle = (low + high) / 2;
            if (scratch[middle] > g->best[u]) high = middle;
            else low = middle + 1;
        }
        g->never[u] = own * log1p(-(double)(all - high) / (all - own + 1));
    }
}

/* repeated: the scatter of repeats, which counts where there are fewer than three rounds. The best of n
 * rounds scatters less than one by about the fourth root of n. */
static void compare(grid *g, double repeated)
{
    const double deviation = 1.0484; /* a standard deviation from the median of absolute differences */
    const size_t n = (size_t)g->units * (size_t)g->rounds;
    double *beside = CHECK_ALLOC(malloc(2 * n * sizeof *beside)), *scratch = beside + n;
    int most = 1, fewest = g->rounds, changes;
    g->best = CHECK_ALLOC(malloc(4 * (size_t)g->units * sizeof *g->best));
    g->often = g->best + g->units;
    g->effect = g->often + g->units;
    g->never = g->effect + g->units;
    beside_others(g, beside, scratch);
    summarize(g, beside, scratch, &most, &fewest);
    if (fewest >= ROUNDS_TELL) repeated = 0;
    const double calm = deviation / sqrt(sqrt(most)), alone = calm * change_of(g, g->x, scratch, &changes),
                 together = calm * change_of(g, beside, scratch, &changes);
    const double known = changes ? together * few(changes) * (1 + 2.0 / most) : 0;
    g->spread = fmax(noise_least, fmax(repeated, alone));
    g->noise = fmax(noise_least, fmax(repeated * (most > 1 ? 1 : 3), known));
    g->told = fewest >= ROUNDS_LEAST;
    add_never(g, scratch);
    memcpy(scratch, g->best, (size_t)g->units * sizeof *scratch);
    (void)median_of(scratch, g->units);
    for (int u = 0; u < g->units; u++)
        g->effect[u] = g->units < 2 ? 0 : g->best[u] - median_of_others(scratch, g->units, g->best[u]);
    memcpy(scratch, g->effect, (size_t)g->units * sizeof *scratch);
    const double middle = median_of(scratch, g->units);
    for (int u = 0; u < g->units; u++) scratch[u] = fabs(g->effect[u] - middle);
    g->scatter = g->units < 3 ? 0 : 1.4826 * few(g->units) * median_of(scratch, g->units);
    free(beside);
}

/* ---- who is lowest in most of the slow rows ---- */

/* Of a check. */
static double comparisons(const check_findings *f) { return (double)f->figures / (f->rounds + 1) + 1; }

/* In standard deviations: more are chance in one of a hundred checks. */
static double errors_least(const check_findings *f) { return sqrt(2 * log(100.0 * comparisons(f))); }

/* The standard deviation of an effect. */
static double error_of(const grid *g)
{
    const double others = g->units < 3 ? 1 : 0.6366 * (g->units - 1);
    return fmax(g->scatter, g->noise * sqrt(1 + 1 / others));
}

/* The least deviation of one unit that counts, in logarithms; INFINITY: none. */
static double least_of(const check_findings *f, const grid *g)
{
    if (g->units < 2 || !g->told) return INFINITY;
    return fmax(-log1p(-CHECK_LEAST_DIFFERENCE), errors_least(f) * error_of(g));
}

static bool is_often_low(const grid *g, int u)
{
    return g->often[u] < fmin(log1p(-CHECK_LEAST_DIFFERENCE), g->effect[u] / 3);
}

/* Can units of a row be told from its components? A host has several ranks, a rank several pairs. */
static bool has_units(const check_findings *f, check_like like, check_part of)
{
    const check_part part = check_like_part(like);
    const bool several = f->ranks > f->hosts, many = f->ranks > 2 * f->hosts;
    if (of == CHECK_HOST)
        return f->hosts > 1 && (part == CHECK_HOST_LINK ? f->hosts > 2 : part == CHECK_LINK ? many : several);
    if (of == CHECK_GPU) return part == CHECK_GPU || (part == CHECK_LINK && many);
    return part == CHECK_LINK || part == CHECK_HOST_LINK;
}

static bool same(const grid *g, int u, const grid *h, int w) /* a pair is one, whichever way */
{
    return u >= 0 && w >= 0 &&
           check_like_part(g->like) * (g->b[u] >= 0) == check_like_part(h->like) * (h->b[w] >= 0) &&
           ((g->a[u] == h->a[w] && g->b[u] == h->b[w]) || (g->a[u] == h->b[w] && g->b[u] == h->a[w]));
}

/* `never` of a unit in all rows that have it, of a pair's two ways the nearer one; combined as Fisher did. */
static double never_in_all(const check_verdict *v, const grid g[], int row, int u)
{
    double sum = 0, term = 1, terms = 0;
    int n = 0;
    for (int k = 0; k < v->rows; k++) {
        double here = -INFINITY;
        for (int w = 0; w < g[k].units; w++)
            if (same(&g[row], u, &g[k], w)) here = fmax(here, g[k].never[w]);
        if (here > -INFINITY) n++, sum += here;
    }
    for (int i = 0; i < n; i++, term *= -sum / i) terms += term;
    return sum + log(terms);
}

/* By chance in one of a thousand checks. */
static bool is_never_high(const check_findings *f, const check_verdict *v, const grid g[], int row, int u)
{
    return g[row].units > 2 && g[row].effect[u] < log1p(-looked_for) &&
           never_in_all(v, g, row, u) < -log(1e3 * comparisons(f));
}

/* The lowest unit of a row, that is slow if `slow`; -1: none. */
static int lowest_of(const check_findings *f, const check_verdict *v, const grid g[], int row, bool slow)
{
    const grid *r = &g[row];
    int lowest = -1;
    for (int u = 0; u < r->units; u++) {
        const bool counts =
            !slow || (r->effect[u] < -least_of(f, r) && is_often_low(r, u)) || is_never_high(f, v, g, row, u);
        if (counts && (lowest < 0 || r->effect[u] < r->effect[lowest])) lowest = u;
    }
    return r->units < 2 ? -1 : lowest;
}

static check_suspect *add_suspect(check_verdict *v, const check_findings *f, check_part part, int a, int b)
{
    v->suspect = CHECK_ALLOC(realloc(v->suspect, (size_t)(v->suspects + 1) * sizeof *v->suspect));
    check_suspect *s = &v->suspect[v->suspects++];
    *s = (check_suspect){
        .part = part, .a = b >= 0 && b < a ? b : a, .b = b >= 0 && b < a ? a : b, .factor = 1
    };
    check_name(&s->name, f, part, s->a, s->b);
    return s;
}

static void add_evidence(check_suspect *s, const check_row *row, double factor, double of, int shown)
{
    char is[32], others[32];
    const char *unit = check_like_unit(row->like);
    s->factor = fmin(s->factor, factor);
    if (shown >= SHOWN) return;
    sentence_add(&s->evidence, "%s%s%s %.0f %%", shown ? "; " : "", check_like_name(row->like),
                 row->alone ? " alone" : "", 100 * factor);
    if (shown == 0)
        sentence_add(&s->evidence, " (%s of %s)", terminal_rate(is, sizeof is, factor * of, unit),
                     terminal_rate(others, sizeof others, of, unit));
}

/* Rows of one rank add up where each alone drowns in noise, as on a host with more ranks than cores. It is
 * the lowest of half the rows or more, by more than chance allows in all together; or of three rows in four,
 * by a third. Takes the rows of others out of lowest. */
static bool adds_up(const check_findings *f, const check_verdict *v, const grid *g, int *lowest)
{
    for (int i = 0; i < v->rows; i++) {
        double effect[2 * CHECK_LIKES], errors = 0;
        int rows = 0, own = 0;
        for (int k = 0; k < v->rows; k++) {
            if (lowest[k] < 0 || !g[k].told) continue;
            rows++;
            if (!same(&g[i], lowest[i], &g[k], lowest[k])) continue;
            effect[own++] = g[k].effect[lowest[k]];
            errors += g[k].effect[lowest[k]] / error_of(&g[k]);
        }
        if (own < 2 || 2 * own < rows) continue;
        const double median = median_of(effect, own);
        const bool by_errors =
                       errors / sqrt(rows) < -errors_least(f) && median < log1p(-CHECK_LEAST_DIFFERENCE),
                   by_count = rows >= ROWS_TELL && 4 * own >= 3 * rows && median < log(2.0 / 3);
        if (!by_errors && !by_count) continue;
        for (int k = 0, first = lowest[i]; k < v->rows; k++)
            if (!same(&g[i], first, &g[k], lowest[k])) lowest[k] = -1;
        return true;
    }
    return false;
}

/* The row that names a unit which is lowest in most of the slow rows, the lower one of equals; -1: none. */
static int most_rows(const check_verdict *v, const grid *g, const int *low, int *most)
{
    int best = -1;
    *most = 0;
    for (int i = 0; i < v->rows; i++) {
        int rows = 0;
        for (int k = 0; k < v->rows; k++) rows += same(&g[i], low[i], &g[k], low[k]);
        if (rows < *most || rows == 0) continue;
        if (rows == *most && g[i].effect[low[i]] >= g[best].effect[low[best]]) continue;
        best = i;
        *most = rows;
    }
    return best;
}

static void name_way(check_suspect *s, const check_findings *f, const grid *g, int u)
{
    sentence_set(&s->name, "link from rank %d to rank %d (%s)", g->a[u], g->b[u], f->rank[s->a].host);
}

/* grids: [v->rows]. False: no unit is slow. */
static bool name_lowest(const check_findings *f, check_verdict *v, const grid *g, check_part of)
{
    int low[2 * CHECK_LIKES], most, slow = 0, shown = 0;
    bool one_way = true;
    for (int i = 0; i < v->rows; i++) slow += (low[i] = lowest_of(f, v, g, i, true)) >= 0;
    if (slow == 0 && of == CHECK_GPU) {
        for (int i = 0; i < v->rows; i++) low[i] = lowest_of(f, v, g, i, false);
        if (!adds_up(f, v, g, low)) return false;
        for (int i = 0; i < v->rows; i++) slow += low[i] >= 0;
    }
    const int best = most_rows(v, g, low, &most);
    if (best < 0) return false;
    const int unit = low[best];
    check_suspect *s =
        add_suspect(v, f, of == each ? check_like_part(g[best].like) : of, g[best].a[unit], g[best].b[unit]);
    s->confidence = (double)most / slow;
    for (int k = 0; k < v->rows; k++) {
        if (!same(&g[best], unit, &g[k], low[k])) continue;
        const double effect = g[k].effect[low[k]];
        add_evidence(s, &v->row[k], exp(effect), exp(g[k].best[low[k]] - effect), shown++);
        v->row[k].verdict = CHECK_SLOW;
        one_way = one_way && g[k].like == CHECK_PAIR_ONEWAY && g[k].a[low[k]] == g[best].a[unit];
    }
    if (shown > SHOWN) sentence_add(&s->evidence, "; and %d more", shown - SHOWN);
    if (of == CHECK_GPU) check_add_state(&s->evidence, f, s->a);
    if (s->part == CHECK_LINK && one_way) name_way(s, f, &g[best], unit);
    if (s->part == CHECK_LINK && !has_units(f, g[best].like, CHECK_GPU)) {
        s->confidence /= 3;
        sentence_add(&s->evidence, "; it may as well be one of its ranks, which have no other pair");
    }
    return true;
}

static void judge_slow(const check_findings *f, check_verdict *v)
{
    const check_part level[] = { CHECK_HOST, CHECK_GPU, each };
    for (int l = 0; l < 3; l++)
        for (bool more = true; more && v->suspects < SUSPECTS_MOST;) {
            grid g[2 * CHECK_LIKES] = { 0 };
            for (int i = 0; i < v->rows; i++)
                if (has_units(f, v->row[i].like, level[l]))
                    g[i] = grid_create(f, v, &v->row[i], level[l], false);
            more = name_lowest(f, v, g, level[l]);
            for (int i = 0; i < v->rows; i++) grid_destroy(&g[i]);
        }
}

/* ---- next to the reference ---- */

/* Rates alone are what a reference has; at once stands for them where nothing was measured alone. All ranks
 * at once depend on their number; copies at once share the host. */
static double reference_of(const check_findings *f, const check_verdict *v, const check_reference *r,
                           const check_row *row)
{
    const check_part part = check_like_part(row->like);
    const bool all = part == CHECK_JOB || part == CHECK_DISK || part == CHECK_HOST_LINK;
    if (all && (r->ranks != f->ranks || r->hosts != f->hosts)) return NAN;
    for (int i = 0; i < v->rows && !row->alone; i++)
        if (v->row[i].like == row->like && v->row[i].alone) return NAN;
    return sqrt(r->low[row->like] * r->high[row->like]);
}

/* Which units lie below: all, -1; of two GPUs, which no median tells apart, the slower one; -2: none. */
static int below(const grid *g, double low, double *best)
{
    double *x = CHECK_ALLOC(malloc((size_t)g->units * sizeof *x));
    memcpy(x, g->best, (size_t)g->units * sizeof *x);
    const int slower = g->units == 2 && g->best[1] < g->best[0];
    *best = median_of(x, g->units);
    const bool one = g->units == 2 && check_like_part(g->like) == CHECK_GPU && x[0] < low && x[1] >= low;
    if (one) *best = x[0];
    free(x);
    return *best >= low ? -2 : one ? slower : g->units == 1 ? 0 : -1;
}

static bool is_known(const check_verdict *v, check_part part, int a, int b)
{
    bool known = false;
    for (int i = 0; i < v->suspects; i++) {
        const check_suspect *s = &v->suspect[i];
        known = known || part == CHECK_JOB || (b >= 0 && s->a >= 0 && (s->a == a || s->a == b));
    }
    return known;
}

/* One suspect for all rows of a part. */
static void add_below(const check_findings *f, check_verdict *v, int from, const check_row *row, int a, int b,
                      double rate)
{
    const check_part part = check_like_part(row->like);
    sentence name;
    check_name(&name, f, part, a, b);
    check_suspect *s = NULL;
    for (int k = from; k < v->suspects; k++)
        if (strcmp(v->suspect[k].name.text, name.text) == 0) s = &v->suspect[k];
    if (!s && is_known(v, part, a, b)) return;
    if (!s) {
        s = add_suspect(v, f, part, a, b);
        if (a < 0 && part != CHECK_DISK) s->part = CHECK_JOB;
        s->confidence = 1;
        sentence_set(&s->evidence, "below the reference: ");
    } else sentence_add(&s->evidence, "; ");
    add_evidence(s, row, rate / row->reference, row->reference, 0);
}

/* What the suspects do not explain is judged. */
static void judge_by_reference(const check_findings *f, const check_reference *r, check_verdict *v)
{
    const int from = v->suspects;
    for (int i = 0; i < v->rows; i++) {
        check_row *row = &v->row[i];
        const bool shared = !row->alone && (row->like == CHECK_TO_HOST || row->like == CHECK_FROM_HOST);
        grid g = grid_create(f, v, row, each, false);
        row->reference = reference_of(f, v, r, row);
        row->is_judged = row->reference > 0 && !shared && g.told && check_reference_repeats(r, row->like);
        double best = 0;
        const double least = fmax(-log1p(-CHECK_LEAST_DIFFERENCE), errors_least(f) * g.spread);
        const int unit = row->is_judged ? below(&g, log(r->low[row->like]) - least, &best) : -2;
        const int a = unit < 0 ? -1 : g.a[unit], b = unit < 0 ? -1 : g.b[unit];
        if (unit > -2) {
            row->verdict = CHECK_SLOW;
            add_below(f, v, from, row, a, b, exp(best));
        }
        grid_destroy(&g);
    }
}

/* ---- wrong bits ---- */

/* Has that rank wrong bits of its own, or in pairs with two others? */
static bool is_guilty(const check_findings *f, check_part part, int rank)
{
    int other = -1;
    for (int i = 0; i < f->faults; i++) {
        const check_fault *g = &f->fault[i];
        if (g->b < 0 && g->a == rank && part == CHECK_LINK) return true;
        if (g->b < 0 || check_like_part(g->like) != part || (g->a != rank && g->b != rank)) continue;
        const int partner = g->a + g->b - rank;
        if (other >= 0 && partner != other) return true;
        other = partner;
    }
    return false;
}

static void judge_wrong(const check_findings *f, check_verdict *v)
{
    bool somebody = false;
    for (int i = 0; i < f->faults; i++) somebody = somebody || f->fault[i].a >= 0;
    for (int i = 0; i < f->faults; i++) {
        const check_fault *g = &f->fault[i];
        check_part part = check_like_part(g->like);
        int a = g->a, b = g->b, k = 0;
        if (a < 0 && part != CHECK_DISK && somebody) continue; /* of all ranks: explained */
        if (a >= 0 && b < 0) part = CHECK_GPU;
        if (b >= 0 && (is_guilty(f, part, a) || is_guilty(f, part, b))) {
            a = is_guilty(f, part, a) ? a : b;
            part = part == CHECK_LINK ? CHECK_GPU : CHECK_HOST;
            b = -1;
        }
        const int low = b >= 0 && b < a ? b : a;
        while (k < v->suspects && (v->suspect[k].part != part || v->suspect[k].a != low ||
                                   (b >= 0 && v->suspect[k].b != a + b - low)))
            k++;
        if (k < v->suspects) continue;
        check_suspect *s = add_suspect(v, f, part, a, b);
        s->factor = NAN;
        s->confidence = a < 0 && part == CHECK_JOB ? 0.5 : 1;
        sentence_set(&s->evidence, "wrong bits in %s, round %d", check_like_name(g->like), g->round + 1);
        if (g->b >= 0) sentence_add(&s->evidence, ", ranks %d and %d", g->a, g->b);
        sentence_add(&s->evidence, ": %.600s", g->where.text);
    }
}

/* ---- all ---- */

static void add_row(const check_findings *f, check_verdict *v, check_like like, bool alone)
{
    check_row row = { .like = like,
                      .alone = alone,
                      .median = NAN,
                      .least = NAN,
                      .least_a = -1,
                      .least_b = -1,
                      .noise = NAN,
                      .smallest = 1,
                      .reference = NAN };
    grid g = grid_create(f, v, &row, each, true);
    for (int i = 0; i < f->faults; i++)
        if (f->fault[i].like == like) row.verdict = CHECK_WRONG;
    row.count = g.units;
    for (int u = 0; u < g.units; u++) {
        if (u > 0 && exp(g.best[u]) >= row.least) continue;
        row.least = exp(g.best[u]);
        row.least_a = g.a[u];
        row.least_b = g.b[u];
    }
    if (g.units > 0) {
        row.noise = -expm1(-g.noise);
        row.smallest = -expm1(-least_of(f, &g));
        row.median = exp(median_of(g.best, g.units));
    }
    if (g.units > 0 || (row.verdict == CHECK_WRONG && !alone)) v->row[v->rows++] = row;
    grid_destroy(&g);
}

void check_judge(const check_findings *f, const check_reference *reference, check_verdict *v)
{
    bool judged = false;
    *v = (check_verdict){ .rows = 0 };
    for (int l = 0; l < CHECK_LIKES; l++)
        for (int alone = 0; alone < 2; alone++) add_row(f, v, (check_like)l, alone);
    judge_wrong(f, v);
    const int wrong = v->suspects;
    judge_slow(f, v);
    if (reference) judge_by_reference(f, reference, v);
    for (int i = 0; i < v->rows; i++)
        judged = judged || v->row[i].smallest < looked_for || v->row[i].is_judged;
    v->word = f->incomplete         ? CHECK_INCOMPLETE
              : f->faults           ? CHECK_WRONG
              : v->suspects > wrong ? CHECK_SLOW
              : judged              ? CHECK_DELIVERS
                                    : CHECK_NOT_JUDGED;
}

void check_verdict_destroy(check_verdict *v)
{
    free(v->suspect);
    *v = (check_verdict){ .rows = 0 };
}
