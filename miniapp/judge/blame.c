#include "judge/search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ranks/check.h"

enum { PASSES_MAX = 8, BLAMES_MAX = 64 };
static const double as_good = 0.8; /* of the other's explanation */

/* ---- candidates ---- */

static bool far_out(const search *s, double effect, double errors)
{
    return effect < log(1 - CHECK_LEAST_DIFFERENCE) && errors < -s->errors_least;
}

/* The facets one by one, and all of them together, which tells where each is hidden in noise. A lone one is
 * no evidence. */
static void judge_candidate(const search *s, candidate *c)
{
    double sum = 0;
    int n = 0;
    c->explains = c->errors = 0;
    for (int i = c->first; i < c->first + c->count; i++) {
        reach *h = &s->reach[i];
        h->facet.slow = h->steady && !h->lone && far_out(s, h->facet.effect, h->facet.errors);
        if (!h->steady || h->lone || h->error <= 0) continue;
        if (h->facet.slow) c->explains += h->facet.errors * h->facet.errors;
        c->errors = fmin(c->errors, h->facet.errors);
        sum += h->facet.errors;
        s->scratch[n++] = h->facet.effect;
    }
    const double together = n > 0 ? sum / sqrt(n) : 0;
    c->blamed_by_all = n > 1 && far_out(s, check_median(s->scratch, n), together);
    if (!c->blamed_by_all) return;
    c->explains = fmax(c->explains, together * together);
    c->errors = fmin(c->errors, together);
    for (int i = c->first; i < c->first + c->count; i++) {
        reach *h = &s->reach[i];
        h->facet.slow |= h->steady && !h->lone &&
                         (h->facet.errors < -2 || h->facet.effect < log(1 - CHECK_LEAST_DIFFERENCE));
    }
}

/* By the order of each round, where rates are mostly noise: all facets together, slow or not. That says
 * nothing of how slow it is; so by their best rounds most of them must be slow, and stand out from their
 * kind. */
static void judge_by_order(const search *s, candidate *c)
{
    static const double out_least = 3;
    const double slow = log(1 - CHECK_LEAST_DIFFERENCE);
    double sum = 0;
    int n = 0, clear = 0;
    for (int i = c->first; i < c->first + c->count; i++) {
        const reach *h = &s->reach[i];
        if (!h->ordered || h->lone) continue;
        sum += h->places;
        n++;
        clear += h->facet.effect < slow && h->out < -out_least;
    }
    const double beyond = n > 0 ? -sum / sqrt(n) / s->order_least : 0;
    if (beyond < 1 || 2 * clear <= n) return;
    c->errors = fmin(c->errors, -beyond * s->errors_least);
    c->explains = fmax(c->explains, c->errors * c->errors);
    for (int i = c->first; i < c->first + c->count; i++) {
        reach *h = &s->reach[i];
        h->facet.slow |= h->ordered && !h->lone && h->facet.effect < slow;
    }
}

static bool shares(const search *s, const candidate *c, const bool *points)
{
    for (int i = c->first; i < c->first + c->count; i++)
        for (int k = 0; s->reach[i].facet.slow && k < s->reach[i].facet.figures; k++)
            if (points[s->reach[i].first[k].point]) return true;
    return false;
}

static void mark(const search *s, const candidate *c, bool *points)
{
    for (int i = c->first; i < c->first + c->count; i++)
        for (int k = 0; s->reach[i].facet.slow && k < s->reach[i].facet.figures; k++)
            points[s->reach[i].first[k].point] = true;
}

/* ---- blame ---- */

static int furthest_first(const void *pa, const void *pb)
{
    const check_facet *a = pa, *b = pb;
    return (a->errors > b->errors) - (a->errors < b->errors);
}

/* 0.95 where the effect just counts; of n explanations that are as good each has one n-th of it. */
static double confidence_of(double errors, double errors_least, int explanations)
{
    const double beyond = errors / errors_least;
    return fmin(0.99, 1 - exp(-3 * beyond * beyond)) / explanations;
}

/* Has o a lone facet wherever c is slow? */
static bool covers(const search *s, const candidate *o, int slow, const bool *mine)
{
    for (int i = o->first; i < o->first + o->count; i++)
        for (int k = 0; s->reach[i].lone && k < s->reach[i].facet.figures; k++)
            slow -= mine[s->reach[i].first[k].point];
    return slow == 0;
}

static void add_blame(const search *s, check_blames *b, const candidate *c)
{
    bool *mine = CHECK_ALLOC(calloc((size_t)s->p->points + 1, 1));
    check_blame *blame = CHECK_ALLOC(realloc(b->blame, (size_t)(b->blames + 1) * sizeof *blame));
    check_blame *last = &blame[b->blames++];
    int slow = 0;
    b->blame = blame;
    *last =
        (check_blame){ .who = c->who, .facet = CHECK_ALLOC(malloc((size_t)c->count * sizeof(check_facet))) };
    for (int i = c->first; i < c->first + c->count; i++)
        if (s->reach[i].facet.slow) last->facet[last->facets++] = s->reach[i].facet;
    qsort(last->facet, (size_t)last->facets, sizeof(check_facet), furthest_first);
    mark(s, c, mine);
    for (int i = 0; i < s->p->points; i++) slow += mine[i];
    for (int i = 0; i < s->candidates; i++) {
        const candidate *o = &s->candidate[i];
        const bool explains = o->explains >= as_good * c->explains && shares(s, o, mine);
        if (o == c || !(explains || covers(s, o, slow, mine))) continue;
        if (last->others < CHECK_OTHERS) last->other[last->others] = o->who;
        last->others++;
    }
    last->confidence = confidence_of(c->errors, s->errors_least, 1 + last->others);
    free(mine);
}

/* Facets that are slow, and those that hang behind, are as the others from now on. */
static void take_off(search *s, const candidate *c)
{
    for (int i = c->first; i < c->first + c->count; i++) {
        const reach *h = &s->reach[i];
        if (h->facet.effect < 0 && (h->facet.slow || h->facet.errors < -2))
            for (int k = 0; k < h->facet.figures; k++) s->p->point[h->first[k].point].x -= h->facet.effect;
    }
}

static int most_explained_first(const void *pa, const void *pb)
{
    const candidate *a = *(const candidate *const *)pa, *b = *(const candidate *const *)pb;
    if (a->explains != b->explains) return a->explains > b->explains ? -1 : 1;
    return (a > b) - (a < b);
}

/* In one pass the one that explains most, and those of its part that explain half as much of other figures.
 * False: nobody. */
static bool pass(search *s, check_blames *b)
{
    candidate **found = CHECK_ALLOC(malloc((size_t)(s->candidates + 1) * sizeof(candidate *)));
    const int before = b->blames;
    int count = 0;
    search_measure(s);
    for (int i = 0; i < s->candidates; i++) {
        judge_candidate(s, &s->candidate[i]);
        judge_by_order(s, &s->candidate[i]);
        if (s->candidate[i].explains > 0) found[count++] = &s->candidate[i];
    }
    qsort(found, (size_t)count, sizeof *found, most_explained_first);
    memset(s->taken, 0, (size_t)s->p->points);
    for (int i = 0; i < count && b->blames < BLAMES_MAX && found[i]->explains >= found[0]->explains / 2;
         i++) {
        if (found[i]->who.part != found[0]->who.part || shares(s, found[i], s->taken)) continue;
        mark(s, found[i], s->taken);
        add_blame(s, b, found[i]);
        take_off(s, found[i]);
    }
    free(found);
    return b->blames > before;
}

void check_blames_create(check_blames *b, check_points *p, const check_findings *f)
{
    search s;
    *b = (check_blames){ .blames = 0 };
    search_begin(&s, p, f, b);
    for (int n = 0; n < PASSES_MAX && pass(&s, b); n++) continue;
    search_end(&s);
}

void check_blames_destroy(check_blames *b)
{
    for (int i = 0; i < b->blames; i++) free(b->blame[i].facet);
    free(b->blame);
    *b = (check_blames){ .blames = 0 };
}
