/* Signals that end nothing. */
#pragma once

/* From now on that signal calls handler (SIG_IGN: nothing), and a system call that it interrupts goes on. */
void signals_catch(int number, void (*handler)(int));
