package org.horovod4j.examples;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.Predicate;

/// The arguments of an example, such as `--epochs 3`.
///
/// A program reads one option after the other. Any other argument is an error, which ends the program
/// before it joins a job.
final class ExampleArguments {
    private static final int USAGE_EXIT_CODE = 2; // as horovodrun

    private final List<String> arguments;
    private final List<String> known = new ArrayList<>();
    private final List<String> errors = new ArrayList<>();
    private final boolean help;

    ExampleArguments(String... arguments) {
        this.arguments = new ArrayList<>(Arrays.asList(arguments));
        this.help = this.arguments.remove("--help");
    }

    /// A whole number that is at least `least`.
    int number(String option, int byDefault, int least) {
        return value(
                option,
                "N",
                byDefault,
                Integer::valueOf,
                number -> number >= least,
                "a whole number from %d on".formatted(least));
    }

    double positive(String option, double byDefault) {
        return value(
                option,
                "X",
                byDefault,
                Double::valueOf,
                number -> number > 0 && Double.isFinite(number),
                "a number above 0");
    }

    /// One of some values, by its name.
    <T> T oneOf(String option, T byDefault, List<T> values, Function<T, String> name) {
        List<String> names = values.stream().map(name).toList();
        return value(
                option,
                String.join("|", names),
                byDefault,
                word -> {
                    int place = names.indexOf(word);
                    if (place < 0) {
                        throw new IllegalArgumentException(word);
                    }
                    return values.get(place);
                },
                value -> true,
                "one of " + String.join(", ", names));
    }

    /// An existing folder.
    Path folder(String option, Path byDefault) {
        return value(
                option, "FOLDER", byDefault, Path::of, Files::isDirectory, "a folder that exists");
    }

    /// An existing file.
    Path file(String option, Path byDefault) {
        return value(
                option, "FILE", byDefault, Path::of, Files::isRegularFile, "a file that exists");
    }

    /// A file or folder that the program creates.
    Path path(String option, Path byDefault) {
        return value(option, "PATH", byDefault, Path::of, path -> true, "a path");
    }

    boolean flag(String option) {
        known.add(option);
        return arguments.remove(option);
    }

    /// Ends the program with a message if an argument is unknown or invalid.
    void exitIfInvalid(Class<?> program) {
        String name = program.getSimpleName();
        if (help) {
            System.out.println(name + " understands " + String.join(", ", known) + ", --help");
            System.exit(0);
        }
        error().ifPresent(complaint -> exit(name + ": " + complaint));
    }

    Optional<String> error() {
        if (!errors.isEmpty()) {
            return Optional.of(errors.getFirst());
        }
        return arguments.stream()
                .findFirst()
                .map(
                        word ->
                                "cannot make sense of '%s'; options are %s"
                                        .formatted(word, String.join(", ", known)));
    }

    private <T> T value(
            String option,
            String placeholder,
            T byDefault,
            Function<String, T> parse,
            Predicate<T> check,
            String expected) {
        known.add(option + " " + placeholder);
        int place = arguments.indexOf(option);
        if (place < 0) {
            return byDefault;
        }
        arguments.remove(place);
        if (place == arguments.size()) {
            errors.add("%s needs %s after it".formatted(option, expected));
            return byDefault;
        }
        String word = arguments.remove(place);
        try {
            T value = parse.apply(word);
            if (check.test(value)) {
                return value;
            }
        } catch (IllegalArgumentException e) {
            // not a number or not a path: reported below
        }
        errors.add("%s needs %s, not '%s'".formatted(option, expected, word));
        return byDefault;
    }

    private static void exit(String complaint) {
        System.err.println(complaint);
        System.exit(USAGE_EXIT_CODE);
    }
}
