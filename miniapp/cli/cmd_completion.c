/* `weft --completion` prints the completion for bash, which `make install` leaves beside the program. It asks
 * the program itself: an option or a key begins a line of its help, two columns in, and a key's values stand
 * behind it, single words with commas between them. readline parts words at '=', weft does not; a key as the
 * name of a file would get a backslash before it. */
#include "base/machine.h"
#include "cli/cmd_table.h"

int cmd_completion(FILE *to)
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
