package org.horovod4j.launcher.check;

import org.horovod4j.launcher.check.BuildReport.Finding;

import java.util.Collection;
import java.util.List;

/// A module of Horovod4J. It is recognized by a class, so that folders of classes and merged jars
/// count too.
///
/// @param artifact its Maven name
/// @param className a class that only it contains
record OwnModule(String artifact, String className, String purpose) {
    static final String DJL = "horovod4j-djl";
    static final String PYTORCH = "horovod4j-pytorch";
    static final String TENSORFLOW = "horovod4j-tensorflow";
    static final String DL4J = "horovod4j-dl4j";

    private static final List<OwnModule> ALL =
            List.of(
                    new OwnModule("horovod4j-core", "org.horovod4j.Hvd", "collectives"),
                    new OwnModule(
                            "horovod4j-cuda",
                            "org.horovod4j.cuda.CudaDeviceProvider",
                            "tensors on NVIDIA GPUs"),
                    new OwnModule(
                            "horovod4j-nccl",
                            "org.horovod4j.nccl.NcclProvider",
                            "collectives of GPUs by NCCL"),
                    new OwnModule(
                            "horovod4j-libtorch",
                            "org.horovod4j.libtorch.TorchTensors",
                            "tensors of libtorch"),
                    new OwnModule(
                            DJL, "org.horovod4j.djl.DistributedOptimizer", "training with DJL"),
                    new OwnModule(
                            PYTORCH,
                            "org.horovod4j.pytorch.HvdTorch",
                            "training with PyTorch by Bytedeco"),
                    new OwnModule(
                            TENSORFLOW,
                            "org.horovod4j.tensorflow.HvdTensorFlow",
                            "training with TensorFlow Java"),
                    new OwnModule(
                            DL4J,
                            "org.horovod4j.dl4j.HvdDl4j",
                            "training with Deeplearning4j, and networks of Keras"),
                    new OwnModule(
                            "horovod4j-spark",
                            "org.horovod4j.spark.HvdSpark",
                            "ranks in executors of Spark"),
                    new OwnModule(
                            "horovod4j-launcher",
                            "org.horovod4j.launcher.Launcher",
                            "Launcher, for programs that start ranks themselves"));

    /// A line of the report for each module.
    static List<Finding> findAll(ClassPath classPath, Collection<Artifact> artifacts) {
        return ALL.stream().map(module -> module.find(classPath, artifacts)).toList();
    }

    private Finding find(ClassPath classPath, Collection<Artifact> artifacts) {
        if (!classPath.contains(className)) {
            return Finding.missing(artifact, purpose);
        }
        String version =
                artifacts.stream()
                        .filter(each -> each.id().matches("(org\\.horovod4j:)?" + artifact))
                        .map(Artifact::version)
                        .findFirst()
                        .orElse("built from source");
        return Finding.found(artifact, "%s (%s)".formatted(version, purpose));
    }

    static boolean isPresent(String artifact, ClassPath classPath) {
        return ALL.stream()
                .filter(module -> module.artifact.equals(artifact))
                .anyMatch(module -> classPath.contains(module.className));
    }
}
