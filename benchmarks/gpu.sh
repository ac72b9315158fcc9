#!/usr/bin/env bash
# Measures training of ResNet-50 with DJL and PyTorch on one GPU: one rank with and without the
# distributed optimizer, then two ranks that share the GPU with each backend, beside two ranks that
# exchange nothing. Then an allreduce with each backend, beside plain calls of NCCL or plain copies.
# See docs/benchmarks.md.
source "$(dirname "$0")/common.sh"

rounds=5
batch=64
side=224
steps=20
warm_up=20 # until ranks that share the GPU take their turns on it as in a longer training
backends=host,cuda_ipc,nccl
parts=training,allreduce
sizes=4,65536,67108864

usage() {
    cat <<END
usage: benchmarks/gpu.sh [--rounds n] [--batch n] [--image n] [--steps n] [--warm-up n]
                         [--backends host,cuda_ipc,nccl] [--parts training,allreduce] [--sizes bytes,...] [--seed n]
  --parts     what is measured (default $parts)
  --rounds    how often each mode takes its turn in a job, and how many jobs measure an allreduce
              (default $rounds)
  --batch     images of a rank in a step (default $batch)
  --image     side of the images, in pixels (default $side)
  --steps     steps of a turn that count (default $steps)
  --warm-up   steps before them (default $warm_up); 1 shows what a step costs right after other work
  --backends  the backends for two ranks (default $backends); empty for none
  --sizes     of the allreduce, in bytes (default $sizes)
  --seed      determines the order of modes in each round (default: random, printed)
DJL needs its libraries for CUDA: name their folder by PYTORCH_LIBRARY_PATH, PYTORCH_VERSION and
PYTORCH_FLAVOR, see docs/gpus.md.
END
}

while [ $# -gt 0 ]; do
    [ "$1" != --help ] || { usage && exit; }
    [ $# -gt 1 ] || { usage >&2 && exit 2; }
    case "$1" in
        --rounds) rounds="$2" ;;
        --batch) batch="$2" ;;
        --image) side="$2" ;;
        --steps) steps="$2" ;;
        --warm-up) warm_up="$2" ;;
        --backends) backends="$2" ;;
        --parts) parts="$2" ;;
        --sizes) sizes="$2" ;;
        --seed) seed="$2" ;;
        *) usage >&2 && exit 2 ;;
    esac
    shift 2
done

for number in "$rounds" "$batch" "$side" "$steps" "$warm_up"; do
    [[ "$number" =~ ^[1-9][0-9]*$ ]] || die "'$number' is no whole number above 0; see --help"
done
for backend in ${backends//,/ }; do
    [[ "$backend" =~ ^(host|cuda_ipc|nccl)$ ]] || die "there is no backend '$backend'; see --help"
done
for part in ${parts//,/ }; do
    [[ "$part" =~ ^(training|allreduce)$ ]] || die "there is no part '$part'; see --help"
done
[[ "$sizes" =~ ^[1-9][0-9]*(,[1-9][0-9]*)*$ ]] || die "--sizes: '$sizes' is no list of sizes"

start_order
build
find_java
if [ -z "${CLASSES:-}" ]; then
    ./mvnw -q -Dquick -DskipTests -pl natives/cuda,natives/nccl -am package
    for module in frameworks/libtorch frameworks/djl natives/cuda natives/nccl; do
        classpath="$classpath:$(jar "$module")"
    done
    classpath="$classpath:$(cat benchmarks/target/libraries.txt)"
fi
mkdir -p "$results_folder"
results="$results_folder/gpu-$(date +%Y-%m-%d-%H%M%S)"

first_round=1

ranks() { # np, class and arguments
    local np="$1"
    shift
    # NCCL refuses two ranks on one GPU unless they seem to be on two hosts.
    HOROVOD_SHARE_GPUS=1 "$horovodrun" -np "$np" sh -c 'NCCL_HOSTID=rank$HOROVOD_RANK exec "$0" "$@"' \
        "$java" -Dai.djl.offline=true --add-modules jdk.incubator.vector \
        --enable-native-access=ALL-UNNAMED ${JAVA_FLAGS:-} -cp "$classpath" "$@"
}

train() { # np, name in the report
    ranks "$1" org.horovod4j.benchmarks.training.djl.GpuTrainingBenchmark \
        "$2" "$side" "$batch" "$rounds" "$warm_up" "$steps" "$first_round" "$seed" "$results.csv" || return
    first_round=$((first_round + rounds))
}

training() {
    say "training: one rank"
    train 1 resnet50 || die "the job of one rank failed: see above"
    for backend in ${backends//,/ }; do
        say "training: two ranks, $backend"
        HOROVOD_GPU_OPERATIONS="${backend^^}" train 2 "resnet50${backend//_/}" ||
            die "the job with backend $backend failed: see above"
    done
    "$java" -cp "$classpath" org.horovod4j.benchmarks.training.TrainingReport "$results.csv" "$results.md"
    say "the same as Markdown: $results.md"
}

allreduce() {
    local round job jobs=()
    for backend in ${backends//,/ }; do
        jobs+=("2 ${backend^^}")
        [ "$backend" != nccl ] || jobs+=("1 NCCL")
    done
    for ((round = 1; round <= rounds; round++)); do
        shuffle "${jobs[@]}"
        for job in "${shuffled[@]}"; do
            say "allreduce, round $round: ranks and backend $job"
            HOROVOD_GPU_OPERATIONS="${job#* }" ranks "${job% *}" \
                org.horovod4j.benchmarks.GpuAllreduceBenchmark \
                "${job#* }" "$round" "$results-allreduce.csv" 0.5 "$sizes" ||
                die "the job $job failed: see above"
        done
    done
    "$java" -cp "$classpath" org.horovod4j.benchmarks.AllreduceReport \
        "$results-allreduce.csv" "$results-allreduce.md"
    say "the same as Markdown: $results-allreduce.md"
}

say "single results go to $results*.csv"
for part in ${parts//,/ }; do
    "$part"
done
