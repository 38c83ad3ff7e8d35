/* The page of a check has no line above 99 columns for any number of ranks, begins with the verdict, and
 * names who is to blame, by which figures. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/terminal.h"
#include "support/made_findings.h"

/* Judges, and destroys the findings. The page is to be freed. */
static char *page_of(check_findings *f, const check_reference *r, check_verdict *v)
{
    char *text = NULL;
    size_t bytes;
    FILE *to = open_memstream(&text, &bytes);
    assert_non_null(to);
    check_judge(f, r, v);
    check_page_print(to, f, v, r);
    assert_int_equal(fclose(to), 0);
    check_findings_destroy(f);
    return text;
}

static void assert_begins(const char *page, const char *words)
{
    if (strncmp(page, words, strlen(words)) != 0) print_message("%s", page);
    assert_memory_equal(page, words, strlen(words));
}

static made_machine made(int ranks)
{
    return (made_machine){ .ranks = ranks,
                           .hosts = ranks < 8 ? 1 : ranks / 8,
                           .rounds = 2,
                           .load = 0.003,
                           .noise = 0.001,
                           .seed = 5,
                           .by = 0.81 };
}

static const check_reference none = { .name = "" };

static void a_machine_that_delivers(void **state)
{
    static const int ranks[] = { 1, 2, 8, 16, 1024 };
    for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++) {
        check_findings f;
        check_verdict v;
        made_findings(&f, made(ranks[i]));
        sentence_set(&f.not_tried, "ring over nccl: NCCL is not there");
        char *page = page_of(&f, &none, &v);
        /* one rank alone has no peers */
        assert_begins(page, ranks[i] > 1 ? "weft check: delivers\n" : "weft check: not judged\n");
        assert_int_equal(check_exit_status[v.word], ranks[i] > 1 ? 0 : 4);
        for (const char *at = page; *at; at = strchr(at, '\n') + 1)
            assert_true(strcspn(at, "\n") <= TERMINAL_COLUMNS);
        assert_non_null(strstr(page, "\nnot tried: ring over nccl: NCCL is not there\n"));
        free(page);
    }
}

static const char *const wanted =
    "weft check: slow: GPU of rank 3 (node0, GPU-3644657e, 0000:03:00.0) delivers 81 %\n"
    "8 ranks on 1 host, NVIDIA H200; 2 rounds; sees: the smallest deviation that shows; ref.: h200.json\n"
    "    (in brackets: not judged)\n"
    "\n"
    "                              median         least of               ref. noise  sees\n"
    "memory copy                4.20 TB/s     3.40 TB/s rank 3          100 %   0 %   3 % slow\n"
    "memory read                4.50 TB/s     3.64 TB/s rank 3         (90 %)   0 %   3 % slow\n";

static void a_slow_gpu(void **state)
{
    check_findings f;
    check_verdict v;
    check_reference r = { .name = "h200.json", .machines = { [CHECK_COPY] = 2, [CHECK_READ] = 1 } };
    made_machine m = made(8);
    m.factor = made_slow_gpu;
    m.a = 3;
    m.load = 0;
    for (int l = 0; l < CHECK_LIKES; l++)
        r.low[l] = r.high[l] = l == CHECK_COPY ? 4.2e12 : l == CHECK_READ ? 5e12 : NAN;
    made_findings(&f, m);
    char *page = page_of(&f, &r, &v);
    assert_begins(page, wanted);
    assert_non_null(strstr(page, "\nGPU of rank 3 (node0, GPU-3644657e, 0000:03:00.0): 81 %, confidence "
                                 "1.00: memory copy 81 %;"));
    free(page);
}

static void an_incomplete_check(void **state)
{
    check_findings f;
    check_verdict v;
    made_findings(&f, made(4));
    sentence_set(&f.why, "stopped by a signal in round 1");
    char *page = page_of(&f, &none, &v);
    assert_begins(page, "weft check: incomplete: stopped by a signal in round 1\n");
    assert_int_equal(check_exit_status[v.word], 3);
    free(page);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(a_machine_that_delivers),
                                        cmocka_unit_test(a_slow_gpu), cmocka_unit_test(an_incomplete_check) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
