# Ends the processes of one job. LocalHost.java starts this script and explains its purpose.
#
# The first line of standard input is NAME=value. The environment of every process of the job
# contains it, and the environment of this script does not. The second line is a folder to remove at
# the end. Commands follow, one in each line. End of input means that the launcher has exited.

trap '' INT TERM HUP PIPE
IFS= read -r job && IFS= read -r secrets || exit
trap 'rm -rf -- "$secrets"' EXIT
groups=

# read_start ID: sets `start` to the time when a process started. It tells the process from a later one
# with the same ID. Empty if there is no such process.
read_start() {
    start=
    [ -r "/proc/$1/stat" ] && read -r start <"/proc/$1/stat"
    # The 22nd field. The second one is a name in parentheses, which may contain spaces.
    set -- ${start##*) }
    start=${20}
}

# signal_group NAME ID:START: sends a signal to a watched group. Fails if the group is gone. Until then
# the system does not reuse its ID; later another process may have it, and gets no signal.
signal_group() {
    read_start "${2%:*}"
    [ -z "$start" ] || [ "$start" = "${2#*:}" ] || return
    kill -s "$1" -- "-${2%:*}" 2>/dev/null
}

# signal NAME [ID]: sends a signal to every watched process group, or only to this one.
signal() {
    for group in $groups; do
        [ "${group%:*}" = "${2:-${group%:*}}" ] && signal_group "$1" "$group"
    done
}

# forget ID: stops watching a group if it is gone.
forget() {
    kept=
    for group in $groups; do
        [ "${group%:*}" != "$1" ] || signal_group 0 "$group" && kept="$kept $group"
    done
    groups=$kept
}

# The IDs of all processes of the job, in any group or session. Zombies have no environment. Root can
# read the environment of every process, but another user may have copied the variable.
members() {
    grep -lsF "$job" /proc/[0-9]*/environ | while IFS=/ read -r _ _ process _; do
        [ -O "/proc/$process" ] && echo "$process"
    done
}

# gone: succeeds if no watched group and no process of the job exists.
gone() {
    for group in $groups; do
        forget "${group%:*}"
    done
    [ -z "$groups" ] && [ -z "$(members)" ]
}

# end NAME: sends a signal to all groups and processes of the job.
end() {
    signal "$1"
    for process in $(members); do
        kill -s "$1" "$process" 2>/dev/null
    done
}

# end_within NAME TENTHS: sends a signal once and waits. Succeeds if all processes have ended.
end_within() {
    end "$1"
    tenths=$2
    until gone; do
        [ "$tenths" -gt 0 ] || return
        tenths=$((tenths - 1))
        sleep 0.1
    done
}

while read -r order argument; do
    case $order in
        watch)
            read_start "$argument"
            groups="$groups $argument:$start"
            ;;
        forget) forget "$argument" ;;
        signal) signal "$argument" ;;
        kill) signal KILL "$argument" ;;
        sweep)
            for process in $(members); do
                printf '%s %s\n' "$process" "$(tr '\0\n' '  ' <"/proc/$process/cmdline")"
            done
            break
            ;;
    esac
done

# The reader of standard output may have exited.
exec >/dev/null
gone && exit

# Sends TERM first, then KILL. KILL is repeated because processes may fork while they are listed.
# The number of attempts is limited because a process may be stuck in the kernel.
end_within TERM 50
for _ in 1 2 3 4 5; do
    gone && exit
    end_within KILL 10
done
