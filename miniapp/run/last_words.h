/* What weft run adds where the environment fails (check_fail): the phase and the step, and the checkpoint from which the run can go
 * on. A GPU tells of a kernel's error when it is next asked: the kernel may be of a step before. */
#ifndef LAST_WORDS_H
#define LAST_WORDS_H

#include <stdint.h>

void last_words_begin(void);
/* `--restart from` finds a whole file of this step: the run was restarted from it, or has written it. from lives as long as the
 * process. Another may have its name before this rank hears of it. By the main thread. */
void last_words_checkpoint(const char *from, int64_t step);

#endif
