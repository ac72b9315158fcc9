package org.horovod4j.option;

/// The chapters of the reference page.
public enum OptionGroup {
    WORLD(
            "The world",
            "Who this process is among all. `horovodrun` sets these for each process it starts."),
    RENDEZVOUS("Rendezvous", "How the ranks find and trust each other."),
    TRANSPORT("Transport", "How bytes move between ranks."),
    COLLECTIVES("Collectives", "How results are computed. Rarely worth a change.");

    private final String title;
    private final String summary;

    OptionGroup(String title, String summary) {
        this.title = title;
        this.summary = summary;
    }

    public String title() {
        return title;
    }

    public String summary() {
        return summary;
    }
}
