/* A run of a storm goes in rounds of a few steps: they are enqueued, the device is drained, and all that they
 * read is compared. Within a round nothing waits that would not wait in `weft run`. */
#include "storm/storm.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "device/device_deferred.h"
#include "ranks/agree.h"
#include "ranks/check.h"
#include "ranks/ranks.h"
#include "ranks/timer.h"
#include "sim/sim_advance.h"
#include "sim/sim_state.h"
#include "sim/snapshot.h"
#include "storm/storm_delay.h"
#include "storm/storm_reads.h"
#include "storm/storm_ways.h"
#include "transports/message.h"

enum { RUN_STEPS = 96, ROUND_STEPS = 24, CHUNK_BYTES = 256 };

/* One run. */
typedef struct storm {
    sim s;
    storm_way way;
    storm_truth *truth; /* NULL: the result alone is compared, with: */
    uint64_t known;
    int64_t usual_chunk_bytes;
    snapshot *aside; /* NULL: on this run no level is put aside */
    storm_result *result;
} storm;

/* ---- findings ---- */

static void name_run(const storm *r, sentence *what)
{
    const config *c = r->s.cfg;
    const plan *p = &r->s.plan;
    const int hosts = r->s.top.hosts;
    sentence_add(what, "; run %d: %s, %s, radius %d, %lld x %lld cells on %d x %d ranks of %d host%s, ",
                 r->result->runs, kind_name(c->problem.kind), dtype_name(c->problem.type), c->problem.radius,
                 (long long)c->grid.nx, (long long)c->grid.ny, p->grid.dec.ranks_x, p->grid.dec.ranks_y,
                 hosts, hosts == 1 ? "" : "s");
    sentence_add(what, "feed %s, %d streams, transport %s, %d steps per pass, form %s",
                 config_feed_name(p->feed), p->streams, transport_kind_name(p->transport), p->block_steps,
                 step_form_name[r->s.pass.form]);
}

static void name_cell(const storm_stale *f, int rank, sentence *what)
{
    char was[64];
    if (f->read == -2) snprintf(was, sizeof was, "poison, nothing was brought,");
    else if (f->read < 0) snprintf(was, sizeof was, "no level's value");
    else snprintf(was, sizeof was, "level %lld's value", (long long)f->read);
    sentence_set(what, "step %lld, rank %d, %s, cell (%lld, %lld): %s instead of level %lld's",
                 (long long)f->step, rank, f->where, (long long)f->x, (long long)f->y, was,
                 (long long)f->level);
}

/* Of the two ranks concerned what was held up for longest. Collective. */
static void name_late(const topology *top, int64_t step, int rank, int owner, sentence *what)
{
    static const char who_name[][24] = { [-STORM_LATE_THREAD] = "thread",
                                         [-STORM_LATE_EXCHANGE] = "exchange stream",
                                         [-STORM_LATE_ASIDE] = "stream beside the steps" };
    storm_late *late = CHECK_ALLOC(malloc((size_t)top->ranks * sizeof *late));
    const storm_late mine = storm_delay_most(step);
    MPI_CHECK(ranks_allgather(&mine, 2, MPI_INT64_T, late, 2, MPI_INT64_T, top->comm));
    const int of = owner >= 0 && late[owner].ns > late[rank].ns ? owner : rank, who = (int)late[of].who;
    if (late[of].ns > 0)
        sentence_add(what, "; rank %d was late by %.0f us, its ", of, 1e-3 * (double)late[of].ns);
    if (late[of].ns > 0 && who >= 0) sentence_add(what, "stream %d", who);
    else if (late[of].ns > 0) sentence_add(what, "%s", who_name[-who]);
    free(late);
}

/* Does any rank have one? Then the earliest step's, of the lowest rank, is the run's. Collective. */
static void settle(storm *r, storm_stale mine)
{
    struct {
        long step;
        int rank;
    } own = { mine.found ? (long)mine.step : LONG_MAX, r->s.top.rank }, first;
    sentence *what = &r->result->what;
    MPI_CHECK(MPI_Allreduce(&own, &first, 1, MPI_LONG_INT, MPI_MINLOC, r->s.top.comm));
    if (first.step == LONG_MAX || r->result->found) return;
    if (first.rank == own.rank) name_cell(&mine, first.rank, what);
    MPI_CHECK(ranks_bcast(what, sizeof *what, MPI_CHAR, first.rank, r->s.top.comm));
    MPI_CHECK(ranks_bcast(&mine.owner, 1, MPI_INT, first.rank, r->s.top.comm));
    name_late(&r->s.top, first.step, first.rank, mine.owner, what);
    name_run(r, what);
    r->result->found = true;
}

static void wrong(storm *r, const char *text)
{
    if (r->result->found) return;
    sentence_set(&r->result->what, "%s at level %lld", text, (long long)r->s.level);
    name_run(r, &r->result->what);
    r->result->found = true;
}

/* ---- rounds ---- */

static bool is_due(const storm *r)
{
    return r->s.cfg->time.norm_every > 0 && r->s.level % r->s.cfg->time.norm_every == 0;
}

static void compare_norm(storm *r)
{
    const double norm = sim_norm(&r->s, r->s.level);
    storm_truth_advance(r->truth, r->s.level);
    if (norm != storm_truth_change(r->truth, r->s.level)) wrong(r, "a norm is not that of its level");
}

static storm_stale earlier(storm_stale a, storm_stale b)
{
    return !a.found || (b.found && b.step < a.step) ? b : a;
}

/* All that passes read, the level that was put aside, the present one. */
static void compare(storm *r, state_level *put_aside)
{
    sim *s = &r->s;
    double held_s = 0;
    storm_truth_advance(r->truth, s->level);
    storm_stale first = storm_reads_compare(r->truth);
    if (put_aside) {
        if (!snapshot_ready(r->aside, put_aside, &held_s))
            check_fail(__FILE__, __LINE__, "snapshot_ready", "not ready on an idle device");
        for (int i = 0; i < put_aside->fields; i++) /* the level, and the one before it */
            first = earlier(first,
                            storm_reads_compare_own(r->truth, put_aside->field[i].data, put_aside->step - i));
    }
    settle(r, earlier(first,
                      storm_reads_compare_own(r->truth, sim_host_copy(s, sim_main_field(s), 0), s->level)));
}

/* As the loop of a run asks: a step with a norm is the last one. */
static int64_t steps_to_go(const sim *s, int64_t end)
{
    const int64_t every = s->cfg->time.norm_every, left = end - s->level,
                  due = every > 0 ? every - s->level % every : left;
    return left < due ? left : due;
}

/* A quarter of the round comes before the level that is put aside: behind it two launches at least, of which
 * the second one overwrites that level. */
static void round_of_steps(storm *r, int64_t steps)
{
    sim *s = &r->s;
    state_level put_aside;
    const int64_t begin = s->level, end = begin + steps;
    bool is_aside = false;
    while (s->level < end) {
        const int64_t first = begin + (steps + 3) / 4, to = r->aside && s->level < first ? first : end;
        storm_device_step(r->truth != NULL);
        (void)sim_advance(s, (sim_request){ steps_to_go(s, to), s->cfg->time.norm_every, true, NULL });
        storm_device_poison_ghosts();
        if (r->truth && is_due(r)) compare_norm(r);
        if (r->aside && !is_aside && s->level >= first) {
            snapshot_take(r->aside, "", &put_aside);
            is_aside = true;
        }
    }
    sim_wait(s);
    if (r->truth) compare(r, is_aside ? &put_aside : NULL);
}

/* The form that the way asks for, where single steps or blocks have it. */
static void set_form(storm *r)
{
    step_pass *p = &r->s.pass;
    const step_form form =
        r->way.form == STEP_EXCHANGE_FIRST && p->block_steps == 1 ? STEP_OVERLAPPED : r->way.form;
    if (p->halo && form != STEP_FORMS && !r->s.batch) step_pass_set_form(p, form);
}

/* Debug builds take the ranks of one host for several (ranks/hosts.h), so that links are of both kinds and
 * steps mixed. */
static void pretend_hosts(int hosts)
{
#ifdef WEFT_DEBUG
    char text[16];
    snprintf(text, sizeof text, "%d", hosts);
    if (hosts == 1) (void)unsetenv("WEFT_PRETEND_HOSTS");
    else (void)setenv("WEFT_PRETEND_HOSTS", text, 1);
#endif
}

static int create(storm *r, sentence *why)
{
    pretend_hosts(r->way.hosts);
    message_chunk_bytes = r->way.chunked ? CHUNK_BYTES : r->usual_chunk_bytes;
    const int status = sim_create(&r->s, &r->way.c, false, why);
    if (status == 0) set_form(r);
    return status;
}

/* What a run without a storm gives. */
static int find_known(storm *r, sentence *why)
{
    int status = create(r, why);
    if (status == 0) {
        sim_prepare_steps(&r->s);
        status = sim_initialise(&r->s, why);
    }
    if (status == 0) {
        sim_take(&r->s, RUN_STEPS, true);
        r->known = sim_fingerprint(&r->s);
    }
    sim_destroy(&r->s);
    return status;
}

static int blow(storm *r, const storm_request *ask, sentence *why)
{
    sim *s = &r->s;
    const unsigned seed = ask->seed * 1000003u + (unsigned)r->result->runs;
    if (s->dev->kind == DEVICE_HOST) device_defer(s->dev, seed * 64 + (unsigned)s->top.rank);
    storm_device_begin(s, seed, r->way.full, ask->race);
    sim_prepare_steps(s); /* captured with all that the storm does */
    const int status = sim_initialise(s, why);
    if (status == 0 && r->truth && r->way.aside) r->aside = snapshot_create(s);
    for (int n = 0; status == 0 && s->level < RUN_STEPS && !r->result->found; n++) {
        const int64_t left = RUN_STEPS - s->level, steps = 4 + (seed + 7u * (unsigned)n) % (ROUND_STEPS - 3);
        round_of_steps(r, left < steps ? left : steps);
    }
    sim_wait(s);
    snapshot_destroy(&r->aside);
    storm_device_end();
    if (status == 0 && !r->truth && sim_fingerprint(s) != r->known)
        wrong(r, "other bits than without a storm");
    r->result->steps += s->level;
    return status;
}

static int run_way(storm *r, const storm_request *ask, sentence *why)
{
    problem p;
    problem_make(&p, &r->way.c);
    r->truth = storm_truth_create(&r->way.c, &p);
    int status = r->truth ? 0 : find_known(r, why);
    if (status == 0) status = create(r, why);
    if (status == 0) status = blow(r, ask, why);
    sim_destroy(&r->s);
    storm_truth_destroy(&r->truth);
    return status;
}

int storm_run(const storm_request *ask, storm_result *result, sentence *why)
{
    static storm r; /* a sim and a config are large */
    const double begin_s = timer_now_s();
    const int ranks = ranks_count(ranks_world());
    int status = 0;
    *result = (storm_result){ 0 };
    r.result = result;
    r.usual_chunk_bytes = message_chunk_bytes;
    while (status == 0 && !result->found && result->steps < ask->steps &&
           agree_all(timer_now_s() - begin_s < ask->seconds, ranks_world())) {
        storm_way_make(&r.way, ask->seed, result->runs, ranks, ask->device);
        status = run_way(&r, ask, why);
        result->runs++;
    }
    message_chunk_bytes = r.usual_chunk_bytes;
    return status;
}
