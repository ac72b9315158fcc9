#!/usr/bin/env bash
# Measures the start of a job with horovodrun and mpirun: the time until Hvd.init() or MPI_Init has
# returned on all ranks, the time until the command exits, and the CPU time of both. The JVMs of both
# use an archive of the classes of their program.
source "$(dirname "$0")/common.sh"

rounds=10
np=4
memory=

usage() {
    cat <<END
usage: benchmarks/startup.sh [--rounds n] [--np n] [--memory] [--seed n]
  --rounds  how often each program takes its turn (default $rounds)
  --np      number of processes (default $np)
  --memory  no race: the memory of each of --np ranks that have met in a barrier and wait
  --seed    determines which command is first in each round (default: random, printed)
END
}

while [ $# -gt 0 ]; do
    case "$1" in
        --help) usage && exit ;;
        --memory) memory=yes && shift && continue ;;
    esac
    [ $# -gt 1 ] || { usage >&2 && exit 2; }
    case "$1" in
        --rounds) rounds="$2" ;;
        --np) np="$2" ;;
        --seed) seed="$2" ;;
        *) usage >&2 && exit 2 ;;
    esac
    shift 2
done

package=org.horovod4j.benchmarks

# Uses jars, as a user does. The JVM can archive classes from jars, but not from the folders of a
# checkout.
unpack_distribution() {
    dist=benchmarks/target/distribution
    rm -rf "$dist"
    mkdir -p "$dist"
    local zip
    zip="$(realpath launcher/target/horovod4j-*.zip)"
    (cd "$dist" && "${java%/java}/jar" xf "$zip")
    dist="$(realpath "$dist"/horovod4j-*)"
    export HOROVOD_CLASS_ARCHIVES="$scratch/archives"
}

horovodrun() { sh "$dist/bin/horovodrun" --start-timeout 300 -np "$np" "$@"; }

# mpirun adds to the class path of a command that is called java, which an archive would not fit. So
# the command is env.
openmpi() { mpi --bind-to none -np "$np" env "$java" "${mpi_java_options[@]}" "$@"; }

# Gives the JVMs under mpirun the same kind of archive that horovodrun makes for its ranks: of the
# classes that the program loads, in the same two steps.
archive_mpi_classes() {
    local list="$scratch/mpi.classes" archive="$scratch/mpi.jsa"
    mpi_java_options=(--enable-native-access=ALL-UNNAMED -cp "$classpath")
    mpi -np 1 env "$java" "-XX:DumpLoadedClassList=$list" "${mpi_java_options[@]}" \
        "$package.MpiInitOnly" "$scratch/moments" >"$scratch/log" 2>&1 &&
        "$java" -Xshare:dump "-XX:SharedClassListFile=$list" "-XX:SharedArchiveFile=$archive" \
            "${mpi_java_options[@]}" >"$scratch/log" 2>&1 &&
        # A JVM runs without an archive that does not fit, unless it must use it.
        mpi -np 1 env "$java" -Xshare:on "-XX:SharedArchiveFile=$archive" "${mpi_java_options[@]}" \
            "$package.MpiInitOnly" "$scratch/moments" >"$scratch/log" 2>&1 ||
        die "no class archive for mpirun: $(cat "$scratch/log")"
    mpi_java_options=("-XX:SharedArchiveFile=$archive" "${mpi_java_options[@]}")
    say "the JVMs of both commands use class archives"
}

measure_mpirun() { measure mpirun openmpi "$package.MpiInitOnly"; }

measure_horovodrun() { measure horovodrun horovodrun java -cp "$classpath" "$package.InitOnly"; }

# Records three times in milliseconds: until the last rank is ready, until the command exits, and
# the CPU time.
measure() { # name command...
    local name="$1" start there end used
    shift
    rm -f "$scratch/moments"
    start="$(date +%s%3N)"
    TIMEFORMAT='%U %S'
    { time "$@" "$scratch/moments" >/dev/null; } 2>"$scratch/used" || die "failed: $*: $(cat "$scratch/used")"
    end="$(date +%s%3N)"
    [ "$(wc -l <"$scratch/moments")" -eq "$np" ] || die "not all $np ranks came up: $*"
    there="$(sort -n "$scratch/moments" | tail -n 1)"
    used="$(tail -n 1 "$scratch/used" | awk '{ printf "%d", 1000 * ($1 + $2) }')"
    echo "$((there - start)) $((end - start)) $used" >>"$scratch/$name"
}

# The median, with minimum and maximum in brackets.
spread() { # format
    sort -n | awk -v f="$1" '{ v[NR] = $1 } END {
        m = (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2
        printf f " [" f ".." f "]", m, v[1], v[NR] }'
}

compare() { # what column
    say "$1: mpirun $(cut -d ' ' -f "$2" "$scratch/mpirun" | spread %d) ms," \
        "horovodrun $(cut -d ' ' -f "$2" "$scratch/horovodrun" | spread %d) ms, ratio" \
        "$(paste -d ' ' <(cut -d ' ' -f "$2" "$scratch/horovodrun") \
            <(cut -d ' ' -f "$2" "$scratch/mpirun") | awk '{ print $1 / $2 }' | spread %.2f)"
}

# The memory of each waiting rank: resident set size (RSS) and proportional set size (PSS).
weigh() {
    local pid
    while read -r pid; do
        awk '/^Rss:/ { r = $2 } /^Pss:/ { p = $2 } END { print r, p }' "/proc/$pid/smaps_rollup"
    done <"$scratch/pids" >"$scratch/weights"
    say "$np ranks, MiB each: resident" \
        "$(awk '{ print $1 / 1024 }' "$scratch/weights" | spread %.0f), proportional" \
        "$(awk '{ print $2 / 1024 }' "$scratch/weights" | spread %.0f)"
}

build
find_java
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT
unpack_distribution

if [ -n "$memory" ]; then
    # The second job uses the class archive that the first one created.
    for _ in 1 2; do
        rm -f "$scratch/pids" "$scratch/go"
        mkfifo "$scratch/go"
        horovodrun java -cp "$classpath" "$package.MemoryFootprint" "$scratch/pids" "$scratch/go" &
        until [ "$(cat "$scratch/pids" 2>/dev/null | wc -l)" -eq "$np" ]; do
            kill -0 $! 2>/dev/null || die "the job has ended early"
            sleep 0.2
        done
        weigh
        for ((rank = 0; rank < np; rank++)); do echo; done >"$scratch/go"
        wait $!
    done
    exit
fi

install_libraries
find_openmpi || die "this needs Open MPI: apt-get install openmpi-bin libopenmpi-dev"
start_order
archive_mpi_classes
for ((round = 0; round <= rounds; round++)); do
    shuffle mpirun horovodrun
    for command in "${shuffled[@]}"; do "measure_$command"; done
    if [ "$round" -eq 0 ]; then # a warm-up that fills the file cache and creates our archives
        say "the first time, which does not count: mpirun $(cat "$scratch/mpirun")," \
            "horovodrun $(cat "$scratch/horovodrun")"
        rm "$scratch/mpirun" "$scratch/horovodrun"
        continue
    fi
    say "round $round, ms until there, until the end, of processors:" \
        "mpirun $(tail -n 1 "$scratch/mpirun"), horovodrun $(tail -n 1 "$scratch/horovodrun")"
done

compare "until all ranks have met" 1
compare "until the command ends" 2
compare "of processors" 3
