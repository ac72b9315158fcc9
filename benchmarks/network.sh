#!/usr/bin/env bash
# Measures which share of a slow link between hosts an allreduce uses. Hosts are network namespaces of
# this machine. Needs root, ip and tc with tbf, and a C compiler. See docs/benchmarks.md.
source "$(dirname "$0")/common.sh"

hosts=4
rate=100 # Mbit/s
delay=5 # ms
rounds=3
size=16M
streams=0
link=hvdlink

usage() {
    cat <<END
usage: benchmarks/network.sh [--hosts n] [--rate Mbit/s] [--delay ms] [--rounds n] [--size 16M] [--streams n]
  --hosts    how many hosts, with one rank each (default $hosts)
  --rate     what each host can send, in Mbit/s (default $rate)
  --delay    how long each packet takes, in milliseconds; 0 for none (default $delay)
  --rounds   how often each program takes its turn (default $rounds)
  --size     bytes of the tensor, K and M for KiB and MiB (default $size)
  --streams  connections of a pair of ranks, HOROVOD_TCP_STREAMS (default: that of Horovod4J)
END
}

while [ $# -gt 0 ]; do
    [ $# -gt 1 ] || { usage && exit 2; }
    case "$1" in
        --hosts) hosts="$2" ;;
        --rate) rate="$2" ;;
        --delay) delay="$2" ;;
        --rounds) rounds="$2" ;;
        --size) size="$2" ;;
        --streams) streams="$2" ;;
        *) usage >&2 && exit 2 ;;
    esac
    shift 2
done
[[ "$hosts" =~ ^([2-9]|1[0-6])$ ]] || die "--hosts: '$hosts' is no number from 2 to 16"
bytes="$(numfmt --from=iec <<<"$size")"
folder="$(mktemp -d)"
forwarder=

delete_hosts() {
    [ -z "$forwarder" ] || kill "$forwarder" || true
    local host
    for ((host = 1; host <= hosts; host++)); do
        ip netns del "$link$host" 2>/dev/null || true
        ip link del "$link$host-o" 2>/dev/null || true
    done
    ip link del "${link}br" 2>/dev/null || true
    rm -rf "$folder"
}

# Hosts $link1, $link2 and so on, with addresses 10.77.0.1, 10.77.0.2 and so on, and interface eth0.
create_hosts() {
    [ "$(id -u)" -eq 0 ] || die "needs root"
    local host interfaces=()
    [ "$delay" != 0 ] || { ip link add "${link}br" type bridge && ip link set "${link}br" up; }
    gcc -O2 -D_GNU_SOURCE -o "$folder/delay" benchmarks/src/main/c/delay.c
    for ((host = 1; host <= hosts; host++)); do
        ip netns add "$link$host"
        ip link add "$link$host-o" type veth peer name eth0 netns "$link$host"
        ip link set "$link$host-o" up
        ip -n "$link$host" link set lo up
        ip -n "$link$host" addr add "10.77.0.$host/24" dev eth0
        ip -n "$link$host" link set eth0 up
        ip netns exec "$link$host" "$folder/delay" plain eth0
        tc -n "$link$host" qdisc replace dev eth0 root tbf rate "${rate}mbit" burst 32kb latency 100ms
        [ "$delay" != 0 ] || ip link set "$link$host-o" master "${link}br"
        interfaces+=("$link$host-o")
    done
    if [ "$delay" != 0 ]; then
        chrt -f 2 "$folder/delay" "$delay" "${interfaces[@]}" & # before programs that spin
        forwarder=$!
    fi
}

on_host() { # host command...
    local host="$1"
    shift
    ip netns exec "$link$host" unshare --uts sh -c 'hostname "$1" && shift && exec "$@"' sh "$link$host" "$@"
}

# Runs a Java program on every host. Words that contain NUMBER get the number of the host, from 0.
java_on_all() { # word...
    local host pid pids=() failed=0
    for ((host = 1; host <= hosts; host++)); do
        HOROVOD_RANK=$((host - 1)) HOROVOD_SIZE=$hosts HOROVOD_RENDEZVOUS_SERVER=rank0 \
            HOROVOD_RENDEZVOUS_ADDR=10.77.0.1 HOROVOD_RENDEZVOUS_PORT=7777 HOROVOD_SECRET_KEY="$secret" \
            HOROVOD_HOSTNAME="$link$host" HOROVOD_TRANSPORT=tcp HOROVOD_TCP_STREAMS="$streams" \
            on_host "$host" "$java" --enable-native-access=ALL-UNNAMED --add-modules jdk.incubator.vector \
            -cp "$classpath" "${@//NUMBER/$((host - 1))}" &
        pids+=($!)
    done
    for pid in "${pids[@]}"; do wait "$pid" || failed=1; done
    return "$failed"
}

ours() { # round
    java_on_all org.horovod4j.benchmarks.AllreduceBenchmark native tcp "$1" "$csv" 2 "$bytes"
}

plain() { # round
    java_on_all org.horovod4j.benchmarks.PlainRing NUMBER "$addresses" 7778 "$bytes" "$1" "$csv"
}

openmpi() { # round
    printf '#!/bin/sh\nhost=${1##*.}\nshift\nexec ip netns exec %s$host unshare --uts sh -c "hostname %s$host && $*"\n' \
        "$link" "$link" >"$folder/agent"
    chmod +x "$folder/agent"
    on_host 1 "$mpirun" --allow-run-as-root --mca plm_rsh_agent "$folder/agent" --mca pml ob1 \
        --mca btl self,tcp --mca btl_tcp_if_include eth0 --mca oob_tcp_if_include eth0 \
        -H "$addresses" -np "$hosts" "$folder/allreduce_openmpi" openmpi@tcp "$1" "$csv" 2 "$bytes"
}

# The median of each round, and its share of the link: bytes of the tensor, without any header.
report() {
    awk -F, -v hosts="$hosts" -v bytes="$bytes" -v rate="$rate" '
        { n[$1]++; times[$1, n[$1]] = $6 }
        END {
            least = 2 * (hosts - 1) / hosts * bytes * 8 / rate
            for (program in n) {
                line = sprintf("%-28s", program)
                for (i = 1; i <= n[program]; i++)
                    line = line sprintf("  %.1f ms %.1f %%", times[program, i] / 1000, 100 * least / times[program, i])
                print line
            }
        }' "$csv" | sort
}

trap delete_hosts EXIT
build
find_java
secret="$(head -c 32 /dev/urandom | base64 | tr '+/' '-_' | tr -d '=\n')"
csv="$folder/results.csv"
addresses="$(seq -f 10.77.0.%g "$hosts" | paste -sd,)"
create_hosts
programs=(ours plain)
if find_openmpi && "$mpicc" -O3 -o "$folder/allreduce_openmpi" benchmarks/src/main/c/allreduce_mpi.c; then
    programs+=(openmpi)
fi
start_order
say "$hosts hosts at $rate Mbit/s, delay $delay ms, allreduce of $size, congestion control $(ip netns exec "${link}1" cat /proc/sys/net/ipv4/tcp_congestion_control). Headers take 4 % of a link, acknowledgements 2 %; plain TCP shows what is left."
for ((round = 1; round <= rounds; round++)); do
    shuffle "${programs[@]}"
    for program in "${shuffled[@]}"; do
        "$program" "$round" || say "$program failed in round $round"
    done
done
report
