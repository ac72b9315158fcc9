/// Horovod4J: collectives and distributed training for the JVM.
///
/// Programs use the packages that are exported to all. The others are for the launcher and the
/// adapters of frameworks, which are released together with this module, and may change.
@SuppressWarnings("module") // those that the exports name are compiled after this one
module org.horovod4j.core {
    requires static java.logging;
    requires static jdk.incubator.vector;
    requires static jdk.jfr;
    requires static jdk.unsupported;
    requires static transitive org.jspecify;

    exports org.horovod4j;
    exports org.horovod4j.checkpoint;
    exports org.horovod4j.compression;
    exports org.horovod4j.data;
    exports org.horovod4j.elastic;
    exports org.horovod4j.optim;
    exports org.horovod4j.optim.overlap;
    exports org.horovod4j.sparse;
    exports org.horovod4j.testing;
    exports org.horovod4j.training;
    exports org.horovod4j.codec to
            org.horovod4j.launcher,
            org.horovod4j.spark;
    exports org.horovod4j.collectives.algorithm to
            org.horovod4j.cuda;
    exports org.horovod4j.connection to
            org.horovod4j.launcher,
            org.horovod4j.spark;
    exports org.horovod4j.elastic.registry to
            org.horovod4j.launcher,
            org.horovod4j.spark;
    exports org.horovod4j.file to
            org.horovod4j.launcher;
    exports org.horovod4j.frame to
            org.horovod4j.launcher,
            org.horovod4j.spark;
    exports org.horovod4j.log to
            org.horovod4j.cuda,
            org.horovod4j.djl,
            org.horovod4j.launcher,
            org.horovod4j.libtorch,
            org.horovod4j.nccl,
            org.horovod4j.spark,
            org.horovod4j.tensorflow;
    exports org.horovod4j.natives to
            org.horovod4j.cuda,
            org.horovod4j.djl,
            org.horovod4j.libtorch,
            org.horovod4j.nccl,
            org.horovod4j.tensorflow;
    exports org.horovod4j.network to
            org.horovod4j.launcher,
            org.horovod4j.spark;
    exports org.horovod4j.option to
            org.horovod4j.cuda,
            org.horovod4j.djl,
            org.horovod4j.launcher,
            org.horovod4j.libtorch,
            org.horovod4j.nccl,
            org.horovod4j.spark,
            org.horovod4j.tensorflow;
    exports org.horovod4j.rendezvous to
            org.horovod4j.launcher,
            org.horovod4j.spark;
    exports org.horovod4j.runtime to
            org.horovod4j.spark;
    exports org.horovod4j.security to
            org.horovod4j.launcher,
            org.horovod4j.spark;
    exports org.horovod4j.spi to
            org.horovod4j.cuda,
            org.horovod4j.launcher,
            org.horovod4j.nccl;
    exports org.horovod4j.text to
            org.horovod4j.launcher,
            org.horovod4j.spark;

    uses org.horovod4j.spi.DeviceBackendProvider;
    uses org.horovod4j.spi.DeviceProvider;
    uses org.horovod4j.spi.HostBackendProvider;
}
