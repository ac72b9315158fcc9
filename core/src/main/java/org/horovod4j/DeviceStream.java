package org.horovod4j;

/// A queue of work on a device. Frameworks create it: for CUDA it is a `cudaStream_t`.
///
/// ```java
/// DeviceStream stream = new DeviceStream(Device.cuda(0), streamOfTheFramework);
/// Handle<Tensor> sum = Hvd.allreduceAsync("gradient", gradient.readyOn(stream), ReduceOp.SUM);
/// sum.awaitOn(stream); // what the framework launches on the stream from now on sees the sum
/// ```
///
/// @param device the device it belongs to
/// @param handle its address; 0 is the default stream
public record DeviceStream(Device device, long handle) {
    public DeviceStream {
        if (device.isHost()) {
            throw new IllegalArgumentException("the host has no streams; name a device");
        }
    }

    @Override
    public String toString() {
        return "stream 0x%x of %s".formatted(handle, device);
    }
}
