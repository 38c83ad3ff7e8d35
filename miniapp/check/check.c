#include "check/check.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/cmd.h"
#include "base/cmd_key.h"
#include "base/machine.h"
#include "bench/bench_link.h"
#include "output/record.h"
#include "ranks/check.h"
#include "ranks/fault.h"
#include "ranks/ranks.h"
#include "run/watchdog.h"

/* ---- the request ---- */

#define MONTH_S (30 * 24 * 3600.0)
#define KEY(NAME, KIND, MEMBER, HELP) \
    .key = NAME, .kind = KIND, .at = offsetof(check_request, MEMBER), .help = HELP
static const cmd_key keys[] = {
    { KEY("level", CMD_KEY_WORD, level,
          "30 s, 3 minutes; soak: rounds of full until time is over, or a signal"),
      .word = check_level_words, .preset = "quick" },
    { KEY("time", CMD_KEY_SECONDS, time_s, "of a soak: 8h, 30m or 90s (8h)"), .least = 1, .most = MONTH_S },
    { KEY("device", CMD_KEY_WORD, kind,
          "auto: GPUs, else the host, but exit 3 where there are GPUs that cannot be used"),
      .word = topology_choice_words, .preset = "auto" },
    { KEY("dir", CMD_KEY_FOLDER, dir,
          "folder in which the file system is tried; nothing is left there (.)") },
    { KEY("output", CMD_KEY_OUTPUT, output,
          "file to which a record is appended for each round, or none (check.jsonl)") },
    { KEY("reference", CMD_KEY_OUTPUT, reference,
          "rates to compare with: a file of jobs/check_reference, as in inputs/reference, or none (none)") },
    { KEY("budget", CMD_KEY_SECONDS, budget_s,
          "seconds of a round (5 in quick, else 20); below 5 all sizes are small, and rates mean little"),
      .least = 0.01, .most = MONTH_S },
    { KEY("stall_limit", CMD_KEY_SECONDS, stall_limit_s,
          "without progress for this time each rank says in which trial it is, and the check ends; 0: never "
          "(5m)"),
      .most = MONTH_S },
};
enum { KEYS = sizeof keys / sizeof keys[0] };

void check_print_keys(void *file) { cmd_key_print(file, keys, KEYS, 11); }

static bool make_request(check_request *q, int argc, char **argv, sentence *why)
{
    *q = (check_request){ .time_s = 8 * 3600,
                          .budget_s = NAN,
                          .stall_limit_s = 300,
                          .dir = ".",
                          .output = "check.jsonl",
                          .reference = "" };
    for (int i = 1; i < argc; i++) {
        if (!strchr(argv[i], '='))
            return sentence_refuse(why,
                                   "unknown word '%.200s'; allowed: fs, or key=value with one of the keys of "
                                   "`weft check --help`",
                                   argv[i]);
        if (strncmp(argv[i], "report=", 7) == 0)
            return sentence_refuse(why, "report: jobs/judge check.jsonl --page FILE.html makes the page");
        if (!cmd_key_set(keys, KEYS, q, argv[i], why)) return false;
    }
    snprintf(q->part, sizeof q->part, "%s.part", q->output);
    if (isnan(q->budget_s)) q->budget_s = q->level == CHECK_QUICK ? 5 : 20;
    return true;
}

/* ---- sizes ---- */

static const double rehearsal_s = 5; /* below this many seconds in a round sizes are small */
static const struct {
    int64_t message_bytes, ceiling_bytes; /* of what one rank copies */
    int64_t edge_cells, matrix_cells; /* of planes, which no cache holds; of the matrix of the all-to-all */
} sizes[] = { [CHECK_SMALL] = { 64 << 10, 1 << 20, 256, 256 },
              [CHECK_ON_HOST] = { 1 << 20, 32 << 20, 2048, 1024 },
              [CHECK_ON_GPU] = { 16 << 20, 256 << 20, 8192, 4096 } };

/* ---- rounds ---- */

/* Rank 0: is there another round? Three tell the noise of rounds; on a host, whose cores others use too, the
 * order within seven tells who is slow. A quick check has no more of them: the second one, which verifies
 * less, begins while there are four fifths of the time of the first, a later one while there is twice its
 * own. */
static bool goes_on(const check *c)
{
    const bool quick = c->ask->level == CHECK_QUICK;
    const int done = c->found.rounds, enough = c->d->kind == DEVICE_CUDA ? 3 : 7;
    const double end_s = c->now_s + c->repeats_s * (!quick ? 1 : done > 1 ? 2 : 0.8);
    if (c->ask->level == CHECK_SOAK) return end_s < c->ask->time_s;
    if (quick && (c->found.wrong > 0 || done == enough)) return false;
    if (isfinite(c->limit_s)) return end_s <= c->limit_s;
    return done < (quick ? 2 : enough) || end_s < (quick ? 6 : 9) * c->ask->budget_s;
}

/* All rounds, and on rank 0 their records, verdict and page. Returns the exit status. */
static int run_rounds(check *c, const json_t *head, const check_reference *r)
{
    const bool speaks = c->top->rank == 0;
    check_verdict v;
    sentence why;
    bool whole, kept = true;
    do {
        if (speaks) check_part_begin(c, head);
        whole = trial_round(c);
        c->found.rounds += whole;
        if (c->mine.asked && (c->ask->level != CHECK_SOAK || c->round == 0))
            sentence_set(&c->found.why, "stopped by a signal in round %d", c->round + 1);
        if (!speaks || !(whole || c->found.why.text[0] || c->found.wrong > 0)) continue;
        check_judge(&c->found, r, &v);
        json_t *o = json_deep_copy(head);
        json_object_set_new(o, "check", check_record(c, &v));
        if (c->ask->output[0] && !record_append(c->ask->output, o, &why))
            kept = cmd_say(false, "%s", why.text);
        json_decref(o);
    } while (trial_tell(c, whole && goes_on(c)) > 0 && ++c->round);
    (void)signal(SIGALRM, SIG_IGN); /* the trials are over: no signal ends the process before MPI_Finalize */
    watchdog_stop();
    if (speaks) {
        check_page_print(stdout, &c->found, &v, r);
        check_part_end(c);
    }
    return (int)trial_tell(c, !speaks ? 0 : kept ? check_exit_status[v.word] : CHECK_EXIT_ENVIRONMENT);
}

/* ---- beginning and end ---- */

static void gather_ranks(check *c)
{
    const topology *top = c->top;
    const hosts *h = top->where;
    const char *const gpu = c->d->kind == DEVICE_CUDA ? c->d->name : "";
    c->found = (check_findings){
        .device = c->d->kind, .device_name = c->d->name, .ranks = top->ranks, .hosts = top->hosts
    };
    c->found.first_of_host = CHECK_CALLOC(top->ranks, sizeof *c->found.first_of_host);
    c->found.rank = machine_gather(
        top,
        json_pack("{s:o, s:o, s:o, s:o}", "host", record_text(top->host), "gpu", record_text_or_null(gpu),
                  "uuid", record_text_or_null(c->d->uuid), "pci", record_text_or_null(top->pci)));
    while (h->rank[h->begin[h->of[top->rank]] + c->number] != top->rank) c->number++;
    for (int r = 0; r < top->ranks; r++) {
        const int first = h->begin[h->of[r]], here = h->begin[h->of[r] + 1] - first;
        c->found.first_of_host[r] = h->rank[first];
        if (here > c->most_here) c->most_here = here;
    }
}

static void check_open(check *c, const topology *top, device *d, const check_request *ask, double begin_s)
{
    enum { SAMPLES = 5, SAMPLES_OF_FULL = 20 };
    const bool quick = ask->level == CHECK_QUICK, rehearsal = ask->budget_s < rehearsal_s,
               limited = quick && (!rehearsal || fault_asked("slow_trials") >= 0);
    const check_size size = rehearsal ? CHECK_SMALL : d->kind == DEVICE_HOST ? CHECK_ON_HOST : CHECK_ON_GPU;
    *c = (check){ .ask = ask,
                  .top = top,
                  .d = d,
                  .size = size,
                  .world = bench_world_create(top, ask->dir),
                  .rungs = { .kind = d->kind,
                             .samples = quick || rehearsal ? SAMPLES : SAMPLES_OF_FULL,
                             .dir = ask->dir,
                             .output = "",
                             .setting = c->setting,
                             .settings = CHECK_SETTINGS },
                  .setting = { [CHECK_BYTES] = { "bytes", sizes[size].message_bytes },
                               [CHECK_RUN] = { .key = "run" },
                               [CHECK_ROUND] = { .key = "round" },
                               { "rank", top->rank },
                               { "ceiling_bytes", sizes[size].ceiling_bytes },
                               { "nx", sizes[size].edge_cells },
                               { "ny", sizes[size].edge_cells },
                               { "n", sizes[size].matrix_cells },
                               { "radius", 1 },
                               { "steps", CHECK_BLOCK_STEPS } },
                  .begin_s = begin_s,
                  .limit_s = limited ? 6 * fmax(ask->budget_s, rehearsal_s) : INFINITY };
    MPI_CHECK(ranks_dup(top->comm, &c->reports));
    bench_create(&c->bench, &c->rungs, d, &c->world);
    if (d->kind == DEVICE_CUDA) (void)bench_link_unaware(&c->world, d); /* by all, before pairs ask */
    gather_ranks(c);
    c->now_s = trial_tell(c, timer_now_s() - begin_s); /* the start counts for no trial */
    if (top->ranks == 1) trial_left_out(c, "pairs of ranks: there is one rank");
    if (d->kind == DEVICE_HOST) trial_left_out(c, "GPUs: this is a check of the host");
}

/* By rank 0. 0, or the exit status with a sentence in why. A reference of another GPU is not used. */
static int may_begin(const check_request *ask, const device *d, check_reference *r, sentence *why)
{
    int status = ask->output[0] ? record_may_write("output", ask->output, why) : 0;
    if (status == 0 && ask->output[0]) status = record_may_write("output", ask->part, why);
    if (status != 0 || !ask->reference[0]) return status;
    if (!check_reference_read(ask->reference, r, why)) return CHECK_EXIT_ENVIRONMENT;
    if (strcmp(r->gpu, d->name) == 0) return 0;
    (void)cmd_say(0, "reference = %s is of %s and is not used: this is %s", r->name, r->gpu, d->name);
    r->name[0] = '\0';
    return 0;
}

static int check_device(topology *top, device *d, const check_request *ask, int argc, char **argv,
                        double begin_s)
{
    check c;
    check_reference r = { .name = "" };
    sentence why;
    sentence_set(&why, "%d ranks drive GPU %.12s: start one rank per GPU", top->ranks_on_device, d->uuid);
    int status = top->ranks_on_device == 1 ? 0 : CHECK_EXIT_USAGE;
    if (status == 0 && top->rank == 0) status = may_begin(ask, d, &r, &why);
    if ((status = agree_worst(status, &why, top->comm)) != 0) return cmd_say(status, "%s", why.text);
    char *command = cmd_text(argc, argv);
    json_t *head = machine_record(command), *machine = machine_json(top, d);
    if (machine) json_object_set_new(head, "machine", machine);
    check_open(&c, top, d, ask, begin_s);
    watchdog_start(ask->stall_limit_s, true);
    status = run_rounds(&c, head, &r);
    check_findings_destroy(&c.found);
    bench_destroy(&c.bench);
    bench_world_destroy(&c.world);
    MPI_CHECK(ranks_free(&c.reports));
    json_decref(head);
    free(command);
    return status;
}

int check_command(topology *top, int argc, char **argv, double begin_s)
{
    check_request ask;
    sentence why = { "" }, notes = { "" };
    if (!agree_or_say(make_request(&ask, argc, argv, &why), &why, top->comm))
        return cmd_say(CHECK_EXIT_USAGE, "%s", why.text);
    top->device_key = "device";
    device *d = topology_device(top, ask.kind, topology_threads(top, 0), &why, &notes);
    if (!d) return cmd_say(CHECK_EXIT_ENVIRONMENT, "%s", why.text);
    if (notes.text[0]) (void)cmd_say(0, "%s", notes.text);
    const int status = check_device(top, d, &ask, argc, argv, begin_s);
    device_destroy(&d);
    return status;
}
