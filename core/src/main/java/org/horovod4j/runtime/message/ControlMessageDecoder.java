package org.horovod4j.runtime.message;

import org.horovod4j.DataType;
import org.horovod4j.Device;
import org.horovod4j.HorovodException;
import org.horovod4j.ReduceOp;
import org.horovod4j.Scale;
import org.horovod4j.Shape;
import org.horovod4j.runtime.message.CoordinatorMessage.Cached;
import org.horovod4j.runtime.message.CoordinatorMessage.Evict;
import org.horovod4j.runtime.message.CoordinatorMessage.Fail;
import org.horovod4j.runtime.message.CoordinatorMessage.Joined;
import org.horovod4j.runtime.message.CoordinatorMessage.Lock;
import org.horovod4j.runtime.message.CoordinatorMessage.OperationRef;
import org.horovod4j.runtime.message.CoordinatorMessage.Run;
import org.horovod4j.runtime.message.CoordinatorMessage.StepEnded;
import org.horovod4j.runtime.message.CoordinatorMessage.Tune;
import org.horovod4j.runtime.message.CoordinatorMessage.Uncached;
import org.horovod4j.runtime.message.CoordinatorMessage.Unlock;
import org.horovod4j.runtime.message.CoordinatorMessage.Unlocked;
import org.horovod4j.runtime.message.RankMessage.CachedRequest;
import org.horovod4j.runtime.message.RankMessage.Deviate;
import org.horovod4j.runtime.message.RankMessage.FailStep;
import org.horovod4j.runtime.message.RankMessage.Join;
import org.horovod4j.runtime.message.RankMessage.NewRequest;
import org.horovod4j.runtime.message.RankMessage.RequestRef;
import org.horovod4j.runtime.message.RankMessage.ResetDone;
import org.horovod4j.runtime.message.RankMessage.Stopped;
import org.horovod4j.runtime.message.RankMessage.Submit;
import org.horovod4j.spi.CompositeCall;
import org.horovod4j.spi.Tuning;

import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.function.Supplier;

/// Reads control messages; [ControlMessageEncoder] writes them.
///
/// Messages come from ranks that know the job's secret, but perhaps from another version of this
/// program. Invalid messages are rejected, and nothing is allocated that the message has no bytes
/// for.
public final class ControlMessageDecoder {
    private static final DataType[] TYPES = DataType.values();
    private static final Device.Kind[] DEVICE_KINDS = Device.Kind.values();
    private static final ReduceOp[] OPS = ReduceOp.values();
    private static final CollectiveKind[] KINDS = CollectiveKind.values();
    private static final ControlMessageTag[] TAGS = ControlMessageTag.values();
    private static final int MAX_VARINT_SHIFT = 63;

    private final ByteBuffer in;

    private ControlMessageDecoder(byte[] bytes) {
        this.in = ByteBuffer.wrap(bytes);
    }

    /// Reads a message of a rank.
    ///
    /// @throws HorovodException when the bytes make no sense
    public static RankMessage fromRank(byte[] bytes) {
        ControlMessageDecoder controlMessageDecoder = new ControlMessageDecoder(bytes);
        return controlMessageDecoder.decodeFully(controlMessageDecoder::fromRank);
    }

    /// Reads a message of the coordinator.
    ///
    /// @throws HorovodException when the bytes make no sense
    public static CoordinatorMessage toRanks(byte[] bytes) {
        ControlMessageDecoder controlMessageDecoder = new ControlMessageDecoder(bytes);
        return controlMessageDecoder.decodeFully(controlMessageDecoder::toRanks);
    }

    private <T> T decodeFully(Supplier<T> message) {
        try {
            T decoded = message.get();
            if (in.hasRemaining()) {
                throw new IllegalArgumentException(in.remaining() + " bytes too many");
            }
            return decoded;
        } catch (BufferUnderflowException | IllegalArgumentException | ArithmeticException e) {
            throw new HorovodException(
                    "a control message of %d bytes was not understood: use one version of Horovod4J on every rank"
                            .formatted(in.limit()),
                    e);
        }
    }

    private RankMessage fromRank() {
        return switch (oneOf(TAGS)) {
            case SUBMIT -> new Submit(number(), number(), number(), requestRefs());
            case JOIN -> new Join(number());
            case FAIL_STEP -> new FailStep(number(), text());
            case DEVIATE -> new Deviate(number(), flag());
            case STOPPED -> new Stopped(flag());
            case RESET_DONE -> new ResetDone();
            case RUN, FAIL, JOINED, STEP_ENDED, EVICT, LOCK, UNLOCK, UNLOCKED, TUNE ->
                    throw new IllegalArgumentException("only the coordinator may send this");
        };
    }

    private List<RequestRef> requestRefs() {
        List<RequestRef> requests = new ArrayList<>();
        int base = integer();
        if (flag()) {
            list(this::integer)
                    .forEach(slot -> requests.add(new CachedRequest(Math.addExact(base, slot))));
        } else {
            byte[] bits = new byte[size(1)];
            in.get(bits);
            BitSet.valueOf(bits).stream()
                    .forEach(slot -> requests.add(new CachedRequest(Math.addExact(base, slot))));
        }
        int fresh = size(1);
        for (int i = 0; i < fresh; i++) {
            requests.add(new NewRequest(request()));
        }
        return requests;
    }

    private CoordinatorMessage toRanks() {
        return switch (oneOf(TAGS)) {
            case RUN -> {
                int divisor = integer();
                yield new Run(list(this::named), divisor);
            }
            case FAIL -> new Fail(text(), text(), list(this::integer));
            case JOINED -> new Joined(integer());
            case STEP_ENDED -> new StepEnded(integer());
            case EVICT -> new Evict(list(this::integer));
            case LOCK -> {
                long plan = number();
                int start = integer();
                yield new Lock(plan, list(() -> list(this::request)), start);
            }
            case UNLOCK -> new Unlock(number());
            case UNLOCKED -> new Unlocked(flag());
            case TUNE ->
                    new Tune(
                            new Tuning(
                                    number(),
                                    Duration.ofNanos(number()),
                                    number(),
                                    number(),
                                    integer()));
            case SUBMIT, JOIN, FAIL_STEP, DEVIATE, STOPPED, RESET_DONE ->
                    throw new IllegalArgumentException("only ranks may send this");
        };
    }

    private <T> List<T> list(Supplier<T> element) {
        int size = size(1);
        List<T> list = new ArrayList<>();
        for (int i = 0; i < size; i++) {
            list.add(element.get());
        }
        return list;
    }

    private OperationRef named() {
        boolean cached = flag();
        int slot = integer();
        return cached ? new Cached(slot) : new Uncached(request(), slot);
    }

    private Request request() {
        CollectiveKind collectiveKind = oneOf(KINDS);
        String name = text();
        DataType dataType = oneOf(TYPES);
        long[] dimensions = new long[size(1)];
        for (int i = 0; i < dimensions.length; i++) {
            dimensions[i] = number();
        }
        ReduceOp op = oneOf(OPS);
        Scale scale = new Scale(in.getDouble(), in.getDouble());
        return new Request(
                collectiveKind,
                name,
                dataType,
                Shape.of(dimensions),
                op,
                scale.equals(Scale.NONE) ? Scale.NONE : scale,
                integer(),
                call(),
                flag(),
                device(),
                oneOf(TYPES));
    }

    private Device device() {
        Device device = new Device(oneOf(DEVICE_KINDS), integer());
        return device.isHost() ? Device.HOST : device;
    }

    private CompositeCall call() {
        CompositeCall call = new CompositeCall(text(), text(), integer());
        return call.equals(CompositeCall.NONE) ? CompositeCall.NONE : call;
    }

    private <T> T oneOf(T[] values) {
        int index = integer();
        if (index < 0 || index >= values.length) {
            throw new IllegalArgumentException("no such value: " + index);
        }
        return values[index];
    }

    private boolean flag() {
        return switch (in.get()) {
            case 0 -> false;
            case 1 -> true;
            default -> throw new IllegalArgumentException("neither true nor false");
        };
    }

    private String text() {
        byte[] bytes = new byte[size(1)];
        in.get(bytes);
        return new String(bytes, StandardCharsets.UTF_8);
    }

    /// A count of elements that take at least `bytesEach`.
    private int size(int bytesEach) {
        int size = integer();
        if (size < 0 || size > in.remaining() / bytesEach) {
            throw new IllegalArgumentException("too many elements: " + size);
        }
        return size;
    }

    private int integer() {
        return Math.toIntExact(number());
    }

    private long number() {
        long value = 0;
        for (int shift = 0; shift <= MAX_VARINT_SHIFT; shift += 7) {
            byte next = in.get();
            value |= (long) (next & 0x7f) << shift;
            if (next >= 0) {
                return (value >>> 1) ^ -(value & 1);
            }
        }
        throw new IllegalArgumentException("unterminated number");
    }
}
