#include "predict/predict_records.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "output/record.h"
#include "predict/predict_temporal.h"
#include "ranks/check.h"
#include "ranks/printable.h"

static int int_of(const json_t *o, const char *key)
{
    return (int)json_integer_value(json_object_get(o, key));
}
static int hosts_of(const json_t *o)
{
    return (int)json_array_size(json_object_get(json_object_get(o, "machine"), "hosts"));
}
static int per_host_of(const json_t *o) { return (int_of(o, "ranks") + hosts_of(o) - 1) / hosts_of(o); }
static const char *processor_of(const json_t *o)
{
    return record_text_of(json_object_get(o, "machine"), "processor");
}
static bool on_cuda(const json_t *o) { return strcmp(record_text_of(o, "device"), "cuda") == 0; }
static bool is_run(const json_t *o) { return !json_object_get(o, "rung"); }

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

typedef struct line {
    json_t *o;
    char file[64];
    int number, order; /* in its file; of all */
} line;

typedef struct reading {
    predict_records *r;
    line *line;
    int lines;
    predict_points bench[PREDICT_TRANSPORTS];
    bool scanned[PREDICT_TRANSPORTS]; /* bench is of a scan over sizes */
} reading;

static void add_exchange(predict_points *points, const json_t *point)
{
    const double bytes = record_number_of(json_object_get(point, "parameters"), "bytes");
    const double s = record_number_of(json_object_get(point, "time_s"), "p50");
    if (bytes > 0 && s > 0) predict_points_add(points, bytes, s);
}

/* Of scans over sizes the newest counts; records of single sizes together, where there is no scan. */
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

static bool is_launch(const json_t *o)
{
    return strcmp(record_text_of(o, "family"), "launch") == 0 &&
           strcmp(record_text_of(o, "rung"), "pipelined") == 0 &&
           json_is_true(json_object_get(o, "verified"));
}

/* Families halo (rings, by the bytes of one neighbour) and alltoall. */
static bool read_rung(reading *in, const json_t *o)
{
    const char *family = record_text_of(o, "family"), *rung = record_text_of(o, "rung"),
               *tail = strrchr(rung, '_');
    const int t = tail ? transport_of(rung, (size_t)(tail - rung)) : -1;
    if (t < 0 || !json_is_true(json_object_get(o, "verified"))) return is_launch(o);
    if (strcmp(family, "alltoall") == 0 && strcmp(tail, "_slabs") == 0)
        predict_add_transpose(&in->r->machine, (transport_kind)t, int_of(o, "ranks"),
                              record_number_of(o, "rate"));
    else if (strcmp(family, "halo") == 0 && strcmp(tail, "_ring") == 0)
        read_ring(in, t, o);
    else
        return false;
    return true;
}

/* Records of before the key have it in their deck alone. */
static int64_t norm_every_of(const json_t *o)
{
    const char *at = strstr(record_text_of(o, "deck"), "\nnorm_every = ");
    if (json_object_get(o, "norm_every")) return int_of(o, "norm_every");
    return at ? strtoll(at + strlen("\nnorm_every = "), NULL, 10) : 0;
}

static int block_steps_of(const json_t *o) { return int_of(o, "fuse") > 1 ? int_of(o, "fuse") : 1; }

/* The median; where not every step, or block, has a norm, the mean, which has the norms' share. */
static double step_s_of(const json_t *o)
{
    return record_number_of(json_object_get(o, "step_s"),
                            norm_every_of(o) > block_steps_of(o) ? "mean" : "p50");
}

static boundary_side side_of(const json_t *problem, const char *key)
{
    const char *text = record_text_of(problem, key);
    const boundary_kind kind = strncmp(text, "dirichlet", strlen("dirichlet")) == 0 ? BOUNDARY_DIRICHLET
                               : strcmp(text, "neumann") == 0                       ? BOUNDARY_NEUMANN
                                                                                    : BOUNDARY_PERIODIC;
    return (boundary_side){ .kind = kind };
}

static bool same_sides(const boundary *a, const boundary *b)
{
    return a->x_low.kind == b->x_low.kind && a->x_high.kind == b->x_high.kind &&
           a->y_low.kind == b->y_low.kind && a->y_high.kind == b->y_high.kind;
}

/* Records of before the key: weights that a deck gave were those of boxes. */
static stencil_form stencil_of(const json_t *problem, const predict_case *c)
{
    const char *name = record_text_of(problem, "stencil");
    for (int f = 0; f < STENCIL_FORMS; f++)
        if (strcmp(name, stencil_form_name((stencil_form)f)) == 0) return (stencil_form)f;
    return c->ny == 1 ? STENCIL_LINE : c->kind == KIND_CUSTOM ? STENCIL_BOX : STENCIL_STAR;
}

static step_form form_of(const char *name)
{
    step_form f = STEP_OVERLAPPED;
    while (f < STEP_FORMS && strcmp(name, step_form_name[f]) != 0) f++;
    return f < STEP_FORMS ? f : STEP_OVERLAPPED;
}

/* False for a run that the model does not cover: a value is missing, the verdict is failed, several lanes,
 * columns cut under in-kernel exchange or blocks, or blocks of a length that the program no longer has. */
static bool read_run(const predict_machine *m, const json_t *o, predict_run *run)
{
    const json_t *problem = json_object_get(o, "problem"), *grid = json_object_get(o, "grid");
    const char *transport = record_text_of(o, "transport");
    const kind_row *kind = kind_find(record_text_of(problem, "kind"));
    const int t = transport_of(transport, strlen(transport));
    predict_case *c = &run->of;
    memset(run, 0, sizeof *run);
    run->step_s = step_s_of(o);
    run->copy_bytes_per_s = record_number_of(o, "ceiling_bytes_per_s") / int_of(o, "ranks");
    run->comm_s = record_number_of(json_object_get(o, "overlap"), "comm_s");
    run->hosts = hosts_of(o);
    if (!kind || t < 0 || !(run->step_s > 0) || !(run->copy_bytes_per_s > 0) || run->hosts < 1) return false;
    if (strcmp(record_text_of(o, "memory"), "host") == 0) return false; /* visits are no passes in memory */
    if (json_is_true(json_object_get(o, "persistent"))) return false;   /* nor are those in registers */
    if (int_of(o, "lanes") > 1 || strcmp(record_text_of(o, "verdict"), "failed") == 0) return false;
    c->kind = kind_id_of(kind);
    c->type = strcmp(record_text_of(problem, "dtype"), "f64") == 0 ? DTYPE_F64 : DTYPE_F32;
    c->radius = int_of(problem, "radius");
    c->nx = record_number_of(grid, "nx");
    c->ny = record_number_of(grid, "ny");
    c->ranks = int_of(o, "ranks");
    c->ranks_x = int_of(o, "ranks_x");
    c->ranks_y = int_of(o, "ranks_y");
    c->per_host = per_host_of(o);
    c->transport = (transport_kind)t;
    c->feed = strcmp(record_text_of(o, "feed"), "graph") == 0;
    c->exchange_alone_s = run->comm_s > 0 ? run->comm_s : 0;
    c->norm_every = norm_every_of(o);
    c->form = form_of(record_text_of(o, "step_form"));
    c->block_steps = block_steps_of(o);
    c->stencil = stencil_of(problem, c);
    c->sides = (boundary){ side_of(problem, "x_low"), side_of(problem, "x_high"), side_of(problem, "y_low"),
                           side_of(problem, "y_high") };
    if (c->block_steps > 1 && predict_longest_block(m, c, c->block_steps, false) != c->block_steps)
        return false;
    if ((c->form == STEP_IN_KERNEL || c->block_steps > 1) && c->ranks_x > 1) return false;
    if (c->ranks < 1 || !(c->nx >= 1) || !(c->ny >= 1) || c->radius < 0 || c->radius >= PREDICT_ORDERS)
        return false;
    return true;
}

static bool same_work(const predict_case *c, const predict_case *d)
{
    return c->kind == d->kind && c->type == d->type && c->radius == d->radius && c->form == d->form &&
           c->feed == d->feed && c->transport == d->transport && c->block_steps == d->block_steps &&
           c->norm_every == d->norm_every && c->stencil == d->stencil && same_sides(&c->sides, &d->sides) &&
           c->nx == d->nx && c->ny == d->ny && c->ranks == d->ranks && c->ranks_x == d->ranks_x &&
           c->per_host == d->per_host;
}

/* Takes the place of an older one of equal work, unless every run is wanted. */
static void add_run(predict_records *r, const line *l, const predict_run *run, bool every)
{
    int at = every ? r->runs : 0;
    while (at < r->runs && !same_work(&r->run[at].of, &run->of)) at++;
    if (at == r->runs) {
        r->run = CHECK_ALLOC(realloc(r->run, (size_t)++r->runs * sizeof *r->run));
    } else {
        r->older++;
    }
    r->run[at] = *run;
    r->run[at].line = l->number;
    snprintf(r->run[at].file, sizeof r->run[at].file, "%s", l->file);
}

/* Was it of use? */
static bool read_line(reading *in, const line *l, const char *processor, bool every)
{
    const double file_bytes_per_s = record_number_of(json_object_get(l->o, "checkpoint"), "bytes_per_s");
    predict_machine *m = &in->r->machine;
    predict_run run;
    if (hosts_of(l->o) == 0 || on_cuda(l->o) != m->cuda || strcmp(processor_of(l->o), processor) != 0)
        return false;
    if (is_run(l->o) ? !read_run(m, l->o, &run) : !read_rung(in, l->o)) return false;
    if (is_run(l->o)) add_run(in->r, l, &run, every);
    else in->r->rungs++;
    if (file_bytes_per_s > 0) m->file_bytes_per_s = file_bytes_per_s;
    m->ranks_per_host = m->ranks_per_host > per_host_of(l->o) ? m->ranks_per_host : per_host_of(l->o);
    return true;
}

/* ---- files ---- */

static void keep_line(reading *in, json_t *o, const char *name, int number)
{
    in->line = CHECK_ALLOC(realloc(in->line, (size_t)(in->lines + 1) * sizeof *in->line));
    line *l = &in->line[in->lines];
    *l = (line){ .o = o, .number = number, .order = in->lines++ };
    printable(l->file, sizeof l->file, name);
}

static bool read_file(reading *in, const char *path, sentence *why)
{
    const char *slash = strrchr(path, '/');
    char *text = NULL;
    size_t bytes = 0;
    FILE *f = fopen(path, "r");
    if (!f) return sentence_refuse(why, "%.700s cannot be read: %s", path, strerror(errno));
    for (int number = 1; getline(&text, &bytes, f) > 0; number++) {
        json_t *o = json_loads(text, 0, NULL);
        if (json_object_get(o, "rung") || json_object_get(o, "step_s")) {
            keep_line(in, o, slash ? slash + 1 : path, number);
        } else {
            in->r->damaged += strspn(text, " \t\r\n") < strlen(text);
            json_decref(o);
        }
    }
    free(text);
    fclose(f);
    return true;
}

static bool read_files(reading *in, const char *files, sentence *why)
{
    char *list = CHECK_ALLOC(strdup(files)), *rest = list;
    bool ok = true;
    for (char *path = strsep(&rest, ","); ok && path; path = strsep(&rest, ","))
        ok = read_file(in, path, why);
    free(list);
    return ok;
}

static int compare_newest_last(const void *a, const void *b)
{
    const line *x = a, *y = b;
    const int started = strcmp(record_text_of(x->o, "started"), record_text_of(y->o, "started"));
    return started != 0 ? started : x->order - y->order;
}

/* Of records of a host and of GPUs the GPUs count, and of several sorts of them the first that is named. */
static const json_t *first_run(const reading *in, bool cuda)
{
    for (int i = 0; i < in->lines; i++)
        if (is_run(in->line[i].o) && on_cuda(in->line[i].o) == cuda) return in->line[i].o;
    return NULL;
}

static void make_machine(reading *in, bool every)
{
    predict_machine *m = &in->r->machine;
    const json_t *on_gpu = first_run(in, true), *first = on_gpu ? on_gpu : first_run(in, false);
    double launch_s = NAN;
    qsort(in->line, (size_t)in->lines, sizeof *in->line, compare_newest_last);
    for (int i = 0; i < in->lines; i++)
        if (on_gpu && is_launch(in->line[i].o))
            launch_s = record_number_of(json_object_get(in->line[i].o, "time_s"), "p50");
    predict_machine_init(m, on_gpu != NULL, launch_s);
    printable(m->name, sizeof m->name, processor_of(first));
    for (int i = 0; i < in->lines; i++)
        in->r->left_out += !read_line(in, &in->line[i], processor_of(first), every) && is_run(in->line[i].o);
}

bool predict_records_read(predict_records *r, const char *files, bool every, sentence *why)
{
    reading in = { .r = r };
    memset(r, 0, sizeof *r);
    const bool ok = read_files(&in, files, why);
    if (ok) make_machine(&in, every);
    if (r->runs > 0) predict_fit(r, in.bench);
    for (int i = 0; i < in.lines; i++) json_decref(in.line[i].o);
    free(in.line);
    return r->runs > 0 ||
           (ok && sentence_refuse(why, "%.700s: no record of a weft run that the model covers", files));
}

void predict_records_free(predict_records *r)
{
    free(r->run);
    memset(r, 0, sizeof *r);
}
