/* weft predict: the model of predict.h, from a machine's records, for ranks that are not here. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cmd.h"
#include "base/terminal.h"
#include "config/request.h"
#include "output/record.h"
#include "predict/predict_plan.h"
#include "predict/predict_records.h"
#include "ranks/check.h"
#include "ranks/ranks.h"

enum { COUNTS_MAX = 64, RANKS_MOST = 1000000 };

typedef struct asked {
    const char *from, *check, *output;
    struct rank_list {
        int count, ranks[COUNTS_MAX];
    } on;
    predict_study study;
    double between_us, between_gbs, file_gbs; /* NaN: not given */
} asked;

/* ---- the command line ---- */

typedef bool take(void *into, const char *key, const char *text, sentence *why);

static bool take_text(void *into, const char *key, const char *text, sentence *why)
{
    *(const char **)into = text;
    return true;
}

static bool take_positive(void *into, const char *key, const char *text, sentence *why)
{
    char *end;
    double *out = into;
    errno = 0;
    *out = strtod(text, &end);
    if (errno == 0 && end != text && *end == '\0' && *out > 0 && isfinite(*out)) return true;
    return sentence_refuse(why, "%s = %.200s; allowed: a number above 0", key, text);
}

static bool take_ranks(void *into, const char *key, const char *text, sentence *why)
{
    struct rank_list *on = into;
    on->count = 0;
    for (const char *at = text; *at || on->count == 0;) {
        char *end;
        const long n = strtol(at, &end, 10);
        if (end == at || n < 1 || n > RANKS_MOST || on->count == COUNTS_MAX || (*end && *end != ','))
            return sentence_refuse(why,
                                   "%s = %.200s; allowed: up to %d whole numbers from 1 to %d, as in 1,2,4",
                                   key, text, COUNTS_MAX, RANKS_MOST);
        on->ranks[on->count++] = (int)n;
        at = *end ? end + 1 : end;
    }
    return true;
}

static bool take_mode(void *into, const char *key, const char *text, sentence *why)
{
    bool *weak = into;
    *weak = strcmp(text, "weak") == 0;
    return *weak || strcmp(text, "strong") == 0 ||
           sentence_refuse(why, "%s = %.200s; allowed: strong, weak", key, text);
}

static bool take_per_host(void *into, const char *key, const char *text, sentence *why)
{
    double n = 0;
    if (!take_positive(&n, key, text, why)) return false;
    *(int *)into = (int)fmin(n, 1e6);
    return n == floor(n) && n <= 1e6
               ? true
               : sentence_refuse(why, "%s = %.200s; allowed: a whole number from 1 to 1000000", key, text);
}

static const struct own_key {
    const char *key;
    take *take;
    size_t into; /* of struct asked */
    bool of_check;
    const char *help;
} own_keys[] = {
    { "from", take_text, offsetof(asked, from), true,
      "FILE,... records of the machine: runs, and rungs halo, alltoall and launch of weft bench; of equal "
      "work the newest counts "
      "(required)" },
    { "ranks", take_ranks, offsetof(asked, on), false, "1,2,4,... (1 to 64)" },
    { "per_host", take_per_host, offsetof(asked, study.per_host), false, "ranks per host (8)" },
    { "mode", take_mode, offsetof(asked, study.weak), false,
      "strong: the deck's grid for all ranks together; weak: the deck's grid per rank, stacked along y, in "
      "1D along x (strong)" },
    { "between_us", take_positive, offsetof(asked, between_us), true,
      "latency of an exchange between hosts in microseconds (20, or from a record of several hosts)" },
    { "between_gbs", take_positive, offsetof(asked, between_gbs), true,
      "GB/s out of each host (25, or from a record of several hosts)" },
    { "file_gbs", take_positive, offsetof(asked, file_gbs), false,
      "GB/s into a file, all ranks together (default: from a record with checkpoints)" },
    { "mtbf_hours", take_positive, offsetof(asked, study.mtbf_h), false,
      "mean time between failures of one host, for the interval of checkpoints" },
    { "output", take_text, offsetof(asked, output), false,
      "FILE.jsonl: append the rows as records, for jobs/plot --predicted" },
    { "check", take_text, offsetof(asked, check), true,
      "FILE,... instead of a deck: compare the predicted steps of these runs with the measured ones, those "
      "that are most off last; "
      "status 1 if one is 10 % off; if from names the same file, exchanges take the time that the run "
      "measured" },
};
enum { OWN_KEYS = sizeof own_keys / sizeof own_keys[0] };

void cmd_predict_print_keys(void *file)
{
    for (int i = 0; i < OWN_KEYS; i++) terminal_key(file, own_keys[i].key, 12, own_keys[i].help);
}

/* key=value, and not section.key=value of a deck. */
static bool is_own(const char *word)
{
    const char *equals = strchr(word, '=');
    return equals && !memchr(word, '.', (size_t)(equals - word));
}

static const struct own_key *own_key_of(const char *word)
{
    for (int i = 0; i < OWN_KEYS; i++) {
        const size_t length = strlen(own_keys[i].key);
        if (strncmp(own_keys[i].key, word, length) == 0 && word[length] == '=') return &own_keys[i];
    }
    return NULL;
}

static bool take_own(asked *a, int argc, char **argv, sentence *why)
{
    for (int i = 1; i < argc; i++) {
        const struct own_key *k = own_key_of(argv[i]);
        if (!is_own(argv[i])) continue;
        if (!k)
            return sentence_refuse(why, "%.200s: unknown key; `weft predict --help` lists all keys", argv[i]);
        if (!k->take((char *)a + k->into, k->key, strchr(argv[i], '=') + 1, why)) return false;
    }
    return a->from ? true : sentence_refuse(why, "predict needs from=FILE,..., the records of a machine");
}

/* check has measured runs in place of a deck and a study. */
static bool used_by_check(int argc, char **argv, sentence *why)
{
    for (int i = 1; i < argc; i++) {
        const struct own_key *k = is_own(argv[i]) ? own_key_of(argv[i]) : NULL;
        if (!k || !k->of_check) return sentence_refuse(why, "%.200s: not used together with check=", argv[i]);
    }
    return true;
}

/* What was not measured is assumed, and said. */
static const char *assume(predict_machine *m, const asked *a)
{
    const bool measured = !isnan(m->between.alpha_s), given = !isnan(a->between_us) && !isnan(a->between_gbs);
    m->between_assumed = !measured;
    if (!measured) m->between = (predict_link){ 20e-6, 25e9 };
    if (!isnan(a->between_us)) m->between.alpha_s = a->between_us * 1e-6;
    if (!isnan(a->between_gbs)) m->between.bytes_per_s = a->between_gbs * 1e9;
    if (!isnan(a->file_gbs)) m->file_bytes_per_s = a->file_gbs * 1e9;
    return measured ? "measured" : given ? "given" : "assumed, not measured";
}

/* ---- what is said ---- */

/* An interval of checkpoints may be hours. */
static const char *seconds_text(char *out, size_t bytes, double s)
{
    if (!(s >= 120)) return terminal_seconds(out, bytes, s);
    if (s < 7200) snprintf(out, bytes, "%.3g min", s / 60);
    else snprintf(out, bytes, "%.3g h", s / 3600);
    return out;
}

static const char *link_text(char *out, size_t bytes, predict_link l, const char *where)
{
    char alpha[32];
    seconds_text(alpha, sizeof alpha, l.alpha_s);
    if (isfinite(l.bytes_per_s)) snprintf(out, bytes, "%s, %.4g GB/s %s", alpha, l.bytes_per_s * 1e-9, where);
    else snprintf(out, bytes, "%s whatever the size: the records have too few sizes to show a rate", alpha);
    return out;
}

static void print_machine(const predict_records *r, const char *between)
{
    const predict_machine *m = &r->machine;
    char a[128];
    printf("machine      %s: %d runs and %d rungs of bench", m->name, r->runs, r->rungs);
    if (r->left_out + r->damaged > 0)
        printf("; left out: %d not modelled, %d damaged or foreign", r->left_out, r->damaged);
    if (r->older > 0) printf("\n             left out: %d runs with a newer one of equal work", r->older);
    printf("\ncopy         %.4g GB/s per device, %.4g for a small field; %s per launch%s\n",
           m->copy[m->copies - 1].bytes_per_s * 1e-9, m->copy[0].bytes_per_s * 1e-9,
           seconds_text(a, sizeof a, m->launch_s), m->launch_assumed ? " (assumed, not measured)" : "");
    if (m->processors > 0) printf("blocks       of steps: as on %d SMs per GPU (assumed)\n", m->processors);
    for (int t = TRANSPORT_STAGED; t < PREDICT_TRANSPORTS; t++)
        if (!isnan(m->exchange[t].alpha_s))
            printf("%-12s %s\n", transport_kind_name((transport_kind)t),
                   link_text(a, sizeof a, m->exchange[t], "with each neighbour"));
    printf("between      hosts: %s (%s)\n\n", link_text(a, sizeof a, m->between, "out of each"), between);
}

static void print_line(const predict_plan *l, double efficiency)
{
    char step[32], grid[48], write[32], interval[32];
    snprintf(grid, sizeof grid, "%d x %d", l->of.ranks_x, l->of.ranks_y);
    printf("%6d %6d %10s %-6s %-5s %4d %7s %6.3f  %-10s %7.3g", l->of.ranks, l->hosts, grid,
           l->of.ranks > 1 ? transport_kind_name(l->of.transport) : "-", l->of.feed ? "graph" : "host",
           l->of.block_steps, seconds_text(step, sizeof step, l->time.step_s), efficiency, l->time.bottleneck,
           l->memory_bytes * 1e-9);
    printf(" %7s %7s", seconds_text(write, sizeof write, l->write_s),
           seconds_text(interval, sizeof interval, l->interval_s));
    if (isnan(l->waste)) printf(" %5s", "-");
    else printf(" %5.1f", 100 * l->waste);
    printf("%s\n", l->beyond_host || l->beyond_links ? "*" : "");
}

static json_t *parts_json(const predict_time *t)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "memory", record_number(t->memory_s), "arithmetic",
                     record_number(t->arithmetic_s), "launches", record_number(t->launches_s), "exchange",
                     record_number(t->exchange_s), "transpose", record_number(t->transpose_s), "norm",
                     record_number(t->norm_s));
}

/* What no record covers. */
static json_t *beyond_json(const predict_plan *l)
{
    json_t *all = json_array();
    if (l->beyond_host) json_array_append_new(all, json_string("ranks per host"));
    if (l->beyond_links) json_array_append_new(all, json_string("links between hosts"));
    return all;
}

static json_t *line_json(const predict_plan *l, double efficiency, const asked *a, const char *between)
{
    const predict_case *c = &l->of;
    const record_member all[] = {
        { "program", json_string("weft") },
        { "predicted", json_true() },
        { "mode", json_string(a->study.weak ? "weak" : "strong") },
        { "from", record_text(a->from) },
        { "between", json_string(between) },
        { "beyond", beyond_json(l) },
        { "problem", json_pack("{s:s, s:s, s:i}", "kind", kind_name(c->kind), "dtype", dtype_name(c->type),
                               "radius", c->radius) },
        { "grid", json_pack("{s:f, s:f}", "nx", c->nx, "ny", c->ny) },
        { "ranks", json_integer(c->ranks) },
        { "hosts", json_integer(l->hosts) },
        { "ranks_x", json_integer(c->ranks_x) },
        { "ranks_y", json_integer(c->ranks_y) },
        { "fuse", json_integer(c->block_steps) },
        { "transport", json_string(transport_kind_name(c->transport)) },
        { "feed", json_string(c->feed ? "graph" : "host") },
        { "step_s", record_number(l->time.step_s) },
        { "efficiency", record_number(efficiency) },
        { "parts_s", parts_json(&l->time) },
        { "bottleneck", json_string(l->time.bottleneck) },
        { "memory_bytes", record_number(l->memory_bytes) },
        { "checkpoint_s", record_number(l->write_s) },
        { "interval_s", record_number(l->interval_s) },
        { "waste", record_number(l->waste) },
    };
    return record_add(json_object(), all, sizeof all / sizeof *all);
}

static int predict_deck(const predict_records *r, const config *c, const asked *a, const char *between)
{
    sentence why;
    double first_rate = 0;
    bool beyond_host = false, beyond_links = false;
    printf("predicted    %s, %s, order %d, %" PRId64 " x %" PRId64 " cells%s\n", kind_name(c->problem.kind),
           dtype_name(c->problem.type), c->problem.order, c->grid.nx, c->grid.ny,
           a->study.weak ? " per rank" : "");
    print_machine(r, between);
    printf("%6s %6s %10s %-6s %-5s %4s %7s %6s  %-10s %7s %7s %7s %5s\n", "ranks", "hosts", "grid", "via",
           "feed", "fuse", "step", "effic.", "bottleneck", "GB/rank", "to file", "every", "lost");
    for (int i = 0; i < a->on.count; i++) {
        predict_plan l;
        if (!predict_plan_make(&r->machine, c, &a->study, a->on.ranks[i], &l, &why))
            return cmd_say(CHECK_EXIT_USAGE, "ranks = %d: %s", a->on.ranks[i], why.text);
        const double rate = predict_cells(&l.of) / l.time.step_s; /* of a rank */
        if (i == 0) first_rate = rate;
        print_line(&l, rate / first_rate);
        beyond_host |= l.beyond_host;
        beyond_links |= l.beyond_links;
        if (!a->output) continue;
        json_t *o = line_json(&l, rate / first_rate, a, between);
        const bool ok = o && record_append(a->output, o, &why);
        json_decref(o);
        if (!ok) return cmd_say(CHECK_EXIT_ENVIRONMENT, "%s", o ? why.text : "out of memory");
    }
    printf("\neffic.: rate per rank relative to the first line; to file: time of a checkpoint; every: Daly's "
           "interval;\n"
           "lost: percentage of the time spent on writing and failures.\n");
    if (beyond_host)
        printf("* The records have at most %d ranks per host; more were not measured.\n",
               r->machine.ranks_per_host);
    if (beyond_links) printf("* No record has several hosts: the links between them were not measured.\n");
    return 0;
}

/* ---- measured beside predicted ---- */

typedef struct checked {
    const predict_run *run;
    double predicted_s, off; /* off: percent */
} checked;

static void print_checked(const checked *k)
{
    const predict_run *m = k->run;
    const predict_case *c = &m->of;
    char cells[48], grid[32], problem[32], moved[48], form[24], step[32], predicted[32];
    snprintf(cells, sizeof cells, "%.0fx%.0f", c->nx, c->ny);
    snprintf(grid, sizeof grid, "%dx%d", c->ranks_x, c->ranks_y);
    snprintf(problem, sizeof problem, "%.9s%d %s", kind_name(c->kind), c->radius, dtype_name(c->type));
    snprintf(moved, sizeof moved, "%s %s", c->ranks > 1 ? transport_kind_name(c->transport) : "none",
             c->feed ? "graph" : "host");
    if (c->block_steps > 1) snprintf(form, sizeof form, "%d fused", c->block_steps);
    else snprintf(form, sizeof form, "%s", predict_transposes(c) ? "transposed" : step_form_name[c->form]);
    printf("%-20.20s %4d %-13s %13s %5s %-12s %-10s %8s %9s %+7.1f%s\n", m->file, m->line, problem, cells,
           grid, moved, form, seconds_text(step, sizeof step, m->step_s),
           seconds_text(predicted, sizeof predicted, k->predicted_s), k->off, fabs(k->off) > 10 ? "*" : "");
}

static int compare_off(const void *a, const void *b)
{
    const double x = fabs(((const checked *)a)->off), y = fabs(((const checked *)b)->off);
    return (x > y) - (x < y);
}

/* own: an exchange alone is as long as the run itself found it. False: no record tells what its transport, or
 * its block, costs. */
static bool check_run(const predict_machine *machine, const predict_run *m, bool own, checked *out)
{
    predict_case c = m->of;
    if (!own) c.exchange_alone_s = 0;
    if (!predict_knows(machine, &c)) return false;
    const double s = predict_step(machine, &c).step_s;
    *out = (checked){ m, s, 100 * (s / m->step_s - 1) };
    return true;
}

static void print_all_checked(const predict_records *measured, checked *all, int count)
{
    int far = 0;
    qsort(all, (size_t)count, sizeof *all, compare_off);
    printf("%-20s %4s %-13s %13s %5s %-12s %-10s %8s %9s %7s\n", "file", "line", "problem", "cells", "ranks",
           "transport", "steps", "measured", "predicted", "%");
    for (int i = 0; i < count; i++) {
        print_checked(&all[i]);
        far += fabs(all[i].off) > 10;
    }
    printf("%d of %d steps are more than 10 %% off (*), the worst %+.1f %%; ", far, count,
           count > 0 ? all[count - 1].off : 0.0);
    printf("%d not modelled, %d with a transport or a block of steps that no record measured\n",
           measured->left_out, measured->runs - count);
}

static int check(const predict_records *r, const asked *a)
{
    sentence why;
    predict_records measured;
    int count = 0;
    if (!predict_records_read(&measured, a->check, true, &why))
        return cmd_say(CHECK_EXIT_USAGE, "check = %s", why.text);
    checked *all = CHECK_ALLOC(calloc((size_t)measured.runs, sizeof *all));
    for (int i = 0; i < measured.runs; i++)
        count += check_run(&r->machine, &measured.run[i], strcmp(a->check, a->from) == 0, &all[count]);
    print_all_checked(&measured, all, count);
    const bool far = count > 0 && fabs(all[count - 1].off) > 10;
    free(all);
    predict_records_free(&measured);
    if (count == 0)
        return cmd_say(CHECK_EXIT_USAGE, "check = %s: holds no run that can be predicted", a->check);
    return far ? CHECK_EXIT_FAILED : 0;
}

static int predict_words(const predict_records *r, const asked *a, const char *between, int argc, char **argv)
{
    sentence why;
    request q = { .deck_text = NULL };
    char **words = CHECK_ALLOC(calloc((size_t)argc + 1, sizeof *words));
    int rest = 0;
    for (int i = 0; i < argc; i++)
        if (!is_own(argv[i])) words[rest++] = argv[i];
    const bool named =
        rest > 1 || sentence_refuse(&why, "no deck; usage: weft predict DECK from=FILE [key=value ...]");
    const bool ok = named && request_make(&q, rest, words, &why);
    const int status = ok ? predict_deck(r, &q.cfg, a, between) : cmd_say(CHECK_EXIT_USAGE, "%s", why.text);
    request_free(&q);
    free(words);
    return status;
}

static int run_predict(asked *a, int argc, char **argv)
{
    sentence why;
    predict_records r;
    if (!cmd_option_all_known(cmd_option_none, argc, argv, &why) || !take_own(a, argc, argv, &why) ||
        (a->check && !used_by_check(argc, argv, &why)))
        return cmd_say(CHECK_EXIT_USAGE, "%s", why.text);
    if (!predict_records_read(&r, a->from, false, &why))
        return cmd_say(CHECK_EXIT_USAGE, "from = %s", why.text);
    const char *const between = assume(&r.machine, a);
    const int status = a->check ? check(&r, a) : predict_words(&r, a, between, argc, argv);
    predict_records_free(&r);
    return status;
}

int cmd_predict(int argc, char **argv)
{
    asked a = { .on = { 7, { 1, 2, 4, 8, 16, 32, 64 } },
                .study = { .per_host = 8, .mtbf_h = NAN },
                .between_us = NAN,
                .between_gbs = NAN,
                .file_gbs = NAN };
    (void)cmd_begin(CMD_ALONE, NULL, argc, argv);
    if (ranks_count(ranks_world()) > 1)
        return cmd_end(
            cmd_say(CHECK_EXIT_USAGE,
                    "predict runs on one rank, whatever number it predicts for: start it without mpirun"));
    return cmd_end(run_predict(&a, argc, argv));
}
