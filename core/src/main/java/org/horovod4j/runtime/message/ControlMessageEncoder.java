package org.horovod4j.runtime.message;

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

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;

/// Writes control messages; [ControlMessageDecoder] reads them.
///
/// Cached requests are a bit vector that starts at the lowest slot: in the steady state a thousand
/// tensors take 125 bytes. A few slots that are far apart are listed instead.
public final class ControlMessageEncoder {
    private static final int FIRST_BYTES = 256;
    private static final int MAX_BYTES_PER_SLOT = 4;

    private ByteBuffer out = ByteBuffer.allocate(FIRST_BYTES);

    private ControlMessageEncoder() {}

    public static byte[] encode(RankMessage message) {
        ControlMessageEncoder controlMessageEncoder = new ControlMessageEncoder();
        controlMessageEncoder.write(message);
        return controlMessageEncoder.bytes();
    }

    public static byte[] encode(CoordinatorMessage message) {
        ControlMessageEncoder controlMessageEncoder = new ControlMessageEncoder();
        controlMessageEncoder.write(message);
        return controlMessageEncoder.bytes();
    }

    private byte[] bytes() {
        byte[] bytes = new byte[out.position()];
        out.flip().get(bytes);
        return bytes;
    }

    private void write(RankMessage message) {
        switch (message) {
            case Submit(long epoch, long seen, long segment, List<RequestRef> requests) -> {
                tag(ControlMessageTag.SUBMIT);
                number(epoch);
                number(seen);
                number(segment);
                requestRefs(requests);
            }
            case Join(long epoch) -> {
                tag(ControlMessageTag.JOIN);
                number(epoch);
            }
            case FailStep(long epoch, String reason) -> {
                tag(ControlMessageTag.FAIL_STEP);
                number(epoch);
                text(reason);
            }
            case Deviate(long completed, boolean stuck) -> {
                tag(ControlMessageTag.DEVIATE);
                number(completed);
                flag(stuck);
            }
            case Stopped(boolean cancelled) -> {
                tag(ControlMessageTag.STOPPED);
                flag(cancelled);
            }
            case ResetDone() -> tag(ControlMessageTag.RESET_DONE);
        }
    }

    private void requestRefs(List<RequestRef> requests) {
        List<Request> fresh = new ArrayList<>();
        BitSet slots = new BitSet();
        int base = Integer.MAX_VALUE;
        for (RequestRef requestRef : requests) {
            if (requestRef instanceof CachedRequest(int slot)) {
                base = Math.min(base, slot);
            }
        }
        for (RequestRef requestRef : requests) {
            switch (requestRef) {
                case CachedRequest(int slot) -> slots.set(slot - base);
                case NewRequest(Request request) -> fresh.add(request);
            }
        }
        number(base);
        byte[] bits = slots.toByteArray();
        boolean sparse = bits.length > MAX_BYTES_PER_SLOT * slots.cardinality();
        flag(sparse);
        if (sparse) {
            number(slots.cardinality());
            slots.stream().forEach(this::number);
        } else {
            number(bits.length);
            ensureCapacity(bits.length).put(bits);
        }
        number(fresh.size());
        fresh.forEach(this::request);
    }

    private void write(CoordinatorMessage message) {
        switch (message) {
            case Run(List<OperationRef> tensors, int divisor) -> {
                tag(ControlMessageTag.RUN);
                number(divisor);
                number(tensors.size());
                tensors.forEach(this::named);
            }
            case Fail(String name, String reason, List<Integer> ranks) -> {
                tag(ControlMessageTag.FAIL);
                text(name);
                text(reason);
                number(ranks.size());
                ranks.forEach(this::number);
            }
            case Joined(int lastRank) -> {
                tag(ControlMessageTag.JOINED);
                number(lastRank);
            }
            case StepEnded(int lastRank) -> {
                tag(ControlMessageTag.STEP_ENDED);
                number(lastRank);
            }
            case Evict(List<Integer> slots) -> {
                tag(ControlMessageTag.EVICT);
                number(slots.size());
                slots.forEach(this::number);
            }
            case Lock(long plan, List<List<Request>> batches, int start) -> {
                tag(ControlMessageTag.LOCK);
                number(plan);
                number(start);
                number(batches.size());
                for (List<Request> batch : batches) {
                    number(batch.size());
                    batch.forEach(this::request);
                }
            }
            case Unlock(long completed) -> {
                tag(ControlMessageTag.UNLOCK);
                number(completed);
            }
            case Unlocked(boolean reset) -> {
                tag(ControlMessageTag.UNLOCKED);
                flag(reset);
            }
            case Tune(Tuning tuning) -> {
                tag(ControlMessageTag.TUNE);
                number(tuning.fusionThreshold());
                number(tuning.cycleTime().toNanos());
                number(tuning.roundBytes());
                number(tuning.ringBytes());
                number(tuning.streams());
            }
        }
    }

    private void named(OperationRef operationRef) {
        switch (operationRef) {
            case Cached(int slot) -> {
                flag(true);
                number(slot);
            }
            case Uncached(Request request, int slot) -> {
                flag(false);
                number(slot);
                request(request);
            }
        }
    }

    private void request(Request request) {
        number(request.collectiveKind().ordinal());
        text(request.name());
        number(request.dataType().ordinal());
        number(request.shape().rank());
        for (int i = 0; i < request.shape().rank(); i++) {
            number(request.shape().dimension(i));
        }
        number(request.op().ordinal());
        ensureCapacity(2 * Double.BYTES)
                .putDouble(request.scale().prescale())
                .putDouble(request.scale().postscale());
        number(request.rootRank());
        call(request.call());
        flag(request.shared());
        number(request.device().kind().ordinal());
        number(request.device().index());
        number(request.wireType().ordinal());
    }

    private void call(CompositeCall call) {
        text(call.name());
        text(call.method());
        number(call.members());
    }

    private void tag(ControlMessageTag controlMessageTag) {
        number(controlMessageTag.ordinal());
    }

    private void flag(boolean value) {
        ensureCapacity(1).put((byte) (value ? 1 : 0));
    }

    private void text(String text) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        number(bytes.length);
        ensureCapacity(bytes.length).put(bytes);
    }

    /// Seven bits per byte, so that small numbers are short; zigzag, so that -1 is small too.
    private void number(long value) {
        long rest = (value << 1) ^ (value >> 63);
        ensureCapacity(Long.BYTES + 2);
        while ((rest & ~0x7fL) != 0) {
            out.put((byte) ((rest & 0x7f) | 0x80));
            rest >>>= 7;
        }
        out.put((byte) rest);
    }

    private ByteBuffer ensureCapacity(int bytes) {
        if (out.remaining() < bytes) {
            ByteBuffer larger =
                    ByteBuffer.allocate(Math.max(2 * out.capacity(), out.position() + bytes));
            larger.put(out.flip());
            out = larger;
        }
        return out;
    }
}
