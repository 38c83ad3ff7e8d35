/* CRC-32C gives RFC 3720's vectors, and what its definition says of any length, alignment and parts. */
#include "core/cell.h"
#include "files/crc32c.h"
#include "support/unit.h"

enum { EVERY_LENGTH = 300, ALIGNMENTS = 16 };

static uint32_t bit_by_bit(uint32_t crc, unsigned char byte)
{
    crc = ~crc ^ byte;
    for (int bit = 0; bit < 8; bit++) crc = crc & 1 ? crc >> 1 ^ 0x82F63B78 : crc >> 1;
    return ~crc;
}

static void vectors_lengths_alignments_and_parts(void **state)
{
    unsigned char zeros[32] = { 0 }, text[EVERY_LENGTH + ALIGNMENTS];
    assert_int_equal(crc32c(0, zeros, 32), 0x8a9136aa);
    assert_int_equal(crc32c(0, "123456789", 9), 0xe3069283);
    for (size_t i = 0; i < sizeof text; i++) text[i] = (unsigned char)(cell_random(1, i) * 256.0);
    for (size_t at = 0; at < ALIGNMENTS; at++) {
        uint32_t wanted = 0x1234567;
        for (size_t bytes = 0; bytes <= EVERY_LENGTH; bytes++) {
            const uint32_t first = crc32c(0x1234567, text + at, bytes / 3);
            assert_int_equal(crc32c(0x1234567, text + at, bytes), wanted);
            assert_int_equal(crc32c(first, text + at + bytes / 3, bytes - bytes / 3), wanted);
            wanted = bit_by_bit(wanted, text[at + bytes]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(vectors_lengths_alignments_and_parts) };
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
