/* The manual page and the completion for bash, from what `weft help COMMAND` prints. */
#include <stdbool.h>
#include <stdlib.h>

#include "base/machine.h"
#include "base/terminal.h"
#include "cli/cmd_table.h"

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
        terminal_text text;
        cmd_table_print(terminal_text_begin(&text), cmd_table[i].name);
        char *const help = terminal_text_take(&text);
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

/* The completion asks the program itself: an option or a key begins a line of its help, two columns in, and a
 * key's values stand behind it, single words with commas between them. readline parts words at '=', weft does
 * not; a key as the name of a file would get a backslash before it. */
int cmd_manual_completion(FILE *to)
{
    fprintf(to, "# bash completion for weft %s\n", version_number);
    fputs("_weft_files() { compgen -f -X \"!*.$1\" -- \"$2\"; compgen -d -- \"$2\"; }\n"
          "_weft() {\n"
          "    local line=${COMP_LINE:0:COMP_POINT} current before help words=\n"
          "    local -a typed; read -ra typed <<<\"$line\"\n"
          "    [[ $line == *' ' ]] && typed+=('')\n"
          "    current=${typed[-1]} before=${typed[-2]} COMPREPLY=(); ((${#typed[@]} > 2)) || typed[1]=\n"
          "    help=$(\"${typed[0]}\" help ${typed[1]} 2>/dev/null) || return\n"
          "    if [[ $before == --restart* ]]; then COMPREPLY=($(_weft_files h5 \"$current\"))\n"
          "    elif [[ $current == -* ]]; then\n"
          "        words=\"--help --version $(sed -n 's/^  \\(--[a-z-]*\\).*/\\1/p' <<<\"$help\")\"\n"
          "    elif [[ $current == *=* ]]; then\n"
          "        words=$(sed -n \"s/^  ${current%%=*}  *\\([a-z][^ ,]*\\(,\\| or\\) .*\\) (.*/\\1/p\" \\\n"
          "            <<<\"$help\" |\n"
          "            grep -oE '[a-z0-9]+( V|,| or|$)' | cut -d , -f 1 | cut -d ' ' -f 1)\n"
          "        current=${current#*=}\n"
          "    else\n"
          "        words=$(sed -n 's/^  \\([a-z][a-z_.]*\\) .*/\\1=/p' <<<\"$help\")\n"
          "        case ${typed[1]} in\n"
          "            '') words=\"${words//=/} --help --version\" ;;\n"
          "            bench)\n"
          "                words+=\" $(\"${typed[0]}\" bench --list |\n"
          "                    sed -n 's/^\\([a-z_]*\\): .*/\\1/p')\" ;;\n"
          "            run) COMPREPLY=($(_weft_files ini \"$current\")) ;;\n"
          "            verify | diff) COMPREPLY=($(_weft_files h5 \"$current\")) ;;\n"
          "        esac\n"
          "    fi\n"
          "    COMPREPLY+=($(compgen -W \"$words\" -- \"$current\" | sort -u)) # families of two devices\n"
          "    [[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null ||\n"
          "        compopt -o filenames 2>/dev/null\n"
          "}\ncomplete -F _weft weft\n",
          to);
    return 0;
}
