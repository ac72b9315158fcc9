package org.horovod4j.launcher.remote;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/// The files that are copied to a host, and their paths there.
///
/// They are in the agent's folder, which is removed with it. Each is in its own numbered folder, so
/// equal names do not collide.
///
/// @param paths files and folders on this machine
/// @param folder the agent's
record CopiedFiles(List<Path> paths, String folder) {
    private static final int CHUNK = 1 << 16;

    /// Matches what is between the separators of paths and option names in an argument.
    private static final Pattern PART = Pattern.compile("[^:=,]+");

    /// Sends all files.
    ///
    /// @throws HostNotReadyException when a file cannot be read any more
    void send(AgentConnection agentConnection) throws IOException, HostNotReadyException {
        for (int index = 0; index < paths.size(); index++) {
            Path root = paths.get(index);
            for (Path file : read(root, () -> files(root))) {
                send(file, targetPath(index, root, file), agentConnection);
            }
        }
    }

    private static List<Path> files(Path root) throws IOException {
        try (Stream<Path> files = Files.walk(root)) {
            return files.filter(Files::isRegularFile).toList();
        }
    }

    private interface Reading<T> {
        T read() throws IOException;
    }

    /// Distinguishes a file that cannot be read from a connection that has ended.
    private static <T> T read(Path path, Reading<T> reading) throws HostNotReadyException {
        try {
            return reading.read();
        } catch (IOException | UncheckedIOException e) {
            throw new HostNotReadyException(
                    "'%s', which is to be copied to it, cannot be read on this machine any more: %s"
                            .formatted(path, e),
                    e);
        }
    }

    /// Replaces paths in an argument by those of the copies: `-cp lib/a.jar:lib/b.jar`.
    String translate(String word) {
        return PART.matcher(word)
                .replaceAll(part -> Matcher.quoteReplacement(translatePart(part.group())));
    }

    private String translatePart(String part) {
        Path path = Path.of(part).toAbsolutePath().normalize();
        for (int index = 0; index < paths.size(); index++) {
            Path root = paths.get(index);
            if (refersTo(part, path, root.toAbsolutePath().normalize())) {
                return folder + "/" + targetPath(index, root, path);
            }
        }
        return part;
    }

    /// Every relative path is under a root that contains the working folder, so the file must exist
    /// too.
    private static boolean refersTo(String part, Path path, Path root) {
        return path.startsWith(root)
                && (!Path.of("").toAbsolutePath().startsWith(root)
                        || part.endsWith("/*")
                        || Files.exists(path));
    }

    private static String targetPath(int index, Path root, Path file) {
        Path whole = root.toAbsolutePath().normalize();
        Path name = whole.getFileName();
        Path inside = whole.relativize(file.toAbsolutePath().normalize());
        return Path.of("copies", Integer.toString(index), name == null ? "root" : name.toString())
                .resolve(inside)
                .normalize()
                .toString();
    }

    private static void send(Path file, String place, AgentConnection agentConnection)
            throws IOException, HostNotReadyException {
        boolean executable = Files.isExecutable(file);
        try (InputStream in = read(file, () -> Files.newInputStream(file))) {
            byte[] bytes;
            do {
                bytes = read(file, () -> in.readNBytes(CHUNK));
                agentConnection.send(new AgentMessage.WriteFile(place, executable, bytes));
            } while (bytes.length == CHUNK);
        }
    }
}
