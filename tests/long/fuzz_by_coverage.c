/* A target of libFuzzer (clang): decks, or command lines with an argument per line, changed by what code of
 * weft's they reach; `make fuzz` where there is a clang. What must come of them is what the tests ask
 * (fuzz_decks.h). FUZZ_LINES is 1 for command lines. It starts from sound ones and knows the language's
 * words: the files corpus/sound.N and words of the working directory, made before it reads its arguments. */
#include <mpi.h>
#include <sys/stat.h>

#include "support/fuzz_decks.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

static void put_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    if (!f || fputs(text, f) < 0 || fclose(f) != 0) abort();
}

static fuzz_input in;

/* libFuzzer's own format: a word in quotes a line. */
static void put_words(void)
{
    FILE *f = fopen("words", "w");
    if (!f) abort();
    gather_deck_words();
    for (size_t i = 0; i < deck_word_count; i++) {
        fputc('"', f);
        for (const char *c = deck_word[i]; *c; c++) fprintf(f, "\\x%02x", (unsigned char)*c);
        fputs("\"\n", f);
    }
    if (fclose(f) != 0) abort();
}

/* A command line is read by all ranks of MPI: here by one, with the deck d.ini. */
static void begin(void)
{
    char name[32];
    put_words();
    put_file("d.ini", sound_decks[0]);
    if (FUZZ_LINES)
        put_file("corpus/sound.0",
                 "d.ini\ngrid.nx=40\nproblem.alpha=.1\n--restart\na=b.h5\ntime.steps=7\n--dry-run");
    for (size_t i = 0; i < sizeof sound_decks / sizeof *sound_decks && !FUZZ_LINES; i++) {
        snprintf(name, sizeof name, "corpus/sound.%zu", i);
        put_file(name, sound_decks[i]);
    }
    if (FUZZ_LINES && MPI_Init(NULL, NULL) != MPI_SUCCESS) abort();
}

static const char *try_input(fuzz_input *text)
{
    return FUZZ_LINES ? try_command_line(text) : try_deck(text);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    (void)mkdir("corpus", 0777);
    begin();
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    if (count > FUZZ_INPUT_MAX) return 0;
    memcpy(in.bytes, bytes, count);
    in.count = count;
    const char *const wrong = try_input(&in);
    if (!wrong) return 0;
    fprintf(stderr, "%s; the input is in the file wrong\n", wrong);
    FILE *f = fopen("wrong", "w"); /* MPI has taken the signal by which libFuzzer would keep it */
    if (f && fwrite(bytes, 1, count, f) == count) fclose(f);
    abort();
}
