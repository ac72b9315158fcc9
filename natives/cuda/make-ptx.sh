#!/usr/bin/env bash
# Compiles the CUDA kernels to PTX, which the driver of any GPU from compute capability 7.0 on compiles
# further. Needs nvcc (CUDA 11.3 or newer). Run it after a change of src/main/cuda, and commit the result.
#
#   natives/cuda/make-ptx.sh [target folder]
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
target=${1:-$here/src/main/resources/org/horovod4j/cuda}
nvcc=${NVCC:-$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)}
# CUDA 13's nvcc compiles for sm_75 and up. The kernels use nothing newer than sm_70 and PTX 6.3 (CUDA 10),
# so the header can name these: ptxas rejects a file that uses something newer than its header says.
version=6.3
architecture=70
mkdir -p "$target"
lowest=$("$nvcc" --list-gpu-arch | sed 's/compute_//' | sort -n | head -n 1)
[ "$lowest" -ge "$architecture" ] || lowest=$architecture
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
for source in "$here"/src/main/cuda/*.cu; do
    name=$(basename "$source" .cu)
    # no fused multiply-add: the results have the bits of the CPU kernels
    "$nvcc" -ptx -arch="compute_$lowest" -O3 --fmad=false -o "$scratch/$name.ptx" "$source"
    sed -i -e "s/^\.version .*/.version $version/" -e "s/^\.target .*/.target sm_$architecture/" \
        -e '/^\/\//d' "$scratch/$name.ptx"
    "$(dirname "$nvcc")/ptxas" -arch="sm_$lowest" -o "$scratch/$name.cubin" "$scratch/$name.ptx"
    cp "$scratch/$name.ptx" "$target/$name.ptx"
done
ls -l "$target"
