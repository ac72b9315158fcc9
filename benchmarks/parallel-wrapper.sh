#!/usr/bin/env bash
# Trains on MNIST with Deeplearning4j: on two ranks of Horovod4J, and on two threads of DL4J's
# ParallelWrapper, in turns. Each worker has one compute thread. Prints images per second and accuracy. See
# docs/benchmarks.md.
source "$(dirname "$0")/common.sh"

rounds=3
images=20000
epochs=3
others=averaging

usage() {
    cat <<END
usage: benchmarks/parallel-wrapper.sh [--rounds n] [--images n] [--epochs n] [--modes averaging,shared_gradients] [--seed n]
  --rounds  how often each program takes its turn (default $rounds)
  --images  of MNIST, in an epoch (default $images)
  --epochs  of a turn; the first does not count for images per second (default $epochs)
  --modes   of ParallelWrapper (default $others); shared_gradients may hang, see docs/benchmarks.md
  --seed    determines the order of programs in each round (default: random, printed)
END
}

while [ $# -gt 0 ]; do
    [ "$1" != --help ] || { usage && exit; }
    [ $# -gt 1 ] || { usage >&2 && exit 2; }
    case "$1" in
        --rounds) rounds="$2" ;;
        --images) images="$2" ;;
        --epochs) epochs="$2" ;;
        --modes) others="$2" ;;
        --seed) seed="$2" ;;
        *) usage >&2 && exit 2 ;;
    esac
    shift 2
done
for number in "$rounds" "$images" "$epochs"; do
    [[ "$number" =~ ^[1-9][0-9]*$ ]] || die "'$number' is no whole number above 0; see --help"
done
for mode in ${others//,/ }; do
    [[ "$mode" =~ ^(averaging|shared_gradients)$ ]] || die "there is no mode '$mode'; see --help"
done
[ "$epochs" -gt 1 ] || die "--epochs: at least 2, since the first does not count"

programs=(horovod4j ${others//,/ })
start_order
build
find_java
classpath="$classpath:$(jar frameworks/dl4j):$(cat benchmarks/target/libraries.txt)"
export OMP_NUM_THREADS=1 # per worker
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT

train() { # program
    local command=(--enable-native-access=ALL-UNNAMED --sun-misc-unsafe-memory-access=allow
        --add-modules=jdk.incubator.vector -cp "$classpath"
        org.horovod4j.benchmarks.training.dl4j.ParallelWrapperBenchmark
        "$1" "$images" "$epochs" examples/data/mnist)
    case "$1" in
        horovod4j) "$horovodrun" -np 2 java "${command[@]}" ;;
        *) "$java" "${command[@]}" ;;
    esac
}

value() { # name; those that a program has printed, one per line
    sed -nE "s/^(\[0\]<stdout>:)?$1 //p" "$folder/output"
}

declare -A rate
for ((round = 1; round <= rounds; round++)); do
    shuffle "${programs[@]}"
    for program in "${shuffled[@]}"; do
        train "$program" >"$folder/output" 2>&1 || { cat "$folder/output" >&2; die "$program failed"; }
        rate[$program]="$(value rate | median)"
        say "round $round of $rounds: $program, ${rate[$program]} images/s, accuracy $(value accuracy) %"
        echo "${rate[$program]}" >>"$folder/$program.rate"
        value accuracy >>"$folder/$program.accuracy"
    done
    for program in "${programs[@]}"; do
        awk "BEGIN { print ${rate[horovod4j]} / ${rate[$program]} }" >>"$folder/$program.ratio"
    done
done

echo
echo "| program | images/s | horovod4j ÷ program | accuracy, % |"
echo "|---|---|---|---|"
for program in "${programs[@]}"; do
    ratio="–"
    [ "$program" = horovod4j ] || ratio="$(median_and_range <"$folder/$program.ratio")"
    echo "| $program | $(median_and_range <"$folder/$program.rate") | $ratio |" \
        "$(median_and_range <"$folder/$program.accuracy") |"
done
