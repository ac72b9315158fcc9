package org.horovod4j.optim;

import org.horovod4j.Communicator;
import org.horovod4j.DeviceStream;
import org.horovod4j.Tensor;

/// Copies gradients between main memory, where sparse ones are, and the device of dense ones. Needed
/// only if ranks have different layouts, or for `sparseAsDense`.
record GradientTransfer(Gradients gradients, Communicator communicator) {
    /// A dense gradient where all dense gradients are.
    ///
    /// @param inMainMemory returned as it is, if gradients are in main memory
    Tensor toDevice(Tensor inMainMemory) {
        return gradients.stream()
                .map(DeviceStream::device)
                .map(
                        device -> {
                            Tensor there =
                                    communicator.allocate(
                                            device, inMainMemory.dataType(), inMainMemory.shape());
                            communicator.copy(inMainMemory, there);
                            return there;
                        })
                .orElse(inMainMemory);
    }

    /// A gradient in main memory.
    Tensor toHost(Tensor tensor) {
        if (tensor.device().isHost()) {
            return tensor;
        }
        Tensor here = Tensor.zeros(tensor.dataType(), tensor.shape());
        communicator.copy(tensor, here);
        return here;
    }
}
