package org.horovod4j.scheduler;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.horovod4j.ConfigurationException;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class SlurmNodeListTest {
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "n1 | n1",
                "n[1-2] | n1 n2",
                "n[1-2,07-09] | n1 n2 n07 n08 n09",
                "n[098-101] | n098 n099 n100 n101",
                "a,b[3],c-[1,3]-x,d | a b3 c-1-x c-3-x d",
                "r[1-2]n[1-2] | r1n1 r1n2 r2n1 r2n2"
            })
    void namesAreExpanded(String list, String names) {
        assertThat(SlurmNodeList.names(list)).containsExactly(names.split(" ", -1));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {"4 | 4", "2(x3),1 | 2 2 2 1", "3,1 | 3 1"})
    void countsAreExpanded(String list, String counts) {
        assertThat(SlurmNodeList.counts(list))
                .map(String::valueOf)
                .containsExactly(counts.split(" ", -1));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "n[1-",
                "n1-2]",
                "n[2-1]",
                "n[a]",
                "n[]",
                "n[[1]]",
                "a,,b",
                "n[1-999999999]"
            })
    void malformedNodeListIsRefused(String list) {
        assertThatThrownBy(() -> SlurmNodeList.names(list))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContaining("'" + list + "'");
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "x", "2(3)", "2(x)", "1,,2", "-1"})
    void malformedCountsAreRefused(String list) {
        assertThatThrownBy(() -> SlurmNodeList.counts(list))
                .isInstanceOf(ConfigurationException.class);
    }
}
