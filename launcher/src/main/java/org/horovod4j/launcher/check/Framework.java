package org.horovod4j.launcher.check;

import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;

/// A deep learning framework for the JVM, and the libraries that identify it.
record Framework(String name, List<Library> libraries) {
    static final List<Framework> ALL =
            List.of(
                    of(
                            "DJL",
                            library("API", "ai.djl.api", "ai.djl:api"),
                            djlEngine("PyTorch", "pytorch"),
                            djlEngine("TensorFlow", "tensorflow"),
                            djlEngine("MXNet", "mxnet"),
                            djlEngine("ONNX Runtime", "onnxruntime")),
                    of(
                            "TensorFlow Java",
                            library(
                                    "API",
                                    "org.tensorflow:tensorflow-core-api",
                                    "tensorflow-core-api"),
                            library("1.x", "org.tensorflow:libtensorflow", "libtensorflow")),
                    of(
                            "DL4J",
                            library(
                                    "networks",
                                    "org.deeplearning4j:deeplearning4j-nn",
                                    "deeplearning4j-nn"),
                            library("ND4J for CPUs", "org.nd4j:nd4j-native", "nd4j-native"),
                            library("ND4J for CUDA", "org.nd4j:nd4j-cuda-*", "nd4j-cuda-*")),
                    of(
                            "MXNet",
                            library(
                                    "Scala and Java API",
                                    "org.apache.mxnet:mxnet-full_*",
                                    "mxnet-full_*")));

    /// @param ids the ids of the artifacts; a trailing `*` matches any suffix
    record Library(String name, List<String> ids) {
        Library {
            ids = List.copyOf(ids);
        }

        Optional<String> find(Collection<Artifact> artifacts) {
            return artifacts.stream()
                    .filter(artifact -> ids.stream().anyMatch(id -> matches(id, artifact.id())))
                    .map(artifact -> name + " " + artifact.version())
                    .findFirst();
        }

        private static boolean matches(String id, String found) {
            return id.endsWith("*")
                    ? found.startsWith(id.substring(0, id.length() - 1))
                    : found.equals(id);
        }
    }

    Framework {
        libraries = List.copyOf(libraries);
    }

    private static Framework of(String name, Library... libraries) {
        return new Framework(name, List.of(libraries));
    }

    private static Library library(String name, String... ids) {
        return new Library(name, List.of(ids));
    }

    private static Library djlEngine(String name, String engine) {
        return library(
                name + " engine",
                "ai.djl.%s_engine".formatted(engine),
                "ai.djl.%1$s:%1$s-engine".formatted(engine),
                engine + "-engine");
    }

    /// One line of the report.
    BuildReport.Finding find(Collection<Artifact> artifacts) {
        String found =
                libraries.stream()
                        .flatMap(library -> library.find(artifacts).stream())
                        .collect(Collectors.joining(", "));
        return found.isEmpty()
                ? BuildReport.Finding.missing(name, "")
                : BuildReport.Finding.found(name, found);
    }
}
