/* What a machine of this kind was measured to deliver: share/weft/reference/NAME.json, {"gpu": "NVIDIA H200", "measured": "...",
 * "rates": {"copy": 4.2e12, ...}, "tolerance": 0.05} by the keys of check_like_key. */
#pragma once

#include "check/findings.h"

typedef struct check_reference {
    char gpu[64]; /* as the driver names it; "host" and the processor's name on the host device */
    char name[256]; /* of its file */
    double rate[CHECK_LIKES]; /* NaN: none */
    double tolerance; /* a fraction: what lies further below a rate is slow */
} check_reference;
