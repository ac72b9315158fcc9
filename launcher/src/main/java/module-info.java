/// Starts the ranks of a job: the command `horovodrun` and [org.horovod4j.launcher.Launcher], which
/// does the same for a function of a running program.
@SuppressWarnings("module") // the one that the exports name is compiled after this one
module org.horovod4j.launcher {
    requires info.picocli;
    requires java.management;
    requires transitive org.horovod4j.core;
    requires org.snakeyaml.engine;
    requires static jdk.unsupported;
    requires static transitive org.jspecify;

    exports org.horovod4j.launcher;
    exports org.horovod4j.launcher.driver to
            org.horovod4j.spark;
    exports org.horovod4j.launcher.function to
            org.horovod4j.spark;
    exports org.horovod4j.launcher.plan to
            org.horovod4j.spark;
    exports org.horovod4j.launcher.process to
            org.horovod4j.spark;

    uses org.horovod4j.spi.DeviceBackendProvider;
    uses org.horovod4j.spi.DeviceProvider;
    uses org.horovod4j.spi.HostBackendProvider;

    // Core encodes the records of the messages between launcher and ranks.
    opens org.horovod4j.launcher.function to
            org.horovod4j.core;
}
