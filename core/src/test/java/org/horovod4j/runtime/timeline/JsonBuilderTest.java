package org.horovod4j.runtime.timeline;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.testsupport.StrictJson;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.nio.charset.StandardCharsets;
import java.util.Map;

final class JsonBuilderTest {
    @Test
    void everyCharacterRoundTrips() {
        StringBuilder all = new StringBuilder();
        for (int c = 0; c < 0x3000; c++) {
            all.append((char) c);
        }
        all.append("🚀").append("\\u0041 \"quoted\" \\\\");
        assertThat(roundTrip(all.toString())).isEqualTo(Map.of("name", all.toString()));
    }

    @ParameterizedTest
    @ValueSource(strings = {"a\ud800", "\udc00b", "\ud800\ud800\udc00", "\ud83dx\ude80"})
    void unpairedSurrogateIsReplaced(String name) {
        String json = new JsonBuilder().put("name", name).toString();
        assertThat(new String(json.getBytes(StandardCharsets.UTF_8), StandardCharsets.UTF_8))
                .isEqualTo(json)
                .contains("\ufffd");
    }

    @Test
    void membersAreSeparated() {
        JsonBuilder json = new JsonBuilder();
        assertThat(json.isEmpty()).isTrue();
        assertThat(json).hasToString("{}");
        json.put("a", "").put("b", 1).put("c", true).put("d", new JsonBuilder().put("e:", "{"));
        assertThat(json).hasToString("{\"a\":\"\",\"b\":1,\"c\":true,\"d\":{\"e:\":\"{\"}}");
    }

    private static Object roundTrip(String name) {
        return StrictJson.parse(new JsonBuilder().put("name", name).toString());
    }
}
