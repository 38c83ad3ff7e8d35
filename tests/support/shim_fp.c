/* Preloaded, or an HDF5 filter (number 300, which changes no byte): changes the floating-point environment by
 * the words of SHIM_FP: ftz, daz, up, down, zero (rounding), traps. SHIM_FP_AT says where: load (where the
 * library is loaded), init (in MPI_Init_thread), thread (in each new thread), call (in each call of the
 * filter). SHIM_FP_RANK: in this rank alone. */
#define _GNU_SOURCE
#include <H5PLextern.h>
#include <dlfcn.h>
#include <errno.h>
#include <fenv.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Read once: MPI_Init changes the environment while threads begin. */
static const char *words = "", *places = "";

static const char *copy_of(const char *variable)
{
    const char *const text = getenv(variable);
    return text ? strdup(text) : "";
}

static int has(const char *word) { return strstr(words, word) != NULL; }

static void switch_over(const char *at)
{
    if (!strstr(places, at)) return;
    if (has("up")) fesetround(FE_UPWARD);
    if (has("down")) fesetround(FE_DOWNWARD);
    if (has("zero")) fesetround(FE_TOWARDZERO);
    if (has("traps")) feenableexcept(FE_ALL_EXCEPT);
#if defined(__x86_64__)
    const unsigned more = (has("ftz") ? 0x8000 : 0) | (has("daz") ? 0x40 : 0);
    __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | more);
#elif defined(__aarch64__)
    const unsigned long flush = has("ftz") || has("daz") ? 1UL << 24 : 0;
    unsigned long control;
    __asm__ volatile("mrs %0, fpcr\n\torr %0, %0, %1\n\tmsr fpcr, %0" : "=&r"(control) : "r"(flush));
#endif
}

__attribute__((constructor)) static void on_load(void)
{
    const char *const only = getenv("SHIM_FP_RANK");
    if (strcmp(program_invocation_short_name, "weft") != 0) return; /* Open MPI starts a daemon */
    if (only && strcmp(copy_of("OMPI_COMM_WORLD_RANK"), only) != 0) return;
    words = copy_of("SHIM_FP"), places = copy_of("SHIM_FP_AT");
    switch_over("load");
}

int MPI_Init_thread(int *argc, char ***argv, int wanted, int *given)
{
    int (*const real)(int *, char ***, int, int *) =
        (int (*)(int *, char ***, int, int *))dlsym(RTLD_NEXT, "MPI_Init_thread");
    const int code = real(argc, argv, wanted, given);
    switch_over("init");
    return code;
}

typedef struct start {
    void *(*of)(void *);
    void *context;
} start;

static void *begin(void *started)
{
    const start s = *(start *)started;
    free(started);
    switch_over("thread");
    return s.of(s.context);
}

typedef int create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

int pthread_create(pthread_t *thread, const pthread_attr_t *how, void *(*of)(void *), void *context)
{
    create *const real = (create *)dlsym(RTLD_NEXT, "pthread_create");
    start *const s = malloc(sizeof *s);
    *s = (start){ of, context };
    return real(thread, how, begin, s);
}

/* ---- the filter ---- */

static size_t filter(unsigned flags, size_t count, const unsigned value[], size_t bytes, size_t *room,
                     void **data)
{
    switch_over("call");
    return bytes;
}

static const H5Z_class2_t shim = { H5Z_CLASS_T_VERS, 300, 1, 1, "shim_fp", NULL, NULL, filter };
H5PL_type_t H5PLget_plugin_type(void) { return H5PL_TYPE_FILTER; }
const void *H5PLget_plugin_info(void) { return &shim; }
