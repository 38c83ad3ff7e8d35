#include "judge/judge_wrong.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "judge/judge_text.h"
#include "ranks/check.h"

check_suspect *check_add_suspect(check_verdict *v)
{
    v->suspect = CHECK_ALLOC(realloc(v->suspect, (size_t)(v->suspects + 1) * sizeof *v->suspect));
    memset(&v->suspect[v->suspects], 0, sizeof *v->suspect);
    return &v->suspect[v->suspects++];
}

/* Whose each fault is; part CHECK_PARTS: not known yet. */
typedef struct blamed {
    const check_findings *f;
    check_candidate *of; /* [faults] */
} blamed;

static check_part part_of(const check_fault *fault)
{
    if (fault->a < 0) return check_like_part(fault->like) == CHECK_DISK ? CHECK_DISK : CHECK_JOB;
    if (fault->b < 0) return CHECK_GPU;
    return check_like_part(fault->like) == CHECK_HOST_LINK ? CHECK_HOST_LINK : CHECK_LINK;
}

static bool is_gpu(const blamed *b, int i, int rank)
{
    return b->of[i].part == CHECK_GPU && b->of[i].a == rank;
}

static bool known_wrong(const blamed *b, int rank)
{
    bool known = false;
    for (int i = 0; i < b->f->faults; i++) known = known || is_gpu(b, i, rank);
    return known;
}

/* Partners in pairs whose fault nobody answers for yet. */
static int partners_of(const blamed *b, check_part part, int rank)
{
    bool *partner = CHECK_ALLOC(calloc((size_t)b->f->ranks + 1, 1));
    int n = 0;
    for (int i = 0; i < b->f->faults; i++) {
        const check_fault *g = &b->f->fault[i];
        if (b->of[i].part != CHECK_PARTS || part_of(g) != part || (g->a != rank && g->b != rank)) continue;
        const int other = g->a == rank ? g->b : g->a;
        n += !partner[other];
        partner[other] = true;
    }
    free(partner);
    return n;
}

/* What a rank answers for in pairs is a GPU's, in pairs of hosts the host's. */
static void answer(blamed *b, check_part pairs, int rank)
{
    const check_candidate who = { pairs == CHECK_LINK ? CHECK_GPU : CHECK_HOST, rank, -1 };
    for (int i = 0; i < b->f->faults; i++) {
        const check_fault *g = &b->f->fault[i];
        if (b->of[i].part == CHECK_PARTS && part_of(g) == pairs && (g->a == rank || g->b == rank))
            b->of[i] = who;
    }
}

/* The rank with the most partners answers first, as long as it has two. */
static void answer_by_partners(blamed *b, check_part pairs)
{
    for (;;) {
        int most = 1, who = -1;
        for (int r = 0; r < b->f->ranks; r++) {
            const int n = partners_of(b, pairs, r);
            if (n > most) {
                most = n;
                who = r;
            }
        }
        if (who < 0) return;
        answer(b, pairs, who);
    }
}

static void blame_faults(blamed *b)
{
    const check_findings *f = b->f;
    for (int i = 0; i < f->faults; i++) {
        const check_fault *g = &f->fault[i];
        const check_part part = part_of(g);
        b->of[i] =
            (check_candidate){ part == CHECK_GPU || part == CHECK_DISK ? part : CHECK_PARTS, g->a, -1 };
    }
    for (int r = 0; r < f->ranks; r++)
        if (known_wrong(b, r)) answer(b, CHECK_LINK, r);
    answer_by_partners(b, CHECK_LINK);
    answer_by_partners(b, CHECK_HOST_LINK);
    for (int i = 0; i < f->faults; i++) {
        const check_fault *g = &f->fault[i];
        const check_part part = part_of(g);
        if (b->of[i].part != CHECK_PARTS || part == CHECK_JOB) continue;
        b->of[i] = (check_candidate){ part, g->a < g->b ? g->a : g->b, g->a < g->b ? g->b : g->a };
    }
}

/* Faults of all ranks are somebody's; where nobody is known they are the job's. */
static void blame_the_job(blamed *b)
{
    bool somebody = false;
    for (int i = 0; i < b->f->faults; i++) somebody = somebody || b->of[i].part != CHECK_PARTS;
    for (int i = 0; i < b->f->faults && !somebody; i++) b->of[i] = (check_candidate){ CHECK_JOB, -1, -1 };
}

static bool same(const check_candidate *a, const check_candidate *b)
{
    return a->part == b->part && a->a == b->a && a->b == b->b;
}

/* A link that has no other to compare with may as well be one of its two GPUs. */
static double confidence_of(const check_findings *f, const check_candidate *who)
{
    if (who->part == CHECK_LINK) return f->ranks > 2 ? 0.9 : 0.33;
    if (who->part == CHECK_HOST_LINK) return f->hosts > 2 ? 0.9 : 0.33;
    return who->part == CHECK_JOB ? 0.5 : 0.99;
}

static void add_suspect(check_verdict *v, const blamed *b, int first)
{
    const check_findings *f = b->f;
    const check_candidate *who = &b->of[first];
    const check_fault *g = &f->fault[first];
    check_suspect *s = check_add_suspect(v);
    int faults = 0;
    for (int i = first; i < f->faults; i++) faults += same(&b->of[i], who);
    *s = (check_suspect){
        .part = who->part, .a = who->a, .b = who->b, .factor = NAN, .confidence = confidence_of(f, who)
    };
    check_name(&s->name, f, *who);
    sentence_set(&s->evidence, "wrong bits in %s, round %d", check_like_name(g->like), g->round + 1);
    if (g->b >= 0) sentence_add(&s->evidence, ", ranks %d and %d", g->a, g->b);
    sentence_add(&s->evidence, ": %.600s", g->where.text);
    if (faults > 1) sentence_add(&s->evidence, "; and %d more", faults - 1);
}

void check_judge_faults(const check_findings *f, check_verdict *v)
{
    blamed b = { f, CHECK_ALLOC(calloc((size_t)f->faults + 1, sizeof *b.of)) };
    blame_faults(&b);
    blame_the_job(&b);
    for (int i = 0; i < f->faults; i++) {
        bool first = b.of[i].part != CHECK_PARTS;
        for (int k = 0; k < i; k++) first = first && !same(&b.of[k], &b.of[i]);
        if (first) add_suspect(v, &b, i);
    }
    free(b.of);
}
