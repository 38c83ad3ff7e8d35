/* CRC-32C gives RFC 3720's vectors, the same by tables and by the instruction, and the same of a whole as of its parts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "cell.h"
#include "crc32c.h"

typedef uint32_t raw_function(uint32_t state, const void *data, size_t bytes);

static void check_vectors(raw_function *raw)
{
    unsigned char zeros[32] = { 0 }, ones[32], up[32], down[32];
    for (unsigned i = 0; i < 32; i++) {
        ones[i] = 0xff;
        up[i] = (unsigned char)i;
        down[i] = (unsigned char)(31 - i);
    }
    const unsigned char read10[48] = { 0x01, 0xc0, [16] = 0x14, [22] = 0x04, [27] = 0x14, [31] = 0x18, [32] = 0x28, [40] = 0x02 };
    assert_int_equal(~raw(~0u, zeros, 32), 0x8a9136aa);
    assert_int_equal(~raw(~0u, ones, 32), 0x62a8ab43);
    assert_int_equal(~raw(~0u, up, 32), 0x46dd794e);
    assert_int_equal(~raw(~0u, down, 32), 0x113fdb5c);
    assert_int_equal(~raw(~0u, read10, 48), 0xd9963a56);
    assert_int_equal(~raw(~0u, "123456789", 9), 0xe3069283);
}

static void vectors(void **state)
{
    (void)state;
    check_vectors(crc32c_raw);
    check_vectors(crc32c_raw_portable);
    assert_int_equal(crc32c(0, "123456789", 9), 0xe3069283);
    if (!crc32c_has_instruction()) {
        print_message("this processor has no CRC-32C instruction: the tables alone are tested\n");
        return;
    }
    check_vectors(crc32c_raw_instruction);
}

/* By definition, a bit at a time. */
static uint32_t raw_by_bits(uint32_t state, const void *data, size_t bytes)
{
    const unsigned char *p = data;
    for (size_t i = 0; i < bytes; i++) {
        state ^= p[i];
        for (int bit = 0; bit < 8; bit++) state = state & 1 ? state >> 1 ^ 0x82F63B78 : state >> 1;
    }
    return state;
}

enum { LONGEST = 3 * 3 * 4096 + 61 };
static unsigned char text[LONGEST + 8];

static void lengths_and_alignments(void **state)
{
    (void)state;
    const size_t lengths[] = { 0, 1, 7, 8, 9, 63, 4095, 4096, 3 * 4096 - 1, 3 * 4096, 3 * 4096 + 1, 6 * 4096 + 13, LONGEST };
    for (size_t k = 0; k < sizeof lengths / sizeof lengths[0]; k++)
        for (size_t at = 0; at < 8; at++) {
            const uint32_t wanted = raw_by_bits(0x1234567, text + at, lengths[k]);
            assert_int_equal(crc32c_raw_portable(0x1234567, text + at, lengths[k]), wanted);
            assert_int_equal(crc32c_raw(0x1234567, text + at, lengths[k]), wanted);
        }
}

static void parts(void **state)
{
    (void)state;
    const uint32_t whole = crc32c(0, text, LONGEST);
    for (size_t cut = 0; cut <= LONGEST; cut += 1543) {
        const uint32_t a = crc32c(0, text, cut), b = crc32c(0, text + cut, LONGEST - cut);
        assert_int_equal(crc32c(a, text + cut, LONGEST - cut), whole);
        assert_int_equal(crc32c_combine(a, b, LONGEST - cut), whole);
    }
    assert_int_equal(crc32c_times(crc32c_zeros((uint64_t)1 << 40), crc32c_zeros(5)), crc32c_zeros(((uint64_t)1 << 40) + 5));
}

int main(void)
{
    for (size_t i = 0; i < sizeof text; i++) text[i] = (unsigned char)(cell_random(1, i) * 256.0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors),
        cmocka_unit_test(lengths_and_alignments),
        cmocka_unit_test(parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
