/* A reference is written whole, read back the same, used for its own GPU alone and for as many ranks, and refused with one sentence where
 * it is damaged. What all lie below it by is told of all; wrong bits are traced to whoever they have in common. */
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

#include "judge/judge.h"
#include "support/made_findings.h"

static char path[] = "/tmp/weft_reference_XXXXXX";

static made_machine made(int ranks)
{
    return (made_machine){ .ranks = ranks, .hosts = 1, .rounds = 2, .load = 0.001, .noise = 0.001, .seed = 3, .by = 1 };
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
    sentence_set(&wanted, "reference=%s: %s", path, words);
    assert_memory_equal(why.text, wanted.text, strlen(wanted.text));
    assert_null(strchr(why.text, '\n'));
    check_findings_destroy(&f);
}

static void damaged_files(void **state)
{
    (void)state;
    refused("", "no reference that weft check save=FILE wrote: line 1: ");
    refused("{\"gpu\": \"NVIDIA H200\", \"rates\": {\"copy\": 4", "no reference that weft check save=FILE wrote: line 1: ");
    refused("[]", "\"gpu\" must be a name");
    refused("{\"gpu\": \"X\"}", "\"rates\" has no rates");
    refused("{\"gpu\": \"X\", \"rates\": {\"cpoy\": 1}}", "rates.cpoy is nothing that weft check measures");
    refused("{\"gpu\": \"X\", \"rates\": {\"copy\": -1}}", "rates.copy must be a number above 0, in B/s");
    refused("{\"gpu\": \"X\", \"tolerance\": 1.5, \"rates\": {\"copy\": 1}}", "\"tolerance\" must be a fraction from 0 to 1");
    refused("{\"gpu\": \"X\", \"ranks\": -1, \"rates\": {\"copy\": 1}}", "\"ranks\" must be a whole number from 0 on");
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
    assert_true(check_reference_find(&f, NULL, &r, &note)); /* beside the program: inputs/reference/h200.json */
    assert_string_equal(r.name, "h200.json");
    snprintf(f.device_name, sizeof f.device_name, "NVIDIA V1");
    assert_true(check_reference_find(&f, NULL, &r, &note));
    assert_string_equal(r.name, "");
    assert_non_null(strstr(note.text, "there is no reference of NVIDIA V1"));
    check_findings_destroy(&f);
}

static double slower_disk(const made_machine *m, const check_figure *g) { return g->like == CHECK_DISK_WRITE ? m->by : 1; }
static double slower_all(const made_machine *m, const check_figure *g) { return g->like == CHECK_COPY ? m->by : 1; }

static void slow_beside_it(int ranks, double (*factor)(const made_machine *, const check_figure *), check_part part, int a, const char *name)
{
    check_findings f;
    check_verdict v;
    check_reference r;
    sentence why;
    made_machine m = made(4);
    m.ranks = ranks;
    made_findings(&f, m);
    assert_true(check_reference_save(path, &f, &why));
    check_findings_destroy(&f);
    m.factor = factor;
    m.by = 0.8;
    m.seed = 99;
    made_findings(&f, m);
    assert_true(check_reference_find(&f, path, &r, &why));
    assert_int_equal(r.ranks, ranks);
    check_judge(&f, &r, &v);
    assert_int_equal(v.suspects, 1);
    assert_int_equal(v.suspect[0].part, part);
    assert_int_equal(v.suspect[0].a, a);
    assert_string_equal(v.suspect[0].name.text, name);
    assert_float_equal(v.suspect[0].factor, 0.8, 0.01);
    check_verdict_destroy(&v);
    check_judge(&f, NULL, &v);
    assert_int_equal(v.word, CHECK_DELIVERS); /* nothing beside it tells */
    check_verdict_destroy(&v);
    r.ranks++;
    check_judge(&f, &r, &v);
    assert_int_equal(v.suspects, part == CHECK_DISK ? 0 : 1);
    check_verdict_destroy(&v);
    check_findings_destroy(&f);
}

static void below_the_reference(void **state)
{
    (void)state;
    slow_beside_it(4, slower_disk, CHECK_DISK, -1, "the disk");
    slow_beside_it(4, slower_all, CHECK_JOB, -1, "all GPUs alike");
    slow_beside_it(1, slower_all, CHECK_GPU, 0, "GPU of rank 0 (node0, GPU-3644657b, 0000:00:00.0)");
}

static void what_is_not_saved(void **state)
{
    (void)state;
    check_findings f;
    sentence why;
    made_findings(&f, made(1));
    assert_false(check_reference_save("/proc/none/r.json", &f, &why));
    assert_string_equal(why.text, "save=/proc/none/r.json: No such file or directory");
    check_findings_add_fault(&f, (check_fault){ .like = CHECK_COPY, .a = 0, .b = -1 });
    assert_false(check_reference_save(path, &f, &why));
    assert_non_null(strstr(why.text, "this machine gave wrong bits"));
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
    check_verdict_destroy(&v);
    check_findings_destroy(&f);
}
#define TRACED(part, a, b, ...) traced((const wrong[]){ __VA_ARGS__ }, sizeof((const wrong[]){ __VA_ARGS__ }) / sizeof(wrong), part, a, b)

static void wrong_bits(void **state)
{
    (void)state;
    TRACED(CHECK_GPU, 3, -1, { CHECK_COPY, 3, -1 }, { CHECK_PATTERNS, 3, -1 });
    TRACED(CHECK_LINK, 2, 5, { CHECK_PAIR_ONEWAY, 5, 2 }, { CHECK_PAIR_BOTH, 2, 5 });
    TRACED(CHECK_GPU, 5, -1, { CHECK_PAIR_ONEWAY, 5, 2 }, { CHECK_PAIR_ONEWAY, 6, 5 });
    TRACED(CHECK_GPU, 2, -1, { CHECK_PAIR_ONEWAY, 5, 2 }, { CHECK_PATTERNS, 2, -1 }, { CHECK_HEAT_ALL, -1, -1 });
    TRACED(CHECK_JOB, -1, -1, { CHECK_HEAT_ALL, -1, -1 }, { CHECK_RING, -1, -1 });
    TRACED(CHECK_DISK, -1, -1, { CHECK_CHECKPOINT, -1, -1 });
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(damaged_files),       cmocka_unit_test(another_gpu),
                                        cmocka_unit_test(below_the_reference), cmocka_unit_test(what_is_not_saved),
                                        cmocka_unit_test(wrong_bits) };
    const int fd = mkstemp(path);
    if (fd < 0 || close(fd) != 0) return 1;
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    (void)unlink(path);
    return failed;
}
