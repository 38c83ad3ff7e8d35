/* weft bench: the ladder. Ceilings first, then every rung that was asked for: verified, timed, printed, recorded. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench_measure.h"
#include "bench_report.h"
#include "check.h"
#include "cmd.h"
#include "machine.h"
#include "record.h"
#include "topology.h"

static void print_help(void)
{
    printf("usage: weft bench [FAMILY[/RUNG] ...] [--list] [key=value ...]\n\n"
           "Measures what this device can do and how near each way of moving or computing data comes to it. Every rung is\n"
           "checked against the host's answer before it is timed; its rate stands beside a ceiling measured in the same run.\n"
           "  --list   the rungs and parameters of the device, and nothing is run\n\nKeys, beside the parameters that --list shows:\n");
    bench_request_print_keys();
    printf("\nExit status: 0 all rungs right; 1 a rung's result is wrong; 2 a mistake in the command; 3 machine or file failure.\n");
}

typedef struct leaving { /* what all records of a run share */
    json_t *head, *machine;
    const char *path;
} leaving;

/* Minutes of measuring must not end in a path that cannot be written. */
static bool can_append(const char *path, char *why, size_t why_bytes)
{
    if (!path[0]) return true;
    FILE *f = fopen(path, "ab");
    if (!f) snprintf(why, why_bytes, "output = %.900s: cannot be opened for appending", path);
    return f && fclose(f) == 0;
}

static bool leave_record(const leaving *l, const bench *b, const bench_item *item, const bench_point *point, int points,
                         char *why, size_t why_bytes)
{
    if (!l->path[0]) return true;
    json_t *o = json_deep_copy(l->head);
    bench_report_record(o, b, item, point, points);
    json_object_set(o, "machine", l->machine);
    const bool ok = record_append(l->path, o, why, why_bytes);
    json_decref(o);
    return ok;
}

/* One rung with all its points. *wrong counts the rungs that are. */
static int climb(bench *b, const leaving *l, const bench_item *item, int *wrong, char *why, size_t why_bytes)
{
    const char *missing = item->rung->missing ? item->rung->missing(b->d) : NULL;
    if (missing) {
        bench_report_missing(item, missing);
        return 0;
    }
    const int points = bench_points(b, item);
    bench_point *point = calloc((size_t)points, sizeof *point);
    bool ok = point != NULL, right = true;
    if (!ok) check_fail(__FILE__, __LINE__, "calloc", "out of memory");
    (void)bench_ceiling_rate(b, item->rung->ceiling); /* before the rung takes its memory */
    for (int i = 0; i < points && ok; i++) {
        ok = bench_measure(b, item, i, &point[i], why, why_bytes);
        if (ok) bench_roof(b, item, &point[i]);
        if (ok) bench_report_line(item, &point[i]);
        right = right && point[i].verified;
    }
    if (ok) ok = leave_record(l, b, item, point, points, why, why_bytes);
    if (ok && !right) ++*wrong;
    free(point);
    return ok ? 0 : CHECK_EXIT_ENVIRONMENT;
}

static int run_all(const bench_request *ask, const topology *top, device *d, const char *command)
{
    char why[1024] = "";
    int status = 0, wrong = 0;
    bench b;
    if (!can_append(ask->output, why, sizeof why)) return cmd_say(CHECK_EXIT_ENVIRONMENT, "%s", why);
    json_t *started = record_now();
    leaving l = { machine_record(command, started), machine_json(top, d), ask->output };
    bench_create(&b, ask, d);
    bench_report_head(&b);
    for (int i = 0; i < ask->items && status == 0; i++) status = climb(&b, &l, &ask->item[i], &wrong, why, sizeof why);
    if (status == 0) bench_report_ceilings(&b);
    bench_destroy(&b);
    json_decref(l.head);
    json_decref(l.machine);
    json_decref(started);
    if (status != 0) return cmd_say(status, "%s", why);
    if (wrong > 0) return cmd_say(CHECK_EXIT_FAILED, "%d rung%s gave wrong results", wrong, wrong == 1 ? "" : "s");
    return 0;
}

static device *make_device(const bench_request *ask, char *why, size_t why_bytes)
{
    int code = 0;
    if (ask->kind == DEVICE_HOST) return device_host_create(ask->threads);
    device *d = device_cuda_create(0, &code);
    if (!d) snprintf(why, why_bytes, "GPU 0 cannot be used: %s", device_cuda_error_text(code));
    return d;
}

/* On one rank. */
static int bench_alone(int argc, char **argv, topology *top)
{
    char why[1024] = "";
    bench_request ask;
    device *d = NULL;
    int status = bench_request_make(&ask, argc, argv, why, sizeof why);
    if (status == 0 && !(d = make_device(&ask, why, sizeof why))) status = CHECK_EXIT_ENVIRONMENT;
    if (status != 0) {
        (void)cmd_say(status, "%s", why);
    } else if (ask.list) {
        bench_report_list(ask.kind, d, &ask);
    } else {
        char *command = cmd_text(argc, argv);
        status = run_all(&ask, top, d, command);
        free(command);
    }
    device_destroy(&d);
    bench_request_free(&ask);
    return status;
}

/* The driver reads this one when the first context of the process is made, which may be MPI's own. Whether the value and
 * the rungs go together is checked later, like every key. */
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
    if (cmd_wants_help(argc, argv)) {
        print_help();
        return 0;
    }
    int status = 0;
    topology top;
    set_connections(argc, argv);
    (void)cmd_begin();
    topology_create(&top);
    if (top.ranks > 1) (void)cmd_say(0, "bench measures one device: rank 0 runs it and the other %d wait", top.ranks - 1);
    if (top.rank == 0) {
        topology alone = top;
        alone.comm = MPI_COMM_SELF;
        alone.ranks = 1;
        status = bench_alone(argc, argv, &alone);
    }
    MPI_CHECK(MPI_Bcast(&status, 1, MPI_INT, 0, top.comm));
    topology_destroy(&top);
    return cmd_end(status);
}
