#!/usr/bin/env bash
# Measures the scaling efficiency of training with DJL and PyTorch, TensorFlow, DL4J, or PyTorch by
# Bytedeco. Each rank has one compute thread. The baselines are one rank alone, and the same number of
# ranks without communication. See docs/benchmarks.md.
source "$(dirname "$0")/common.sh"

rounds=
nps=2
networks=resnet50,mnist
side=224
batch=8
steps=

usage() {
    cat <<END
usage: benchmarks/training.sh [--quick] [--rounds n] [--np 2,4]
                              [--work resnet50,mnist,tfmnist,dl4jmnist,torchmnist]
                              [--image n] [--batch n] [--steps n] [--seed n]
  --quick   ResNet-50 on images of 64 pixels, two rounds
  --rounds  how often each mode takes its turn (default 12 for ResNet-50, 60 for MNIST networks)
  --np      numbers of ranks (default $nps); efficiency is relative to one of them alone
  --work    the networks (default $networks); tfmnist is the MNIST network with TensorFlow,
            torchmnist with PyTorch by Bytedeco, dl4jmnist a smaller one with DL4J
  --image   side of ResNet-50's images, in pixels (default $side)
  --batch   images of a rank in a step of ResNet-50 (default $batch; the MNIST network has 64)
  --steps   steps of a turn that count (default 1 of ResNet-50, 6 of the MNIST network)
  --seed    determines the order of modes in each round (default: random, printed)
END
}

while [ $# -gt 0 ]; do
    case "$1" in
        --quick) rounds=2 side=64 && shift && continue ;;
        --help) usage && exit ;;
    esac
    [ $# -gt 1 ] || { usage >&2 && exit 2; }
    case "$1" in
        --rounds) rounds="$2" ;;
        --np) nps="$2" ;;
        --work) networks="$2" ;;
        --image) side="$2" ;;
        --batch) batch="$2" ;;
        --steps) steps="$2" ;;
        --seed) seed="$2" ;;
        *) usage >&2 && exit 2 ;;
    esac
    shift 2
done

for number in ${nps//,/ } "${rounds:-1}" "$side" "$batch" "${steps:-1}"; do
    [[ "$number" =~ ^[1-9][0-9]*$ ]] || die "'$number' is no whole number above 0; see --help"
done
for network in ${networks//,/ }; do
    [[ "$network" =~ ^(resnet50|mnist|tfmnist|dl4jmnist|torchmnist)$ ]] ||
        die "there is no network '$network'; see --help"
done

export TF_CPP_MIN_LOG_LEVEL=${TF_CPP_MIN_LOG_LEVEL:-1}
export OMP_NUM_THREADS=1 # per rank: with more threads, a single rank would use the cores of the others

# Keeps the memory of a step for the next one; see docs/djl.md.
export MALLOC_MMAP_THRESHOLD_=33554432 MALLOC_TRIM_THRESHOLD_=4294967296
export MALLOC_TOP_PAD_=67108864 MALLOC_ARENA_MAX=1

# Each job has rounds of its own: every one measures one rank alone too.
first_round=1

job() { # np network
    local shape program=djl.DjlTrainingBenchmark libraries=$others
    case "$2" in
        # Side, batch, rounds, warm-up steps and measured steps of a turn. Turns are short: see
        # docs/benchmarks.md.
        resnet50) shape=("$side" "$batch" "${rounds:-12}" 1 "${steps:-1}") ;;
        *mnist) shape=(28 64 "${rounds:-60}" 5 "${steps:-6}") ;;
    esac
    case "$2" in
        tfmnist) program=tensorflow.TensorFlowTrainingBenchmark ;;
        dl4jmnist) program=dl4j.Dl4jTrainingBenchmark ;;
        torchmnist) program=pytorch.TorchTrainingBenchmark libraries=$(pytorch_class_path) ;;
    esac
    "$horovodrun" -np "$1" java -Dai.djl.offline=true --sun-misc-unsafe-memory-access=allow \
        -cp "$classpath:$libraries" "org.horovod4j.benchmarks.training.$program" \
        "$2" "${shape[@]}" "$first_round" "$seed" "$csv" || return
    first_round=$((first_round + shape[2]))
}

start_order
build
find_java
others="$(jar frameworks/libtorch):$(jar frameworks/djl):$(jar frameworks/tensorflow):$(jar frameworks/dl4j)"
others="$others:$(cat benchmarks/target/libraries.txt)"
mkdir -p "$results_folder"
results="$results_folder/training-$(date +%Y-%m-%d-%H%M%S)"
csv="$results.csv"
say "single results go to $csv"

for network in ${networks//,/ }; do
    for np in ${nps//,/ }; do
        say "$network, $np ranks"
        job "$np" "$network" || die "a job of $np ranks failed: see above"
    done
done

"$java" -cp "$classpath" org.horovod4j.benchmarks.training.TrainingReport "$csv" "$results.md"
say "the same as Markdown: $results.md"
