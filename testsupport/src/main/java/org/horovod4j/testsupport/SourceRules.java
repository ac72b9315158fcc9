package org.horovod4j.testsupport;

import static java.util.stream.Collectors.groupingBy;
import static java.util.stream.Collectors.mapping;
import static java.util.stream.Collectors.toCollection;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.reflect.Modifier;
import java.net.URI;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/// Rules for the main sources of all Maven modules of a repository together: what the names of types
/// must be, and that every package has documentation.
///
/// Each check returns its violations, so that a test shows all of them.
public final class SourceRules {
    /// Packages of the JDK that Java code imports all the time.
    private static final List<String> COMMON_JDK_PACKAGES =
            List.of("java.lang", "java.util", "java.util.concurrent", "java.io", "java.nio.file");

    private static final Path SOURCE_ROOT = Path.of("src", "main", "java");

    private final List<Path> files;

    private SourceRules(List<Path> files) {
        this.files = files;
    }

    /// The rules of the repository that contains this test.
    public static SourceRules ofRepositoryOf(Class<?> test) {
        return of(repositoryOf(test));
    }

    /// The folder of the repository that contains this test.
    static Path repositoryOf(Class<?> test) {
        Path folder = TestJvm.location(test);
        while (!Files.isDirectory(folder.resolve(".mvn"))) {
            folder = folder.getParent();
            if (folder == null) {
                throw new AssertionError("no folder above the test classes contains .mvn");
            }
        }
        return folder;
    }

    static SourceRules of(Path repository) {
        try (Stream<Path> all = Files.walk(repository)) {
            return new SourceRules(
                    all.filter(file -> isMainSource(repository.relativize(file)))
                            .sorted()
                            .toList());
        } catch (IOException e) {
            throw new UncheckedIOException("listing the sources in " + repository, e);
        }
    }

    private static boolean isMainSource(Path file) {
        return file.toString().endsWith(".java")
                && !file.endsWith("module-info.java")
                && file.toString().contains(SOURCE_ROOT.toString());
    }

    /// Simple names that two or more top-level types have, with their packages.
    public Map<String, Set<String>> ambiguousNames() {
        Map<String, Set<String>> packages =
                types().collect(
                                groupingBy(
                                        SourceRules::typeName,
                                        TreeMap::new,
                                        mapping(
                                                SourceRules::packageName,
                                                toCollection(TreeSet::new))));
        packages.values().removeIf(each -> each.size() < 2);
        return packages;
    }

    /// Top-level types with the name of a public type in a JDK package that most code imports from.
    public Set<String> namesOfTheJdk() {
        Set<String> jdk =
                COMMON_JDK_PACKAGES.stream()
                        .flatMap(SourceRules::publicTypes)
                        .collect(Collectors.toSet());
        return types().filter(file -> jdk.contains(typeName(file)))
                .map(file -> packageName(file) + "." + typeName(file))
                .collect(toCollection(TreeSet::new));
    }

    /// Packages without a `package-info.java` that begins with a doc comment.
    public Set<String> packagesWithoutDocumentation() {
        Set<String> packages =
                files.stream().map(SourceRules::packageName).collect(toCollection(TreeSet::new));
        files.stream()
                .filter(file -> isPackageInfo(file) && hasDocComment(file))
                .map(SourceRules::packageName)
                .forEach(packages::remove);
        return packages;
    }

    private Stream<Path> types() {
        return files.stream().filter(file -> !isPackageInfo(file));
    }

    private static boolean isPackageInfo(Path file) {
        return file.endsWith("package-info.java");
    }

    private static boolean hasDocComment(Path file) {
        try {
            return Files.readString(file).matches("(?s)/// \\S.*\npackage .*");
        } catch (IOException e) {
            throw new UncheckedIOException("reading " + file, e);
        }
    }

    private static String typeName(Path file) {
        String name = String.valueOf(file.getFileName());
        return name.substring(0, name.indexOf('.'));
    }

    private static String packageName(Path file) {
        String path = String.valueOf(file.getParent());
        int start = path.indexOf(SOURCE_ROOT.toString()) + SOURCE_ROOT.toString().length() + 1;
        return path.substring(start).replace('/', '.');
    }

    private static Stream<String> publicTypes(String packageName) {
        Path folder =
                FileSystems.getFileSystem(URI.create("jrt:/"))
                        .getPath("modules", "java.base", packageName.replace('.', '/'));
        try (Stream<Path> classes = Files.list(folder)) {
            return classes
                    .map(file -> String.valueOf(file.getFileName()))
                    .filter(name -> name.endsWith(".class") && !name.contains("$"))
                    .map(name -> name.substring(0, name.indexOf('.')))
                    .filter(name -> isPublic(packageName + "." + name))
                    .toList()
                    .stream();
        } catch (IOException e) {
            throw new UncheckedIOException("listing " + folder, e);
        }
    }

    private static boolean isPublic(String name) {
        try {
            return Modifier.isPublic(Class.forName(name, false, null).getModifiers());
        } catch (ClassNotFoundException e) {
            throw new AssertionError(name + " is in the image of the JDK, but does not load", e);
        }
    }
}
