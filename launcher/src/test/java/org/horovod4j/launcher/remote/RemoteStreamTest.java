package org.horovod4j.launcher.remote;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.List;

class RemoteStreamTest {
    private final List<Integer> granted = new ArrayList<>();
    private final RemoteStream stream = new RemoteStream(granted::add);

    @Test
    void bytesAreReadInOrderUntilEnd() {
        stream.append(new byte[] {1, 2, 3});
        stream.append(new byte[] {-1});
        stream.append(new byte[0]);
        byte[] two = new byte[2];
        assertThat(stream.available()).isEqualTo(4);
        assertThat(stream.read(two, 0, 2)).isEqualTo(2);
        assertThat(two).containsExactly(1, 2);
        assertThat(stream.read(two, 0, 2)).isEqualTo(1);
        assertThat(stream.read()).isEqualTo(255);
        assertThat(stream.read()).isEqualTo(-1);
        assertThat(stream.read(two, 0, 2)).isEqualTo(-1);
    }

    @Test
    void readBlocksUntilBytesArrive() throws Exception {
        List<Integer> read = new ArrayList<>();
        Thread reader = Thread.ofPlatform().start(() -> read.add(stream.read()));
        stream.append(new byte[] {42});
        reader.join();
        assertThat(read).containsExactly(42);
    }

    @Test
    void readBytesAreCreditedInLargePortions() {
        byte[] chunk = new byte[1000];
        int sent = 0;
        for (int round = 0; round < 1000; round++) {
            stream.append(chunk.clone());
            sent += stream.read(chunk, 0, chunk.length);
        }
        int total = granted.stream().mapToInt(Integer::intValue).sum();
        assertThat(sent - total).isBetween(0, AgentMessage.StandardStream.WINDOW / 4);
        assertThat(granted).allMatch(each -> each >= AgentMessage.StandardStream.WINDOW / 4);
    }

    @Test
    void unreadBytesAreNotCredited() {
        stream.append(new byte[AgentMessage.StandardStream.WINDOW]);
        assertThat(granted).isEmpty();
    }
}
