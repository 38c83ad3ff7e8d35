# Each family of the ladder has its page, whose commands run where the machine has the rungs that they name.
# A page has every rung and key that the program lists.
load ../support/helper

pages=("$top"/docs/teaching.md "$top"/docs/teaching/*.md)

commands() { # page: its lines of weft bench
    sed -n '/^```sh$/,/^```$/p' "$1" | grep -E '^(mpirun -n [0-9]+ )?weft bench'
}

is_here() { # words of a command line: are all rungs that they name those of this host?
    local word
    for word; do
        case $word in
        device=cuda) return 1 ;;
        *=* | -*) ;;
        *) grep -qE "^$word(/|\$)" here || return 1 ;;
        esac
    done
}

@test "every command of the teaching pages runs, or names rungs that only GPUs have" {
    local page line ranks words size count=0 plane="nx=512 ny=256"
    local -A small=([access]=n=100k [reduce]=n=100k [halo]=bytes=64k [transpose]=$plane [stencil]=$plane
        [fused]=$plane [roofline]=$plane [streaming]=$plane)
    "$weft" bench --list | sed -n 's/^rungs of the \([a-z]*\) device.*/\1/p' >kinds
    "$weft" bench --list device=host | grep -oE '^  [a-z]+/[A-Za-z0-9_]+' | tr -d ' ' >here
    for page in "${pages[@]}"; do
        while read -r line; do
            read -ra words <<<"${line#*weft bench}"
            if ! is_here "${words[@]}"; then # a build with CUDA knows their names and keys
                ! grep -q ^cuda kinds || "$weft" bench "${words[@]}" --list >out || { echo "$page: $line"; return 1; }
                continue
            fi
            # sizes that it does not name are small (all of halo: bench_comm.bats)
            for size in ${small[${words[0]%%/*}]} output=none; do
                [[ " ${words[*]} " == *" ${size%%=*}="* ]] || words+=($size)
            done
            words+=(samples=none device=host ceiling_bytes=1M)
            ranks=1
            [[ $line != mpirun* ]] || ranks=$(cut -d ' ' -f 3 <<<"$line")
            launch $ranks "$weft" bench "${words[@]}" >out </dev/null || { echo "$page: $line"; return 1; }
            count=$((count + 1))
        done < <(commands "$page" | sed 's/ device=host//; s/ samples=[^ ]*//' | sort -u)
    done
    [ $count -ge 20 ] || { echo "only $count commands ran"; return 1; }
}

@test "the page of a family has all its rungs and parameters, and docs/teaching.md names it" {
    local family word
    for family in $(basename -s .md "$top"/docs/teaching/*.md | grep -vx gpu); do # those that a host lacks
        "$weft" bench $family --list device=host >out 2>&1 || grep -q " $family[ ,].*needs a GPU" out
    done
    while read -r family word; do
        grep -qF "\`$word\`" "$top/docs/teaching/$family.md" || { echo "$family.md: no $word"; return 1; }
        grep -q "(teaching/$family.md)" "$top/docs/teaching.md" || { echo "docs/teaching.md: no $family"; return 1; }
    done < <("$weft" bench --list | awk '/^[a-z]+: / { family = substr($1, 1, length($1) - 1) }
                                         /^  [a-z_]+=/ { sub(/=.*/, ""); print family, $1 }
                                         /^  [a-z]+\// { sub(/.*\//, "", $1); print family, $1 }')
}
