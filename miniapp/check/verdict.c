#include "check/verdict.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check/units.h"
#include "files/figure.h"
#include "ranks/check.h"

static const double looked_for = 0.5; /* a deviation; where less hides in noise, nothing is judged */
enum { ROUNDS_LEAST = 2, SUSPECTS_MOST = 8, SHOWN = 3 };

typedef struct judge {
    const check_findings *f;
    check_verdict *v;
    bool *explained;    /* [figures] a suspect takes part, so that the rate tells nothing of others */
    double comparisons; /* figures of a round */
    double errors;      /* standard deviations: more are chance in one of a hundred checks */
} judge;

const char *check_word_name(check_word w)
{
    static const char *const name[] = { "delivers", "not judged", "slow", "wrong", "incomplete" };
    return name[w];
}

int check_exit_status(check_word w)
{
    static const int status[] = { 0, CHECK_EXIT_NOT_JUDGED, CHECK_EXIT_FAILED, CHECK_EXIT_FAILED,
                                  CHECK_EXIT_ENVIRONMENT };
    return status[w];
}

/* ---- suspects ---- */

/* The suspect of that name, made where there is none yet. a < 0: all parts of a kind. */
static check_suspect *suspect_of(judge *j, check_part part, int a, int b)
{
    check_verdict *v = j->v;
    check_suspect new = {
        .part = a < 0 && part != CHECK_DISK ? CHECK_JOB : part, .a = a, .b = b, .factor = 1
    };
    if (b >= 0 && b < a) new.a = b, new.b = a;
    check_name(&new.name, j->f, part, new.a, new.b);
    for (int i = 0; i < v->suspects; i++)
        if (strcmp(v->suspect[i].name.text, new.name.text) == 0) return &v->suspect[i];
    v->suspect = CHECK_ALLOC(realloc(v->suspect, (size_t)(v->suspects + 1) * sizeof new));
    v->suspect[v->suspects] = new;
    const unit_kind kind = part == CHECK_HOST ? UNIT_HOST : part == CHECK_GPU ? UNIT_RANK : UNIT_COMPONENT;
    if (a >= 0) units_explain(j->f, kind, a, b, j->explained);
    return &v->suspect[v->suspects++];
}

/* "memory copy 81 % (3.40 TB/s of 4.20 TB/s)"; rates of the first row alone. */
static void add_evidence(check_suspect *s, const check_row *row, double factor, double of)
{
    const char *unit = check_likes[row->like].unit;
    s->factor = fmin(s->factor, factor);
    if (s->rows++ >= SHOWN) return;
    sentence_add(&s->evidence, "%s%s%s %.0f %%", s->rows > 1 ? "; " : "", check_likes[row->like].name,
                 row->alone ? " alone" : "", 100 * factor);
    if (s->rows == 1)
        sentence_add(&s->evidence, " (%s of %s)", figure_rate(factor * of, unit).text,
                     figure_rate(of, unit).text);
}

/* ---- wrong bits ---- */

/* Has that rank wrong bits of its own, or in pairs with two others? */
static bool is_guilty(const check_findings *f, check_part part, int rank)
{
    int other = -1;
    for (int i = 0; i < f->faults; i++) {
        const check_fault *g = &f->fault[i];
        if (g->b < 0 && g->a == rank && part == CHECK_LINK) return true;
        if (g->b < 0 || check_likes[g->like].part != part || (g->a != rank && g->b != rank)) continue;
        const int partner = g->a + g->b - rank;
        if (other >= 0 && partner != other) return true;
        other = partner;
    }
    return false;
}

/* The first fault of a part is its evidence. */
static void judge_wrong(judge *j)
{
    const check_findings *f = j->f;
    bool of_a_rank = false;
    for (int i = 0; i < f->faults; i++) of_a_rank = of_a_rank || f->fault[i].a >= 0;
    for (int i = 0; i < f->faults; i++) {
        const check_fault *g = &f->fault[i];
        check_part part = check_likes[g->like].part;
        int a = g->a, b = g->b;
        if (a < 0 && part != CHECK_DISK && of_a_rank) continue; /* of all ranks: explained */
        if (b >= 0 && (is_guilty(f, part, a) || is_guilty(f, part, b))) {
            a = is_guilty(f, part, a) ? a : b;
            part = part == CHECK_LINK ? CHECK_GPU : CHECK_HOST;
            b = -1;
        } else if (a >= 0 && b < 0) part = CHECK_GPU;
        check_suspect *s = suspect_of(j, part, a, b);
        if (s->rows++ > 0) continue;
        s->factor = NAN;
        s->confidence = s->part == CHECK_JOB ? 0.5 : 1;
        sentence_set(&s->evidence, "wrong bits in %s, round %d", check_likes[g->like].name, g->round + 1);
        if (g->b >= 0) sentence_add(&s->evidence, ", ranks %d and %d", g->a, g->b);
        sentence_add(&s->evidence, ": %.600s", g->where.text);
    }
}

/* ---- slow next to peers ---- */

/* The standard deviation of an effect. */
static double error_of(const units *u)
{
    const double others = u->count < 3 ? 1 : 0.6366 * (u->count - 1);
    return fmax(u->scatter, u->noise * sqrt(1 + 1 / others));
}

/* The least deviation of one unit that counts, in logarithms; INFINITY: none. */
static double least_of(const judge *j, const units *u)
{
    if (u->count < 2 || u->rounds < ROUNDS_LEAST) return INFINITY;
    return fmax(-log1p(-CHECK_LEAST_DIFFERENCE), j->errors * error_of(u));
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

/* Unit i of u and unit k of w; a pair is one, whichever way. */
static bool same(const units *u, int i, const units *w, int k)
{
    return i >= 0 && k >= 0 &&
           ((u->a[i] == w->a[k] && u->b[i] == w->b[k]) || (u->a[i] == w->b[k] && u->b[i] == w->a[k]));
}

/* Is the unit less than half as fast as its peers, and does chance keep it below its best in less than one of
 * a thousand checks? By all rows that have it, of a pair's two ways the nearer one; combined as Fisher did.
 * A row in which it has less than a third of this effect tells nothing of it. */
static bool is_never_high(const judge *j, const units u[], int row, int i)
{
    double sum = 0, term = 1, terms = 0;
    int n = 0;
    const double effect = units_effect(&u[row], i);
    if (u[row].count < 3 || effect >= log1p(-looked_for)) return false;
    for (int r = 0; r < j->v->rows; r++) {
        double here = -INFINITY;
        for (int k = 0; k < u[r].count; k++)
            if (same(&u[row], i, &u[r], k))
                here = fmax(here, units_effect(&u[r], k) < effect / 3 ? u[r].never[k] : 0);
        if (here > -INFINITY) n++, sum += here;
    }
    for (int k = 0; k < n; k++, term *= -sum / k) terms += term;
    return sum + log(terms) < -log(1e3 * j->comparisons);
}

/* Low in nine of ten rounds too, by a third of its effect at least. */
static bool is_often_low(const units *u, int i)
{
    return u->often[i] < fmin(log1p(-CHECK_LEAST_DIFFERENCE), units_effect(u, i) / 3);
}

/* The lowest unit of a row, of those that are slow if `slow`; -1: none. */
static int lowest_of(const judge *j, const units u[], int row, bool slow)
{
    int lowest = -1;
    for (int i = 0; i < u[row].count && u[row].count > 1; i++) {
        const double effect = units_effect(&u[row], i);
        if (lowest >= 0 && effect >= units_effect(&u[row], lowest)) continue;
        const bool is_slow =
            (effect < -least_of(j, &u[row]) && is_often_low(&u[row], i)) || is_never_high(j, u, row, i);
        if (!slow || is_slow) lowest = i;
    }
    return lowest;
}

/* Rows of one unit add up where each alone drowns in noise: it is the lowest in half of them or more, by more
 * than chance allows in all together. Takes the rows of others out of low. */
static bool adds_up(const judge *j, const units u[], int low[])
{
    for (int i = 0; i < j->v->rows; i++) {
        double errors = 0, effects = 0;
        int rows = 0, own = 0;
        for (int r = 0; r < j->v->rows; r++) {
            if (low[r] < 0 || u[r].rounds < ROUNDS_LEAST) continue;
            rows++;
            if (!same(&u[i], low[i], &u[r], low[r])) continue;
            own++;
            effects += units_effect(&u[r], low[r]);
            errors += units_effect(&u[r], low[r]) / error_of(&u[r]);
        }
        if (own < 2 || 2 * own < rows || effects / own > log1p(-CHECK_LEAST_DIFFERENCE) ||
            errors / sqrt(rows) > -j->errors)
            continue;
        for (int r = 0, first = low[i]; r < j->v->rows; r++)
            if (!same(&u[i], first, &u[r], low[r])) low[r] = -1;
        return true;
    }
    return false;
}

/* The slow unit of each row, -1: none. Returns how many rows have one. */
static int find_lowest(const judge *j, const units u[], unit_kind kind, int low[])
{
    int slow = 0;
    for (int r = 0; r < j->v->rows; r++) slow += (low[r] = lowest_of(j, u, r, true)) >= 0;
    if (slow > 0 || kind != UNIT_RANK) return slow;
    for (int r = 0; r < j->v->rows; r++) low[r] = lowest_of(j, u, r, false);
    if (!adds_up(j, u, low)) return 0;
    for (int r = 0; r < j->v->rows; r++) slow += low[r] >= 0;
    return slow;
}

/* The row that names a unit which is the lowest in most of the slow rows, of equals the lower one; -1: none.
 */
static int most_rows(const judge *j, const units u[], const int low[], int *most)
{
    int best = -1;
    *most = 0;
    for (int r = 0; r < j->v->rows; r++) {
        int rows = 0;
        for (int k = 0; k < j->v->rows; k++) rows += same(&u[r], low[r], &u[k], low[k]);
        if (rows < *most || rows == 0) continue;
        if (rows == *most && units_effect(&u[r], low[r]) >= units_effect(&u[best], low[best])) continue;
        best = r;
        *most = rows;
    }
    return best;
}

/* u: [rows]. False: no unit is slow. */
static bool name_lowest(judge *j, const units u[], unit_kind kind)
{
    const check_findings *f = j->f;
    check_verdict *v = j->v;
    int low[2 * CHECK_LIKES], most;
    bool one_way = true;
    const int slow = find_lowest(j, u, kind, low), best = most_rows(j, u, low, &most);
    if (slow == 0) return false;
    const int a = u[best].a[low[best]], b = u[best].b[low[best]];
    const check_like like = v->row[best].like;
    check_suspect *s = suspect_of(j,
                                  kind == UNIT_HOST   ? CHECK_HOST
                                  : kind == UNIT_RANK ? CHECK_GPU
                                                      : check_likes[like].part,
                                  a, b);
    s->confidence = (double)most / slow;
    for (int r = 0; r < v->rows; r++) {
        if (!same(&u[best], low[best], &u[r], low[r])) continue;
        const double effect = units_effect(&u[r], low[r]);
        add_evidence(s, &v->row[r], exp(effect), exp(units_best(&u[r], low[r]) - effect));
        v->row[r].verdict = CHECK_SLOW;
        one_way = one_way && v->row[r].like == CHECK_PAIR_ONEWAY && u[r].a[low[r]] == a;
    }
    if (s->rows > SHOWN) sentence_add(&s->evidence, "; and %d more", s->rows - SHOWN);
    if (kind == UNIT_RANK) check_add_state(&s->evidence, f, s->a);
    if (s->part == CHECK_LINK && one_way)
        sentence_set(&s->name, "link from rank %d to rank %d (%s)", a, b, f->rank[a].host);
    if (s->part == CHECK_LINK && !has_units(f, like, UNIT_RANK)) {
        s->confidence /= 3;
        sentence_add(&s->evidence, "; it may as well be one of its ranks, which have no other pair");
    }
    return true;
}

static void judge_slow(judge *j)
{
    check_verdict *v = j->v;
    for (unit_kind kind = UNIT_HOST; kind < UNIT_KINDS; kind++)
        for (bool more = true; more && v->suspects < SUSPECTS_MOST;) {
            units u[2 * CHECK_LIKES] = { 0 };
            for (int r = 0; r < v->rows; r++)
                if (has_units(j->f, v->row[r].like, kind))
                    u[r] = units_create(j->f, v->row[r].like, v->row[r].alone, kind, j->explained);
            more = name_lowest(j, u, kind);
            for (int r = 0; r < v->rows; r++) units_destroy(&u[r]);
        }
}

/* ---- slow next to the reference ---- */

/* Rates alone are what a reference has; at once stands for them where nothing was measured alone. All ranks
 * at once depend on their number. */
static double reference_of(const judge *j, const check_reference *r, const check_row *row)
{
    const check_part part = check_likes[row->like].part;
    const bool all = part == CHECK_JOB || part == CHECK_DISK || part == CHECK_HOST_LINK;
    if (all && (r->ranks != j->f->ranks || r->hosts != j->f->hosts)) return NAN;
    for (int i = 0; i < j->v->rows && !row->alone; i++)
        if (j->v->row[i].like == row->like && j->v->row[i].alone) return NAN;
    return sqrt(r->low[row->like] * r->high[row->like]);
}

/* All units lie below, or the slowest one is named. One suspect for all rows of a part. */
static void name_below(judge *j, const units *u, check_row *row, double low)
{
    int below = 0;
    for (int i = 0; i < u->count; i++) below += units_best(u, i) < low;
    if (below == 0) return;
    const bool all = below > 1 && below == u->count;
    const int least = units_least(u);
    check_suspect *s =
        suspect_of(j, check_likes[row->like].part, all ? -1 : u->a[least], all ? -1 : u->b[least]);
    if (s->rows == 0) sentence_set(&s->evidence, "below the reference: ");
    s->confidence = 1;
    add_evidence(s, row, exp(units_best(u, least)) / row->reference, row->reference);
    row->verdict = CHECK_SLOW;
}

/* Figures that no suspect takes part in; any suspect explains those of all ranks. Copies at once share the
 * host, and are not judged. */
static void judge_by_reference(judge *j, const check_reference *r)
{
    int known = j->v->suspects;
    for (int i = 0; i < j->v->rows; i++) {
        check_row *row = &j->v->row[i];
        const bool shared = !row->alone && (row->like == CHECK_TO_HOST || row->like == CHECK_FROM_HOST),
                   job = check_likes[row->like].part == CHECK_JOB;
        units u = units_create(j->f, row->like, row->alone, UNIT_COMPONENT, j->explained);
        const double least = fmax(-log1p(-CHECK_LEAST_DIFFERENCE), j->errors * u.spread);
        row->reference = reference_of(j, r, row);
        row->is_judged = row->reference > 0 && !shared && u.rounds >= ROUNDS_LEAST &&
                         check_reference_repeats(r, row->like);
        if (row->is_judged && !(job && known > 0)) name_below(j, &u, row, log(r->low[row->like]) - least);
        if (!job) known = j->v->suspects;
        units_destroy(&u);
    }
}

/* ---- all ---- */

static void add_row(judge *j, check_like like, bool alone)
{
    check_row row = { .like = like,
                      .alone = alone,
                      .median = NAN,
                      .least = NAN,
                      .least_a = -1,
                      .least_b = -1,
                      .noise = NAN,
                      .smallest = 1,
                      .reference = NAN };
    units u = units_create(j->f, like, alone, UNIT_COMPONENT, NULL);
    const int least = units_least(&u);
    for (int i = 0; i < j->f->faults; i++)
        if (j->f->fault[i].like == like) row.verdict = CHECK_WRONG;
    if (u.count > 0) {
        row.count = u.count;
        row.least = exp(units_best(&u, least));
        row.least_a = u.a[least];
        row.least_b = u.b[least];
        row.noise = -expm1(-u.noise);
        row.smallest = -expm1(-least_of(j, &u));
        row.median = exp(units_median(&u));
    }
    if (u.count > 0 || (row.verdict == CHECK_WRONG && !alone)) j->v->row[j->v->rows++] = row;
    units_destroy(&u);
}

static check_word word_of(const check_findings *f, const check_verdict *v, int wrong)
{
    bool judged = false;
    for (int i = 0; i < v->rows; i++)
        judged = judged || v->row[i].smallest < looked_for || v->row[i].is_judged;
    return f->why.text[0]        ? CHECK_INCOMPLETE
           : f->faults           ? CHECK_WRONG
           : v->suspects > wrong ? CHECK_SLOW
           : judged              ? CHECK_DELIVERS
                                 : CHECK_NOT_JUDGED;
}

void check_judge(const check_findings *f, const check_reference *reference, check_verdict *v)
{
    judge j = { .f = f,
                .v = v,
                .explained = CHECK_ALLOC(calloc((size_t)f->figures + 1, sizeof *j.explained)),
                .comparisons = (double)f->figures / (f->rounds + 1) + 1 };
    *v = (check_verdict){ .rows = 0 };
    j.errors = sqrt(2 * log(100.0 * j.comparisons));
    for (int l = 0; l < CHECK_LIKES; l++)
        for (int alone = 0; alone < 2; alone++) add_row(&j, (check_like)l, alone);
    judge_wrong(&j);
    const int wrong = v->suspects;
    judge_slow(&j);
    if (reference) judge_by_reference(&j, reference);
    v->word = word_of(f, v, wrong);
    free(j.explained);
}

void check_verdict_destroy(check_verdict *v)
{
    free(v->suspect);
    *v = (check_verdict){ .rows = 0 };
}
