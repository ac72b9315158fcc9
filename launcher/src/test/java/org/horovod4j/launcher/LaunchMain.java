package org.horovod4j.launcher;

import org.horovod4j.launcher.output.Console;
import org.horovod4j.launcher.plan.Host;
import org.horovod4j.launcher.plan.Login;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/// The launcher without its command line: `java copies host;slots;port;key command…`, each empty
/// for the default, so that tests of hosts do not depend on how options are spelt.
final class LaunchMain {
    private LaunchMain() {}

    public static void main(String[] arguments) throws Exception {
        String[] host = arguments[2].split(";", -1);
        int slots = Integer.parseInt(host[1]);
        Login login =
                new Login(
                        null,
                        host[2].isEmpty() ? null : Integer.valueOf(host[2]),
                        host[3].isEmpty() ? null : Path.of(host[3]));
        Invocation.Launch launch =
                new Invocation.Launch(
                        slots,
                        List.of(new Host(host[0], slots, login)),
                        new Controller.Own(),
                        new RemoteSide(
                                arguments[0].isEmpty() ? null : arguments[0],
                                Stream.of(arguments[1].split(","))
                                        .filter(path -> !path.isEmpty())
                                        .map(Path::of)
                                        .toList()),
                        new Reporting(false, null, false),
                        Map.of(),
                        List.of(List.of(arguments).subList(3, arguments.length)));
        System.exit(
                new HorovodRun(Console.ofThisProcess(), System.getenv())
                        .launch(launch, Soon.of(() -> JobSettings.of(System.getenv()))));
    }
}
