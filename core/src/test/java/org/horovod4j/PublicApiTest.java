package org.horovod4j;

import static org.assertj.core.api.Assertions.assertThat;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.io.InputStream;
import java.lang.module.ModuleDescriptor;
import java.lang.reflect.AnnotatedType;
import java.lang.reflect.Executable;
import java.lang.reflect.Modifier;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/// Rules for the packages that all programs may use.
class PublicApiTest {
    /// The cause of an exception may be missing, as in the JDK.
    private static boolean isException(Class<?> type) {
        return Throwable.class.isAssignableFrom(type);
    }

    @Test
    void publicMethodsTakeNoNull() throws Exception {
        List<String> nullable = new ArrayList<>();
        for (Class<?> type : publicTypes()) {
            if (isException(type)) {
                continue;
            }
            Stream.<Executable>concat(
                            Stream.of(type.getDeclaredMethods()),
                            Stream.of(type.getDeclaredConstructors()))
                    .filter(each -> Modifier.isPublic(each.getModifiers()) && !each.isSynthetic())
                    .filter(PublicApiTest::takesNull)
                    .map(Executable::toString)
                    .filter(text -> !text.endsWith(".equals(java.lang.Object)"))
                    .filter(text -> !text.contains("ObjectState.")) // a value of a program
                    .forEach(nullable::add);
        }
        assertThat(nullable).isEmpty();
    }

    private static boolean takesNull(Executable executable) {
        return Stream.of(executable.getAnnotatedParameterTypes())
                .map(AnnotatedType::getAnnotations)
                .flatMap(Stream::of)
                .anyMatch(annotation -> annotation.annotationType() == Nullable.class);
    }

    /// The public and protected types of the packages that are exported to all modules.
    private static List<Class<?>> publicTypes()
            throws IOException, URISyntaxException, ClassNotFoundException {
        URI location =
                Communicator.class.getProtectionDomain().getCodeSource().getLocation().toURI();
        Path classes = Path.of(location);
        Set<String> exported;
        try (InputStream descriptor = Files.newInputStream(classes.resolve("module-info.class"))) {
            exported =
                    ModuleDescriptor.read(descriptor).exports().stream()
                            .filter(exports -> !exports.isQualified())
                            .map(ModuleDescriptor.Exports::source)
                            .collect(Collectors.toSet());
        }
        assertThat(exported).contains("org.horovod4j", "org.horovod4j.elastic");
        List<Class<?>> types = new ArrayList<>();
        try (Stream<Path> files = Files.walk(classes)) {
            for (Path file : files.filter(each -> each.toString().endsWith(".class")).toList()) {
                String name =
                        classes.relativize(file).toString().replace('/', '.').replace(".class", "");
                int end = name.lastIndexOf('.');
                if (end < 0 || !exported.contains(name.substring(0, end))) {
                    continue;
                }
                Class<?> type = Class.forName(name, false, PublicApiTest.class.getClassLoader());
                if (Modifier.isPublic(type.getModifiers())) {
                    types.add(type);
                }
            }
        }
        return types;
    }
}
