/* Findings of a machine that is made up: hosts with as many GPUs each, rates that load of others lowers, and
 * what is slower by intent. */
#pragma once

#include <math.h>
#include <stdint.h>
#include <stdio.h>

#include "check/verdict.h"

typedef struct made_machine {
    int ranks, hosts, rounds;
    double load;  /* a rate is its best one times exp(-load |g|), g normal */
    double noise; /* what repeats tell of it */
    uint64_t seed;
    check_like from, to; /* these likes are slower */
    int a, b;  /* of rank a, b = -1: and of its pairs; of a pair a and b; or one way, if that alone is */
    bool host; /* of all ranks of the host of a */
    double by;
    double (*factor)(const struct made_machine *m, const check_figure *figure); /* besides; NULL: 1 */
} made_machine;

static double made_uniform(uint64_t *state) /* splitmix64; (0, 1) */
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return ((double)((z ^ z >> 31) >> 11) + 0.5) / 9007199254740992.0;
}

static double made_normal(uint64_t *state)
{
    const double r = sqrt(-2 * log(made_uniform(state)));
    return r * cos(6.283185307179586 * made_uniform(state));
}

static double made_factor(const made_machine *m, const check_figure *g)
{
    const int each = m->ranks / m->hosts;
    const bool one = m->host ? g->a / each == m->a / each : g->a == m->a || g->b == m->a,
               pair = (g->a == m->a && g->b == m->b) ||
                      (g->a == m->b && g->b == m->a && m->to != CHECK_PAIR_ONEWAY),
               slow = g->like >= m->from && g->like <= m->to && (m->b < 0 ? one : pair);
    return (slow ? m->by : 1) * (m->factor ? m->factor(m, g) : 1);
}

static void made_add(check_findings *f, made_machine *m, check_like like, int a, int b, double rate)
{
    check_figure g = { .like = like, .a = a, .b = b, .noise = m->noise };
    for (; g.round < m->rounds; g.round++) {
        g.rate = rate * exp(-m->load * fabs(made_normal(&m->seed))) * made_factor(m, &g);
        check_findings_add(f, g, NULL);
    }
}

static const check_like made_likes[] = { CHECK_COPY,        CHECK_READ,        CHECK_FMA_F32,
                                         CHECK_FMA_F64,     CHECK_TO_HOST,     CHECK_FROM_HOST,
                                         CHECK_HEAT_SINGLE, CHECK_HEAT_BLOCKS, CHECK_TRANSPOSE,
                                         CHECK_PAIR_ONEWAY, CHECK_PAIR_BOTH,   CHECK_HOST_PAIR,
                                         CHECK_RING,        CHECK_ALLTOALL,    CHECK_HEAT_ALL,
                                         CHECK_DISK_WRITE,  CHECK_CHECKPOINT };

/* The figures of a like: of each rank, each pair of ranks of a host or of first ranks of hosts, or of all. */
static void made_like(check_findings *f, made_machine *m, check_like like)
{
    const double rate = like == CHECK_COPY ? 4.2e12 : like == CHECK_READ ? 4.5e12 : 2.4e9;
    const int each = m->ranks / m->hosts;
    const check_part part = check_likes[like].part;
    const bool pairs = part == CHECK_LINK || part == CHECK_HOST_LINK, single = part == CHECK_GPU;
    if (!pairs && !single) made_add(f, m, like, -1, -1, rate);
    for (int a = 0; a < m->ranks && single; a++) made_add(f, m, like, a, -1, rate);
    for (int a = 0; a < m->ranks && pairs; a++)
        for (int b = 0; b < m->ranks; b++) {
            const bool here = a / each == b / each, firsts = a % each == 0 && b % each == 0;
            if (a == b || (part == CHECK_LINK ? !here : here || !firsts)) continue;
            if (a < b || like == CHECK_PAIR_ONEWAY) made_add(f, m, like, a, b, rate);
        }
}

/* To be destroyed by check_findings_destroy. */
static void made_findings(check_findings *f, made_machine m)
{
    const int each = m.ranks / m.hosts;
    check_findings_create(f, DEVICE_CUDA, m.ranks);
    f->hosts = m.hosts;
    f->rounds = m.rounds;
    snprintf(f->device_name, sizeof f->device_name, "NVIDIA H200");
    for (int r = 0; r < m.ranks; r++) {
        f->rank[r] = (check_rank){ .gpu = "NVIDIA H200", .first_of_host = r / each * each };
        snprintf(f->rank[r].host, sizeof f->rank[r].host, "node%d", r / each);
        snprintf(f->rank[r].uuid, sizeof f->rank[r].uuid, "GPU-%08x-8f06", 0x3644657bu + (unsigned)r);
        snprintf(f->rank[r].pci, sizeof f->rank[r].pci, "0000:%02x:00.0", (unsigned)(r & 255));
    }
    for (size_t i = 0; i < sizeof made_likes / sizeof *made_likes; i++) made_like(f, &m, made_likes[i]);
}

/* Their verdict, by no reference. */
__attribute__((unused)) static check_verdict made_verdict(made_machine m)
{
    check_findings f;
    check_verdict v;
    made_findings(&f, m);
    check_judge(&f, &(check_reference){ .name = "" }, &v);
    check_findings_destroy(&f);
    return v;
}

/* A quiet machine of three rounds. */
static made_machine made(int ranks, int hosts, check_like from, check_like to, int a, int b, double by)
{
    return (made_machine){ ranks,        hosts,    .rounds = 3, .load = 0.001, .noise = 0.001, .seed = 7,
                           .from = from, .to = to, .a = a,      .b = b,        .by = by };
}
#define MADE_GPU CHECK_PATTERNS, CHECK_FROM_HOST
#define MADE_LINK CHECK_PAIR_ONEWAY, CHECK_HOST_PAIR
