/* The keys of weft predict, for --help. */
#ifndef CMD_PREDICT_H
#define CMD_PREDICT_H

void cmd_predict_print_keys(void *file);

#endif
