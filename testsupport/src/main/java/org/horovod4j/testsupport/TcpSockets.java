package org.horovod4j.testsupport;

import java.io.IOException;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/// The TCP sockets of one process: its descriptors, found in the connection tables of the kernel.
public record TcpSockets(List<Socket> all) {
    private static final Pattern DESCRIPTOR = Pattern.compile("socket:\\[(\\d+)]");

    private static final int LOCAL_ADDRESS = 1;
    private static final int REMOTE_ADDRESS = 2;
    private static final int STATE = 3;
    private static final int INODE = 9;

    public TcpSockets {
        all = List.copyOf(all);
    }

    public record Socket(
            InetAddress localAddress, int localPort, int remotePort, State state, String inode) {}

    public enum State {
        ESTABLISHED,
        LISTENING,
        OTHER;

        static State of(String code) {
            return switch (code) {
                case "01" -> ESTABLISHED;
                case "0A" -> LISTENING;
                default -> OTHER;
            };
        }
    }

    public static TcpSockets of(long pid) throws IOException {
        Path process = Path.of("/proc", Long.toString(pid));
        Set<String> inodes = inodes(process.resolve("fd"));
        return new TcpSockets(
                Stream.concat(table(process.resolve("net/tcp")), table(process.resolve("net/tcp6")))
                        .filter(socket -> inodes.contains(socket.inode))
                        .toList());
    }

    public List<Socket> established() {
        return all.stream().filter(socket -> socket.state == State.ESTABLISHED).toList();
    }

    public List<Socket> listening() {
        return all.stream().filter(socket -> socket.state == State.LISTENING).toList();
    }

    private static Set<String> inodes(Path descriptors) throws IOException {
        Set<String> inodes = new HashSet<>();
        try (var links = Files.newDirectoryStream(descriptors)) {
            for (Path link : links) {
                Matcher matcher = DESCRIPTOR.matcher(target(link));
                if (matcher.matches()) {
                    inodes.add(matcher.group(1));
                }
            }
        }
        return inodes;
    }

    private static String target(Path link) throws IOException {
        try {
            return Files.readSymbolicLink(link).toString();
        } catch (NoSuchFileException e) { // closed in the meantime
            return "";
        }
    }

    private static Stream<Socket> table(Path file) throws IOException {
        return Files.exists(file)
                ? Files.readAllLines(file).stream().skip(1).map(TcpSockets::socket)
                : Stream.empty();
    }

    private static Socket socket(String line) {
        List<String> fields = List.of(line.strip().split("\\s+"));
        return new Socket(
                address(fields.get(LOCAL_ADDRESS)),
                port(fields.get(LOCAL_ADDRESS)),
                port(fields.get(REMOTE_ADDRESS)),
                State.of(fields.get(STATE)),
                fields.get(INODE));
    }

    /// The host part of an address like `0100007F:1F90`: words of 32 bits, least significant byte
    /// first.
    private static InetAddress address(String text) {
        byte[] bytes = HexFormat.of().parseHex(text.substring(0, text.indexOf(':')));
        ByteBuffer words = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
        ByteBuffer address = ByteBuffer.allocate(bytes.length);
        while (words.hasRemaining()) {
            address.putInt(words.getInt());
        }
        try {
            return InetAddress.getByAddress(address.array());
        } catch (UnknownHostException e) {
            throw new IllegalStateException("the kernel prints whole addresses", e);
        }
    }

    /// The port of an address like `0100007F:1F90`.
    private static int port(String address) {
        return Integer.parseInt(address.substring(address.lastIndexOf(':') + 1), 16);
    }
}
