package org.horovod4j.testsupport;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/// The dependencies that a package declares in its `package-info.java`, in a line such as
/// ``/// - May depend on: `org.horovod4j.spi`, `org.horovod4j.transport..`.``
///
/// A name means exactly that package; with a trailing `..` it includes its subpackages. A package
/// that uses no other package of the project writes `the JDK alone`. Indented lines continue the
/// list.
record PackageRule(String packageName, List<String> mayDependOn) {

    private static final String MARK = "- May depend on: ";
    private static final String NONE = "the JDK alone";

    /// The text after the mark, and the indented lines that continue it.
    private static final Pattern SENTENCE =
            Pattern.compile("^/// " + MARK + "(.*(?:\\R///  +\\S.*)*)$", Pattern.MULTILINE);

    private static final Pattern NAME = Pattern.compile("`([\\w.]+)`");

    PackageRule {
        mayDependOn = List.copyOf(mayDependOn);
    }

    /// Reads the rule of a package with sources below `sourceRoot`.
    static PackageRule read(Path sourceRoot, String packageName) {
        Path file = sourceRoot.resolve(packageName.replace('.', '/')).resolve("package-info.java");
        if (!Files.exists(file)) {
            throw new AssertionError(
                    "Package %s has no package-info.java: write %s, with a line \"/// %s...\""
                            .formatted(packageName, file, MARK));
        }
        try {
            return parse(packageName, Files.readString(file));
        } catch (IOException e) {
            throw new UncheckedIOException("Reading " + file, e);
        }
    }

    static PackageRule parse(String packageName, String packageInfo) {
        Matcher sentence = SENTENCE.matcher(packageInfo);
        if (!sentence.find()) {
            throw new AssertionError(
                    "The package-info.java of %s has no line \"/// %s...\": add one"
                            .formatted(packageName, MARK));
        }
        String text = sentence.group(1);
        List<String> names = NAME.matcher(text).results().map(PackageRule::name).toList();
        if (names.isEmpty() && !text.contains(NONE)) {
            throw new AssertionError(
                    "The package-info.java of %s may depend on \"%s\": name packages in `backticks`, or write \"%s\""
                            .formatted(packageName, text, NONE));
        }
        return new PackageRule(packageName, names);
    }

    /// The package itself, those it may depend on and `others`, as patterns of ArchUnit.
    String[] allowedWith(List<String> others) {
        return Stream.of(Stream.of(packageName), mayDependOn.stream(), others.stream())
                .flatMap(names -> names)
                .toArray(String[]::new);
    }

    private static String name(MatchResult match) {
        return match.group(1);
    }
}
