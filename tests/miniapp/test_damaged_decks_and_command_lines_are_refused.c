/* Whatever a deck or a command line holds, reading it ends: with a config that its resolved deck gives again,
 * or with one sentence, and leaves no memory behind. Sound inputs are changed by chance, with bits, words of
 * the language in wrong places, pieces cut out or repeated. WEFT_FUZZ_DECKS and WEFT_FUZZ_LINES say how many.
 * release: the memory that decks and lines take */
#include <sys/resource.h>
#include <unistd.h>

#include "config/config.h"
#include "config/request.h"
#include "support/plain_deck.h"
#include "support/problem_harness.h"
#include "support/sanitized.h"

static const char *const words[] = {
    "[problem]",    "[grid]",  "\n[time]\n", "[run]", "]",    "[",      "=",      " = ",  "\n",
    "\n ",          ";",       " ;",         "#",     "|",    "\r\n",   "-1",     "0",    "1e999",
    "nan",          "inf",     "0x10",       "1e-320", "true", "none",  "/",      "../..", ":/",
    "%s%n",         "\xff\xfe", "\xc3\xa9",  "9223372036854775807",     "-9223372036854775808",
    "18446744073709551616", "periodic", "neumann", "dirichlet 1", "dirichlet",
    "\\", " b", "#1", " #", ";;", "final = \\; z",
};

enum { INPUT_MAX = 1 << 16, GROWTH_KIB = 512 };
static char input[INPUT_MAX + 1], changed[INPUT_MAX + 1]; /* changed: the same, for a failure */
static size_t count;                                      /* of its bytes */

/* Puts text in place of `gone` bytes at `at`, as far as there is room. */
static void replace(size_t at, size_t gone, const char *text, size_t bytes)
{
    if (count - gone + bytes > INPUT_MAX) return;
    memmove(input + at + bytes, input + at + gone, count - at - gone);
    memcpy(input + at, text, bytes);
    count += bytes - gone;
}

static void change(void)
{
    char piece[64];
    const size_t at = chance(count + 1), left = count - at,
                 run = left ? 1 + chance(left < 64 ? left : 64) : 0;
    const uint64_t what = chance(6);
    const char *const key = config_table[chance(config_table_count)].key,
                      *const any = words[chance(sizeof words / sizeof *words)],
                      *const put = ((const char *[]){ key, strchr(key, '.') + 1, any })[chance(3)];
    memcpy(piece, input + at, run);
    if (what == 0 && left) input[at] = (char)(input[at] ^ 1 << chance(8));
    else if (what == 1) replace(at, run, "", 0);
    else if (what == 2) replace(chance(count + 1), 0, piece, run);
    else replace(at, what == 3 ? run : 0, put, strlen(put));
}

/* An accepted config reads back from its resolved deck, byte for byte. */
static void assert_sound(bool accepted, const config *c, sentence why)
{
    static config again;
    deck d = { 0 };
    if (!accepted && *why.text && !strchr(why.text, '\n')) return;
    char *const text = accepted ? config_to_text(c) : NULL;
    if (!accepted || !deck_read_text(&d, text, "resolved", &why) || !config_from_deck(&again, &d, &why))
        fail_msg("%s: %s\ninput, as changed:\n%s", accepted ? "a resolved deck is refused" : "no sentence",
                 why.text, changed);
    snprintf(again.problem.beside, sizeof again.problem.beside, "%s", c->problem.beside);
    assert_memory_equal(c, &again, sizeof again);
    deck_free(&d);
    free(text);
}

/* A problem drawn by chance, with keys of all sections. */
static void put_deck(FILE *to)
{
    static const char *const initial[] = { "mode_x = 3", "initial = random ; a comment\nseed=-5",
                                           "initial = a.h5:/fields/v" };
    plain p = plain_draw();
    p.nx = 17 + (int)chance(1000);
    p.ny = p.two_d ? 17 + (int)chance(1000) : 1;
    fprintf(to, "# a deck\n");
    plain_put(to, &p, initial[chance(3)]);
    fprintf(to, "[time]\nsteps=9999999999\nnorm_every=0\n[run]\ndevice=host\nlanes=3\nwall_limit=3600\n"
                "[checkpoint]\nevery = 10\ndir = a/b\nverify=off\non_error=continue\n"
                "[output]\nrecord = C:/\\x [a] = b\npicture = p.png\npicture_low = -.5\n");
}

static void read_deck(void)
{
    static config c;
    sentence why = { "" };
    deck d = { 0 };
    const bool ok = deck_read_text(&d, input, "fuzz.ini", &why) && config_from_deck(&c, &d, &why);
    deck_free(&d);
    assert_sound(ok, &c, why);
}

static char file[] = "/tmp/weft_deck_XXXXXX";
static void put_line(FILE *to)
{
    fprintf(to, "%s\ngrid.nx=40\nproblem.alpha=.1\n--restart\na=b.h5\ntime.steps=7\n--dry-run", file);
}

/* An argument per line. */
static void read_line(void)
{
    static request q;
    sentence why = { "" };
    char *argv[32] = { "run" };
    int argc = 1;
    for (char *at = input; argc < 31 && (argv[argc] = strtok(at, "\n")); at = NULL) argc++;
    const bool ok = request_make(&q, argc, argv, &why);
    assert_sound(ok, &q.cfg, why);
    request_free(&q);
}

static void read_all(const char *variable, long otherwise, void (*put)(FILE *to), void (*read)(void))
{
    const char *const asked = getenv(variable);
    const long inputs = asked ? atol(asked) : otherwise;
    struct rusage early, late;
    for (long number = 0; number < inputs; number++) {
        if (number <= inputs / 10) getrusage(RUSAGE_SELF, &early);
        chance_state = 20261121 + (uint64_t)number * 1000003;
        FILE *const to = fmemopen(input, INPUT_MAX, "w");
        put(to);
        fclose(to);
        count = strlen(input);
        for (uint64_t i = 1 + chance(6); i > 0; i--) change();
        input[count] = '\0';
        memcpy(changed, input, count + 1);
        read();
    }
    getrusage(RUSAGE_SELF, &late); /* the sanitizers keep what was freed */
    if (!SANITIZED) assert_in_range(late.ru_maxrss - early.ru_maxrss, 0, GROWTH_KIB);
}

static void damaged_decks(void **state) { read_all("WEFT_FUZZ_DECKS", 9000, put_deck, read_deck); }

static void damaged_command_lines(void **state)
{
    FILE *const to = fdopen(mkstemp(file), "w");
    fputs("[problem]\nkind = heat\nalpha = 0.1\n[grid]\nnx = 64\n[time]\nsteps = 100\n", to);
    fclose(to);
    read_all("WEFT_FUZZ_LINES", 1200, put_line, read_line);
    unlink(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(damaged_decks),
                                        cmocka_unit_test(damaged_command_lines) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
