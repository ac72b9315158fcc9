#!/usr/bin/env bash
# From the command to four ranks at work: horovodrun until Hvd.init() is done on all, beside mpirun
# until four plain JVMs have reached main; and both until the command ends.
# Usage: benchmarks/startup.sh [rounds]
source "$(dirname "$0")/common.sh"

rounds="${1:-10}"
np=4

# Notes two times in milliseconds: until the last rank was there, and until the command ended.
start_and_end() { # name command...
    local name="$1" start there end
    shift
    rm -f "$scratch/moments"
    start="$(date +%s%3N)"
    "$@" "$scratch/moments" >/dev/null || die "failed: $*"
    end="$(date +%s%3N)"
    [ "$(wc -l <"$scratch/moments")" -eq "$np" ] || die "not all $np ranks came up: $*"
    there="$(sort -n "$scratch/moments" | tail -n 1)"
    echo "$((there - start)) $((end - start))" >>"$scratch/$name"
}

median() { # name column; of an even number of rounds, between the two in the middle
    cut -d ' ' -f "$2" "$scratch/$1" | sort -n |
        awk '{ v[NR] = $1 } END { print (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2 }'
}

compare() { # what column
    local peer own ratio
    peer="$(median mpirun "$2")"
    own="$(median horovodrun "$2")"
    ratio="$(awk "BEGIN { printf \"%.2f\", $own / $peer }")"
    say "$1: mpirun $peer ms, horovodrun $own ms, ratio $ratio"
}

build
find_java
install_peers
command -v mpirun >/dev/null || die "this needs mpirun: apt-get install openmpi-bin"

scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT
package=org.horovod4j.benchmarks
for ((round = 0; round <= rounds; round++)); do
    start_and_end mpirun mpi -np "$np" "$java" -cp "$classpath" "$package.Hello"
    start_and_end horovodrun ./horovodrun -np "$np" java -cp "$classpath" "$package.InitOnly"
    if [ "$round" -eq 0 ]; then # it filled the file cache, and does not count
        rm "$scratch/mpirun" "$scratch/horovodrun"
        continue
    fi
    say "round $round, ms until there and until the end:" \
        "mpirun $(tail -n 1 "$scratch/mpirun"), horovodrun $(tail -n 1 "$scratch/horovodrun")"
done

compare "medians until all ranks are there" 1
compare "medians until the command ends" 2
