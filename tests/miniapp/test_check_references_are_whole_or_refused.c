/* A reference is refused with one sentence where it is damaged. What all lie below it by is told of all, if
 * the rate repeats from machine to machine and the reference is of as many ranks; wrong bits are told of
 * whose they are. */
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

#include "support/made_findings.h"

static char path[] = "/tmp/weft_reference_XXXXXX";

static void write_file(const char *text)
{
    FILE *to = fopen(path, "w");
    assert_non_null(to);
    fputs(text, to);
    assert_int_equal(fclose(to), 0);
}

#define HEAD "{\"gpu\": \"X\", \"ranks\": 1, \"hosts\": 1, \"rates\": {"

static void damaged_files(void **state)
{
    static const char rate[] =
        "rates.copy must be {\"low\": above 0, \"high\": no less, \"machines\": 1 or more}";
    static const struct {
        const char *text, *words;
    } damaged[] = {
        { "", "'[' or '{' expected" },
        { HEAD "\"copy\": 4", "'}' expected" },
        { "{\"rates\": {\"copy\": 1}}", "Object item not found: gpu" },
        { HEAD "\"copy\": 1}}", rate },
        { HEAD "\"copy\": {\"low\": 2, \"high\": 1, \"machines\": 2}}}", rate },
    };
    for (size_t i = 0; i < sizeof damaged / sizeof *damaged; i++) {
        check_reference r;
        sentence why, wanted;
        write_file(damaged[i].text);
        assert_false(check_reference_read(path, &r, &why));
        sentence_set(&wanted, "reference = %s: no reference that jobs/check_reference wrote: %s", path,
                     damaged[i].words);
        assert_memory_equal(why.text, wanted.text, strlen(wanted.text));
        assert_null(strchr(why.text, '\n'));
    }
}

static double slower_disk(const made_machine *m, const check_figure *g)
{
    return g->like == CHECK_DISK_WRITE ? m->by : 1;
}
static double slower_copy(const made_machine *m, const check_figure *g)
{
    return g->like == CHECK_COPY ? m->by : 1;
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
                 "{\"gpu\": \"NVIDIA H200\", \"ranks\": %d, \"hosts\": 1, \"rates\": {"
                 "\"copy\": {\"low\": 4.2e12, \"high\": %.6e, \"machines\": %d}, \"disk_write\": {\"low\": "
                 "2.4e9, \"high\": %.6e, \"machines\": %d}}}",
                 m.ranks + more_ranks, 4.2e12 * (1 + spread), machines, 2.4e9 * (1 + spread), machines);
    write_file(text.text);
    assert_true(check_reference_read(path, &r, &text));
    made_findings(&f, m);
    check_judge(&f, &r, &v);
    check_findings_destroy(&f);
    return v;
}

static made_machine made(int ranks, double (*factor)(const made_machine *, const check_figure *), double by)
{
    return (made_machine){ .ranks = ranks,
                           .hosts = 1,
                           .rounds = 2,
                           .load = 0.001,
                           .noise = 0.001,
                           .seed = 99,
                           .factor = factor,
                           .by = by };
}

static void below_the_reference(void **state)
{
    static const struct {
        int ranks;
        double (*factor)(const made_machine *, const check_figure *);
        check_part part;
        int a;
        const char *name;
    } all[] = {
        { 4, slower_disk, CHECK_DISK, -1, "the disk" },
        { 4, slower_copy, CHECK_JOB, -1, "all GPUs alike" },
        { 1, slower_copy, CHECK_GPU, 0, "GPU of rank 0 (node0, GPU-3644657b, 0000:00:00.0)" },
    };
    for (int i = 0; i < 3; i++) {
        const made_machine m = made(all[i].ranks, all[i].factor, 0.8);
        const check_verdict v = beside(m, 0.001, 2, 0);
        assert_int_equal(v.word, CHECK_SLOW);
        assert_int_equal(v.suspect.part, all[i].part);
        assert_int_equal(v.suspect.a, all[i].a);
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
        made_machine m = made(1, slower_copy, all[i].by);
        m.rounds = all[i].rounds;
        const check_verdict v = beside(m, all[i].spread, all[i].machines, 0);
        assert_int_equal(v.suspect.rows, all[i].suspects);
        assert_true(fabs(v.row[0].reference / 4.2e12 / sqrt(1 + all[i].spread) - 1) < 1e-6);
        assert_int_equal(v.row[0].is_judged, i < 2);
    }
}

static void wrong_bits(void **state)
{
    static const struct {
        check_part part;
        int a, b;
        struct {
            check_like like;
            int a, b;
        } fault[3];
    } all[] = {
        { CHECK_GPU, 3, -1, { { CHECK_COPY, 3, -1 }, { CHECK_PATTERNS, 3, -1 } } },
        { CHECK_LINK, 2, 5, { { CHECK_PAIR_ONEWAY, 5, 2 }, { CHECK_PAIR_BOTH, 2, 5 } } },
        { CHECK_GPU,
          2,
          -1,
          { { CHECK_PAIR_ONEWAY, 5, 2 }, { CHECK_READ, 2, -1 }, { CHECK_HEAT_ALL, -1, -1 } } },
        { CHECK_JOB, -1, -1, { { CHECK_HEAT_ALL, -1, -1 }, { CHECK_RING, -1, -1 } } },
        { CHECK_DISK, -1, -1, { { CHECK_CHECKPOINT, -1, -1 } } },
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        check_findings f;
        check_verdict v;
        made_findings(&f, made(8, NULL, 1));
        for (int k = 0; k < 3 && all[i].fault[k].b; k++) {
            check_fault g = { all[i].fault[k].like, all[i].fault[k].a, all[i].fault[k].b, 1, { "" } };
            sentence_set(&g.where, "word 123: wrote 0x5, read 0x4");
            check_findings_add_fault(&f, &g);
        }
        check_judge(&f, &(check_reference){ .name = "" }, &v);
        assert_int_equal(v.word, CHECK_WRONG);
        assert_int_equal(v.suspect.part, all[i].part);
        assert_int_equal(v.suspect.a, all[i].a);
        assert_int_equal(v.suspect.b, all[i].b);
        assert_true(isnan(v.suspect.factor));
        assert_non_null(strstr(v.suspect.evidence.text, ", round 2: word 123: wrote 0x5, read 0x4"));
        check_findings_destroy(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(damaged_files),
                                        cmocka_unit_test(below_the_reference),
                                        cmocka_unit_test(beyond_the_spread_alone),
                                        cmocka_unit_test(wrong_bits) };
    const int fd = mkstemp(path);
    if (fd < 0 || close(fd) != 0) return 1;
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    (void)unlink(path);
    return failed;
}
