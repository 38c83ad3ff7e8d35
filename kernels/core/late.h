/* What kernels whose blocks wait for other blocks, of their own rank or of another, are asked to do by `weft
 * check storm`; bits. Other builds than debug ones ignore it. */
#pragma once

enum {
    LATE_WARPS = 1,  /* warps are held up at random, inboxes poisoned once they have been read */
    LATE_GOES_ON = 2 /* nobody waits for another block: a race put in on purpose */
};
