/* weft predict: the model of predict.h, from a machine's records, for ranks that are not here. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cmd.h"
#include "base/terminal.h"
#include "cli/cmd_predict.h"
#include "config/request.h"
#include "output/record.h"
#include "predict/predict_plan.h"
#include "predict/predict_records.h"
#include "ranks/check.h"
#include "ranks/ranks.h"

enum { RANKS_MAX = 64 };

typedef struct asked {
    const char *from, *check, *output;
    int ranks[RANKS_MAX], counts;
    predict_study study;
    double between_us, between_gbs, file_gbs; /* NaN: not given */
} asked;

typedef enum own_key {
    KEY_FROM, KEY_RANKS, KEY_PER_HOST, KEY_MODE, KEY_BETWEEN_US, KEY_BETWEEN_GBS, KEY_FILE_GBS, KEY_MTBF_HOURS, KEY_OUTPUT, KEY_CHECK,
    OWN_KEYS
} own_key;

static const struct {
    const char *key, *help;
} own_keys[OWN_KEYS] = {
    [KEY_FROM] = { "from", "FILE,... records of the machine: runs, and rungs halo, alltoall and launch of weft bench (required)" },
    [KEY_RANKS] = { "ranks", "1,2,4,... (1 to 64)" },
    [KEY_PER_HOST] = { "per_host", "ranks per host (8)" },
    [KEY_MODE] = {
        "mode",
        "strong: the deck's grid for all ranks together; weak: the deck's grid per rank, stacked along y, in 1D along x (strong)",
    },
    [KEY_BETWEEN_US] = { "between_us", "latency of an exchange between hosts in microseconds (20, or from a record of several hosts)" },
    [KEY_BETWEEN_GBS] = { "between_gbs", "GB/s out of each host (25, or from a record of several hosts)" },
    [KEY_FILE_GBS] = { "file_gbs", "GB/s into a file, all ranks together (default: from a record with checkpoints)" },
    [KEY_MTBF_HOURS] = { "mtbf_hours", "mean time between failures of one host, for the interval of checkpoints" },
    [KEY_OUTPUT] = { "output", "FILE.jsonl: append the rows as records, for jobs/plot --predicted" },
    [KEY_CHECK] = {
        "check",
        "FILE,... instead of a deck: compare the predicted steps of these runs with the measured ones; status 1 if one is 10 % off; "
        "if from names the same file, exchanges take the time that the run measured",
    },
};

void cmd_predict_print_keys(void *file)
{
    char text[512];
    for (int i = 0; i < OWN_KEYS; i++) {
        snprintf(text, sizeof text, "  %-12s %s", own_keys[i].key, own_keys[i].help);
        terminal_wrap(file, text, 15);
    }
}

/* ---- the command line ---- */

static bool positive(const char *key, const char *text, double *out, sentence *why)
{
    char *end;
    errno = 0;
    *out = strtod(text, &end);
    if (errno == 0 && end != text && *end == '\0' && *out > 0 && isfinite(*out)) return true;
    return sentence_refuse(why, "%s = %.200s; allowed: a number above 0", key, text);
}

static bool take_ranks(asked *a, const char *text, sentence *why)
{
    a->counts = 0;
    for (const char *at = text; *at;) {
        char *end;
        const long n = strtol(at, &end, 10);
        if (end == at || n < 1 || n > 100000000 || a->counts == RANKS_MAX || (*end && *end != ','))
            return sentence_refuse(why, "ranks = %.200s; allowed: up to %d whole numbers above 0, as in 1,2,4", text, RANKS_MAX);
        a->ranks[a->counts++] = (int)n;
        at = *end ? end + 1 : end;
    }
    return a->counts > 0;
}

static bool take_mode(asked *a, const char *text, sentence *why)
{
    a->study.weak = strcmp(text, "weak") == 0;
    if (a->study.weak || strcmp(text, "strong") == 0) return true;
    return sentence_refuse(why, "mode = %.200s; allowed: strong, weak", text);
}

static bool take_per_host(asked *a, const char *text, sentence *why)
{
    double n = 0;
    if (!positive(own_keys[KEY_PER_HOST].key, text, &n, why)) return false;
    if (n != floor(n) || n > 1e6)
        return sentence_refuse(why, "per_host = %.200s; allowed: a whole number from 1 to 1000000", text);
    a->study.per_host = (int)n;
    return true;
}

static bool take_key(asked *a, own_key k, const char *text, sentence *why)
{
    const char *const key = own_keys[k].key;
    switch (k) {
    case KEY_FROM: a->from = text; return true;
    case KEY_CHECK: a->check = text; return true;
    case KEY_OUTPUT: a->output = text; return true;
    case KEY_RANKS: return take_ranks(a, text, why);
    case KEY_MODE: return take_mode(a, text, why);
    case KEY_PER_HOST: return take_per_host(a, text, why);
    case KEY_MTBF_HOURS: return positive(key, text, &a->study.mtbf_h, why);
    case KEY_BETWEEN_US: return positive(key, text, &a->between_us, why);
    case KEY_BETWEEN_GBS: return positive(key, text, &a->between_gbs, why);
    case KEY_FILE_GBS: return positive(key, text, &a->file_gbs, why);
    case OWN_KEYS: break;
    }
    return false;
}

/* True also for what is not its own: a deck and its keys. */
static bool take(asked *a, const char *word, bool *mine, sentence *why)
{
    const char *equals = strchr(word, '=');
    const size_t length = equals ? (size_t)(equals - word) : 0;
    own_key k = 0;
    *mine = equals && !memchr(word, '.', length);
    if (!*mine) return true;
    while (k < OWN_KEYS && (strlen(own_keys[k].key) != length || strncmp(own_keys[k].key, word, length) != 0)) k++;
    if (k < OWN_KEYS) return take_key(a, k, equals + 1, why);
    return sentence_refuse(why, "%.200s: unknown key; `weft predict --help` lists all keys", word);
}

/* What was not measured is assumed, and said. */
static const char *assume(predict_machine *m, const asked *a)
{
    const bool measured = !isnan(m->between.alpha_s), given = !isnan(a->between_us) && !isnan(a->between_gbs);
    if (!isnan(a->between_us))
        m->between.alpha_s = a->between_us * 1e-6;
    else if (!measured)
        m->between.alpha_s = 20e-6;
    if (!isnan(a->between_gbs))
        m->between.bytes_per_s = a->between_gbs * 1e9;
    else if (!measured)
        m->between.bytes_per_s = 25e9;
    if (!isnan(a->file_gbs)) m->file_bytes_per_s = a->file_gbs * 1e9;
    return measured ? "measured" : given ? "given" : "assumed, not measured";
}

/* ---- what is said ---- */

static const char *seconds_text(char *out, size_t bytes, double s)
{
    static const struct {
        double below, unit;
        const char *name;
    } scale[] = { { 1e-3, 1e-6, "us" }, { 1, 1e-3, "ms" }, { 120, 1, "s" }, { 7200, 60, "min" }, { INFINITY, 3600, "h" } };
    int i = 0;
    while (s >= scale[i].below) i++;
    if (isnan(s))
        snprintf(out, bytes, "-");
    else
        snprintf(out, bytes, "%.3g %s", s / scale[i].unit, scale[i].name);
    return out;
}

static void print_machine(const predict_records *r, const char *between)
{
    const predict_machine *m = &r->machine;
    char a[32];
    printf("machine      %s: %d runs and %d rungs of bench", m->name, r->runs, r->rungs);
    if (r->left_out + r->damaged > 0) printf("; left out: %d not modelled, %d damaged or foreign", r->left_out, r->damaged);
    if (r->outdated > 0)
        printf("\n             %d of these runs count for their copies only: of equal runs only the newest counts", r->outdated);
    printf("\ncopy         %.4g GB/s per device, %.4g for a small field; %s per launch\n",
           m->copy[m->copies - 1].bytes_per_s * 1e-9, m->copy[0].bytes_per_s * 1e-9, seconds_text(a, sizeof a, m->launch_s));
    for (int t = TRANSPORT_STAGED; t < PREDICT_TRANSPORTS; t++)
        if (!isnan(m->exchange[t].alpha_s))
            printf("%-12s %s, %.4g GB/s with each neighbour\n", transport_kind_name((transport_kind)t),
                   seconds_text(a, sizeof a, m->exchange[t].alpha_s), m->exchange[t].bytes_per_s * 1e-9);
    printf("between      hosts: %s, %.4g GB/s out of each (%s)\n\n", seconds_text(a, sizeof a, m->between.alpha_s),
           m->between.bytes_per_s * 1e-9, between);
}

static void print_line(const predict_plan *l, double efficiency)
{
    char step[32], grid[48], write[32], interval[32];
    snprintf(grid, sizeof grid, "%d x %d", l->of.ranks_x, l->of.ranks_y);
    printf("%6d %6d %10s %-6s %-5s %4d %7s %6.3f  %-10s %7.3g", l->of.ranks, l->hosts, grid,
           l->of.ranks > 1 ? transport_kind_name(l->of.transport) : "-", l->of.feed ? "graph" : "host", l->of.block_steps,
           seconds_text(step, sizeof step, l->time.step_s), efficiency, l->time.bottleneck, l->memory_bytes * 1e-9);
    printf(" %7s %7s", seconds_text(write, sizeof write, l->write_s), seconds_text(interval, sizeof interval, l->interval_s));
    if (isnan(l->waste))
        printf(" %5s\n", "-");
    else
        printf(" %5.1f\n", 100 * l->waste);
}

static json_t *parts_json(const predict_time *t)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "memory", record_number(t->memory_s), "arithmetic",
                     record_number(t->arithmetic_s), "launches", record_number(t->launches_s), "exchange",
                     record_number(t->exchange_s), "transpose", record_number(t->transpose_s), "norm", record_number(t->norm_s));
}

static json_t *line_json(const predict_plan *l, double efficiency, const asked *a, const char *between)
{
    const predict_case *c = &l->of;
    json_t *o = json_pack("{s:s, s:b, s:s, s:s, s:s}", "program", "weft", "predicted", 1, "mode", a->study.weak ? "weak" : "strong",
                          "from", a->from, "between", between);
    json_t *problem = json_pack("{s:s, s:s, s:i}", "kind", kind_name(c->kind), "dtype", dtype_name(c->type), "radius",
                                c->radius);
    json_t *ranks = json_pack("{s:i, s:i, s:i, s:i}", "ranks", c->ranks, "hosts", l->hosts, "ranks_x", c->ranks_x, "ranks_y",
                              c->ranks_y);
    json_t *chosen = json_pack("{s:i, s:s, s:s}", "fuse", c->block_steps, "transport", transport_kind_name(c->transport), "feed",
                               c->feed ? "graph" : "host");
    json_t *step = json_pack("{s:o, s:o, s:o, s:s}", "step_s", record_number(l->time.step_s), "efficiency",
                             record_number(efficiency), "parts_s", parts_json(&l->time), "bottleneck", l->time.bottleneck);
    json_t *files = json_pack("{s:o, s:o, s:o, s:o}", "memory_bytes", record_number(l->memory_bytes), "checkpoint_s",
                              record_number(l->write_s), "interval_s", record_number(l->interval_s), "waste",
                              record_number(l->waste));
    json_object_set_new(o, "problem", problem);
    json_object_set_new(o, "grid", json_pack("{s:f, s:f}", "nx", c->nx, "ny", c->ny));
    json_t *const more[] = { ranks, chosen, step, files };
    for (size_t i = 0; i < sizeof more / sizeof *more; i++) {
        json_object_update(o, more[i]);
        json_decref(more[i]);
    }
    return o;
}

static int predict_deck(const predict_records *r, const config *c, const asked *a, const char *between)
{
    sentence why;
    double first_rate = 0;
    printf("predicted    %s, %s, order %d, %" PRId64 " x %" PRId64 " cells%s\n", kind_name(c->problem.kind),
           dtype_name(c->problem.type), c->problem.order, c->grid.nx, c->grid.ny, a->study.weak ? " per rank" : "");
    print_machine(r, between);
    printf("%6s %6s %10s %-6s %-5s %4s %7s %6s  %-10s %7s %7s %7s %5s\n", "ranks", "hosts", "grid", "via", "feed", "fuse", "step",
           "effic.", "bottleneck", "GB/rank", "to file", "every", "lost");
    for (int i = 0; i < a->counts; i++) {
        predict_plan l;
        if (!predict_plan_make(&r->machine, c, &a->study, a->ranks[i], &l, &why))
            return cmd_say(CHECK_EXIT_USAGE, "%d ranks: %s", a->ranks[i], why.text);
        const double rate = predict_cells(&l.of) / l.time.step_s; /* of a rank */
        if (i == 0) first_rate = rate;
        print_line(&l, rate / first_rate);
        if (!a->output) continue;
        json_t *o = line_json(&l, rate / first_rate, a, between);
        const bool ok = o && record_append(a->output, o, &why);
        json_decref(o);
        if (!ok) return cmd_say(CHECK_EXIT_ENVIRONMENT, "%s", o ? why.text : "out of memory");
    }
    printf("\neffic.: rate per rank relative to %d ranks; to file: time of a checkpoint; every: Daly's interval;\n"
           "lost: percentage of the time spent on writing and failures.\n",
           a->ranks[0]);
    return 0;
}

/* ---- measured beside predicted ---- */

typedef struct tally {
    int checked, far, unknown;
    double worst; /* percent */
} tally;

static void print_checked(const predict_run *m, double predicted_s, double off)
{
    static const char *const forms[] = { "whole", "split", "transposed" };
    const predict_case *c = &m->of;
    char cells[48], grid[32], problem[32], moved[48], form[24], step[32], predicted[32];
    snprintf(cells, sizeof cells, "%.0fx%.0f", c->nx, c->ny);
    snprintf(grid, sizeof grid, "%dx%d", c->ranks_x, c->ranks_y);
    snprintf(problem, sizeof problem, "%.9s%d %s", kind_name(c->kind), c->radius, dtype_name(c->type));
    snprintf(moved, sizeof moved, "%s %s", c->ranks > 1 ? transport_kind_name(c->transport) : "none", c->feed ? "graph" : "host");
    if (c->block_steps > 1) snprintf(form, sizeof form, "%d fused", c->block_steps);
    else snprintf(form, sizeof form, "%s", forms[c->form]);
    printf("%-20.20s %4d %-13s %13s %5s %-12s %-10s %8s %9s %+7.1f%s\n", m->file, m->line, problem, cells, grid, moved, form,
           seconds_text(step, sizeof step, m->step_s), seconds_text(predicted, sizeof predicted, predicted_s), off,
           fabs(off) > 10 ? "*" : "");
}

/* own: an exchange alone is as long as the run itself found it. */
static void check_run(const predict_machine *machine, const predict_run *m, bool own, tally *t)
{
    predict_case c = m->of;
    if (!own) c.exchange_alone_s = 0;
    if (!predict_knows(machine, &c)) {
        t->unknown++;
        return;
    }
    const double s = predict_step(machine, &c).step_s, off = 100 * (s / m->step_s - 1);
    print_checked(m, s, off);
    t->checked++;
    t->far += fabs(off) > 10;
    if (fabs(off) > fabs(t->worst)) t->worst = off;
}

static int check(const predict_records *r, const asked *a)
{
    sentence why;
    predict_records measured;
    tally t = { 0 };
    if (!predict_records_read(&measured, a->check, &why)) return cmd_say(CHECK_EXIT_USAGE, "check = %s", why.text);
    printf("%-20s %4s %-13s %13s %5s %-12s %-10s %8s %9s %7s\n", "file", "line", "problem", "cells", "ranks", "transport", "steps",
           "measured", "predicted", "%");
    for (int i = 0; i < measured.runs; i++) check_run(&r->machine, &measured.run[i], strcmp(a->check, a->from) == 0, &t);
    printf("%d of %d steps are more than 10 %% off (*), the worst %+.1f %%; ", t.far, t.checked, t.worst);
    printf("%d not modelled, %d with a transport that no record measured\n", measured.left_out, t.unknown);
    predict_records_free(&measured);
    if (t.checked == 0) return cmd_say(CHECK_EXIT_USAGE, "check = %s: holds no run that can be predicted", a->check);
    return t.far > 0 ? CHECK_EXIT_FAILED : 0;
}

static int run_predict(asked *a, int rest, char **words)
{
    sentence why;
    predict_records r;
    request q;
    int status;
    if (!a->from) return cmd_say(CHECK_EXIT_USAGE, "predict needs from=FILE,..., the records of a machine");
    if (!predict_records_read(&r, a->from, &why)) return cmd_say(CHECK_EXIT_USAGE, "from = %s", why.text);
    const char *const between = assume(&r.machine, a);
    if (a->check) {
        status = check(&r, a);
    } else {
        const bool ok = request_make(&q, rest, words, &why);
        status = ok ? predict_deck(&r, &q.cfg, a, between) : cmd_say(CHECK_EXIT_USAGE, "%s", why.text);
        request_free(&q);
    }
    predict_records_free(&r);
    return status;
}

int cmd_predict(int argc, char **argv)
{
    sentence why;
    asked a = { .ranks = { 1, 2, 4, 8, 16, 32, 64 },
                .counts = 7,
                .study = { .per_host = 8, .mtbf_h = NAN },
                .between_us = NAN,
                .between_gbs = NAN,
                .file_gbs = NAN };
    int ranks = 1;
    (void)cmd_begin(CMD_ALONE, argc, argv);
    MPI_CHECK(ranks_count(ranks_world(), &ranks));
    if (ranks > 1)
        return cmd_end(cmd_say(CHECK_EXIT_USAGE, "predict runs on one rank, whatever number it predicts for: start it without mpirun"));
    char **words = calloc((size_t)argc + 1, sizeof *words);
    int rest = 0, status = 0;
    if (!words) check_fail(__FILE__, __LINE__, "calloc", "out of memory");
    for (int i = 0; i < argc && status == 0; i++) {
        bool mine = false;
        if (i > 0 && !take(&a, argv[i], &mine, &why)) status = cmd_say(CHECK_EXIT_USAGE, "%s", why.text);
        if (!mine) words[rest++] = argv[i];
    }
    if (status == 0) status = run_predict(&a, rest, words);
    free(words);
    return cmd_end(status);
}
