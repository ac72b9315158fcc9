package org.horovod4j.launcher.check;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.Properties;
import java.util.jar.Attributes;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import java.util.jar.Manifest;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/// A library in a jar.
///
/// @param id Maven's `group:artifact`, or the module name, or the file name
record Artifact(String id, String version) {
    private static final Pattern COORDINATES =
            Pattern.compile("META-INF/maven/[^/]+/[^/]+/pom\\.properties");
    private static final Pattern FILE_NAME = Pattern.compile("(.+?)-(\\d[\\w.+-]*)\\.jar");
    private static final Attributes.Name MODULE = new Attributes.Name("Automatic-Module-Name");

    /// The libraries in a jar. A merged jar has several.
    static List<Artifact> in(Path jar) throws IOException {
        try (JarFile file = new JarFile(jar.toFile())) {
            List<Artifact> inside =
                    file.stream()
                            .filter(entry -> COORDINATES.matcher(entry.getName()).matches())
                            .flatMap(entry -> byCoordinates(file, entry).stream())
                            .toList();
            return inside.isEmpty()
                    ? byModule(file).or(() -> byFileName(jar)).stream().toList()
                    : inside;
        }
    }

    private static Optional<Artifact> byCoordinates(JarFile file, JarEntry entry) {
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
                : Optional.of(
                        new Artifact(properties.getProperty("groupId", "") + ":" + name, version));
    }

    private static Optional<Artifact> byModule(JarFile file) throws IOException {
        Manifest manifest = file.getManifest();
        if (manifest == null) {
            return Optional.empty();
        }
        Attributes attributes = manifest.getMainAttributes();
        String module = attributes.getValue(MODULE);
        String version = attributes.getValue(Attributes.Name.SPECIFICATION_VERSION);
        return module == null || version == null
                ? Optional.empty()
                : Optional.of(new Artifact(module, version));
    }

    private static Optional<Artifact> byFileName(Path jar) {
        Matcher match = FILE_NAME.matcher(String.valueOf(jar.getFileName()));
        return match.matches()
                ? Optional.of(new Artifact(match.group(1), match.group(2)))
                : Optional.empty();
    }
}
