package org.horovod4j.dl4j;

import org.bytedeco.javacpp.Loader;
import org.horovod4j.ConfigurationException;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URL;
import java.util.Collections;
import java.util.List;
import java.util.stream.Collectors;

/// Rejects a class path with two versions of JavaCPP, on which ND4J, TensorFlow and PyTorch of
/// Bytedeco depend. The JVM would take classes from one and native libraries from the other, and
/// crash.
final class JavaCppCheck {
    private JavaCppCheck() {}

    /// @throws ConfigurationException when JavaCPP is there twice
    static void requireOneVersion() {
        requireOneVersion(Loader.class.getClassLoader());
    }

    static void requireOneVersion(ClassLoader loader) {
        List<URL> found;
        try {
            found =
                    Collections.list(
                            loader.getResources(
                                    Loader.class.getName().replace('.', '/') + ".class"));
        } catch (IOException e) {
            throw new UncheckedIOException("cannot read the class path: " + e.getMessage(), e);
        }
        List<String> jars = found.stream().map(JavaCppCheck::jar).distinct().toList();
        if (jars.size() > 1) {
            throw new ConfigurationException(
                    """
                    the class path has JavaCPP %d times, but ND4J, TensorFlow Java and Bytedeco's PyTorch need one \
                    version in a process
                    %s
                    Leave one of them, best the newest, with its native library of the same version; or train with \
                    each framework in its own program."""
                            .formatted(
                                    jars.size(),
                                    jars.stream()
                                            .map(jar -> "  " + jar)
                                            .collect(Collectors.joining("\n"))));
        }
    }

    /// `jar:file:/…/javacpp-1.5.7.jar!/org/…` without its first and last part.
    private static String jar(URL url) {
        return url.toString().replaceFirst("^jar:(file:)?", "").replaceFirst("!/.*$", "");
    }
}
