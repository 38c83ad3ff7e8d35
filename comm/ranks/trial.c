#include "ranks/trial.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "ranks/check.h"
#include "ranks/ranks.h"
#include "ranks/timer.h"

enum { FEW_ROUNDS = 3, DISTURBED = 3 };

/* ---- the rule ---- */

trial_estimate trial_estimate_of(const double taken_s[], int rounds)
{
    double s[TRIAL_ROUNDS_MAX];
    memcpy(s, taken_s, (size_t)rounds * sizeof *s);
    const timer_percentiles sorted = timer_percentiles_of(s, (size_t)rounds);
    const double quartile_s = s[(rounds - 1) / 4], about_s = 2 * (sorted.p50 - sorted.min) / sqrt(rounds);
    return (trial_estimate){ quartile_s, quartile_s - about_s, quartile_s + about_s };
}

trial_state trial_begin(const trial *t)
{
    trial_state state = { .rounds = 1, .ways = t->ways, .before = -t->warm_up, .round_s = INFINITY };
    for (int way = 0; way < t->ways; way++) state.in[way] = way;
    return state;
}

static int fastest_of(const trial_state *state, const trial_estimate of[])
{
    int best = state->in[0];
    for (int i = 1; i < state->ways; i++)
        if (of[state->in[i]].s < of[best].s) best = state->in[i];
    return best;
}

static bool is_known(const trial *t, const trial_state *state, const trial_estimate of[], int best)
{
    for (int i = 0; i < state->ways; i++) {
        const int way = state->in[i];
        if ((way != best || t->ways == 1) && of[best].most_s > (1 + TRIAL_CLOSE) * of[way].least_s)
            return false;
    }
    return true;
}

static void retire(const trial *t, trial_state *state, const trial_estimate of[], int best)
{
    const double at_s = (t->retires > 0 ? t->retires : TRIAL_RETIRES) * of[best].most_s;
    int ways = 0;
    for (int i = 0; i < state->ways; i++) {
        const int way = state->in[i];
        if (of[way].least_s <= at_s) state->in[ways++] = way;
    }
    state->ways = ways;
}

/* More rounds that fit into the budget, in which a disturbed round counts as the shortest does. */
static double fitting(const trial *t, trial_state *state, double elapsed_s, double round_s)
{
    const double budget_s = t->budget_s > 0 ? t->budget_s : TRIAL_BUDGET_S;
    state->round_s = fmin(state->round_s, round_s);
    const double spent_s = state->before_s + (state->rounds - state->before) * state->round_s;
    if (state->rounds < FEW_ROUNDS)
        return elapsed_s <= budget_s ? fmax(1, floor((budget_s - spent_s) / state->round_s)) : 0;
    return elapsed_s <= DISTURBED * budget_s ? fmax(0, floor((budget_s - spent_s) / state->round_s)) : 0;
}

/* From now on rounds are shorter. */
static void begin_shorter(trial_state *state)
{
    state->before_s += (state->rounds - state->before) * state->round_s;
    state->before = state->rounds;
    state->round_s = INFINITY;
}

bool trial_goes_on(const trial *t, trial_state *state, const trial_estimate of[], double elapsed_s,
                   double round_s)
{
    const int rounds = state->rounds, best = fastest_of(state, of), ways = state->ways;
    const double fit = fitting(t, state, elapsed_s, fmax(round_s, 1e-9));
    const bool all_fit = rounds + fit >= TRIAL_ROUNDS_LEAST;
    for (int i = 0; i < ways; i++) state->best_s[state->in[i]] = of[best].s;
    if (rounds >= TRIAL_ROUNDS_LEAST && is_known(t, state, of, best)) return false;
    if (rounds >= (all_fit ? TRIAL_ROUNDS_LEAST : FEW_ROUNDS)) retire(t, state, of, best);
    if (state->ways < ways) begin_shorter(state);
    const int first = all_fit || rounds >= FEW_ROUNDS ? TRIAL_ROUNDS_LEAST : FEW_ROUNDS;
    const double next = rounds >= TRIAL_ROUNDS_LEAST ? 2 * rounds : first;
    state->rounds = (int)fmin(fmin(next, TRIAL_ROUNDS_MAX), fmax(rounds + fit, t->least));
    return state->rounds > rounds;
}

double trial_scale(const trial_state *state, int way)
{
    const double then_s = state->best_s[way], now_s = state->best_s[state->in[0]];
    return then_s > 0 ? now_s / then_s : 1;
}

/* ---- its rounds ---- */

typedef struct trial_look { /* of the slowest rank */
    double elapsed_s, round_s;
    trial_estimate of[TRIAL_WAYS_MAX];
} trial_look;

void trial_run(const trial *t, trial_time *time, void *context, double seconds[], MPI_Comm comm)
{
    double taken_s[TRIAL_WAYS_MAX][TRIAL_ROUNDS_MAX];
    trial_look look = { 0 };
    trial_state state = trial_begin(t);
    int rounds = 0;
    assert(1 <= t->ways && t->ways <= TRIAL_WAYS_MAX);
    const double begin_s = timer_now_s();
    for (int i = 0; i < t->warm_up; i++)
        for (int way = 0; way < t->ways; way++) (void)time(context, way);
    do {
        double round_s = INFINITY;
        for (; rounds < state.rounds; rounds++) {
            const double round_begin_s = timer_now_s();
            for (int i = 0; i < state.ways; i++) taken_s[state.in[i]][rounds] = time(context, state.in[i]);
            round_s = fmin(round_s, timer_now_s() - round_begin_s);
        }
        for (int i = 0; i < state.ways; i++)
            look.of[state.in[i]] = trial_estimate_of(taken_s[state.in[i]], rounds);
        look.elapsed_s = timer_now_s() - begin_s;
        look.round_s = round_s;
        MPI_CHECK(ranks_allreduce(&look, 2 + 3 * t->ways, MPI_DOUBLE, MPI_MAX, comm));
        for (int i = 0; i < state.ways; i++) seconds[state.in[i]] = look.of[state.in[i]].s;
    } while (trial_goes_on(t, &state, look.of, look.elapsed_s, look.round_s));
    for (int way = 0; way < t->ways; way++) seconds[way] *= trial_scale(&state, way);
}

int trial_repeats(double one_s, double whole_s, int least, int most)
{
    const double n = whole_s / fmax(one_s, 1e-9);
    return n < least ? least : n > most ? most : (int)n;
}
