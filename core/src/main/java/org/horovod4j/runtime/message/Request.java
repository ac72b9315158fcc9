package org.horovod4j.runtime.message;

import org.horovod4j.DataType;
import org.horovod4j.Device;
import org.horovod4j.ReduceOp;
import org.horovod4j.Scale;
import org.horovod4j.Shape;
import org.horovod4j.Tensor;
import org.horovod4j.spi.CompositeCall;

/// An operation as a rank requests it: everything that the ranks must agree on, the call it belongs
/// to, and where its memory is. Of the device, the ranks must agree on the kind. Whether memory is
/// shared only decides what is fused.
///
/// @param collectiveKind which collective
/// @param name the tensor's name
/// @param dataType the type of its elements
/// @param shape its shape on this rank
/// @param op the reduction, for collectives that reduce
/// @param scale factors before and after the reduction
/// @param rootRank the rank whose tensor is broadcast, as a rank of the process set; -1 for other
///     kinds
/// @param call the call of the program that it is a part of, such as that of a group
/// @param shared whether it is in memory that the ranks of a host share
/// @param device where its memory is on this rank
/// @param wireType the type in which its elements are sent; another than `dataType` only on a device
public record Request(
        CollectiveKind collectiveKind,
        String name,
        DataType dataType,
        Shape shape,
        ReduceOp op,
        Scale scale,
        int rootRank,
        CompositeCall call,
        boolean shared,
        Device device,
        DataType wireType) {
    public static final int NO_ROOT = -1;
    public static final int MAX_NAME = 1_000;

    /// No tensor may have this name.
    private static final String BARRIER = "hvd.barrier";

    private static final String JOIN = "join";
    private static final String FAIL_STEP = "failStep";

    public Request {
        if (name.isEmpty() || name.length() > MAX_NAME) {
            throw new IllegalArgumentException(
                    "%s: a name has 1 to %d characters, not %d"
                            .formatted(collectiveKind, MAX_NAME, name.length()));
        }
        if (name.equals(BARRIER) && collectiveKind != CollectiveKind.BARRIER) {
            throw new IllegalArgumentException(
                    "%s: '%s' is the name of the barrier; give the tensor another name"
                            .formatted(collectiveKind, name));
        }
    }

    /// A request for a collective that reduces.
    public static Request forReduction(
            CollectiveKind collectiveKind,
            String name,
            Tensor tensor,
            ReduceOp op,
            Scale scale,
            boolean shared,
            CompositeCall call) {
        return new Request(
                collectiveKind,
                name,
                tensor.dataType(),
                tensor.shape(),
                op,
                scale,
                NO_ROOT,
                call,
                shared,
                tensor.device(),
                tensor.dataType());
    }

    /// A request for a collective that only moves rows.
    public static Request forDataMovement(
            CollectiveKind collectiveKind, String name, Tensor tensor, CompositeCall call) {
        return forReduction(collectiveKind, name, tensor, ReduceOp.SUM, Scale.NONE, false, call);
    }

    public static Request broadcast(String name, Tensor tensor, int rootRank, CompositeCall call) {
        return new Request(
                CollectiveKind.BROADCAST,
                name,
                tensor.dataType(),
                tensor.shape(),
                ReduceOp.SUM,
                Scale.NONE,
                rootRank,
                call,
                false,
                tensor.device(),
                tensor.dataType());
    }

    public static Request barrier() {
        return withoutTensor(BARRIER);
    }

    /// Describes a join in state reports; never sent.
    public static Request join() {
        return withoutTensor(JOIN);
    }

    /// Describes the end of a failed step in state reports; never sent.
    public static Request failStep() {
        return withoutTensor(FAIL_STEP);
    }

    private static Request withoutTensor(String name) {
        return new Request(
                CollectiveKind.BARRIER,
                name,
                DataType.UINT8,
                Shape.SCALAR,
                ReduceOp.SUM,
                Scale.NONE,
                NO_ROOT,
                CompositeCall.NONE,
                false,
                Device.HOST,
                DataType.UINT8);
    }

    public Request withShape(Shape other) {
        return copy(other, shared, wireType);
    }

    public Request withShared(boolean other) {
        return copy(shape, other, wireType);
    }

    public Request withWireType(DataType other) {
        return copy(shape, shared, other);
    }

    private Request copy(Shape otherShape, boolean otherShared, DataType otherType) {
        return new Request(
                collectiveKind,
                name,
                dataType,
                otherShape,
                op,
                scale,
                rootRank,
                call,
                otherShared,
                device,
                otherType);
    }

    /// Whether this request and that of another rank match. The names are known to be equal.
    public boolean matches(Request other) {
        return collectiveKind == other.collectiveKind
                && dataType == other.dataType
                && wireType == other.wireType
                && device.kind() == other.device.kind()
                && op == other.op
                && rootRank == other.rootRank
                && scale.equals(other.scale)
                && shapeMatches(other.shape);
    }

    private boolean shapeMatches(Shape other) {
        if (!collectiveKind.isRagged()) {
            return shape.equals(other);
        }
        if (shape.rank() != other.rank()) {
            return false;
        }
        for (int i = 1; i < shape.rank(); i++) {
            if (shape.dimension(i) != other.dimension(i)) {
                return false;
            }
        }
        return true;
    }

    /// The size of this rank's tensor.
    public long byteSize() {
        return shape.elementCount() * dataType.byteSize();
    }

    /// The group it was submitted in, or the name of the call it is a part of; empty without one.
    public String group() {
        return call.name();
    }

    /// The name that the program gave.
    public String programName() {
        return isPart() ? call.name() : name;
    }

    /// What the program called.
    public String programCall() {
        return isPart() ? call.toString() : collectiveKind.toString();
    }

    /// Whether it is a part of a composite call.
    public boolean isPart() {
        return !call.method().isEmpty();
    }

    /// The operation as the program knows it. Members of a group have names of their own.
    @Override
    public String toString() {
        if (collectiveKind == CollectiveKind.BARRIER) {
            return name.equals(BARRIER) ? "barrier" : name;
        }
        return isPart() && !call.isGroup()
                ? "%s of '%s'".formatted(call, call.name())
                : "%s of '%s'".formatted(collectiveKind, name);
    }
}
