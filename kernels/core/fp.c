#include "core/fp.h"

#include <fenv.h>
#include <signal.h>
#include <stddef.h>
#include <ucontext.h>

enum { SSE_DEFAULT = 0x1f80, X87_DEFAULT = 0x37f };

void fp_set_default(void)
{
    (void)fesetenv(FE_DFL_ENV);
    /* some C libraries leave these registers unchanged */
#if defined(__x86_64__)
    const unsigned sse = SSE_DEFAULT;
    __asm__ volatile("fninit\n\tldmxcsr %0" : : "m"(sse));
#elif defined(__aarch64__)
    __asm__ volatile("msr fpcr, %0" : : "r"(0UL));
#endif
}

/* The instruction that trapped runs again, without traps. An integer division by zero and a SIGFPE from
 * another process end the program as usual. */
static void on_trap(int number, siginfo_t *info, void *context)
{
#if defined(__x86_64__)
    const mcontext_t *const m = &((ucontext_t *)context)->uc_mcontext;
    if (info->si_code >= FPE_FLTDIV) {
        m->fpregs->mxcsr = SSE_DEFAULT;
        m->fpregs->cwd = X87_DEFAULT;
        return;
    }
#endif
    (void)signal(number, SIG_DFL);
    (void)raise(number);
}

void fp_begin(void)
{
    struct sigaction action = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO };
    (void)sigemptyset(&action.sa_mask);
    fp_set_default();
    (void)sigaction(SIGFPE, &action, NULL);
}
