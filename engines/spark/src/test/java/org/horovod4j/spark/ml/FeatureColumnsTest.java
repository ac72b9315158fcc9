package org.horovod4j.spark.ml;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.apache.spark.ml.linalg.SQLDataTypes;
import org.apache.spark.ml.linalg.Vectors;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.expressions.GenericRowWithSchema;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

import scala.jdk.javaapi.CollectionConverters;

import java.util.List;

class FeatureColumnsTest {
    private static final StructType SCHEMA =
            new StructType()
                    .add("vector", SQLDataTypes.VectorType())
                    .add("array", DataTypes.createArrayType(DataTypes.LongType))
                    .add("flag", DataTypes.BooleanType)
                    .add("number", DataTypes.ShortType);

    private static final int[] ALL = {0, 1, 2, 3};

    private static Row row(@Nullable Object... values) {
        return new GenericRowWithSchema(values, SCHEMA);
    }

    private static Object array(Long... values) {
        return CollectionConverters.asScala(List.of(values)).toSeq();
    }

    @Test
    void readsColumnsSideBySide() {
        Row dense = row(Vectors.dense(1, 2), array(3L), true, (short) 5);
        Row sparse =
                row(
                        Vectors.sparse(2, new int[] {1}, new double[] {7}),
                        array(-1L),
                        false,
                        (short) 0);

        float[] first = FeatureColumns.read(dense, ALL, null);
        assertThat(first).containsExactly(1, 2, 3, 1, 5);
        assertThat(FeatureColumns.read(sparse, ALL, first))
                .isSameAs(first)
                .containsExactly(0, 7, -1, 0, 0);
    }

    @Test
    void rejectsNullsAndOtherLengths() {
        float[] sized = new float[5];
        assertThatThrownBy(
                        () ->
                                FeatureColumns.read(
                                        row(null, array(1L), true, (short) 1), ALL, sized))
                .hasMessageContaining("column 'vector' is null in row [null,");
        assertThatThrownBy(
                        () ->
                                FeatureColumns.read(
                                        row(Vectors.dense(1), array(1L), true, (short) 1),
                                        ALL,
                                        sized))
                .hasMessageContaining("a row has 4 features, and the rows before it have 5");
        assertThatThrownBy(
                        () ->
                                FeatureColumns.read(
                                        row(
                                                Vectors.dense(1, 2),
                                                array(1L, 2L, 3L, 4L),
                                                true,
                                                (short) 1),
                                        ALL,
                                        sized))
                .hasMessageContaining(
                        "a row has 6 features or more, and the rows before it have 5");
    }
}
