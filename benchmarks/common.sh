# Functions of all benchmark scripts: build, jars, JDK, other libraries, and the order of programs.
# Source this file, do not run it.
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

# The folder of all results.
results_folder="${RESULTS:-benchmarks/results}"

# Starts ranks. Set HOROVODRUN to measure another installation.
horovodrun="${HOROVODRUN:-./horovodrun}"

# Always builds, so that no old code is measured. On a machine without JDK and Maven, CLASSES names
# classes that were built elsewhere.
build() {
    if [ -n "${CLASSES:-}" ]; then
        classpath="$CLASSES"
        return
    fi
    say "building core, launcher and benchmarks"
    ./mvnw -q -Dquick -DskipTests -pl launcher,benchmarks -am package
    classpath="$(jar benchmarks):$(jar core)"
}

# PyTorch by Bytedeco and our adapter, without other frameworks, which need other versions of JavaCPP.
pytorch_class_path() { echo "$(jar frameworks/libtorch):$(jar frameworks/pytorch):frameworks/pytorch/target/lib/*"; }

# Finds the java that horovodrun uses for its ranks, so that all programs use the same one.
find_java() {
    local home
    if [ -n "${JAVA:-}" ]; then
        java="$JAVA"
        return
    fi
    home="$("$horovodrun" -np 1 java -XshowSettings:properties -version 2>&1 |
        sed -n 's/.*java\.home = //p')"
    [ -n "$home" ] || die "horovodrun started no java; try: $horovodrun -np 1 java -version"
    java="$home/bin/java"
}

# Finds the commands of Open MPI. Where MPICH is installed too, the plain names may be MPICH's.
find_openmpi() {
    mpicc="$(command -v mpicc.openmpi || command -v mpicc)" &&
        mpirun="$(command -v mpirun.openmpi || command -v mpirun)" &&
        [[ "$("$mpirun" --version 2>/dev/null)" == *open-mpi.org* ]]
}

# Installs the packages of Debian, unless the commands and headers exist.
install_libraries() {
    if find_openmpi && [ -e /usr/include/gloo/allreduce.h ]; then
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

# Whether the original Horovod is installed, and was built with MPI or Gloo.
has_horovod() { # mpi|gloo
    python3 -c "import horovod.torch as h, sys; sys.exit(not h.$1_built())" 2>/dev/null
}

# Starts ranks of Horovod. Within a host, its MPI uses shared memory, and its Gloo TCP. Both settings
# make it several times as fast with small tensors: a cycle is 1 ms by default, and MPI does not yield a
# core on which another thread of Horovod could run.
start_horovod() { # mpi|gloo np program.py arguments
    local controller="$1" np="$2"
    shift 2
    HOROVOD_CYCLE_TIME=0.1 OMPI_MCA_mpi_yield_when_idle=1 OMP_NUM_THREADS=1 WORLD_SIZE="$np" \
        python3 -m horovod.runner.launch "--$controller" --network-interface lo -np "$np" python3 "$@"
}

# Runs mpirun as root too, and with more ranks than cores. Call find_openmpi first.
mpi() { "$mpirun" --allow-run-as-root --oversubscribe "$@"; }

# Programs that are compared take turns within a round. A fixed order would favour some of them: the
# machine gets warmer, and each program inherits the caches and the memory of the one before it. So
# the order is random, and depends on the seed alone.
seed=$RANDOM

# Call it once, after the options are read and before the first shuffle.
start_order() {
    [[ "$seed" =~ ^[0-9]{1,9}$ ]] || die "--seed: '$seed' is no whole number of at most nine digits"
    RANDOM=$seed
    say "the order of programs in each round is random; repeat it with --seed $seed"
}

# Sets `shuffled` to its arguments in a random order. Not to be called in a subshell, which would not
# advance the random numbers.
shuffle() {
    shuffled=("$@")
    local i other swap
    for ((i = $# - 1; i > 0; i--)); do
        other=$((RANDOM % (i + 1)))
        swap="${shuffled[i]}"
        shuffled[i]="${shuffled[other]}"
        shuffled[other]="$swap"
    done
}

# The median of numbers, one per line, with the least and the greatest.
median_and_range() {
    sort -g | awk '{ v[NR] = $1 } END {
        printf "%.6g [%.6g..%.6g]\n", NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2, v[1], v[NR] }'
}

# The median alone.
median() { median_and_range | cut -d ' ' -f 1; }

# Runs a program of this folder as a Spark application with executors on this machine. They start from
# links to Spark's jars, so that Spark need not be installed. Call find_java first.
spark_submit() { # master, main class, arguments
    local folder jars master="$1" main="$2"
    shift 2
    folder="$(mktemp -d)"
    mkdir -p "$folder/jars" "$folder/conf"
    tr : '\n' <engines/spark/target/spark-classpath.txt | xargs -I{} ln -sf {} "$folder/jars/"
    cat >"$folder/conf/log4j2.properties" <<END
rootLogger.level = error
rootLogger.appenderRef.stderr.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{HH:mm:ss} %p %c{1}: %m%n
END
    jars="$({ for module in core launcher engines/spark; do jar "$module"; done
        find launcher/target/lib -name '*.jar'; } | paste -sd ,)"
    SPARK_HOME="$folder" SPARK_SCALA_VERSION=2.13 SPARK_LOCAL_IP=127.0.0.1 JAVA_HOME="${java%/bin/java}" \
        "$java" --enable-native-access=ALL-UNNAMED --sun-misc-unsafe-memory-access=allow \
        --add-modules=jdk.incubator.vector \
        -cp "$folder/conf:$folder/jars/*" org.apache.spark.deploy.SparkSubmit \
        --master "$master" --conf spark.ui.enabled=false --class "$main" --jars "$jars" \
        "$(jar benchmarks)" "$@" || die "the application failed"
    rm -rf "$folder"
}
