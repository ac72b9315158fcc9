#!/usr/bin/env bash
# Measures training of ResNet-50 with DJL and PyTorch on one GPU: one rank with and without the
# distributed optimizer, then two ranks that share the GPU with each backend, beside two ranks that
# exchange nothing. See docs/benchmarks.md.
source "$(dirname "$0")/common.sh"

rounds=5
batch=64
side=224
steps=20
backends=host,cuda_ipc,nccl

usage() {
    cat <<END
usage: benchmarks/gpu.sh [--rounds n] [--batch n] [--image n] [--steps n] [--backends host,cuda_ipc,nccl]
                         [--seed n]
  --rounds    how often each mode takes its turn in a job (default $rounds)
  --batch     images of a rank in a step (default $batch)
  --image     side of the images, in pixels (default $side)
  --steps     steps of a turn that count (default $steps)
  --backends  the backends for two ranks (default $backends); empty for none
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
        --backends) backends="$2" ;;
        --seed) seed="$2" ;;
        *) usage >&2 && exit 2 ;;
    esac
    shift 2
done

for number in "$rounds" "$batch" "$side" "$steps"; do
    [[ "$number" =~ ^[1-9][0-9]*$ ]] || die "'$number' is no whole number above 0; see --help"
done
for backend in ${backends//,/ }; do
    [[ "$backend" =~ ^(host|cuda_ipc|nccl)$ ]] || die "there is no backend '$backend'; see --help"
done

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
csv="$results.csv"
say "single results go to $csv"

first_round=1

job() { # np, name in the report
    # NCCL refuses two ranks on one GPU unless they seem to be on two hosts.
    HOROVOD_SHARE_GPUS=1 "$horovodrun" -np "$1" sh -c 'NCCL_HOSTID=rank$HOROVOD_RANK exec "$0" "$@"' \
        "$java" -Dai.djl.offline=true --add-modules jdk.incubator.vector \
        --enable-native-access=ALL-UNNAMED ${JAVA_FLAGS:-} -cp "$classpath" \
        org.horovod4j.benchmarks.training.djl.GpuTrainingBenchmark \
        "$2" "$side" "$batch" "$rounds" 3 "$steps" "$first_round" "$seed" "$csv" || return
    first_round=$((first_round + rounds))
}

say "one rank"
job 1 resnet50 || die "the job of one rank failed: see above"
for backend in ${backends//,/ }; do
    say "two ranks, $backend"
    HOROVOD_GPU_OPERATIONS="${backend^^}" job 2 "resnet50${backend//_/}" ||
        die "the job with backend $backend failed: see above"
done

"$java" -cp "$classpath" org.horovod4j.benchmarks.training.TrainingReport "$csv" "$results.md"
say "the same as Markdown: $results.md"
