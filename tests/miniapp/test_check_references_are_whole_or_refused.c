/* A reference is used for its own GPU alone and for as many ranks, and refused with one sentence where it is
 * damaged. What all lie below it by is told of all, if the rate repeats from machine to machine; wrong bits
 * are traced to whoever they have in common. */
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

#include "check/verdict.h"
#include "check/findings.h"
#include "support/made_findings.h"

static char path[] = "/tmp/weft_reference_XXXXXX";

static made_machine made(int ranks)
{
    return (made_machine){
        .ranks = ranks, .hosts = 1, .rounds = 2, .load = 0.001, .noise = 0.001, .seed = 3, .by = 1
    };
}

static void write_file(const char *text)
{
    FILE *to = fopen(path, "w");
    assert_non_null(to);
    fputs(text, to);
    assert_int_equal(fclose(to), 0);
}

static void refused(const char *text, const char *words)
{
    check_findings f;
    check_reference r;
    sentence why, wanted;
    write_file(text);
    made_findings(&f, made(1));
    assert_false(check_reference_find(&f, path, &r, &why));
    sentence_set(&wanted, "reference=%s: no reference that jobs/check_reference wrote: %s", path, words);
    assert_memory_equal(why.text, wanted.text, strlen(wanted.text));
    assert_null(strchr(why.text, '\n'));
    check_findings_destroy(&f);
}

static void damaged_files(void **state)
{
    (void)state;
    refused("", "'[' or '{' expected");
    refused("{\"gpu\": \"NVIDIA H200\", \"rates\": {\"copy\": 4", "'}' expected");
    refused("{\"rates\": {\"copy\": 1}}", "Object item not found: gpu");
    refused("{\"gpu\": \"X\", \"rates\": {}}", "it has no rates");
    refused("{\"gpu\": \"X\", \"rates\": {\"cpoy\": 1}}", "rates.cpoy is nothing that weft check measures");
    static const char rate[] =
        "rates.copy must be {\"low\": above 0, \"high\": no less, \"machines\": 1 or more}, in B/s";
    refused("{\"gpu\": \"X\", \"rates\": {\"copy\": -1}}", rate);
    refused("{\"gpu\": \"X\", \"rates\": {\"copy\": {\"low\": 2, \"high\": 1, \"machines\": 2}}}", rate);
    refused("{\"gpu\": \"X\", \"ranks\": \"1\", \"rates\": {\"copy\": 1}}", "Expected integer, got string");
}

static void another_gpu(void **state)
{
    (void)state;
    check_findings f;
    check_reference r;
    sentence note;
    made_findings(&f, made(1));
    write_file("{\"gpu\": \"NVIDIA H100\", \"rates\": {\"copy\": 1e12}}");
    assert_true(check_reference_find(&f, path, &r, &note));
    assert_string_equal(r.name, "");
    assert_non_null(strstr(note.text, "is of NVIDIA H100 and is not used: this is NVIDIA H200"));
    assert_true(check_reference_find(&f, "none", &r, &note));
    assert_string_equal(r.name, "");
    assert_string_equal(note.text, "");
    assert_true(check_reference_find(&f, NULL, &r, &note)); /* beside the program:
                                                             * inputs/reference/h200.json */
    assert_string_equal(r.name, "h200.json");
    snprintf(f.device_name, sizeof f.device_name, "NVIDIA V1");
    assert_true(check_reference_find(&f, NULL, &r, &note));
    assert_string_equal(r.name, "");
    assert_non_null(strstr(note.text, "there is no reference of NVIDIA V1"));
    check_findings_destroy(&f);
}

static double slower_disk(const made_machine *m, const check_figure *g)
{
    return g->like == CHECK_DISK_WRITE ? m->by : 1;
}
static double slower_copy(const made_machine *m, const check_figure *g)
{
    return g->like == CHECK_COPY ? m->by : 1;
}

/* A reference of `machines` machines that differ by `spread`; copy and disk are the lowest rates. */
static void write_reference(const made_machine *m, double copy, double disk, double spread, int machines)
{
    sentence text;
    sentence_set(&text,
                 "{\"gpu\": \"NVIDIA H200\", \"ranks\": %d, \"hosts\": 1, \"rates\": {"
                 "\"copy\": {\"low\": %.6e, \"high\": %.6e, \"machines\": %d}, \"disk_write\": {\"low\": "
                 "%.6e, \"high\": %.6e, \"machines\": %d}}}",
                 m->ranks, copy, copy * (1 + spread), machines, disk, disk * (1 + spread), machines);
    write_file(text.text);
}

/* A made machine beside its reference, which is returned. The caller destroys the findings and the verdict.
 * */
static check_reference judge_beside(made_machine m, double spread, int machines, check_findings *f,
                                    check_verdict *v)
{
    check_reference r;
    sentence why;
    write_reference(&m, 4.2e12, 2.4e9, spread, machines);
    made_findings(f, m);
    assert_true(check_reference_find(f, path, &r, &why));
    assert_int_equal(r.ranks, m.ranks);
    check_judge(f, &r, v);
    return r;
}

/* How many suspects a machine has that copies at `by` of the reference's lowest rate. */
static int suspects_beside(double by, double spread, int machines, int rounds)
{
    check_findings f;
    check_verdict v;
    made_machine m = made(1);
    m.factor = slower_copy;
    m.by = by;
    m.rounds = rounds;
    (void)judge_beside(m, spread, machines, &f, &v);
    const int suspects = v.suspects;
    const check_row *alone = &v.row[1];
    assert_true(alone->like == CHECK_COPY && alone->alone &&
                fabs(alone->reference / 4.2e12 / sqrt(1 + spread) - 1) < 1e-6);
    assert_int_equal(alone->is_judged, machines > 1 && rounds > 1 && spread <= CHECK_LEAST_DIFFERENCE);
    made_end(&f, &v);
    return suspects;
}

static void slow_beside_it(int ranks, double (*factor)(const made_machine *, const check_figure *),
                           check_part part, int a, const char *name)
{
    check_findings f;
    check_verdict v;
    made_machine m = made(4);
    m.ranks = ranks;
    m.factor = factor;
    m.by = 0.8;
    m.seed = 99;
    check_reference r = judge_beside(m, 0.001, 2, &f, &v);
    assert_int_equal(v.suspects, 1);
    assert_int_equal(v.suspect[0].part, part);
    assert_int_equal(v.suspect[0].a, a);
    assert_string_equal(v.suspect[0].name.text, name);
    assert_float_equal(v.suspect[0].factor, 0.8, 0.01);
    check_verdict_destroy(&v);
    check_judge(&f, NULL, &v);
    /* nothing beside it tells */
    assert_int_equal(v.word, ranks > 1 ? CHECK_DELIVERS : CHECK_NOT_JUDGED);
    check_verdict_destroy(&v);
    r.ranks++;
    check_judge(&f, &r, &v);
    assert_int_equal(v.suspects, part == CHECK_DISK ? 0 : 1);
    made_end(&f, &v);
}

static void below_the_reference(void **state)
{
    (void)state;
    slow_beside_it(4, slower_disk, CHECK_DISK, -1, "the disk");
    slow_beside_it(4, slower_copy, CHECK_JOB, -1, "all GPUs alike");
    slow_beside_it(1, slower_copy, CHECK_GPU, 0, "GPU of rank 0 (node0, GPU-3644657b, 0000:00:00.0)");
}

/* Two machines that differ by little, below the lower one by more than 3 %: that alone is slow. */
static void beyond_the_spread_alone(void **state)
{
    (void)state;
    assert_int_equal(suspects_beside(0.95, 0.02, 2, 2), 1);
    assert_int_equal(suspects_beside(0.98, 0.02, 2, 2), 0); /* 4 % below the better one */
    assert_int_equal(suspects_beside(0.8, 0.035, 2, 2), 0); /* it does not repeat */
    assert_int_equal(suspects_beside(0.8, 0, 1, 2), 0);     /* nor is it known to */
    assert_int_equal(suspects_beside(0.8, 0, 2, 1), 0);     /* the round may have been disturbed */
}

/* A file of 1.0.0: one machine's rates, which are shown and not judged. */
static void a_file_of_1_0_0(void **state)
{
    (void)state;
    check_findings f;
    check_reference r;
    sentence note;
    made_findings(&f, made(1));
    write_file("{\"gpu\": \"NVIDIA H200\", \"measured\": \"once\", \"ranks\": 1, \"hosts\": 1, "
               "\"tolerance\": 0.05, \"rates\": {\"copy\": 4.2e12}}");
    assert_true(check_reference_find(&f, path, &r, &note));
    assert_float_equal(r.low[CHECK_COPY], 4.2e12, 1);
    assert_int_equal(r.machines[CHECK_COPY], 1);
    assert_false(check_reference_repeats(&r, CHECK_COPY));
    check_findings_destroy(&f);
}

/* ---- wrong bits ---- */

typedef struct wrong {
    check_like like;
    int a, b;
} wrong;

static void traced(const wrong *w, int faults, check_part part, int a, int b)
{
    check_findings f;
    check_verdict v;
    made_findings(&f, made(8));
    for (int i = 0; i < faults; i++) {
        check_fault g = { .like = w[i].like, .a = w[i].a, .b = w[i].b, .round = 1 };
        sentence_set(&g.where, "word 123: wrote 0x5, read 0x4");
        check_findings_add_fault(&f, g);
    }
    check_judge(&f, NULL, &v);
    assert_int_equal(v.word, CHECK_WRONG);
    assert_int_equal(v.suspects, 1);
    assert_int_equal(v.suspect[0].part, part);
    assert_int_equal(v.suspect[0].a, a);
    assert_int_equal(v.suspect[0].b, b);
    assert_true(isnan(v.suspect[0].factor));
    assert_non_null(strstr(v.suspect[0].evidence.text, ", round 2"));
    assert_non_null(strstr(v.suspect[0].evidence.text, "word 123: wrote 0x5, read 0x4"));
    made_end(&f, &v);
}
#define TRACED(part, a, b, ...) \
    traced((const wrong[]){ __VA_ARGS__ }, sizeof((const wrong[]){ __VA_ARGS__ }) / sizeof(wrong), part, a, b)

static void wrong_bits(void **state)
{
    (void)state;
    TRACED(CHECK_GPU, 3, -1, { CHECK_COPY, 3, -1 }, { CHECK_PATTERNS, 3, -1 });
    TRACED(CHECK_LINK, 2, 5, { CHECK_PAIR_ONEWAY, 5, 2 }, { CHECK_PAIR_BOTH, 2, 5 });
    TRACED(CHECK_GPU, 5, -1, { CHECK_PAIR_ONEWAY, 5, 2 }, { CHECK_PAIR_ONEWAY, 6, 5 });
    TRACED(CHECK_GPU, 2, -1, { CHECK_PAIR_ONEWAY, 5, 2 }, { CHECK_PATTERNS, 2, -1 },
           { CHECK_HEAT_ALL, -1, -1 });
    TRACED(CHECK_JOB, -1, -1, { CHECK_HEAT_ALL, -1, -1 }, { CHECK_RING, -1, -1 });
    TRACED(CHECK_DISK, -1, -1, { CHECK_CHECKPOINT, -1, -1 });
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(damaged_files),       cmocka_unit_test(another_gpu),
        cmocka_unit_test(below_the_reference), cmocka_unit_test(beyond_the_spread_alone),
        cmocka_unit_test(a_file_of_1_0_0),     cmocka_unit_test(wrong_bits)
    };
    const int fd = mkstemp(path);
    if (fd < 0 || close(fd) != 0) return 1;
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    (void)unlink(path);
    return failed;
}
