package org.horovod4j.nccl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import org.horovod4j.DataType;
import org.horovod4j.Device;
import org.horovod4j.ReduceOp;
import org.horovod4j.natives.NativeLibrary;
import org.horovod4j.spi.DeviceBackendProvider;
import org.horovod4j.spi.DevicePlace;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.ServiceLoader;
import java.util.stream.Stream;

class NcclProviderTest {
    @TempDir Path folder;

    private static NcclProvider provider(Map<String, String> environment) {
        return new NcclProvider(environment, List.of());
    }

    @Test
    void isFoundByServiceLoader() {
        assertThat(ServiceLoader.load(DeviceBackendProvider.class))
                .extracting(DeviceBackendProvider::name)
                .contains("NCCL", "CUDA_IPC");
    }

    @Test
    void missingLibraryIsNamedWithTheVariableThatChoseIt() {
        NcclProvider provider = provider(Map.of("HOROVOD_NCCL_LIBRARY", folder.toString()));
        assertThat(provider.isAvailable()).isFalse();
        assertThat(provider.describe())
                .isEqualTo("%s cannot be opened".formatted(folder.resolve("libnccl.so.2")));
    }

    /// Another library has its place here, which shows by its missing symbols which file was opened.
    @Test
    void libraryIsFoundInTheFolderOfAPythonWheel() throws Exception {
        Path libraries = folder.resolve("nccl/lib");
        Path file = library(libraries);
        assertThat(provider(Map.of("HOROVOD_NCCL_LIBRARY", folder.resolve("nccl").toString())))
                .extracting(NcclProvider::describe)
                .isEqualTo(file + " has no symbol ncclGetVersion");
        assertThat(provider(Map.of("HOROVOD_NCCL_LIBRARY", libraries.toString())).describe())
                .isEqualTo(file + " has no symbol ncclGetVersion");
        assertThat(provider(Map.of("HOROVOD_NCCL_LIBRARY", file.toString())).describe())
                .isEqualTo(file + " has no symbol ncclGetVersion");
    }

    @Test
    void libraryIsFoundInTheUsualFolders() throws Exception {
        assumeFalse(isKnownToTheSystem(), "the system has NCCL");
        Path usual = folder.resolve("cuda/lib64");
        Path file = library(usual);
        List<String> folders = List.of(folder.resolve("empty").toString(), usual.toString());
        assertThat(new NcclProvider(Map.of(), folders).describe())
                .isEqualTo(file + " has no symbol ncclGetVersion");
        assertThat(provider(Map.of()).describe())
                .isEqualTo(
                        "libnccl.so.2 was not found: install NCCL, or set HOROVOD_NCCL_LIBRARY to its file or folder");
    }

    private static boolean isKnownToTheSystem() {
        try {
            return NativeLibrary.open("libnccl.so.2") != null;
        } catch (UnsupportedOperationException e) {
            return false;
        }
    }

    private static Path library(Path folder) throws IOException {
        Path systemLibrary =
                Stream.of("/lib/x86_64-linux-gnu", "/lib/aarch64-linux-gnu", "/lib64", "/usr/lib")
                        .map(each -> Path.of(each, "libm.so.6"))
                        .filter(Files::exists)
                        .findFirst()
                        .orElseThrow();
        Files.createDirectories(folder);
        return Files.copy(systemLibrary, folder.resolve("libnccl.so.2"));
    }

    @Test
    void libraryThatIsNotNcclIsRefused() {
        NcclProvider provider = provider(Map.of("HOROVOD_NCCL_LIBRARY", "libc.so.6"));
        assertThat(provider.isAvailable()).isFalse();
        assertThat(provider.describe()).isEqualTo("libc.so.6 has no symbol ncclGetVersion");
    }

    @Test
    void ranksThatShareAGpuAreAnObstacleUnlessTheirHostIdsDiffer() {
        List<DevicePlace> places =
                List.of(place(3, "a", "gpu1"), place(4, "a", "gpu2"), place(5, "a", "gpu1"));
        assertThat(provider(Map.of()).unsupportedReason(places))
                .hasValue("ranks 3 and 5 use the same GPU of a, which NCCL refuses");
        List<DevicePlace> sameIds = List.of(place(0, "x"), place(1, "x"));
        List<DevicePlace> oneId = List.of(place(0, "x"), place(1, ""));
        List<DevicePlace> differentIds = List.of(place(0, "x"), place(1, "y"));
        // whatever the process itself has: all ranks must return the same
        for (NcclProvider provider :
                List.of(provider(Map.of()), provider(Map.of("NCCL_HOSTID", "x")))) {
            assertThat(provider.unsupportedReason(places)).isPresent();
            assertThat(provider.unsupportedReason(sameIds))
                    .hasValue("ranks 0 and 1 use the same GPU of a, which NCCL refuses");
            assertThat(provider.unsupportedReason(oneId)).isEmpty();
            assertThat(provider.unsupportedReason(differentIds)).isEmpty();
        }
        assertThat(
                        provider(Map.of())
                                .unsupportedReason(
                                        List.of(place(0, "a", "gpu"), place(1, "b", "gpu"))))
                .isEmpty();
    }

    @Test
    void publishesTheHostId() {
        assertThat(provider(Map.of("NCCL_HOSTID", "x")).processInfo()).isEqualTo("x");
        assertThat(provider(Map.of()).processInfo()).isEmpty();
    }

    private static DevicePlace place(int rank, String hostId) {
        return new DevicePlace(rank, "a", "a", Device.cuda(0), "gpu", Map.of("NCCL", hostId));
    }

    private static DevicePlace place(int rank, String host, String gpu) {
        return new DevicePlace(rank, host, host, Device.cuda(0), gpu);
    }

    @Test
    void reducesWhatNcclHas() {
        NcclProvider provider = provider(Map.of());
        assertThat(provider.reduces(DataType.FLOAT32, ReduceOp.AVERAGE)).isTrue();
        assertThat(provider.reduces(DataType.INT32, ReduceOp.SUM)).isTrue();
        assertThat(provider.reduces(DataType.INT32, ReduceOp.AVERAGE)).isFalse();
        assertThat(provider.reduces(DataType.INT16, ReduceOp.SUM)).isFalse();
        assertThat(provider.reduces(DataType.BOOL, ReduceOp.SUM)).isFalse();
        assertThat(provider.reduces(DataType.FLOAT32, ReduceOp.ADASUM)).isFalse();
    }

    /// The sizes of NCCL's headers.
    @Test
    void structsHaveTheSizesOfTheHeaders() {
        assertThat(LibNccl.CONFIG.byteSize()).isEqualTo(48);
        assertThat(LibNccl.UNIQUE_ID.byteSize()).isEqualTo(128);
    }
}
