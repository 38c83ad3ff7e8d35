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

static void words_and_statuses(void **state)
{
    static const struct {
        int ranks, hosts;
        const char *why, *words;
        int status;
    } all[] = { { 1, 1, "", "weft check: not judged\n", 4 }, /* it has no peers */
                { 2, 1, "", "weft check: delivers\n", 0 },
                { 16, 2, "", "weft check: delivers\n", 0 },
                { 1024, 128, "", "weft check: delivers\n", 0 },
                { 8, 1, "stopped by a signal", "weft check: incomplete: stopped by a signal\n", 3 } };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        check_findings f;
        made_findings(&f, made(all[i].ranks, all[i].hosts, MADE_GPU, 0, -1, 1));
        sentence_set(&f.why, "%s", all[i].why);
        sentence_set(&f.not_tried, "ring over nccl: NCCL is not there");
        const check_verdict v =
            paged(&f, &none, all[i].words, "\nnot tried: ring over nccl: NCCL is not there\n");
        assert_int_equal(check_exit_status[v.word], all[i].status);
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
    m.load = 0;
    made_findings(&f, m);
    (void)paged(
        &f, &r, wanted,
        "\nGPU of rank 3 (node0, GPU-3644657e, 0000:03:00.0): 81 %, confidence 1.00: memory copy 81 %;");
}

/* The smallest part is to blame, by its first fault. */
static void wrong_bits(void **state)
{
    static const struct {
        check_part part;
        int a, b;
        check_like like[3];
        int of[3][2];
        int count;
    } all[] = {
        { CHECK_GPU, 3, -1, { CHECK_COPY, CHECK_PATTERNS }, { { 3, -1 }, { 3, -1 } }, 2 },
        { CHECK_LINK, 2, 5, { CHECK_PAIR_ONEWAY, CHECK_PAIR_BOTH }, { { 5, 2 }, { 2, 5 } }, 2 },
        { CHECK_GPU,
          2,
          -1,
          { CHECK_PAIR_BOTH, CHECK_READ, CHECK_RING },
          { { 2, 5 }, { 2, -1 }, { -1, -1 } },
          3 },
        { CHECK_JOB, -1, -1, { CHECK_HEAT_ALL }, { { -1, -1 } }, 1 },
        { CHECK_DISK, -1, -1, { CHECK_CHECKPOINT }, { { -1, -1 } }, 1 },
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        check_findings f;
        made_findings(&f, made(8, 1, MADE_GPU, 0, -1, 1));
        for (int k = 0; k < all[i].count; k++) {
            const check_figure g = { all[i].like[k], all[i].of[k][0], all[i].of[k][1], .round = 1,
                                     .rate = NAN };
            check_findings_add(&f, g, "word 123: wrote 0x5, read 0x4");
        }
        const check_verdict v = paged(&f, &none, "weft check: wrong: ", " gives wrong bits\n");
        assert_true(v.suspect.part == all[i].part && v.suspect.a == all[i].a && v.suspect.b == all[i].b);
        assert_non_null(strstr(v.suspect.evidence.text, ", round 2: word 123: wrote 0x5, read 0x4"));
    }
}

/* ---- references ---- */

static char path[] = "/tmp/weft_reference_XXXXXX";

static bool reads(const char *text, check_reference *r, sentence *why)
{
    FILE *to = fopen(path, "w");
    assert_true(to && fputs(text, to) >= 0 && fclose(to) == 0);
    return check_reference_read(path, r, why);
}

#define HEAD "{\"gpu\": \"X\", \"ranks\": 4, \"hosts\": 1, \"rates\": {"

static void damaged_files(void **state)
{
    static const char *const damaged[][2] = {
        { "", "'[' or '{' expected" },
        { HEAD "\"copy\": 4", "'}' expected" },
        { "{\"rates\": {\"copy\": 1}}", "Object item not found: gpu" },
        { HEAD "\"copy\": 1}}", "Expected object, got integer" },
        { HEAD "\"copy\": {\"low\": 2, \"machines\": 2}}}", "Object item not found: high" },
    };
    for (size_t i = 0; i < sizeof damaged / sizeof *damaged; i++) {
        check_reference r;
        sentence why;
        assert_false(reads(damaged[i][0], &r, &why));
        assert_non_null(strstr(why.text, ": no reference that jobs/check_reference wrote: "));
        assert_true(strstr(why.text, damaged[i][1]) && !strchr(why.text, '\n'));
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
        const char *slow; /* NULL: nothing is */
    } all[] = {
        { 4, 2, CHECK_DISK_WRITE, 0.8, 0.001, 2, "the disk" },
        { 5, 2, CHECK_DISK_WRITE, 0.8, 0.001, 2, NULL }, /* a rate of as many ranks alone */
        { 4, 2, CHECK_COPY, 0.8, 0.001, 2, "all GPUs alike" },
        { 1, 2, CHECK_COPY, 0.95, 0.02, 2, "GPU of rank 0 (node0, GPU-3644657b, 0000:00:00.0)" },
        { 1, 2, CHECK_COPY, 0.98, 0.02, 2, NULL }, /* 4 % below the better one */
        { 1, 2, CHECK_COPY, 0.8, 0.035, 2, NULL }, /* it does not repeat */
        { 1, 2, CHECK_COPY, 0.8, 0, 1, NULL },     /* nor is it known to */
        { 1, 1, CHECK_COPY, 0.8, 0, 2, NULL },     /* the round may have been disturbed */
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const bool disk = all[i].like == CHECK_DISK_WRITE;
        const double low = disk ? 2.4e9 : 4.2e12, high = low * (1 + all[i].spread);
        made_machine m = made(all[i].ranks, 1, all[i].like, all[i].like, disk ? -1 : 0, -1, all[i].by);
        check_findings f;
        check_reference r;
        check_verdict v;
        sentence text;
        m.host = !disk;
        m.rounds = all[i].rounds;
        sentence_set(&text, HEAD "\"%s\": {\"low\": %.6e, \"high\": %.6e, \"machines\": %d}}}",
                     check_likes[all[i].like].key, low, high, all[i].machines);
        assert_true(reads(text.text, &r, &text));
        made_findings(&f, m);
        check_judge(&f, &r, &v);
        check_findings_destroy(&f);
        assert_string_equal(v.suspect.name.text, all[i].slow ? all[i].slow : "");
        if (all[i].slow) assert_true(v.word == CHECK_SLOW && fabs(v.suspect.factor - all[i].by) < 0.02);
        if (!disk) assert_true(fabs(v.row[CHECK_COPY].reference / sqrt(low * high) - 1) < 1e-6);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_and_statuses),  cmocka_unit_test(a_slow_gpu),
        cmocka_unit_test(wrong_bits),          cmocka_unit_test(damaged_files),
        cmocka_unit_test(below_the_reference),
    };
    const int fd = mkstemp(path);
    if (fd < 0 || close(fd) != 0) return 1;
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    (void)unlink(path);
    return failed;
}
