/* Sound inputs that are changed by chance: bytes, words of the language in wrong places, pieces cut out,
 * repeated, exchanged.
 *
 * They are tried in batches, each in a child: what crashes it or takes longer than two minutes is counted,
 * said with its number, and kept in /tmp. WEFT_FUZZ_SEED asks for others, and a variable of each kind for
 * more of them: `make fuzz`. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/sanitized.h"

enum {
    FUZZ_KNOWS_PEAK = !SANITIZED, /* they keep for a while what was freed; there max_allocation_size_mb
                                   * sets the limit */
    FUZZ_INPUT_MAX = 1 << 16,
    FUZZ_BATCH = 200,
    FUZZ_LIMIT_S = 120, /* a child's child may take 5 s of a processor that others use */
    FUZZ_GROWTH_MAX_KIB = 256 << 10
};

typedef struct fuzz_input {
    char bytes[FUZZ_INPUT_MAX + 1];
    size_t count;
} fuzz_input;

typedef struct fuzz_progress { /* of a child, in memory that it shares with its parent */
    volatile long at;
    char wrong[128];
} fuzz_progress;

static fuzz_progress *fuzz_shared;

/* ---- chance ---- */

static uint64_t fuzz_state;

static inline uint64_t fuzz_chance(uint64_t below)
{
    uint64_t z = fuzz_state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return (z ^ z >> 31) % below;
}

/* Puts `bytes` in place of `gone` bytes at `at`, as far as there is room. */
static inline void fuzz_replace(fuzz_input *in, size_t at, size_t gone, const char *with, size_t bytes)
{
    if (at + gone > in->count || in->count - gone + bytes > FUZZ_INPUT_MAX) return;
    memmove(in->bytes + at + bytes, in->bytes + at + gone, in->count - at - gone);
    memcpy(in->bytes + at, with, bytes);
    in->count += bytes - gone;
}

static inline void fuzz_change(fuzz_input *in, const char *const *word, size_t words)
{
    static const unsigned char odd[] = { 0, 1, 2, 4, 8, 16, 32, 64, 127, 128, 254, 255 };
    char piece[512];
    const size_t at = fuzz_chance(in->count + 1), left = in->count - at,
                 run = left ? 1 + fuzz_chance(left < 64 ? left : 64) : 0;
    switch (fuzz_chance(words ? 8 : 6)) {
    case 0:
        if (left) in->bytes[at] = (char)(in->bytes[at] ^ 1 << fuzz_chance(8));
        break;
    case 1:
        if (left) in->bytes[at] = (char)odd[fuzz_chance(sizeof odd)];
        break;
    case 2: fuzz_replace(in, at, run, "", 0); break;
    case 3: /* once more */
        memcpy(piece, in->bytes + at, run);
        fuzz_replace(in, at, 0, piece, run);
        break;
    case 4: { /* from elsewhere */
        const size_t gone = fuzz_chance(2) ? run : 0, to = fuzz_chance(in->count + 1);
        memcpy(piece, in->bytes + at, run);
        fuzz_replace(in, to, gone, piece, run);
        break;
    }
    case 5: /* one number larger or smaller, of 1, 2, 4 or 8 bytes */
        if (left >= 8) {
            const size_t bytes = (size_t)1 << fuzz_chance(4);
            uint64_t number = 0;
            memcpy(&number, in->bytes + at, bytes);
            number = fuzz_chance(3) ? number + fuzz_chance(33) - 16 : ~(uint64_t)0 >> fuzz_chance(64);
            memcpy(in->bytes + at, &number, bytes);
        }
        break;
    default: {
        const char *const w = word[fuzz_chance(words)];
        fuzz_replace(in, at, fuzz_chance(2) ? run : 0, w, strlen(w));
    }
    }
}

/* ---- batches in children ---- */

static inline bool fuzz_one_sentence(const char *why) { return *why && !strchr(why, '\n'); }

static inline long fuzz_peak_kib(void)
{
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    return use.ru_maxrss;
}

static inline void fuzz_keep(const fuzz_input *in, const char *what, long number)
{
    char path[128];
    snprintf(path, sizeof path, "/tmp/weft_fuzz_%s_%ld", what, number);
    FILE *f = fopen(path, "wb");
    if (f) {
        (void)fwrite(in->bytes, 1, in->count, f);
        fclose(f);
    }
    print_error("kept as %s\n", path);
}

/* Makes the input of that seed and tries it: NULL, or what is wrong. */
typedef const char *fuzz_try(uint64_t seed, fuzz_input *in);

/* The test framework has taken them, and libFuzzer. */
static inline void fuzz_default_signals(void)
{
    static const int ends[] = { SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL };
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) (void)signal(ends[i], SIG_DFL);
}

static inline void fuzz_child(fuzz_input *in, fuzz_try *try_number, uint64_t seed, long first, long end)
{
    const long before_kib = fuzz_peak_kib();
    fuzz_default_signals();
    for (long i = first; i < end; i++) {
        fuzz_shared->at = i;
        alarm(FUZZ_LIMIT_S);
        const char *wrong = try_number(seed + (uint64_t)i * 1000003, in);
        if (!wrong && FUZZ_KNOWS_PEAK && fuzz_peak_kib() - before_kib > FUZZ_GROWTH_MAX_KIB)
            wrong = "much more memory than the input's size";
        if (!wrong) continue;
        snprintf(fuzz_shared->wrong, sizeof fuzz_shared->wrong, "%s", wrong);
        _exit(2);
    }
    _exit(0);
}

/* How many of `count` inputs ended as they must not. */
static inline long fuzz_all(const char *what, fuzz_try *try_number, long count)
{
    const char *asked = getenv("WEFT_FUZZ_SEED");
    const uint64_t seed = asked ? strtoull(asked, NULL, 10) : 20261121;
    fuzz_shared = mmap(NULL, sizeof *fuzz_shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    fuzz_input *in = mmap(NULL, sizeof *in, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true((void *)fuzz_shared != MAP_FAILED && (void *)in != MAP_FAILED);
    long bad = 0;
    for (long first = 0; first < count;) {
        const long end = count - first < FUZZ_BATCH ? count : first + FUZZ_BATCH;
        int status = 0;
        fuzz_shared->wrong[0] = '\0';
        const pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) fuzz_child(in, try_number, seed, first, end);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        first = end;
        if (status == 0) continue;
        first = fuzz_shared->at + 1;
        bad++;
        if (WIFSIGNALED(status))
            snprintf(fuzz_shared->wrong, sizeof fuzz_shared->wrong, "%s", strsignal(WTERMSIG(status)));
        print_error("%s %ld of seed %llu: %s (status %d)\n", what, fuzz_shared->at, (unsigned long long)seed,
                    fuzz_shared->wrong, status);
        fuzz_keep(in, what, fuzz_shared->at);
    }
    print_message("%ld inputs of kind '%s', seed %llu: %ld bad\n", count, what, (unsigned long long)seed,
                  bad);
    munmap(fuzz_shared, sizeof *fuzz_shared);
    munmap(in, sizeof *in);
    return bad;
}

static inline long fuzz_asked(const char *variable, long otherwise)
{
    const char *text = getenv(variable);
    return text ? atol(text) : otherwise;
}
