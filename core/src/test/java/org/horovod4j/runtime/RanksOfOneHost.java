package org.horovod4j.runtime;

import org.horovod4j.collectives.kernel.Kernels;
import org.horovod4j.option.AllreduceChoice;
import org.horovod4j.option.RuntimeSettings;
import org.horovod4j.rendezvous.LocalRendezvous;
import org.horovod4j.runtime.backend.HostBackends;
import org.horovod4j.runtime.controller.WorldState;
import org.horovod4j.runtime.device.DeviceLibraries;
import org.horovod4j.spi.ControlPlane;
import org.horovod4j.spi.RankInfo;
import org.horovod4j.transport.Clock;
import org.horovod4j.transport.LinkTransport;
import org.horovod4j.transport.local.LocalMemoryDomain;
import org.horovod4j.transport.local.LocalRings;
import org.horovod4j.transport.local.LocalTransport;

import java.util.List;
import java.util.stream.IntStream;

/// Ranks as threads of this JVM. The process sets that they add use the shared memory of a test.
final class RanksOfOneHost {
    static final String HOST = "alpha";

    private final LocalRendezvous rendezvous;
    private final LocalRings localRings = new LocalRings();
    private final LocalMemoryDomain domain;

    RanksOfOneHost(int size) {
        rendezvous = new LocalRendezvous(size);
        domain = new LocalMemoryDomain(IntStream.range(0, size).boxed().toList());
    }

    /// Starts a rank. Returns when all ranks are started.
    Rank start(int number, SharedMemoryFactory memory) {
        return start(number, memory, transport(number));
    }

    /// The links that a rank has unless a test changes them.
    LinkTransport transport(int number) {
        return new LocalTransport(localRings, number);
    }

    /// Starts a rank with its own links; see the other method.
    Rank start(int number, SharedMemoryFactory memory, LinkTransport transport) {
        long pid = ProcessHandle.current().pid();
        RankInfo self = new RankInfo(number, HOST, HOST, HOST, pid, "", List.of());
        return start(self, memory, transport);
    }

    /// Starts a rank with what it publishes; see the other methods.
    Rank start(RankInfo self, SharedMemoryFactory memory, LinkTransport transport) {
        int number = self.rank();
        WorldState state = new WorldState();
        ControlPlane control = rendezvous.controlPlane(number);
        List<RankInfo> members = control.join(self, state);
        return Rank.start(
                new RankContext(
                        number,
                        members,
                        control,
                        state,
                        domain.memory(number),
                        memory,
                        transport,
                        Clock.SYSTEM,
                        Kernels.scalar(),
                        AllreduceChoice.AUTO,
                        null,
                        null,
                        RuntimeSettings.DEFAULT,
                        HostBackends::load,
                        DeviceLibraries::load));
    }
}
