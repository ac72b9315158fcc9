package org.horovod4j.runtime.message;

import org.horovod4j.DataType;
import org.horovod4j.ReduceOp;
import org.horovod4j.Scale;
import org.horovod4j.Shape;

/// Requests to test with.
public final class Requests {
    private Requests() {}

    /// A sum of floats.
    public static Request sum(String name, long... dimensions) {
        return of(Kind.ALLREDUCE, name, DataType.FLOAT32, Shape.of(dimensions));
    }

    public static Request of(Kind kind, String name, DataType type, Shape shape) {
        return new Request(
                kind, name, type, shape, ReduceOp.SUM, Scale.NONE, Request.NO_ROOT, "", false);
    }

    public static Request with(Request request, ReduceOp op, Scale scale) {
        return new Request(
                request.kind(),
                request.name(),
                request.dataType(),
                request.shape(),
                op,
                scale,
                request.rootRank(),
                request.group(),
                request.shared());
    }

    public static Request broadcast(String name, int rootRank) {
        return new Request(
                Kind.BROADCAST,
                name,
                DataType.FLOAT32,
                Shape.of(3),
                ReduceOp.SUM,
                Scale.NONE,
                rootRank,
                "",
                false);
    }
}
