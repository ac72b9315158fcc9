package org.horovod4j.launcher.check;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.jar.Attributes;
import java.util.jar.JarFile;
import java.util.jar.Manifest;
import java.util.stream.Stream;

/// The class path of a program.
///
/// @param origin where the class path was given
/// @param entries its jars and folders that exist
record ClassPath(String origin, List<Path> entries) {
    private static final List<String> FLAGS = List.of("-cp", "-classpath", "--class-path");
    private static final String JOINED_FLAG = "--class-path=";

    ClassPath {
        entries = List.copyOf(entries);
    }

    /// The class path of a command, of the environment, or of `horovodrun` itself.
    ///
    /// @param own of this JVM
    static ClassPath of(List<String> command, String environment, String own) {
        for (int at = 1; at < command.size(); at++) {
            String word = command.get(at);
            String before = command.get(at - 1);
            if (FLAGS.contains(before)) {
                return new ClassPath(before + " of the command", expand(word));
            }
            if (word.startsWith(JOINED_FLAG)) {
                return new ClassPath(
                        "--class-path of the command",
                        expand(word.substring(JOINED_FLAG.length())));
            }
            if (before.equals("-jar")) {
                return new ClassPath(word, withManifest(Path.of(word)));
            }
        }
        return environment.isEmpty() && command.isEmpty()
                ? new ClassPath("class path of horovodrun itself", expand(own))
                : new ClassPath("CLASSPATH", expand(environment));
    }

    List<Path> jars() {
        return entries.stream().filter(ClassPath::isJar).toList();
    }

    /// Whether a class is in one of the jars or folders.
    boolean contains(String className) {
        String file = className.replace('.', '/') + ".class";
        return entries.stream()
                .anyMatch(
                        entry ->
                                isJar(entry)
                                        ? hasEntry(entry, file)
                                        : Files.exists(entry.resolve(file)));
    }

    /// False for a jar that cannot be read, which the report names elsewhere.
    private static boolean hasEntry(Path jar, String name) {
        try (JarFile file = new JarFile(jar.toFile())) {
            return file.getEntry(name) != null;
        } catch (IOException e) {
            return false;
        }
    }

    /// The jars and folders of a class path; `folder/*` means all jars in a folder.
    private static List<Path> expand(String classPath) {
        return Stream.of(classPath.split(File.pathSeparator, -1))
                .flatMap(
                        part ->
                                part.equals("*") || part.endsWith("/*")
                                        ? files(Path.of(part.substring(0, part.length() - 1)))
                                        : Stream.of(Path.of(part))
                                                .filter(it -> isJar(it) || isFolder(part)))
                .toList();
    }

    private static Stream<Path> files(Path folder) {
        if (!Files.isDirectory(folder)) {
            return Stream.empty();
        }
        try (Stream<Path> files = Files.list(folder)) {
            return files.filter(ClassPath::isJar).sorted().toList().stream();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /// A jar and the jars that its manifest names, relative to its folder.
    private static List<Path> withManifest(Path jar) {
        List<Path> jars = new ArrayList<>();
        if (isJar(jar)) {
            jars.add(jar);
            for (String other : manifestClassPath(jar).split(" ", -1)) {
                if (!other.isEmpty() && isJar(jar.resolveSibling(other))) {
                    jars.add(jar.resolveSibling(other));
                }
            }
        }
        return jars;
    }

    private static String manifestClassPath(Path jar) {
        try (JarFile file = new JarFile(jar.toFile())) {
            Manifest manifest = file.getManifest();
            String value =
                    manifest == null
                            ? null
                            : manifest.getMainAttributes().getValue(Attributes.Name.CLASS_PATH);
            return value == null ? "" : value;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /// An empty part would be the current folder, but a class path is often just not set.
    private static boolean isFolder(String part) {
        return !part.isEmpty() && Files.isDirectory(Path.of(part));
    }

    private static boolean isJar(Path file) {
        return file.toString().endsWith(".jar") && Files.isRegularFile(file);
    }
}
