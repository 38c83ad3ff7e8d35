#include "check/verdict.h"

#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ranks/check.h"

static const char bytes[] = "B/s", flops[] = "flop/s", cells[] = "cells/s";
enum { BLOCK = CHECK_BLOCK_STEPS };

#define OVER(TRANSPORT, NAME)                                                                     \
    [CHECK_RING + TRANSPORT] = { "ring_" NAME, "ring over " NAME, CHECK_JOB, bytes,               \
                                 .rung = "halo/" NAME "_ring" },                                  \
    [CHECK_ALLTOALL + TRANSPORT] = { "alltoall_" NAME, "all-to-all over " NAME, CHECK_JOB, bytes, \
                                     .rung = "alltoall/" NAME "_slabs" }

const check_like_row check_likes[CHECK_LIKES] = {
    [CHECK_PATTERNS] = { "patterns", "memory patterns", CHECK_GPU, .unit = bytes },
    [CHECK_COPY] = { "copy", "memory copy", CHECK_GPU, bytes, .rung = "ceiling/copy" },
    [CHECK_READ] = { "read", "memory read", CHECK_GPU, bytes, .rung = "ceiling/read" },
    [CHECK_FMA_F32] = { "fma_f32", "arithmetic in f32", CHECK_GPU, flops, .rung = "ceiling/fma" },
    [CHECK_FMA_F64] = { "fma_f64", "arithmetic in f64", CHECK_GPU, flops, "ceiling/fma", .type = DTYPE_F64 },
    [CHECK_HEAT_SINGLE] = { "heat_single", "heat, single steps", CHECK_GPU, cells, "roofline/star",
                            .steps = 1 },
    [CHECK_HEAT_BLOCKS] = { "heat_blocks", "heat, blocks of steps", CHECK_GPU, cells, "fused/production",
                            .steps = BLOCK },
    [CHECK_TRANSPOSE] = { "transpose", "transpose", CHECK_GPU, cells, "roofline/transpose", .steps = 1 },
    [CHECK_TO_HOST] = { "to_host", "copy to the host", CHECK_GPU, bytes, .rung = "ceiling/d2h" },
    [CHECK_FROM_HOST] = { "from_host", "copy from the host", CHECK_GPU, bytes, .rung = "ceiling/h2d" },
    [CHECK_PAIR_ONEWAY] = { "pair_oneway", "pair, one way", CHECK_LINK, bytes, .rung = "halo/link_oneway" },
    [CHECK_PAIR_BOTH] = { "pair_both", "pair, both ways", CHECK_LINK, bytes, .rung = "halo/link_both" },
    [CHECK_HOST_PAIR] = { "host_pair", "pair of hosts", CHECK_HOST_LINK, bytes, .rung = "halo/link_both" },
    OVER(TRANSPORT_STAGED, "staged"),
    OVER(TRANSPORT_AWARE, "aware"),
    OVER(TRANSPORT_MAPPED, "mapped"),
    OVER(TRANSPORT_PEER, "peer"),
    OVER(TRANSPORT_NCCL, "nccl"),
    [CHECK_HEAT_ALL] = { "heat_all", "heat, all ranks", CHECK_JOB, .unit = cells },
    [CHECK_TRANSPOSE_ALL] = { "transpose_all", "transpose, all ranks", CHECK_JOB, .unit = cells },
    [CHECK_DISK_WRITE] = { "disk_write", "raw write", CHECK_DISK, bytes, .rung = "io/write_slabs" },
    [CHECK_CHECKPOINT] = { "checkpoint", "checkpoint", CHECK_DISK, bytes, .rung = "io/write_slabs" },
};

const char *const check_part_keys[] = { "gpu", "link", "host", "host_link", "disk", "job" };

void check_findings_destroy(check_findings *f)
{
    for (int i = 0; i < f->figures; i++) free(f->figure[i].where);
    free(f->figure);
    free(f->first_of_host);
    json_decref(f->rank);
}

void check_findings_add(check_findings *f, check_figure figure, const char *where)
{
    figure.where = isnan(figure.rate) ? CHECK_ALLOC(strdup(where)) : NULL;
    f->wrong += figure.where != NULL;
    if ((f->figures & (f->figures - 1)) == 0) /* there is room for a power of two of them */
        f->figure = CHECK_ALLOC(realloc(f->figure, (2 * (size_t)f->figures + 1) * sizeof figure));
    f->figure[f->figures++] = figure;
}

static const char *text_of(const check_findings *f, int rank, const char *key)
{
    return json_string_value(json_object_get(json_array_get(f->rank, (size_t)rank), key));
}

/* "GPU of rank 3 (node7, GPU-0b5b4cd2, 0000:00:06.0)". a: a rank of it, of a link the lower one; -1: all of
 * that kind. */
static void part_name(sentence *out, const check_findings *f, check_part part, int a, int b)
{
    static const char *const all[] = { "all GPUs alike",  "all links of ranks alike",
                                       "all hosts alike", "all links of hosts alike",
                                       "the disk",        "all ranks together" };
    const char *const host = text_of(f, a, "host");
    const bool cores = part == CHECK_GPU && f->device == DEVICE_HOST;
    if (a < 0) sentence_set(out, "%s", cores ? "processor cores of all ranks alike" : all[part]);
    else if (cores) sentence_set(out, "processor cores of rank %d (%s)", a, host);
    else if (part == CHECK_GPU)
        sentence_set(out, "GPU of rank %d (%s, %.12s, %s)", a, host, text_of(f, a, "uuid"),
                     text_of(f, a, "pci"));
    else if (part == CHECK_HOST) sentence_set(out, "host %s (ranks from %d on)", host, a);
    else if (part == CHECK_LINK) sentence_set(out, "link of ranks %d and %d (%s)", a, b, host);
    else sentence_set(out, "link of hosts %s and %s", host, text_of(f, b, "host"));
}

/* ---- the suspect and its evidence ---- */

const double check_least = 0.03046;

bool check_suspect_is(check_verdict *v, const check_findings *f, check_part part, int a, int b)
{
    check_suspect *s = &v->suspect;
    const int low = b >= 0 && b < a ? b : a, high = b >= 0 && b < a ? a : b;
    sentence name;
    part_name(&name, f, part, low, high);
    if (s->name.text[0]) return strcmp(s->name.text, name.text) == 0;
    if (a < 0 && part != CHECK_DISK) part = CHECK_JOB;
    *s = (check_suspect){ part, low, high, .factor = 1, .confidence = 1, .name = name };
    return true;
}

void check_add_evidence(check_verdict *v, check_like like, double factor)
{
    check_suspect *s = &v->suspect;
    v->row[like].verdict = CHECK_SLOW;
    sentence_add(&s->evidence, "%s%s %.0f %%", s->rows++ > 0 ? "; " : "", check_likes[like].name,
                 100 * factor);
}

/* ---- the reference ---- */

static bool read_rates(json_t *rates, check_reference *out, json_error_t *error)
{
    for (int l = 0; l < CHECK_LIKES; l++) {
        json_t *const rate = json_object_get(rates, check_likes[l].key);
        if (!rate) continue;
        if (json_unpack_ex(rate, error, 0, "{s:F, s:F, s:i}", "low", &out->low[l], "high", &out->high[l],
                           "machines", &out->machines[l]) != 0)
            return false;
        if (out->low[l] > 0 && out->high[l] >= out->low[l]) continue;
        snprintf(error->text, sizeof error->text, "%s: allowed is 0 < low <= high", check_likes[l].key);
        return false;
    }
    return true;
}

bool check_reference_read(const char *path, check_reference *out, sentence *why)
{
    const char *gpu = "", *const slash = strrchr(path, '/');
    json_error_t error;
    const int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC); /* of a pipe, no wait for a writer */
    json_t *rates = NULL, *const o = fd < 0 ? json_load_file(path, 0, &error) : json_loadfd(fd, 0, &error);
    if (fd >= 0) close(fd);
    *out = (check_reference){ .ranks = 0 };
    const bool ok = o &&
                    json_unpack_ex(o, &error, 0, "{s:s, s:i, s:i, s:o}", "gpu", &gpu, "ranks", &out->ranks,
                                   "hosts", &out->hosts, "rates", &rates) == 0 &&
                    read_rates(rates, out, &error);
    snprintf(out->gpu, sizeof out->gpu, "%s", gpu);
    snprintf(out->name, sizeof out->name, "%s", slash ? slash + 1 : path);
    json_decref(o);
    return ok || sentence_refuse(why, "reference = %s: no reference that jobs/check_reference wrote: %s",
                                 path, error.text);
}

/* A rate repeats if two machines or more have it and differ by little; others are shown alone. Rates of all
 * ranks together are those of as many. Where all components of a row lie below, these are the suspect, else
 * the slowest one. */
void check_judge_by_reference(const check_findings *f, const check_reference *r, double errors,
                              check_verdict *v)
{
    check_suspect *s = &v->suspect;
    const bool named = s->name.text[0];
    for (check_row *row = v->row; row < v->row + CHECK_LIKES; row++) {
        const check_part part = check_likes[row->like].part;
        const double low = r->low[row->like], high = r->high[row->like];
        const bool all = part != CHECK_GPU && part != CHECK_LINK;
        if (r->machines[row->like] == 0 || (all && (r->ranks != f->ranks || r->hosts != f->hosts))) continue;
        row->reference = sqrt(low * high);
        row->is_judged =
            row->rounds >= CHECK_ROUNDS_LEAST && r->machines[row->like] > 1 && log(high / low) <= check_least;
        const double limit = low * exp(-fmax(check_least, errors * row->spread));
        const bool alike = row->count > 1 && row->most < limit;
        if (!row->is_judged || named || row->least >= limit ||
            !check_suspect_is(v, f, part, alike ? -1 : row->least_a, alike ? -1 : row->least_b))
            continue;
        if (s->rows == 0) sentence_set(&s->evidence, "below the reference: ");
        check_add_evidence(v, row->like, row->least / row->reference);
        s->factor = fmin(s->factor, row->least / row->reference);
    }
}
