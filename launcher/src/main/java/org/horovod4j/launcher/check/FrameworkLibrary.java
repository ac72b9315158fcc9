package org.horovod4j.launcher.check;

import org.horovod4j.launcher.check.BuildReport.Finding;

import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;

/// A library of a deep learning framework for the JVM.
///
/// @param name which of the framework's libraries it is
/// @param ids the ids of its artifacts; a trailing `*` matches any suffix
record FrameworkLibrary(String framework, String name, List<String> ids) {
    private static final List<FrameworkLibrary> ALL =
            List.of(
                    library("DJL", "API", "ai.djl.api", "ai.djl:api"),
                    djlEngine("PyTorch", "pytorch"),
                    djlEngine("TensorFlow", "tensorflow"),
                    djlEngine("MXNet", "mxnet"),
                    djlEngine("ONNX Runtime", "onnxruntime"),
                    library(
                            "TensorFlow Java",
                            "API",
                            "org.tensorflow:tensorflow-core-api",
                            "tensorflow-core-api"),
                    library(
                            "TensorFlow Java",
                            "1.x",
                            "org.tensorflow:libtensorflow",
                            "libtensorflow"),
                    library(
                            "DL4J",
                            "networks",
                            "org.deeplearning4j:deeplearning4j-nn",
                            "deeplearning4j-nn"),
                    library("DL4J", "ND4J for CPUs", "org.nd4j:nd4j-native", "nd4j-native"),
                    library("DL4J", "ND4J for CUDA", "org.nd4j:nd4j-cuda-*", "nd4j-cuda-*"),
                    library(
                            "MXNet",
                            "Scala and Java API",
                            "org.apache.mxnet:mxnet-full_*",
                            "mxnet-full_*"));

    FrameworkLibrary {
        ids = List.copyOf(ids);
    }

    private static FrameworkLibrary library(String framework, String name, String... ids) {
        return new FrameworkLibrary(framework, name, List.of(ids));
    }

    private static FrameworkLibrary djlEngine(String name, String engine) {
        return library(
                "DJL",
                name + " engine",
                "ai.djl.%s_engine".formatted(engine),
                "ai.djl.%1$s:%1$s-engine".formatted(engine),
                engine + "-engine");
    }

    /// A line of the report for each framework.
    static List<Finding> findAll(Collection<Artifact> artifacts) {
        return ALL.stream()
                .map(FrameworkLibrary::framework)
                .distinct()
                .map(framework -> find(framework, artifacts))
                .toList();
    }

    private static Finding find(String framework, Collection<Artifact> artifacts) {
        String found =
                ALL.stream()
                        .filter(library -> library.framework.equals(framework))
                        .flatMap(library -> library.find(artifacts).stream())
                        .collect(Collectors.joining(", "));
        return new Finding(!found.isEmpty(), framework, found);
    }

    private Optional<String> find(Collection<Artifact> artifacts) {
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
