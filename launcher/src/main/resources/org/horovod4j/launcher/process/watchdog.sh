# Ends the processes of one job; Watchdog.java starts this and says why.
#
# $1 is NAME=value, which the environment of every process of the job contains and this one's does
# not. Orders come line by line on standard input; its end means that the launcher is gone.

trap '' INT TERM HUP PIPE
job=$1
groups=

# signal NAME: to every process group being watched.
signal() {
    for group in $groups; do
        kill -s "$1" -- "-$group" 2>/dev/null
    done
}

# forget GROUP: once it is empty. Until then its number cannot be given to others.
forget() {
    kill -s 0 -- "-$1" 2>/dev/null && return
    kept=
    for group in $groups; do
        [ "$group" = "$1" ] || kept="$kept $group"
    done
    groups=$kept
}

# The numbers of all processes of the job, in whichever group or session; zombies have no
# environment.
members() {
    grep -lsF "$job" /proc/[0-9]*/environ | while IFS=/ read -r _ _ process _; do
        echo "$process"
    done
}

# gone: whether neither a watched group nor a member is left.
gone() {
    for group in $groups; do
        forget "$group"
    done
    [ -z "$groups" ] && [ -z "$(members)" ]
}

# end NAME: signals groups and members.
end() {
    signal "$1"
    for process in $(members); do
        kill -s "$1" "$process" 2>/dev/null
    done
}

# end_within NAME TENTHS: signals once and waits; whether all is gone.
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
        watch) groups="$groups $argument" ;;
        forget) forget "$argument" ;;
        signal) signal "$argument" ;;
        kill) kill -s KILL -- "-$argument" 2>/dev/null ;;
        sweep)
            for process in $(members); do
                echo "$process $(tr '\0' ' ' <"/proc/$process/cmdline")"
            done
            break
            ;;
    esac
done

# From here on nobody may be reading.
exec >/dev/null
gone && exit

# Ask, then insist: members may fork while they are being listed, and one that is stuck in the
# kernel must not keep us here for ever.
end_within TERM 50
for _ in 1 2 3 4 5; do
    gone && exit
    end_within KILL 10
done
