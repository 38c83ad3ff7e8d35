#include "check/check.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/cmd.h"
#include "base/machine.h"
#include "bench/bench_link.h"
#include "check/check_record.h"
#include "check/trial.h"
#include "output/record.h"
#include "ranks/check.h"
#include "ranks/fault.h"
#include "ranks/ranks.h"
#include "run/watchdog.h"

/* ---- sizes ---- */

static const double rehearsal_s = 5; /* below this many seconds in a round sizes are small */

enum { REHEARSAL, ON_HOST, ON_GPU };
static const check_sizes sizes[] = {
    [REHEARSAL] = { .ceiling_bytes = 1 << 20,
                    .edge_cells = 256,
                    .cached_edge_cells = 128,
                    .message_bytes = 64 << 10,
                    .pattern_bytes = 4 << 20,
                    .matrix_cells = 256,
                    .disk_bytes = 1 << 20,
                    .first_run = 0 },
    [ON_HOST] = { .ceiling_bytes = 32 << 20,
                  .edge_cells = 2048,
                  .cached_edge_cells = 256,
                  .message_bytes = 1 << 20,
                  .matrix_cells = 1024,
                  .disk_bytes = 16 << 20,
                  .first_run = 3 },
    [ON_GPU] = { .ceiling_bytes = 256 << 20,
                 .edge_cells = 8192,
                 .cached_edge_cells = 2048,
                 .message_bytes = 16 << 20,
                 .matrix_cells = 4096,
                 .disk_bytes = 64 << 20,
                 .first_run = 6 },
};

/* ---- rounds ---- */

/* Files come between the patterns and the rates of memory: what frees most of a GPU's memory is followed by
 * some tenths of a second in which copies reach .86 of their rate: the driver clears what was freed. */
static const trials *const parts[] = { &trials_patterns, &trials_files,      &trials_own,
                                       &trials_pairs,    &trials_host_pairs, &trials_job };
enum { PARTS = sizeof parts / sizeof *parts };

typedef struct rounds {
    check *c;
    int items[PARTS]; /* of each part, in every round */
    double repeats_s; /* of the last round: what the next one has too */
    /* what rank 0 leaves behind: */
    json_t *head, *machine;
    check_reference reference;
    check_verdict v; /* on all rounds so far */
} rounds;

static bool one_round(rounds *e)
{
    check *c = e->c;
    const bool quick = c->ask->level == CHECK_QUICK;
    bool more = true;
    e->repeats_s = 0;
    c->bench.trusted = quick && c->round > 0; /* all was right in the first round */
    for (int i = 0; i < PARTS && more; i++) {
        const double begin_s = c->now_s;
        if (quick && c->round > 0 && parts[i]->once) continue;
        more = trial_part(c, parts[i], &e->items[i]);
        if (!parts[i]->once || !quick) e->repeats_s += c->now_s - begin_s;
    }
    return more;
}

/* Verdict and record of all rounds so far. */
static void judge(rounds *e)
{
    check *c = e->c;
    sentence why;
    check_judge(&c->found, &e->reference, &e->v);
    json_t *o = json_deep_copy(e->head);
    json_object_set(o, "machine", e->machine);
    json_object_set_new(o, "check", check_record(c, &e->v));
    if (c->ask->output[0] && !record_append(c->ask->output, o, &why)) (void)cmd_say(0, "%s", why.text);
    json_decref(o);
}

/* Rank 0: is there another round? Three tell the noise of rounds; on a host, whose cores others use too, the
 * order within seven tells who is slow. A quick check has no more of them, and a later one than the second
 * ends within two thirds of the limit. */
static bool goes_on(const rounds *e)
{
    const check *c = e->c;
    const check_request *ask = c->ask;
    const bool quick = ask->level == CHECK_QUICK;
    const int done = c->found.rounds, enough = c->d->kind == DEVICE_CUDA ? 3 : 7;
    const double end_s = c->now_s + e->repeats_s;
    if (ask->level == CHECK_SOAK) return end_s < ask->time_s;
    if (quick && (c->found.faults > 0 || done == enough)) return false;
    if (isfinite(c->limit_s)) return end_s <= (done == 1 ? c->limit_s : c->limit_s * 2 / 3);
    return done < (quick ? 2 : enough) || end_s < (quick ? 6 : 9) * ask->budget_s;
}

/* False: an end was asked for before there was a verdict. */
static bool run_rounds(rounds *e)
{
    check *c = e->c;
    for (bool more = true; more; c->round++) {
        if (!one_round(e)) return c->ask->level == CHECK_SOAK && trial_tell(c, c->found.rounds) > 0;
        c->found.rounds++;
        if (c->top->rank == 0) {
            judge(e);
            check_part_begin(c, e->head);
        }
        more = trial_tell(c, goes_on(e));
    }
    return true;
}

/* ---- beginning and end ---- */

static void gather_ranks(check *c)
{
    const hosts *h = c->top->where;
    const bool gpu = c->d->kind == DEVICE_CUDA;
    check_rank *mine = &c->mine.state;
    *mine = (check_rank){ .first_of_host = h->rank[h->begin[h->of[c->top->rank]]],
                          .clock_mhz = NAN,
                          .power_w = NAN,
                          .temperature_c = NAN };
    snprintf(mine->host, sizeof mine->host, "%s", c->top->host);
    snprintf(mine->gpu, sizeof mine->gpu, "%.63s", gpu ? c->d->name : "");
    snprintf(mine->uuid, sizeof mine->uuid, "%s", c->d->uuid);
    snprintf(mine->pci, sizeof mine->pci, "%s", c->top->pci);
    MPI_CHECK(
        MPI_Gather(mine, sizeof *mine, MPI_BYTE, c->found.rank, sizeof *mine, MPI_BYTE, 0, c->top->comm));
    c->found.hosts = c->top->hosts;
    snprintf(c->found.device_name, sizeof c->found.device_name, "%s", c->d->name);
    for (int i = 0; i < h->count; i++)
        if (h->begin[i + 1] - h->begin[i] > c->most_here) c->most_here = h->begin[i + 1] - h->begin[i];
}

static void check_open(check *c, topology *top, device *d, const check_request *ask, double begin_s)
{
    enum { SAMPLES = 5, SAMPLES_OF_FULL = 20 };
    const bool quick = ask->level == CHECK_QUICK, rehearsal = ask->budget_s < rehearsal_s;
    const char *why;
    *c = (check){ .ask = ask,
                  .top = top,
                  .d = d,
                  .sizes = sizes[rehearsal                ? REHEARSAL
                                 : d->kind == DEVICE_HOST ? ON_HOST
                                                          : ON_GPU],
                  .mine = { .rank = top->rank },
                  .begin_s = begin_s,
                  .limit_s = INFINITY };
    if (quick && (!rehearsal || fault_asked("slow_trials") >= 0))
        c->limit_s = 6 * fmax(ask->budget_s, rehearsal_s);
    c->world = bench_world_create(top, ask->dir);
    c->rungs = (bench_request){ .kind = d->kind,
                                .samples = quick || rehearsal ? SAMPLES : SAMPLES_OF_FULL,
                                .threads = ask->threads,
                                .dir = ask->dir,
                                .output = "" };
    MPI_CHECK(ranks_dup(top->comm, &c->reports));
    bench_create(&c->bench, &c->rungs, d, &c->world);
    if (d->kind == DEVICE_CUDA) (void)bench_link_aware(&c->world, d, &why); /* by all, before pairs ask */
    check_findings_create(&c->found, d->kind, top->ranks);
    gather_ranks(c);
    if (top->ranks == 1) trial_left_out(c, "pairs of ranks: there is one rank");
    if (d->kind == DEVICE_HOST) trial_left_out(c, "GPUs: this is a check of the host");
}

static void check_close(check *c)
{
    check_findings_destroy(&c->found);
    bench_destroy(&c->bench);
    bench_world_destroy(&c->world);
    MPI_CHECK(ranks_free(&c->reports));
}

/* On rank 0. False with a sentence in why. */
static bool may_begin(rounds *e, const check_request *ask, sentence *why)
{
    check_reference *r = &e->reference;
    if (e->c->top->rank != 0) return true;
    if (ask->output[0] && !record_may_write("output", ask->output, why)) return false;
    if (!ask->reference[0]) return true;
    if (!check_reference_read(ask->reference, r, why)) return false;
    if (strcmp(r->gpu, e->c->d->name) == 0) return true;
    (void)cmd_say(0, "reference = %s is of %s and is not used: this is %s", r->name, r->gpu, e->c->d->name);
    r->name[0] = '\0';
    return true;
}

int check_machine(topology *top, device *d, const check_request *ask, const char *command, double begin_s)
{
    check c;
    rounds e = { .c = &c };
    sentence why = { "" };
    int status = CHECK_EXIT_ENVIRONMENT;
    json_t *started = record_now();
    check_open(&c, top, d, ask, begin_s);
    e.head = machine_record(command, started);
    e.machine = machine_json(top, d);
    if (!agree_or_say(may_begin(&e, ask, &why), &why, top->comm)) (void)cmd_say(0, "%s", why.text);
    else {
        watchdog_counts_rounds();
        watchdog_start(ask->stall_limit_s);
        if (top->rank == 0) check_part_begin(&c, e.head);
        const bool whole = run_rounds(&e);
        trial_unwatch();
        if (top->rank == 0) {
            if (!whole) {
                sentence_set(&c.found.why, "stopped by a signal in round %d", c.round + 1);
                judge(&e); /* the round under way has no record yet */
            }
            check_page_print(stdout, &c.found, &e.v, &e.reference);
            check_part_end(&c);
            status = check_exit_status[e.v.word];
        }
        status = trial_tell(&c, status);
    }
    check_close(&c);
    json_decref(e.head);
    json_decref(e.machine);
    json_decref(started);
    return status;
}
