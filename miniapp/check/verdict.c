#include "check/verdict.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cmd.h"
#include "ranks/check.h"

const char *const check_word_name[] = { "delivers", "not judged", "slow", "wrong", "incomplete" };
const int check_exit_status[] = { 0, CHECK_EXIT_NOT_JUDGED, CHECK_EXIT_FAILED, CHECK_EXIT_FAILED,
                                  CHECK_EXIT_ENVIRONMENT };

static const double least = 0.03046;     /* -log(1 - 0.03): no smaller difference counts */
static const double noise_least = 0.005; /* no machine repeats itself better */
static const double looked_for = 0.5;    /* a deviation; where less hides in noise, nothing is judged */
enum { ROUNDS_LEAST = 2, ROWS_LEAST = 3, ROUNDS_OF_PAIRS = 7 };

/* ---- units: the figures of a like by what they are of, each next to its peers ---- */

/* A unit is a host, a rank or a component by itself. A pair of ranks counts for both of its ranks, and for
 * both of its hosts. Of several figures that a unit has in a round the best one counts, since load of others
 * only ever makes a part slower; for the same reason the best of its rounds tells what a unit can do.
 * Logarithms are compared: a factor is a difference. */
typedef enum unit_kind { UNIT_HOST, UNIT_RANK, UNIT_COMPONENT, UNIT_KINDS } unit_kind;

typedef struct unit {
    check_like like;
    int a, b;      /* a rank of the unit; of a pair both, else b = -1 */
    int64_t part;  /* the same for a pair, whichever way */
    int round;     /* of a figure that becomes a part of it */
    double best;   /* the logarithm of its best rate, */
    double effect; /* that next to the median of the others', */
    double error;  /* and the error of that */
    bool low;      /* by more than 3 %, and in nine rounds of ten by a third of its effect */
    double *x;     /* [columns], owned: the best of each round, NaN: there is none; then of all rounds */
} unit;

typedef struct units {
    unit *unit;      /* [count], owned; those of one part side by side */
    double *scratch; /* owned */
    int count, columns;
} units;

typedef struct judge {
    const check_findings *f;
    check_verdict *v;
    double errors; /* standard deviations: more are chance in one of a hundred checks */
} judge;

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

/* The median of n sorted values but v, which is one of them. */
static double median_of_others(const double *sorted, int n, double v)
{
    const double *const low = &sorted[(n - 2) / 2], *const high = &sorted[(n - 1) / 2];
    return n < 2 ? 0 : (low[*low >= v] + high[*high >= v]) / 2;
}

/* How far a remote quantile of Student's distribution exceeds the normal one's. */
static double few(int n) { return n == 0 ? 0 : 1 + 5.0 / n + 20.0 / n / n; }

/* Can units of a row be told from its components? A host has several ranks, a rank several pairs. */
static bool tells(const check_findings *f, check_like like, unit_kind kind)
{
    const check_part part = check_likes[like].part;
    const bool several = f->ranks > f->hosts, many = f->ranks > 2 * f->hosts;
    if (kind == UNIT_COMPONENT) return true;
    if (part == CHECK_HOST_LINK) return kind == UNIT_HOST && f->hosts > 2;
    return (kind == UNIT_RANK || f->hosts > 1) &&
           (part == CHECK_LINK ? many : part == CHECK_GPU && (kind == UNIT_RANK || several));
}

/* A pair counts for two units, but for one component. Returns for how many. */
static int add_figure(const check_findings *f, const check_figure *g, unit_kind kind, unit *u)
{
    const int ends = g->b < 0 || kind == UNIT_COMPONENT ? 1 : 2;
    if (!(g->rate > 0) || !tells(f, g->like, kind)) return 0;
    for (int i = 0; i < ends; i++) {
        int a = i ? g->b : g->a, b = kind == UNIT_COMPONENT ? g->b : -1;
        if (kind == UNIT_HOST) a = f->rank[a].first_of_host;
        u[i] = (unit){ g->like, a, b, .round = g->round, .best = log(g->rate) };
        u[i].part = (a > b ? a : b) * ((int64_t)1 << 32) + (a > b ? b : a);
    }
    return ends;
}

static int by_unit(const void *pa, const void *pb)
{
    const unit *x = pa, *y = pb;
    if (x->part != y->part) return x->part < y->part ? -1 : 1;
    return x->like != y->like ? (int)x->like - (int)y->like : x->a - y->a;
}

/* Column c of a like, sorted, goes to t->scratch. Returns how many units have a value there. */
static int column_of(const units *t, check_like like, int c)
{
    int n = 0;
    for (const unit *u = t->unit; u < t->unit + t->count; u++)
        if (u->like == like && !isnan(u->x[c])) t->scratch[n++] = u->x[c];
    (void)median_of(t->scratch, n);
    return n;
}

/* From the median change of a rate next to the others, from one round to the next, and where there are fewer
 * than three of how far repeats scatter; and from how far units scatter. The best of n rounds scatters less
 * than one by about the fourth root of n. Returns the error of an effect. */
static double set_noise(check_row *row, const units *t, const check_findings *f)
{
    double *const x = t->scratch, change = 0, repeated = 0;
    int n = 0;
    for (int i = 0; i < f->figures && row->rounds < 3; i++)
        if (f->figure[i].like == row->like) x[n++] = isfinite(f->figure[i].noise) ? f->figure[i].noise : 0;
    if (n > 0) repeated = median_of(x, n);
    n = 0;
    for (const unit *u = t->unit; u < t->unit + t->count; u++)
        for (int r = 1; r < row->rounds && u->like == row->like; r++)
            if (!isnan(u->x[r] - u->x[r - 1])) x[n++] = fabs(u->x[r] - u->x[r - 1]);
    if (n > 0) change = 1.0484 * median_of(x, n) / sqrt(sqrt(row->rounds));
    row->spread = fmax(fmax(noise_least, repeated), change);
    const double noise = fmax(row->spread, change * few(n) * (1 + 2.0 / row->rounds));
    row->noise = -expm1(-noise);
    n = column_of(t, row->like, t->columns - 1);
    const double middle = median_of(x, n);
    for (int i = 0; i < n; i++) x[i] = fabs(x[i] - middle);
    const double scatter = n < 3 ? 0 : 1.4826 * few(n) * median_of(x, n);
    return fmax(scatter, noise * sqrt(n < 3 ? 2 : 1 + 1.57 / (n - 1)));
}

/* A rate that has two levels, as where ranks share a core or do not, makes a best round that is rare: a unit
 * that had none is no slower in most rounds. */
static bool is_low(const unit *u, const check_row *row)
{
    int above = 0;
    for (int r = 0; r < row->rounds; r++) above += u->x[r] >= fmin(-least, u->effect / 3);
    return row->count > 1 && row->rounds >= ROUNDS_LEAST && u->effect < -least && above <= row->rounds / 10;
}

/* Sets what the units of a like are next to each other, and the row, which is theirs where they are
 * components. */
static void put_like(const judge *j, units *t, check_like like, check_row *row)
{
    unit *const end = t->unit + t->count;
    *row = (check_row){ .like = like, .least = INFINITY, .least_a = -1, .least_b = -1, .smallest = 1 };
    row->noise = row->reference = NAN;
    for (int c = 0; c < t->columns; c++) { /* the last one is that of all rounds */
        row->count = column_of(t, like, c);
        if (row->count > 0 && c < t->columns - 1) row->rounds = c + 1;
        row->median = exp(median_of(t->scratch, row->count));
        for (unit *u = t->unit; u < end; u++)
            if (u->like == like) u->x[c] -= median_of_others(t->scratch, row->count, u->x[c]);
    }
    const double error = row->count > 0 ? set_noise(row, t, j->f) : NAN;
    if (row->count > 1 && row->rounds >= ROUNDS_LEAST)
        row->smallest = -expm1(-fmax(least, j->errors * error));
    for (unit *u = t->unit; u < end; u++) {
        if (u->like != like) continue;
        u->effect = u->x[t->columns - 1];
        u->error = error;
        u->low = is_low(u, row);
        row->most = fmax(row->most, exp(u->best));
        if (exp(u->best) >= row->least) continue;
        row->least = exp(u->best);
        row->least_a = u->a;
        row->least_b = u->b;
    }
}

/* The verdict gets the rows of the last kind. */
static units units_create(const judge *j, unit_kind kind)
{
    const check_findings *f = j->f;
    units t = { .columns = f->rounds + 2 }; /* the round under way has figures too */
    int figures = 0;
    t.unit = CHECK_CALLOC(2 * f->figures + 2, sizeof *t.unit);
    t.scratch = CHECK_CALLOC(3 * f->figures + 2, sizeof *t.scratch);
    for (int i = 0; i < f->figures; i++) figures += add_figure(f, &f->figure[i], kind, &t.unit[figures]);
    qsort(t.unit, (size_t)figures, sizeof *t.unit, by_unit);
    for (int i = 0; i < figures; i++) {
        const unit g = t.unit[i];
        if (i == 0 || by_unit(&g, &t.unit[t.count - 1]) != 0) {
            t.unit[t.count] = g;
            t.unit[t.count].x = CHECK_CALLOC(t.columns, sizeof(double));
            for (int c = 0; c < t.columns; c++) t.unit[t.count].x[c] = NAN;
            t.count++;
        }
        unit *const u = &t.unit[t.count - 1];
        u->x[g.round] = fmax(u->x[g.round], g.best);
        u->best = u->x[t.columns - 1] = fmax(u->best, g.best);
    }
    for (int l = 0; l < CHECK_LIKES; l++) put_like(j, &t, (check_like)l, &j->v->row[l]);
    return t;
}

static void units_destroy(units *t)
{
    for (int i = 0; i < t->count; i++) free(t->unit[i].x);
    free(t->unit);
    free(t->scratch);
}

/* ---- the suspect ---- */

/* False: another part is the suspect already. a < 0: all parts of a kind. */
static bool suspect_is(judge *j, check_part part, int a, int b)
{
    check_suspect *s = &j->v->suspect;
    const int low = b >= 0 && b < a ? b : a, high = b >= 0 && b < a ? a : b;
    sentence name;
    check_part_name(&name, j->f, part, low, high);
    if (s->name.text[0]) return strcmp(s->name.text, name.text) == 0;
    *s = (check_suspect){ .part = a < 0 && part != CHECK_DISK ? CHECK_JOB : part,
                          .a = low,
                          .b = high,
                          .factor = 1,
                          .confidence = 1,
                          .name = name };
    return true;
}

/* "memory copy 81 %; memory read 82 %". */
static void add_evidence(judge *j, check_like like, double factor)
{
    check_suspect *s = &j->v->suspect;
    j->v->row[like].verdict = CHECK_SLOW;
    s->factor = fmin(s->factor, factor);
    sentence_add(&s->evidence, "%s%s %.0f %%", s->rows++ > 0 ? "; " : "", check_likes[like].name,
                 100 * factor);
}

/* The wrong bits of a rank by itself explain those of its pairs, and any those of all ranks: the first fault
 * of the smallest part is the evidence. */
static void judge_wrong(judge *j)
{
    const check_figure *first = NULL;
    for (const check_figure *g = j->f->figure; g < j->f->figure + j->f->figures; g++) {
        if (!g->wrong) continue;
        j->v->row[g->like].verdict = CHECK_WRONG;
        if (!first || check_likes[g->like].part < check_likes[first->like].part) first = g;
    }
    if (!first) return;
    (void)suspect_is(j, check_likes[first->like].part, first->a, first->b);
    j->v->suspect.factor = NAN;
    sentence_set(&j->v->suspect.evidence, "wrong bits in %s, round %d: %.600s", check_likes[first->like].name,
                 first->round + 1, first->wrong);
}

/* ---- slow next to peers ---- */

/* By how many standard deviations a part is low in all rows together, in which it is low at all. Where rounds
 * scatter by factors, a host or a rank that is below half of its peers in most rows is low by enough, and a
 * pair too, from seven rounds on. */
static double errors_of(const judge *j, const unit *from, const unit *to)
{
    double errors = 0;
    int low = 0, half = 0;
    for (const unit *u = from; u < to; u++) {
        half += u->effect < log1p(-looked_for);
        low += u->low;
        if (u->low) errors -= u->effect / u->error;
    }
    if (low == 0) return 0;
    errors /= sqrt(low);
    const bool enough = from->b < 0 ? half >= ROWS_LEAST : half > 1 && j->f->rounds >= ROUNDS_OF_PAIRS;
    return enough && 2 * half > to - from ? fmax(errors, j->errors) : errors;
}

/* The part that is low by the most errors is the suspect. */
static void judge_slow(judge *j, unit_kind kind, const units *t)
{
    check_suspect *s = &j->v->suspect;
    const unit *worst = NULL, *const end = t->unit + t->count;
    double most = 0;
    for (const unit *from = t->unit, *to; from < end; from = to) {
        for (to = from + 1; to < end && to->part == from->part;) to++;
        const check_part of = check_likes[from->like].part;
        if (kind == UNIT_COMPONENT && of != CHECK_LINK && of != CHECK_HOST_LINK) continue;
        const double errors = errors_of(j, from, to);
        if (errors < j->errors || errors <= most) continue;
        most = errors;
        worst = from;
    }
    if (!worst) return;
    const check_part part = kind == UNIT_HOST   ? CHECK_HOST
                            : kind == UNIT_RANK ? CHECK_GPU
                                                : check_likes[worst->like].part;
    (void)suspect_is(j, part, worst->a, worst->b);
    for (const unit *u = worst; u < end && u->part == worst->part; u++)
        if (u->low) add_evidence(j, u->like, exp(u->effect));
    if (part == CHECK_LINK && j->f->ranks <= 2 * j->f->hosts) {
        s->confidence /= 3;
        sentence_add(&s->evidence, "; it may as well be one of its ranks, which have no other pair");
    }
}

/* ---- slow next to the reference ---- */

/* A rate repeats if two machines or more have it and differ by little; others are shown alone. Rates of all
 * ranks together are those of as many. Where all components of a row lie below, these are the suspect, else
 * the slowest one. */
static void judge_by_reference(judge *j, const check_reference *r)
{
    check_suspect *s = &j->v->suspect;
    const bool named = s->name.text[0];
    for (check_row *row = j->v->row; row < j->v->row + CHECK_LIKES; row++) {
        const check_part part = check_likes[row->like].part;
        const double low = r->low[row->like], high = r->high[row->like];
        const bool all = part == CHECK_JOB || part == CHECK_DISK || part == CHECK_HOST_LINK;
        if (isnan(low) || (all && (r->ranks != j->f->ranks || r->hosts != j->f->hosts))) continue;
        row->reference = sqrt(low * high);
        row->is_judged =
            row->rounds >= ROUNDS_LEAST && r->machines[row->like] > 1 && log(high / low) <= least;
        const double limit = low * exp(-fmax(least, j->errors * row->spread));
        const bool alike = row->count > 1 && row->most < limit;
        if (!row->is_judged || named || row->least >= limit ||
            !suspect_is(j, part, alike ? -1 : row->least_a, alike ? -1 : row->least_b))
            continue;
        if (s->rows == 0) sentence_set(&s->evidence, "below the reference: ");
        add_evidence(j, row->like, row->least / row->reference);
    }
}

/* ---- all ---- */

void check_judge(const check_findings *f, const check_reference *r, check_verdict *v)
{
    const double comparisons = (double)f->figures / (f->rounds + 1) + 1;
    judge j = { .f = f, .v = v, .errors = sqrt(2 * log(100 * comparisons)) };
    units all[UNIT_KINDS];
    *v = (check_verdict){ .word = CHECK_NOT_JUDGED };
    for (unit_kind kind = UNIT_HOST; kind < UNIT_KINDS; kind++) all[kind] = units_create(&j, kind);
    judge_wrong(&j);
    for (unit_kind kind = UNIT_HOST; kind < UNIT_KINDS; kind++) {
        if (!v->suspect.name.text[0]) judge_slow(&j, kind, &all[kind]);
        units_destroy(&all[kind]);
    }
    if (r->name[0]) judge_by_reference(&j, r);
    for (const check_row *row = v->row; row < v->row + CHECK_LIKES; row++)
        if (row->smallest < looked_for || row->is_judged) v->word = CHECK_DELIVERS;
    if (v->suspect.name.text[0]) v->word = f->wrong ? CHECK_WRONG : CHECK_SLOW;
    if (f->why.text[0]) v->word = CHECK_INCOMPLETE;
}
