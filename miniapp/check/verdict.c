#include "check/verdict.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cmd.h"
#include "check/units.h"
#include "ranks/check.h"

static const double least_difference = 0.03; /* no smaller one counts */
static const double looked_for = 0.5;        /* a deviation; where less hides in noise, nothing is judged */
enum { ROUNDS_LEAST = 2, SHOWN = 3 };

typedef struct judge {
    const check_findings *f;
    check_verdict *v;
    bool *explained;    /* [figures] a suspect takes part, so that the rate tells nothing of others */
    double comparisons; /* figures of a round */
    double errors;      /* standard deviations: more are chance in one of a hundred checks */
} judge;

const char *const check_word_name[] = { "delivers", "not judged", "slow", "wrong", "incomplete" };
const int check_exit_status[] = { 0, CHECK_EXIT_NOT_JUDGED, CHECK_EXIT_FAILED, CHECK_EXIT_FAILED,
                                  CHECK_EXIT_ENVIRONMENT };

/* ---- suspects ---- */

static void set_name(sentence *out, const check_findings *f, check_part part, int a, int b)
{
    static const char *const all[] = { "all GPUs alike",  "all links of ranks alike",
                                       "all hosts alike", "all links of hosts alike",
                                       "the disk",        "all ranks together" };
    const check_rank *r = a < 0 ? NULL : &f->rank[a];
    const bool cores = part == CHECK_GPU && f->device == DEVICE_HOST;
    if (!r) sentence_set(out, "%s", cores ? "processor cores of all ranks alike" : all[part]);
    else if (cores) sentence_set(out, "processor cores of rank %d (%s)", a, r->host);
    else if (part == CHECK_GPU)
        sentence_set(out, "GPU of rank %d (%s, %.12s, %s)", a, r->host, r->uuid, r->pci);
    else if (part == CHECK_HOST) sentence_set(out, "host %s (ranks from %d on)", r->host, a);
    else if (part == CHECK_LINK) sentence_set(out, "link of ranks %d and %d (%s)", a, b, r->host);
    else sentence_set(out, "link of hosts %s and %s", r->host, f->rank[b].host);
}

/* The suspect (part, a, b), made where there is none yet; NULL: there are too many. a < 0: all parts of a
 * kind. */
static check_suspect *suspect_of(judge *j, check_part part, int a, int b)
{
    check_verdict *v = j->v;
    check_suspect *s = v->suspect;
    const int low = b >= 0 && b < a ? b : a, high = b >= 0 && b < a ? a : b;
    sentence name;
    set_name(&name, j->f, part, low, high);
    for (int i = 0; i < v->suspects; i++, s++)
        if (strcmp(s->name.text, name.text) == 0) return s;
    if (v->suspects == CHECK_SUSPECTS) return NULL;
    v->suspects++;
    *s = (check_suspect){ .part = a < 0 && part != CHECK_DISK ? CHECK_JOB : part,
                          .a = low,
                          .b = high,
                          .factor = 1,
                          .confidence = 1,
                          .name = name };
    const unit_kind kind = part == CHECK_HOST ? UNIT_HOST : part == CHECK_GPU ? UNIT_RANK : UNIT_COMPONENT;
    if (a >= 0) units_explain(j->f, kind, a, b, j->explained);
    return s;
}

/* "memory copy 81 %; memory read 82 %; and 4 more". */
static void add_evidence(check_suspect *s, check_row *row, double factor)
{
    row->verdict = CHECK_SLOW;
    s->factor = fmin(s->factor, factor);
    if (s->rows++ < SHOWN)
        sentence_add(&s->evidence, "%s%s %.0f %%", s->rows > 1 ? "; " : "", check_likes[row->like].name,
                     100 * factor);
}

/* ---- wrong bits ---- */

/* A rank's own wrong bits explain those of its pairs, and anybody's those of all ranks. */
static bool is_explained(const check_findings *f, const check_fault *g)
{
    const check_part part = check_likes[g->like].part;
    for (int i = 0; i < f->faults; i++) {
        const check_fault *own = &f->fault[i];
        if (part == CHECK_JOB && own->a >= 0) return true;
        if (part == CHECK_LINK && own->b < 0 && (own->a == g->a || own->a == g->b)) return true;
    }
    return false;
}

/* The first fault of a part is its evidence. */
static void judge_wrong(judge *j)
{
    for (int i = 0; i < j->f->faults; i++) {
        const check_fault *g = &j->f->fault[i];
        const check_like_row *like = &check_likes[g->like];
        check_suspect *s = is_explained(j->f, g) ? NULL : suspect_of(j, like->part, g->a, g->b);
        if (!s || s->rows++ > 0) continue;
        s->factor = NAN;
        sentence_set(&s->evidence, "wrong bits in %s, round %d: %.600s", like->name, g->round + 1,
                     g->where.text);
    }
}

/* ---- slow next to peers ---- */

/* The least deviation of one unit that counts, in logarithms; INFINITY: none. */
static double least_of(const judge *j, const units *u)
{
    if (u->count < 2 || u->rounds < ROUNDS_LEAST) return INFINITY;
    return fmax(-log1p(-least_difference), j->errors * u->error);
}

/* Can units of a row be told from its components? A host has several ranks, a rank several pairs. */
static bool has_units(const check_findings *f, check_like like, unit_kind kind)
{
    const check_part part = check_likes[like].part;
    const bool several = f->ranks > f->hosts, many = f->ranks > 2 * f->hosts;
    if (kind == UNIT_HOST)
        return f->hosts > 1 && (part == CHECK_HOST_LINK ? f->hosts > 2 : part == CHECK_LINK ? many : several);
    if (kind == UNIT_RANK) return part == CHECK_GPU || (part == CHECK_LINK && many);
    return part == CHECK_LINK || part == CHECK_HOST_LINK;
}

/* A pair is one, whichever way. */
static bool same(const unit *u, const unit *w)
{
    return u && w && ((u->a == w->a && u->b == w->b) || (u->a == w->b && u->b == w->a));
}

/* Is the unit less than half as fast as its peers, and does chance keep it below its best in less than one of
 * a thousand checks? By all rows that have it, of a pair's two ways the nearer one; combined as Fisher did.
 * A row in which it has less than a third of this effect tells nothing of it. */
static bool is_never_high(const judge *j, const units rows[], const units *row, const unit *u)
{
    double sum = 0, term = 1, terms = 0;
    int n = 0;
    if (row->count < 3 || u->effect >= log1p(-looked_for)) return false;
    for (int r = 0; r < j->v->rows; r++) {
        double here = -INFINITY;
        for (const unit *w = rows[r].unit; w < rows[r].unit + rows[r].count; w++)
            if (same(u, w))
                here = fmax(here, w->effect < u->effect / 3 ? units_never_higher(&rows[r], w) : 0);
        if (here == -INFINITY) continue;
        n++;
        sum += here;
    }
    for (int k = 0; k < n; k++) {
        term *= k ? -sum / k : 1;
        terms += term;
    }
    return sum + log(terms) < -log(1e3 * j->comparisons);
}

/* The lowest unit of a row, of those that are slow; NULL: none is. */
static const unit *lowest_of(const judge *j, const units rows[], const units *row)
{
    const unit *lowest = NULL;
    for (const unit *u = row->unit; u < row->unit + row->count && row->count > 1; u++) {
        const double third = fmin(log1p(-least_difference), u->effect / 3);
        const bool is_slow = u->effect < -least_of(j, row) && units_often_below(row, u, third);
        if (lowest && u->effect >= lowest->effect) continue;
        if (is_slow || is_never_high(j, rows, row, u)) lowest = u;
    }
    return lowest;
}

/* Rows of one rank add up where each alone drowns in noise, if it is low in all together by more than chance
 * allows. Sets its unit in each row in which it is low; false: there is no such rank. */
static bool adds_up(const judge *j, const units rows[], const unit *low[])
{
    double lowest = -j->errors;
    int found = -1;
    for (int a = 0; a < j->f->ranks; a++) {
        double errors = 0, effects = 0;
        int all = 0, own = 0;
        for (int r = 0; r < j->v->rows; r++)
            for (const unit *u = rows[r].unit; u < rows[r].unit + rows[r].count; u++) {
                if (u->a != a || rows[r].rounds < ROUNDS_LEAST || rows[r].count < 2) continue;
                all++;
                if (u->effect >= 0) continue;
                own++;
                effects += u->effect;
                errors += u->effect / rows[r].error;
            }
        if (own < 2 || effects / own > log1p(-least_difference) || errors / sqrt(all) > lowest) continue;
        found = a;
        lowest = errors / sqrt(all);
    }
    for (int r = 0; r < j->v->rows && found >= 0; r++)
        for (const unit *u = rows[r].unit; u < rows[r].unit + rows[r].count; u++)
            if (u->a == found && u->effect < 0) low[r] = u;
    return found >= 0;
}

/* The unit that is the lowest in most of the slow rows, of equals the lower one. */
static const unit *most_rows(const judge *j, const unit *low[], int *most)
{
    const unit *best = NULL;
    *most = 0;
    for (int r = 0; r < j->v->rows; r++) {
        int rows = 0;
        for (int k = 0; k < j->v->rows; k++) rows += same(low[r], low[k]);
        if (rows < *most || rows == 0 || (rows == *most && low[r]->effect >= best->effect)) continue;
        best = low[r];
        *most = rows;
    }
    return best;
}

/* False: no unit is slow. */
static bool name_lowest(judge *j, const units rows[], unit_kind kind)
{
    check_verdict *v = j->v;
    const unit *low[CHECK_LIKES];
    check_part part = kind == UNIT_HOST ? CHECK_HOST : CHECK_GPU;
    int most;
    int slow = 0;
    for (int r = 0; r < v->rows; r++) slow += (low[r] = lowest_of(j, rows, &rows[r])) != NULL;
    if (slow == 0 && !(kind == UNIT_RANK && adds_up(j, rows, low))) return false;
    const unit *const one = most_rows(j, low, &most);
    for (int r = 0; r < v->rows && kind == UNIT_COMPONENT; r++)
        if (low[r] == one) part = check_likes[v->row[r].like].part;
    check_suspect *s = suspect_of(j, part, one->a, one->b);
    if (!s) return false;
    s->confidence = slow ? (double)most / slow : 1;
    for (int r = 0; r < v->rows; r++)
        if (same(one, low[r])) add_evidence(s, &v->row[r], exp(low[r]->effect));
    if (s->rows > SHOWN) sentence_add(&s->evidence, "; and %d more", s->rows - SHOWN);
    if (part == CHECK_LINK && j->f->ranks <= 2 * j->f->hosts) {
        s->confidence /= 3;
        sentence_add(&s->evidence, "; it may as well be one of its ranks, which have no other pair");
    }
    return true;
}

static void judge_slow(judge *j)
{
    check_verdict *v = j->v;
    for (unit_kind kind = UNIT_HOST; kind < UNIT_KINDS; kind++)
        for (bool more = true; more;) {
            units rows[CHECK_LIKES] = { 0 };
            for (int r = 0; r < v->rows; r++)
                if (has_units(j->f, v->row[r].like, kind))
                    rows[r] = units_create(j->f, v->row[r].like, kind, j->explained);
            more = name_lowest(j, rows, kind);
            for (int r = 0; r < v->rows; r++) units_destroy(&rows[r]);
        }
}

/* ---- slow next to the reference ---- */

/* All units lie below, or the slowest one is named. One suspect for all rows of a part. */
static void name_below(judge *j, const units *u, check_row *row, double low)
{
    int below = 0;
    for (int i = 0; i < u->count; i++) below += u->unit[i].best < low;
    if (below == 0) return;
    const bool all = below > 1 && below == u->count;
    const unit *const least = units_least(u);
    check_suspect *s = suspect_of(j, check_likes[row->like].part, all ? -1 : least->a, all ? -1 : least->b);
    if (!s) return;
    if (s->rows == 0) sentence_set(&s->evidence, "below the reference: ");
    add_evidence(s, row, exp(least->best) / row->reference);
}

/* Figures that no suspect takes part in; any suspect explains those of all ranks, which depend on their
 * number. A rate repeats if two machines or more have it and differ by little; others are shown alone. */
static void judge_by_reference(judge *j, const check_reference *r)
{
    for (int i = 0; i < j->v->rows; i++) {
        check_row *row = &j->v->row[i];
        const check_part part = check_likes[row->like].part;
        const double low = r->low[row->like], high = r->high[row->like];
        const bool all = part == CHECK_JOB || part == CHECK_DISK || part == CHECK_HOST_LINK;
        if (isnan(low) || (all && (r->ranks != j->f->ranks || r->hosts != j->f->hosts))) continue;
        units u = units_create(j->f, row->like, UNIT_COMPONENT, j->explained);
        const double least = fmax(-log1p(-least_difference), j->errors * u.spread);
        row->reference = sqrt(low * high);
        row->is_judged =
            u.rounds >= ROUNDS_LEAST && r->machines[row->like] > 1 && high <= low * (1 + least_difference);
        if (row->is_judged && !(part == CHECK_JOB && j->v->suspects > 0))
            name_below(j, &u, row, log(low) - least);
        units_destroy(&u);
    }
}

/* ---- all ---- */

static void add_row(judge *j, check_like like)
{
    check_row row = { .like = like,
                      .median = NAN,
                      .least = NAN,
                      .least_a = -1,
                      .least_b = -1,
                      .noise = NAN,
                      .smallest = 1,
                      .reference = NAN };
    units u = units_create(j->f, like, UNIT_COMPONENT, NULL);
    for (int i = 0; i < j->f->faults; i++)
        if (j->f->fault[i].like == like) row.verdict = CHECK_WRONG;
    if (u.count > 0) {
        const unit *const least = units_least(&u);
        row.count = u.count;
        row.least = exp(least->best);
        row.least_a = least->a;
        row.least_b = least->b;
        row.noise = -expm1(-u.noise);
        row.smallest = -expm1(-least_of(j, &u));
        row.median = exp(u.median);
    }
    if (u.count > 0 || row.verdict == CHECK_WRONG) j->v->row[j->v->rows++] = row;
    units_destroy(&u);
}

static check_word word_of(const check_findings *f, const check_verdict *v, int wrong)
{
    if (f->why.text[0]) return CHECK_INCOMPLETE;
    if (f->faults) return CHECK_WRONG;
    if (v->suspects > wrong) return CHECK_SLOW;
    for (int i = 0; i < v->rows; i++)
        if (v->row[i].smallest < looked_for || v->row[i].is_judged) return CHECK_DELIVERS;
    return CHECK_NOT_JUDGED;
}

void check_judge(const check_findings *f, const check_reference *r, check_verdict *v)
{
    judge j = { .f = f,
                .v = v,
                .explained = CHECK_ALLOC(calloc((size_t)f->figures + 1, sizeof *j.explained)),
                .comparisons = (double)f->figures / (f->rounds + 1) + 1 };
    *v = (check_verdict){ .rows = 0 };
    j.errors = sqrt(2 * log(100.0 * j.comparisons));
    for (int l = 0; l < CHECK_LIKES; l++) add_row(&j, (check_like)l);
    judge_wrong(&j);
    const int wrong = v->suspects;
    judge_slow(&j);
    if (r->name[0]) judge_by_reference(&j, r);
    v->word = word_of(f, v, wrong);
    free(j.explained);
}
