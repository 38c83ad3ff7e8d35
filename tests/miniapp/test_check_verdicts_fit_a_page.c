/* The page of a check has no line above 99 columns for any number of ranks, begins with the verdict, and
 * names who is to blame, by which figures. What all lie below the reference by is told of all, if the rate
 * repeats from machine to machine and the reference is of as many ranks; wrong bits are told of whose they
 * are. A reference that is damaged is refused with one sentence. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/terminal.h"
#include "support/made_findings.h"

static const check_reference none = { .name = "" };

/* ---- the page ---- */

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

static void a_machine_that_delivers(void **state)
{
    static const int ranks[] = { 1, 2, 8, 16, 1024 };
    for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++) {
        const bool alone = ranks[i] == 1; /* has no peers */
        check_findings f;
        made_findings(&f, made(ranks[i], ranks[i] < 8 ? 1 : ranks[i] / 8, MADE_GPU, 0, -1, 1));
        sentence_set(&f.not_tried, "ring over nccl: NCCL is not there");
        const check_verdict v =
            paged(&f, &none, alone ? "weft check: not judged\n" : "weft check: delivers\n",
                  "\nnot tried: ring over nccl: NCCL is not there\n");
        assert_int_equal(check_exit_status[v.word], alone ? 4 : 0);
    }
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
    check_findings f;
    check_reference r = { .name = "h200.json", .machines = { [CHECK_COPY] = 2, [CHECK_READ] = 1 } };
    for (int l = 0; l < CHECK_LIKES; l++)
        r.low[l] = r.high[l] = l == CHECK_COPY ? 4.2e12 : l == CHECK_READ ? 5e12 : NAN;
    made_machine m = made(8, 1, MADE_GPU, 3, -1, 0.81);
    m.to = CHECK_HEAT_BLOCKS;
    m.load = 0;
    made_findings(&f, m);
    (void)paged(
        &f, &r, wanted,
        "\nGPU of rank 3 (node0, GPU-3644657e, 0000:03:00.0): 81 %, confidence 1.00: memory copy 81 %;");
    made_findings(&f, m);
    sentence_set(&f.why, "stopped by a signal in round 1");
    const check_verdict v = paged(&f, &none, "weft check: incomplete: stopped by a signal in round 1", "");
    assert_int_equal(check_exit_status[v.word], 3);
}

/* ---- references ---- */

static char path[] = "/tmp/weft_reference_XXXXXX";

static bool reads(const char *text, check_reference *r, sentence *why)
{
    FILE *to = fopen(path, "w");
    assert_true(to && fputs(text, to) >= 0 && fclose(to) == 0);
    return check_reference_read(path, r, why);
}

#define HEAD "{\"gpu\": \"X\", \"ranks\": 1, \"hosts\": 1, \"rates\": {"
#define RATE "rates.copy must be {\"low\": above 0, \"high\": no less, \"machines\": 1 or more}"

static void damaged_files(void **state)
{
    static const char *const damaged[][2] = {
        { "", "'[' or '{' expected" },
        { HEAD "\"copy\": 4", "'}' expected" },
        { "{\"rates\": {\"copy\": 1}}", "Object item not found: gpu" },
        { HEAD "\"copy\": 1}}", RATE },
        { HEAD "\"copy\": {\"low\": 2, \"high\": 1, \"machines\": 2}}}", RATE },
    };
    for (size_t i = 0; i < sizeof damaged / sizeof *damaged; i++) {
        check_reference r;
        sentence why;
        assert_false(reads(damaged[i][0], &r, &why));
        assert_non_null(strstr(why.text, ": no reference that jobs/check_reference wrote: "));
        assert_true(strstr(why.text, damaged[i][1]) && !strchr(why.text, '\n'));
    }
}

/* A machine beside a reference of as many ranks, of `machines` machines that differ by `spread`; copy and
 * disk are the lowest rates. */
static check_verdict beside(made_machine m, double spread, int machines, int more_ranks)
{
    check_findings f;
    check_verdict v;
    check_reference r;
    sentence text;
    sentence_set(&text,
                 HEAD
                 "\"copy\": {\"low\": 4.2e12, \"high\": %.6e, \"machines\": %d}, \"disk_write\": {\"low\": "
                 "2.4e9, \"high\": %.6e, \"machines\": %d}}}",
                 4.2e12 * (1 + spread), machines, 2.4e9 * (1 + spread), machines);
    assert_true(reads(text.text, &r, &text));
    r.ranks = m.ranks + more_ranks;
    made_findings(&f, m);
    check_judge(&f, &r, &v);
    check_findings_destroy(&f);
    return v;
}

static void below_the_reference(void **state)
{
    static const struct {
        int ranks;
        check_like like;
        check_part part;
        int a;
        const char *name;
    } all[] = {
        { 4, CHECK_DISK_WRITE, CHECK_DISK, -1, "the disk" },
        { 4, CHECK_COPY, CHECK_JOB, -1, "all GPUs alike" },
        { 1, CHECK_COPY, CHECK_GPU, 0, "GPU of rank 0 (node0, GPU-3644657b, 0000:00:00.0)" },
    };
    for (int i = 0; i < 3; i++) {
        made_machine m = made(all[i].ranks, 1, all[i].like, all[i].like, 0, -1, 0.8);
        m.host = all[i].like == CHECK_COPY;
        if (all[i].like == CHECK_DISK_WRITE) m.a = -1;
        const check_verdict v = beside(m, 0.001, 2, 0);
        assert_true(v.word == CHECK_SLOW && v.suspect.part == all[i].part && v.suspect.a == all[i].a);
        assert_string_equal(v.suspect.name.text, all[i].name);
        assert_float_equal(v.suspect.factor, 0.8, 0.01);
        assert_int_equal(beside(m, 0.001, 2, 1).word,
                         all[i].part == CHECK_DISK ? CHECK_DELIVERS : CHECK_SLOW);
    }
}

/* Two machines that differ by little, below the lower one by more than 3 %: that alone is slow. */
static void beyond_the_spread_alone(void **state)
{
    static const struct {
        double by, spread;
        int machines, rounds, suspects;
    } all[] = {
        { 0.95, 0.02, 2, 2, 1 }, { 0.98, 0.02, 2, 2, 0 }, /* 4 % below the better one */
        { 0.8, 0.035, 2, 2, 0 },                          /* it does not repeat */
        { 0.8, 0, 1, 2, 0 },                              /* nor is it known to */
        { 0.8, 0, 2, 1, 0 },                              /* the round may have been disturbed */
    };
    for (int i = 0; i < 5; i++) {
        made_machine m = made(1, 1, CHECK_COPY, CHECK_COPY, 0, -1, all[i].by);
        m.rounds = all[i].rounds;
        const check_verdict v = beside(m, all[i].spread, all[i].machines, 0);
        assert_int_equal(v.suspect.rows, all[i].suspects);
        assert_true(fabs(v.row[CHECK_COPY].reference / 4.2e12 / sqrt(1 + all[i].spread) - 1) < 1e-6);
        assert_int_equal(v.row[CHECK_COPY].is_judged, i < 2);
    }
}

/* ---- wrong bits ---- */

/* The smallest part is to blame, and of its faults the first. */
static void wrong_bits(void **state)
{
    static const struct {
        check_part part;
        int a, b;
        struct {
            check_like like;
            int a, b;
        } wrong[3];
        int count;
    } all[] = {
        { CHECK_GPU, 3, -1, { { CHECK_COPY, 3, -1 }, { CHECK_PATTERNS, 3, -1 } }, 2 },
        { CHECK_LINK, 2, 5, { { CHECK_PAIR_ONEWAY, 5, 2 }, { CHECK_PAIR_BOTH, 2, 5 } }, 2 },
        { CHECK_GPU,
          2,
          -1,
          { { CHECK_PAIR_ONEWAY, 5, 2 }, { CHECK_READ, 2, -1 }, { CHECK_RING, -1, -1 } },
          3 },
        { CHECK_JOB, -1, -1, { { CHECK_HEAT_ALL, -1, -1 }, { CHECK_RING, -1, -1 } }, 2 },
        { CHECK_DISK, -1, -1, { { CHECK_CHECKPOINT, -1, -1 } }, 1 },
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        check_findings f;
        made_findings(&f, made(8, 1, MADE_GPU, 0, -1, 1));
        for (int k = 0; k < all[i].count; k++) {
            const check_figure g = { all[i].wrong[k].like, all[i].wrong[k].a, all[i].wrong[k].b, .round = 1,
                                     .rate = NAN };
            check_findings_add(&f, g, "word 123: wrote 0x5, read 0x4");
        }
        const check_verdict v = paged(&f, &none, "weft check: wrong: ", " gives wrong bits\n");
        assert_true(v.suspect.part == all[i].part && v.suspect.a == all[i].a && v.suspect.b == all[i].b);
        assert_true(isnan(v.suspect.factor));
        assert_non_null(strstr(v.suspect.evidence.text, ", round 2: word 123: wrote 0x5, read 0x4"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_machine_that_delivers), cmocka_unit_test(a_slow_gpu),
        cmocka_unit_test(damaged_files),           cmocka_unit_test(below_the_reference),
        cmocka_unit_test(beyond_the_spread_alone), cmocka_unit_test(wrong_bits),
    };
    const int fd = mkstemp(path);
    if (fd < 0 || close(fd) != 0) return 1;
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    (void)unlink(path);
    return failed;
}
