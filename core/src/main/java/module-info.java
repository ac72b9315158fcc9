/// Horovod4J: collectives and distributed training for the JVM.
module org.horovod4j.core {
    requires static java.logging;
    requires static jdk.incubator.vector;
    requires static jdk.jfr;
    requires static jdk.unsupported;
    requires static transitive org.jspecify;

    exports org.horovod4j;
    exports org.horovod4j.checkpoint;
    exports org.horovod4j.codec;
    exports org.horovod4j.compression;
    exports org.horovod4j.data;
    exports org.horovod4j.connection;
    exports org.horovod4j.elastic;
    exports org.horovod4j.elastic.registry;
    exports org.horovod4j.frame;
    exports org.horovod4j.log;
    exports org.horovod4j.network;
    exports org.horovod4j.optim;
    exports org.horovod4j.optim.overlap;
    exports org.horovod4j.option;
    exports org.horovod4j.rendezvous;
    exports org.horovod4j.sparse;
    exports org.horovod4j.spi;
    exports org.horovod4j.testing;
    exports org.horovod4j.training;
    exports org.horovod4j.security;
    exports org.horovod4j.text;
}
