package org.horovod4j.spark.ml;

import java.nio.file.Path;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;

/// The networks that this JVM has loaded for inference, so that the tasks of an executor share one.
/// Keeps some that no task uses, for the next tasks.
final class LoadedNetworks {
    /// Those of this executor.
    static final LoadedNetworks SHARED = new LoadedNetworks(2);

    private final int kept;

    /// The least recently used first.
    private final Map<String, Entry> networks = new LinkedHashMap<>(16, 0.75f, true);

    /// @param kept how many networks stay loaded that no task uses
    LoadedNetworks(int kept) {
        this.kept = kept;
    }

    private static final class Entry {
        final NetworkPredictor predictor;
        int users;

        Entry(NetworkPredictor predictor) {
            this.predictor = predictor;
        }
    }

    /// A network in use. Close it when the task ends.
    interface Lease extends AutoCloseable {
        NetworkPredictor predictor();

        @Override
        void close();
    }

    /// The network with this key. Loads it if this JVM does not have it.
    synchronized Lease use(String key, NetworkFramework framework, NetworkFiles files)
            throws Exception {
        Entry entry = networks.get(key);
        if (entry == null) {
            entry = new Entry(load(framework, files));
            networks.put(key, entry);
        }
        entry.users++;
        Entry used = entry;
        return new Lease() {
            @Override
            public NetworkPredictor predictor() {
                return used.predictor;
            }

            @Override
            public void close() {
                release(used);
            }
        };
    }

    private static NetworkPredictor load(NetworkFramework framework, NetworkFiles files)
            throws Exception {
        try (LocalFolder folder = LocalFolder.create()) {
            Path network = folder.path().resolve("network");
            files.write(network);
            return framework.load(network);
        }
    }

    private synchronized void release(Entry entry) {
        entry.users--;
        long unused = networks.values().stream().filter(each -> each.users == 0).count();
        for (Iterator<Entry> each = networks.values().iterator();
                each.hasNext() && unused > kept; ) {
            Entry oldest = each.next();
            if (oldest.users == 0) {
                each.remove();
                oldest.predictor.close();
                unused--;
            }
        }
    }
}
