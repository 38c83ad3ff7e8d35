#include "judge/judge_text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/terminal.h"
#include "ranks/check.h"

/* ---- names ---- */

enum { UUID_SHOWN = 12 }; /* "GPU-0b5b4cd2": nvidia-smi takes it */

static void name_gpu(sentence *out, const check_findings *f, int rank)
{
    const check_rank *r = &f->rank[rank];
    sentence_set(out, "%s of rank %d (%s", f->device == DEVICE_HOST ? "processor cores" : "GPU", rank,
                 r->host);
    if (r->uuid[0]) sentence_add(out, ", %.*s", UUID_SHOWN, r->uuid);
    if (r->pci[0]) sentence_add(out, ", %s", r->pci);
    sentence_add(out, ")");
}

static void name_host(sentence *out, const check_findings *f, int rank)
{
    int ranks = 0;
    for (int r = 0; r < f->ranks; r++) ranks += f->rank[r].host_number == f->rank[rank].host_number;
    sentence_set(out, "host %s (%d rank%s from %d on)", f->rank[rank].host, ranks, ranks == 1 ? "" : "s",
                 rank);
}

static void name_link(sentence *out, const check_findings *f, const char *words, check_candidate who)
{
    const check_rank *a = &f->rank[who.a], *b = &f->rank[who.b];
    sentence_set(out, words, who.a, who.b);
    if (a->host_number == b->host_number) sentence_add(out, " (%s)", a->host);
    else sentence_add(out, " (%s, %s)", a->host, b->host);
}

void check_name(sentence *out, const check_findings *f, check_candidate who)
{
    switch (who.part) {
    case CHECK_GPU: name_gpu(out, f, who.a); break;
    case CHECK_LINK: name_link(out, f, "link of ranks %d and %d", who); break;
    case CHECK_HOST: name_host(out, f, who.a); break;
    case CHECK_HOST_LINK:
        sentence_set(out, "link of hosts %s and %s", f->rank[who.a].host, f->rank[who.b].host);
        break;
    case CHECK_DISK: sentence_set(out, "the disk"); break;
    case CHECK_JOB: sentence_set(out, "all ranks together"); break;
    case CHECK_PARTS: break;
    }
}

/* ---- evidence of what is slow ---- */

static bool arithmetic(check_like l) { return l == CHECK_FMA_F32 || l == CHECK_FMA_F64; }

static const char *way_of(const check_blame *blame, const check_facet *facet)
{
    if (blame->who.part != CHECK_GPU || facet->role == CHECK_OWN) return "";
    return facet->role == CHECK_OUT ? ", out of it" : ", into it";
}

static void add_facet(sentence *out, const check_blame *blame, const check_facet *facet,
                      const check_point_row *row)
{
    const char *unit = check_like_unit(row->like);
    char is[32], of[32];
    sentence_add(out, "%s%s%s %.0f %%", check_like_name(row->like), row->alone ? " alone" : "",
                 way_of(blame, facet), 100 * exp(facet->effect));
    if (facet != blame->facet) return;
    sentence_add(out, " (%s, the others %s)", terminal_rate(is, sizeof is, facet->is, unit),
                 terminal_rate(of, sizeof of, facet->of, unit));
}

static double median_clock(const check_findings *f, int but)
{
    double *clock = CHECK_ALLOC(malloc((size_t)f->ranks * sizeof *clock));
    int n = 0;
    for (int r = 0; r < f->ranks; r++)
        if (r != but && f->rank[r].clock_mhz > 0) clock[n++] = f->rank[r].clock_mhz;
    const double median = n ? check_median(clock, n) : NAN;
    free(clock);
    return median;
}

/* What a GPU itself tells about it. */
static void add_state(sentence *out, const check_findings *f, int rank)
{
    const check_rank *r = &f->rank[rank];
    const double others = median_clock(f, rank);
    if (strcmp(r->gpu, f->rank[rank ? 0 : f->ranks - 1].gpu) != 0)
        sentence_add(out, "; it is another GPU, %s", r->gpu);
    if (r->held_by_power) sentence_add(out, "; its power limit holds it down");
    if (r->held_by_heat) sentence_add(out, "; heat holds it down");
    if (!(r->clock_mhz > 0) || !(r->held_by_power || r->held_by_heat || r->clock_mhz < 0.97 * others)) return;
    sentence_add(out, ": %.0f MHz", r->clock_mhz);
    if (others > 0) sentence_add(out, " (the others %.0f)", others);
    if (r->power_w > 0) sentence_add(out, ", %.0f W", r->power_w);
    if (r->temperature_c > 0) sentence_add(out, ", %.0f C", r->temperature_c);
}

static void add_others(sentence *out, const check_findings *f, const check_blame *blame)
{
    for (int i = 0; i < blame->others && i < CHECK_OTHERS; i++) {
        sentence name;
        check_name(&name, f, blame->other[i]);
        sentence_add(out, "%s%s", i == 0 ? "; it may as well be the " : " or the ", name.text);
    }
    if (blame->others > CHECK_OTHERS) sentence_add(out, " (%d explanations in all)", 1 + blame->others);
}

/* Of a link whose one way alone is slow: that. */
static void name_way(sentence *name, const check_findings *f, const check_points *p, const check_blame *blame)
{
    bool way[3] = { false };
    for (int i = 0; i < blame->facets; i++) way[blame->facet[i].role] = true;
    check_candidate from = blame->who;
    if (way[CHECK_OUT] == way[CHECK_IN]) return;
    if (way[CHECK_IN]) from = (check_candidate){ from.part, from.b, from.a };
    name_link(name, f, "link from rank %d to rank %d", from);
}

enum { FACETS_SHOWN = 3 };

void check_slow_text(check_suspect *out, const check_findings *f, const check_points *p,
                     const check_blame *blame)
{
    sentence *e = &out->evidence;
    bool only = blame->who.part == CHECK_GPU;
    check_name(&out->name, f, blame->who);
    if (blame->who.part == CHECK_LINK) name_way(&out->name, f, p, blame);
    for (int i = 0; i < blame->facets; i++) only = only && arithmetic(p->row[blame->facet[i].row].like);
    sentence_set(e, "%s", only ? "only arithmetic is slow: " : "");
    for (int i = 0; i < blame->facets && i < FACETS_SHOWN; i++) {
        if (i > 0) sentence_add(e, "; ");
        add_facet(e, blame, &blame->facet[i], &p->row[blame->facet[i].row]);
    }
    if (blame->facets > FACETS_SHOWN) sentence_add(e, "; and %d more", blame->facets - FACETS_SHOWN);
    if (blame->who.part == CHECK_GPU) add_state(e, f, blame->who.a);
    add_others(e, f, blame);
}
