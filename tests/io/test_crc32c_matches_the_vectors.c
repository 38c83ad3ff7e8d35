/* CRC-32C gives RFC 3720's vectors, the same in every way that this processor has, and the same of a whole as
 * of its parts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "core/cell.h"
#include "files/crc32c.h"

static void check_vectors(crc32c_way way)
{
    unsigned char zeros[32] = { 0 }, ones[32], up[32], down[32];
    for (unsigned i = 0; i < 32; i++) {
        ones[i] = 0xff;
        up[i] = (unsigned char)i;
        down[i] = (unsigned char)(31 - i);
    }
    const unsigned char read10[48] = {
        0x01, 0xc0, [16] = 0x14, [22] = 0x04, [27] = 0x14, [31] = 0x18, [32] = 0x28, [40] = 0x02
    };
    assert_int_equal(~crc32c_raw_by(way, ~0u, zeros, 32), 0x8a9136aa);
    assert_int_equal(~crc32c_raw_by(way, ~0u, ones, 32), 0x62a8ab43);
    assert_int_equal(~crc32c_raw_by(way, ~0u, up, 32), 0x46dd794e);
    assert_int_equal(~crc32c_raw_by(way, ~0u, down, 32), 0x113fdb5c);
    assert_int_equal(~crc32c_raw_by(way, ~0u, read10, 48), 0xd9963a56);
    assert_int_equal(~crc32c_raw_by(way, ~0u, "123456789", 9), 0xe3069283);
}

static void vectors(void **state)
{
    (void)state;
    static const char *const name[CRC32C_WAYS] = { "tables", "instruction", "folding" };
    for (int way = 0; way < CRC32C_WAYS; way++)
        if (crc32c_has((crc32c_way)way)) check_vectors((crc32c_way)way);
        else print_message("not on this processor, and not tested: CRC-32C by %s\n", name[way]);
    assert_true(crc32c_has(CRC32C_TABLES));
    assert_int_equal(crc32c(0, "123456789", 9), 0xe3069283);
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

enum { LONGEST = 3 * 3 * 4096 + 61, EVERY_LENGTH = 1100, ALIGNMENTS = 64 };
static unsigned char text[LONGEST + ALIGNMENTS];

static void check_ways(size_t at, size_t bytes, uint32_t wanted)
{
    for (int way = 0; way < CRC32C_WAYS; way++)
        if (crc32c_has((crc32c_way)way))
            assert_int_equal(crc32c_raw_by((crc32c_way)way, 0x1234567, text + at, bytes), wanted);
    assert_int_equal(crc32c_raw(0x1234567, text + at, bytes), wanted);
}

static void lengths_and_alignments(void **state)
{
    (void)state;
    const size_t lengths[] = { 4095, 4096, 3 * 4096 - 1, 3 * 4096, 3 * 4096 + 1, 6 * 4096 + 13, LONGEST };
    for (size_t at = 0; at < ALIGNMENTS; at++) {
        uint32_t wanted = 0x1234567;
        for (size_t bytes = 0; bytes <= EVERY_LENGTH; bytes++) {
            check_ways(at, bytes, wanted);
            wanted = raw_by_bits(wanted, text + at + bytes, 1);
        }
    }
    for (size_t k = 0; k < sizeof lengths / sizeof lengths[0]; k++)
        for (size_t at = 0; at < ALIGNMENTS; at += 7)
            check_ways(at, lengths[k], raw_by_bits(0x1234567, text + at, lengths[k]));
}

static void parts(void **state)
{
    (void)state;
    const uint32_t whole = crc32c(0, text, LONGEST);
    for (size_t cut = 0; cut <= LONGEST; cut += 1543) {
        const uint32_t a = crc32c(0, text, cut), b = crc32c(0, text + cut, LONGEST - cut);
        assert_int_equal(crc32c(a, text + cut, LONGEST - cut), whole);
        assert_int_equal(crc32c_times(a, crc32c_zeros(LONGEST - cut)) ^ b, whole);
    }
    assert_int_equal(crc32c_times(crc32c_zeros((uint64_t)1 << 40), crc32c_zeros(5)),
                     crc32c_zeros(((uint64_t)1 << 40) + 5));
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
