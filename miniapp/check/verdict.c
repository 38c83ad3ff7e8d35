#include "check/verdict.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cmd.h"
#include "ranks/check.h"

/* ---- units ---- */

/* The figures of a like by units, so that each stands next to those of its peers.
 *
 * A unit is a host, a rank or a component by itself. A pair of ranks counts for both of its ranks, and for
 * both of its hosts. Of several figures that a unit has in a round the best one counts, since load of others
 * only ever makes a part slower; for the same reason the best of its rounds tells what a unit can do.
 * Logarithms are compared: a factor is a difference. Cost: that of sorting the figures. */
typedef enum unit_kind { UNIT_HOST, UNIT_RANK, UNIT_COMPONENT, UNIT_KINDS } unit_kind;

typedef struct unit {
    int a, b;            /* a rank of the unit; of a pair both, else b = -1 */
    double *x;           /* [rounds + 1] logarithms of rates, the last one the best; NaN: none */
    double *beside;      /* [rounds + 1] the same next to the median of the others */
    double best, effect; /* the last ones of these */
} unit;

typedef struct units {
    int count, rounds; /* rounds: to the last one that has a figure */
    unit *unit;        /* [count] */
    double *x;         /* of all units, owned */
    double median;     /* of the best rounds */
    double spread;     /* the standard deviation of a best round next to its peers, */
    double noise;      /* and as little as is known of it */
    double error;      /* of an effect */
} units;

static const double noise_least = 0.005; /* no machine repeats itself better */

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

/* Figures in which unit (a, b) takes part are explained from now on. */
static void units_explain(const check_findings *f, unit_kind kind, int a, int b, bool *explained)
{
    for (int i = 0; i < f->figures; i++) {
        entry e[2];
        for (int k = entries_of(f, &f->figure[i], kind, e) - 1; k >= 0; k--)
            if ((e[k].a == a && e[k].b == b) || (e[k].a == b && e[k].b == a)) explained[i] = true;
    }
}

static int by_unit(const void *pa, const void *pb)
{
    const entry *a = pa, *b = pb;
    return a->a != b->a ? (a->a > b->a) - (a->a < b->a) : (a->b > b->b) - (a->b < b->b);
}

/* Makes the units of sorted entries, and sets their x. */
static void place(units *u, const entry *all, int entries)
{
    for (int i = 0; i < entries; i++) {
        u->rounds = all[i].round < u->rounds ? u->rounds : all[i].round + 1;
        u->count += i == 0 || by_unit(&all[i], &all[i - 1]) != 0;
    }
    const int columns = u->rounds + 1, cells = u->count * columns;
    u->unit = CHECK_ALLOC(calloc((size_t)u->count + 1, sizeof *u->unit));
    u->x = CHECK_ALLOC(malloc((2 * (size_t)cells + 1) * sizeof *u->x));
    for (int i = 0; i < cells; i++) u->x[i] = NAN;
    unit *one = u->unit - 1;
    for (int i = 0; i < entries; i++) {
        one += i == 0 || by_unit(&all[i], &all[i - 1]) != 0;
        double *const x = u->x + (one - u->unit) * columns;
        *one = (unit){ .a = all[i].a, .b = all[i].b, .x = x, .beside = x + cells };
        x[all[i].round] = fmax(x[all[i].round], all[i].x);
        x[u->rounds] = fmax(x[u->rounds], all[i].x);
    }
}

/* The median of n sorted values but v, which is one of them. */
static double median_of_others(const double *sorted, int n, double v)
{
    const double *const at = bsearch(&v, sorted, (size_t)n, sizeof v, ascending);
    const int place = at ? (int)(at - sorted) : n, low = (n - 2) / 2, high = (n - 1) / 2;
    return n < 2 ? 0 : (sorted[low + (low >= place)] + sorted[high + (high >= place)]) / 2;
}

static double set_beside(units *u, int round, double *scratch)
{
    int n = 0;
    for (int i = 0; i < u->count; i++)
        if (!isnan(u->unit[i].x[round])) scratch[n++] = u->unit[i].x[round];
    const double median = median_of(scratch, n);
    for (unit *one = u->unit; one < u->unit + u->count; one++)
        one->beside[round] = one->x[round] - median_of_others(scratch, n, one->x[round]);
    return median;
}

/* From the median change of a rate next to the others, from one round to the next, and where there are fewer
 * than three of how far repeats scatter; and from how far units scatter. The best of n rounds scatters less
 * than one by about the fourth root of n. */
static void set_noise(units *u, double repeated, double *scratch)
{
    int n = 0;
    for (const unit *one = u->unit; one < u->unit + u->count; one++)
        for (int r = 1; r < u->rounds; r++)
            if (!isnan(one->beside[r] - one->beside[r - 1]))
                scratch[n++] = fabs(one->beside[r] - one->beside[r - 1]);
    const double deviation = n ? 1.0484 * median_of(scratch, n) / sqrt(sqrt(u->rounds)) : 0,
                 others = u->count < 3 ? 1 : 0.6366 * (u->count - 1),
                 least = u->rounds < 3 ? fmax(noise_least, repeated) : noise_least;
    u->spread = fmax(least, deviation);
    u->noise = fmax(least, deviation * few(n) * (1 + 2.0 / u->rounds));
    for (int i = 0; i < u->count; i++) scratch[i] = u->unit[i].effect;
    const double middle = median_of(scratch, u->count);
    for (int i = 0; i < u->count; i++) scratch[i] = fabs(u->unit[i].effect - middle);
    const double scatter = u->count < 3 ? 0 : 1.4826 * few(u->count) * median_of(scratch, u->count);
    u->error = fmax(scatter, u->noise * sqrt(1 + 1 / others));
}

/* The figures of that like, but those that are explained: [figures], or NULL. */
static units units_create(const check_findings *f, check_like like, unit_kind kind, const bool *explained)
{
    units u = { .median = NAN };
    const size_t most = 2 * (size_t)f->figures + 2;
    entry *const all = CHECK_ALLOC(malloc(most * sizeof *all));
    double *const scratch = CHECK_ALLOC(malloc(most * sizeof *scratch));
    int entries = 0, figures = 0;
    for (int i = 0; i < f->figures; i++) {
        const check_figure *g = &f->figure[i];
        if (g->like != like || !(g->rate > 0) || (explained && explained[i])) continue;
        entries += entries_of(f, g, kind, &all[entries]);
        scratch[figures++] = isfinite(g->noise) ? g->noise : 0;
    }
    const double repeated = median_of(scratch, figures);
    qsort(all, (size_t)entries, sizeof *all, by_unit);
    place(&u, all, entries);
    for (int r = 0; r <= u.rounds; r++) u.median = set_beside(&u, r, scratch);
    for (unit *one = u.unit; one < u.unit + u.count; one++) {
        one->best = one->x[u.rounds];
        one->effect = one->beside[u.rounds];
    }
    if (entries > 0) set_noise(&u, repeated, scratch);
    free(scratch);
    free(all);
    return u;
}

static void units_destroy(units *u)
{
    free(u->unit);
    free(u->x);
}

/* The slowest unit; NULL: there is none. */
static const unit *units_least(const units *u)
{
    const unit *least = NULL;
    for (const unit *one = u->unit; one < u->unit + u->count; one++)
        if (!least || one->best < least->best) least = one;
    return least;
}

/* In nine rounds of ten the unit is below that effect. A rate that has two levels, as where ranks share a
 * core or do not, makes a best round that is rare: a unit that had none is no slower in most rounds. */
static bool units_often_below(const units *u, const unit *one, double effect)
{
    int rounds = 0, above = 0;
    for (int r = 0; r < u->rounds; r++) {
        rounds += !isnan(one->beside[r]);
        above += one->beside[r] >= effect;
    }
    return above <= rounds / 10;
}

/* The logarithm of the probability that chance keeps the unit below its best in all rounds. On a machine that
 * others use, rates are lost by factors now and then, and none is won: a unit like the
 * others exceeds a rate as often as they do. A rate counts as higher from a tenth of the unit's effect on:
 * ranks that share a core have the same lower level, but for a hair. */
static double units_never_higher(const units *u, const unit *one)
{
    const double higher = one->best - fmin(one->effect / 10, 0);
    int all = 0, above = 0, own = 0;
    for (int i = 0; i < u->count; i++)
        for (int r = 0; r < u->rounds; r++) {
            const double x = u->unit[i].x[r];
            all += !isnan(x);
            above += x >= higher;
            own += &u->unit[i] == one && !isnan(x);
        }
    return own * log1p(-(double)above / (all - own + 1));
}

/* ---- the judge ---- */

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
    for (int k = 1; k <= n; k++) {
        terms += term;
        term *= -sum / k;
    }
    return sum + log(terms) < -log(1e3 * j->comparisons);
}

/* In that row the unit is low: by more than 3 %, and in nine rounds of ten by a third of its effect. */
static bool is_low(const units *row, const unit *u)
{
    const double least = log1p(-least_difference);
    return row->count > 1 && row->rounds >= ROUNDS_LEAST && u->effect < least &&
           units_often_below(row, u, fmin(least, u->effect / 3));
}

/* By how many standard deviations it is low in all rows together, in which it is low at all. */
static double errors_of(const judge *j, const units rows[], const unit *one)
{
    double errors = 0;
    int low = 0;
    for (int r = 0; r < j->v->rows; r++)
        for (const unit *u = rows[r].unit; u < rows[r].unit + rows[r].count; u++) {
            if (!same(one, u) || !is_low(&rows[r], u)) continue;
            errors -= u->effect / rows[r].error;
            low++;
        }
    return low ? errors / sqrt(low) : 0;
}

/* The unit that is low by the most errors is a suspect. False: none is slow. */
static bool name_lowest(judge *j, const units rows[], unit_kind kind)
{
    check_verdict *v = j->v;
    const unit *one = NULL;
    check_part part = kind == UNIT_HOST ? CHECK_HOST : CHECK_GPU;
    double most = 0;
    for (int r = 0; r < v->rows; r++)
        for (const unit *u = rows[r].unit; u < rows[r].unit + rows[r].count; u++) {
            const double errors = is_low(&rows[r], u) ? errors_of(j, rows, u) : 0;
            if (errors <= most || (errors < j->errors && !is_never_high(j, rows, &rows[r], u))) continue;
            one = u;
            most = errors;
            if (kind == UNIT_COMPONENT) part = check_likes[v->row[r].like].part;
        }
    check_suspect *s = one ? suspect_of(j, part, one->a, one->b) : NULL;
    if (!s) return false;
    for (int r = 0; r < v->rows; r++)
        for (const unit *u = rows[r].unit; u < rows[r].unit + rows[r].count; u++)
            if (same(one, u) && is_low(&rows[r], u)) add_evidence(s, &v->row[r], exp(u->effect));
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
