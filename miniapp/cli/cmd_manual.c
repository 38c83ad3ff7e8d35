/* The manual page and the completion for bash, from what `weft help COMMAND` prints: an option or a key
 * begins a line there, two columns in. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/terminal.h"
#include "base/version.h"
#include "bench/bench_request.h"
#include "cli/cmd_table.h"
#include "config/config.h"

/* Owned by the caller. */
static char *help_of(const cmd_row *c)
{
    terminal_text text;
    cmd_table_print(terminal_text_begin(&text), c->name);
    return terminal_text_take(&text);
}

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

int cmd_manual_page(FILE *to)
{
    fprintf(to,
            ".TH WEFT 1 \"\" \"weft %s\" \"User Commands\"\n"
            ".SH NAME\nweft \\- MPI multi-GPU stencil and transpose mini-app and benchmark\n"
            ".SH SYNOPSIS\n[mpirun \\-n RANKS]\n.B weft\nCOMMAND ...\n"
            ".SH DESCRIPTION\nStencils and transposes over MPI, each rank driving one device: a CUDA GPU or "
            "the CPUs. Every rate is printed beside a ceiling measured in the same run, every cell is "
            "compared with the exact discrete answer, and all ways of moving data give the same bits.\n"
            ".PP\nAll take\n.BR \\-\\-help ;\n.B weft \\-\\-version\nis version and commit.\n.SH COMMANDS\n",
            version_number);
    for (size_t i = 0; i < cmd_table_count; i++) {
        char *help = help_of(&cmd_table[i]);
        fprintf(to, ".SS \"weft %s\"\n.nf\n", cmd_table[i].name);
        roff(to, help);
        fputs(".fi\n", to);
        free(help);
    }
    fputs(".SH ENVIRONMENT\n.TP\n.B OMP_NUM_THREADS\nthreads per rank, if run.threads is 0\n"
          ".TP\n.B NO_COLOR\nif set and not empty: print no colours\n"
          ".TP\n.B SLURM_JOB_END_TIME\nwhen a run stops, with a checkpoint, if run.wall_limit is 0\n"
          ".SH SEE ALSO\n.BR mpirun (1),\n.BR sbatch (1)\n",
          to);
    return 0;
}

/* Options, or keys with their '='. */
static void print_words(FILE *to, const char *help, bool options)
{
    for (const char *line = help; *line;) {
        const size_t length = strcspn(line, "\n");
        const char *const word = length > 2 && strncmp(line, "  ", 2) == 0 ? line + 2 : "";
        if (options ? strncmp(word, "--", 2) == 0 : islower((unsigned char)*word))
            fprintf(to, " %.*s%s", (int)strcspn(word, " \n"), word, options ? "" : "=");
        line += length + (line[length] == '\n');
    }
}

static void completion_of_command(FILE *to, const cmd_row *c)
{
    char *help = help_of(c);
    fprintf(to, "    %s)\n        options='--help --version", c->name);
    print_words(to, help, true);
    fputs("'\n        words='", to);
    print_words(to, help, false);
    for (int i = 0; strstr(c->operands, "FAMILY") && bench_families()[i]; i++)
        fprintf(to, " %s", bench_families()[i]->name);
    const char *files = strstr(c->operands, "DECK") ? "ini" : c->print_keys || !c->operands[0] ? "" : "h5";
    fprintf(to, "'\n        files='%s'\n        ;;\n", files);
    free(help);
}

/* readline parts words at '=', weft does not; a key as the name of a file would get a backslash before it. */
int cmd_manual_completion(FILE *to)
{
    fprintf(to, "# bash completion for weft %s\n_weft_values() { # key\n    case $1 in\n", version_number);
    config_print_choices(to);
    fputs("    esac\n}\n\n_weft() {\n"
          "    local line=${COMP_LINE:0:COMP_POINT} current before options='--help --version' words= files=\n"
          "    local -a typed; read -ra typed <<<\"$line\"\n"
          "    [[ $line == *' ' ]] && typed+=('')\n"
          "    current=${typed[-1]} before=${typed[-2]} COMPREPLY=(); ((${#typed[@]} > 2)) || typed[1]=\n"
          "    case ${typed[1]} in\n    '') options='",
          to);
    for (size_t i = 0; i < cmd_table_count; i++) fprintf(to, "%s ", cmd_table[i].name);
    fputs("--help --version' words=$options ;;\n", to);
    for (size_t i = 0; i < cmd_table_count; i++) completion_of_command(to, &cmd_table[i]);
    fputs("    *) return ;;\n    esac\n"
          "    if [[ $before == --restart* ]]; then\n"
          "        compopt -o filenames 2>/dev/null\n"
          "        COMPREPLY=($(compgen -f -X '!*.h5' -- \"$current\") $(compgen -d -- \"$current\"))\n"
          "    elif [[ $current == -* ]]; then\n"
          "        COMPREPLY=($(compgen -W \"$options\" -- \"$current\"))\n"
          "    elif [[ $current == *=* ]]; then\n"
          "        COMPREPLY=($(compgen -W \"$(_weft_values \"${current%%=*}\")\" -- \"${current#*=}\"))\n"
          "    else\n"
          "        COMPREPLY=($(compgen -W \"$words\" -- \"$current\" | sort -u)) # families of two devices\n"
          "        ((${#COMPREPLY[@]} > 0)) || compopt -o filenames 2>/dev/null\n"
          "        [[ ${COMPREPLY[0]} != *= ]] || compopt -o nospace 2>/dev/null\n"
          "        [[ -z $files ]] || COMPREPLY+=($(compgen -f -X \"!*.$files\" -- \"$current\") $(compgen "
          "-d -- \"$current\"))\n"
          "    fi\n}\ncomplete -F _weft weft\n",
          to);
    return 0;
}
