package org.horovod4j.runtime.message;

import org.horovod4j.runtime.message.FromRank.Ask;
import org.horovod4j.runtime.message.FromRank.Deviate;
import org.horovod4j.runtime.message.FromRank.Fresh;
import org.horovod4j.runtime.message.FromRank.Join;
import org.horovod4j.runtime.message.FromRank.Known;
import org.horovod4j.runtime.message.FromRank.Ready;
import org.horovod4j.runtime.message.FromRank.Stopped;
import org.horovod4j.runtime.message.FromRank.Submit;
import org.horovod4j.runtime.message.ToRanks.Cached;
import org.horovod4j.runtime.message.ToRanks.Evict;
import org.horovod4j.runtime.message.ToRanks.Fail;
import org.horovod4j.runtime.message.ToRanks.Introduced;
import org.horovod4j.runtime.message.ToRanks.Joined;
import org.horovod4j.runtime.message.ToRanks.Lock;
import org.horovod4j.runtime.message.ToRanks.Named;
import org.horovod4j.runtime.message.ToRanks.Run;
import org.horovod4j.runtime.message.ToRanks.Tune;
import org.horovod4j.runtime.message.ToRanks.Unlock;
import org.horovod4j.runtime.message.ToRanks.Unlocked;
import org.horovod4j.spi.Tuning;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;

/// Writes control messages; [Decoder] reads them.
///
/// What a rank asks for from the cache is a vector of bits that starts at the lowest slot it names:
/// in the steady state a thousand tensors take 125 bytes. Where few slots lie far apart they are
/// listed instead.
public final class Encoder {
    private static final int FIRST_BYTES = 256;
    private static final int MAX_BYTES_PER_SLOT = 4;

    private ByteBuffer out = ByteBuffer.allocate(FIRST_BYTES);

    private Encoder() {}

    public static byte[] encode(FromRank message) {
        Encoder encoder = new Encoder();
        encoder.write(message);
        return encoder.bytes();
    }

    public static byte[] encode(ToRanks message) {
        Encoder encoder = new Encoder();
        encoder.write(message);
        return encoder.bytes();
    }

    private byte[] bytes() {
        byte[] bytes = new byte[out.position()];
        out.flip().get(bytes);
        return bytes;
    }

    private void write(FromRank message) {
        switch (message) {
            case Submit(long epoch, long seen, long segment, List<Ask> asks) -> {
                tag(Tag.SUBMIT);
                number(epoch);
                number(seen);
                number(segment);
                asks(asks);
            }
            case Join(long epoch) -> {
                tag(Tag.JOIN);
                number(epoch);
            }
            case Deviate(long completed, boolean fault) -> {
                tag(Tag.DEVIATE);
                number(completed);
                flag(fault);
            }
            case Stopped(boolean abandoned) -> {
                tag(Tag.STOPPED);
                flag(abandoned);
            }
            case Ready() -> tag(Tag.READY);
        }
    }

    private void asks(List<Ask> asks) {
        List<Request> fresh = new ArrayList<>();
        BitSet slots = new BitSet();
        int base = Integer.MAX_VALUE;
        for (Ask ask : asks) {
            if (ask instanceof Known(int slot)) {
                base = Math.min(base, slot);
            }
        }
        for (Ask ask : asks) {
            switch (ask) {
                case Known(int slot) -> slots.set(slot - base);
                case Fresh(Request request) -> fresh.add(request);
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
            room(bits.length).put(bits);
        }
        number(fresh.size());
        fresh.forEach(this::request);
    }

    private void write(ToRanks message) {
        switch (message) {
            case Run(List<Named> tensors, int divisor) -> {
                tag(Tag.RUN);
                number(divisor);
                number(tensors.size());
                tensors.forEach(this::named);
            }
            case Fail(String name, String reason) -> {
                tag(Tag.FAIL);
                text(name);
                text(reason);
            }
            case Joined(int lastRank) -> {
                tag(Tag.JOINED);
                number(lastRank);
            }
            case Evict(List<Integer> slots) -> {
                tag(Tag.EVICT);
                number(slots.size());
                slots.forEach(this::number);
            }
            case Lock(long plan, List<List<Request>> buckets, int start) -> {
                tag(Tag.LOCK);
                number(plan);
                number(start);
                number(buckets.size());
                for (List<Request> bucket : buckets) {
                    number(bucket.size());
                    bucket.forEach(this::request);
                }
            }
            case Unlock(long completed) -> {
                tag(Tag.UNLOCK);
                number(completed);
            }
            case Unlocked(boolean reset) -> {
                tag(Tag.UNLOCKED);
                flag(reset);
            }
            case Tune(Tuning tuning) -> {
                tag(Tag.TUNE);
                number(tuning.fusionThreshold());
                number(tuning.cycleTime().toNanos());
                number(tuning.roundBytes());
                number(tuning.ringBytes());
                number(tuning.streams());
            }
        }
    }

    private void named(Named named) {
        switch (named) {
            case Cached(int slot) -> {
                flag(true);
                number(slot);
            }
            case Introduced(Request request, int slot) -> {
                flag(false);
                number(slot);
                request(request);
            }
        }
    }

    private void request(Request request) {
        number(request.kind().ordinal());
        text(request.name());
        number(request.dataType().ordinal());
        number(request.shape().rank());
        for (int i = 0; i < request.shape().rank(); i++) {
            number(request.shape().dimension(i));
        }
        number(request.op().ordinal());
        room(2 * Double.BYTES)
                .putDouble(request.scale().prescale())
                .putDouble(request.scale().postscale());
        number(request.rootRank());
        text(request.group());
        flag(request.shared());
    }

    private void tag(Tag tag) {
        number(tag.ordinal());
    }

    private void flag(boolean value) {
        room(1).put((byte) (value ? 1 : 0));
    }

    private void text(String text) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        number(bytes.length);
        room(bytes.length).put(bytes);
    }

    /// Seven bits at a time, so that small numbers are short; zigzag, so that -1 is small too.
    private void number(long value) {
        long rest = (value << 1) ^ (value >> 63);
        room(Long.BYTES + 2);
        while ((rest & ~0x7fL) != 0) {
            out.put((byte) ((rest & 0x7f) | 0x80));
            rest >>>= 7;
        }
        out.put((byte) rest);
    }

    private ByteBuffer room(int bytes) {
        if (out.remaining() < bytes) {
            ByteBuffer larger =
                    ByteBuffer.allocate(Math.max(2 * out.capacity(), out.position() + bytes));
            larger.put(out.flip());
            out = larger;
        }
        return out;
    }
}
