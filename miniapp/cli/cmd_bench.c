/* weft bench: the ladder. Ceilings first, then every rung that was asked for: verified, timed, printed,
 * recorded. In two parts: rank 0 alone with its device, while the others sleep; then the families that all
 * ranks climb together. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cmd.h"
#include "base/machine.h"
#include "bench/bench_families.h"
#include "bench/bench_report.h"
#include "bench/bench_measure.h"
#include "bench/bench_world.h"
#include "output/record.h"
#include "ranks/check.h"
#include "ranks/ranks.h"
#include "topology/topology.h"

typedef struct leaving { /* what all records of a run share */
    json_t *head, *machine;
    const char *path;
} leaving;

static bool leave_record(const leaving *l, const bench *b, const bench_item *item, const bench_point *point,
                         int points, sentence *why)
{
    if (!l->path[0]) return true;
    json_t *o = json_deep_copy(l->head);
    bench_report_record(o, b, item, point, points);
    json_object_set(o, "machine", l->machine);
    const bool ok = record_append(l->path, o, why);
    json_decref(o);
    return ok;
}

/* One rung with all its points. *wrong counts the rungs that are. Together: on all ranks alike, and rank 0
 * speaks. */
static int climb(bench *b, const leaving *l, bench_table *table, const bench_item *item, int *wrong,
                 sentence *why)
{
    const bool speaks = !b->world || b->world->top->rank == 0;
    const char *missing = item->rung->missing ? item->rung->missing(b->d) : NULL;
    if (missing) {
        bench_report_skipped(table, item, 0, missing);
        return 0;
    }
    const int points = bench_request_points(b->ask, item);
    bench_point *point = CHECK_ALLOC(calloc((size_t)points, sizeof *point));
    bool ok = true, right = true;
    int had = 0; /* points that could run here */
    (void)bench_ceiling_rate(b, item->rung->ceiling); /* before the rung takes its memory */
    for (int i = 0; i < points && ok; i++) {
        bench_point *p = &point[had];
        ok = bench_measure(b, item, i, p, why);
        if (ok && p->missing.text[0]) {
            bench_report_skipped(table, item, had, p->missing.text);
            if (had == 0) break; /* nor will the others of its scan */
            continue;
        }
        if (ok) bench_roof(b, item, p);
        if (ok && speaks) bench_report_row(table, b, item, p);
        right = right && p->verified;
        had++;
    }
    if (ok && had > 0 && speaks) ok = leave_record(l, b, item, point, had, why);
    if (b->world) ok = agree_or_say(ok, why, b->world->top->comm);
    if (ok && !right) ++*wrong;
    free(point);
    return ok ? 0 : CHECK_EXIT_ENVIRONMENT;
}

/* All items of one part. world: NULL for the part of rank 0 alone, whose topology is then its own. */
static int run_part(const bench_request *ask, const topology *top, const bench_world *world, device *d,
                    const char *command)
{
    sentence why = { "" };
    int status = 0, wrong = 0;
    bench b;
    bench_table table = { 0 };
    const bool speaks = top->rank == 0;
    /* minutes of measuring must not end in a path that cannot be written */
    const bool can = !speaks || !ask->output[0] || record_may_write("output", ask->output, &why);
    if (!agree_or_say(can, &why, top->comm)) return cmd_say(CHECK_EXIT_ENVIRONMENT, "%s", why.text);
    json_t *started = record_now();
    leaving l = { machine_record(command, started), machine_json(top, d), ask->output };
    bench_create(&b, ask, d, world);
    if (speaks) bench_report_head(&b);
    for (int i = 0; i < ask->items && status == 0; i++) {
        if (bench_families_together(ask->item[i].family) != (world != NULL)) continue;
        status = climb(&b, &l, &table, &ask->item[i], &wrong, &why);
    }
    if (status == 0 && speaks) bench_report_foot(&table, &b);
    bench_destroy(&b);
    json_decref(l.head);
    json_decref(l.machine);
    json_decref(started);
    if (status != 0) return cmd_say(status, "%s", why.text);
    if (wrong > 0)
        return cmd_say(CHECK_EXIT_FAILED, "%d rung%s gave wrong results", wrong, wrong == 1 ? "" : "s");
    return 0;
}

static bool has_items(const bench_request *ask, bool together)
{
    for (int i = 0; i < ask->items; i++)
        if (bench_families_together(ask->item[i].family) == together) return true;
    return false;
}

static device *make_device(const bench_request *ask, sentence *why)
{
    int code = 0;
    if (ask->kind == DEVICE_HOST) return device_host_create(ask->threads);
    device *d = device_cuda_create(0, &code);
    if (!d) sentence_set(why, "GPU 0 cannot be used: %s", device_cuda_error_text(code));
    return d;
}

/* On rank 0: the families of one device. */
static int bench_alone(const bench_request *ask, const topology *top, const char *command)
{
    sentence why = { "" };
    topology alone = *top;
    alone.comm = MPI_COMM_SELF;
    alone.ranks = 1;
    device *d = make_device(ask, &why);
    if (!d) return cmd_say(CHECK_EXIT_ENVIRONMENT, "%s", why.text);
    const int status = run_part(ask, &alone, NULL, d, command);
    device_destroy(&d);
    return status;
}

/* Rank 0's status for all. The others sleep until then. */
static int status_of_rank_0(const topology *top, int status)
{
    if (top->ranks == 1) return status;
    MPI_Request request;
    MPI_CHECK(MPI_Ibcast(&status, 1, MPI_INT, 0, top->comm, &request));
    ranks_wait_asleep(&request);
    return status;
}

static int bench_together(const bench_request *ask, topology *top, const char *command)
{
    sentence why = { "" }, notes;
    device *d = topology_device(top, ask->kind == DEVICE_CUDA ? TOPOLOGY_CUDA : TOPOLOGY_HOST,
                                topology_threads(top, ask->threads), &why, &notes);
    if (!d) return cmd_say(CHECK_EXIT_ENVIRONMENT, "%s", why.text);
    if (notes.text[0]) (void)cmd_say(0, "%s", notes.text);
    bench_world world = bench_world_create(top, ask->dir);
    const int status = run_part(ask, top, &world, d, command);
    bench_world_destroy(&world);
    device_destroy(&d);
    return status;
}

static int make_request(bench_request *ask, const topology *top, int argc, char **argv)
{
    sentence why = { "" };
    const int status = bench_request_make(ask, top, argc, argv, &why);
    if (!agree_or_say(status == 0, &why, top->comm)) (void)cmd_say(0, "%s", why.text);
    else if (ask->note.text[0]) (void)cmd_say(0, "%s", ask->note.text);
    int most = status;
    MPI_CHECK(ranks_allreduce(&most, 1, MPI_INT, MPI_MAX, top->comm));
    return most;
}

static int bench_all(topology *top, int argc, char **argv)
{
    bench_request ask;
    int status = make_request(&ask, top, argc, argv);
    char *command = cmd_text(argc, argv);
    if (status == 0 && ask.list && top->rank == 0) bench_list_print(stdout, &ask, top->ranks);
    if (status == 0 && ask.csv && !ask.list && top->rank == 0) bench_report_csv_head();
    if (status == 0 && !ask.list && has_items(&ask, false)) {
        if (top->ranks > 1)
            (void)cmd_say(0, "%s measures one device: rank 0 runs it and the other %d wait",
                          ask.item[0].family->name, top->ranks - 1);
        if (top->rank == 0) status = bench_alone(&ask, top, command);
        status = status_of_rank_0(top, status);
    }
    if (status == 0 && !ask.list && has_items(&ask, true)) status = bench_together(&ask, top, command);
    free(command);
    bench_request_free(&ask);
    return status;
}

/* The driver reads this one when the first context of the process is made, which may be MPI's own. Whether
 * the value and the rungs go together is checked later, like every key. */
static void set_connections(int argc, char **argv)
{
    static const char key[] = "connections=";
    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], key, sizeof key - 1) != 0) continue;
        const char *text = argv[i] + sizeof key - 1;
        if (strtol(text, NULL, 10) > 0) (void)setenv("CUDA_DEVICE_MAX_CONNECTIONS", text, 1);
    }
}

int cmd_bench(int argc, char **argv)
{
    int status = 0;
    topology top;
    set_connections(argc, argv);
    (void)cmd_begin(cmd_has_option(argc, argv, "--list") ? CMD_ALONE : CMD_MPI, NULL, argc, argv);
    bench_io_catch_signals(); /* after MPI_Init, which a signal may end: there are no files yet */
    topology_create(&top);
    status = bench_all(&top, argc, argv);
    topology_destroy(&top);
    return cmd_end(status);
}
