#!/usr/bin/env bash
# Times the allreduce of a training step's gradients through the whole runtime. Compares it with Open
# MPI, with the original Horovod, and with our raw collective, and prints tables with ratios. See
# docs/benchmarks.md.
source "$(dirname "$0")/common.sh"

rounds=5
turns=10
seconds=0.2
tuned_rounds=10
nps=2,4
works=resnet,tiny,one,overlap
settings=unlocked,uncached,autotune

usage() {
    cat <<END
usage: benchmarks/runtime.sh [--quick] [--rounds n] [--turns n] [--np 2,4]
           [--work resnet,tiny,one,overlap,graph-resnet,graph-tiny,gloo-resnet,gloo-tiny]
           [--settings unlocked,uncached,autotune] [--seed n]
  --quick     two rounds of jobs, five turns in each: a quarter of an hour instead of an hour
  --rounds    how often each job is started (default $rounds; with and without a tuning, $tuned_rounds)
  --turns     how many turns each variant has in a job (default $turns)
  --np        numbers of processes (default $nps)
  --work      what to reduce (default $works); graph- through a TensorFlow graph,
              gloo- beside ProcessGroupGloo of PyTorch by Bytedeco
  --settings  which settings of a whole job to compare with none (default $settings; or none)
  --seed      determines the order of jobs in each round and of variants in each turn (default: random,
              printed)
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
        --settings) settings="$2" ;;
        --seed) seed="$2" ;;
        *) usage >&2 && exit 2 ;;
    esac
    shift 2
done

binaries=benchmarks/target/libraries
results=$results_folder/runtime-$(date +%Y-%m-%d-%H%M%S)
csv="$results.csv"

other_programs=() # those that were found
declare -A tensor_sizes # the bytes of the tensors of each work, separated by commas

find_other_programs() {
    local controller
    mkdir -p "$binaries"
    rm -f "$binaries/steps_mpi"
    if find_openmpi && "$mpicc" -O3 -march=native -o "$binaries/steps_mpi" \
        benchmarks/src/main/c/steps_mpi.c; then
        other_programs+=(openmpi)
    else
        say "Open MPI is skipped: no mpicc and mpirun of it, or no headers"
    fi
    for controller in mpi gloo; do
        if has_horovod "$controller"; then
            other_programs+=("horovod-$controller")
        else
            say "Horovod is skipped: python3 cannot import a horovod.torch with $controller"
        fi
    done
}

find_tensor_sizes() {
    local work
    for work in resnet tiny one; do
        tensor_sizes[$work]="$("$java" -cp "$classpath" org.horovod4j.benchmarks.runtime.TensorSizes "$work")"
    done
}

openmpi() { # np work round; passes the size of the flat buffer once for each turn
    local bytes sizes
    bytes=$((${tensor_sizes[$2]//,/+}))
    sizes="$(for ((turn = 1; turn <= turns; turn++)); do echo "$bytes"; done | paste -sd,)"
    mpi --mca btl self,vader -np "$1" \
        "$binaries/steps_mpi" openmpi@shm "$3" "$csv" "$seconds" "$sizes"
}

horovod() { # mpi|gloo np work round
    local transport=shm
    [ "$1" = mpi ] || transport=tcp
    start_horovod "$1" "$2" benchmarks/src/main/python/steps_horovod.py "horovod-$1@$transport" "$4" \
        "$csv" "$seconds" "$turns" "${tensor_sizes[$3]}"
}

run_other_program() { # program np work round
    case "$1" in
        openmpi) openmpi "$2" "$3" "$4" ;;
        horovod-*) horovod "${1#horovod-}" "$2" "$3" "$4" ;;
    esac
}

# Sets `variables` for the setting after the plus sign of a variant, if it applies to a whole job.
choose_setting() { # variants
    case "$1" in
        *+without-*) variables=() ;;
        *+autotune) variables=(HOROVOD_AUTOTUNE=1 "HOROVOD_AUTOTUNE_FILE=$tuning") ;;
        *+unlocked) variables=(HOROVOD_PLAN_LOCKING=0) ;;
        *+tcp) variables=(HOROVOD_TRANSPORT=tcp) ;;
        *+uncached) variables=(HOROVOD_PLAN_LOCKING=0 HOROVOD_CACHE_CAPACITY=0) ;;
        *) variables=() ;;
    esac
}

run_job() { # np work round variants
    local variables tuning
    tuning="$(tuning_file "$1" "$2")"
    choose_setting "$4"
    env "${variables[@]}" "$horovodrun" -np "$1" java -Djava.io.tmpdir="$scratch" \
        --sun-misc-unsafe-memory-access=allow -cp "$classpath" \
        org.horovod4j.benchmarks.runtime.RuntimeBenchmark "$4" "$2" "$3" "$seed" \
        "$csv" "$seconds" "$turns"
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
        "$horovodrun" -np "$1" java -cp "$classpath" \
        org.horovod4j.benchmarks.runtime.TuningRun "$3" "$2" "$tuning" >"$tuning.log" 2>&1 ||
        { cat "$tuning.log" && die "the search for a tuning failed: see above"; }
    grep -o 'autotune: done.*' "$tuning.log"
}

workload() { # work
    case "$1" in
        overlap) echo resnet ;;
        *) echo "${1#*-}" ;; # without graph- and gloo-
    esac
}

# Runs the jobs of one line of `jobs_of`, in a random order.
run_line() { # np work round jobs...
    local np="$1" work="$2" round="$3" job
    shift 3
    shuffle "$@"
    for job in "${shuffled[@]}"; do
        if [[ " ${other_programs[*]} " == *" $job "* ]]; then
            run_other_program "$job" "$np" "$work" "$round" ||
                say "$job failed at $work in round $round, which is dropped"
        else
            run_job "$np" "$(workload "$work")" "$round" "$job" ||
                die "Horovod4J failed at $work, $job: see above"
        fi
    done
}

# Prints the jobs of a round. A job is a list of variants, which take turns in it: those that are
# compared turn by turn. A list uses one kind of memory, like a training program, so that the JIT
# compiles for one kind. The jobs of one line run one after the other: those with and without a
# setting that applies to a whole job.
jobs_of() { # work
    [[ "$1" =~ ^(overlap|graph-.*|gloo-.*)$ ]] || [ ${#other_programs[@]} = 0 ] ||
        printf '%s\n' "${other_programs[@]}"
    case "$1" in
        graph-*)
            echo flat-native,async-native,graph-native,noop-native
            return
            ;;
        gloo-*)
            echo async-native,gloo-native,glooflat-native
            echo async-shared,gloo-shared,glooflat-shared
            echo async-native+tcp,gloo-native+tcp,glooflat-native+tcp
            return
            ;;
        resnet)
            echo flat-native,async-native,async-native+timeline
            echo flat-heap,async-heap
            echo flat-shared,async-shared,async-sliced
            ;;
        tiny) echo flat-native,async-native,async-native+timeline,grouped-native ;;
        one) echo flat-native,flat-native+timeline ;;
        overlap)
            echo compute-native,communicate-native,overlap-native
            echo compute-shared,communicate-shared,overlap-shared
            return
            ;;
    esac
    local variant=async-native setting
    [ "$1" != one ] || variant=flat-native
    for setting in unlocked uncached; do
        [[ ",$settings," == *",$setting,"* ]] || continue
        echo "$variant+without-$setting $variant+$setting"
    done
}

round() { # np work round
    local lines line
    mapfile -t lines < <(jobs_of "$2")
    shuffle "${lines[@]}"
    lines=("${shuffled[@]}")
    for line in "${lines[@]}"; do
        # shellcheck disable=SC2086 # a line is a list of jobs
        run_line "$1" "$2" "$3" $line
    done
}

# The gain of a tuning is smaller than the variation between jobs, so it needs more rounds.
tuned_round() { # np work round
    case "$2" in
        resnet | tiny)
            tune "$1" "$2" async-native
            run_line "$1" "$2" "$3" async-native+without-autotune async-native+autotune
            ;;
        *) ;;
    esac
}

scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT

workloads=
for work in ${works//,/ }; do
    [[ "$work" =~ ^(resnet|tiny|one|overlap|(graph|gloo)-(resnet|tiny))$ ]] || die "there is no work '$work'; see --help"
    [ "$work" != overlap ] || continue
    [[ "$workloads" != *" $(workload "$work") "* ]] || die "$works: works with the same tensors need separate runs"
    workloads="$workloads $(workload "$work") "
done
# TensorFlow and PyTorch need different versions of JavaCPP.
[[ "$works" != *graph-* || "$works" != *gloo-* ]] || die "graph- and gloo- need separate runs"
for setting in ${settings//,/ }; do
    [[ "$setting" =~ ^(unlocked|uncached|autotune|none)$ ]] || die "there is no setting '$setting'; see --help"
done
start_order
build
if [[ "$works" == *gloo-* ]]; then
    classpath="$classpath:$(pytorch_class_path)"
fi
if [[ "$works" == *graph-* ]]; then
    classpath="$classpath:$(jar frameworks/tensorflow):$(cat benchmarks/target/libraries.txt)"
    export TF_CPP_MIN_LOG_LEVEL=${TF_CPP_MIN_LOG_LEVEL:-1}
    # Keeps the memory of a step for the next one; see docs/djl.md.
    export MALLOC_MMAP_THRESHOLD_=33554432 MALLOC_TRIM_THRESHOLD_=4294967296
    export MALLOC_TOP_PAD_=67108864 MALLOC_ARENA_MAX=1
fi
find_java
if [[ ",$works," =~ ,(resnet|tiny|one), ]]; then # the others are not compared with libraries
    install_libraries
    find_other_programs
    find_tensor_sizes
fi
mkdir -p "$results_folder"
say "$rounds rounds of jobs, $turns turns in each; single results go to $csv"

# Numbers of processes alternate too, so that their ratio is taken within a round.
all_rounds() { # count function
    local count="$1" function="$2" number np work blocks block
    for ((number = 1; number <= count; number++)); do
        blocks=()
        for np in ${nps//,/ }; do
            for work in ${works//,/ }; do blocks+=("$np $work"); done
        done
        shuffle "${blocks[@]}"
        blocks=("${shuffled[@]}")
        for block in "${blocks[@]}"; do
            read -r np work <<<"$block"
            say "${function/_/ } $number of $count, $np processes, $work"
            "$function" "$np" "$work" "$number"
        done
    done
}

all_rounds "$rounds" round
[[ ",$settings," != *,autotune,* ]] || all_rounds "$tuned_rounds" tuned_round

"$java" -cp "$classpath" org.horovod4j.benchmarks.runtime.RuntimeReport "$csv" "$results.md"
say "the same as Markdown: $results.md"
