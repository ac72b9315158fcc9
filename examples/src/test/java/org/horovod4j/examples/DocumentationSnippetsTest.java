package org.horovod4j.examples;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import javax.tools.Diagnostic;
import javax.tools.DiagnosticCollector;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileObject;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;

/// Compiles the Java blocks of README.md and of the pages in `docs`.
///
/// A block is a whole file, or declarations, or statements; the latter two are wrapped in a class
/// here. It shows its imports. An HTML comment right before the block may declare what the text takes
/// for granted, as members of the class around it:
///
/// ```
/// <!-- given: ai.djl.Model model; void clip(ai.djl.nn.Block block) {} -->
/// ```
class DocumentationSnippetsTest {
    private static final Path ROOT = Path.of("..");
    private static final Pattern BLOCK =
            Pattern.compile(
                    """
                    (?sxm) (?: ^<!--\\ given:(?<given> (?: (?!-->) . )*? )-->\\s*? \\n )?
                    ^(?<indent>\\ *)```java\\n (?<code> .*? ) ^\\ *```\\ *$\
                    """);
    private static final Pattern IMPORTS = Pattern.compile("(?:\\s*import [^;]+;)*");
    private static final Pattern WHOLE_FILE =
            Pattern.compile("(?m)^(?:package |public |void main\\(|module )");
    private static final Pattern FILE_NAME =
            Pattern.compile(
                    "(?m)^(?:public .*?(?:class|record|enum|interface) (?<type>\\w+)|module )");
    private static final Pattern DECLARATION =
            Pattern.compile("(?s)private .*|(?:final |record |class |enum |interface |@).*}");

    private static JavaCompiler compiler;
    private static StandardJavaFileManager files;

    @TempDir private Path folder;

    record Snippet(String page, int line, String given, String code) {
        /// The name of the file that holds this snippet.
        String fileName() {
            Matcher name = FILE_NAME.matcher(code);
            if (!isWholeFile() || !name.find()) {
                return "Snippet.java";
            }
            return (name.group("type") == null ? "module-info" : name.group("type")) + ".java";
        }

        String source() {
            if (isWholeFile()) {
                return code;
            }
            Matcher imports = IMPORTS.matcher(code);
            int end = imports.lookingAt() ? imports.end() : 0;
            String body = code.substring(end).replaceAll("(?m)^ *…$", "").strip();
            String member =
                    DECLARATION.matcher(body).matches()
                            ? body
                            : "void run() throws Exception {\n" + body + "\n}";
            return "%s\nclass Snippet {\n%s\n%s\n}\n"
                    .formatted(code.substring(0, end), given, member);
        }

        private boolean isWholeFile() {
            return WHOLE_FILE.matcher(code).find();
        }

        @Override
        public String toString() {
            return page + ", line " + line;
        }
    }

    static List<Snippet> snippets() throws IOException {
        List<Snippet> snippets = new ArrayList<>();
        try (Stream<Path> pages = Files.walk(ROOT.resolve("docs"))) {
            for (Path page :
                    Stream.concat(Stream.of(ROOT.resolve("README.md")), pages.sorted()).toList()) {
                if (page.toString().endsWith(".md")) {
                    addSnippets(page, snippets);
                }
            }
        }
        return snippets;
    }

    private static void addSnippets(Path page, List<Snippet> snippets) throws IOException {
        String text = Files.readString(page);
        Matcher matcher = BLOCK.matcher(text);
        while (matcher.find()) {
            int line = (int) text.substring(0, matcher.start("code")).lines().count();
            String given = matcher.group("given");
            snippets.add(
                    new Snippet(
                            ROOT.relativize(page).toString(),
                            line,
                            given == null ? "" : given,
                            matcher.group("code")
                                    .replaceAll("(?m)^" + matcher.group("indent"), "")));
        }
    }

    @BeforeAll
    static void findCompiler() {
        compiler = ToolProvider.getSystemJavaCompiler();
        files = compiler.getStandardFileManager(null, Locale.ROOT, null);
    }

    @Test
    void pagesHaveSnippets() throws IOException {
        assertThat(snippets()).hasSizeGreaterThan(30);
    }

    @ParameterizedTest
    @MethodSource("snippets")
    void compiles(Snippet snippet) throws IOException {
        Path file = Files.writeString(folder.resolve(snippet.fileName()), snippet.source());
        boolean module = snippet.fileName().equals("module-info.java");
        // The names of jars with native libraries are not valid module names.
        String path =
                Stream.of(System.getProperty("java.class.path", "").split(File.pathSeparator))
                        .filter(entry -> !module || !entry.contains("native"))
                        .collect(Collectors.joining(File.pathSeparator));
        DiagnosticCollector<JavaFileObject> problems = new DiagnosticCollector<>();
        compiler.getTask(
                        null,
                        files,
                        problems,
                        List.of(
                                module ? "--module-path" : "--class-path",
                                path,
                                "-proc:none",
                                "-d",
                                folder.toString()),
                        null,
                        files.getJavaFileObjects(file))
                .call();
        assertThat(
                        problems.getDiagnostics().stream()
                                .filter(problem -> problem.getKind() == Diagnostic.Kind.ERROR)
                                .map(
                                        problem ->
                                                problem.getMessage(Locale.ROOT)
                                                        + " at line "
                                                        + problem.getLineNumber())
                                .collect(Collectors.joining("\n")))
                .as(snippet.source())
                .isEmpty();
    }
}
