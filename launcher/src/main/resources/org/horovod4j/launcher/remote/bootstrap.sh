# Makes this host ready for an agent of the launcher; Bootstrap.java sends this and says why.
#
# Set before it: folder, where the program runs; wanted, a java to use, or nothing; same, the java
# that runs the launcher; needed, the least version; size, of the jar that comes next.

# answer WORD…: with tabs between, as paths may have blanks.
answer() {
    printf horovod4j
    printf '\t%s' "$@"
    echo
}

# suits JAVA: whether it is new enough. Sets `java` and `version`, and remembers one that is not.
old=
suits() {
    java=$(command -v "$1" 2>/dev/null) && [ -x "$java" ] || return
    version=$("$java" -version 2>&1 </dev/null | sed -n 's/.* version "\([0-9]*\).*/\1/p')
    [ "${version:-0}" -ge "$needed" ] && return
    old=$java
    old_version=${version:-unknown}
    return 1
}

cd "$folder" 2>/dev/null || {
    answer no-folder
    exit 1
}
if [ -n "$wanted" ]; then
    suits "$wanted"
else
    suits "$same" || suits java
fi || {
    [ -n "$old" ] && answer old-java "$old_version" "$old" || answer no-java
    exit 1
}
own=$(mktemp -d "${TMPDIR:-/tmp}/horovod4j.XXXXXX") || {
    answer no-space "${TMPDIR:-/tmp}"
    exit 1
}

# The shell waits for the agent rather than becoming it, so that the folder goes whatever happens.
trap 'rm -rf "$own"' EXIT
trap 'exit 1' HUP INT TERM PIPE
answer send "$own" "$version" "$java"
head -c "$size" >"$own/agent.jar"
[ "$(wc -c <"$own/agent.jar")" -eq "$size" ] || exit 1
answer run

# Without a locale, as ssh sessions often are, Java would garble words that are not ASCII.
case ${LC_ALL:-${LC_CTYPE:-${LANG:-}}} in
    *[Uu][Tt][Ff]*) ;;
    *)
        unset LC_ALL
        export LC_CTYPE=C.UTF-8
        ;;
esac
"$java" -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto -XX:-UsePerfData -Xmx128m \
    -cp "$own/agent.jar" org.horovod4j.launcher.remote.Agent "$own" "$java"
