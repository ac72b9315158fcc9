package org.horovod4j.launcher.process;

import org.horovod4j.network.MachineIdentity;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;

/// What a host has.
///
/// @param id the same for all names of the machine; empty if the system does not tell it
/// @param processors that its processes may use
/// @param gpus the number of NVIDIA GPUs
/// @param java the version of the Java that runs there
public record HostMachine(String id, int processors, int gpus, String java) {
    private static final Path DEVICES = Path.of("/dev");

    /// The machine of this process.
    public static HostMachine current() {
        return new HostMachine(
                MachineIdentity.find().map(MachineIdentity::key).orElse(""),
                Runtime.getRuntime().availableProcessors(),
                countGpus(DEVICES),
                Runtime.version().toString());
    }

    /// The NVIDIA driver has one device file for each GPU that this container or machine may
    /// use.
    static int countGpus(Path devices) {
        if (!Files.isDirectory(devices)) {
            return 0;
        }
        try (DirectoryStream<Path> files =
                Files.newDirectoryStream(
                        devices, file -> file.getFileName().toString().matches("nvidia\\d+"))) {
            int count = 0;
            for (Path _ : files) {
                count++;
            }
            return count;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
