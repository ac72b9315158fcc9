package org.horovod4j.launcher.remote;

import org.horovod4j.ConfigurationException;
import org.horovod4j.file.SecretFile;
import org.horovod4j.frame.Frame;
import org.horovod4j.launcher.process.ClassLocation;
import org.horovod4j.launcher.process.LocalHost;
import org.horovod4j.network.MachineIdentity;
import org.horovod4j.text.DurationFormat;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;

/// The classes of an agent, taken from the launcher's own.
///
/// A few packages, some 100 KB, built for each job: a host needs no installation, and its version
/// is always that of the launcher.
final class AgentJar {
    private static final List<Class<?>> PACKAGES =
            List.of(
                    ConfigurationException.class,
                    SecretFile.class,
                    Frame.class,
                    MachineIdentity.class,
                    DurationFormat.class,
                    LocalHost.class,
                    Agent.class);

    private AgentJar() {}

    static byte[] make() throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (JarOutputStream jar = new JarOutputStream(bytes)) {
            for (Class<?> type : PACKAGES) {
                Path source = ClassLocation.of(type);
                if (Files.isDirectory(source)) {
                    add(type, source, jar);
                } else {
                    try (FileSystem files = FileSystems.newFileSystem(source)) {
                        add(type, files.getPath("/"), jar);
                    }
                }
            }
        }
        return bytes.toByteArray();
    }

    private static void add(Class<?> type, Path root, JarOutputStream jar) throws IOException {
        String folder = type.getPackageName().replace('.', '/');
        try (DirectoryStream<Path> files =
                Files.newDirectoryStream(root.resolve(folder), Files::isRegularFile)) {
            for (Path file : files) {
                jar.putNextEntry(new JarEntry(folder + "/" + file.getFileName()));
                Files.copy(file, jar);
                jar.closeEntry();
            }
        }
    }
}
