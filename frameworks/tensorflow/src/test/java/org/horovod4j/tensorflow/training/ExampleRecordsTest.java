package org.horovod4j.tensorflow.training;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.data.TfRecordFiles;
import org.junit.jupiter.api.Test;
import org.tensorflow.proto.Example;
import org.tensorflow.proto.Feature;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/// The file `examples.tfrecord` was written by TensorFlow 2.21.0 for Python:
///
/// ```python
/// def example(i):
///     f = {
///         "image": tf.train.Feature(bytes_list=tf.train.BytesList(value=[bytes([i, i + 1, 255])])),
///         "weights": tf.train.Feature(float_list=tf.train.FloatList(value=[i + 0.5, -1.25])),
///         "label": tf.train.Feature(int64_list=tf.train.Int64List(value=[i - 1])),
///     }
///     return tf.train.Example(features=tf.train.Features(feature=f)).SerializeToString()
///
/// with tf.io.TFRecordWriter("examples.tfrecord") as w:
///     for i in range(3):
///         w.write(example(i))
/// ```
class ExampleRecordsTest {
    @Test
    void examplesOfPythonAreRead() throws Exception {
        Path file =
                Path.of(
                        Objects.requireNonNull(
                                        ExampleRecordsTest.class.getResource(
                                                "/tfrecord/examples.tfrecord"))
                                .toURI());
        try (TfRecordFiles records = TfRecordFiles.open(List.of(file))) {
            assertThat(records.size()).isEqualTo(3);
            for (int i = 0; i < 3; i++) {
                Map<String, Feature> features =
                        Example.parseFrom(records.get(i)).getFeatures().getFeatureMap();
                assertThat(features).containsOnlyKeys("image", "weights", "label");
                assertThat(feature(features, "image").getBytesList().getValue(0).toByteArray())
                        .containsExactly(i, i + 1, 255);
                assertThat(feature(features, "weights").getFloatList().getValueList())
                        .containsExactly(i + 0.5f, -1.25f);
                assertThat(feature(features, "label").getInt64List().getValueList())
                        .containsExactly(i - 1L);
            }
        }
    }

    private static Feature feature(Map<String, Feature> features, String name) {
        return Objects.requireNonNull(features.get(name));
    }
}
