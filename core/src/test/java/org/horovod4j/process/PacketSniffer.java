package org.horovod4j.process;

import static org.awaitility.Awaitility.await;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import org.junit.jupiter.api.Assumptions;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/// Reads every packet of this machine, as others on the same network could, and searches them for
/// texts. Needs the right to open packet sockets.
final class PacketSniffer implements AutoCloseable {
    private static final int AF_PACKET = 17;
    private static final int SOCK_RAW = 3;
    private static final int ALL_PROTOCOLS = 0x0300; // 3, in the order of the network
    private static final int SOL_SOCKET = 1;
    private static final int SO_RCVTIMEO = 20;
    private static final int SO_RCVBUFFORCE = 33;
    private static final int BUFFER_BYTES = 64 << 20;
    private static final long TIMEOUT_MICROS = 50_000;

    /// Larger than any packet of the loopback interface.
    private static final int PACKET_BYTES = 1 << 17;

    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT;
    private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG;

    private static final String MARK = "UP TO HERE";

    private final List<String> texts;
    private final Set<String> seen = ConcurrentHashMap.newKeySet();
    private final AtomicLong bytes = new AtomicLong();
    private final int socket;
    private final ExecutorService thread = Executors.newSingleThreadExecutor();
    private volatile boolean closed;

    PacketSniffer(List<String> texts) {
        this.texts = List.copyOf(texts);
        this.socket = (int) call("socket", AF_PACKET, SOCK_RAW, ALL_PROTOCOLS);
        Assumptions.assumeTrue(socket >= 0, "reading the network's packets needs root");
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment timeout = arena.allocateFrom(LONG, 0, TIMEOUT_MICROS);
            call("setsockopt", socket, SOL_SOCKET, SO_RCVTIMEO, timeout, 2 * Long.BYTES);
            MemorySegment size = arena.allocateFrom(INT, BUFFER_BYTES);
            boolean enlarged =
                    call("setsockopt", socket, SOL_SOCKET, SO_RCVBUFFORCE, size, Integer.BYTES)
                            == 0;
            if (!enlarged) {
                call("close", socket);
            }
            Assumptions.assumeTrue(enlarged, "SO_RCVBUFFORCE needs CAP_NET_ADMIN");
        }
        thread.execute(this::listen);
    }

    /// The texts seen so far. The sniffer lags behind the network: it sends a packet itself, and
    /// when it sees that packet it has read all earlier ones.
    Set<String> seen() throws IOException {
        byte[] mark = MARK.getBytes(ISO_8859_1);
        try (DatagramSocket sender = new DatagramSocket()) {
            InetSocketAddress ownAddress =
                    new InetSocketAddress(InetAddress.getLoopbackAddress(), sender.getLocalPort());
            await().atMost(TestJob.TIMEOUT)
                    .until(
                            () -> {
                                sender.send(new DatagramPacket(mark, mark.length, ownAddress));
                                return seen.contains(MARK);
                            });
        }
        return seen.stream().filter(texts::contains).collect(Collectors.toSet());
    }

    /// The bytes seen so far, which show that the sniffer works.
    long bytes() {
        return bytes.get();
    }

    @Override
    public void close() {
        closed = true;
        thread.close();
        call("close", socket);
    }

    private void listen() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment packet = arena.allocate(PACKET_BYTES);
            Object[] arguments = {socket, packet, (long) PACKET_BYTES, 0};
            MethodHandle receive = function("recv", arguments);
            while (!closed) {
                long length = invoke(receive, arguments);
                if (length > 0) {
                    bytes.addAndGet(length);
                    look(packet.asSlice(0, length));
                }
            }
        }
    }

    private void look(MemorySegment packet) {
        String content = new String(packet.toArray(ValueLayout.JAVA_BYTE), ISO_8859_1);
        Stream.concat(texts.stream(), Stream.of(MARK)).filter(content::contains).forEach(seen::add);
    }

    private static long call(String name, Object... arguments) {
        return invoke(function(name, arguments), arguments);
    }

    /// A function of the C library with numbers and pointers as parameters.
    private static MethodHandle function(String name, Object... arguments) {
        FunctionDescriptor shape = FunctionDescriptor.of(name.equals("recv") ? LONG : INT);
        for (Object argument : arguments) {
            shape =
                    shape.appendArgumentLayouts(
                            switch (argument) {
                                case Integer _ -> INT;
                                case Long _ -> LONG;
                                default -> ValueLayout.ADDRESS;
                            });
        }
        SymbolLookup library = Linker.nativeLinker().defaultLookup();
        return Linker.nativeLinker().downcallHandle(library.findOrThrow(name), shape);
    }

    private static long invoke(MethodHandle function, Object... arguments) {
        try {
            return ((Number) function.invokeWithArguments(arguments)).longValue();
        } catch (Throwable e) {
            throw new AssertionError("calling the C library", e);
        }
    }
}
