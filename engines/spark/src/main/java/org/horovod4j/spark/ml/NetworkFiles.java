package org.horovod4j.spark.ml;

import java.io.IOException;
import java.io.Serializable;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.TreeMap;

/// The files of a trained network, in memory.
///
/// @param byName without folders
record NetworkFiles(TreeMap<String, byte[]> byName) implements Serializable {
    private static final long serialVersionUID = 1L;

    static NetworkFiles read(Path folder) throws IOException {
        TreeMap<String, byte[]> files = new TreeMap<>();
        try (DirectoryStream<Path> all = Files.newDirectoryStream(folder)) {
            for (Path file : all) {
                files.put(file.getFileName().toString(), Files.readAllBytes(file));
            }
        }
        return new NetworkFiles(files);
    }

    void write(Path folder) throws IOException {
        Files.createDirectories(folder);
        for (var file : byName.entrySet()) {
            Files.write(folder.resolve(file.getKey()), file.getValue());
        }
    }

    /// The same for the same contents and framework, and different for others.
    ///
    /// @param framework which loads the files
    String digest(NetworkFramework framework) {
        try {
            MessageDigest digest = MessageDigest.getInstance("SHA-256");
            byName.forEach(
                    (name, bytes) -> {
                        digest.update(name.getBytes(StandardCharsets.UTF_8));
                        digest.update(bytes);
                    });
            digest.update(SerializedParam.serialize(framework));
            return HexFormat.of().formatHex(digest.digest());
        } catch (IOException e) {
            throw new UncheckedIOException("cannot serialize " + framework, e);
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java has SHA-256", e);
        }
    }
}
