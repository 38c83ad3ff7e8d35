/* CRC-32C (Castagnoli; RFC 3720, appendix B.4): the polynomial 0x1EDC6F41, bits reflected, register starts
 * and ends inverted. By any thread. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The checksum of what `crc` stands for followed by `data`; 0 stands for nothing. */
uint32_t crc32c(uint32_t crc, const void *data, size_t bytes);
