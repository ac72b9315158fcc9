package org.horovod4j.launcher.check;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.Properties;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/// A library that a jar holds.
record Artifact(String name, String version) {
    private static final Pattern COORDINATES =
            Pattern.compile("META-INF/maven/[^/]+/[^/]+/pom\\.properties");
    private static final Pattern FILE_NAME = Pattern.compile("(.+?)-(\\d[\\w.+-]*)\\.jar");

    /// All that a jar says it holds, several where jars were merged; else what its file name says.
    static List<Artifact> in(Path jar) throws IOException {
        try (JarFile file = new JarFile(jar.toFile())) {
            List<Artifact> inside =
                    file.stream()
                            .filter(entry -> COORDINATES.matcher(entry.getName()).matches())
                            .flatMap(entry -> read(file, entry).stream())
                            .toList();
            return inside.isEmpty() ? byName(jar).toList() : inside;
        }
    }

    private static Optional<Artifact> read(JarFile file, JarEntry entry) {
        Properties properties = new Properties();
        try (InputStream stream = file.getInputStream(entry)) {
            properties.load(stream);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        String name = properties.getProperty("artifactId");
        String version = properties.getProperty("version");
        return name == null || version == null
                ? Optional.empty()
                : Optional.of(new Artifact(name, version));
    }

    private static Stream<Artifact> byName(Path jar) {
        Matcher match = FILE_NAME.matcher(String.valueOf(jar.getFileName()));
        return match.matches()
                ? Stream.of(new Artifact(match.group(1), match.group(2)))
                : Stream.empty();
    }
}
