package org.horovod4j.runtime.message;

import org.horovod4j.DataType;
import org.horovod4j.ReduceOp;
import org.horovod4j.Scale;
import org.horovod4j.Shape;
import org.horovod4j.Tensor;
import org.horovod4j.codec.ObjectCodec;

import java.util.Arrays;
import java.util.List;
import java.util.Objects;

/// One operation as a rank asks for it: everything on which the ranks have to agree.
///
/// @param kind which collective
/// @param name the tensor's name
/// @param dataType the type of its elements
/// @param shape its shape
/// @param op how it is reduced, where it is
/// @param scale factors around the reduction
/// @param rootRank whose tensor is broadcast; -1 for other kinds
public record Request(
        Kind kind,
        String name,
        DataType dataType,
        Shape shape,
        ReduceOp op,
        Scale scale,
        int rootRank) {
    private static final int NO_ROOT = -1;
    private static final int MAX_NAME = 1_000;
    private static final long PRIME = 0x9e3779b97f4a7c15L;

    /// The collectives.
    public enum Kind {
        ALLREDUCE,
        ALLGATHER,
        BROADCAST,
        ALLTOALL,
        REDUCESCATTER,
        BARRIER;

        /// Whether the ranks may bring different numbers of rows.
        boolean isRagged() {
            return this == ALLGATHER || this == ALLTOALL;
        }

        @Override
        public String toString() {
            return name().toLowerCase(java.util.Locale.ROOT);
        }
    }

    public Request {
        if (name.isEmpty() || name.length() > MAX_NAME) {
            throw new IllegalArgumentException(
                    "%s: a name has 1 to %d characters, not %d"
                            .formatted(kind, MAX_NAME, name.length()));
        }
    }

    /// A request for a collective that reduces.
    public static Request reducing(
            Kind kind, String name, Tensor tensor, ReduceOp op, Scale scale) {
        return new Request(kind, name, tensor.dataType(), tensor.shape(), op, scale, NO_ROOT);
    }

    /// A request for a collective that only moves rows.
    public static Request moving(Kind kind, String name, Tensor tensor) {
        return reducing(kind, name, tensor, ReduceOp.SUM, Scale.NONE);
    }

    public static Request broadcast(String name, Tensor tensor, int rootRank) {
        return new Request(
                Kind.BROADCAST,
                name,
                tensor.dataType(),
                tensor.shape(),
                ReduceOp.SUM,
                Scale.NONE,
                rootRank);
    }

    public static Request barrier() {
        return new Request(
                Kind.BARRIER,
                "barrier",
                DataType.UINT8,
                Shape.SCALAR,
                ReduceOp.SUM,
                Scale.NONE,
                NO_ROOT);
    }

    /// A number that two requests share only if they fit together, for all that chance allows, when
    /// they are the ranks' operation number `number`. It is computed for every operation, so it
    /// allocates nothing.
    public long stamp(long number) {
        long hash = number * PRIME;
        hash = mix(hash, kind.ordinal() * 64L + dataType.ordinal());
        hash = mix(hash, op.ordinal() * 64L + shape.rank());
        for (int i = kind.isRagged() ? 1 : 0; i < shape.rank(); i++) {
            hash = mix(hash, shape.dimension(i));
        }
        hash = mix(hash, Double.doubleToLongBits(scale.prescale()));
        hash = mix(hash, Double.doubleToLongBits(scale.postscale()));
        hash = mix(hash, rootRank);
        for (int i = 0; i < name.length(); i++) {
            hash = (hash ^ name.charAt(i)) * PRIME;
        }
        return hash ^ (hash >>> 32);
    }

    private static long mix(long hash, long value) {
        long mixed = (hash ^ value) * PRIME;
        return mixed ^ (mixed >>> 29);
    }

    public byte[] encode() {
        return new ObjectCodec()
                .encode(
                        new Wire(
                                kind,
                                name,
                                dataType,
                                Arrays.stream(shape.toArray()).boxed().toList(),
                                op,
                                scale,
                                rootRank));
    }

    public static Request decode(byte[] bytes) {
        Wire wire =
                (Wire)
                        Objects.requireNonNull(
                                new ObjectCodec(Request.class.getClassLoader()).decode(bytes));
        long[] dimensions = wire.shape.stream().mapToLong(Long::longValue).toArray();
        return new Request(
                wire.kind,
                wire.name,
                wire.dataType,
                Shape.of(dimensions),
                wire.op,
                wire.scale,
                wire.rootRank);
    }

    @Override
    public String toString() {
        return kind == Kind.BARRIER ? "barrier" : "%s of '%s'".formatted(kind, name);
    }

    /// A request in terms that the codec knows.
    private record Wire(
            Kind kind,
            String name,
            DataType dataType,
            List<Long> shape,
            ReduceOp op,
            Scale scale,
            int rootRank) {}
}
