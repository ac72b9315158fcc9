package org.horovod4j.cuda;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/// The kernels of one file, for one device. The driver compiles the file when a kernel is first
/// launched.
final class KernelModule {
    private final CudaDevice device;
    private final String name;
    private final Map<String, Long> functions = new ConcurrentHashMap<>();
    private long module;

    KernelModule(CudaDevice device, String name) {
        this.device = device;
        this.name = name;
    }

    void launch(String kernel, int blocks, int threads, KernelParameters parameters, long stream) {
        Long function = functions.get(kernel);
        if (function == null) {
            function = load(kernel);
        }
        device.api().launch(function, blocks, threads, stream, parameters.addresses());
    }

    private synchronized long load(String kernel) {
        if (module == 0) {
            try (Arena arena = Arena.ofConfined()) {
                module = device.api().loadModule(ptx(arena));
            }
        }
        long function = device.api().function(module, kernel);
        functions.put(kernel, function);
        return function;
    }

    /// The text of the file, ended by a zero byte.
    private MemorySegment ptx(Arena arena) {
        try (InputStream file = KernelModule.class.getResourceAsStream(name + ".ptx")) {
            if (file == null) {
                throw new IllegalStateException(
                        "horovod4j-cuda has no file %s.ptx".formatted(name));
            }
            byte[] text = file.readAllBytes();
            MemorySegment memory = arena.allocate(text.length + 1L);
            MemorySegment.copy(text, 0, memory, ValueLayout.JAVA_BYTE, 0, text.length);
            return memory;
        } catch (IOException e) {
            throw new UncheckedIOException(
                    "%s.ptx of horovod4j-cuda cannot be read".formatted(name), e);
        }
    }
}
