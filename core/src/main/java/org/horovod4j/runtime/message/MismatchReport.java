package org.horovod4j.runtime.message;

import org.horovod4j.text.RankList;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.stream.Collectors;

/// Describes a disagreement of ranks: the first difference, what each rank requests, and what to
/// do.
public final class MismatchReport {
    private final SortedMap<Integer, Request> requests;

    /// @param requests the request of each rank, by rank of the world
    public MismatchReport(SortedMap<Integer, Request> requests) {
        this.requests = new TreeMap<>(requests);
    }

    public String describe() {
        Request first = requests.firstEntry().getValue();
        if (differ(Request::collectiveKind) || differ(Request::programCall)) {
            return calls();
        }
        String prefix = first + ": the ranks disagree on its ";
        if (differ(request -> request.device().kind())) {
            return report(
                    prefix + "device",
                    request -> request.device().toString(),
                    "Put it on a device of the same kind on every rank.");
        }
        if (differ(Request::dataType)) {
            return report(
                    prefix + "data type",
                    request -> request.dataType().toString(),
                    "Convert it to one type on every rank.");
        }
        if (differ(Request::wireType)) {
            return report(
                    prefix + "compression",
                    request -> "sent as " + request.wireType(),
                    "Use the same compressor on every rank.");
        }
        if (differ(this::agreedShape)) {
            return report(
                    prefix
                            + (first.collectiveKind().isRagged()
                                    ? "dimensions after the first"
                                    : "shape"),
                    MismatchReport::describedShape,
                    first.collectiveKind().isRagged()
                            ? "Only the first dimension may differ between ranks."
                            : "Give it one shape on every rank, or use allgather if the first"
                                    + " dimension may differ.");
        }
        if (differ(Request::scale)) {
            return report(
                    prefix + "prescale or postscale",
                    request ->
                            "prescale %s, postscale %s"
                                    .formatted(
                                            request.scale().prescale(),
                                            request.scale().postscale()),
                    "Use the same factors on every rank.");
        }
        if (differ(Request::op)) {
            return report(
                    prefix + "reduce op",
                    request -> request.op().name(),
                    "Use the same reduce op on every rank.");
        }
        if (differ(Request::rootRank)) {
            return report(
                    prefix + "root rank",
                    request -> "root rank " + request.rootRank(),
                    "Name the same root on every rank.");
        }
        return first
                + ": another rank's message was not understood, although all ranks ask for the"
                + " same. Use one version of Horovod4J on every rank.";
    }

    /// The ranks have called different methods for one name, or groups of different size.
    private String calls() {
        Request first = requests.firstEntry().getValue();
        if (!differ(request -> request.call().method())
                && differ(request -> request.call().members())) {
            return report(
                    "%s of '%s': the ranks disagree on the number of its tensors"
                            .formatted(first.call().method(), first.programName()),
                    request -> request.call().memberCount(),
                    "Give the group the same tensors on every rank.");
        }
        String name = differ(Request::programName) ? first.name() : first.programName();
        return report(
                "'%s': the ranks disagree on the operation".formatted(name),
                differ(Request::programCall)
                        ? Request::programCall
                        : request -> request.collectiveKind().toString(),
                "Use one operation per name, or different names.");
    }

    /// A shape, with `*` for a first dimension that may differ between ranks. A cached request has
    /// that of another rank or step.
    private static String describedShape(Request request) {
        String shape = request.shape().toString();
        return request.collectiveKind().isRagged() && request.shape().rank() > 0
                ? shape.replaceFirst("\\d+", "*")
                : shape;
    }

    private Object agreedShape(Request request) {
        return request.collectiveKind().isRagged() && request.shape().rank() > 0
                ? request.shape().withRows(0)
                : request.shape();
    }

    private boolean differ(Function<Request, Object> property) {
        return requests.values().stream().map(property).distinct().count() > 1;
    }

    private String report(String problem, Function<Request, String> value, String remedy) {
        Map<String, List<Integer>> ranks = new LinkedHashMap<>();
        requests.forEach(
                (rank, request) ->
                        ranks.computeIfAbsent(value.apply(request), _ -> new ArrayList<>())
                                .add(rank));
        String table =
                ranks.entrySet().stream()
                        .map(
                                entry ->
                                        "  "
                                                + entry.getKey()
                                                + " on "
                                                + RankList.format(entry.getValue()))
                        .collect(Collectors.joining("\n"));
        return problem + "\n" + table + "\n" + remedy;
    }
}
