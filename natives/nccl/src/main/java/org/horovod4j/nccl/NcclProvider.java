package org.horovod4j.nccl;

import org.horovod4j.ConfigurationException;
import org.horovod4j.DataType;
import org.horovod4j.Device;
import org.horovod4j.HorovodException;
import org.horovod4j.ReduceOp;
import org.horovod4j.natives.NativeLibrary;
import org.horovod4j.option.BackendOptions;
import org.horovod4j.option.Environment;
import org.horovod4j.spi.DeviceBackend;
import org.horovod4j.spi.DeviceBackendProvider;
import org.horovod4j.spi.DeviceContext;
import org.horovod4j.spi.DevicePlace;
import org.jspecify.annotations.Nullable;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/// Finds NCCL, and says where it can be used.
///
/// The library is searched in this order: the file or folder of `HOROVOD_NCCL_LIBRARY`; the copy that
/// the process has loaded, as frameworks do, or that the system's linker knows; folders of CUDA.
public final class NcclProvider implements DeviceBackendProvider {
    /// NCCL's own variable: processes with different values are on different hosts for NCCL.
    private static final String HOST_ID_VARIABLE = "NCCL_HOSTID";

    private static final String FILE_NAME = "libnccl.so.2";

    private static final List<String> FOLDERS =
            List.of(
                    "/usr/lib/x86_64-linux-gnu",
                    "/usr/lib/aarch64-linux-gnu",
                    "/usr/lib64",
                    "/usr/local/lib",
                    "/usr/local/cuda/lib64",
                    "/usr/local/nccl/lib");

    private final Map<String, String> environment;
    private final List<String> folders;

    /// Opened when it is first needed.
    private @Nullable LibNccl nccl;

    private @Nullable String reason;

    public NcclProvider() {
        this(System.getenv(), FOLDERS);
    }

    /// @param folders where the library is searched if the system does not know it
    NcclProvider(Map<String, String> environment, List<String> folders) {
        this.environment = environment;
        this.folders = folders;
    }

    @Override
    public String name() {
        return "NCCL";
    }

    @Override
    public Device.Kind kind() {
        return Device.Kind.CUDA;
    }

    @Override
    public int preference() {
        return 100;
    }

    @Override
    public Class<? extends DeviceBackend> backendType() {
        return NcclBackend.class;
    }

    /// NCCL has no integers of two bytes and no bool. It averages integers in their own type, where the
    /// sum may overflow.
    @Override
    public boolean reduces(DataType dataType, ReduceOp op) {
        return switch (dataType) {
            case FLOAT16, BFLOAT16, FLOAT32, FLOAT64 -> op != ReduceOp.ADASUM;
            case UINT8, INT8, INT32, INT64 -> op != ReduceOp.ADASUM && op != ReduceOp.AVERAGE;
            case UINT16, INT16, BOOL -> false;
        };
    }

    @Override
    public String describe() {
        LibNccl library = library();
        return library == null ? String.valueOf(reason) : library.describe();
    }

    @Override
    public boolean isAvailable() {
        return library() != null;
    }

    /// The host id: NCCL takes ranks with different ones for ranks of different hosts.
    @Override
    public String processInfo() {
        return environment.getOrDefault(HOST_ID_VARIABLE, "");
    }

    @Override
    public Optional<String> unsupportedReason(List<DevicePlace> places) {
        for (int i = 0; i < places.size(); i++) {
            for (int k = 0; k < i; k++) {
                if (isConflict(places.get(i), places.get(k))) {
                    return Optional.of(
                            "ranks %d and %d use the same GPU of %s, which NCCL refuses"
                                    .formatted(
                                            places.get(k).jobRank(),
                                            places.get(i).jobRank(),
                                            places.get(i).host()));
                }
            }
        }
        return Optional.empty();
    }

    private boolean isConflict(DevicePlace one, DevicePlace other) {
        return one.isSameDevice(other) && one.processInfo(name()).equals(other.processInfo(name()));
    }

    @Override
    public DeviceBackend create(DeviceContext context) {
        LibNccl library = library();
        if (library == null) {
            throw new ConfigurationException("NCCL cannot be used: %s".formatted(reason));
        }
        try {
            return new NcclBackend(library, context);
        } catch (HorovodException e) {
            throw new HorovodException(
                    "NCCL cannot connect the GPUs of ranks %s: %s"
                            .formatted(
                                    context.places().stream().map(DevicePlace::jobRank).toList(),
                                    e.getMessage()),
                    e);
        }
    }

    private synchronized @Nullable LibNccl library() {
        if (nccl == null && reason == null) {
            try {
                nccl = open();
            } catch (UnsupportedOperationException e) {
                reason = e.getMessage();
            }
        }
        return nccl;
    }

    private LibNccl open() {
        if (!NativeLibrary.isEnabled()) {
            throw new UnsupportedOperationException(
                    "the JVM was started without --enable-native-access=ALL-UNNAMED");
        }
        Optional<String> chosen = new Environment(environment).find(BackendOptions.NCCL_LIBRARY);
        if (chosen.isPresent()) {
            return new LibNccl(chosenFile(Path.of(chosen.get())).toString());
        }
        List<String> candidates = new ArrayList<>(List.of(FILE_NAME));
        folders.stream()
                .map(folder -> Path.of(folder, FILE_NAME))
                .filter(Files::exists)
                .forEach(file -> candidates.add(file.toString()));
        for (String candidate : candidates) {
            if (canOpen(candidate)) {
                return new LibNccl(candidate);
            }
        }
        throw new UnsupportedOperationException(
                "%s was not found: install NCCL, or set %s to its file or folder"
                        .formatted(FILE_NAME, BackendOptions.NCCL_LIBRARY));
    }

    /// A folder contains the library itself, or is that of a Python wheel.
    private static Path chosenFile(Path chosen) {
        if (!Files.isDirectory(chosen)) {
            return chosen;
        }
        Path inLib = chosen.resolve("lib").resolve(FILE_NAME);
        return Files.exists(inLib) ? inLib : chosen.resolve(FILE_NAME);
    }

    private static boolean canOpen(String candidate) {
        try {
            NativeLibrary.open(candidate);
            return true;
        } catch (UnsupportedOperationException _) {
            return false; // the next one may exist
        }
    }
}
