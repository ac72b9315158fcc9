package org.horovod4j.pytorch;

import org.bytedeco.javacpp.Pointer;
import org.bytedeco.pytorch.PointerConsumer;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;
import org.horovod4j.libtorch.TorchTensors;

import java.lang.foreign.MemorySegment;
import java.lang.ref.Reference;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;

/// The memory of PyTorch's tensors: in place if it is main memory in row-major order, and copied
/// otherwise.
public final class TensorMemory {
    /// Memory of Horovod4J that tensors of PyTorch use, by address.
    private static final Map<Long, Shared> SHARED = new ConcurrentHashMap<>();

    private static final PointerConsumer RELEASE = new Release();

    private TensorMemory() {}

    /// Called by libtorch when no tensor uses the memory any more.
    private static final class Release extends PointerConsumer {
        Release() {
            retainReference(); // a scope of the program must not free it
        }

        @Override
        public void call(Pointer memory) {
            SHARED.computeIfPresent(
                    memory.address(),
                    (_, shared) ->
                            shared.users == 1 ? null : new Shared(shared.memory, shared.users - 1));
        }
    }

    /// @param users the tensors of PyTorch that have not been freed
    private record Shared(org.horovod4j.Tensor memory, int users) {}

    /// An address in native memory.
    private static final class Address extends Pointer {
        Address(long value) {
            address = value;
        }
    }

    /// The elements where PyTorch has them, or empty if they are on a device, sparse, or not in row-major
    /// order.
    static Optional<org.horovod4j.Tensor> inPlace(Tensor tensor) {
        if (!tensor.is_cpu() || tensor.is_sparse() || !tensor.is_contiguous()) {
            return Optional.empty();
        }
        MemorySegment memory = tensors().memory(tensor.address(), TorchTypes.byteSize(tensor));
        return Optional.of(
                org.horovod4j.Tensor.of(memory, TorchTypes.of(tensor), TorchTypes.shape(tensor)));
    }

    /// The elements in place or, if that is not possible, as a copy. The tensor must stay open and reachable
    /// while the result is in use: see [Reference#reachabilityFence].
    public static org.horovod4j.Tensor view(Tensor tensor) {
        return inPlace(tensor).orElseGet(() -> copy(tensor));
    }

    /// A copy of the elements.
    public static org.horovod4j.Tensor copy(Tensor tensor) {
        org.horovod4j.Tensor copy =
                org.horovod4j.Tensor.zeros(TorchTypes.of(tensor), TorchTypes.shape(tensor));
        read(tensor, copy);
        return copy;
    }

    /// Copies the elements of a dense tensor on any device.
    static void read(Tensor tensor, org.horovod4j.Tensor into) {
        try {
            inPlace(tensor)
                    .ifPresentOrElse(
                            elements -> into.segment().copyFrom(elements.segment()),
                            () -> tensors().read(tensor.address(), into.segment()));
        } finally {
            Reference.reachabilityFence(tensor);
        }
    }

    /// Overwrites the elements of a dense tensor on any device. Autograd does not record it.
    public static void write(Tensor tensor, org.horovod4j.Tensor from) {
        try {
            Optional<org.horovod4j.Tensor> elements = inPlace(tensor);
            if (elements.isEmpty()) {
                tensors().write(tensor.address(), from.segment());
            } else if (!elements.get().segment().equals(from.segment())) {
                elements.get().segment().copyFrom(from.segment());
            }
        } finally {
            Reference.reachabilityFence(tensor);
        }
    }

    /// A tensor of PyTorch with a copy of the elements.
    static Tensor newTensor(org.horovod4j.Tensor elements) {
        try (TensorOptions options = TorchTypes.options(elements.dataType())) {
            Tensor tensor = torch.empty(TorchTypes.sizes(elements.shape()), options, null);
            write(tensor, elements);
            return tensor;
        }
    }

    /// A tensor of PyTorch over the memory of `place`, which stays reachable until libtorch frees the
    /// tensor.
    static Tensor over(org.horovod4j.Tensor place) {
        long address = place.segment().address();
        SHARED.merge(
                address, new Shared(place, 1), (before, _) -> new Shared(place, before.users + 1));
        try (TensorOptions options = TorchTypes.options(place.dataType());
                Address memory = new Address(address)) {
            return torch.from_blob(memory, TorchTypes.sizes(place.shape()), RELEASE, options);
        }
    }

    /// Whether a tensor of PyTorch uses the memory of Horovod4J at this address, for tests.
    static boolean isShared(long address) {
        return SHARED.containsKey(address);
    }

    private static TorchTensors tensors() {
        return TorchLibrary.runtime().tensors();
    }
}
