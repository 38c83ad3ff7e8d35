/* What a rank's fields take: one rule for the program and for its prediction. */
#ifndef MEMORY_RULE_H
#define MEMORY_RULE_H

#include "config/config.h"

/* A block of steps that read two levels (wave, advect) cannot write over any field that it reads: it takes four, not two. */
bool memory_rule_four_fields(const kind_row *k, int block_steps);
/* Of the device, for fields of field_bytes; of a transpose or sweep also for those of transposed_bytes and for the messages of the
 * distributed transpose. Numbers of bytes as doubles: eight fields of 2^60 cells are more than 64 bits hold. */
double memory_rule_bytes(const kind_row *k, int block_steps, int ranks, double field_bytes, double transposed_bytes);

#endif
