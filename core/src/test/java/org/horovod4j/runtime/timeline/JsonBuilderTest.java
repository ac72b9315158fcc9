package org.horovod4j.runtime.timeline;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

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
        assertThat(roundTrip(all.toString())).isEqualTo(all.toString());
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

    @Test
    void valuesAreReadAsRawJson() {
        String text =
                " { \"a\" : [1, {\"b\": null}] , \"c\":-1.5e+3,\"d\":\"\\u0041\\n\"} ".strip();
        Map<String, String> values = new JsonScanner(text).object();
        assertThat(values)
                .containsExactly(
                        Map.entry("a", "[1, {\"b\": null}]"),
                        Map.entry("c", "-1.5e+3"),
                        Map.entry("d", "\"\\u0041\\n\""));
        assertThat(JsonScanner.unquote("\"\\u0041\\n\\/\"")).isEqualTo("A\n/");
        assertThat(new JsonScanner("{ }").object()).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "{",
                "[]",
                "{}x",
                "{\"a\"}",
                "{\"a\":}",
                "{\"a\":1,}",
                "{a:1}",
                "{\"a\":01}",
                "{\"a\":1.}",
                "{\"a\":+1}",
                "{\"a\":nul}",
                "{\"a\":[1,]}",
                "{\"a\":\"\t\"}",
                "{\"a\":\"\\u12g4\"}",
                "{\"a\":\"",
                "{\"a\":\"\\"
            })
    void whatIsNoJsonObjectIsRefused(String text) {
        assertThatThrownBy(() -> new JsonScanner(text).object())
                .isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void deepNestingIsRejected() {
        String text = "{\"a\":" + "[".repeat(1_000_000);
        assertThatThrownBy(() -> new JsonScanner(text).object())
                .isInstanceOf(IllegalArgumentException.class);
    }

    private static String roundTrip(String name) {
        String json = new JsonBuilder().put("name", name).toString();
        assertThat(StrictJson.parse(json)).isEqualTo(Map.of("name", name));
        return JsonScanner.unquote(new JsonScanner(json).object().getOrDefault("name", ""));
    }
}
