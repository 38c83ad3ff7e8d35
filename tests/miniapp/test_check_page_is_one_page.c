/* The page of a check is at most 40 lines of at most 99 columns for any number of ranks, begins with the
 * verdict, and names who is to blame, by which figures; its record has the same. */
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
#include "check/check_record.h"
#include "support/made_findings.h"

/* To be freed. */
static char *page_of(const check_findings *f, const check_verdict *v, const check_reference *r)
{
    char *text = NULL;
    size_t bytes;
    FILE *to = open_memstream(&text, &bytes);
    assert_non_null(to);
    check_page_print(to, f, v, r);
    assert_int_equal(fclose(to), 0);
    return text;
}

/* words: that are wrapped, of which none is wider than a line. */
static void assert_fits(const char *page, bool words)
{
    int lines = 0;
    for (const char *at = page; *at; at = strchr(at, '\n') + 1, lines++)
        assert_true(!words || strcspn(at, "\n") <= TERMINAL_COLUMNS);
    if (lines > CHECK_PAGE_LINES) print_message("%s", page);
    assert_true(lines <= CHECK_PAGE_LINES);
}

static void assert_begins(const char *page, const char *words)
{
    if (strncmp(page, words, strlen(words)) != 0) print_message("%s", page);
    assert_memory_equal(page, words, strlen(words));
}

static made_machine made(int ranks, int host_count)
{
    return (made_machine){
        .ranks = ranks, .hosts = host_count, .rounds = 2, .load = 0.003, .noise = 0.001, .seed = 5, .by = 0.81
    };
}

static void a_machine_that_delivers(void **state)
{
    (void)state;
    static const int ranks[] = { 1, 2, 8, 16, 1024 };
    for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++) {
        check_findings f;
        check_verdict v;
        made_findings(&f, made(ranks[i], ranks[i] / 8 + (ranks[i] < 8)));
        sentence_set(&f.not_tried, "ring over nccl: NCCL is not there");
        check_judge(&f, NULL, &v);
        char *page = page_of(&f, &v, NULL);
        /* one rank alone has no peers */
        assert_begins(page, ranks[i] > 1 ? "weft check: delivers\n" : "weft check: not judged\n");
        assert_int_equal(check_exit_status(v.word), ranks[i] > 1 ? 0 : 4);
        assert_fits(page, true);
        assert_non_null(strstr(page, "\nnot tried: ring over nccl: NCCL is not there\n"));
        assert_non_null(strstr(page, "\ncheckpoint "));
        free(page);
        made_end(&f, &v);
    }
}

static double slow_everywhere(const made_machine *m, const check_figure *g)
{
    return g->a % 7 == 3 && g->b < 0 ? 0.6 : g->like == CHECK_PAIR_BOTH && g->a % 5 == 0 ? m->by : 1;
}

/* Longer names and sentences than any machine has, more suspects than there is room for. */
static void a_machine_with_many_faults(void **state)
{
    (void)state;
    for (int ranks = 8; ranks <= 1024; ranks *= 8) {
        check_findings f;
        check_verdict v;
        made_machine m = made(ranks, ranks / 8);
        m.factor = slow_everywhere;
        made_findings(&f, m);
        for (int i = 0; i < 50; i++) {
            check_fault g = { .like = (check_like)(i % CHECK_LIKES), .a = i % ranks, .b = -1, .round = 1 };
            memset(g.where.text, i % 3 ? 'w' : ' ', 900);
            check_findings_add_fault(&f, g);
        }
        for (int r = 0; r < ranks; r++) memset(f.rank[r].host, 'h', sizeof f.rank[r].host - 1);
        memset(f.not_tried.text, 'n', sizeof f.not_tried.text - 1);
        for (size_t i = 40; i < sizeof f.not_tried.text - 1; i += 41) f.not_tried.text[i] = ' ';
        check_judge(&f, NULL, &v);
        char *page = page_of(&f, &v, NULL);
        assert_begins(page, "weft check: wrong: GPU of rank 0 (");
        assert_fits(page, false);
        free(page);
        made_end(&f, &v);
    }
}

static const char *const wanted =
    "weft check: slow: GPU of rank 3 (node0, GPU-3644657e, 0000:03:00.0) delivers 81 %\n"
    "8 ranks on 1 host, NVIDIA H200; 2 rounds; figures next to their peers; sees: the smallest deviation\n"
    "    that shows; ref.: h200.json (in brackets: not judged)\n"
    "\n"
    "                              median         least of            at once    ref. noise  sees\n"
    "memory copy                4.20 TB/s     3.40 TB/s rank 3          100 %   100 %   0 %   3 % slow\n"
    "memory read                4.50 TB/s     3.64 TB/s rank 3          100 %  (90 %)   0 %   3 % slow\n";

static void a_slow_gpu(void **state)
{
    (void)state;
    check_findings f;
    check_verdict v;
    check_reference r = { .gpu = "NVIDIA H200",
                          .name = "h200.json",
                          .machines = { [CHECK_COPY] = 2, [CHECK_READ] = 1 } };
    made_machine m = made(8, 1);
    m.factor = made_slow_gpu;
    m.a = 3;
    m.load = 0;
    for (int l = 0; l < CHECK_LIKES; l++)
        r.low[l] = r.high[l] = l == CHECK_COPY ? 4.2e12 : l == CHECK_READ ? 5e12 : NAN;
    made_findings(&f, m);
    f.rank[3].held_by_power = true;
    f.rank[3].clock_mhz = 1410;
    check_judge(&f, &r, &v);
    char *page = page_of(&f, &v, &r);
    assert_begins(page, wanted);
    assert_fits(page, true);
    assert_non_null(strstr(page, "\n1. GPU of rank 3 (node0, GPU-3644657e, 0000:03:00.0): 81 %, confidence "
                                 "1.00: memory copy 81 % (3.40\n"
                                 "   TB/s of 4.20 TB/s); "));
    assert_non_null(strstr(v.suspect[0].evidence.text,
                           "; its power limit holds it down: 1410 MHz (the others 1980), 600 W, 55 C"));
    free(page);
    json_t *o = check_record(&f, &v, 1, "full");
    assert_int_equal(json_array_size(json_object_get(o, "figures")), f.figures / 2);
    assert_int_equal(json_array_size(json_object_get(o, "rows")), v.rows);
    assert_int_equal(json_array_size(json_object_get(o, "ranks")), 8);
    const json_t *suspect = json_array_get(json_object_get(o, "suspects"), 0);
    assert_string_equal(json_string_value(json_object_get(suspect, "part")), "gpu");
    assert_int_equal(json_integer_value(json_object_get(suspect, "a")), 3);
    assert_string_equal(json_string_value(json_object_get(o, "verdict")), "slow");
    json_decref(o);
    made_end(&f, &v);
}

static void an_incomplete_check(void **state)
{
    (void)state;
    check_findings f;
    check_verdict v;
    made_findings(&f, made(4, 1));
    sentence_set(&f.why, "rank 2 (node0) was not heard of for 60 s in memory copy");
    check_judge(&f, NULL, &v);
    char *page = page_of(&f, &v, NULL);
    assert_begins(page, "weft check: incomplete: rank 2 (node0) was not heard of for 60 s in memory copy\n");
    assert_int_equal(check_exit_status(v.word), 3);
    free(page);
    made_end(&f, &v);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(a_machine_that_delivers),
                                        cmocka_unit_test(a_machine_with_many_faults),
                                        cmocka_unit_test(a_slow_gpu), cmocka_unit_test(an_incomplete_check) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
