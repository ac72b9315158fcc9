package org.horovod4j.spark.ml;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

import java.nio.file.Path;
import java.util.TreeMap;

class NetworkFilesTest {
    private record Scaled(int factor) implements NetworkFramework {
        @Override
        public RankTraining start(TrainingSetup setup) {
            throw new UnsupportedOperationException();
        }

        @Override
        public NetworkPredictor load(Path folder) {
            throw new UnsupportedOperationException();
        }
    }

    private static NetworkFiles files(int content) {
        TreeMap<String, byte[]> files = new TreeMap<>();
        files.put("network", new byte[] {(byte) content});
        return new NetworkFiles(files);
    }

    @Test
    void digestDependsOnFilesAndFramework() {
        String digest = files(1).digest(new Scaled(2));

        assertThat(files(1).digest(new Scaled(2))).isEqualTo(digest);
        assertThat(files(2).digest(new Scaled(2))).isNotEqualTo(digest);
        assertThat(files(1).digest(new Scaled(3))).isNotEqualTo(digest);
    }
}
