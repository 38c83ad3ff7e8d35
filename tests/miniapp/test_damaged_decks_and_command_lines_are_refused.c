/* Whatever a deck or a command line holds, reading it ends: with a config that its resolved deck gives again,
 * or with one sentence. Sound inputs are changed by chance, with bits, words of the language in wrong places,
 * pieces cut out or repeated. WEFT_FUZZ_DECKS and WEFT_FUZZ_LINES say how many. */
#include <unistd.h>

#include "config/config.h"
#include "config/request.h"
#include "support/plain_deck.h"
#include "support/problem_harness.h"

enum { INPUT_MAX = 1 << 16 };

static const char *const sound_decks[] = {
    "# heat\n[problem]\nkind = heat\norder = 4\nalpha = 0.1 ; a comment\n[grid]\nnx = 64\nny = 32\n"
    "x_low = dirichlet 1.5\nx_high = neumann\n"
    "[time]\nsteps = 100\n[checkpoint]\nevery = 10\ndir = a/b\nkeep = 3\n",
    "[problem]\nkind = custom\ndtype = f32\nweights = .1 .2 .1 |\n  .2 .1 .2 |\n  .01 .02 .03\n"
    "initial = a.h5:/fields/v\n[grid]\nnx = 1000\nny = 7\n"
    "boundary = neumann\n[time]\nsteps=5\n[output]\nrecord = none\nfinal = x.h5\n",
    "[problem]\nkind=laplace\ninitial=random\nseed=-5\n[grid]\nnx=1099511627776\nboundary=dirichlet -1e300\n"
    "[time]\nsteps=9999999999\ntolerance=1e-9\nnorm_every=7\n[run]\ndevice=host\nlanes=3\nwall_limit=3600\n",
    "[problem]\nkind=advect\nalpha=-0.3\nmode_x=3\norder=8\n[grid]\nnx=17\n[time]\nsteps=0\n[checkpoint]\n"
    "verify=off\non_error=continue\n[output]\nrecord = C:/\\x [a] = b\npicture = p.png\npicture_low = -.5\n",
};
static const char *const words[] = {
    "[problem]",    "[grid]",  "\n[time]\n", "[run]", "]",    "[",      "=",      " = ",  "\n",
    "\n ",          ";",       " ;",         "#",     "|",    "\r\n",   "-1",     "0",    "1e999",
    "nan",          "inf",     "0x10",       "1e-320", "true", "none",  "/",      "../..", ":/",
    "%s%n",         "\xff\xfe", "\xc3\xa9",  "9223372036854775807",     "-9223372036854775808",
    "18446744073709551616", "periodic", "neumann", "dirichlet 1", "dirichlet",
    "\\", " b", "#1", " #", ";;", "final = \\; z",
};

static char input[INPUT_MAX + 1];
static size_t count; /* of its bytes */
static char changed[INPUT_MAX + 1]; /* the same, for a failure */

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
    const uint64_t what = chance(6), row = chance(config_table_count);
    const char *const key = config_table[row].key,
                      *const any = words[chance(sizeof words / sizeof *words)],
                      *const put = ((const char *[]){ key, strchr(key, '.') + 1, any })[chance(3)];
    memcpy(piece, input + at, run);
    if (what == 0 && left) input[at] = (char)(input[at] ^ 1 << chance(8));
    else if (what == 1) replace(at, run, "", 0);
    else if (what == 2) replace(chance(count + 1), 0, piece, run);
    else replace(at, what == 3 ? run : 0, put, strlen(put));
}

static void assert_means_the_same_again(const config *c)
{
    static config again;
    sentence why = { "" };
    deck d = { 0 };
    char *const text = config_to_text(c);
    if (!deck_read_text(&d, text, "resolved", &why) || !config_from_deck(&again, &d, &why))
        fail_msg("a resolved deck is refused: %s", why.text);
    snprintf(again.problem.beside, sizeof again.problem.beside, "%s", c->problem.beside);
    assert_memory_equal(c, &again, sizeof again);
    deck_free(&d);
    free(text);
}

static void assert_one_sentence(const char *why) { assert_true(*why && !strchr(why, '\n')); }

static void read_deck(void)
{
    static config c;
    sentence why = { "" };
    deck d = { 0 };
    const bool ok = deck_read_text(&d, input, "fuzz.ini", &why) && config_from_deck(&c, &d, &why);
    deck_free(&d);
    if (ok) assert_means_the_same_again(&c);
    else assert_one_sentence(why.text);
}

/* An argument per line. */
static void read_command_line(void)
{
    static request q;
    sentence why = { "" };
    char *argv[32] = { "run" };
    int argc = 1;
    for (char *at = input; argc < 31 && (argv[argc] = strtok(at, "\n")); at = NULL) argc++;
    if (request_make(&q, argc, argv, &why)) assert_means_the_same_again(&q.cfg);
    else assert_one_sentence(why.text);
    request_free(&q);
}

/* After a failure, which input it was. */
static int say_input(void **state)
{
    if (changed[0]) print_error("input, as changed:\n%s\n", changed);
    return 0;
}
#ifdef __SANITIZE_ADDRESS__
void __asan_on_error(void) { (void)say_input(NULL); }
#endif

static void read_all(const char *variable, long otherwise, const char *const *sound, size_t sorts,
                     void (*read)(void))
{
    const char *const asked = getenv(variable);
    const long inputs = asked ? atol(asked) : otherwise;
    for (long number = 0; number < inputs; number++) {
        chance_state = 20261121 + (uint64_t)number * 1000003;
        count = strlen(strcpy(input, sound[chance(sorts)]));
        for (uint64_t i = 1 + chance(6); i > 0; i--) change();
        input[count] = '\0';
        memcpy(changed, input, count + 1);
        read();
    }
    changed[0] = '\0';
}

static void damaged_decks(void **state)
{
    read_all("WEFT_FUZZ_DECKS", 9000, sound_decks, sizeof sound_decks / sizeof *sound_decks, read_deck);
}

static void damaged_command_lines(void **state)
{
    char file[] = "/tmp/weft_deck_XXXXXX", line[256];
    const int fd = mkstemp(file);
    assert_true(write(fd, sound_decks[0], strlen(sound_decks[0])) > 0);
    snprintf(line, sizeof line,
             "%s\ngrid.nx=40\nproblem.alpha=.1\n--restart\na=b.h5\ntime.steps=7\n--dry-run", file);
    read_all("WEFT_FUZZ_LINES", 1200, (const char *const[]){ line }, 1, read_command_line);
    unlink(file);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test_teardown(damaged_decks, say_input),
                                        cmocka_unit_test_teardown(damaged_command_lines, say_input) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
