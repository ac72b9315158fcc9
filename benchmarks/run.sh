#!/usr/bin/env bash
# Times allreduce with Horovod4J, Open MPI and Gloo, and prints tables with ratios. See
# docs/benchmarks.md.
source "$(dirname "$0")/common.sh"

rounds=5
seconds=0.5
nps=2,4
transports=shm,tcp
sizes=4,64,1K,16K,64K,256K,1M,4M,16M,64M,256M

usage() {
    cat <<END
usage: benchmarks/run.sh [--quick] [--rounds n] [--np 2,4] [--transport shm,tcp] [--sizes 4,64K,16M]
  --quick      two rounds, six sizes, shorter timing: ten minutes instead of an hour
  --rounds     how often each program takes its turn (default $rounds)
  --np         numbers of processes (default $nps)
  --transport  shm, tcp or both (default $transports)
  --sizes      bytes of the tensor, K and M for KiB and MiB (default $sizes)
END
}

while [ $# -gt 0 ]; do
    case "$1" in
        --quick) rounds=2 seconds=0.2 sizes=4,1K,64K,1M,16M,64M && shift && continue ;;
        --help) usage && exit ;;
    esac
    [ $# -gt 1 ] || { usage >&2 && exit 2; }
    case "$1" in
        --rounds) rounds="$2" ;;
        --np) nps="$2" ;;
        --transport) transports="$2" ;;
        --sizes) sizes="$2" ;;
        *) usage >&2 && exit 2 ;;
    esac
    shift 2
done

bytes="$(tr , '\n' <<<"$sizes" | numfmt --from=iec | paste -sd,)"
binaries=benchmarks/target/libraries
results=benchmarks/results/$(date +%Y-%m-%d-%H%M%S)
csv="$results.csv"

compile_libraries() {
    local sources=benchmarks/src/main/c
    mkdir -p "$binaries"
    rm -f "$binaries"/*
    if command -v mpicc mpirun >/dev/null; then
        mpicc -O3 -march=native -o "$binaries/allreduce_mpi" "$sources/allreduce_mpi.c"
    else
        say "no Open MPI here, so no comparison with it"
    fi
    if [ -e /usr/include/gloo/allreduce.h ]; then
        g++ -O3 -march=native -o "$binaries/allreduce_gloo" "$sources/allreduce_gloo.cc" \
            -lgloo -lpthread || say "allreduce_gloo.cc does not compile, so no comparison with Gloo"
    else
        say "no Gloo here, so no comparison with it"
    fi
}

openmpi() { # np transport
    [ -x "$binaries/allreduce_mpi" ] || return 0
    local options=(--mca btl self,vader)
    if [ "$2" = tcp ]; then
        options=(--mca pml ob1 --mca btl self,tcp --mca btl_tcp_if_include lo)
    fi
    mpi "${options[@]}" -np "$1" "$binaries/allreduce_mpi" "openmpi@$2" "$csv" "$seconds" "$bytes"
}

gloo() { # np transport; Gloo supports only TCP, and has no launcher
    if [ ! -x "$binaries/allreduce_gloo" ] || [ "$2" != tcp ]; then
        return 0
    fi
    local store rank pid failed=0 pids=()
    store="$(mktemp -d)"
    for ((rank = 0; rank < $1; rank++)); do
        "$binaries/allreduce_gloo" "$rank" "$1" "$store" "gloo@$2" "$csv" "$seconds" "$bytes" &
        pids+=($!)
    done
    for pid in "${pids[@]}"; do
        wait "$pid" || failed=1
    done
    rm -rf "$store"
    return "$failed"
}

ours() { # np transport kind, where kind may end in -tls
    local tls=0
    [[ "$3" == *-tls ]] && tls=1
    HOROVOD_TLS=$tls HOROVOD_TRANSPORT="$(transport_option "$2")" ./horovodrun -np "$1" java -cp "$classpath" \
        org.horovod4j.benchmarks.AllreduceBenchmark "$3" "$2" "$csv" "$seconds" "$bytes"
}

# Gloo has no launcher that ends its ranks when this script is interrupted.
trap 'jobs -p | xargs -r kill' EXIT

build
find_java
install_libraries
compile_libraries
mkdir -p benchmarks/results
say "$rounds rounds; single results go to $csv"

for np in ${nps//,/ }; do
    for transport in ${transports//,/ }; do
        kinds=(heap native)
        [ "$transport" = shm ] && kinds+=(shared) # TCP does not use shared memory
        [ "$transport" = tcp ] && kinds+=(native-tls) # shared memory is not encrypted
        for ((round = 1; round <= rounds; round++)); do
            say "$np processes, $transport, round $round of $rounds"
            openmpi "$np" "$transport" || say "Open MPI failed in this round"
            for kind in "${kinds[@]}"; do
                ours "$np" "$transport" "$kind" || die "Horovod4J failed, see above"
            done
            gloo "$np" "$transport" || say "Gloo failed in this round"
        done
    done
done

"$java" -cp "$classpath" org.horovod4j.benchmarks.AllreduceReport "$csv" "$results.md"
say "the same as Markdown: $results.md"
