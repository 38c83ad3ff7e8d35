/* Invariant: every way gives the same register. Bit 31 is the coefficient of x^0, as the reflected register has it. */
#include "crc32c.h"

#include <assert.h>
#include <pthread.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "eight bytes are taken as one little-endian word");

enum { SLICES = 8, LANE_BYTES = 4096 };
static const uint32_t polynomial = 0x82F63B78;   /* 0x1EDC6F41, reflected */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static uint32_t table[SLICES][256];              /* table[k][b]: the register after byte b and k zeros */
static uint32_t one_lane;                        /* zeros(LANE_BYTES) */
static bool has_instruction;

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

static void prepare(void)
{
    const uint32_t one_byte = crc32c_zeros(1);
    for (uint32_t b = 0; b < 256; b++) {
        table[0][b] = crc32c_times(b, one_byte);
        for (int k = 1; k < SLICES; k++) table[k][b] = crc32c_times(table[k - 1][b], one_byte);
    }
    one_lane = crc32c_zeros(LANE_BYTES);
#ifdef __x86_64__
    has_instruction = __builtin_cpu_supports("sse4.2");
#endif
}

static void prepared(void)
{
    const int code = pthread_once(&once, prepare);
    assert(code == 0);
    (void)code;
}

static uint64_t word_at(const unsigned char *p)
{
    uint64_t word;
    memcpy(&word, p, sizeof word);
    return word;
}

uint32_t crc32c_raw_portable(uint32_t state, const void *data, size_t bytes)
{
    const unsigned char *p = data;
    prepared();
    for (; bytes >= 8; bytes -= 8, p += 8) {
        const uint64_t word = word_at(p) ^ state;
        state = 0;
        for (int k = 0; k < SLICES; k++) state ^= table[SLICES - 1 - k][word >> 8 * k & 255];
    }
    for (; bytes; bytes--, p++) state = state >> 8 ^ table[0][(state ^ *p) & 255];
    return state;
}

bool crc32c_has_instruction(void)
{
    prepared();
    return has_instruction;
}

#ifdef __x86_64__
/* The instruction takes three cycles and starts each cycle: three neighbouring lanes go at once. */
__attribute__((target("sse4.2"))) uint32_t crc32c_raw_instruction(uint32_t state, const void *data, size_t bytes)
{
    const unsigned char *p = data;
    prepared();
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
#else
uint32_t crc32c_raw_instruction(uint32_t state, const void *data, size_t bytes)
{
    return crc32c_raw_portable(state, data, bytes);
}
#endif

uint32_t crc32c_raw(uint32_t state, const void *data, size_t bytes)
{
    return crc32c_has_instruction() ? crc32c_raw_instruction(state, data, bytes) : crc32c_raw_portable(state, data, bytes);
}

uint32_t crc32c(uint32_t crc, const void *data, size_t bytes) { return ~crc32c_raw(~crc, data, bytes); }

uint32_t crc32c_combine(uint32_t crc_a, uint32_t crc_b, uint64_t b_bytes)
{
    return crc32c_times(crc_a, crc32c_zeros(b_bytes)) ^ crc_b; /* the inversions at the seam cancel */
}
