#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/version.h"
#include "bench/bench_families.h"
#include "cli/cmd_table.h"
#include "config/config.h"
#include "ranks/check.h"

/* ---- the page ---- */

/* Text as it is: roff takes a leading dot or quote for a request, a backslash for an escape, and a bare - for
 * a hyphen. */
static void roff(FILE *to, const char *text)
{
    bool begins = true;
    for (; *text; text++) {
        if (begins && (*text == '.' || *text == '\'')) fputs("\\&", to);
        if (*text == '\\') fputs("\\e", to);
        else if (*text == '-') fputs("\\-", to);
        else fputc(*text, to);
        begins = *text == '\n';
    }
}

static char *keys_text(const cmd_row *c)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *to = open_memstream(&text, &bytes);
    if (to && c->print_keys) c->print_keys(to);
    if (!to || fclose(to) != 0) check_fail(__FILE__, __LINE__, "open_memstream", "out of memory");
    return text;
}

static void page_of_command(FILE *to, const cmd_row *c)
{
    fprintf(to, ".SS \"weft %s\"\n.B weft %s\n", c->name, c->name);
    roff(to, c->operands);
    fputs("\n.PP\n", to);
    for (const char *line = c->text; *line;) {
        const size_t length = strcspn(line, "\n");
        char *paragraph = CHECK_ALLOC(strndup(line, length));
        roff(to, paragraph);
        fputs("\n.PP\n", to);
        free(paragraph);
        line += length + (line[length] == '\n');
    }
    for (int i = 0; i < CMD_OPTIONS_MAX && c->option[i].name; i++) {
        fputs(".TP\n.B ", to);
        roff(to, c->option[i].name);
        fprintf(to, " %s\n", c->option[i].argument ? c->option[i].argument : "");
        roff(to, c->option[i].help);
        fputc('\n', to);
    }
    if (c->print_keys) {
        char *keys = keys_text(c);
        fputs(".PP\n", to);
        roff(to, c->keys);
        fputs("\n.PP\n.nf\n", to);
        roff(to, keys);
        fputs(".fi\n", to);
        free(keys);
    }
    if (c->exit_status) {
        fputs(".PP\nExit status: ", to);
        roff(to, c->exit_status);
        fputc('\n', to);
    }
}

void cmd_manual_page(FILE *to)
{
    fprintf(to, ".TH WEFT 1 \"\" \"weft %s\" \"User Commands\"\n", version_number);
    fputs(".SH NAME\nweft \\- MPI multi-GPU stencil and transpose mini-app and benchmark\n", to);
    fputs(".SH SYNOPSIS\n", to);
    for (size_t i = 0; i < cmd_table_count; i++) {
        const cmd_row *c = &cmd_table[i];
        fprintf(to, "%s%s.B weft %s\n", i ? ".br\n" : "", c->alone ? "" : "[mpirun \\-n RANKS]\n", c->name);
        roff(to, c->operands);
        for (int k = 0; k < CMD_OPTIONS_MAX && c->option[k].name; k++) {
            const char *argument = c->option[k].argument;
            fputs(k > 0 || c->operands[0] ? " [" : "[", to); /* roff breaks the line before a leading space */
            roff(to, c->option[k].name);
            fprintf(to, "%s%s]", argument ? " " : "", argument ? argument : "");
        }
        fputc('\n', to);
    }
    fputs(".SH DESCRIPTION\nStencils and transposes over MPI, each rank driving one device: a CUDA GPU or "
          "the CPUs. Every rate "
          "is printed beside a ceiling measured in the same run, every cell is compared with the exact "
          "discrete answer, and all ways "
          "of moving data give the same bits.\n"
          ".PP\nEvery command accepts\n.BR \\-\\-help ;\n.B weft \\-\\-version\nprints version and "
          "commit.\n.SH COMMANDS\n",
          to);
    for (size_t i = 0; i < cmd_table_count; i++) page_of_command(to, &cmd_table[i]);
    fputs(".SH EXIT STATUS\n0 done; 1 wrong result; 2 mistake in the command or deck; 3 machine or file "
          "failure; 4 nothing could be judged; 75 stopped by a "
          "signal or its time limit, with a checkpoint.\n"
          ".SH ENVIRONMENT\n.TP\n.B OMP_NUM_THREADS\nthreads per rank, if run.threads is 0\n"
          ".TP\n.B NO_COLOR\nif set and not empty: print no colours\n"
          ".TP\n.B SLURM_JOB_END_TIME\nif run.wall_limit is 0: the time by which a run stops, with a "
          "checkpoint\n"
          ".SH SEE ALSO\n.BR mpirun (1),\n.BR sbatch (1)\n",
          to);
}

/* ---- the completion ---- */

/* Keys begin the lines of print_keys that are two columns in; what a key is for goes on further in. */
static void print_key_words(FILE *to, const cmd_row *c)
{
    char *keys = keys_text(c);
    for (const char *line = keys; *line;) {
        const size_t length = strcspn(line, "\n");
        if (length > 3 && strncmp(line, "  ", 2) == 0 && islower((unsigned char)line[2]))
            fprintf(to, " %.*s=", (int)strcspn(line + 2, " \n"), line + 2);
        line += length + (line[length] == '\n');
    }
    free(keys);
}

static void print_families(FILE *to)
{
    const ladder_family *const *const family = bench_families();
    for (int i = 0; family[i]; i++) {
        bool seen = false;
        for (int j = 0; j < i && !seen; j++) seen = strcmp(family[i]->name, family[j]->name) == 0;
        if (!seen) fprintf(to, " %s", family[i]->name);
    }
}

static void completion_of_command(FILE *to, const cmd_row *c)
{
    fprintf(to, "    %s)\n        options='--help --version", c->name);
    for (int i = 0; i < CMD_OPTIONS_MAX && c->option[i].name; i++) fprintf(to, " %s", c->option[i].name);
    fputs("'\n        words='", to);
    print_key_words(to, c);
    if (strstr(c->operands, "FAMILY")) print_families(to);
    if (strstr(c->operands, "DECK") && strcmp(c->name, "run") != 0)
        print_key_words(to, cmd_table_find("run"));
    const char *files = strstr(c->operands, "DECK") ? "ini" : c->print_keys || !c->operands[0] ? "" : "h5";
    fprintf(to, "'\n        files='%s'\n        ;;\n", files);
}

void cmd_manual_completion(FILE *to)
{
    fprintf(to, "# bash completion for weft %s, made by `weft %s`.\n", version_number, CMD_MANUAL_COMPLETION);
    fputs("_weft_values() { # key\n    case $1 in\n", to);
    config_print_choices(to);
    fputs("    esac\n}\n\n"
          "_weft() {\n"
          "    local line=${COMP_LINE:0:COMP_POINT} current before options='--help --version' words= files=\n"
          "    local -a typed\n"
          "    read -ra typed <<<\"$line\"\n"
          "    # readline parts words at '=', weft does not\n"
          "    [[ $line == *' ' ]] && typed+=('')\n"
          "    current=${typed[-1]} before=${typed[-2]}\n"
          "    COMPREPLY=()\n"
          "    if ((${#typed[@]} <= 2)); then\n"
          "        COMPREPLY=($(compgen -W '", to);
    for (size_t i = 0; i < cmd_table_count; i++) fprintf(to, "%s ", cmd_table[i].name);
    fputs("--help --version' -- \"$current\"))\n"
          "        return\n"
          "    fi\n"
          "    case ${typed[1]} in\n", to);
    for (size_t i = 0; i < cmd_table_count; i++) completion_of_command(to, &cmd_table[i]);
    fputs("    *) return ;;\n"
          "    esac\n"
          "    if [[ $before == --restart* ]]; then\n"
          "        compopt -o filenames 2>/dev/null\n"
          "        COMPREPLY=($(compgen -f -X '!*.h5' -- \"$current\") $(compgen -d -- \"$current\"))\n"
          "    elif [[ $current == -* ]]; then\n"
          "        COMPREPLY=($(compgen -W \"$options\" -- \"$current\"))\n"
          "    elif [[ $current == *=* ]]; then\n"
          "        COMPREPLY=($(compgen -W \"$(_weft_values \"${current%%=*}\")\" -- \"${current#*=}\"))\n"
          "    else\n"
          "        # as the name of a file readline would write a key's '=' as '\\='\n"
          "        COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
          "        ((${#COMPREPLY[@]} > 0)) || compopt -o filenames 2>/dev/null\n"
          "        [[ ${COMPREPLY[0]} != *= ]] || compopt -o nospace 2>/dev/null\n"
          "        [[ -z $files ]] || COMPREPLY+=($(compgen -f -X \"!*.$files\" -- \"$current\") $(compgen "
          "-d -- \"$current\"))\n"
          "    fi\n"
          "}\n"
          "complete -F _weft weft\n",
          to);
}
