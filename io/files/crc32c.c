/* Invariant: every way gives the same register. Bit 31 is the coefficient of x^0, as the reflected register
 * has it. */
#include "files/crc32c.h"

#include <assert.h>
#include <pthread.h>
#include <string.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "eight bytes are taken as one little-endian word");

enum { SLICES = 8, LANE_BYTES = 4096, FOLDED_BYTES = 256 };
static const uint32_t polynomial = 0x82F63B78;   /* 0x1EDC6F41, reflected */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static uint32_t table[SLICES][256];              /* table[k][b]: the register after byte b and k zeros */

uint32_t crc32c_times(uint32_t a, uint32_t b)
{
    uint32_t product = 0;
    for (uint32_t bit = 1u << 31; bit; bit >>= 1) {
        product ^= a & bit ? b : 0;
        b = b >> 1 ^ (b & 1 ? polynomial : 0);
    }
    return product;
}

uint32_t crc32c_zeros(uint64_t bytes)
{
    uint32_t power = 1u << 31, square = 1u << 23; /* x^0, x^8 */
    for (; bytes; bytes >>= 1) {
        if (bytes & 1) power = crc32c_times(power, square);
        square = crc32c_times(square, square);
    }
    return power;
}

static uint64_t word_at(const unsigned char *p)
{
    uint64_t word;
    memcpy(&word, p, sizeof word);
    return word;
}

static uint32_t raw_tables(uint32_t state, const void *data, size_t bytes)
{
    const unsigned char *p = data;
    for (; bytes >= 8; bytes -= 8, p += 8) {
        const uint64_t word = word_at(p) ^ state;
        state = 0;
        for (int k = 0; k < SLICES; k++) state ^= table[SLICES - 1 - k][word >> 8 * k & 255];
    }
    for (; bytes; bytes--, p++) state = state >> 8 ^ table[0][(state ^ *p) & 255];
    return state;
}

#ifdef __x86_64__
static uint32_t one_lane; /* zeros(LANE_BYTES) */

/* The instruction takes three cycles and starts each cycle: three neighbouring lanes go at once. */
__attribute__((target("sse4.2"))) static uint32_t raw_instruction(uint32_t state, const void *data,
                                                                  size_t bytes)
{
    const unsigned char *p = data;
    for (; bytes >= 3 * LANE_BYTES; bytes -= 3 * LANE_BYTES, p += 3 * LANE_BYTES) {
        uint64_t a = state, b = 0, c = 0;
        for (size_t i = 0; i < LANE_BYTES; i += 8) {
            a = __builtin_ia32_crc32di(a, word_at(p + i));
            b = __builtin_ia32_crc32di(b, word_at(p + LANE_BYTES + i));
            c = __builtin_ia32_crc32di(c, word_at(p + 2 * LANE_BYTES + i));
        }
        const uint32_t ab = crc32c_times((uint32_t)a, one_lane) ^ (uint32_t)b;
        state = crc32c_times(ab, one_lane) ^ (uint32_t)c;
    }
    for (; bytes >= 8; bytes -= 8, p += 8) state = (uint32_t)__builtin_ia32_crc32di(state, word_at(p));
    for (; bytes; bytes--, p++) state = __builtin_ia32_crc32qi(state, *p);
    return state;
}

/* Folding (Gopal and others, "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ Instruction",
 * Intel 2009): 16 bytes that stand a number of bytes before 16 others are, mod the polynomial, 16 bytes to be
 * added to them. Bit 127 of 16 bytes is x^0, so that their first half is times x^64; a carry-less product of
 * two halves comes out times x. */
#define FOLDS __attribute__((target("sse4.2,avx512f,vpclmulqdq")))
typedef struct fold { /* by a distance: the multipliers of the first and of the second half */
    uint64_t first, second;
} fold;

static fold fold_far, fold_near; /* by FOLDED_BYTES, by 64 */

static fold fold_by(uint64_t bytes)
{
    /* x^(8 bytes + 63) and x^(8 bytes - 1), as halves; 8 bytes - 1 is 8 (bytes - 1) + 7 */
    const uint32_t second = crc32c_times(crc32c_zeros(bytes - 1), 1u << (31 - 7));
    return (fold){ (uint64_t)crc32c_times(second, crc32c_zeros(8)) << 32, (uint64_t)second << 32 };
}

FOLDS static inline __m512i folded(__m512i from, __m512i by, __m512i onto)
{
    const __m512i first = _mm512_clmulepi64_epi128(from, by, 0x00),
                  second = _mm512_clmulepi64_epi128(from, by, 0x11);
    return _mm512_ternarylogic_epi64(first, second, onto, 0x96); /* exclusive or of the three */
}

FOLDS static inline __m512i multipliers(const fold *f)
{
    return _mm512_set4_epi64((int64_t)f->second, (int64_t)f->first, (int64_t)f->second, (int64_t)f->first);
}

/* Four times 64 bytes at once; they become 64 bytes with the same register behind them. */
FOLDS static uint32_t raw_folding(uint32_t state, const void *data, size_t bytes)
{
    const unsigned char *p = data;
    if (bytes < FOLDED_BYTES) return raw_instruction(state, p, bytes);
    const __m512i by = multipliers(&fold_far), near = multipliers(&fold_near);
    const __m512i begun =
        _mm512_inserti32x4(_mm512_setzero_si512(), _mm_cvtsi32_si128((int)state), 0); /* gcc 9 has no zext */
    __m512i a = _mm512_xor_si512(_mm512_loadu_si512(p), begun);
    __m512i b = _mm512_loadu_si512(p + 64), c = _mm512_loadu_si512(p + 128), d = _mm512_loadu_si512(p + 192);
    for (p += FOLDED_BYTES, bytes -= FOLDED_BYTES; bytes >= FOLDED_BYTES;
         p += FOLDED_BYTES, bytes -= FOLDED_BYTES) {
        a = folded(a, by, _mm512_loadu_si512(p));
        b = folded(b, by, _mm512_loadu_si512(p + 64));
        c = folded(c, by, _mm512_loadu_si512(p + 128));
        d = folded(d, by, _mm512_loadu_si512(p + 192));
    }
    unsigned char rest[64];
    _mm512_storeu_si512(rest, folded(folded(folded(a, near, b), near, c), near, d));
    return raw_instruction(raw_instruction(0, rest, sizeof rest), p, bytes);
}
#endif

typedef uint32_t raw_function(uint32_t state, const void *data, size_t bytes);
static raw_function *way[CRC32C_WAYS] = { [CRC32C_TABLES] = raw_tables }; /* NULL: not on this processor */
static raw_function *best = raw_tables;

static void prepare(void)
{
    const uint32_t one_byte = crc32c_zeros(1);
    for (uint32_t b = 0; b < 256; b++) {
        table[0][b] = crc32c_times(b, one_byte);
        for (int k = 1; k < SLICES; k++) table[k][b] = crc32c_times(table[k - 1][b], one_byte);
    }
#ifdef __x86_64__
    one_lane = crc32c_zeros(LANE_BYTES);
    fold_far = fold_by(FOLDED_BYTES);
    fold_near = fold_by(64);
    if (__builtin_cpu_supports("sse4.2")) best = way[CRC32C_INSTRUCTION] = raw_instruction;
    if (way[CRC32C_INSTRUCTION] && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("vpclmulqdq"))
        best = way[CRC32C_FOLDING] = raw_folding;
#endif
}

static void prepared(void)
{
    const int code = pthread_once(&once, prepare);
    assert(code == 0);
    (void)code;
}

bool crc32c_has(crc32c_way w)
{
    prepared();
    return way[w] != NULL;
}

uint32_t crc32c_raw_by(crc32c_way w, uint32_t state, const void *data, size_t bytes)
{
    prepared();
    return way[w](state, data, bytes);
}

uint32_t crc32c_raw(uint32_t state, const void *data, size_t bytes)
{
    prepared();
    return best(state, data, bytes);
}

uint32_t crc32c(uint32_t crc, const void *data, size_t bytes) { return ~crc32c_raw(~crc, data, bytes); }
