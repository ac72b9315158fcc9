# Functions of run.sh and spark.sh. Source this file, do not run it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

sources=examples/src/main/java/org/horovod4j/examples

say() { echo "${0##*/}: $*"; }

die() {
    say "$*" >&2
    exit 2
}

# Checks that an example is named whose source contains $1, and sets `example`.
choose() { # pattern, name
    grep -qs "$1" "$sources/${2:-}.java" ||
        die "name an example first, one of" \
            "$(grep -l "$1" "$sources"/*.java | sed 's|.*/||; s|\.java||' | paste -sd ' ')"
    example=$2
}

uses() { # whether the example imports this package
    grep -q "^import $1" "$sources/$example.java"
}

is_distribution() { [ -x bin/horovodrun ]; }

jar() { # the jar of a module, without those of its sources and documentation
    find "$1/target" -maxdepth 1 -name "horovod4j-${1##*/}-*.jar" \
        ! -name '*-sources.jar' ! -name '*-javadoc.jar' 2>/dev/null | sort | tail -n 1
}

jars() { # those of modules, one per line
    local module
    for module in "$@"; do jar "$module"; done
}

is_built() { # and no source of these modules changed since
    local module
    for module in "$@"; do
        [ -n "$(jar "$module")" ] || return 1
        [ -z "$(find "$module/src/main" "$module/pom.xml" -newer "$(jar "$module")" -print -quit)" ] ||
            return 1
    done
}

package() { # options of Maven, --, modules
    local options=()
    while [ "$1" != -- ]; do
        options+=("$1")
        shift
    done
    shift
    ./mvnw -q -Dquick -DskipTests ${options[@]+"${options[@]}"} -pl "$(IFS=,; echo "$*")" -am package
}

# Finds the framework that the example imports: DJL and its engine, TensorFlow, Deeplearning4j, or PyTorch by
# Bytedeco.
# Sets `library` (which has native code), `profile` (of Maven) and `engine` (options of the JVM).
choose_framework() {
    profile=() engine=("-Dai.djl.default_engine=${ENGINE:=PyTorch}")
    case $ENGINE in
    PyTorch) ;;
    MXNet)
        profile=(-Pmxnet)
        engine+=(--sun-misc-unsafe-memory-access=allow)
        ;;
    *) die "ENGINE is PyTorch or MXNet, not '$ENGINE'" ;;
    esac
    library="$(tr '[:upper:]' '[:lower:]' <<<"$ENGINE")-engine"
    if uses 'org\.tensorflow'; then
        library=tensorflow-core-native
        engine=(--enable-native-access=ALL-UNNAMED --sun-misc-unsafe-memory-access=allow)
        # TensorFlow would describe the machine on each rank.
        export TF_CPP_MIN_LOG_LEVEL=${TF_CPP_MIN_LOG_LEVEL:-1}
    fi
    if uses 'org\.deeplearning4j'; then
        library=nd4j-native
        engine=(--enable-native-access=ALL-UNNAMED --sun-misc-unsafe-memory-access=allow)
    fi
    if uses 'org\.bytedeco\.pytorch'; then
        library=pytorch
        engine=(--enable-native-access=ALL-UNNAMED --sun-misc-unsafe-memory-access=allow)
    fi
    # The engine is on the class path: DJL need not download one, and must not report its use.
    export DJL_OFFLINE=${DJL_OFFLINE:-true}
}

uses_framework() {
    uses 'ai\.djl' || uses 'org\.tensorflow' || uses 'org\.deeplearning4j' || uses 'org\.bytedeco\.pytorch' ||
        uses 'org\.horovod4j\.spark\.djl'
}

# The folder with the jars of the framework. PyTorch by Bytedeco has one of its own: the other frameworks need
# other versions of JavaCPP and OpenBLAS.
library_folder() {
    local others=examples/target/lib pytorch=frameworks/pytorch/target/lib
    ! is_distribution || { others=examples/lib pytorch=examples/lib/pytorch; }
    if uses 'org\.bytedeco\.pytorch'; then echo "$pytorch"; else echo "$others"; fi
}

has_library() { # in this folder
    [ -n "$(find "$1" -name "$library-*.jar" -print -quit 2>/dev/null)" ]
}

download_framework() { # in a distribution
    if uses_framework && ! has_library "$(library_folder)"; then
        local libraries=pom.xml
        say "getting the framework, for which Maven may need the network: 120 to 170 MB"
        [ "$library" != tensorflow-core-native ] || profile=(-Ptensorflow)
        [ "$library" != nd4j-native ] || profile=(-Pdl4j)
        [ "$library" != pytorch ] || libraries=pytorch.xml
        ./mvnw -q ${profile[@]+"${profile[@]}"} -f "examples/libraries/$libraries" dependency:copy-dependencies
    fi
}

# More threads than cores make all of them slower.
limit_threads() { # number of processes
    local threads=$(($(nproc) / $1))
    export OMP_NUM_THREADS=${OMP_NUM_THREADS:-$((threads > 0 ? threads : 1))}
}
