# Simulates three hosts on one machine, for tests. Needs root.
#
#   hosts.sh up FOLDER          creates them
#   hosts.sh down FOLDER        removes them
#   hosts.sh power_off FOLDER N disconnects host N and ends its processes
#   hosts.sh power_on FOLDER N  restarts it
#   hosts.sh second_up FOLDER   connects hosts 1 and 2 by a second network
#   hosts.sh second_down FOLDER removes that network
#
# A host is a set of namespaces (network, host name, processes, mounts, shared memory) with its own
# sshd. All hosts are connected to one bridge, with the addresses 10.78.0.1 to 10.78.0.3. This
# machine is 10.78.0.254. The third host listens on port 2222, and has a second, IPv6 network with
# this machine: fd78::3 and fd78::fe. It does not see the files in FOLDER/hidden. The second network of
# hosts 1 and 2 has the addresses 10.79.0.1 and 10.79.0.2 and does not reach this machine.
#
# Files in FOLDER:
# - bin/ssh: an ssh with its own configuration
# - id: a key that the hosts accept
# - other: a key that they reject
# - hvdsshN.pid: the process to kill for a power failure of host N
# - tmp-hvdsshN: the temporary files of host N

set -eu
folder=$2
bridge=hvdsshbr

down() {
    second_down || true
    for name in hvdssh1 hvdssh2 hvdssh3; do
        [ ! -e "$folder/$name.pid" ] || kill -9 "$(cat "$folder/$name.pid")" || true
        ip netns del $name || true
        rm -rf /etc/netns/$name
    done
    # The kernel may delay the removal of a namespace and its links.
    for link in hvdssh1-o hvdssh2-o hvdssh3-o hvdssh3-p; do ip link del $link || true; done
    ip link del $bridge || true
    ip link del ${bridge}6 || true
}

keys() {
    for key in id other hostkey otherhost; do
        ssh-keygen -qt ed25519 -N '' -f "$folder/$key"
    done
    {
        for name in 10.78.0.1 10.78.0.2 10.78.0.3 fd78::3; do
            echo "$name $(cut -d' ' -f1,2 "$folder/hostkey.pub")"
        done
        echo "[10.78.0.3]:2222 $(cut -d' ' -f1,2 "$folder/hostkey.pub")"
        echo "[fd78::3]:2222 $(cut -d' ' -f1,2 "$folder/hostkey.pub")"
        echo "changed $(cut -d' ' -f1,2 "$folder/otherhost.pub")"
    } >"$folder/known_hosts"
}

# Host names in the configuration of ssh: one for each host, and some that cause errors.
client() {
    mkdir -p "$folder/bin"
    ssh=$(command -v ssh)
    printf '#!/bin/sh\nexec %s -F %s "$@"\n' "$ssh" "$folder/ssh_config" >"$folder/bin/ssh"
    chmod +x "$folder/bin/ssh"
    cat >"$folder/ssh_config" <<END
Host hvdssh1 hvdssh-unknown hvdssh-changed hvdssh-closed hvdssh-keyless
  HostName 10.78.0.1
Host hvdssh2
  HostName 10.78.0.2
Host hvdssh3
  HostName 10.78.0.3
  Port 2222
Host hvdssh6
  HostName fd78::3
  Port 2222
Host hvdssh-unknown
  HostKeyAlias unknown
Host hvdssh-changed
  HostKeyAlias changed
Host hvdssh-closed
  Port 23
Host hvdssh-nowhere
  HostName 10.78.0.99
Host hvdssh-misled
  HostName 10.78.0.3
  User nobody
Host hvdssh-keyless hvdssh-misled
  IdentityFile $folder/other
Host * !hvdssh-keyless !hvdssh-misled
  IdentityFile $folder/id
Host *
  User root
  IdentitiesOnly yes
  UserKnownHostsFile $folder/known_hosts
  GlobalKnownHostsFile /dev/null
END
}

host() {
    number=$1
    name=hvdssh$number
    ip netns add $name
    ip link add $name-o type veth peer name eth0 netns $name
    ip link set $name-o master $bridge up
    ip -n $name link set lo up
    ip -n $name addr add 10.78.0.$number/24 dev eth0
    ip -n $name link set eth0 up
    port=22
    if [ "$number" = 3 ]; then
        port=2222
        ip link add $name-p type veth peer name eth1 netns $name
        ip link set $name-p master ${bridge}6 up
        ip -n $name addr add fd78::3/64 dev eth1 nodad
        ip -n $name link set eth1 up
    fi
    mkdir -p "/etc/netns/$name" "$folder/tmp-$name"
    {
        echo 127.0.0.1 localhost
        for other in 1 2 3; do echo 10.78.0.$other hvdssh$other; done
        echo 10.78.0.254 "$(uname -n)" # the proxies of MPICH resolve the launching machine
    } >"/etc/netns/$name/hosts"
    cat >"$folder/$name.sshd" <<END
Port $port
HostKey $folder/hostkey
AuthorizedKeysFile $folder/id.pub
StrictModes no
UsePAM no
PasswordAuthentication no
PidFile none
MaxStartups 100
SetEnv TMPDIR=$folder/tmp-$name
END
    cat /proc/sys/kernel/random/uuid >"$folder/$name.boot"
    hide=:
    [ "$number" = 3 ] && hide="mount -t tmpfs tmpfs $folder/hidden"
    setsid ip netns exec $name unshare --uts --ipc --pid --mount --fork --kill-child --mount-proc \
        sh -c "hostname $name; $hide; mount -t tmpfs -o size=256m tmpfs /dev/shm
            mount --bind $folder/$name.boot /proc/sys/kernel/random/boot_id
            exec /usr/sbin/sshd -D -f $folder/$name.sshd" </dev/null >"$folder/$name.log" 2>&1 &
    echo $! >"$folder/$name.pid"
}

up() {
    if [ ! -x /usr/sbin/sshd ]; then
        apt-get update && apt-get install -y openssh-server iproute2
    fi
    mkdir -p /run/sshd "$folder/hidden"
    down 2>/dev/null
    keys
    client
    ip link add $bridge type bridge
    ip addr add 10.78.0.254/24 dev $bridge
    ip link set $bridge up
    ip link add ${bridge}6 type bridge
    ip addr add fd78::fe/64 dev ${bridge}6 nodad
    ip link set ${bridge}6 up
    for number in 1 2 3; do host $number; done
    for name in hvdssh1 hvdssh2 hvdssh3 hvdssh6; do answers $name; done
}

answers() {
    tries=100
    until "$folder/bin/ssh" -o BatchMode=yes -o ConnectTimeout=2 "$1" true; do
        [ $tries -gt 0 ] || exit 1
        tries=$((tries - 1))
        sleep 0.1
    done
}

# Cuts the link first: otherwise the kernel would close the connections, unlike a power failure.
power_off() {
    ip link set hvdssh$1-o down
    kill -9 "$(cat "$folder/hvdssh$1.pid")"
}

power_on() {
    ip netns del hvdssh$1
    ip link del hvdssh$1-o 2>/dev/null || true
    host "$1"
    answers hvdssh$1
}

second_up() {
    ip link add ${bridge}2 type bridge
    ip link set ${bridge}2 up
    for number in 1 2; do
        ip link add hvdssh$number-q type veth peer name eth1 netns hvdssh$number
        ip link set hvdssh$number-q master ${bridge}2 up
        ip -n hvdssh$number addr add 10.79.0.$number/24 dev eth1
        ip -n hvdssh$number link set eth1 up
    done
}

second_down() {
    for number in 1 2; do ip link del hvdssh$number-q || true; done
    ip link del ${bridge}2
}

action=$1
shift 2
"$action" "$@"
