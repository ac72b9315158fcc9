package org.horovod4j.launcher.check;

import org.horovod4j.launcher.check.BuildReport.Finding;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/// A library of a deep learning framework for the JVM.
///
/// @param name which of the framework's libraries it is
/// @param ids the ids of its artifacts; a trailing `*` matches any suffix
record FrameworkLibrary(String framework, String name, List<String> ids) {
    private static final String DJL = "DJL";
    private static final String PYTORCH = "PyTorch by Bytedeco";
    private static final String TENSORFLOW = "TensorFlow Java";
    private static final String DL4J = "DL4J";

    /// The versions that our tests run with.
    static final String TESTED_DJL = "0.35.1";

    static final String TESTED_PYTORCH = "2.10.0-1.5.13";
    static final String TESTED_TENSORFLOW = "1.1.0";
    static final String TESTED_DL4J = "1.0.0-M2.1";

    private static final Map<String, Adapter> ADAPTERS =
            Map.of(
                    DJL, new Adapter(OwnModule.DJL, TESTED_DJL),
                    PYTORCH, new Adapter(OwnModule.PYTORCH, TESTED_PYTORCH),
                    TENSORFLOW, new Adapter(OwnModule.TENSORFLOW, TESTED_TENSORFLOW),
                    DL4J, new Adapter(OwnModule.DL4J, TESTED_DL4J));

    /// A module of ours for a framework.
    ///
    /// @param testedVersion of the framework
    private record Adapter(String module, String testedVersion) {}

    private static final List<FrameworkLibrary> ALL =
            List.of(
                    library(DJL, "API", "ai.djl.api", "ai.djl:api"),
                    djlEngine("PyTorch engine", "pytorch"),
                    djlEngine("MXNet engine", "mxnet"),
                    djlEngine("TensorFlow engine, which cannot train,", "tensorflow"),
                    djlEngine("ONNX Runtime engine, which cannot train,", "onnxruntime"),
                    library(PYTORCH, "API", "org.bytedeco:pytorch", "pytorch"),
                    library(
                            TENSORFLOW,
                            "API",
                            "org.tensorflow:tensorflow-core-api",
                            "tensorflow-core-api"),
                    library(
                            TENSORFLOW,
                            "1.x, which has no adapter,",
                            "org.tensorflow:libtensorflow",
                            "libtensorflow"),
                    library(
                            DL4J,
                            "networks",
                            "org.deeplearning4j:deeplearning4j-nn",
                            "deeplearning4j-nn"),
                    library(DL4J, "ND4J for CPUs", "org.nd4j:nd4j-native", "nd4j-native"),
                    library(
                            DL4J,
                            "Keras import",
                            "org.deeplearning4j:deeplearning4j-modelimport",
                            "deeplearning4j-modelimport"),
                    library(
                            DL4J,
                            "ND4J for CUDA, which cannot be used yet,",
                            "org.nd4j:nd4j-cuda-*",
                            "nd4j-cuda-*"),
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
                DJL,
                name,
                "ai.djl.%s_engine".formatted(engine),
                "ai.djl.%1$s:%1$s-engine".formatted(engine),
                engine + "-engine");
    }

    /// A line of the report for each framework. One is marked as supported if a module of ours
    /// adapts it and that module is there too.
    ///
    /// @param tensorFlowKernels how collectives would run in a graph of TensorFlow
    static List<Finding> findAll(
            ClassPath classPath, Collection<Artifact> artifacts, String tensorFlowKernels) {
        return ALL.stream()
                .map(FrameworkLibrary::framework)
                .distinct()
                .map(framework -> find(framework, classPath, artifacts, tensorFlowKernels))
                .toList();
    }

    private static Finding find(
            String framework,
            ClassPath classPath,
            Collection<Artifact> artifacts,
            String tensorFlowKernels) {
        List<String> versions = new ArrayList<>();
        List<String> found = new ArrayList<>();
        for (FrameworkLibrary library : ALL) {
            if (library.framework.equals(framework)) {
                library.find(artifacts)
                        .ifPresent(
                                artifact -> {
                                    versions.add(artifact.version());
                                    found.add(library.name + " " + artifact.version());
                                });
            }
        }
        String text = String.join(", ", found);
        if (found.isEmpty()) {
            return Finding.missing(framework, "");
        }
        Adapter adapter = ADAPTERS.get(framework);
        if (adapter == null) {
            return Finding.missing(
                    framework,
                    text
                            + " is there, but Horovod4J has no adapter: exchange its arrays or buffers");
        }
        if (!OwnModule.isPresent(adapter.module, classPath)) {
            return Finding.missing(
                    framework, "%s; add %s to train with it".formatted(text, adapter.module));
        }
        boolean isTested = versions.stream().allMatch(adapter.testedVersion::equals);
        return Finding.found(
                framework,
                text
                        + (isTested ? "; tested" : "; tested is only " + adapter.testedVersion)
                        + (framework.equals(TENSORFLOW) ? "; " + tensorFlowKernels : ""));
    }

    private Optional<Artifact> find(Collection<Artifact> artifacts) {
        return artifacts.stream()
                .filter(artifact -> ids.stream().anyMatch(id -> matches(id, artifact.id())))
                .findFirst();
    }

    private static boolean matches(String id, String found) {
        return id.endsWith("*")
                ? found.startsWith(id.substring(0, id.length() - 1))
                : found.equals(id);
    }
}
