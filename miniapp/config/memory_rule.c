#include "config/memory_rule.h"

bool memory_rule_four_fields(const kind_row *k, int block_steps) { return block_steps > 1 && k->two_levels; }

double memory_rule_bytes(const kind_row *k, int block_steps, int ranks, double field_bytes, double transposed_bytes)
{
    const double both_bytes = field_bytes + transposed_bytes;
    const double messages_bytes = both_bytes / ranks * (ranks - 1); /* out and in: all but the rank's own part */
    if (k->transposes) return k->transposes * (both_bytes + messages_bytes);
    return (memory_rule_four_fields(k, block_steps) ? 4 : 2) * field_bytes;
}
