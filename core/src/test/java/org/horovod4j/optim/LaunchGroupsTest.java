package org.horovod4j.optim;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import org.horovod4j.optim.LaunchGroups.Group;
import org.junit.jupiter.api.Test;

import java.util.List;
import java.util.Map;

class LaunchGroupsTest {
    private static final List<String> NAMES = List.of("a", "b", "c", "d", "e");

    private static LaunchGroups groups(List<String> names, GradientGroups gradientGroups) {
        return LaunchGroups.of(names, GradientSettings.builder().groups(gradientGroups).build());
    }

    private static List<List<Integer>> members(LaunchGroups groups) {
        return groups.all().stream().map(Group::members).toList();
    }

    @Test
    void gradientsOnADeviceAreBucketsInTheOrderOfBackward() {
        List<String> names = List.of("a", "b", "c", "host", "d", "local");
        GradientSettings settings = GradientSettings.builder().local("local"::equals).build();
        Map<String, Long> megabytes = Map.of("a", 1L, "b", 10L, "c", 6L, "d", 3L, "local", 9L);
        LaunchGroups groups =
                LaunchGroups.of(
                        names, settings, i -> megabytes.getOrDefault(names.get(i), 0L) << 20);
        assertThat(groups.all())
                .extracting(LaunchGroups.Group::members)
                .containsExactly(List.of(4, 2), List.of(1), List.of(0), List.of(3));
        assertThat(groups.all().getLast().name()).isEqualTo(settings.prefix() + ".host");
        assertThat(groups.isLocal(5)).isTrue();
    }

    @Test
    void withoutGroupsEachParameterHasItsOwnGroup() {
        LaunchGroups groups = groups(NAMES, new GradientGroups.None());
        assertThat(groups.all())
                .extracting(Group::name)
                .containsExactly(
                        "gradient.a", "gradient.b", "gradient.c", "gradient.d", "gradient.e");
    }

    @Test
    void groupCountSplitsParametersEvenly() {
        assertThat(members(groups(NAMES, new GradientGroups.Count(2))))
                .containsExactly(List.of(0, 1, 2), List.of(3, 4));
        assertThat(members(groups(NAMES, new GradientGroups.Count(9)))).hasSize(5);
    }

    @Test
    void parametersInNoNamedGroupGetTheirOwnGroup() {
        LaunchGroups groups = groups(NAMES, new GradientGroups.Named(List.of(List.of("d", "b"))));
        assertThat(members(groups))
                .containsExactly(List.of(3, 1), List.of(0), List.of(2), List.of(4));
        assertThat(groups.of(1)).isEqualTo(groups.of(3));
    }

    @Test
    void localParametersAreInNoGroup() {
        GradientSettings settings =
                GradientSettings.builder()
                        .groups(new GradientGroups.Count(1))
                        .local("c"::equals)
                        .build();
        LaunchGroups groups = LaunchGroups.of(NAMES, settings);
        assertThat(members(groups)).containsExactly(List.of(0, 1, 3, 4));
        assertThat(groups.isLocal(2)).isTrue();
    }

    @Test
    void missingDuplicateAndUnknownNamesAreRejected() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> groups(List.of("a", "b", "a"), new GradientGroups.None()))
                .withMessageContaining("two parameters have the name 'a'");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> groups(List.of("a", ""), new GradientGroups.None()))
                .withMessageContaining("parameter 1 has no name");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> groups(NAMES, new GradientGroups.Named(List.of(List.of("x")))))
                .withMessageContaining("names parameter 'x'");
        GradientSettings localInGroup =
                GradientSettings.builder()
                        .groups(new GradientGroups.Named(List.of(List.of("a", "b"))))
                        .local("b"::equals)
                        .build();
        assertThatIllegalArgumentException()
                .isThrownBy(() -> LaunchGroups.of(NAMES, localInGroup))
                .withMessageContaining("'b' is local");
    }
}
