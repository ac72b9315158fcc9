#!/usr/bin/env bash
# Times a training step's gradients through the whole runtime, beside Open MPI and beside our raw
# collective, and prints one table with ratios. See docs/benchmarks.md.
source "$(dirname "$0")/common.sh"

rounds=5
seconds=1
nps=2,4
works=resnet,tiny,one,overlap

usage() {
    cat <<END
usage: benchmarks/runtime.sh [--quick] [--rounds n] [--np 2,4] [--work resnet,tiny,one,overlap]
  --quick   two rounds, shorter timing: ten minutes instead of half an hour
  --rounds  how often each variant takes its turn (default $rounds)
  --np      numbers of processes (default $nps)
  --work    what to reduce (default $works)
END
}

while [ $# -gt 0 ]; do
    case "$1" in
        --quick) rounds=2 seconds=0.3 && shift && continue ;;
        --help) usage && exit ;;
    esac
    [ $# -gt 1 ] || { usage >&2 && exit 2; }
    case "$1" in
        --rounds) rounds="$2" ;;
        --np) nps="$2" ;;
        --work) works="$2" ;;
        *) usage >&2 && exit 2 ;;
    esac
    shift 2
done

binaries=benchmarks/target/peers
results=benchmarks/results/runtime-$(date +%Y-%m-%d-%H%M%S)
csv="$results.csv"

compile_peer() {
    mkdir -p "$binaries"
    rm -f "$binaries/steps_mpi"
    if command -v mpicc mpirun >/dev/null; then
        mpicc -O3 -march=native -o "$binaries/steps_mpi" benchmarks/src/main/c/steps_mpi.c
    else
        say "no Open MPI here, so no comparison with it"
    fi
}

byte_size() { # work; what Workload.java says, which refuses to report any other
    case "$1" in
        resnet) echo 102228128 ;;
        tiny) echo 1024000 ;;
        one) echo 4 ;;
    esac
}

openmpi() { # np work
    [ -x "$binaries/steps_mpi" ] || return 0
    mpi --mca btl self,vader -np "$1" \
        "$binaries/steps_mpi" openmpi@shm "$csv" "$seconds" "$(byte_size "$2")"
}

# Fills `variables` with what stands after the plus of a variant.
choose_setting() { # variant
    case "$1" in
        *+timeline) variables=("HOROVOD_TIMELINE=$scratch/timeline.json") ;;
        *+autotune) variables=(HOROVOD_AUTOTUNE=1 "HOROVOD_AUTOTUNE_FILE=$tuning") ;;
        *+unlocked) variables=(HOROVOD_PLAN_LOCKING=0) ;;
        *+uncached) variables=(HOROVOD_PLAN_LOCKING=0 HOROVOD_CACHE_CAPACITY=0) ;;
        *+*) die "no such setting: $1" ;;
        *) variables=() ;;
    esac
}

# Searches once for each number of processes and work; the rounds then start with what was found.
tune() { # np work variant
    [ ! -e "$tuning" ] || return 0
    say "searching a tuning for $2 on $1 processes"
    env "${variables[@]}" HOROVOD_LOG_LEVEL=info ./horovodrun -np "$1" java -cp "$classpath" \
        org.horovod4j.benchmarks.runtime.TuningRun "$3" "$2" "$tuning" >"$tuning.log" 2>&1 ||
        { cat "$tuning.log" && return 1; }
    grep -o 'autotune: done.*' "$tuning.log"
}

ours() { # np work variant
    local variables tuning="$scratch/tuning-$1-$2"
    choose_setting "$3"
    case "$3" in *+autotune) tune "$@" || return ;; esac
    env "${variables[@]}" ./horovodrun -np "$1" java -cp "$classpath" \
        org.horovod4j.benchmarks.runtime.RuntimeBenchmark "$3" "$2" "$csv" "$seconds" || return
    rm -f "$scratch"/timeline* # a trace of all steps is large, and the scratch may be memory
}

all_ours() { # np work variants...
    local np="$1" work="$2" variant
    shift 2
    for variant in "$@"; do
        ours "$np" "$work" "$variant" || die "Horovod4J failed at $work, $variant: see above"
    done
}

turn() { # np work
    local np="$1" work="$2"
    if [ "$work" != overlap ]; then
        openmpi "$np" "$work" || say "Open MPI failed in this round"
    fi
    case "$work" in
        resnet)
            all_ours "$np" resnet flat-native async-native flat-heap async-heap \
                flat-shared async-shared async-sliced \
                async-native+timeline async-native+unlocked async-native+uncached \
                async-native+autotune
            ;;
        tiny)
            all_ours "$np" tiny flat-native async-native grouped-native \
                async-native+timeline async-native+unlocked async-native+uncached \
                async-native+autotune
            ;;
        one)
            all_ours "$np" one flat-native \
                flat-native+timeline flat-native+unlocked flat-native+uncached
            ;;
        overlap) all_ours "$np" resnet overlap-native overlap-shared ;;
        *) die "no such work: $work" ;;
    esac
}

scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT

build
find_java
install_peers
compile_peer
mkdir -p benchmarks/results
say "$rounds rounds; single results go to $csv"

# Numbers of processes take turns too, for their ratio.
for ((round = 1; round <= rounds; round++)); do
    for np in ${nps//,/ }; do
        for work in ${works//,/ }; do
            say "round $round of $rounds, $np processes, $work"
            turn "$np" "$work"
        done
    done
done

"$java" -cp "$classpath" org.horovod4j.benchmarks.runtime.RuntimeReport "$csv" "$results.md"
say "the same as Markdown: $results.md"
