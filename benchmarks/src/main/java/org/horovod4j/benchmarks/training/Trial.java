package org.horovod4j.benchmarks.training;

import org.horovod4j.benchmarks.report.Result;

import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/// What was tried: all rounds of one trial make one figure.
///
/// The program of its [Result] is `way-work`, as in `overlap-native`; `*8` after it says that each rank
/// trains on 8 images in a step, and `+waited` that this is not the step but the [Quantity] so named.
record Trial(int np, Way way, String work, int images, Quantity quantity) {
    private static final Pattern PROGRAM =
            Pattern.compile(
                    "(?<way>[a-z]+)-(?<work>[a-z0-9]+)(\\*(?<images>[0-9]+))?(\\+(?<quantity>[a-z]+))?");

    static Trial of(Result result) {
        Matcher matcher = PROGRAM.matcher(result.program());
        if (!matcher.matches()) {
            throw new IllegalArgumentException(
                    "this is no program 'way-work', 'way-work*images' or 'way-work+quantity': '%s'"
                            .formatted(result.program()));
        }
        String images = matcher.group("images");
        String quantity = matcher.group("quantity");
        return new Trial(
                result.np(),
                Way.parse(matcher.group("way")),
                matcher.group("work"),
                images == null ? 0 : Integer.parseInt(images),
                quantity == null
                        ? Quantity.STEP
                        : Quantity.valueOf(quantity.toUpperCase(Locale.ROOT)));
    }

    String program() {
        String step = way + "-" + work + (images == 0 ? "" : "*" + images);
        return quantity == Quantity.STEP ? step : step + "+" + quantity;
    }

    Trial with(Way another) {
        return new Trial(np, another, work, images, quantity);
    }

    Trial with(Quantity another) {
        return new Trial(np, way, work, images, another);
    }

    Trial on(int processes) {
        return new Trial(processes, way, work, images, quantity);
    }
}
