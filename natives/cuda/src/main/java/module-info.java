/// NVIDIA GPUs through the CUDA driver.
module org.horovod4j.cuda {
    requires org.horovod4j.core;
    requires static org.jspecify;

    provides org.horovod4j.spi.DeviceBackendProvider with
            org.horovod4j.cuda.CudaIpcProvider;
    provides org.horovod4j.spi.DeviceProvider with
            org.horovod4j.cuda.CudaDeviceProvider;
}
