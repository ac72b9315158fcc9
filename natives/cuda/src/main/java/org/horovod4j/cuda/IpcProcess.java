package org.horovod4j.cuda;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/// What a process publishes to the other ranks of its host, so that they can read each other's device
/// memory.
///
/// @param pid its process id
/// @param namespace the PID namespace in which it has that id: another container has its own; empty if the
///     system has none
/// @param peers the GPUs whose memory each GPU that the process sees can access, by identity. A GPU that
///     the process does not see is not in it, also if its memory could be accessed
record IpcProcess(long pid, String namespace, Map<String, Set<String>> peers) {
    private static final IpcProcess UNKNOWN = new IpcProcess(0, "", Map.of());

    private static final Path NAMESPACE = Path.of("/proc/self/ns/pid");

    static IpcProcess of(CudaApi api) {
        List<String> gpus = new ArrayList<>();
        for (int gpu = 0; gpu < api.deviceCount(); gpu++) {
            gpus.add(identity(api, gpu));
        }
        Map<String, Set<String>> peers = new LinkedHashMap<>();
        for (int gpu = 0; gpu < gpus.size(); gpu++) {
            Set<String> accessible = new LinkedHashSet<>();
            for (int peer = 0; peer < gpus.size(); peer++) {
                if (peer != gpu && api.canAccessPeer(gpu, peer)) {
                    accessible.add(gpus.get(peer));
                }
            }
            if (!accessible.isEmpty()) {
                peers.put(gpus.get(gpu), accessible);
            }
        }
        return new IpcProcess(ProcessHandle.current().pid(), ownNamespace(), peers);
    }

    /// As in `pid:[4026531836]`.
    static String ownNamespace() {
        try {
            return Files.readSymbolicLink(NAMESPACE).toString();
        } catch (IOException | UnsupportedOperationException _) {
            return ""; // not Linux
        }
    }

    /// Identifies a GPU: the same in all processes of a host, whatever number they give it.
    static String identity(CudaApi api, int gpu) {
        return HexFormat.of().formatHex(api.deviceUuid(gpu));
    }

    /// As in `4711@pid:[4026531836];gpu=peer,peer;gpu=peer`.
    String encode() {
        return pid
                + "@"
                + namespace
                + peers.entrySet().stream()
                        .map(gpu -> ";" + gpu.getKey() + "=" + String.join(",", gpu.getValue()))
                        .collect(Collectors.joining());
    }

    /// @param text from [#encode]; empty if a process has published nothing
    static IpcProcess decode(String text) {
        if (text.isEmpty()) {
            return UNKNOWN;
        }
        String[] parts = text.split(";", -1);
        Map<String, Set<String>> peers = new LinkedHashMap<>();
        for (int i = 1; i < parts.length; i++) {
            String[] gpu = parts[i].split("=", 2);
            peers.put(gpu[0], Set.of(gpu[1].split(",", -1)));
        }
        String[] process = parts[0].split("@", 2);
        return new IpcProcess(Long.parseLong(process[0]), process[1], peers);
    }

    boolean canAccess(String gpu, String peer) {
        return gpu.equals(peer) || peers.getOrDefault(gpu, Set.of()).contains(peer);
    }

    boolean isThisProcess() {
        return pid == ProcessHandle.current().pid() && namespace.equals(ownNamespace());
    }

    /// Whether the process has ended. Its memory and its mappings are gone then. False for a process of
    /// another container, whose id says nothing here.
    boolean hasEnded() {
        return pid != 0 && namespace.equals(ownNamespace()) && ProcessHandle.of(pid).isEmpty();
    }
}
