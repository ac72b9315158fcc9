#!/usr/bin/env bash
# Times allreduce with Horovod4J and the other libraries that this machine has, and prints tables with
# ratios. See docs/benchmarks.md.
source "$(dirname "$0")/common.sh"

# 2, 4, 8 and so on, up to the cores of this machine, and the cores themselves.
process_counts() {
    local cores count
    cores="$(nproc)"
    for ((count = 2; count < cores; count *= 2)); do echo "$count"; done
    echo $((cores < 2 ? 2 : cores))
}

rounds=5
seconds=0.5
nps="$(process_counts | paste -sd,)"
oversubscribe=
only= # the programs to run; empty for all
transports=shm,tcp
sizes=4,64,1K,16K,64K,256K,1M,4M,16M,64M,256M
export WARM_UP_SECONDS=10 # of the libraries in C, see measure.h; ours needs about as long for its compilers
metric_size_max=1048576 # leaving the plan does not matter for tensors that take longer
memory_size_min=67108864 # smaller tensors may fit into a cache

usage() {
    cat <<END
usage: benchmarks/run.sh [--quick] [--rounds n] [--np 2,4] [--oversubscribe] [--transport shm,tcp]
                         [--sizes 4,64K,16M] [--programs ours-native,openmpi] [--seed n]
  --quick          two rounds, six sizes, shorter timing: a fifth of the time
  --rounds         how often each program takes its turn (default $rounds)
  --np             numbers of processes (default $nps: up to the cores of this machine)
  --oversubscribe  also more processes than cores: a quarter more, at least two
  --transport      shm, tcp or both (default $transports)
  --sizes          bytes of the tensor, K and M for KiB and MiB (default $sizes)
  --programs       only these, of those that a round lists (default: all)
  --seed           determines the order of programs in each round (default: random, printed)
END
}

while [ $# -gt 0 ]; do
    case "$1" in
        --quick) rounds=2 seconds=0.2 sizes=4,1K,64K,1M,16M,64M && shift && continue ;;
        --oversubscribe) oversubscribe=yes && shift && continue ;;
        --help) usage && exit ;;
    esac
    [ $# -gt 1 ] || { usage >&2 && exit 2; }
    case "$1" in
        --rounds) rounds="$2" ;;
        --np) nps="$2" ;;
        --transport) transports="$2" ;;
        --sizes) sizes="$2" ;;
        --programs) only="$2" ;;
        --seed) seed="$2" ;;
        *) usage >&2 && exit 2 ;;
    esac
    shift 2
done

if [ -n "$oversubscribe" ]; then
    cores="$(nproc)"
    nps="$nps,$((cores + (cores / 4 > 2 ? cores / 4 : 2)))"
fi
bytes="$(tr , '\n' <<<"$sizes" | numfmt --from=iec | paste -sd,)"
metric_bytes="$(tr , '\n' <<<"$bytes" | awk -v max="$metric_size_max" '$1 <= max' | paste -sd,)"
memory_bytes="$(tr , '\n' <<<"$bytes" | awk -v min="$memory_size_min" '$1 >= min' | paste -sd,)"
sources=benchmarks/src/main
binaries=benchmarks/target/libraries
results=$results_folder/$(date +%Y-%m-%d-%H%M%S)
csv="$results.csv"
peers=() # the other libraries that were found

# Optional libraries: each is used if it is here and works, and skipped with one line otherwise.
find_peers() {
    local controller
    mkdir -p "$binaries"
    rm -f "$binaries"/*
    if find_openmpi && "$mpicc" -O3 -march=native -o "$binaries/allreduce_openmpi" \
        "$sources/c/allreduce_mpi.c" 2>"$binaries/log"; then
        peers+=(openmpi openmpi-metric)
        "$mpicc" -O3 -march=native -o "$binaries/memory" "$sources/c/memory_mpi.c"
        peers+=(memory)
    else
        say "Open MPI is skipped: no mpicc and mpirun of it, or no headers"
    fi
    if command -v mpicc.mpich mpirun.mpich >/dev/null && mpicc.mpich -O3 -march=native \
        -o "$binaries/allreduce_mpich" "$sources/c/allreduce_mpi.c" 2>"$binaries/log"; then
        peers+=(mpich)
    else
        say "MPICH is skipped: no mpicc.mpich and mpirun.mpich, or no headers"
    fi
    if [ -e /usr/include/gloo/allreduce.h ] && g++ -O3 -march=native -o "$binaries/allreduce_gloo" \
        "$sources/c/allreduce_gloo.cc" -lgloo -lpthread 2>"$binaries/log"; then
        peers+=(gloo)
    else
        say "Gloo is skipped: no headers, or its program does not compile"
    fi
    if python3 -c 'import torch.distributed as d; assert d.is_gloo_available()' 2>"$binaries/log"; then
        peers+=(torch)
    else
        say "torch is skipped: python3 cannot import torch.distributed with Gloo"
    fi
    for controller in mpi gloo; do
        if has_horovod "$controller"; then
            peers+=("horovod-$controller")
        else
            say "Horovod is skipped: python3 cannot import a horovod.torch with $controller"
        fi
    done
    if python3 -c 'import torch, deepspeed.ops.comm.deepspeed_shm_comm_op' 2>"$binaries/log"; then
        peers+=(deepspeed)
    else
        say "DeepSpeed is skipped: python3 cannot import its shared-memory allreduce (DS_BUILD_SHM_COMM=1)"
    fi
}

openmpi() { # name np transport round bytes
    local options=(--mca btl self,vader)
    if [ "$3" = tcp ]; then
        options=(--mca pml ob1 --mca btl self,tcp --mca btl_tcp_if_include lo)
    fi
    mpi "${options[@]}" -np "$2" "$binaries/allreduce_openmpi" "$1@$3" "$4" "$csv" "$seconds" "$5"
}

memory() { # np transport round
    mpi -np "$1" "$binaries/memory" "memory@$2" "$3" "$csv" "$seconds" "$memory_bytes"
}

mpich() { # np transport round
    local variables=()
    if [ "$2" = tcp ]; then # for both of its network layers, UCX and libfabric
        variables=(MPIR_CVAR_NOLOCAL=1 UCX_TLS=self,tcp UCX_NET_DEVICES=lo FI_PROVIDER=tcp)
    fi
    env "${variables[@]}" mpirun.mpich -np "$1" "$binaries/allreduce_mpich" "mpich@$2" "$3" "$csv" \
        "$seconds" "$bytes"
}

# Starts a process for each rank of a library without a launcher. Sets RANK, WORLD_SIZE, STORE.
start_ranks() { # np command...
    local np="$1" rank pid folder failed=0 pids=()
    shift
    folder="$(mktemp -d)"
    for ((rank = 0; rank < np; rank++)); do
        RANK=$rank WORLD_SIZE=$np STORE="$folder/store" "$@" &
        pids+=($!)
    done
    for pid in "${pids[@]}"; do
        wait "$pid" || failed=1
    done
    rm -rf "$folder"
    return "$failed"
}

gloo() { # np transport round
    start_ranks "$1" sh -c 'mkdir -p "$STORE" && program="$1" && shift &&
        exec "$program" "$RANK" "$WORLD_SIZE" "$STORE" "$@"' \
        sh "$binaries/allreduce_gloo" "gloo@$2" "$3" "$csv" "$seconds" "$bytes"
}

torch() { # np transport round
    OMP_NUM_THREADS=1 GLOO_SOCKET_IFNAME=lo start_ranks "$1" python3 \
        "$sources/python/allreduce_python.py" torch "torch@$2" "$3" "$csv" "$seconds" "$bytes"
}

# Its ranks divide the cores among them, as DeepSpeed's users do.
deepspeed() { # np transport round
    local cores
    cores="$(nproc)"
    OMP_NUM_THREADS=$((cores > $1 ? cores / $1 : 1)) LOCAL_SIZE=$1 GLOO_SOCKET_IFNAME=lo \
        start_ranks "$1" python3 "$sources/python/allreduce_python.py" deepspeed "deepspeed@$2" "$3" \
        "$csv" "$seconds" "$bytes"
}

horovod() { # mpi|gloo np transport round
    start_horovod "$1" "$2" "$sources/python/allreduce_python.py" horovod "horovod-$1@$3" "$4" "$csv" \
        "$seconds" "$bytes"
}

ours() { # np transport round kind bytes, where kind may end in -tls or -metric
    local tls=0
    [[ "$4" == *-tls ]] && tls=1
    HOROVOD_TLS=$tls HOROVOD_TRANSPORT="$(transport_option "$2")" "$horovodrun" -np "$1" java -cp "$classpath" \
        org.horovod4j.benchmarks.AllreduceBenchmark "$4" "$2" "$3" "$csv" "$seconds" "$5"
}

# Sets `programs` to those that support a transport.
select_programs() { # transport
    local peer
    programs=(ours-heap ours-native)
    [ -z "$metric_bytes" ] || programs+=(ours-native-metric)
    [ "$1" = shm ] && programs+=(ours-shared) # TCP does not use shared memory
    [ "$1" = tcp ] && programs+=(ours-native-tls) # shared memory is not encrypted
    for peer in "${peers[@]}"; do
        case "$peer" in
            gloo | torch | horovod-gloo) [ "$1" != tcp ] || programs+=("$peer") ;; # TCP only
            deepspeed | horovod-mpi) [ "$1" != shm ] || programs+=("$peer") ;; # shared memory only
            openmpi-metric) [ -z "$metric_bytes" ] || programs+=("$peer") ;;
            memory) [ "$1" != shm ] || [ -z "$memory_bytes" ] || programs+=("$peer") ;;
            *) programs+=("$peer") ;;
        esac
    done
    [ -z "$only" ] || mapfile -t programs < <(printf '%s\n' "${programs[@]}" | grep -xF "${only//,/$'\n'}")
    [ ${#programs[@]} -gt 0 ] || die "--programs $only: none of them supports $1, or none is installed"
}

run_program() { # program np transport round
    case "$1" in
        ours-*-metric) ours "$2" "$3" "$4" "${1#ours-}" "$metric_bytes" ;;
        ours-*) ours "$2" "$3" "$4" "${1#ours-}" "$bytes" ;;
        openmpi-metric) openmpi "$1" "$2" "$3" "$4" "$metric_bytes" ;;
        openmpi) openmpi "$1" "$2" "$3" "$4" "$bytes" ;;
        horovod-*) horovod "${1#horovod-}" "$2" "$3" "$4" ;;
        *) "$1" "$2" "$3" "$4" ;;
    esac
}

# Libraries without a launcher leave their ranks when this script is interrupted.
trap 'jobs -p | xargs -r kill' EXIT

start_order
build
find_java
install_libraries
find_peers
mkdir -p "$results_folder"
say "$rounds rounds; $nps processes; single results go to $csv"

for np in ${nps//,/ }; do
    for transport in ${transports//,/ }; do
        select_programs "$transport"
        for ((round = 1; round <= rounds; round++)); do
            shuffle "${programs[@]}"
            say "$np processes, $transport, round $round of $rounds: ${shuffled[*]}"
            for program in "${shuffled[@]}"; do
                run_program "$program" "$np" "$transport" "$round" && continue
                [[ "$program" != ours-* ]] || die "Horovod4J failed, see above"
                say "$program failed in round $round, which is dropped where it is compared"
            done
        done
    done
done

"$java" -cp "$classpath" org.horovod4j.benchmarks.AllreduceReport "$csv" "$results.md"
say "the same as Markdown: $results.md, with a plot: $results.svg"
