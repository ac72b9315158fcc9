# Prepares this host for an agent of the launcher. AgentBootstrap.java sends this script and
# explains its purpose.
#
# Variables that are set before:
# - folder: the working directory of the program
# - create: "yes" to create that folder if it is missing, or empty
# - wanted: the java to use, or empty
# - same: the java that runs the launcher
# - needed: the minimum Java version
# - size: the size of the jar that follows on standard input

# answer WORD...: prints an answer. The words are separated by tabs, because paths may contain
# blanks.
answer() {
    printf horovod4j
    printf '\t%s' "$@"
    echo
}

# suits JAVA: succeeds if this java is new enough. Sets `java` and `version`. Saves a version that
# is too old for the error.
old=
suits() {
    java=$(command -v "$1" 2>/dev/null) && [ -x "$java" ] || return
    version=$("$java" -version 2>&1 </dev/null | sed -n 's/.* version "\([0-9]*\).*/\1/p')
    [ "${version:-0}" -ge "$needed" ] && return
    old=$java
    old_version=${version:-unknown}
    return 1
}

[ -z "$create" ] || mkdir -p "$folder" 2>/dev/null
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

# The shell does not exec the agent, so that it can delete the folder in every case.
trap 'rm -rf "$own"' EXIT
trap 'exit 1' HUP INT TERM PIPE
answer send "$own" "$version" "$java"
head -c "$size" >"$own/agent.jar"
[ "$(wc -c <"$own/agent.jar")" -eq "$size" ] || exit 1
answer run

# ssh sessions often have no locale. Java would then decode non-ASCII arguments incorrectly.
case ${LC_ALL:-${LC_CTYPE:-${LANG:-}}} in
    *[Uu][Tt][Ff]*) ;;
    *)
        unset LC_ALL
        export LC_CTYPE=C.UTF-8
        ;;
esac
"$java" -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto -XX:-UsePerfData -Xmx128m \
    -cp "$own/agent.jar" org.horovod4j.launcher.remote.Agent "$own" "$java"
