#!/usr/bin/env bash
# Times the allreduce of a training step's gradients through the whole runtime, compares it with
# Open MPI and with our raw collective, and prints one table with ratios. See docs/benchmarks.md.
source "$(dirname "$0")/common.sh"

rounds=5
turns=10
seconds=0.2
tuned_rounds=10
nps=2,4
works=resnet,tiny,one,overlap

usage() {
    cat <<END
usage: benchmarks/runtime.sh [--quick] [--rounds n] [--turns n] [--np 2,4]
           [--work resnet,tiny,one,overlap]
  --quick   two rounds of jobs, five turns in each: a quarter of an hour instead of an hour
  --rounds  how often each job is started (default $rounds; with and without a tuning, $tuned_rounds)
  --turns   how many turns each variant has in a job (default $turns)
  --np      numbers of processes (default $nps)
  --work    what to reduce (default $works)
END
}

while [ $# -gt 0 ]; do
    case "$1" in
        --quick) rounds=2 turns=5 seconds=0.1 tuned_rounds=4 && shift && continue ;;
        --help) usage && exit ;;
    esac
    [ $# -gt 1 ] || { usage >&2 && exit 2; }
    case "$1" in
        --rounds) rounds="$2" tuned_rounds="$2" ;;
        --turns) turns="$2" ;;
        --np) nps="$2" ;;
        --work) works="$2" ;;
        *) usage >&2 && exit 2 ;;
    esac
    shift 2
done

binaries=benchmarks/target/libraries
results=benchmarks/results/runtime-$(date +%Y-%m-%d-%H%M%S)
csv="$results.csv"

compile_library() {
    mkdir -p "$binaries"
    rm -f "$binaries/steps_mpi"
    if command -v mpicc mpirun >/dev/null; then
        mpicc -O3 -march=native -o "$binaries/steps_mpi" benchmarks/src/main/c/steps_mpi.c
    else
        say "no Open MPI here, so no comparison with it"
    fi
}

byte_size() { # work; must match Workload.java, which rejects other sizes
    case "$1" in
        resnet) echo 102228128 ;;
        tiny) echo 1024000 ;;
        one) echo 4 ;;
    esac
}

openmpi() { # np work; passes the size once for each turn
    [ -x "$binaries/steps_mpi" ] || return 0
    local sizes
    sizes="$(for ((turn = 1; turn <= turns; turn++)); do byte_size "$2"; done | paste -sd,)"
    mpi --mca btl self,vader -np "$1" \
        "$binaries/steps_mpi" openmpi@shm "$csv" "$seconds" "$sizes"
}

# Sets `variables` for the setting after the plus sign of a variant, if it applies to a whole job.
choose_setting() { # variants
    case "$1" in
        *+before-*) variables=() ;;
        *+autotune) variables=(HOROVOD_AUTOTUNE=1 "HOROVOD_AUTOTUNE_FILE=$tuning") ;;
        *+unlocked) variables=(HOROVOD_PLAN_LOCKING=0) ;;
        *+uncached) variables=(HOROVOD_PLAN_LOCKING=0 HOROVOD_CACHE_CAPACITY=0) ;;
        *) variables=() ;;
    esac
}

run_job() { # np work variants
    local variables tuning
    tuning="$(tuning_file "$1" "$2")"
    choose_setting "$3"
    env "${variables[@]}" ./horovodrun -np "$1" java -Djava.io.tmpdir="$scratch" -cp "$classpath" \
        org.horovod4j.benchmarks.runtime.RuntimeBenchmark "$3" "$2" "$csv" "$seconds" "$turns"
}

tuning_file() { echo "$scratch/tuning-$1-$2"; } # np work

# Runs the autotuner once for each number of processes and work. Later jobs start with the saved
# result.
tune() { # np work variant
    local tuning
    tuning="$(tuning_file "$1" "$2")"
    [ ! -e "$tuning" ] || return 0
    say "searching a tuning for $2 on $1 processes"
    HOROVOD_AUTOTUNE=1 HOROVOD_AUTOTUNE_FILE="$tuning" HOROVOD_LOG_LEVEL=info \
        ./horovodrun -np "$1" java -cp "$classpath" \
        org.horovod4j.benchmarks.runtime.TuningRun "$3" "$2" "$tuning" >"$tuning.log" 2>&1 ||
        { cat "$tuning.log" && die "the search for a tuning failed: see above"; }
    grep -o 'autotune: done.*' "$tuning.log"
}

# Runs one job for each list of variants, which take turns in it. Variants that are compared are in
# the same list. A list uses one kind of memory, like a training program, so that the JIT compiles
# for one kind.
ours() { # np work lists...
    local np="$1" work="$2" variants
    shift 2
    for variants in "$@"; do
        run_job "$np" "$work" "$variants" || die "Horovod4J failed at $work, $variants: see above"
    done
}

# Runs a job for each setting that applies to a whole job, after a job with default settings as its
# baseline.
settings() { # np work variant settings...
    local np="$1" work="$2" variant="$3" setting
    shift 3
    for setting in "$@"; do
        ours "$np" "$work" "$variant+before-$setting" "$variant+$setting"
    done
}

round() { # np work
    local np="$1" work="$2"
    if [ "$work" != overlap ]; then
        openmpi "$np" "$work" || die "Open MPI failed at $work: see above"
    fi
    case "$work" in
        resnet)
            ours "$np" resnet flat-native,async-native,async-native+timeline \
                flat-heap,async-heap flat-shared,async-shared,async-sliced
            settings "$np" resnet async-native unlocked uncached
            ;;
        tiny)
            ours "$np" tiny flat-native,async-native,async-native+timeline,grouped-native
            settings "$np" tiny async-native unlocked uncached
            ;;
        one)
            ours "$np" one flat-native,flat-native+timeline
            settings "$np" one flat-native unlocked uncached
            ;;
        overlap)
            ours "$np" resnet compute-native,communicate-native,overlap-native \
                compute-shared,communicate-shared,overlap-shared
            ;;
        *) die "no such work: $work" ;;
    esac
}

# The gain of a tuning is smaller than the variation between jobs, so it needs more rounds.
tuned_round() { # np work
    case "$2" in
        resnet | tiny)
            tune "$1" "$2" async-native
            settings "$1" "$2" async-native autotune
            ;;
        *) ;;
    esac
}

scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT

build
find_java
install_libraries
compile_library
mkdir -p benchmarks/results
say "$rounds rounds of jobs, $turns turns in each; single results go to $csv"

# Numbers of processes alternate too, so that their ratio is taken within a round.
all_rounds() { # count function
    local count="$1" function="$2" round np work
    for ((round = 1; round <= count; round++)); do
        for np in ${nps//,/ }; do
            for work in ${works//,/ }; do
                say "${function/_/ } $round of $count, $np processes, $work"
                "$function" "$np" "$work"
            done
        done
    done
}

all_rounds "$rounds" round
all_rounds "$tuned_rounds" tuned_round

"$java" -cp "$classpath" org.horovod4j.benchmarks.runtime.RuntimeReport "$csv" "$results.md"
say "the same as Markdown: $results.md"
