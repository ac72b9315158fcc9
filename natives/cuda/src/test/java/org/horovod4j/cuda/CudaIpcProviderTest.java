package org.horovod4j.cuda;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.Device;
import org.horovod4j.spi.DevicePlace;
import org.junit.jupiter.api.Test;

import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

class CudaIpcProviderTest {
    private final CudaIpcProvider provider = new CudaIpcProvider();

    private Optional<String> reason(DevicePlace... places) {
        return provider.unsupportedReason(List.of(places));
    }

    @Test
    void ranksThatShareAGpuAreSupported() {
        assertThat(reason(place(0, "a", "gpu", ""), place(1, "a", "gpu", ""))).isEmpty();
    }

    @Test
    void ranksOfDifferentHostsAreNot() {
        assertThat(reason(place(0, "a", "gpu", "1@"), place(1, "b", "gpu", "1@")))
                .hasValue("ranks 0 and 1 are on different hosts");
    }

    @Test
    void gpusNeedPeerAccessInBothDirections() {
        DevicePlace first = place(0, "a", "x", "10@;x=y,z;y=x;z=x");
        DevicePlace second = place(1, "a", "y", "11@;x=y,z;y=x;z=x");
        DevicePlace third = place(2, "a", "z", "12@;x=y,z;y=x;z=x");
        assertThat(reason(first, second)).isEmpty();
        assertThat(reason(first, third, first)).isEmpty();
        assertThat(reason(first, second, third))
                .hasValue(
                        "ranks 1 and 2 use different GPUs, and rank 1 cannot access the memory of that of rank 2");
        // A process that sees one GPU does not know whether it can access another one.
        assertThat(reason(first, place(1, "a", "y", "11@")))
                .hasValue(
                        "ranks 1 and 0 use different GPUs, and rank 1 cannot access the memory of that of rank 0");
        assertThat(reason(place(0, "a", "x", ""), place(1, "a", "y", ""))).isPresent();
    }

    @Test
    void thereIsALimitOfRanks() {
        assertThat(
                        provider.unsupportedReason(
                                Collections.nCopies(
                                        CudaKernels.MAX_SOURCES + 1, place(0, "a", "gpu", ""))))
                .hasValueSatisfying(reason -> assertThat(reason).startsWith("it is for at most"));
    }

    @Test
    void whatAProcessPublishesCanBeRead() {
        IpcProcess process =
                new IpcProcess(4711, "pid:[1]", Map.of("x", Set.of("y", "z"), "y", Set.of("x")));
        assertThat(IpcProcess.decode(process.encode())).isEqualTo(process);
        assertThat(process.canAccess("x", "z")).isTrue();
        assertThat(process.canAccess("y", "z")).isFalse();
        assertThat(IpcProcess.decode(new IpcProcess(7, "", Map.of()).encode()))
                .isEqualTo(new IpcProcess(7, "", Map.of()));
        assertThat(IpcProcess.decode("").canAccess("x", "y")).isFalse();
        assertThat(IpcProcess.decode("").hasEnded()).isFalse();
    }

    @Test
    void processThatHasEndedIsFound() throws Exception {
        String namespace = IpcProcess.ownNamespace();
        IpcProcess self = process(ProcessHandle.current().pid(), namespace);
        assertThat(self.hasEnded()).isFalse();
        assertThat(self.isThisProcess()).isTrue();
        Process other = new ProcessBuilder("sleep", "60").start();
        assertThat(process(other.pid(), namespace).hasEnded()).isFalse();
        other.destroyForcibly().waitFor();
        assertThat(process(other.pid(), namespace).hasEnded()).isTrue();
    }

    /// A container has its own process ids: one that is not used here may be used there.
    @Test
    void processOfAnotherContainerHasNotEnded() throws Exception {
        Process other = new ProcessBuilder("true").start();
        other.waitFor();
        assertThat(process(other.pid(), "pid:[1]").hasEnded()).isFalse();
        assertThat(process(ProcessHandle.current().pid(), "pid:[1]").isThisProcess()).isFalse();
    }

    private static IpcProcess process(long pid, String namespace) {
        return new IpcProcess(pid, namespace, Map.of());
    }

    private static DevicePlace place(int rank, String host, String gpu, String process) {
        return new DevicePlace(rank, host, host, Device.cuda(0), gpu, Map.of("CUDA_IPC", process));
    }
}
