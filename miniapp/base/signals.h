/* Signals that end nothing. */
#pragma once

#include <stdbool.h>

/* From now on that signal calls handler (SIG_IGN: nothing), and a system call that it interrupts goes on. */
void signals_catch(int number, void (*handler)(int));
/* Holds USR1 and TERM back, or none; no other signal is held back, whatever a launcher did. */
void signals_hold(bool hold);
