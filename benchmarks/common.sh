# Functions of all benchmark scripts: build, jars, JDK and other libraries. Source this file, do not
# run it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

say() { echo "${0##*/}: $*"; }

die() {
    say "$*" >&2
    exit 1
}

jar() { # the jar of a module, without sources and documentation
    find "$1/target" -maxdepth 1 -name "horovod4j-${1##*/}-*.jar" \
        ! -name '*-sources.jar' ! -name '*-javadoc.jar' 2>/dev/null | sort | tail -n 1
}

# Always builds, so that no old code is measured.
build() {
    say "building core, launcher and benchmarks"
    ./mvnw -q -Dquick -DskipTests -pl launcher,benchmarks -am package
    classpath="$(jar benchmarks):$(jar core)"
}

# Finds the java that horovodrun uses for its ranks, so that all programs use the same one.
find_java() {
    local home
    home="$(./horovodrun -np 1 java -XshowSettings:properties -version 2>&1 |
        sed -n 's/.*java\.home = //p')"
    [ -n "$home" ] || die "horovodrun started no java; try: ./horovodrun -np 1 java -version"
    java="$home/bin/java"
}

# Installs the packages of Debian, unless the commands and headers exist.
install_libraries() {
    if command -v mpicc mpirun >/dev/null && [ -e /usr/include/gloo/allreduce.h ]; then
        return
    fi
    if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
        say "a library to compare with is missing: apt-get install openmpi-bin libopenmpi-dev libgloo-dev g++"
        return
    fi
    say "installing Open MPI and Gloo"
    local package
    apt-get update -qq || say "apt-get update failed, trying with the lists at hand"
    for package in g++ openmpi-bin libopenmpi-dev libgloo-dev; do
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$package" \
            >/dev/null || say "no package $package, going on without it"
    done
}

# The HOROVOD_TRANSPORT value for a transport of the tables. Within one host, auto selects shared
# memory.
transport_option() { if [ "$1" = shm ]; then echo auto; else echo "$1"; fi; }

# Runs mpirun as root too, and with more ranks than cores.
mpi() { mpirun --allow-run-as-root --oversubscribe "$@"; }
