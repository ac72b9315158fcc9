package org.horovod4j.pytorch;

import org.bytedeco.javacpp.Loader;
import org.bytedeco.openblas.global.openblas;
import org.bytedeco.pytorch.global.torch;
import org.horovod4j.ConfigurationException;
import org.horovod4j.libtorch.TorchRuntime;
import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URL;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Collections;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/// Loads libtorch with JavaCPP.
///
/// JavaCPP unpacks native libraries into a folder, and loads each as soon as it is there. If several
/// processes do so at once, most of them crash: a process loads a file that another one is writing.
/// Here all files are unpacked before the first one is loaded, by one process at a time.
final class TorchLibrary {
    private static final String NAME = "libtorch_cpu.so";
    private static final String LOCK = "horovod4j.lock";
    private static final String JAVACPP = "org/bytedeco/javacpp/Loader.class";

    /// Of a version that has no numbers.
    private static final Runtime.Version NO_VERSION = Runtime.Version.parse("1");

    private static @Nullable TorchRuntime runtime;

    private TorchLibrary() {}

    /// Loads the library in the first call.
    ///
    /// @throws ConfigurationException when JavaCPP is on the class path more than once or too old, or
    ///     native libraries are missing
    /// @throws IllegalStateException when the process has loaded another copy of libtorch
    static synchronized TorchRuntime runtime() {
        TorchRuntime current = runtime;
        if (current == null) {
            checkJavaCpp();
            load();
            current = TorchRuntime.open(NAME);
            runtime = current;
        }
        return current;
    }

    private static void checkJavaCpp() {
        try {
            List<URL> copies =
                    Collections.list(TorchLibrary.class.getClassLoader().getResources(JAVACPP));
            if (Set.copyOf(copies.stream().map(URL::toString).toList()).size() > 1) {
                throw new ConfigurationException(
                        """
                        JavaCPP is on the class path more than once: %s
                        Keep the newest one, with its native library (classifier linux-x86_64)."""
                                .formatted(copies));
            }
            requireJavaCpp(Loader.getVersion(), bindingVersion());
        } catch (IOException e) {
            throw new UncheckedIOException("cannot find the version of JavaCPP", e);
        }
    }

    /// The version of libtorch, for messages.
    static String version() {
        try {
            return libtorchVersion(bindingVersion());
        } catch (IOException e) {
            throw new UncheckedIOException("cannot find the version of PyTorch", e);
        }
    }

    static String libtorchVersion(@Nullable String binding) {
        return binding == null ? "an unknown version" : binding.replaceFirst("-[^-]*$", "");
    }

    /// Null if the jar of the program has all libraries, without the properties that Maven adds to each.
    private static @Nullable String bindingVersion() throws IOException {
        return Loader.getVersion("org.bytedeco", "pytorch");
    }

    /// Checks nothing if a version is unknown.
    ///
    /// @param javaCpp the version of JavaCPP, `1.5.13`
    /// @param pytorch the version of the binding, which ends with that of JavaCPP: `2.10.0-1.5.13`
    static void requireJavaCpp(@Nullable String javaCpp, @Nullable String pytorch) {
        if (javaCpp == null || pytorch == null) {
            return;
        }
        String expected = pytorch.substring(pytorch.lastIndexOf('-') + 1);
        if (parsed(javaCpp).compareTo(parsed(expected)) < 0) {
            throw new ConfigurationException(
                    """
                    org.bytedeco:pytorch:%s needs JavaCPP %s, but the class path has %s
                    Another library asks for an older one: set the version of org.bytedeco:javacpp to %s, with and \
                    without the classifier linux-x86_64."""
                            .formatted(pytorch, expected, javaCpp, expected));
        }
    }

    private static Runtime.Version parsed(String text) {
        return text.matches("[1-9][0-9]*(\\.[0-9]+)*")
                ? Runtime.Version.parse(text.replaceAll("(\\.0+)+$", ""))
                : NO_VERSION;
    }

    private static void load() {
        try {
            Path lock = Loader.getCacheDir().toPath().resolve(LOCK);
            try (FileChannel channel =
                            FileChannel.open(
                                    lock, StandardOpenOption.CREATE, StandardOpenOption.WRITE);
                    FileLock _ = channel.lock()) {
                unpackAndLoad();
            }
        } catch (IOException e) {
            throw new UncheckedIOException("cannot unpack the native libraries of PyTorch", e);
        }
    }

    private static void unpackAndLoad() throws IOException {
        String platform = Loader.getPlatform();
        String extension = System.getProperty("org.bytedeco.javacpp.platform.extension", "");
        for (String folder : new LinkedHashSet<>(List.of(platform, platform + extension))) {
            Loader.cacheResources(openblas.class, "/org/bytedeco/openblas/" + folder + "/");
            Loader.cacheResources(torch.class, "/org/bytedeco/pytorch/" + folder + "/");
        }
        try {
            Loader.load(torch.class);
        } catch (UnsatisfiedLinkError | NoClassDefFoundError e) {
            TorchRuntime.requireNoOther(NAME, Loader.getCacheDir().toPath());
            throw new ConfigurationException(
                    """
                    cannot load the native libraries of PyTorch for %s: %s
                    Add org.bytedeco:pytorch, openblas and javacpp with the classifier %s."""
                            .formatted(platform, e.getMessage(), platform + extension),
                    e);
        }
    }
}
