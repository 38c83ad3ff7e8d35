#include "judge/judge.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/terminal.h"
#include "judge/blame.h"
#include "judge/judge_text.h"
#include "judge/judge_wrong.h"
#include "ranks/check.h"

const char *check_word_name(check_word w)
{
    static const char *const name[] = { "delivers", "slow", "wrong", "incomplete" };
    return name[w];
}

int check_exit_status(check_word w)
{
    static const int status[] = { 0, CHECK_EXIT_FAILED, CHECK_EXIT_FAILED, CHECK_EXIT_ENVIRONMENT };
    return status[w];
}

/* ---- rows ---- */

static double median_of(const check_points *p, const check_point_row *row)
{
    double *x = CHECK_ALLOC(malloc((size_t)row->count * sizeof *x));
    for (int i = 0; i < row->count; i++) x[i] = p->point[row->first + i].x;
    const double median = exp(check_median(x, row->count));
    free(x);
    return median;
}

static check_row row_of(const check_points *p, const check_point_row *from)
{
    const check_point *least = &p->point[from->first];
    for (int i = 1; i < from->count; i++)
        if (p->point[from->first + i].x < least->x) least = &p->point[from->first + i];
    return (check_row){ .like = from->like,
                        .alone = from->alone,
                        .count = from->count,
                        .median = median_of(p, from),
                        .least = exp(least->x),
                        .least_a = least->a,
                        .least_b = least->b,
                        .reference = NAN };
}

static bool wrong(const check_findings *f, check_like like)
{
    bool found = false;
    for (int i = 0; i < f->faults; i++) found = found || f->fault[i].like == like;
    return found;
}

/* Likes that gave wrong bits and no figure have a row too. */
static void add_wrong_rows(const check_findings *f, check_verdict *v)
{
    for (int l = 0; l < CHECK_LIKES; l++) {
        bool there = false;
        if (!wrong(f, (check_like)l)) continue;
        for (int i = 0; i < v->rows; i++) {
            if (v->row[i].like != (check_like)l) continue;
            v->row[i].verdict = CHECK_WRONG;
            there = true;
        }
        if (!there)
            v->row[v->rows++] = (check_row){ .like = (check_like)l,
                                             .median = NAN,
                                             .least = NAN,
                                             .least_a = -1,
                                             .least_b = -1,
                                             .noise = NAN,
                                             .reference = NAN,
                                             .verdict = CHECK_WRONG };
    }
}

/* One round alone may be disturbed as a whole: no component is slow by it. */
enum { ROUNDS_LEAST = 2 };

/* ---- beside the reference ---- */

/* A rate alone is what a reference has; together stands for it where nothing was measured alone. What all
 * ranks do at once depends on how many they are. */
static double reference_of(const check_findings *f, const check_verdict *v, const check_reference *r,
                           const check_row *row)
{
    const check_part part = check_like_part(row->like);
    const bool everybody = part == CHECK_JOB || part == CHECK_DISK || part == CHECK_HOST_LINK;
    if (everybody && (r->ranks != f->ranks || r->hosts != f->hosts)) return NAN;
    for (int i = 0; i < v->rows && !row->alone; i++)
        if (v->row[i].like == row->like && v->row[i].alone) return NAN;
    return sqrt(r->low[row->like] * r->high[row->like]);
}

/* Copies to and from the host, all at once, share what one copy has alone. */
static bool is_comparable(const check_reference *r, const check_row *row)
{
    const bool shares = row->like == CHECK_TO_HOST || row->like == CHECK_FROM_HOST;
    return check_reference_repeats(r, row->like) && (row->alone || !shares);
}

/* The part that is meant where all of a row lie below their reference: the one that there is, or all. */
static check_candidate all_of(const check_points *p, const check_point_row *row)
{
    const check_part part = check_like_part(row->like);
    const check_point *first = &p->point[row->first];
    const int a = first->a < first->b || first->b < 0 ? first->a : first->b,
              b = first->b < 0 ? -1 : first->a + first->b - a;
    bool one = part != CHECK_JOB;
    for (int i = 1; i < row->count; i++) {
        const check_point *q = &p->point[row->first + i];
        one = one && q->b >= 0 && q->a + q->b == a + b && (q->a == a || q->a == b);
    }
    return one ? (check_candidate){ part, a, b } : (check_candidate){ CHECK_JOB, -1, (int)part };
}

/* Is what is slow here explained by somebody who was found already? Of all ranks together by anybody; of a
 * single link by its GPUs. */
static bool explained(const check_verdict *v, check_candidate who, check_part part)
{
    bool found = false;
    for (int i = 0; i < v->suspects; i++) {
        const check_suspect *s = &v->suspect[i];
        found = found || part == CHECK_JOB ||
                (who.b >= 0 && who.part != CHECK_JOB && (s->a == who.a || s->a == who.b));
    }
    return found;
}

static check_suspect *same_suspect(check_verdict *v, int from, check_candidate who)
{
    for (int i = from; i < v->suspects; i++)
        if (v->suspect[i].part == who.part && v->suspect[i].a == who.a && v->suspect[i].b == who.b)
            return &v->suspect[i];
    return NULL;
}

static void name_all(sentence *name, const check_findings *f, check_candidate who)
{
    static const char *const all[] = {
        [CHECK_GPU] = "all GPUs alike",   [CHECK_LINK] = "all links of ranks alike",
        [CHECK_HOST] = "all hosts alike", [CHECK_HOST_LINK] = "all links of hosts alike",
        [CHECK_DISK] = "the disk",        [CHECK_JOB] = "all ranks together"
    };
    if (who.part != CHECK_JOB) check_name(name, f, who);
    else if (who.b == CHECK_GPU && f->device == DEVICE_HOST)
        sentence_set(name, "processor cores of all ranks alike");
    else sentence_set(name, "%s", all[who.b]);
}

/* The machine may be built otherwise than the one that the reference is of. */
static const double by_reference = 0.9;

static void suspect_all(const check_findings *f, check_verdict *v, int from, check_candidate who,
                        const check_row *row, double factor)
{
    const char *unit = check_like_unit(row->like);
    check_suspect *s = same_suspect(v, from, who);
    char is[32], of[32];
    if (!s) {
        s = check_add_suspect(v);
        *s = (check_suspect){
            .part = who.part, .a = who.a, .b = who.b, .factor = 1, .confidence = by_reference
        };
        name_all(&s->name, f, who);
        sentence_set(&s->evidence, "below the reference: ");
    } else {
        sentence_add(&s->evidence, "; ");
    }
    s->factor = fmin(s->factor, factor);
    sentence_add(&s->evidence, "%s%s %.0f %% (%s of %s)", check_like_name(row->like),
                 row->alone ? " alone" : "", 100 * factor,
                 terminal_rate(is, sizeof is, row->reference * factor, unit),
                 terminal_rate(of, sizeof of, row->reference, unit));
}

/* Two GPUs have no median that tells them apart: where one alone is as the reference, the other is slow.
 * NULL: it is not so. */
static const check_point *slower_of_two(const check_points *p, const check_point_row *row, double low)
{
    const check_point *slow = &p->point[row->first], *fast = slow + 1;
    if (row->count != 2 || check_like_part(row->like) != CHECK_GPU) return NULL;
    if (slow->x > fast->x) slow = fast, fast = &p->point[row->first];
    return slow->x < log(low) && fast->x >= log(low) ? slow : NULL;
}

/* p: points without the effects of those who were blamed, so that what remains is what the others deliver. */
static void judge_by_reference(const check_findings *f, const check_points *p, const check_blames *b,
                               const check_reference *r, check_verdict *v)
{
    const int from = v->suspects;
    for (int i = 0; i < p->rows; i++) {
        check_row *row = &v->row[i];
        row->reference = reference_of(f, v, r, row);
        if (!(row->reference > 0)) continue;
        row->is_judged = is_comparable(r, row) && p->row[i].rounds >= ROUNDS_LEAST;
        const double median = median_of(p, &p->row[i]);
        const double least = fmax(CHECK_LEAST_DIFFERENCE, 1 - exp(-b->errors_least * p->row[i].spread));
        const double low = r->low[row->like] * (1 - least);
        const check_point *slower = slower_of_two(p, &p->row[i], low);
        const check_candidate who =
            slower ? (check_candidate){ CHECK_GPU, slower->a, -1 } : all_of(p, &p->row[i]);
        const double rate = slower ? exp(slower->x) : median;
        if (!row->is_judged || rate >= low) continue;
        row->verdict = CHECK_SLOW;
        if (explained(v, who, check_like_part(row->like))) continue;
        suspect_all(f, v, from, who, row, rate / row->reference);
    }
    for (int i = from; i < v->suspects; i++)
        if (v->suspect[i].part == CHECK_JOB) v->suspect[i].b = -1;
}

/* ---- all ---- */

static void suspect_slow(const check_findings *f, const check_points *p, const check_blames *b,
                         check_verdict *v)
{
    for (int i = 0; i < b->blames; i++) {
        const check_blame *blame = &b->blame[i];
        check_suspect *s = check_add_suspect(v);
        *s = (check_suspect){ .part = blame->who.part,
                              .a = blame->who.a,
                              .b = blame->who.b,
                              .factor = 1,
                              .confidence = blame->confidence };
        check_slow_text(s, f, p, blame);
        for (int k = 0; k < blame->facets; k++) {
            s->factor = fmin(s->factor, exp(blame->facet[k].effect));
            v->row[blame->facet[k].row].verdict = CHECK_SLOW;
        }
    }
}

/* Wrong before slow, the certain before the doubtful, the slower first. */
static int most_certain_first(const void *pa, const void *pb)
{
    const check_suspect *a = pa, *b = pb;
    if (isnan(a->factor) != isnan(b->factor)) return isnan(a->factor) ? -1 : 1;
    if (a->confidence != b->confidence) return a->confidence > b->confidence ? -1 : 1;
    if (isnan(a->factor) || a->factor == b->factor) return a->a - b->a;
    return a->factor < b->factor ? -1 : 1;
}

void check_judge(const check_findings *f, const check_reference *reference, check_verdict *v)
{
    check_points p;
    check_blames b;
    *v = (check_verdict){ .rows = 0 };
    check_judge_faults(f, v);
    check_points_create(&p, f);
    for (v->rows = 0; v->rows < p.rows; v->rows++) v->row[v->rows] = row_of(&p, &p.row[v->rows]);
    check_blames_create(&b, &p, f);
    for (int i = 0; i < p.rows; i++) v->row[i].noise = b.row_noise[i];
    if (f->rounds >= ROUNDS_LEAST) suspect_slow(f, &p, &b, v);
    if (reference) judge_by_reference(f, &p, &b, reference, v);
    add_wrong_rows(f, v);
    if (v->suspects > 1) qsort(v->suspect, (size_t)v->suspects, sizeof *v->suspect, most_certain_first);
    v->word = f->incomplete ? CHECK_INCOMPLETE
              : f->faults   ? CHECK_WRONG
              : v->suspects ? CHECK_SLOW
                            : CHECK_DELIVERS;
    check_blames_destroy(&b);
    check_points_destroy(&p);
}

void check_verdict_destroy(check_verdict *v)
{
    free(v->suspect);
    *v = (check_verdict){ .rows = 0 };
}
