/* Recorded checks have the verdict that they must have: healthy machines deliver, and where one rank or
 * link was made slower it alone is named. Healthy ranks of a crowded host are not judged: all hides in
 * noise.
 *
 * tests/support/records/checks/ holds files of lines, one line a check: {"slow_rank": 2 or null ("slow_link":
 * [1, 2]), "git": ..., "started": ..., "rounds": [{"figures": ..., "faults": ...}, ...], "ranks": [...]}, the
 * last two as `check` of a record has them, packed by gzip. */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/unit.h"

#include "check/verdict.h"

/* Earlier checks measured each device at once with the others and alone: now GPUs at once, but for copies to
 * and from the host, and processors alone. */
static bool is_measured(const check_findings *f, check_like like, bool alone)
{
    const bool turns = f->device == DEVICE_HOST || like == CHECK_TO_HOST || like == CHECK_FROM_HOST;
    return f->ranks == 1 || like == CHECK_PATTERNS || like >= CHECK_PAIR_ONEWAY || alone == turns;
}

static void read_figure(check_findings *f, json_t *o)
{
    check_figure g = { .round = f->rounds };
    const char *like;
    int alone = 0;
    assert_int_equal(json_unpack(o, "{s:s, s:i, s:i, s:F, s:F, s?b}", "like", &like, "a", &g.a, "b", &g.b,
                                 "rate", &g.rate, "noise", &g.noise, "alone", &alone),
                     0);
    for (; g.like < CHECK_LIKES; g.like++) /* others no check measures any more */
        if (strcmp(check_likes[g.like].key, like) == 0 && is_measured(f, g.like, alone))
            check_findings_add(f, g, NULL);
}

static void read_check(check_findings *f, json_t *o)
{
    json_t *rounds, *round, *one;
    size_t i, k;
    *f = (check_findings){ .device_name = "" };
    assert_int_equal(json_unpack(o, "{s:O, s:o}", "ranks", &f->rank, "rounds", &rounds), 0);
    f->ranks = (int)json_array_size(f->rank);
    f->first_of_host = calloc((size_t)f->ranks, sizeof *f->first_of_host);
    json_array_foreach(f->rank, i, one)
    {
        json_t *const host = json_object_get(one, "host"), *const gpu = json_object_get(one, "gpu");
        int *const first = &f->first_of_host[i];
        while (!json_equal(json_object_get(json_array_get(f->rank, (size_t)*first), "host"), host)) ++*first;
        f->hosts += *first == (int)i;
        if (json_is_string(gpu)) f->device = DEVICE_CUDA, f->device_name = json_string_value(gpu);
    }
    json_array_foreach(rounds, i, round)
    {
        json_array_foreach(json_object_get(round, "figures"), k, one) read_figure(f, one);
        assert_int_equal(json_array_size(json_object_get(round, "faults")), 0);
        f->rounds++;
    }
    assert_true(f->figures > 0);
}

/* Whether the verdict is the one that the line asks for. */
static bool holds(json_t *o, const char *file, int line)
{
    const json_t *rank = json_object_get(o, "slow_rank"), *link = json_object_get(o, "slow_link");
    check_findings f;
    check_verdict v;
    check_reference r = { .name = "" };
    sentence why;
    read_check(&f, o);
    if (f.device == DEVICE_CUDA) {
        const bool newer = strstr(f.device_name, "H200") != NULL;
        const char *const of = newer ? "inputs/reference/h200.json" : "inputs/reference/h100.json";
        assert_true(check_reference_read(of, &r, &why));
        assert_string_equal(r.gpu, f.device_name);
    }
    check_judge(&f, &r, &v);
    const check_word healthy = f.device == DEVICE_CUDA ? CHECK_DELIVERS : CHECK_NOT_JUDGED;
    bool right = (rank || link) && v.word == (json_is_null(rank) ? healthy : CHECK_SLOW);
    if (v.word == CHECK_SLOW)
        right = right && v.suspect.part == (link ? CHECK_LINK : CHECK_GPU) &&
                v.suspect.a == json_integer_value(link ? json_array_get(link, 0) : rank);
    print_message("%s line %d: %s %s%s\n", file, line, check_word_name[v.word], v.suspect.name.text,
                  right ? "" : ", WRONG");
    check_findings_destroy(&f);
    return right;
}

static void all_records(void **state)
{
    glob_t files;
    int wrong = 0;
    assert_int_equal(glob("tests/support/records/checks/*.jsonl.gz", 0, NULL, &files), 0);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        char command[512];
        int line = 0;
        snprintf(command, sizeof command, "gzip -dc %s", files.gl_pathv[i]);
        FILE *const from = popen(command, "r");
        assert_non_null(from);
        for (json_t *o; (o = json_loadf(from, JSON_DISABLE_EOF_CHECK, NULL)); json_decref(o))
            wrong += !holds(o, files.gl_pathv[i], ++line);
        assert_true(pclose(from) == 0 && line > 0);
    }
    globfree(&files);
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(all_records) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
