/* A switch between network interfaces that delays every frame, for kernels without netem. Needs root.
 *
 *   delay MILLISECONDS INTERFACE...   forwards frames until it is killed
 *   delay plain INTERFACE             turns off what only hardware could do: segmentation, checksums
 *
 * The interfaces at the other end of the wires must be plain: a frame that is read here must be
 * complete, and no longer than the wire allows. */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/ethtool.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>

#define MAX_PORTS 16
#define FRAME_BYTES 2048
#define QUEUE_FRAMES (1 << 16)
#define NANOS_PER_SECOND 1000000000LL

struct frame {
    long long due;
    int from;
    int length;
    unsigned char bytes[FRAME_BYTES];
};

static struct frame queue[QUEUE_FRAMES]; /* in the order of arrival, which is that of the due times */
static unsigned long head, tail;
static int ports[MAX_PORTS], port_count;
static unsigned char address[MAX_PORTS][ETH_ALEN]; /* of the host behind each port, once it has sent */

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static long long now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * NANOS_PER_SECOND + time.tv_nsec;
}

static void turn_off(int fd, const char *name, unsigned int feature) {
    struct ethtool_value value = {.cmd = feature, .data = 0};
    struct ifreq request = {0};
    strncpy(request.ifr_name, name, IFNAMSIZ - 1);
    request.ifr_data = (char *)&value;
    if (ioctl(fd, SIOCETHTOOL, &request) < 0) fail(name);
}

static int make_plain(const char *name) {
    unsigned int features[] = {ETHTOOL_STSO, ETHTOOL_SGSO, ETHTOOL_SGRO, ETHTOOL_STXCSUM};
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    if (fd < 0) fail("socket");
    for (int i = 0; i < 4; i++) turn_off(fd, name, features[i]);
    return 0;
}

static int open_port(const char *name) {
    struct sockaddr_ll to = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL)};
    struct packet_mreq all = {.mr_type = PACKET_MR_PROMISC};
    int on = 1, buffer = 16 << 20;
    int fd = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK, 0);
    if (fd < 0) fail("socket");
    to.sll_ifindex = all.mr_ifindex = (int)if_nametoindex(name);
    if (to.sll_ifindex == 0) fail(name);
    if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &buffer, sizeof buffer) < 0 ||
        setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &on, sizeof on) < 0 ||
        setsockopt(fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &all, sizeof all) < 0 ||
        bind(fd, (struct sockaddr *)&to, sizeof to) < 0)
        fail(name);
    return fd;
}

static void receive_all(int port, long long delay) {
    while (tail - head < QUEUE_FRAMES) {
        struct frame *frame = &queue[tail % QUEUE_FRAMES];
        ssize_t length = recv(ports[port], frame->bytes, FRAME_BYTES, MSG_TRUNC);
        if (length < 0 && errno == EAGAIN) return;
        if (length < 0 || length > FRAME_BYTES) fail("recv of a whole frame");
        frame->due = now() + delay;
        frame->from = port;
        frame->length = (int)length;
        memcpy(address[port], frame->bytes + ETH_ALEN, ETH_ALEN);
        tail++;
    }
}

static void forward(const struct frame *frame) {
    int only = -1;
    for (int port = 0; port < port_count; port++)
        if (memcmp(address[port], frame->bytes, ETH_ALEN) == 0) only = port;
    for (int port = 0; port < port_count; port++)
        if (port != frame->from && (only < 0 || only == port))
            while (send(ports[port], frame->bytes, (size_t)frame->length, 0) < 0)
                if (errno != EAGAIN && errno != ENOBUFS) fail("send");
}

int main(int count, char **words) {
    if (count == 3 && strcmp(words[1], "plain") == 0) return make_plain(words[2]);
    if (count < 3 || count - 2 > MAX_PORTS) return 2;
    long long delay = (long long)(atof(words[1]) * 1e6);
    struct pollfd polled[MAX_PORTS];
    port_count = count - 2;
    for (int port = 0; port < port_count; port++) {
        ports[port] = open_port(words[port + 2]);
        polled[port] = (struct pollfd){.fd = ports[port], .events = POLLIN};
    }
    for (;;) {
        long long wait = head == tail ? NANOS_PER_SECOND : queue[head % QUEUE_FRAMES].due - now();
        struct timespec limit = {.tv_sec = wait / NANOS_PER_SECOND,
                                 .tv_nsec = wait < 0 ? 0 : wait % NANOS_PER_SECOND};
        if (wait < 0) limit.tv_sec = 0;
        if (ppoll(polled, (nfds_t)port_count, &limit, NULL) < 0) fail("ppoll");
        for (int port = 0; port < port_count; port++)
            if (polled[port].revents & POLLIN) receive_all(port, delay);
        for (; head != tail && queue[head % QUEUE_FRAMES].due <= now(); head++)
            forward(&queue[head % QUEUE_FRAMES]);
    }
}
