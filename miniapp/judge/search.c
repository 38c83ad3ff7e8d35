#include "judge/search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ranks/check.h"

/* ---- who has a part in what ---- */

/* Ranks that share a GPU are told apart neither from each other nor as ends of links: the first of them
 * stands for the GPU. */
static int *gpus_of(const check_findings *f)
{
    int *gpu = CHECK_ALLOC(calloc((size_t)f->ranks + 1, sizeof *gpu));
    for (int r = 0; r < f->ranks; r++) {
        const check_rank *mine = &f->rank[r], *other = f->rank;
        while (other < mine && !(mine->uuid[0] && other->host_number == mine->host_number &&
                                 strcmp(other->uuid, mine->uuid) == 0))
            other++;
        gpu[r] = (int)(other - f->rank);
    }
    return gpu;
}

static void add_touch(search *s, check_part part, int a, int b, check_role role, int point)
{
    s->touch[s->touches++] = (touch){ { part, a, b }, role, point };
}

static void add_host(search *s, int rank, int point)
{
    if (s->f->hosts > 1)
        add_touch(s, CHECK_HOST, s->host_rank[s->f->rank[rank].host_number], -1, CHECK_OWN, point);
}

static void add_link(search *s, bool oneway, int a, int b, int point)
{
    const int from = s->gpu_rank[a], to = s->gpu_rank[b];
    add_touch(s, CHECK_GPU, from, -1, oneway && from != to ? CHECK_OUT : CHECK_OWN, point);
    if (from != to) {
        add_touch(s, CHECK_GPU, to, -1, oneway ? CHECK_IN : CHECK_OWN, point);
        add_touch(s, CHECK_LINK, from < to ? from : to, from < to ? to : from,
                  !oneway ? CHECK_OWN : from < to ? CHECK_OUT : CHECK_IN, point);
    }
    add_host(s, a, point);
    if (s->f->rank[a].host_number != s->f->rank[b].host_number) add_host(s, b, point);
}

enum { TOUCHES_MAX = 5 }; /* of a point */

static void add_touches(search *s, int point)
{
    const check_point *q = &s->p->point[point];
    const check_like like = s->p->row[q->row].like;
    switch (check_like_part(like)) {
    case CHECK_GPU:
        add_touch(s, CHECK_GPU, s->gpu_rank[q->a], -1, CHECK_OWN, point);
        add_host(s, q->a, point);
        break;
    case CHECK_LINK: add_link(s, like == CHECK_PAIR_ONEWAY, q->a, q->b, point); break;
    case CHECK_HOST_LINK:
        add_touch(s, CHECK_HOST_LINK, q->a, q->b, CHECK_OWN, point);
        add_host(s, q->a, point);
        add_host(s, q->b, point);
        break;
    case CHECK_HOST: add_host(s, q->a, point); break;
    case CHECK_DISK:
    case CHECK_JOB:
    case CHECK_PARTS: break;
    }
}

static int compare_candidates(const check_candidate *a, const check_candidate *b)
{
    if (a->part != b->part) return (int)a->part - (int)b->part;
    if (a->a != b->a) return a->a < b->a ? -1 : 1;
    return (a->b > b->b) - (a->b < b->b);
}

/* By candidate, row and role: points of a row stand together, in the order of rows. */
static int compare_touches(const void *pa, const void *pb)
{
    const touch *a = pa, *b = pb;
    const int by_candidate = compare_candidates(&a->who, &b->who);
    if (by_candidate) return by_candidate;
    return a->point - b->point;
}

static int row_of(const search *s, const touch *t) { return s->p->point[t->point].row; }

/* Sorts n touches of one candidate in one row by their role. */
static int compare_roles(const void *pa, const void *pb)
{
    const touch *a = pa, *b = pb;
    return a->role != b->role ? (int)a->role - (int)b->role : a->point - b->point;
}

/* Are they all of one component, which is smaller than the candidate? The two ways of a link are one. */
static bool lone(const search *s, const touch *t, int count)
{
    const check_point *first = &s->p->point[t->point];
    bool one = t->who.part != check_like_part(s->p->row[first->row].like);
    for (int i = 1; i < count; i++) {
        const check_point *q = &s->p->point[t[i].point];
        one = one && ((q->a == first->a && q->b == first->b) || (q->a == first->b && q->b == first->a));
    }
    return one;
}

static void add_reaches(search *s, touch *first, int count)
{
    qsort(first, (size_t)count, sizeof *first, compare_roles);
    for (int i = 0, n; i < count; i += n) {
        for (n = 1; i + n < count && first[i + n].role == first[i].role; n++) continue;
        s->reach[s->reaches++] =
            (reach){ .facet = { .row = row_of(s, first), .role = first[i].role, .figures = n },
                     .part = first->who.part,
                     .lone = lone(s, first + i, n),
                     .first = first + i,
                     .in_row = first,
                     .in_row_count = count };
    }
}

static void find_candidates(search *s)
{
    for (int i = 0; i < s->p->points; i++) add_touches(s, i);
    qsort(s->touch, (size_t)s->touches, sizeof *s->touch, compare_touches);
    for (int i = 0, n; i < s->touches; i += n) {
        touch *t = &s->touch[i];
        for (n = 1; i + n < s->touches && compare_candidates(&t[n].who, &t->who) == 0 &&
                    row_of(s, &t[n]) == row_of(s, t);
             n++)
            continue;
        if (i == 0 || compare_candidates(&t[-1].who, &t->who) != 0)
            s->candidate[s->candidates++] = (candidate){ .who = t->who, .first = s->reaches };
        add_reaches(s, t, n);
        s->candidate[s->candidates - 1].count = s->reaches - s->candidate[s->candidates - 1].first;
    }
}

/* ---- all ---- */

/* sqrt(2 log(1 / p)) bounds the quantile beyond which a normal number lies with probability p; here p is a
 * hundredth over all that are asked. */
static double errors_least_of(const search *s)
{
    return sqrt(2 * log(100.0 * (s->reaches + s->candidates + 1)));
}

/* The same of the candidates, as a quantile of the normal distribution itself, which sums of places follow
 * closely; of p it is about sqrt(L - log(2 pi L)), L = 2 log(1 / p). */
static double order_least_of(const search *s)
{
    const double l = 2 * log(100.0 * (s->candidates + 1));
    return sqrt(l - log(6.283185307179586 * l));
}

static void *array(size_t n, size_t each) { return CHECK_ALLOC(calloc(n + 1, each)); }

void search_begin(search *s, check_points *p, const check_findings *f, check_blames *b)
{
    const size_t points = (size_t)p->points, touches = TOUCHES_MAX * points;
    *s = (search){ .p = p, .f = f, .row_noise = b->row_noise };
    s->gpu_rank = gpus_of(f);
    s->host_rank = array((size_t)f->hosts, sizeof *s->host_rank);
    for (int r = f->ranks - 1; r >= 0; r--) s->host_rank[f->rank[r].host_number] = r;
    s->touch = array(touches, sizeof *s->touch);
    s->reach = array(touches, sizeof *s->reach);
    s->candidate = array(touches, sizeof *s->candidate);
    s->order = array(points, sizeof *s->order);
    s->place = array(points, sizeof *s->place);
    s->scratch = array(touches, sizeof *s->scratch);
    s->taken = array(points, sizeof *s->taken);
    find_candidates(s);
    b->errors_least = s->errors_least = errors_least_of(s);
    s->order_least = order_least_of(s);
    for (int r = 0; r < p->rows; r++)
        b->row_noise[r] = fmax(CHECK_LEAST_DIFFERENCE, 1 - exp(-s->errors_least * p->row[r].noise));
}

void search_end(search *s)
{
    free(s->gpu_rank);
    free(s->host_rank);
    free(s->touch);
    free(s->reach);
    free(s->candidate);
    free(s->order);
    free(s->place);
    free(s->scratch);
    free(s->taken);
}
