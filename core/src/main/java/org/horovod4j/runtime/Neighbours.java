package org.horovod4j.runtime;

import org.horovod4j.option.TransportChoice;
import org.horovod4j.option.WorkerSettings;
import org.horovod4j.spi.Member;
import org.horovod4j.transport.SharedMemory;
import org.horovod4j.transport.local.LocalDomain;
import org.horovod4j.transport.shm.HostMemory;
import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/// This rank's side of sharing memory, before and after it knows with whom.
final class Neighbours implements AutoCloseable {
    private static final Path BOOT_ID = Path.of("/proc/sys/kernel/random/boot_id");
    private static final Path PID_NAMESPACE = Path.of("/proc/self/ns/pid");

    private final WorkerSettings settings;
    private final @Nullable HostMemory memory;

    private Neighbours(WorkerSettings settings, @Nullable HostMemory memory) {
        this.settings = settings;
        this.memory = memory;
    }

    static Neighbours open(WorkerSettings settings) {
        return new Neighbours(
                settings,
                settings.transport() == TransportChoice.TCP
                        ? null
                        : HostMemory.open(settings.shmFolder()));
    }

    /// The key of this rank's domain; empty when it shares memory with nobody.
    String domain() {
        return memory == null ? "" : sameMachine();
    }

    /// Where the others find this rank's memory; empty without one.
    String address() {
        return memory == null ? "" : memory.address();
    }

    /// Maps the memory of the ranks in this rank's domain.
    SharedMemory meet(List<Member> members) {
        int rank = settings.rank();
        if (memory == null) {
            return new LocalDomain(List.of(rank)).memory(rank);
        }
        String own = members.get(rank).domain();
        List<Member> domain =
                members.stream().filter(member -> member.domain().equals(own)).toList();
        memory.meet(domain, rank);
        return memory;
    }

    /// Removes what was needed to find this rank's memory, once everybody has mapped it.
    void met() {
        if (memory != null) {
            memory.unlink();
        }
    }

    @Override
    public void close() {
        if (memory != null) {
            memory.close();
        }
    }

    /// Two processes with this in common see the same `/proc` and may open each other's files: they run
    /// on one kernel, in one process namespace, as one user.
    private String sameMachine() {
        String user = System.getProperty("user.name", "");
        try {
            return "%s %s %s"
                    .formatted(
                            Files.readString(BOOT_ID).strip(),
                            Files.readSymbolicLink(PID_NAMESPACE),
                            user);
        } catch (IOException e) { // not Linux: trust the name of the host
            return settings.host() + " " + user;
        }
    }
}
