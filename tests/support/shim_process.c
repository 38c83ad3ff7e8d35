/* Preloaded into weft, or an HDF5 filter (number 300, which changes no byte): does what the words of SHIM say, at
 * the places that SHIM_AT names, in the rank SHIM_RANK alone where that is set.
 *
 *   words    ftz, daz, up, down, zero (rounding), traps: changes the floating-point environment
 *            exit, _exit, _Exit, quick_exit: calls it with status 0
 *            threads: libgomp can make none; locale: sets one with a decimal comma
 *            hold: MPI_Init_thread makes the file `in_init`, stays until there is a file `go_on`, and takes the
 *            handlers of USR1, TERM and INT away, as an MPI with handlers of its own does
 *            fsync: it fails; flip: the last byte of each block of a state's cells is another one
 *   places   load (where the library is loaded), init (in MPI_Init_thread), thread (in each new thread),
 *            call (in each call of the filter)
 *
 * Each block of a state's cells takes SHIM_MS longer. */
#define _GNU_SOURCE
#include <H5PLextern.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <fenv.h>
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define REAL(TYPE, NAME) ((TYPE *)dlsym(RTLD_NEXT, #NAME))
typedef int init(int *, char ***, int, int *);

/* Read once: MPI_Init changes the environment while threads begin. */
static const char *words = "", *places = "";

static const char *copy_of(const char *variable)
{
    const char *const text = getenv(variable);
    return text ? strdup(text) : "";
}

static int has(const char *list, const char *word)
{
    const size_t bytes = strlen(word);
    for (const char *at = list; (at = strstr(at, word)) != NULL; at += bytes)
        if ((at == list || at[-1] == ',') && (!at[bytes] || at[bytes] == ',')) return 1;
    return 0;
}

static void act(const char *place)
{
    if (!has(places, place)) return;
    if (has(words, "exit")) exit(0);
    if (has(words, "_exit")) _exit(0);
    if (has(words, "_Exit")) _Exit(0);
    if (has(words, "quick_exit")) quick_exit(0);
    if (has(words, "locale")) setlocale(LC_ALL, "de_DE.UTF-8");
    if (has(words, "up")) fesetround(FE_UPWARD);
    if (has(words, "down")) fesetround(FE_DOWNWARD);
    if (has(words, "zero")) fesetround(FE_TOWARDZERO);
    if (has(words, "traps")) feenableexcept(FE_ALL_EXCEPT);
#if defined(__x86_64__)
    const unsigned more = (has(words, "ftz") ? 0x8000 : 0) | (has(words, "daz") ? 0x40 : 0);
    __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | more);
#elif defined(__aarch64__)
    const unsigned long flush = has(words, "ftz") || has(words, "daz") ? 1UL << 24 : 0;
    unsigned long control;
    __asm__ volatile("mrs %0, fpcr\n\torr %0, %0, %1\n\tmsr fpcr, %0" : "=&r"(control) : "r"(flush));
#endif
}

__attribute__((constructor)) static void on_load(void)
{
    const char *const only = getenv("SHIM_RANK"), *const open_mpi = getenv("OMPI_COMM_WORLD_RANK"),
                      *const rank = open_mpi ? open_mpi : copy_of("PMI_RANK");
    if (strcmp(program_invocation_short_name, "weft") != 0) return; /* Open MPI starts a daemon */
    if (only && strcmp(rank, only) != 0) return;
    words = copy_of("SHIM"), places = copy_of("SHIM_AT");
    act("load");
}

int MPI_Init_thread(int *argc, char ***argv, int wanted, int *given)
{
    if (has(words, "hold")) {
        close(open("in_init", O_CREAT | O_WRONLY, 0600));
        while (access("go_on", F_OK) != 0) usleep(10000);
        signal(SIGUSR1, SIG_DFL);
        signal(SIGTERM, SIG_DFL);
        signal(SIGINT, SIG_DFL);
    }
    const int code = REAL(init, MPI_Init_thread)(argc, argv, wanted, given);
    act("init");
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
    act("thread");
    return s.of(s.context);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *how, void *(*of)(void *), void *context)
{
    Dl_info caller;
    const int known = dladdr(__builtin_return_address(0), &caller);
    if (has(words, "threads") && known && strstr(caller.dli_fname, "libgomp")) return EAGAIN;
    start *const s = malloc(sizeof *s);
    *s = (start){ of, context };
    return REAL(__typeof__(pthread_create), pthread_create)(thread, how, begin, s);
}

int sync_file_range(int fd, off_t at, off_t bytes, unsigned flags)
{
    if (has(words, "flip") && pwrite(fd, "\x55", 1, at + bytes - 1) < 0) abort();
    usleep(1000 * (unsigned)atoi(copy_of("SHIM_MS")));
    return 0;
}

int fsync(int fd)
{
    errno = EIO;
    return has(words, "fsync") ? -1 : REAL(__typeof__(fsync), fsync)(fd);
}

static size_t filter(unsigned flags, size_t count, const unsigned value[], size_t bytes, size_t *room,
                     void **data)
{
    act("call");
    return bytes;
}

static const H5Z_class2_t shim = { H5Z_CLASS_T_VERS, 300, 1, 1, "shim_process", NULL, NULL, filter };
H5PL_type_t H5PLget_plugin_type(void) { return H5PL_TYPE_FILTER; }
const void *H5PLget_plugin_info(void) { return &shim; }
