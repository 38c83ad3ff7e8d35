#include "check/verdict.h"

#include <math.h>
#include <stdlib.h>

#include "base/cmd.h"
#include "ranks/check.h"
#include "ranks/timer.h"

const char *const check_word_name[] = { "delivers", "not judged", "slow", "wrong", "incomplete" };
const int check_exit_status[] = { 0, CHECK_EXIT_NOT_JUDGED, CHECK_EXIT_FAILED, CHECK_EXIT_FAILED,
                                  CHECK_EXIT_ENVIRONMENT };

static const double noise_least = 0.005; /* no machine repeats itself better */
static const double looked_for = 0.5;    /* a deviation; where less hides in noise, nothing is judged */
static const double far_below = -0.405;  /* two thirds of its peers' rate; a logarithm */
enum { ROWS_LEAST = 3, FAR_LEAST = 4 };

/* ---- units: the figures of a like by what they are of, each next to its peers ---- */

/* A unit is a host, a rank or a component by itself. A pair of ranks counts for both of its ranks, and for
 * both of its hosts. The best of a unit's figures in a round counts, and the best of its rounds tells what it
 * can do. Logarithms are compared: a factor is a difference. */
typedef enum unit_kind { UNIT_HOST, UNIT_RANK, UNIT_COMPONENT, UNIT_KINDS } unit_kind;

typedef struct unit {
    check_like like;
    int a, b;      /* a rank of the unit; of a pair both, else b = -1 */
    int64_t part;  /* the same for a pair, whichever way */
    int round;     /* of a figure that becomes a part of it */
    double best;   /* the logarithm of its best rate, */
    double effect; /* that next to the median of the others', */
    double usual;  /* and the median of its rounds next to the others in the same one */
    bool low;      /* by more than 3 %, and in nine rounds of ten by a third of its effect: the best one of
                    * a rate that has two levels, as where ranks share a core or do not, may be rare */
    double *x;     /* [columns]: the best of each round, NaN: there is none; then of all rounds */
} unit;

typedef struct units {
    const check_findings *f;
    double errors;       /* standard deviations: more are chance in one of a hundred checks */
    unit *unit;          /* [count], owned; those of one part side by side */
    double *x, *scratch; /* of all units, owned; what lies behind them */
    int count, columns;
} units;

/* Sorts x. */
static double median_of(double *x, int n)
{
    qsort(x, (size_t)n, sizeof *x, timer_ascending);
    return n == 0 ? NAN : (x[(n - 1) / 2] + x[n / 2]) / 2;
}

/* The median of n sorted values but v, which is one of them. */
static double median_of_others(const double *sorted, int n, double v)
{
    const double *const low = &sorted[(n - 2) / 2], *const high = &sorted[(n - 1) / 2];
    return n < 2 ? 0 : (low[*low >= v] + high[*high >= v]) / 2;
}

/* How far a remote quantile of Student's distribution exceeds the normal one's. */
static double few(int n) { return 1 + 5.0 / n + 20.0 / n / n; }

/* Can units of a row be told from its components? A host has several ranks, a rank several pairs. */
static bool tells(const check_findings *f, check_like like, unit_kind kind)
{
    const check_part part = check_likes[like].part;
    if (kind == UNIT_COMPONENT) return true;
    if (part == CHECK_HOST_LINK) return kind == UNIT_HOST;
    if (part == CHECK_LINK) return f->ranks > 2 * f->hosts;
    return part == CHECK_GPU && (kind == UNIT_RANK || f->ranks > f->hosts);
}

/* A pair counts for two units, but for one component. Returns for how many. */
static int add_figure(const check_findings *f, const check_figure *g, unit_kind kind, unit *u)
{
    const int ends = g->b < 0 || kind == UNIT_COMPONENT ? 1 : 2;
    if (!(g->rate > 0) || !tells(f, g->like, kind)) return 0;
    for (int i = 0; i < ends; i++) {
        int a = i ? g->b : g->a, b = kind == UNIT_COMPONENT ? g->b : -1;
        if (kind == UNIT_HOST) a = f->first_of_host[a];
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

/* Column c of a like, sorted, goes to t->scratch, with its median. Returns how many units have a value. */
static int column_of(const units *t, check_like like, int c, double *median)
{
    int n = 0;
    for (const unit *u = t->unit; u < t->unit + t->count; u++)
        if (u->like == like && !isnan(u->x[c])) t->scratch[n++] = u->x[c];
    *median = median_of(t->scratch, n);
    return n;
}

/* From the median change of a rate next to the others, from one round to the next, and where there are fewer
 * than three of how far repeats scatter; and from how far units scatter. The best of n rounds scatters less
 * than one by about the fourth root of n. The median of nothing is NaN, which fmax leaves out. */
static void set_noise(check_row *row, const units *t)
{
    double *const x = t->scratch, middle;
    int n = 0;
    for (const check_figure *g = t->f->figure; g < t->f->figure + t->f->figures && row->rounds < 3; g++)
        if (g->like == row->like) x[n++] = isfinite(g->noise) ? g->noise : 0;
    const double repeated = median_of(x, n);
    n = 0;
    for (const unit *u = t->unit; u < t->unit + t->count; u++)
        for (int r = 1; r < row->rounds && u->like == row->like; r++)
            if (!isnan(u->x[r] - u->x[r - 1])) x[n++] = fabs(u->x[r] - u->x[r - 1]);
    const double change = 1.0484 * median_of(x, n) / sqrt(sqrt(row->rounds));
    row->spread = fmax(fmax(noise_least, repeated), change);
    const double noise = fmax(row->spread, change * few(n) * (1 + 2.0 / row->rounds));
    row->noise = -expm1(-noise);
    n = column_of(t, row->like, t->columns - 1, &middle);
    for (int i = 0; i < n; i++) x[i] = fabs(x[i] - middle);
    const double scatter = n < 3 ? 0 : 1.4826 * few(n) * median_of(x, n);
    row->error = fmax(scatter, noise * sqrt(n < 3 ? 2 : 1 + 1.57 / (n - 1)));
}

/* Sets what the units of a like are next to each other, and the row, which is theirs where they are
 * components. */
static void put_like(units *t, check_like like, check_row *row)
{
    unit *const end = t->unit + t->count;
    *row = (check_row){ .like = like, .least = INFINITY, .least_a = -1, .least_b = -1, .noise = NAN,
                        .smallest = 1, .reference = NAN, .verdict = row->verdict };
    for (int c = 0; c < t->columns; c++) { /* the last one is that of all rounds */
        row->count = column_of(t, like, c, &row->median);
        if (row->count > 0 && c < t->columns - 1) row->rounds = c + 1;
        for (unit *u = t->unit; u < end; u++)
            if (u->like == like) u->x[c] -= median_of_others(t->scratch, row->count, u->x[c]);
    }
    row->median = exp(row->median);
    if (row->count > 0) set_noise(row, t);
    if (row->count > 1 && row->rounds >= CHECK_ROUNDS_LEAST)
        row->smallest = -expm1(-fmax(check_least, t->errors * row->error));
    for (unit *u = t->unit; u < end; u++) {
        if (u->like != like) continue;
        u->effect = u->x[t->columns - 1];
        int rounds = 0;
        for (int r = 0; r < row->rounds; r++)
            if (!isnan(u->x[r])) t->scratch[rounds++] = u->x[r];
        u->usual = median_of(t->scratch, rounds);
        u->low = row->count > 1 && rounds >= CHECK_ROUNDS_LEAST && u->effect < -check_least &&
                 t->scratch[rounds - 1 - rounds / 10] < fmin(-check_least, u->effect / 3);
        const double best = exp(u->best);
        row->most = fmax(row->most, best);
        if (best >= row->least) continue;
        row->least = best;
        row->least_a = u->a;
        row->least_b = u->b;
    }
}

static units units_create(const check_findings *f, double errors, unit_kind kind)
{
    units t = { f, errors, .columns = f->rounds + 2 }; /* the round under way has figures too */
    int figures = 0;
    t.unit = CHECK_CALLOC(2 * f->figures, sizeof *t.unit);
    for (int i = 0; i < f->figures; i++) figures += add_figure(f, &f->figure[i], kind, &t.unit[figures]);
    qsort(t.unit, (size_t)figures, sizeof *t.unit, by_unit);
    t.x = CHECK_CALLOC((int64_t)figures * t.columns + 3 * f->figures, sizeof *t.x);
    t.scratch = t.x + (int64_t)figures * t.columns;
    unit *u = NULL;
    for (int i = 0; i < figures; i++) {
        const unit g = t.unit[i];
        if (!u || by_unit(&g, u) != 0) {
            u = &t.unit[t.count];
            *u = g;
            u->x = t.x + (int64_t)t.count++ * t.columns;
            for (int c = 0; c < t.columns; c++) u->x[c] = NAN;
        }
        u->x[g.round] = fmax(u->x[g.round], g.best);
        u->best = u->x[t.columns - 1] = fmax(u->best, g.best);
    }
    return t;
}

/* ---- the suspect ---- */

/* The wrong bits of a rank by itself explain those of its pairs, and any those of all ranks. */
static void judge_wrong(const check_findings *f, check_verdict *v)
{
    const check_figure *first = NULL;
    for (const check_figure *g = f->figure; g < f->figure + f->figures; g++) {
        if (!g->where) continue;
        v->row[g->like].verdict = CHECK_WRONG;
        if (!first || check_likes[g->like].part < check_likes[first->like].part) first = g;
    }
    if (!first) return;
    (void)check_suspect_is(v, f, check_likes[first->like].part, first->a, first->b);
    v->suspect.factor = NAN;
    sentence_set(&v->suspect.evidence, "wrong bits in %s, round %d: %.600s", check_likes[first->like].name,
                 first->round + 1, first->where);
}

/* By how many standard deviations a part is low: squares add up over the rows in which it is, so that what
 * one row shows no noisy one hides. By enough, too, where a rank is far below its peers in most rows. The
 * cores of a host are low in several rows, or they were disturbed. */
static double errors_of(const units *t, const check_row *row, const unit *from, const unit *to)
{
    double errors = 0;
    int low = 0, far = 0;
    for (const unit *u = from; u < to; u++) {
        far += u->usual < far_below && u->effect < -check_least;
        low += u->low;
        if (u->low) errors = hypot(errors, u->effect / row[u->like].error);
    }
    if (from->b < 0 && t->f->device == DEVICE_HOST && low < ROWS_LEAST) errors = 0;
    return from->b < 0 && far >= FAR_LEAST && 5 * far >= 3 * (to - from) ? fmax(errors, t->errors) : errors;
}

/* The part that is low by the most errors is the suspect. */
static void judge_slow(const units *t, unit_kind kind, check_verdict *v)
{
    check_suspect *s = &v->suspect;
    const unit *worst = NULL, *const end = t->unit + t->count;
    double most = 0, surest = 0;
    for (const unit *from = t->unit, *to; from < end; from = to) {
        for (to = from + 1; to < end && to->part == from->part;) to++;
        if (kind == UNIT_COMPONENT && from->b < 0) continue; /* a rank by itself was a unit before */
        const double errors = errors_of(t, v->row, from, to);
        if (errors >= t->errors && errors > most) most = errors, worst = from;
    }
    if (!worst) return;
    const check_part part = (check_part[]){ CHECK_HOST, CHECK_GPU, check_likes[worst->like].part }[kind];
    (void)check_suspect_is(v, t->f, part, worst->a, worst->b);
    for (const unit *u = worst; u < end && u->part == worst->part; u++) {
        const double below = fmin(u->effect, u->usual), errors = below / v->row[u->like].error;
        if (!u->low && u->usual >= far_below) continue;
        check_add_evidence(v, u->like, exp(below));
        if (errors < surest) surest = errors, s->factor = exp(below);
    }
    if (part == CHECK_LINK && t->f->ranks <= 2 * t->f->hosts) {
        s->confidence /= 3;
        sentence_add(&s->evidence, "; it may as well be one of its ranks, which have no other pair");
    }
}

void check_judge(const check_findings *f, const check_reference *r, check_verdict *v)
{
    const double errors = sqrt(2 * log(100 * ((double)f->figures / (f->rounds + 1) + 1)));
    *v = (check_verdict){ .word = CHECK_NOT_JUDGED };
    judge_wrong(f, v);
    for (unit_kind kind = UNIT_HOST; kind < UNIT_KINDS; kind++) { /* the rows of the last one stay */
        units t = units_create(f, errors, kind);
        for (int l = 0; l < CHECK_LIKES; l++) put_like(&t, (check_like)l, &v->row[l]);
        if (!v->suspect.name.text[0] && f->rounds >= CHECK_ROUNDS_LEAST) judge_slow(&t, kind, v);
        free(t.x);
        free(t.unit);
    }
    if (r->name[0]) check_judge_by_reference(f, r, errors, v);
    for (const check_row *row = v->row; row < v->row + CHECK_LIKES; row++)
        if (row->smallest < looked_for || row->is_judged) v->word = CHECK_DELIVERS;
    if (v->suspect.name.text[0]) v->word = f->wrong ? CHECK_WRONG : CHECK_SLOW;
    if (f->why.text[0]) v->word = CHECK_INCOMPLETE;
}
