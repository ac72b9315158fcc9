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

/// How processes of one host share memory, or keep it to themselves.
public final class HostSharing implements Sharing {
    private static final Path BOOT_ID = Path.of("/proc/sys/kernel/random/boot_id");
    private static final Path PID_NAMESPACE = Path.of("/proc/self/ns/pid");

    private final String domain;
    private final @Nullable Path folder;

    private HostSharing(String domain, @Nullable Path folder) {
        this.domain = domain;
        this.folder = folder;
    }

    /// Shares with all ranks of the same domain, in files of `folder`.
    public static HostSharing within(String domain, Path folder) {
        return new HostSharing(domain, folder);
    }

    /// Shares with nobody.
    public static HostSharing withNobody() {
        return new HostSharing("", null);
    }

    static HostSharing of(WorkerSettings settings) {
        return settings.transport() == TransportChoice.TCP
                ? withNobody()
                : within(sameMachine(settings.host()), settings.shmFolder());
    }

    /// The key of this rank's domain; empty when it shares memory with nobody.
    public String domain() {
        return domain;
    }

    @Override
    public Space open(int channel) {
        return new HostSpace(folder == null ? null : HostMemory.open(folder));
    }

    /// Two processes with this in common see the same `/proc` and may open each other's files: they
    /// run on one kernel, in one process namespace, as one user.
    private static String sameMachine(String host) {
        String user = System.getProperty("user.name", "");
        try {
            return "%s %s %s"
                    .formatted(
                            Files.readString(BOOT_ID).strip(),
                            Files.readSymbolicLink(PID_NAMESPACE),
                            user);
        } catch (IOException e) { // not Linux: trust the name of the host
            return host + " " + user;
        }
    }

    /// @param memory null when this rank shares with nobody
    private record HostSpace(@Nullable HostMemory memory) implements Space {
        @Override
        public String address() {
            return memory == null ? "" : memory.address();
        }

        @Override
        public SharedMemory meet(List<Member> members, int rank) {
            if (memory == null) {
                return new LocalDomain(List.of(rank)).memory(rank);
            }
            String own = members.get(rank).domain();
            memory.meet(
                    members.stream().filter(member -> member.domain().equals(own)).toList(), rank);
            return memory;
        }

        @Override
        public void met() {
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
    }
}
