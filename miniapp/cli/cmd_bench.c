/* weft bench: the ladder. Ceilings first, then every rung that was asked for: verified, timed, printed,
 * recorded. In two parts: rank 0 alone with its device, while the others sleep; then the families that all
 * ranks climb together. */
#include <stdlib.h>

#include "base/cmd.h"
#include "base/machine.h"
#include "bench/bench_measure.h"
#include "output/record.h"
#include "ranks/check.h"
#include "ranks/ranks.h"
#include "topology/topology.h"

typedef struct benching {
    const bench_request *ask;
    const topology *top;
    bench bench;
    bench_table table;
    json_t *head, *machine; /* what all records of a part share */
    int wrong;              /* rungs */
    sentence why;           /* of a failure, the same on all ranks of the part */
} benching;

static bool leave_record(benching *g, const bench_item *item, const bench_point *point, int points)
{
    if (!g->ask->output[0]) return true;
    json_t *o = json_deep_copy(g->head);
    bench_report_record(o, &g->bench, item, point, points);
    json_object_set(o, "machine", g->machine);
    const bool ok = record_append(g->ask->output, o, &g->why);
    json_decref(o);
    return ok;
}

/* One rung with all its points; by all ranks alike where they climb together, and rank 0 speaks. */
static bool climb(benching *g, const bench_item *item, MPI_Comm comm)
{
    const bool speaks = g->top->rank == 0;
    const int points = bench_request_points(g->ask, item);
    bench_point *point = CHECK_CALLOC(points, sizeof *point);
    bool ok = true, right = true;
    int had = 0;                                              /* points that could run here */
    (void)bench_ceiling_rate(&g->bench, item->rung->ceiling); /* before the rung takes its memory */
    for (int i = 0; i < points && ok; i++) {
        bench_point *p = &point[had];
        ok = bench_measure(&g->bench, item, i, p, &g->why);
        if (ok && p->of.missing.text[0]) {
            bench_report_skipped(&g->table, item, had, p->of.missing.text);
            if (had == 0) break; /* nor will the others of its scan */
            continue;
        }
        if (ok) bench_roof(&g->bench, item, i, p);
        if (ok && speaks) bench_report_row(&g->table, item, p);
        right = right && p->verdict.right;
        had++;
    }
    if (ok && had > 0 && speaks) ok = leave_record(g, item, point, had);
    g->wrong += !right;
    free(point);
    return agree_or_say(ok, &g->why, comm);
}

static bool has_items(const bench_request *ask, bool together)
{
    for (int i = 0; i < ask->items; i++)
        if (bench_together(ask->item[i].family) == together) return true;
    return false;
}

/* The items of one part: all ranks', or rank 0's. */
static int climb_part(benching *g, bool together, const char *command)
{
    topology part = *g->top;
    if (!together) part.comm = MPI_COMM_SELF;
    if (!together) part.ranks = 1;
    bool ok = true;
    g->head = machine_record(command);
    g->machine = machine_json(&part, g->bench.d);
    for (int i = 0; i < g->ask->items && ok; i++)
        if (bench_together(g->ask->item[i].family) == together) ok = climb(g, &g->ask->item[i], part.comm);
    json_decref(g->head);
    json_decref(g->machine);
    return ok ? 0 : cmd_say(CHECK_EXIT_ENVIRONMENT, "%s", g->why.text);
}

/* Rank 0's part; its status is that of all, who sleep until then. */
static int climb_alone(benching *g, const char *command)
{
    const topology *top = g->top;
    int status = 0;
    MPI_Request request;
    if (top->ranks > 1)
        (void)cmd_say(0, "%s measures one device: rank 0 runs it and the other %d wait",
                      g->ask->item[0].family->name, top->ranks - 1);
    if (top->rank == 0) status = climb_part(g, false, command);
    MPI_CHECK(MPI_Ibcast(&status, 1, MPI_INT, 0, top->comm, &request));
    ranks_wait_asleep(&request);
    return status;
}

static int climb_all(benching *g, topology *top, const char *command)
{
    const bench_request *ask = g->ask;
    /* minutes of measuring must not end in a path that cannot be written */
    int status = top->rank == 0 && ask->output[0] ? record_may_write("output", ask->output, &g->why) : 0;
    status = agree_worst(status, &g->why, top->comm);
    if (status != 0) return cmd_say(status, "%s", g->why.text);
    if (ask->notes.text[0]) (void)cmd_say(0, "%s", ask->notes.text);
    bench_world world = bench_world_create(top, ask->dir);
    bench_create(&g->bench, ask, ask->d, &world);
    if (top->rank == 0) bench_report_head(&g->bench);
    if (has_items(ask, false)) status = climb_alone(g, command);
    if (status == 0 && has_items(ask, true)) status = climb_part(g, true, command);
    if (status == 0 && top->rank == 0) bench_report_foot(&g->table, &g->bench);
    bench_destroy(&g->bench);
    bench_world_destroy(&world);
    if (status != 0 || !agree_any(g->wrong > 0, top->comm)) return status;
    return cmd_say(CHECK_EXIT_FAILED, "%d rung%s gave wrong results", g->wrong, g->wrong == 1 ? "" : "s");
}

int cmd_bench(int argc, char **argv)
{
    topology top;
    bench_request ask;
    sentence why = { "" };
    (void)cmd_begin(cmd_has_option(argc, argv, "--list") ? CMD_ALONE : CMD_MPI, NULL, argc, argv);
    bench_io_catch_signals(); /* after MPI_Init, which a signal may end: there are no files yet */
    topology_create(&top);
    char *command = cmd_text(argc, argv);
    int status = agree_worst(bench_request_make(&ask, &top, argc, argv, &why), &why, top.comm);
    benching g = { .ask = &ask, .top = &top };
    if (status != 0) (void)cmd_say(0, "%s", why.text);
    else if (!ask.list) status = climb_all(&g, &top, command);
    else if (top.rank == 0) bench_report_list(&ask, top.ranks);
    bench_request_free(&ask);
    free(command);
    topology_destroy(&top);
    return cmd_end(status);
}
