package org.horovod4j.spark.ml;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;

class LoadedNetworksTest {
    private final List<String> events = new ArrayList<>();
    private final LoadedNetworks networks = new LoadedNetworks(1);

    /// A network whose only file has its name.
    private LoadedNetworks.Lease use(String name) throws Exception {
        TreeMap<String, byte[]> files = new TreeMap<>();
        files.put("file", name.getBytes(StandardCharsets.UTF_8));
        return networks.use(name, new Recorded(), new NetworkFiles(files));
    }

    private final class Recorded implements NetworkFramework {
        private static final long serialVersionUID = 1L;

        @Override
        public RankTraining start(TrainingSetup setup) {
            throw new UnsupportedOperationException();
        }

        @Override
        public NetworkPredictor load(Path folder) throws IOException {
            String name = Files.readString(folder.resolve("file"));
            events.add("load " + name);
            return new NetworkPredictor() {
                @Override
                public float[] predict(float[] features, int rows) {
                    return features;
                }

                @Override
                public void close() {
                    events.add("close " + name);
                }
            };
        }
    }

    @Test
    void loadsOnceAndClosesTheLeastRecentlyUsed() throws Exception {
        try (var _ = use("a");
                var _ = use("a");
                var _ = use("b");
                var _ = use("c")) {
            assertThat(events).containsExactly("load a", "load b", "load c");
        }
        // one of those that no task uses is kept: the last used
        assertThat(events.subList(3, 5)).containsExactlyInAnyOrder("close a", "close b");
        use("c").close();
        assertThat(events).hasSize(5);
        use("b").close();
        assertThat(events.subList(5, 7)).containsExactly("load b", "close c");
    }
}
