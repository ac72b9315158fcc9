package org.horovod4j.runtime.message;

import org.horovod4j.DataType;
import org.horovod4j.Device;
import org.horovod4j.ReduceOp;
import org.horovod4j.Scale;
import org.horovod4j.Shape;
import org.horovod4j.spi.CompositeCall;

/// Requests to test with.
public final class TestRequests {
    private TestRequests() {}

    /// A sum of floats.
    public static Request sum(String name, long... dimensions) {
        return of(CollectiveKind.ALLREDUCE, name, DataType.FLOAT32, Shape.of(dimensions));
    }

    public static Request of(
            CollectiveKind collectiveKind, String name, DataType type, Shape shape) {
        return new Request(
                collectiveKind,
                name,
                type,
                shape,
                ReduceOp.SUM,
                Scale.NONE,
                Request.NO_ROOT,
                CompositeCall.NONE,
                false,
                Device.HOST,
                type);
    }

    public static Request with(Request request, ReduceOp op, Scale scale) {
        return copy(request, op, scale, request.call(), request.device());
    }

    /// A member of a group of two.
    public static Request inGroup(String group, Request request) {
        return within(new CompositeCall(group, "groupedAllreduce", 2), request);
    }

    /// A part of a call.
    public static Request within(CompositeCall call, Request request) {
        return copy(request, request.op(), request.scale(), call, request.device());
    }

    public static Request broadcast(String name, int rootRank) {
        return new Request(
                CollectiveKind.BROADCAST,
                name,
                DataType.FLOAT32,
                Shape.of(3),
                ReduceOp.SUM,
                Scale.NONE,
                rootRank,
                CompositeCall.NONE,
                false,
                Device.HOST,
                DataType.FLOAT32);
    }

    public static Request on(Device device, Request request) {
        return copy(request, request.op(), request.scale(), request.call(), device);
    }

    private static Request copy(
            Request request, ReduceOp op, Scale scale, CompositeCall call, Device device) {
        return new Request(
                request.collectiveKind(),
                request.name(),
                request.dataType(),
                request.shape(),
                op,
                scale,
                request.rootRank(),
                call,
                request.shared(),
                device,
                request.wireType());
    }
}
