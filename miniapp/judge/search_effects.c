#include "judge/search.h"

#include <math.h>
#include <stdlib.h>

#include "ranks/check.h"

static const check_points *ordered; /* for qsort; rank 0's main thread alone judges */
static int by_rate(const void *pa, const void *pb)
{
    const double a = ordered->point[*(const int *)pa].x, b = ordered->point[*(const int *)pb].x;
    return (a > b) - (a < b);
}

static void order_rows(search *s)
{
    ordered = s->p;
    for (int r = 0; r < s->p->rows; r++) {
        const check_point_row *row = &s->p->row[r];
        int *order = s->order + row->first;
        for (int i = 0; i < row->count; i++) order[i] = row->first + i;
        qsort(order, (size_t)row->count, sizeof *order, by_rate);
        for (int i = 0; i < row->count; i++) s->place[order[i]] = i;
    }
}

/* The k-th lowest of the row without those n whose places, ascending, are left out. */
static double without(const search *s, const check_point_row *row, const double *left_out, int n, int k)
{
    for (int i = 0; i < n; i++) k += left_out[i] <= k;
    return s->p->point[s->order[row->first + k]].x;
}

/* The median of the row's points that the candidate has no part in; of a link only the facet itself is left
 * out, since its two ways are compared with each other. False: there are none. */
static bool of_others(const search *s, const reach *h, int *others, double *median)
{
    const check_point_row *row = &s->p->row[h->facet.row];
    const bool link = h->part == CHECK_LINK;
    const touch *first = link ? h->first : h->in_row;
    const int n = link ? h->facet.figures : h->in_row_count, left = row->count - n;
    if (left == 0) return false;
    for (int i = 0; i < n; i++) s->scratch[i] = s->place[first[i].point];
    (void)check_median(s->scratch, n); /* sorts */
    *others = left;
    *median = (without(s, row, s->scratch, n, (left - 1) / 2) + without(s, row, s->scratch, n, left / 2)) / 2;
    return true;
}

static double rate_of(const check_point *p) { return p->x; }
static double beside_of(const check_point *p) { return p->beside; }
static double places_of(const check_point *p) { return p->places; }

/* The median of that number over the facet's figures, of two the higher one. */
static double middle(const search *s, const reach *h, double (*number)(const check_point *p))
{
    const int n = h->facet.figures;
    for (int i = 0; i < n; i++) s->scratch[i] = number(&s->p->point[h->first[i].point]);
    (void)check_median(s->scratch, n); /* sorts */
    return s->scratch[n / 2];
}

/* The variance of a median is that of a mean of two thirds as many. */
static double as_mean_of(int n) { return n < 3 ? n : n * 0.6366; }

static void measure(const search *s, reach *h)
{
    const double row_noise = s->p->row[h->facet.row].noise;
    const int n = h->facet.figures;
    double of;
    int others;
    h->facet.effect = h->facet.errors = h->error = 0;
    if (!of_others(s, h, &others, &of)) return;
    const double is = middle(s, h, rate_of), scatter = n < 3 ? 0 : check_scatter(s->scratch, n);
    h->facet.is = exp(is);
    h->facet.of = exp(of);
    h->facet.effect = is - of;
    h->error = sqrt((row_noise * row_noise + scatter * scatter) / as_mean_of(n) +
                    row_noise * row_noise / as_mean_of(others));
}

static int by_kind(const void *pa, const void *pb)
{
    const reach *a = *(const reach *const *)pa, *b = *(const reach *const *)pb;
    if (a->facet.row != b->facet.row) return a->facet.row - b->facet.row;
    if (a->part != b->part) return (int)a->part - (int)b->part;
    return (int)a->facet.role - (int)b->facet.role;
}

/* The best round shows how slow it is. By a third of that at least it was behind the others in all rounds but
 * a few, or it is load of others that did not meet all alike. */
static bool behind(const search *s, const reach *h)
{
    return middle(s, h, beside_of) < fmin(log(1 - CHECK_LEAST_DIFFERENCE), h->facet.effect / 3);
}

/* Of all facets of a kind: one that is no further out than they scatter is as they are. */
static void weigh(const search *s, reach **kind, int count)
{
    enum { ORDERED_LEAST = 5 };
    const check_point_row *row = &s->p->row[kind[0]->facet.row];
    double scatter = 0, error = 0;
    for (int i = 0; i < count; i++) s->scratch[i] = kind[i]->facet.effect;
    if (count > 2) scatter = check_scatter(s->scratch, count);
    for (int i = 0; i < count; i++) {
        reach *h = kind[i];
        h->ordered = h->error > 0 && row->rounds >= CHECK_ROUNDS_ENOUGH && count >= ORDERED_LEAST;
        if (h->error <= 0) continue;
        h->places = middle(s, h, places_of);
        h->out = h->facet.effect / fmax(scatter / check_few(count), CHECK_NOISE_LEAST);
        h->steady = behind(s, h);
        h->facet.errors = h->facet.effect / fmax(scatter, h->error);
        error = fmax(scatter, row->noise * sqrt(1.0 + 1.0 / count));
    }
    if (kind[0]->part != check_like_part(row->like)) return;
    s->row_noise[kind[0]->facet.row] = fmax(CHECK_LEAST_DIFFERENCE, 1 - exp(-s->errors_least * error));
}

void search_measure(search *s)
{
    reach **sorted = CHECK_ALLOC(malloc((size_t)(s->reaches + 1) * sizeof(reach *)));
    order_rows(s);
    for (int i = 0; i < s->reaches; i++) {
        measure(s, &s->reach[i]);
        sorted[i] = &s->reach[i];
    }
    qsort(sorted, (size_t)s->reaches, sizeof *sorted, by_kind);
    for (int i = 0, n; i < s->reaches; i += n) {
        for (n = 1; i + n < s->reaches && by_kind(&sorted[i], &sorted[i + n]) == 0; n++) continue;
        weigh(s, sorted + i, n);
    }
    free(sorted);
}
