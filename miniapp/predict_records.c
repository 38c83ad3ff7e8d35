#include "predict_records.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

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
    for (int t = CONFIG_TRANSPORT_STAGED; t < PREDICT_TRANSPORTS; t++) {
        const char *known = config_transport_name((config_transport)t);
        if (strlen(known) == length && strncmp(known, name, length) == 0) return t;
    }
    return -1;
}
static int kind_of(const char *name)
{
    for (int k = 0; k < PREDICT_KINDS; k++)
        if (strcmp(config_kind_name((config_kind)k), name) == 0) return k;
    return -1;
}

/* ---- what a line says ---- */

typedef struct link_points { /* seconds of an exchange by bytes, for a fit */
    double w, x, y, xx, xy;
    double least_s;
} link_points;

typedef struct reading {
    predict_records *r;
    link_points bench[PREDICT_TRANSPORTS], runs[PREDICT_TRANSPORTS];
    double launch_s;
    bool any_cuda;
} reading;

static void add_point(link_points *p, double bytes, double seconds)
{
    const double weight = 1 / (seconds * seconds);
    p->w += weight;
    p->x += weight * bytes;
    p->y += weight * seconds;
    p->xx += weight * bytes * bytes;
    p->xy += weight * bytes * seconds;
    if (p->least_s == 0 || seconds < p->least_s) p->least_s = seconds;
}

/* alpha + bytes / beta by least squares of the relative error; of one size alone all of it is alpha. */
static predict_link fitted_link(const link_points *p)
{
    const double det = p->w * p->xx - p->x * p->x;
    predict_link l = { p->least_s, INFINITY };
    if (p->w == 0) return (predict_link){ NAN, NAN };
    if (det <= 1e-9 * p->w * p->xx) return l;
    const double slope = (p->w * p->xy - p->x * p->y) / det, alpha = (p->y - slope * p->x) / p->w;
    if (slope > 0 && alpha > 0) l = (predict_link){ alpha, 1 / slope };
    return l;
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
        in->r->machine.turn_bytes_per_s[t] = number_of(o, "rate");
        return true;
    }
    if (strcmp(family, "halo") != 0 || strcmp(tail, "_ring") != 0) return false;
    size_t i;
    const json_t *point;
    in->bench[t] = (link_points){ 0 }; /* of several the last counts */
    json_array_foreach(json_object_get(o, "sweep"), i, point)
    {
        const double bytes = number_of(json_object_get(point, "parameters"), "bytes"),
                     s = number_of(json_object_get(point, "time_s"), "p50");
        if (bytes > 0 && s > 0) add_point(&in->bench[t], bytes, s);
    }
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
    const int kind = kind_of(text_of(problem, "kind")), t = transport_of(transport, strlen(transport));
    predict_case *c = &run->of;
    memset(run, 0, sizeof *run);
    run->step_s = number_of(json_object_get(o, "step_s"), "p50");
    run->copy_bytes_per_s = number_of(o, "ceiling_bytes_per_s") / int_of(o, "ranks");
    run->comm_s = number_of(json_object_get(o, "overlap"), "comm_s");
    run->host_s = number_of(o, "host_step_s");
    run->cuda = strcmp(text_of(o, "device"), "cuda") == 0;
    run->hosts = (int)json_array_size(json_object_get(json_object_get(o, "machine"), "hosts"));
    if (kind < 0 || t < 0 || !(run->step_s > 0) || !(run->copy_bytes_per_s > 0) || run->hosts < 1) return false;
    if (int_of(o, "lanes") > 1 || strcmp(text_of(o, "verdict"), "failed") == 0) return false;
    c->kind = (config_kind)kind;
    c->type = strcmp(text_of(problem, "dtype"), "f64") == 0 ? DTYPE_F64 : DTYPE_F32;
    c->radius = int_of(problem, "radius");
    c->nx = number_of(grid, "nx");
    c->ny = number_of(grid, "ny");
    c->ranks = int_of(o, "ranks");
    c->ranks_x = int_of(o, "ranks_x");
    c->ranks_y = int_of(o, "ranks_y");
    c->per_host = (c->ranks + run->hosts - 1) / run->hosts;
    c->transport = (config_transport)t;
    c->feed = strcmp(text_of(o, "feed"), "graph") == 0;
    c->exchange_alone_s = run->comm_s > 0 ? run->comm_s : 0;
    c->norm_every = norm_every_of(text_of(o, "deck"));
    const bool turned = kind == CONFIG_TRANSPOSE || kind == CONFIG_SWEEP, whole = strcmp(form, "whole") == 0;
    c->form = turned ? PREDICT_TURNED : whole ? PREDICT_WHOLE : PREDICT_SPLIT;
    c->fuse = int_of(o, "fuse") > 1 ? int_of(o, "fuse") : 1;
    c->mirrors = mirrors(problem);
    if ((whole || c->fuse > 1) && c->ranks_x > 1) return false;
    if (c->ranks < 1 || !(c->nx >= 1) || !(c->ny >= 1) || c->radius < 0 || c->radius >= PREDICT_ORDERS) return false;
    snprintf(run->processor, sizeof run->processor, "%s", text_of(json_object_get(o, "machine"), "processor"));
    return true;
}

static bool read_file(reading *in, const char *path, char *why, size_t why_bytes)
{
    predict_records *r = in->r;
    const char *slash = strrchr(path, '/');
    char *line = NULL;
    size_t bytes = 0;
    int number = 0;
    FILE *f = fopen(path, "r");
    if (!f) {
        snprintf(why, why_bytes, "%.700s cannot be read: %s", path, strerror(errno));
        return false;
    }
    while (getline(&line, &bytes, f) > 0) {
        json_t *o = json_loads(line, 0, NULL);
        number++;
        if (!json_is_object(o)) {
            r->damaged += strspn(line, " \t\r\n") != strlen(line);
        } else if (json_object_get(o, "rung")) {
            r->rungs += read_rung(in, o);
        } else if (json_object_get(o, "step_s")) {
            r->run = realloc(r->run, (size_t)(r->runs + 1) * sizeof *r->run);
            if (!r->run) check_fail(__FILE__, __LINE__, "realloc", "out of memory");
            if (read_run(o, &r->run[r->runs])) {
                predict_run *run = &r->run[r->runs++];
                const double file_bytes_per_s = number_of(json_object_get(o, "checkpoint"), "raw_bytes_per_s");
                run->line = number;
                snprintf(run->file, sizeof run->file, "%s", slash ? slash + 1 : path);
                in->any_cuda |= run->cuda;
                if (file_bytes_per_s > 0)
                    r->machine.file_bytes_per_s = fmax(file_bytes_per_s, fmax(0, r->machine.file_bytes_per_s));
            } else {
                r->left_out++;
            }
        } else {
            r->damaged++;
        }
        json_decref(o);
    }
    free(line);
    fclose(f);
    return true;
}

/* ---- fits ---- */

/* The x that makes the sum of ((x - value) / scale)^2 smallest: relative errors of steps whose cost x is a part of. */
typedef struct mean {
    double sum, weight;
} mean;
static void mean_add(mean *m, double x, double scale)
{
    m->sum += x / (scale * scale);
    m->weight += 1 / (scale * scale);
}
static void mean_take(const mean *m, double *into)
{
    if (m->weight > 0) *into = fmax(0, m->sum / m->weight);
}

/* What the model, with *cost = 0, leaves of the steps of those runs that pay it once (or every so many steps). */
static void fit_cost(predict_records *r, double *cost, bool (*pays)(const predict_case *c, int feed), int feed)
{
    mean m = { 0, 0 };
    const double fallback = *cost;
    *cost = 0;
    for (int i = 0; i < r->runs; i++) {
        const predict_run *run = &r->run[i];
        if (!pays(&run->of, feed) || !predict_knows(&r->machine, &run->of) ||
            predict_host_bound(&r->machine, &run->of, run->step_s))
            continue;
        const double every = cost == &r->machine.norm_s ? (double)run->of.norm_every : 1;
        mean_add(&m, (run->step_s - predict_step(&r->machine, &run->of).step_s) * every, run->step_s * every);
    }
    *cost = fallback;
    mean_take(&m, cost);
}

static bool plain(const predict_case *c, int feed) { return c->feed == feed && c->norm_every == 0 && c->fuse == 1; }
static bool pays_whole(const predict_case *c, int feed) { return plain(c, feed) && c->form == PREDICT_WHOLE && c->ranks == 1; }
static bool pays_neighbours(const predict_case *c, int feed) { return plain(c, feed) && c->form == PREDICT_WHOLE && c->ranks > 1; }
static bool by_kernels(const predict_case *c)
{
    return c->transport == CONFIG_TRANSPORT_PEER || c->transport == CONFIG_TRANSPORT_NCCL;
}
static bool pays_split_host(const predict_case *c, int feed)
{
    return plain(c, feed) && c->form == PREDICT_SPLIT && !by_kernels(c);
}
static bool pays_split_device(const predict_case *c, int feed)
{
    return plain(c, feed) && c->form == PREDICT_SPLIT && by_kernels(c);
}
static bool pays_norm(const predict_case *c, int feed)
{
    (void)feed;
    return c->norm_every > 0 && c->form != PREDICT_TURNED && c->fuse == 1;
}

/* Of the largest grid of each kind, type and radius that ran on one rank, and on which launches are nothing. */
static void fit_efficiency(predict_records *r)
{
    predict_machine *m = &r->machine;
    double largest[PREDICT_KINDS][2][PREDICT_ORDERS] = { { { 0 } } };
    for (int i = 0; i < r->runs; i++) {
        const predict_run *run = &r->run[i];
        const predict_case *c = &run->of;
        const bool f64 = c->type == DTYPE_F64;
        const double rest_s = run->step_s - m->whole_s[c->feed];
        if (c->ranks > 1 || c->fuse > 1 || c->norm_every > 0 || run->step_s < 20 * m->launch_s ||
            predict_cells(c) <= largest[c->kind][f64][c->radius])
            continue;
        largest[c->kind][f64][c->radius] = predict_cells(c);
        const double bytes = predict_words(c->kind) * predict_cells(c) * (double)dtype_bytes(c->type);
        m->efficiency[c->kind][f64][c->radius] = fmin(1.1, bytes / rest_s / predict_copy_rate(m, bytes));
    }
}

/* Transposes without a rung of bench: from the steps that are longer than the memory explains. */
static void fit_turns(predict_records *r)
{
    predict_machine *m = &r->machine;
    for (int t = 0; t < PREDICT_TRANSPORTS; t++) {
        mean seconds_a_byte = { 0, 0 };
        if (!isnan(m->turn_bytes_per_s[t])) continue;
        for (int i = 0; i < r->runs; i++) {
            const predict_run *run = &r->run[i];
            const predict_case *c = &run->of;
            if (c->kind != CONFIG_TRANSPOSE || c->ranks == 1 || run->hosts > 1 || (int)c->transport != t) continue;
            const double bytes = predict_cells(c) * (double)dtype_bytes(c->type) * (c->ranks - 1) / c->ranks;
            mean_add(&seconds_a_byte, run->step_s / bytes, run->step_s / bytes);
        }
        if (seconds_a_byte.weight > 0) m->turn_bytes_per_s[t] = seconds_a_byte.weight / seconds_a_byte.sum;
    }
}

static bool times_sweeps(const predict_case *c) { return c->fuse > 1 && c->ranks == 1 && c->norm_every == 0; }

/* The cells' time of each length of sweep: of its largest grid, on which what is fixed is least; the mean of its runs. Sides that
 * mirror only where there are no others. */
static void fit_sweep_cells(predict_records *r)
{
    predict_machine *m = &r->machine;
    double largest[PREDICT_SWEEPS_MAX] = { 0 };
    mean of[PREDICT_SWEEPS_MAX] = { { 0, 0 } };
    for (int mirrored = 0; mirrored < 2; mirrored++)
        for (int i = 0; i < r->runs; i++) {
            const predict_run *run = &r->run[i];
            const predict_case *c = &run->of;
            if (!times_sweeps(c) || c->mirrors != (mirrored > 0)) continue;
            predict_sweep *w = predict_sweep_of(m, c);
            if (!w) continue;
            const int k = (int)(w - m->sweep);
            const double cells = predict_cells(c) * (1 + predict_redundant(c)), fixed_s = m->sweep_fixed_s[c->feed];
            if (cells < 0.9 * largest[k] || (mirrored && largest[k] > 0 && !isnan(w->cell_s))) continue;
            if (cells > 1.1 * largest[k]) of[k] = (mean){ 0, 0 };
            largest[k] = fmax(largest[k], cells);
            mean_add(&of[k], fmax(0, run->step_s * c->fuse - fixed_s) / cells, 1);
            w->cell_s = of[k].sum / of[k].weight;
        }
}

/* What sweeps take beyond their cells, of either feed; and how much longer they take where sides mirror. */
static void fit_sweep_rest(predict_records *r)
{
    predict_machine *m = &r->machine;
    mean fixed[PREDICT_FEEDS] = { { 0, 0 } }, mirrored = { 0, 0 };
    m->fused_mirrors = 1;
    for (int i = 0; i < r->runs; i++) {
        const predict_run *run = &r->run[i];
        const predict_case *c = &run->of;
        if (!times_sweeps(c)) continue;
        const double sweep_s = run->step_s * c->fuse, cells_s = predict_sweep_s(m, c);
        if (c->mirrors && c->ny > 1) mean_add(&mirrored, (sweep_s - m->sweep_fixed_s[c->feed]) / cells_s, 1);
        else mean_add(&fixed[c->feed], sweep_s - cells_s, sweep_s);
    }
    for (int f = 0; f < PREDICT_FEEDS; f++) mean_take(&fixed[f], &m->sweep_fixed_s[f]);
    mean_take(&mirrored, &m->fused_mirrors);
}

/* Each wants the other. */
static void fit_sweeps(predict_records *r)
{
    for (int round = 0; round < 4; round++) {
        for (int i = 0; i < r->machine.sweeps; i++) r->machine.sweep[i].cell_s = NAN;
        fit_sweep_cells(r);
        fit_sweep_rest(r);
    }
}

static void fit(reading *in)
{
    predict_records *r = in->r;
    predict_machine *m = &r->machine;
    link_points between = { 0 };
    for (int i = 0; i < r->runs; i++) {
        const predict_run *run = &r->run[i];
        const predict_case *c = &run->of;
        /* copies are of a whole field, read and written; a copy is launched too, of which half at most can be seen */
        const double bytes = 2 * predict_cells(c) * (double)dtype_bytes(c->type), s = bytes / run->copy_bytes_per_s;
        predict_add_copy(m, bytes, bytes / (s - fmin(m->launch_s, s / 2)));
        const double depth_bytes = c->radius * c->fuse * (double)dtype_bytes(c->type);
        const double face = (c->ranks_y > 1 ? c->nx / c->ranks_x : c->ny / c->ranks_y) * depth_bytes;
        double *host_s = &m->host_s[c->transport]; /* the least: in long steps the thread waits where the queue is full */
        if (c->form == PREDICT_SPLIT && c->fuse == 1 && c->feed == 0 && by_kernels(c) && run->host_s > 0)
            *host_s = *host_s > 0 ? fmin(*host_s, run->host_s) : run->host_s;
        if (c->ranks > 1 && run->comm_s > 0) add_point(run->hosts > 1 ? &between : &in->runs[c->transport], face, run->comm_s);
    }
    for (int t = 0; t < PREDICT_TRANSPORTS; t++) m->exchange[t] = fitted_link(in->bench[t].w > 0 ? &in->bench[t] : &in->runs[t]);
    if (between.w > 0) m->between = fitted_link(&between);
    fit_efficiency(r);
    fit_turns(r);
    for (int f = 0; f < PREDICT_FEEDS; f++) {
        fit_cost(r, &m->whole_s[f], pays_whole, f);
        fit_cost(r, &m->neighbours_s[f], pays_neighbours, f);
        fit_cost(r, &m->split_host_s[f], pays_split_host, f);
        fit_cost(r, &m->split_device_s[f], pays_split_device, f);
    }
    fit_cost(r, &m->norm_s, pays_norm, 0);
    fit_sweeps(r);
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

bool predict_records_read(predict_records *r, const char *files, char *why, size_t why_bytes)
{
    static const double cuda_launch_s = 2.9e-6; /* an H200's, pipelined, where no record of bench says it */
    reading in = { .r = r };
    char *list = strdup(files), *rest = list;
    bool ok = list != NULL;
    memset(r, 0, sizeof *r);
    predict_machine_init(&r->machine, true, NAN);
    for (char *path = strsep(&rest, ","); ok && path; path = strsep(&rest, ",")) ok = read_file(&in, path, why, why_bytes);
    free(list);
    if (!ok) return false;
    keep_one_machine(r, in.any_cuda);
    if (r->runs == 0) {
        snprintf(why, why_bytes, "%.700s: no record of weft run whose steps the model can speak of", files);
        return false;
    }
    predict_machine known = r->machine;
    predict_machine_init(&r->machine, in.any_cuda, in.any_cuda ? (in.launch_s > 0 ? in.launch_s : cuda_launch_s) : 0);
    memcpy(r->machine.name, known.name, sizeof known.name);
    memcpy(r->machine.turn_bytes_per_s, known.turn_bytes_per_s, sizeof known.turn_bytes_per_s);
    r->machine.file_bytes_per_s = known.file_bytes_per_s;
    fit(&in);
    return true;
}

void predict_records_free(predict_records *r)
{
    free(r->run);
    memset(r, 0, sizeof *r);
}
