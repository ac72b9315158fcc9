#!/usr/bin/env bash
# Measures the scaling of training with the ranks of one machine, and the effect of overlap. The
# computation is synthetic, so only a JVM is needed. See docs/benchmarks.md.
source "$(dirname "$0")/common.sh"

rounds=3
nps=1,2
works=native,sliced
step_ms=600 # ResNet-50 on one image; 3000 for a batch of eight
warm_up=20 # until the JVM has compiled the exchange
steps=8

usage() {
    cat <<END
usage: benchmarks/scaling.sh [--np 1,2,4] [--step-ms n] [--rounds n] [--steps n] [--warm-up n]
                             [--work native,sliced] [--seed n]
  --np       numbers of ranks (default $nps); efficiency is relative to 1
  --step-ms  milliseconds that one core computes in a step (default $step_ms)
  --rounds   how often each job takes its turn (default $rounds)
  --steps    steps of a job that count, in each mode (default $steps)
  --warm-up  steps before them (default $warm_up)
  --work     where the gradients lie: native is copied, shared and sliced are our buffer (default $works)
  --seed     determines the order of jobs in each round and of modes in a job (default: random, printed)
END
}

while [ $# -gt 0 ]; do
    [ "$1" != --help ] || { usage && exit; }
    [ $# -gt 1 ] || { usage >&2 && exit 2; }
    case "$1" in
        --np) nps="$2" ;;
        --step-ms) step_ms="$2" ;;
        --rounds) rounds="$2" ;;
        --steps) steps="$2" ;;
        --warm-up) warm_up="$2" ;;
        --work) works="$2" ;;
        --seed) seed="$2" ;;
        *) usage >&2 && exit 2 ;;
    esac
    shift 2
done

for number in ${nps//,/ } "$step_ms" "$rounds" "$steps" "$warm_up"; do
    [[ "$number" =~ ^[1-9][0-9]*$ ]] || die "'$number' is no whole number above 0; see --help"
done
for work in ${works//,/ }; do
    [[ "$work" =~ ^(heap|native|shared|sliced)$ ]] || die "there is no work '$work'; see --help"
done

start_order
package=org.horovod4j.benchmarks.training

# Starts the ranks without horovodrun, which may not be installed. Rank 0 listens on the port.
job() { # np arguments...
    local np="$1" rank failed=0
    shift
    pids=()
    export HOROVOD_SIZE="$np" HOROVOD_HOSTNAME=localhost HOROVOD_RENDEZVOUS_ADDR=127.0.0.1
    HOROVOD_RENDEZVOUS_PORT="$(shuf -n 1 -i 20000-29999)" # below the ephemeral ports
    export HOROVOD_RENDEZVOUS_PORT
    HOROVOD_SECRET_KEY="$(head -c 32 /dev/urandom | base64 | tr '+/' '-_' | tr -d '=')"
    export HOROVOD_SECRET_KEY
    for ((rank = 0; rank < np; rank++)); do
        HOROVOD_RANK="$rank" "${jvm[@]}" "$package.ScalingBenchmark" "$@" \
            2> >(grep -v 'incubator modules' >&2) &
        pids+=($!)
    done
    for rank in "${!pids[@]}"; do
        wait "${pids[$rank]}" || failed=1
    done
    pids=()
    return "$failed"
}

build
find_java
jvm=("$java" --add-modules jdk.incubator.vector --enable-native-access=ALL-UNNAMED -cp "$classpath")
mkdir -p "$results_folder"
results="$results_folder/scaling-$(date +%Y-%m-%d-%H%M%S)"

# Ends the ranks if this script is interrupted.
pids=()
trap 'for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null; done' EXIT

amount="$("${jvm[@]}" "$package.ComputeCalibration" "$step_ms" 2>"$results.log")" ||
    die "could not calibrate: $(cat "$results.log")"
rm "$results.log"
say "a step of $step_ms ms is $amount rounds of arithmetic; $rounds turns; single results go to $results.csv"

# Numbers of ranks alternate, so that their ratio is taken within a round.
for ((round = 1; round <= rounds; round++)); do
    jobs=()
    for np in ${nps//,/ }; do
        for work in ${works//,/ }; do jobs+=("$np $work"); done
    done
    shuffle "${jobs[@]}"
    for each in "${shuffled[@]}"; do
        read -r np work <<<"$each"
        say "round $round of $rounds, $np ranks, $work"
        job "$np" "$work" "$amount" "$warm_up" "$steps" "$round" "$seed" "$results.csv" ||
            die "a job of $np ranks failed: see above"
    done
done

"${jvm[@]}" "$package.TrainingReport" "$results.csv" "$results.md" 2> >(grep -v 'incubator modules' >&2)
say "the same as Markdown: $results.md"
