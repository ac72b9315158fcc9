/// Collectives of GPUs through NCCL.
module org.horovod4j.nccl {
    requires org.horovod4j.core;
    requires org.horovod4j.cuda;
    requires static org.jspecify;

    provides org.horovod4j.spi.DeviceBackendProvider with
            org.horovod4j.nccl.NcclProvider;
}
