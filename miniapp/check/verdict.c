#include "check/verdict.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cmd.h"
#include "ranks/check.h"

/* ---- units: the figures of a like by what they are of, each next to its peers ---- */

/* A unit is a host, a rank or a component by itself. A pair of ranks counts for both of its ranks, and for
 * both of its hosts. Of several figures that a unit has in a round the best one counts, since load of others
 * only ever makes a part slower; for the same reason the best of its rounds tells what a unit can do.
 * Logarithms are compared: a factor is a difference. */
typedef enum unit_kind { UNIT_HOST, UNIT_RANK, UNIT_COMPONENT, UNIT_KINDS } unit_kind;

typedef struct unit {
    int a, b;      /* a rank of the unit; of a pair both, else b = -1 */
    double best;   /* the logarithm of its best rate, */
    double effect; /* that next to the median of the others' */
    bool low;      /* by more than 3 %, and in nine rounds of ten by a third of its effect */
} unit;

typedef struct units {
    int count, rounds;  /* rounds: to the last one that has a figure */
    unit *unit, *least; /* [count], owned; the slowest one */
    double median;      /* of the best rounds */
    double spread;      /* the standard deviation of a best round next to its peers, */
    double noise;       /* and as little as is known of it */
    double error;       /* of an effect */
} units;

static const double least = 0.03046;     /* -log(1 - 0.03): no smaller difference counts */
static const double noise_least = 0.005; /* no machine repeats itself better */
enum { ROUNDS_LEAST = 2 };

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
    const double *const at = bsearch(&v, sorted, (size_t)n, sizeof v, ascending);
    const int place = at ? (int)(at - sorted) : n, low = (n - 2) / 2, high = (n - 1) / 2;
    return n < 2 ? 0 : (sorted[low + (low >= place)] + sorted[high + (high >= place)]) / 2;
}

/* How far a remote quantile of Student's distribution exceeds the normal one's. */
static double few(int n) { return n == 0 ? 0 : 1 + 5.0 / n + 20.0 / n / n; }

typedef struct entry {
    int a, b, round;
    double x;
} entry;

/* Returns how many units the figure counts for. */
static int entries_of(const check_findings *f, const check_figure *g, unit_kind kind, entry e[2])
{
    e[0] = e[1] = (entry){ g->a, g->b, g->round, log(g->rate) };
    if (kind == UNIT_COMPONENT || g->a < 0) return 1;
    e[0].b = e[1].b = -1;
    if (g->b >= 0) e[1].a = g->b;
    for (int i = 0; i < 2 && kind == UNIT_HOST; i++) e[i].a = f->rank[e[i].a].first_of_host;
    return e[0].a == e[1].a ? 1 : 2;
}

static int by_unit(const void *pa, const void *pb)
{
    const entry *a = pa, *b = pb;
    return a->a != b->a ? (a->a > b->a) - (a->a < b->a) : (a->b > b->b) - (a->b < b->b);
}

/* x: a column of `units`, a stride apart. Puts each value next to the median of the others; returns the
 * median of all. */
static double put_beside(double *x, int count, int stride, double *scratch)
{
    int n = 0;
    for (int i = 0; i < count; i++)
        if (!isnan(x[i * stride])) scratch[n++] = x[i * stride];
    const double median = median_of(scratch, n);
    for (int i = 0; i < count; i++) x[i * stride] -= median_of_others(scratch, n, x[i * stride]);
    return median;
}

/* beside: [count][rounds + 1]. From the median change of a rate next to the others, from one round to the
 * next, and where there are fewer than three of how far repeats scatter; and from how far units scatter. The
 * best of n rounds scatters less than one by about the fourth root of n. */
static void set_noise(units *u, const double *beside, double repeated, double *scratch)
{
    int n = 0;
    for (int i = 0; i < u->count; i++)
        for (const double *x = beside + i * (u->rounds + 1), *const end = x + u->rounds - 1; x < end; x++)
            if (!isnan(x[1] - x[0])) scratch[n++] = fabs(x[1] - x[0]);
    const double change = n ? 1.0484 * median_of(scratch, n) / sqrt(sqrt(u->rounds)) : 0;
    u->spread = fmax(u->rounds < 3 ? fmax(noise_least, repeated) : noise_least, change);
    u->noise = fmax(u->spread, change * few(n) * (1 + 2.0 / u->rounds));
    for (int i = 0; i < u->count; i++) scratch[i] = u->unit[i].effect;
    const double middle = median_of(scratch, u->count);
    for (int i = 0; i < u->count; i++) scratch[i] = fabs(scratch[i] - middle);
    const double scatter = u->count < 3 ? 0 : 1.4826 * few(u->count) * median_of(scratch, u->count);
    u->error = fmax(scatter, u->noise * sqrt(u->count < 3 ? 2 : 1 + 1.57 / (u->count - 1)));
}

/* x: [rounds + 1] of one unit next to the others. A rate that has two levels, as where ranks share a core or
 * do not, makes a best round that is rare: a unit that had none is no slower in most rounds. */
static bool is_low(const units *u, double effect, const double *x)
{
    int above = 0;
    for (int r = 0; r < u->rounds; r++) above += x[r] >= fmin(-least, effect / 3);
    return u->count > 1 && u->rounds >= ROUNDS_LEAST && effect < -least && above <= u->rounds / 10;
}

static units units_create(const check_findings *f, check_like like, unit_kind kind)
{
    units u = { .median = NAN };
    const size_t most = 2 * (size_t)f->figures + 2;
    entry *const all = CHECK_ALLOC(malloc(most * sizeof *all));
    double *const scratch = CHECK_ALLOC(malloc(most * sizeof *scratch));
    int entries = 0, figures = 0;
    for (int i = 0; i < f->figures; i++) {
        const check_figure *g = &f->figure[i];
        if (g->like != like || !(g->rate > 0)) continue;
        entries += entries_of(f, g, kind, &all[entries]);
        scratch[figures++] = isfinite(g->noise) ? g->noise : 0;
        if (g->round >= u.rounds) u.rounds = g->round + 1;
    }
    const double repeated = median_of(scratch, figures);
    const int columns = u.rounds + 1; /* the last one is of the best rounds */
    qsort(all, (size_t)entries, sizeof *all, by_unit);
    for (int i = 0; i < entries; i++) u.count += i == 0 || by_unit(&all[i], &all[i - 1]) != 0;
    double *const x = CHECK_ALLOC(malloc((size_t)(u.count * columns + 1) * sizeof *x));
    u.unit = CHECK_ALLOC(calloc((size_t)u.count + 1, sizeof *u.unit));
    for (int i = 0; i < u.count * columns; i++) x[i] = NAN;
    for (int i = 0, k = -1; i < entries; i++) {
        k += i == 0 || by_unit(&all[i], &all[i - 1]) != 0;
        double *const own = x + k * columns, *const best = own + u.rounds;
        own[all[i].round] = fmax(own[all[i].round], all[i].x);
        *best = fmax(*best, all[i].x);
        u.unit[k] = (unit){ .a = all[i].a, .b = all[i].b, .best = *best };
    }
    for (int r = 0; r < columns; r++) u.median = put_beside(x + r, u.count, columns, scratch);
    u.least = u.unit;
    for (unit *one = u.unit; one < u.unit + u.count; one++) {
        const double *const own = x + (one - u.unit) * columns;
        one->effect = own[u.rounds];
        one->low = is_low(&u, one->effect, own);
        if (one->best < u.least->best) u.least = one;
    }
    if (entries > 0) set_noise(&u, x, repeated, scratch);
    free(x);
    free(scratch);
    free(all);
    return u;
}

/* ---- the suspect ---- */

static const double looked_for = 0.5; /* a deviation; where less hides in noise, nothing is judged */
enum { ROWS_LEAST = 3, ROUNDS_OF_PAIRS = 7, SHOWN = 3 };

typedef struct judge {
    const check_findings *f;
    check_verdict *v;
    double errors; /* standard deviations: more are chance in one of a hundred checks */
} judge;

const char *const check_word_name[] = { "delivers", "not judged", "slow", "wrong", "incomplete" };
const int check_exit_status[] = { 0, CHECK_EXIT_NOT_JUDGED, CHECK_EXIT_FAILED, CHECK_EXIT_FAILED,
                                  CHECK_EXIT_ENVIRONMENT };

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

/* False: another part is the suspect already. a < 0: all parts of a kind. */
static bool suspect_is(judge *j, check_part part, int a, int b)
{
    check_suspect *s = &j->v->suspect;
    const int low = b >= 0 && b < a ? b : a, high = b >= 0 && b < a ? a : b;
    sentence name;
    set_name(&name, j->f, part, low, high);
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
static void add_evidence(judge *j, check_row *row, double factor)
{
    check_suspect *s = &j->v->suspect;
    row->verdict = CHECK_SLOW;
    s->factor = fmin(s->factor, factor);
    if (s->rows++ < SHOWN)
        sentence_add(&s->evidence, "%s%s %.0f %%", s->rows > 1 ? "; " : "", check_likes[row->like].name,
                     100 * factor);
}

/* The wrong bits of a rank by itself explain those of its pairs, and any those of all ranks: the first fault
 * of the smallest part is the evidence. */
static void judge_wrong(judge *j)
{
    const check_fault *first = NULL;
    for (const check_fault *g = j->f->fault; g < j->f->fault + j->f->faults; g++)
        if (!first || check_likes[g->like].part < check_likes[first->like].part) first = g;
    if (!first) return;
    (void)suspect_is(j, check_likes[first->like].part, first->a, first->b);
    j->v->suspect.factor = NAN;
    sentence_set(&j->v->suspect.evidence, "wrong bits in %s, round %d: %.600s", check_likes[first->like].name,
                 first->round + 1, first->where.text);
}

/* ---- slow next to peers ---- */

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

/* The next unit after u of the row, from its first one on, that is this one; NULL: there is none. A pair is
 * one, whichever way. */
static const unit *same(const units *row, const unit *u, const unit *one)
{
    for (u = u ? u + 1 : row->unit; u < row->unit + row->count; u++)
        if ((u->a == one->a && u->b == one->b) || (u->a == one->b && u->b == one->a)) return u;
    return NULL;
}

/* By how many standard deviations it is low in all rows together, in which it is low at all. Where rounds
 * scatter by factors, a host or a rank that is below half of its peers in most rows is low by enough, and a
 * pair too, from seven rounds on. */
static double errors_of(const judge *j, const units rows[], const unit *one)
{
    double errors = 0;
    int low = 0, all = 0, half = 0;
    for (const units *row = rows; row < rows + CHECK_LIKES; row++)
        for (const unit *u = same(row, NULL, one); u; u = same(row, u, one)) {
            all++;
            half += u->effect < log1p(-looked_for);
            if (!u->low) continue;
            errors -= u->effect / row->error;
            low++;
        }
    if (low > 0) errors /= sqrt(low);
    const bool enough = one->b < 0 ? half >= ROWS_LEAST : half > 1 && j->f->rounds >= ROUNDS_OF_PAIRS;
    return enough && 2 * half > all ? fmax(errors, j->errors) : errors;
}

/* The unit that is low by the most errors is the suspect. */
static void name_lowest(judge *j, const units rows[], unit_kind kind)
{
    check_suspect *s = &j->v->suspect;
    const unit *one = NULL;
    check_part part = kind == UNIT_HOST ? CHECK_HOST : CHECK_GPU;
    double most = 0;
    for (int l = 0; l < CHECK_LIKES; l++)
        for (const unit *u = rows[l].unit; u < rows[l].unit + rows[l].count; u++) {
            const double errors = u->low ? errors_of(j, rows, u) : 0;
            if (errors < j->errors || errors <= most) continue;
            one = u;
            most = errors;
            if (kind == UNIT_COMPONENT) part = check_likes[l].part;
        }
    if (!one) return;
    (void)suspect_is(j, part, one->a, one->b);
    for (check_row *row = j->v->row; row < j->v->row + j->v->rows; row++)
        for (const unit *u = same(&rows[row->like], NULL, one); u; u = same(&rows[row->like], u, one))
            if (u->low) add_evidence(j, row, exp(u->effect));
    if (s->rows > SHOWN) sentence_add(&s->evidence, "; and %d more", s->rows - SHOWN);
    if (part == CHECK_LINK && j->f->ranks <= 2 * j->f->hosts) {
        s->confidence /= 3;
        sentence_add(&s->evidence, "; it may as well be one of its ranks, which have no other pair");
    }
}

static void judge_slow(judge *j)
{
    for (unit_kind kind = UNIT_HOST; kind < UNIT_KINDS && !j->v->suspect.name.text[0]; kind++) {
        units rows[CHECK_LIKES] = { 0 };
        for (int l = 0; l < CHECK_LIKES; l++)
            if (has_units(j->f, (check_like)l, kind)) rows[l] = units_create(j->f, (check_like)l, kind);
        name_lowest(j, rows, kind);
        for (int l = 0; l < CHECK_LIKES; l++) free(rows[l].unit);
    }
}

/* ---- slow next to the reference ---- */

/* All units lie below, or the slowest one is the suspect, where there is none yet. */
static void name_below(judge *j, const units *u, check_row *row, double low)
{
    int below = 0;
    for (int i = 0; i < u->count; i++) below += u->unit[i].best < low;
    const bool all = below > 1 && below == u->count;
    if (below == 0 ||
        !suspect_is(j, check_likes[row->like].part, all ? -1 : u->least->a, all ? -1 : u->least->b))
        return;
    if (j->v->suspect.rows == 0) sentence_set(&j->v->suspect.evidence, "below the reference: ");
    add_evidence(j, row, exp(u->least->best) / row->reference);
}

/* A rate repeats if two machines or more have it and differ by little; others are shown alone. */
static void judge_by_reference(judge *j, const check_reference *r)
{
    const bool named = j->v->suspect.name.text[0];
    for (check_row *row = j->v->row; row < j->v->row + j->v->rows; row++) {
        const check_part part = check_likes[row->like].part;
        const double low = r->low[row->like], high = r->high[row->like];
        const bool all = part == CHECK_JOB || part == CHECK_DISK || part == CHECK_HOST_LINK;
        if (isnan(low) || (all && (r->ranks != j->f->ranks || r->hosts != j->f->hosts))) continue;
        units u = units_create(j->f, row->like, UNIT_COMPONENT);
        row->reference = sqrt(low * high);
        row->is_judged = u.rounds >= ROUNDS_LEAST && r->machines[row->like] > 1 && log(high / low) <= least;
        if (row->is_judged && !named) name_below(j, &u, row, log(low) - fmax(least, j->errors * u.spread));
        free(u.unit);
    }
}

/* ---- all ---- */

static void add_row(judge *j, check_like like)
{
    units u = units_create(j->f, like, UNIT_COMPONENT);
    const bool compared = u.count > 1 && u.rounds >= ROUNDS_LEAST;
    check_row row = { .like = like,
                      .count = u.count,
                      .median = exp(u.median),
                      .least = u.count > 0 ? exp(u.least->best) : NAN,
                      .least_a = u.count > 0 ? u.least->a : -1,
                      .least_b = u.count > 0 ? u.least->b : -1,
                      .noise = u.count > 0 ? -expm1(-u.noise) : NAN,
                      .smallest = compared ? -expm1(-fmax(least, j->errors * u.error)) : 1,
                      .reference = NAN };
    for (int i = 0; i < j->f->faults; i++)
        if (j->f->fault[i].like == like) row.verdict = CHECK_WRONG;
    if (u.count > 0 || row.verdict == CHECK_WRONG) j->v->row[j->v->rows++] = row;
    free(u.unit);
}

static check_word word_of(const check_findings *f, const check_verdict *v)
{
    if (f->why.text[0]) return CHECK_INCOMPLETE;
    if (v->suspect.name.text[0]) return f->faults ? CHECK_WRONG : CHECK_SLOW;
    for (int i = 0; i < v->rows; i++)
        if (v->row[i].smallest < looked_for || v->row[i].is_judged) return CHECK_DELIVERS;
    return CHECK_NOT_JUDGED;
}

void check_judge(const check_findings *f, const check_reference *r, check_verdict *v)
{
    const double comparisons = (double)f->figures / (f->rounds + 1) + 1;
    judge j = { .f = f, .v = v, .errors = sqrt(2 * log(100 * comparisons)) };
    *v = (check_verdict){ .rows = 0 };
    for (int l = 0; l < CHECK_LIKES; l++) add_row(&j, (check_like)l);
    judge_wrong(&j);
    judge_slow(&j);
    if (r->name[0]) judge_by_reference(&j, r);
    v->word = word_of(f, v);
}
