/* The part of a made-up machine that is slow is blamed, and nothing else: a GPU in its own figures or in all
 * of its pairs, a link or one way of it, a host in its copies or toward all others, a pair of hosts, for 2 to
 * 1024 ranks, also while load comes and goes. Wrong bits are told of the smallest part. What lies below a
 * reference of as many ranks is told if the rate repeats. The page begins with the verdict, names the part
 * and its figures, and has no line above 99 columns.
 *
 * In machines whose figures scatter by 30 % no part is blamed in 999 of 1000 trials, and what is slower by
 * three times that is in 990; so it is of four ranks whose repeats scatter far more than their rounds, as on
 * a host of fewer cores. Where load halves rates every other time a link that is slower by four is blamed as
 * often, and in two rounds a rank that is so in seven figures of eleven or four of five. Where rounds scatter
 * by 0.4 %, as on quiet GPUs, 5 % are seen. Load that slows all that a rank does in a round is not taken for
 * many slow figures, nor is a host's rank blamed for two kinds of figures alone.
 *
 * release: 1024 ranks; a hundred times as many trials */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/unit.h"

#include "base/terminal.h"
#include "check/verdict.h"
#include "support/chance.h"
#include "support/sanitized.h"

/* ---- a machine: hosts with as many GPUs each, rates that load of others lowers, and what is slower ---- */

typedef struct machine {
    int ranks, hosts;
    check_like from, to; /* these likes are slower */
    int a, b;  /* of rank a, b = -1: and of its pairs; of a pair a and b; or one way, if that alone is */
    double by; /* this much */
    bool host; /* of all ranks of the host of a */
    int rounds;
    double load;  /* a rate is its best one times exp(-load |g|), g normal */
    double noise; /* what repeats tell of it */
    uint64_t seed;
    double (*factor)(const struct machine *m, const check_figure *figure); /* besides; NULL: 1 */
    bool processors;
    check_like end; /* a check has no time for this kind of figures and the next ones; 0: for all */
} machine;
#define OF_GPU CHECK_PATTERNS, CHECK_FROM_HOST
#define OF_LINK CHECK_PAIR_ONEWAY, CHECK_HOST_PAIR
#define QUIET .rounds = 3, .load = 0.001, .noise = 0.001, .seed = 7

static double factor_of(const machine *m, const check_figure *g)
{
    const int each = m->ranks / m->hosts;
    const bool one = m->host ? g->a / each == m->a / each : g->a == m->a || g->b == m->a,
               pair = (g->a == m->a && g->b == m->b) ||
                      (g->a == m->b && g->b == m->a && m->to != CHECK_PAIR_ONEWAY),
               slow = g->like >= m->from && g->like <= m->to && (m->b < 0 ? one : pair);
    return (slow ? m->by : 1) * (m->factor ? m->factor(m, g) : 1);
}

static void add(check_findings *f, machine *m, check_like like, int a, int b)
{
    const double rate = like == CHECK_COPY ? 4.2e12 : like == CHECK_READ ? 4.5e12 : 2.4e9;
    check_figure g = { .like = like, .a = a, .b = b, .noise = m->noise };
    for (; g.round < m->rounds; g.round++) {
        g.rate = rate * exp(-m->load * fabs(normal(&m->seed))) * factor_of(m, &g);
        check_findings_add(f, g, NULL);
    }
}

/* The figures of a like: of each rank, each pair of ranks of a host or of first ranks of hosts, or of all. */
static void add_like(check_findings *f, machine *m, check_like like)
{
    const int each = m->ranks / m->hosts;
    const check_part part = check_likes[like].part;
    const bool pairs = part == CHECK_LINK || part == CHECK_HOST_LINK, single = part == CHECK_GPU;
    if (!pairs && !single) add(f, m, like, -1, -1);
    for (int a = 0; a < m->ranks && single; a++) add(f, m, like, a, -1);
    for (int a = 0; a < m->ranks && pairs; a++)
        for (int b = 0; b < m->ranks; b++) {
            const bool here = a / each == b / each, firsts = a % each == 0 && b % each == 0;
            if (a == b || (part == CHECK_LINK ? !here : here || !firsts)) continue;
            if (a < b || like == CHECK_PAIR_ONEWAY) add(f, m, like, a, b);
        }
}

/* To be destroyed by check_findings_destroy. */
static check_findings findings_of(machine m)
{
    const int each = m.ranks / m.hosts;
    check_findings f = { m.processors ? DEVICE_HOST : DEVICE_CUDA, "NVIDIA H200", m.ranks, m.hosts,
                         .rounds = m.rounds };
    f.first_of_host = calloc((size_t)m.ranks, sizeof *f.first_of_host);
    f.rank = json_array();
    for (int r = 0; r < m.ranks; r++) {
        char host[32], uuid[32], pci[32];
        snprintf(host, sizeof host, "node%d", r / each);
        snprintf(uuid, sizeof uuid, "GPU-%08x-8f06", 0x3644657bu + (unsigned)r);
        snprintf(pci, sizeof pci, "0000:%02x:00.0", (unsigned)(r & 255));
        json_array_append_new(f.rank, json_pack("{s:s, s:s, s:s}", "host", host, "uuid", uuid, "pci", pci));
        f.first_of_host[r] = r / each * each;
    }
    for (int l = CHECK_COPY; l < (m.end ? (int)m.end : CHECK_LIKES); l++)
        if ((l <= CHECK_RING || l >= CHECK_HEAT_ALL) && l != CHECK_TRANSPOSE_ALL)
            add_like(&f, &m, (check_like)l);
    return f;
}

static const check_reference none = { .name = "" };

/* Judges, and destroys the findings. Its page begins with these words. */
static check_verdict paged(check_findings *f, const check_reference *r, const char *words, const char *within)
{
    check_verdict v;
    char *text = NULL;
    size_t bytes;
    FILE *to = open_memstream(&text, &bytes);
    check_judge(f, r, &v);
    check_page_print(to, f, &v, r);
    assert_int_equal(fclose(to), 0);
    if (strncmp(text, words, strlen(words)) != 0 || !strstr(text, within)) fail_msg("%s", text);
    for (const char *at = text; *at; at = strchr(at, '\n') + 1)
        assert_true(strcspn(at, "\n") <= TERMINAL_COLUMNS);
    check_findings_destroy(f);
    free(text);
    return v;
}

static check_verdict verdict_of(machine m)
{
    check_findings f = findings_of(m);
    return paged(&f, &none, "weft check: ", "");
}

/* ---- one machine at a time ---- */

static double slow_odd_rounds(const machine *m, const check_figure *g) { return g->round % 2 ? 1 : 0.5; }
static double good_in_the_first(const machine *m, const check_figure *g)
{
    return g->round == 0 && g->like <= m->to && g->a == m->a ? 1 / m->by : 1;
}
static double gpu_2_by_less(const machine *m, const check_figure *g)
{
    return g->a == 2 && g->b < 0 ? (1 + m->by) / 2 : 1;
}

/* The suspect is that part, whose name begins so. */
static void blamed(machine m, check_part part, int a, int b, const char *name)
{
    const check_verdict v = verdict_of(m);
    const check_suspect *s = &v.suspect;
    if (v.word != CHECK_SLOW || s->part != part || s->a != a || s->b != b ||
        strncmp(s->name.text, name, strlen(name)) != 0)
        fail_msg("%d ranks, %s: %s", m.ranks, s->name.text, s->evidence.text);
    assert_float_equal(s->factor, m.by, 0.03);
}

static void of_a_machine(int n, int hosts)
{
    const int each = n / hosts, third = n > 3 ? 3 : 1, last = n - each;
    const char *const link = "link of ranks 0 and 1 (node0)";
    const machine pairs_of_2 = { n, hosts, CHECK_PAIR_ONEWAY, CHECK_PAIR_BOTH, 2, -1, 0.5, QUIET };
#define BLAMED(PART, A, B, NAME, ...) blamed((machine){ n, hosts, __VA_ARGS__, QUIET }, PART, A, B, NAME)
#define DELIVERS(...) \
    assert_int_equal(verdict_of((machine){ n, hosts, __VA_ARGS__, QUIET }).word, CHECK_DELIVERS)
    DELIVERS(OF_GPU, 1, -1, 1);
    DELIVERS(OF_GPU, 1, -1, 0.6, .factor = good_in_the_first);
    DELIVERS(CHECK_FMA_F32, CHECK_FMA_F64, 0, -1, 0.7, .processors = true);
    BLAMED(CHECK_GPU, third, -1, "GPU of rank ", OF_GPU, third, -1, 0.81);
    BLAMED(CHECK_GPU, 0, -1, "GPU of rank 0 (node0, GPU-36", CHECK_FMA_F32, CHECK_FMA_F64, 0, -1, 0.7);
    /* With two ranks on a host nothing tells the GPU from its link. */
    if (each > 2) blamed(pairs_of_2, CHECK_GPU, 2, -1, "GPU of rank 2 (");
    else if (n > 2 && each > 1) assert_true(verdict_of(pairs_of_2).suspect.confidence < 0.5);
    if (n > 2 && each > 1) {
        BLAMED(CHECK_LINK, 0, 1, link, OF_LINK, 0, 1, 0.6);
        BLAMED(CHECK_LINK, 0, 1, link, OF_LINK, 0, 1, 0.6, .factor = slow_odd_rounds);
        BLAMED(CHECK_LINK, 0, 1, link, CHECK_PAIR_ONEWAY, CHECK_PAIR_ONEWAY, 1, 0, 0.6);
    }
    if (hosts == 1) return;
    /* With one GPU on a host nothing tells them apart, and the GPU is blamed. */
    BLAMED(each > 1 ? CHECK_HOST : CHECK_GPU, last, -1, each > 1 ? "host node" : "GPU of rank ",
           CHECK_TO_HOST, CHECK_FROM_HOST, last, -1, 0.5, true);
    if (hosts < 3) return;
    BLAMED(CHECK_HOST, each, -1, "host node1 (ranks from ", CHECK_HOST_PAIR, CHECK_HOST_PAIR, each, -1, 0.5);
    BLAMED(CHECK_HOST_LINK, 0, 2 * each, "link of hosts node0 and node2", OF_LINK, 0, 2 * each, 0.5);
}

static void all_machines(void **state)
{
    static const int ranks[] = { 2, 3, 4, 8, 16, 4, 8, 1024 }, hosts[] = { 1, 1, 1, 1, 2, 4, 4, 128 };
    for (size_t i = 0; i < sizeof ranks / sizeof *ranks - SANITIZED; i++) of_a_machine(ranks[i], hosts[i]);
    blamed((machine){ 8, 1, OF_GPU, 5, -1, 0.6, .factor = gpu_2_by_less, QUIET }, CHECK_GPU, 5, -1,
           "GPU of rank 5 ");
}

/* ---- many machines with noise ---- */

/* Another program beside a rank slows all of its rates of a round alike. */
static double rank_slowed[8][8];

static double with_its_rank(const machine *m, const check_figure *g)
{
    const double a = g->a < 0 ? 1 : rank_slowed[g->a][g->round];
    return g->b < 0 ? a : fmin(a, rank_slowed[g->b][g->round]);
}

/* Reads are steady; all other figures scatter by half. */
static double steady_read(const machine *m, const check_figure *g)
{
    return g->like == CHECK_READ ? 1 : sqrt(uniform(&(uint64_t){ m->seed }));
}

/* In how many trials the verdict is right: no part is slow, or one of its ranks, or its link to the last one.
 */
static const struct {
    machine of;     /* by: how slow a part is, if one is */
    bool gpu, link; /* trials of one are made */
} kinds[] = {
    { { 8, 1, OF_GPU, .by = 0.4066, .rounds = 4, .load = 0.3 }, true, true },
    { { 2, 1, OF_GPU, .rounds = 2, .load = 0.3, .noise = 0.1 }, false, false },
    { { 4, 1, OF_GPU, .by = 0.5, .rounds = 3, .load = 0.1, .noise = 10 }, true, true },
    { { 4, 1, OF_GPU, .by = 0.25, .rounds = 8, .load = 1 }, false, false }, /* rates halve every other time */
    { { 4, 1, CHECK_COPY, CHECK_TRANSPOSE, .by = 0.25, .rounds = 2, .load = 0.5 }, true, false },
    { { 4, 1, CHECK_COPY, CHECK_FMA_F64, .by = 0.25, .rounds = 2, .load = 0.5, .end = CHECK_HEAT_BLOCKS },
      true, false },
    { { 4, 1, CHECK_READ, CHECK_READ, .by = 0.965, .factor = steady_read, QUIET }, true, false },
    { { 2, 1, OF_GPU, .by = 1 / 1.05, .rounds = 3, .load = 0.004 }, true, false }, /* two quiet GPUs */
    { { 4, 1, OF_GPU, .rounds = 7, .load = 0.03, .factor = with_its_rank }, false, false },
};

static void in_many(int kind, check_part part)
{
    enum { TRIALS = SANITIZED ? 10 : 1000 };
    int right = 0;
    for (int i = 0; i < TRIALS; i++) {
        machine m = kinds[kind].of;
        m.a = i % (part == CHECK_LINK ? m.ranks - 1 : m.ranks);
        m.b = -1;
        m.seed = 1000003u * (uint64_t)i + 17;
        if (part == CHECK_JOB) m.by = 1;
        if (part == CHECK_LINK) m.from = CHECK_PAIR_ONEWAY, m.to = CHECK_HOST_PAIR, m.b = m.ranks - 1;
        for (uint64_t k = 0; k < 64; k++)
            rank_slowed[k / 8][k % 8] = pow(uniform(&(uint64_t){ m.seed + k }), 0.1);
        const check_verdict v = verdict_of(m);
        right += part == CHECK_JOB ? !v.suspect.name.text[0]
                                   : v.word == CHECK_SLOW && v.suspect.part == part && v.suspect.a == m.a &&
                                         v.suspect.b == m.b &&
                                         (m.factor != steady_read || fabs(v.suspect.factor - m.by) < 0.03);
    }
    print_message("%d of %d\n", right, TRIALS);
    assert_true(right >= TRIALS * (part == CHECK_JOB ? 0.999 : 0.99));
}

static void noisy_machines(void **state)
{
    for (int kind = 0; kind < (int)(sizeof kinds / sizeof *kinds); kind++) {
        in_many(kind, CHECK_JOB);
        if (kinds[kind].gpu) in_many(kind, CHECK_GPU);
        if (kinds[kind].link) in_many(kind, CHECK_LINK);
    }
}

/* ---- the page ---- */

static void said(int ranks, int hosts, const char *why, const char *words, int status)
{
    check_findings f = findings_of((machine){ ranks, hosts, OF_GPU, 0, -1, 1, QUIET });
    sentence_set(&f.why, "%s", why);
    sentence_set(&f.not_tried, "ring over nccl: NCCL is not there");
    const check_verdict v = paged(&f, &none, words, "\nnot tried: ring over nccl: NCCL is not there\n");
    assert_int_equal(check_exit_status[v.word], status);
}

static void words_and_statuses(void **state)
{
    said(1, 1, "", "weft check: not judged\n", 4); /* it has no peers */
    said(1024, 128, "", "weft check: delivers\n", 0);
    said(8, 1, "stopped by a signal", "weft check: incomplete: stopped by a signal\n", 3);
}

static const char *const wanted =
    "weft check: slow: GPU of rank 3 (node0, GPU-3644657e, 0000:03:00.0) delivers 81 %\n"
    "8 ranks on 1 host, NVIDIA H200; 3 rounds; sees: the smallest deviation that shows; ref.: h200.json\n"
    "    (in brackets: not judged)\n"
    "\n"
    "                              median         least of               ref. noise  sees\n"
    "memory copy                4.20 TB/s     3.40 TB/s rank 3          100 %   0 %   3 % slow\n"
    "memory read                4.50 TB/s     3.64 TB/s rank 3         (90 %)   0 %   3 % slow\n";

static void a_slow_gpu(void **state)
{
    check_reference r = { .name = "h200.json", .ranks = 4, .hosts = 1 };
    r.low[CHECK_COPY] = r.high[CHECK_COPY] = 4.2e12, r.machines[CHECK_COPY] = 2;
    r.low[CHECK_READ] = r.high[CHECK_READ] = 5e12, r.machines[CHECK_READ] = 1;
    check_findings f = findings_of((machine){ 8, 1, OF_GPU, 3, -1, 0.81, .rounds = 3, .noise = 0.001 });
    const char *const one =
        "\nGPU of rank 3 (node0, GPU-3644657e, 0000:03:00.0): 81 %, confidence 1.00: memory copy 81 %;";
    assert_int_equal(check_exit_status[paged(&f, &r, wanted, one).word], 1);
}

/* The smallest part is to blame, by its first fault. */
static void wrong_bits(void **state)
{
    static const struct {
        check_part part;
        int a, b;
        check_figure wrong[3];
    } all[] = {
#define WRONG(...) { __VA_ARGS__, .round = 1, .rate = NAN }
        { CHECK_GPU, 3, -1, { WRONG(CHECK_COPY, 3, -1), WRONG(CHECK_PATTERNS, 3, -1) } },
        { CHECK_LINK, 2, 5, { WRONG(CHECK_PAIR_ONEWAY, 5, 2), WRONG(CHECK_PAIR_BOTH, 2, 5) } },
        { CHECK_GPU, 2, -1,
          { WRONG(CHECK_PAIR_BOTH, 2, 5), WRONG(CHECK_READ, 2, -1), WRONG(CHECK_RING, -1, -1) } },
        { CHECK_JOB, -1, -1, { WRONG(CHECK_HEAT_ALL, -1, -1) } },
        { CHECK_DISK, -1, -1, { WRONG(CHECK_CHECKPOINT, -1, -1) } },
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        check_findings f = findings_of((machine){ 8, 1, OF_GPU, 0, -1, 1, QUIET });
        for (int k = 0; k < 3 && isnan(all[i].wrong[k].rate); k++)
            check_findings_add(&f, all[i].wrong[k], "word 123: wrote 0x5, read 0x4");
        const check_verdict v = paged(&f, &none, "weft check: wrong: ", " gives wrong bits\n");
        assert_true(v.suspect.part == all[i].part && v.suspect.a == all[i].a && v.suspect.b == all[i].b);
        assert_non_null(strstr(v.suspect.evidence.text, ", round 2: word 123: wrote 0x5, read 0x4"));
    }
}

/* Beside a reference of four ranks, whose lowest rate is that of the machine where nothing is slower. One of
 * two machines or more that differ by little repeats; what lies below its lower one by more than 3 % is slow.
 */
static void below_the_reference(void **state)
{
    static const struct {
        int ranks, rounds;
        check_like like;
        double by, spread;
        int machines;
        const char *slow; /* "": nothing is */
    } all[] = {
        { 4, 2, CHECK_DISK_WRITE, 0.8, 0.001, 2, "the disk" },
        { 5, 2, CHECK_DISK_WRITE, 0.8, 0.001, 2, "" }, /* a rate of as many ranks alone */
        { 4, 2, CHECK_COPY, 0.8, 0.001, 2, "all GPUs alike" },
        { 1, 2, CHECK_COPY, 0.95, 0.02, 2, "GPU of rank 0 (node0, GPU-3644657b, 0000:00:00.0)" },
        { 1, 2, CHECK_COPY, 0.98, 0.02, 2, "" }, /* 4 % below the better one */
        { 1, 2, CHECK_COPY, 0.8, 0.035, 2, "" }, /* it does not repeat */
        { 1, 2, CHECK_COPY, 0.8, 0, 1, "" },     /* nor is it known to */
        { 1, 1, CHECK_COPY, 0.8, 0, 2, "" },     /* the round may have been disturbed */
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const bool disk = all[i].like == CHECK_DISK_WRITE;
        const double low = disk ? 2.4e9 : 4.2e12, high = low * (1 + all[i].spread);
        check_reference r = { .name = "h200.json", .ranks = 4, .hosts = 1 };
        r.low[all[i].like] = low, r.high[all[i].like] = high, r.machines[all[i].like] = all[i].machines;
        machine m = { all[i].ranks, 1, all[i].like, all[i].like, disk ? -1 : 0, -1, all[i].by, !disk, QUIET };
        m.rounds = all[i].rounds;
        check_findings f = findings_of(m);
        const check_verdict v = paged(&f, &r, "weft check: ", "");
        assert_string_equal(v.suspect.name.text, all[i].slow);
        if (all[i].slow[0]) assert_true(v.word == CHECK_SLOW && fabs(v.suspect.factor - all[i].by) < 0.02);
        if (!disk) assert_true(fabs(v.row[CHECK_COPY].reference / sqrt(low * high) - 1) < 1e-6);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_machines),       cmocka_unit_test(noisy_machines),
        cmocka_unit_test(words_and_statuses), cmocka_unit_test(a_slow_gpu),
        cmocka_unit_test(wrong_bits),         cmocka_unit_test(below_the_reference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
