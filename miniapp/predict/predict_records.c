#include "predict/predict_records.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "predict/predict_fit.h"
#include "ranks/check.h"
#include "ranks/printable.h"

static const char *text_of(const json_t *o, const char *key)
{
    const char *text = json_string_value(json_object_get(o, key));
    return text ? text : "";
}
static double number_of(const json_t *o, const char *key)
{
    const json_t *v = json_object_get(o, key);
    return json_is_number(v) ? json_number_value(v) : NAN;
}
static int int_of(const json_t *o, const char *key) { return (int)json_integer_value(json_object_get(o, key)); }

/* -1: none of that name. */
static int transport_of(const char *name, size_t length)
{
    for (int t = TRANSPORT_STAGED; t < PREDICT_TRANSPORTS; t++) {
        const char *known = transport_kind_name((transport_kind)t);
        if (strlen(known) == length && strncmp(known, name, length) == 0) return t;
    }
    return -1;
}
/* ---- what a line says ---- */

typedef struct reading {
    predict_records *r;
    predict_points bench[PREDICT_TRANSPORTS];
    bool scanned[PREDICT_TRANSPORTS]; /* bench is of a scan over sizes */
    double launch_s;
    bool any_cuda;
} reading;

static void add_exchange(predict_points *points, const json_t *point)
{
    const double bytes = number_of(json_object_get(point, "parameters"), "bytes");
    const double s = number_of(json_object_get(point, "time_s"), "p50");
    if (bytes > 0 && s > 0) predict_points_add(points, bytes, s);
}

/* Of scans over sizes the last counts; records of single sizes together, where there is no scan. */
static void read_ring(reading *in, int transport, const json_t *o)
{
    const json_t *scan = json_object_get(o, "sweep");
    predict_points *points = &in->bench[transport];
    size_t i;
    const json_t *point;
    if (json_array_size(scan) < 2) {
        if (!in->scanned[transport]) add_exchange(points, o);
        return;
    }
    *points = (predict_points){ 0 };
    in->scanned[transport] = true;
    json_array_foreach(scan, i, point) add_exchange(points, point);
}

/* Families halo (rings, by the bytes of one neighbour), alltoall, and the pipelined launch. */
static bool read_rung(reading *in, const json_t *o)
{
    const char *family = text_of(o, "family"), *rung = text_of(o, "rung"), *tail = strrchr(rung, '_');
    const json_t *times = json_object_get(o, "time_s");
    if (!json_is_true(json_object_get(o, "verified"))) return false;
    if (strcmp(family, "launch") == 0 && strcmp(rung, "pipelined") == 0) {
        in->launch_s = number_of(times, "p50");
        return true;
    }
    const int t = tail ? transport_of(rung, (size_t)(tail - rung)) : -1;
    if (t < 0) return false;
    if (strcmp(family, "alltoall") == 0 && strcmp(tail, "_slabs") == 0) {
        predict_add_transpose(&in->r->machine, (transport_kind)t, int_of(o, "ranks"), number_of(o, "rate"));
        return true;
    }
    if (strcmp(family, "halo") != 0 || strcmp(tail, "_ring") != 0) return false;
    read_ring(in, t, o);
    return true;
}

static int64_t norm_every_of(const char *deck_text)
{
    const char *at = strstr(deck_text, "\nnorm_every = ");
    return at ? strtoll(at + strlen("\nnorm_every = "), NULL, 10) : 0;
}

/* Anything but periodic on any side. */
static bool mirrors(const json_t *problem)
{
    static const char *const sides[] = { "x_low", "x_high", "y_low", "y_high" };
    for (size_t i = 0; i < sizeof sides / sizeof *sides; i++)
        if (json_object_get(problem, sides[i]) && strcmp(text_of(problem, sides[i]), "periodic") != 0) return true;
    return false;
}

/* A run whose form of a step is one that the program still chooses. */
static bool read_run(const json_t *o, predict_run *run)
{
    const json_t *problem = json_object_get(o, "problem"), *grid = json_object_get(o, "grid");
    const char *transport = text_of(o, "transport"), *form = text_of(o, "step_form");
    const kind_row *kind = kind_find(text_of(problem, "kind"));
    const int t = transport_of(transport, strlen(transport));
    predict_case *c = &run->of;
    memset(run, 0, sizeof *run);
    run->step_s = number_of(json_object_get(o, "step_s"), "p50");
    run->copy_bytes_per_s = number_of(o, "ceiling_bytes_per_s") / int_of(o, "ranks");
    run->comm_s = number_of(json_object_get(o, "overlap"), "comm_s");
    run->host_s = number_of(o, "host_step_s");
    run->cuda = strcmp(text_of(o, "device"), "cuda") == 0;
    run->hosts = (int)json_array_size(json_object_get(json_object_get(o, "machine"), "hosts"));
    if (!kind || t < 0 || !(run->step_s > 0) || !(run->copy_bytes_per_s > 0) || run->hosts < 1) return false;
    if (int_of(o, "lanes") > 1 || strcmp(text_of(o, "verdict"), "failed") == 0) return false;
    c->kind = kind_id_of(kind);
    c->type = strcmp(text_of(problem, "dtype"), "f64") == 0 ? DTYPE_F64 : DTYPE_F32;
    c->radius = int_of(problem, "radius");
    c->nx = number_of(grid, "nx");
    c->ny = number_of(grid, "ny");
    c->ranks = int_of(o, "ranks");
    c->ranks_x = int_of(o, "ranks_x");
    c->ranks_y = int_of(o, "ranks_y");
    c->per_host = (c->ranks + run->hosts - 1) / run->hosts;
    c->transport = (transport_kind)t;
    c->feed = strcmp(text_of(o, "feed"), "graph") == 0;
    c->exchange_alone_s = run->comm_s > 0 ? run->comm_s : 0;
    c->norm_every = norm_every_of(text_of(o, "deck"));
    const bool transposed = kind->transposes, in_kernel = strcmp(form, "whole") == 0;
    c->form = transposed ? PREDICT_TRANSPOSED : in_kernel ? PREDICT_IN_KERNEL : PREDICT_OVERLAPPED;
    c->block_steps = int_of(o, "fuse") > 1 ? int_of(o, "fuse") : 1;
    c->mirrors = mirrors(problem);
    if ((in_kernel || c->block_steps > 1) && c->ranks_x > 1) return false;
    if (c->ranks < 1 || !(c->nx >= 1) || !(c->ny >= 1) || c->radius < 0 || c->radius >= PREDICT_ORDERS) return false;
    printable(run->processor, sizeof run->processor, text_of(json_object_get(o, "machine"), "processor"));
    printable(run->git, sizeof run->git, text_of(o, "git"));
    printable(run->started, sizeof run->started, text_of(o, "started"));
    return true;
}

static void add_run(reading *in, const json_t *o, const char *name, int number)
{
    predict_records *r = in->r;
    r->run = realloc(r->run, (size_t)(r->runs + 1) * sizeof *r->run);
    if (!r->run) check_fail(__FILE__, __LINE__, "realloc", "out of memory");
    predict_run *run = &r->run[r->runs];
    if (!read_run(o, run)) {
        r->left_out++;
        return;
    }
    const json_t *files = json_object_get(o, "checkpoint");
    const double raw_bytes_per_s = number_of(files, "raw_bytes_per_s"); /* of older records */
    const double file_bytes_per_s = raw_bytes_per_s > 0 ? raw_bytes_per_s : number_of(files, "bytes_per_s");
    if (file_bytes_per_s > 0) r->machine.file_bytes_per_s = fmax(file_bytes_per_s, fmax(0, r->machine.file_bytes_per_s));
    run->line = number;
    printable(run->file, sizeof run->file, name);
    in->any_cuda |= run->cuda;
    r->runs++;
}

static void read_line(reading *in, const char *line, const char *name, int number)
{
    json_t *o = json_loads(line, 0, NULL);
    const bool blank = strspn(line, " \t\r\n") == strlen(line);
    if (json_object_get(o, "rung")) in->r->rungs += read_rung(in, o);
    else if (json_object_get(o, "step_s")) add_run(in, o, name, number);
    else in->r->damaged += !blank;
    json_decref(o);
}

static bool read_file(reading *in, const char *path, sentence *why)
{
    const char *slash = strrchr(path, '/');
    char *line = NULL;
    size_t bytes = 0;
    FILE *f = fopen(path, "r");
    if (!f) return sentence_refuse(why, "%.700s cannot be read: %s", path, strerror(errno));
    for (int number = 1; getline(&line, &bytes, f) > 0; number++) read_line(in, line, slash ? slash + 1 : path, number);
    free(line);
    fclose(f);
    return true;
}

/* Of records of a host and of GPUs the GPUs count, and of several sorts of them the first. */
static void keep_one_machine(predict_records *r, bool cuda)
{
    int kept = 0;
    for (int i = 0; i < r->runs; i++) {
        const predict_run *run = &r->run[i];
        char *name = r->machine.name;
        const bool same = !name[0] || !run->processor[0] || strcmp(name, run->processor) == 0;
        if (run->cuda != cuda || !same) {
            r->left_out++;
            continue;
        }
        if (!name[0]) snprintf(name, sizeof r->machine.name, "%s", run->processor);
        r->run[kept++] = *run;
    }
    r->runs = kept;
}

/* Neighbours cost the same however many ranks there are, a transpose does not. */
static int ranks_alike(const predict_case *c) { return c->form == PREDICT_TRANSPOSED || c->ranks == 1 ? c->ranks : 2; }

/* By the work of a rank: what the model takes for alike. */
static int compare_work(const predict_run *a, const predict_run *b)
{
    const predict_case *c = &a->of, *d = &b->of;
    const double of_a[] = { c->kind, c->type, c->radius, c->form, c->feed, c->transport, c->block_steps, (double)c->norm_every,
                            c->mirrors, c->ny == 1, ranks_alike(c), predict_cells(c) };
    const double of_b[] = { d->kind, d->type, d->radius, d->form, d->feed, d->transport, d->block_steps, (double)d->norm_every,
                            d->mirrors, d->ny == 1, ranks_alike(d), predict_cells(d) };
    for (size_t i = 0; i < sizeof of_a / sizeof *of_a; i++)
        if (of_a[i] != of_b[i]) return of_a[i] < of_b[i] ? -1 : 1;
    return 0;
}

static int compare_latest_last(const void *a, const void *b)
{
    const predict_run *const *x = a, *const *y = b;
    const int work = compare_work(*x, *y);
    return work != 0 ? work : strcmp((*x)->started, (*y)->started);
}

/* Of runs of the same work those of the commit that ran last count. */
static void mark_outdated(predict_records *r)
{
    predict_run **by_work = malloc((size_t)r->runs * sizeof *by_work);
    if (!by_work) check_fail(__FILE__, __LINE__, "malloc", "out of memory");
    for (int i = 0; i < r->runs; i++) by_work[i] = &r->run[i];
    qsort(by_work, (size_t)r->runs, sizeof *by_work, compare_latest_last);
    for (int i = r->runs - 1, last = i; i >= 0; i--) {
        if (compare_work(by_work[i], by_work[last]) != 0) last = i;
        by_work[i]->outdated = strcmp(by_work[i]->git, by_work[last]->git) != 0;
        r->outdated += by_work[i]->outdated;
    }
    free(by_work);
}

bool predict_records_read(predict_records *r, const char *files, sentence *why)
{
    static const double cuda_launch_s = 3.8e-6; /* an H200's, pipelined, where no record of bench says it */
    reading in = { .r = r };
    char *list = strdup(files), *rest = list;
    bool ok = list != NULL;
    memset(r, 0, sizeof *r);
    predict_machine_init(&r->machine, true, NAN);
    for (char *path = strsep(&rest, ","); ok && path; path = strsep(&rest, ",")) ok = read_file(&in, path, why);
    free(list);
    if (!ok) return false;
    keep_one_machine(r, in.any_cuda);
    if (r->runs == 0) return sentence_refuse(why, "%.700s: no record of a weft run that the model covers", files);
    predict_machine known = r->machine;
    predict_machine_init(&r->machine, in.any_cuda, in.any_cuda ? (in.launch_s > 0 ? in.launch_s : cuda_launch_s) : 0);
    memcpy(r->machine.name, known.name, sizeof known.name);
    memcpy(r->machine.transpose, known.transpose, sizeof known.transpose);
    r->machine.file_bytes_per_s = known.file_bytes_per_s;
    mark_outdated(r);
    predict_fit(r, in.bench);
    return true;
}

void predict_records_free(predict_records *r)
{
    free(r->run);
    memset(r, 0, sizeof *r);
}
