#include "run/overlap.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct median { /* with its 95 % confidence interval */
    double middle, low, high;
} median;

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The largest k for which [k-th smallest, k-th largest] of n samples holds the median with 95 %: k - 1 or
 * fewer of them lie below it with the probability of k - 1 or fewer heads of n coins. */
static int rank_of_interval(int n)
{
    double ways = 1, at_most = 0;
    int k = 0;
    while (k < n / 2) {
        at_most += ways * pow(0.5, n);
        if (2 * at_most > 0.05) break;
        k++;
        ways *= (double)(n - k + 1) / k;
    }
    return k;
}

static median median_of(const double *samples, int n)
{
    double sorted[OVERLAP_PAIRS_MAX];
    const int k = rank_of_interval(n);
    memcpy(sorted, samples, (size_t)n * sizeof *sorted);
    qsort(sorted, (size_t)n, sizeof *sorted, ascending);
    return (median){ (sorted[(n - 1) / 2] + sorted[n / 2]) / 2, sorted[k - 1], sorted[n - k] };
}

static double uncertainty_of(median m) { return fmax(m.high - m.middle, m.middle - m.low); }

overlap overlap_none(const char *why)
{
    overlap o = { NAN, NAN, NAN, NAN, NAN, NAN, NAN, { "" } };
    sentence_set(&o.why, "%s", why);
    return o;
}

/* Sets the fraction, or why there is none. */
static void judge(overlap *o, double fraction, double uncertainty)
{
    const double nearest = fmin(fmax(fraction, 0), 1);
    if (!(uncertainty < 1))
        sentence_set(&o->why, "the exchange takes no longer than the uncertainty of its time, %.3g ms",
                     uncertainty * o->comm_s * 1e3);
    else if (fabs(fraction - nearest) > uncertainty)
        sentence_set(
            &o->why,
            fraction < 0
                ? "a step with its exchange takes longer than both one after the other, by %.2f of the "
                  "exchange's time"
                : "a step with its exchange is shorter than one without it, by %.2f of the exchange's time",
            fraction < 0 ? -fraction : fraction - 1);
    else {
        o->hidden_fraction = nearest;
        o->hidden_uncertainty = uncertainty;
    }
}

overlap overlap_of(const double *with_s, const double *without_s, const double *comm_s, int pairs)
{
    double visible_s[OVERLAP_PAIRS_MAX];
    assert(pairs >= OVERLAP_PAIRS_LEAST && pairs <= OVERLAP_PAIRS_MAX);
    for (int i = 0; i < pairs; i++) visible_s[i] = with_s[i] - without_s[i];
    const median visible = median_of(visible_s, pairs), comm = median_of(comm_s, pairs);
    overlap o = overlap_none("");
    o.step_s = median_of(with_s, pairs).middle;
    o.step_without_comm_s = median_of(without_s, pairs).middle;
    o.comm_s = comm.middle;
    o.visible_s = visible.middle;
    o.uncertainty_s = uncertainty_of(visible);
    const double ratio = o.visible_s / o.comm_s;
    /* to first order, both at their worst */
    judge(&o, 1 - ratio, (o.uncertainty_s + fabs(ratio) * uncertainty_of(comm)) / o.comm_s);
    return o;
}
