package org.horovod4j.launcher.check;

import java.util.Collection;
import java.util.List;
import java.util.stream.Collectors;

/// A framework for deep learning on the JVM, and the libraries by which it is known.
///
/// @param libraries names of artifacts; the first is the framework, others are its engines. A trailing
///     `*` stands for any end
record Framework(String name, List<String> libraries) {
    static final List<Framework> ALL =
            List.of(
                    new Framework(
                            "DJL",
                            List.of(
                                    "api",
                                    "pytorch-engine",
                                    "tensorflow-engine",
                                    "mxnet-engine",
                                    "onnxruntime-engine")),
                    new Framework(
                            "TensorFlow Java",
                            List.of("tensorflow-core-api", "libtensorflow", "tensorflow-core-native")),
                    new Framework(
                            "DL4J",
                            List.of("deeplearning4j-nn", "deeplearning4j-core", "nd4j-native", "nd4j-cuda-*")),
                    new Framework("MXNet", List.of("mxnet-full_*", "mxnet-engine")));

    Framework {
        libraries = List.copyOf(libraries);
    }

    /// One line of the report.
    Finding find(Collection<Artifact> artifacts) {
        List<Artifact> found =
                libraries.stream()
                        .flatMap(
                                library ->
                                        artifacts.stream().filter(it -> matches(library, it)))
                        .distinct()
                        .toList();
        return found.isEmpty()
                ? Finding.missing(name)
                : Finding.found(
                        name,
                        found.stream()
                                .map(artifact -> artifact.name() + " " + artifact.version())
                                .collect(Collectors.joining(", ")));
    }

    private static boolean matches(String library, Artifact artifact) {
        return library.endsWith("*")
                ? artifact.name().startsWith(library.substring(0, library.length() - 1))
                : artifact.name().equals(library);
    }
}
